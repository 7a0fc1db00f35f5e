"""Gate: what rules say of a result."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Literal

from steelyard.core.deprecated import Renamed, RenamedKeywords
from steelyard.core.frozen import Frozen
from steelyard.results.details import NONE, Details
from steelyard.results.result import Path, Result
from steelyard.results.same import equal
from steelyard.results.score import Direction, Interval

Outcome = Literal["pass", "fail", "undecided"]
Method = Literal["value", "interval", "paired randomisation", "paired draws", "unpaired"]
EXIT_CODES: dict[Outcome, int] = {"pass": 0, "fail": 1, "undecided": 3}


class Verdict(Frozen, metaclass=RenamedKeywords):
    """One rule's outcome, with the numbers that it rests on and how they were computed.

    Where a ledger counts looks, this is look number `look` of `planned` (None: without end), and `spent` is its part of
    the rule's level.
    """

    rule: str
    outcome: Outcome
    reason: str
    metric: str
    label: str
    where: str
    value: float
    interval: Interval | None
    bound: float
    baseline: float | None = None
    difference: float | None = None
    difference_interval: Interval | None = None
    p: float | None = None
    level: float | None = None
    method: Method = "interval"
    better: Direction = "higher"
    measured_in: str = ""
    notes: tuple[str, ...] = field(default=())
    look: int = 0
    planned: int | None = None
    spent: float | None = None
    why = Renamed("reason")

    __eq__ = equal


class Gate(Frozen, Result):
    """What the rules say of a result: fail where one fails, else undecided where one is, else pass."""

    kind: ClassVar[str] = "gate"
    task: str
    unit: str
    units: int
    result: str
    baseline: str | None
    confidence: float | None
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    ledger: str | None = None
    details: Details = field(default=NONE, repr=False, compare=False)

    __eq__ = equal

    @property
    def outcome(self) -> Outcome:
        """Of all rules together."""
        outcomes = {verdict.outcome for verdict in self.verdicts}
        return "fail" if "fail" in outcomes else "undecided" if "undecided" in outcomes else "pass"

    @property
    def exit_code(self) -> int:
        """Of the command: 0 pass, 1 fail, 3 undecided."""
        return EXIT_CODES[self.outcome]

    def count(self, outcome: Outcome) -> int:
        """How many rules came out so."""
        return sum(verdict.outcome == outcome for verdict in self.verdicts)

    def to_junit(self, path: Path | None = None) -> str:
        """The gate as JUnit XML, one test case per rule, written to `path` where one is given."""
        return self.render("junit", path)

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        return {} if self.verdicts else {"verdicts": "is empty"}
