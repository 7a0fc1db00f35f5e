"""What evaluation says of its own accord: the findings of the quick checks, each as one sentence of the report."""

from __future__ import annotations

from typing import Any

from steelyard.checks.catalogue import module_of
from steelyard.checks.check import Data, run_checks
from steelyard.core.records import Records
from steelyard.core.task import Task

IN_MEMORY = ("truth", "predictions", "gathered truth", "gathered predictions")


def notes(task: Task, truth: Records, prediction: Records, pairs: Any, options: Any) -> tuple[str, ...]:
    """A sentence for each finding about data that evaluation has read, with the command that tells more."""
    findings = []
    module = module_of(task)
    if hasattr(module, "quick"):
        findings += module.quick(task, pairs)
    if len(prediction):
        data = Data(truth, prediction, pairs, options, quick=True)
        data.read["key"], data.read["keys"] = [], 1
        findings += run_checks(module.CHECKS, data)
    command = _command(task, truth.source, prediction.source) if findings else ""
    return tuple(f"{finding.what.rstrip('.')} ({finding.code}). {command}" for finding in findings)


def _command(task: Task, truth: str, prediction: str) -> str:
    if truth in IN_MEMORY or prediction in IN_MEMORY:
        return f'sy.check("{task.name}", truth, predictions) tells more.'
    import shlex  # few data need it

    sides = [truth] if truth == prediction else [truth, prediction]
    return f"`steelyard check {task.name} {' '.join(map(shlex.quote, sides))}` tells more."
