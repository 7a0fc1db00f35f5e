"""Metrics of probabilities: log loss, Brier score, and whether a probability can be taken at its word."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np

from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Array, Floats, ratio
from steelyard.tasks.labels.counts import ROWS, PerClass, holds, place_of, several
from steelyard.tasks.labels.statistics import (
    ClassBins,
    ClassProbabilitySum,
    ClassSquaredGaps,
    ConfidenceBins,
    NoChance,
    ProbabilitySum,
    SquaredGaps,
)

if TYPE_CHECKING:
    from steelyard.core.state import State

INFINITY = float("inf")
LONE_VARIANCE = 0.25  # of a row's gap, where a bin has no other to tell by
NO_PROBABILITIES = "the predictions hold no probabilities"


class ProbabilityMetric(PerClass):
    """Base of the metrics that need probabilities."""

    def lacks(self, metadata: Metadata) -> str:
        return "" if holds(metadata, "probability") else NO_PROBABILITIES

    def has_overall(self, metadata: Metadata) -> bool:
        """Where a row has one label."""
        return not several(metadata)


class ProbabilityMean(ProbabilityMetric):
    """Base of the metrics that are a mean over rows, of a row's own class or of one class against the others."""

    sums: ClassVar[Literal["surprise", "squared"]]

    def requirements(self) -> tuple[Requirement, ...]:
        return (ProbabilitySum(self.sums, self.only), ROWS)

    def class_needs(self) -> tuple[Requirement, ...]:
        return (ClassProbabilitySum(self.sums), ROWS)

    def overall(self, totals: TotalsView) -> Floats:
        return ratio(totals[ProbabilitySum(self.sums, self.only)], totals[ROWS])

    def of(self, totals: TotalsView, place: int) -> Floats:
        return ratio(totals[ProbabilitySum(self.sums, self.only)], totals[ROWS])

    def each(self, totals: TotalsView) -> Floats:
        return ratio(totals[ClassProbabilitySum(self.sums)], totals[ROWS][:, np.newaxis])


class LogLoss(ProbabilityMean):
    r"""Log loss: how surprised the model is by the truth.

    $\mathrm{LL} = -\sum_i w_i \ln p_i(y_i) \;/\; \sum_i w_i$

    Also called cross-entropy, in nats. A probability below 2.2e-16 is taken for that, as scikit-learn does, and
    counted in a note. With `label` it is that class's, against all others.

    Undefined when the predictions hold no probabilities.

    Pros:
    - Best at the true probabilities and nowhere else.

    Cons:
    - One sure and wrong answer can dominate it.
    """

    name = "log_loss"
    title = "Log loss"
    better = "lower"
    range = (0, INFINITY)
    measured_in = "nats"
    reference = "sklearn.metrics.log_loss"
    sums = "surprise"

    def requirements(self) -> tuple[Requirement, ...]:
        return (*super().requirements(), NoChance())

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        if several(totals.metadata):
            return ()
        count = int(totals[NoChance()][0])
        rows = "1 row gives its" if count == 1 else f"{count} rows give their"
        return (f"{rows} true class a probability of 0; it is taken for 2.2e-16.",) if count else ()


class BrierScore(ProbabilityMean):
    r"""Brier score: the squared distance of the probabilities from the truth.

    $\mathrm{BS} = \sum_i w_i \sum_k (p_{ik} - [y_i = k])^2 \;/\; \sum_i w_i$

    For two classes, that of the positive class alone (half the sum), as scikit-learn does; `form=sum` and `form=half`
    choose. With `label` it is that class's, against all others.

    Undefined when the predictions hold no probabilities.

    Pros:
    - Best at the true probabilities, and bounded: one sure and wrong answer cannot dominate it.

    Cons:
    - Hardly moves for a rare class.
    """

    name = "brier"
    title = "Brier score"
    better = "lower"
    range = (0, 2)
    reference = "sklearn.metrics.brier_score_loss"
    sums = "squared"

    form: Literal["auto", "sum", "half"] = "auto"

    def overall(self, totals: TotalsView) -> Floats:
        half = self.form == "half" or (self.form == "auto" and totals.metadata.size("class") <= 2)
        return super().overall(totals) * (0.5 if half else 1.0)


class Bins(Frozen):
    """Weighted sums by bin of confidence, for each row of weights: (rows, bins).

    `squares` are of how far a row's confidence is from whether it is right, where that is kept.
    """

    right: Floats
    confidence: Floats
    rows: Floats
    squares: Floats | None = None

    @staticmethod
    def of(totals: Floats, squares: Floats | None = None) -> Bins:
        """Three sums by bin."""
        return Bins(totals[..., 0, :], totals[..., 1, :], totals[..., 2, :], squares)

    def gaps(self) -> tuple[Floats, Floats]:
        """How far apart the means of each bin are, and the variance of that; 0 in an empty bin."""
        assert self.squares is not None
        rows = np.where(self.rows > 0, self.rows, 1.0)
        gap = np.abs(self.right - self.confidence) / rows
        spread = np.maximum(self.squares / rows - gap**2, 0.0)
        lone = self.rows <= 1
        variance = np.where(lone, LONE_VARIANCE, np.minimum(spread / np.where(lone, 1.0, rows - 1), LONE_VARIANCE))
        return gap, np.where(self.rows > 0, variance, 0.0)

    def mean(self, values: Floats) -> Floats:
        """The mean over bins, each counted by its rows."""
        return ratio((self.rows * values).sum(axis=1), self.rows.sum(axis=1))


class CalibrationMetric(ProbabilityMetric):
    """Base of the metrics that compare confidence with how often it is right, bin by bin."""

    bins: Annotated[int, Between(1, 10_000)] = 15

    @property
    def squared(self) -> bool:
        """Whether the squares of gaps are needed."""
        return False

    @abstractmethod
    def gap(self, bins: Bins) -> Floats:
        """The value, from sums by bin."""

    def requirements(self) -> tuple[Requirement, ...]:
        squares = (SquaredGaps(self.bins, self.only),) if self.squared else ()
        return (ConfidenceBins(self.bins, self.only), *squares)

    def class_needs(self) -> tuple[Requirement, ...]:
        return (ClassBins(self.bins), *((ClassSquaredGaps(self.bins),) if self.squared else ()))

    def read(self, totals: TotalsView) -> Bins:
        """The sums of the given label, or of one class."""
        squares = totals[SquaredGaps(self.bins, self.only)] if self.squared else None
        return Bins.of(totals[ConfidenceBins(self.bins, self.only)], squares)

    def overall(self, totals: TotalsView) -> Floats:
        return self.gap(self.read(totals))

    def of(self, totals: TotalsView, place: int) -> Floats:
        return self.gap(self.read(totals))

    def each(self, totals: TotalsView) -> Floats:
        cells = totals[ClassBins(self.bins)]
        squares = totals[ClassSquaredGaps(self.bins)] if self.squared else None
        gaps = [
            self.gap(Bins.of(np.ascontiguousarray(cells[:, place]), None if squares is None else squares[:, place]))
            for place in range(cells.shape[1])
        ]
        return np.stack(gaps, axis=1) if gaps else np.zeros((totals.rows, 0))

    def debiased_value(self, bins: Bins) -> Floats | None:
        """The debiased value before it is cut at 0, or its square; None where the metric is not debiased."""
        return None

    def signed(self, totals: TotalsView) -> Floats | None:
        metadata = totals.metadata
        lacking = self.lacks(metadata) or (not self.has_overall(metadata) and place_of(self, self.only, metadata) < 0)
        return None if lacking or not self.squared else self.debiased_value(self.read(totals))


class ExpectedCalibrationError(CalibrationMetric):
    r"""Expected calibration error: how far confidence is from how often it is right, on average.

    $\mathrm{ECE} = \sum_b \frac{n_b}{n}\,|\mathrm{acc}_b - \mathrm{conf}_b|$

    Of the probability of the label that each row was given, in `bins` of equal width. With `label` it compares that
    class's probability with its frequency; `macro(ece)` is the classwise form. Chance alone puts gaps into bins, so the
    value and its interval are of test sets of this size: a calibrated model scores 0.09 on 100 rows, 0.03 on 1,000.
    `debias=true` takes off each bin the gap that chance adds to one of its size, about half of that, and its interval
    is for the value of endless data.

    Undefined when the predictions hold no probabilities.

    Pros:
    - Reads directly: a model that says 90 % should be right nine times of ten.

    Cons:
    - Depends on the bins, and is never 0 on finite data: compare models on the same rows, or see `rms_ce`.
    """

    name = "ece"
    title = "Expected calibration error"
    better = "lower"
    reference = "sklearn.calibration.calibration_curve"

    debias: bool = False

    @property
    def by_count(self) -> bool:  # type: ignore[override]
        """What chance adds to a bin depends on how many rows it has."""
        return self.debias

    @property
    def squared(self) -> bool:
        return self.debias

    @property
    def label(self) -> str:
        return f"{super().label}, debiased" if self.debias else super().label

    def gap(self, bins: Bins) -> Floats:
        signed = self.debiased_value(bins) if self.debias else None
        if signed is not None:
            return np.maximum(signed, 0.0)
        return ratio(np.abs(bins.right - bins.confidence).sum(axis=1), bins.rows.sum(axis=1))

    def debiased_value(self, bins: Bins) -> Floats | None:
        gap, variance = bins.gaps()
        return bins.mean(2 * gap - folded_mean(gap, np.sqrt(variance)))


def folded_mean(mean: Floats, spread: Floats) -> Floats:
    """The mean of the absolute value of a normal number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(spread > 0, mean / np.where(spread > 0, spread, 1.0), np.inf)
    below = np.array([0.5 * math.erfc(one / math.sqrt(2)) for one in z.ravel().tolist()]).reshape(z.shape)
    return np.asarray(spread * math.sqrt(2 / math.pi) * np.exp(-0.5 * z**2) + mean * (1 - 2 * below))


class RootMeanSquareCalibrationError(CalibrationMetric):
    r"""Root mean square calibration error, debiased: how far confidence is from how often it is right.

    $\mathrm{RMSCE}^2 = \sum_b \frac{n_b}{n}\,(g_b^2 - v_b)$

    g_b is the gap of a bin between how often its rows are right and how sure they are, and v_b the variance of that
    gap, which chance adds to its square (after Kumar, Liang and Ma 2019). So it is that of endless data, apart from the
    bins. A square below 0 is shown as 0; results keep it as `signed`. With `label` it is that of the class's
    probability.

    Undefined when the predictions hold no probabilities.

    Pros:
    - A calibrated model scores near 0 however few rows there are.

    Cons:
    - Squares large gaps, so it is not comparable with `ece`.
    """

    name = "rms_ce"
    title = "Root mean square calibration error"
    better = "lower"
    by_count = True
    signed_power = 2
    reaches_best = False

    @property
    def squared(self) -> bool:
        return True

    def gap(self, bins: Bins) -> Floats:
        return np.sqrt(np.maximum(self._square(bins), 0.0))

    def debiased_value(self, bins: Bins) -> Floats | None:
        return self._square(bins)

    def _square(self, bins: Bins) -> Floats:
        gap, variance = bins.gaps()
        return bins.mean(gap**2 - variance)


class MaximumCalibrationError(CalibrationMetric):
    r"""Maximum calibration error: the largest gap between confidence and how often it is right.

    $\mathrm{MCE} = \max_b |\mathrm{acc}_b - \mathrm{conf}_b|$

    Over bins that hold rows. With `label` it is that of the class's probability.

    Undefined when the predictions hold no probabilities.

    Pros:
    - The worst case, where a wrong confidence is dangerous.

    Cons:
    - Mostly noise from the bin with the fewest rows.
    """

    name = "mce"
    title = "Maximum calibration error"
    better = "lower"
    reference = "sklearn.calibration.calibration_curve"

    def gap(self, bins: Bins) -> Floats:
        gaps = ratio(np.abs(bins.right - bins.confidence), bins.rows)
        some = bins.rows.sum(axis=1) > 0
        return np.where(some, np.max(np.nan_to_num(gaps), axis=1, initial=0.0), np.nan)


class ClasswiseCalibrationError(Metric):
    r"""Classwise calibration error: the mean of the classes' expected calibration errors.

    $\mathrm{cwECE} = \frac{1}{K} \sum_k \sum_b \frac{n_{bk}}{n}\,|\mathrm{freq}_{bk} - \mathrm{conf}_{bk}|$

    Every class's probability is compared with that class's frequency, over all classes that there are.

    Undefined when the predictions hold no probabilities.

    Pros:
    - Sees the probabilities of the classes that were not chosen too.

    Cons:
    - Small where classes are many, since most probabilities are near 0 and rightly so.
    """

    name = "classwise_ece"
    title = "Classwise calibration error"
    better = "lower"
    reference = "sklearn.calibration.calibration_curve"
    range = (0.0, 1.0)

    bins: Annotated[int, Between(1, 10_000)] = 15

    @property
    def _single(self) -> ExpectedCalibrationError:
        return ExpectedCalibrationError(bins=self.bins)

    def requirements(self) -> tuple[Requirement, ...]:
        return self._single.class_needs()

    def reduce(self, totals: TotalsView) -> Floats:
        if self._single.lacks(totals.metadata):
            return np.full(totals.rows, np.nan)
        return np.asarray(self._single.each(totals).mean(axis=1))

    def class_scores(self, totals: TotalsView) -> Floats | None:
        return None if self._single.lacks(totals.metadata) else self._single.each(totals)

    def class_truth(self, state: State) -> Array | None:
        return self._single.class_truth(state)

    def part_units(self, state: State) -> Floats | None:
        return self._single.class_units(state)

    def undefined_reason(self, totals: TotalsView) -> str:
        return self._single.lacks(totals.metadata) or "there is no row"


CALIBRATION: tuple[type[Metric], ...] = (
    LogLoss,
    BrierScore,
    ExpectedCalibrationError,
    RootMeanSquareCalibrationError,
    MaximumCalibrationError,
    ClasswiseCalibrationError,
)
