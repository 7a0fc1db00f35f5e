"""Live evidence: units, tables, figures and rows, made from pairs and states when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from steelyard.core.figure import Figure, Listing
from steelyard.core.frozen import frozen
from steelyard.core.metric import Description, Metric, describe
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.core.task import Task
from steelyard.engine.measure import listed, unit_values
from steelyard.results.evidence import Evidence
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
        return {} if make is None else make(self.pairs, self.state, list(self.metrics))

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
        return unit_table(self.task, listed(self.pairs, self.state, self.metrics), self.metrics)

    def listing(self) -> Listing | None:
        """The rows that a reader may look through."""
        make = self.task.view("listing") if self.pairs is not None else None
        return None if make is None else make(self.pairs, self.state)

    def definitions(self) -> dict[str, Description]:
        """What the metrics mean."""
        return definitions_of(self.metrics)


def tables_of(task: Task, pairs: Pairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Makers of the tables by name."""
    return {} if task.tables is None else task.tables(pairs, state)


def definitions_of(metrics: Sequence[Metric]) -> dict[str, Description]:
    """What metrics mean, by spec."""
    return {str(metric): describe(type(metric)) for metric in metrics}


def unit_table(task: Task, state: State, metrics: Sequence[Metric]) -> UnitTable:
    """Every metric for each unit alone."""
    return UnitTable(task.unit, state.units.ids, unit_values(state, metrics))
