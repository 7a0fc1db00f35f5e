"""Metrics of probabilities: log loss, Brier score, and whether a probability can be taken at its word."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.metric import one_of, within_range
from steelyard.core.pairs import Array
from steelyard.core.stats import Stats
from steelyard.core.weights import Entries, Floats, Weights, ratio
from steelyard.metrics.labels.counts import PerClass, row_sums
from steelyard.metrics.labels.scores import class_scores, is_class, score_matrix

INFINITY = float("inf")
NO_PROBABILITIES = "the predictions hold no probabilities"
SMALLEST = float(np.finfo(np.float64).eps)


@frozen
class ProbabilityMetric(PerClass):
    """Base of the metrics that need probabilities."""

    def lacks(self, stats: Stats) -> str:
        """Probabilities are needed."""
        return "" if "probability" in stats.facts else NO_PROBABILITIES


def _true_probability(stats: Stats) -> Array:
    matrix, truth = score_matrix(stats, "probability"), stats.events["truth"]
    return matrix[np.arange(len(truth)), truth]


@frozen
class LogLoss(ProbabilityMetric):
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
    measure = "nats"
    reference = "sklearn.metrics.log_loss"

    def overall(self, stats: Stats, weights: Weights) -> Floats | None:
        """Mean surprise at the true class."""
        if stats.facts["several"]:
            return None
        column = row_sums(stats, "surprise", lambda: _surprise(_true_probability(stats)))
        return ratio(weights @ column, weights @ stats["rows"])

    def of(self, stats: Stats, weights: Weights, place: int) -> Floats:
        """Mean surprise at whether a row is the class."""

        def make() -> Array:
            p = class_scores(stats, place, "probability")
            return _surprise(np.where(is_class(stats, place) > 0, p, 1 - p))

        return ratio(weights @ row_sums(stats, ("surprise", place), make), weights @ stats["rows"])

    def notes(self, stats: Stats, weights: Weights) -> tuple[str, ...]:
        """Count the rows that were given no chance."""
        if stats.facts["several"]:
            return ()
        column = stats.per_unit("no chance", lambda: stats.sum_events(_true_probability(stats) < SMALLEST))
        count = int(column.sum())
        return (f"{count} rows give their true class a probability of 0; it is taken for 2.2e-16.",) if count else ()


def _surprise(p: Array) -> Array:
    return np.asarray(np.abs(-np.log(np.clip(p, SMALLEST, 1.0))))


@frozen
class BrierScore(ProbabilityMetric):
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

    form: Literal["auto", "sum", "half"] = "auto"

    def check(self) -> None:
        """Check which form is asked for."""
        one_of(self, "form", "auto", "sum", "half")

    def overall(self, stats: Stats, weights: Weights) -> Floats | None:
        """Mean squared distance over all classes."""
        if stats.facts["several"]:
            return None

        def make() -> Array:
            matrix, truth = score_matrix(stats, "probability"), stats.events["truth"]
            own = matrix[np.arange(len(truth)), truth]
            others = np.where(np.arange(matrix.shape[1]) == truth[:, np.newaxis], 0.0, matrix)
            return np.asarray((others**2).sum(axis=1) + (1 - own) ** 2)

        half = self.form == "half" or (self.form == "auto" and len(stats.facts["classes"]) <= 2)
        return ratio(weights @ row_sums(stats, "squared", make), weights @ stats["rows"]) * (0.5 if half else 1.0)

    def of(self, stats: Stats, weights: Weights, place: int) -> Floats:
        """Mean squared distance of one class's probability."""

        def make() -> Array:
            return (class_scores(stats, place, "probability") - is_class(stats, place)) ** 2

        return ratio(weights @ row_sums(stats, ("squared", place), make), weights @ stats["rows"])


@frozen
class Bins:
    """Weighted sums by bin of confidence, for each row of weights: (rows, bins)."""

    right: Floats
    confidence: Floats
    rows: Floats


def binned(stats: Stats, weights: Weights, bins: int, place: int = -1) -> Bins:
    """Sums by bin of the confidence in the given label, or of the probability of one class.

    Bins are of equal width; one holds its upper edge and not its lower, the first also 0.
    """

    def make() -> Entries:
        if place < 0:
            matrix = score_matrix(stats, "probability")
            confidence = matrix.max(axis=1)
            right = (matrix.argmax(axis=1) == stats.events["truth"]).astype(np.float64)
        else:
            confidence = class_scores(stats, place, "probability")
            right = is_class(stats, place).astype(np.float64)
        edges = np.linspace(0.0, 1.0, bins + 1)
        code = np.searchsorted(edges[1:-1], confidence)
        weight = stats.events.get("weight")
        each = np.ones(len(code)) if weight is None else weight
        return Entries(
            np.ascontiguousarray(np.repeat(stats.owner, 3), dtype=np.int64),
            np.stack([code, code + bins, code + 2 * bins], axis=1).ravel().astype(np.int32),
            np.ascontiguousarray(np.stack([right * each, confidence * each, each], axis=1).ravel()),
            3 * bins,
        )

    totals = weights.scatter(stats.derived(("bins", bins, place), make))
    return Bins(totals[:, :bins], totals[:, bins : 2 * bins], totals[:, 2 * bins :])


@frozen
class CalibrationMetric(ProbabilityMetric):
    """Base of the metrics that compare confidence with how often it is right, bin by bin."""

    bins: int = 15

    def check(self) -> None:
        """Check that there is at least one bin."""
        within_range(self, "bins", 1, 10_000)

    @abstractmethod
    def gap(self, found: Bins) -> Floats:
        """The value, from sums by bin."""

    def overall(self, stats: Stats, weights: Weights) -> Floats | None:
        """The gap of the confidence in the given label."""
        return None if stats.facts["several"] else self._value(stats, weights, -1)

    def of(self, stats: Stats, weights: Weights, place: int) -> Floats:
        """The gap of one class's probability."""
        return self._value(stats, weights, place)

    def _value(self, stats: Stats, weights: Weights, place: int) -> Floats:
        parts = [self.gap(binned(stats, part, self.bins, place)) for part in weights.parts(1 << 18)]
        return np.concatenate(parts) if parts else np.zeros(0)


@frozen
class ExpectedCalibrationError(CalibrationMetric):
    r"""Expected calibration error: how far confidence is from how often it is right, on average.

    $\mathrm{ECE} = \sum_b \frac{n_b}{n}\,|\mathrm{acc}_b - \mathrm{conf}_b|$

    Of the probability of the label that each row was given, in `bins` of equal width. With `label` it compares that
    class's probability with its frequency; `macro(ece)` is the classwise form.

    Undefined when the predictions hold no probabilities.

    Pros:
    - Reads directly: a model that says 90 % should be right nine times of ten.

    Cons:
    - Depends on the bins, and is never 0 on finite data: compare models on the same rows.
    """

    name = "ece"
    title = "Expected calibration error"
    better = "lower"
    reference = "sklearn.calibration.calibration_curve"

    def gap(self, found: Bins) -> Floats:
        """Gaps, each counted by its rows."""
        return ratio(np.abs(found.right - found.confidence).sum(axis=1), found.rows.sum(axis=1))


@frozen
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

    def gap(self, found: Bins) -> Floats:
        """The largest gap."""
        gaps = ratio(np.abs(found.right - found.confidence), found.rows)
        some = found.rows.sum(axis=1) > 0
        return np.where(some, np.max(np.nan_to_num(gaps), axis=1, initial=0.0), np.nan)


@frozen
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

    bins: int = 15

    def check(self) -> None:
        """Check that there is at least one bin."""
        within_range(self, "bins", 1, 10_000)

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over classes."""
        single = ExpectedCalibrationError(bins=self.bins)
        if single.lacks(stats):
            return np.full(weights.rows, np.nan)
        return np.asarray(single.each(stats, weights).mean(axis=1))

    def why(self, stats: Stats, weights: Weights) -> str:
        """Say what lacks."""
        return ExpectedCalibrationError().lacks(stats) or "there is no row"


CALIBRATION: tuple[type[Metric], ...] = (
    LogLoss,
    BrierScore,
    ExpectedCalibrationError,
    MaximumCalibrationError,
    ClasswiseCalibrationError,
)
