"""Quantiles of the beta, Student's t and chi-squared distributions, for intervals and for planning.

Only numpy is needed. Both incomplete functions are continued fractions (Lentz's method), and a quantile is found by
Newton steps inside a bracket that shrinks, so it always ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from steelyard.core.weights import Floats

if TYPE_CHECKING:
    from statistics import NormalDist

_TINY = 1e-300
_MOST_TERMS = 10_000
_MOST_STEPS = 60


@cache
def normal() -> NormalDist:
    """The normal distribution. Its module is slow to import, so it waits until it is needed."""
    from statistics import NormalDist

    return NormalDist()


def log_gamma(x: ArrayLike) -> Floats:
    """The logarithm of the gamma function, for numbers above 0: Stirling's series behind eight steps of recurrence."""
    x = np.asarray(x, dtype=np.float64)
    low = x < 10
    shifted = np.where(low, x + 8, x)
    steps = np.where(low, x, 1.0)
    product = np.ones_like(x)
    for k in range(8):
        product = product * np.where(low, steps + k, 1.0)
    inverse = 1 / (shifted * shifted)
    series = (
        1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse * (1 / 1188))))
    ) / shifted
    stirling = (shifted - 0.5) * np.log(shifted) - shifted + 0.5 * math.log(2 * math.pi) + series
    return np.asarray(stirling - np.log(product))


def beta_cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """The regularised incomplete beta function I_x(a, b)."""
    x, a, b = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (x, a, b)))
    inside = np.clip(x, _TINY, 1 - 1e-16)
    front = np.exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * np.log(inside) + b * np.log1p(-inside))
    turned = inside > (a + 1) / (a + b + 2)
    first, second = np.where(turned, b, a), np.where(turned, a, b)
    share = front * _beta_fraction(np.where(turned, 1 - inside, inside), first, second) / first
    value = np.where(turned, 1 - share, share)
    return np.asarray(np.where(x <= 0, 0.0, np.where(x >= 1, 1.0, value)))


def _beta_fraction(x: Floats, a: Floats, b: Floats) -> Floats:
    """Lentz's continued fraction of the incomplete beta function; for x at most (a + 1) / (a + b + 2)."""
    c = np.ones_like(x)
    d = 1 / _away(1 - (a + b) * x / (a + 1))
    value = d.copy()
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _away(1 + even * d)
        c = _away(1 + even / c)
        value = value * d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / _away(1 + odd * d)
        c = _away(1 + odd / c)
        step = d * c
        value = value * step
        if (np.abs(step - 1) < 1e-14).all():
            break
    return value


def _away(x: Floats) -> Floats:
    return np.where(np.abs(x) < _TINY, _TINY, x)


def beta_quantile(p: float, a: ArrayLike, b: ArrayLike) -> Floats:
    """Where a beta distribution has a share p below it. Solved for the logit, so that both ends keep their digits."""
    a, b = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
    norm = log_gamma(a) + log_gamma(b) - log_gamma(a + b)
    mean, spread = a / (a + b), np.sqrt(a * b / (a + b + 1)) / (a + b)
    start = np.log(mean / (1 - mean)) + normal().inv_cdf(p) * np.minimum(spread / (mean * (1 - mean)), 3.0)

    def miss(y: Floats) -> Floats:
        return beta_cdf(1 / (1 + np.exp(-y)), a, b) - p

    def slope(y: Floats) -> Floats:
        return np.asarray(np.exp(-a * np.log1p(np.exp(-y)) - b * np.log1p(np.exp(y)) - norm))

    edge = np.full(a.shape, 700.0)
    return np.asarray(1 / (1 + np.exp(-_solve(miss, slope, start, -edge, edge))))


def _solve(
    miss: Callable[[Floats], Floats], slope: Callable[[Floats], Floats], start: Floats, low: Floats, high: Floats
) -> Floats:
    """Where a rising function is 0: Newton's steps, or half of the bracket where a step leaves it."""
    x = np.asarray(start, dtype=np.float64)
    for _ in range(_MOST_STEPS):
        off = miss(x)
        low, high = np.where(off < 0, x, low), np.where(off < 0, high, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            stepped = x - off / slope(x)
        stepped = np.where((stepped > low) & (stepped < high), stepped, (low + high) / 2)
        done = (np.abs(stepped - x) <= 1e-11 * (1 + np.abs(x))) | (np.abs(off) < 1e-15)
        x = np.where(np.abs(off) < 1e-15, x, stepped)
        if done.all():
            break
    return x


def t_quantile(p: float, df: float) -> float:
    """Where Student's t has a share p below it. `df` may be any number above 0, or infinite."""
    if math.isinf(df) or df > 1e7:
        return normal().inv_cdf(p)
    if p == 0.5:
        return 0.0
    tail = min(p, 1 - p)
    # t^2 / (df + t^2) is beta(1/2, df/2); its upper part, df / (df + t^2), keeps its digits in the tail.
    x = float(beta_quantile(2 * tail, df / 2, 0.5))
    size = math.sqrt(df * (1 - x) / x)
    return size if p > 0.5 else -size


def t_tail(t: float, df: float) -> float:
    """The two-sided tail of Student's t."""
    if math.isinf(df) or df > 1e7:
        return 2 * normal().cdf(-abs(t))
    return float(beta_cdf(df / (df + t * t), df / 2, 0.5))


def gamma_cdf(x: float, a: float) -> float:
    """The regularised lower incomplete gamma function P(a, x)."""
    if x <= 0:
        return 0.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for k in range(1, _MOST_TERMS):
            term *= x / (a + k)
            total += term
            if term < total * 1e-16:
                break
        return total * front
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / b
    value = d
    for k in range(1, _MOST_TERMS):
        part = -k * (k - a)
        b += 2
        d = 1 / _far(part * d + b)
        c = _far(b + part / c)
        value *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return 1 - front * value


def _far(x: float) -> float:
    return _TINY if abs(x) < _TINY else x


def chi2_quantile(p: float, df: float) -> float:
    """Where chi-squared has a share p below it."""
    a = df / 2
    spread = 1 / (9 * a)
    start = max(a * (1 - spread + normal().inv_cdf(p) * math.sqrt(spread)) ** 3, 1e-8)
    high = start
    while gamma_cdf(high, a) < p:
        high *= 2

    def slope(x: Floats) -> Floats:
        return np.exp((a - 1) * np.log(x) - x - math.lgamma(a))

    def miss(x: Floats) -> Floats:
        return np.asarray(gamma_cdf(float(x), a) - p)

    return 2 * float(_solve(miss, slope, np.asarray(start), np.asarray(0.0), np.asarray(high)))
