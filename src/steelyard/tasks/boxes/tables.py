"""What a report of boxes shows beside scores: the confusion matrix with background, and a row for each class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.core.pairs import Array
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.core.weights import GivenRows, Role
from steelyard.tasks.boxes.along import Walk
from steelyard.tasks.boxes.matches import (
    AREAS,
    IOUS,
    STANDARD_AREAS,
    UNCOUNTED,
    Matches,
    match_input,
    matches,
    native_match,
)
from steelyard.tasks.boxes.pairs import BoxPairs
from steelyard.tasks.boxes.ranking import FigureValues, RankingFigure, RankingSummary, detections
from steelyard.tasks.boxes.settings import MOST, STANDARD, STANDARD_MOST, class_names, on_grid, thresholds
from steelyard.tasks.boxes.working import PrecisionAt, RecallAt, rates

BACKGROUND = "(background)"


def tables(pairs: BoxPairs, state: State, most: int = STANDARD_MOST) -> Mapping[str, Callable[[], Table]]:
    """The tables by name; each is made when it is asked for."""
    work = SharedCache()
    return {
        "classes": lambda: classes(pairs, work, most),
        "confusion": lambda: confusion(pairs, work),
        "operating": lambda: operating(pairs, work),
    }


def long_tables(pairs: BoxPairs, state: State, most: int = STANDARD_MOST) -> Mapping[str, Callable[[], Table]]:
    """Tables with a row for each detection or point, made when they are asked for."""
    work = SharedCache()
    return {
        "matches": lambda: match_table(pairs, work),
        "pr_points": lambda: pr_points(pairs, work),
        "pr_curves": lambda: pr_curves(pairs, work, most),
    }


def match_table(pairs: BoxPairs, cache: SharedCache) -> Table:
    """Every detection in the order of the input: whether it is right at IoU 0.5, and how well it fits what it found."""
    m, s = matches(pairs, cache, (0.5,), (AREAS["all"],), MOST)[0], match_input(pairs, cache)
    places = np.flatnonzero(m.places())
    places = places[np.argsort(m.order[places], kind="stable")]
    hit, _ = m.bit(0)
    label, overlap = m.label[places], np.where(hit[places], m.overlap[places], np.nan)
    area = s.d_box[m.order[places]][:, 2:].prod(axis=1) if s.d_area is None else s.d_area[m.order[places]]
    columns = {
        "image": _texts(m.image[places], pairs.units.tolist()), "class": _texts(label, class_names(pairs.facts)),
        "score": m.score[places], "outcome": outcomes(m, places), "iou": overlap, "area": area,
    }  # fmt: skip
    return _long("matches", "Detections, matched at IoU 0.5", "detection", m.order[places] + 1, columns)


def pr_points(pairs: BoxPairs, cache: SharedCache) -> Table:
    """Detections that count at IoU 0.5, by class and falling score, with precision and recall down to each."""
    m = matches(pairs, cache, (0.5,), (AREAS["all"],), MOST)[0]
    hit, ignored = m.bit(0)
    places = np.flatnonzero(m.places() & ~ignored)
    label = m.label[places]
    right = hit[places].astype(np.int64)
    starts = np.searchsorted(label, np.arange(len(m.begin)))
    before = np.concatenate([[0], np.cumsum(right)])[starts][label]
    tp = np.cumsum(right) - before
    seen = np.arange(1, len(places) + 1) - starts[label]
    objects = np.diff(np.concatenate([[0], np.cumsum(m.counts, dtype=np.int64)])[m.truth_begin])
    with np.errstate(invalid="ignore", divide="ignore"):
        recall = np.where(objects[label] > 0, tp / objects[label], np.nan)
    columns = {
        "image": _texts(m.image[places], pairs.units.tolist()), "class": _texts(label, class_names(pairs.facts)),
        "score": m.score[places], "outcome": outcomes(m, places), "tp": tp, "fp": seen - tp, "precision": tp / seen,
        "recall": recall,
    }  # fmt: skip
    return _long("pr_points", "Precision and recall down to each detection, IoU 0.5", "rank", seen, columns)


def pr_curves(pairs: BoxPairs, cache: SharedCache, most: int) -> Table:
    """COCO's precision at 101 recalls, of every class that has truth and every IoU."""
    precision = curves(pairs, cache, most)[0].figure
    levels, points, _ = precision.shape
    known = np.flatnonzero(~np.isnan(precision).any(axis=(0, 1)))
    shape = (len(known), levels, points)
    label, level, point = (place.ravel() for place in np.indices(shape))
    columns = {
        "class": _texts(known[label], class_names(pairs.facts)), "iou": np.array(IOUS)[level],
        "recall": np.linspace(0, 1, points)[point], "precision": precision[level, point, known[label]],
    }  # fmt: skip
    return _long("pr_curves", "Precision at 101 recalls", "point", point + 1, columns)


def outcomes(m: Matches, places: Array) -> Array:
    """TP, FP, or "ignored" where a detection counts neither way, at the one IoU of the matches."""
    hit, ignored = (flags[places] for flags in m.bit(0))
    return np.where(hit, "TP", np.where(ignored, "ignored", "FP")).astype(object)


def _texts(codes: Array, names: Sequence[object]) -> Array:
    return np.array([str(name) for name in names], dtype=object)[codes] if len(names) else np.zeros(len(codes), object)


def _long(name: str, title: str, corner: str, numbers: Array, columns: Mapping[str, Array]) -> Table:
    values = np.empty((len(numbers), len(columns)), dtype=object)
    for place, column in enumerate(columns.values()):
        values[:, place] = column
    return Table(name, title, corner, tuple(map(str, numbers.tolist())), tuple(columns), values)


def curves(pairs: BoxPairs, cache: SharedCache, most: int = STANDARD_MOST) -> tuple[FigureValues, Array, Array]:
    """Precision at 101 recalls and the recall, objects and detections by class, at the standard thresholds."""

    def make() -> tuple[FigureValues, Array, Array]:
        statistic, _, _ = detections(STANDARD, "all", "coco")
        state = State.of(pairs, [statistic], cache)
        totals = state.totals(POINT)
        block = statistic.measure(pairs, cache)
        counted = np.concatenate([[0], np.cumsum(block.positives.columns["counted0"])])[block.positives.begin]
        return (
            totals[RankingFigure(statistic, "coco", max_dets=most)],
            np.diff(counted),
            totals[RankingSummary(statistic, most)][0],
        )

    return cache.once(("curves", most), make)


def classes(pairs: BoxPairs, cache: SharedCache, most: int = STANDARD_MOST) -> Table:
    """One row per class: objects, detections, AP, AP at 0.5 and 0.75, recall of all detections."""
    read, objects, detections = curves(pairs, cache, most)
    precision, recall = read.figure, read.recall
    names = class_names(pairs.facts)
    columns = (
        objects,
        detections,
        precision.mean(axis=(0, 1)),
        precision[0].mean(axis=0),
        precision[IOUS.index(0.75)].mean(axis=0),
        recall.mean(axis=0),
    )
    heads = ("objects", "detections", "ap", "ap50", "ap75", "ar@100" if most == STANDARD_MOST else "ar")
    values = np.stack(columns, axis=1) if names else np.zeros((0, len(heads)))
    return Table("classes", "Average precision by class", "class", names, heads, values)


def operating(pairs: BoxPairs, cache: SharedCache) -> Table:
    """One row per class: the best F1 with its score, precision and recall, and two points that are sought."""
    block, names = detections(STANDARD, "all", "coco")[0].measure(pairs, cache), class_names(pairs.facts)
    searches = [PrecisionAt(), RecallAt()]
    values = np.full((len(names), 6), np.nan)
    for code in range(len(names)):
        one = block.one(code)
        walk = Walk.of(one, MOST)
        objects = float(one.positives.columns["counted0"].sum())
        if not objects:
            continue
        values[code, :4] = 0, np.nan, np.nan, 0
        precision, recall = (rate[0] for rate in rates(walk, np.ones((1, len(walk.rows))), np.array([objects])))
        if walk.hit.any():
            with np.errstate(invalid="ignore"):
                f1 = np.nan_to_num(2 * precision * recall / (precision + recall))
            best = int(f1.argmax())
            score = one.events.columns["score"][walk.rows[walk.ends[best]]]
            values[code, :4] = f1[best], score, precision[best], recall[best]
        for column, metric in enumerate(searches, start=4):
            (reached,) = metric.search.read_group(one, GivenRows(np.ones((1, len(pairs.units))), Role.POINT))
            values[code, column] = reached[0, 0]
    heads = ("f1", "score", "precision", "recall", *(f"{m.seeks} at {m.given} {m.least:g}" for m in searches))
    return Table("operating", "Working points by class, IoU 0.5", "class", names, heads, values)


def confusion(pairs: BoxPairs, cache: SharedCache, iou: float = 0.5, score: float = 0.5, max_dets: int = MOST) -> Table:
    """The confusion matrix with background: counts, truth by prediction.

    The last row holds detections on background, the last column missed objects. The diagonal are the true positives of
    `precision` and `recall`, matched within the class; then a detection left over takes an object left over of another
    class that it overlaps with IoU >= `iou`, highest score first.
    """
    levels, places = on_grid(iou)
    m = matches(pairs, cache, thresholds(levels), STANDARD_AREAS, MOST)[0]
    s, names = match_input(pairs, cache), class_names(pairs.facts)
    classes = s.classes
    kept = m.places() & (m.score >= score) & (m.rank < max_dets)
    hit, ignored = m.bit(places[0])
    label = m.label
    table = np.zeros((classes + 1, classes + 1), dtype=np.int64)
    np.add.at(table, (label[kept & hit], label[kept & hit]), 1)

    single = matches(pairs, cache, (float(iou),), (AREAS["all"],), MOST)[0]
    paired = single.places() & (single.score >= score) & (single.rank < max_dets) & single.bit(0)[0]
    taken = np.zeros(len(s.image), dtype=bool)
    taken[single.partner[paired]] = True
    truths = np.flatnonzero(~taken & ((s.flags & UNCOUNTED) == 0) & (s.area <= AREAS["all"][1]))
    rest = m.order[kept & ~hit & ~ignored]
    rest = rest[np.argsort(-s.d_score[rest], kind="stable")]
    left = s.part(truths, rest).of_one_class()
    matched = native_match(left, [float(iou)], [[0.0, np.inf]], 65535, voc=False, pairs=True)
    order, partner = matched[2], matched[8]
    used = order >= 0
    predicted, partner = s.d_label[rest[order[used]]], partner[used]
    matched_rows = partner >= 0
    np.add.at(table, (s.label[truths[partner[matched_rows]]], predicted[matched_rows]), 1)
    table[classes, :classes] = np.bincount(predicted[~matched_rows], minlength=classes)
    missed = np.ones(len(truths), dtype=bool)
    missed[partner[matched_rows]] = False
    table[:classes, classes] = np.bincount(s.label[truths[missed]], minlength=classes)
    rows = (*names, BACKGROUND)
    title = f"Confusion matrix at IoU {iou:g} and score {score:g}: rows of truth by prediction"
    return Table("confusion", title, "truth", rows, rows, table.astype(float))
