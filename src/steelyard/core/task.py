"""Task: what a kind of data needs so that metrics can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.metric import Metric
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Paired
from steelyard.core.records import Records, Schema
from steelyard.core.stats import Stats


@dataclass(frozen=True)
class Policy:
    """What to do with rows that stand on one side only."""

    missing: str = "error"
    extra: str = "error"


@dataclass(frozen=True)
class Task:
    """A task: its schemas, how records become pairs and pairs become stats, its metrics.

    `pair(truth, predictions, policy)` joins the sides; `measure(pairs)` looks at one unit at a time, never across
    units. `defaults` are the specs that a report shows when none is asked for. `options` are what the user may say
    about the data; `prepare(truth, predictions, options)` brings records into the form that `pair` takes.
    """

    name: str
    title: str
    unit: str
    item: str
    truth: Schema
    prediction: Schema
    pair: Callable[[Records, Records, Policy], Paired]
    measure: Callable[[Any], Stats]
    metrics: tuple[type[Metric], ...]
    defaults: tuple[str, ...]
    joined: Mapping[str, str] | None = None
    options: tuple[Option, ...] = ()
    prepare: Callable[[Records, Records, Options], tuple[Records, Records]] | None = None

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
            kept &= ~np.isnan(both[name])
        rows = np.flatnonzero(kept)
        part = both.take(rows)
        columns = {
            c.name: part[renamed.get(c.name, c.name)]
            for c in self.prediction.columns
            if renamed.get(c.name, c.name) in part
        }
        names = {c: part.names.get(renamed.get(c, c), c) for c in columns}
        return replace(part, columns=columns, names=names)
