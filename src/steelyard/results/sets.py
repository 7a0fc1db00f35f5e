"""Pool and Drift: results on several test sets, weighed together or held against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar, Literal

from steelyard.core.frozen import Frozen
from steelyard.results.details import NONE, Details
from steelyard.results.result import Result
from steelyard.results.same import equal, result_repr
from steelyard.results.score import BySpec, Difference, Differences, Score, Scores, misnamed_key

Sets = Literal["fixed", "random"]


class PooledSet(Frozen):
    """One test set: its name, its units, the weight that it has, and its own scores or differences."""

    name: str
    units: int
    weight: float
    scores: Scores = field(default_factory=dict)
    differences: Differences = field(default_factory=dict)

    __eq__ = equal


class Pool(Frozen, Result):
    """Several test sets weighed together: `pool["accuracy"]` is a score, or a difference where comparisons are pooled.

    The sets are "fixed", and the numbers are about these sets; or "random", and about the sets that they were drawn
    from. `weights` says how they are weighed, and `shared_units` how many units are in more than one set.
    """

    kind: ClassVar[str] = "pool"
    task: str
    unit: str
    confidence: float
    sets: tuple[PooledSet, ...]
    drawn: Sets = "fixed"
    weights: str = "equal"
    shared_units: int = 0
    scores: Scores = field(default_factory=dict)
    differences: Differences = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    details: Details = field(default=NONE, repr=False, compare=False)

    __eq__ = equal
    __repr__ = result_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", BySpec(self.scores, self.task))
        object.__setattr__(self, "differences", BySpec(self.differences, self.task))

    def __getitem__(self, spec: str) -> Score | Difference:
        return self.differences[spec] if self.differences else self.scores[spec]

    @property
    def units(self) -> int:
        """The units of all sets."""
        return sum(one.units for one in self.sets)

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        if not self.sets:
            return {"sets": "is empty"}
        for name, held in (("scores", self.scores), ("differences", self.differences)):
            if misnamed_key(held):
                return {name: f"holds another one under '{misnamed_key(held)}'"}
            if any(spec not in getattr(one, name) for one in self.sets for spec in held):
                return {"sets": f"holds a set without some of the {name}"}
        return {}


class DriftGroup(Frozen):
    """A group of units: how many the old and the new set have of it, and its share of the old mix.

    `excluded` says that one of the sets has none of them, so that the group counts in the mix alone.
    """

    value: str
    old_units: int
    new_units: int
    share: float
    excluded: bool = False


class Drift(Frozen, Result):
    """The new test set against the old one: `drift["accuracy"].difference` is new minus old.

    With `by`, `differences` are at the old mix of groups: each group's change, weighed by its share of the old set.
    `plain` is the change of the values themselves, and `mix` the part of it that the differences do not explain. Of a
    metric that is best at 0 or 1, all three are changes of the distance from it.
    """

    kind: ClassVar[str] = "drift"
    task: str
    unit: str
    confidence: float
    old: str
    new: str
    units: tuple[int, int]
    differences: Differences
    by: str = ""
    plain: Mapping[str, float] = field(default_factory=dict)
    mix: Mapping[str, float] = field(default_factory=dict)
    groups: tuple[DriftGroup, ...] = ()
    notes: tuple[str, ...] = ()
    details: Details = field(default=NONE, repr=False, compare=False)

    __eq__ = equal
    __repr__ = result_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "differences", BySpec(self.differences, self.task))

    def __getitem__(self, spec: str) -> Difference:
        return self.differences[spec]

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        if misnamed_key(self.differences):
            return {"differences": f"holds another difference under '{misnamed_key(self.differences)}'"}
        if self.by and not all(spec in held for spec in self.differences for held in (self.plain, self.mix)):
            return {"mix": "lacks a metric"}
        return {}
