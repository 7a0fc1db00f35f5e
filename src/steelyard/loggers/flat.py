"""A report as one flat dict of numbers: what every logger takes, and what to hand to one that is not here."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from os import PathLike

from steelyard.core.errors import InputError
from steelyard.core.slice import Slice, slice_parts
from steelyard.results.read import read_result
from steelyard.results.report import Report
from steelyard.results.score import Score

Result = Report | str | PathLike[str]


def report_of(result: Result) -> Report:
    """A report as it is, or read from its JSON file."""
    if isinstance(result, Report):
        return result
    given = read_result(result)
    if not isinstance(given, Report):
        raise InputError(f"is a {given.kind}, not a report", where=str(result), remedy="Give the JSON of 'evaluate'.")
    return given


def flat(result: Result, prefix: str = "", *, intervals: bool = True, slices: bool = True) -> dict[str, float]:
    """Every score by name: `mae`, its interval `mae_low` and `mae_high`, slices `cuisine=home/mae`.

    What is undefined is left out: no logger has a number for it.
    """
    report = report_of(result)
    values = _scores(report.scores, prefix, intervals)
    if slices:
        for by, parts in report.slices.items():
            for value, scores in parts.items():
                values |= _scores(scores, f"{prefix}{_slice(by, value)}/", intervals)
    return values


def _scores(scores: Mapping[str, Score], prefix: str, intervals: bool) -> dict[str, float]:
    values: dict[str, float] = {}
    for spec, score in scores.items():
        numbers = {"": score.value}
        if intervals and score.interval is not None:
            numbers |= {"_low": score.interval[0], "_high": score.interval[1]}
        values |= {f"{prefix}{spec}{end}": float(v) for end, v in numbers.items() if math.isfinite(v)}
    return values


def _slice(by: Slice, value: Slice) -> str:
    return ", ".join(f"{column}={text}" for column, text in zip(slice_parts(by), slice_parts(value), strict=True))


def renamed(values: Mapping[str, float], forbidden: str) -> dict[str, float]:
    """The same with names that a store takes: runs of what it forbids become `_`; no two names fall together."""
    clean_values: dict[str, float] = {}
    for name, value in values.items():
        clean = re.sub(r"_+", "_", re.sub(forbidden, "_", name)).strip("_") or "score"
        unique, count = clean, 1
        while unique in clean_values:
            count += 1
            unique = f"{clean}-{count}"
        clean_values[unique] = value
    return clean_values


def facts(report: Report) -> dict[str, str]:
    """Where the numbers come from, as texts."""
    asked, read = report.request, report.sources
    return {
        "steelyard.task": report.task,
        "steelyard.truth": read.truth.digest,
        "steelyard.predictions": read.predictions.digest,
        "steelyard.missing": str(asked.missing),
        "steelyard.seed": str(asked.seed),
        "steelyard.draws": str(asked.draws),
    }
