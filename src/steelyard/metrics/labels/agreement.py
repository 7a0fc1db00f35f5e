"""Metrics of all classes together: accuracy and agreement beyond chance."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.metric import one_of, within_range
from steelyard.core.pairs import Array
from steelyard.core.stats import Stats
from steelyard.core.weights import Floats, Weights, ratio
from steelyard.metrics.labels.counts import (
    NO_LABELS,
    CountMetric,
    Counts,
    class_counts,
    in_parts,
    row_sums,
    undefined,
)
from steelyard.metrics.labels.hard import two_by_two_correlation
from steelyard.metrics.labels.scores import NO_SCORES, has_scores, score_matrix

_ROUNDING = 1e-12


def correct_rows(stats: Stats) -> Array:
    """Rows whose labels are all right, summed into units."""

    def right() -> Array:
        equal: Array = stats.events["truth"] == stats.events["predicted"]
        return np.asarray(equal.all(axis=1)) if stats.facts["several"] else equal

    return row_sums(stats, "correct", right)


@frozen
class Accuracy(CountMetric):
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
    reference = "sklearn.metrics.accuracy_score"

    def value(self, counts: Counts) -> Floats:
        """Right decisions over all."""
        right = counts.tp + counts.tn
        return ratio(right, right + counts.fp + counts.fn)

    def overall(self, stats: Stats, weights: Weights) -> Floats | None:
        """Right rows over all."""
        if self.threshold is not None:
            return None
        return ratio(weights @ correct_rows(stats), weights @ stats["rows"])


@frozen
class LabelMetric(Metric):
    """Base of the metrics that need labels, of all classes at once."""

    @abstractmethod
    def of_labels(self, stats: Stats, weights: Weights) -> Floats:
        """The value, where the predictions hold labels."""

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """The value; nan where the predictions hold no labels."""
        if self._lacks(stats):
            return undefined(weights)
        return in_parts(stats, weights, lambda part: self.of_labels(stats, part))

    def _lacks(self, stats: Stats) -> str:
        return "" if stats.facts["labelled"] else NO_LABELS

    def why(self, stats: Stats, weights: Weights) -> str:
        """Say what lacks."""
        return self._lacks(stats) or super().why(stats, weights)


@frozen
class ExactMatch(LabelMetric):
    r"""Exact match: the share of rows whose labels are all right.

    $\mathrm{EM} = \sum_i w_i\,[\hat Y_i = Y_i] \;/\; \sum_i w_i$

    For one label a row it is accuracy.

    Undefined when there is no row.

    Pros:
    - The strictest reading: a row is right or it is not.

    Cons:
    - One wrong label of twenty counts as much as twenty.
    """

    name = "exact_match"
    title = "Exact match"
    reference = "sklearn.metrics.accuracy_score"

    def of_labels(self, stats: Stats, weights: Weights) -> Floats:
        """Right rows over all."""
        return ratio(weights @ correct_rows(stats), weights @ stats["rows"])


@frozen
class HammingLoss(LabelMetric):
    r"""Hamming loss: the share of labels that are wrong.

    $\mathrm{HL} = \sum_i w_i\,|\hat Y_i \,\triangle\, Y_i| \;/\; (K \sum_i w_i)$

    Where a row has several labels, every class of every row is a decision; for one label a row it is 1 - accuracy.

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

    def of_labels(self, stats: Stats, weights: Weights) -> Floats:
        """Wrong decisions over all."""
        rows = weights @ stats["rows"]
        if not stats.facts["several"]:
            return 1 - ratio(weights @ correct_rows(stats), rows)
        counts = class_counts(stats, weights)
        return ratio((counts.fp + counts.fn).sum(axis=1), rows * len(stats.facts["classes"]))


@frozen
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

    def check(self) -> None:
        """Check that the setting is true or false."""
        one_of(self, "adjusted", True, False)

    def of_labels(self, stats: Stats, weights: Weights) -> Floats:
        """Mean recall over the classes with truth."""
        counts = class_counts(stats, weights)
        recall = ratio(counts.tp, counts.tp + counts.fn)
        classes = (~np.isnan(recall)).sum(axis=1)
        mean = ratio(np.nansum(recall, axis=1), classes)
        if not self.adjusted:
            return mean
        chance = ratio(np.ones(len(classes)), classes)
        return np.where(classes > 1, (mean - chance) / np.where(classes > 1, 1 - chance, 1.0), np.nan)


@frozen
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

    def value(self, counts: Counts) -> Floats:
        """The form for two classes."""
        return two_by_two_correlation(counts)

    def overall(self, stats: Stats, weights: Weights) -> Floats | None:
        """The form for many classes."""
        if stats.facts["several"] or self.threshold is not None:
            return None

        def value(part: Weights) -> Floats:
            counts = class_counts(stats, part)
            truth, predicted = counts.tp + counts.fn, counts.tp + counts.fp
            rows = part @ stats["rows"]
            together = counts.tp.sum(axis=1) * rows - (truth * predicted).sum(axis=1)
            spread_predicted = rows**2 - (predicted**2).sum(axis=1)
            spread_truth = rows**2 - (truth**2).sum(axis=1)
            low = _ROUNDING * rows**2
            defined = (spread_predicted > low) & (spread_truth > low)
            product = np.where(defined, np.sqrt(np.abs(spread_predicted)) * np.sqrt(np.abs(spread_truth)), 0.0)
            return np.clip(ratio(together, product), -1.0, 1.0)

        return in_parts(stats, weights, value)


@frozen
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
    range = (-float("inf"), 1)
    reference = "sklearn.metrics.cohen_kappa_score"

    weights: Literal["plain", "linear", "quadratic"] = "plain"

    def check(self) -> None:
        """Check how disagreement is weighed."""
        one_of(self, "weights", "plain", "linear", "quadratic")

    @property
    def label(self) -> str:
        """Name the weights."""
        return self.title if self.weights == "plain" else f"{self.title}, {self.weights} weights"

    def _lacks(self, stats: Stats) -> str:
        if stats.facts["several"]:
            return "a row may have several labels"
        return super()._lacks(stats)

    def _apart(self, a: Array, b: Array) -> Array:
        if self.weights == "plain":
            return np.asarray(a != b, dtype=np.float64)
        gap = np.abs(a - b).astype(np.float64)
        return gap if self.weights == "linear" else np.asarray(gap**2)

    def _expected(self, truth: Floats) -> Floats:
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

    def of_labels(self, stats: Stats, weights: Weights) -> Floats:
        """One minus observed over expected disagreement."""
        observed = weights @ row_sums(
            stats, ("apart", self.weights), lambda: self._apart(stats.events["truth"], stats.events["predicted"])
        )
        counts = class_counts(stats, weights)
        rows = weights @ stats["rows"]
        expected = (self._expected(counts.tp + counts.fn) * (counts.tp + counts.fp)).sum(axis=1)
        return 1 - ratio(observed * rows, np.where(expected > _ROUNDING * rows**2, expected, 0.0))


@frozen
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

    k: int = 5
    ties: Literal["first", "last"] = "first"

    def check(self) -> None:
        """Check that k is a whole number from 1 up."""
        within_range(self, "k", 1, float("inf"))
        one_of(self, "ties", "first", "last")

    @property
    def label(self) -> str:
        """Name k."""
        return f"Top-{self.k} accuracy"

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Rows whose class is among the first k, over all."""
        if self._lacks(stats):
            return undefined(weights)
        hits = row_sums(stats, ("topk", self.k, self.ties), lambda: self._ranks(stats) < self.k)
        return ratio(weights @ hits, weights @ stats["rows"])

    def _ranks(self, stats: Stats) -> Array:
        """How many classes come before the true one."""

        def make() -> Array:
            scores, truth = score_matrix(stats), stats.events["truth"]
            own = scores[np.arange(len(truth)), truth][:, np.newaxis]
            place = np.arange(scores.shape[1])
            before = place < truth[:, np.newaxis] if self.ties == "first" else place > truth[:, np.newaxis]
            return np.asarray(((scores > own) | ((scores == own) & before)).sum(axis=1))

        found: Array = stats.derived(("ranks", self.ties), make)
        return found

    def _lacks(self, stats: Stats) -> str:
        if stats.facts["several"]:
            return "a row may have several labels"
        return "" if has_scores(stats) else NO_SCORES

    def why(self, stats: Stats, weights: Weights) -> str:
        """Say what lacks."""
        return self._lacks(stats) or "there is no row"


AGREEMENT: tuple[type[Metric], ...] = (
    Accuracy,
    BalancedAccuracy,
    MatthewsCorrelation,
    CohenKappa,
    HammingLoss,
    ExactMatch,
    TopAccuracy,
)
