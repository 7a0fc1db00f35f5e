"""What evaluation says of its own accord: the findings of the quick checks, each as one sentence of the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from steelyard.checks.catalogue import module_of
from steelyard.checks.check import CheckData, run_checks
from steelyard.checks.findings import Finding
from steelyard.core.records import Records
from steelyard.core.task import Task

IN_MEMORY = ("truth", "predictions", "gathered truth", "gathered predictions")


def notes(task: Task, truth: Records, prediction: Records, pairs: Any, options: Any) -> tuple[str, ...]:
    """A sentence for each finding about data that evaluation has read, with the command that tells more."""
    findings = quick_findings(task, truth, prediction, pairs, options)
    command = _command(task, truth.source, prediction.source) if findings else ""
    return tuple(f"{finding.what.rstrip('.')} ({finding.code}). {command}" for finding in findings)


def notes_of_parts(task: Task, parts: Sequence[Sequence[Finding]]) -> list[str]:
    """A sentence for each finding that half of the parts have at least: as the first says it, and in how many.

    What a few of many parts have may be chance, or true of them alone: a part without a prediction.
    """
    first: dict[str, Finding] = {}
    for finding in (finding for findings in parts for finding in findings):
        first.setdefault(finding.code, finding)
    counts = Counter(code for findings in parts for code in {finding.code for finding in findings})
    return [
        f"{finding.what.rstrip('.')} ({code}, in {counts[code]} of {len(parts)} parts). "
        f"`steelyard check {task.name}` of one part's files tells more."
        for code, finding in first.items()
        if 2 * counts[code] >= len(parts)
    ]


def quick_findings(task: Task, truth: Records, prediction: Records, pairs: Any, options: Any) -> list[Finding]:
    """What the quick checks find in data that evaluation has read."""
    findings = []
    module = module_of(task)
    if hasattr(module, "quick"):
        findings += module.quick(task, pairs)
    if len(prediction):
        data = CheckData(truth, prediction, pairs, options, quick=True)
        data.read["key"], data.read["keys"] = [], 1
        findings += run_checks(module.CHECKS, data)
    return findings


def _command(task: Task, truth: str, prediction: str) -> str:
    if truth in IN_MEMORY or prediction in IN_MEMORY:
        return f'sy.check("{task.name}", truth, predictions) tells more.'
    import shlex  # few data need it

    sides = [truth] if truth == prediction else [truth, prediction]
    return f"`steelyard check {task.name} {' '.join(map(shlex.quote, sides))}` tells more."
