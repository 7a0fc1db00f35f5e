"""Sums by eating sequence: what the errors of a sequence are made of."""

from __future__ import annotations

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import constant_in_unit, factorize
from steelyard.core.statistic import SharedCache, Sum
from steelyard.tasks.shared.rows import row_columns, rows_of


@frozen
class SequenceSum(Sum):
    """A sum over a sequence, or something that a sequence is or has: its initial error, whether it has one."""

    name = "sequences.sum"

    of: str

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        return SumBlock(sequence_columns(pairs, cache)[self.of])


def sequence_columns(pairs: Pairs, cache: SharedCache) -> dict[str, Array]:
    """Columns by sequence, by what they are of."""
    return cache.once("sequence columns", lambda: _columns(pairs, cache))


def _columns(pairs: Pairs, cache: SharedCache) -> dict[str, Array]:
    truth, prediction = rows_of(pairs, cache)
    units, owner, t = len(pairs.units), pairs.owner, pairs.truth_column("t")
    columns = dict(row_columns(pairs, cache))
    frames = columns["rows"]

    columns["sequences"] = (frames > 0).astype(float)
    columns["mean_error"] = np.divide(columns["abs_error"], frames, out=np.zeros(units), where=frames > 0)
    columns["mean_truth"] = np.divide(columns["truth"], frames, out=np.zeros(units), where=frames > 0)

    last, single = _last_frame(pairs)
    at_start, at_end = t == 0, t == last[owner]
    start_truth, start_prediction, has_start = _at(at_start, owner, truth, prediction, units)
    end_truth, end_prediction, has_end = _at(at_end, owner, truth, prediction, units)
    both = has_start & has_end
    columns["initial"] = has_start.astype(float)
    columns["initial_error"] = np.abs(start_prediction - start_truth)
    columns["initial_truth"] = start_truth
    eaten, predicted = (start_truth - end_truth) * both, (start_prediction - end_prediction) * both
    columns["consumed"] = both.astype(float)
    columns["consumed_error"] = np.abs(eaten - predicted)
    columns["consumed_truth"] = eaten
    columns["single"] = (both & single).astype(float)

    density: Array = np.full(units, np.nan)
    if "kcal_per_g" in pairs.truth:
        density = constant_in_unit(pairs.truth, "kcal_per_g", owner, pairs.truth_row, units)
    known = ~np.isnan(density)
    density = np.nan_to_num(density)
    columns["kcal_frames"] = frames * known
    columns["kcal_error"] = columns["abs_error"] * density
    columns["kcal_truth"] = columns["truth"] * density
    return columns


def _last_frame(pairs: Pairs) -> tuple[Array, Array]:
    """The last valid frame of each sequence as the truth has it, and whether it is the only one."""
    _, (unit, row_unit) = factorize(pairs.units, pairs.truth["sequence"])
    position = np.full(int(max(unit.max(initial=-1), row_unit.max(initial=-1))) + 1, -1, dtype=np.int64)
    position[unit] = np.arange(len(unit))
    rows = position[row_unit]
    inside = rows >= 0
    last = np.full(len(pairs.units), -1, dtype=np.int64)
    np.maximum.at(last, rows[inside], pairs.truth["t"][inside])
    return last, np.bincount(rows[inside], minlength=len(pairs.units)) == 1


def _at(mask: Array, owner: Array, truth: Array, prediction: Array, units: int) -> tuple[Array, Array, Array]:
    values, predicted, present = np.zeros(units), np.zeros(units), np.zeros(units, dtype=bool)
    values[owner[mask]], predicted[owner[mask]], present[owner[mask]] = truth[mask], prediction[mask], True
    return values, predicted, present
