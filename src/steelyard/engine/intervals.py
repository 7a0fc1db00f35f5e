"""From bootstrap draws to an interval: percentile, BCa where the jackknife is cheap, centred where draws lean.

BCa (bias-corrected and accelerated; Efron 1987) shifts the percentiles by how far the draws lie from the estimate (z0)
and by how fast the spread changes with the value (a, from the jackknife).

Draws of a metric that takes a maximum (the envelope of average precision) all lean to one side of the estimate, as the
estimate itself leans from what endless data would give. What another test set of this size would score lies around the
estimate: so the draws are moved there.

Of few units, where a metric says so, the interval is the jackknife's with Student's t: draws of four units are too
narrow by a seventh.
"""

from __future__ import annotations

import numpy as np

from steelyard.core.weights import Floats

BCA_BELOW = 1000  # units; above, the percentiles agree and the jackknife costs
FEW_UNITS = 30
LEAST_UNITS = 4  # for a jackknife interval

Interval = tuple[float, float]


def percentile_interval(draws: Floats, confidence: float) -> Interval | None:
    """The middle part of the draws. Draws in which the metric is undefined say nothing and are left out."""
    return _quantiles(draws[~np.isnan(draws)], (1 - confidence) / 2, (1 + confidence) / 2)


def centred_interval(
    draws: Floats, estimate: float, confidence: float, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> Interval | None:
    """The middle part of the draws, moved so that their mean is the estimate; inside the metric's range."""
    found = percentile_interval(draws, confidence)
    if found is None:
        return None
    lean = float(np.nanmean(draws)) - estimate
    low, high = (min(max(end - lean, bounds[0]), bounds[1]) for end in found)
    return low, high


def bca_interval(draws: Floats, estimate: float, jackknife: Floats, confidence: float) -> Interval | None:
    """The BCa interval; the percentile interval where it has no answer (no spread, or all draws on one side)."""
    draws = draws[~np.isnan(draws)]
    jackknife = jackknife[~np.isnan(jackknife)]
    if not len(draws) or not len(jackknife):
        return percentile_interval(draws, confidence)
    below = (np.count_nonzero(draws < estimate) + np.count_nonzero(draws <= estimate)) / (2 * len(draws))
    deviation = jackknife.mean() - jackknife
    spread = float((deviation**2).sum())
    if not 0 < below < 1 or spread == 0:
        return percentile_interval(draws, confidence)
    from statistics import NormalDist  # costs 15 ms, and not every run makes intervals

    normal = NormalDist()
    shift = normal.inv_cdf(below)
    acceleration = float((deviation**3).sum()) / (6 * spread**1.5)

    def level(probability: float) -> float:
        z = shift + normal.inv_cdf(probability)
        scaled = 1 - acceleration * z
        return normal.cdf(shift + z / scaled) if scaled > 0 else float(z > 0)

    return _quantiles(draws, level((1 - confidence) / 2), level((1 + confidence) / 2))


def t_interval(
    estimate: float, jackknife: Floats, confidence: float, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> Interval | None:
    """The estimate and Student's t times the jackknife's standard error, inside the metric's range.

    None below four units, and where the metric is undefined without one of them.
    """
    units = len(jackknife)
    if units < LEAST_UNITS or np.isnan(jackknife).any():
        return None
    spread = float(((jackknife - jackknife.mean()) ** 2).sum())
    reach = student_t((1 + confidence) / 2, units - 1) * float(np.sqrt((units - 1) / units * spread))
    return max(estimate - reach, bounds[0]), min(estimate + reach, bounds[1])


def student_t(probability: float, degrees: int) -> float:
    """The quantile of Student's t above the median, by halving: the finite sums of whole degrees of freedom."""
    low, high = 0.0, 1.0
    while _below(high, degrees) < probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _below(middle, degrees) < probability else (low, middle)
    return high


def _below(t: float, degrees: int) -> float:
    """The chance of a value below t (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = np.arctan2(t, np.sqrt(degrees))
    sine, cosine = np.sin(angle), np.cos(angle)
    term, total = (cosine, cosine) if degrees % 2 else (1.0, 1.0)
    for step in range(3 if degrees % 2 else 2, degrees, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    if degrees == 1:
        inside = 2 * angle / np.pi
    elif degrees % 2:
        inside = 2 / np.pi * (angle + sine * total)
    else:
        inside = sine * total
    return float(0.5 + inside / 2)


def _quantiles(draws: Floats, low: float, high: float) -> Interval | None:
    if len(draws) < 2:
        return None
    a, b = np.quantile(draws, [low, high])
    return float(a), float(b)
