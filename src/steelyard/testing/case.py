"""Case: a task with drawn data, measured once for all laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from steelyard.core.metric import Metric
from steelyard.core.options import Options
from steelyard.core.state import State, Totals
from steelyard.core.task import Policy, Task
from steelyard.core.weights import Floats, Plain, Weights
from steelyard.engine.measure import measure_state
from steelyard.io.sources import read_sides
from steelyard.testing.drawn import BothSides, Drawn, cut, without

T = TypeVar("T")
UNITS, MANY, PARTS = 24, 256, 3


class Case:
    """A task, its metrics and drawn data. What several laws look at is made once.

    The metrics are those that stand for the task's classes in the catalogue, unless others are given.
    """

    def __init__(self, task: Task, drawn: Drawn, metrics: Sequence[Metric] | None = None) -> None:
        examples = [metric for cls in task.metrics for metric in cls.examples()]
        self.task, self.drawn, self.metrics = task, drawn, tuple(examples if metrics is None else metrics)
        self._made: dict[tuple[Any, ...], Any] = {}

    def once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What `make` gives, made at the first call with this key."""
        if key not in self._made:
            self._made[key] = make()
        value: T = self._made[key]
        return value

    @cached_property
    def policy(self) -> Policy:
        """What happens to rows on one side only."""
        own = self.task.policy
        return Policy(self.drawn.policy.get("missing", own.missing), self.drawn.policy.get("extra", own.extra))

    def draw(self, seed: int, units: int = UNITS) -> BothSides:
        """Truth and predictions."""
        truth, predictions = self.drawn.draw(np.random.default_rng(seed), units)
        return truth, predictions

    def pairs(self, sides: BothSides) -> Any:
        """Both sides, read and joined."""
        options = Options(self.task.options, self.drawn.options)
        truth, prediction = read_sides(self.task, *sides, {}, options)
        return self.task.join(truth, prediction, self.policy, options)

    def measure(self, sides: BothSides) -> State:
        """The state of all metrics: read, joined and measured."""
        return measure_state(self.pairs(sides), self.metrics)

    def state(self, seed: int, units: int = UNITS) -> State:
        """The state of drawn data."""
        return self.once((seed, units), lambda: self.measure(self.draw(seed, units)))

    def equal_units(self, seed: int) -> State:
        """The state of many units that all weigh 1: their draws come as counts."""

        def make() -> State:
            truth, predictions = self.draw(seed, MANY)
            return self.measure((without(truth, {self.drawn.weight}), predictions))

        return self.once(("equal", seed), make)

    def parts(self, seed: int) -> tuple[State, list[State]]:
        """The state of all the data, and those of parts that were read, joined and measured apart."""

        def make() -> tuple[State, list[State]]:
            sides = self.draw(seed)
            key = self.task.truth.key[0]
            parts = cut(sides, key, self.drawn.unit or key, PARTS)
            return self.measure(sides), [self.measure(part) for part in parts]

        return self.once(("parts", seed), make)

    def merge(self, parts: Sequence[State]) -> State:
        """Parts as one state."""
        return State.merge(parts)

    def values(self, metric: Metric, state: State, weights: Weights) -> Floats:
        """A metric for each row of weights."""
        return Totals(state, weights).of(metric)

    def value(self, metric: Metric, state: State, weights: Any = None) -> float:
        """The plain score, under the units' own weights or others."""
        return float(self.values(metric, state, Plain(state.units.own if weights is None else weights))[0])
