"""Maximum mean discrepancy by all pairs: sums of a kernel over rows, in blocks and double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.frozen import Frozen
from steelyard.core.weights import Floats

Array = NDArray[Any]
Kernel = Callable[[Floats, Floats], Floats]
BLOCK = 512
PERMUTATIONS = 199


def polynomial(a: Floats, b: Floats) -> Floats:
    """(a·b/d + 1)³: the kernel of KID."""
    product = a @ b.T
    product /= a.shape[1]
    product += 1.0
    cube = product * product
    cube *= product
    return np.asarray(cube)


def gaussian(a: Floats, b: Floats) -> Floats:
    """exp(-|a - b|²/200): the kernel of CMMD, whose σ is 10."""
    distance = (a * a).sum(axis=1)[:, np.newaxis] + (b * b).sum(axis=1) - 2 * (a @ b.T)
    return np.asarray(np.exp(np.maximum(distance, 0.0) / -200.0))


class KernelSums(Frozen):
    """Weighted sums of the kernel for each row: with its own set, with itself, and with the other set."""

    own: Floats
    diagonal: Floats
    other: Floats

    __eq__, __hash__ = object.__eq__, object.__hash__


def kernel_sums(x: Array, y: Array, wx: Floats, wy: Floats, kernel: Kernel) -> tuple[KernelSums, KernelSums]:
    """The sums of both sets; each pair is computed once."""
    xx, dx = _within(x, wx, kernel)
    yy, dy = _within(y, wy, kernel)
    xy, yx = np.zeros(len(x)), np.zeros(len(y))
    for start in range(0, len(x), BLOCK):
        a = x[start : start + BLOCK].astype(np.float64)
        for begin in range(0, len(y), 4 * BLOCK):
            block = kernel(a, y[begin : begin + 4 * BLOCK].astype(np.float64))
            xy[start : start + BLOCK] += block @ wy[begin : begin + 4 * BLOCK]
            yx[begin : begin + 4 * BLOCK] += wx[start : start + BLOCK] @ block
    return KernelSums(xx, dx, xy), KernelSums(yy, dy, yx)


def _within(rows: Array, weights: Floats, kernel: Kernel) -> tuple[Floats, Floats]:
    """Weighted sums over the other rows of the set, and the kernel of each row with itself."""
    sums, diagonal = np.zeros(len(rows)), np.zeros(len(rows))
    for start in range(0, len(rows), BLOCK):
        a = rows[start : start + BLOCK].astype(np.float64)
        wa = weights[start : start + BLOCK]
        block = kernel(a, a)
        diagonal[start : start + BLOCK] = np.diagonal(block)
        np.fill_diagonal(block, 0.0)
        sums[start : start + BLOCK] += block @ wa
        for begin in range(start + BLOCK, len(rows), 4 * BLOCK):
            block = kernel(a, rows[begin : begin + 4 * BLOCK].astype(np.float64))
            sums[start : start + BLOCK] += block @ weights[begin : begin + 4 * BLOCK]
            sums[begin : begin + 4 * BLOCK] += wa @ block
    return sums, diagonal


def discrepancy(
    sums: tuple[KernelSums, KernelSums], wx: Floats, wy: Floats, biased: bool
) -> tuple[float, tuple[Floats, Floats]]:
    """The squared discrepancy of two sets, and how much each row moves it."""
    weights = (wx, wy)
    totals = [float(w.sum()) for w in weights]
    within, moves = [], []
    for each, w, total in zip(sums, weights, totals, strict=True):
        if biased:
            row = (each.own + w * each.diagonal) / total
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                row = each.own / (total - w)
        pairs = total * total - (0.0 if biased else float((w * w).sum()))
        held = each.own + (w * each.diagonal if biased else 0.0)
        within.append(float(w @ held) / pairs if pairs > 0 else np.nan)
        if not biased:  # the rest of the set loses pairs with the row, so that this is what leaving it out moves
            few = total > 2 * w
            row = within[-1] + (row - within[-1]) * np.where(few, (total - w) / np.where(few, total - 2 * w, 1.0), 1.0)
        moves.append(row)
    cross = float(wx @ sums[0].other) / (totals[0] * totals[1])
    value = within[0] + within[1] - 2 * cross
    influences = []
    for k in (0, 1):
        f = 2 * (moves[k] - sums[k].other / totals[1 - k])
        used = weights[k] > 0
        f = f - np.average(f[used], weights=weights[k][used])
        influences.append(np.asarray(np.where(used, f, 0.0)))
    return value, (influences[0], influences[1])


def permutation_p(x: Array, y: Array, value: float, kernel: Kernel, seed: int = 0) -> float:
    """How often sets of these sizes, mixed at random, are at least as far apart: a test that both are alike."""
    n, m = len(x), len(y)
    rng = np.random.RandomState(seed)
    inside = np.zeros((n + m, PERMUTATIONS))
    for column in range(PERMUTATIONS):
        inside[rng.permutation(n + m)[:n], column] = 1.0
    first, cross, total = np.zeros(PERMUTATIONS), np.zeros(PERMUTATIONS), 0.0
    for start in range(0, n + m, BLOCK):
        a, mine = _both(x, y, start, start + BLOCK), inside[start : start + BLOCK]
        for begin in range(0, n + m, 4 * BLOCK):
            block = kernel(a, _both(x, y, begin, begin + 4 * BLOCK))
            if begin <= start < begin + 4 * BLOCK:
                here = np.arange(len(a))
                block[here, here + start - begin] = 0.0
            theirs = block @ inside[begin : begin + 4 * BLOCK]
            sums = block.sum(axis=1)
            first += (mine * theirs).sum(axis=0)
            cross += mine.T @ sums - (mine * theirs).sum(axis=0)
            total += float(sums.sum())
    second = total - first - 2 * cross
    mixed = first / (n * (n - 1)) + second / (m * (m - 1)) - 2 * cross / (n * m)
    return float((1 + np.count_nonzero(mixed >= value - 1e-12 * abs(value))) / (1 + PERMUTATIONS))


def _both(x: Array, y: Array, start: int, stop: int) -> Floats:
    """Some rows of both sets, one behind the other, in double precision."""
    n = len(x)
    return np.concatenate([x[start:stop], y[max(start - n, 0) : max(stop - n, 0)]]).astype(np.float64)


def null_spread(x: Array, y: Array, kernel: Kernel) -> float:
    """The standard error that the discrepancy of two alike sets has, from at most 1,000 rows of each."""
    few = [rows[:: max(1, len(rows) // 1000)][:1000].astype(np.float64) for rows in (x, y)]
    both = np.concatenate(few)
    block = kernel(both, both)
    np.fill_diagonal(block, np.nan)
    means = np.nanmean(block, axis=1)
    centred = block - means[:, np.newaxis] - means + np.nanmean(means)
    square = float(np.nanmean(centred**2))
    n, m = len(x), len(y)
    return float(np.sqrt(square * (2 / (n * (n - 1)) + 2 / (m * (m - 1)) + 4 / (n * m))))
