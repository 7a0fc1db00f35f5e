"""Two finished results against each other, without the data: from their draws where they are paired, else from their
intervals.

A bootstrap draw weighs a unit by (seed, unit id, draw) alone, so the draws of two models on the same truth are paired
though neither run knew of the other. What finished results do not allow is the randomisation of `compare`: it
needs what was measured in each unit.
"""

from __future__ import annotations

import math

import numpy as np

from steelyard.core.frozen import Frozen
from steelyard.core.weights import Floats
from steelyard.engine.flips import tail_bound
from steelyard.engine.intervals import Interval
from steelyard.engine.quantiles import normal, t_quantile, t_tail
from steelyard.results.score import Score

ENOUGH = 10  # draws as extreme as what was seen: fewer count badly


class DifferenceEstimate(Frozen):
    """How far a value lies from a bound: the difference, its interval, and the two-sided p of no difference."""

    difference: float
    interval: Interval | None
    p: float
    se: float = math.nan
    df: float = math.nan


def by_draws(difference: float, draws: Floats, confidence: float, df: float = math.inf) -> DifferenceEstimate:
    """From paired draws of the difference, whose spread is its standard error; `df` is how many degrees of freedom
    the scores say that they have.

    p is the bootstrap test of a shifted world (Efron and Tibshirani 1993, chapter 16): the draws, moved so that their
    world has no difference, and the share of them that lie at least as far out as what was seen. Where fewer than ten
    do, so that they count badly, it is a bound of the tail where that is smaller.
    """
    draws = draws[~np.isnan(draws)]
    if math.isnan(difference) or len(draws) < 2:
        return DifferenceEstimate(difference, None, math.nan)
    size = float(np.abs(draws).max()) + abs(difference)
    # Equal up to rounding is as extreme; two equal models have no draw that differs, and p is 1.
    extreme = np.count_nonzero(np.abs(draws - difference) >= abs(difference) - 1e-12 * size)
    se = float(draws.std(ddof=1))
    p = float((1 + extreme) / (1 + len(draws)))
    if extreme < ENOUGH and se > 0:
        z = abs(difference) / se
        p = min(p, max(tail_bound(z), t_tail(z, df)))
    ends = (
        difference - t_quantile((1 + confidence) / 2, df) * se,
        difference + t_quantile((1 + confidence) / 2, df) * se,
    )
    return DifferenceEstimate(difference, ends, p, se)


def least_df(*scores: Score) -> float:
    """The degrees of freedom that a difference of scores has at least; endless where none of them says."""
    return min(map(degrees_of_freedom, scores), default=math.inf)


def by_intervals(
    difference: float, errors: tuple[float, float], confidence: float, df: tuple[float, float] = (math.inf, math.inf)
) -> DifferenceEstimate:
    """From two standard errors with their degrees of freedom, as if the two results were independent: Welch's t."""
    error = math.hypot(*errors)
    if math.isnan(difference) or math.isnan(error):
        return DifferenceEstimate(difference, None, math.nan)
    if error == 0:
        return DifferenceEstimate(difference, (difference, difference), float(difference == 0))
    # Satterthwaite's degrees of freedom, by the share that each has in the variance.
    inverse = sum((one / error) ** 4 / degrees for one, degrees in zip(errors, df, strict=True))
    together = 1 / inverse if inverse > 0 else math.inf
    reach = t_quantile((1 + confidence) / 2, together) * error
    p = t_tail(abs(difference) / error, together)
    return DifferenceEstimate(difference, (difference - reach, difference + reach), p, error, together)


def degrees_of_freedom(score: Score) -> float:
    """How many degrees of freedom the standard error of a score has; endless where the score does not say."""
    return score.df if score.df > 0 else math.inf


def standard_error(score: Score, confidence: float | None) -> float:
    """The standard error of a score: its own, or that of a normal value with its interval; nan where there is none."""
    interval = score.interval
    if score.se > 0:
        return score.se
    if interval is None or confidence is None:
        return math.nan
    return (interval[1] - interval[0]) / (2 * normal().inv_cdf((1 + confidence) / 2))
