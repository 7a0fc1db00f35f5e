"""Overlaps for checks: near-duplicates by a walk along sorted edges, and match rates on a sample of images."""

from __future__ import annotations

import numpy as np

from steelyard.core.frozen import Frozen
from steelyard.core.records import Array, distinct_values

MOST_PAIRS = 1_000_000  # of a truth and a prediction in one sample, about
MOST_FOLLOWERS = 100  # rows behind a row that it is compared with


def overlap(a: Array, b: Array) -> Array:
    """IoU of boxes row by row; 0 where both are empty."""
    (left, top, width, height), (x, y, w, h) = a.T, b.T
    shared = np.maximum(np.minimum(left + width, x + w) - np.maximum(left, x), 0)
    shared *= np.maximum(np.minimum(top + height, y + h) - np.maximum(top, y), 0)
    whole = width * height + w * h - shared
    iou: Array = np.divide(shared, whole, out=np.zeros(len(a)), where=whole > 0)
    return iou


def twins(cell: Array, box: Array, least: float) -> tuple[Array, Array]:
    """Pairs of rows of one cell that overlap by at least `least`.

    Boxes that do lie almost on the same left edge, so rows are sorted by it inside a cell and compared with those that
    follow, until the edge is too far away for all of them, or `MOST_FOLLOWERS` were compared: the work grows with the
    rows, even where thousands of boxes lie on one another.
    """
    if not len(cell):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((box[:, 0], cell))
    cells, boxes = cell[order], box[order]
    reach = boxes[:, 2] * (1 - least) / least + 1e-9  # how far apart two left edges can be at that overlap
    first, second = [], []
    here = np.arange(len(order))
    for step in range(1, min(len(order), MOST_FOLLOWERS + 1)):
        here = here[here + step < len(order)]
        near = (cells[here] == cells[here + step]) & (boxes[here + step, 0] - boxes[here, 0] <= reach[here])
        here = here[near]
        if not len(here):
            break
        alike = overlap(boxes[here], boxes[here + step]) >= least
        first.append(order[here[alike]])
        second.append(order[here[alike] + step])
    return (np.concatenate(first), np.concatenate(second)) if first else (np.zeros(0, np.int64), np.zeros(0, np.int64))


class OverlapSample(Frozen):
    """Truths and predictions of some images, every truth beside every prediction of its image, one after the other."""

    truth: Array  # row of the truth
    prediction: Array  # row of the prediction
    truths: Array  # rows of the truths in the sample, each once

    def best(self, truth_box: Array, prediction_box: Array) -> tuple[Array, Array]:
        """For each truth of the sample the best overlap, and the prediction that has it (-1: none)."""
        value, partner = np.zeros(len(self.truths)), np.full(len(self.truths), -1, dtype=np.int64)
        if len(self.truth):
            overlaps, starts, highest = self._highest(truth_box, prediction_box)
            place = np.searchsorted(self.truths, self.truth[starts])
            each = np.diff(starts, append=len(overlaps))
            rows = np.flatnonzero(overlaps == np.repeat(highest, each))
            value[place] = highest
            partner[np.repeat(place, each)[rows]] = self.prediction[rows]  # of equals the last
        return value, partner

    def _highest(self, truth_box: Array, prediction_box: Array) -> tuple[Array, Array, Array]:
        """Every overlap, where those of a truth begin, and the highest of each truth."""
        overlaps = overlap(truth_box.take(self.truth, axis=0), prediction_box.take(self.prediction, axis=0))
        starts = np.flatnonzero(np.diff(self.truth, prepend=-1))
        return overlaps, starts, np.maximum.reduceat(overlaps, starts)

    def rate(self, truth_box: Array, prediction_box: Array, least: float = 0.5) -> float:
        """The share of truths that some prediction lies on, whatever its class."""
        if not len(self.truth):
            return 0.0
        return float(np.count_nonzero(self._highest(truth_box, prediction_box)[2] >= least) / len(self.truths))


def draw_sample(
    truth_image: Array, usable: Array, prediction_image: Array, score: Array, shift: int = 0, images: int = 400
) -> OverlapSample:
    """Images evenly over all that hold truth; of each, the predictions with the highest scores, three to a truth.

    Images are places from 0. With `shift`, the predictions are those of the image so many places further on.
    """
    rows = np.flatnonzero(usable & (truth_image >= 0))
    held = distinct_values(truth_image[rows])
    if len(held) > images:
        held = held[np.linspace(0, len(held) - 1, images).astype(np.int64)]
    rows = rows[np.isin(truth_image[rows], held, kind="table")]
    each = np.bincount(np.searchsorted(held, truth_image[rows]), minlength=len(held))
    few = np.cumsum(np.sort(each).astype(np.float64) ** 2) <= MOST_PAIRS / 3
    if len(each) and not few.all():  # the fullest images are left out, so that the pairs can be counted
        held = held[each <= max(np.sort(each)[max(int(few.sum()) - 1, 0)], each.min())]
    rows = rows[np.isin(truth_image[rows], held, kind="table")]
    rows = rows[np.argsort(truth_image[rows], kind="stable")]
    order = np.lexsort((-score, prediction_image))
    ordered = prediction_image[order]
    counts = (
        np.bincount(np.searchsorted(held, truth_image[rows]), minlength=len(held)) if len(rows) else np.zeros(0, int)
    )
    begin = np.searchsorted(ordered, held + shift)
    end = np.minimum(np.searchsorted(ordered, held + shift, side="right"), begin + np.maximum(3 * counts, 10))
    many = (end - begin)[np.searchsorted(held, truth_image[rows])] if len(rows) else np.zeros(0, int)
    starts = begin[np.searchsorted(held, truth_image[rows])] if len(rows) else np.zeros(0, int)
    truth = np.repeat(rows, many)
    within = np.arange(len(truth)) - np.repeat(np.cumsum(many) - many, many)
    return OverlapSample(truth, order[np.repeat(starts, many) + within], np.sort(rows))


def extent(points: Array, labelled: Array) -> Array:
    """The box around the points that are kept; 0 where there is none."""
    there = labelled.any(axis=1)
    edges = []
    for axis in (0, 1):
        values = points[:, axis::3]
        edges.append(np.where(there, np.where(labelled, values, np.inf).min(axis=1, initial=np.inf), 0.0))
        edges.append(np.where(there, np.where(labelled, values, -np.inf).max(axis=1, initial=-np.inf), 0.0))
    left, right, top, bottom = edges
    return np.column_stack([left, top, right - left, bottom - top])
