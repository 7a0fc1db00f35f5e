"""Random weights of units: bootstrap draws.

A draw's weight is a function of (seed, unit id, draw) alone, made in the native core. Two models, two slices or two
machines that see the same unit give it the same weight in the same draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate

import numpy as np

from steelyard import _native
from steelyard.core.weights import Array, Counts, Entries, Floats, Role, Weights

HELD_BYTES = 128 << 20  # counts that are kept for the next metric
CALL_WORK = 1 << 27  # sums of a native call, about: Ctrl-C is seen between calls
CALL_DRAWS = 1024  # whose counts are made, and walked, in a call
CALL_ROWS = 256  # of weights, which take longer


def unit_keys(units: Array) -> Array:
    """64-bit keys of unit ids. The id 7 and the id "7" have the same key."""
    if units.dtype.kind == "i":
        of_integers: Array = _native.unit_keys_of_integers(np.ascontiguousarray(units, dtype=np.int64))
        return of_integers
    texts = [str(unit).encode("utf-8", "surrogatepass") for unit in units.tolist()]
    ends = np.fromiter(accumulate(map(len, texts)), dtype=np.int64, count=len(texts))
    keys: Array = _native.unit_keys(b"".join(texts), ends)
    return keys


def in_calls(rows: int, width: int, make: Callable[[int, int], Floats]) -> Floats:
    """`make(first row, rows)` for all rows, in calls of which none takes long. `width`: sums of a row."""
    step = max(32, CALL_WORK // max(1, width) // 32 * 32)
    if step >= rows:
        return make(0, rows)
    return np.concatenate([make(start, min(step, rows - start)) for start in range(0, rows, step)])


class BootstrapDraws(Weights):
    """Poisson(1) weights, times the units' own weights: one row per draw.

    A row that stands for n alike units (`copies`) is drawn from Poisson(n), which is the sum of n such weights.
    """

    role = Role.DRAWS

    def __init__(
        self, keys: Array, base: Floats, seed: int, draws: int, copies: Array | None = None, *, first: int = 0
    ) -> None:
        self.keys, self.seed, self.rows = keys, seed & (2**64 - 1), draws
        self.units, self.base, self.first = len(keys), base, first
        self.copies = None if copies is None else np.ascontiguousarray(copies, dtype=np.int64)
        self._counts: list[Counts] = []

    def __matmul__(self, column: Array) -> Floats:
        flat = np.ascontiguousarray(column.reshape(len(column), -1), dtype=np.float64)
        weighted = np.ascontiguousarray(flat * self.base[:, np.newaxis])

        def make(start: int, count: int) -> Floats:
            totals: Floats = _native.poisson_totals(
                self.keys, weighted, self.seed, self.first + start, count, copies=self.copies
            )
            return totals

        width = weighted.size + 8 * len(weighted)  # to make a weight takes as long as some sums
        return in_calls(self.rows, width, make).reshape((self.rows, *column.shape[1:]))

    def scatter(self, entries: Entries) -> Floats:
        value = np.zeros(0) if entries.value is None and (self.base == 1).all() else entries.times(self.base)
        columns = (self.keys, entries.owner, entries.code, value, entries.size, self.seed)

        def make(start: int, count: int) -> Floats:
            totals: Floats = _native.poisson_scatter(*columns, self.first + start, count, copies=self.copies)
            return totals

        return in_calls(self.rows, 8 * len(self.keys) + len(entries.owner) + entries.size, make)

    def blocks(self) -> Iterator[Floats]:
        for start, count in self._ranges(min(CALL_ROWS, self._rows_a_block())):
            block: Floats = _native.poisson_weights(self.keys, self.seed, start, count, copies=self.copies)
            block *= self.base
            yield block

    def counts(self) -> Iterator[Counts] | None:
        """Give the drawn weights as bytes, where a unit stands for itself and weighs 1."""
        if self.copies is not None or not (self.base == 1).all():
            return None
        if self._counts:
            return iter(self._counts)
        blocks = (
            _native.poisson_counts(self.keys, self.seed, start, count)
            for start, count in self._ranges(min(CALL_DRAWS, 8 * self._rows_a_block()))
        )
        if self.rows * self.units > HELD_BYTES:
            return blocks
        self._counts = list(blocks)
        return iter(self._counts)

    def pieces(self) -> Iterator[BootstrapDraws]:
        """Iterate over the draws one block at a time."""
        for start, count in self._ranges(self._rows_a_block()):
            yield BootstrapDraws(self.keys, self.base, self.seed, count, self.copies, first=start)

    def _ranges(self, step: int) -> Iterator[tuple[int, int]]:
        for start in range(0, self.rows, step):
            yield self.first + start, min(step, self.rows - start)
