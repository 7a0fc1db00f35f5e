"""Wrong boxes as a rate, in the three forms that are in use: an image, by image and class, by candidate."""

from __future__ import annotations

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.stats import Array, Stats
from steelyard.core.weights import Floats, Weights, ratio
from steelyard.metrics.boxes.counts import F1, WorkingPoint, mean_over_thresholds
from steelyard.metrics.boxes.matches import sides
from steelyard.metrics.boxes.settings import check_score

INFINITY = float("inf")


@frozen
class FalsePositivesPerImage(WorkingPoint):
    r"""False positives an image: how many wrong detections a viewer sees.

    $\mathrm{FPPI} = \mathrm{FP} \;/\; \mathrm{images}$

    Undefined when there is no image.

    Pros:
    - Means the same whatever the number of objects.

    Cons:
    - Not a rate: it has no upper end.
    """

    name = "fppi"
    title = "False positives an image"
    better = "lower"
    range = (0, INFINITY)

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """False positives over images."""
        totals = F1(self.iou, self.score, None, self.max_dets).totals(stats, weights)
        return mean_over_thresholds(ratio(totals[:, 1], (weights @ stats["images"])[:, np.newaxis]))


@frozen
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
    aliases = ("fpr",)
    better = "lower"

    score: float = 0.5

    def check(self) -> None:
        """Check the score threshold."""
        check_score(self)

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Absent classes that were detected over absent classes."""
        columns = stats.per_unit(("absent", self.score), lambda: _absent(stats, self.score))
        totals = weights @ columns
        return ratio(totals[:, 1], totals[:, 0])


def _absent(stats: Stats, score: float) -> Array:
    """By image: classes that are absent, and those among them that were detected."""
    s, classes, units = sides(stats), len(stats.facts["labels"]), len(stats)
    present = np.unique(s.image.astype(np.int64) * classes + s.label)
    kept = s.d_score >= score
    detected = np.unique(s.d_image[kept].astype(np.int64) * classes + s.d_label[kept])
    wrong = np.setdiff1d(detected, present, assume_unique=True)
    columns = np.empty((units, 2))
    columns[:, 0] = classes - np.bincount(present // classes, minlength=units) if classes else 0
    columns[:, 1] = np.bincount(wrong // max(classes, 1), minlength=units)
    return columns


@frozen
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

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Unmatched kept over unmatched."""
        kept = F1(self.iou, self.score, None, self.max_dets).totals(stats, weights)
        every = F1(self.iou, -1e300, None, self.max_dets).totals(stats, weights)
        return mean_over_thresholds(ratio(kept[:, 1], every[:, 1]))
