"""Weights of units: what `Metric.reduce` is asked to weigh with.

Rows of weights, one weight a unit. `weights @ column` gives the column's weighted total for each row, so a metric
that is a function of sums is written once and serves the plain score, slices, bootstrap draws, the jackknife and the
table of single units. A metric that needs the weights themselves walks `weights.blocks()`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]

BLOCK_BYTES = 32 << 20


class Weights(ABC):
    """Rows of unit weights. `rows` is how many values a metric gives for them."""

    rows: int
    units: int

    def __matmul__(self, column: Array) -> Floats:
        """Weighted totals: shape (rows,) for a column (units,), (rows, k) for (units, k)."""
        return np.concatenate([block @ column for block in self.blocks()])

    @abstractmethod
    def blocks(self) -> Iterator[Floats]:
        """The weights themselves, as blocks (some rows, units) that are never all held at once."""

    def _rows_a_block(self) -> int:
        return max(32, BLOCK_BYTES // (8 * max(1, self.units)) // 32 * 32)


class Plain(Weights):
    """One row of given weights: the plain score. Remembers which columns were asked for."""

    def __init__(self, weights: Array) -> None:
        self.array: Floats = np.ascontiguousarray(weights, dtype=np.float64)
        self.rows, self.units = 1, self.array.shape[0]
        self.seen: dict[int, Array] = {}

    def __matmul__(self, column: Array) -> Floats:
        self.seen[id(column)] = column
        total: Floats = np.asarray(self.array @ column, dtype=np.float64)
        return total[np.newaxis]

    def blocks(self) -> Iterator[Floats]:
        """Give the one row."""
        yield self.array[np.newaxis]


class EachUnit(Weights):
    """One row a unit, with that unit alone: the table of units."""

    def __init__(self, units: int) -> None:
        self.rows = self.units = units

    def __matmul__(self, column: Array) -> Floats:
        return np.asarray(column, dtype=np.float64)

    def blocks(self) -> Iterator[Floats]:
        """Give rows of the identity matrix."""
        step = self._rows_a_block()
        for start in range(0, self.units, step):
            stop = min(start + step, self.units)
            block = np.zeros((stop - start, self.units))
            block[np.arange(stop - start), np.arange(start, stop)] = 1.0
            yield block


class LeaveOneOut(Weights):
    """One row a unit, with that unit left out: the jackknife."""

    def __init__(self, base: Floats) -> None:
        self.base = base
        self.rows = self.units = base.shape[0]

    def __matmul__(self, column: Array) -> Floats:
        weighted: Floats = column * (self.base if column.ndim == 1 else self.base[:, np.newaxis])
        return np.asarray(weighted.sum(axis=0) - weighted)

    def blocks(self) -> Iterator[Floats]:
        """Give the base weights with one unit at a time set to zero."""
        step = self._rows_a_block()
        for start in range(0, self.units, step):
            stop = min(start + step, self.units)
            block = np.repeat(self.base[np.newaxis], stop - start, axis=0)
            block[np.arange(stop - start), np.arange(start, stop)] = 0.0
            yield block


def ratio(numerator: Array, denominator: Array) -> Floats:
    """Divide; undefined (nan) where the denominator is not positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > 0, numerator / denominator, np.nan)
