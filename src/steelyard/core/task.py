"""Task: what a kind of data needs so that metrics can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Paired
from steelyard.core.records import Records, Schema
from steelyard.core.stats import Stats

if TYPE_CHECKING:
    from steelyard.core.by_class import ByClass
    from steelyard.core.explanation import Explanation
    from steelyard.core.scene import Scene
    from steelyard.core.table import Table


@frozen
class Policy:
    """What to do with rows that stand on one side only."""

    missing: str = "error"
    extra: str = "error"


@frozen
class Task:
    """A task: its schemas, how records become pairs and pairs become stats, its metrics.

    `pair(truth, predictions, policy)` joins the sides; `measure(pairs)` looks at one unit at a time, never across
    units. `defaults` are the specs that a report shows when none is asked for; `defaults_for` chooses them where they
    depend on what the data hold. `tables` are what a report shows beside scores: a confusion matrix, a curve.
    `options` are what the user may say about the data; `prepare(truth, predictions, options)` brings records into the
    form that `pair` takes. `shape` names the reader of its data in `io.sources`. `scene(pairs, unit, metric)` is a
    picture of one unit. `pictures` names the module of what its page shows, loaded when a page is made: see `picture`.
    `explain(stats, tools)` says why other tools print other numbers. `policy` is what happens to rows on one side only,
    where the user does not say. `measure_part(pairs, rows)` measures a part of data that have so many rows in all,
    where that makes a difference. `by_class` knows how its rankings are walked class by class, elsewhere.
    """

    name: str
    title: str
    unit: str
    item: str
    truth: Schema
    prediction: Schema
    pair: Callable[[Records, Records, Policy], Paired]
    measure: Callable[[Any], Stats] | None
    metrics: tuple[type[Metric], ...]
    defaults: tuple[str, ...]
    joined: Mapping[str, str] | None = None
    defaults_for: Callable[[Any], tuple[str, ...]] | None = None
    tables: Callable[[Stats], Mapping[str, Callable[[], Table]]] | None = None
    options: tuple[Option, ...] = ()
    prepare: Callable[[Records, Records, Options], tuple[Records, Records]] | None = None
    shape: str = "rows"
    policy: Policy = Policy()
    scene: Callable[[Any, int, Metric], Scene] | None = None
    measure_part: Callable[[Any, int], Stats] | None = None
    by_class: ByClass | None = None
    explain: Callable[[Stats, Any], tuple[Explanation, ...]] | None = None
    pictures: str = ""

    def picture(self, name: str) -> Callable[..., Any] | None:
        """A function of the module `pictures`, or None where it has none of that name.

        `figures(pairs, stats, metrics)` gives makers of figures by name, `listing(pairs, stats)` the rows that a reader
        may look through, `class_metrics(stats)` the metrics by which models are compared class by class.
        """
        return getattr(import_module(self.pictures), name, None) if self.pictures else None

    def join(self, truth: Records, prediction: Records, policy: Policy, options: Options | None = None) -> Any:
        """Prepare records by the options, then pair them: the whole way from what was read to pairs."""
        if self.prepare is not None:
            truth, prediction = self.prepare(truth, prediction, options or Options(self.options))
        return self.pair(truth, prediction, policy)

    def both_sides(self) -> Schema:
        """The schema of a source that holds truth and predictions: the predicted columns under other names.

        `joined` gives those names. An empty cell there is a missing prediction.
        """
        renamed = self.joined or {}
        predicted = tuple(
            replace(column, name=renamed[column.name], empty=True)
            for column in self.prediction.columns
            if column.name in renamed
        )
        return Schema(self.truth.key, self.truth.columns + predicted)

    def split(self, both: Records) -> Records:
        """The prediction side of records that hold both, without the rows whose prediction is empty."""
        renamed = self.joined or {}
        kept = np.ones(len(both), dtype=bool)
        for name in renamed.values():
            if name in both:
                column = both[name]
                kept &= column != "" if column.dtype.kind in "OU" else ~np.isnan(column)
        rows = np.flatnonzero(kept)
        part = both.take(rows)
        sources = {c.name: renamed.get(c.name, c.name) for c in self.prediction.columns}
        for name in part.columns:  # one a class
            base, colon, rest = name.partition(":")
            sources.update({f"{c}:{rest}": name for c, given in renamed.items() if colon and given == base})
        columns = {name: part[given] for name, given in sources.items() if given in part}
        names = {name: part.names.get(sources[name], sources[name]) for name in columns}
        return replace(part, columns=columns, names=names)
