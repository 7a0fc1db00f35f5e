"""Answers that are numbers: near enough or not, and how far off. Counts are whole numbers from 0 up."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from steelyard.core.metric import Between, Metric
from steelyard.core.state import TotalsView
from steelyard.core.weights import Floats
from steelyard.tasks.answers.choices import OfSum, ShareOf
from steelyard.tasks.answers.sums import NumberErrors, NumberHits, Read

INFINITY = float("inf")
ASKED = 6  # column of NumberErrors


class NumberWithin(ShareOf):
    r"""Numeric accuracy: the share of questions with a number whose reply is one near enough.

    $|\hat y - y| \le \max(\mathrm{rel}\,|y|, \mathrm{abs})$

    With both at 0 numbers must be equal. A reply is read as a number where it is one and nothing else (`read=whole`),
    or has one number in it (`read=only`); thousands may have commas, and words up to twenty are numbers.

    Undefined when no accepted answer is a number.

    Pros:
    - The tolerance is yours, and is said.

    Cons:
    - Does not see how far off the others are.
    """

    name = "number"
    title = "Numeric accuracy"

    rel: Annotated[float, Between(0)] = 0.0
    abs: Annotated[float, Between(0)] = 0.0
    read: Read = "whole"

    @property
    def statistic(self) -> NumberHits:
        return NumberHits(float(self.rel), float(self.abs), self.read)


class _NumberError(OfSum):
    """Base of errors of numbers, over questions with a number on both sides."""

    whole: ClassVar[bool] = False
    better = "lower"
    range = (0.0, INFINITY)

    read: Read = "whole"

    @property
    def statistic(self) -> NumberErrors:
        return NumberErrors(self.read, self.whole)

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        sums = totals[self.statistic][0]
        return float(sums[ASKED] - sums[0]), "questions for a number, whose reply is none"


class MeanAbsoluteError(_NumberError):
    r"""Mean absolute error: how far a number is off, on average.

    $\mathrm{MAE} = \frac{1}{n} \sum_i |\hat y_i - y_i|$

    A reply that is not a number has no error: it is left out and counted.

    Undefined when no number is answered by a number.

    Pros:
    - In the unit of the answers.

    Cons:
    - Large numbers dominate.
    """

    name = "mae"
    title = "Mean absolute error"
    columns = (1, 0)


class Bias(_NumberError):
    r"""Bias: the mean signed error; above 0 the replies are too high.

    $\mathrm{bias} = \frac{1}{n} \sum_i (\hat y_i - y_i)$

    A reply that is not a number is left out and counted.

    Undefined when no number is answered by a number.

    Pros:
    - Shows a systematic error.

    Cons:
    - Errors of opposite sign cancel.
    """

    name = "bias"
    title = "Bias (mean signed error)"
    better = "zero"
    range = (-INFINITY, INFINITY)
    columns = (2, 0)


class RootMeanSquaredError(_NumberError):
    r"""Root mean squared error: the typical error, large ones weighing more.

    $\mathrm{RMSE} = \sqrt{\frac{1}{n} \sum_i (\hat y_i - y_i)^2}$

    A reply that is not a number is left out and counted.

    Undefined when no number is answered by a number.

    Pros:
    - In the unit of the answers.

    Cons:
    - One wild reply can dominate it.
    """

    name = "rmse"
    title = "Root mean squared error"
    columns = (3, 0)

    def reduce(self, totals: TotalsView) -> Floats:
        return np.sqrt(super().reduce(totals))


class PercentageError(_NumberError):
    r"""Mean absolute percentage error: how far a number is off, relative to the true one.

    $\mathrm{MAPE} = \frac{100}{n} \sum_i |\hat y_i - y_i| / |y_i|$

    Questions whose true number is 0 have no relative error and are left out.

    Undefined when no number is answered by a number.

    Pros:
    - Small and large numbers count alike.

    Cons:
    - Unstable where the true number is close to 0.
    """

    name = "mape"
    title = "Mean absolute percentage error"
    measured_in = "%"
    columns = (4, 5)

    def reduce(self, totals: TotalsView) -> Floats:
        return 100 * super().reduce(totals)


class CountError(_NumberError):
    r"""Counting error: how far a count is off, on average.

    $E = \frac{1}{n} \sum_i |\hat c_i - c_i|$

    Over questions whose answer is a whole number from 0 up. A reply that is not a number is left out and counted.

    Undefined when no count is answered by a number.

    Pros:
    - In objects.

    Cons:
    - Images with many objects dominate.
    """

    name = "count_mae"
    title = "Counting error"
    whole: ClassVar[bool] = True
    columns = (1, 0)


class CountBias(_NumberError):
    r"""Counting bias: the mean signed error of counts; below 0 objects are missed.

    $B = \frac{1}{n} \sum_i (\hat c_i - c_i)$

    Over questions whose answer is a whole number from 0 up.

    Undefined when no count is answered by a number.

    Pros:
    - Shows whether a model misses objects or sees too many.

    Cons:
    - Errors of opposite sign cancel.
    """

    name = "count_bias"
    title = "Counting bias"
    better = "zero"
    range = (-INFINITY, INFINITY)
    whole: ClassVar[bool] = True
    columns = (2, 0)


class CountWithin(ShareOf):
    r"""Counts within k: the share of counts that are at most k off.

    $W_k = \frac{1}{N} \sum_i [\,|\hat c_i - c_i| \le k\,]$

    Over questions whose answer is a whole number from 0 up. A reply that is not a number is wrong.

    Undefined when no accepted answer is a whole number.

    Pros:
    - Reads as a promise.

    Cons:
    - Off by one of two is as good as off by one of fifty.
    """

    name = "count_within"
    title = "Counts within k"
    at = "k"

    k: Annotated[int, Between(0)] = 1
    read: Read = "whole"

    @property
    def label(self) -> str:
        return f"Counts within {self.k:g}"

    @property
    def statistic(self) -> NumberHits:
        """Counts at most k off."""
        return NumberHits(0.0, float(self.k), self.read, True)


class CountExact(ShareOf):
    r"""Exact counts: the share of counts that are right.

    $W_0 = \frac{1}{N} \sum_i [\,\hat c_i = c_i\,]$

    Over questions whose answer is a whole number from 0 up. A reply that is not a number is wrong.

    Undefined when no accepted answer is a whole number.

    Pros:
    - Right is right.

    Cons:
    - Does not see how far off the others are.
    """

    name = "count_exact"
    title = "Exact counts"

    read: Read = "whole"

    @property
    def statistic(self) -> NumberHits:
        """Counts that are equal."""
        return NumberHits(0.0, 0.0, self.read, True)


NUMBERS: tuple[type[Metric], ...] = (
    NumberWithin, MeanAbsoluteError, Bias, RootMeanSquaredError, PercentageError,
    CountExact, CountWithin, CountError, CountBias,
)  # fmt: skip
