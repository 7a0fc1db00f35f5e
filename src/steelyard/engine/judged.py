"""Truth on some units and a proxy on all: what was given is read and measured, and becomes a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import InputError, first_few, nearest
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.request import Correction, Request
from steelyard.core.slice import Slice, slice_key, slice_text
from steelyard.core.state import State
from steelyard.core.task import Task
from steelyard.core.units import Units
from steelyard.engine.evidence import Live
from steelyard.engine.groups import plan_notes
from steelyard.engine.intervals import FEW_UNITS
from steelyard.engine.measure import measured
from steelyard.engine.proxy import proxy_scores
from steelyard.engine.report import applied, sources_of, task_facts
from steelyard.engine.run import Measured, expanded, measure_sides, metrics_of
from steelyard.engine.score import score
from steelyard.engine.slices import slices
from steelyard.io.digest import digest
from steelyard.io.read import READERS, is_empty, read_table
from steelyard.io.sources import OF_ROWS
from steelyard.io.table import Table
from steelyard.metrics import catalogue
from steelyard.results.origin import Side
from steelyard.results.report import Report
from steelyard.results.score import Score


@frozen
class Judged:
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
) -> Report:
    """Score predictions against truth on some units and a proxy on all; `findings` are what the checks say of data."""
    shown = proxy if proxy is None or isinstance(proxy, str) else getattr(proxy, "__fspath__", lambda: "in memory")()
    request = replace(request, proxy=shown, judge_correction=cast("Correction", correction))
    request.check()
    task = catalogue.find_task(request.task)
    metrics_of(task, request.metrics)
    judged = measure_judged(task, request, truth, predictions, proxy)
    return report_of_judged(task, request, judged, findings(judged.labelled, task.name))


def measure_judged(task: Task, request: Request, truth: Any, predictions: Any, proxy: Any) -> Judged:
    """Read and measure both. `proxy` is data like the truth, or the name of a column of the truth."""
    if request.strata:  # units with truth must be a random part of all, not of each stratum
        raise InputError("--proxy cannot be had with --strata", remedy="Leave one of them out.")
    if request.cluster and request.judge_correction == "rates":
        raise InputError(
            "rates of a judge's errors cannot be had with --cluster: they count single units",
            remedy="Leave --cluster or --judge-correction out.",
        )
    if request.by and request.judge_correction == "rates":
        raise InputError(
            "rates of a judge's errors cannot be had with --by: slices have too few labels of both kinds",
            remedy="Leave --by or --judge-correction out.",
        )
    if request.runs is not None:
        raise InputError("several runs cannot be combined with a proxy", remedy="Leave one of them out.")
    if request.explain or request.save_draws:
        raise InputError("--proxy cannot be had with --explain or --save-draws", remedy="Leave one of them out.")
    if request.save_influences:
        raise InputError("--proxy cannot be combined with --save-influences", remedy="Leave one of them out.")
    own, columns = truth, dict(request.columns)
    if isinstance(proxy, str) and not _is_file(proxy):
        own, proxy, columns = _split(task, truth, proxy, columns)
    labelled = measure_sides(task, replace(request, extra="skip"), own, predictions)
    every = measure_sides(task, replace(request, columns=columns), proxy, predictions)
    return Judged(labelled, every)


def report_of_judged(task: Task, request: Request, data: Judged, notes: tuple[str, ...]) -> Report:
    """The report of truth and proxy."""
    chosen = metrics_of(task, request.metrics)
    first, every = State.unified([data.labelled.state, data.every.state])
    metrics = expanded(task, chosen, request.metrics is None, first)
    same, others = _places(task, first, every, data)
    _check_clusters(task, request, first.units, every.units.take(same), every.units.take(others), data)
    scores = proxy_scores(first, every.take(same), every.take(others), metrics, request)
    sliced, unlabelled = {}, []
    for names in request.by:
        sliced[slice_key(names)], without = _sliced(task, request, data, metrics, names)
        named = slice_text(slice_key(names))
        unlabelled += [f"No {task.unit} of {named} '{slice_text(value)}' has truth." for value in without]
    units, proxy = first.units.count, data.every.truth
    on_some = f"Truth on {count_text(units, task.unit)}"
    if request.judge_correction == "difference":
        said = [
            f"{on_some}, and a proxy ({request.proxy}) on these and {len(others):,} more: the units with truth must be "
            "a random part of all of them."
        ]
    else:
        said = [
            f"{on_some} says how often the judge ({request.proxy}) errs on {len(others):,} more: it must err as often "
            "on those."
        ]
    if request.confidence is not None and units < FEW_UNITS:
        said.append(f"Only {count_text(units, task.unit)} with truth: an interval is rough and tends to be too narrow.")
    said += plan_notes(task, first, request)
    report = Report(
        request=applied(task, request, metrics, data.labelled.options.given),
        task_facts=task_facts(task),
        scores=scores,
        slices=sliced,
        coverage=data.every.coverage,
        sources=replace(sources_of(data.labelled), proxy=Side(proxy.source, len(proxy), digest(proxy))),
        notes=(*notes, *said, *unlabelled),
    )
    return replace(report, evidence=Live(task, data.labelled.pairs, data.labelled.state, tuple(metrics)))


def _sliced(
    task: Task, request: Request, data: Judged, metrics: Sequence[Metric], by: tuple[str, ...]
) -> tuple[dict[Slice, dict[str, Score]], list[Slice]]:
    """The scores of each slice that has units with truth, and the slices that have none."""
    mine, theirs = (
        slices(one.pairs, one.state, by, lambda pairs: measured(pairs, metrics), task)
        for one in (data.labelled, data.every)
    )
    scores = {}
    for value, part in mine.items():
        labelled, every = State.unified([part, theirs[value] if value in theirs else part.take(np.arange(0))])
        same, others = _places(task, labelled, every, data, slice_text(slice_key(value)))
        scores[slice_key(value)] = (
            proxy_scores(labelled, every.take(same), every.take(others), metrics, request)
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
        raise InputError(
            f"{task.unit} '{lacking[0]}' of {truth} lies in slice '{part}', and in another one by the proxy",
            where=proxy,
            remedy="Give both the same columns to slice by.",
        )
    if lacking:
        none = len(lacking) == len(units)
        more = f" ({len(lacking)} of {len(units)} are so: {first_few(lacking)})" if len(lacking) > 1 else ""
        raise InputError(
            f"no {task.unit} of {truth} stands in the proxy"
            if none
            else f"{task.unit} '{lacking[0]}' of {truth} has truth and no proxy{more}",
            where=proxy,
            remedy=f"The proxy must hold every {task.unit} that has truth, by the same id.",
        )
    same = np.array([place[unit] for unit in units], dtype=np.int64)
    others = np.setdiff1d(np.arange(len(every)), same)
    if not len(others) and not part:
        raise InputError(
            f"every {task.unit} of the proxy has truth, so the proxy adds nothing",
            where=proxy,
            remedy="Leave --proxy out, or let it judge more.",
        )
    return same, others


def _check_clusters(task: Task, request: Request, labelled: Units, judged: Units, others: Units, data: Judged) -> None:
    """Raise where a cluster has units with truth and others without: both parts of the estimate would go together."""
    if labelled.cluster is None or judged.cluster is None or others.cluster is None:
        return
    where = data.every.truth.source
    for unit, own, by_proxy in zip(labelled.ids, labelled.cluster, judged.cluster, strict=True):
        if own != by_proxy:
            raise InputError(
                f"{task.unit} '{unit}' is of {request.cluster} '{own}' by the truth, and of '{by_proxy}' by the proxy",
                where=where,
                remedy="Give both the same column.",
            )
    mixed = sorted(set(labelled.cluster) & set(others.cluster))
    if mixed:
        more = f" ({len(mixed)} are so: {first_few(mixed)})" if len(mixed) > 1 else ""
        raise InputError(
            f"{request.cluster} '{mixed[0]}' has both units with truth and units without{more}",
            where=where,
            remedy=f"Give all units of a {request.cluster} their truth or none, or leave --cluster out.",
        )


def _is_file(name: str) -> bool:
    return os.path.exists(name) or Path(name).suffix.lower() in READERS or os.sep in name or "/" in name


def _split(task: Task, truth: Any, column: str, columns: Mapping[str, str]) -> tuple[Table, Table, dict[str, str]]:
    """The rows with truth, and all rows with the judge's value for the true one."""
    if task.reader not in OF_ROWS:
        raise InputError(
            f"--proxy '{column}' is no file, and the truth of task '{task.name}' is no column that a judge could give",
            remedy="Give a file like the truth, in which the proxy stands for it.",
        )
    table = read_table(truth, "truth")
    if column not in table.columns:
        raise InputError(
            f"--proxy '{column}' is neither a file nor a column",
            where=table.source,
            remedy=nearest(column, table.columns),
        )
    named = {one.name: columns.get(f"truth.{one.name}", columns.get(one.name, one.name)) for one in task.truth.columns}
    typed = [one.name for one in task.truth.columns if one.type.startswith(("label", "number"))]
    held = [named[name] for name in typed if name not in task.truth.key and named[name] in table.columns]
    value = held[0] if held else None
    key = named[task.truth.key[0]]
    if value is None or key not in table.columns or value == column:
        raise InputError(
            f"--proxy '{column}' stands for no true value: the columns are {', '.join(table.columns)}",
            where=table.source,
            remedy=f"The truth needs '{key}', a column with the truth of some rows, and the proxy's column.",
        )
    has = np.array([not is_empty(one) for one in table.columns[value].tolist()], dtype=bool)
    judged = [is_empty(one) for one in table.columns[column].tolist()]
    if any(judged):
        raise InputError(
            f"the proxy has no value in {sum(judged):,} of {len(table):,} rows",
            where=f"{table.place(judged.index(True))}, column '{column}'",
            remedy="It must judge every row; leave out the rows that it cannot.",
        )
    if not has.any():
        raise InputError(
            f"no row has a value in '{value}'", where=table.source, remedy="The truth of some rows must be known."
        )
    units = named["group"] if named.get("group") in table.columns else key
    ids = np.array(list(map(str, table.columns[units].tolist())), dtype=object)
    partly = set(ids[has].tolist()) & set(ids[~has].tolist())
    if partly:
        raise InputError(
            f"{task.unit} '{min(partly)}' has truth in some rows only",
            where=table.source,
            remedy=f"Give the truth of all rows of a {task.unit}, or of none.",
        )
    rows = np.flatnonzero(has)
    lines = None if table.lines is None else table.lines[rows]
    own = replace(table, columns={name: values[rows] for name, values in table.columns.items()}, lines=lines)
    every = {name: values for name, values in table.columns.items() if name != value}
    return own, replace(table, columns={**every, value: table.columns[column]}), dict(columns)
