"""Counts of pixels at the scores of defective ones, for one row of weights of the images or for each image.

A block's packed scores are opened here. Normal pixels are only counted, at the distinct scores that defective pixels
have; where draws would need too many of these, at the ends of bins of scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.rows import RowsBlock
from steelyard.core.weights import Floats
from steelyard.tasks.anomalies import curves
from steelyard.tasks.anomalies.curves import Curve
from steelyard.tasks.anomalies.loose import LooseTable
from steelyard.tasks.anomalies.sets import LooseSets, PackedSets, damaged, unpack_set

T = TypeVar("T")
EXACT = 2048  # distinct scores of defective pixels up to which draws are exact
KNOTS = 1024  # bins of scores otherwise


class Entries(Frozen):
    """Counted scores of regions, or of defective pixels: one row for each distinct score of each set."""

    unit: Array
    region: Array
    score: Floats
    count: Array


class Pixels:
    """The images of a block, ready to be counted: arrays by unit in the block's order."""

    def __init__(self, block: RowsBlock) -> None:
        units = len(block.index)
        self._cache: dict[Any, Any] = {}
        self.objects: list[str] = [""] * units
        self.groups: list[str] = [""] * units
        self.there = np.zeros(units, dtype=bool)
        self.good = np.zeros(units, dtype=bool)
        self.normal: Floats = np.zeros(units)
        self.has_union = np.zeros(units, dtype=bool)
        regions: list[tuple[int, Array, int]] = []
        unions: list[tuple[int, Array]] = []
        table = block.tables[0]
        self._sets: LooseSets | PackedSets
        if len(block.tables) == 1 and isinstance(table, LooseTable):
            self._sets = LooseSets(table, block.index)
        else:
            self._sets = PackedSets(block)
        for unit, header, sets in self._sets.images():
            try:
                self.there[unit] = True
                self.objects[unit], self.groups[unit] = str(header["object"]), str(header["group"])
                self.good[unit], self.normal[unit] = bool(header["good"]), int(header["normal"])
                for place, saturation in enumerate(header["saturation"]):
                    regions.append((unit, sets[place], int(saturation)))
                if header["union"]:
                    self.has_union[unit] = True
                    unions.append((unit, sets[-1]))
            except (ValueError, KeyError, TypeError, IndexError, OverflowError):
                raise damaged() from None
        self.region_unit = np.array([unit for unit, _, _ in regions], dtype=np.int32)
        self.saturation = np.array([area for _, _, area in regions], dtype=np.int64)
        self.entries = self._entries([(unit, packed) for unit, packed, _ in regions])
        self.region_size = np.bincount(self.entries.region, weights=self.entries.count, minlength=len(regions))
        self.union = self._union(unions)

    def count(self, units: Array, thresholds: Floats, weights: Floats | None = None) -> Floats:
        """Normal scores at or above, and above, rising thresholds: (units, 2, thresholds), or weighted sums of them."""
        return self._sets.count(units, np.ascontiguousarray(thresholds, dtype=np.float64), weights)

    def normal_scores(self, unit: int) -> tuple[Floats, Array]:
        """The distinct scores of the normal pixels of a unit, rising, and how often each occurs."""
        return unpack_set(self._sets.packed(unit))

    def _entries(self, sets: Sequence[tuple[int, Array]]) -> Entries:
        """The entries of packed sets that lie in units; `region` is the number of the set."""
        opened = [unpack_set(packed) for _, packed in sets]
        widths = [len(score) for score, _ in opened]
        return Entries(
            np.repeat(np.array([unit for unit, _ in sets], dtype=np.int32), widths),
            np.repeat(np.arange(len(sets), dtype=np.int32), widths),
            np.concatenate([score for score, _ in opened] or [np.zeros(0)]),
            np.concatenate([count for _, count in opened] or [np.zeros(0, np.int64)]),
        )

    def _union(self, unions: Sequence[tuple[int, Array]]) -> Entries:
        """The entries of defective pixels, each pixel once: those of the regions, unless they overlap."""
        if not unions:
            return self.entries
        alone, own = ~self.has_union[self.entries.unit], self._entries(unions)
        names = ("unit", "region", "score", "count")
        return Entries(*(np.concatenate([getattr(self.entries, n)[alone], getattr(own, n)]) for n in names))

    @cached_property
    def overlap(self) -> Floats:
        """What each entry adds to the overlap of its region."""
        return np.asarray(self.entries.count / self.region_size[self.entries.region])

    @cached_property
    def saturated(self) -> Floats:
        """What each entry adds to the saturated overlap of its region."""
        count, region = self.entries.count, self.entries.region
        total = np.cumsum(count)
        last = np.searchsorted(region, np.arange(len(self.region_unit)), side="right") - 1
        reached = total[last][region] - total + count  # pixels of the region at or above the score
        above = reached - count
        area = np.maximum(self.saturation, 1)[region]
        return np.asarray(np.minimum(reached / area, 1.0) - np.minimum(above / area, 1.0))

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What several figures read, made once."""
        if key not in self._cache:
            self._cache[key] = make()
        value: T = self._cache[key]
        return value

    def holds(self, key: Any) -> bool:
        """Whether `once` has made this already."""
        return key in self._cache

    def members(self, by_group: bool = False) -> dict[tuple[str, str], Array]:
        """The units of each object, or of each group of defects of an object with all its good images."""
        members: dict[tuple[str, str], Array] = {}
        objects, groups = np.array(self.objects, dtype=str), np.array(self.groups, dtype=str)
        for name in sorted({name for name, there in zip(self.objects, self.there, strict=True) if there}):
            mine = self.there & (objects == name)
            kinds = sorted(set(groups[mine & ~self.good].tolist())) if by_group else []
            if len(kinds) < 2:
                members[name, ""] = np.flatnonzero(mine)
            else:
                members |= {(name, kind): np.flatnonzero(mine & (self.good | (groups == kind))) for kind in kinds}
        return members


def pixels_of(block: RowsBlock) -> Pixels:
    """The images of a block, read once."""
    cache: dict[str, Any] = block.__dict__
    if "_pixels" not in cache:
        cache["_pixels"] = Pixels(block)
    pixels: Pixels = cache["_pixels"]
    return pixels


class Grid(Frozen):
    """Counts of the units of an object at scores, from the highest to the lowest: arrays (units, scores)."""

    units: Array
    score: Floats
    overlap: Floats
    positive: Floats
    tie: Floats
    above: Floats
    normal: Floats
    regions: Floats

    def curve(self, rows: Floats, normal_rows: Floats) -> Curve:
        """The curve under rows of weights of its units, those of normal pixels by themselves."""
        return Curve(
            self.score,
            rows @ self.overlap,
            rows @ self.positive,
            normal_rows @ self.tie,
            normal_rows @ self.above,
            normal_rows @ self.normal,
            rows @ self.regions,
        )


def distinct_scores(pixels: Pixels, units: Array) -> Floats:
    """The distinct scores of defective pixels of some units, rising."""

    def make() -> Floats:
        wanted = np.zeros(len(pixels.there), dtype=bool)
        wanted[units] = True
        return np.unique(pixels.union.score[wanted[pixels.union.unit]])

    return pixels.once(("distinct", units.tobytes()), make)


def _by_score(pixels: Pixels, units: Array, places: Floats, saturated: bool) -> tuple[tuple[Array, ...], ...]:
    """For overlap and for defective pixels: the place of each entry's unit and of its score, and what it adds.

    `places` are rising scores; an entry belongs to the highest that is not above it.
    """
    unit_place = np.full(len(pixels.there), -1, dtype=np.int64)
    unit_place[units] = np.arange(len(units))
    columns: list[tuple[Array, ...]] = []
    entries = pixels.entries
    overlap = pixels.saturated if saturated else pixels.overlap
    for part, value in ((entries, overlap), (pixels.union, pixels.union.count)):
        if part is not entries or not columns:
            mine = np.flatnonzero(unit_place[part.unit] >= 0)
            column = np.maximum(np.searchsorted(places, part.score[mine], side="right") - 1, 0)
            unit = unit_place[part.unit[mine]]
        columns.append((unit, column, np.asarray(value[mine], dtype=np.float64)))
    return tuple(columns)


def whole_curve(pixels: Pixels, units: Array, weights: Floats, normal_weights: Floats, saturated: bool) -> Curve:
    """The curve at every distinct score of defective pixels, under one row of weights of the units."""
    if len(units) == 1:  # one image alone is looked at once
        return _whole_curve(pixels, units, weights, normal_weights, saturated)
    key = ("curve", units.tobytes(), weights.tobytes(), normal_weights.tobytes(), saturated)
    return pixels.once(key, lambda: _whole_curve(pixels, units, weights, normal_weights, saturated))


def _whole_curve(pixels: Pixels, units: Array, weights: Floats, normal_weights: Floats, saturated: bool) -> Curve:
    score = distinct_scores(pixels, units)
    counts = pixels.count(units, score, normal_weights)
    overlap, positive = (
        np.bincount(column, weights=value * weights[unit], minlength=len(score))
        for unit, column, value in _by_score(pixels, units, score, saturated)
    )
    regions = np.bincount(pixels.region_unit, minlength=len(pixels.there))[units]

    def row(values: Any) -> Floats:
        return np.atleast_2d(np.asarray(values, dtype=np.float64)[::-1])

    return Curve(
        score[::-1],
        row(overlap),
        row(positive),
        row(counts[0] - counts[1]),
        row(counts[1]),
        np.array([normal_weights @ pixels.normal[units]]),
        np.array([weights @ regions]),
    )


def is_binned(pixels: Pixels, units: Array) -> bool:
    """Whether draws of these units are counted in bins of scores."""
    return len(distinct_scores(pixels, units)) > EXACT


def has_grid(pixels: Pixels, units: Array, saturated: bool) -> bool:
    """Whether counts of each unit were made already, as draws need them."""
    return pixels.holds(("grid", units.tobytes(), saturated))


def grid_of(pixels: Pixels, units: Array, saturated: bool) -> Grid:
    """Counts of each unit at every score of defective pixels, or where those are many, in bins of scores."""
    return pixels.once(("grid", units.tobytes(), saturated), lambda: _make_grid(pixels, units, saturated))


def bin_scores(pixels: Pixels, units: Array, saturated: bool) -> Array:
    """Places in the falling distinct scores of defective pixels at which bins end."""

    def make() -> Array:
        ones = np.ones(len(units))
        return curves.bin_edges(whole_curve(pixels, units, ones, ones, saturated), KNOTS)

    return pixels.once(("edges", units.tobytes(), saturated), make)


def _make_grid(pixels: Pixels, units: Array, saturated: bool) -> Grid:
    score = distinct_scores(pixels, units)
    bins = is_binned(pixels, units)
    if bins:
        score = score[::-1][bin_scores(pixels, units, saturated)][::-1]
    counts = pixels.count(units, score)
    at, above = counts[:, 0, ::-1], counts[:, 1, ::-1]
    if bins:
        above = np.concatenate([np.zeros((len(units), 1)), at[:, :-1]], axis=1)
    overlap, positive = (
        np.bincount(unit * len(score) + column, weights=value, minlength=len(units) * len(score)).astype(np.float64)
        for unit, column, value in _by_score(pixels, units, score, saturated)
    )

    def falling(flat: Floats) -> Floats:
        return np.ascontiguousarray(flat.reshape(len(units), len(score))[:, ::-1])

    regions = np.bincount(pixels.region_unit, minlength=len(pixels.there))[units].astype(np.float64)
    return Grid(
        units,
        score[::-1],
        falling(overlap),
        falling(positive),
        at - above,
        np.ascontiguousarray(above),
        pixels.normal[units],
        regions,
    )
