"""Moments of a set of vectors, and the Fréchet distance between two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.frozen import Frozen
from steelyard.core.weights import Floats

BLOCK = 4096  # rows that are held in double precision at a time
SMALL = 160  # dimensions up to which singular values are taken: they keep all digits
ROUNDING = 1e-9  # of the traces, below which a distance is 0


class Moments(Frozen):
    """Count, mean, and a factor F of the centred products: F'F = sum of (x - mean)(x - mean)'.

    The factor has at most as many rows as there are vectors or dimensions. `count` is 0 where it is not known, and the
    factor is then that of the covariance.
    """

    count: float
    mean: NDArray[Any]
    factor: NDArray[Any]

    __eq__, __hash__ = object.__eq__, object.__hash__

    @cached_property
    def products(self) -> Floats:
        """The centred products, d×d."""
        return np.asarray(self.factor.T @ self.factor)

    def with_factor(self) -> Moments:
        """The moments with their factor, as rows keep them."""
        return Moments(self.count, self.mean, self.factor if len(self.factor) else factor_of(self.products))

    @property
    def divisor(self) -> float:
        """What makes products a covariance."""
        return self.count - 1 if self.count else 1.0

    @cached_property
    def trace(self) -> float:
        """The trace of the covariance."""
        return float((self.factor**2).sum()) / self.divisor

    @staticmethod
    def of_statistics(mean: Floats, factor: Floats, count: float) -> Moments:
        """The moments of a mean and a factor of the covariance."""
        return Moments(count, mean, factor * math.sqrt(count - 1) if count else factor)


class Products(Moments):
    """Moments whose products are known and whose factor is made when it is needed."""

    known: NDArray[Any] | None = None

    @cached_property
    def products(self) -> Floats:
        """The centred products, d×d."""
        assert self.known is not None
        return self.known

    @cached_property
    def trace(self) -> float:
        """The trace of the covariance."""
        return float(np.trace(self.products)) / self.divisor


def factor_of(products: Floats) -> Floats:
    """A matrix F with F'F = products: Cholesky's, or by eigenvalues where they are singular."""
    return factor_and_least(products)[0]


def factor_and_least(products: Floats) -> tuple[Floats, float]:
    """The factor of `factor_of`, and the least eigenvalue; 0 for that where Cholesky's factor shows none below."""
    try:
        return np.asarray(np.linalg.cholesky(products)).T, 0.0
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(products)
        return np.asarray((vectors * np.sqrt(np.clip(values, 0.0, None))).T), float(values[0])


def moments_of_rows(rows: NDArray[Any], weights: Floats | None = None) -> Moments:
    """The moments of vectors, in double precision, about their mean."""
    n, d = rows.shape
    total = float(n) if weights is None else float(weights.sum())
    mean = np.zeros(d)
    first = np.asarray(rows[0], dtype=np.float64)
    for start in range(0, n, BLOCK):
        part = rows[start : start + BLOCK].astype(np.float64) - first
        mean += part.sum(axis=0) if weights is None else weights[start : start + BLOCK] @ part
    mean = first + mean / total
    if n <= d:
        centred = rows.astype(np.float64) - mean
        return Moments(total, mean, centred if weights is None else centred * np.sqrt(weights)[:, np.newaxis])
    products = np.zeros((d, d))
    for start in range(0, n, BLOCK):
        part = rows[start : start + BLOCK].astype(np.float64) - mean
        if weights is not None:
            part *= np.sqrt(weights[start : start + BLOCK])[:, np.newaxis]
        products += part.T @ part
    return Products(total, mean, np.zeros((0, d)), products)


def merge_moments(parts: Sequence[Moments]) -> Moments:
    """The moments of several parts together, pooled about the mean of all."""
    if len(parts) == 1:
        return parts[0]
    count = sum(part.count for part in parts)
    mean = parts[0].mean + sum(part.count * (part.mean - parts[0].mean) for part in parts[1:]) / count
    products = np.zeros((len(mean), len(mean)))
    for part in parts:
        shift = part.mean - mean
        products += part.products + part.count * np.outer(shift, shift)
    return Products(count, mean, np.zeros((0, len(mean))), products)


def root_trace(x: Moments, y: Moments) -> float:
    """The trace of the root of the product of both covariances: a sum of singular values."""
    scale = math.sqrt(x.divisor * y.divisor)
    d = len(x.mean)
    rows = [m.factor if len(m.factor) else None for m in (x, y)]
    if d > SMALL and all(factor is None or len(factor) >= d for factor in rows):
        upper = factor_of(x.products) if rows[0] is None else rows[0]
        half = None if rows[1] is None else _product(upper, rows[1])
        values = np.linalg.eigvalsh(upper @ y.products @ upper.T if half is None else half @ half.T)
        return float(np.sqrt(np.clip(values, 0.0, None)).sum()) / scale
    first, second = (factor_of(m.products) if f is None else f for m, f in zip((x, y), rows, strict=True))
    return float(np.linalg.svd(first @ second.T, compute_uv=False).sum()) / scale


def _product(a: Floats, b: Floats) -> Floats:
    """The product a b'; of two upper triangles in blocks, without what is zero."""
    n = len(a)
    if a.shape != (n, n) or b.shape != (n, n) or np.tril(a, -1).any() or np.tril(b, -1).any():
        return np.asarray(a @ b.T)
    step, out = -(-n // 8), np.empty((n, n))
    for i in range(0, n, step):
        for j in range(0, n, step):
            first = max(i, j)
            out[i : i + step, j : j + step] = a[i : i + step, first:] @ b[j : j + step, first:].T
    return out


def frechet(x: Moments, y: Moments) -> float:
    """The Fréchet distance of two normal distributions with these moments."""
    between = float(((x.mean - y.mean) ** 2).sum())
    value = between + x.trace + y.trace - 2 * root_trace(x, y)
    return 0.0 if abs(value) <= 1e-12 * (x.trace + y.trace) or -ROUNDING * (x.trace + y.trace) <= value < 0 else value


def transport(x: Moments, y: Moments) -> tuple[Floats, Floats]:
    """The matrices T = Σx^½ (Σx^½ Σy Σx^½)^-½ Σx^½ and its inverse, of covariances with full rank.

    Directions in which a covariance has no spread are left out.
    """
    first, second = x.products / x.divisor, y.products / y.divisor
    values, vectors = np.linalg.eigh(first)
    rank = values > 1e-12 * values.max(initial=0.0)
    root = vectors[:, rank] * np.sqrt(values[rank])  # d×r, root root' = Σx
    inner, turned = np.linalg.eigh(root.T @ second @ root)
    inside = inner > 1e-12 * inner.max(initial=0.0)
    half = np.sqrt(inner[inside])
    moved = root @ turned[:, inside]
    back = (vectors[:, rank] / np.sqrt(values[rank])) @ turned[:, inside]
    return np.asarray((moved / half) @ moved.T), np.asarray((back * half) @ back.T)


def frechet_influence(rows: NDArray[Any], own: Moments, other: Moments, matrix: Floats) -> Floats:
    """How much each vector of a set moves the distance, with `matrix` the transport of its side."""
    form = np.eye(len(own.mean)) - matrix
    shift = 2 * (own.mean - other.mean)
    centre = float(np.trace(form @ own.products)) / own.divisor
    factor = own.count / own.divisor
    out = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK):
        z = rows[start : start + BLOCK].astype(np.float64) - own.mean
        out[start : start + BLOCK] = z @ shift + factor * ((z @ form) * z).sum(axis=1) - centre
    return out
