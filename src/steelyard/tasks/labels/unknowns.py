"""Metrics of detecting what is out of distribution, and of open sets.

FPR95 and AUPR mean two things, by which class is called positive. So `positive` has no default.
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal

import numpy as np

from steelyard.core.errors import InvalidSpec
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric, UnitClasses
from steelyard.core.ranking import RankingBlock
from steelyard.core.state import State, TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats
from steelyard.tasks.labels.averages import Wrapper
from steelyard.tasks.labels.counts import holds
from steelyard.tasks.labels.ranked import AveragePrecision, RankedMetric, RocAuc, TprAtFpr
from steelyard.tasks.labels.verification import OfOneKind, Rate, RateMetric
from steelyard.tasks.labels.walks import OverSources, Scores
from steelyard.tasks.shared.rates import Rates

FEW_ROWS = 30  # in distribution or out of it, below which an interval depends on their number
MEANINGS = {
    "fpr_at_tpr": (
        "the share of ID called OOD when 95 % of OOD is caught",
        "the share of OOD accepted when 95 % of ID is accepted",
    ),
    "aupr": ("AUPR-OUT, precision and recall of OOD", "AUPR-IN, precision and recall of ID"),
}


class OfPositive(RateMetric):
    """Base of the figures that say which class is positive."""

    only: str | int | None = field(default=None, metadata={"spec": "positive", "aliases": ("label",)})

    def check(self) -> None:
        if self.only is None:
            ood, other = MEANINGS[self.name]
            raise InvalidSpec(
                f"metric '{self}' needs the positive class: with positive=ood it is {ood}; with positive=id {other}",
                remedy=f"Write {'fpr@95' if self.at else self.name}(positive=ood), or name a label.",
            )

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """Of a class that is named."""
        return (cls(only="yes"),)


class FprAtTpr(OfPositive):
    r"""FPR at a TPR: the share of the other class that is taken for the positive one when so much of that is found.

    $\mathrm{FPR}(t^*),\quad t^* = \max \{\, t : \mathrm{TPR}(t) \ge r \,\}$

    `fpr@95` is FPR95, with the TPR in percent. `positive=ood` is the share of in-distribution rows called OOD when 95 %
    of OOD is caught (OpenOOD 1.5, pytorch-ood); `positive=id` is the share of OOD accepted when 95 % of
    in-distribution rows are. `rule=interpolated` joins points by straight lines, `rule=thinned` reads the curve that
    scikit-learn's `roc_curve` thins, as OpenOOD does.

    Undefined when the truth does not hold both classes, or the predictions hold no scores.

    Pros:
    - A working point at which nearly all of the positive class is found.

    Cons:
    - Rests on the few scores around one quantile, and means two things.
    """

    name = "fpr_at_tpr"
    title = "FPR at TPR"
    better = "lower"
    at = "tpr"
    reference = "OpenOOD; pytorch-ood; sklearn.metrics.roc_curve"
    figure = "fpr_at_tpr"

    tpr: Annotated[float, Between(1, 100, open_low=True)] = 95
    rule: Literal["first", "interpolated", "thinned"] = "first"

    @property
    def label(self) -> str:
        return super().label.replace("TPR", f"TPR {self.tpr:g} %", 1)

    @property
    def parameters(self) -> tuple[float, ...]:
        return float(self.tpr) / 100, float(("first", "interpolated", "thinned").index(self.rule))


class AreaUnderPrecision(OfPositive):
    r"""Area under precision over recall of the class called positive.

    $\sum_n (R_n - R_{n-1})\,P_n$

    The step sum, which is `ap` of that class; `rule=trapezoid` joins points by straight lines from precision 1 at
    recall 0, as OpenOOD and pytorch-ood do. `positive=id` is AUPR-IN and `positive=ood` AUPR-OUT.

    Undefined when the truth does not hold both classes, or the predictions hold no scores.

    Pros:
    - Looks at the top of the ranking, where a rare class is decided.

    Cons:
    - Depends on how frequent the positive class is: not comparable between data sets.
    """

    name = "aupr"
    title = "Area under precision over recall"
    reference = "OpenOOD; pytorch-ood; sklearn.metrics.precision_recall_curve"

    rule: Literal["step", "trapezoid"] = "step"

    @property
    def figure(self) -> str:  # type: ignore[override]
        """By the rule."""
        return "ap" if self.rule == "step" else "aupr"


class KnownRate(RateMetric):
    """Base of the figures of rows that are in distribution and labelled right."""

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.curve,)

    @property
    def curve(self) -> Rates:  # type: ignore[override]
        return self._rates(Scores("one", "id"))

    def lacks(self, metadata: Metadata) -> str:
        if not holds(metadata, "right"):
            return "no rows are declared out of distribution (option ood), or the predictions hold no labels"
        return super().lacks(metadata)


class CorrectRate(KnownRate):
    r"""Correct classification rate at an FPR: ID rows that are labelled right and scored above the OOD rows.

    $\mathrm{CCR}(f) = |\{\, i \in \mathrm{ID} : \hat y_i = y_i,\; s_i > t_f \,\}| \,/\, |\mathrm{ID}|$

    $t_f$ is the $\lceil f n \rceil$-th largest in-distribution score of the n OOD rows.

    Undefined when no rows are out of distribution, or the predictions hold no labels or no scores.

    Pros:
    - Counts a row only where it is both accepted and labelled right.

    Cons:
    - At a small f it rests on few OOD rows.
    """

    name = "ccr"
    title = "Correct classification rate at FPR"
    at = "fpr"
    reference = "OpenOOD: ccr_fpr"
    figure = "ccr"

    fpr: Rate = 0.1

    @property
    def label(self) -> str:
        return f"{super().label} {self.fpr:g}"

    @property
    def parameters(self) -> tuple[float, ...]:
        return (float(self.fpr),)


class OpenSetArea(KnownRate):
    r"""Open-set classification rate: the area under the correct classification rate over the FPR.

    $\int_0^1 \mathrm{CCR}(f)\, df$

    Points at every distinct score, joined by straight lines.

    Undefined when no rows are out of distribution, or the predictions hold no labels or no scores.

    Pros:
    - One number for labelling and rejecting.

    Cons:
    - Mixes two faults: a low value does not say which.
    """

    name = "oscr"
    title = "Open-set classification rate"
    figure = "oscr"


class KnownAccuracy(OfOneKind, KnownRate):
    r"""Accuracy of in-distribution rows: the share that is labelled right, whatever the score.

    $|\{\, i \in \mathrm{ID} : \hat y_i = y_i \,\}| \,/\, |\mathrm{ID}|$

    Undefined when no rows are out of distribution, or the predictions hold no labels or no scores.

    Pros:
    - Comparable with the accuracy of a closed set.

    Cons:
    - Does not see the OOD rows.
    """

    name = "id_accuracy"
    title = "Accuracy of in-distribution rows"
    reference = "OpenOOD: acc"
    figure = "right"
    counted = "hits"


class SourceMean(Wrapper):
    r"""Mean over OOD sets: a metric of each OOD set against all rows in distribution, and the plain mean of these.

    $\frac{1}{S} \sum_s m(\mathrm{ID}, \mathrm{OOD}_s)$

    The column `source` of the truth names the sets. Sets without a value are left out. With a column `source_group`
    (near and far, say) slices by it have the mean over the sets of each group. Draws are taken within the rows in
    distribution and within each set, so that every draw holds all sets.

    Undefined when no rows out of distribution have a source, or no set has a value.

    Pros:
    - The number that OpenOOD and papers print; sets of different size count the same.

    Cons:
    - Its interval is about new rows of these sets, not about new sets.
    """

    name = "sources"
    title = "Mean over OOD sets,"
    reference = "OpenOOD: nearood and farood means"

    def check(self) -> None:
        self.inner.check_settings()

    @property
    def inner(self) -> RankedMetric:
        if not isinstance(self.of, MEANS):
            raise InvalidSpec(
                f"metric '{self.of}' has no mean over OOD sets", remedy="Example: sources(fpr@95(positive=ood))."
            )
        return self.of

    @property
    def curve(self) -> OverSources:
        """The readings of all sets, and their mean."""
        curve = self.inner.curve
        return OverSources(Scores("sources", curve.ranking.label), curve)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.curve,)

    def unit_classes(self, state: State) -> UnitClasses | None:
        """None where there are enough rows of both kinds, since draws hold all sets as they are."""
        block = state.blocks[self.curve.ranking]
        if not isinstance(block, RankingBlock):
            return None
        code = block.events.columns["positive"].astype(np.int64)
        return UnitClasses(block.events.unit, code) if np.bincount(code, minlength=2).min() < FEW_ROWS else None

    def value(self, totals: TotalsView) -> Floats:
        value: Floats = totals[self.curve]
        return value

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """Of ROC AUC."""
        return (cls(RocAuc()),)


MEANS = (FprAtTpr, AreaUnderPrecision, CorrectRate, OpenSetArea, RocAuc, AveragePrecision, TprAtFpr)
UNKNOWNS: tuple[type[Metric], ...] = (
    FprAtTpr,
    AreaUnderPrecision,
    CorrectRate,
    OpenSetArea,
    KnownAccuracy,
    SourceMean,
)
