"""Confidence sequences: intervals that hold at every look while data grow, however often one looks.

*Betting* (Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting), for means of unit
scores that lie in a range. Against each mean m a gambler bets on the scores, at fixed stakes of which each has a part
of the money. If m is the mean, the money stays below 1 / alpha for ever with probability 1 - alpha, so that what makes
anyone rich is not the mean. The stakes are fixed and not learned: the interval does not depend on the order of units.

*Normal mixture* (Robbins 1970; Waudby-Smith and others 2024), for any metric with a standard error: it is approximate,
and only for 100 units or more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.core.errors import MissingData, Unsupported
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT, WeightPlan
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.statistic import RankingReader
from steelyard.core.weights import Floats, Role
from steelyard.engine.intervals import Bounds, Estimate, Interval
from steelyard.engine.measure import unit_values
from steelyard.results.score import Score

STAKES = np.geomspace(1e-4, 0.99, 60)  # shares of the largest stake that can lose no more than the money
STEPS = 60
BEST_AT = 250  # units at which the normal mixture is narrowest
LEAST_UNITS = 100  # of the normal mixture
TRIED = 32  # draws under which a metric is held to be a mean
NEAR = 1e-9
EXACT = "holds at every look (betting)"
APPROXIMATE = "holds at every look, approximate (normal mixture)"


def betting_interval(scores: Floats, bounds: Bounds, confidence: float) -> Interval:
    """The interval of the mean of scores, each of which lies in the bounds."""
    low, high = bounds
    x = (np.asarray(scores, dtype=np.float64) - low) / (high - low)
    x = np.clip(x, 0.0, 1.0)
    wealth = math.log(2 / (1 - confidence))  # half of the money is for either side
    lower = _lower_end(x, wealth)
    upper = 1 - _lower_end(1 - x, wealth)
    return low + (high - low) * lower, low + (high - low) * upper


def betting_p(scores: Floats, bounds: Bounds, mean: float) -> float:
    """The p of a mean that holds at every look: one over the money that the better side made."""
    low, high = bounds
    x = np.clip((np.asarray(scores, dtype=np.float64) - low) / (high - low), 0.0, 1.0)
    m = (mean - low) / (high - low)
    log_money = max(_log_money(x, m), _log_money(1 - x, 1 - m))
    return min(1.0, 2 * math.exp(-log_money)) if log_money > 0 else 1.0


def _lower_end(x: Floats, wealth: float) -> float:
    """The smallest mean at which a gambler on larger scores stays poor; the money falls with the mean."""
    low, high = 0.0, float(x.mean())
    if high <= 0:
        return 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and _log_money(x, middle) >= wealth else (low, middle)
    return low


def _log_money(x: Floats, mean: float) -> float:
    """The logarithm of the money of one who bets on scores above the mean."""
    if mean <= 0:
        return math.inf if (x > 0).any() else 0.0
    values, counts = np.unique(x, return_counts=True)
    each = np.log1p(STAKES[:, np.newaxis] * (values / mean - 1)) @ counts
    most = float(each.max())
    return most + math.log(float(np.exp(each - most).mean()))


def mixture_reach(units: int, confidence: float) -> float:
    """So many standard errors reach the ends of a normal mixture."""
    times = _times(units, confidence)
    return math.sqrt(2 * (1 + 1 / times) * math.log(math.sqrt(times + 1) / (1 - confidence)))


def mixture_p(z: float, units: int, confidence: float) -> float:
    """The p of a difference of z standard errors: the level at which the normal mixture ends there."""
    times = _times(units, confidence)
    return min(1.0, math.sqrt(times + 1) * math.exp(-z * z / (2 * (1 + 1 / times))))


def _times(units: int, confidence: float) -> float:
    wide = -2 * math.log(1 - confidence)
    return units * (wide + math.log(wide + 1)) / BEST_AT


def unit_scores(state: State, metric: Metric) -> Floats | None:
    """Each unit's own score, where the metric is their mean whatever the units' weights; else None.

    That is tried under drawn weights. Of units that all agree it shows nothing, so that there a metric must declare
    that it is one proportion. A curve of a ranking is never a mean.
    """
    units = state.units
    if not units.unweighted or not all(map(math.isfinite, metric.range)) or metric.total:
        return None
    if any(isinstance(statistic, RankingReader) for statistic in metric.requirements()):
        return None
    own = unit_values(state, [metric])[str(metric)]
    if np.isnan(own).any() or own.min() < metric.range[0] - NEAR or own.max() > metric.range[1] + NEAR:
        return None
    if own.min() == own.max():
        parts = metric.proportions(state.totals(POINT).only(metric.requirements()))
        if parts is None or np.asarray(parts[0]).size != 1:
            return None
    tried = state.totals(WeightPlan(Role.DRAWS, rows=TRIED))
    sums = tried.weights @ np.stack([own, np.ones(len(own))], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums[:, 0] / sums[:, 1]
    defined = sums[:, 1] > 0
    if not np.allclose(tried.of(metric)[defined], means[defined], rtol=1e-9, atol=NEAR):
        return None
    return own if units.copies is None else np.repeat(own, units.copies)


def sequential_scores(
    state: State, metrics: Sequence[Metric], scores: Mapping[str, Score], request: Request
) -> dict[str, Score]:
    """The scores with intervals that hold at every look."""
    assert request.confidence is not None
    changed = dict(scores)
    for metric in metrics:
        score = scores[str(metric)]
        if math.isnan(score.value) or metric.total or state.units.count < 2:
            continue
        own = unit_scores(state, metric)
        interval: Interval | None
        if own is not None:
            interval, guarantee = betting_interval(own, metric.range, request.confidence), EXACT
        else:
            reach = approximate_reach(metric, score.units, request)
            interval, guarantee = _cut(score.value, reach * score.se, metric.range), APPROXIMATE
        note = f"{score.spec}: the interval {guarantee}."
        changed[score.spec] = replace(score, interval=interval, notes=(*score.notes, note), why_no_interval="")
    return changed


def sequenced_difference(
    metric: Metric, states: tuple[State, State], value: float, estimate: Estimate, request: Request
) -> tuple[Estimate, float, str]:
    """The interval of a difference, its p and how it was computed; all hold at every look."""
    assert request.confidence is not None
    own = [unit_scores(state, metric) for state in states]
    if metric.better not in ("zero", "one") and own[0] is not None and own[1] is not None:
        width = metric.range[1] - metric.range[0]
        between, bounds = own[1] - own[0], (-width, width)
        interval = betting_interval(between, bounds, request.confidence)
        p = betting_p(between, bounds, 0.0)
        return replace(estimate, interval=interval, notes=(f"difference {EXACT}",)), p, "betting"
    units = states[0].units.count
    reach = approximate_reach(metric, units, request)
    p = mixture_p(abs(value) / estimate.se, units, request.confidence) if estimate.se > 0 else 1.0
    ends = (value - reach * estimate.se, value + reach * estimate.se)
    return replace(estimate, interval=ends, notes=(f"difference {APPROXIMATE}",)), p, "normal mixture, approximate"


def approximate_reach(metric: Metric, units: int, request: Request) -> float:
    """So many standard errors an approximate sequence reaches; refused where it was not asked for, or cannot hold."""
    assert request.confidence is not None
    if request.sequence != "approximate":
        raise Unsupported(
            f"'{metric}' is not a mean of bounded unit scores, so it has no exact confidence sequence",
            remedy="Choose other metrics or `sequence='approximate'`, or count the looks of a gate.",
        )
    if units < LEAST_UNITS:
        raise MissingData(
            f"'{metric}' has no sequence with {units} units: an approximate one needs {LEAST_UNITS}",
            remedy="Count looks in the ledger of a gate, or add units.",
        )
    return mixture_reach(units, request.confidence)


def _cut(value: float, reach: float, bounds: Bounds) -> Interval | None:
    return None if math.isnan(reach) else (max(value - reach, bounds[0]), min(value + reach, bounds[1]))
