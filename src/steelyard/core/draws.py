"""Random weights of units: bootstrap draws and the coin flips of the randomisation test.

A draw's weight is a function of (seed, unit id, draw) alone, made in the native core. Two models, two slices or two
machines that see the same unit give it the same weight in the same draw.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import numpy as np

from steelyard import _native
from steelyard.core.weights import Array, Counts, Entries, Floats, Role, Weights

HELD_BYTES = 128 << 20  # counts that are kept for the next metric
CALL_WORK = 1 << 27  # sums of a native call, about: Ctrl-C is seen between calls
CALL_DRAWS = 1024  # whose counts are made, and walked, in a call
HALF_RUN = 16  # worlds whose two sides are walked together
CALL_ROWS = 256  # of weights, which take longer
SURE_UNITS = 200  # below, worlds of the randomisation test are few, and equal ones must come out equal


def unit_keys(units: Array) -> Array:
    """64-bit keys of unit ids. The id 7 and the id "7" have the same key."""
    if units.dtype.kind == "i":
        of_integers: Array = _native.unit_keys_of_integers(np.ascontiguousarray(units, dtype=np.int64))
        return of_integers
    texts = [str(unit).encode("utf-8", "surrogatepass") for unit in units.tolist()]
    ends = np.fromiter(accumulate(map(len, texts)), dtype=np.int64, count=len(texts))
    keys: Array = _native.unit_keys(b"".join(texts), ends)
    return keys


class _Drawn(Weights, ABC):
    """Totals of drawn weights, made without holding the weights."""

    def __init__(self, keys: Array, seed: int, draws: int) -> None:
        self.keys, self.seed, self.rows = keys, seed & (2**64 - 1), draws
        self.units = len(keys)

    def __matmul__(self, column: Array) -> Floats:
        flat = np.ascontiguousarray(column.reshape(len(column), -1), dtype=np.float64)
        return self._pass(flat).reshape((self.rows, *column.shape[1:]))

    def scatter(self, entries: Entries) -> Floats:
        """Weighted totals of the columns that entries add up to."""
        return self._scatter(entries)

    def _in_calls(self, width: int, make: Callable[[int, int], Floats]) -> Floats:
        """`make(first draw, draws)` for all draws, in calls of which none takes long. `width`: sums of a draw."""
        step = max(32, CALL_WORK // max(1, width) // 32 * 32)
        if step >= self.rows:
            return make(0, self.rows)
        return np.concatenate([make(start, min(step, self.rows - start)) for start in range(0, self.rows, step)])

    @abstractmethod
    def _pass(self, matrix: Floats) -> Floats:
        """Totals of the matrix's columns, one row per draw."""

    @abstractmethod
    def _scatter(self, entries: Entries) -> Floats:
        """Totals of the entries' columns, one row per draw."""


def _width(matrix: Floats) -> int:
    """Sums of a draw, about; to make a weight takes as long as some of them."""
    return int(matrix.size + 8 * len(matrix))


def _scattered(keys: Array, entries: Entries) -> int:
    return 8 * len(keys) + len(entries.owner) + entries.size


class BootstrapDraws(_Drawn):
    """Poisson(1) weights, times the units' own weights: one row per draw.

    A row that stands for n alike units (`copies`) is drawn from Poisson(n), which is the sum of n such weights.
    """

    role = Role.DRAWS

    def __init__(
        self, keys: Array, base: Floats, seed: int, draws: int, copies: Array | None = None, *, first: int = 0
    ) -> None:
        super().__init__(keys, seed, draws)
        self.base, self.first = base, first
        self.copies = None if copies is None else np.ascontiguousarray(copies, dtype=np.int64)
        self._counts: list[Counts] = []

    def _pass(self, matrix: Floats) -> Floats:
        weighted = np.ascontiguousarray(matrix * self.base[:, np.newaxis])

        def make(start: int, count: int) -> Floats:
            totals: Floats = _native.poisson_totals(
                self.keys, weighted, self.seed, self.first + start, count, copies=self.copies
            )
            return totals

        return self._in_calls(_width(weighted), make)

    def _scatter(self, entries: Entries) -> Floats:
        value = np.zeros(0) if entries.value is None and (self.base == 1).all() else entries.times(self.base)
        columns = (self.keys, entries.owner, entries.code, value, entries.size, self.seed)

        def make(start: int, count: int) -> Floats:
            totals: Floats = _native.poisson_scatter(*columns, self.first + start, count, copies=self.copies)
            return totals

        return self._in_calls(_scattered(self.keys, entries), make)

    def blocks(self) -> Iterator[Floats]:
        """Give the drawn weights in blocks of draws."""
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
        made = (
            _native.poisson_counts(self.keys, self.seed, start, count)
            for start, count in self._ranges(min(CALL_DRAWS, 8 * self._rows_a_block()))
        )
        if self.rows * self.units > HELD_BYTES:
            return made
        self._counts = list(made)
        return iter(self._counts)

    def pieces(self) -> Iterator[BootstrapDraws]:
        """The same draws a block at a time."""
        for start, count in self._ranges(self._rows_a_block()):
            yield BootstrapDraws(self.keys, self.base, self.seed, count, self.copies, first=start)

    def _ranges(self, step: int) -> Iterator[tuple[int, int]]:
        for start in range(0, self.rows, step):
            yield self.first + start, min(step, self.rows - start)


class SwapDraws(_Drawn):
    """Coin flips over the rows of two models stacked: a unit's rows count for A, or for B.

    For states A and B of the same units, stacked, a row of weights takes each unit from A where its coin shows heads
    and from B where tails; `other=True` is the complement. Under the hypothesis that the models do not differ, the
    two are exchangeable.
    """

    role = Role.SWAP

    def __init__(self, keys: Array, base: Floats, seed: int, draws: int, *, other: bool = False) -> None:
        super().__init__(keys, seed, draws)
        self.base, self.other = base, other
        self.units = 2 * len(keys)

    def _pass(self, matrix: Floats) -> Floats:
        n = len(self.keys)
        weighted = matrix * np.concatenate([self.base, self.base])[:, np.newaxis]
        heads, tails = (weighted[n:], weighted[:n]) if self.other else (weighted[:n], weighted[n:])
        between = np.ascontiguousarray(heads - tails)

        def make(start: int, count: int) -> Floats:
            totals: Floats = _native.flip_totals(self.keys, between, self.seed, start, count)
            return totals

        return np.asarray(self._in_calls(_width(between), make) + tails.sum(axis=0))

    def _scatter(self, entries: Entries) -> Floats:
        n = len(self.keys)
        split = int(np.searchsorted(entries.owner, n))
        value = entries.times(np.concatenate([self.base, self.base]))
        first, second = slice(0, split), slice(split, None)
        heads, tails = (second, first) if self.other else (first, second)

        def flipped(part: slice) -> Floats:
            owner = np.ascontiguousarray(entries.owner[part] % n)
            code, weight = np.ascontiguousarray(entries.code[part]), np.ascontiguousarray(value[part])

            def make(start: int, count: int) -> Floats:
                totals: Floats = _native.flip_scatter(
                    self.keys, owner, code, weight, entries.size, self.seed, start, count
                )
                return totals

            return self._in_calls(_scattered(self.keys, entries), make)

        always = np.bincount(entries.code[tails], weights=value[tails], minlength=entries.size)
        return np.asarray(flipped(heads) - flipped(tails) + always)

    def blocks(self) -> Iterator[Floats]:
        """Give the flips of both models' units in blocks of draws."""
        step = min(CALL_ROWS, self._rows_a_block())
        for start in range(0, self.rows, step):
            count = min(step, self.rows - start)
            flips = _native.flip_weights(self.keys, self.seed, start, count)
            first = 1 - flips if self.other else flips
            yield np.concatenate([first * self.base, (1 - first) * self.base], axis=1)

    def counts(self) -> Iterator[Counts] | None:
        """Give the flips as bytes, where units weigh 1 and are not few."""
        if len(self.keys) < SURE_UNITS or not (self.base == 1).all():
            return None
        step = min(CALL_DRAWS, 8 * self._rows_a_block())
        starts = range(0, self.rows, step)
        return (self._sides(_native.flip_counts(self.keys, self.seed, k, min(step, self.rows - k))) for k in starts)

    def _sides(self, flips: Counts) -> Counts:
        other = np.uint8(1) - flips
        return np.concatenate([other, flips] if self.other else [flips, other], axis=1)


class ObservedSwap(Weights):
    """The two models stacked, as they are: one row that takes every unit from A, or with `other` from B."""

    role = Role.OBSERVED

    def __init__(self, swaps: SwapDraws) -> None:
        self.rows, self.units, self.swaps = 1, swaps.units, swaps

    def blocks(self) -> Iterator[Floats]:
        """Give the one row."""
        sides = [self.swaps.base, np.zeros_like(self.swaps.base)]
        yield np.concatenate(sides[::-1] if self.swaps.other else sides)[np.newaxis]

    def counts(self) -> Iterator[Counts] | None:
        """Give the one row as the flips come, so that values compare with theirs."""
        if self.swaps.counts() is None:
            return None
        row = np.zeros((1, self.units, 32), dtype=np.uint8)
        row[0, :, 0] = next(self.blocks())[0]
        return iter([row])


class SwapWorlds(Weights):
    """Both sides of all coin flips, and of what was observed: worlds that the observed difference is compared with.

    Rows come in runs of 32: sixteen worlds of the first side, and the same worlds of the second. Behind the last world
    stands what was observed. `sides` takes them apart. Curves are walked once for all of them, and the counts are held
    for the next curve, and for the next pair of models.
    """

    role = Role.SWAP

    def __init__(self, keys: Array, base: Floats, seed: int, draws: int) -> None:
        self.swaps = tuple(SwapDraws(keys, base, seed, draws, other=other) for other in (False, True))
        self.observed = tuple(ObservedSwap(one) for one in self.swaps)
        self.draws, self.units = draws, 2 * len(keys)
        self.runs = draws // HALF_RUN + 1
        self.rows = 2 * HALF_RUN * self.runs
        self._counts: list[Counts] = []

    def sides(self, values: Array) -> tuple[Array, Array]:
        """The values of the first side and of the second: of each world, and last the observed ones."""
        runs = values.reshape(self.runs, 2, HALF_RUN, *values.shape[1:])
        first, second = (runs[:, side].reshape(-1, *values.shape[1:])[: self.draws + 1] for side in (0, 1))
        return first, second

    def _joined(self, sides: Sequence[Array]) -> Floats:
        """Rows from the worlds of both sides, which end with the observed row."""
        lacking = self.runs * HALF_RUN - self.draws - 1
        filled = [np.concatenate([side, np.repeat(side[-1:], lacking, axis=0)]) for side in sides]
        runs = [side.reshape(self.runs, HALF_RUN, *side.shape[1:]) for side in filled]
        return np.stack(runs, axis=1).reshape(self.rows, *sides[0].shape[1:])

    def __matmul__(self, column: Array) -> Floats:
        return self._joined(
            [np.concatenate([one @ column, seen @ column]) for one, seen in zip(self.swaps, self.observed, strict=True)]
        )

    def scatter(self, entries: Entries) -> Floats:
        """Weighted totals of the columns that entries add up to."""
        both = zip(self.swaps, self.observed, strict=True)
        return self._joined([np.concatenate([one.scatter(entries), seen.scatter(entries)]) for one, seen in both])

    def blocks(self) -> Iterator[Floats]:
        """Give the rows, some runs at a time."""
        step = HALF_RUN * max(1, min(CALL_ROWS, self._rows_a_block()) // (2 * HALF_RUN))
        swaps, base = self.swaps[0], self.swaps[0].base
        for start in range(0, self.runs * HALF_RUN, step):
            stop = min(start + step, self.runs * HALF_RUN)
            flips = np.ones((stop - start, len(base)))
            if start < self.draws:
                made = _native.flip_weights(swaps.keys, swaps.seed, start, min(stop, self.draws) - start)
                flips[: len(made)] = made
            first, second = flips * base, (1 - flips) * base
            runs = [
                np.concatenate(one, axis=1).reshape(-1, HALF_RUN, self.units)
                for one in ((first, second), (second, first))
            ]
            yield np.stack(runs, axis=1).reshape(-1, self.units)

    def counts(self) -> Iterator[Counts] | None:
        """Give the rows as bytes, where units weigh 1 and are not few."""
        swaps = self.swaps[0]
        if len(swaps.keys) < SURE_UNITS or not (swaps.base == 1).all():
            return None
        if self._counts:
            return iter(self._counts)
        step = max(1, min(CALL_DRAWS, 8 * self._rows_a_block()) // 32) * 32
        made = (
            self._counted(start, min(start + step, self.runs * HALF_RUN))
            for start in range(0, self.runs * HALF_RUN, step)
        )
        if self.rows * self.units > HELD_BYTES:
            return made
        self._counts = list(made)
        return iter(self._counts)

    def _counted(self, start: int, stop: int) -> Counts:
        swaps, n = self.swaps[0], self.units // 2
        flips = np.ones(((stop - start + 31) // 32, n, 32), dtype=np.uint8)
        if start < self.draws:
            drawn = min(stop, self.draws) - start
            made = _native.flip_counts(swaps.keys, swaps.seed, start, drawn)
            flips[: len(made)] = made
            flips[len(made) - 1, :, (drawn - 1) % 32 + 1 :] = 1
        halves = flips.reshape(len(flips), n, 2, HALF_RUN).swapaxes(1, 2).reshape(-1, n, HALF_RUN)
        halves = halves[: (stop - start) // HALF_RUN]
        others = np.uint8(1) - halves
        block = np.empty((len(halves), 2 * n, 32), dtype=np.uint8)
        block[:, :n, :HALF_RUN], block[:, :n, HALF_RUN:] = halves, others
        block[:, n:, :HALF_RUN], block[:, n:, HALF_RUN:] = others, halves
        return block
