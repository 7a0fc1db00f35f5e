"""Metrics of a class's ranking by score: average precision, ROC AUC, the best F1, TPR at an FPR.

Conventions: rows are ranked by the score (or probability) of the class, highest first; rows with equal scores form one
step. Sorting is done once; every row of weights is then one walk down the ranking.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from steelyard import _native
from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.metric import within_range
from steelyard.core.pairs import Array
from steelyard.core.stats import Stats
from steelyard.core.weights import EachUnit, Floats, Plain, Weights
from steelyard.metrics.labels.counts import PerClass
from steelyard.metrics.labels.scores import NO_SCORES, class_scores, has_scores, is_class, score_matrix

POOLED = "pooled ranking"  # its key in stats


@frozen
class Ranking:
    """Events from the highest score to the lowest; `last` is 1 where a run of equal scores ends.

    `even` says that the plain weights of all units are 1.
    """

    scores: Array  # as they came
    order: Array
    positive: Array
    last: Array
    value: Array
    unit: Array | None  # as they came; None where event i is unit i's only one
    even: bool

    @staticmethod
    def of(scores: Array, positive: Array, stats: Stats, owner: Array, weight: Array | None) -> Ranking:
        """Sort events by score."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        order, last, marked = _native.rank_order(scores, np.ascontiguousarray(positive, dtype=np.uint8))
        value = np.zeros(0) if weight is None else np.ascontiguousarray(weight[order])
        alone = len(owner) == len(stats) and bool((owner[1:] > owner[:-1]).all())
        even = stats.unweighted and stats.copies is None
        return Ranking(scores, order, marked, last, value, None if alone else owner, even)

    @cached_property
    def owner(self) -> Array:
        """The unit of each event, in the order of the ranking."""
        return np.ascontiguousarray(self.order if self.unit is None else self.unit[self.order], dtype=np.int64)

    @cached_property
    def score(self) -> Array:
        """The scores, highest first."""
        return self.scores[self.order]

    def walk(self, weights: Weights, kind: int, limit: float = 0.0) -> Floats:
        """One value for each row of weights."""
        if isinstance(weights, EachUnit):
            return self._alone(weights, kind, limit)
        rest = (self.positive, self.last, self.value, kind, limit)
        if self.even and isinstance(weights, Plain) and weights.whole:
            plain: Floats = _native.ranked(np.ones((1, 1)), np.zeros(0, np.int64), *rest)
            return plain
        parts = [_native.ranked(np.ascontiguousarray(block), self.owner, *rest) for block in weights.blocks()]
        return np.concatenate(parts) if parts else np.zeros(0)

    def thresholds(self, weights: Weights, kind: int) -> Floats:
        """The score at the rank that a walk finds; nan where it finds none."""
        if isinstance(weights, EachUnit):
            order, starts, last, value = self._by_unit(weights)
            ranks = _native.ranked_each(starts, self.positive[order], last, value, kind)
            place = np.where(np.isnan(ranks), 0, ranks).astype(np.int64) + starts[:-1]
            found = self.score[order][np.minimum(place, max(0, len(order) - 1))] if len(order) else ranks
            return np.where(np.isnan(ranks), np.nan, found)
        ranks = self.walk(weights, kind)
        found = self.score[np.where(np.isnan(ranks), 0, ranks).astype(np.int64)] if len(self.score) else ranks
        return np.where(np.isnan(ranks), np.nan, found)

    def _by_unit(self, weights: EachUnit) -> tuple[Array, Array, Array, Array]:
        order = np.argsort(self.owner, kind="stable")
        owner = self.owner[order]
        starts = np.searchsorted(owner, np.arange(weights.start, weights.stop + 1)).astype(np.int64)
        score = self.score[order]
        ends = np.ones(len(order), dtype=np.uint8)
        ends[:-1] = (owner[1:] != owner[:-1]) | (score[1:] != score[:-1])
        return order, starts, ends, self.value[order] if len(self.value) else self.value

    def _alone(self, weights: EachUnit, kind: int, limit: float) -> Floats:
        order, starts, last, value = self._by_unit(weights)
        alone: Floats = _native.ranked_each(starts, self.positive[order], last, value, kind, limit)
        return alone


def ranking(stats: Stats, place: int) -> Ranking:
    """The ranking of all rows by the score of one class, sorted once."""

    def make() -> Ranking:
        return Ranking.of(
            class_scores(stats, place), is_class(stats, place), stats, stats.owner, stats.events.get("weight")
        )

    found: Ranking = stats.derived(("ranking", place), make)
    return found


def pooled_ranking(stats: Stats) -> Ranking:
    """The ranking of every class's score of every row in one."""

    def make() -> Ranking:
        scores, classes = score_matrix(stats), len(stats.facts["classes"])
        positive = np.stack([is_class(stats, place) for place in range(classes)], axis=1)
        weight = stats.events.get("weight")
        return Ranking.of(
            scores.ravel(),
            positive.ravel(),
            stats,
            np.repeat(stats.owner, classes),
            None if weight is None else np.repeat(weight, classes),
        )

    found: Ranking = stats.derived(POOLED, make)
    return found


@frozen
class RankedMetric(PerClass):
    """Base of the metrics of a ranking; `kind` is what the walk down it gives."""

    kind: ClassVar[int]

    def lacks(self, stats: Stats) -> str:
        """Scores are needed."""
        return "" if has_scores(stats) else NO_SCORES

    def walk(self, found: Ranking, weights: Weights) -> Floats:
        """The value of a ranking."""
        return found.walk(weights, self.kind)

    def of(self, stats: Stats, weights: Weights, place: int) -> Floats:
        """The value of one class's ranking."""
        return self.walk(ranking(stats, place), weights)

    def pooled(self, stats: Stats, weights: Weights) -> Floats:
        """The value of one ranking of all classes' scores."""
        return self.walk(pooled_ranking(stats), weights)


@frozen
class AveragePrecision(RankedMetric):
    r"""Average precision: the precision at every step of recall, summed by the step.

    $\mathrm{AP} = \sum_n (R_n - R_{n-1})\,P_n, \quad R_0 = 0$

    Over distinct scores, highest first: the kind called `step`, without interpolation. `macro(ap)` is mAP.

    Undefined when the class does not occur in the truth, or the predictions hold no scores.

    Pros:
    - Sees the whole ranking, and mostly its top, where a rare class is decided.

    Cons:
    - A random ranking scores the frequency of the class: not comparable between data sets.
    """

    name = "ap"
    title = "Average precision"
    reference = "sklearn.metrics.average_precision_score"
    kind = 0


@frozen
class RocAuc(RankedMetric):
    r"""Area under the ROC curve: the chance that a row of the class is ranked above one that is not.

    $\mathrm{AUC} = P(s_+ > s_-) + \tfrac{1}{2} P(s_+ = s_-)$

    `macro(roc_auc)` is the mean of each class against the rest, `ovo(roc_auc)` that of all pairs of classes.

    Undefined when the truth does not hold both the class and another, or the predictions hold no scores.

    Pros:
    - Needs no threshold, and does not change with how frequent the class is.

    Cons:
    - For a rare class it is high while almost every alarm is false; look at ap too.
    """

    name = "roc_auc"
    title = "ROC AUC"
    aliases = ("auroc",)
    reference = "sklearn.metrics.roc_auc_score"
    kind = 1


@frozen
class BestF1(RankedMetric):
    r"""Best F1: the highest F1 that any threshold of the score reaches.

    $\max_t\; 2\,TP_t \;/\; (2\,TP_t + FP_t + FN_t)$

    `best_threshold` is the threshold.

    Undefined when the class does not occur in the truth, or the predictions hold no scores.

    Pros:
    - What the ranking is worth once a threshold has been chosen well.

    Cons:
    - Chosen on the same data, so too good: choose on other data and score with labels.
    """

    name = "best_f1"
    title = "Best F1"
    reference = "sklearn.metrics.precision_recall_curve"
    kind = 2

    def notes(self, stats: Stats, weights: Weights) -> tuple[str, ...]:
        """Say where the threshold is."""
        value = BestThreshold(self.only).reduce(stats, weights)[0]
        return (*super().notes(stats, weights), f"The best F1 is reached by scores from {value:.6g} up.")


@frozen
class BestThreshold(RankedMetric):
    r"""Best threshold: the score from which on a row is called the class, where F1 is highest.

    $\arg\max_t\; 2\,TP_t \;/\; (2\,TP_t + FP_t + FN_t)$

    The highest of them where several give the same F1.

    Undefined when the class does not occur in the truth, or the predictions hold no scores.

    Pros:
    - Its interval shows how well the data can tell a threshold at all.

    Cons:
    - Says nothing about how good the model is.
    """

    name = "best_threshold"
    title = "Threshold of the best F1"
    better = "none"
    range = (-float("inf"), float("inf"))
    reference = "sklearn.metrics.precision_recall_curve"
    kind = 3

    def walk(self, found: Ranking, weights: Weights) -> Floats:
        """The score at the best rank."""
        return found.thresholds(weights, self.kind)


@frozen
class TprAtFpr(RankedMetric):
    r"""TPR at an FPR: the share of the class that is found when at most so many others are.

    $\max_t \{\, TP_t / (TP_t + FN_t) \;:\; FP_t / (FP_t + TN_t) \le f \,\}$

    Undefined when the truth does not hold both the class and another, or the predictions hold no scores.

    Pros:
    - Speaks of the working point: what is found at a price in false alarms that can be paid.

    Cons:
    - Hangs on few rows where f is small: look at the interval.
    """

    name = "tpr_at_fpr"
    title = "TPR at FPR"
    at = "fpr"
    reference = "sklearn.metrics.roc_curve"
    kind = 4

    fpr: float = 0.01

    def check(self) -> None:
        """Check that the rate is from 0 to 1."""
        within_range(self, "fpr", 0, 1)

    @property
    def label(self) -> str:
        """Name the rate, and the class."""
        return super().label.replace("FPR", f"FPR {self.fpr:g}", 1)

    def walk(self, found: Ranking, weights: Weights) -> Floats:
        """The highest TPR that the rate allows."""
        return found.walk(weights, self.kind, float(self.fpr))


RANKED: tuple[type[Metric], ...] = (AveragePrecision, RocAuc, BestF1, BestThreshold, TprAtFpr)
