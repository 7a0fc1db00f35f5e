"""How far off the matched ellipses are: distance, overlap, centre, axes, angle.

A pair is what the matching makes of it, however far apart, unless `within` sets a limit. Means run over pairs.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Literal

from steelyard.core.metric import Between, Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.match.ellipses import WEIGHTS, OwnDistance
from steelyard.tasks.ellipses.matched import DistanceName, Pairing, check_pairing, pairing, take_own_distance
from steelyard.tasks.ellipses.sums import AngleSum, AxisSum, CenterSum, DistanceSum, IouSum

INFINITY = float("inf")


class _OfPairs(Metric):
    """A mean over the pairs that have a value."""

    better = "lower"
    range = (0.0, INFINITY)
    measured_in = "px"

    distance: DistanceName | OwnDistance = "param"
    within: float | None = None
    matching: Literal["greedy", "optimal"] = "greedy"
    weights: tuple[float, ...] = WEIGHTS
    normalise: bool = False

    def __post_init__(self) -> None:
        take_own_distance(self)

    def check(self) -> None:
        check_pairing(self)

    @property
    def label(self) -> str:
        """Name the limit, where there is one."""
        limit = "" if self.within is None else f" ({self.distance} ≤ {self.within:g})"
        return f"{self.title}{limit}"

    @property
    def _pairs(self) -> tuple[str, str, tuple[float, ...], float | None]:
        """How pairs are made, and which of them count."""
        pairs: Pairing = pairing(self.distance, self.matching, self.weights, self.normalise)
        return (*pairs, None if self.within is None else float(self.within))

    @property
    @abstractmethod
    def statistic(self) -> Sum:
        """By image: the sum of values, the number of them, and of pairs that have none."""

    def needs(self) -> tuple[Requirement, ...]:
        return (self.statistic,)

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self.statistic]
        return ratio(sums[:, 0], sums[:, 1])

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        return float(totals[self.statistic][0, 2]), "pairs whose ellipses are near circles, which have no angle"


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
    measured_in = ""

    @property
    def label(self) -> str:
        limit = "" if self.within is None else f" ≤ {self.within:g}"
        return f"{self.title} ({self.distance}{limit})"

    @property
    def statistic(self) -> DistanceSum:
        return DistanceSum(*self._pairs)


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
    measured_in = ""

    @property
    def statistic(self) -> IouSum:
        return IouSum(*self._pairs)


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

    @property
    def statistic(self) -> CenterSum:
        return CenterSum(*self._pairs)


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

    @property
    def label(self) -> str:
        which = "" if self.axis == "both" else f", {self.axis}"
        return f"{super().label}{which}{', relative' if self.relative else ''}"

    @property
    def statistic(self) -> AxisSum:
        return AxisSum(*self._pairs, self.axis, self.relative)


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
    measured_in = "°"

    round: Annotated[float, Between(0, 1, open_low=True)] = 0.95

    @property
    def statistic(self) -> AngleSum:
        """Difference modulo 180°, none for near circles."""
        return AngleSum(*self._pairs, float(self.round))
