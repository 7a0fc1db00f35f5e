"""What states keep of depth: sums over the pixels of an image, figures of single images, logarithms and scales."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from steelyard.core.block import MomentsBlock, SumBlock
from steelyard.core.statistic import Moments, SharedCache, Statistic, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.depth.data import DepthPairs, ImageResult
from steelyard.tasks.depth.measured import Asked
from steelyard.tasks.depth.pixels import (
    ABS,
    ABS_REL,
    INV_ABS,
    INV_SQ,
    LOG_ABS,
    LOG_SQ,
    LOGS,
    SQ,
    SQ_REL,
    SQ_REL2,
    SUMS,
    Array,
    N,
)

# What follows the sums of pixels in the columns of `DepthSums`.
LOW, HIGH, HOLES, PIXELS, IMAGES, VALID, DARK, NEGATIVE, FLAT = range(len(SUMS), len(SUMS) + 9)
LN10 = math.log(10.0)


def scan(pairs: DepthPairs, cache: SharedCache) -> list[ImageResult]:
    """One pass over the images for all statistics that are measured together."""
    return cache.once("depth", lambda: pairs.scan(asked_of(cache.statistics)))


def asked_of(statistics: tuple[Statistic, ...]) -> Asked:
    """What the statistics need of an image."""
    own = [one for one in statistics if isinstance(one, _OfPart)]
    thresholds = {one.threshold for one in own if isinstance(one, BelowThreshold | ImageFigure) and one.threshold}
    edges = {one.pooled for one in statistics if isinstance(one, EdgeScores)}
    parts = {one.of for one in own} | {"all"}
    scales = any(isinstance(one, ScaleMoments) for one in statistics)
    return Asked(tuple(sorted(thresholds)), tuple(sorted(parts)), tuple(sorted(edges)), scales, bool(own))


def by_unit(pairs: DepthPairs, columns: Array) -> Array:
    """Rows of images, added up by unit."""
    total = np.zeros((len(pairs.units), columns.shape[1]))
    np.add.at(total, pairs.owner, columns)
    return total


class _OfPart(Statistic):
    """Base: `of` is the part of the image, a band of distance or a region."""

    of: str = "all"


class DepthSums(_OfPart, Sum):
    """Sums over the valid pixels of images, pixels that were clamped, holes, and counts of images."""

    name: ClassVar[str] = "fields.depth"

    def measure(self, pairs: DepthPairs, cache: SharedCache) -> SumBlock:
        rows = [result.rows[self.of] for result in scan(pairs, cache)]
        columns = np.zeros((len(rows), FLAT + 1))
        for i, row in enumerate(rows):
            columns[i, : len(SUMS)] = row.sums
            valid = row.sums[N] > 0
            columns[i, LOW:] = (
                *row.clamped,
                row.holes,
                row.pixels,
                1.0,
                valid,
                valid and row.sums[LOGS] == 0,
                row.scale < 0,
                row.flat,
            )
        return SumBlock(by_unit(pairs, columns))


class BelowThreshold(_OfPart, Sum):
    """Pixels whose ratio of both depths is below a threshold."""

    threshold: float = 1.25

    name: ClassVar[str] = "fields.depth_below"

    def measure(self, pairs: DepthPairs, cache: SharedCache) -> SumBlock:
        results, place = scan(pairs, cache), asked_of(cache.statistics).thresholds.index(self.threshold)
        column = np.array([result.rows[self.of].below[place] for result in results], dtype=np.float64)
        return SumBlock(np.bincount(pairs.owner, weights=column, minlength=len(pairs.units)))


class LogMoments(_OfPart, Moments):
    """Count, mean and centred squares of ln p - ln g."""

    name: ClassVar[str] = "fields.logs"

    def measure(self, pairs: DepthPairs, cache: SharedCache) -> MomentsBlock:
        rows = [result.rows[self.of] for result in scan(pairs, cache)]
        count = np.array([row.sums[LOGS] for row in rows], dtype=np.float64)
        moments = np.array([row.moments for row in rows], dtype=np.float64).reshape(-1, 2)
        return pooled_by_unit(count, moments[:, 0], moments[:, 1], pairs.owner, len(pairs.units))


def pooled_by_unit(count: Array, mean: Array, square: Array, owner: Array, units: int) -> MomentsBlock:
    """Moments of images as moments of units, which may have several."""
    total = np.bincount(owner, weights=count, minlength=units)
    first = np.bincount(owner, weights=count * mean, minlength=units) / np.maximum(total, 1.0)
    if np.bincount(owner, minlength=units).max(initial=0) <= 1:  # exactly those of the images
        first = np.zeros(units)
        first[owner] = mean
    spread = np.bincount(owner, weights=square + count * (mean - first[owner]) ** 2, minlength=units)
    return MomentsBlock(total, first[:, np.newaxis], spread[:, np.newaxis])


class ScaleMoments(Moments):
    """The logarithm of the scale of each image, where it is positive."""

    name: ClassVar[str] = "fields.scales"

    def measure(self, pairs: DepthPairs, cache: SharedCache) -> MomentsBlock:
        scale = np.array([result.scale for result in scan(pairs, cache)], dtype=np.float64)
        good = np.isfinite(scale) & (scale > 0)
        return MomentsBlock.of([np.log(scale[good])], pairs.owner[good], len(pairs.units))


class EdgeScores(Sum):
    """The boundary score of each image, whether it has one, and images. `pooled` leaves out pairs with an invalid
    pixel."""

    pooled: bool = False
    flat: str = "skip"

    name: ClassVar[str] = "fields.edges"

    def measure(self, pairs: DepthPairs, cache: SharedCache) -> SumBlock:
        score = np.array([result.edges[self.pooled] for result in scan(pairs, cache)], dtype=np.float64)
        if self.flat == "zero":
            score = np.nan_to_num(score)
        has = ~np.isnan(score)
        return SumBlock(by_unit(pairs, np.stack([np.nan_to_num(score), has, np.ones(len(score))], axis=1)))


def mean_of(column: int, count: int = N) -> Callable[[Floats], Floats]:
    """A figure that is a mean: a column over the count."""
    return lambda sums: ratio(sums[..., column], sums[..., count])


def root_of(column: int, count: int = N) -> Callable[[Floats], Floats]:
    """A figure that is the root of a mean."""
    return lambda sums: np.sqrt(ratio(sums[..., column], sums[..., count]))


FIGURES: dict[str, Callable[[Floats], Floats]] = {
    "abs_rel": mean_of(ABS_REL),
    "sq_rel": mean_of(SQ_REL),
    "sq_rel2": mean_of(SQ_REL2),
    "rmse": root_of(SQ),
    "mae": mean_of(ABS),
    "rmse_log": root_of(LOG_SQ, LOGS),
    "irmse": root_of(INV_SQ, LOGS),
    "imae": mean_of(INV_ABS, LOGS),
    "log10": lambda sums: ratio(sums[..., LOG_ABS], sums[..., LOGS]) / LN10,
}


class ImageFigure(_OfPart, Sum):
    """A figure of each image: the sum of its values, and how many images have one.

    `figure` is one of `FIGURES`, `delta` with its threshold, or `silog` with its weight.
    """

    figure: str = "abs_rel"
    threshold: float = 0.0
    weight: float = 1.0

    name: ClassVar[str] = "fields.depth_images"

    def measure(self, pairs: DepthPairs, cache: SharedCache) -> SumBlock:
        values = self.values(scan(pairs, cache), asked_of(cache.statistics).thresholds)
        return SumBlock(by_unit(pairs, np.stack([np.where(np.isnan(values), 0.0, values), ~np.isnan(values)], axis=1)))

    def values(self, results: list[ImageResult], thresholds: tuple[float, ...]) -> Floats:
        """The figure of each image; nan where it has none."""
        rows = [result.rows[self.of] for result in results]
        sums = np.array([row.sums for row in rows], dtype=np.float64).reshape(-1, len(SUMS))
        if self.figure == "delta":
            place = thresholds.index(self.threshold)
            return ratio(np.array([row.below[place] for row in rows], dtype=np.float64), sums[:, N])
        if self.figure == "silog":
            moments = np.array([row.moments for row in rows], dtype=np.float64).reshape(-1, 2)
            spread = ratio(moments[:, 1], sums[:, LOGS])
            return np.sqrt(np.maximum(spread + (1.0 - self.weight) * moments[:, 0] ** 2, 0.0))
        return FIGURES[self.figure](sums)
