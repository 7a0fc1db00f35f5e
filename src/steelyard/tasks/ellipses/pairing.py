"""How pairs are made, as settings of metrics and of statistics, and what is checked of those."""

from __future__ import annotations

import math
from typing import Literal

from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Metric, one_of, within_range
from steelyard.core.spec import render_value
from steelyard.match.ellipses import DISTANCES, WEIGHTS, OwnDistance

DistanceName = Literal["param", "center", "wasserstein", "iou", "hausdorff", "probiou"]
Pairing = tuple[str, str, tuple[float, ...]]


def pairing(distance: str, matching: str, weights: tuple[float, ...], normalise: bool) -> Pairing:
    """Distance, way of matching, and the weights of x, y, angle, a, b; divided by their sum where asked for.

    Only `param` has weights: the others have one entry for all.
    """
    if distance != "param":
        return distance, matching, WEIGHTS
    total = sum(weights) if normalise else 1.0
    return distance, matching, tuple(float(w) / total for w in weights)


def take_own_distance(metric: Metric) -> None:
    """Keep a function that is given as a metric's distance under its name."""
    distance = getattr(metric, "distance", None)
    if callable(distance):
        object.__setattr__(metric, "distance", OwnDistance(distance))


def usual_threshold(metric: Metric, distance: str) -> float:
    """The threshold where none is given; a distance of the user's has no usual one."""
    if isinstance(distance, OwnDistance):
        raise InvalidSpec(
            f"metric '{metric.name}': the distance '{distance}' has no usual threshold", remedy="Give t, such as t=5."
        )
    return DISTANCES[distance].threshold


def check_pairing(metric: Metric) -> None:
    """Check settings that metrics over pairs share, as far as the metric has them."""
    values = {name: getattr(metric, name) for name in metric.__dataclass_fields__}
    if "distance" in values and not isinstance(values["distance"], OwnDistance):
        one_of(metric, "distance", *DISTANCES)
    elif "t" in values and values["t"] is None:
        usual_threshold(metric, values["distance"])
    for name in ("t", "within"):
        if values.get(name) is not None:
            check_threshold(metric, name, values["distance"])
    if "weights" in values:
        check_weights(metric, values["weights"])


def check_threshold(metric: Metric, name: str, distance: str) -> None:
    """A threshold is not negative, and below 1 for a distance that never exceeds 1."""
    within_range(metric, name, 0, math.inf)
    value = getattr(metric, name)
    if distance in DISTANCES and not DISTANCES[distance].pixels and value >= 1:
        raise InvalidSpec(
            f"metric '{metric.name}': with distance={distance} every pair is within {name}={render_value(value)}",
            remedy="That distance goes from 0 to 1.",
        )


def check_weights(metric: Metric, weights: object) -> None:
    """Five numbers, none negative, not all 0."""
    five = weights if isinstance(weights, tuple) and len(weights) == 5 else ()
    if not any(five) or not all(isinstance(w, int | float) and 0 <= w <= 1e12 for w in five):
        raise InvalidSpec(
            f"metric '{metric.name}': weights cannot be {render_value(weights)}",
            remedy="Give five numbers from 0 up: of xc, yc, theta, a, b. Example: weights=[1, 1, 0.1, 1, 1].",
        )
