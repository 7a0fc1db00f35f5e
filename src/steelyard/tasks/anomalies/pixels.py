"""Counts of pixels at the scores of defective ones, for one row of weights of the images or for each image.

A block's packed scores are opened here. Normal pixels are only counted, at the distinct scores that defective pixels
have; where draws would need too many of these, at the ends of bins of scores.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from steelyard import _native
from steelyard.core.errors import InvalidResult
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.rows import RowsBlock
from steelyard.core.weights import Floats
from steelyard.tasks.anomalies import curves
from steelyard.tasks.anomalies.curves import Curve

T = TypeVar("T")
EXACT = 2048  # distinct scores of defective pixels up to which draws are exact
KNOTS = 1024  # bins of scores otherwise
NARROW = 4  # the first byte of a packed set of sorted scores of single precision


class Entries(Frozen):
    """Counted scores of sets (regions, or defective pixels): one row for each distinct score of each set.

    `begin` is where each set begins, `owner` the unit that it lies in. A score is held in single precision where that
    is exact.
    """

    begin: Array
    owner: Array
    held: Array
    count: Array

    @property
    def score(self) -> Floats:
        """The score of each row."""
        return self.held.astype(np.float64, copy=False)

    @property
    def region(self) -> Array:
        """The number of the set that each row belongs to."""
        return np.repeat(np.arange(len(self.owner), dtype=np.int32), np.diff(self.begin))

    @property
    def unit(self) -> Array:
        """The unit that each row belongs to."""
        return np.repeat(self.owner, np.diff(self.begin))


class Pixels:
    """The images of a block, ready to be counted: arrays by unit in the block's order."""

    def __init__(self, block: RowsBlock) -> None:
        tables = block.tables
        data = tables[0].columns["data"] if len(tables) == 1 else np.concatenate([t.columns["data"] for t in tables])
        starts = np.cumsum([0] + [len(table.columns["data"]) for table in tables])
        first = np.concatenate([table.begin[:-1] + s for table, s in zip(tables, starts, strict=False)])[block.index]
        last = np.concatenate([table.begin[1:] + s for table, s in zip(tables, starts, strict=False)])[block.index]
        self.data, units = data, len(block.index)
        self._cache: dict[Any, Any] = {}
        self.objects: list[str] = [""] * units
        self.groups: list[str] = [""] * units
        self.there = last > first
        self.good = np.zeros(units, dtype=bool)
        self.normal: Floats = np.zeros(units)
        self.places = np.zeros((units, 2), dtype=np.int64)
        regions: list[tuple[int, int, int, int]] = []
        unions: list[tuple[int, int, int]] = []
        self.has_union = np.zeros(units, dtype=bool)
        for unit in np.flatnonzero(self.there).tolist():
            try:
                header, at = _header(data, int(first[unit]), int(last[unit]))
                self.objects[unit], self.groups[unit] = str(header["object"]), str(header["group"])
                self.good[unit], self.normal[unit] = bool(header["good"]), int(header["normal"])
                ends = at + np.cumsum([0, *map(int, header["sets"])])
                if ends[-1] != last[unit] or (np.diff(ends) <= 0).any():
                    raise ValueError
                self.places[unit] = ends[:2]
                for place, saturation in enumerate(header["saturation"]):
                    regions.append((unit, int(ends[place + 1]), int(ends[place + 2]), int(saturation)))
                if header["union"]:
                    self.has_union[unit] = True
                    unions.append((unit, int(ends[-2]), int(ends[-1])))
            except (ValueError, KeyError, TypeError, IndexError, OverflowError):
                raise _damaged() from None
        self.region_unit = np.array([unit for unit, _, _, _ in regions], dtype=np.int32)
        self.saturation = np.array([area for _, _, _, area in regions], dtype=np.int64)
        self.region_places = _places([(first, last) for _, first, last, _ in regions])
        self.union_unit = np.array([unit for unit, _, _ in unions], dtype=np.int32)
        self.union_places = _places([(first, last) for _, first, last in unions])
        self.region_size: Floats = np.array([_scores_in(data, first) for _, first, _, _ in regions], dtype=np.float64)

    @cached_property
    def entries(self) -> Entries:
        """The scores of regions."""
        return self._entries(self.region_unit, self.region_places)

    @cached_property
    def union(self) -> Entries:
        """The scores of defective pixels, each pixel once: those of the regions, unless they overlap."""
        if not len(self.union_unit):
            return self.entries
        alone = ~self.has_union[self.region_unit]
        units = np.concatenate([self.region_unit[alone], self.union_unit])
        return self._entries(units, np.concatenate([self.region_places[alone], self.union_places]))

    def _entries(self, units: Array, places: Array) -> Entries:
        """The entries of packed sets that lie in units."""
        held, counts = [], []
        for first, last in places.tolist():
            score, count = unpack_set(self.data[first:last])
            held.append(score.astype(np.float32) if self.data[first] == NARROW else score)
            counts.append(count.astype(np.uint32))
        begin = np.cumsum([0, *map(len, held)])
        none = np.zeros(0, np.float32), np.zeros(0, np.uint32)
        return Entries(begin, units, np.concatenate(held or [none[0]]), np.concatenate(counts or [none[1]]))

    @property
    def overlap(self) -> Floats:
        """What each entry adds to the overlap of its region."""
        return np.asarray(self.entries.count / self.region_size[self.entries.region])

    @cached_property
    def saturated(self) -> Floats:
        """What each entry adds to the saturated overlap of its region."""
        count, region = self.entries.count.astype(np.int64), self.entries.region
        total = np.cumsum(count)
        last = self.entries.begin[1:] - 1
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


def _header(data: Array, first: int, last: int) -> tuple[dict[str, Any], int]:
    length = int.from_bytes(data[first : first + 4].tobytes(), "little")
    at = first + 4 + length
    if at > last:
        raise ValueError
    header = json.loads(data[first + 4 : at].tobytes())
    if len(header["sets"]) != 1 + len(header["saturation"]) + bool(header["union"]):
        raise ValueError
    return header, at


def _places(pairs: Sequence[tuple[int, int]]) -> Array:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _scores_in(data: Array, first: int) -> int:
    """The number of scores in a packed set, which stands behind its first byte."""
    value, shift = 0, 0
    for byte in data[first + 1 : first + 11].tolist():
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    return value


def unpack_set(packed: Array) -> tuple[Floats, Array]:
    """The distinct scores of a packed set, rising, and how often each occurs."""
    try:
        return _native.unpack_scores(np.ascontiguousarray(packed))
    except ValueError:
        raise _damaged() from None


def _damaged() -> InvalidResult:
    return InvalidResult("the packed scores of a state are damaged", remedy="Make the state again.")


def count_sets(data: Array, places: Array, thresholds: Floats, weights: Floats | None) -> Floats:
    """Scores at or above, and above, rising thresholds: (sets, 2, thresholds), or (2, thresholds) under weights."""
    each = weights is None
    ones = np.ones(len(places)) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    places, thresholds = np.ascontiguousarray(places, dtype=np.int64), np.ascontiguousarray(thresholds)
    try:
        counts: Floats = _native.count_scores(np.asarray(data), places, thresholds, ones, each)
    except ValueError:
        raise _damaged() from None
    return counts if each else counts[0]


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
    ones = np.ones(len(units))
    return pixels.once(("distinct", units.tobytes()), lambda: _sums(pixels, units, ones, False)[0])


def _sums(pixels: Pixels, units: Array, weights: Floats, saturated: bool) -> tuple[Floats, Floats, Floats]:
    """The distinct scores of defective pixels, rising; what they add to the summed overlap, and how many pixels."""
    weight, wanted = np.zeros(len(pixels.there)), np.zeros(len(pixels.there), dtype=bool)
    weight[units], wanted[units] = weights, True
    regions, unions = wanted[pixels.region_unit], wanted[pixels.union_unit]
    own, other = pixels.region_unit[regions], pixels.union_unit[unions]
    saturation = np.maximum(pixels.saturation[regions], 1) if saturated else np.zeros(len(own), np.int64)
    try:
        return _native.sum_scores(
            np.asarray(pixels.data),
            np.concatenate([pixels.region_places[regions], pixels.union_places[unions]]),
            np.concatenate([weight[own], np.zeros(len(other))]),
            np.concatenate([np.where(pixels.has_union[own], 0.0, weight[own]), weight[other]]),
            np.concatenate([saturation, np.zeros(len(other), np.int64)]),
        )
    except ValueError:
        raise _damaged() from None


def _by_unit(pixels: Pixels, units: Array, places: Floats, saturated: bool) -> tuple[Floats, Floats]:
    """For each unit: what its scores add to the summed overlap, and its defective pixels, by place.

    `places` are rising scores; a score belongs to the highest that is not above it.
    """
    overlap, positive = np.zeros((2, len(units), len(places)))
    row = np.full(len(pixels.there), -1, dtype=np.int64)
    row[units] = np.arange(len(units))
    value = pixels.saturated if saturated else pixels.overlap
    for entries, sums, values in ((pixels.entries, overlap, value), (pixels.union, positive, pixels.union.count)):
        for k, unit in enumerate(entries.owner.tolist()):
            if row[unit] < 0:
                continue
            part = slice(entries.begin[k], entries.begin[k + 1])
            column = np.searchsorted(places, entries.held[part].astype(np.float64), side="right") - 1
            np.add.at(sums[row[unit]], np.maximum(column, 0), values[part])
    return overlap, positive


def whole_curve(pixels: Pixels, units: Array, weights: Floats, normal_weights: Floats, saturated: bool) -> Curve:
    """The curve at every distinct score of defective pixels, under one row of weights of the units."""
    if len(units) == 1:  # one image alone is looked at once
        return _whole_curve(pixels, units, weights, normal_weights, saturated)
    key = ("curve", units.tobytes(), weights.tobytes(), normal_weights.tobytes(), saturated)
    return pixels.once(key, lambda: _whole_curve(pixels, units, weights, normal_weights, saturated))


def _whole_curve(pixels: Pixels, units: Array, weights: Floats, normal_weights: Floats, saturated: bool) -> Curve:
    score, overlap, positive = _sums(pixels, units, weights, saturated)
    score = pixels.once(("distinct", units.tobytes()), lambda: score)
    counts = count_sets(pixels.data, pixels.places[units], score, normal_weights)
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
    counts = count_sets(pixels.data, pixels.places[units], score, None)
    at, above = counts[:, 0, ::-1], counts[:, 1, ::-1]
    if bins:
        above = np.concatenate([np.zeros((len(units), 1)), at[:, :-1]], axis=1)
    overlap, positive = _by_unit(pixels, units, score, saturated)

    def falling(rows: Floats) -> Floats:
        return np.ascontiguousarray(rows[:, ::-1])

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
