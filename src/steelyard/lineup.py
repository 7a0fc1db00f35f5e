"""Models side by side: each against the first, over all units, in slices and by class. Used by `api.compare_all`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from steelyard.core.metric import Description, Metric, describe
from steelyard.core.pairs import Coverage
from steelyard.core.score import Difference
from steelyard.core.stats import Stats
from steelyard.core.task import Task
from steelyard.core.weights import EachUnit
from steelyard.report.model import Comparison, Lineup, Provenance, UnitTable
from steelyard.stats.bootstrap import Resampling
from steelyard.stats.compare import compare, judged_together
from steelyard.stats.slices import paired_slices

Differences = dict[str, dict[str, Difference]]


def lineup(
    kind: Task,
    chosen: Sequence[Metric],
    how: Resampling,
    by: Sequence[tuple[str, ...]],
    models: Sequence[tuple[Any, Stats]],
    coverage: Sequence[Coverage],
    sources: Sequence[Provenance],
    notes: Sequence[tuple[str, ...]],
) -> Lineup:
    """Compare each model with the first; verdicts are corrected for all of them together."""
    first, others = models[0], models[1:]
    confidence = 0.95 if how.confidence is None else how.confidence
    whole = judged_together(
        {str(i): compare(first[1], other[1], chosen, how) for i, other in enumerate(others)}, confidence
    )
    sliced: dict[str, list[Differences]] = {
        ",".join(names): _in_slices(kind, chosen, how, names, models) for names in by
    }

    def about() -> dict[str, Description]:
        return {str(metric): describe(type(metric)) for metric in chosen}

    comparisons = []
    for i, other in enumerate(others):
        comparisons.append(
            Comparison(
                task=kind.name,
                unit=kind.unit,
                differences=whole[str(i)],
                coverage_a=coverage[0],
                coverage_b=coverage[i + 1],
                provenance_a=sources[0],
                provenance_b=sources[i + 1],
                notes=notes[i],
                slices={name: parts[i] for name, parts in sliced.items()},
                title=kind.title,
                about=about,
                unit_tables=_unit_tables(kind, chosen, first[1], other[1]),
                class_differences=_by_class(kind, how, first[1], other[1], confidence),
            )
        )
    return Lineup(tuple(comparisons))


def _in_slices(
    kind: Task, chosen: Sequence[Metric], how: Resampling, by: tuple[str, ...], models: Sequence[tuple[Any, Stats]]
) -> list[Differences]:
    """For each model but the first, differences by slice; each metric is corrected for all slices and models."""
    confidence = 0.95 if how.confidence is None else how.confidence
    sides: list[Differences] = [{} for _ in models[1:]]
    for value, parts in paired_slices(models, by, kind.measure).items():
        for side, part in zip(sides, parts[1:], strict=True):
            side[value] = compare(parts[0], part, chosen, how)
    for spec in map(str, chosen):
        family = {f"{i} {value}": {spec: found[spec]} for i, side in enumerate(sides) for value, found in side.items()}
        judged = judged_together(family, confidence)
        for i, side in enumerate(sides):
            for value, found in side.items():
                found[spec] = judged[f"{i} {value}"][spec]
    return sides


def _unit_tables(kind: Task, chosen: Sequence[Metric], a: Stats, b: Stats) -> Callable[[], tuple[UnitTable, UnitTable]]:
    @cache
    def make() -> tuple[UnitTable, UnitTable]:
        first, second = (
            UnitTable(kind.unit, s.units, {str(m): m.reduce(s, EachUnit(len(s))) for m in chosen})
            for s in Stats.unified([a.by_unit(), b.by_unit()])
        )
        return first, second

    return make


def _by_class(
    kind: Task, how: Resampling, a: Stats, b: Stats, confidence: float
) -> Callable[[], dict[str, Difference]] | None:
    """Differences class by class, corrected for all classes; made when a page asks for them."""
    metrics_of = kind.picture("class_metrics")
    if metrics_of is None:
        return None

    @cache
    def make() -> dict[str, Difference]:
        metrics = metrics_of(Stats.unified([a, b])[0])
        if not metrics:
            return {}
        found = compare(a, b, list(metrics.values()), how)
        judged = judged_together({"": found}, confidence)[""]
        return {name: judged[str(metric)] for name, metric in metrics.items()}

    return make
