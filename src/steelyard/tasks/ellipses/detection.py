"""Found or not found: precision, recall, F1, average precision, detection rate.

Detections of all images by falling score: what average precision walks.

Then how far off the matched ellipses are: distance, overlap, centre, axes, angle. A pair is what the matching makes of
it, however far apart, unless `within` sets a limit. Means run over pairs.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Literal

import numpy as np

from steelyard import _native
from steelyard.align.sets import SetPairs
from steelyard.core.errors import InvalidSpec
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric, within_range
from steelyard.core.pairs import Array
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.spec import Range
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Ranking, RankingReader, Requirement, SharedCache, Sum
from steelyard.core.weights import Floats, Role, Weights, ratio
from steelyard.match.ellipses import WEIGHTS, OwnDistance
from steelyard.tasks.ellipses.matched import (
    DistanceName,
    Pairing,
    check_pairing,
    hits,
    match_input,
    pairing,
    take_own_distance,
    usual_threshold,
)
from steelyard.tasks.ellipses.sums import (
    AngleSum,
    AxisSum,
    CenterSum,
    DistanceSum,
    ImageSum,
    IouSum,
    NearPairs,
    image_columns,
)


class Detections(Ranking):
    """Detections with their score, and whether they find a truth at each IoU; positives are the truths of an image."""

    name = "ellipses.detections"

    iou: float | Range

    @property
    def levels(self) -> tuple[float, ...]:
        """The IoUs."""
        return self.iou.values if isinstance(self.iou, Range) else (float(self.iou),)

    def measure(self, pairs: SetPairs, cache: SharedCache) -> RankingBlock:
        """All in one group; ties in the order of images. Without scores nothing is looked for."""
        both, truths = match_input(pairs, cache), image_columns(pairs, cache)["truths"]
        unscored = np.isnan(both.score).any()
        hit = np.zeros((len(both.score), len(self.levels)), np.uint8) if unscored else hits(pairs, cache, self.levels)
        order = np.argsort(-both.score, kind="stable")
        events = {"score": both.score[order], "hit": np.asarray(hit[order], dtype=np.uint8)}
        images = np.flatnonzero(truths)
        return RankingBlock(
            "",
            Grouped(np.array([0, len(order)]), both.detected_owner[order].astype(np.int32), events),
            Grouped(np.array([0, len(images)]), images.astype(np.int32), {"count": truths[images]}),
        )


class Areas(RankingReader):
    """The mean over the IoUs of the area under each curve; nan where a detection has no score."""

    ranking: Detections
    rule: int

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        score, hit = block.events.columns["score"], block.events.columns["hit"]
        if np.isnan(score).any():
            return np.full(weights.rows, np.nan)
        owner = block.events.unit.astype(np.int64)
        counts = block.positives.columns["count"]
        truths = np.bincount(block.positives.unit, weights=counts, minlength=weights.units).astype(np.float64)
        if weights.role is Role.UNITS and weights.rows == weights.units:
            return self._alone(owner, score, hit, truths)
        closes, columns = _closes(score), [np.ascontiguousarray(column) for column in hit.T]
        blocks = [
            np.mean(
                [
                    _native.ranked_ap(np.ascontiguousarray(rows), truths, owner, column, closes, self.rule)
                    for column in columns
                ],
                axis=0,
            )
            for rows in weights.blocks()
        ]
        return np.concatenate(blocks)

    def _alone(self, owner: Array, score: Array, hit: Array, truths: Array) -> Floats:
        """Each image by itself."""
        order = np.argsort(owner, kind="stable")
        owner = owner[order]
        closes = _closes(score[order])
        closes[:-1] |= owner[1:] != owner[:-1]
        columns = [np.ascontiguousarray(column[order]) for column in hit.T]
        each = [_native.ranked_ap_by_unit(truths, owner, column, closes, self.rule) for column in columns]
        mean: Floats = np.mean(each, axis=0)
        return mean


def _closes(score: Array) -> Array:
    """1 where equal scores end."""
    closes = np.ones(len(score), dtype=np.uint8)
    closes[:-1] = score[1:] != score[:-1]
    return closes


TRUTHS, DETECTIONS, UNSCORED = ImageSum("truths"), ImageSum("detections"), ImageSum("unscored")
ROUNDING = 1e-12  # of an exact area: a pair at the IoU asked for counts
KINDS = ("step", "voc", "voc11", "coco")


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

    def requirements(self) -> tuple[Requirement, ...]:
        return self.true_positives, TRUTHS, DETECTIONS


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
                raise InvalidSpec(f"metric 'ap': iou cannot be {self.iou}", remedy="It must be above 0, up to 1.")
        else:
            within_range(self, "iou", 0, 1, open_low=True)

    @property
    def label(self) -> str:
        return f"{self.title} (IoU ≥ {self.iou if isinstance(self.iou, Range) else format(self.iou, 'g')}, {self.kind})"

    @property
    def curve(self) -> Areas:
        """The areas under the curves."""
        return Areas(Detections(self.iou), KINDS.index(self.kind))

    def requirements(self) -> tuple[Requirement, ...]:
        """The ranking of all detections, and those without a score."""
        return self.curve, UNSCORED

    def reduce(self, totals: TotalsView) -> Floats:
        areas: Floats = totals[self.curve]
        return areas

    def undefined_reason(self, totals: TotalsView) -> str:
        return "the detections have no score" if totals[UNSCORED][0] else "there is no truth"


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

    def requirements(self) -> tuple[Requirement, ...]:
        return self.near, TRUTHS

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return totals[self.near], totals[TRUTHS]


INFINITY = float("inf")


class _OfPairs(Metric):
    """A mean over the pairs that have a value."""

    better = "lower"
    range = (0.0, INFINITY)
    measured_in = "px"

    distance: DistanceName | OwnDistance = "param"
    within: float | None = None
    matching: Literal["greedy", "optimal"] = "greedy"
    weights: tuple[float, ...] = WEIGHTS
    normalise: bool = False

    def __post_init__(self) -> None:
        take_own_distance(self)

    def check(self) -> None:
        check_pairing(self)

    @property
    def label(self) -> str:
        """Name the limit, where there is one."""
        limit = "" if self.within is None else f" ({self.distance} ≤ {self.within:g})"
        return f"{self.title}{limit}"

    @property
    def _pairs(self) -> tuple[str, str, tuple[float, ...], float | None]:
        """How pairs are made, and which of them count."""
        pairs: Pairing = pairing(self.distance, self.matching, self.weights, self.normalise)
        return (*pairs, None if self.within is None else float(self.within))

    @property
    @abstractmethod
    def statistic(self) -> Sum:
        """By image: the sum of values, the number of them, and of pairs that have none."""

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.statistic,)

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self.statistic]
        return ratio(sums[:, 0], sums[:, 1])

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        return float(totals[self.statistic][0, 2]), "pairs whose ellipses are near circles, which have no angle"


class MeanDistance(_OfPairs):
    r"""Mean distance of the matched ellipses.

    $\frac{1}{K} \sum_{\mathrm{pairs}} d$

    Pairs as the score makes them; distance chooses what is measured, within leaves out pairs farther apart.

    Undefined when there is no pair.

    Pros:
    - The raw material of the score, in its own unit.

    Cons:
    - Misses and false detections do not count.
    - A missed truth may be paired with a false detection far away; within leaves such pairs out.
    """

    name = "mean_distance"
    title = "Mean distance of pairs"
    measured_in = ""

    @property
    def label(self) -> str:
        limit = "" if self.within is None else f" ≤ {self.within:g}"
        return f"{self.title} ({self.distance}{limit})"

    @property
    def statistic(self) -> DistanceSum:
        return DistanceSum(*self._pairs)


class MeanIou(_OfPairs):
    r"""Mean IoU of the matched ellipses.

    $\frac{1}{K} \sum_{\mathrm{pairs}} |E \cap \hat E| / |E \cup \hat E|$

    The areas are exact. Pairs as the score makes them; within leaves out pairs farther apart.

    Undefined when there is no pair.

    Pros:
    - Free of scale: how well the shapes cover each other.

    Cons:
    - Misses and false detections do not count.
    """

    name = "mean_iou"
    title = "Mean IoU of pairs"
    better = "higher"
    range = (0.0, 1.0)
    measured_in = ""

    @property
    def statistic(self) -> IouSum:
        return IouSum(*self._pairs)


class CenterError(_OfPairs):
    r"""Mean distance between the centres of the matched ellipses.

    $\frac{1}{K} \sum_{\mathrm{pairs}} |\hat c - c|$

    Pairs as the score makes them; within leaves out pairs farther apart.

    Undefined when there is no pair.

    Pros:
    - In pixels, easy to read.

    Cons:
    - Blind to size and shape.
    """

    name = "center_error"
    title = "Centre error of pairs"

    @property
    def statistic(self) -> CenterSum:
        return CenterSum(*self._pairs)


class AxisError(_OfPairs):
    r"""Mean error of the half axes of the matched ellipses.

    $\frac{1}{K} \sum_{\mathrm{pairs}} \tfrac{1}{2} (|\hat a - a| + |\hat b - b|)$

    axis=major or axis=minor takes one of them; relative=true divides each error by the true axis. Pairs as the
    score makes them.

    Undefined when there is no pair.

    Pros:
    - Separates size from position.

    Cons:
    - A true axis matched with the wrong one (near circles) hides the error.
    """

    name = "axis_error"
    title = "Axis error of pairs"

    axis: Literal["both", "major", "minor"] = "both"
    relative: bool = False

    @property
    def label(self) -> str:
        which = "" if self.axis == "both" else f", {self.axis}"
        return f"{super().label}{which}{', relative' if self.relative else ''}"

    @property
    def statistic(self) -> AxisSum:
        return AxisSum(*self._pairs, self.axis, self.relative)


class AngleError(_OfPairs):
    r"""Mean error of the angle of the matched ellipses, in degrees.

    $\frac{1}{K} \sum_{\mathrm{pairs}} \min(\delta, 180 - \delta)$

    δ is the difference of the angles modulo 180, so the error is between 0 and 90. A pair in which either ellipse
    is nearly a circle (b / a above round) has no angle: it is left out and counted. Pairs as the score makes them.

    Undefined when there is no pair with an angle.

    Pros:
    - Separates orientation from position and size.

    Cons:
    - Noisy for round ellipses; lower round to leave out more of them.
    """

    name = "angle_error"
    title = "Angle error of pairs"
    range = (0, 90)
    measured_in = "°"

    round: Annotated[float, Between(0, 1, open_low=True)] = 0.95

    @property
    def statistic(self) -> AngleSum:
        """Difference modulo 180°, none for near circles."""
        return AngleSum(*self._pairs, float(self.round))
