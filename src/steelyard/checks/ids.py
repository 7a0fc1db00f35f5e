"""Checks of ids that do not meet: another case, zeros, folders, endings, prefixes; and rows that appear twice."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from steelyard.checks.check import Check, CheckData, Checks, Problem, some_rows
from steelyard.core.records import Array, factorize, missing_key_hint

ONCE = "Write each row once."
READINGS: dict[str, Callable[[str], str]] = {
    "without regard to case": str.casefold,
    "without blanks": lambda text: "".join(text.split()),
    "without zeros in front": lambda text: re.sub(r"\d+(\.0+)?", lambda m: m[0].split(".")[0].lstrip("0") or "0", text),
    "without folders": lambda text: re.split(r"[/\\]", text)[-1],
    "without their ending": lambda text: re.sub(r"\.[A-Za-z]{2,4}$", "", text),
    "without folders and ending": lambda text: re.sub(r"\.[A-Za-z]{2,4}$", "", re.split(r"[/\\]", text)[-1]),
    "by their number alone": lambda text: _number(text),
}
MOST = 100_000  # ids of one side that are looked through


def _number(text: str) -> str:
    digits = re.findall(r"\d+", text)
    return str(int(digits[-1])) if digits and len(digits[-1]) < 20 else text


def best_reading(truth: set[str], predicted: set[str]) -> tuple[float, float, str]:
    """The share of the truth's ids that the predictions have; the same under the best other reading, and its name."""
    plain = len(truth & predicted) / max(1, len(truth))
    best = (plain, "")
    for name, change in READINGS.items():
        mine = {change(text) for text in truth}
        if len(mine) < 0.9 * len(truth):  # it makes one of several
            continue
        share = len(mine & {change(text) for text in predicted}) / max(1, len(mine))
        best = max(best, (share, name), key=lambda pair: pair[0])
    return plain, *best


def explain(column: str, truth: list[str], predicted: list[str]) -> Problem | None:
    """What is wrong with the ids of a column, where hardly any meet or another reading makes them meet."""
    expected, other = set(truth[:MOST]), set(predicted[:MOST])
    if not expected or not other:
        return None
    plain, share, reading = best_reading(expected, other)
    if plain >= 0.8 or (share < plain + 0.2 and plain > 0):
        return None
    lone = sorted(other - expected)
    what = f"Of the truth's {column} ids, {plain:.0%} stand in the predictions"
    if share >= plain + 0.2:
        return Problem(
            f"{what}, and {share:.0%} where ids are read {reading}.",
            len(lone),
            len(other),
            (f"'{lone[0]}' beside '{min(expected - other)}'",) if lone else (),
            remedy="Write ids as the truth has them.",
        )
    return Problem(f"{what}.", len(lone), len(other), tuple(f"'{value}'" for value in lone[:3]))


def ids_differ(data: CheckData) -> Problem | None:
    """Ids that do not meet, column by column of the key."""
    truth, prediction = data.truth, data.prediction
    if prediction is None:
        return None
    for name in data.read["key"]:
        if name in truth and name in prediction and len(prediction):
            sides = [list(dict.fromkeys(map(str, side[name].tolist()))) for side in (truth, prediction)]
            reading = explain(name, *sides)
            if reading is not None:
                return reading
    return None


def repeated_keys(side: str) -> Callable[[CheckData], Problem | None]:
    """Rows of a side that have the key of an earlier row."""

    def test(data: CheckData) -> Problem | None:
        records = data.truth if side == "truth" else data.prediction
        if records is None or not len(records):
            return None
        key = [name for name in data.read["key"] if name in records]
        if not key or len(key) < data.read["keys"]:
            return None
        rows = again([records[name] for name in key])
        if not len(rows):
            return None
        named = " and ".join(f"'{name}'" for name in key)
        hint = missing_key_hint(records, tuple(key), tuple(data.read["whole_key"]))
        return Problem(
            f"Rows appear more than once by {named}.",
            len(rows),
            len(records),
            some_rows(records, rows, key[-1]),
            remedy=" ".join([ONCE, *hint]),
        )

    return test


def again(columns: list[Array]) -> Array:
    """Rows whose values stand together in an earlier row."""
    code = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        names, (codes,) = factorize(column)
        code = np.unique(code * (len(names) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    first = np.unique(code, return_index=True)[1]
    rest = np.ones(len(code), dtype=bool)
    rest[first] = False
    return np.flatnonzero(rest)


def with_ids(checks: Checks, *, repeats: bool = True) -> Checks:
    """The checks of ids in front of a task's own."""
    mine = [
        Check(
            "ids-differ", "error", "predictions",
            "ids of another spelling (case, zeros, endings, prefixes): refused, or with `missing=skip` left out",
            "Are these predictions of the same data?", ids_differ,
        )
    ]  # fmt: skip
    if repeats:
        mine += [
            Check(
                "repeated-rows", "error", side, "rows with the same key: refused, and counted twice by other tools",
                ONCE, repeated_keys(side),
            )
            for side in ("truth", "predictions")
        ]  # fmt: skip
    checks[:0] = mine
    return checks
