"""The gate: rules in, one outcome out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, EmptyInput, Incompatible, InvalidResult, InvalidSpec, MissingData
from steelyard.gating.judge import Against, judge_comparison, judge_report, spec_of
from steelyard.gating.looking import Held, check_looks, judge_look, subject_of, unknown_looks
from steelyard.gating.models import alone, is_baseline, model_names, select_models
from steelyard.gating.rules import parse_rule
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.gate import Gate, Verdict
from steelyard.results.read import edit_notes, read_result
from steelyard.results.report import Report
from steelyard.results.result import Result as Results
from steelyard.results.vlm import VlmScore

Path = str | PathLike[str]
Result = Report | Comparison | Lineup | VlmScore | Path | Mapping[str, Any]
REFUSED = {
    "lineup": "it holds several models, and a rule is about one",
    "vlm-score": "it holds a report for each prompt, and a rule is about one",
    "gate": "it holds verdicts, and no scores",
    "plan": "it holds sizes of test sets, and no scores",
    "pool": "it holds means over test sets, and no scores of one set",
    "drift": "it holds changes between test sets, and no scores of one set",
}
INSTEAD = "Give a result of evaluate, or of compare."


def gate(
    result: Result,
    rules: Sequence[str] | str,
    *,
    baseline: Result | None = None,
    model: str | None = None,
    other_truth: bool = False,
    ledger: Path | None = None,
    looks: int | None = None,
    fresh_units: bool = False,
) -> Gate:
    """Hold a result to rules that say when it fails: `gate("result.json", ["mae > 30"])`.

    `result` and `baseline` are reports, their files, or what `to_dict` gives; a comparison is a result that holds its
    own baseline (A). Of a lineup or a score of VLMs `model` names the one that is held, and `baseline` may name another
    of it; without one, a model of a lineup is held against the first. `other_truth` allows a baseline that was scored
    on other truth, and compares unpaired. `ledger` is a file that counts the looks at this test set, so that all of
    them together keep the level; `looks` is how many there will be, and without it there is no end. `fresh_units` says
    that this is a new test set without any unit of the looks before, which starts again at look 1.
    """
    listed = [rules] if isinstance(rules, str) else list(rules) if isinstance(rules, Iterable) else [rules]
    for rule in listed:
        if not isinstance(rule, str):
            raise InvalidSpec(f"{rule!r} is not a rule", remedy='Give a text, such as "mae > 30", or several.')
    wanted = [parse_rule(rule) for rule in listed]
    if not wanted:
        raise EmptyInput("a gate without rules lets everything pass", remedy="Example: `rules='mae > 30'`.")
    check_looks(ledger, looks, fresh_units)
    whole, named = _read(result, "result")
    subject, name, baseline, base = _one(whole, named, model, baseline)
    held = _of_comparison(subject, name, baseline, base) if isinstance(subject, Comparison) else None
    held = held or _of_report(subject, name, baseline, other_truth, base, model)  # type: ignore[arg-type]
    if ledger is None:
        verdicts = [verdict for rule in wanted for verdict in held.judge(rule)]
        remarks = [] if held.sequence else unknown_looks(wanted)
    else:
        verdicts, remarks = judge_look(held, wanted, ledger, looks, fresh=fresh_units)
    on_baseline = any(rule.on_baseline for rule in wanted)
    notes = [*edit_notes([(named, whole)]), *held.notes, *remarks]
    if held.baseline is not None and not on_baseline and not isinstance(subject, Comparison):
        notes.append("No rule uses the baseline.")
    return Gate(
        subject.task, subject.unit, held.subject.units, name,
        None if isinstance(subject, Comparison) and not on_baseline else held.baseline,
        held.confidence, tuple(verdicts), _once(verdicts, notes), None if ledger is None else fspath(ledger),
    )  # fmt: skip


def _of_comparison(comparison: Comparison, name: str, baseline: Result | None, base: str) -> Held:
    if baseline is not None:
        raise Conflict(
            "a comparison holds its own baseline, A", where=name, remedy="Leave the baseline out, or give results."
        )
    units = max((d.units for d in comparison.differences.values()), default=0)
    subject = subject_of(comparison.b.request, comparison.b.sources, units, comparison.a)
    return Held(
        subject,
        lambda rule: judge_comparison(rule, comparison),
        lambda rule: spec_of(rule, comparison.task, comparison.differences, "the comparison"),
        comparison.b.request.confidence,
        base,
        sequence=comparison.b.request.sequence is not None,
    )


def _of_report(
    report: Report, name: str, baseline: Result | None, other_truth: bool, called: str, model: str | None
) -> Held:
    before, base, edited = _baseline(baseline, model)
    base = base and (called or base)
    against, notes = Against(report, before), list[str]()
    if before is not None and base is not None:
        against, notes = _against(report, before, name, base, other_truth)
    notes = [*edited, *notes]
    units = max((score.units for score in report.scores.values()), default=0)
    return Held(
        subject_of(report.request, report.sources, units, before),
        lambda rule: judge_report(rule, against),
        lambda rule: spec_of(rule, report.task, report.scores, "the result"),
        report.request.confidence,
        base,
        tuple(notes),
        report.request.sequence is not None and before is None,
    )


def _one(
    result: Results, name: str, model: str | None, baseline: Result | None
) -> tuple[Report | Comparison, str, Result | None, str]:
    """The one model that rules are about, its name, what it is held against, and how that is called."""
    if isinstance(result, Lineup) and len(result) == 1 and model is None:
        result = result[0]
    if isinstance(result, Lineup | VlmScore):
        if baseline is not None and not (isinstance(baseline, str) and is_baseline(result, baseline)):
            return alone(result, model, name), f"{model} of {name}", baseline, ""
        picked = select_models(result, model, baseline, name)
        base = f"{baseline or model_names(result)[0]} of {name}"
        if isinstance(picked, Comparison):
            return picked, f"{model} of {name}", None, base
        return picked[0], f"{model} of {name}", picked[1], base
    if model is not None:
        raise MissingData(f"is a {result.kind}, which holds no model by name", where=name, remedy="Leave `model` out.")
    if not isinstance(result, Report | Comparison):
        raise InvalidResult(f"is a {result.kind}: {REFUSED[result.kind]}", where=name, remedy=INSTEAD)
    return result, name, baseline, f"A of {name}" if isinstance(result, Comparison) else ""


def _read(data: Result, side: str) -> tuple[Results, str]:
    if not isinstance(data, Results | Mapping | str | PathLike):
        raise InvalidResult(f"{data!r} is not a result", where=side, remedy="Give a path, or what `to_dict` gave.")
    name = side if isinstance(data, Results | Mapping) else fspath(data)
    result = data if isinstance(data, Results) else read_result(data, side)
    return result, name


def _baseline(data: Result | None, model: str | None) -> tuple[Report | None, str | None, tuple[str, ...]]:
    """The baseline, its name and whether it was edited; of one that holds several, the model that is held."""
    if data is None:
        return None, None, ()
    result, name = _read(data, "baseline")
    edited = edit_notes([(name, result)])
    if isinstance(result, Lineup | VlmScore) and model is not None:
        return alone(result, model, name), f"{model} of {name}", edited
    if isinstance(result, Comparison):
        raise InvalidResult(
            "is a comparison, and a baseline is one result", where=name, remedy="Give a result of evaluate."
        )
    if not isinstance(result, Report):
        raise InvalidResult(f"is a {result.kind}: {REFUSED[result.kind]}", where=name, remedy=INSTEAD)
    return result, name, edited


def _against(result: Report, baseline: Report, name: str, base: str, other_truth: bool) -> tuple[Against, list[str]]:
    """The two together, where they may be held against each other."""
    if result.task != baseline.task:
        raise Incompatible(
            f"{name} is of task '{result.task}' and {base} of '{baseline.task}'", remedy="Give results of one task."
        )
    a, b = baseline.request, result.request
    truths = baseline.sources.truth, result.sources.truth
    same = truths[0].digest == truths[1].digest
    if not same and not other_truth:
        raise Incompatible(
            f"the truth of {name} ('{truths[1].source}', {count_text(truths[1].rows, 'row')}) is not that of {base} "
            f"('{truths[0].source}', {count_text(truths[0].rows, 'row')})",
            remedy="Score both on the same truth, or allow it with `other_truth=True`.",
        )
    notes = [
        f"The two were made with different settings: {setting} {before} and {after}."
        for setting, before, after in (
            ("missing", a.missing, b.missing),
            ("extra", a.extra, b.extra),
            ("options", dict(a.options), dict(b.options)),
        )
        if before != after
    ]
    before, after = baseline.coverage.missing, result.coverage.missing
    if "skip" in (a.missing, b.missing) and (before or after):
        notes.append(
            f"The baseline has no prediction for {count_text(before, 'row')}, the result for {after:,}; each "
            "leaves out its own, "
            "so the two do not stand on the same data."
        )
    return Against(result, baseline, same), notes


def _once(verdicts: Sequence[Verdict], first: Sequence[str] = ()) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *(note for verdict in verdicts for note in verdict.notes)]))
