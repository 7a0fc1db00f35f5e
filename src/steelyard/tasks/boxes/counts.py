"""Boxes at a working point: precision, recall, F1, the miss rate and the IoU of what was found.

Then wrong boxes as a rate, in the three forms that are in use: per image, by image and class, by candidate. First
come the sums by image of all of them: hits and false positives, overlaps, classes that are absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Annotated

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.metric import Between, Metric
from steelyard.core.pairs import Array
from steelyard.core.records import distinct_values
from steelyard.core.spec import Range, render_value
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, SharedCache, Statistic, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.boxes.matches import AREAS, STANDARD_AREAS, Matches, matches
from steelyard.tasks.boxes.pairs import CLASS, BoxPairs
from steelyard.tasks.boxes.ranking import BestF1Search, RankingFigure, detections
from steelyard.tasks.boxes.settings import (
    MOST,
    STANDARD,
    Most,
    ScoreThreshold,
    check_ious,
    class_code,
    on_grid,
    thresholds,
    with_cap,
)


class ImageCount(Sum):
    """1 for each image."""

    name = "boxes.images"

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(np.ones(len(pairs.units)))


class WorkingCounts(Sum):
    """True positives, false positives and objects at each IoU, of detections with at least a score.

    Columns: the true positives of all IoUs, then the false positives, then the objects. Without a score all count.
    """

    name = "boxes.counts"

    iou: float | Range
    score: float | None
    max_dets: int
    label: str | int | None = None

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> SumBlock:
        """Counts by image. A class that is not here has none."""
        levels, places = on_grid(self.iou)
        m = matches(pairs, cache, thresholds(levels), STANDARD_AREAS, MOST)[0]
        units = len(pairs.units)
        detections = m.places() & (m.rank < self.max_dets)
        if self.score is not None:
            detections &= m.score >= self.score
        objects = m.counts.astype(bool)
        if self.label is not None:
            detections, objects = _of_class(m, detections, objects, pairs.metadata.axes[CLASS].find(self.label))
        columns = np.zeros((units, 3, len(places)))
        for column, t in enumerate(places):
            hit, ignored = m.bit(t)
            columns[:, 0, column] = np.bincount(m.image[detections & hit], minlength=units)
            columns[:, 1, column] = np.bincount(m.image[detections & ~hit & ~ignored], minlength=units)
            columns[:, 2, column] = np.bincount(m.truth_image[objects], minlength=units)
        return SumBlock(columns.reshape(units, -1))

    def earlier(self, stored: Iterable[Statistic]) -> tuple[Statistic, str] | None:
        """Versions before 0.3 kept it with a cap."""
        return with_cap(self, stored)


def _of_class(m: Matches, detections: Array, objects: Array, code: int) -> tuple[Array, Array]:
    mine, true = np.zeros(len(detections), dtype=bool), np.zeros(len(objects), dtype=bool)
    if code >= 0:
        mine[m.begin[code] : m.end[code]] = True
        true[m.truth_begin[code] : m.truth_begin[code + 1]] = True
    return detections & mine, objects & true


class MatchedOverlap(Sum):
    """The sum of the overlaps of what is matched, and how many those are."""

    name = "boxes.matched_overlap"

    iou: float
    score: float
    max_dets: int

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> SumBlock:
        m = matches(pairs, cache, (float(self.iou),), (AREAS["all"],), MOST)[0]
        used = m.places() & (m.score >= self.score) & (m.rank < self.max_dets) & m.bit(0)[0]
        units = len(pairs.units)
        overlap = np.bincount(m.image[used], weights=m.overlap[used], minlength=units)
        return SumBlock(np.stack([overlap, np.bincount(m.image[used], minlength=units)], axis=1))

    def earlier(self, stored: Iterable[Statistic]) -> tuple[Statistic, str] | None:
        """Versions before 0.3 kept it with a cap."""
        return with_cap(self, stored)


class ClassesSeen(Sum):
    """By image: how many classes it holds, and how many of the others were detected from a score on."""

    name = "boxes.classes_seen"

    score: float

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> SumBlock:
        classes = max(pairs.classes, 1)
        present = distinct_values(pairs.image.astype(np.int64) * classes + pairs.label)
        confident = pairs.d_score >= self.score
        detected = distinct_values(pairs.d_image[confident].astype(np.int64) * classes + pairs.d_label[confident])
        wrong = detected[np.isin(detected, present, assume_unique=True, invert=True)]
        columns = [np.bincount(codes // classes, minlength=len(pairs.units)) for codes in (present, wrong)]
        return SumBlock(np.stack(columns, axis=1))


class WorkingPoint(Metric):
    """A metric at an IoU threshold and a score threshold."""

    range = (0.0, 1.0)

    iou: float | Range = 0.5
    score: ScoreThreshold = 0.5
    max_dets: Most = MOST

    def check(self) -> None:
        check_ious(self, self.iou)


class _AtScore(Metric):
    """A ratio of counts at an IoU threshold and a score threshold; over a range of IoU, the mean of the ratios."""

    range = (0.0, 1.0)

    iou: float | Range = 0.5
    score: ScoreThreshold = 0.5
    only: str | int | None = field(default=None, metadata={"spec": "label"})
    max_dets: Most = MOST

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(iou=STANDARD))

    def check(self) -> None:
        check_ious(self, self.iou)

    @property
    def label(self) -> str:
        whose = "" if self.only is None else f" of {self.only}"
        return f"{self.title}{whose}, IoU {render_value(self.iou)}, score {self.score:g}"

    @property
    def counts(self) -> WorkingCounts:
        """What is counted."""
        return WorkingCounts(self.iou, self.score, self.max_dets, self.only)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.counts,)

    def summed_counts(self, totals: TotalsView) -> Array:
        """Weighted true positives, false positives and objects: (rows, 3, thresholds)."""
        if self.only is not None:
            class_code(totals.metadata, self.only)
        return by_threshold(totals[self.counts])


def by_threshold(totals: Array) -> Array:
    """Totals of `WorkingCounts`: (rows, 3, thresholds)."""
    return totals.reshape(len(totals), 3, -1)


def mean_over_thresholds(values: Array) -> Floats:
    """The mean of each row's values."""
    return np.asarray(values.mean(axis=1))


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

    def reduce(self, totals: TotalsView) -> Floats:
        return mean_over_thresholds(ratio(*self.proportions(totals)))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        counts = self.summed_counts(totals)
        return counts[:, 0], counts[:, 0] + counts[:, 1]


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
    aliases = ("tpr", "true positive rate")

    def reduce(self, totals: TotalsView) -> Floats:
        return mean_over_thresholds(ratio(*self.proportions(totals)))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        counts = self.summed_counts(totals)
        return counts[:, 0], counts[:, 2]


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
    aliases = ("f1 score",)

    def reduce(self, totals: TotalsView) -> Floats:
        return mean_over_thresholds(ratio(*self.proportions(totals)))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        counts = self.summed_counts(totals)
        return 2 * counts[:, 0], counts[:, 0] + counts[:, 1] + counts[:, 2]


class FBeta(_AtScore):
    r"""F-beta: precision and recall in one number, recall counting beta times as much.

    $F_\beta = (1 + \beta^2)\,\mathrm{TP} \;/\; ((1 + \beta^2)\,\mathrm{TP} + \beta^2\,\mathrm{FN} + \mathrm{FP})$

    With beta 0 it is precision.

    Undefined when there is neither an object nor a detection kept.

    Pros:
    - Says by its setting whether a miss or a false alarm is worse.

    Cons:
    - Numbers of different beta cannot be compared.
    """

    name = "fbeta"
    title = "F-beta"

    beta: Annotated[float, Between(0, 1e6)] = 2.0

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(),)

    @property
    def label(self) -> str:
        return super().label.replace("F-beta", f"F{self.beta:g}", 1)

    def reduce(self, totals: TotalsView) -> Floats:
        return mean_over_thresholds(ratio(*self.proportions(totals)))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        """At each threshold: the hits, of hits, misses and false positives as they weigh."""
        counts = self.summed_counts(totals)
        square = self.beta**2
        hits = (1 + square) * counts[:, 0]
        return hits, counts[:, 0] + counts[:, 1] + square * counts[:, 2]


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
    range = (0.0, 1.0)

    iou: float = 0.5
    max_dets: Most = MOST

    def check(self) -> None:
        check_ious(self, self.iou)

    @property
    def search(self) -> BestF1Search:
        """What is read along the ranking."""
        ranking, area, places = detections(self.iou, "all", "coco")
        return BestF1Search(ranking, area=area, max_dets=self.max_dets, at=places[0])

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.search,)

    def reduce(self, totals: TotalsView) -> Floats:
        best: Floats = totals[self.search][0][:, 0]
        return best

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        at = float(totals[self.search][1][0, 0])
        return (f"The best F1 is reached with detections of score {at:.4g} or more.",) if at == at else ()


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
    aliases = ("iou", "intersection over union")

    iou: float = 0.5

    @property
    def overlap(self) -> MatchedOverlap:
        """What is added up."""
        return MatchedOverlap(float(self.iou), self.score, self.max_dets)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.overlap,)

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self.overlap]
        return ratio(sums[:, 0], sums[:, 1])


class LogAverageMissRate(Metric):
    r"""Log-average miss rate: the share of objects missed, over false positives from 0.01 to 1 per image.

    $\mathrm{LAMR} = \exp\!\Big( \frac{1}{9} \sum_{j=0}^{8} \ln \mathrm{MR}(10^{-2 + j/4}) \Big)$

    The geometric mean of the miss rate at nine numbers of false positives per image, evenly spaced in the logarithm, as
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
    max_dets: Most = MOST

    def check(self) -> None:
        check_ious(self, self.iou)

    @property
    def curve(self) -> RankingFigure:
        """What is read along the ranking of each class."""
        ranking, area, places = detections(self.iou, "all", "coco")
        return RankingFigure(ranking, "lamr", area, self.max_dets, at=places[0])

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.curve,)

    def reduce(self, totals: TotalsView) -> Floats:
        rates: Floats = totals[self.curve].figure[:, 0]
        return rates


IMAGES = ImageCount()
INFINITY = float("inf")


class FalsePositivesPerImage(WorkingPoint):
    r"""False positives per image: how many wrong detections a viewer sees.

    $\mathrm{FPPI} = \mathrm{FP} \;/\; \mathrm{images}$

    Undefined when there is no image.

    Pros:
    - Means the same whatever the number of objects.

    Cons:
    - Not a rate: it has no upper end.
    """

    name = "fppi"
    title = "False positives per image"
    better = "lower"
    range = (0, INFINITY)

    @property
    def counts(self) -> WorkingCounts:
        """What is counted."""
        return WorkingCounts(self.iou, self.score, self.max_dets)

    def requirements(self) -> tuple[Requirement, ...]:
        return self.counts, IMAGES

    def reduce(self, totals: TotalsView) -> Floats:
        wrong = by_threshold(totals[self.counts])[:, 1]
        return mean_over_thresholds(ratio(wrong, totals[IMAGES][:, np.newaxis]))


class FalsePositiveRateImage(Metric):
    r"""False positive rate by image: of the images without a class, the share that got a detection of it.

    $\mathrm{FPR} = \sum_k |\{i : k \notin i,\; k\ \mathrm{detected}\}| \;/\; \sum_k |\{i : k \notin i\}|$

    Boxes have no true negatives; whole images do, so this is the one rate with a true denominator, and what plain `fpr`
    means. It is taken over all pairs of image and class.

    Undefined when every image holds every class.

    Pros:
    - A real rate, from 0 to 1, comparable with classification.

    Cons:
    - Blind to false positives in images that do hold the class.
    - Small by nature where there are many classes.
    """

    name = "fpr_image"
    title = "False positive rate by image"
    aliases = ("fpr", "false positive rate")
    better = "lower"
    range = (0.0, 1.0)

    score: ScoreThreshold = 0.5

    def check(self) -> None:
        """Check the score threshold."""

    def requirements(self) -> tuple[Requirement, ...]:
        return ClassesSeen(self.score), IMAGES

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        """One proportion, of the classes that images do not hold: those that were detected."""
        seen = totals[ClassesSeen(self.score)]
        return seen[:, 1], totals.metadata.size(CLASS) * totals[IMAGES] - seen[:, 0]


class FalsePositiveRateCandidate(WorkingPoint):
    r"""False positive rate by candidate: of the detections that match nothing, the share that the score lets through.

    $\mathrm{FPR}_{\mathrm{candidate}} = |\{d\ \mathrm{unmatched},\; s_d \ge s\}| \;/\; |\{d\ \mathrm{unmatched}\}|$

    Takes the unmatched detections of low score for the true negatives.

    Undefined when every detection matches.

    Pros:
    - Shows how well the score tells wrong detections from right ones.

    Cons:
    - Depends on how many detections of low score the model puts out: not comparable between models.
    """

    name = "fpr_candidate"
    title = "False positive rate by candidate"
    better = "lower"

    @property
    def counts(self) -> tuple[WorkingCounts, WorkingCounts]:
        """What is counted: detections from the score on, and all."""
        return WorkingCounts(self.iou, self.score, self.max_dets), WorkingCounts(self.iou, None, self.max_dets)

    def requirements(self) -> tuple[Requirement, ...]:
        return self.counts

    def reduce(self, totals: TotalsView) -> Floats:
        return mean_over_thresholds(ratio(*self.proportions(totals)))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        confident, every = (by_threshold(totals[statistic])[:, 1] for statistic in self.counts)
        return confident, every
