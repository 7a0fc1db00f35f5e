"""Live evidence: units, tables, figures and rows, made from pairs and states when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from steelyard.core.figure import Figure, Listing
from steelyard.core.frozen import frozen
from steelyard.core.legacy import is_legacy
from steelyard.core.metric import Description, Metric, describe
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.core.task import Task
from steelyard.engine.compare import compare, judged_together
from steelyard.engine.measure import listed, measured, shown, unit_values
from steelyard.results.evidence import Evidence
from steelyard.results.score import Difference
from steelyard.results.unit_table import UnitTable

Pairs = Any


@frozen
class Live(Evidence):
    """The evidence of a report. `pairs` is None where only the state was kept: then it has units alone."""

    live: ClassVar[bool] = True
    task: Task
    pairs: Pairs
    state: State
    metrics: tuple[Metric, ...]

    @cached_property
    def _table_makers(self) -> Mapping[str, Callable[[], Table]]:
        return {} if self.pairs is None else tables_of(self.task, self.pairs, self.state)

    @cached_property
    def _figure_makers(self) -> Mapping[str, Callable[[], Figure]]:
        make = self.task.view("figures") if self.pairs is not None else None
        return {} if make is None else make(self.pairs, shown(self.state), list(self.metrics))

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables."""
        return tuple(self._table_makers)

    def table(self, name: str) -> Table:
        """A table by name."""
        return self._table_makers[name]()

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the figures."""
        return tuple(self._figure_makers)

    def figure(self, name: str) -> Figure:
        """A figure by name."""
        return self._figure_makers[name]()

    def units(self) -> UnitTable:
        """Every metric for each unit alone."""
        return _unit_table(self.task, listed(self.task, self.pairs, self.state, self.metrics), self.metrics)

    def listing(self) -> Listing | None:
        """The rows that a reader may look through."""
        make = self.task.view("listing") if self.pairs is not None else None
        return None if make is None else make(self.pairs, shown(self.state))

    def definitions(self) -> dict[str, Description]:
        """What the metrics mean."""
        return definitions_of(self.metrics)


@frozen
class LivePair(Evidence):
    """The evidence of a comparison: the pairs and states of both models."""

    live: ClassVar[bool] = True
    task: Task
    request: Request
    metrics: tuple[Metric, ...]
    a: tuple[Pairs, State]
    b: tuple[Pairs, State]

    @cached_property
    def _unit_tables(self) -> tuple[UnitTable, ...]:
        states = State.unified([listed(self.task, *side, self.metrics) for side in (self.a, self.b)])
        return tuple(_unit_table(self.task, state, self.metrics) for state in states)

    def units(self) -> UnitTable:
        """Every metric for each unit alone, with A."""
        return self._unit_tables[0]

    def units_b(self) -> UnitTable:
        """The same with B."""
        return self._unit_tables[1]

    def classes(self) -> Mapping[str, Difference]:
        """The differences class by class, corrected for all classes."""
        return self._classes

    @cached_property
    def _classes(self) -> dict[str, Difference]:
        metrics_of = self.task.view("class_metrics")
        metrics = {} if metrics_of is None else metrics_of(shown(State.unified([self.a[1], self.b[1]])[0]))
        if not metrics:
            return {}
        wanted = list(metrics.values())
        sides = [
            listed(self.task, pairs, state if is_legacy(state) else measured(self.task, pairs, wanted), wanted)
            for pairs, state in (self.a, self.b)
        ]
        confidence = 0.95 if self.request.confidence is None else self.request.confidence
        judged = judged_together({"": compare(sides[0], sides[1], wanted, self.request)}, confidence)[""]
        return {name: judged[str(metric)] for name, metric in metrics.items()}

    def definitions(self) -> dict[str, Description]:
        """What the metrics mean."""
        return definitions_of(self.metrics)


def tables_of(task: Task, pairs: Pairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Makers of the tables by name."""
    if task.tables is None:
        return {}
    return task.tables(pairs, state) if task.measure is None else task.tables(shown(state))


def definitions_of(metrics: Sequence[Metric]) -> dict[str, Description]:
    """What metrics mean, by spec."""
    return {str(metric): describe(type(metric)) for metric in metrics}


def _unit_table(task: Task, state: State, metrics: Sequence[Metric]) -> UnitTable:
    return UnitTable(task.unit, state.units.ids, unit_values(state, metrics))
