"""StudyPlan: what a pilot says of test sets of other sizes."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from steelyard.core.frozen import frozen
from steelyard.results.evidence import NONE, Evidence
from steelyard.results.result import Result
from steelyard.results.same import equal


@frozen
class Planned:
    """How many units show a difference, and how many to plan for, given how little a pilot knows."""

    units: int
    cautious: int


@frozen
class MetricPlan:
    """One metric: the smallest difference that so many units show, and the units that a target needs.

    `curve` has a number of units, the difference that they show, and the same if the pilot's error is too small.
    """

    spec: str
    measured_in: str
    curve: tuple[tuple[int, float, float], ...]
    target: float | None = None
    needed: Planned | None = None


@frozen
class StudyPlan(Result):
    """The plan: metric by metric, from a pilot of `units` units of `task`."""

    kind: ClassVar[str] = "plan"
    task: str
    unit: str
    units: int
    power: float
    confidence: float
    metrics: tuple[MetricPlan, ...]
    pilot: str = ""
    notes: tuple[str, ...] = ()
    evidence: Evidence = field(default=NONE, repr=False, compare=False)

    __eq__ = equal

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        if not self.metrics:
            return {"metrics": "is empty"}
        sizes = [tuple(n for n, _, _ in one.curve) for one in self.metrics]
        if not all(sizes):
            return {"metrics": "holds a metric without a size"}
        return {} if len({len(one) for one in sizes}) == 1 else {"metrics": "holds curves of unequal lengths"}
