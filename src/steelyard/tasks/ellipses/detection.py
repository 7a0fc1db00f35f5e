"""Found or not found: precision, recall, F1, average precision, detection rate."""

from __future__ import annotations

from typing import Annotated, Literal

from steelyard.core.errors import InvalidSetting, InvalidSpec
from steelyard.core.frozen import frozen
from steelyard.core.metric import Between, Metric, within_range
from steelyard.core.spec import Range
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.match.ellipses import WEIGHTS, OwnDistance
from steelyard.tasks.ellipses.pairing import DistanceName, check_pairing, pairing, take_own_distance, usual_threshold
from steelyard.tasks.ellipses.ranking import Areas, Detections
from steelyard.tasks.ellipses.sums import ImageSum, NearPairs

TRUTHS, DETECTIONS, UNSCORED = ImageSum("truths"), ImageSum("detections"), ImageSum("unscored")
ROUNDING = 1e-12  # of an exact area: a pair at the IoU asked for counts
KINDS = ("step", "voc", "voc11", "coco")


@frozen
class _Counted(Metric):
    """A ratio of numbers of true positives, detections and truths."""

    range = (0.0, 1.0)

    iou: Annotated[float, Between(0, 1, open_low=True)] = 0.8
    distance: DistanceName | OwnDistance = "iou"
    t: float | None = None
    matching: Literal["greedy", "optimal"] = "greedy"
    weights: tuple[float, ...] = WEIGHTS
    normalise: bool = False

    def __post_init__(self) -> None:
        take_own_distance(self)

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return cls(), cls(distance="center")

    def check(self) -> None:
        """An IoU, or a distance with its threshold; not both."""
        check_pairing(self)
        if self.distance == "iou" and self.t is not None:
            raise InvalidSpec(f"metric '{self.name}': t is for other distances", remedy=f"Write {self.name}(iou=0.8).")
        if self.distance != "iou" and self.iou != type(self).iou:
            raise InvalidSpec(
                f"metric '{self.name}': iou and distance={self.distance} exclude each other",
                remedy=f"Write {self.name}(iou=0.8), or {self.name}(distance={self.distance}, t=5).",
            )

    @property
    def limit(self) -> float:
        """The largest distance of a true positive."""
        if self.distance == "iou":
            return 1 - self.iou + ROUNDING
        return usual_threshold(self, self.distance) if self.t is None else float(self.t)

    @property
    def label(self) -> str:
        if self.distance == "iou":
            return f"{self.title} (IoU ≥ {self.iou:g})"
        return f"{self.title} ({self.distance} ≤ {self.limit:g})"

    @property
    def true_positives(self) -> NearPairs:
        """Pairs near enough."""
        return NearPairs(*pairing(self.distance, self.matching, self.weights, self.normalise), self.limit)

    def needs(self) -> tuple[Requirement, ...]:
        return self.true_positives, TRUTHS, DETECTIONS


@frozen
class Precision(_Counted):
    r"""Precision: the share of detections that are right.

    $P = \mathrm{TP} / (\mathrm{TP} + \mathrm{FP})$

    Truths and detections are paired by smallest distance, each used once; a pair counts where the IoU is at least
    iou, or with distance=… the distance at most t. Sums run over all images.

    Undefined when there is no detection.

    Pros:
    - Plain: how far a detection can be trusted.

    Cons:
    - Says nothing about misses.
    """

    name = "precision"
    title = "Precision"

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[self.true_positives], totals[DETECTIONS]


@frozen
class Recall(_Counted):
    r"""Recall: the share of truths that were found.

    $R = \mathrm{TP} / (\mathrm{TP} + \mathrm{FN})$

    Pairs as in precision.

    Undefined when there is no truth.

    Pros:
    - Plain: how much is found.

    Cons:
    - Says nothing about false detections.
    """

    name = "recall"
    title = "Recall"

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[self.true_positives], totals[TRUTHS]


@frozen
class F1(_Counted):
    r"""F1: the harmonic mean of precision and recall.

    $F_1 = 2\,\mathrm{TP} / (2\,\mathrm{TP} + \mathrm{FP} + \mathrm{FN})$

    Pairs as in precision.

    Undefined when there is neither a truth nor a detection.

    Pros:
    - One number for misses and false detections, as ellipse detectors are compared by (IoU 0.8).

    Cons:
    - All or nothing: just below the threshold counts as nothing.
    """

    name = "f1"
    title = "F1"
    aliases = ("f1 score",)

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(2 * totals[self.true_positives], totals[TRUTHS] + totals[DETECTIONS])


@frozen
class AveragePrecision(Metric):
    r"""Average precision over the detections' scores.

    $\mathrm{AP} = \sum_k (R_k - R_{k-1})\,P_k$

    Detections of all images by falling score; each takes the free truth with the largest IoU, if that is at least
    iou. Equal scores form one step. Kinds: step (the sum above), voc (with the precision never rising), voc11 and
    coco (its mean at 11 and at 101 recalls). iou=0.5:0.95 is the mean over thresholds.

    Undefined when there is no truth, or the detections have no score.

    Pros:
    - Needs no score threshold: judges the ranking.

    Cons:
    - Kinds differ by several points; compare only the same.
    - All or nothing in the fit.
    """

    name = "ap"
    title = "Average precision"
    reference = "sklearn.metrics.average_precision_score"
    range = (0.0, 1.0)

    iou: float | Range = 0.8
    kind: Literal["step", "voc", "voc11", "coco"] = "step"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return cls(), cls(iou=Range(0.5, 0.95), kind="coco")

    def check(self) -> None:
        if isinstance(self.iou, Range):
            if not 0 < self.iou.start <= self.iou.stop <= 1:
                raise InvalidSetting(f"metric 'ap': iou cannot be {self.iou}", remedy="It must be above 0, up to 1.")
        else:
            within_range(self, "iou", 0, 1, open_low=True)

    @property
    def label(self) -> str:
        return f"{self.title} (IoU ≥ {self.iou if isinstance(self.iou, Range) else format(self.iou, 'g')}, {self.kind})"

    @property
    def curve(self) -> Areas:
        """The areas under the curves."""
        return Areas(Detections(self.iou), KINDS.index(self.kind))

    def needs(self) -> tuple[Requirement, ...]:
        """The ranking of all detections, and those without a score."""
        return self.curve, UNSCORED

    def reduce(self, totals: TotalsView) -> Floats:
        areas: Floats = totals[self.curve]
        return areas

    def undefined_reason(self, totals: TotalsView) -> str:
        return "the detections have no score" if totals[UNSCORED][0] else "there is no truth"


@frozen
class DetectionRate(Metric):
    r"""Detection rate: the share of truths with a detection whose centre is near.

    $\frac{1}{n} \sum_i [\,|\hat c_i - c_i| \le r\,]$

    Truths and detections are paired by smallest distance of centres. Literature on pupils uses 5 pixels.

    Undefined when there is no truth.

    Pros:
    - Needs only the centre to be right, as gaze estimation does.

    Cons:
    - Blind to size, shape and false detections.
    """

    name = "detection_rate"
    title = "Detection rate"
    at = "pixels"
    range = (0.0, 1.0)

    pixels: Annotated[float, Between(0)] = 5

    @property
    def label(self) -> str:
        return f"{self.title} within {self.pixels:g} px"

    @property
    def near(self) -> NearPairs:
        """Pairs whose centres are near."""
        return NearPairs("center", "greedy", WEIGHTS, float(self.pixels))

    def needs(self) -> tuple[Requirement, ...]:
        return self.near, TRUTHS

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[self.near], totals[TRUTHS]
