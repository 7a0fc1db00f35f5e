"""Blocks: what a state keeps for a statistic, one row or some entries per unit.

A block knows how to be cut (`take`), put behind others (`stack`), moved to other classes (`move`), weighed (`total`)
and taken apart into arrays for a file (`pack`). It knows neither metrics nor tasks.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from steelyard.core.frozen import Frozen, frozen
from steelyard.core.metadata import Codes, Metadata
from steelyard.core.units import Array
from steelyard.core.weights import Entries, Floats, Weights


class Block(ABC):
    """What is kept for one statistic, by unit."""

    kind: ClassVar[str]

    @property
    def resampled(self) -> bool:
        """Whether it is read under draws; of what is not, the jackknife gives the interval."""
        return True

    @abstractmethod
    def take(self, index: Array, units: int) -> Self:
        """The part of the given units, in the given order; `units` is how many there are now."""

    @staticmethod
    @abstractmethod
    def stack(parts: Sequence[Any], sizes: Sequence[int]) -> Any:
        """Parts one after the other; `sizes` are their numbers of units."""

    @abstractmethod
    def total(self, weights: Weights, metadata: Metadata) -> Any:
        """The weighted totals, for each row of weights."""

    def read(self, reading: Any, weights: Weights, metadata: Metadata) -> Any:
        """What a curve reads."""
        return reading.read(self, weights, metadata)

    def move(self, codes: Mapping[str, Codes], old: Metadata, new: Metadata) -> Self:
        """Return the block with the codes of another list of classes."""
        return self

    def merged(self) -> Self:
        """Return the block as one of all units, once all parts are in it."""
        return self

    @abstractmethod
    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Facts and arrays of a file."""

    @classmethod
    @abstractmethod
    def unpack(cls, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The block that `pack` took apart."""


class SumBlock(Frozen, Block):
    """Values that add up: (units,) or (units, k). With `axis`, the k columns are the places along that axis."""

    values: Array
    axis: str = ""

    kind: ClassVar[str] = "sum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.asarray(self.values, dtype=np.float64))

    def take(self, index: Array, units: int) -> SumBlock:
        return SumBlock(np.ascontiguousarray(self.values[index]), self.axis)

    @staticmethod
    def stack(parts: Sequence[SumBlock], sizes: Sequence[int]) -> SumBlock:
        return SumBlock(np.concatenate([part.values for part in parts]), parts[0].axis)

    def move(self, codes: Mapping[str, Codes], old: Metadata, new: Metadata) -> SumBlock:
        """Columns at their new places; nothing was added up at the others."""
        if not self.axis:
            return self
        moved = np.zeros((len(self.values), new.size(self.axis)))
        moved[:, codes[self.axis]] = self.values
        return SumBlock(moved, self.axis)

    def total(self, weights: Weights, metadata: Metadata) -> Floats:
        """Weighted sums, column by column along an axis: a sum does not depend on how many others there are."""
        if not self.axis:
            return weights @ self.values
        columns = [weights @ np.ascontiguousarray(column) for column in self.values.T]
        return np.stack(columns, axis=1) if columns else np.zeros((weights.rows, 0))

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return ({"axis": self.axis} if self.axis else {}), {"values": self.values}

    @classmethod
    def unpack(cls, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> SumBlock:
        return cls(arrays["values"], str(facts.get("axis", "")))


class Pooled(Frozen):
    """Moments of all rows together, for each row of weights: sums about a common point."""

    count: Floats
    sums: Floats
    products: Floats

    def covariance(self, a: int, b: int) -> tuple[Floats, Floats]:
        """Sum of products around the weighted means, and the size that its rounding error is relative to."""
        raw = self.products[:, _place(a, b)]
        with np.errstate(divide="ignore", invalid="ignore"):
            correction = np.where(self.count > 0, self.sums[:, a] * self.sums[:, b] / self.count, np.nan)
        return raw - correction, np.abs(raw) + np.abs(correction)


def _place(a: int, b: int) -> int:
    low, high = min(a, b), max(a, b)
    return high * (high + 1) // 2 + low


class MomentsBlock(Frozen, Block):
    """Count, means and centred products of some columns, unit by unit: (units,), (units, d), (units, d (d + 1) / 2).

    They pool about the mean of all units, so that no digit is lost where values are large, and a unit's numbers do not
    depend on the other units.
    """

    count: Array
    mean: Array
    product: Array

    kind: ClassVar[str] = "moments"

    def __post_init__(self) -> None:
        for name in ("count", "mean", "product"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))

    @staticmethod
    def of(columns: Sequence[Array], owner: Array, units: int) -> MomentsBlock:
        """The moments of rows, by the unit that owns them. Of values that are all alike the mean is the value."""
        count = np.bincount(owner, minlength=units).astype(np.float64)
        divisor = np.maximum(count, 1.0)
        mean = np.zeros((units, len(columns)))
        for i, column in enumerate(columns):
            mean[owner[::-1], i] = column[::-1]  # the first of each unit, from which the others are counted
            mean[:, i] += np.bincount(owner, weights=column - mean[owner, i], minlength=units) / divisor
        centred = [column - mean[owner, i] for i, column in enumerate(columns)]
        products = [
            np.bincount(owner, weights=centred[high] * centred[low], minlength=units)
            for high in range(len(columns))
            for low in range(high + 1)
        ]
        return MomentsBlock(count, mean, np.stack(products, axis=1))

    @cached_property
    def matrix(self) -> Floats:
        """Columns that add up: count, sums and products about the mean of all units."""
        filled = np.flatnonzero(self.count)
        shifted = self.mean - self.mean[filled[0]] if len(filled) else self.mean
        shifted = shifted - (shifted * self.count[:, np.newaxis]).sum(axis=0) / max(1.0, self.count.sum())
        columns = [self.count, *(self.count * column for column in shifted.T)]
        width = shifted.shape[1]
        for high in range(width):
            for low in range(high + 1):
                between = self.count * shifted[:, high] * shifted[:, low]
                columns.append(self.product[:, _place(high, low)] + between)
        return np.ascontiguousarray(np.stack(columns, axis=1))

    def take(self, index: Array, units: int) -> MomentsBlock:
        return MomentsBlock(self.count[index], self.mean[index], self.product[index])

    @staticmethod
    def stack(parts: Sequence[MomentsBlock], sizes: Sequence[int]) -> MomentsBlock:
        return MomentsBlock(
            np.concatenate([part.count for part in parts]),
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.product for part in parts]),
        )

    def total(self, weights: Weights, metadata: Metadata) -> Pooled:
        return self.pooled(weights @ self.matrix)

    def pooled(self, totals: Floats) -> Pooled:
        """Totals of `matrix` by what they are."""
        width = self.mean.shape[1]
        return Pooled(totals[:, 0], totals[:, 1 : 1 + width], totals[:, 1 + width :])

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {}, {"count": self.count, "mean": self.mean, "product": self.product}

    @classmethod
    def unpack(cls, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> MomentsBlock:
        return cls(arrays["count"], arrays["mean"], arrays["product"])


@frozen  # not by inheritance: `DistinctCells` computes the entries
class CellsBlock(Block):
    """Counts in cells over named axes, mostly empty: each entry adds its value to cell `code` of its `owner` unit.

    Entries stand in the order of their owners. An axis is the name of one of the facts' axes, or a number of places.
    """

    axes: tuple[str | int, ...]
    entries: Entries

    kind: ClassVar[str] = "cells"

    @staticmethod
    def of(
        axes: tuple[str | int, ...], metadata: Metadata, owner: Array, code: Array, value: Array | None
    ) -> CellsBlock:
        """Entries in any order."""
        order = np.argsort(owner, kind="stable")
        size = math.prod(shape_of(axes, metadata))
        entries = Entries(
            np.ascontiguousarray(owner[order], dtype=np.int64),
            np.ascontiguousarray(code[order], dtype=np.int32 if size < 2**31 else np.int64),
            None if value is None else np.ascontiguousarray(value[order], dtype=np.float64),
            size,
        )
        return CellsBlock(axes, entries)

    def take(self, index: Array, units: int) -> CellsBlock:
        e = self.entries
        owner = new_places(index, e.owner)[e.owner]
        rows = np.flatnonzero(owner >= 0)
        rows = rows[np.argsort(owner[rows], kind="stable")]
        value = None if e.value is None else e.value[rows]
        return CellsBlock(self.axes, Entries(owner[rows], e.code[rows], value, e.size))

    @staticmethod
    def stack(parts: Sequence[CellsBlock], sizes: Sequence[int]) -> CellsBlock:
        starts = np.cumsum([0, *sizes])
        owner = np.concatenate([p.entries.owner + s for p, s in zip(parts, starts, strict=False)])
        code = np.concatenate([part.entries.code for part in parts])
        value = None
        if any(part.entries.value is not None for part in parts):
            value = np.concatenate([_entry_values(part.entries) for part in parts])
        return CellsBlock(parts[0].axes, Entries(owner, code, value, parts[0].entries.size))

    def move(self, codes: Mapping[str, Codes], old: Metadata, new: Metadata) -> CellsBlock:
        before, after = shape_of(self.axes, old), shape_of(self.axes, new)
        size = math.prod(after)
        if not len(self.entries.code):
            return CellsBlock(self.axes, Entries(self.entries.owner, self.entries.code, self.entries.value, size))
        places = list(np.unravel_index(self.entries.code.astype(np.int64), before))
        for i, axis in enumerate(self.axes):
            if isinstance(axis, str):
                places[i] = codes[axis][places[i]]
        code = np.ravel_multi_index(tuple(places), after)
        kind = np.int32 if size < 2**31 else np.int64
        return CellsBlock(self.axes, Entries(self.entries.owner, code.astype(kind), self.entries.value, size))

    def total(self, weights: Weights, metadata: Metadata) -> Floats:
        return weights.scatter(self.entries).reshape(weights.rows, *shape_of(self.axes, metadata))

    def pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        e = self.entries
        arrays = {"owner": e.owner, "code": e.code}
        if e.value is not None:
            arrays["value"] = e.value
        return {"axes": list(self.axes), "size": e.size}, arrays

    @classmethod
    def unpack(cls, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> CellsBlock:
        entries = Entries(arrays["owner"], arrays["code"], arrays.get("value"), int(facts["size"]))
        return cls(tuple(facts["axes"]), entries)


def shape_of(axes: Sequence[str | int], metadata: Metadata) -> tuple[int, ...]:
    """How many places each axis has."""
    return tuple(metadata.size(axis) if isinstance(axis, str) else axis for axis in axes)


def new_places(index: Array, *units: Array) -> Array:
    """Where each of these units stands in an index; -1 where it does not."""
    last = max(int(some.max(initial=-1)) for some in (index, *units))
    place = np.full(last + 1, -1, dtype=np.int64)
    place[index] = np.arange(len(index))
    return place


def _entry_values(entries: Entries) -> Array:
    return np.ones(len(entries.code)) if entries.value is None else entries.value
