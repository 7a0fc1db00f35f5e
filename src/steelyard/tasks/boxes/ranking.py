"""Detections of all images by class and falling score, and what is read along them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from steelyard import _native
from steelyard._native import BoxFigure
from steelyard.core.by_group import Arrays, GroupCurve, GroupSizes, Stream, no_approximation
from steelyard.core.frozen import Frozen
from steelyard.core.histogram import Histogram, at_recalls, bin_of_score, falling_precision
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array
from steelyard.core.ranking import Grouped, RankingBlock, first_steps
from steelyard.core.spec import Range
from steelyard.core.statistic import Ranking, SharedCache, Statistic
from steelyard.core.weights import EachUnit, Floats, GivenRows, Role, Weights
from steelyard.tasks.boxes.matches import STANDARD_AREAS, Area, Matches, matches
from steelyard.tasks.boxes.pairs import CLASS, BoxPairs
from steelyard.tasks.boxes.settings import (
    MOST,
    AreaSetting,
    area_of,
    class_code,
    class_codes,
    on_grid,
    thresholds,
    with_cap,
)

POINTS = 101


def count_events(
    block: RankingBlock, hit: Array, ignored: Array, within_cap: Array, objects: Array, levels: int, bins: int
) -> dict[str, Array]:
    """Hits and others by class, IoU and bin, and objects by class. They add up over parts of the images."""
    classes = block.groups
    place = block.events.group * bins + bin_of_score(block.events.columns["score"], bins)
    counts = np.zeros((classes, levels, bins, 2), dtype=np.int64)
    for t in range(levels):
        right = (hit >> t & 1).astype(bool)
        other = within_cap & ~right & ((ignored >> t & 1) == 0)
        for side, rows in ((0, within_cap & right), (1, other)):
            counts[:, t, :, side] = np.bincount(place[rows], minlength=classes * bins).reshape(classes, bins)
    total = np.bincount(block.positives.group, weights=objects, minlength=classes)
    return {"counts": counts, "objects": total.astype(np.int64)}


def bounds(
    histogram: Mapping[str, Array], figure: str, by_recall: bool, only: int | None, upper: bool
) -> tuple[Array, Array]:
    """One end of a figure, or of precision on the grid where it is read `by_recall`; and the recall, which is exact."""
    objects, counts = histogram["objects"], histogram["counts"]
    classes, levels = counts.shape[:2]
    chosen = [k for k in range(classes) if objects[k] > 0 and only in (None, k)]
    with np.errstate(invalid="ignore", divide="ignore"):
        recall = np.where(objects > 0, counts[..., 0].sum(axis=2).T / objects, np.nan)
    if by_recall:
        precision = np.full((levels, POINTS, classes), np.nan)
        for k in chosen:
            for t in range(levels):
                ends = Histogram(counts[k, t, :, 0], counts[k, t, :, 1], float(objects[k])).precision_bounds()
                precision[t, :, k] = at_recalls(falling_precision(ends[int(upper)]), float(objects[k]), POINTS)
        return precision, recall
    if not chosen:
        nothing = np.full((1, levels), np.nan)
        return nothing, nothing
    value = np.full((1, levels), np.nan)
    if figure != "recall":
        areas = [
            [
                Histogram(counts[k, t, :, 0], counts[k, t, :, 1], float(objects[k])).average_precision(figure)[upper]
                for t in range(levels)
            ]
            for k in chosen
        ]
        value = np.mean(areas, axis=0)[np.newaxis]
    return value, recall[:, chosen].mean(axis=1)[np.newaxis]


FIGURES = {
    "coco": BoxFigure.coco, "voc11": BoxFigure.grid, "voc": BoxFigure.area, "step": BoxFigure.step,
    "lamr": BoxFigure.miss, "best_f1": BoxFigure.best_f1, "recall": BoxFigure.recall, "tide": BoxFigure.grid,
    "loop": BoxFigure.step,
}  # fmt: skip
GRIDS = {
    "coco": np.linspace(0.0, 1.0, 101),
    "voc11": np.linspace(0.0, 1.0, 11),
    "lamr": np.logspace(-2.0, 0.0, 9),  # false positives per image
    "tide": np.arange(101) / 100,
}
ENDS = np.linspace(0.0, 1.0, 2)
COUNTED = ("coco", "voc11", "tide", "step", "best_f1", "recall", "loop")  # read faster from counts
ALONE = ("voc", "step", "lamr", "loop")  # figures that are read at the thresholds asked for only: every one is a walk
MANY_GROUPS = 500  # of a jackknife, each with so little of the data that all are read in one walk
FEW_IMAGES = 64  # that are scored alone at a time
STANDARD_AREA = "standard"  # the four areas of COCO, matched together


class Detections(Ranking):
    """Detections with score, rank in their image, and for each area a bit for each IoU: a hit, or ignored.

    Positives are the truths, with a flag for each area: counted.
    """

    name = "boxes.detections"

    iou: float | Range
    area: str | Area
    max_dets: int
    rule: str

    @property
    def areas(self) -> tuple[Area, ...]:
        """The areas that are matched together."""
        return STANDARD_AREAS if isinstance(self.area, str) else (self.area,)

    @property
    def levels(self) -> int:
        """How many IoUs there are."""
        return len(thresholds(self.iou))

    @property
    def columns(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return ranking_columns(len(self.areas))

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> RankingBlock:
        return ranking_of(matches(pairs, cache, thresholds(self.iou), self.areas, self.max_dets, self.rule))

    def earlier(self, stored: Iterable[Statistic]) -> tuple[Statistic, str] | None:
        """Versions before 0.3 ranked 100 detections of a class in an image, or as many as a metric asked for."""
        return with_cap(self, stored)


def ranking_columns(areas: int) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The columns of a ranking of so many areas, and the kinds of their numbers."""
    bits = {f"{name}{number}": "u" for number in range(areas) for name in ("hit", "ignored")}
    return {"score": "f", "rank": "u", **bits}, {f"counted{number}": "u" for number in range(areas)}


def ranking_of(every: Sequence[Matches]) -> RankingBlock:
    """Matches as a ranking; one set of matches for each area."""
    first = every[0]
    sizes = first.end - first.begin
    begin = np.concatenate([[0], np.cumsum(sizes)])
    rows: Any = slice(None)
    if begin[-1] < len(first.order):  # detections beyond the most of an image left places unused
        rows = np.arange(int(begin[-1])) + np.repeat(first.begin - begin[:-1], sizes)
    bits = np.uint16 if first.thresholds <= 16 else np.uint32
    events = {"score": first.score[rows], "rank": first.rank[rows]}
    positives = {}
    for number, m in enumerate(every):
        events[f"hit{number}"] = m.hit[rows].astype(bits)
        events[f"ignored{number}"] = m.ignored[rows].astype(bits)
        positives[f"counted{number}"] = m.counts
    return RankingBlock(
        CLASS, Grouped(begin, first.image[rows], events), Grouped(first.truth_begin, first.truth_image, positives)
    )


def detections(iou: float | Range, area: AreaSetting, rule: str) -> tuple[Detections, int, tuple[int, ...]]:
    """The ranking that serves some settings, the place of the area in it, and the places of the IoUs.

    It holds every detection: a cap is applied where it is read, so that metrics with and without one share it.
    """
    levels, places = on_grid(iou)
    ends = area_of(area)
    standard = ends in STANDARD_AREAS
    statistic = Detections(levels, STANDARD_AREA if standard else ends, MOST, rule)
    return statistic, STANDARD_AREAS.index(ends) if standard else 0, places


class FigureValues(Frozen):
    """A figure and the recall at each IoU: (rows, IoUs).

    Under the plain weights the figure is what precision is at each recall, as the reference has it: (IoUs, recalls,
    classes), and recall is (IoUs, classes).
    """

    figure: Array
    recall: Array

    def of_classes(self, codes: Sequence[int]) -> FigureValues:
        """The curves of some classes."""
        return FigureValues(self.figure.take(codes, axis=-1), self.recall.take(codes, axis=-1))

    def mean_figure(self, places: Sequence[int]) -> Floats:
        """The mean over some of the IoUs, for each row."""
        return _mean(self.figure, places, self.figure.ndim == 3)

    def mean_recall(self, places: Sequence[int]) -> Floats:
        """The mean recall over some of the IoUs, for each row."""
        return _mean(self.recall, places, self.figure.ndim == 3)


def _mean(values: Array, places: Sequence[int], curves: bool) -> Floats:
    chosen, stop = list(places), places[0] + len(places)
    if not curves:
        return np.asarray(values[:, chosen].mean(axis=1))
    whole = chosen == list(range(places[0], stop))  # without a copy
    return np.array([mean_defined(values[places[0] : stop] if whole else values[chosen])])


def mean_defined(values: Array) -> float:
    """The mean over classes, the last axis, added up as the reference does (one flat array); nan where none counts."""
    defined = ~np.isnan(values[(0,) * (values.ndim - 1)])
    flat = (values if defined.all() else values.compress(defined, axis=-1)).reshape(-1)
    return float(np.mean(flat)) if len(flat) else float("nan")


class RankingFigure(GroupCurve):
    """A figure along the ranking of each class, and the recall: the mean over the classes that have truth.

    `figure` names it: the kinds of average precision, "recall" alone, "lamr", or "tide", which is TIDE's average
    precision. `at` reads it at one of the IoUs; None at all of them. `label` reads one class, `group` some of them.
    With `ties="order"` every detection is a step of its own. The figure "loop" is "step" without its first step.
    """

    ranking: Any
    figure: str
    area: int = 0
    max_dets: int = 100
    at: int | None = None
    label: str | int | None = None
    group: tuple[Any, ...] | None = None
    ties: str = "step"

    @property
    def levels(self) -> int:
        """At how many IoUs it is read."""
        return self.ranking.levels if self.at is None else 1

    @property
    def grid(self) -> Array:
        """The points that the figure is read at."""
        return GRIDS.get(self.figure, ENDS)

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> FigureValues:
        if self.label is not None:
            block = block.one(class_code(metadata, self.label))
        elif self.group is not None:
            block = block.some(class_codes(metadata, self.group))
        if self.figure == "loop":
            return self.join(self.read_group(block.one(k), weights) for k in range(block.groups))
        return FigureValues(*self._read(block, weights))

    def read_from(self, readings: Mapping[Any, Any], role: Role, metadata: Metadata) -> FigureValues | None:
        """The curves of some classes, where those of all are there."""
        if self.group is None or not self._by_recall(role):
            return None
        every: FigureValues | None = readings.get(replace(self, group=None))
        return None if every is None else every.of_classes(class_codes(metadata, self.group))

    def _read(self, block: RankingBlock, weights: Weights) -> tuple[Array, Array]:
        if self._by_recall(weights.role):
            row = next(weights.blocks())[0]
            precision, recall, _ = self.native_ranking(block).curves(row, GRIDS["coco"], False)
            return precision, recall
        if weights.role is Role.UNITS and weights.units > FEW_IMAGES:
            return self._each_image(block, cast(EachUnit, weights))
        ranked, figure, left = self.native_ranking(block), FIGURES[self.figure], weights.rows
        groups = weights.groups() if self.figure in COUNTED and weights.rows >= MANY_GROUPS else None
        if groups is not None:
            value, recall = ranked.left_out(groups, weights.rows, figure, self.grid)
            return (value - self._first_steps(block, weights) if self.figure == "loop" else value), recall
        counts = weights.counts() if self.figure in COUNTED else None
        parts: list[tuple[Floats, Floats]] = []
        if counts is None:
            for rows in weights.blocks():
                parts.append(ranked.figures(np.ascontiguousarray(rows), figure, self.grid))
        else:
            for some in counts:
                rows_here = min(left, 32 * len(some))
                parts.append(ranked.draws(some, rows_here, figure, self.grid))
                left -= rows_here
        value, recall = (np.concatenate([one[i] for one in parts]) for i in (0, 1))
        if self.figure == "loop":
            value = value - self._first_steps(block, weights)
        return value, recall

    def _first_steps(self, block: RankingBlock, weights: Weights) -> Floats:
        """What the first step of one class adds at each IoU: (rows, IoUs)."""
        e, p = block.events, block.positives
        counted = p.columns[f"counted{self.area}"].astype(np.float64)
        hit, ignored = self.bits(e.columns)
        parts = [np.zeros((0, self.levels))]
        for rows in weights.blocks():
            added = np.zeros((len(rows), self.levels))
            objects = np.asarray(rows, dtype=np.float64)[:, p.unit] @ counted
            for t in range(self.levels):
                seen = np.flatnonzero((e.columns["rank"] < self.max_dets) & ((ignored >> t) & 1 == 0))
                score = self._scores(e.columns["score"])[seen]
                ends = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else np.zeros(0, int)
                right, every = first_steps(rows, e.unit[seen], (hit[seen] >> t) & 1, ends)
                with np.errstate(invalid="ignore", divide="ignore"):
                    added[:, t] = np.where(every > 0, right / every * right / objects, 0.0)
            parts.append(added)
        return np.concatenate(parts)

    def _scores(self, score: Array) -> Array:
        """The scores, or numbers that fall in their order, where equal ones are taken one after the other."""
        return -np.arange(len(score), dtype=np.float64) if self.ties == "order" else score

    def _by_recall(self, role: Role) -> bool:
        """Whether precision is read at each recall, as the reference does for its numbers."""
        return self.figure in ("coco", "recall") and role in (Role.POINT, Role.COUNT)

    def _each_image(self, block: RankingBlock, weights: EachUnit) -> tuple[Array, Array]:
        """Every image alone, a few at a time: a walk then meets only what those images hold."""
        parts = [(np.zeros((0, self.levels)),) * 2]
        start = weights.start
        for part in block.runs(start, weights.stop, FEW_IMAGES):
            count = min(FEW_IMAGES, weights.stop - start)
            parts.append(self._read(part, EachUnit(count)))
            start += count
        return np.concatenate([one[0] for one in parts]), np.concatenate([one[1] for one in parts])

    def bits(self, columns: Mapping[str, Array]) -> tuple[Array, Array]:
        """Hits and ignored, a bit for each IoU that is read."""
        hit, ignored = columns[f"hit{self.area}"], columns[f"ignored{self.area}"]
        if self.at is not None:
            hit, ignored = (hit >> self.at) & 1, (ignored >> self.at) & 1
        return hit.astype(np.uint32), ignored.astype(np.uint32)

    def native_ranking(self, block: RankingBlock) -> _native.Ranked:
        """The ranking as the native core reads curves and figures along it."""
        e, p = block.events, block.positives
        return _native.Ranked(
            e.begin[:-1], e.begin[1:], e.unit, self._scores(e.columns["score"]), e.columns["rank"],
            *self.bits(e.columns),
            p.begin, p.unit, p.columns[f"counted{self.area}"], self.levels, self.max_dets,
        )  # fmt: skip

    def groups(self, metadata: Metadata) -> Sequence[int] | None:
        if self.group is not None:
            return class_codes(metadata, self.group)
        return None if self.label is None else [class_code(metadata, self.label)]

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        """One class. Most are in few images: the weights of those are enough, unless all images count."""
        counts = self.figure in COUNTED and weights.counts() is not None
        if counts or self.figure == "lamr" or weights.role in (Role.POINT, Role.COUNT):
            return self._read(block, weights)
        used, own = block.own_units
        return self._read(own, GivenRows(np.concatenate([rows[:, used] for rows in weights.blocks()]), weights.role))

    def join(self, parts: Iterator[Arrays]) -> FigureValues:
        """Curves side by side; of figures the mean over the classes that have truth, added in the order of classes."""
        every: list[Arrays] = []
        total: list[Array] = []
        count: Array = np.zeros(0)
        for part in parts:
            if part[0].ndim == 3:
                every.append(part)
                continue
            if not total:
                total, count = [np.zeros_like(values) for values in part], np.zeros(len(part[0]))
            defined = ~np.isnan(part[0][:, 0])
            for sums, values in zip(total, part, strict=True):
                sums[defined] += values[defined]
            count += defined
        if every:
            return FigureValues(*(np.concatenate([part[i] for part in every], axis=-1) for i in (0, 1)))
        with np.errstate(invalid="ignore", divide="ignore"):
            return FigureValues(*(np.where(count[:, None] > 0, sums / count[:, None], np.nan) for sums in total))

    def stream(self, sizes: GroupSizes, units: int) -> Stream:
        objects = sizes.sum("positive", f"counted{self.area}")
        if self._by_recall(Role.POINT):
            walk = _native.BoxStream(self.levels, self.max_dets, BoxFigure.curves, GRIDS["coco"], objects, units)
            return _Walk(self, True, walk, objects)
        walk = _native.BoxStream(self.levels, self.max_dets, FIGURES[self.figure], self.grid, objects, units)
        return _Walk(self, False, walk, objects)

    @property
    def approximate(self) -> bool:
        return self.figure in ("coco", "voc", "voc11", "step", "recall") and self.ties == "step"

    def histogram(self, block: RankingBlock, bins: int) -> dict[str, Array]:
        """Hits and others by class, IoU and bin; objects by class."""
        if not self.approximate:
            raise no_approximation("what is sought along a ranking (a miss rate, a best F1, single detections)")
        hit, ignored = self.bits(block.events.columns)
        within_cap = block.events.columns["rank"] < self.max_dets
        objects = block.positives.columns[f"counted{self.area}"]
        return count_events(block, hit, ignored, within_cap, objects, self.levels, bins)

    def bound_reading(self, counts: Mapping[str, Array], metadata: Metadata, upper: bool) -> FigureValues:
        """The ends of precision on the grid, and of average precision; recall is exact."""
        if self.group is not None:
            raise no_approximation("a mean over some of the classes")
        only = None if self.label is None else class_code(metadata, self.label)
        return FigureValues(*bounds(counts, self.figure, self._by_recall(Role.POINT), only, upper))


class _Walk:
    """Curves or figures of detections that come in parts."""

    def __init__(self, curve: RankingFigure, curves: bool, walk: Any, objects: int) -> None:
        self.curve, self.curves, self.walk, self.objects = curve, curves, walk, objects
        self.fed = 0
        self.first = np.full(curve.levels, np.nan)  # what the first step adds at each IoU

    def feed(self, part: Mapping[str, Array]) -> None:
        score = part["score"]
        if self.curve.ties == "order":
            score = -np.arange(self.fed, self.fed + len(score), dtype=np.float64)
        hit, ignored = self.curve.bits(part)
        if self.curve.figure == "loop":
            self._look_for_first(score, part["rank"] < self.curve.max_dets, hit, ignored)
        self.walk.feed(score, part["rank"], hit, ignored)
        self.fed += len(score)

    def _look_for_first(self, score: Array, within_cap: Array, hit: Array, ignored: Array) -> None:
        for t in np.flatnonzero(np.isnan(self.first)).tolist():
            seen = within_cap & ((ignored >> t) & 1 == 0)
            if seen.any() and self.objects:
                step = seen & (score == score[seen.argmax()])
                right = int(((hit[step] >> t) & 1).sum())
                self.first[t] = right / int(step.sum()) * right / self.objects

    def result(self) -> Arrays:
        result: Arrays = self.walk.result()
        if self.curves:
            return result[0][..., np.newaxis], result[1][..., np.newaxis]
        if self.curve.figure == "loop":
            result = result[0] - np.nan_to_num(self.first), result[1]
        return tuple(one[np.newaxis] for one in result)


class ClassesWithTruth(GroupCurve):
    """How many of the classes that a figure is a mean over have truth, under each row of weights."""

    figure: RankingFigure
    ranking: Any

    def groups(self, metadata: Metadata) -> Sequence[int] | None:
        return self.figure.groups(metadata)

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        groups = self.groups(metadata)
        chosen = range(block.groups) if groups is None else groups
        return self.join(self.read_group(block.one(k), weights) for k in chosen)

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        """1 where one class has truth."""
        p = block.positives
        units = np.unique(p.unit[p.columns[f"counted{self.figure.area}"] > 0])
        return (np.concatenate([(np.asarray(rows)[:, units] > 0).any(axis=1) for rows in weights.blocks()]),)

    def join(self, parts: Iterator[Arrays]) -> Floats:
        every = [part[0].astype(np.float64) for part in parts]
        return np.sum(every, axis=0) if every else np.zeros(1)

    def stream(self, sizes: GroupSizes, units: int) -> Stream:
        return _Present(sizes.sum("positive", f"counted{self.figure.area}") > 0)


class _Present:
    """Whether a class has truth, whatever its detections are."""

    def __init__(self, has_truth: bool) -> None:
        self.has_truth = has_truth

    def feed(self, part: Mapping[str, Array]) -> None:
        pass

    def result(self) -> Arrays:
        return (np.array([self.has_truth]),)


class BestF1Search(RankingFigure):
    """The best F1 over all score thresholds, all classes together, and the score that it is reached at."""

    figure: str = "best_f1"

    pooled = True

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Any:
        return self._read(block.pooled, weights)

    def join(self, parts: Iterator[Arrays]) -> Any:
        best, at = next(parts)
        return best, at


class RankingSummary(GroupCurve):
    """By class: detections that count, whether it has truth, and how many detections have the score of another.

    Then the detections that rank beyond `max_dets` in their image, and the cap that would leave out none.
    """

    ranking: Any
    max_dets: int

    drawn = False
    approximate = True

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Arrays:
        """Of all images, whatever they weigh."""
        return self.read_group(block, weights)

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        rank = block.events.columns["rank"]
        rows = np.flatnonzero(rank < self.max_dets)
        begin, score = np.searchsorted(rows, block.events.begin), block.events.columns["score"][rows]
        beyond = np.diff(block.events.begin) - np.diff(begin)
        deepest = np.zeros_like(beyond)
        for k in np.flatnonzero(beyond).tolist():
            deepest[k] = int(rank[block.events.begin[k] : block.events.begin[k + 1]].max()) + 1
        truths = np.concatenate([[0], np.cumsum(block.positives.columns["counted0"])])[block.positives.begin]
        equal = np.zeros(len(score) + 1, dtype=np.int64)
        equal[1:-1] = score[1:] == score[:-1]
        equal[begin] = 0
        total = np.concatenate([[0], np.cumsum(equal)])
        return np.diff(begin), np.diff(truths) > 0, np.diff(total[begin]), beyond, deepest

    def remarks(self, read: Arrays, groups: Sequence[int] | None = None) -> tuple[str, ...]:
        """Where the cap leaves detections out of what was read: how many, and the cap that leaves out none."""
        beyond, deepest = (part if groups is None else part[list(groups)] for part in read[3:])
        count = int(beyond.sum())
        if not count:
            return ()
        subject = "1 detection is left out" if count == 1 else f"{count:,} detections are left out"
        cap = f"at most {self.max_dets} per image and class count"
        return (f"{subject}: {cap}. max_dets={int(deepest.max())} counts all of them.",)

    def join(self, parts: Iterator[Arrays]) -> Arrays:
        every = list(parts)
        return tuple(np.concatenate([part[i] for part in every]) for i in range(5))

    def stream(self, sizes: GroupSizes, units: int) -> Stream:
        return _Counter(sizes.sum("positive", "counted0") > 0, self.max_dets)

    def histogram(self, block: RankingBlock, bins: int) -> dict[str, Array]:
        """Nothing: bins do not say which scores are equal."""
        return {}

    def bound_reading(self, counts: Mapping[str, Array], metadata: Metadata, upper: bool) -> Arrays:
        nothing = np.zeros(1)
        return nothing, nothing + 1, nothing, nothing, nothing


class _Counter:
    """Counts detections and equal scores in parts."""

    def __init__(self, has_truth: bool, max_dets: int) -> None:
        self.has_truth, self.max_dets = has_truth, max_dets
        self.count, self.ties, self.beyond, self.deepest = 0, 0, 0, 0

    def feed(self, part: Mapping[str, Array]) -> None:
        counts = part["rank"] < self.max_dets
        score = part["score"][counts]
        self.count += len(score)
        self.ties += int(np.count_nonzero(score[1:] == score[:-1]))
        self.beyond += len(counts) - len(score)
        self.deepest = max(self.deepest, int(part["rank"].max(initial=0)) + 1)

    def result(self) -> Arrays:
        counts = (self.count, self.has_truth, self.ties, self.beyond, self.deepest if self.beyond else 0)
        return tuple(np.array([count]) for count in counts)
