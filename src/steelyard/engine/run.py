"""From what was asked for to what was measured: read both sides, join them, measure what the metrics need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import numpy as np

from steelyard.core import catalogue
from steelyard.core.errors import Conflict, EmptyInput, Unsupported
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.options import Options
from steelyard.core.pairs import Coverage, metadata_of
from steelyard.core.progress import advance
from steelyard.core.records import Records
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.task import Task
from steelyard.core.units import Units
from steelyard.engine.groups import by_unit, with_groups
from steelyard.engine.measure import measure_state
from steelyard.io.dialect import reading_notes
from steelyard.io.once import truth_read_once
from steelyard.io.options import resolve_options
from steelyard.io.sources import read_sides


class Measured(Frozen):
    """Both sides as they were read, their pairs, what was measured in each unit, and notes on how sides were taken.

    `cluster` is the column by which units are resampled: that of the request, or what the data have for a default.
    """

    truth: Records
    prediction: Records
    pairs: Any
    state: State
    coverage: Coverage
    options: Options
    metrics: tuple[Metric, ...]
    notes: tuple[str, ...] = ()
    cluster: str | None = None


def measure_sides(task: Task, request: Request, truth: Any, predictions: Any) -> Measured:
    """Read, join and measure."""
    options = resolve_options(task, request.options)
    plain = task.plain(truth, predictions) if task.plain is not None else None
    if plain is not None:
        truth, predictions, notes = plain
        measured = measure_sides(task, request, truth, predictions)
        return replace(measured, notes=(*notes, *measured.notes))
    advance("reading", 0, 1)
    with reading_notes() as read_notes:
        sides = read_sides(task, truth, predictions, request.columns, options, request.named_columns)
    measured = measure_records(task, request, options, *sides)
    return replace(measured, notes=(*read_notes, *measured.notes))


def model_columns(columns: Mapping[str, str], model: int, models: int) -> dict[str, str]:
    """The columns of one of several models: `a.weight` is predicted by the first, `b.weight` by the second."""
    place = {letter: i for i, letter in enumerate(ascii_lowercase[:models])}
    own: dict[str, str] = {}
    for target, name in columns.items():
        letter, dot, rest = target.partition(".")
        if not (dot and letter in place):
            own.setdefault(target, name)
        elif place[letter] == model:
            own[f"prediction.{rest}"] = name
    return own


def measure_models(task: Task, request: Request, truth: Any, models: Sequence[Any]) -> list[Measured]:
    """The predictions of each model against the same truth."""
    with truth_read_once():
        each = [
            measure_sides(task, replace(request, columns=model_columns(request.columns, i, len(models))), truth, one)
            for i, one in enumerate(models)
        ]
    if len(each) > 1 and task.align is not None:
        each = _on_aligned_units(task, request, each)
    if len(each) > 1 and request.policy(task).missing == "skip" and any(one.coverage.missing for one in each):
        from steelyard.engine.common import on_common_units  # few comparisons lack predictions

        return on_common_units(task, request, each, measure_records)
    return each


def _on_aligned_units(task: Task, request: Request, models: Sequence[Measured]) -> list[Measured]:
    """Measure models again whose units are not those of all."""
    assert task.align is not None
    aligned = []
    for model, pairs in zip(models, task.align([model.pairs for model in models], models[0].metrics), strict=True):
        if pairs is not model.pairs:
            state = with_groups(task, request, pairs, measure_state(pairs, model.metrics))
            model = replace(model, pairs=pairs, state=state)
        aligned.append(model)
    return aligned


def measure_records(task: Task, request: Request, options: Options, truth: Records, prediction: Records) -> Measured:
    """Join and measure what was read."""
    advance("matching", 0, 1)
    with reading_notes() as join_notes:  # what a join leaves out
        pairs = by_unit(request, task.join(truth, prediction, request.policy(task), options))
    request, cluster_notes = _with_default_cluster(task, request, pairs)
    wanted, by_default = metrics_of(task, request.metrics), request.metrics is None
    chosen = expand_metrics(task, wanted, by_default, State(Units(np.zeros(0, np.int64)), metadata_of(pairs), {}))
    state = with_groups(task, request, pairs, measure_state(pairs, chosen))
    advance("matching", 1, 1)
    notes = (*join_notes, *cluster_notes, *_column_notes(request, pairs))
    return Measured(truth, prediction, pairs, state, pairs.coverage, options, tuple(chosen), notes, request.cluster)


def _with_default_cluster(task: Task, request: Request, pairs: Any) -> tuple[Request, tuple[str, ...]]:
    """The request with the cluster that the data have for a default, and a note where it cannot be used."""
    cluster = getattr(pairs, "default_cluster", None)
    if cluster is None or request.cluster is not None or request.strata == cluster:
        return request, ()
    alone = {
        "sequence": request.sequence is not None,
        "label_probability": request.label_probability is not None,
        "judge_correction='rates'": request.judge_correction == "rates",
    }
    for setting, asked in alone.items():
        if asked:
            return request, (
                f"Each {task.unit} is resampled by itself, since `{setting}` cannot be combined with clusters: "
                f"intervals are too narrow if units share a {cluster}.",
            )
    return replace(request, cluster=cluster), ()


def _column_notes(request: Request, pairs: Any) -> tuple[str, ...]:
    """How pairs name the groups that a request asks for, where the truth has no such column; what intervals mean."""
    if hasattr(pairs, "interval_notes"):
        notes: tuple[str, ...] = () if request.confidence is None else pairs.interval_notes(request.cluster)
        return notes
    if not hasattr(pairs, "column_note"):
        return ()
    names = (request.cluster, request.strata, *(name for names in request.by for name in names))
    return tuple(text for name in dict.fromkeys(names) if name and (text := pairs.column_note(name)))


def check_asked(task: Task, request: Request) -> None:
    """Refuse before any reading what no data could answer."""
    metrics_of(task, request.metrics)
    if request.explain and task.explain is None:
        have = [name for name, other in catalogue.loaded_tasks()[0].items() if other.explain is not None]
        raise Unsupported(
            f"task '{task.name}' has no other tools to explain", remedy=f"Tasks that have: {', '.join(have)}."
        )


def metrics_of(task: Task, wanted: Sequence[str | Metric] | None) -> list[Metric]:
    """The metrics that were asked for, or the default set."""
    if wanted is None:
        wanted = task.defaults
    chosen = [m if isinstance(m, Metric) else catalogue.parse(m, task.name) for m in wanted]
    for metric in chosen:
        metric.check_settings()
    if not chosen:
        raise EmptyInput("no metric is asked for", remedy=f"Leave it out for the default set of '{task.name}'.")
    return list(dict.fromkeys(chosen))


def expand_metrics(task: Task, chosen: Sequence[Metric], by_default: bool, state: State) -> list[Metric]:
    """What the choice comes to for these data."""
    if by_default and task.defaults_for is not None:
        chosen = metrics_of(task, task.defaults_for(state.metadata))
    metrics = list(dict.fromkeys(metric for one in chosen for metric in one.expand(state.metadata)))
    by_name = {str(metric): metric for metric in metrics}
    twice = next((metric for metric in metrics if by_name[str(metric)] is not metric), None)
    if twice is not None:
        classes = [f"{type(one).__module__}.{type(one).__name__}" for one in (twice, by_name[str(twice)])]
        raise Conflict(f"two metrics are called '{twice}': {' and '.join(classes)}", remedy="Rename one of them.")
    return metrics
