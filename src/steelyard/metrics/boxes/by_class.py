"""The rankings of boxes, walked class by class where the detections are too many for one place.

Detections are matched where their images are. What goes to the workers by class is what the curves need: the score, the
image, the rank in it, and a bit for each IoU threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.by_class import Arrays, Ask, Elsewhere, Rows, Stream, Table, Totals, no_approximation, tied_by_unit
from steelyard.core.histogram import Histogram, at_recalls, binned, fallen
from steelyard.core.stats import Array, Stats
from steelyard.core.weights import Floats, Weights
from steelyard.metrics.boxes.matches import (
    KEY,
    KINDS,
    Matches,
    MatchesElsewhere,
    curves,
    figures,
    matches,
    takes_counts,
)


class _StandIn(MatchesElsewhere):
    """Matches of one area that are not here."""

    def __init__(self, source: Elsewhere, key: Any, area: int, classes: int) -> None:
        self.source, self.key, self.area, self.classes = source, key, area, classes
        self.thresholds = len(key[1])

    def curves(self, most: int, points: int) -> tuple[Array, Array, Array]:
        shape = (self.thresholds, points, self.classes)
        ask = Ask(self.key, "curves", (self.area, most, points))
        found = self.source.answer(
            ask, None, lambda _: (np.zeros(shape), np.zeros((self.thresholds, self.classes)), np.zeros(shape))
        )
        return found[0], found[1], found[2]

    def figures(self, weights: Weights, most: int, kind: str, grid: Array, label: int | None) -> tuple[Floats, Floats]:
        ask = Ask(self.key, "figures", (self.area, most, kind, tuple(grid.tolist()), label))
        found = self.source.answer(ask, weights, lambda rows: (np.zeros((rows, self.thresholds)),) * 2)
        return found[0], found[1]

    def told(self) -> tuple[Array, Array, Array]:
        found = self.source.answer(Ask(self.key, "told", (self.area,)), None, lambda _: (np.zeros(self.classes),) * 3)
        return found[0], found[1], found[2]


CURVES = 7  # among the kinds of native/streams.cpp


class _Told:
    """How many detections there are, whether there is truth, and how many detections have the score of another."""

    def __init__(self, has_truth: bool) -> None:
        self.has_truth, self.count, self.ties = has_truth, 0, 0

    def feed(self, part: Mapping[str, Array]) -> None:
        score = part["score"]
        self.count += len(score)
        self.ties += int(np.count_nonzero(score[1:] == score[:-1]))

    def result(self) -> Arrays:
        return np.array([self.count]), np.array([self.has_truth]), np.array([self.ties])


class _Walk:
    """Curves or figures of detections that come in parts."""

    def __init__(self, area: int, curves: bool, walk: Any) -> None:
        self.area, self.curves, self.walk = area, curves, walk

    def feed(self, part: Mapping[str, Array]) -> None:
        bits = (part[f"{name}{self.area}"].astype(np.uint32) for name in ("hit", "ignored"))
        self.walk.feed(part["score"], part["rank"], *bits)

    def result(self) -> Arrays:
        found: Arrays = self.walk.result()
        return tuple(one[..., np.newaxis] for one in found) if self.curves else tuple(one[np.newaxis] for one in found)


class BoxesByClass:
    """See `core.by_class.ByClass`."""

    ranked = "detections"

    def stand_in(self, key: Any, facts: Mapping[str, Any], source: Elsewhere) -> Any:
        """One for each area, as the matching of a set of settings gives them."""
        if not (isinstance(key, tuple) and key and key[0] == KEY):
            return None
        return [_StandIn(source, key, area, len(facts["labels"])) for area in range(len(key[2]))]

    def classes(self, key: Any, facts: Mapping[str, Any]) -> Sequence[int]:
        """All of them."""
        return range(len(facts["labels"]))

    def tables(self, stats: Stats, key: Any) -> Mapping[str, Table]:
        """Detections and truths of some images, matched."""
        _, ious, areas, most, rule, quirks = key
        found = [matches(stats, ious, area, most, rule, quirks=quirks) for area in areas]
        first = found[0]
        sizes = first.end - first.begin
        begin = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(int(begin[-1])) + np.repeat(first.begin - begin[:-1], sizes)
        bits = np.uint16 if len(ious) <= 16 else np.uint32
        detections: dict[str, Array] = {
            "unit": first.image[rows].astype(np.int32),
            "score": first.score[rows],
            "rank": first.rank[rows],
        }
        truths: dict[str, Array] = {"unit": first.truth_image.astype(np.int32)}
        for number, m in enumerate(found):
            detections[f"hit{number}"] = m.hit[rows].astype(bits)
            detections[f"ignored{number}"] = m.ignored[rows].astype(bits)
            truths[f"counts{number}"] = m.counts
        return {"detections": Table(begin, detections), "truths": Table(first.truth_begin, truths)}

    def walked(
        self, key: Any, events: Mapping[str, dict[str, Array]], units: int
    ) -> Callable[[Ask, Weights | None], Arrays]:
        """Answers for one class."""
        found, truths = events["detections"], events["truths"]
        order = tied_by_unit(found["score"], found["unit"])
        for name in found:  # one column at a time: a class may be the larger part of the memory
            found[name] = found[name][order]
        unit, score, rank = found["unit"], found["score"], found["rank"]
        count, objects = len(order), len(truths["unit"])
        del order
        none = np.zeros(0, np.int32)
        few: list[tuple[Array, Array]] = []

        def own_images() -> tuple[Array, Array]:
            """The images that the class is in, and for each detection and truth its place among them."""
            if not few:
                used, place = np.unique(np.concatenate([unit, truths["unit"]]), return_inverse=True)
                few.append((used, place.astype(np.int32)))
            return few[0]

        def matches_of(area: int, image: Array, truth_image: Array) -> Matches:
            return Matches(
                np.zeros(1, np.int64), np.array([count]), none, image, score, rank,
                found[f"hit{area}"].astype(np.uint32), found[f"ignored{area}"].astype(np.uint32),
                np.array([0, objects]), none, truth_image, truths[f"counts{area}"], len(key[1]), none, none,
            )  # fmt: skip

        def answer(ask: Ask, weights: Weights | None) -> Arrays:
            if ask.what == "told":
                has_truth = bool(truths[f"counts{ask.settings[0]}"].any())
                ties = np.count_nonzero(score[1:] == score[:-1])
                return np.array([count]), np.array([has_truth]), np.array([ties])
            every = matches_of(ask.settings[0], unit, truths["unit"])
            if ask.what == "curves":
                return curves(every, np.ones(units), *ask.settings[1:])
            if weights is None:
                raise ValueError("figures need weights")
            area, most, kind, given, _ = ask.settings
            grid = np.array(given)
            if kind == "lamr" or takes_counts(kind, grid, weights):  # the one counts images without the class too
                return figures(every, weights, most, kind, grid)
            # Most classes are in few images: the weights of those are enough, and laid out faster.
            used, place = own_images()
            rows = Rows(np.concatenate([block[:, used] for block in weights.blocks()]))
            return figures(matches_of(area, place[:count], place[count:]), rows, most, kind, grid)

        return answer

    def stream(self, ask: Ask, totals: Totals, units: int) -> Stream:
        """Answers for one class, its detections in parts."""
        area, *rest = ask.settings
        objects = totals.sum("truths", f"counts{area}")
        if ask.what == "told":
            return _Told(objects > 0)
        thresholds = len(ask.key[1])
        if ask.what == "curves":
            most, points = rest
            grid = np.linspace(0.0, 1.0, points)
            return _Walk(area, True, _native.BoxStream(thresholds, most, CURVES, grid, objects, units))
        most, kind, recalls, _ = rest
        return _Walk(area, False, _native.BoxStream(thresholds, most, KINDS[kind], np.array(recalls), objects, units))

    def combined(self, ask: Ask, parts: Iterator[tuple[int, Arrays]]) -> Arrays:
        """Curves side by side; of figures the mean over the classes that have truth, added in the order of classes."""
        if ask.what != "figures":
            every = [arrays for _, arrays in parts]
            return tuple(np.concatenate([arrays[i] for arrays in every], axis=-1) for i in range(3))
        label = ask.settings[-1]
        total: list[Array] = []
        count: Array = np.zeros(0)
        for place, (value, recall) in parts:
            if label is not None and place != label:
                continue
            if not total:
                total, count = [np.zeros_like(value), np.zeros_like(value)], np.zeros(len(value))
            defined = ~np.isnan(value[:, 0])
            for sums, one in zip(total, (value, recall), strict=True):
                sums[defined] += one[defined]
            count += defined
        with np.errstate(invalid="ignore", divide="ignore"):
            return tuple(np.where(count[:, None] > 0, sums / count[:, None], np.nan) for sums in total)

    def histograms(self, stats: Stats, asks: Sequence[Ask], bins: int) -> Mapping[str, Array]:
        """Hits and others by class, threshold and bin, for each area and number of detections; objects by class."""
        found: dict[str, Array] = {}
        classes = len(stats.facts["labels"])
        for key in dict.fromkeys(ask.key for ask in asks):
            tables = self.tables(stats, key)
            detections, truths = tables["detections"].columns, tables["truths"].columns
            label = np.repeat(np.arange(classes), np.diff(tables["detections"].begin))
            truth_label = np.repeat(np.arange(classes), np.diff(tables["truths"].begin))
            place = label * bins + binned(detections["score"], bins)
            wanted = {ask.settings[:2] for ask in asks if ask.key == key and ask.what != "told"}
            for area, most in sorted(wanted):
                objects = np.bincount(truth_label, weights=truths[f"counts{area}"], minlength=classes)
                found[f"{key!r} {area} objects"] = objects.astype(np.int64)
                counts = np.zeros((classes, len(key[1]), bins, 2), dtype=np.int64)
                kept = detections["rank"] < most
                for t in range(len(key[1])):
                    hit = (detections[f"hit{area}"] >> t & 1).astype(bool)
                    other = kept & ~hit & ((detections[f"ignored{area}"] >> t & 1) == 0)
                    for side, rows in ((0, kept & hit), (1, other)):
                        part = np.bincount(place[rows], minlength=classes * bins)
                        counts[:, t, :, side] = part.reshape(classes, bins)
                found[f"{key!r} {area} {most}"] = counts
        return found

    def bounded(self, ask: Ask, counts: Mapping[str, Array], upper: bool) -> Arrays:
        """The ends of precision on the grid, and of average precision; recall is exact."""
        if ask.what == "told":
            nothing = np.zeros(1)
            return nothing, nothing + 1, nothing
        area, most = ask.settings[:2]
        objects = counts[f"{ask.key!r} {area} objects"]
        bins = counts[f"{ask.key!r} {area} {most}"]
        classes, thresholds = bins.shape[:2]
        with np.errstate(invalid="ignore", divide="ignore"):
            recall = np.where(objects > 0, bins[..., 0].sum(axis=2).T / objects, np.nan)
        if ask.what == "curves":
            points = ask.settings[2]
            precision = np.full((thresholds, points, classes), np.nan)
            for k in np.flatnonzero(objects > 0).tolist():
                for t in range(thresholds):
                    ends = Histogram(bins[k, t, :, 0], bins[k, t, :, 1], float(objects[k])).precision_bounds()
                    precision[t, :, k] = at_recalls(fallen(ends[int(upper)]), float(objects[k]), points)
            return precision, recall, np.full_like(precision, np.nan)
        kind, _, label = ask.settings[2:]
        if kind not in ("coco", "voc", "voc11", "step", "recall"):
            raise no_approximation("what is sought along a ranking (a miss rate, a best F1)")
        chosen = [k for k in range(classes) if objects[k] > 0 and label in (None, k)]
        value = np.full((1, thresholds), np.nan)
        if chosen and kind != "recall":
            areas = [
                [
                    Histogram(bins[k, t, :, 0], bins[k, t, :, 1], float(objects[k])).average_precision(kind)[int(upper)]
                    for t in range(thresholds)
                ]
                for k in chosen
            ]
            value = np.mean(areas, axis=0)[np.newaxis]
        return value, recall[:, chosen].mean(axis=1)[np.newaxis] if chosen else value


BY_CLASS = BoxesByClass()
