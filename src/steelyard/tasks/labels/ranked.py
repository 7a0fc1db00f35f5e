"""Metrics of a class's ranking by score: average precision, ROC AUC, the best F1, TPR at an FPR.

Conventions: rows are ranked by the score (or probability) of the class, highest first; rows with equal scores form one
step. Sorting is done once; every row of weights is then one walk down the ranking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np

from steelyard.core.errors import InvalidSpec
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric, Placements, UnitClasses
from steelyard.core.ranking import SECOND, RankingBlock
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.units import Units
from steelyard.core.weights import Array, Floats
from steelyard.tasks.labels.counts import NO_SCORES, PerClass, class_truth, class_units, holds
from steelyard.tasks.labels.statistics import ClassCounts
from steelyard.tasks.labels.walks import CurveFigure, NotedWalk, PairWalk, Scores, Walk

if TYPE_CHECKING:
    from steelyard.core.state import State


class RankedMetric(PerClass):
    """Base of the metrics of a ranking; `reading` is what the walk down it gives."""

    reading: ClassVar[CurveFigure]

    @property
    def limit(self) -> float:
        """The highest rate of false alarms, where it matters."""
        return 0.0

    @property
    def steps(self) -> tuple[str, bool]:
        """How equal scores are taken, and whether the first step is left out."""
        return "step", False

    @property
    def curve(self) -> Walk:
        """The ranking of the one class."""
        return Walk(Scores("one", self.only), self.reading, self.limit, *self.steps)

    @property
    def class_curves(self) -> Walk:
        """The rankings of all classes."""
        return Walk(Scores("each"), self.reading, self.limit, *self.steps)

    @property
    def pooled_curve(self) -> Walk:
        """The ranking of all classes' scores."""
        return Walk(Scores("pooled"), self.reading, self.limit, *self.steps)

    @property
    def pair_curves(self) -> PairWalk:
        """The rankings of the rows of two classes."""
        return PairWalk(Scores("pairs"), self.reading, self.limit)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.curve,)

    def class_needs(self) -> tuple[Requirement, ...]:
        return (self.class_curves,)

    def pooled_needs(self) -> tuple[Requirement, ...]:
        return (self.pooled_curve,)

    def unit_classes(self, state: State) -> UnitClasses | None:
        block = state.blocks[self.curve.ranking]
        if not isinstance(block, RankingBlock) or block.two_owners:
            return None
        return UnitClasses(block.events.unit, block.events.columns["positive"].astype(np.int64))

    def lacks(self, metadata: Metadata) -> str:
        return "" if holds(metadata, "ranked") else NO_SCORES

    def class_units(self, state: State, *, undefined: str = "skip") -> Floats | None:
        """Those with a row of the class; None where the ranking lies elsewhere and no counts by class are kept."""
        if ClassCounts() in state.blocks:
            return class_units(state, None, lambda counts: (counts.tp, counts.tp + counts.fn))
        block = state.blocks[self.class_curves.ranking]
        return _units_with(block, state.units, True) if isinstance(block, RankingBlock) else None

    def class_truth(self, state: State) -> Array | None:
        truth = class_truth(state)
        units = RankedMetric.class_units(self, state) if truth is None else truth
        return None if units is None else units > 0

    def of(self, totals: TotalsView, place: int) -> Floats:
        value: Floats = totals[self.curve]
        return value

    def each(self, totals: TotalsView) -> Floats:
        values: Floats = totals[self.class_curves]
        return values

    def pooled_value(self, totals: TotalsView) -> Floats:
        value: Floats = totals[self.pooled_curve]
        return value


def _units_with(block: RankingBlock, units: Units, positive: bool) -> Floats:
    """How many units, or clusters, have a row of each class, or a row that is not of it."""
    events = block.events
    rows = (events.columns["positive"] > 0) == positive
    if "weight" in events.columns:
        rows &= events.columns["weight"] > 0
    at = np.flatnonzero(rows)
    group = np.searchsorted(events.begin, at, side="right") - 1
    owner = events.unit[at].astype(np.int64)
    if block.two_owners:
        owner, group = np.concatenate([owner, events.columns[SECOND][at]]), np.tile(group, 2)
    return units.behind(owner, group, block.groups)


class AgainstOthers(RankedMetric):
    """Base of those that rest on the rows of the class and on those of others alike."""

    def class_units(self, state: State, *, undefined: str = "skip") -> Floats | None:
        own = super().class_units(state)
        if own is None:
            return None
        block = state.blocks[self.class_curves.ranking]
        fewest = np.minimum(own, state.units.n_resampled - own)
        if not isinstance(block, RankingBlock) or (fewest == own).all():
            return fewest
        return np.minimum(own, _units_with(block, state.units, False))  # a unit may have rows of both


class AveragePrecision(RankedMetric):
    r"""Average precision: the precision at every step of recall, summed by the step.

    $\mathrm{AP} = \sum_n (R_n - R_{n-1})\,P_n, \quad R_0 = 0$

    Over distinct scores, highest first: the kind called `step`, without interpolation. `macro(ap)` is mAP. With
    `ties=order` rows of equal score are taken one by one in their order, not as one step. `kind=loop` is the sum as the
    loop `for i in range(1, n)` computes it: without the first step.

    Undefined when the class does not occur in the truth, or the predictions hold no scores.

    Pros:
    - Sees the whole ranking, and mostly its top, where a rare class is decided.

    Cons:
    - A random ranking scores the frequency of the class: not comparable between data sets.
    """

    name = "ap"
    title = "Average precision"
    reference = "sklearn.metrics.average_precision_score"
    reading = "ap"

    kind: Literal["step", "loop"] = "step"
    ties: Literal["step", "order"] = "step"

    @property
    def steps(self) -> tuple[str, bool]:
        return self.ties, self.kind == "loop"

    @property
    def pair_curves(self) -> PairWalk:
        """Pairs of classes are compared by the plain sum only."""
        if self.steps != ("step", False):
            raise InvalidSpec(f"ovo({self}) is not defined", remedy="Use macro(...), or leave kind and ties out.")
        return super().pair_curves


class RocAuc(AgainstOthers):
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
    reading = "auc"
    class_variance = 1 / 3

    def placements(self, state: State) -> Placements | None:
        """Of each row, where every unit is one row and none has a weight."""
        block = state.blocks[self.curve.ranking]
        if not isinstance(block, RankingBlock) or "weight" in block.events.columns or block.two_owners:
            return None
        unit, positive = block.events.unit, block.events.columns["positive"].astype(bool)
        if len(unit) != len(state) or len(np.unique(unit)) != len(unit):
            return None
        order = np.argsort(unit)  # the placements of several runs are of the same units, one by one
        score, positive = block.events.columns["score"][order], positive[order]
        first, second = score[positive], score[~positive]

        def share(of: Array, among: Array) -> Floats:
            """The share of sorted scores below each, ties half."""
            return (np.searchsorted(among, of, "left") + np.searchsorted(among, of, "right")) / (2 * len(among))

        placed = share(first, np.sort(second)), 1 - share(second, np.sort(first))
        squares = [float(((values - placed[0].mean()) ** 2).sum()) for values in placed]
        return Placements((len(first), len(second)), (squares[0], squares[1]), values=placed)


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
    reading = "best_f1"

    @property
    def _best(self) -> NotedWalk:
        return NotedWalk(Scores("one", self.only), "best_threshold")

    def requirements(self) -> tuple[Requirement, ...]:
        """One ranking, and where it is best."""
        return (self.curve, self._best)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Say where the threshold is."""
        value = totals[self._best][0]
        return (*super().notes(totals), f"The best F1 is reached by scores from {value:.6g} up.")


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
    reading = "best_threshold"


class TprAtFpr(AgainstOthers):
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
    reading = "tpr"

    fpr: Annotated[float, Between(0, 1)] = 0.01

    @property
    def label(self) -> str:
        return super().label.replace("FPR", f"FPR {self.fpr:g}", 1)

    @property
    def limit(self) -> float:
        return float(self.fpr)


RANKED: tuple[type[Metric], ...] = (AveragePrecision, RocAuc, BestF1, BestThreshold, TprAtFpr)
