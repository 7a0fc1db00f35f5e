"""On how many units one model is better than another: the share with its interval, and a test against one half."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import Unsupported
from steelyard.core.metric import Metric
from steelyard.core.plan import JACKKNIFE, POINT
from steelyard.core.request import Request
from steelyard.core.weights import Floats, Weights
from steelyard.engine.families import UnjudgedDifference
from steelyard.engine.flips import Coins, flip_test, influences
from steelyard.engine.intervals import SAME, by_range
from steelyard.engine.score import left_rows, sample_of
from steelyard.engine.sides import ComparedModel
from steelyard.results.score import Superiority

HALF = 0.5


def superiority(metric: Metric, first: ComparedModel, second: ComparedModel, request: Request) -> Superiority | None:
    """The share of units on which B is better than A, ties counting half.

    None for a metric that has no better direction, or no value for single units.
    """
    a, b = first.unit_values(metric), second.unit_values(metric)
    units = first.state.units
    rows = np.flatnonzero(~np.isnan(a) & ~np.isnan(b) & (units.unit_counts > 0))
    if metric.better == "none" or not len(rows):
        return None
    won = _win_shares(metric, a[rows], b[rows])
    excluded = int((units.unit_counts > 0).sum()) - len(rows)
    units = units.take(rows)

    def shares(weights: Weights) -> Floats:
        totals = weights @ np.stack([won, np.ones(len(won))], axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(totals[:, 1] > 0, totals[:, 0] / totals[:, 1], math.nan)

    share, interval, p = float(shares(POINT.bind(units))[0]), None, math.nan
    if units.n_resampled > 1:
        confidence = request.level
        left = shares(JACKKNIFE.bind(units))
        interval = by_range(
            share, shares(request.plan.bind(units)), left, (0.0, 1.0), sample_of(units), confidence
        ).interval
        moved = influences({metric: left_rows(units, left)}, Coins.of(units, request.seed, request.draws))[metric]
        p = flip_test(share - HALF, moved, confidence).p
    counts = [int(np.count_nonzero(won == outcome)) for outcome in (1.0, 0.0, HALF)]
    return Superiority(share, interval, p, counts[0], counts[1], counts[2], excluded)


def _win_shares(metric: Metric, a: Floats, b: Floats) -> Floats:
    """1 for each unit on which B is better, 0 where A is, a half where both are equal up to rounding."""
    best = {"zero": 0.0, "one": 1.0}.get(metric.better)
    if best is not None:
        a, b = -np.abs(a - best), -np.abs(b - best)
    elif metric.better == "lower":
        a, b = -a, -b
    with np.errstate(invalid="ignore"):
        equal = (a == b) | (np.abs(b - a) <= SAME * np.maximum(np.abs(a), np.abs(b)))
    return np.where(equal, HALF, (b > a).astype(np.float64))


def check_superiority(
    metrics: Sequence[Metric], differences: Mapping[str, UnjudgedDifference], request: Request, unit: str
) -> tuple[str, ...]:
    """Raise InputError where a metric that was named has no superiority, or none has; a note for the other metrics."""
    if not request.superiority:
        return ()
    lacking = [metric for metric in metrics if differences[str(metric)].difference.superiority is None]
    if lacking and (request.metrics is not None or len(lacking) == len(metrics)):
        metric = lacking[0]
        why = "has no better direction" if metric.better == "none" else f"has no value for a single {unit}"
        raise Unsupported(
            f"superiority of '{metric}' is not defined: the metric {why}",
            remedy="Leave the metric or superiority out.",
        )
    if not lacking:
        return ()
    named = ", ".join(str(metric) for metric in lacking)
    return (f"Superiority is not defined for {count_text(len(lacking), 'metric')}: {named}.",)
