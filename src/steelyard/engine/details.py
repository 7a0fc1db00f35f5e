"""Lazy details: units, tables, figures and rows, made from pairs and states when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from steelyard.core.figure import Figure, Listing, worst_and_best
from steelyard.core.frozen import Frozen
from steelyard.core.gallery import Gallery
from steelyard.core.metric import Description, Metric, describe
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.core.task import Task
from steelyard.engine.gallery import report_gallery
from steelyard.engine.measure import measure_state, per_unit_state, unit_values
from steelyard.engine.score import score
from steelyard.results.details import Details, UnitTable
from steelyard.results.score import Score

Pairs = Any
MOST_CELLS = 50_000_000  # units times classes: beyond, scores by class have no intervals on the page


class LazyDetails(Frozen, Details):
    """The details of a report. `pairs` is None where only the state was kept: then it has units alone."""

    lazy: ClassVar[bool] = True
    task: Task
    pairs: Pairs
    state: State
    metrics: tuple[Metric, ...]
    request: Request | None = None

    @cached_property
    def _table_makers(self) -> Mapping[str, Callable[[], Table]]:
        return {} if self.pairs is None else tables_of(self.task, self.pairs, self.state)

    @cached_property
    def _figure_makers(self) -> Mapping[str, Callable[[], Figure]]:
        make = self.task.view("figures") if self.pairs is not None else None
        makers = {} if make is None else dict(make(self.pairs, self.state, list(self.metrics)))
        own = any(name.endswith("_class") for name in makers)  # the task draws its classes itself
        if not own and len(self._class_metrics) > 1:
            axis = self.state.metadata.axes.get("class")
            makers["by_class"] = lambda: class_figure(self._class_scores, 0 if axis is None else len(axis))
        return makers

    @cached_property
    def _class_metrics(self) -> Mapping[str, Metric]:
        make, axis = self.task.view("class_metrics"), self.state.metadata.axes.get("class")
        if axis is not None and len(axis) * self.state.units.count > MOST_CELLS:
            return {}
        intervals = self.pairs is not None and self.request is not None and self.request.confidence is not None
        return make(self.state) if make is not None and intervals and self.state.units.n_resampled > 1 else {}

    @cached_property
    def _class_scores(self) -> dict[str, Score]:
        """The scores by class with their intervals."""
        wanted = list(self._class_metrics.values())
        if not wanted or self.request is None:
            return {}
        state = per_unit_state(self.pairs, measure_state(self.pairs, wanted), wanted).grouped_like(self.state)
        scores = score(state, wanted, replace(self.request, sequence=None, save_draws=False, save_influences=False))
        return {name: scores[str(metric)] for name, metric in self._class_metrics.items()}

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(self._table_makers)

    @cached_property
    def _long_makers(self) -> Mapping[str, Callable[[], Table]]:
        make = self.task.view("long_tables") if self.pairs is not None else None
        makers: Mapping[str, Callable[[], Table]] = {} if make is None else make(self.pairs, self.state)
        return makers

    @property
    def long_tables(self) -> tuple[str, ...]:
        return tuple(self._long_makers)

    def table(self, name: str) -> Table:
        return (self._table_makers.get(name) or self._long_makers[name])()

    @property
    def figures(self) -> tuple[str, ...]:
        return tuple(self._figure_makers)

    def figure(self, name: str) -> Figure:
        """A figure by name; bars by class carry their intervals."""
        figure = self._figure_makers[name]()
        return (
            with_intervals(figure, self._class_scores) if figure.chart == "bars" and name.endswith("_class") else figure
        )

    def units(self) -> UnitTable:
        return self._units

    @cached_property
    def _units(self) -> UnitTable:
        return unit_table(self.task, per_unit_state(self.pairs, self.state, self.metrics), self.metrics)

    def gallery(self) -> Gallery | None:
        return None if self.pairs is None else report_gallery(self.task, self.pairs, self._units, self.metrics)

    def listing(self) -> Listing | None:
        make = self.task.view("listing") if self.pairs is not None else None
        return None if make is None else make(self.pairs, self.state)

    def definitions(self) -> dict[str, Description]:
        return definitions_of(self.metrics)


def class_figure(scores: Mapping[str, Score], classes: int) -> Figure:
    """The scores by class, the worst first; `classes` is how many there are in all."""
    defined = [(name, score) for name, score in scores.items() if score.defined]
    defined.sort(key=lambda pair: -pair[1].value if pair[1].better == "lower" else pair[1].value)
    places, more = worst_and_best(range(len(defined)))
    shown = [defined[k] for k in places]
    label = next((_without(score.label, name) for name, score in shown), "score")
    columns = {"name": [name for name, _ in shown], "value": [score.value for _, score in shown]}
    nan = (math.nan, math.nan)
    cells = np.array([[score.value, *(score.interval or nan)] for _, score in defined], float).reshape(len(defined), 3)
    names = tuple(name for name, _ in defined)
    table = Table("by_class", f"{label} by class", "class", names, (label, "low", "high"), cells)
    of_all = f"The {len(scores)} of {classes:,} classes with the most data. " if classes > len(scores) else ""
    caption = f"{of_all}The worst first.{more}"
    return Figure("by_class", "bars", f"{label} by class", columns, {"x": label}, caption, table)


def _without(label: str, name: str) -> str:
    """The label of a metric of one class without the class."""
    at = label.rfind(name)
    return (label[:at] if at > 0 else label).rstrip(" ,:('\"").removesuffix(" of") or label


def with_intervals(figure: Figure, scores: Mapping[str, Score]) -> Figure:
    """Bars by class with the intervals of those whose score is known and is what the bar shows."""
    ends = []
    for name, value in zip(figure.columns["name"], np.asarray(figure.columns["value"], float).tolist(), strict=True):
        score = scores.get(str(name))
        same = score is not None and math.isclose(score.value, value, rel_tol=1e-9, abs_tol=1e-12)
        ends.append(score.interval if score is not None and same and score.interval is not None else (math.nan,) * 2)
    if all(math.isnan(low) for low, _ in ends):
        return figure
    columns = {**figure.columns, "low": [low for low, _ in ends], "high": [high for _, high in ends]}
    return replace(figure, columns=columns, caption=f"{figure.caption} The line on a bar is its interval.".strip())


def tables_of(task: Task, pairs: Pairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Makers of the tables by name."""
    return {} if task.tables is None else task.tables(pairs, state)


def definitions_of(metrics: Sequence[Metric]) -> dict[str, Description]:
    """What metrics mean, by spec."""
    return {str(metric): describe(type(metric)) for metric in metrics}


def unit_table(task: Task, state: State, metrics: Sequence[Metric]) -> UnitTable:
    """Every metric for each unit alone."""
    return UnitTable(task.unit, state.units.ids, unit_values(state, metrics))
