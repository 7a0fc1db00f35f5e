"""Scores with intervals: the plain value, then the same reduction under bootstrap draws of units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from steelyard.core.legacy import is_legacy
from steelyard.core.metric import Metric
from steelyard.core.plan import COUNT, JACKKNIFE, POINT
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.totals import Totals
from steelyard.core.weights import Floats, Weights
from steelyard.engine.intervals import (
    BCA_BELOW,
    FEW_UNITS,
    Interval,
    bca_interval,
    centred_interval,
    percentile_interval,
    t_interval,
)
from steelyard.results.score import Direction, Score

_Drawn = tuple[Interval | None, Floats | None]


def score(
    state: State,
    metrics: Sequence[Metric],
    request: Request,
    shared: Weights | None = None,
    listed: Callable[[], State] | None = None,
) -> dict[str, Score]:
    """Score every metric; all share the draws, and one pass over them. `shared`: draws that others need as well.

    `listed` gives the same state with every unit a row of its own, where units are counted.
    """
    point = state.totals(POINT)
    values = [float(point.of(metric)[0]) for metric in metrics]
    units = state.units.count
    nothing: list[_Drawn] = [(None, None)] * len(metrics)
    drawn = _intervals(state, metrics, values, point, request, shared) if units > 1 else nothing
    counted = point if state.units.unweighted else state.totals(COUNT)
    if request.save_draws and units > 1 and state.units.alike and listed is not None:
        # Drawn by kind of unit; only draws by unit are paired between models.
        each = listed()
        again = _intervals(each, metrics, values, each.totals(POINT), request)
        drawn = [(interval, draws) for (interval, _), (_, draws) in zip(drawn, again, strict=True)]
    return {
        str(metric): _score(metric, counted, value, interval, units, draws if request.save_draws else None)
        for metric, value, (interval, draws) in zip(metrics, values, drawn, strict=True)
    }


def _intervals(
    state: State,
    metrics: Sequence[Metric],
    values: Sequence[float],
    point: Totals,
    request: Request,
    shared: Weights | None = None,
) -> list[_Drawn]:
    if request.confidence is None:
        return [(None, None)] * len(metrics)
    drawn = Totals(state, request.plan.bind(state.units) if shared is None else shared)
    announce(drawn.weights, point)
    left_out = state.totals(JACKKNIFE)
    found: list[_Drawn] = []
    for metric, value in zip(metrics, values, strict=True):
        if np.isnan(value):
            found.append((None, None))
            continue
        draws = drawn.of(metric)
        if metric.total:
            interval = None
        elif metric.few == "t" and state.units.count < FEW_UNITS:
            interval = t_interval(value, left_out.of(metric)[state.units.counted > 0], request.confidence, metric.range)
        elif metric.leans:
            interval = centred_interval(draws, value, request.confidence, metric.range)
        elif not state.units.alike and len(state) < BCA_BELOW:
            interval = bca_interval(draws, value, left_out.of(metric), request.confidence)
        else:
            interval = percentile_interval(draws, request.confidence)
        found.append((interval, draws if request.save_draws else None))
    return found


def announce(drawn: Weights, plain: Totals) -> None:
    """Tell draws of the columns that metrics of stats asked for, so that one pass serves all. A state joins its own."""
    seen = getattr(plain.weights, "seen", None)
    prefetch = getattr(drawn, "prefetch", None)
    if is_legacy(plain.state) and seen and prefetch is not None:
        prefetch(seen.values())


def _score(
    metric: Metric,
    counted: Totals,
    value: float,
    interval: Interval | None,
    units: int,
    draws: Floats | None,
) -> Score:
    undefined = np.isnan(value)
    asked = metric.adapted()
    counts = counted.only(asked.needs())
    count, what = asked.left_out(counts)
    return Score(
        spec=str(metric),
        label=metric.label,
        value=value,
        interval=interval,
        units=units,
        undefined=round(count),
        left_out=what if count else "",
        why=asked.why(counts) if undefined else "",
        notes=() if undefined else asked.notes(counts),
        better=cast(Direction, metric.better),
        measured_in=metric.measure,
        draws=draws,
    )
