"""Comparison and Lineup: models on the same truth, against the first of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from steelyard.core.frozen import frozen
from steelyard.results.evidence import LACKING, NONE, Evidence
from steelyard.results.origin import Model, TaskFacts
from steelyard.results.result import Result
from steelyard.results.same import equal
from steelyard.results.score import BySpec, Difference, Differences, DifferencesBySlice, by_slice, misnamed
from steelyard.results.unit_table import UnitTable


@frozen
class Comparison(Result):
    """Model B against model A: `comparison["mae"].difference`, `.interval`, `.p`, `.verdict`."""

    kind: ClassVar[str] = "comparison"
    task_facts: TaskFacts
    a: Model
    b: Model
    differences: Differences
    slices: DifferencesBySlice = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    evidence: Evidence = field(default=NONE, repr=False, compare=False)

    __eq__ = equal

    def __post_init__(self) -> None:
        object.__setattr__(self, "differences", BySpec(self.differences))
        object.__setattr__(self, "slices", by_slice(self.slices))

    def __getitem__(self, spec: str) -> Difference:
        return self.differences[spec]

    @property
    def task(self) -> str:
        """The task's name."""
        return self.b.request.task

    @property
    def title(self) -> str:
        """What the task is called."""
        return self.task_facts.title

    @property
    def unit(self) -> str:
        """What is resampled: dish, image."""
        return self.task_facts.unit

    def units(self) -> tuple[UnitTable, UnitTable]:
        """Every metric for each unit alone, of A and of B."""
        a, b = self.evidence.units(), self.evidence.units_b()
        if a is None or b is None:
            raise ValueError(LACKING.format("no units"))
        return a, b

    def classes(self) -> Mapping[str, Difference]:
        """The differences class by class, where the task has classes."""
        return self.evidence.classes()

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        wrong = misnamed(self.differences)
        return {"differences": f"holds another difference under '{wrong}'"} if wrong else {}


@frozen
class Lineup(Result):
    """Two models or more: `comparisons` holds each against the first, in the order in which they were given."""

    kind: ClassVar[str] = "lineup"
    comparisons: tuple[Comparison, ...]
    evidence: Evidence = field(default=NONE, repr=False, compare=False)

    __eq__ = equal

    def __len__(self) -> int:
        return len(self.comparisons)

    def __getitem__(self, place: int) -> Comparison:
        return self.comparisons[place]

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        return {} if self.comparisons else {"comparisons": "is empty"}
