"""Metrics of all classes together: accuracy and agreement beyond chance.

Whether the true class is among the few with the highest scores.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric, UnitClasses
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Array, Floats, ratio
from steelyard.tasks.labels.counts import (
    NO_LABELS,
    NO_SCORES,
    ROWS,
    CountMetric,
    Counts,
    ProportionMetric,
    class_counts,
    class_truth,
    class_units,
    count_needs,
    holds,
    place_of,
    several,
    true_classes,
)
from steelyard.tasks.labels.hard import two_by_two_correlation
from steelyard.tasks.labels.statistics import Confusion, LabelDistance, RowSum, TopHits

if TYPE_CHECKING:
    from steelyard.core.state import State


class TopAccuracy(Metric):
    r"""Top-k accuracy: the share of rows whose true class is among the k with the highest scores.

    $\mathrm{top}_k = \sum_i w_i\,[\mathrm{rank}_i(y_i) \le k] \;/\; \sum_i w_i$

    Of classes with equal scores the first in order comes first, as in the label that a row is given, so `topk@1` is
    accuracy; `ties=last` puts the last first, as scikit-learn does.

    Undefined when the predictions hold no scores by class.

    Pros:
    - Fair where classes are many and alike: the right answer was among the few best.

    Cons:
    - Near 1 once k is close to the number of classes.
    """

    name = "topk"
    title = "Top-k accuracy"
    aliases = ("top_k_accuracy",)
    at = "k"
    reference = "sklearn.metrics.top_k_accuracy_score"
    range = (0.0, 1.0)

    k: Annotated[int, Between(1)] = 5
    ties: Literal["first", "last"] = "first"

    @property
    def label(self) -> str:
        return f"Top-{self.k} accuracy"

    @property
    def _hits(self) -> TopHits:
        return TopHits(self.k, self.ties)

    def requirements(self) -> tuple[Requirement, ...]:
        """Rows whose class is among the first k."""
        return (self._hits, ROWS)

    def reduce(self, totals: TotalsView) -> Floats:
        """Rows whose class is among the first k, over all."""
        if self._lacks(totals.metadata):
            return np.full(totals.rows, np.nan)
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        """One proportion, of all rows: those whose class is among the first k."""
        return totals[self._hits], totals[ROWS]

    def _lacks(self, metadata: Metadata) -> str:
        if several(metadata):
            return "a row may have several labels"
        return "" if holds(metadata, "ranked") else NO_SCORES

    def undefined_reason(self, totals: TotalsView) -> str:
        return self._lacks(totals.metadata) or "there is no row"


RIGHT = RowSum("right")
_ROUNDING = 1e-12


class Accuracy(ProportionMetric):
    r"""Accuracy: the share of rows that are right.

    $\mathrm{accuracy} = (TP + TN) \;/\; (TP + TN + FP + FN)$

    For many classes, the share of rows whose predicted class is the true one; where a row has several labels, the
    share whose labels are all right. With `label` it is that class's, against all others.

    Undefined when there is no row.

    Pros:
    - The first question anyone asks, and needs no explanation.

    Cons:
    - Hides rare classes: always answering the frequent one scores its frequency.
    """

    name = "accuracy"
    title = "Accuracy"
    aliases = ("acc",)
    reference = "sklearn.metrics.accuracy_score"
    negatives = True

    def requirements(self) -> tuple[Requirement, ...]:
        """Right rows; of one class, its counts."""
        return (RIGHT, ROWS) if self.only is None and self.threshold is None else super().requirements()

    def fraction(self, counts: Counts) -> tuple[Floats, Floats]:
        right = counts.tp + counts.tn
        return right, right + counts.fp + counts.fn

    def has_overall(self, metadata: Metadata) -> bool:
        """Labels are right or wrong whatever the classes."""
        return self.threshold is None

    def overall(self, totals: TotalsView) -> Floats:
        return ratio(totals[RIGHT], totals[ROWS])

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats] | None:
        """One proportion, of all rows or of one class's decisions: those that are right."""
        if self.only is None and self.threshold is None:
            return totals[RIGHT], totals[ROWS]
        return super().proportions(totals)


class LabelMetric(Metric):
    """Base of the metrics that need labels, of all classes at once."""

    range = (0.0, 1.0)

    @abstractmethod
    def of_labels(self, totals: TotalsView) -> Floats:
        """The value, where the predictions hold labels."""

    def reduce(self, totals: TotalsView) -> Floats:
        """The value; nan where the predictions hold no labels."""
        return np.full(totals.rows, np.nan) if self._lacks(totals.metadata) else self.of_labels(totals)

    def _lacks(self, metadata: Metadata) -> str:
        return "" if holds(metadata, "labels") else NO_LABELS

    def undefined_reason(self, totals: TotalsView) -> str:
        return self._lacks(totals.metadata) or super().undefined_reason(totals)


class ExactMatch(LabelMetric):
    r"""Exact match: the share of rows whose labels are all right.

    $\mathrm{EM} = \sum_i w_i\,[\hat Y_i = Y_i] \;/\; \sum_i w_i$

    For one label per row it is accuracy.

    Undefined when there is no row.

    Pros:
    - The strictest reading: a row is right or it is not.

    Cons:
    - One wrong label of twenty counts as much as twenty.
    """

    name = "exact_match"
    title = "Exact match"
    reference = "sklearn.metrics.accuracy_score"

    def requirements(self) -> tuple[Requirement, ...]:
        return (RIGHT, ROWS)

    def of_labels(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[RIGHT], totals[ROWS]


class HammingLoss(LabelMetric):
    r"""Hamming loss: the share of labels that are wrong.

    $\mathrm{HL} = \sum_i w_i\,|\hat Y_i \,\triangle\, Y_i| \;/\; (K \sum_i w_i)$

    Where a row has several labels, every class of every row is a decision; for one label per row it is 1 - accuracy.

    Undefined when there is no row.

    Pros:
    - Gives credit for the labels of a row that are right.

    Cons:
    - Near 0 where most classes are absent from most rows.
    """

    name = "hamming"
    title = "Hamming loss"
    better = "lower"
    reference = "sklearn.metrics.hamming_loss"

    def requirements(self) -> tuple[Requirement, ...]:
        return (RIGHT, ROWS, *count_needs())

    def of_labels(self, totals: TotalsView) -> Floats:
        rows = totals[ROWS]
        return ratio(*self.proportions(totals)) if several(totals.metadata) else 1 - ratio(totals[RIGHT], rows)

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        rows = totals[ROWS]
        if not several(totals.metadata):
            return rows - totals[RIGHT], rows
        counts = class_counts(totals)
        return (counts.fp + counts.fn).sum(axis=1), rows * totals.metadata.size("class")


class BalancedAccuracy(LabelMetric):
    r"""Balanced accuracy: the mean of the classes' recalls.

    $\mathrm{BA} = \frac{1}{K} \sum_k TP_k \;/\; (TP_k + FN_k)$

    Over the classes that occur in the truth. `adjusted=true` puts guessing at 0.

    Undefined when there is no row.

    Pros:
    - Rare classes count as much as frequent ones: always answering one class scores 1/K.

    Cons:
    - A class of three rows moves it as much as one of three thousand.
    """

    name = "balanced_accuracy"
    title = "Balanced accuracy"
    reference = "sklearn.metrics.balanced_accuracy_score"

    adjusted: bool = False

    @property
    def range(self) -> tuple[float, float]:  # type: ignore[override]
        """Below guessing an adjusted value is negative: -1 / (K - 1) at the least."""
        return (-1.0 if self.adjusted else 0.0, 1.0)

    def requirements(self) -> tuple[Requirement, ...]:
        return count_needs()

    def of_labels(self, totals: TotalsView) -> Floats:
        counts = class_counts(totals)
        recall = ratio(counts.tp, counts.tp + counts.fn)
        classes = (~np.isnan(recall)).sum(axis=1)
        mean = ratio(np.nansum(recall, axis=1), classes)
        if not self.adjusted:
            return mean
        chance = ratio(np.ones(len(classes)), classes)
        return np.where(classes > 1, (mean - chance) / np.where(classes > 1, 1 - chance, 1.0), np.nan)

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats] | None:
        counts = class_counts(totals)
        return None if self.adjusted else (counts.tp, counts.tp + counts.fn)

    def class_scores(self, totals: TotalsView) -> Floats | None:
        if self.adjusted or self._lacks(totals.metadata):
            return None
        counts = class_counts(totals)
        return ratio(counts.tp, counts.tp + counts.fn)

    def class_truth(self, state: State) -> Array | None:
        return class_truth(state)

    def part_units(self, state: State) -> Floats | None:
        return class_units(state, None, lambda counts: (counts.tp, counts.tp + counts.fn))


class MatthewsCorrelation(CountMetric):
    r"""Matthews correlation: how far truth and prediction go together, chance being 0.

    $\mathrm{MCC} = \frac{c\,s - \sum_k p_k t_k}{\sqrt{(s^2 - \sum_k p_k^2)(s^2 - \sum_k t_k^2)}}$

    With c right rows of s, of which t_k are and p_k are predicted to be class k. With `label` it is that class's,
    against all others.

    Undefined when the truth or the prediction holds one class only.

    Pros:
    - Sees all four counts: not fooled by how frequent a class is.

    Cons:
    - Its scale has no plain meaning.
    """

    name = "mcc"
    title = "Matthews correlation"
    range = (-1, 1)
    reference = "sklearn.metrics.matthews_corrcoef"
    negatives = True
    chance = 0.0

    def value(self, counts: Counts) -> Floats:
        return two_by_two_correlation(counts)

    def has_overall(self, metadata: Metadata) -> bool:
        """Where a row has one label."""
        return not several(metadata) and self.threshold is None

    def unit_classes(self, state: State) -> UnitClasses | None:
        overall = self.only is None and self.has_overall(state.metadata)
        return true_classes(state, self.limit, None if overall else place_of(self, self.only, state.metadata))

    def overall(self, totals: TotalsView) -> Floats:
        counts = class_counts(totals)
        truth, predicted = counts.tp + counts.fn, counts.tp + counts.fp
        rows = totals[ROWS]
        together = counts.tp.sum(axis=1) * rows - (truth * predicted).sum(axis=1)
        spread_predicted = rows**2 - (predicted**2).sum(axis=1)
        spread_truth = rows**2 - (truth**2).sum(axis=1)
        low = _ROUNDING * rows**2
        defined = (spread_predicted > low) & (spread_truth > low)
        product = np.where(defined, np.sqrt(np.abs(spread_predicted)) * np.sqrt(np.abs(spread_truth)), 0.0)
        return np.clip(ratio(together, product), -1.0, 1.0)


class CohenKappa(LabelMetric):
    r"""Cohen's kappa: agreement beyond chance.

    $\kappa = 1 - \sum_{ij} d_{ij} O_{ij} \;/\; \sum_{ij} d_{ij} E_{ij}$

    O counts rows of truth i and prediction j, E is what the margins alone would give; d is 1 off the diagonal,
    `weights=linear` takes |i - j| and `weights=quadratic` its square, in the order of the classes.

    Undefined when the margins leave no room for disagreement.

    Pros:
    - Comparable with the agreement of two annotators; the weighted forms see how far off an ordinal label is.

    Cons:
    - Falls as one class comes to dominate, with the same errors.
    """

    name = "kappa"
    title = "Cohen's kappa"
    range = (-1, 1)
    reference = "sklearn.metrics.cohen_kappa_score"
    chance = 0.0

    weights: Literal["plain", "linear", "quadratic"] = "plain"

    @property
    def label(self) -> str:
        return self.title if self.weights == "plain" else f"{self.title}, {self.weights} weights"

    def _lacks(self, metadata: Metadata) -> str:
        if several(metadata):
            return "a row may have several labels"
        return super()._lacks(metadata)

    def _apart(self) -> Requirement:
        """What adds up to how far apart the labels are."""
        return RowSum("wrong") if self.weights == "plain" else LabelDistance(Confusion(), self.weights == "quadratic")

    def requirements(self) -> tuple[Requirement, ...]:
        return (self._apart(), ROWS, *count_needs())

    def _expected_distances(self, truth: Floats) -> Floats:
        """How far each class is from a row of the truth, summed over rows: sums from either side, no table of pairs."""
        return self._before(truth) + self._before(truth[:, ::-1])[:, ::-1]

    def _before(self, truth: Floats) -> Floats:
        """The part of the classes that come before, whose distances are 1, 2, 3, ... or 1, 4, 9, ..."""
        number = np.zeros_like(truth)
        np.cumsum(truth[:, :-1], axis=1, out=number[:, 1:])
        if self.weights == "plain":
            return number
        gap = np.cumsum(number, axis=1)
        return gap if self.weights == "linear" else np.cumsum(2 * gap - number, axis=1)

    def unit_classes(self, state: State) -> UnitClasses | None:
        return true_classes(state)

    def of_labels(self, totals: TotalsView) -> Floats:
        observed = totals[self._apart()]
        counts = class_counts(totals)
        rows = totals[ROWS]
        expected = (self._expected_distances(counts.tp + counts.fn) * (counts.tp + counts.fp)).sum(axis=1)
        return 1 - ratio(observed * rows, np.where(expected > _ROUNDING * rows**2, expected, 0.0))


AGREEMENT: tuple[type[Metric], ...] = (
    Accuracy,
    BalancedAccuracy,
    MatthewsCorrelation,
    CohenKappa,
    HammingLoss,
    ExactMatch,
    TopAccuracy,
)
