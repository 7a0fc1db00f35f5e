"""Wrong boxes as a rate, in the three forms that are in use: per image, by image and class, by candidate."""

from __future__ import annotations

import numpy as np

from steelyard.core.metric import Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.boxes.counts import WorkingPoint, by_threshold, mean_over_thresholds
from steelyard.tasks.boxes.pairs import CLASS
from steelyard.tasks.boxes.settings import ScoreThreshold
from steelyard.tasks.boxes.sums import ClassesSeen, ImageCount, WorkingCounts

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

    def needs(self) -> tuple[Requirement, ...]:
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

    def needs(self) -> tuple[Requirement, ...]:
        return ClassesSeen(self.score), IMAGES

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        """One proportion, of the classes that images do not hold: those that were detected."""
        seen = totals[ClassesSeen(self.score)]
        return seen[:, 1], totals.facts.size(CLASS) * totals[IMAGES] - seen[:, 0]


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

    def needs(self) -> tuple[Requirement, ...]:
        return self.counts

    def reduce(self, totals: TotalsView) -> Floats:
        return mean_over_thresholds(ratio(*self.proportions(totals)))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        confident, every = (by_threshold(totals[statistic])[:, 1] for statistic in self.counts)
        return confident, every
