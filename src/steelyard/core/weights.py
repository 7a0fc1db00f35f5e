"""Weights of units: what totals are taken with.

Rows of weights, one weight per unit. `weights @ column` gives the column's weighted total for each row, so a metric
that is a function of sums is written once and serves the plain score, slices, bootstrap draws, the jackknife and the
table of single units. A reading that needs the weights themselves walks `weights.blocks()`.

`role` says what the rows are for. Nobody asks a row of weights for its class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.frozen import Frozen

Array = NDArray[Any]
Floats = NDArray[np.float64]
Counts = NDArray[np.uint8]

BLOCK_BYTES = 32 << 20


class Role(Enum):
    """What rows of weights are for.

    POINT is the plain score and COUNT the number of units behind it, one row each; DRAWS are bootstrap draws, JACKKNIFE
    leaves one unit out in each row, UNITS has one unit alone in each row.
    """

    POINT = "point"
    COUNT = "count"
    DRAWS = "draws"
    JACKKNIFE = "jackknife"
    UNITS = "units"


class Entries(Frozen):
    """Columns that are mostly zero: each entry adds its `value` (1 where None) to column `code` of its `owner` unit.

    Entries stand in the order of their owners. What a thousand classes need: units x classes is never held.
    """

    owner: Array
    code: Array
    value: Array | None
    size: int

    __eq__, __hash__ = object.__eq__, object.__hash__

    def times(self, factor: Array) -> Floats:
        """The values, each times its unit's factor."""
        taken: Floats = factor[self.owner]
        return taken if self.value is None else taken * self.value


class Weights(ABC):
    """Rows of unit weights. `rows` is how many values a metric gives for them."""

    role: Role
    rows: int
    units: int
    whole: bool = False  # whether they are the units' own, as a state has them
    even: bool = False  # whether they are all 1

    def __matmul__(self, column: Array) -> Floats:
        """Weighted totals: shape (rows,) for a column (units,), (rows, k) for (units, k)."""
        return np.concatenate([block @ column for block in self.blocks()])

    def scatter(self, entries: Entries) -> Floats:
        """Weighted totals of the columns that entries add up to: (rows, size)."""
        totals = [
            np.bincount(entries.code, weights=entries.times(row), minlength=entries.size)
            for block in self.blocks()
            for row in block
        ]
        return np.array(totals, dtype=np.float64).reshape(self.rows, entries.size)

    @abstractmethod
    def blocks(self) -> Iterator[Floats]:
        """The weights themselves, as blocks (some rows, units) that are never all held at once."""

    def counts(self) -> Iterator[Counts] | None:
        """The rows as blocks of counts, (groups, units, 32 rows side by side); None if they are not counts.

        Only draws give them. They say that nobody reads the last digits of a value: a metric may make it in single
        precision.
        """
        return None

    def groups(self) -> Array | None:
        """The group of each unit, where row k takes all units once but those of group k; None where rows are others.

        A unit in group -1 is in every row.
        """
        return None

    def parts(self, most: int) -> Iterator[Weights]:
        """Split the rows into parts of about `most`, if their totals would be too large to hold at once."""
        yield self

    def present(self) -> Weights:
        """Return the rows with 1 for every positive user weight: integers, whose sums are exact."""
        return self

    def _rows_a_block(self) -> int:
        return max(32, BLOCK_BYTES // (8 * max(1, self.units)) // 32 * 32)


class Plain(Weights):
    """One row of given weights: the plain score.

    They may be given as a function, and are then made when they are asked for.
    """

    def __init__(
        self,
        weights: Array | Callable[[], Array],
        *,
        whole: bool = False,
        even: bool = False,
        role: Role = Role.POINT,
    ) -> None:
        self._given, self.whole, self.even, self.role = weights, whole, even, role
        self.rows = 1

    @cached_property
    def array(self) -> Floats:
        """The weights."""
        values = self._given() if callable(self._given) else self._given
        return np.ascontiguousarray(values, dtype=np.float64)

    @property
    def units(self) -> int:  # type: ignore[override]
        """How many weights there are."""
        return len(self.array)

    def __matmul__(self, column: Array) -> Floats:
        total: Floats = np.asarray(self.array @ column, dtype=np.float64)
        return total[np.newaxis]

    def scatter(self, entries: Entries) -> Floats:
        total: Array = np.bincount(entries.code, weights=entries.times(self.array), minlength=entries.size)
        return total[np.newaxis]

    def blocks(self) -> Iterator[Floats]:
        yield self.array[np.newaxis]

    def present(self) -> Weights:
        return Plain(self.array > 0, role=self.role)


class EachUnit(Weights):
    """One row per unit, with that unit alone: the table of units, or the part of it from `start` to `stop`."""

    role = Role.UNITS

    def __init__(self, units: int, start: int = 0, stop: int | None = None) -> None:
        self.units, self.start, self.stop = units, start, units if stop is None else stop
        self.rows = self.stop - self.start

    def __matmul__(self, column: Array) -> Floats:
        return np.asarray(column[self.start : self.stop], dtype=np.float64)

    def scatter(self, entries: Entries) -> Floats:
        first, last = np.searchsorted(entries.owner, [self.start, self.stop])
        place = (entries.owner[first:last] - self.start) * entries.size + entries.code[first:last]
        value = None if entries.value is None else entries.value[first:last]
        total = np.bincount(place, weights=value, minlength=self.rows * entries.size)
        return np.asarray(total, dtype=np.float64).reshape(self.rows, entries.size)

    def blocks(self) -> Iterator[Floats]:
        step = self._rows_a_block()
        for start in range(self.start, self.stop, step):
            stop = min(start + step, self.stop)
            block = np.zeros((stop - start, self.units))
            block[np.arange(stop - start), np.arange(start, stop)] = 1.0
            yield block

    def parts(self, most: int) -> Iterator[Weights]:
        for start in range(self.start, self.stop, max(1, most)):
            yield EachUnit(self.units, start, min(start + max(1, most), self.stop))


class GivenRows(Weights):
    """Rows that are at hand as one block, in a role."""

    def __init__(self, block: Floats, role: Role) -> None:
        self.block, self.role = block, role
        self.rows, self.units = block.shape

    def blocks(self) -> Iterator[Floats]:
        yield self.block


class LeaveOneOut(Weights):
    """One row per unit, with that unit left out: the jackknife.

    Where a row of units stands for several alike ones, `one` is the weight of one of them, which is left out.
    """

    role = Role.JACKKNIFE

    def __init__(self, base: Floats, ones: Floats | None = None) -> None:
        self.base, self.one = base, base if ones is None else ones
        self.rows = self.units = base.shape[0]

    def __matmul__(self, column: Array) -> Floats:
        wide = (slice(None),) + (np.newaxis,) * (column.ndim - 1)
        weighted: Floats = column * self.base[wide]
        return np.asarray(weighted.sum(axis=0) - (weighted if self.one is self.base else column * self.one[wide]))

    def blocks(self) -> Iterator[Floats]:
        step = self._rows_a_block()
        for start in range(0, self.units, step):
            stop = min(start + step, self.units)
            block = np.repeat(self.base[np.newaxis], stop - start, axis=0)
            block[np.arange(stop - start), np.arange(start, stop)] -= self.one[start:stop]
            yield block

    def present(self) -> Weights:
        """1 for every weight above 0: of alike units, until the last is left out."""
        last = (self.base > 0) & (self.base <= self.one)
        return LeaveOneOut((self.base > 0).astype(np.float64), last.astype(np.float64))


class LeaveGroupOut(Weights):
    """One row per group of units, with that group left out: the jackknife of many units.

    `group` is the group of each unit; a unit in group -1 is never left out.
    """

    role = Role.JACKKNIFE

    def __init__(self, base: Floats, group: Array, rows: int) -> None:
        self.base, self.group, self.rows = base, group, rows
        self.units = base.shape[0]

    def __matmul__(self, column: Array) -> Floats:
        flat = column.reshape(len(column), -1) * self.base[:, np.newaxis]
        inside = self.group >= 0
        group, flat_inside = self.group[inside], flat[inside]
        sums = [np.bincount(group, weights=values, minlength=self.rows) for values in flat_inside.T]
        left = flat.sum(axis=0) - np.stack(sums, axis=1) if sums else np.zeros((self.rows, 0))
        return np.asarray(left.reshape((self.rows, *column.shape[1:])))

    def scatter(self, entries: Entries) -> Floats:
        value = entries.times(self.base)
        group = self.group[entries.owner]
        inside = group >= 0
        place = group[inside].astype(np.int64) * entries.size + entries.code[inside]
        lost = np.bincount(place, weights=value[inside], minlength=self.rows * entries.size)
        every = np.bincount(entries.code, weights=value, minlength=entries.size)
        return np.asarray(every - lost.reshape(self.rows, entries.size))

    def blocks(self) -> Iterator[Floats]:
        step = self._rows_a_block()
        for start in range(0, self.rows, step):
            rows = np.arange(start, min(start + step, self.rows))
            yield np.where(self.group == rows[:, np.newaxis], 0.0, self.base)

    def counts(self) -> Iterator[Counts] | None:
        """Give the rows as bytes, where units weigh 1."""
        return self._count_blocks() if self._even else None

    def groups(self) -> Array | None:
        """Give the groups, where units weigh 1."""
        return self.group if self._even else None

    @cached_property
    def _even(self) -> bool:
        return bool((self.base == 1).all())

    def _count_blocks(self) -> Iterator[Counts]:
        step = max(1, self._rows_a_block() // 8)  # groups of 32 rows, a byte each
        for start in range(0, self.rows, 32 * step):
            stop = min(start + 32 * step, self.rows)
            block = np.ones(((stop - start + 31) // 32, self.units, 32), dtype=np.uint8)
            units = np.flatnonzero((self.group >= start) & (self.group < stop))
            row = self.group[units] - start
            block[row // 32, units, row % 32] = 0
            yield block

    def present(self) -> Weights:
        return LeaveGroupOut((self.base > 0).astype(np.float64), self.group, self.rows)


class InStrata(Weights):
    """Rows of weights in which every stratum keeps its total, whatever was drawn or left out of it.

    A stratum of which a row has nothing keeps its plain weights there.
    """

    def __init__(self, rows: Weights, base: Floats, stratum: Array) -> None:
        self.inner, self.base, self.role = rows, base, rows.role
        self.rows, self.units = rows.rows, rows.units
        self.stratum = stratum
        self.order = np.argsort(stratum, kind="stable")
        self.starts = np.searchsorted(stratum[self.order], np.arange(int(stratum.max(initial=-1)) + 1))

    def blocks(self) -> Iterator[Floats]:
        totals = self._sums(self.base[np.newaxis])
        for block in self.inner.blocks():
            sums = self._sums(block)
            with np.errstate(divide="ignore", invalid="ignore"):
                factor = np.where(sums > 0, totals / sums, 0.0)
            scaled = block * factor[:, self.stratum]
            yield np.where((sums > 0)[:, self.stratum], scaled, self.base)

    def _sums(self, block: Floats) -> Floats:
        return np.asarray(np.add.reduceat(block[:, self.order], self.starts, axis=1))

    def present(self) -> Weights:
        return self.inner.present()


def ratio(numerator: Array, denominator: Array) -> Floats:
    """Divide; undefined (nan) where the denominator is not positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > 0, numerator / denominator, np.nan)
