"""What a check is: a name, a severity, what it does to a number, a remedy and a test; and the runner of all of them.

To add one is to write one function under `@CHECKS.add(...)` in the module of its task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.checks.findings import Finding
from steelyard.core.deprecated import Renamed
from steelyard.core.frozen import Frozen
from steelyard.core.records import Array, Records

EXAMPLES = 3
FEW = 20  # rows below which statistics say nothing
QUICK = 1000  # rows that a quick check looks at, evenly over all
WHOLE = 200_000  # rows that a full one does


@dataclass(repr=False, eq=False, match_args=False)  # which would be slow to make
class CheckData:
    """Both sides as they were read, and their pairs, without what stands on one side only (None where that fails).

    `quick` is set where evaluation asks: tests then look at a sample.
    """

    truth: Records
    prediction: Records | None = None
    pairs: Any = None
    options: Any = None
    quick: bool = False
    read: dict[str, Any] = field(default_factory=dict)  # what one check reads and another needs too

    kept = Renamed("paired_rows")

    @cached_property
    def paired_rows(self) -> tuple[Array, Array]:
        """Rows of the truth and of the predictions that belong together; a sample where there are many."""
        pairs = self.pairs
        if pairs is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        there = pairs.prediction_row
        count = len(pairs.truth) if there is None else len(there)
        chosen = evenly(count, QUICK if self.quick else WHOLE)
        if there is None:
            return chosen, chosen
        chosen = chosen[there[chosen] >= 0]
        return pairs.truth_row[chosen], there[chosen]

    def numbers(self, name: str, other: str) -> tuple[Array, Array]:
        """A column of the truth beside one of the predictions, pair by pair."""
        rows, places = self.paired_rows
        if self.pairs is None or not len(rows) or name not in self.pairs.truth or other not in self.pairs.prediction:
            return np.zeros(0), np.zeros(0)
        return self.pairs.truth[name][rows], self.pairs.prediction[other][places]


class Problem(Frozen):
    """What a test found: a sentence, how many rows of how many, and where some of them are.

    `severity` and `remedy` stand in the place of the check's own where they depend on the data.
    """

    what: str
    count: int
    total: int
    examples: tuple[str, ...] = ()
    severity: str = ""
    remedy: str = ""


class Check(Frozen):
    """One thing that is looked for. `effect` says what it does to a number; `quick` ones are run by evaluation too.

    `test` is None for those of boxes, whose tests look for several things at once.
    """

    name: str
    severity: str
    side: str
    effect: str
    remedy: str = ""
    test: Callable[[CheckData], Problem | None] | None = None
    quick: bool = False


Test = Callable[[CheckData], Problem | None]


class Checks(list[Check]):
    """The checks of a task, in the order in which they are run."""

    def add(
        self, name: str, severity: str, effect: str, remedy: str, *, side: str = "predictions", quick: bool = True
    ) -> Callable[[Test], Test]:
        """Make a check of a function."""

        def keep(test: Test) -> Test:
            self.append(Check(name, severity, side, effect, remedy, test, quick))
            return test

        return keep


def run_checks(checks: Iterable[Check], data: CheckData) -> list[Finding]:
    """All findings about the data; only those of quick checks where the data say so."""
    findings = []
    for check in checks:
        if check.test is None or (data.quick and not check.quick):
            continue
        if data.prediction is None and check.side != "truth":
            continue
        with np.errstate(all="ignore"):
            result = check.test(data)
        if result is not None:
            findings.append(
                Finding(
                    check.name,
                    result.severity or check.severity,
                    check.side,
                    result.what,
                    result.count,
                    result.total,
                    tuple(filter(None, result.examples[:EXAMPLES])),
                    result.remedy or check.remedy,
                )
            )
    return findings


def evenly(count: int, most: int) -> Array:
    """Places from 0 to `count`, all or so many of them at equal distances."""
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).astype(np.int64)


def some_rows(records: Records, rows: Any, column: str = "") -> tuple[str, ...]:
    """Where a few rows stand, and what a column has there."""
    shown = [int(row) for row in rows[:EXAMPLES]]
    if not column or column not in records:
        return tuple(records.place(row) for row in shown)
    return tuple(f"{records.place(row)}: {column} {_short(records[column][row])}" for row in shown)


def _short(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
