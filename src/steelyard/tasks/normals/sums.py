"""What states keep of normals: sums and counts of angles, figures of single images, and angles by bin."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

import numpy as np

from steelyard.core.block import CellsBlock, SumBlock
from steelyard.core.statistic import Cells, SharedCache, Statistic, Sum
from steelyard.core.weights import Array, Floats, ratio
from steelyard.maps.each import for_each
from steelyard.tasks.normals.data import BINS, EDGES, AngleRow, NormalPairs

T = TypeVar("T")
MOST_SORTED = 1 << 20  # angles of the median's bin that are sorted; more are divided first
DIVIDED = 4096  # parts of a bin that holds too many angles
COUNT, ANGLE, SQUARE, ZERO, IMAGES, VALID = range(6)


class _OfPart(Statistic):
    """Base: `of` is the region."""

    of: str = "all"


def scan(pairs: NormalPairs, cache: SharedCache) -> list[dict[str, AngleRow]]:
    """One pass over the images for all statistics that are measured together."""
    own = [one for one in cache.statistics if isinstance(one, _OfPart)]
    parts = tuple(sorted({one.of for one in own} | {"all"}))
    again = any(isinstance(one, ExactMedian) for one in own)
    medians = any(isinstance(one, ImageAngles) and one.figure == "median" for one in own)
    return cache.once("normals", lambda: pairs.scan(limits_of(cache), parts, again=again, medians=medians))


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
        if pairs.measured is not None:  # the angles are gone
            return by_unit(pairs, np.stack([n, np.zeros_like(n), np.zeros_like(n)], axis=1))
        weight = np.ones(len(rows)) if pairs.weight is None else pairs.weight[pairs.owner]
        table = np.array([row.bins for row in rows], dtype=np.float64).reshape(-1, BINS)

        def angles_of(image: int) -> Array:
            stored = rows[image].angles
            return pairs.angles(image, self.of)[0] if stored is None else stored

        median = exact_median(len(rows), angles_of, table, weight)
        total = float(weight @ n)
        return by_unit(pairs, np.stack([n, n * median, n * total], axis=1))


def exact_median(
    n_images: int, angles_of: Callable[[int], Array], counts: Array, weight: Floats, most: int = MOST_SORTED
) -> float:
    """The weighted median of all angles, read again from the files: the mean of the middle two where they differ.

    `counts` are the angles of each image by bin. Those of the median's bin are collected. Where they are more than
    `most`, the bin is divided first, until they are few or all equal, so that memory does not grow with the pixels.
    """

    def each(choose: Callable[[Array], T]) -> list[T]:
        return for_each(n_images, lambda image: choose(angles_of(image)))

    if not counts.any():
        return float("nan")
    half, below = float((weight @ counts).sum()) / 2, 0.0
    edges = np.append(EDGES[:-1], np.inf)  # 180 belongs to the last bin
    edges[1] = np.nextafter(0.0, 1.0)  # and to the first only 0
    while True:
        ends = below + np.cumsum(weight @ counts)
        first, last = (min(int(np.searchsorted(ends, half, side=side)), len(ends) - 1) for side in ("left", "right"))
        low, high = float(edges[first]), float(edges[first + 1])
        if last > first:  # half of the angles end with a bin: its largest, and the smallest of the next
            return (max(each(largest_below(high))) + min(each(smallest_from(high)))) / 2
        if counts[:, first].sum() <= most:
            break
        below = float(ends[first] - weight @ counts[:, first])
        edges = np.unique(np.append(np.linspace(low, min(high, 180.0), DIVIDED, endpoint=False), high))
        if len(edges) == 2:  # nothing lies between them: all are `low`
            return low
        counts = np.array(each(counted_in(edges)), dtype=np.float64)
    chosen = each(lambda angles: (int((angles < low).sum()), angles[(angles >= low) & (angles < high)]))
    angles = np.concatenate([some for _, some in chosen])
    weights = np.repeat(weight, [len(some) for _, some in chosen])
    order = np.argsort(angles, kind="stable")
    reach = np.cumsum(weights[order]) + float(weight @ [under for under, _ in chosen])
    middle = [min(int(np.searchsorted(reach, half, side=side)), len(angles) - 1) for side in ("left", "right")]
    return float(angles[order[middle]].mean())


def largest_below(end: float) -> Callable[[Array], float]:
    """The largest angle below `end`."""
    return lambda angles: float(angles[angles < end].max(initial=-np.inf))


def smallest_from(start: float) -> Callable[[Array], float]:
    """The smallest angle from `start` on."""
    return lambda angles: float(angles[angles >= start].min(initial=np.inf))


def counted_in(edges: Floats) -> Callable[[Array], Array]:
    """Angles by bin between `edges`, the last of which belongs to none."""
    return lambda angles: np.asarray(np.histogram(angles[angles < edges[-1]], edges)[0])


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
