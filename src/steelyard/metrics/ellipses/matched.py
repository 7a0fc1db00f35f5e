"""Which detection belongs to which truth, by a distance and a way of matching: made once for all who ask."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.metric import one_of, within_range
from steelyard.core.pairs import Array
from steelyard.core.spec import render_value
from steelyard.core.stats import Stats
from steelyard.match.assign import MATCHINGS, Matching
from steelyard.match.ellipses import DISTANCES, WEIGHTS, distances, match, match_by_score

DistanceName = Literal["param", "center", "wasserstein", "iou", "hausdorff", "probiou"]


@frozen
class Sides:
    """The ellipses of both sides, by image, and where each image ends."""

    truth: Array
    detected: Array
    truth_owner: Array
    detected_owner: Array
    truth_ends: Array
    detected_ends: Array


@frozen
class Matches:
    """The pairs of all images, by image and inside one by distance: `owner` is a pair's image.

    `truth_row` and `detected_row` are the pair's places in the sides.
    """

    sides: Sides
    owner: Array
    truth_row: Array
    detected_row: Array
    distance: Array

    @property
    def truth(self) -> Array:
        """The true ellipse of each pair."""
        return self.sides.truth[self.truth_row]

    @property
    def detected(self) -> Array:
        """The detected ellipse of each pair."""
        return self.sides.detected[self.detected_row]


def sides(stats: Stats) -> Sides:
    """Both sides of the stats' events."""

    def make() -> Sides:
        found = stats.events["detected"]
        rows = stats.events["ellipse"]
        owners = stats.owner[~found], stats.owner[found]
        ends = [np.cumsum(np.bincount(owner, minlength=len(stats))).astype(np.int64) for owner in owners]
        return Sides(
            np.ascontiguousarray(rows[~found]), np.ascontiguousarray(rows[found]), *owners, *ends
        )  # fmt: skip

    return stats.derived("sides", make)


def matches(stats: Stats, distance: str, matching: str = "greedy", weights: tuple[float, ...] = WEIGHTS) -> Matches:
    """Pair truths with detections; each is used once, and pairs are made until one side is used up."""
    if distance != "param":
        weights = WEIGHTS  # others take none: one entry for all

    def make() -> Matches:
        both = sides(stats)
        how: Matching = "optimal" if matching == "optimal" else "greedy"
        ends = both.truth_ends, both.detected_ends
        return Matches(both, *match(both.truth, both.detected, *ends, distance, how, weights))

    return stats.derived(("matches", distance, matching, weights), make)


def hits(stats: Stats, ious: tuple[float, ...]) -> Array:
    """Whether each detection, in the order of `sides`, finds a truth; one column an IoU."""

    def make() -> Array:
        both = sides(stats)
        score = np.ascontiguousarray(stats.events["score"][stats.events["detected"]])
        return match_by_score(both.truth, both.detected, both.truth_ends, both.detected_ends, score, ious)

    return stats.derived(("hits", ious), make)


def ious(found: Matches) -> Array:
    """Overlap of each pair."""
    return np.asarray(1 - distances(found.truth, found.detected, "iou"))


@frozen
class Paired(Metric):
    """A metric over pairs. Its settings say how they are made."""

    distance: DistanceName = "param"
    t: float | None = None
    matching: Literal["greedy", "optimal"] = "greedy"
    weights: tuple[float, ...] = WEIGHTS
    normalise: bool = False

    def check(self) -> None:
        """Check the distance, its threshold and its weights."""
        check_pairing(self)

    @property
    def threshold(self) -> float:
        """The threshold, or the distance's usual one."""
        return DISTANCES[self.distance].threshold if self.t is None else float(self.t)

    @property
    def factors(self) -> tuple[float, ...]:
        """The weights that `param` works with."""
        return factors(self.weights, self.normalise)

    def matches(self, stats: Stats, matching: str = "") -> Matches:
        """The pairs that this metric is about."""
        return matches(stats, self.distance, matching or self.matching, self.factors)


def factors(weights: tuple[float, ...], normalise: bool) -> tuple[float, ...]:
    """Weights of x, y, angle, a, b; divided by their sum where asked for."""
    total = sum(weights) if normalise else 1.0
    return tuple(float(w) / total for w in weights)


def check_pairing(metric: Metric) -> None:
    """Check settings that metrics over pairs share, as far as the metric has them."""
    values = {name: getattr(metric, name) for name in metric.__dataclass_fields__}
    if "distance" in values:
        one_of(metric, "distance", *DISTANCES)
    if "matching" in values:
        one_of(metric, "matching", *MATCHINGS)
    if "normalise" in values:
        one_of(metric, "normalise", True, False)
    for name in ("t", "within"):
        if values.get(name) is not None:
            check_threshold(metric, name, values["distance"])
    if "weights" in values:
        check_weights(metric, values["weights"])


def check_threshold(metric: Metric, name: str, distance: str) -> None:
    """A threshold is not negative, and below 1 for a distance that never exceeds 1."""
    within_range(metric, name, 0, math.inf)
    value = getattr(metric, name)
    if not DISTANCES[distance].pixels and value >= 1:
        raise InputError(
            f"metric '{metric.name}': with distance={distance} every pair is within {name}={render_value(value)}",
            remedy="That distance goes from 0 to 1.",
        )


def check_weights(metric: Metric, weights: object) -> None:
    """Five numbers, none negative, not all 0."""
    five = weights if isinstance(weights, tuple) and len(weights) == 5 else ()
    if not any(five) or not all(isinstance(w, int | float) and 0 <= w <= 1e12 for w in five):
        raise InputError(
            f"metric '{metric.name}': weights cannot be {render_value(weights)}",
            remedy="Give five numbers from 0 up: of xc, yc, theta, a, b. Example: weights=[1, 1, 0.1, 1, 1].",
        )
