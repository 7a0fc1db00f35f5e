"""What is measured of rows with a true and a predicted number of grams: sums and moments by unit."""

from __future__ import annotations

import numpy as np

from steelyard.core.block import MomentsBlock, SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array, Pairs
from steelyard.core.statistic import Moments, SharedCache, Sum, sum_by_unit


def regression_columns(truth: Array, prediction: Array, owner: Array, units: int) -> dict[str, Array]:
    """Sums by unit that the metrics below reduce."""

    def total(values: Array) -> Array:
        return np.bincount(owner, weights=values, minlength=units)

    error = prediction - truth
    positive = truth > 0
    relative = np.zeros(len(truth))
    relative[positive] = np.abs(error[positive]) / truth[positive]
    return {
        "rows": total(np.ones(len(truth))),
        "zero_rows": total((~positive).astype(float)),
        "positive_rows": total(positive.astype(float)),
        "error": total(error),
        "abs_error": total(np.abs(error)),
        "squared_error": total(error * error),
        "relative_error": total(relative),
        "truth": total(truth),
        "prediction": total(prediction),
    }


def rows_of(pairs: Pairs, cache: SharedCache) -> tuple[Array, Array]:
    """True and predicted grams, row by row. A missing prediction that the policy keeps counts as 0 g."""
    return cache.once("rows", lambda: (pairs.truth_column("weight"), pairs.prediction_column("weight", missing=0.0)))


def row_columns(pairs: Pairs, cache: SharedCache) -> dict[str, Array]:
    """Sums of rows by unit, by what they are of."""
    return cache.once("row columns", lambda: regression_columns(*rows_of(pairs, cache), pairs.owner, len(pairs.units)))


@frozen
class RowSum(Sum):
    """A sum over the rows of each unit: of their number, their errors, their grams."""

    name = "rows.sum"

    of: str = "rows"

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        return SumBlock(row_columns(pairs, cache)[self.of])


@frozen
class RowMoments(Moments):
    """Means and products of true (column 0) and predicted (column 1) grams."""

    name = "rows.moments"

    def measure(self, pairs: Pairs, cache: SharedCache) -> MomentsBlock:
        return MomentsBlock.of(rows_of(pairs, cache), pairs.owner, len(pairs.units))


ROWS = RowSum("rows")


@frozen
class EpsilonError(Sum):
    """Errors relative to the true weight, or to the machine epsilon where that is larger."""

    name = "rows.relative_to_epsilon"

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        truth, prediction = rows_of(pairs, cache)
        relative = np.abs(prediction - truth) / np.maximum(np.abs(truth), np.finfo(np.float64).eps)
        return sum_by_unit(relative, pairs.owner, len(pairs.units))


@frozen
class RowsWithin(Sum):
    """Rows whose prediction is at most so many percent off."""

    name = "rows.within"

    percent: float

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        truth, prediction = rows_of(pairs, cache)
        within = 100 * np.abs(prediction - truth) <= self.percent * truth
        return sum_by_unit(within.astype(float), pairs.owner, len(pairs.units))
