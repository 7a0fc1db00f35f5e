"""Which detection belongs to which truth, by a distance and a way of matching: made once for all statistics."""

from __future__ import annotations

import math

import numpy as np

from steelyard.align.sets import SetPairs
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array
from steelyard.core.records import Records
from steelyard.core.statistic import SharedCache
from steelyard.match.assign import Matching
from steelyard.match.ellipses import distances, match, match_by_score
from steelyard.tasks.ellipses.data import PARAMETERS


@frozen
class MatchInput:
    """The ellipses of both sides, by image, and where each image ends. `score` is nan where a detection has none."""

    truth: Array
    detected: Array
    truth_owner: Array
    detected_owner: Array
    truth_ends: Array
    detected_ends: Array
    score: Array


@frozen
class Matches:
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
    def detected(self) -> Array:
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
    return np.asarray(1 - distances(matched.truth, matched.detected, "iou"))
