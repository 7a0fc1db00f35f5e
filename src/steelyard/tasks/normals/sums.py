"""What states keep of normals: sums and counts of angles, figures of single images, and angles by bin."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from steelyard.core.block import CellsBlock, SumBlock
from steelyard.core.statistic import Cells, SharedCache, Statistic, Sum
from steelyard.core.weights import Array, Floats, ratio
from steelyard.maps.each import for_each
from steelyard.tasks.normals.data import BINS, EDGES, AngleRow, NormalPairs

COUNT, ANGLE, SQUARE, ZERO, IMAGES, VALID = range(6)


class _OfPart(Statistic):
    """Base: `of` is the region."""

    of: str = "all"


def scan(pairs: NormalPairs, cache: SharedCache) -> list[dict[str, AngleRow]]:
    """One pass over the images for all statistics that are measured together."""
    own = [one for one in cache.statistics if isinstance(one, _OfPart)]
    parts = tuple(sorted({one.of for one in own} | {"all"}))
    again = any(isinstance(one, ExactMedian) for one in own)
    return cache.once("normals", lambda: pairs.scan(limits_of(cache), parts, again=again))


def limits_of(cache: SharedCache) -> tuple[float, ...]:
    """The limits of all statistics that are measured together."""
    limits = {one.limit for one in cache.statistics if isinstance(one, Within | ImageAngles) and one.limit}
    return tuple(sorted(limits))


def rows_of(pairs: NormalPairs, cache: SharedCache, of: str) -> list[AngleRow]:
    """The rows of a part, image by image."""
    return [rows[of] for rows in scan(pairs, cache)]


def by_unit(pairs: NormalPairs, columns: Array) -> SumBlock:
    """Rows of images, added up by unit."""
    total = np.zeros((len(pairs.units), columns.shape[1]))
    np.add.at(total, pairs.owner, columns)
    return SumBlock(total)


class AngleSums(_OfPart, Sum):
    """Pixels, sums of angles and of their squares, predictions of length 0, images, and images with a pixel."""

    name: ClassVar[str] = "fields.angles"

    def measure(self, pairs: NormalPairs, cache: SharedCache) -> SumBlock:
        rows = rows_of(pairs, cache, self.of)
        table = [(row.n, row.sums[0], row.sums[1], row.zero, 1.0, row.n > 0) for row in rows]
        return by_unit(pairs, np.array(table, dtype=np.float64).reshape(-1, 6))


class Within(_OfPart, Sum):
    """Pixels whose angle is below a limit."""

    limit: float = 11.25

    name: ClassVar[str] = "fields.angles_within"

    def measure(self, pairs: NormalPairs, cache: SharedCache) -> SumBlock:
        rows, place = rows_of(pairs, cache, self.of), limits_of(cache).index(self.limit)
        column = np.array([row.below[place] for row in rows], dtype=np.float64)
        return SumBlock(np.bincount(pairs.owner, weights=column, minlength=len(pairs.units)))


class ImageAngles(_OfPart, Sum):
    """A figure of each image: the sum of its values, and how many images have one."""

    figure: str = "mean"
    limit: float = 0.0

    name: ClassVar[str] = "fields.angle_images"

    def measure(self, pairs: NormalPairs, cache: SharedCache) -> SumBlock:
        rows = rows_of(pairs, cache, self.of)
        n = np.array([row.n for row in rows], dtype=np.float64)
        if self.figure == "median":
            values = np.array([row.median for row in rows], dtype=np.float64)
        elif self.figure == "within":
            place = limits_of(cache).index(self.limit)
            values = ratio(np.array([row.below[place] for row in rows], dtype=np.float64), n)
        else:
            sums = np.array([row.sums for row in rows], dtype=np.float64).reshape(-1, 2)
            values = ratio(sums[:, 0], n) if self.figure == "mean" else np.sqrt(ratio(sums[:, 1], n))
        return by_unit(pairs, np.stack([np.nan_to_num(values), ~np.isnan(values)], axis=1))


class AngleBins(_OfPart, Cells):
    """Pixels by bin of their angle."""

    name: ClassVar[str] = "fields.angle_bins"

    def measure(self, pairs: NormalPairs, cache: SharedCache) -> CellsBlock:
        rows = rows_of(pairs, cache, self.of)
        table = np.array([row.bins for row in rows], dtype=np.float64).reshape(-1, BINS)
        row, code = np.nonzero(table)
        return CellsBlock.of((BINS,), pairs.metadata, pairs.owner[row], code, table[row, code])


class ExactMedian(_OfPart, Sum):
    """The exact median of all pixels of the measured set, found in a second pass over the files.

    Columns: pixels, pixels times the median, pixels times the number of pixels of the set. The first and the last say
    whether totals are those of the whole set, so that a part or a merged state does not take it for its own.
    """

    name: ClassVar[str] = "fields.angle_median"
    drawn: ClassVar[bool] = False

    def measure(self, pairs: NormalPairs, cache: SharedCache) -> SumBlock:
        rows = rows_of(pairs, cache, self.of)
        n = np.array([row.n for row in rows], dtype=np.float64)
        weight = np.ones(len(rows)) if pairs.weight is None else pairs.weight[pairs.owner]
        table = np.array([row.bins for row in rows], dtype=np.float64).reshape(-1, BINS)
        median = exact_median(pairs, self.of, rows, weight @ table, weight)
        total = float(weight @ n)
        return by_unit(pairs, np.stack([n, n * median, n * total], axis=1))


def exact_median(pairs: NormalPairs, part: str, rows: list[AngleRow], bins: Floats, weight: Floats) -> float:
    """The weighted median of all angles: those of its bin are collected from the files."""
    total, ends = float(bins.sum()), np.cumsum(bins)
    if not total:
        return float("nan")
    first = int(np.searchsorted(ends, total / 2, side="left"))
    last = min(int(np.searchsorted(ends, total / 2, side="right")), BINS - 1)
    low, high = EDGES[first], EDGES[last + 1]

    def in_bin(pair: int) -> Array:
        stored = rows[pair].angles
        angles: Array = pairs.angles(pair, part)[0] if stored is None else stored
        if first == 0:
            return np.asarray(angles[(angles < high) | (angles == 0)])
        return np.asarray(angles[(angles >= low) & (angles > 0) & ((angles < high) | (high >= 180.0))])

    parts = for_each(len(pairs.owner), in_bin)
    angles = np.concatenate(parts)
    weights = np.repeat(weight, [len(some) for some in parts])
    order = np.argsort(angles, kind="stable")
    angles, reach = angles[order], np.cumsum(weights[order]) + (ends[first - 1] if first else 0.0)
    below = int(np.searchsorted(reach, total / 2, side="left"))
    above = int(np.searchsorted(reach, total / 2, side="right"))
    return float((angles[min(below, len(angles) - 1)] + angles[min(above, len(angles) - 1)]) / 2)


def binned_median(bins: Floats) -> Floats:
    """The median of each row of counts by bin, inside the bin as if its angles were evenly spread."""
    ends = np.cumsum(bins, axis=1)
    total = ends[:, -1]
    medians = np.full(len(bins), np.nan)
    for row in np.flatnonzero(total > 0).tolist():
        half = total[row] / 2
        place = int(np.searchsorted(ends[row], half, side="left"))
        above = int(np.searchsorted(ends[row], half, side="right"))
        if above > place and above < len(EDGES) - 1:  # half of the pixels end with this bin: between it and the next
            medians[row] = (EDGES[place + 1] + EDGES[above]) / 2 if place else EDGES[above] / 2
            continue
        before = ends[row, place - 1] if place else 0.0
        share = (half - before) / bins[row, place] if bins[row, place] else 0.0
        medians[row] = EDGES[place] + share * (EDGES[place + 1] - EDGES[place])
    return medians
