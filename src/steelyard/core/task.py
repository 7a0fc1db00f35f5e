"""Task: what a package must say about its data so that every path can evaluate them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.deprecated import Renamed
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.options import Option, Options
from steelyard.core.records import Records, Schema

if TYPE_CHECKING:
    from steelyard.core.explanation import Explanation
    from steelyard.core.scene import Scene, Steps
    from steelyard.core.table import Table


class Policy(Frozen):
    """What to do with rows that stand on one side only."""

    missing: str = "error"
    extra: str = "error"


class Task(Frozen):
    """A task: what its data are, how truth and predictions join, and its metrics. All that a plugin has to say.

    `unit` is what is drawn in a bootstrap and `item` what a row is: "image" and "object". `truth` and `prediction` are
    the schemas of both sides. `join(truth, prediction, policy, options)` makes pairs of records. `metrics` are its
    metric classes, and `defaults` the specs that a report shows when none is asked for; `defaults_for(facts)` chooses
    them where they depend on what the data hold. `reader` names what reads its files (see `io.sources`), `options` are
    what the user may say about the data, and `policy` is what happens to rows on one side only, where the user does
    not say.

    `views` names a module of what is shown beside scores, and `checks` one of what is looked for before a number is
    believed. Each is loaded when it is asked for; see `view` and `checks.catalogue`.

    `plain(truth, predictions)` makes columns of bare arrays, with notes on how they were taken, or gives None where the
    sides have names. `device` names a module that counts tensors on their device: see `partial.tensors`.
    `spellings` are what other tools call a metric, by spec: {"f1_macro": "macro(f1)"}. `score_rules(options)` says how
    scores in channels become a predicted label map, where the task takes such scores. `align(pairs, metrics)` gives the
    pairs of several models the same units, where units are of the predictions too. `worst` is false where
    missing='worst' has no meaning, since errors have no upper bound.
    """

    name: str
    title: str
    unit: str
    item: str
    truth: Schema
    prediction: Schema
    join: Callable[[Records, Records, Policy, Options], Any]
    metrics: tuple[type[Metric], ...]
    defaults: tuple[str, ...]
    defaults_for: Callable[[Any], tuple[str, ...]] | None = None
    reader: str = "rows"
    options: tuple[Option, ...] = ()
    policy: Policy = Policy()
    views: str = ""
    checks: str = ""
    device: str = ""
    plain: Callable[[Any, Any], tuple[Any, Any, tuple[str, ...]] | None] | None = None
    spellings: Mapping[str, str] = field(default_factory=dict)
    score_rules: Callable[[Options], Any] | None = None
    align: Callable[[Sequence[Any], Sequence[Metric]], Sequence[Any]] | None = None
    worst: bool = True

    def view(self, name: str) -> Any:
        """What the module `views` has under a name, or None.

        `tables(pairs, state)` gives makers of tables by name, such as a confusion matrix; `figures(pairs, state,
        metrics)` makers of figures, and `compared_figures(pairs, state, metrics)` of those that a comparison shows of
        both models in one; `listing(pairs, state)` the rows that a reader may look through; `class_metrics(state)` the
        metrics by which models are compared class by class; `scene(pairs, unit, metric)` a picture of one unit, for the
        metric `pictured` where none is asked for; `steps(pairs, unit)` the pictures of a
        unit that has many, and then `scene(pairs, unit, metric, step)` one of them; `explain(pairs, tools)` why other
        tools print other numbers; `prepared(truth, prediction, options)` the records as `join` takes them;
        `gallery_words` what marks on a page mean, where they are not of detections.
        """
        function = getattr(import_module(self.views), name, None) if self.views else None
        return None if isinstance(function, ModuleType) else function  # an imported module is not a view

    @property
    def tables(self) -> Callable[..., Mapping[str, Callable[[], Table]]] | None:
        """Makers of tables by name."""
        function: Callable[..., Mapping[str, Callable[[], Table]]] | None = self.view("tables")
        return function

    @property
    def scene(self) -> Callable[..., Scene] | None:
        """The maker of a picture of one unit, or of one of its steps."""
        function: Callable[..., Scene] | None = self.view("scene")
        return function

    @property
    def steps(self) -> Callable[[Any, int], Steps] | None:
        """What says which pictures a unit has, where it has many."""
        function: Callable[[Any, int], Steps] | None = self.view("steps")
        return function

    @property
    def explain(self) -> Callable[[Any, Any], tuple[Explanation, ...]] | None:
        """What says why other tools print other numbers."""
        function: Callable[[Any, Any], tuple[Explanation, ...]] | None = self.view("explain")
        return function

    joined = Renamed("joint_columns")

    @property
    def joint_columns(self) -> Mapping[str, str]:
        """Predicted columns by the names that they have in a source that holds both sides."""
        return {column.name: column.beside for column in self.prediction.columns if column.beside}

    def both_sides(self) -> Schema:
        """The schema of a source that holds truth and predictions: the predicted columns under other names.

        `beside` of a column gives that name. An empty cell there is a missing prediction.
        """
        renamed = self.joint_columns
        predicted = tuple(
            replace(column, name=renamed[column.name], empty=True, aliases=())
            for column in self.prediction.columns
            if column.name in renamed
        )
        return Schema(self.truth.key, self.truth.columns + predicted)

    def split(self, both: Records) -> Records:
        """The prediction side of records that hold both, without the rows whose prediction is empty."""
        renamed = self.joint_columns
        has_value = np.ones(len(both), dtype=bool)
        for name in renamed.values():
            if name in both:
                column = both[name]
                has_value &= column != "" if column.dtype.kind in "OU" else ~np.isnan(column)
        rows = np.flatnonzero(has_value)
        part = both.take(rows)
        sources = {c.name: renamed.get(c.name, c.name) for c in self.prediction.columns}
        for name in part.columns:  # one per class
            base, colon, rest = name.partition(":")
            sources.update({f"{c}:{rest}": name for c, given in renamed.items() if colon and given == base})
        columns = {name: part[given] for name, given in sources.items() if given in part}
        names = {name: part.names.get(sources[name], sources[name]) for name in columns}
        return replace(part, columns=columns, names=names)
