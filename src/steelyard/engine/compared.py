"""Lazy details of a comparison: units and classes, made from the pairs and states of both models when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from steelyard.core.frozen import frozen
from steelyard.core.metric import Description, Metric
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.task import Task
from steelyard.engine.compare import compare
from steelyard.engine.details import Pairs, definitions_of, unit_table
from steelyard.engine.families import judged_together
from steelyard.engine.measure import listed, measured
from steelyard.engine.sides import sides_of
from steelyard.results.details import Details
from steelyard.results.score import Difference
from steelyard.results.unit_table import UnitTable


@frozen
class LazyPairDetails(Details):
    """The details of a comparison: the pairs and states of both models."""

    live: ClassVar[bool] = True
    task: Task
    request: Request
    metrics: tuple[Metric, ...]
    a: tuple[Pairs, State]
    b: tuple[Pairs, State]

    @cached_property
    def _unit_tables(self) -> tuple[UnitTable, ...]:
        states = State.unified([listed(*side, self.metrics) for side in (self.a, self.b)])
        return tuple(unit_table(self.task, state, self.metrics) for state in states)

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
        metrics = {} if metrics_of is None else metrics_of(State.unified([self.a[1], self.b[1]])[0])
        if not metrics:
            return {}
        wanted = list(metrics.values())
        sides = [
            listed(pairs, measured(pairs, wanted), wanted).grouped_like(state) for pairs, state in (self.a, self.b)
        ]
        confidence = 0.95 if self.request.confidence is None else self.request.confidence
        request = replace(self.request, sequence=None, superiority=False)  # no class is a mean over all units
        a, b = sides_of(sides, wanted, request)
        judged = judged_together({"": compare(a, b, wanted, request)}, confidence, request.adjust)[""]
        return {name: judged[str(metric)] for name, metric in metrics.items()}

    def definitions(self) -> dict[str, Description]:
        """What the metrics mean."""
        return definitions_of(self.metrics)
