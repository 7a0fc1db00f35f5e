"""Counted: an accumulator's counts on a device, and the report that is made of them."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

from steelyard.api import findings
from steelyard.core.errors import MissingExtra, Unsupported
from steelyard.core.options import Options
from steelyard.core.request import Request
from steelyard.core.task import Task
from steelyard.engine.report import report_of
from steelyard.engine.run import measure_records
from steelyard.results.report import Report


def counter_of(task: Task, request: Request, options: Options, device: Any) -> Any:
    """What counts the tensors of a task on a device. What counts cannot answer is refused."""
    if not task.device:
        raise Unsupported(
            f"task '{task.name}' is not counted on a device",
            remedy="Leave device out: tensors of any device are taken.",
        )
    for name in ("by", "columns", "cluster", "strata", "missing", "extra", "sequence"):
        if getattr(request, name):
            raise Unsupported(
                f"counts on a device know no rows, which '{name}' needs", remedy=f"Leave device out, or {name}."
            )
    try:
        module = import_module(task.device)
    except ImportError as error:
        if error.name != "torch":
            raise
        raise MissingExtra("Accumulator(device=...)", "torch") from None
    return module.counter(options, device)


def report_counts(task: Task, request: Request, options: Options, counter: Any) -> Report:
    """The report of what a counter has counted: here the device is waited for."""
    if request.save_draws:
        raise Unsupported("draws of counts cannot be saved", remedy="Leave device out, or save_draws.")
    if request.save_influences:
        raise Unsupported("influences of counts cannot be saved", remedy="Leave device out, or save_influences.")
    if request.metrics is None:
        request = replace(request, metrics=counter.metrics(task.defaults))
    data = measure_records(task, request, options, *counter.sides())
    report = report_of(task, request, data, findings(data, task.name))
    return replace(report, notes=(*counter.notes(), *report.notes))
