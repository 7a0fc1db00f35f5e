"""Metrics of masks of `grounding`: the masks of an expression are united."""

from __future__ import annotations

from typing import Literal

from steelyard.core.metric import Metric
from steelyard.core.spec import render_value
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.grounding.metrics import ALL, TARGET, Iou
from steelyard.tasks.grounding.sums import MaskHits, MaskSum, MaskTargets


class OfMasks(Metric):
    """Base of metrics of masks: those of an expression are united."""

    range = (0.0, 1.0)

    of: Literal["all", "target"] = "all"
    no_target: Literal["mask", "head"] = "mask"

    @property
    def label(self) -> str:
        """Say when expressions that name nothing are left out."""
        return self.title if self.of == "all" else f"{self.title}, of expressions with a target"

    def mask_sum(self) -> MaskSum:
        """What is added up."""
        return MaskSum(self.no_target)

    def requirements(self) -> tuple[Requirement, ...]:
        return self.mask_sum(), self.target_sum(), ALL, TARGET

    def target_sum(self) -> MaskTargets:
        """The same of expressions that name something."""
        return MaskTargets(self.no_target)

    def sums(self, totals: TotalsView) -> Floats:
        """Intersection, union and IoU of the expressions that count."""
        sums: Floats = totals[self.mask_sum() if self.of == "all" else self.target_sum()]
        return sums


class OverallIou(OfMasks):
    r"""Overall IoU: pixels of all intersections by pixels of all unions.

    $\mathrm{oIoU} = \frac{\sum_i |P_i \cap T_i|}{\sum_i |P_i \cup T_i|}$

    LISA and ReLA call it cIoU. Where nothing is there, what a model marks adds to the union. With `no_target=head`, the
    column `none` of the predictions decides whether the model says that nothing is there, as in ReLA.

    Undefined when there is no pixel on either side.

    Pros:
    - What papers on RefCOCO report.

    Cons:
    - Large objects decide it.
    """

    name = "oiou"
    title = "Overall IoU of masks"
    aliases = ("ciou", "overall_iou")
    reference = "ReLA 3ca9551, LISA 3cb2d43"

    def reduce(self, totals: TotalsView) -> Floats:
        sums = self.sums(totals)
        return ratio(sums[:, 0], sums[:, 1])


class MeanMaskIou(OfMasks):
    r"""Mean IoU of masks: the IoU of each expression, averaged.

    $\mathrm{mIoU} = \frac{1}{N} \sum_i \frac{|P_i \cap T_i|}{|P_i \cup T_i|}$

    LISA and ReLA call it gIoU. Where nothing is there, an empty mask scores 1 and any other 0.

    Undefined when there is no expression.

    Pros:
    - Small objects weigh as much as large ones.

    Cons:
    - Expressions that name nothing score 0 or 1 only, and may dominate.
    """

    name = "miou"
    title = "Mean IoU of masks"
    aliases = ("giou",)
    reference = "ReLA 3ca9551, LISA 3cb2d43"

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(self.sums(totals)[:, 2], totals[ALL if self.of == "all" else TARGET])


class MaskPrecision(Metric):
    r"""Precision of masks: of the expressions that name something, the share whose mask reaches an IoU.

    $\mathrm{P}@t = \frac{1}{N} \sum_i [\,\mathrm{IoU}_i \ge t\,]$

    Undefined when every expression names nothing.

    Pros:
    - Shows how many masks are good, not only how good they are on average.

    Cons:
    - Just above and just below the threshold are worlds apart.
    """

    name = "p"
    title = "Precision of masks"
    range = (0.0, 1.0)
    at = "iou"
    aliases = ("pr",)
    reference = "ReLA 3ca9551"

    iou: Iou = 0.5
    no_target: Literal["mask", "head"] = "mask"

    @property
    def label(self) -> str:
        """Name the threshold."""
        return f"Masks of IoU {render_value(self.iou)} or more"

    def requirements(self) -> tuple[Requirement, ...]:
        return MaskHits(float(self.iou), self.no_target), TARGET

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[MaskHits(float(self.iou), self.no_target)], totals[TARGET]


MASK_METRICS = (OverallIou, MeanMaskIou, MaskPrecision)
