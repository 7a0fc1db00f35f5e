"""The gate: rules in, one outcome out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.gating.judge import Against, Outcome, Verdict, judge_comparison, judge_report
from steelyard.gating.rules import parse_rule
from steelyard.io.write import write_text
from steelyard.report.load import read_result
from steelyard.report.model import Comparison, Report

Path = str | PathLike[str]
Result = Report | Comparison | Path | Mapping[str, Any]
EXIT_CODES: dict[Outcome, int] = {"pass": 0, "fail": 1, "undecided": 3}


@frozen
class Gate:
    """What the rules say of a result: fail where one fails, else undecided where one is, else pass."""

    task: str
    unit: str
    units: int
    result: str
    baseline: str | None
    confidence: float | None
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Of all rules together."""
        found = {verdict.outcome for verdict in self.verdicts}
        return "fail" if "fail" in found else "undecided" if "undecided" in found else "pass"

    @property
    def exit_code(self) -> int:
        """Of the command: 0 pass, 1 fail, 3 undecided."""
        return EXIT_CODES[self.outcome]

    def count(self, outcome: Outcome) -> int:
        """How many rules came out so."""
        return sum(verdict.outcome == outcome for verdict in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """The gate as plain values, as the JSON schema describes it."""
        from steelyard.gating.show import gate_dict

        return gate_dict(self)

    def to_json(self, path: Path | None = None) -> str:
        """The gate as JSON text, written to `path` where one is given."""
        from steelyard.report.json import dumps

        return _written(dumps(self.to_dict()), path)

    def to_markdown(self, path: Path | None = None) -> str:
        """The gate as Markdown, written to `path` where one is given."""
        from steelyard.gating.show import gate_markdown

        return _written(gate_markdown(self), path)

    def to_junit(self, path: Path | None = None) -> str:
        """The gate as JUnit XML, one test case a rule, written to `path` where one is given."""
        from steelyard.gating.junit import gate_junit

        return _written(gate_junit(self), path)

    def to_text(self, width: int = 80) -> str:
        """The gate as a table for a terminal."""
        from steelyard.gating.show import gate_text

        return gate_text(self, width)

    def __str__(self) -> str:
        return self.to_text()


def gate(
    result: Result, rules: Sequence[str] | str, *, baseline: Result | None = None, other_truth: bool = False
) -> Gate:
    """Hold a result to rules that say when it fails: `gate("result.json", ["mae > 30"])`.

    `result` and `baseline` are reports, their files, or what `to_dict` gives; a comparison is a result that holds its
    own baseline (A). `other_truth` allows a baseline that was scored on other truth, and compares unpaired.
    """
    wanted = [parse_rule(rule) for rule in ([rules] if isinstance(rules, str) else rules)]
    if not wanted:
        raise InputError("a gate without rules lets everything pass", remedy='Example: --fail-if "mae > 30".')
    found, name = _read(result, "result")
    if isinstance(found, Comparison):
        if baseline is not None:
            raise InputError(
                "a comparison holds its own baseline, A", where=name, remedy="Leave the baseline out, or give results."
            )
        verdicts = [verdict for rule in wanted for verdict in judge_comparison(rule, found)]
        units = max((d.units for d in found.differences.values()), default=0)
        base = f"A of {name}" if any(rule.on_baseline for rule in wanted) else None
        confidence = found.provenance_b.confidence
        return Gate(found.task, found.unit, units, name, base, confidence, tuple(verdicts), _once(verdicts))
    before, base = _baseline(baseline)
    against = Against(found, before)
    notes: list[str] = []
    if before is not None and base is not None:
        against, notes = _against(found, before, name, base, other_truth)
    verdicts = [verdict for rule in wanted for verdict in judge_report(rule, against)]
    units = max((score.units for score in found.scores.values()), default=0)
    if base is not None and not any(rule.on_baseline for rule in wanted):
        notes.append("No rule speaks of the baseline.")
    return Gate(
        found.task, found.unit, units, name, base, found.provenance.confidence, tuple(verdicts), _once(verdicts, notes)
    )


def _read(data: Result, side: str) -> tuple[Report | Comparison, str]:
    if isinstance(data, Report | Comparison):
        return data, side
    found = read_result(data, side)
    return found, side if isinstance(data, Mapping) else fspath(data)


def _baseline(data: Result | None) -> tuple[Report | None, str | None]:
    if data is None:
        return None, None
    found, name = _read(data, "baseline")
    if isinstance(found, Comparison):
        raise InputError(
            "is a comparison, and a baseline is one result", where=name, remedy="Give a result of evaluate."
        )
    return found, name


def _against(result: Report, baseline: Report, name: str, base: str, other_truth: bool) -> tuple[Against, list[str]]:
    """The two together, where they may be held against each other."""
    if result.task != baseline.task:
        raise InputError(
            f"{name} is of task '{result.task}' and {base} of '{baseline.task}'", remedy="Give results of one task."
        )
    a, b = baseline.provenance, result.provenance
    same = a.truth.digest == b.truth.digest
    if not same and not other_truth:
        raise InputError(
            f"the truth of {name} ('{b.truth.source}', {b.truth.rows:,} rows) is not that of {base} "
            f"('{a.truth.source}', {a.truth.rows:,} rows)",
            remedy="Score both on the same truth, or allow it with --other-truth.",
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
            f"The baseline has no prediction for {before:,} rows, the result for {after:,}; each leaves out its own, "
            "so the two do not stand on the same data."
        )
    return Against(result, baseline, same), notes


def _once(verdicts: Sequence[Verdict], first: Sequence[str] = ()) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *(note for verdict in verdicts for note in verdict.notes)]))


def _written(text: str, path: Path | None) -> str:
    if path is not None:
        write_text(path, text)
    return text
