"""What is kept of the meal as a curve: phases, eating rate, bites, implausible readings, and smoothed readings.

Rows of pairs are in the order of their sequence and `t`. A step is from a scored frame to the next scored frame of its
sequence.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import factorize
from steelyard.core.statistic import SharedCache, Sum
from steelyard.tasks.shared.regression import rows_of

Smooth = Literal["none", "running_median", "isotonic"]
PHASES = ("first", "middle", "last")
MOUTHFUL = 50  # grams: more than a person takes at once


def running_median(values: Array, owner: Array) -> Array:
    """The median of each value and its two neighbours in the same sequence; the first and the last stay."""
    smoothed = np.array(values, dtype=np.float64)
    if len(values) > 2:
        before, here, after = smoothed[:-2].copy(), smoothed[1:-1].copy(), smoothed[2:].copy()
        inside = (owner[:-2] == owner[1:-1]) & (owner[2:] == owner[1:-1])
        median = np.maximum(np.minimum(before, here), np.minimum(np.maximum(before, here), after))
        smoothed[1:-1] = np.where(inside, median, here)
    return smoothed


def isotonic(values: Array, owner: Array) -> Array:
    """The falling curve of each sequence that is nearest to its values in squares: adjacent violators are pooled."""
    means: list[float] = []
    sizes: list[int] = []
    last = None
    start = 0  # of the blocks of the current sequence
    for unit, value in zip(owner.tolist(), np.asarray(values, dtype=np.float64).tolist(), strict=True):
        if unit != last:
            last, start = unit, len(means)
        mean, size = value, 1
        while len(means) > start and means[-1] < mean:
            size += sizes[-1]
            mean += (means.pop() - mean) * sizes.pop() / size
        means.append(mean)
        sizes.append(size)
    return np.repeat(np.array(means, dtype=np.float64), np.array(sizes, dtype=np.int64))


_SMOOTHERS = {"running_median": running_median, "isotonic": isotonic}


def smoothed_rows(pairs: Pairs, cache: SharedCache, smooth: str) -> tuple[Array, Array]:
    """True and predicted grams, row by row, with the predictions of each sequence smoothed.

    A missing prediction that the policy keeps stays 0 g and has no part in the smoothing.
    """
    if smooth == "none":
        return rows_of(pairs, cache)

    def smoothed() -> tuple[Array, Array]:
        truth, prediction = rows_of(pairs, cache)
        there = pairs.prediction_row >= 0
        repaired = np.array(prediction, dtype=np.float64)
        repaired[there] = _SMOOTHERS[smooth](repaired[there], pairs.owner[there])
        return truth, repaired

    return cache.once(("smoothed rows", smooth), smoothed)


def places(pairs: Pairs, cache: SharedCache) -> tuple[Array, Array]:
    """Of each row, its place among all valid frames of its sequence, and how many there are."""

    def counted() -> tuple[Array, Array]:
        _, (unit, row_unit) = factorize(pairs.units, pairs.truth["sequence"])
        position = np.full(int(max(unit.max(initial=-1), row_unit.max(initial=-1))) + 1, -1, dtype=np.int64)
        position[unit] = np.arange(len(unit))
        rows = position[row_unit]
        order = np.lexsort((pairs.truth["t"], rows))
        sizes = np.bincount(rows[rows >= 0], minlength=len(pairs.units))
        starts = np.cumsum([int(np.count_nonzero(rows < 0)), *sizes[:-1]]) if len(sizes) else np.zeros(0, np.int64)
        place = np.empty(len(rows), dtype=np.int64)
        place[order] = np.arange(len(rows))
        return place[pairs.truth_row] - starts[pairs.owner], sizes[pairs.owner]

    return cache.once("places", counted)


def phase_of(place: Array, frames: Array) -> Array:
    """The third of the meal that a frame belongs to, by the middle of its share; a single frame is in the first."""
    return np.where(frames > 1, 3 * (2 * place + 1) // np.maximum(2 * frames, 1), 0)


def _sums(pairs: Pairs, *columns: Array) -> SumBlock:
    """Sums of rows' columns in each sequence."""
    units = len(pairs.units)
    return SumBlock(np.stack([np.bincount(pairs.owner, weights=column, minlength=units) for column in columns], axis=1))


class PhaseFrames(Sum):
    """Frames of a third of the meal: column 0 their absolute errors, column 1 their number."""

    name = "sequences.phase"

    phase: str
    smooth: str = "none"

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        truth, prediction = smoothed_rows(pairs, cache, self.smooth)
        inside = phase_of(*places(pairs, cache)) == PHASES.index(self.phase)
        return _sums(pairs, np.abs(prediction - truth) * inside, inside.astype(float))


class FramesLeft(Sum):
    """Frames with a true weight from `low` to below `high`: column 0 their absolute errors, column 1 their number."""

    name = "sequences.left"

    low: float
    high: float
    smooth: str = "none"

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        truth, prediction = smoothed_rows(pairs, cache, self.smooth)
        inside = (truth >= self.low) & (truth < self.high)
        return _sums(pairs, np.abs(prediction - truth) * inside, inside.astype(float))


def times_of(pairs: Pairs) -> Array | None:
    """The time of each row in seconds, nan where the cell is empty; None without such a column."""
    return pairs.truth_column("time") if "time" in pairs.truth else None


def _is_timed(pairs: Pairs, time: Array) -> Array:
    """Whether each sequence has a time in all its rows."""
    units = len(pairs.units)
    rows = np.bincount(pairs.owner, minlength=units)
    timed: Array = (rows > 0) & (np.bincount(pairs.owner[~np.isnan(time)], minlength=units) == rows)
    return timed


class Rates(Sum):
    """By sequence: has a rate, its absolute error, the true rate (g/min), is there, and has times."""

    name = "sequences.rate"

    smooth: str = "none"

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        units = len(pairs.units)
        columns = np.zeros((units, 5))
        columns[:, 3] = np.bincount(pairs.owner, minlength=units) > 0
        time = times_of(pairs)
        if time is None:
            return SumBlock(columns)
        truth, prediction = smoothed_rows(pairs, cache, self.smooth)
        place, frames = places(pairs, cache)
        begins = np.flatnonzero((pairs.truth_column("t") == 0) & ~np.isnan(time))
        ends = np.flatnonzero((place == frames - 1) & ~np.isnan(time))
        first, last = np.full((2, units), -1, dtype=np.int64)
        first[pairs.owner[begins]], last[pairs.owner[ends]] = begins, ends
        both = (first >= 0) & (last >= 0)
        minutes = np.where(both, time[last] - time[first], 0.0) / 60 if len(time) else np.zeros(units)
        use = np.flatnonzero(minutes > 0)
        true, predicted = ((side[first[use]] - side[last[use]]) / minutes[use] for side in (truth, prediction))
        columns[use, 0], columns[use, 1], columns[use, 2] = 1.0, np.abs(predicted - true), true
        columns[:, 4] = np.bincount(pairs.owner[~np.isnan(time)], minlength=units) > 0
        return SumBlock(columns)


def match_events(true: list[float], predicted: list[float], tolerance: float) -> list[tuple[int, int]]:
    """Pairs of events that are at most `tolerance` apart; both lists rise.

    There are as many pairs as possible, no event is in two, and among those choices the distances add up to the least.
    Ties go to the earlier events.
    """
    previous: list[tuple[int, float]] = [(0, 0.0)]
    low = high = 0
    windows: list[tuple[int, int, list[str]]] = []
    for a in true:
        before_low, before = low, previous
        while low < len(predicted) and a - predicted[low] > tolerance:
            low += 1
        high = max(high, low)
        while high < len(predicted) and predicted[high] - a <= tolerance:
            high += 1
        best = [before[min(low - before_low, len(before) - 1)]]
        choices = [""]
        for j in range(low + 1, high + 1):
            value, choice = best[-1], "predicted"
            above = before[min(j - before_low, len(before) - 1)]
            if above > value:
                value, choice = above, "true"
            count, cost = before[min(j - 1 - before_low, len(before) - 1)]
            paired = (count + 1, cost - abs(a - predicted[j - 1]))
            if paired > value:
                value, choice = paired, "pair"
            best.append(value)
            choices.append(choice)
        windows.append((low, high, choices))
        previous = best
    pairs: list[tuple[int, int]] = []
    j = len(predicted)
    i = len(true)
    while i:
        low, high, choices = windows[i - 1]
        j = min(j, high)
        choice = choices[j - low] if j > low else "true"
        if choice == "pair":
            pairs.append((i - 1, j - 1))
        j -= choice != "true"
        i -= choice != "predicted"
    return pairs[::-1]


class Bites(Sum):
    """By sequence: true bites, predicted ones, matched ones, errors of matched sizes, the difference of the numbers and
    its absolute value, whether the sequence is scored, and whether it has the times that are needed.
    """

    name = "sequences.bites"

    threshold: float
    tolerance: float
    by: str
    smooth: str = "none"

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        return cache.once(str(self), lambda: self._measure(pairs, cache))

    def _measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        units = len(pairs.units)
        columns = np.zeros((units, 8))
        there = np.bincount(pairs.owner, minlength=units) > 0
        columns[:, 7] = there
        if self.by == "frame":
            at, scored = pairs.truth_column("t").astype(float), there
        else:
            time = times_of(pairs)
            if time is None:
                return SumBlock(columns)
            at, scored = time, _is_timed(pairs, time)
        columns[:, 6] = scored
        bites = [_bites(side, pairs.owner, self.threshold, scored) for side in smoothed_rows(pairs, cache, self.smooth)]
        counts = [np.bincount(pairs.owner[ends], minlength=units) for ends, _ in bites]
        columns[:, 0], columns[:, 1] = counts
        columns[:, 4] = columns[:, 1] - columns[:, 0]
        columns[:, 5] = np.abs(columns[:, 4])
        starts = [np.cumsum([0, *count]) for count in counts]
        whens = [at[ends].tolist() for ends, _ in bites]
        for unit in np.flatnonzero((columns[:, 0] > 0) & (columns[:, 1] > 0)).tolist():
            parts = [slice(int(start[unit]), int(start[unit + 1])) for start in starts]
            mine, theirs = (when[part] for when, part in zip(whens, parts, strict=True))
            for i, j in match_events(mine, theirs, self.tolerance):
                columns[unit, 2] += 1
                columns[unit, 3] += abs(bites[0][1][parts[0].start + i] - bites[1][1][parts[1].start + j])
        return SumBlock(columns)


def _bites(values: Array, owner: Array, threshold: float, scored: Array) -> tuple[Array, Array]:
    """The rows at which a bite ends, and its grams: a step down by at least the threshold."""
    drop = values[:-1] - values[1:]
    ends = np.flatnonzero((owner[1:] == owner[:-1]) & (drop >= threshold) & scored[owner[1:]]) + 1
    return ends, drop[ends - 1]


class Durations(Sum):
    """By sequence: has times, the absolute error of the duration in seconds, the true duration, is there."""

    name = "sequences.duration"

    threshold: float
    smooth: str = "none"

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        units = len(pairs.units)
        columns = np.zeros((units, 4))
        columns[:, 3] = np.bincount(pairs.owner, minlength=units) > 0
        time = times_of(pairs)
        if time is None:
            return SumBlock(columns)
        timed = _is_timed(pairs, time)
        durations = []
        for side in smoothed_rows(pairs, cache, self.smooth):
            ends, _ = _bites(side, pairs.owner, self.threshold, timed)
            duration = np.zeros(units)
            # The first bite begins at the frame before the one that shows it.
            duration[pairs.owner[ends]] = time[ends]
            duration[pairs.owner[ends[::-1]]] -= time[ends[::-1] - 1]
            durations.append(duration)
        columns[:, 0], columns[:, 1], columns[:, 2] = timed, np.abs(durations[1] - durations[0]), durations[0]
        return SumBlock(columns)


class Jumps(Sum):
    """Steps in which the truth changes by at most so many grams; column 1 those in which the prediction does more."""

    name = "sequences.jumps"

    grams: float

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        truth, prediction = rows_of(pairs, cache)
        steps = (pairs.owner[1:] == pairs.owner[:-1]) & (np.abs(np.diff(truth)) <= self.grams)
        jumps = steps & (np.abs(np.diff(prediction)) > self.grams)
        units = len(pairs.units)
        columns = [np.bincount(pairs.owner[1:][mask], minlength=units) for mask in (steps, jumps)]
        return SumBlock(np.stack(columns, axis=1))


class Flat(Sum):
    """Sequences in which the truth changes; column 1 those in which the prediction does not."""

    name = "sequences.flat"

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        inside = pairs.owner[1:] == pairs.owner[:-1]
        units = len(pairs.units)
        moves, answers = (
            np.bincount(pairs.owner[1:][inside & (np.diff(side) != 0)], minlength=units) > 0
            for side in rows_of(pairs, cache)
        )
        return SumBlock(np.stack([moves, moves & ~answers], axis=1).astype(float))


def smooth_label(smooth: str) -> str:
    """What a label says of smoothing."""
    return "" if smooth == "none" else f", {smooth.replace('_', ' ')}"
