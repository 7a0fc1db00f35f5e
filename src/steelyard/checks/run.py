"""`check`: read both sides as far as they can be read, and gather all findings, whatever the task."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any

from steelyard.checks.catalogue import module_of
from steelyard.checks.check import CheckData, run_checks
from steelyard.checks.findings import CheckReport, Finding, in_order, refusal
from steelyard.core.counts import share_text
from steelyard.core.errors import InputError
from steelyard.core.options import Options
from steelyard.core.records import Records
from steelyard.core.task import Policy, Task
from steelyard.io.sources import read_side, read_sides


def run(task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options) -> CheckReport:
    """Check truth, and predictions where there are any."""
    module = module_of(task)
    if hasattr(module, "run"):
        report: CheckReport = module.run(task, truth, predictions, columns, options)
        return report
    source, other = (_source(data, name) for data, name in ((truth, "truth"), (predictions, "predictions")))
    mine, theirs, findings = _read(task, truth, predictions, columns, options, source, other)
    counts = {"rows": 0 if mine is None else len(mine)}
    if predictions is not None or theirs is not None:
        counts["predictions"] = 0 if theirs is None else len(theirs)
    if mine is not None:
        findings += _look(task, mine, theirs, options)
    shown = None if predictions is None and theirs is None else (source if predictions is None else other)
    return CheckReport(source, shown, counts, in_order(findings), task.name, _record_noun(task))


def _record_noun(task: Task) -> str:
    """What a record of a task is called: the unit, if every unit has one record, else a row."""
    return task.item if task.item in (task.unit, "map") else "row"


def _source(data: Any, name: str) -> str:
    return fspath(data) if isinstance(data, str | PathLike) else name


def _read(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options, source: str, other: str
) -> tuple[Records | None, Records | None, list[Finding]]:
    """Both sides, None where one cannot be read or is not given, and why."""
    try:
        if predictions is not None or task.joint_columns:
            first, second = read_sides(task, truth, predictions, columns, options)
            held = {name.partition(":")[0] for name in second.columns}
            alone = predictions is None and not held & set(task.joint_columns)
            return first, None if alone else second, []
    except (InputError, OSError) as error:
        refused = refusal(error, other)
    findings = []
    sides: list[Records | None] = []
    for data, side, name, where in (
        (truth, "truth", "truth", source),
        (predictions, "prediction", "predictions", other),
    ):
        if data is None:
            sides.append(None)
            continue
        try:
            sides.append(read_side(task, data, columns, side))
        except (InputError, OSError) as error:
            sides.append(None)
            findings.append(_unreadable(name, refusal(error, where), where))
    if predictions is None or (findings and refused.where):  # without a place it is of a setting
        return sides[0], sides[1], findings
    return sides[0], None, [_unreadable("predictions", refused, other), *findings]


def _unreadable(name: str, error: InputError, source: str, code: str = "unreadable") -> Finding:
    what = "The data cannot be read." if code == "unreadable" else "Evaluation refuses these data."
    return Finding(code, "error", name, what, 1, 1, (error.without_remedy,), error.remedy or f"Correct {source}.")


def _look(task: Task, truth: Records, prediction: Records | None, options: Options) -> list[Finding]:
    pairs, refused = None, []
    if prediction is not None:
        try:
            pairs = task.join(truth, prediction, Policy("skip", "skip"), options)
        except InputError as error:
            mine = error.where.startswith(truth.source) and truth.source != prediction.source
            source = (truth if mine else prediction).source
            refused.append(_unreadable("truth" if mine else "predictions", error, source, "refused"))
    data = CheckData(truth, prediction, pairs, options)
    ids = [name for name in task.truth.key if (column := task.truth.column(name)) is not None and column.type == "id"]
    data.read["key"] = [name for name in ids if name in truth and (prediction is None or name in prediction)]
    data.read["whole_key"] = ids
    data.read["keys"] = 1 if len(ids) == len(task.truth.key) else 2
    module = module_of(task)
    findings = run_checks(module.CHECKS, data)
    if hasattr(module, "look"):
        findings += module.look(task, truth, prediction, options)
    elif pairs is not None and prediction is not None:
        findings += _coverage(task, pairs.coverage, prediction)
    if any(finding.code in ("repeated-rows", "repeated-documents") for finding in findings):
        refused = []  # that is why
    return refused + findings


def _coverage(task: Task, coverage: Any, prediction: Records) -> list[Finding]:
    findings = []
    if not len(prediction) and (coverage is None or not coverage.matched):
        what = "There is no prediction at all."
        return [Finding("no-predictions", "error", "predictions", what, 0, 0, (), "Is it the right file?")]
    if coverage.missing:
        refused = task.policy.missing == "error"
        severity = "warning" if refused or coverage.missing > 0.2 * coverage.truth else "note"
        share = share_text(coverage.missing, coverage.truth, _record_noun(task), "have", "of the truth")
        what = f"{share} no prediction: {'evaluate refuses them' if refused else f'counted as {task.policy.missing}'}."
        remedy = "Run the model on all of them."
        findings.append(Finding("missing", severity, "predictions", what, coverage.missing, coverage.truth, (), remedy))
    if coverage.extra:
        refused = task.policy.extra == "error"
        total = max(coverage.extra, len(prediction))
        share = share_text(coverage.extra, total, _record_noun(task), "have", "of the predictions")
        what = f"{share} no truth: {'evaluate refuses them' if refused else 'left out'}."
        remedy = "Remove them, or add their truth."
        severity = "warning" if refused else "note"
        findings.append(Finding("extra", severity, "predictions", what, coverage.extra, total, (), remedy))
    return findings
