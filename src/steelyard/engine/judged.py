"""Truth on some units and a proxy on all: what was given is read and measured, and becomes a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from steelyard.core import catalogue
from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    EmptyCell,
    EmptyInput,
    InvalidValue,
    UnknownName,
    Unmatched,
    Unsupported,
    first_few,
    nearest,
)
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.request import Correction, Request
from steelyard.core.slice import Slice, slice_key, slice_text
from steelyard.core.state import State
from steelyard.core.task import Task
from steelyard.core.units import Units
from steelyard.engine.details import LazyDetails
from steelyard.engine.groups import plan_notes, unit_column
from steelyard.engine.intervals import FEW_UNITS
from steelyard.engine.labelling import probabilities_of
from steelyard.engine.measure import measure_state
from steelyard.engine.proxy import proxy_scores
from steelyard.engine.report import applied_request, sources_of, task_facts
from steelyard.engine.run import Measured, expand_metrics, measure_models, measure_sides, metrics_of
from steelyard.engine.score import score
from steelyard.engine.sides import ComparedModel as Compared
from steelyard.engine.sides import sides_of
from steelyard.engine.slices import paired_slices, slices
from steelyard.io.digest import digest
from steelyard.io.read import READERS, read_table
from steelyard.io.sources import OF_ROWS
from steelyard.io.streams import read_once
from steelyard.io.table import Table, is_empty
from steelyard.results.origin import SourceInfo, Sources
from steelyard.results.report import Report
from steelyard.results.score import Score


class Judged(Frozen):
    """The units that have truth, and all of them by the proxy."""

    labelled: Measured
    every: Measured


def evaluate_judged(
    request: Request,
    truth: Any,
    predictions: Any,
    proxy: Any,
    correction: str,
    findings: Callable[[Measured, str], tuple[str, ...]],
    label_probability: str | None = None,
) -> Report:
    """Score predictions against truth on some units and a proxy on all; `findings` are what the checks say of data."""
    request = with_proxy(request, proxy, correction, label_probability)
    task = catalogue.find_task(request.task)
    metrics_of(task, request.metrics)
    judged = measure_judged(task, request, truth, predictions, proxy)
    return report_of_judged(task, request, judged, findings(judged.labelled, task.name))


def with_proxy(
    request: Request, proxy: Any, correction: str = "difference", label_probability: str | None = None
) -> Request:
    """The request with its proxy, which is named as it was given."""
    shown = proxy if proxy is None or isinstance(proxy, str) else getattr(proxy, "__fspath__", lambda: "in memory")()
    request = replace(
        request, proxy=shown, judge_correction=cast("Correction", correction), label_probability=label_probability
    )
    request.check()
    return request


def measure_judged(task: Task, request: Request, truth: Any, predictions: Any, proxy: Any) -> Judged:
    """Read and measure both. `proxy` is data like the truth, or the name of a column of the truth."""
    own, proxy = _sources(task, request, truth, proxy)
    predictions = read_once(predictions, "predictions")
    labelled = measure_sides(task, replace(request, extra="skip"), own, predictions)
    return Judged(labelled, measure_sides(task, request, proxy, predictions))


def measure_compared(
    task: Task, request: Request, truth: Any, models: Sequence[Any], proxy: Any
) -> tuple[Request, list[Measured], list[Judged] | None]:
    """The models of a comparison, measured on the units that have truth, and where there is a proxy by that too; with
    the request that names it.
    """
    if proxy is None:
        return request, measure_models(task, request, truth, models), None
    request = with_proxy(request, proxy)
    own, proxy = _sources(task, request, truth, proxy)
    models = [read_once(model, "predictions") for model in models]
    labelled = measure_models(task, replace(request, extra="skip"), own, models)
    every = measure_models(task, request, proxy, models)
    return request, labelled, [Judged(*both) for both in zip(labelled, every, strict=True)]


def _sources(task: Task, request: Request, truth: Any, proxy: Any) -> tuple[Any, Any]:
    """The truth of the labelled units and the proxy of all, as they are read; refuse what a proxy cannot have."""
    rates = request.judge_correction == "rates"
    for setting, value, reason in (
        ("strata", request.strata, "labelled units must be a random part of all, not of each stratum"),
        ("explain", request.explain, "other tools score truth alone"),
        ("save_draws", request.save_draws, "its interval does not rest on draws alone"),
        ("save_influences", request.save_influences, "they are of labelled units alone"),
        ("superiority", request.superiority, "it compares unit by unit"),
        ("runs", request.runs, "each run would trust the proxy otherwise"),
    ):
        if value:
            raise Conflict(f"`proxy` cannot be combined with `{setting}`: {reason}", remedy="Leave one of them out.")
    for setting, asked, reason in (
        ("cluster", request.cluster, "they count single units"),
        ("by", request.by, "slices have too few labels of both kinds"),
    ):
        if rates and asked:
            raise Conflict(
                f"`judge_correction='rates'` cannot be combined with `{setting}`: {reason}",
                remedy="Leave one of them out.",
            )
    if isinstance(proxy, str) and not _is_file(proxy):
        return _split(task, truth, proxy, request.columns)
    return truth, proxy


def judged_sides(
    task: Task, request: Request, metrics: Sequence[Metric], data: Judged, labelled: Sequence[State],
    every: Sequence[State], part: str = "",
) -> list[Compared]:  # fmt: skip
    """The sides of a comparison of models, each by truth on some units and by the proxy on all of them.

    `data` is of the first model, and `part` names the slice that the states are of.
    """
    states = State.unified([*labelled, *every])
    labelled, every = states[: len(labelled)], states[len(labelled) :]
    places = [_places(task, *both, data, part) for both in zip(labelled, every, strict=True)]
    if not len(places[0][1]):
        return sides_of(labelled, metrics, request)
    same, others = ([e.take(at[k]) for e, at in zip(every, places, strict=True)] for k in (0, 1))
    for mine in zip(labelled, same, others, strict=True):
        _check_clusters(task, request, mine[0].units, mine[1].units, mine[2].units, data)
    scores = [proxy_scores(*mine, metrics, request) for mine in zip(labelled, same, others, strict=True)]
    by_proxy = [sides_of(one, metrics, request, [{}] * len(one)) for one in (same, others)]
    return [
        replace(side, judged=judged, others=rest)
        for side, judged, rest in zip(sides_of(labelled, metrics, request, scores), *by_proxy, strict=True)
    ]


def sides_in_slices(
    task: Task, request: Request, metrics: Sequence[Metric], models: Sequence[Judged], by: tuple[str, ...]
) -> tuple[Iterator[tuple[Slice, list[Compared]]], list[Slice]]:
    """The sides of each slice that has units with truth, and the slices that have none."""

    def measure(pairs: Any) -> State:
        return measure_state(pairs, metrics)

    mine, theirs = (
        paired_slices([(one.pairs, one.state) for one in each], by, measure, task)
        for each in ([m.labelled for m in models], [m.every for m in models])
    )

    def sides() -> Iterator[tuple[Slice, list[Compared]]]:
        for value, parts in mine.items():
            every, key = theirs.get(value, [part.take(np.arange(0)) for part in parts]), slice_key(value)
            yield key, judged_sides(task, request, metrics, models[0], parts, every, slice_text(key))

    return sides(), [slice_key(value) for value in theirs if value not in mine]


def report_of_judged(task: Task, request: Request, data: Judged, notes: tuple[str, ...]) -> Report:
    """The report of truth and proxy."""
    request = replace(request, cluster=data.labelled.cluster)
    chosen = metrics_of(task, request.metrics)
    first, every = State.unified([data.labelled.state, data.every.state])
    metrics = expand_metrics(task, chosen, request.metrics is None, first)
    same, others = _places(task, first, every, data)
    _check_clusters(task, request, first.units, every.units.take(same), every.units.take(others), data)
    chosen_with = _chosen_with(task, request, data)
    scores = proxy_scores(first, every.take(same), every.take(others), metrics, request, chosen_with)
    sliced, unlabelled = {}, []
    for names in request.by:
        sliced[slice_key(names)], without = _score_slices(task, request, data, metrics, names)
        unlabelled += unlabelled_notes(task, names, without)
    proxy_remarks = proxy_notes(task, request, first, len(others))
    report = Report(
        request=applied_request(task, request, metrics, data.labelled.options.given),
        task_facts=task_facts(task),
        scores=scores,
        slices=sliced,
        coverage=data.every.coverage,
        sources=proxy_sources(data),
        notes=(*notes, *proxy_remarks, *unlabelled),
    )
    return replace(report, details=LazyDetails(task, data.labelled.pairs, data.labelled.state, tuple(metrics)))


def _chosen_with(task: Task, request: Request, data: Judged) -> dict[str, float] | None:
    """The probability with which each labelled unit was chosen; None where they are a random part of all."""
    name = request.label_probability
    if name is None:
        return None
    # A proxy that is a column of the truth stands beside the probabilities of all units.
    shared = request.proxy is not None and request.proxy in data.every.truth.other
    pairs = data.every.pairs if shared else data.labelled.pairs
    texts = unit_column(task, pairs, name, "label-probability")
    return probabilities_of(texts.tolist(), list(map(str, pairs.units.tolist())), data.labelled.truth.source)


def proxy_sources(data: Judged) -> Sources:
    """What was read."""
    proxy = data.every.truth
    return replace(sources_of(data.labelled), proxy=SourceInfo(proxy.source, len(proxy), digest(proxy)))


def proxy_notes(task: Task, request: Request, labelled: State, others: int) -> list[str]:
    """On how many units there is truth and a proxy, and what must hold for that."""
    units = labelled.units.count
    on_some = f"Truth on {count_text(units, task.unit)}"
    if request.label_probability is not None:
        notes = [
            f"{on_some}, each chosen with its own probability ({request.label_probability}), and a proxy "
            f"({request.proxy}) on these and {others:,} more."
        ]
    elif request.judge_correction == "difference":
        notes = [
            f"{on_some}, and a proxy ({request.proxy}) on these and {others:,} more: the units with truth must be a "
            "random part of all of them."
        ]
    else:
        notes = [
            f"{on_some} says how often the judge ({request.proxy}) errs on {others:,} more: it must err as often on "
            "those."
        ]
    if request.confidence is not None and units < FEW_UNITS:
        notes.append(
            f"Only {count_text(units, task.unit)} with truth: an interval is rough and tends to be too narrow."
        )
    return [*notes, *plan_notes(task, labelled, request)]


def unlabelled_notes(task: Task, by: tuple[str, ...], without: Sequence[Slice]) -> list[str]:
    """Which slices have no truth."""
    named = slice_text(slice_key(by))
    return [f"No {task.unit} of {named} '{slice_text(value)}' has truth." for value in without]


def _score_slices(
    task: Task, request: Request, data: Judged, metrics: Sequence[Metric], by: tuple[str, ...]
) -> tuple[dict[Slice, dict[str, Score]], list[Slice]]:
    """The scores of each slice that has units with truth, and the slices that have none."""
    mine, theirs = (
        slices(one.pairs, one.state, by, lambda pairs: measure_state(pairs, metrics), task)
        for one in (data.labelled, data.every)
    )
    scores, chosen_with = {}, _chosen_with(task, request, data)
    for value, part in mine.items():
        labelled, every = State.unified([part, theirs[value] if value in theirs else part.take(np.arange(0))])
        same, others = _places(task, labelled, every, data, slice_text(slice_key(value)))
        scores[slice_key(value)] = (
            proxy_scores(labelled, every.take(same), every.take(others), metrics, request, chosen_with)
            if len(others)
            else score(labelled, metrics, request)
        )
    return scores, [slice_key(value) for value in theirs if value not in mine]


def _places(task: Task, labelled: State, every: State, data: Judged, part: str = "") -> tuple[Any, Any]:
    """Where the labelled units stand among all that the proxy judged, and where the others do.

    `part` names the slice that these are of, which may have truth on all of its units.
    """
    place = {str(unit): i for i, unit in enumerate(every.units.ids.tolist())}
    units = list(map(str, labelled.units.ids.tolist()))
    lacking = [unit for unit in units if unit not in place]
    truth, proxy = data.labelled.truth.source, data.every.truth.source
    if lacking and part:
        raise Unmatched(
            f"{task.unit} '{lacking[0]}' of {truth} lies in slice '{part}', and in another one by the proxy",
            where=proxy,
            remedy="Give both the same columns to slice by.",
        )
    if lacking:
        none = len(lacking) == len(units)
        more = f" ({len(lacking)} of {len(units)} are so: {first_few(lacking)})" if len(lacking) > 1 else ""
        raise Unmatched(
            f"no {task.unit} of {truth} is in the proxy"
            if none
            else f"{task.unit} '{lacking[0]}' of {truth} has truth and no proxy{more}",
            where=proxy,
            remedy=f"The proxy must hold every {task.unit} that has truth, by the same id.",
        )
    same = np.array([place[unit] for unit in units], dtype=np.int64)
    others = np.setdiff1d(np.arange(len(every)), same)
    if not len(others) and not part:
        raise Unsupported(
            f"every {task.unit} of the proxy has truth, so the proxy adds nothing",
            where=proxy,
            remedy="Leave the proxy out, or let it judge more.",
        )
    return same, others


def _check_clusters(task: Task, request: Request, labelled: Units, judged: Units, others: Units, data: Judged) -> None:
    """Raise where a cluster has units with truth and others without: both parts of the estimate would go together."""
    if labelled.cluster is None or judged.cluster is None or others.cluster is None:
        return
    where = data.every.truth.source
    for unit, own, by_proxy in zip(labelled.ids, labelled.cluster, judged.cluster, strict=True):
        if own != by_proxy:
            raise Conflict(
                f"{task.unit} '{unit}' is of {request.cluster} '{own}' by the truth, and of '{by_proxy}' by the proxy",
                where=where,
                remedy="Give both the same column.",
            )
    mixed = sorted(set(labelled.cluster) & set(others.cluster))
    if mixed:
        more = f" ({len(mixed)} are so: {first_few(mixed)})" if len(mixed) > 1 else ""
        raise Conflict(
            f"{request.cluster} '{mixed[0]}' has both units with truth and units without{more}",
            where=where,
            remedy=f"Give all units of a {request.cluster} their truth or none, or resample single units.",
        )


def _is_file(name: str) -> bool:
    return os.path.exists(name) or Path(name).suffix.lower() in READERS or os.sep in name or "/" in name


def _split(task: Task, truth: Any, column: str, columns: Mapping[str, str]) -> tuple[Table, Table]:
    """The rows with truth, and all rows with the judge's value for the true one."""
    if task.reader not in OF_ROWS:
        raise InvalidValue(
            f"the proxy '{column}' is not a file, and truth of task '{task.name}' is not one column that a judge fills",
            remedy="Give a file like the truth that holds the judge's objects.",
        )
    table = read_table(truth, "truth")
    if column not in table.columns:
        raise UnknownName(
            f"the proxy '{column}' is neither a file nor a column",
            where=table.source,
            remedy=nearest(column, table.columns),
        )
    named = {one.name: columns.get(f"truth.{one.name}", columns.get(one.name, one.name)) for one in task.truth.columns}
    typed = [one.name for one in task.truth.columns if one.type.startswith(("label", "number"))]
    held = [named[name] for name in typed if name not in task.truth.key and named[name] in table.columns]
    value = held[0] if held else None
    key = named[task.truth.key[0]]
    if value is None or key not in table.columns or value == column:
        raise Unsupported(
            f"the proxy '{column}' replaces no true value: the columns are {', '.join(table.columns)}",
            where=table.source,
            remedy=f"The truth needs '{key}', a column with the truth of some rows, and the proxy's column.",
        )
    has = np.array([not is_empty(one) for one in table.columns[value].tolist()], dtype=bool)
    judged = [is_empty(one) for one in table.columns[column].tolist()]
    if any(judged):
        raise EmptyCell(
            f"the proxy has no value in {sum(judged):,} of {len(table):,} rows",
            where=f"{table.place(judged.index(True))}, column '{column}'",
            remedy="It must judge every row; leave out the rows that it cannot.",
        )
    if not has.any():
        raise EmptyInput(
            f"no row has a value in '{value}'", where=table.source, remedy="The truth of some rows must be known."
        )
    units = named["group"] if named.get("group") in table.columns else key
    ids = np.array(list(map(str, table.columns[units].tolist())), dtype=object)
    partly = set(ids[has].tolist()) & set(ids[~has].tolist())
    if partly:
        raise Unmatched(
            f"{task.unit} '{min(partly)}' has truth in some rows only",
            where=table.source,
            remedy=f"Give the truth of all rows of a {task.unit}, or of none.",
        )
    rows = np.flatnonzero(has)
    lines = None if table.lines is None else table.lines[rows]
    own = replace(table, columns={name: values[rows] for name, values in table.columns.items()}, lines=lines)
    every = {name: values for name, values in table.columns.items() if name != value}
    return own, replace(table, columns={**every, value: table.columns[column]})
