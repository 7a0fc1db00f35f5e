"""Two models on the same units: the difference, how sure it is, and whether chance could have made it.

The interval rests on the paired bootstrap and jackknife: both models are weighed alike. The p-value is a paired
randomisation over units: each unit's two results are swapped or not by a coin, and p is the share of such worlds with a
difference at least as large. `families` corrects it for all that is shown together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from steelyard.core.metric import Metric
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.totals import Totals
from steelyard.core.weights import EverySwap, Floats
from steelyard.engine.families import UnjudgedDifference, exact_p, p_value
from steelyard.engine.intervals import (
    FEW_UNITS,
    LINE,
    Estimate,
    Interval,
    Sample,
    by_jackknife,
    of_difference,
    of_distances,
)
from steelyard.engine.margins import Margin, margin_verdict, margins_of
from steelyard.engine.planning import showable
from steelyard.engine.score import left_rows, nothing_drawn, remarks, sample_of
from steelyard.engine.sequence import sequenced_difference
from steelyard.engine.sides import Side
from steelyard.results.score import Difference, Direction

MOST_LISTED = 12  # units of which all swaps are walked


def compare(
    first: Side, second: Side, metrics: Sequence[Metric], request: Request, *, same: bool = False
) -> dict[str, UnjudgedDifference]:
    """B against A, metric by metric, not judged yet.

    `same` says that the two predictions are one: then no difference is a fact, and not a finding.
    """
    both = (first, second)
    a, stacked = first.state, State.stack([side.state for side in both])
    plain, drawn, scores = [s.plain for s in both], [s.drawn for s in both], [s.scores for s in both]
    values = [[float(totals.of(metric)[0]) for metric in metrics] for totals in plain]
    both_left = [side.left_out for side in both if side.left_out is not None]
    sample = sample_of(a.units)
    swaps = Totals(stacked, first.worlds)
    listed = any(metric.few == "t" for metric in metrics) and a.units.drawn <= MOST_LISTED
    cluster = None if a.units.cluster is None else a.units.drawn_as[1]
    swapped = [EverySwap(a.units.own, cluster=cluster, other=second) for second in (False, True)] if listed else []
    every = [Totals(stacked, weights) for weights in swapped]

    confidence = 0.95 if request.confidence is None else request.confidence
    margins = margins_of({spec: m for spec, m in request.margin.items() if spec in set(map(str, metrics))}, metrics)
    differences: dict[str, UnjudgedDifference] = {}
    for metric, value_a, value_b in zip(metrics, *values, strict=True):
        spec = str(metric)
        value = float(_goodness(metric, np.array([value_b]))[0] - _goodness(metric, np.array([value_a]))[0])
        estimate, worlds, size, p, method, least = Estimate(), None, math.nan, math.nan, "", math.nan
        if a.units.drawn < 2:
            estimate = nothing_drawn(a.units, request)
        elif not np.isnan(value):
            left = _difference(metric, both_left) if len(both_left) == 2 else None
            few = metric.few == "t" and a.units.drawn < FEW_UNITS and left is not None
            if few and left is not None and not metric.total:
                estimate = by_jackknife(value, left_rows(a.units, left), LINE, confidence)
            elif not metric.total:
                estimate = _estimate(metric, plain, drawn, both_left, first, sample, confidence)
            if same:
                estimate = Estimate((0.0, 0.0), 0.0, estimate.df)
            swapped_a, swapped_b = first.worlds.sides(_goodness(metric, swaps.of(metric)))
            moved = swapped_b - swapped_a
            # As the worlds are made, which may be in single precision.
            worlds, size = moved[:-1].astype(np.float32), min(abs(value), abs(float(moved[-1])))
            p, method = p_value(size, worlds)
            if few and every:
                all_worlds = _difference(metric, every)
                p, method = exact_p(value, all_worlds), "all swaps"
                least = exact_p(float(np.nanmax(np.abs(all_worlds))), all_worlds)
            if request.sequence is not None and not metric.total:
                states = (first.state, second.state)
                estimate, p, method = sequenced_difference(metric, states, value, estimate, request)
                worlds, least = None, math.nan
        differences[spec] = UnjudgedDifference(
            Difference(
                spec=spec,
                label=metric.label,
                a=scores[0][spec],
                b=scores[1][spec],
                difference=value,
                interval=estimate.interval,
                p=p,
                p_holm=math.nan,
                verdict="",
                units=scores[0][spec].units,
                why=scores[0][spec].why or scores[1][spec].why,
                better=cast("Direction", metric.better),
                measured_in=metric.measured_in,
                se=estimate.se,
                df=estimate.df,
                notes=remarks(spec, estimate),
                p_method=method,
                showable=showable(estimate.se, estimate.df, confidence),
                **_margin(margins.get(spec), metric, value, drawn, both_left, plain, sample, estimate, confidence),
            ),
            worlds,
            size,
            least,
        )
    return differences


def _estimate(
    metric: Metric,
    plain: Sequence[Totals],
    drawn: Sequence[Totals],
    left_out: Sequence[Totals],
    side: Side,
    sample: Sample,
    confidence: float,
) -> Estimate:
    """The interval of the difference. Of distances from the best value, it is made from what has a sign."""
    best = _best(metric)

    def signed(turn: float) -> tuple[float, Estimate]:
        """B's value plus or less A's, both from the best value."""

        def joined(sides: Sequence[Totals]) -> Floats:
            first, second = (totals.of(metric) - (best or 0.0) for totals in sides)
            return second + turn * first

        at, left = float(joined(plain)[0]), joined(left_out) if len(left_out) == 2 else None
        agreeing = partial(side.agreeing, metric, sample)
        return at, of_difference(at, joined(drawn), left, metric.range, sample, confidence, agreeing)

    gap, of_gap = signed(-1.0)
    if best is None:
        return of_gap
    total, of_total = signed(1.0)
    return of_distances(gap, total, of_gap, of_total)


def _margin(
    margin: Margin | None,
    metric: Metric,
    value: float,
    drawn: Sequence[Totals],
    left_out: Sequence[Totals],
    plain: Sequence[Totals],
    sample: Sample,
    estimate: Estimate,
    confidence: float,
) -> dict[str, Any]:
    """What a difference says of a margin. A share of A's value is as uncertain as that value, and is drawn with it."""
    if margin is None or math.isnan(value):
        return {}
    turn = 1.0 if metric.better == "higher" else -1.0

    def gained(sides: Sequence[Totals], part: float) -> Floats:
        lost = np.abs(_goodness(metric, sides[0].of(metric))) * margin.size if margin.relative else margin.size
        return turn * _difference(metric, sides) + part * lost

    ends: list[Interval | None] = []
    for part in (1.0, -1.0):
        at = float(gained(plain, part)[0])
        if margin.relative:
            left = gained(left_out, part) if len(left_out) == 2 else None
            ends.append(of_difference(at, gained(drawn, part), left, _bounds(metric), sample, confidence).interval)
        else:
            away = at - turn * value
            low, high = sorted(turn * end for end in estimate.interval) if estimate.interval else (-math.inf, math.inf)
            ends.append((low + away, high + away))
    size = margin.size * abs(float(_goodness(metric, plain[0].of(metric))[0])) if margin.relative else margin.size
    return {
        "margin": size,
        "margin_relative": margin.size if margin.relative else math.nan,
        "margin_verdict": margin_verdict(ends[0], ends[1]),
        "margin_level": (1 - confidence) / 2,
    }


def _best(metric: Metric) -> float | None:
    """The best value of a metric that is best neither high nor low."""
    return {"zero": 0.0, "one": 1.0}.get(metric.better)


def _goodness(metric: Metric, value: Floats) -> Floats:
    """The value, or its distance from the best one for a metric that is best at zero or at one."""
    best = _best(metric)
    return value if best is None else np.abs(value - best)


def _bounds(metric: Metric) -> Interval:
    """The range of what is compared: the metric's, or that of its distance from the best value."""
    best, (low, high) = _best(metric), metric.range
    return (low, high) if best is None else (0.0, max(high - best, best - low))


def _difference(metric: Metric, sides: Sequence[Totals]) -> Floats:
    """The second side's value less the first's."""
    first, second = (_goodness(metric, totals.of(metric)) for totals in sides)
    return second - first
