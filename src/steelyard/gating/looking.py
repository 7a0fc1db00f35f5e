"""A gate whose looks are counted: each rule is judged at the level that its look may spend, and the ledger keeps it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, DuplicateKey, InvalidResult, InvalidSpec, MissingData
from steelyard.core.frozen import frozen
from steelyard.core.request import Request
from steelyard.gating.ledger import Look, Subject, open_ledger
from steelyard.gating.rules import Rule
from steelyard.results.gate import Outcome, Verdict
from steelyard.results.origin import Model, Sources
from steelyard.results.report import Report

MOST_LOOKS = 1_000_000
_WORST: tuple[Outcome, ...] = ("fail", "undecided", "pass")


@frozen
class Held:
    """A result that rules are held against: what is looked at, and how a rule is judged and named."""

    subject: Subject
    judge: Callable[[Rule], list[Verdict]]
    spec_of: Callable[[Rule], str]
    confidence: float | None
    baseline: str | None
    notes: tuple[str, ...] = ()
    sequence: bool = False  # whether its intervals and p hold at every look already


def subject_of(request: Request, sources: Sources, units: int, baseline: Model | Report | None) -> Subject:
    """What is looked at, by digests of what moves a number: the data and the settings."""
    before = None if baseline is None else _digest(baseline.request, baseline.sources)
    sketch = sources.truth_units
    if sketch is None and baseline is not None and baseline.sources.truth.digest == sources.truth.digest:
        sketch = baseline.sources.truth_units  # a comparison holds it once
    return Subject(sources.truth.digest, _digest(request, sources), before, units, sketch)


def _digest(request: Request, sources: Sources) -> str:
    settings: dict[str, Any] = {
        "predictions": sources.predictions.digest, "seed": request.seed, "draws": request.draws,
        "confidence": request.confidence, "missing": request.missing, "extra": request.extra,
        "columns": dict(request.columns), "options": {key: str(value) for key, value in request.options.items()},
    }  # fmt: skip
    text = json.dumps(settings, sort_keys=True)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def check_looks(ledger: str | PathLike[str] | None, looks: int | None, fresh_units: bool = False) -> None:
    """Refuse a number of looks that is not valid, and settings of a ledger without one."""
    if fresh_units and ledger is None:
        raise Conflict("fresh units are only counted in a ledger", remedy="Name a ledger: `ledger='looks.json'`.")
    if looks is None:
        return
    if ledger is None:
        raise InvalidResult(
            f"{looks} looks are planned, and nobody counts them", remedy="Name a ledger: `ledger='looks.json'`."
        )
    if isinstance(looks, bool) or not isinstance(looks, int) or not 1 <= looks <= MOST_LOOKS:
        raise InvalidResult(f"{looks!r} looks cannot be planned", remedy=f"Choose from 1 to {MOST_LOOKS:,}.")


def unknown_looks(rules: Sequence[Rule]) -> list[str]:
    """What a gate says that counts no looks."""
    levels = sorted({rule.level for rule in rules if rule.level is not None})
    if not levels:
        return []
    named = " and ".join(f"p < {level:g}" for level in levels)
    return [
        f"How many looks were taken at this test set is unknown: {named} holds for one look. Count them in a ledger."
    ]


def counted(
    held: Held, rules: Sequence[Rule], path: str | PathLike[str], planned: int | None, *, fresh: bool = False
) -> tuple[list[Verdict], list[str]]:
    """The verdicts of rules at the levels that their looks may spend, and remarks. The looks are written."""
    if held.confidence is None:
        raise MissingData(
            "the result has no intervals, so a look has no level to spend", where=fspath(path),
            remedy="Score it again without `confidence=None`, or leave the ledger out.",
        )  # fmt: skip
    if held.sequence:
        raise DuplicateKey(
            "the result was made with `sequence`: it holds at every look already", where=fspath(path),
            remedy="Leave the ledger out.",
        )  # fmt: skip
    verdicts: list[Verdict] = []
    remarks: list[str] = []
    new: dict[str, Look] = {}
    with open_ledger(path) as ledger:
        for rule in rules:
            alpha = round(1 - held.confidence, 12) if rule.level is None else rule.level
            look = ledger.look(rule, held.spec_of(rule), held.subject, alpha, planned, fresh=fresh)
            again = look in ledger.looks
            if changed := ledger.change(look, held.subject):
                remarks.append(changed)
            judged = held.judge(replace(rule, spent=look.level))
            _check_level(rule, judged, fspath(path))
            verdicts += [_said(verdict, look, again) for verdict in judged]
            if not again:
                outcomes = {verdict.outcome for verdict in judged}
                new[look.rule] = replace(look, outcome=next(one for one in _WORST if one in outcomes))
            if others := ledger.others(look):
                remarks.append(
                    f"Other rules about {look.metric} took {count_text(others, 'look')} at this test set: each "
                    "rule has a level of its own, and the levels add up."
                )
        ledger.add(list(new.values()))
    return verdicts, list(dict.fromkeys(remarks))


def _check_level(rule: Rule, verdicts: Sequence[Verdict], where: str) -> None:
    for verdict in verdicts:
        if verdict.method == "value":
            raise InvalidSpec(
                f"rule '{rule.text}': {verdict.metric} has no interval, so a look has no level to spend", where=where,
                remedy="Leave the rule or the ledger out.",
            )  # fmt: skip


def _said(verdict: Verdict, look: Look, again: bool) -> Verdict:
    """The verdict with its look, in fields and in words."""
    of = "" if look.planned is None else f" of {look.planned:,}"
    same = ", the same result as before" if again else ""
    why = f"{verdict.why}; look {look.number:,}{of} at a level of {look.level:.2g}{same}"
    return replace(verdict, why=why, look=look.number, planned=look.planned, spent=look.level)
