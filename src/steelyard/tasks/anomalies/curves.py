"""Figures of curves over scores, from counts at the scores of what is defective.

Normal pixels are never ranked: an area under a curve needs only how many of them lie above, and at, the scores that
defective pixels have. All functions take a `Curve` with one row per row of weights.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.core.frozen import Frozen
from steelyard.core.weights import Array, Floats

AT_ONCE = 1 << 15  # counts that are worked on
TINY = 1e-300  # below any count: shares of nothing are 0


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


def _parts(curve: Curve) -> Iterator[tuple[Curve, Floats]]:
    """The scores in parts that fit into a processor's cache, each with the defective pixels before it."""
    many = curve.positive.shape[1]
    step = max(1, AT_ONCE // max(1, len(curve.positive)))
    before = np.zeros(len(curve.positive))
    for start in range(0, many, step):
        here = slice(start, min(start + step, many))
        overlap, positive, tie, above = (
            values[:, here] for values in (curve.overlap, curve.positive, curve.tie, curve.above)
        )
        part = Curve(curve.score[here], overlap, positive, tie, above, curve.normal, curve.regions)
        yield part, before
        before = before + part.positive.sum(axis=1)


def roc_area(curve: Curve) -> Floats:
    """The area under the ROC curve; nan without normal or defective pixels."""
    total, wins = np.zeros((2, len(curve.normal)))
    for part, _ in _parts(curve):
        total += part.positive.sum(axis=1)
        wins += (part.positive * (part.normal[:, None] - part.above - part.tie / 2)).sum(axis=1)
    return _share(wins, np.where(curve.normal > 0, total * curve.normal, 0.0))


def average_precision(curve: Curve, rule: str = "step") -> Floats:
    """Average precision by steps, or by straight lines between the points as `sklearn.metrics.auc` draws them."""
    total, area = np.zeros((2, len(curve.normal)))
    for part, before in _parts(curve):
        total += part.positive.sum(axis=1)
        hits = before[:, None] + np.cumsum(part.positive, axis=1)
        at = hits / np.maximum(hits + part.above + part.tie, TINY)
        if rule == "trapezoid":
            earlier = hits - part.positive
            flagged = earlier + part.above
            with np.errstate(divide="ignore", invalid="ignore"):
                at = (at + np.where(flagged > 0, earlier / flagged, 1.0)) / 2
        area += (part.positive * at).sum(axis=1)
    return np.where(curve.normal > 0, _share(area, total), np.nan)


def best_f1(curve: Curve) -> tuple[Floats, Floats]:
    """The highest F1 that any threshold reaches, and the lowest threshold that reaches it."""
    total = curve.positive.sum(axis=1)
    best, threshold = np.full((2, len(total)), np.nan)
    for part, before in _parts(curve):
        hits = before[:, None] + np.cumsum(part.positive, axis=1)
        f1 = 2 * hits / np.maximum(hits + part.above + part.tie + total[:, None], TINY)
        last = f1.shape[1] - 1 - np.argmax(f1[:, ::-1], axis=1)
        value = f1[np.arange(len(f1)), last]
        better = ~(value < best)  # also of nothing, and of an equal one further up
        best, threshold = np.where(better, value, best), np.where(better, part.score[last], threshold)
    defined = (total > 0) & (curve.normal > 0)
    return np.where(defined, best, np.nan), np.where(defined, threshold, np.nan)


def region_area(curve: Curve, limit: float, place: float | None = None) -> Floats:
    """The area under mean overlap against the false positive rate up to a limit, divided by the limit.

    `place` puts what lies in a bin to its upper (0) or lower end (1) instead of along a straight line: bounds.
    """
    area = np.zeros(len(curve.normal))
    with np.errstate(divide="ignore", invalid="ignore"):
        for part, _ in _parts(curve):
            if not (part.above[:, 0] < limit * curve.normal).any():  # scores further down add nothing
                break
            before, tie = (counts / curve.normal[:, None] for counts in (part.above, part.tie))
            if place is not None:
                gain = np.maximum(limit - before - place * tie, 0.0)
            else:
                cut = (limit - before) ** 2 / (2 * tie)
                gain = np.where(before + tie <= limit, limit - before - tie / 2, np.where(before < limit, cut, 0.0))
            area += (part.overlap * gain).sum(axis=1)
        value = area / curve.regions / limit
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
