"""Metrics of a predicted number against a true one, shared by the tasks that weigh things.

Conventions: `rows` are the items or frames that were weighed, `y` the true and `ŷ` the predicted number of grams,
`w` the weight of a row's unit. Every metric here weighs rows equally inside a unit.
Checks of an estimator as an instrument (round numbers, rising steps) are here too.

A task whose rows have several targets (`nutrients`) uses the same statistics and metrics: its metrics override
`RowMetric.selection`, and its pairs have `target_rows`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal

import numpy as np

from steelyard.core.block import CellsBlock, MomentsBlock, Pooled, SumBlock
from steelyard.core.errors import InvalidValue
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.pairs import Array, Pairs
from steelyard.core.state import TotalsView
from steelyard.core.statistic import (
    Cells,
    Moments,
    RankingReader,
    Requirement,
    SharedCache,
    Sum,
    sum_by_unit,
)
from steelyard.core.weights import Entries, Floats, Role, Weights, ratio

ScoredRows = tuple[Array, Array, Array]  # true and predicted numbers, and the unit of each


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


def _added_setting() -> Any:
    """A setting of a statistic that states of earlier versions do not name."""
    return field(default="", metadata={"added": True})


def scored_rows(pairs: Any, cache: SharedCache, target: str, scaled: str) -> ScoredRows:
    """All rows, or those of one target of a task that has several, with the unit of each.

    With `scaled` predictions are rescaled by another target first, as `target_rows` of the pairs does it.
    """
    if not target:
        return (*rows_of(pairs, cache), pairs.owner)
    rows: ScoredRows = cache.once(("rows", target, scaled), lambda: pairs.target_rows(target, scaled))
    return rows


class RowSum(Sum):
    """A sum over the rows of each unit: of their number, their errors, their grams."""

    name = "rows.sum"

    of: str = "rows"
    target: str = _added_setting()
    scaled: str = _added_setting()

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        if not self.target:
            return SumBlock(row_columns(pairs, cache)[self.of])
        columns = cache.once(
            ("row columns", self.target, self.scaled),
            lambda: regression_columns(*scored_rows(pairs, cache, self.target, self.scaled), len(pairs.units)),
        )
        return SumBlock(columns[self.of])


class RowMoments(Moments):
    """Means and products of true (column 0) and predicted (column 1) grams."""

    name = "rows.moments"

    target: str = _added_setting()
    scaled: str = _added_setting()

    def measure(self, pairs: Pairs, cache: SharedCache) -> MomentsBlock:
        truth, prediction, owner = scored_rows(pairs, cache, self.target, self.scaled)
        return MomentsBlock.of((truth, prediction), owner, len(pairs.units))


class ErrorMoments(Moments):
    """The mean and the squares of errors."""

    name = "rows.error_moments"

    target: str = _added_setting()
    scaled: str = _added_setting()

    def measure(self, pairs: Pairs, cache: SharedCache) -> MomentsBlock:
        truth, prediction, owner = scored_rows(pairs, cache, self.target, self.scaled)
        return MomentsBlock.of((prediction - truth,), owner, len(pairs.units))


class RowErrors(Cells):
    """The absolute error of each row: one entry per row, in a single cell."""

    name = "rows.absolute_errors"

    target: str = _added_setting()
    scaled: str = _added_setting()

    def measure(self, pairs: Pairs, cache: SharedCache) -> CellsBlock:
        truth, prediction, owner = scored_rows(pairs, cache, self.target, self.scaled)
        error = np.abs(prediction - truth)
        return CellsBlock.of((1,), Metadata(), owner, np.zeros(len(owner), np.int64), error)


class MedianOfRows(RankingReader):
    """The weighted median of the entries of `RowErrors`: of two middle values the mean."""

    def read(self, block: Any, weights: Weights, metadata: Metadata) -> Floats:
        entries: Entries = block.entries
        if not len(entries.owner) or entries.value is None:
            return np.full(weights.rows, np.nan)
        order = np.argsort(entries.value, kind="stable")
        value, owner = entries.value[order], entries.owner[order]
        if weights.role is Role.UNITS:
            unit = (weights @ np.arange(weights.units, dtype=np.float64)).astype(np.int64)
            return _median_by_unit(value, owner, weights.units)[unit]
        return np.concatenate([_weighted_medians(value, block[:, owner]) for block in weights.blocks()])


def _weighted_medians(value: Array, weight: Floats) -> Floats:
    """The median of rising values under each row of weights; nan where a row has no weight."""
    total = np.cumsum(weight, axis=1)
    half = total[:, -1:] / 2
    near = ROUNDING * half  # sums of weights that are not whole numbers are rounded
    low, high = (total < half - near).sum(axis=1), (total <= half + near).sum(axis=1)
    last = len(value) - 1
    middle = (value[np.minimum(low, last)] + value[np.minimum(high, last)]) / 2
    return np.where(half[:, 0] > 0, middle, np.nan)


def _median_by_unit(value: Array, owner: Array, units: int) -> Floats:
    """The median of rising values in each unit; nan in a unit without any."""
    order = np.argsort(owner, kind="stable")
    value, count = value[order], np.bincount(owner, minlength=units)
    start = np.cumsum(count) - count
    low, high = (start + np.maximum(count - 1, 0) // 2), (start + count // 2)
    last = len(value) - 1
    return np.where(count > 0, (value[np.minimum(low, last)] + value[np.minimum(high, last)]) / 2, np.nan)


ROWS = RowSum("rows")


class EpsilonError(Sum):
    """Errors relative to the true weight, or to the machine epsilon where that is larger."""

    name = "rows.relative_to_epsilon"

    target: str = _added_setting()
    scaled: str = _added_setting()

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        truth, prediction, owner = scored_rows(pairs, cache, self.target, self.scaled)
        relative = np.abs(prediction - truth) / np.maximum(np.abs(truth), np.finfo(np.float64).eps)
        return sum_by_unit(relative, owner, len(pairs.units))


class RowsWithin(Sum):
    """Rows whose prediction is at most so many percent off."""

    name = "rows.within"

    percent: float
    target: str = _added_setting()
    scaled: str = _added_setting()

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        truth, prediction, owner = scored_rows(pairs, cache, self.target, self.scaled)
        within = 100 * np.abs(prediction - truth) <= self.percent * truth
        return sum_by_unit(within.astype(float), owner, len(pairs.units))


INFINITY = float("inf")


class RowMetric(Metric):
    """Base of metrics over scored rows. `selection` says which of several targets a metric is of, and how scaled."""

    @property
    def selection(self) -> Mapping[str, str]:
        """The settings `target` and `scaled` of its statistics."""
        return {}

    def sum_of(self, what: str) -> RowSum:
        """The sum over rows of their errors, their true numbers, and so on."""
        return RowSum(what, **self.selection)

    def moments(self) -> RowMoments:
        """The moments of true and predicted numbers."""
        return RowMoments(**self.selection)


class MeanAbsoluteError(RowMetric):
    r"""Mean absolute error: how far off a prediction is, on average.

    $\mathrm{MAE} = \sum_i w_i\,|\hat y_i - y_i| \;/\; \sum_i w_i$

    Every row counts the same, however heavy it is.

    Undefined when nothing was weighed.

    Pros:
    - Intuitive and easy to interpret: grams.

    Cons:
    - Treats all errors equally regardless of context: 10 g off on a 20 g food is as bad as on a 200 g food.
    """

    name = "mae"
    title = "Mean absolute error"
    better = "lower"
    range = (0, INFINITY)
    measured_in = "g"
    reference = "sklearn.metrics.mean_absolute_error"

    def requirements(self) -> tuple[Requirement, ...]:
        return self.sum_of("abs_error"), self.sum_of("rows")

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.sum_of("abs_error")], totals[self.sum_of("rows")])


class MeanAbsolutePercentageError(RowMetric):
    r"""Mean absolute percentage error: how far off a prediction is, relative to the true weight.

    $\mathrm{MAPE} = 100 \sum_i w_i\,|\hat y_i - y_i| / y_i \;/\; \sum_i w_i$

    A row whose true weight is 0 has no relative error: it is left out and counted. `zero=error` refuses such data,
    `zero=eps` divides by the machine epsilon instead, as scikit-learn does.

    Undefined when no row has a positive true weight.

    Pros:
    - Normalizes errors by food size, enabling fairer comparison across items of varying weights.
    - Highlights large relative errors on small foods.

    Cons:
    - Unstable when the true weight is close to zero.
    - Overly penalizes small absolute errors on small items: a 3 g error on a 1 g item is 300 %.
    """

    name = "mape"
    title = "Mean absolute percentage error"
    better = "lower"
    range = (0, INFINITY)
    measured_in = "%"
    reference = "sklearn.metrics.mean_absolute_percentage_error"

    zero: Literal["skip", "error", "eps"] = "skip"

    def requirements(self) -> tuple[Requirement, ...]:
        if self.zero == "eps":
            return EpsilonError(**self.selection), self.sum_of("rows")
        return self.sum_of("relative_error"), self.sum_of("positive_rows"), self.sum_of("zero_rows")

    def reduce(self, totals: TotalsView) -> Floats:
        if self.zero == "eps":
            return 100 * ratio(totals[EpsilonError(**self.selection)], totals[self.sum_of("rows")])
        zero_rows = totals[self.sum_of("zero_rows")]
        if self.zero == "error" and (zero_rows > 0).any():
            raise InvalidValue(
                f"metric '{self}': {zero_rows.max():.0f} rows have a true weight of 0",
                remedy="Remove them, or use mape, which leaves them out and counts them.",
            )
        return 100 * ratio(totals[self.sum_of("relative_error")], totals[self.sum_of("positive_rows")])

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        """Rows without a relative error."""
        if self.zero == "eps":
            return 0, ""
        return float(totals[self.sum_of("zero_rows")][0]), "rows with a true weight of 0"


class WeightedAbsolutePercentageError(RowMetric):
    r"""Weighted absolute percentage error: all grams off over all grams there are.

    $\mathrm{WAPE} = 100 \sum_i w_i\,|\hat y_i - y_i| \;/\; \sum_i w_i\,y_i$

    The ratio of means, so a tiny food cannot dominate as it does in MAPE.

    Undefined when the true weights add up to 0.

    Pros:
    - Relative, and stable where a true weight is close to zero.

    Cons:
    - Says little about small foods.
    """

    name = "wape"
    title = "Weighted absolute percentage error"
    better = "lower"
    range = (0, INFINITY)
    measured_in = "%"

    def requirements(self) -> tuple[Requirement, ...]:
        return self.sum_of("abs_error"), self.sum_of("truth")

    def reduce(self, totals: TotalsView) -> Floats:
        return 100 * ratio(totals[self.sum_of("abs_error")], totals[self.sum_of("truth")])


class Bias(RowMetric):
    r"""Bias: the mean signed error; above 0 the model predicts too much.

    $\mathrm{bias} = \sum_i w_i\,(\hat y_i - y_i) \;/\; \sum_i w_i$

    Undefined when nothing was weighed.

    Pros:
    - Shows a systematic error, which calibration can remove.

    Cons:
    - Errors of opposite sign cancel: 0 does not mean right.
    """

    name = "bias"
    title = "Bias (mean signed error)"
    better = "zero"
    range = (-INFINITY, INFINITY)
    measured_in = "g"

    def requirements(self) -> tuple[Requirement, ...]:
        return self.sum_of("error"), self.sum_of("rows")

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.sum_of("error")], totals[self.sum_of("rows")])


class RootMeanSquaredError(RowMetric):
    r"""Root mean squared error: the typical error, large ones weighing more.

    $\mathrm{RMSE} = \sqrt{\sum_i w_i\,(\hat y_i - y_i)^2 \;/\; \sum_i w_i}$

    Undefined when nothing was weighed.

    Pros:
    - In grams, and what least squares minimises.

    Cons:
    - One wild prediction can dominate it.
    """

    name = "rmse"
    title = "Root mean squared error"
    aliases = ("root mean square error",)
    better = "lower"
    range = (0, INFINITY)
    measured_in = "g"
    reference = "sklearn.metrics.root_mean_squared_error"

    def requirements(self) -> tuple[Requirement, ...]:
        return self.sum_of("squared_error"), self.sum_of("rows")

    def reduce(self, totals: TotalsView) -> Floats:
        return np.sqrt(ratio(totals[self.sum_of("squared_error")], totals[self.sum_of("rows")]))


class Within(RowMetric):
    r"""Within p percent: the share of rows whose prediction is at most p % off.

    $\mathrm{within}_p = 100 \sum_i w_i\,[\,100\,|\hat y_i - y_i| \le p\,y_i\,] \;/\; \sum_i w_i$

    A row whose true weight is 0 is within only if 0 was predicted.

    Undefined when nothing was weighed.

    Pros:
    - Reads as a promise: so many of a hundred foods are right to p %.

    Cons:
    - Does not see how far off the others are.
    """

    name = "within"
    title = "Within p percent"
    better = "higher"
    range = (0, 100)
    measured_in = "%"
    at = "percent"

    percent: Annotated[float, Between(0, open_low=True)] = 10

    @property
    def label(self) -> str:
        return f"Within {self.percent:g} percent"

    def requirements(self) -> tuple[Requirement, ...]:
        return RowsWithin(float(self.percent), **self.selection), self.sum_of("rows")

    def reduce(self, totals: TotalsView) -> Floats:
        return 100 * ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[RowsWithin(float(self.percent), **self.selection)], totals[self.sum_of("rows")]


# A remainder below this share of what was subtracted is rounding, not variance.
ROUNDING = 1e-12
TRUTH, PREDICTION = 0, 1  # columns of RowMoments


def _variance(pooled: Pooled, side: int) -> Floats:
    """Sum of squares around the weighted mean; nan where there is none but rounding."""
    value, scale = pooled.covariance(side, side)
    return np.where(value > ROUNDING * scale, value, np.nan)


class CoefficientOfDetermination(RowMetric):
    r"""Coefficient of determination: the share of the truth's variance that the prediction explains.

    $R^2 = 1 - \sum_i w_i\,(\hat y_i - y_i)^2 \;/\; \sum_i w_i\,(y_i - \bar y)^2$

    0 is what always predicting the mean reaches; a worse model is below 0.

    Undefined when the true weights do not vary.

    Pros:
    - Shows whether the model does better than a constant guess.

    Cons:
    - Depends on how much the foods vary: not comparable between data sets.
    """

    name = "r2"
    title = "Coefficient of determination R²"
    better = "higher"
    range = (-INFINITY, 1)
    reference = "sklearn.metrics.r2_score"

    def requirements(self) -> tuple[Requirement, ...]:
        return self.sum_of("squared_error"), self.moments()

    def reduce(self, totals: TotalsView) -> Floats:
        variance = _variance(totals[self.moments()], TRUTH)
        return np.asarray(1 - totals[self.sum_of("squared_error")] / variance)


class PearsonCorrelation(RowMetric):
    r"""Pearson correlation: how linearly prediction and truth go together.

    $r = \sum_i w_i (y_i - \bar y)(\hat y_i - \bar{\hat y})
    \;/\; \sqrt{\sum_i w_i (y_i - \bar y)^2 \sum_i w_i (\hat y_i - \bar{\hat y})^2}$

    Undefined when the true or the predicted weights do not vary.

    Pros:
    - Shows whether the order and spacing of the foods is seen at all.

    Cons:
    - Blind to bias and to scale: twice the weight everywhere is a perfect 1.
    """

    name = "pearson"
    title = "Pearson correlation"
    better = "higher"
    range = (-1, 1)
    reference = "scipy.stats.pearsonr"

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.moments(),)

    def reduce(self, totals: TotalsView) -> Floats:
        pooled = totals[self.moments()]
        scale = np.sqrt(_variance(pooled, TRUTH) * _variance(pooled, PREDICTION))
        return np.asarray(np.clip(pooled.covariance(TRUTH, PREDICTION)[0] / scale, -1.0, 1.0))


class Slope(RowMetric):
    r"""Slope of the prediction against the truth: how much of a real change is seen.

    $b = \sum_i w_i (y_i - \bar y)(\hat y_i - \bar{\hat y}) \;/\; \sum_i w_i (y_i - \bar y)^2$

    1 is an instrument that moves as the truth does; 0 one that always says the same, whatever its mean error.

    Undefined when the true weights do not vary.

    Pros:
    - Unmasks an estimator that guesses a typical portion.

    Cons:
    - Blind to a constant bias, and to scatter.
    """

    name = "slope"
    title = "Slope of prediction on truth"
    better = "one"
    range = (-INFINITY, INFINITY)
    reference = "scipy.stats.linregress"

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.moments(),)

    def reduce(self, totals: TotalsView) -> Floats:
        pooled = totals[self.moments()]
        return np.asarray(pooled.covariance(TRUTH, PREDICTION)[0] / _variance(pooled, TRUTH))


ROW_METRICS: tuple[type[Metric], ...] = (
    MeanAbsolutePercentageError,
    WeightedAbsolutePercentageError,
    Bias,
    RootMeanSquaredError,
    Within,
    CoefficientOfDetermination,
    PearsonCorrelation,
    Slope,
)


def step_columns(truth: Array, prediction: Array, owner: Array, units: int) -> dict[str, Array]:
    """By unit: steps to the next frame in which the truth does not rise, and those in which the prediction does."""
    inside = owner[1:] == owner[:-1]
    steps = inside & (np.diff(truth) <= 0)
    rises = steps & (np.diff(prediction) > 0)
    return {
        name: np.bincount(owner[1:][mask], minlength=units).astype(float)
        for name, mask in (("steps", steps), ("rises", rises))
    }


class RoundNumbers(Metric):
    r"""Heaping: how many more of the predictions than of the true weights are multiples of a round number.

    $h_k = 100 \sum_i w_i\,([\,k \mid \hat y_i\,] - [\,k \mid y_i\,]) \;/\; \sum_i w_i$

    People and language models like round numbers; scales do not. 0 means no heaping, 100 means that all predictions are
    round and no true weight is.

    Undefined when nothing was weighed.

    Pros:
    - Shows that a number was guessed rather than read.

    Cons:
    - Says nothing about how far off the guess is.
    """

    name = "heaping"
    title = "Heaping on round numbers"
    better = "zero"
    range = (-100, 100)
    measured_in = "%"
    at = "step"

    step: Annotated[float, Between(1e-9, 1e9)] = 10

    @property
    def label(self) -> str:
        return f"Heaping on multiples of {self.step:g}"

    def requirements(self) -> tuple[Requirement, ...]:
        return RoundExcess(float(self.step)), ROWS

    def reduce(self, totals: TotalsView) -> Floats:
        return 100 * ratio(totals[RoundExcess(float(self.step))], totals[ROWS])


class RoundExcess(Sum):
    """How many more predictions than true weights are multiples of a number."""

    name = "rows.round_excess"

    step: float

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        truth, prediction = (np.mod(side, self.step) == 0 for side in rows_of(pairs, cache))
        return sum_by_unit(prediction.astype(float) - truth, pairs.owner, len(pairs.units))


class Steps(Sum):
    """Steps to the next frame: column 0 those in which the truth does not rise, column 1 the rises among them."""

    name = "sequences.steps"

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        columns = step_columns(*rows_of(pairs, cache), pairs.owner, len(pairs.units))
        return SumBlock(np.stack([columns["steps"], columns["rises"]], axis=1))


class RisingSteps(Metric):
    r"""Rising steps: how often the predicted weight rises from a frame to the next although the true weight does not.

    $100 \sum_i \sum_t [\hat W_{i,t+1} > \hat W_{i,t} \wedge W_{i,t+1} \le W_{i,t}]
    \;/\; \sum_i \sum_t [W_{i,t+1} \le W_{i,t}]$

    Food that is eaten does not come back. Steps are between frames that stand next to each other among those scored.

    Undefined when no sequence has two frames of which the second is not heavier.

    Pros:
    - Shows noise that the mean error hides, without needing a scale.

    Cons:
    - A constant prediction never rises.
    """

    name = "rises"
    title = "Rising steps"
    better = "lower"
    range = (0, 100)
    measured_in = "%"

    def requirements(self) -> tuple[Requirement, ...]:
        return (Steps(),)

    def reduce(self, totals: TotalsView) -> Floats:
        return 100 * ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        counts = totals[Steps()]
        return counts[:, 1], counts[:, 0]
