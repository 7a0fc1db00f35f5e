"""The k nearest vectors, exactly: matrix products in blocks that stay small, and a selection."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import Unsupported

Array = NDArray[Any]
BLOCK_BYTES = 64 << 20


def nearest_neighbours(
    query: Array, gallery: Array, k: int, distance: str, exclude: Array, tie: Array, source: str
) -> tuple[Array, Array]:
    """Places in the gallery and scores, each (queries, k), best first; -1 where there are no more.

    `distance` is "cosine" (the score is the cosine) or "l2" (the score is minus the distance). `exclude` is a place in
    the gallery that a query must not find (itself), or -1. Where scores are equal, the larger `tie` goes first.
    """
    if distance == "cosine":
        query, gallery = _unit(query, "query", source), _unit(gallery, "gallery", source)
    squares = (gallery**2).sum(axis=1)
    k = min(k, len(gallery))
    places = np.full((len(query), k), -1, dtype=np.int64)
    scores = np.full((len(query), k), -np.inf)
    step = max(1, BLOCK_BYTES // (8 * max(1, len(gallery))))
    for start in range(0, len(query), step):
        part = query[start : start + step]
        similarities = part @ gallery.T
        if distance == "l2":
            similarities = -np.sqrt(np.maximum((part**2).sum(axis=1)[:, np.newaxis] + squares - 2 * similarities, 0.0))
        hidden = np.flatnonzero(exclude[start : start + step] >= 0)
        similarities[hidden, exclude[start : start + step][hidden]] = -np.inf
        for i, row in enumerate(similarities):
            best = _best(row, k, tie)
            best = best[row[best] > -np.inf]
            places[start + i, : len(best)] = best
            scores[start + i, : len(best)] = row[best]
    return places, scores


def _best(row: Array, k: int, tie: Array) -> Array:
    """The k largest, largest first; among equal ones the larger tie first, at the cut too."""
    if k < len(row):
        edge = np.partition(row, len(row) - k)[len(row) - k]
        candidates = np.flatnonzero(row >= edge)
    else:
        candidates = np.arange(len(row))
    order = np.lexsort((-tie[candidates], -row[candidates]))
    chosen: Array = candidates[order[:k]]
    return chosen


def _unit(matrix: Array, name: str, source: str) -> Array:
    length = np.sqrt((matrix**2).sum(axis=1))
    empty = np.flatnonzero(length == 0)
    if len(empty):
        raise Unsupported(
            "a vector of zeros has no direction",
            where=f"{source}, array '{name}', row {empty[0]}",
            remedy="Remove it, or set the option `distance=l2`.",
        )
    scaled: Array = matrix / length[:, np.newaxis]
    return scaled
