"""StudyPlan: what a pilot says of test sets of other sizes."""

from __future__ import annotations

import math
from dataclasses import field
from typing import ClassVar, Literal

from steelyard.core.frozen import Frozen
from steelyard.results.details import NONE, Details
from steelyard.results.result import Result
from steelyard.results.same import equal

Quantity = Literal["difference", "width"]
MOST_UNITS = 10**12
LABELLED = "labelled units"


class Planned(Frozen):
    """How many units a wish needs: what the pilot says, and `cautious`, given how little a pilot knows.

    10 to 90 % of pilots of this size say from `low` to `high` units. Plans of version 0.2 and before have neither.
    """

    units: int
    cautious: int
    low: int = 0
    high: int = 0


class PlanTable(Frozen):
    """A number for each size of two things that can grow, such as labels and judged units.

    Each cell has what the pilot says, and the cautious number.
    """

    row_name: str
    column_name: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    cells: tuple[tuple[tuple[float, float], ...], ...]

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        fits = len(self.cells) == len(self.rows) and all(len(row) == len(self.columns) for row in self.cells)
        return {} if fits else {"cells": f"is not {len(self.rows)} rows of {len(self.columns)}"}


class MetricPlan(Frozen):
    """One metric: the minimum detectable difference of so many units, and the units that a target needs.

    `curve` has a number of units, the difference that they show, and the same if the pilot's error is too small; in a
    plan from one score it has the width of the interval instead. `spread` is what 10 and 90 % of pilots would make of
    the number of units, as a factor. `width` is a wanted width of the interval, and `needed_for_width` the units that
    it needs; None where no number of labels is enough. `table` has a second thing that can grow.
    """

    spec: str
    measured_in: str
    curve: tuple[tuple[int, float, float], ...]
    target: float | None = None
    needed: Planned | None = None
    spread: tuple[float, float] = (math.nan, math.nan)
    width: float | None = None
    needed_for_width: Planned | None = None
    table: PlanTable | None = None

    __eq__ = equal


class StudyPlan(Frozen, Result):
    """The plan: metric by metric, from a pilot of `units` units of `task`.

    `quantity` is what the curves show: the minimum detectable difference, or the width of the interval of one score.
    Each of `family` tests has the level `level`, by the method `family_method`. `slice` names the slice that is planned
    for, which has `share` of all units, and `cluster` what is counted instead of units.
    """

    kind: ClassVar[str] = "plan"
    task: str
    unit: str
    units: int
    power: float
    confidence: float
    metrics: tuple[MetricPlan, ...]
    pilot: str = ""
    notes: tuple[str, ...] = ()
    quantity: Quantity = "difference"
    family: int = 1
    family_method: str = ""
    level: float = math.nan
    slice: str = ""
    share: float = 1.0
    cluster: str = ""
    details: Details = field(default=NONE, repr=False, compare=False)

    __eq__ = equal

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        if not self.metrics:
            return {"metrics": "is empty"}
        sizes = [tuple(n for n, _, _ in one.curve) for one in self.metrics]
        if not all(sizes):
            return {"metrics": "holds a metric without a size"}
        return {} if len({len(one) for one in sizes}) == 1 else {"metrics": "holds curves of unequal lengths"}
