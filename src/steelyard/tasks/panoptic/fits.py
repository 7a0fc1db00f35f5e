"""Which segments fit each other: all images at once, from how many pixels their segments share."""

from __future__ import annotations

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array
from steelyard.tasks.panoptic.segments import Segments

VOID = 0
INSIDE = 0xFFFFFFFF  # an id that no segment has: below 2^24 in a PNG


@frozen
class Shared:
    """Pixels that a true and a predicted segment of an image share, by pair: places on both lists, -1 for void.

    `true` and `predicted` are the pixels of every segment of the lists, `void` those of predicted ones on void.
    """

    pair: Array
    g: Array
    p: Array
    count: Array
    true: Array
    predicted: Array
    void: Array

    @staticmethod
    def of(pair: Array, a: Array, b: Array, count: Array, true: Segments, predicted: Segments) -> Shared:
        """From ids of both sides; ids that are not listed count as void."""
        g, p = true.find(pair, a), predicted.find(pair, b)
        on_void = (p >= 0) & (a == VOID)
        return Shared(
            pair, g, p, count, _sums(g[g >= 0], count[g >= 0], len(true)),
            _sums(p[p >= 0], count[p >= 0], len(predicted)), _sums(p[on_void], count[on_void], len(predicted)),
        )  # fmt: skip

    def overlaps(self, cells: Array, areas: Array) -> Array:
        """The IoU of the segments of some cells, without what of the prediction lies on void."""
        g, p, both = self.g[cells], self.p[cells], self.count[cells]
        union = areas[g] + self.predicted[p] - both - self.void[p]
        return np.asarray(np.where(union > 0, both / np.maximum(union, 1), 0.0))


@frozen
class Fits:
    """What the segments of images come to: pairs that overlap by more than half, and what has no pair.

    A pair has its owner, the place of its class, its overlap, and whether its prediction would be left out if it had no
    partner. `lone` has a row for each class of an image: predictions that count as wrong, and true segments that are
    missed. `best` is, for every true segment, its largest overlap with one of its class; `partner` the
    place of the prediction that it is paired with, or -1; `taken` and `excused` say what became of predictions.
    """

    owner: Array
    category: Array
    overlap: Array
    pardoned: Array
    lone_owner: Array
    lone_category: Array
    lone: Array
    best: Array
    partner: Array
    taken: Array
    excused: Array


def fit_segments(
    true: Segments,
    predicted: Segments,
    shared: Shared,
    bands: Shared | None,
    areas: Array,
    owner: Array,
    classes: tuple[int, ...],
    crowds: str,
) -> Fits:
    """Pair segments of one class.

    An overlap of more than half makes pairs unique. A prediction more than half of which lies on void, or on a crowd of
    its class, is excused: it counts neither way.
    """
    excused = _excused(true, predicted, shared, crowds)
    cells = np.flatnonzero((shared.g >= 0) & (shared.p >= 0))
    g, p = shared.g[cells], shared.p[cells]
    cells = cells[~true.crowd[g] & (true.category[g] == predicted.category[p])]
    overlap = shared.overlaps(cells, areas)
    if bands is not None:
        overlap = np.minimum(overlap, _in_bands(bands, shared.g[cells], shared.p[cells], len(predicted)))
    best = np.zeros(len(true))
    np.maximum.at(best, shared.g[cells], overlap)
    match = overlap > 0.5
    g, p = shared.g[cells][match], shared.p[cells][match]
    partner, taken = np.full(len(true), -1, dtype=np.int64), np.zeros(len(predicted), dtype=bool)
    partner[g], taken[p] = p, True
    axis = np.array(classes, dtype=np.int64)
    false, missed = np.flatnonzero(~taken & ~excused), np.flatnonzero((partner < 0) & ~true.crowd)
    code = np.concatenate([
        predicted.pair[false] * len(axis) + np.searchsorted(axis, predicted.category[false]),
        true.pair[missed] * len(axis) + np.searchsorted(axis, true.category[missed]),
    ])  # fmt: skip
    codes, place = np.unique(code, return_inverse=True)
    lone = np.stack([
        np.bincount(place[: len(false)], minlength=len(codes)), np.bincount(place[len(false) :], minlength=len(codes)),
    ], axis=1).astype(np.float64)  # fmt: skip
    many = max(1, len(axis))
    return Fits(
        owner[true.pair[g]], np.searchsorted(axis, true.category[g]), overlap[match], excused[p],
        owner[codes // many], codes % many, lone, best, partner, taken, excused,
    )  # fmt: skip


def _sums(place: Array, count: Array, size: int) -> Array:
    return np.bincount(place, weights=count, minlength=size).astype(np.int64)


def _excused(true: Segments, predicted: Segments, shared: Shared, crowds: str) -> Array:
    """Which predictions lie mostly on void or on a crowd of their class."""
    crowd = true.crowd.copy()
    if crowds == "last":
        last: dict[tuple[int, int], int] = {}
        for place in np.flatnonzero(true.crowd).tolist():
            last[int(true.pair[place]), int(true.category[place])] = place
        crowd = np.zeros(len(true), dtype=bool)
        crowd[list(last.values())] = True
    both = np.flatnonzero((shared.g >= 0) & (shared.p >= 0))
    g, p = shared.g[both], shared.p[both]
    on = crowd[g] & (true.category[g] == predicted.category[p])
    crowded = _sums(p[on], shared.count[both][on], len(predicted))
    return np.asarray((shared.void + crowded) / np.maximum(shared.predicted, 1) > 0.5)


def _in_bands(bands: Shared, g: Array, p: Array, many: int) -> Array:
    """The overlap of bands of the given segments; 0 where they share no pixel."""
    both = np.flatnonzero((bands.g >= 0) & (bands.p >= 0))
    code = bands.g[both] * many + bands.p[both]
    order = np.argsort(code, kind="stable")
    wanted = g * many + p
    if not len(both):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(code[order], wanted), len(both) - 1)
    there = code[order][place] == wanted
    return np.where(there, bands.overlaps(both[order][place], bands.true), 0.0)
