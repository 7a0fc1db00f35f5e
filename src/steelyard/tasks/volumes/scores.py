"""What metrics of volumes have in common: the mean over cases of each structure, then over structures."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from steelyard.core.errors import UnknownName, nearest
from steelyard.core.frozen import frozen
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.numerals import as_spec
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.segmentation.overlap import mean_defined, units_having
from steelyard.tasks.volumes.cases import BARE, COUNT, EMPTY, MISSED, VALUE, CaseMean, CaseScore

if TYPE_CHECKING:
    from steelyard.core.state import State


@frozen
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

    def needs(self) -> tuple[Requirement, ...]:
        """Figures by structure, and means by case where those are averaged."""
        return (self.statistic(), self.mean()) if self.average == "case" else (self.statistic(),)

    @property
    def label(self) -> str:
        said = f": {self.only}" if self.only is not None else ""
        return f"{self.title}{said}" + (", mean of cases" if self.average == "case" else "")

    def expand(self, facts: Metadata) -> tuple[Metric, ...]:
        """One metric for each structure where that is asked for."""
        axis = facts.axes["structure"]
        if self.only == "each":
            return tuple(replace(self, only=as_spec(name)) for name in axis.shown)
        if self.only is not None and axis.find(self.only) < 0:
            raise UnknownName(f"there is no structure '{self.only}'", remedy=nearest(str(self.only), axis.shown))
        return (self,)

    def reduce(self, totals: Any) -> Floats:
        if self.average == "case" and self.only is None:
            sums = totals[self.mean()]
            return ratio(sums[:, 0], sums[:, 1])
        values = self._values(totals)
        if self.only is not None:
            place = totals.facts.axes["structure"].find(self.only)
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
        place = totals.facts.axes["structure"].find(self.only)
        return np.asarray(cells[place]) if place >= 0 else np.zeros(5)

    def excluded(self, totals: Any) -> tuple[float, str]:
        counts = self._counts(totals)
        empty = counts[EMPTY] if self.both_empty == "skip" else 0.0
        return float(empty + counts[BARE]), "structures of cases, which have no number"

    def notes(self, totals: Any) -> tuple[str, ...]:
        """In how many cases one side has nothing of a structure, and what that counts as."""
        missed = int(self._counts(totals)[MISSED])
        return (f"{missed} structures of cases stand on one side only: they {self.counted_as()}.",) if missed else ()

    def counted_as(self) -> str:
        """What a missed structure counts as."""
        return "count as 0"


@frozen
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
            return "count as the diagonal of the volume"
        return "are left out" if self.missed == "skip" else f"count as {self.missed} mm"
