"""Boxes at a working point: precision, recall, F1, the miss rate and the IoU of what was found.

Everything here is a ratio of counts by image, so that any weights are one product with the columns.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.spec import Range, render_value
from steelyard.core.stats import Array, Stats
from steelyard.core.weights import Floats, Weights, ratio
from steelyard.metrics.boxes.matches import AREAS, Matches, figures, matches
from steelyard.metrics.boxes.settings import (
    STANDARD,
    check_ious,
    check_most,
    check_score,
    label_code,
    matched,
    thresholds,
)


def _in_class(m: Matches, places: Array, code: int | None) -> Array:
    if code is None:
        return places
    inside = np.zeros(len(places), dtype=bool)
    inside[m.begin[code] : m.end[code]] = True
    return places & inside


def _counts(stats: Stats, iou: float | Range, score: float, most: int, label: str | int | None) -> Array:
    """Columns (images, 3, thresholds): true positives, false positives, objects."""
    m, which = matched(stats, iou, "all", most)
    code = label_code(stats, label)
    units = len(stats)
    kept = _in_class(m, m.places() & (m.score >= score) & (m.rank < most), code)
    objects = m.counts.astype(bool)
    if code is not None:
        objects = objects.copy()
        objects[: m.truth_begin[code]] = objects[m.truth_begin[code + 1] :] = False
    columns = np.zeros((units, 3, len(which)))
    for column, t in enumerate(which):
        hit, ignored = m.bit(t)
        columns[:, 0, column] = np.bincount(m.image[kept & hit], minlength=units)
        columns[:, 1, column] = np.bincount(m.image[kept & ~hit & ~ignored], minlength=units)
        columns[:, 2, column] = np.bincount(m.truth_image[objects], minlength=units)
    return columns


@frozen
class WorkingPoint(Metric):
    """A metric at an IoU threshold and a score threshold."""

    iou: float | Range = 0.5
    score: float = 0.5
    max_dets: int = 100

    def check(self) -> None:
        """Check every setting."""
        check_ious(self, self.iou)
        check_score(self)
        check_most(self, "max_dets")


@frozen
class _AtScore(Metric):
    """A ratio of counts at an IoU threshold and a score threshold; over a range of IoU, the mean of the ratios."""

    iou: float | Range = 0.5
    score: float = 0.5
    only: str | int | None = field(default=None, metadata={"spec": "label"})
    max_dets: int = 100

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """At one threshold, and over the ten."""
        return (cls(), cls(iou=STANDARD))

    def check(self) -> None:
        """Check every setting."""
        check_ious(self, self.iou)
        check_score(self)
        check_most(self, "max_dets")

    @property
    def label(self) -> str:
        """Name the working point."""
        whose = "" if self.only is None else f" of {self.only}"
        return f"{self.title}{whose}, IoU {render_value(self.iou)}, score {self.score:g}"

    def totals(self, stats: Stats, weights: Weights) -> Array:
        """Weighted true positives, false positives and objects: (rows, 3, thresholds)."""
        key = ("counts", thresholds(self.iou), self.score, self.max_dets, self.only)
        columns = stats.per_unit(key, lambda: _counts(stats, self.iou, self.score, self.max_dets, self.only))
        flat = stats.per_unit((*key, "flat"), lambda: columns.reshape(len(stats), -1))
        return (weights @ flat).reshape(-1, 3, columns.shape[2])


def mean_over_thresholds(values: Array) -> Floats:
    """The mean of each row's values."""
    return np.asarray(values.mean(axis=1))


@frozen
class Precision(_AtScore):
    r"""Precision: the share of the detections kept that are right.

    $\mathrm{precision} = \mathrm{TP} \;/\; (\mathrm{TP} + \mathrm{FP})$

    Detections with a score of at least `score` are kept, of all classes together; `label` asks for one class. A second
    detection of the same object is a false positive. What falls on a crowd counts neither way.

    Undefined when no detection is kept.

    Pros:
    - Reads as a promise: so many of a hundred detections shown are right.

    Cons:
    - Depends on the score threshold, and says nothing about what is missed.
    """

    name = "precision"
    title = "Precision"

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Hits over detections."""
        totals = self.totals(stats, weights)
        return mean_over_thresholds(ratio(totals[:, 0], totals[:, 0] + totals[:, 1]))


@frozen
class Recall(_AtScore):
    r"""Recall, the true positive rate: the share of the objects that were found.

    $\mathrm{recall} = \mathrm{TPR} = \mathrm{TP} \;/\; (\mathrm{TP} + \mathrm{FN})$

    Undefined when there is no object.

    Pros:
    - Reads as a promise: so many of a hundred objects are found.

    Cons:
    - False positives are free.
    """

    name = "recall"
    title = "Recall (true positive rate)"
    aliases = ("tpr",)

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Hits over objects."""
        totals = self.totals(stats, weights)
        return mean_over_thresholds(ratio(totals[:, 0], totals[:, 2]))


@frozen
class F1(_AtScore):
    r"""F1: the harmonic mean of precision and recall.

    $F_1 = 2\,\mathrm{TP} \;/\; (2\,\mathrm{TP} + \mathrm{FP} + \mathrm{FN})$

    Undefined when there is neither an object nor a detection kept.

    Pros:
    - One number for a working point; high only where both are high.

    Cons:
    - Weighs a miss and a false alarm alike, which few uses do.
    """

    name = "f1"
    title = "F1"

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Twice the hits over detections plus objects."""
        totals = self.totals(stats, weights)
        return mean_over_thresholds(ratio(2 * totals[:, 0], totals[:, 0] + totals[:, 1] + totals[:, 2]))


@frozen
class BestF1(Metric):
    r"""Best F1: the highest F1 that any score threshold reaches, all classes together.

    $F_1^{*} = \max_s F_1(s)$

    The report says at which score. Inside every bootstrap draw the threshold is sought again, so the interval holds
    that search too.

    Undefined when there is no object.

    Pros:
    - Compares models whose scores are not calibrated alike.
    - Gives the score threshold to work with.

    Cons:
    - Optimistic: the threshold is chosen on the data that it is judged on.
    """

    name = "best_f1"
    title = "Best F1 over score thresholds"

    iou: float = 0.5
    max_dets: int = 100

    def check(self) -> None:
        """Check every setting."""
        check_ious(self, self.iou)
        check_most(self, "max_dets")

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Search the thresholds under each row of weights."""
        return self._search(stats, weights)[0]

    def notes(self, stats: Stats, weights: Weights) -> tuple[str, ...]:
        """The threshold."""
        at = float(self._search(stats, weights)[1][0])
        return (f"The best F1 is reached with detections of score {at:.4g} or more.",) if at == at else ()

    def _search(self, stats: Stats, weights: Weights) -> tuple[Floats, Floats]:
        m, which = matched(stats, self.iou, "all", self.max_dets)
        key = ("pooled", id(m), which[0])
        pooled = stats.derived(key, lambda: _pooled(m, which[0]))

        def search() -> tuple[Floats, Floats]:
            best, at = figures(pooled, weights, self.max_dets, "best_f1", np.array([0.0, 1.0]))
            return best[:, 0], at[:, 0]

        return stats.under(weights, (*key, self.max_dets), search)


def _pooled(m: Matches, t: int) -> Matches:
    """All classes as one: detections by falling score, one threshold."""
    places = np.flatnonzero(m.places())
    order = places[np.argsort(-m.score[places], kind="stable")]
    hit, ignored = m.bit(t)
    n, truths = len(order), len(m.truth_order)
    return Matches(
        np.zeros(1, np.int64), np.array([n]), m.order[order], m.image[order], m.score[order], m.rank[order],
        hit[order].astype(np.uint32), ignored[order].astype(np.uint32), np.array([0, truths]), m.truth_order,
        m.truth_image, m.counts, 1, m.partner, m.overlap,
    )  # fmt: skip


@frozen
class MeanIou(WorkingPoint):
    r"""Mean IoU of the matched: how well what was found fits the objects.

    $\overline{\mathrm{IoU}} = \frac{1}{|M|} \sum_{(d, g) \in M} \mathrm{IoU}(d, g)$

    Undefined when nothing was matched.

    Pros:
    - The fit alone, apart from what was found and what was not.

    Cons:
    - A model that finds only easy objects looks good: read it beside recall.
    """

    name = "mean_iou"
    title = "Mean IoU of the matched"

    iou: float = 0.5

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Sum of IoU over number of matches."""
        key = ("mean_iou", self.iou, self.score, self.max_dets)
        totals = weights @ stats.per_unit(key, lambda: self._columns(stats))
        return ratio(totals[:, 0], totals[:, 1])

    def _columns(self, stats: Stats) -> Array:
        m = matches(stats, (float(self.iou),), AREAS["all"], max(self.max_dets, 100))
        kept = m.places() & (m.score >= self.score) & (m.rank < self.max_dets) & m.bit(0)[0]
        units = len(stats)
        overlap = np.bincount(m.image[kept], weights=m.overlap[kept], minlength=units)
        return np.stack([overlap, np.bincount(m.image[kept], minlength=units)], axis=1)


@frozen
class LogAverageMissRate(Metric):
    r"""Log-average miss rate: the share of objects missed, over false positives from 0.01 to 1 an image.

    $\mathrm{LAMR} = \exp\!\Big( \frac{1}{9} \sum_{j=0}^{8} \ln \mathrm{MR}(10^{-2 + j/4}) \Big)$

    The geometric mean of the miss rate at nine numbers of false positives an image, evenly spaced in the logarithm, as
    pedestrian detection reports it; the mean over classes that have truth. A miss rate below 1e-10 counts as that.

    Undefined when no class has truth.

    Pros:
    - Speaks of the working range where a system would run.

    Cons:
    - Depends on the number of images without objects.
    """

    name = "lamr"
    title = "Log-average miss rate"
    better = "lower"
    range = (1e-10, 1)

    iou: float = 0.5
    max_dets: int = 100

    def check(self) -> None:
        """Check every setting."""
        check_ious(self, self.iou)
        check_most(self, "max_dets")

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Walk each class until the false positives pass each of the nine."""
        m, which = matched(stats, self.iou, "all", self.max_dets)
        key = ("lamr", id(m), self.max_dets)
        found = stats.under(
            weights, key, lambda: figures(m, weights, self.max_dets, "lamr", np.logspace(-2.0, 0.0, 9))[0]
        )
        return np.asarray(found[:, which[0]])
