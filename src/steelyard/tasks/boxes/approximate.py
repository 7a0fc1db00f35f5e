"""Figures of boxes from histograms of scores: between which two values they lie. See `core.histogram`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.core.histogram import Histogram, at_recalls, binned, fallen
from steelyard.core.pairs import Array
from steelyard.core.ranking import RankingBlock

POINTS = 101


def counted(
    block: RankingBlock, hit: Array, ignored: Array, kept: Array, objects: Array, levels: int, bins: int
) -> dict[str, Array]:
    """Hits and others by class, IoU and bin, and objects by class. They add up over parts of the images."""
    classes = block.groups
    place = block.events.group * bins + binned(block.events.columns["score"], bins)
    counts = np.zeros((classes, levels, bins, 2), dtype=np.int64)
    for t in range(levels):
        right = (hit >> t & 1).astype(bool)
        other = kept & ~right & ((ignored >> t & 1) == 0)
        for side, rows in ((0, kept & right), (1, other)):
            counts[:, t, :, side] = np.bincount(place[rows], minlength=classes * bins).reshape(classes, bins)
    total = np.bincount(block.positives.group, weights=objects, minlength=classes)
    return {"counts": counts, "objects": total.astype(np.int64)}


def bounds(
    given: Mapping[str, Array], figure: str, by_recall: bool, only: int | None, upper: bool
) -> tuple[Array, Array]:
    """One end of a figure, or of precision on the grid where it is read `by_recall`; and the recall, which is exact."""
    objects, counts = given["objects"], given["counts"]
    classes, levels = counts.shape[:2]
    chosen = [k for k in range(classes) if objects[k] > 0 and only in (None, k)]
    with np.errstate(invalid="ignore", divide="ignore"):
        recall = np.where(objects > 0, counts[..., 0].sum(axis=2).T / objects, np.nan)
    if by_recall:
        precision = np.full((levels, POINTS, classes), np.nan)
        for k in chosen:
            for t in range(levels):
                ends = Histogram(counts[k, t, :, 0], counts[k, t, :, 1], float(objects[k])).precision_bounds()
                precision[t, :, k] = at_recalls(fallen(ends[int(upper)]), float(objects[k]), POINTS)
        return precision, recall
    if not chosen:
        nothing = np.full((1, levels), np.nan)
        return nothing, nothing
    value = np.full((1, levels), np.nan)
    if figure != "recall":
        areas = [
            [
                Histogram(counts[k, t, :, 0], counts[k, t, :, 1], float(objects[k])).average_precision(figure)[upper]
                for t in range(levels)
            ]
            for k in chosen
        ]
        value = np.mean(areas, axis=0)[np.newaxis]
    return value, recall[:, chosen].mean(axis=1)[np.newaxis]
