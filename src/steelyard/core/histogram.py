"""The approximate mode: rankings from a histogram of scores, with bounds that hold for certain. Off by default.

Scores from 0 to 1 fall into equal bins; what is lost is the order inside a bin. Let `T` hits and `A` events
stand above a bin with `h` hits and `m` others. However they are ordered, equal scores or not, the precision at the i-th
hit of the bin is

    at least (T + i) / (A + m + i)    all others come first, and no order has fewer hits or more others before it
    at most  (T + h) / (A + h)        all hits come first; (T + i) / (A + i) rises with i, since T <= A

Average precision of every kind (`step`, `voc`, `voc11`, `coco`) is a sum or a running maximum of these precisions with
weights that do not depend on the order, so it rises with each of them: computed from the lower ends it is a lower
bound, from the upper ends an upper one. ROC AUC is the share of pairs in the right order: pairs in different bins are
known, a pair inside one counts from 0 to 1. The value given is the middle; it is wrong by at most half the distance.
"""

from __future__ import annotations

import numpy as np

from steelyard.core.errors import OutOfRange
from steelyard.core.frozen import Frozen
from steelyard.core.records import Array

Bounds = tuple[float, float]


class Histogram(Frozen):
    """Hits and others by bin, from the highest score down, and how many objects there are to be hit."""

    hits: Array
    others: Array
    objects: float

    def precision_bounds(self) -> tuple[Array, Array]:
        """The lowest and the highest precision at each hit, in the order of the bins."""
        hits, others = self.hits.astype(np.int64), self.others.astype(np.int64)
        before = np.cumsum(hits) - hits
        above = before + np.cumsum(others) - others
        filled = np.flatnonzero(hits)
        count = hits[filled]
        number = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count) + 1
        first, all_, rest = (np.repeat(part[filled], count) for part in (before, above, others))
        last = np.repeat(count, count)
        return (first + number) / (all_ + rest + number), (first + last) / (all_ + last)

    def average_precision(self, kind: str) -> Bounds:
        """Between which two values the average precision lies; nan where there is nothing to be hit."""
        if not self.objects > 0:
            return float("nan"), float("nan")
        low, high = (_area(precision, self.objects, kind) for precision in self.precision_bounds())
        return low, high

    def roc_auc(self) -> Bounds:
        """Between which two values the area under the ROC curve lies."""
        hits, others = self.hits.astype(np.float64), self.others.astype(np.float64)
        pairs = hits.sum() * others.sum()
        if not pairs > 0:
            return float("nan"), float("nan")
        right = float((hits * (others.sum() - np.cumsum(others))).sum())
        inside = float((hits * others).sum())
        return right / pairs, (right + inside) / pairs


def falling_precision(precision: Array) -> Array:
    """The highest precision at each hit or after it."""
    return np.maximum.accumulate(precision[::-1])[::-1]


def _area(precision: Array, objects: float, kind: str) -> float:
    if not len(precision):
        return 0.0
    if kind == "step":
        return float(precision.sum() / objects)
    falling = falling_precision(precision)
    if kind == "voc":
        return float(falling.sum() / objects)
    return float(at_recalls(falling, objects, 101 if kind == "coco" else 11).mean())


def at_recalls(falling: Array, objects: float, points: int) -> Array:
    """The falling precision at so many recalls from 0 to 1; 0 where a recall is not reached."""
    wanted = np.ceil(np.linspace(0.0, 1.0, points) * objects - 1e-9).astype(np.int64) - 1  # the hit that reaches it
    reached = np.maximum(wanted, 0)
    if not len(falling):
        return np.zeros(points)
    return np.where(reached < len(falling), falling[np.minimum(reached, len(falling) - 1)], 0.0)


def bin_of_score(scores: Array, bins: int) -> Array:
    """The bin of each score from 0 to 1: 0 for the highest."""
    if len(scores) and not (scores.min() >= 0 and scores.max() <= 1):
        raise OutOfRange(
            f"scores from {scores.min():g} to {scores.max():g} are not all between 0 and 1",
            remedy="The approximate mode needs such; leave it out, or rescale the scores.",
        )
    return np.minimum(((1 - scores) * bins).astype(np.int64), bins - 1)
