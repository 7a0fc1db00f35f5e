"""Models side by side: each against the first, over all units, in slices and by class. Used by `api.compare_all`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from steelyard.core.legacy import is_legacy
from steelyard.core.metric import Description, Metric, describe
from steelyard.core.pairs import Coverage
from steelyard.core.request import Request
from steelyard.core.slice import Slice, slice_key
from steelyard.core.state import State
from steelyard.core.task import Task
from steelyard.engine.compare import compare, judged_together
from steelyard.engine.measure import listed, measured, shown, unit_values
from steelyard.engine.slices import paired_slices
from steelyard.results.model import Comparison, Lineup, Provenance, UnitTable
from steelyard.results.score import Difference

Differences = dict[Slice, dict[str, Difference]]
Model = tuple[Any, State]


def lineup(
    kind: Task,
    chosen: Sequence[Metric],
    request: Request,
    models: Sequence[Model],
    coverage: Sequence[Coverage],
    sources: Sequence[Provenance],
    notes: Sequence[tuple[str, ...]],
) -> Lineup:
    """Compare each model with the first; verdicts are corrected for all of them together."""
    first, others = models[0], models[1:]
    confidence = 0.95 if request.confidence is None else request.confidence
    whole = judged_together(
        {str(i): compare(listed(first[1]), listed(other[1]), chosen, request) for i, other in enumerate(others)},
        confidence,
    )
    sliced: dict[Slice, list[Differences]] = {
        slice_key(names): _in_slices(kind, chosen, request, names, models) for names in request.by
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
                class_differences=_by_class(kind, request, first, other, confidence),
            )
        )
    return Lineup(tuple(comparisons))


def _in_slices(
    kind: Task, chosen: Sequence[Metric], request: Request, by: tuple[str, ...], models: Sequence[Model]
) -> list[Differences]:
    """For each model but the first, differences by slice; each metric is corrected for all slices and models."""
    confidence = 0.95 if request.confidence is None else request.confidence
    sides: list[Differences] = [{} for _ in models[1:]]
    for value, parts in paired_slices(models, by, lambda pairs: listed(measured(kind, pairs, chosen))).items():
        for side, part in zip(sides, parts[1:], strict=True):
            side[slice_key(value)] = compare(parts[0], part, chosen, request)
    for spec in map(str, chosen):
        family = {(i, value): {spec: found[spec]} for i, side in enumerate(sides) for value, found in side.items()}
        judged = judged_together(family, confidence)
        for (i, where), one in judged.items():
            sides[i][where][spec] = one[spec]
    return sides


def _unit_tables(kind: Task, chosen: Sequence[Metric], a: State, b: State) -> Callable[[], tuple[UnitTable, UnitTable]]:
    @cache
    def make() -> tuple[UnitTable, UnitTable]:
        first, second = (
            UnitTable(kind.unit, s.units.ids, unit_values(s, chosen)) for s in State.unified([listed(a), listed(b)])
        )
        return first, second

    return make


def _by_class(
    kind: Task, request: Request, a: Model, b: Model, confidence: float
) -> Callable[[], dict[str, Difference]] | None:
    """Differences class by class, corrected for all classes; made when a page asks for them."""
    metrics_of = kind.picture("class_metrics")
    if metrics_of is None:
        return None

    @cache
    def make() -> dict[str, Difference]:
        metrics = metrics_of(shown(State.unified([a[1], b[1]])[0]))
        if not metrics:
            return {}
        wanted = list(metrics.values())
        sides = [listed(side[1]) if is_legacy(side[1]) else measured(kind, side[0], wanted) for side in (a, b)]
        found = compare(sides[0], sides[1], wanted, request)
        judged = judged_together({"": found}, confidence)[""]
        return {name: judged[str(metric)] for name, metric in metrics.items()}

    return make
