"""Which detection belongs to which truth, by a distance and a way of matching: made once for all statistics."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from steelyard.align.sets import SetPairs
from steelyard.core.errors import InvalidSpec
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric, one_of, within_range
from steelyard.core.pairs import Array
from steelyard.core.records import Records
from steelyard.core.spec import render_value
from steelyard.core.statistic import SharedCache
from steelyard.match.assign import Matching
from steelyard.match.ellipses import DISTANCES, WEIGHTS, OwnDistance, distances, match, match_by_score
from steelyard.tasks.ellipses.data import PARAMETERS


class MatchInput(Frozen):
    """The ellipses of both sides, by image, and where each image ends. `score` is nan where a detection has none."""

    truth: Array
    detected: Array
    truth_owner: Array
    detected_owner: Array
    truth_ends: Array
    detected_ends: Array
    score: Array


class Matches(Frozen):
    """The pairs of all images, by image and inside one by distance: `owner` is a pair's image.

    `truth_row` and `detected_row` are the pair's places in `input`.
    """

    input: MatchInput
    owner: Array
    truth_row: Array
    detected_row: Array
    distance: Array

    @property
    def truth(self) -> Array:
        """The true ellipse of each pair."""
        return self.input.truth[self.truth_row]

    @property
    def detected_rows(self) -> Array:
        """The detected ellipse of each pair."""
        return self.input.detected[self.detected_row]


def match_input(pairs: SetPairs, cache: SharedCache) -> MatchInput:
    """Both sides, without the rows that are empty."""

    def make() -> MatchInput:
        truth, truth_owner, _ = _rows(pairs.truth, pairs.truth_row, pairs.truth_owner)
        detected, detected_owner, rows = _rows(pairs.prediction, pairs.prediction_row, pairs.prediction_owner)
        score = pairs.prediction["score"][rows] if "score" in pairs.prediction else np.full(len(rows), math.nan)
        ends = [
            np.cumsum(np.bincount(owner, minlength=len(pairs.units))).astype(np.int64)
            for owner in (truth_owner, detected_owner)
        ]
        return MatchInput(truth, detected, truth_owner, detected_owner, ends[0], ends[1], np.ascontiguousarray(score))

    return cache.once("match input", make)


def _rows(records: Records, rows: Array, owner: Array) -> tuple[Array, Array, Array]:
    """The ellipses of some rows, without the empty ones, with their images and rows."""
    ellipses = np.column_stack([records[name][rows] for name in PARAMETERS])
    there = ~np.isnan(ellipses[:, 0])
    return np.ascontiguousarray(ellipses[there]), owner[there], rows[there]


def matches(pairs: SetPairs, cache: SharedCache, distance: str, matching: str, weights: tuple[float, ...]) -> Matches:
    """Pair truths with detections; each is used once, and pairs are made until one side is used up."""

    def make() -> Matches:
        both = match_input(pairs, cache)
        rule: Matching = "optimal" if matching == "optimal" else "greedy"
        ends = both.truth_ends, both.detected_ends
        return Matches(both, *match(both.truth, both.detected, *ends, distance, rule, weights))

    return cache.once(("matches", distance, matching, weights), make)


def hits(pairs: SetPairs, cache: SharedCache, ious: tuple[float, ...]) -> Array:
    """Whether each detection, in the order of `match_input`, finds a truth; one column per IoU."""

    def make() -> Array:
        both = match_input(pairs, cache)
        return match_by_score(both.truth, both.detected, both.truth_ends, both.detected_ends, both.score, ious)

    return cache.once(("hits", ious), make)


def ious(matched: Matches) -> Array:
    """Overlap of each pair."""
    return np.asarray(1 - distances(matched.truth, matched.detected_rows, "iou"))


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
