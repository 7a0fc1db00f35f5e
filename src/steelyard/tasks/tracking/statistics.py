"""What is measured of a sequence: what a benchmark takes out, then the sums of HOTA, CLEAR and Identity by class."""

from __future__ import annotations

import math

import numpy as np

from steelyard import _native
from steelyard.core.block import CellsBlock, SumBlock
from steelyard.core.errors import ShapeMismatch
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.records import distinct_values
from steelyard.core.statistic import Cells, SharedCache, Sum
from steelyard.tasks.tracking.data import DISTRACTOR, SCORED
from steelyard.tasks.tracking.pairs import TrackPairs, TrackSide, distinct, run_ends

EPSILON = float(np.finfo(np.float64).eps)
ALPHAS: Array = np.arange(0.05, 0.99, 0.05)
HOTA = ("tp", "fn", "fp", "similarity", "assa", "assre", "asspr")
LOSSES = ("split", "miss", "merge", "extra")
CLEAR = ("tp", "fn", "fp", "similarity", "idsw", "fragments", "mt", "pt", "ml")
IDENTITY = ("idtp", "idfn", "idfp")
REMOVED = ("distractor", "region", "small", "other", "truth")
MOST_BOXES = 20_000  # rows of both sides whose corners are made at a time, or a few more
MASK_LIFT = 10000.0  # masks of a side do not overlap: as many pairs as can be, as the reference weighs them


class Overlaps(Frozen):
    """Pairs of rows of one frame that overlap, and how much."""

    truth: Array
    prediction: Array
    similarity: Array


class Kept(Frozen):
    """Which rows of each side are scored, their runs and overlaps, and how many rows were taken out for which reason.

    The overlaps are of all rows.
    """

    truth: TrackSide
    prediction: TrackSide
    scored: tuple[Array, Array]
    runs: Array
    overlaps: Overlaps
    removed: Array

    def rows(self, unit: int | None, classes: int) -> tuple[Array, Array]:
        """Places of the rows of either side that are scored: all, or those of one sequence."""
        sides = zip((self.truth, self.prediction), self.scored, strict=True)
        true, predicted = (
            np.flatnonzero(scored if unit is None else scored & (side.run // classes == unit)) for side, scored in sides
        )
        return true, predicted


class Tracked(Frozen):
    """Sums by run, and what CLEAR does with each row of the truth: its partner, a switch (1), a new fragment (2)."""

    hota: Array
    losses: Array
    clear: Array
    identity: Array
    partner: Array
    event: Array


def kept_rows(pairs: TrackPairs, cache: SharedCache) -> Kept:
    """What is scored of the pairs, made once."""
    return cache.once("kept", lambda: _keep_rows(pairs))


def tracked_sums(pairs: TrackPairs, cache: SharedCache, iou: float = 0.5, *, last_match: bool = False) -> Tracked:
    """The sums of all runs at a threshold of CLEAR and Identity, made once for each."""
    return cache.once(("tracked", iou, last_match), lambda: _track_runs(kept_rows(pairs, cache), iou, last_match))


def _track_runs(rows: Kept, iou: float, last_match: bool) -> Tracked:
    truth, prediction = (
        (side.frame, side.track, run_ends(side.run, rows.runs), scored.view(np.uint8))
        for side, scored in zip((rows.truth, rows.prediction), rows.scored, strict=True)
    )
    pairs = rows.overlaps
    return Tracked(
        *_native.tracking_scores(*truth, *prediction, pairs.truth, pairs.prediction, pairs.similarity, iou, last_match)
    )


def _keep_rows(pairs: TrackPairs) -> Kept:
    truth, prediction = pairs.sides
    runs = distinct_values(np.concatenate([distinct(truth.run), distinct(prediction.run)]))
    frames = truth.frame, run_ends(truth.run, runs), prediction.frame, run_ends(prediction.run, runs)
    overlaps = _overlaps(truth, prediction, frames)
    removed = np.zeros((len(pairs.units), len(REMOVED)))
    classes = max(1, pairs.metadata.size("class"))
    scored = truth.role == SCORED
    removed[:, 3], removed[:, 4] = pairs.out[:, 1], pairs.out[:, 0]
    removed[:, 4] += np.bincount(truth.run[~scored] // classes, minlength=len(pairs.units))
    gone = np.zeros(len(prediction.run), dtype=bool)
    least = pairs.prediction.least
    if (truth.role == DISTRACTOR).any() or len(pairs.regions.row) or least > 0:
        lift = MASK_LIFT if truth.mask is not None else 0.0
        partner = _native.tracking_matches(*frames, overlaps.truth, overlaps.prediction, overlaps.similarity, lift)
        nothing = np.zeros(len(partner), dtype=bool)
        reasons = [
            (partner >= 0) & (truth.role[partner] == DISTRACTOR) if len(truth.role) else nothing,
            (partner < 0) & _inside(prediction, pairs.regions, classes),
            (partner < 0) & _at_most(prediction, least) if least > 0 else nothing,
        ]
        for place, reason in enumerate(reasons):
            counted = prediction.run[reason & ~gone] // classes
            removed[:, place] = np.bincount(counted, minlength=len(pairs.units))
            gone |= reason
    return Kept(truth, prediction, (scored, ~gone), runs, overlaps, removed)


def _overlaps(truth: TrackSide, prediction: TrackSide, frames: tuple[Array, Array, Array, Array]) -> Overlaps:
    if truth.mask is None or prediction.mask is None:
        return _box_overlaps(truth, prediction, frames)
    rows: list[Array] = [np.zeros(0, np.int32)]
    columns: list[Array] = [np.zeros(0, np.int32)]
    values: list[Array] = [np.zeros(0)]
    for first, last, start, stop in _shared_frames(truth, prediction):
        iou = _native.mask_iou(
            prediction.mask[start:stop].tolist(), truth.mask[first:last].tolist(), np.zeros(last - first, np.uint8)
        ).T
        if (iou < 0).any():
            i, j = np.argwhere(iou < 0)[0].tolist()
            _refuse_sizes(truth, first + i, prediction, start + j)
        i, j = np.nonzero(iou > 0)
        rows.append((first + i).astype(np.int32))
        columns.append((start + j).astype(np.int32))
        values.append(iou[i, j])
    return Overlaps(np.concatenate(rows), np.concatenate(columns), np.concatenate(values))


def _refuse_sizes(side: TrackSide, row: int, other: TrackSide, place: int) -> None:
    """Raise the error of two masks of a frame whose sizes differ."""
    if side.mask is None or other.mask is None:
        return
    sizes = _native.mask_sizes([side.mask[row], other.mask[place]]).tolist()
    shown = [f"{height}×{width}" for height, width in sizes]
    raise ShapeMismatch(
        f"the mask is {shown[1]} (height × width), and that of {side.source.place(int(side.row[row]))} is {shown[0]}",
        where=other.source.where(int(other.row[place]), "mask"),
        remedy="All masks of a video have its size.",
    )


def _box_overlaps(truth: TrackSide, prediction: TrackSide, frames: tuple[Array, Array, Array, Array]) -> Overlaps:
    """Overlaps of boxes, some runs or frames of a run at a time: the corners of all rows need not be held at once."""
    frame, ends, other_frame, other_ends = _pieces(*frames)
    parts: list[list[Array]] = [[np.zeros(0, np.int32)], [np.zeros(0, np.int32)], [np.zeros(0)]]
    run = at = other_at = 0
    while run < len(ends):
        behind = max(run + 1, int(np.searchsorted(ends + other_ends, at + other_at + MOST_BOXES, side="right")))
        stop, other_stop = int(ends[behind - 1]), int(other_ends[behind - 1])
        row, other, similarity = _native.tracking_overlaps(
            truth.box(slice(at, stop)), frame[at:stop], ends[run:behind] - at,
            prediction.box(slice(other_at, other_stop)), other_frame[other_at:other_stop],
            other_ends[run:behind] - other_at,
        )  # fmt: skip
        row += np.int32(at)
        other += np.int32(other_at)
        piece: tuple[Array, ...] = row, other, similarity
        for part, values in zip(parts, piece, strict=True):
            part.append(values)
        run, at, other_at = behind, stop, other_stop
    joined = []
    for part in parts:
        joined.append(np.concatenate(part))
        part.clear()  # the pieces are not held beside the next column
    return Overlaps(*joined)


def _pieces(frame: Array, ends: Array, other_frame: Array, other_ends: Array) -> tuple[Array, Array, Array, Array]:
    """Cut long runs between frames; return where the pieces of both sides end."""
    cuts, other_cuts = [ends], [other_ends]
    for run in np.flatnonzero(np.diff(ends + other_ends, prepend=0) > MOST_BOXES).tolist():
        start, other_start = (int(of[run - 1]) if run else 0 for of in (ends, other_ends))
        mine, theirs = frame[start : ends[run]], other_frame[other_start : other_ends[run]]
        at = max(mine, theirs, key=len)[MOST_BOXES // 2 :: MOST_BOXES // 2]
        cuts.append(start + np.searchsorted(mine, at))
        other_cuts.append(other_start + np.searchsorted(theirs, at))
    return frame, np.sort(np.concatenate(cuts)), other_frame, np.sort(np.concatenate(other_cuts))


def _at_most(side: TrackSide, height: float) -> Array:
    """Which boxes are at most so high."""
    box = side.box()
    low: Array = box[:, 3] - box[:, 1] <= height + EPSILON
    return low


def _shared_frames(truth: TrackSide, prediction: TrackSide) -> list[tuple[int, int, int, int]]:
    """Rows of the frames that both sides have: begin and end in the truth, then in the predictions."""
    keys = [[side.run, side.frame] for side in (truth, prediction)]
    if not len(truth.run) or not len(prediction.run):
        return []
    starts: list[Array] = [np.flatnonzero(np.append(True, (np.diff(a) != 0) | (np.diff(b) != 0))) for a, b in keys]
    ends: list[Array] = [np.append(begin[1:], len(a)) for begin, (a, _) in zip(starts, keys, strict=True)]
    place = {
        (int(keys[1][0][s]), int(keys[1][1][s])): (int(s), int(e)) for s, e in zip(starts[1], ends[1], strict=True)
    }
    shared = []
    for begin, end in zip(starts[0], ends[0], strict=True):
        other = place.get((int(keys[0][0][begin]), int(keys[0][1][begin])))
        if other is not None:
            shared.append((int(begin), int(end), *other))
    return shared


def _inside(prediction: TrackSide, regions: TrackSide, classes: int) -> Array:
    """Which predictions lie by more than half inside a region of their frame: one box, or all masks together."""
    inside = np.zeros(len(prediction.run), dtype=bool)
    if not len(regions.row):
        return inside
    owner, region_owner = prediction.run // classes, regions.run // classes
    by_frame: dict[tuple[int, int], list[int]] = {}
    box, region_box = prediction.box(), regions.box()
    for i, key in enumerate(zip(region_owner.tolist(), regions.frame.tolist(), strict=True)):
        by_frame.setdefault(key, []).append(i)
    for i, key in enumerate(zip(owner.tolist(), prediction.frame.tolist(), strict=True)):
        near = by_frame.get(key)
        if near is None:
            continue
        if prediction.mask is not None and regions.mask is not None:
            union = regions.mask[near[0]] if len(near) == 1 else _native.mask_merge(regions.mask[near].tolist())
            packed = union if isinstance(union, bytes) else _native.mask_pack(union)
            share = _native.mask_iou([prediction.mask[i]], [packed], np.ones(1, np.uint8))
            if (share < 0).any():
                _refuse_sizes(regions, near[0], prediction, i)
            inside[i] = bool((share > 0.5 + EPSILON).any())
        else:
            inside[i] = bool((_shares(box[i], region_box[near]) > 0.5 + EPSILON).any())
    return inside


def _shares(box: Array, regions: Array) -> Array:
    """The share of a box that lies in each region."""
    area = (box[2] - box[0]) * (box[3] - box[1])
    if not area > EPSILON:
        return np.zeros(len(regions))
    low, high = np.maximum(box[:2], regions[:, :2]), np.minimum(box[2:], regions[:, 2:])
    shared = np.maximum(high - low, 0)
    shares: Array = shared[:, 0] * shared[:, 1] / area
    return shares


def _cells(pairs: TrackPairs, rows: Kept, values: Array) -> CellsBlock:
    """Values of each run as cells of its sequence, by class."""
    classes = max(1, pairs.metadata.size("class"))
    width = math.prod(values.shape[1:])
    flat = values.reshape(len(rows.runs), width)
    run, column = np.nonzero(flat)
    owner, group = rows.runs[run] // classes, rows.runs[run] % classes
    axes: tuple[str | int, ...] = ("class", *values.shape[1:])
    return CellsBlock.of(axes, pairs.metadata, owner, group * width + column, flat[run, column])


class HotaCells(Cells):
    """By class and threshold: the counts and sums of HOTA."""

    name = "tracking.hota"

    def measure(self, pairs: TrackPairs, cache: SharedCache) -> CellsBlock:
        """Seven sums of 19 thresholds."""
        return _cells(pairs, kept_rows(pairs, cache), tracked_sums(pairs, cache).hota)


class SequenceHota(Cells):
    """By class: HOTA of the sequence, and 1 where it has one."""

    name = "tracking.sequence_hota"

    def measure(self, pairs: TrackPairs, cache: SharedCache) -> CellsBlock:
        sums = tracked_sums(pairs, cache).hota
        tp, fn, fp, assa = (sums[:, i] for i in (0, 1, 2, 4))
        every, matched = tp + fn + fp, tp > 0
        product = np.divide(tp, every, out=np.zeros_like(tp), where=every > 0)
        product *= np.divide(assa, tp, out=np.zeros_like(tp), where=matched)
        value = np.zeros(len(sums))
        for place in range(len(ALPHAS)):
            value += np.sqrt(product[:, place])
        there = (every[:, 0] > 0).astype(np.float64)
        return _cells(pairs, kept_rows(pairs, cache), np.stack([value / len(ALPHAS), there], axis=1))


class LossCells(Cells):
    """By class and threshold: what association loses to splits, misses, merges and extra boxes."""

    name = "tracking.losses"

    def measure(self, pairs: TrackPairs, cache: SharedCache) -> CellsBlock:
        """Four sums of 19 thresholds."""
        return _cells(pairs, kept_rows(pairs, cache), tracked_sums(pairs, cache).losses)


class ClearCells(Cells):
    """By class: the counts of CLEAR at a threshold, and of Identity behind them."""

    name = "tracking.clear"

    iou: float = 0.5

    def measure(self, pairs: TrackPairs, cache: SharedCache) -> CellsBlock:
        sums = tracked_sums(pairs, cache, self.iou)
        return _cells(pairs, kept_rows(pairs, cache), np.concatenate([sums.clear, sums.identity], axis=1))


class SequenceMotaCells(Cells):
    """By class: MOTA of the sequence, and 1 where it has one."""

    name = "tracking.sequence_mota"

    iou: float = 0.5

    def measure(self, pairs: TrackPairs, cache: SharedCache) -> CellsBlock:
        tp, fn, fp, _, idsw = tracked_sums(pairs, cache, self.iou).clear.T[:5]
        there = tp + fn > 0
        value = np.divide(tp - fp - idsw, tp + fn, out=np.zeros(len(tp)), where=there)
        return _cells(pairs, kept_rows(pairs, cache), np.stack([value, there.astype(np.float64)], axis=1))


class SequenceSum(Sum):
    """Of sequences: their number, and their frames."""

    name = "tracking.sequences"

    def measure(self, pairs: TrackPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(np.stack([np.ones(len(pairs.units)), pairs.frames], axis=1))


class RemovedSum(Sum):
    """What was taken out before scoring: predictions by reason, then rows of the truth."""

    name = "tracking.removed"
    drawn = False

    def measure(self, pairs: TrackPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(kept_rows(pairs, cache).removed)


SEQUENCES, REMOVED_ROWS = SequenceSum(), RemovedSum()
