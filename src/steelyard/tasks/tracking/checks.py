"""Checks of `tracking`: boxes of another convention, frames that are shifted or thinned, ids that are used again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.checks.check import FEW, CheckData, Checks, Problem, some_rows
from steelyard.checks.ids import with_ids
from steelyard.core.records import Array

CHECKS = with_ids(Checks(), repeats=False)
MOST, QUICKLY = 20_000, 1_000  # rows of the truth that are looked at
FAR = 5.0  # box sizes: no object moves so far from a frame to the next


def fit(data: CheckData, change: Callable[[Array], Array] | None = None, shift: int = 0) -> float:
    """The mean IoU of true boxes with the best predicted one of their frame, moved or read otherwise."""
    truth, prediction = data.pairs.sides
    most = QUICKLY if data.quick else MOST
    mine = slice(0, most)
    runs = _distinct(truth.run[mine])
    last = truth.frame[mine][-1]
    stop = int(np.searchsorted(prediction.run, runs[-1], side="right"))
    inside = np.isin(prediction.run[:stop], runs) & (
        (prediction.run[:stop] != runs[-1]) | (prediction.frame[:stop] + shift <= last)
    )
    theirs = np.flatnonzero(inside)
    box = prediction.box(theirs) if change is None else change(prediction.box(theirs))
    sides = []
    for side, rows, boxes, moved in ((truth, mine, truth.box(mine), 0), (prediction, theirs, box, shift)):
        ends = np.searchsorted(side.run[rows], runs, side="right").astype(np.int64)
        sides += [np.ascontiguousarray(boxes), side.frame[rows] + moved, ends]
    row, _, similarity = _native.tracking_overlaps(*sides)
    best = np.zeros(len(sides[0]))
    np.maximum.at(best, row, similarity)
    return float(best.mean())


def _is_boxes(data: CheckData) -> bool:
    pairs = data.pairs
    return pairs is not None and all(len(side.run) >= FEW and side.mask is None for side in pairs.sides)


def _corners(box: Array) -> Array:
    """Corners that were taken for width and height: what stands at the right is left plus right."""
    return np.column_stack([box[:, :2], box[:, 2:] - box[:, :2]])


def _centres(box: Array) -> Array:
    half = (box[:, 2:] - box[:, :2]) / 2
    return np.column_stack([box[:, :2] - half, box[:, :2] + half])


READINGS: tuple[tuple[str, Callable[[Array], Array]], ...] = (
    ("as corners: left, top, right, bottom", _corners),
    ("as centres with width and height", _centres),
    ("at twice the scale", lambda box: box * 2),
    ("at half the scale", lambda box: box / 2),
)


@CHECKS.add(
    "boxes-read-wrong", "error", "corners or centres where left, top, width and height are expected, or another scale",
    "Give left, top, width and height in the pixels of the truth.",
)  # fmt: skip
def boxes_read_wrong(data: CheckData) -> Problem | None:
    """Whether boxes fit far better under another reading."""
    if not _is_boxes(data):
        return None
    plain = fit(data)
    if plain > 0.45:
        return None
    best = max(((fit(data, change), name) for name, change in READINGS), key=lambda pair: pair[0])
    total = len(data.pairs.sides[1].run)
    rows = data.pairs.sides[1].row
    if best[0] > 0.3 and best[0] > 2 * plain:
        return Problem(
            f"The best IoU of a true box is {plain:.2f} in the mean, and {best[0]:.2f} where predictions are read "
            f"{best[1]}.",
            total, total, some_rows(data.pairs.prediction, rows),
        )  # fmt: skip
    return None


@CHECKS.add(
    "nothing-overlaps", "error", "hardly any box of the predictions touches a true one: every score is near 0",
    "Are these predictions of the same videos, in the same pixels?",
)  # fmt: skip
def nothing_overlaps(data: CheckData) -> Problem | None:
    """Whether boxes hardly overlap, whatever the reading."""
    if not _is_boxes(data) or boxes_read_wrong(data) is not None or frames_shifted(data) is not None:
        return None
    plain = fit(data)
    if plain > 0.02:
        return None
    truth, predicted = (np.median(box[:, 2:] - box[:, :2], axis=0) for box in (side.box() for side in data.pairs.sides))
    total = len(data.pairs.sides[1].run)
    return Problem(
        f"The best IoU of a true box is {plain:.2f} in the mean; the median box is {truth[0]:.4g} × {truth[1]:.4g} in "
        f"the truth and {predicted[0]:.4g} × {predicted[1]:.4g} in the predictions.",
        total, total, some_rows(data.pairs.prediction, data.pairs.sides[1].row),
    )  # fmt: skip


@CHECKS.add(
    "frames-shifted", "error", "frames are counted from another start: each has its neighbour's boxes",
    "Count frames alike on both sides; the option prediction.first_frame=0 moves those of files.",
)  # fmt: skip
def frames_shifted(data: CheckData) -> Problem | None:
    """Whether predictions fit better one frame later or earlier."""
    if not _is_boxes(data):
        return None
    plain = fit(data)
    if plain > 0.9:
        return None
    for step in (1, -1):
        moved = fit(data, shift=step)
        if moved > 1.15 * plain and moved - plain > 0.05:
            total = len(data.pairs.sides[1].run)
            return Problem(
                f"The best IoU of a true box is {plain:.2f} in the mean, and {moved:.2f} where predictions are taken "
                f"one frame {'later' if step > 0 else 'earlier'}.",
                total, total, some_rows(data.pairs.prediction, data.pairs.sides[1].row, "frame"),
            )  # fmt: skip
    return None


@CHECKS.add(
    "frames-thinned", "warning", "half of the true frames have no prediction at all: was every second frame tracked?",
    "Track every frame, or score the frames that were tracked.",
)  # fmt: skip
def frames_thinned(data: CheckData) -> Problem | None:
    """Whether one side has objects in at most half of the other's frames."""
    if data.pairs is None:
        return None
    keys = [_distinct(side.run * (1 << 40) + side.frame) for side in data.pairs.sides]
    if min(map(len, keys)) < FEW:
        return None
    met = np.isin(keys[0], keys[1], assume_unique=True)
    if met.mean() > 0.55:
        return None
    return Problem(
        f"{met.mean():.0%} of the frames with true objects have a prediction.", int((~met).sum()), len(met),
        some_rows(data.pairs.prediction, data.pairs.sides[1].row, "frame"),
    )  # fmt: skip


def _distinct(ordered: Array) -> Array:
    distinct: Array = ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered
    return distinct


def _jumps(side: Any) -> Array:
    """Rows that lie far from where their track was in the frame before."""
    order = np.lexsort((side.frame, side.track, side.run))
    same = (np.diff(side.run[order]) == 0) & (np.diff(side.track[order]) == 0) & (np.diff(side.frame[order]) == 1)
    box = side.box(order)
    centre, size = (box[:, :2] + box[:, 2:]) / 2, (box[:, 2:] - box[:, :2]).max(axis=1)
    moved = np.abs(np.diff(centre, axis=0)).max(axis=1)
    rows: Array = order[1:][same & (moved > FAR * np.maximum(size[1:], size[:-1]))]
    return rows


@CHECKS.add(
    "ids-reused", "warning", "a track jumps across the picture from one frame to the next: one id for two objects",
    "Give every object an id of its own in the whole sequence, in the truth too.",
    quick=False,
)  # fmt: skip
def ids_reused(data: CheckData) -> Problem | None:
    """Tracks that jump, on either side."""
    if not _is_boxes(data):
        return None
    for side, records in zip(data.pairs.sides, (data.pairs.truth, data.pairs.prediction), strict=True):
        rows = _jumps(side)
        if len(rows) > max(2, 0.002 * len(side.run)):
            return Problem(
                f"Tracks of {records.source} jump by more than {FAR:g} boxes from a frame to the next.",
                len(rows), len(side.run), some_rows(records, side.row[rows], "track"),
            )  # fmt: skip
    return None


MOT_CLASSES = 13  # pedestrians are 1; the others are distractors or not scored
_OF_MOT = re.compile(r"mot(16|17|20)-", re.IGNORECASE)
_OF_KITTI = ("car", "van", "pedestrian", "person_sitting", "dontcare")


@CHECKS.add(
    "benchmark-missing", "warning",
    "distractors and objects that the benchmark does not score count as false or missed",
    "Name the benchmark, or the classes to score.",
    side="truth",
)  # fmt: skip
def benchmark_missing(data: CheckData) -> Problem | None:
    """Whether the truth has the classes of a benchmark that was not named."""
    truth, options = data.truth, data.options
    values = {} if options is None else options.values
    if "label" not in truth or "benchmark" in values or "classes" in values:
        return None
    labels = truth["label"]
    if "flag" in truth and labels.dtype.kind in "iu":
        others = np.flatnonzero(labels > 1)
        if not len(others) or labels.min() < 1 or labels.max() > MOT_CLASSES:
            return None
        years = {match[1] for match in map(_OF_MOT.match, map(str, set(truth["sequence"].tolist()))) if match}
        name, other = (f"mot{years.pop()}", "") if len(years) == 1 else ("mot17", " (or mot16, mot20)")
        what = f"The truth has the classes {labels.min()} to {labels.max()} of MOTChallenge"
    elif "truncated" in truth and "occluded" in truth:
        others = np.flatnonzero([str(label).lower() in _OF_KITTI for label in labels.tolist()])
        if not len(others):
            return None
        name, other, what = "kitti", "", "The truth has the columns and classes of KITTI"
    else:
        return None
    line = f"the option benchmark={name}"
    return Problem(
        f"{what}, and no benchmark is named: for its numbers use {line}{other}.", len(others), len(labels),
        some_rows(truth, others, "label"), remedy=f"Use {line}{other}, or benchmark=none to score every row.",
    )  # fmt: skip


@CHECKS.add(
    "copies-of-truth", "note",
    "predictions that are the truth itself; rows of classes that are not scored count as false",
    "Are these predictions of a tracker?",
)  # fmt: skip
def copies_of_truth(data: CheckData) -> Problem | None:
    """Boxes that stand in the truth to the last digit."""
    if not _is_boxes(data):
        return None
    truth, prediction = data.pairs.sides
    few = slice(QUICKLY)
    true_rows, sample = (
        np.column_stack([side.run[few], side.frame[few], side.box(few)]) for side in (truth, prediction)
    )
    boxes = set(map(tuple, true_rows.tolist()))
    same = np.array([tuple(row) in boxes for row in sample.tolist()])
    if same.mean() < 0.5:
        return None
    return Problem(
        f"{same.mean():.0%} of the predicted boxes are boxes of the truth.", int(same.sum()), len(same),
        some_rows(data.pairs.prediction, prediction.row[:QUICKLY][same]),
    )  # fmt: skip
