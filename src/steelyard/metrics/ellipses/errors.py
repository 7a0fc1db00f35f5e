"""How far off the matched ellipses are: distance, overlap, centre, axes, angle.

A pair is what the matching makes of it, however far apart, unless `within` sets a limit. Means run over pairs.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Literal

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.metric import one_of, within_range
from steelyard.core.pairs import Array
from steelyard.core.stats import Stats
from steelyard.core.weights import Floats, Weights, ratio
from steelyard.match.ellipses import WEIGHTS, distances
from steelyard.metrics.ellipses.matched import DistanceName, Matches, check_pairing, factors, ious, matches

INFINITY = float("inf")


@frozen
class _OfPairs(Metric):
    """A mean over pairs of something that `values` gives; nan leaves a pair out."""

    better = "lower"
    range = (0.0, INFINITY)
    measure = "px"

    distance: DistanceName = "param"
    within: float | None = None
    matching: Literal["greedy", "optimal"] = "greedy"
    weights: tuple[float, ...] = WEIGHTS
    normalise: bool = False

    def check(self) -> None:
        """Check how the pairs are made."""
        check_pairing(self)

    @property
    def label(self) -> str:
        """Name the limit, where there is one."""
        limit = "" if self.within is None else f" ({self.distance} ≤ {self.within:g})"
        return f"{self.title}{limit}"

    @abstractmethod
    def values(self, found: Matches) -> Array:
        """One value a pair, nan where it has none."""

    def _sums(self, stats: Stats) -> Array:
        """By image: the sum of values, the number of them, and of pairs that have none."""

        def make() -> Array:
            found = matches(stats, self.distance, self.matching, factors(self.weights, self.normalise))
            values = self.values(found)
            near = np.full(len(values), True) if self.within is None else found.distance <= self.within
            known = near & ~np.isnan(values)
            owner, units = found.owner, len(stats)
            return np.column_stack(
                [
                    np.bincount(owner[known], weights=values[known], minlength=units),
                    np.bincount(owner[known], minlength=units),
                    np.bincount(owner[near & ~known], minlength=units),
                ]
            )

        return stats.per_unit(("pairs", self), make)

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over pairs."""
        totals = weights @ self._sums(stats)
        return ratio(totals[:, 0], totals[:, 1])

    def left_out(self, stats: Stats, weights: Weights) -> tuple[float, str]:
        """Pairs that have no value."""
        return float((weights @ self._sums(stats))[0, 2]), "pairs whose ellipses are near circles, which have no angle"


@frozen
class MeanDistance(_OfPairs):
    r"""Mean distance of the matched ellipses.

    $\frac{1}{K} \sum_{\mathrm{pairs}} d$

    Pairs as the score makes them; distance chooses what is measured, within leaves out pairs farther apart.

    Undefined when there is no pair.

    Pros:
    - The raw material of the score, in its own unit.

    Cons:
    - Misses and false detections do not count.
    - A missed truth may be paired with a false detection far away; within leaves such pairs out.
    """

    name = "mean_distance"
    title = "Mean distance of pairs"
    measure = ""

    @property
    def label(self) -> str:
        """Name the distance."""
        limit = "" if self.within is None else f" ≤ {self.within:g}"
        return f"{self.title} ({self.distance}{limit})"

    def values(self, found: Matches) -> Array:
        """The distance itself."""
        return found.distance


@frozen
class MeanIou(_OfPairs):
    r"""Mean IoU of the matched ellipses.

    $\frac{1}{K} \sum_{\mathrm{pairs}} |E \cap \hat E| / |E \cup \hat E|$

    The areas are exact. Pairs as the score makes them; within leaves out pairs farther apart.

    Undefined when there is no pair.

    Pros:
    - Free of scale: how well the shapes cover each other.

    Cons:
    - Misses and false detections do not count.
    """

    name = "mean_iou"
    title = "Mean IoU of pairs"
    better = "higher"
    range = (0.0, 1.0)
    measure = ""

    def values(self, found: Matches) -> Array:
        """Exact overlap."""
        return ious(found)


@frozen
class CenterError(_OfPairs):
    r"""Mean distance between the centres of the matched ellipses.

    $\frac{1}{K} \sum_{\mathrm{pairs}} |\hat c - c|$

    Pairs as the score makes them; within leaves out pairs farther apart.

    Undefined when there is no pair.

    Pros:
    - In pixels, easy to read.

    Cons:
    - Blind to size and shape.
    """

    name = "center_error"
    title = "Centre error of pairs"

    def values(self, found: Matches) -> Array:
        """Distance of the centres."""
        return distances(found.truth, found.detected, "center")


@frozen
class AxisError(_OfPairs):
    r"""Mean error of the half axes of the matched ellipses.

    $\frac{1}{K} \sum_{\mathrm{pairs}} \tfrac{1}{2} (|\hat a - a| + |\hat b - b|)$

    axis=major or axis=minor takes one of them; relative=true divides each error by the true axis. Pairs as the
    score makes them.

    Undefined when there is no pair.

    Pros:
    - Separates size from position.

    Cons:
    - A true axis matched with the wrong one (near circles) hides the error.
    """

    name = "axis_error"
    title = "Axis error of pairs"

    axis: Literal["both", "major", "minor"] = "both"
    relative: bool = False

    def check(self) -> None:
        """Check the axis too."""
        super().check()
        one_of(self, "axis", "both", "major", "minor")
        one_of(self, "relative", True, False)

    @property
    def label(self) -> str:
        """Name the axis."""
        which = "" if self.axis == "both" else f", {self.axis}"
        return f"{super().label}{which}{', relative' if self.relative else ''}"

    def values(self, found: Matches) -> Array:
        """Absolute or relative difference of the half axes."""
        error = np.abs(found.detected[:, 3:] - found.truth[:, 3:])
        if self.relative:
            error = error / found.truth[:, 3:]
        taken = {"both": slice(0, 2), "major": slice(0, 1), "minor": slice(1, 2)}[self.axis]
        return np.asarray(error[:, taken].mean(axis=1))


@frozen
class AngleError(_OfPairs):
    r"""Mean error of the angle of the matched ellipses, in degrees.

    $\frac{1}{K} \sum_{\mathrm{pairs}} \min(\delta, 180 - \delta)$

    δ is the difference of the angles modulo 180, so the error is between 0 and 90. A pair in which either ellipse
    is nearly a circle (b / a above round) has no angle: it is left out and counted. Pairs as the score makes them.

    Undefined when there is no pair with an angle.

    Pros:
    - Separates orientation from position and size.

    Cons:
    - Noisy for round ellipses; lower round to leave out more of them.
    """

    name = "angle_error"
    title = "Angle error of pairs"
    range = (0, 90)
    measure = "°"

    round: float = 0.95

    def check(self) -> None:
        """Check the roundness too."""
        super().check()
        within_range(self, "round", 0, 1, open_low=True)

    def values(self, found: Matches) -> Array:
        """Difference modulo 180°, nan for near circles."""
        turn = np.abs(found.detected[:, 2] - found.truth[:, 2])
        turn = np.minimum(turn, 180 - turn)
        roundest = np.maximum(found.truth[:, 4] / found.truth[:, 3], found.detected[:, 4] / found.detected[:, 3])
        return np.where(roundest > self.round, math.nan, turn)
