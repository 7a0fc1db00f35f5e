"""Figures of curves over scores, from counts at the scores of what is defective.

Normal pixels are never ranked: an area under a curve needs only how many of them lie above, and at, the scores that
defective pixels have. All functions take a `Curve` with one row per row of weights.
"""

from __future__ import annotations

import numpy as np

from steelyard.core.frozen import Frozen
from steelyard.core.weights import Array, Floats


class Curve(Frozen):
    """Weighted counts at distinct scores of defective pixels, from the highest to the lowest: arrays (rows, scores).

    `overlap` is what each score adds to the summed overlap of the regions, `positive` the defective pixels there,
    `tie` the normal pixels with that score and `above` those with a higher one. `normal` and `regions` (rows,) are the
    totals. Where scores were put into bins, `tie` are the normal pixels of a bin.
    """

    score: Floats
    overlap: Floats
    positive: Floats
    tie: Floats
    above: Floats
    normal: Floats
    regions: Floats

    def take(self, row: int) -> Curve:
        """One row of weights."""
        rows = slice(row, row + 1)
        arrays = (getattr(self, name)[rows] for name in ("overlap", "positive", "tie", "above", "normal", "regions"))
        return Curve(self.score, *arrays)


def _share(part: Array, whole: Array) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.nan)


def roc_area(curve: Curve) -> Floats:
    """The area under the ROC curve; nan without normal or defective pixels."""
    total = curve.positive.sum(axis=1)
    wins = (curve.positive * (curve.normal[:, None] - curve.above - curve.tie / 2)).sum(axis=1)
    return _share(wins, np.where(curve.normal > 0, total * curve.normal, 0.0))


def average_precision(curve: Curve, rule: str = "step") -> Floats:
    """Average precision by steps, or by straight lines between the points as `sklearn.metrics.auc` draws them."""
    total = curve.positive.sum(axis=1)
    hits = np.cumsum(curve.positive, axis=1)
    at = _share(hits, hits + curve.above + curve.tie)
    if rule == "trapezoid":
        earlier = hits - curve.positive
        flagged = earlier + curve.above
        with np.errstate(divide="ignore", invalid="ignore"):
            before = np.where(flagged > 0, earlier / flagged, 1.0)
        at = (at + before) / 2
    area = (curve.positive * np.nan_to_num(at)).sum(axis=1)
    return np.where(curve.normal > 0, _share(area, total), np.nan)


def best_f1(curve: Curve) -> tuple[Floats, Floats]:
    """The highest F1 that any threshold reaches, and the lowest threshold that reaches it."""
    total = curve.positive.sum(axis=1, keepdims=True)
    hits = np.cumsum(curve.positive, axis=1)
    flagged = hits + curve.above + curve.tie
    f1 = np.nan_to_num(_share(2 * hits, flagged + total))
    if not f1.shape[1]:
        nothing = np.full(len(f1), np.nan)
        return nothing, nothing
    last = f1.shape[1] - 1 - np.argmax(f1[:, ::-1], axis=1)
    defined = (total[:, 0] > 0) & (curve.normal > 0)
    value = f1[np.arange(len(f1)), last]
    return np.where(defined, value, np.nan), np.where(defined, curve.score[last], np.nan)


def region_area(curve: Curve, limit: float, place: float | None = None) -> Floats:
    """The area under mean overlap against the false positive rate up to a limit, divided by the limit.

    `place` puts what lies in a bin to its upper (0) or lower end (1) instead of along a straight line: bounds.
    """
    ends = (curve.above < limit * curve.normal[:, None]).sum(axis=1)  # scores further down add nothing
    reached = slice(0, int(ends.max(initial=0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        before, tie = (part[:, reached] / curve.normal[:, None] for part in (curve.above, curve.tie))
        if place is not None:
            gain = np.maximum(limit - before - place * tie, 0.0)
        else:
            cut = (limit - before) ** 2 / (2 * tie)
            gain = np.where(before + tie <= limit, limit - before - tie / 2, np.where(before < limit, cut, 0.0))
        value = (curve.overlap[:, reached] * np.nan_to_num(gain)).sum(axis=1) / curve.regions / limit
    return np.where((curve.regions > 0) & (curve.normal > 0), value, np.nan)


def fixed_threshold_area(curve_points: tuple[Floats, Floats], limit: float) -> float:
    """The area under points of a curve with rising x up to a limit, by straight lines, divided by the limit."""
    x, y = curve_points
    inside = x <= limit
    area = float((0.5 * (y[inside][1:] + y[inside][:-1]) * np.diff(x[inside])).sum())
    if limit not in x:
        i = int(np.searchsorted(x, limit, side="right"))
        if i < len(x):
            y_at = y[i - 1] + (y[i] - y[i - 1]) * (limit - x[i - 1]) / (x[i] - x[i - 1])
            area += 0.5 * (y_at + y[i - 1]) * (limit - x[i - 1])
    return area / limit


def log_gain(at: Floats, above: Floats, low: float, high: float) -> Floats:
    """What recall of 1 at each score adds to the area over the logarithm of the false positive rate.

    `at` and `above` are the rates at and above the score: between them recall rises along a straight line, and from a
    rate of 0 at once.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        end = np.log(at)
        start = np.where(above > 0, np.log(above), end)
        first, last = np.log(low), np.log(high)
        width = end - start
        a, b = np.clip(start, first, last), np.clip(end, first, last)
        rising = np.where(width > 0, ((b - start) ** 2 - (a - start) ** 2) / (2 * np.where(width > 0, width, 1.0)), 0.0)
        gain: Floats = np.where(at > 0, rising + (last - b), last - first)
    return gain


def bin_edges(curve: Curve, many: int) -> Array:
    """Places in the scores of a curve of one row where bins end: `many` or fewer.

    A third lies at equal steps of the false positive rate, a third at equal steps of its logarithm, a third at equal
    counts of defective pixels.
    """
    part = many // 3
    rate = (curve.above[0] + curve.tie[0]) / max(curve.normal[0], 1.0)
    recall = np.cumsum(curve.positive[0]) / max(curve.positive[0].sum(), 1.0)
    places = [
        np.searchsorted(rate, np.linspace(0.0, 0.6, part), side="right") - 1,
        np.searchsorted(rate, np.geomspace(1e-6, 1.0, part), side="right") - 1,
        np.searchsorted(recall, np.linspace(0.0, 1.0, part), side="left"),
        np.array([len(rate) - 1]),
    ]
    return np.unique(np.clip(np.concatenate(places), 0, len(rate) - 1))


def in_bins(curve: Curve, edges: Array) -> Curve:
    """A curve of one row with its scores put into bins that end at the given places."""
    starts = np.append(0, edges[:-1] + 1)
    overlap, positive = (np.add.reduceat(values, starts, axis=1) for values in (curve.overlap, curve.positive))
    at = (curve.above + curve.tie)[:, edges]
    above = np.append(np.zeros((1, 1)), at[:, :-1], axis=1)
    return Curve(curve.score[edges], overlap, positive, at - above, above, curve.normal, curve.regions)
