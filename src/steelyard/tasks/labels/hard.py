"""Metrics of one class's counts: precision, recall, F1 and related ones. `label` names the class; wrappers average."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from steelyard.core.metric import Between
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.labels.counts import INFINITY, CountMetric, Counts, ProportionMetric


class Precision(ProportionMetric):
    r"""Precision: of the rows predicted to be the class, the share that are.

    $P = TP \;/\; (TP + FP)$

    Undefined when the class was never predicted.

    Pros:
    - Says how far a positive answer can be trusted: don't accuse.

    Cons:
    - Blind to what was missed: one sure hit and silence is a perfect 1.
    """

    name = "precision"
    title = "Precision"
    aliases = ("ppv",)
    reference = "sklearn.metrics.precision_score(zero_division=nan)"

    def fraction(self, counts: Counts) -> tuple[Floats, Floats]:
        return counts.tp, counts.tp + counts.fp


class Recall(ProportionMetric):
    r"""Recall: of the rows that are the class, the share that were found.

    $R = TP \;/\; (TP + FN)$

    Also called sensitivity and true positive rate.

    Undefined when the class does not occur in the truth.

    Pros:
    - Says how much is missed, which is often what costs most.

    Cons:
    - Blind to false alarms: predicting the class always is a perfect 1.
    """

    name = "recall"
    title = "Recall"
    aliases = ("sensitivity", "tpr", "true positive rate")
    reference = "sklearn.metrics.recall_score(zero_division=nan)"

    def fraction(self, counts: Counts) -> tuple[Floats, Floats]:
        return counts.tp, counts.tp + counts.fn


class F1(ProportionMetric):
    r"""F1: precision and recall in one number, their harmonic mean.

    $F_1 = 2\,TP \;/\; (2\,TP + FP + FN)$

    In this form it is 0, not undefined, where precision and recall are both 0.

    Undefined when the class stands neither in the truth nor in the prediction.

    Pros:
    - High only if both precision and recall are.

    Cons:
    - Does not count true negatives, and changes with how frequent the class is.
    """

    name = "f1"
    title = "F1"
    aliases = ("dice", "f1 score")
    reference = "sklearn.metrics.f1_score(zero_division=nan)"

    def fraction(self, counts: Counts) -> tuple[Floats, Floats]:
        return 2 * counts.tp, 2 * counts.tp + counts.fp + counts.fn


class FBeta(ProportionMetric):
    r"""F-beta: precision and recall in one number, recall counting beta times as much.

    $F_\beta = (1 + \beta^2)\,TP \;/\; ((1 + \beta^2)\,TP + \beta^2 FN + FP)$

    With beta 0 it is precision, with an infinite one recall.

    Undefined when the class stands neither in the truth nor in the prediction.

    Pros:
    - Says by its setting whether a miss or a false alarm is worse.

    Cons:
    - Numbers of different beta cannot be compared.
    """

    name = "fbeta"
    title = "F-beta"
    reference = "sklearn.metrics.fbeta_score(zero_division=nan)"

    beta: Annotated[float, Between(0)] = 1.0

    @property
    def label(self) -> str:
        return super().label.replace("F-beta", f"F{self.beta:g}", 1)

    def fraction(self, counts: Counts) -> tuple[Floats, Floats]:
        if self.beta == INFINITY:
            return counts.tp, counts.tp + counts.fn
        square = self.beta**2
        hits = (1 + square) * counts.tp
        return hits, hits + square * counts.fn + counts.fp


class Jaccard(ProportionMetric):
    r"""Jaccard index: rows that have the class on both sides, of those that have it on either.

    $J = TP \;/\; (TP + FP + FN)$

    Undefined when the class stands neither in the truth nor in the prediction.

    Pros:
    - A true distance (1 - J), and what overlap of sets means.

    Cons:
    - Always below F1, with which it rises and falls: the two together say nothing new.
    """

    name = "jaccard"
    title = "Jaccard index"
    reference = "sklearn.metrics.jaccard_score"

    def fraction(self, counts: Counts) -> tuple[Floats, Floats]:
        return counts.tp, counts.tp + counts.fp + counts.fn


class Specificity(ProportionMetric):
    r"""Specificity: of the rows that are not the class, the share that were not predicted to be.

    $\mathrm{TNR} = TN \;/\; (TN + FP)$

    Undefined when every row is the class.

    Pros:
    - Does not change with how frequent the class is.

    Cons:
    - Near 1 for any rare class, however many of its predictions are wrong.
    """

    name = "specificity"
    title = "Specificity"
    aliases = ("tnr", "true negative rate")
    reference = "sklearn.metrics.recall_score of the other class"
    negatives = True

    def fraction(self, counts: Counts) -> tuple[Floats, Floats]:
        return counts.tn, counts.tn + counts.fp


class FalsePositiveRate(ProportionMetric):
    r"""False positive rate: of the rows that are not the class, the share predicted to be.

    $\mathrm{FPR} = FP \;/\; (FP + TN)$

    Undefined when every row is the class.

    Pros:
    - The rate of false alarms that a user of the model will see among the healthy.

    Cons:
    - Looks small for any rare class.
    """

    name = "fpr"
    title = "False positive rate"
    better = "lower"
    reference = "sklearn.metrics.confusion_matrix"
    negatives = True

    def fraction(self, counts: Counts) -> tuple[Floats, Floats]:
        return counts.fp, counts.fp + counts.tn


class FalseNegativeRate(ProportionMetric):
    r"""False negative rate: of the rows that are the class, the share that were missed.

    $\mathrm{FNR} = FN \;/\; (FN + TP)$

    Undefined when the class does not occur in the truth.

    Pros:
    - The miss rate, where a miss is what costs.

    Cons:
    - Blind to false alarms.
    """

    name = "fnr"
    title = "False negative rate"
    better = "lower"
    reference = "sklearn.metrics.confusion_matrix"

    def fraction(self, counts: Counts) -> tuple[Floats, Floats]:
        return counts.fn, counts.fn + counts.tp


class NegativePredictiveValue(ProportionMetric):
    r"""Negative predictive value: of the rows not predicted to be the class, the share that are not.

    $\mathrm{NPV} = TN \;/\; (TN + FN)$

    Undefined when every row was predicted to be the class.

    Pros:
    - Says how far a negative answer can be trusted.

    Cons:
    - Near 1 for any rare class, even for a model that never finds it.
    """

    name = "npv"
    title = "Negative predictive value"
    reference = "sklearn.metrics.precision_score of the other class"
    negatives = True

    def fraction(self, counts: Counts) -> tuple[Floats, Floats]:
        return counts.tn, counts.tn + counts.fn


class FalseDiscoveryRate(ProportionMetric):
    r"""False discovery rate: of the rows predicted to be the class, the share that are not.

    $\mathrm{FDR} = FP \;/\; (FP + TP)$

    Undefined when the class was never predicted.

    Pros:
    - The share of claims that are wrong, which is what tests of many hypotheses control.

    Cons:
    - Blind to what was missed.
    """

    name = "fdr"
    title = "False discovery rate"
    better = "lower"
    reference = "sklearn.metrics.precision_score(zero_division=nan)"

    def fraction(self, counts: Counts) -> tuple[Floats, Floats]:
        return counts.fp, counts.fp + counts.tp


def two_by_two_correlation(counts: Counts) -> Floats:
    """Matthews correlation of one class against all others."""
    product = (
        np.sqrt(counts.tp + counts.fp)
        * np.sqrt(counts.tp + counts.fn)
        * np.sqrt(counts.tn + counts.fp)
        * np.sqrt(counts.tn + counts.fn)
    )
    correlation = ratio(counts.tp * counts.tn - counts.fp * counts.fn, product)
    return np.clip(correlation, -1.0, 1.0)


HARD: tuple[type[CountMetric], ...] = (
    Precision,
    Recall,
    F1,
    FBeta,
    Jaccard,
    Specificity,
    FalsePositiveRate,
    FalseNegativeRate,
    NegativePredictiveValue,
    FalseDiscoveryRate,
)
