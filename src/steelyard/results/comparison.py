"""Comparison and Lineup: models on the same truth, against the first of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from steelyard.core.counts import count_text
from steelyard.core.errors import nearest
from steelyard.core.frozen import Frozen
from steelyard.results.details import LACKING, NONE, Details, UnitTable
from steelyard.results.influences import Influences
from steelyard.results.origin import Model, TaskFacts
from steelyard.results.result import Result, TaskResult
from steelyard.results.same import equal, result_repr
from steelyard.results.score import BySpec, Difference, Differences, DifferencesBySlice, by_slice, misnamed_key


class Comparison(Frozen, TaskResult):
    """Model B against model A: `comparison["mae"].difference`, `.interval`, `.p`, `.verdict`.

    `influences` are what units contribute to the scores of A and of B, where `save_influences` asked for them.
    """

    kind: ClassVar[str] = "comparison"
    task_facts: TaskFacts
    a: Model
    b: Model
    differences: Differences
    slices: DifferencesBySlice = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    influences: Influences | None = None
    details: Details = field(default=NONE, repr=False, compare=False)

    __eq__ = equal
    __repr__ = result_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "differences", BySpec(self.differences, self.task))
        object.__setattr__(self, "slices", by_slice(self.slices, self.task))

    def __getitem__(self, spec: str) -> Difference:
        return self.differences[spec]

    @property
    def task(self) -> str:
        """The task's name."""
        return self.b.request.task

    def units(self) -> tuple[UnitTable, UnitTable]:
        """Every metric for each unit alone, of A and of B."""
        a, b = self.details.units(), self.details.units_b()
        if a is None or b is None:
            raise ValueError(LACKING.format("no units"))
        return a, b

    def classes(self) -> Mapping[str, Difference]:
        """The differences class by class, where the task has classes."""
        return self.details.classes()

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        wrong = misnamed_key(self.differences)
        return {"differences": f"holds another difference under '{wrong}'"} if wrong else {}


class Standing(Frozen):
    """Where models stand in one metric: for each, in the order in which they were given, the ranks that it may have.

    With a confidence of `confidence` all ranks lie in their sets, for all models together. (0, 0) is a model that has
    no value. Models that share one of their `letters` are not shown to differ.
    """

    spec: str
    ranks: tuple[tuple[int, int], ...]
    confidence: float
    letters: tuple[str, ...] = ()

    @property
    def best(self) -> tuple[int, ...]:
        """The places of the models that may be the best: none is shown to be better."""
        return tuple(i for i, (first, _) in enumerate(self.ranks) if first == 1)

    def text(self, place: int) -> str:
        """The rank of a model: "1", or "1-3" where it may be any of these."""
        first, last = self.ranks[place]
        return "–" if not first else f"{first}" if first == last else f"{first}-{last}"

    def group(self, place: int) -> str:
        """The letters of a model; nothing where there are none."""
        return self.letters[place] if self.letters else ""

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        if all((a, b) == (0, 0) or 1 <= a <= b <= len(self.ranks) for a, b in self.ranks):
            return {}
        return {"ranks": "holds a rank that no model can have"}


class Lineup(Frozen, Result):
    """Two models or more: `comparisons` holds each against the first, in the order in which they were given.

    `lineup["ours"]` is the comparison of the model of that name, `lineup[0]` the first one.

    `standings` say by metric which ranks each model may have, where there are three or more.
    """

    kind: ClassVar[str] = "lineup"
    comparisons: tuple[Comparison, ...]
    standings: Mapping[str, Standing] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    details: Details = field(default=NONE, repr=False, compare=False)

    __eq__ = equal
    __repr__ = result_repr

    def __len__(self) -> int:
        return len(self.comparisons)

    def __getitem__(self, place: int | str) -> Comparison:
        if isinstance(place, int):
            return self.comparisons[place]
        named = {one.b.name: one for one in self.comparisons if one.b.name}
        if place not in named:
            raise KeyError(f"'{place}' was not compared with the first model. {nearest(place, named)}")
        return named[place]

    @property
    def names(self) -> tuple[str, ...]:
        """The models' names, the baseline first; empty if they were not named."""
        return (self.comparisons[0].a.name, *(one.b.name for one in self.comparisons))

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        if not self.comparisons:
            return {"comparisons": "is empty"}
        for key, standing in self.standings.items():
            if standing.spec != key or key not in self.comparisons[0].differences:
                return {"standings": f"holds another metric under '{key}'"}
            if len(standing.ranks) != len(self.comparisons) + 1:
                return {
                    "standings": f"has {count_text(len(standing.ranks), 'rank')} for {len(self.comparisons) + 1} models"
                }
            if standing.letters and len(standing.letters) != len(standing.ranks):
                return {
                    "standings": (
                        f"has {count_text(len(standing.letters), 'group')} of letters for {len(standing.ranks)} models"
                    )
                }
        return {}
