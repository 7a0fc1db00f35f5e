"""Metrics of overlap and size of volumes, and of lesions."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from steelyard.core.counts import counted
from steelyard.core.errors import InvalidSpec, UnknownName, nearest
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.numerals import as_spec
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.segmentation.overlap import mean_defined, units_having
from steelyard.tasks.volumes.cases import BARE, COUNT, EMPTY, MISSED, VALUE, CaseMean, CaseScore

if TYPE_CHECKING:
    from steelyard.core.state import State


class CaseMetric(Metric):
    """Base: a figure of each structure of a case.

    `label` names one structure, `label=each` is one metric for each. `average=structure` is the mean over the cases of
    a structure, then over structures; `average=case` over the structures of a case, then over cases.
    """

    range = (0.0, 1.0)

    only: str | int | None = field(default=None, metadata={"spec": "label"})
    average: Annotated[str, Literal["structure", "case"]] = "structure"
    both_empty: Literal["skip", "best"] = "skip"

    class_axis: ClassVar[str] = "structure"
    figure: ClassVar[str] = "dice"

    def settings(self) -> dict[str, Any]:
        """What the state must keep, beside the figure's name."""
        return {"both_empty": self.both_empty}

    def statistic(self) -> CaseScore:
        """Figures by structure."""
        return CaseScore(self.figure, **self.settings())

    def mean(self) -> CaseMean:
        """Means by case."""
        return CaseMean(self.figure, **self.settings())

    def requirements(self) -> tuple[Requirement, ...]:
        """Figures by structure, and means by case where those are averaged."""
        return (self.statistic(), self.mean()) if self.average == "case" else (self.statistic(),)

    @property
    def label(self) -> str:
        suffix = f": {self.only}" if self.only is not None else ""
        return f"{self.title}{suffix}" + (", mean of cases" if self.average == "case" else "")

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        """One metric for each structure where that is asked for."""
        axis = metadata.axes["structure"]
        if self.only == "each":
            return tuple(replace(self, only=as_spec(name)) for name in axis.display_names)
        if self.only is not None and axis.find(self.only) < 0:
            raise UnknownName(
                f"there is no structure '{self.only}'", remedy=nearest(str(self.only), axis.display_names)
            )
        return (self,)

    def reduce(self, totals: Any) -> Floats:
        if self.average == "case" and self.only is None:
            sums = totals[self.mean()]
            return ratio(sums[:, 0], sums[:, 1])
        values = self._values(totals)
        if self.only is not None:
            place = totals.metadata.axes["structure"].find(self.only)
            return values[:, place] if place >= 0 else totals.undefined()
        return mean_defined(values)

    def _values(self, totals: Any) -> Floats:
        """The mean over the cases of every structure."""
        cells = totals[self.statistic()]
        with np.errstate(invalid="ignore"):
            return ratio(cells[:, :, VALUE], cells[:, :, COUNT])

    def class_scores(self, totals: Any) -> Floats | None:
        """The mean over the cases of every structure, where those are averaged."""
        return self._values(totals) if self.average == "structure" and self.only is None else None

    def part_units(self, state: State) -> Floats | None:
        return units_having(state, self.statistic(), COUNT)

    def _counts(self, totals: Any) -> Floats:
        cells = totals[self.statistic()][0]
        if self.only is None:
            return np.asarray(cells.sum(axis=0))
        place = totals.metadata.axes["structure"].find(self.only)
        return np.asarray(cells[place]) if place >= 0 else np.zeros(5)

    def excluded(self, totals: Any) -> tuple[float, str]:
        counts = self._counts(totals)
        empty = counts[EMPTY] if self.both_empty == "skip" else 0.0
        return float(empty + counts[BARE]), "structures of cases, which have no number"

    def notes(self, totals: Any) -> tuple[str, ...]:
        """In how many cases one side has nothing of a structure, and what that counts as."""
        missed = int(self._counts(totals)[MISSED])
        structures = counted(missed, "structures of cases")
        return (f"{self} has {structures} on one side only, {self.counted_as()}.",) if missed else ()

    def counted_as(self) -> str:
        """What a missed structure counts as."""
        return "counted as 0"


class SurfaceMetric(CaseMetric):
    """Base of distances between surfaces.

    `surface=elements` are points between voxels with their length or area, `surface=voxels` the outermost voxels, each
    of weight 1. A structure that one side lacks counts as the `diagonal` of the volume, as a number, as `inf`, or is
    left out (`skip`) and counted.
    """

    surface: Annotated[str, Literal["elements", "voxels"]] = "elements"
    missed: Annotated[str, Literal["diagonal", "skip", "inf"]] | Annotated[float, Between(0)] = "diagonal"

    better: ClassVar[str] = "lower"
    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    measured_in: ClassVar[str] = "mm"

    def settings(self) -> dict[str, Any]:
        return {"surface": self.surface, "missed": self.missed, "both_empty": self.both_empty}

    def counted_as(self) -> str:
        if self.missed == "diagonal":
            return "counted as the diagonal of the volume"
        return "left out" if self.missed == "skip" else f"counted as {self.missed} mm"


INF = float("inf")


class Dice(CaseMetric):
    r"""Dice: twice what truth and prediction have in common, of what they have together, case by case.

    $\mathrm{Dice} = \frac{2\,|A \cap B|}{|A| + |B|}$

    The mean over cases, then over structures. A structure that one side lacks scores 0; one that both lack has no
    score and is counted, or scores 1 (`both_empty=best`, as BraTS has it).

    Undefined when no case has the structure on either side.

    Pros:
    - The custom of medical imaging.

    Cons:
    - Small structures swing between 0 and 1.
    - Says nothing of where the errors lie.
    """

    name: ClassVar[str] = "dice"
    title: ClassVar[str] = "Dice"
    reference: ClassVar[str] = "surface-distance compute_dice_coefficient"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(average="case"), cls(both_empty="best"))


class Iou(CaseMetric):
    r"""IoU: what truth and prediction have in common, of all that either has, case by case.

    $\mathrm{IoU} = \frac{|A \cap B|}{|A \cup B|}$

    Undefined when no case has the structure on either side.

    Pros:
    - Stricter than Dice.

    Cons:
    - Small structures swing between 0 and 1.
    """

    name: ClassVar[str] = "iou"
    title: ClassVar[str] = "IoU"
    figure: ClassVar[str] = "iou"


class Sensitivity(CaseMetric):
    r"""Sensitivity: the share of true voxels that are found, case by case.

    $\frac{|A \cap B|}{|A|}$

    Undefined when no case has the structure in the truth.

    Pros:
    - Says how much is missed.

    Cons:
    - Predicting everything scores 1.
    """

    name: ClassVar[str] = "sensitivity"
    title: ClassVar[str] = "Sensitivity"
    figure: ClassVar[str] = "sensitivity"


class PositivePredictiveValue(CaseMetric):
    r"""Positive predictive value: the share of predicted voxels that are true, case by case.

    $\frac{|A \cap B|}{|B|}$

    A case whose structure is missed completely scores 0, so that finding nothing does not look precise.

    Undefined when no case has the structure on either side.

    Pros:
    - Says how much is made up.

    Cons:
    - Predicting little scores high.
    """

    name: ClassVar[str] = "ppv"
    title: ClassVar[str] = "Positive predictive value"
    figure: ClassVar[str] = "ppv"


class VolumeError(CaseMetric):
    r"""Volume error: how far the predicted volume is off, as a share of the true one, case by case.

    $\frac{|V_B - V_A|}{V_A}$

    Undefined when no case has the structure in the truth.

    Pros:
    - What a measured volume is off by.

    Cons:
    - A structure of the right size in the wrong place scores 0.
    """

    name: ClassVar[str] = "volume_error"
    title: ClassVar[str] = "Volume error"
    better: ClassVar[str] = "lower"
    range: ClassVar[tuple[float, float]] = (0.0, INF)
    figure: ClassVar[str] = "volume_error"

    def counted_as(self) -> str:
        return "counted as 1, or without a number where the truth has none"


class VolumeBias(CaseMetric):
    r"""Volume bias: predicted less true volume in millilitres, the mean over cases.

    $V_B - V_A$

    Undefined when there is no case.

    Pros:
    - Says whether volumes are over- or underestimated.

    Cons:
    - Errors of both signs cancel.
    """

    name: ClassVar[str] = "volume_bias"
    title: ClassVar[str] = "Volume bias"
    better: ClassVar[str] = "zero"
    range: ClassVar[tuple[float, float]] = (-INF, INF)
    measured_in: ClassVar[str] = "ml"
    figure: ClassVar[str] = "volume_bias"

    def notes(self, totals: Any) -> tuple[str, ...]:
        return ()


class LesionF1(CaseMetric):
    r"""Lesion-wise F1: lesions that are found, missed and made up, case by case.

    $F_1 = \frac{2\,TP}{2\,TP + FP + FN}$

    Lesions are connected parts of the truth; those that `dilation` joins are one. A lesion is found if a predicted part
    touches its dilation; a predicted part that touches none is false (the pairing of BraTS 2023). Lesions up to
    `minimum` mm³ do not count.

    Undefined when no case has a lesion or a predicted part.

    Pros:
    - Small lesions count as much as large ones.

    Cons:
    - Touching is enough: how well a lesion is outlined does not show.
    - A false part counts whatever its size.
    """

    name: ClassVar[str] = "lesion_f1"
    title: ClassVar[str] = "Lesion-wise F1"
    figure: ClassVar[str] = "lesion_f1"

    dilation: Annotated[int, Between(0, 100)] = 1
    minimum: Annotated[float, Between(0.0)] = 0.0

    def check(self) -> None:
        super().check()
        if self.dilation != int(self.dilation):
            raise InvalidSpec(f"metric '{self.name}': dilation is a whole number", remedy="BraTS takes 1 or 3.")

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "at": float(self.dilation), "minimum": float(self.minimum)}


class LesionDice(LesionF1):
    r"""Lesion-wise Dice: the mean Dice of lesions, with 0 for each that is missed or made up, case by case.

    $\frac{\sum_{l} \mathrm{Dice}_l}{|L| + FP}$

    Lesions are paired as in `lesion_f1`. The presets of BraTS 2023 are dilation 3 and minimum 50 (GLI, SSA, PED), 1
    and 50 (MEN), 1 and 2 (MET).

    Undefined when no case has a lesion or a predicted part.

    Pros:
    - Finding the large lesion alone is not enough.

    Cons:
    - A false part counts whatever its size.
    """

    name: ClassVar[str] = "lesion_dice"
    title: ClassVar[str] = "Lesion-wise Dice"
    figure: ClassVar[str] = "lesion_dice"
    reference: ClassVar[str] = "BraTS-2023-Metrics get_LesionWiseScores"


class LesionHausdorff(LesionF1):
    r"""Lesion-wise Hausdorff distance: the mean over lesions of a percentile of their surface distance, case by case.

    $\frac{\sum_{l} \mathrm{HD}_l + m\,(FN + FP)}{|L| + FP}$

    Lesions are paired as in `lesion_f1`, distances are those of `hd` by area. A lesion that is missed and a part that
    is made up count as m: the `diagonal` of the volume, or a number (374 in the script of BraTS 2023).

    Undefined when no case has a lesion or a predicted part.

    Pros:
    - Lesions that are missed or made up cost, in mm.

    Cons:
    - The number is ruled by what a missed lesion counts as.
    - A false part counts whatever its size.
    """

    name: ClassVar[str] = "lesion_hd"
    title: ClassVar[str] = "Lesion-wise Hausdorff distance"
    figure: ClassVar[str] = "lesion_hd"
    better: ClassVar[str] = "lower"
    range: ClassVar[tuple[float, float]] = (0.0, INF)
    measured_in: ClassVar[str] = "mm"
    at: ClassVar[str | None] = "percentile"
    reference: ClassVar[str] = "BraTS-2023-Metrics get_LesionWiseScores"

    percentile: Annotated[float, Between(0.0, 100.0, open_low=True)] = 95.0
    missed: Annotated[str, Literal["diagonal"]] | Annotated[float, Between(0)] = "diagonal"

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "percentile": float(self.percentile), "missed": self.missed}


class LesionQuality(CaseMetric):
    r"""Lesion-wise panoptic quality: how many connected parts are found and how well they fit, case by case.

    $\frac{\sum_{(g,p) \in TP} \mathrm{IoU}(g,p)}{|TP| + \tfrac12 |FP| + \tfrac12 |FN|}$

    A connected part of the truth and one of the prediction are a pair if their IoU is above 0.5.

    Undefined when no case has the structure on either side.

    Pros:
    - Small lesions count as much as large ones, and their outlines matter.

    Cons:
    - A lesion that is predicted in two parts, or two in one, is missed.
    """

    name: ClassVar[str] = "lesion_pq"
    title: ClassVar[str] = "Lesion-wise panoptic quality"
    figure: ClassVar[str] = "lesion_pq"

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "at": 0.0}


OVERLAP_METRICS: tuple[type[Metric], ...] = (
    Dice, Iou, Sensitivity, PositivePredictiveValue, VolumeError, VolumeBias,
)  # fmt: skip
LESION_METRICS: tuple[type[Metric], ...] = (LesionF1, LesionDice, LesionHausdorff, LesionQuality)
