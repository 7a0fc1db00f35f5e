"""The focal loss inside a kernel: see `focal`, whose formula it is, and `kernels`, which walk the arrays."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _sigmoids(z):
    """The sigmoids of -|z| and |z|, and log(1 + exp(-|z|)), each to about two units in the last place."""
    if z.dtype == tl.float64:
        e = libdevice.exp(-tl.abs(z))
        large = 1 / (1 + e)
        log1p = libdevice.log1p(e)
    else:
        a = tl.minimum(tl.abs(z), 200.0, propagate_nan=tl.PropagateNan.ALL)
        t = a * 1.44269504
        rest = tl.fma(a, 1.44269504, -t) + a * 1.9259629911266175e-8  # what the product lost, and log2(e) itself
        e = tl.exp2(-t) * (1.0 - rest * 0.69314718)
        r = libdevice.fast_dividef(1.0, (1.0 + e) * (2.0 + e))
        large = r * (2.0 + e)
        s = e * (r * (1.0 + e))
        w = s * s  # log(1 + e) is 2 atanh(e / (2 + e)), and w is at most 1/9: off by 2e-8 of it at most
        series = tl.fma(w, 0.1343377083539963, 0.14116978645324707)
        series = tl.fma(series, w, 0.2000383585691452)
        series = tl.fma(series, w, 0.33333319425582886)
        log1p = 2.0 * tl.fma(s * w, series, s)
    return e * large, large, log1p


@triton.jit
def _powers(q, GAMMA: tl.constexpr, TINY: tl.constexpr):
    """q to the power of gamma, and the derivative of that."""
    r = q + TINY
    if GAMMA == 0.0:
        power, rise = q * 0 + 1, q * 0
    elif GAMMA == 1.0:
        power, rise = q, q * 0 + 1
    elif GAMMA == 2.0:
        power, rise = q * q, 2 * q
    elif GAMMA == 1.5:
        root = tl.sqrt(r)
        power, rise = r * root, 1.5 * root
    else:
        lower = libdevice.pow(r, r * 0 + (GAMMA - 1))
        power, rise = r * lower, GAMMA * lower
    return power, rise


@triton.jit
def focal(
    x, t, hit, counts, weight, TARGET: tl.constexpr, WEIGHT: tl.constexpr, ALPHA: tl.constexpr, GAMMA: tl.constexpr,
    CONSTANT_ALPHA: tl.constexpr, SMOOTHING: tl.constexpr, TINY: tl.constexpr, SUMS: tl.constexpr, SLOPES: tl.constexpr,
):  # fmt: skip
    """The focal loss of logits and its derivative; 0 where an element does not count. TARGET 3: soft targets `t`."""
    # An infinite logit stands for itself where that gives no inf - inf; elsewhere a large one stands for it.
    NAIVE: tl.constexpr = TARGET == 3 or SMOOTHING > 0
    endless = counts
    if NAIVE:
        x = tl.where(counts, x, 0.0)
        endless = tl.abs(x) == float("inf")
        x = tl.where(endless, tl.where(x > 0, 1000.0, -1000.0), x).to(x.dtype)
    z = x if TARGET == 3 else tl.where(hit, -x, x)
    right = z >= 0
    small, large, log1p = _sigmoids(z)
    alpha = tl.full((), ALPHA, x.dtype)
    if TARGET == 3:
        smooth = t * (1 - SMOOTHING) + SMOOTHING / 2
        p = tl.where(right, large, small)
        not_p = tl.where(right, small, large)
        q = t * not_p + (1 - t) * p
        entropy = log1p + tl.where(right, (1 - smooth) * x, -smooth * x)
        alpha_t = alpha if CONSTANT_ALPHA else t * (2 * ALPHA - 1) + (1 - ALPHA)
    else:
        q = tl.where(right, large, small)
        entropy = log1p + tl.maximum(z, 0.0)
        if SMOOTHING > 0:
            entropy = entropy - z * (SMOOTHING / 2)
        alpha_t = alpha if CONSTANT_ALPHA else tl.where(hit, alpha, tl.full((), 1 - ALPHA, x.dtype))
    if WEIGHT:
        alpha_t = alpha_t * weight
    power, rise = _powers(q, GAMMA, TINY)
    factor = power * alpha_t
    value = x
    slope = x
    if SUMS and not NAIVE:
        value = tl.where(counts & (factor != 0), factor * entropy, 0.0)
    elif SUMS and SMOOTHING > 0:
        far = t.to(x.dtype)
        if GAMMA == 0.0:
            far = far * (1 - SMOOTHING) + SMOOTHING / 2
        far = tl.where(x > 0, 1 - far, far)
        wrong = tl.where((far > 0) & (factor > 0), float("inf"), 0.0)
        value = tl.where(counts, tl.where(endless, wrong, factor * entropy), 0.0)
    elif SUMS:
        value = factor * entropy
        value = tl.where(counts, tl.where(endless & (value > 0), float("inf"), value), 0.0)
    if SLOPES:
        if TARGET == 3:
            slope = power * ((1 - smooth) * p - smooth * not_p)
            if GAMMA != 0.0:
                slope = slope + (1 - 2 * t) * rise * (large * small) * entropy
            slope = tl.where(counts, alpha_t * slope, 0.0)
        else:
            slope = q
            if SMOOTHING > 0:
                slope = slope - SMOOTHING / 2
            if GAMMA != 0.0:
                slope = slope + tl.where(right, small, large) * GAMMA * tl.minimum(entropy, 1e30)
            slope = tl.where(counts, factor * tl.where(hit, -slope, slope), 0.0)
    return value, slope
