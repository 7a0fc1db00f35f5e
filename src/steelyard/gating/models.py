"""One model of a result that holds several: of a lineup by its name, of a score of VLMs by its prompt."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steelyard.core.errors import Conflict, MissingData, UnknownName, nearest
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.report import Report
from steelyard.results.score import Difference, Superiority
from steelyard.results.vlm import VlmScore

Several = Lineup | VlmScore
Pair = tuple[Report, Report | None]
_OPPOSITE = {"better": "worse", "worse": "better"}


def model_names(result: Several) -> tuple[str, ...]:
    """What the models of a result are called."""
    if isinstance(result, Lineup):
        return tuple(name or letter for name, letter in zip(result.names, _letters(result), strict=True))
    return tuple(result.name(row) for row in result.rows if row.report)


def is_baseline(result: Several, name: str) -> bool:
    """Whether a name is one of a model, or of what a score of VLMs holds every prompt against."""
    held = () if isinstance(result, Lineup) else ("constant", *(name for row in result.rows for name in row.controls))
    return name in (*model_names(result), *held)


def select_models(result: Several, model: str | None, baseline: str | None, source: str) -> Comparison | Pair:
    """A model against another of the same result: their comparison where the result holds it, else the two reports.

    Without a baseline, a model of a lineup is held against the first, and the first stands alone.
    """
    names = model_names(result)
    place = _model_index(result, model, source)
    if isinstance(result, Lineup):
        return _of_lineup(result, place, None if baseline is None else _place(baseline, names, source))
    return _of_vlm(result, names, place, baseline, source)


def alone(result: Several, model: str | None, source: str) -> Report:
    """A model's own report."""
    place = _model_index(result, model, source)
    if isinstance(result, Lineup):
        return _report(result, place)
    return [row.report for row in result.rows if row.report][place]


def _model_index(result: Several, model: str | None, source: str) -> int:
    names = model_names(result)
    if not names:
        raise MissingData("holds no score: no reading gave an answer", where=source)
    if model is None and len(names) == 1:
        return 0
    if model is None:
        raise Conflict(f"holds several models: {', '.join(names)}", where=source, remedy="Name one with `model=NAME`.")
    return _place(model, names, source)


def _letters(lineup: Lineup) -> list[str]:
    return [chr(ord("A") + i) if i < 26 else f"model {i + 1}" for i in range(len(lineup) + 1)]


def _place(name: str, names: tuple[str, ...], source: str) -> int:
    if name not in names:
        raise UnknownName(f"has no model '{name}'", where=source, remedy=nearest(name, names))
    return names.index(name)


def _of_lineup(lineup: Lineup, place: int, other: int | None) -> Comparison | Pair:
    if place == other:
        raise Conflict("a model cannot be its own baseline", remedy="Name another one.")
    if place and not other:
        return lineup.comparisons[place - 1]
    if other is None:
        return _report(lineup, place), None
    if not place:
        return _swap_sides(lineup.comparisons[other - 1])
    return _report(lineup, place), _report(lineup, other)


def _report(lineup: Lineup, place: int) -> Report:
    """A model's own scores, with its influences where the comparison keeps them."""
    comparison = lineup.comparisons[max(0, place - 1)]
    model, influences = comparison.b if place else comparison.a, comparison.influences

    def own(differences: Mapping[str, Difference]) -> dict[str, Any]:
        return {spec: d.b if place else d.a for spec, d in differences.items()}

    slices = {by: {value: own(one) for value, one in parts.items()} for by, parts in comparison.slices.items()}
    return Report(
        model.request, comparison.task_facts, own(comparison.differences), slices, model.coverage, model.sources,
        influences=None if influences is None else replace(influences, models=(influences.models[1 if place else 0],)),
    )  # fmt: skip


def _swap_sides(comparison: Comparison) -> Comparison:
    """The first model against another: every difference with its sign turned. Margins speak of one direction only."""

    def turn(d: Difference) -> Difference:
        interval = None if d.interval is None else (-d.interval[1], -d.interval[0])
        return replace(
            d, a=d.b, b=d.a, difference=-d.difference, interval=interval, verdict=_OPPOSITE.get(d.verdict, d.verdict),
            superiority=None if d.superiority is None else _other_way(d.superiority),
            margin=math.nan, margin_relative=math.nan, margin_verdict="", margin_level=math.nan,
        )  # fmt: skip

    slices = {
        by: {value: {spec: turn(d) for spec, d in one.items()} for value, one in parts.items()}
        for by, parts in comparison.slices.items()
    }
    differences = {spec: turn(d) for spec, d in comparison.differences.items()}
    return Comparison(comparison.task_facts, comparison.b, comparison.a, differences, slices, comparison.notes)


def _other_way(of: Superiority) -> Superiority:
    """The share of units on which A is better than B."""
    interval = None if of.interval is None else (1 - of.interval[1], 1 - of.interval[0])
    return replace(of, share=1 - of.share, interval=interval, better=of.worse, worse=of.better)


def _of_vlm(
    score: VlmScore, names: tuple[str, ...], place: int, baseline: str | None, source: str
) -> Comparison | Pair:
    rows = [(row, row.report) for row in score.rows if row.report]
    row, report = rows[place]
    if baseline is None:
        return report, None
    held = {"constant": row.constant, **row.controls}.get(baseline)
    if held is not None:
        return held
    for pair in score.pairs:
        if (pair.a, pair.b) == (baseline, names[place]):
            return pair.comparison
        if (pair.b, pair.a) == (baseline, names[place]):
            return _swap_sides(pair.comparison)
    other = _place(baseline, names, source)
    if other == place:
        raise Conflict("a model cannot be its own baseline", remedy="Name another one.")
    return report, rows[other][1]
