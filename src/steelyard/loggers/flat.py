"""A result as one flat dict of numbers: what every logger takes, and what to hand to one that is not here."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from os import PathLike

from steelyard.core.errors import InvalidResult, MissingData
from steelyard.core.request import Request
from steelyard.core.slice import Slice, slice_parts
from steelyard.render.numbers import names_of
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.origin import Sources
from steelyard.results.read import read_result
from steelyard.results.report import Report
from steelyard.results.score import Difference, Score

Scored = Report | Comparison | Lineup
Result = Scored | str | PathLike[str]


def result_of(result: Result) -> Scored:
    """A result as it is, or read from its JSON file."""
    loaded = result if isinstance(result, Report | Comparison | Lineup) else read_result(result)
    if not isinstance(loaded, Report | Comparison | Lineup):
        raise MissingData(
            f"is a {loaded.kind}, which has no scores to log", where=str(result),
            remedy="Give the JSON of 'evaluate' or 'compare'.",
        )  # fmt: skip
    return loaded


def report_of(result: Result) -> Report:
    """A report as it is, or read from its JSON file."""
    loaded = result_of(result)
    if not isinstance(loaded, Report):
        where = "the result" if isinstance(result, Comparison | Lineup) else str(result)
        raise InvalidResult(f"is a {loaded.kind}, not a report", where=where, remedy="Give the JSON of 'evaluate'.")
    return loaded


def flat(result: Result, prefix: str = "", *, intervals: bool = True, slices: bool = True) -> dict[str, float]:
    """Every score by name: `mae`, its interval `mae_low` and `mae_high`, slices `cuisine=home/mae`.

    Of a comparison, or of several models, each model's scores stand behind its name, `ours/mae`, and differences behind
    both, `ours-base/mae`, with `_low`, `_high` and `_p`; ranks are `ours/mae_rank_first` and `_rank_last`. What is
    undefined is left out: no logger has a number for it.
    """
    loaded = result_of(result)
    if not isinstance(loaded, Report):
        return _flatten_comparison(loaded, prefix, intervals, slices)
    values = _scores(loaded.scores, prefix, intervals)
    if slices:
        for by, parts in loaded.slices.items():
            for value, scores in parts.items():
                values |= _scores(scores, f"{prefix}{_slice(by, value)}/", intervals)
    return values


def _flatten_comparison(result: Comparison | Lineup, prefix: str, intervals: bool, slices: bool) -> dict[str, float]:
    comparisons = [result] if isinstance(result, Comparison) else list(result.comparisons)
    first, *others = names_of(comparisons)
    values = _scores({spec: d.a for spec, d in comparisons[0].differences.items()}, f"{prefix}{first}/", intervals)
    for name, comparison in zip(others, comparisons, strict=True):
        values |= _scores({spec: d.b for spec, d in comparison.differences.items()}, f"{prefix}{name}/", intervals)
        values |= _differences(comparison.differences, f"{prefix}{name}-{first}/", intervals)
        for by, parts in comparison.slices.items() if slices else ():
            for value, differences in parts.items():
                values |= _differences(differences, f"{prefix}{name}-{first}/{_slice(by, value)}/", intervals)
    for spec, standing in result.standings.items() if isinstance(result, Lineup) else ():
        for name, (best, worst) in zip((first, *others), standing.ranks, strict=True):
            if best:
                values |= {f"{prefix}{name}/{spec}_rank_first": float(best)}
                values |= {f"{prefix}{name}/{spec}_rank_last": float(worst)}
    return values


def _differences(differences: Mapping[str, Difference], prefix: str, intervals: bool) -> dict[str, float]:
    values: dict[str, float] = {}
    for spec, difference in differences.items():
        numbers = {
            "": difference.difference,
            "_p": difference.p_adjusted if math.isfinite(difference.p_adjusted) else difference.p,
        }
        if intervals and difference.interval is not None:
            numbers |= {"_low": difference.interval[0], "_high": difference.interval[1]}
        values |= {f"{prefix}{spec}{end}": float(v) for end, v in numbers.items() if math.isfinite(v)}
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


def replace_characters(values: Mapping[str, float], forbidden: str) -> dict[str, float]:
    """Replace runs of forbidden characters in names by `_`, keeping names distinct."""
    clean_values: dict[str, float] = {}
    for name, value in values.items():
        clean = re.sub(r"_+", "_", re.sub(forbidden, "_", name)).strip("_") or "score"
        unique, count = clean, 1
        while unique in clean_values:
            count += 1
            unique = f"{clean}-{count}"
        clean_values[unique] = value
    return clean_values


def facts(result: Scored) -> dict[str, str]:
    """Where the numbers come from, as texts."""
    if isinstance(result, Report):
        return _origin(result.request, result.sources)
    comparisons = [result] if isinstance(result, Comparison) else list(result.comparisons)
    models = [comparisons[0].a, *(one.b for one in comparisons)]
    shared = _origin(models[0].request, models[0].sources)
    del shared["steelyard.predictions"]
    each = zip(names_of(comparisons), models, strict=True)
    return shared | {f"steelyard.predictions.{name}": model.sources.predictions.digest for name, model in each}


def _origin(asked: Request, read: Sources) -> dict[str, str]:
    return {
        "steelyard.task": asked.task,
        "steelyard.truth": read.truth.digest,
        "steelyard.predictions": read.predictions.digest,
        "steelyard.missing": str(asked.missing),
        "steelyard.seed": str(asked.seed),
        "steelyard.draws": str(asked.draws),
    }
