"""Quantiles of the beta, Student's t and chi-squared distributions, for intervals and for planning.

Only numpy is needed. Both incomplete functions are continued fractions (Lentz's method), and a quantile is found by
Newton steps inside a bracket that shrinks, so it always ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from steelyard.core.weights import Floats

if TYPE_CHECKING:
    from statistics import NormalDist

_TINY = 1e-300
_MOST_TERMS = 10_000
_SMALL_STEP = 1e-14
_FEW_NUMBERS = 16
_MOST_STEPS = 60
_EXPANDED_FROM = 5  # smaller parameter of a beta, from which its quantile is sought from an expansion
_EXPANDED_ALONE = 30_000  # and from which the expansion is enough
_MOST_T_STEPS = 500  # with less than one degree of freedom the root lies far out


@cache
def normal() -> NormalDist:
    """The normal distribution. Its module is slow to import, so it waits until it is needed."""
    from statistics import NormalDist

    return NormalDist()


# Wichura (1988), algorithm AS 241: numerator and denominator around the middle, in the tail and far out in it.
_MIDDLE = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)  # fmt: skip
_TAIL = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
     3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1.0),
)  # fmt: skip
_FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580, 5.46378491116411436990, 6.65790464350110377720),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)  # fmt: skip


def normal_quantile(p: float) -> float:
    """Where the normal distribution has a share p below it, between 0 and 1."""
    from_middle = p - 0.5
    if abs(from_middle) <= 0.425:
        return from_middle * _ratio(_MIDDLE, 0.180625 - from_middle * from_middle)
    root = math.sqrt(-math.log(p if from_middle < 0 else 1 - p))
    size = _ratio(_TAIL, root - 1.6) if root <= 5 else _ratio(_FAR, root - 5)
    return -size if from_middle < 0 else size


def _ratio(polynomials: tuple[tuple[float, ...], tuple[float, ...]], x: float) -> float:
    """One polynomial over another, each from its highest power down."""
    above, below = 0.0, 0.0
    for a, b in zip(*polynomials, strict=True):
        above, below = above * x + a, below * x + b
    return above / below


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


def _beta_fraction(x: Any, a: Any, b: Any) -> Any:
    """Lentz's continued fraction of the incomplete beta function; for x at most (a + 1) / (a + b + 2).

    Of numbers or of arrays. A few numbers are many times faster as Python's own; they take as many terms as an array.
    """
    if isinstance(x, float):
        return next(value for value, off in _beta_terms(x, a, b) if off < _SMALL_STEP)
    if x.size > _FEW_NUMBERS:
        return next(value for value, off in _beta_terms(x, a, b) if off.max() < _SMALL_STEP)
    each = [_beta_terms(*numbers) for numbers in zip(*(one.ravel().tolist() for one in (x, a, b)), strict=True)]
    for terms in zip(*each, strict=True):
        if max(off for _, off in terms) < _SMALL_STEP:
            return np.reshape([value for value, _ in terms], x.shape)
    return np.zeros(x.shape)


def _beta_terms(x: Any, a: Any, b: Any) -> Iterator[tuple[Any, Any]]:
    """The fraction after each term, and by how much the term changed it; 0 after the last."""
    c = 1 + 0 * x
    d = 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
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
        yield value, abs(step - 1)
    yield value, np.zeros_like(x) if isinstance(x, np.ndarray) else 0.0


def _away(x: Any) -> Any:
    return x + (x == 0) * _TINY


def beta_quantile(p: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Where a beta distribution has a share p below it. Solved for the logit, so that both ends keep their digits."""
    z = np.reshape([normal_quantile(share) for share in np.ravel(p).tolist()], np.shape(p))
    p, z, a, b = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (p, z, a, b)))
    norm = log_gamma(a) + log_gamma(b) - log_gamma(a + b)
    mean, spread = a / (a + b), np.sqrt(a * b / (a + b + 1)) / (a + b)
    start = np.log(mean / (1 - mean)) + z * np.minimum(spread / (mean * (1 - mean)), 3.0)
    least = np.minimum(a, b)
    start = np.where(least >= _EXPANDED_FROM, _expanded_logit(z, a, b), start)
    exact = least < _EXPANDED_ALONE
    if not exact.all():
        value = 1 / (1 + np.exp(-start))
        if exact.any():
            value[exact] = beta_quantile(p[exact], a[exact], b[exact])
        return np.asarray(value)

    def miss(y: Floats) -> Floats:
        return np.asarray(beta_cdf(1 / (1 + np.exp(-y)), a, b) - p)

    def slope(y: Floats) -> Floats:
        return np.asarray(np.exp(-a * np.log1p(np.exp(-y)) - b * np.log1p(np.exp(y)) - norm))

    edge = np.full(a.shape, 700.0)
    return np.asarray(1 / (1 + np.exp(-_solve(miss, slope, start, -edge, edge))))


def _expanded_logit(z: Floats, a: Floats, b: Floats) -> Floats:
    """The logit of a beta's quantile by Cornish and Fisher's expansion, from the cumulants of the logit.

    They are differences and sums of polygamma functions, here by their series for large numbers. The error falls with
    the square of the smaller parameter; from 30,000 on it is below 1e-10.
    """
    (i, j), sign = (1 / a, 1 / b), np.array([1.0, -1.0])
    both = np.stack([i, j])
    first = np.log(a / b) + np.tensordot(sign, -both / 2 - both**2 / 12, 1)
    second = (both + both**2 / 2 + both**3 / 6).sum(axis=0)
    third = np.tensordot(sign, -(both**2) - both**3 - both**4 / 2, 1) / second**1.5
    fourth = (2 * both**3 + 3 * both**4 + 2 * both**5).sum(axis=0) / second**2
    w = z + (z**2 - 1) * third / 6 + (z**3 - 3 * z) * fourth / 24 - (2 * z**3 - 5 * z) * third**2 / 36
    return np.asarray(first + np.sqrt(second) * w)


def _solve(
    miss: Callable[[Floats], Floats], slope: Callable[[Floats], Floats], start: Floats, low: Floats, high: Floats
) -> Floats:
    """Where a rising function is 0: Newton's steps, or half of the bracket where a step leaves it."""
    x = np.asarray(start, dtype=np.float64)
    done = np.zeros(x.shape, dtype=bool)
    for _ in range(_MOST_STEPS):
        off = miss(x)
        low, high = np.where(off < 0, x, low), np.where(off < 0, high, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            stepped = x - off / slope(x)
        stepped = np.where((stepped > low) & (stepped < high), stepped, (low + high) / 2)
        done |= np.abs(off) < 1e-15
        near = np.abs(stepped - x) <= 1e-11 * (1 + np.abs(x))
        x = np.where(done, x, stepped)  # one that is found stays: rounding would carry the next step out of its bracket
        done |= near
        if done.all():
            break
    return x


def t_quantile(p: float, df: float) -> float:
    """Where Student's t has a share p below it. `df` may be any number above 0, or infinite.

    The tail is convex and the normal quantile lies before its root, so Newton's steps never pass it.
    """
    size = -normal_quantile(min(p, 1 - p))
    if p == 0.5 or math.isinf(df) or df > 1e7:
        return size if p > 0.5 else -size
    tail = 2 * min(p, 1 - p)
    norm = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    for _ in range(_MOST_T_STEPS):
        density = math.exp(norm - (df + 1) / 2 * math.log1p(size * size / df))
        step = (t_tail(size, df) - tail) / (2 * density)
        size += step
        if abs(step) <= 1e-12 * size:
            break
    return size if p > 0.5 else -size


def t_tail(t: float, df: float) -> float:
    """The two-sided tail of Student's t: df / (df + t^2) is beta(df/2, 1/2), and keeps its digits in the tail."""
    if math.isinf(df) or df > 1e7:
        return 2 * normal().cdf(-abs(t))
    a, b, square = df / 2, 0.5, t * t
    if square == 0:
        return 1.0
    x, rest = df / (df + square), square / (df + square)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest))
    if x <= (a + 1) / (a + b + 2):
        return float(front * _beta_fraction(x, a, b) / a)
    return float(1 - front * _beta_fraction(rest, b, a) / b)


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
    start = max(a * (1 - spread + normal_quantile(p) * math.sqrt(spread)) ** 3, 1e-8)
    high = start
    while gamma_cdf(high, a) < p:
        high *= 2

    def slope(x: Floats) -> Floats:
        return np.exp((a - 1) * np.log(x) - x - math.lgamma(a))

    def miss(x: Floats) -> Floats:
        return np.asarray(gamma_cdf(float(x), a) - p)

    return 2 * float(_solve(miss, slope, np.asarray(start), np.asarray(0.0), np.asarray(high)))
