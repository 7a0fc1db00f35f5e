"""Models that lack some predictions, compared on what all of them have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.align.gather import cut, is_ranked
from steelyard.core.counts import count_text
from steelyard.core.errors import Unmatched
from steelyard.core.pairs import Array, Coverage, Pairs
from steelyard.core.records import Records
from steelyard.core.task import Task
from steelyard.engine.groups import with_groups
from steelyard.engine.measure import measure_state as measured_by

if TYPE_CHECKING:
    from steelyard.core.request import Request

Key = tuple[str, ...]
Measure = Callable[..., Any]  # joins and measures records


def on_common_units(task: Task, request: Request, models: Sequence[Any], measure: Measure) -> list[Any]:
    """Measure every model again on the rows (or units, if those are joined) that all models have."""
    names = _key(task, models[0].pairs)
    common = set.intersection(*(_keys_with_prediction(model.pairs, names) for model in models))
    sources = [model.prediction.source for model in models]
    named = sources if len(set(sources)) == len(sources) else [f"model {i + 1}" for i in range(len(models))]
    lacking = ", ".join(
        f"{name} lacks {model.coverage.missing:,}"
        for name, model in zip(named, models, strict=True)
        if model.coverage.missing
    )
    if not common:
        raise Unmatched(
            f"no {task.item} has a prediction of every model: {lacking}",
            remedy="Choose `missing='worst'`." if task.worst else "Are they predictions for the same data?",
        )
    measured = []
    for model in models:
        again, matched = _measured_again(task, request, model, names, common, measure)
        was = model.coverage
        coverage = Coverage(was.truth, was.predictions, matched, was.truth - matched, was.extra, "common")
        shared = count_text(matched, task.item)
        note = f"Every model is scored on the {shared} that all models have a prediction for: {lacking}."
        measured.append(replace(again, coverage=coverage, notes=(*model.notes, note)))
    return measured


def _measured_again(
    task: Task, request: Request, model: Any, names: tuple[str, ...], common: set[Key], measure: Measure
) -> tuple[Any, int]:
    """A model on what all models have, and how many rows or units that are."""
    pairs = model.pairs
    if type(pairs) is Pairs or hasattr(pairs, "accepted"):  # units stay, and those that lose rows are partial
        keys = list(zip(*(map(str, pairs.truth[name][pairs.truth_row].tolist()) for name in names), strict=True))
        keep = np.array([key in common for key in keys], dtype=bool)
        pairs = pairs.select(keep)
        state = with_groups(task, request, pairs, measured_by(pairs, model.metrics))
        return replace(model, pairs=pairs, state=state), int(keep.sum())
    part = _only(model.truth, task.truth.key, names, common)
    again = measure(task, replace(request, missing="skip", extra="skip"), model.options, part, model.prediction)
    return replace(again, truth=model.truth), again.coverage.matched


def _key(task: Task, pairs: Any) -> tuple[str, ...]:
    """The columns that are joined by: those of a row, or of the unit where whole units are."""
    if not hasattr(pairs, "prediction_row") or hasattr(pairs, "prediction_owner"):
        return task.truth.key[:1]
    return tuple(name for name in task.truth.key if name in pairs.truth and name in pairs.prediction)


def joined_rows(task: Task, pairs: Any) -> set[Key]:
    """The keys of what has a prediction: of rows, or of units where whole units are joined."""
    return _keys_with_prediction(pairs, _key(task, pairs))


def _keys_with_prediction(pairs: Any, names: tuple[str, ...]) -> set[Key]:
    """What of the truth has a prediction."""
    if hasattr(pairs, "rows"):  # labels: rows without a prediction are none
        return _keys(pairs.truth, names, pairs.rows)
    if hasattr(pairs, "prediction_row") and not hasattr(pairs, "prediction_owner"):
        return _keys(pairs.truth, names, pairs.truth_row[np.asarray(pairs.prediction_row) >= 0])
    return {(str(unit),) for unit in pairs.units.tolist()}


def _keys(records: Records, names: tuple[str, ...], rows: Array) -> set[Key]:
    return set(zip(*(map(str, records[name][rows].tolist()) for name in names), strict=True))


def _only(truth: Records, key: tuple[str, ...], names: tuple[str, ...], common: set[Key]) -> Records:
    """The rows of the truth whose key is among these."""
    if is_ranked(truth):
        return cut(truth, key, lambda ids: np.array([(str(one),) not in common for one in ids.tolist()], np.int64), 1)[
            0
        ]
    keys = zip(*(map(str, truth[name].tolist()) for name in names), strict=True)
    rows = np.flatnonzero(np.fromiter((key in common for key in keys), dtype=bool, count=len(truth)))
    part = truth.take(rows)
    return replace(truth, columns=part.columns, other=part.other, place=part.place)
