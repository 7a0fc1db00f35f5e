"""The ledger of a test set: every look that a gate took, and the level that it spent.

    {"format": "steelyard-ledger", "version": 1, "looks": [{..., "check": "..."}], "seal": "..."}

Looks are only ever added. Each one's `check` is a hash of itself and of the one before, and the seal one of the last
and of their number, so that a ledger that was edited by hand is known for one. Who means to forge it can: it guards
against carelessness. It is read and written under a lock, whole or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from steelyard.core.counts import count_text
from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.engine.looks import spent_at
from steelyard.gating.rules import Rule
from steelyard.io.json import parse_json
from steelyard.io.locks import locked
from steelyard.io.text import read_bytes
from steelyard.io.write import write_text
from steelyard.results.forms import At, form_of
from steelyard.results.gate import Outcome

FORMAT, VERSION = "steelyard-ledger", 1
RESTORE = "Looks are only ever added by the gate: restore the file from version control."


@frozen
class Subject:
    """What is looked at: digests of the truth, of the result and of the baseline, and how many units they have."""

    truth: str
    result: str
    baseline: str | None
    units: int


@frozen
class Look:
    """One look: when, at what, by which rule with which margin, the level that it spent, and what came out.

    `number` counts the looks of this rule at this truth; `planned` is how many there may be, of a level of `alpha` in
    all; None is without end.
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

    def is_of(self, subject: Subject) -> bool:
        """Whether it was a look at the same: looking twice at one result shows nothing new."""
        return (self.result, self.baseline) == (subject.result, subject.baseline)


class Ledger:
    """The looks of a file, checked, and those that are added to it."""

    def __init__(self, source: str, looks: Sequence[Look]) -> None:
        self.source, self.looks = source, list(looks)

    def look(self, rule: Rule, spec: str, subject: Subject, alpha: float, planned: int | None) -> Look:
        """The look that a rule takes at a subject: the one that it took before, or a new one; its outcome is open.

        Raises InputError where the level is spent, or where another level or another number of looks was planned.
        """
        text = rule.canonical(spec)
        taken = [one for one in self.looks if (one.truth, one.rule) == (subject.truth, text)]
        if taken and (taken[0].alpha != alpha or taken[0].planned != planned):
            before, now = (
                f"{_percent(a)} over {_planned(k)}" for a, k in ((taken[0].alpha, taken[0].planned), (alpha, planned))
            )
            raise InputError(
                f"rule '{rule.text}' was planned with {before}, and not with {now}",
                where=self.source,
                remedy="Go on as it was planned, or take fresh units: a plan that is changed on the way holds nothing.",
            )
        for one in taken:
            if one.is_of(subject):
                return one
        number = len(taken) + 1
        if planned is not None and number > planned:
            raise InputError(
                f"the {_percent(alpha)} of this test set are spent after {len(taken)} looks by rule '{rule.text}'",
                where=self.source,
                remedy="Take fresh units: every further look at these would raise false alarms.",
            )
        return Look(
            number, datetime.now(UTC).isoformat(timespec="seconds"), subject.truth, subject.result, subject.baseline,
            text, spec, rule.margin_text, subject.units, alpha, planned, spent_at(alpha, number, planned), "undecided",
        )  # fmt: skip

    def others(self, look: Look) -> int:
        """How many looks other rules about the same metric took at the same truth: theirs is a level of its own."""
        return sum((o.truth, o.metric) == (look.truth, look.metric) and o.rule != look.rule for o in self.looks)

    def add(self, looks: Sequence[Look]) -> None:
        """Write new looks."""
        if looks:
            self.looks += looks
            write_text(self.source, _text(self.looks))


@contextlib.contextmanager
def open_ledger(path: str | PathLike[str]) -> Iterator[Ledger]:
    """Hold a ledger: nobody else reads or writes it meanwhile. One that is not there is begun."""
    source = fspath(path)
    with locked(os.path.realpath(source)):
        yield Ledger(source, _read(Path(source), source) if os.path.exists(source) else ())


def _text(looks: Sequence[Look]) -> str:
    form, check, rows = form_of(Look), "", []
    for look in looks:
        row = form.encode(look)
        check = _check(check, row)
        rows.append({**row, "check": check})
    return (
        json.dumps({"format": FORMAT, "version": VERSION, "looks": rows, "seal": _seal(check, len(rows))}, indent=2)
        + "\n"
    )


def _read(path: Path, source: str) -> list[Look]:
    try:
        data = parse_json(read_bytes(path, source).decode("utf-8"), source, RESTORE)
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", where=source, remedy=RESTORE) from None
    if not isinstance(data, Mapping) or data.get("format") != FORMAT or not isinstance(data.get("looks"), list):
        raise InputError("is no ledger", where=source, remedy="Name a new file, or one that a gate wrote.")
    if data.get("version") != VERSION:
        raise InputError(
            f"is a ledger of version {data.get('version')!r}, and this Steelyard reads {VERSION}", where=source
        )
    check, looks = "", []
    for i, row in enumerate(data["looks"], start=1):
        check = _check(check, {k: v for k, v in row.items() if k != "check"}) if isinstance(row, Mapping) else ""
        if not isinstance(row, Mapping) or row.get("check") != check:
            raise InputError(f"was edited by hand: look {i} does not fit its checksum", where=source, remedy=RESTORE)
        looks.append(_look(row, source, i))
    if data.get("seal") != _seal(check, len(looks)):
        raise InputError("was edited by hand: looks are missing at its end", where=source, remedy=RESTORE)
    return looks


def _look(row: Mapping[str, Any], source: str, place: int) -> Look:
    try:
        made: Look = form_of(Look).decode(row, At(source, f"looks[{place - 1}]"))
    except InputError as error:
        raise InputError(error.what, where=source, remedy=RESTORE) from None
    return made


def _check(before: str, row: Mapping[str, Any]) -> str:
    text = json.dumps(row, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{before}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()


def _seal(check: str, count: int) -> str:
    return hashlib.sha256(f"{count} looks\n{check}".encode()).hexdigest()


def _percent(alpha: float) -> str:
    return f"{100 * alpha:.4g} %"


def _planned(looks: int | None) -> str:
    return "looks without end" if looks is None else count_text(looks, "look")
