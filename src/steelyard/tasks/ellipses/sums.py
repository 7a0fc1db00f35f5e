"""Sums by image: how many ellipses there are, how near the pairs are, how far off."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Literal

import numpy as np

from steelyard.align.sets import SetPairs
from steelyard.core.block import SumBlock
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache, Sum
from steelyard.match.ellipses import distances
from steelyard.tasks.ellipses.matched import Matches, ious, match_input, matches

MOST_WORK = 2e10  # about one image of 2,700 truths and detections: some seconds of optimal pairing


def image_columns(pairs: SetPairs, cache: SharedCache) -> dict[str, Array]:
    """Numbers of ellipses by image, by what they are of."""

    def make() -> dict[str, Array]:
        both, units = match_input(pairs, cache), len(pairs.units)
        truths = np.bincount(both.truth_owner, minlength=units).astype(float)
        detections = np.bincount(both.detected_owner, minlength=units).astype(float)
        unscored = both.detected_owner[np.isnan(both.score)]
        return {
            "images": np.ones(units),
            "truths": truths,
            "detections": detections,
            "with_truth": (truths > 0).astype(float),
            "with_any": (truths + detections > 0).astype(float),
            "unscored": np.bincount(unscored, minlength=units).astype(float),
        }

    return cache.once("image columns", make)


class ImageSum(Sum):
    """A number of images or of ellipses."""

    name = "ellipses.images"

    of: str

    def measure(self, pairs: SetPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(image_columns(pairs, cache)[self.of])


class _OfPairs(Sum):
    """Something of the pairs of each image; `weights` are those of the distance `param`."""

    distance: str
    matching: str
    weights: tuple[float, ...]

    def matches(self, pairs: SetPairs, cache: SharedCache) -> Matches:
        """The pairs."""
        return matches(pairs, cache, self.distance, self.matching, self.weights)


class NearPairs(_OfPairs):
    """How many pairs are no farther apart than a limit."""

    name = "ellipses.near"

    limit: float

    def measure(self, pairs: SetPairs, cache: SharedCache) -> SumBlock:
        matched = self.matches(pairs, cache)
        near = matched.owner[matched.distance <= self.limit]
        return SumBlock(np.bincount(near, minlength=len(pairs.units)).astype(float))


def closeness(distance: Array, t: float) -> Array:
    """f(d) = 1 up to the threshold, t / d beyond it. No division by zero."""
    return np.divide(t, distance, out=np.ones(len(distance)), where=distance > t)


class ImageScore(_OfPairs):
    """Each image's sum of closeness, over its truths or over the more of truths and detections; `empty` over none."""

    name = "ellipses.score"

    t: float
    over: Literal["most", "truths"]
    empty: float

    def measure(self, pairs: SetPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(self.values(pairs, cache, self.matching))

    def values(self, pairs: SetPairs, cache: SharedCache, matching: str) -> Array:
        """The score of each image, its pairs made in one way or the other."""
        matched = matches(pairs, cache, self.distance, matching, self.weights)
        units, columns = len(pairs.units), image_columns(pairs, cache)
        sums = np.bincount(matched.owner, weights=closeness(matched.distance, self.t), minlength=units)
        truths = columns["truths"]
        divisor = truths if self.over == "truths" else np.maximum(truths, columns["detections"])
        value: Array = np.full(units, self.empty)
        np.divide(sums, divisor, out=value, where=divisor > 0)
        return value


class OtherPairing(ImageScore):
    """The other way of pairing, by image: whether it differs, the score it gives, its work, and whether it was left."""

    name = "ellipses.other_pairing"
    drawn = False

    def measure(self, pairs: SetPairs, cache: SharedCache) -> SumBlock:
        """Four columns. All of a part are left where its work is too much: it is then too much for the whole."""
        columns, units = image_columns(pairs, cache), len(pairs.units)
        truths, detections = columns["truths"], columns["detections"]
        costs = truths * detections * np.minimum(truths, detections)
        if costs.sum() > MOST_WORK:
            return SumBlock(np.stack([np.zeros(units), np.zeros(units), costs, np.ones(units)], axis=1))
        other = "optimal" if self.matching == "greedy" else "greedy"
        mine, theirs = (
            np.bincount(matched.owner, weights=matched.distance, minlength=units)
            for matched in (matches(pairs, cache, self.distance, rule, self.weights) for rule in (self.matching, other))
        )
        differ = np.abs(mine - theirs) > 1e-9 * np.maximum(mine, theirs)
        return SumBlock(
            np.stack([differ.astype(float), self.values(pairs, cache, other), costs, np.zeros(units)], axis=1)
        )


class _PairValues(_OfPairs):
    """By image: the sum of what pairs have, the number of pairs that have it, and of those that have none.

    Pairs farther apart than `within` do not count.
    """

    within: float | None

    @abstractmethod
    def values(self, matched: Matches) -> Array:
        """One value per pair, nan where it has none."""

    def measure(self, pairs: SetPairs, cache: SharedCache) -> SumBlock:
        matched, units = self.matches(pairs, cache), len(pairs.units)
        values = self.values(matched)
        near = np.full(len(values), True) if self.within is None else matched.distance <= self.within
        counted = near & ~np.isnan(values)
        return SumBlock(
            np.column_stack(
                [
                    np.bincount(matched.owner[counted], weights=values[counted], minlength=units),
                    np.bincount(matched.owner[counted], minlength=units),
                    np.bincount(matched.owner[near & ~counted], minlength=units),
                ]
            )
        )


class DistanceSum(_PairValues):
    """The distances of the pairs."""

    name = "ellipses.distance"

    def values(self, matched: Matches) -> Array:
        return matched.distance


class IouSum(_PairValues):
    """The overlaps of the pairs."""

    name = "ellipses.iou"

    def values(self, matched: Matches) -> Array:
        return ious(matched)


class CenterSum(_PairValues):
    """How far the centres of the pairs are apart."""

    name = "ellipses.center"

    def values(self, matched: Matches) -> Array:
        return distances(matched.truth, matched.detected_rows, "center")


class AxisSum(_PairValues):
    """The errors of the half axes of the pairs."""

    name = "ellipses.axis"

    axis: str
    relative: bool

    def values(self, matched: Matches) -> Array:
        error = np.abs(matched.detected_rows[:, 3:] - matched.truth[:, 3:])
        if self.relative:
            error = error / matched.truth[:, 3:]
        taken = {"both": slice(0, 2), "major": slice(0, 1), "minor": slice(1, 2)}[self.axis]
        return np.asarray(error[:, taken].mean(axis=1))


class AngleSum(_PairValues):
    """The errors of the angles of the pairs; pairs in which an ellipse is rounder than `round` have none."""

    name = "ellipses.angle"

    round: float

    def values(self, matched: Matches) -> Array:
        """Difference modulo 180°, nan for near circles."""
        turn = np.abs(matched.detected_rows[:, 2] - matched.truth[:, 2])
        turn = np.minimum(turn, 180 - turn)
        roundest = np.maximum(
            matched.truth[:, 4] / matched.truth[:, 3], matched.detected_rows[:, 4] / matched.detected_rows[:, 3]
        )
        return np.where(roundest > self.round, math.nan, turn)
