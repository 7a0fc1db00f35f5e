"""A gate whose looks are counted: each rule is judged at the level that its look may spend, and the ledger keeps it.

The ledger of a test set: every look that a gate took, and the level that it spent.

    {"format": "steelyard-ledger", "version": 2, "looks": [{..., "check": "..."}], "seal": "..."}

A ledger is of one test set with all its growth: a truth that grew or was corrected is the same test set, which a sketch
of its units shows. The looks of a rule are counted whatever the digest of the truth, so the level is a union bound that
holds for any growth. Ledgers of version 1 have no sketches, and all looks of a rule count together.

Looks are only ever added. Each one's `check` is a hash of itself and of the one before, and the seal one of the last
and of their number, so that a ledger that was edited by hand is known for one. Who means to forge it can: it guards
against carelessness. It is read and written under a lock, whole or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    Incompatible,
    InputError,
    InvalidResult,
    InvalidText,
    MissingData,
    OutOfRange,
    TooLarge,
)
from steelyard.core.frozen import Frozen
from steelyard.core.request import Request
from steelyard.core.sketch import SAME_SET, SIZE, UnitSketch
from steelyard.engine.looks import spent_at
from steelyard.gating.rules import Rule
from steelyard.io.json import parse_json
from steelyard.io.locks import hold_lock
from steelyard.io.text import read_bytes
from steelyard.io.write import write_text
from steelyard.results.forms import At, form_of
from steelyard.results.gate import Outcome, Verdict
from steelyard.results.origin import Model, Sources
from steelyard.results.report import Report

FORMAT, VERSIONS = "steelyard-ledger", (1, 2)
RESTORE = "Looks are only ever added by the gate: restore the file from version control."


class Subject(Frozen):
    """What is looked at: digests of the truth, of the result and of the baseline, and which units have truth."""

    truth: str
    result: str
    baseline: str | None
    units: int
    sketch: UnitSketch | None = None


class Look(Frozen):
    """One look: when, at what, by which rule with which margin, the level that it spent, and what came out.

    `number` counts the looks of this rule at this test set; `planned` is how many there may be, of a level of `alpha`
    in all; None is without end. `sketch` is of the units of the truth; it is given by the first look at a digest of the
    truth. `test_set` counts the test sets that were begun with fresh units.
    """

    number: int
    time: str
    truth: str
    result: str
    baseline: str | None
    rule: str
    metric: str
    margin: str
    units: int
    alpha: float
    planned: int | None
    level: float
    outcome: Outcome
    sketch: UnitSketch | None = None
    test_set: int = 1

    def is_of(self, subject: Subject) -> bool:
        """Whether it was a look at the same: looking twice at one result shows nothing new."""
        mine = self.truth, self.result, self.baseline
        return mine == (subject.truth, subject.result, subject.baseline)


class Ledger:
    """The looks of a file, checked, and those that are added to it."""

    def __init__(self, source: str, looks: Sequence[Look]) -> None:
        self.source, self.looks = source, list(looks)

    def look(
        self, rule: Rule, spec: str, subject: Subject, alpha: float, planned: int | None, *, fresh: bool = False
    ) -> Look:
        """The look that a rule takes at a subject: the one that it took before, or a new one; its outcome is open.

        `fresh` begins a new test set. Raises InputError where the level is spent, where another level or another number
        of looks was planned, or where the units do not fit.
        """
        text = rule.canonical(spec)
        same = next((one for one in self.looks if one.rule == text and one.is_of(subject)), None)
        sets = self._test_sets(subject, text, fresh) if same is None else set()
        taken = [same] if same else [one for one in self.looks if one.rule == text and one.test_set in sets]
        if taken and (taken[-1].alpha != alpha or taken[-1].planned != planned):
            before, now = (
                f"{_percent(a)} over {_planned_text(k)}"
                for a, k in ((taken[-1].alpha, taken[-1].planned), (alpha, planned))
            )
            raise Conflict(
                f"rule '{rule.text}' was planned with {before}, and not with {now}",
                where=self.source,
                remedy="Continue as planned, or take fresh units: changing the plan midway voids the error guarantee.",
            )
        if same is not None:
            return same
        number = len(taken) + 1
        if planned is not None and number > planned:
            raise TooLarge(
                f"the {_percent(alpha)} of this test set are spent after {count_text(len(taken), 'look')} by "
                f"rule '{rule.text}'",
                where=self.source,
                remedy="Take fresh units: every further look at these would raise false alarms.",
            )
        return Look(
            number, datetime.now(UTC).isoformat(timespec="seconds"), subject.truth, subject.result, subject.baseline,
            text, spec, rule.margin_text, subject.units, alpha, planned, spent_at(alpha, number, planned), "undecided",
            subject.sketch, max(sets),
        )  # fmt: skip

    def _test_sets(self, subject: Subject, text: str, fresh: bool) -> set[int]:
        """The test sets of the ledger that a subject's units belong to, or a new one."""
        last = max((one.test_set for one in self.looks), default=1)
        first_looks = {(one.truth, one.test_set): one for one in reversed(self.looks)}  # of each truth, the first
        shares = {key: self._share(one, subject) for key, one in first_looks.items()}
        touched = {key: share for key, share in shares.items() if share is None or share >= SAME_SET}
        if fresh and touched:
            (digest, _), share = next(iter(touched.items()))
            number = next(one.number for one in reversed(self.looks) if one.truth == digest)
            raise Conflict(
                f"units of look {number} are here: {_shared_text(share)}"
                if share is not None
                else f"whether units of look {number} are here is unknown",
                where=self.source,
                remedy="Leave `fresh_units` out, or name another ledger for another test set.",
            )
        if fresh or not self.looks:
            return {last + 1 if self.looks else 1}
        if not touched:
            before = [one for one in self.looks if one.rule == text] or self.looks
            share = shares[before[-1].truth, before[-1].test_set]
            raise Incompatible(
                f"{'no unit' if not share else f'only {_shared_text(share)}'} of look {before[-1].number} "
                f"{'is' if not share else 'are'} here: is this another test set?",
                where=self.source,
                remedy="Name another ledger, or set `fresh_units=True`.",
            )
        return {test_set for _, test_set in touched}

    def _share(self, look: Look, subject: Subject) -> float | None:
        """The share of units that a look's truth and a subject have in common; None where it is unknown."""
        if look.truth == subject.truth:
            return 1.0
        sketch = self.sketch_of(look)
        return None if sketch is None or subject.sketch is None else sketch.shared_fraction(subject.sketch)

    def sketch_of(self, look: Look) -> UnitSketch | None:
        """The sketch of the units of a look's truth."""
        return next((one.sketch for one in self.looks if one.truth == look.truth and one.sketch is not None), None)

    def change(self, look: Look, subject: Subject) -> str:
        """A remark where the truth changed since the rule's look before this one; otherwise an empty string."""
        before = [one for one in self.looks if one.rule == look.rule]
        before = before[: before.index(look)] if look in before else before
        if look.number == 1 or before[-1].truth == look.truth:
            return ""
        last, number = before[-1], sum(one.test_set == before[-1].test_set for one in before)
        old, new = self.sketch_of(last), subject.sketch
        share = self._share(last, subject)
        units = last.units if old is None else old.units, subject.units if new is None else new.units
        if share is None:
            shared = "how many are shared is unknown"
        else:
            exact = "" if max(units) <= SIZE else "about "
            shared = f"{exact}{round(share * min(units)):,} shared"
        return f"The truth changed since look {number}: {units[0]:,} -> {count_text(units[1], 'unit')}, {shared}."

    def others(self, look: Look) -> int:
        """How many looks other rules about the same metric took at the same test set: theirs is a level of its own."""
        return sum(
            (one.test_set, one.metric) == (look.test_set, look.metric) and one.rule != look.rule for one in self.looks
        )

    def add(self, looks: Sequence[Look]) -> None:
        """Write new looks."""
        for look in looks:
            self.looks.append(look if self.sketch_of(look) is None else replace(look, sketch=None))
        if looks:
            write_text(self.source, _text(self.looks))


@contextlib.contextmanager
def open_ledger(path: str | PathLike[str]) -> Iterator[Ledger]:
    """Hold a ledger: nobody else reads or writes it meanwhile. One that is not there is begun."""
    source = fspath(path)
    with hold_lock(os.path.realpath(source)):
        yield Ledger(source, _read(Path(source), source) if os.path.exists(source) else ())


def _text(looks: Sequence[Look]) -> str:
    form, check, rows = form_of(Look), "", []
    for look in looks:
        row = form.encode(look)
        check = _check(check, row)
        rows.append({**row, "check": check})
    return (
        json.dumps(
            {"format": FORMAT, "version": VERSIONS[-1], "looks": rows, "seal": _seal(check, len(rows))}, indent=2
        )
        + "\n"
    )


def _read(path: Path, source: str) -> list[Look]:
    try:
        data = parse_json(read_bytes(path, source).decode("utf-8"), source, RESTORE)
    except UnicodeDecodeError:
        raise InvalidText("is not UTF-8 text", where=source, remedy=RESTORE) from None
    if not isinstance(data, Mapping) or data.get("format") != FORMAT or not isinstance(data.get("looks"), list):
        raise InvalidResult("is not a ledger", where=source, remedy="Name a new file, or one that a gate wrote.")
    if data.get("version") not in VERSIONS:
        raise InvalidResult(
            f"is a ledger of version {data.get('version')!r}, and this Steelyard reads versions 1 and 2", where=source
        )
    check, looks = "", []
    for i, row in enumerate(data["looks"], start=1):
        check = _check(check, {k: v for k, v in row.items() if k != "check"}) if isinstance(row, Mapping) else ""
        if not isinstance(row, Mapping) or row.get("check") != check:
            raise InvalidResult(f"was edited by hand: look {i} does not fit its checksum", where=source, remedy=RESTORE)
        looks.append(_look(row, source, i))
    if data.get("seal") != _seal(check, len(looks)):
        raise InvalidResult("was edited by hand: looks are missing at its end", where=source, remedy=RESTORE)
    return looks


def _look(row: Mapping[str, Any], source: str, place: int) -> Look:
    try:
        look: Look = form_of(Look).decode(row, At(source, f"looks[{place - 1}]"))
    except InputError as error:
        raise InvalidResult(error.what, where=source, remedy=RESTORE) from None
    return look


def _check(before: str, row: Mapping[str, Any]) -> str:
    text = json.dumps(row, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{before}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()


def _seal(check: str, count: int) -> str:
    return hashlib.sha256(f"{count} looks\n{check}".encode()).hexdigest()


def _percent(alpha: float) -> str:
    return f"{100 * alpha:.4g} %"


def _shared_text(share: float) -> str:
    return f"{100 * share:.2g} % of the units"


def _planned_text(looks: int | None) -> str:
    return "looks without end" if looks is None else count_text(looks, "look")


MOST_LOOKS = 1_000_000
_WORST: tuple[Outcome, ...] = ("fail", "undecided", "pass")


class Held(Frozen):
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
        raise Conflict(
            f"{looks} looks are planned, and nobody counts them", remedy="Name a ledger: `ledger='looks.json'`."
        )
    if isinstance(looks, bool) or not isinstance(looks, int) or not 1 <= looks <= MOST_LOOKS:
        raise OutOfRange(f"{looks!r} looks cannot be planned", remedy=f"Choose from 1 to {MOST_LOOKS:,}.")


def unknown_looks(rules: Sequence[Rule]) -> list[str]:
    """What a gate says that counts no looks."""
    levels = sorted({rule.level for rule in rules if rule.level is not None})
    if not levels:
        return []
    named = " and ".join(f"p < {level:g}" for level in levels)
    return [
        f"How many looks were taken at this test set is unknown: {named} holds for one look. Count them in a ledger."
    ]


def judge_look(
    held: Held, rules: Sequence[Rule], path: str | PathLike[str], planned: int | None, *, fresh: bool = False
) -> tuple[list[Verdict], list[str]]:
    """The verdicts of rules at the levels that their looks may spend, and remarks. The looks are written."""
    if held.confidence is None:
        raise MissingData(
            "the result has no intervals, so a look has no level to spend", where=fspath(path),
            remedy="Score it again without `confidence=None`, or leave the ledger out.",
        )  # fmt: skip
    if held.sequence:
        raise Conflict(
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
            verdicts += [_with_look(verdict, look, again) for verdict in judged]
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
            raise MissingData(
                f"rule '{rule.text}': {verdict.metric} has no interval, so a look has no level to spend", where=where,
                remedy="Leave the rule or the ledger out.",
            )  # fmt: skip


def _with_look(verdict: Verdict, look: Look, again: bool) -> Verdict:
    """The verdict with its look, in fields and in words."""
    of = "" if look.planned is None else f" of {look.planned:,}"
    same = ", the same result as before" if again else ""
    why = f"{verdict.reason}; look {look.number:,}{of} at a level of {look.level:.2g}{same}"
    return replace(verdict, reason=why, look=look.number, planned=look.planned, spent=look.level)
