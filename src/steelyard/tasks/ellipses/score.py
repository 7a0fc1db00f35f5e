"""The scores: how near the detections are to the truths, on a scale from 0 to 1."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field
from typing import Literal

from steelyard.align.sets import SetPairs
from steelyard.core.metric import Metric
from steelyard.core.plan import UNITS
from steelyard.core.state import State, TotalsView
from steelyard.core.statistic import Requirement, SharedCache
from steelyard.core.weights import Floats, ratio
from steelyard.match.ellipses import WEIGHTS, OwnDistance
from steelyard.tasks.ellipses.matched import (
    DistanceName,
    Matches,
    Pairing,
    check_pairing,
    matches,
    pairing,
    take_own_distance,
    usual_threshold,
)
from steelyard.tasks.ellipses.sums import MOST_WORK, ImageScore, ImageSum, OtherPairing

IMAGES = ImageSum("images")


class Scored(Metric):
    """A mean over images of the pairs' closeness, divided by a number of ellipses. Settings say how pairs are made."""

    range = (0.0, 1.0)

    distance: DistanceName | OwnDistance = "param"
    t: float | None = field(default=None, metadata={"aliases": ("tresh_dist", "thresh_dist")})
    matching: Literal["greedy", "optimal"] = "greedy"
    weights: tuple[float, ...] = WEIGHTS
    normalise: bool = False

    def __post_init__(self) -> None:
        take_own_distance(self)

    def check(self) -> None:
        check_pairing(self)

    @property
    def threshold(self) -> float:
        """The threshold, or the distance's usual one."""
        return usual_threshold(self, self.distance) if self.t is None else float(self.t)

    @property
    def pairing(self) -> Pairing:
        """How pairs are made, as statistics say it."""
        return pairing(self.distance, self.matching, self.weights, self.normalise)

    def matches(self, pairs: SetPairs, cache: SharedCache) -> Matches:
        """The pairs that this metric is about."""
        return matches(pairs, cache, *self.pairing)

    def by_unit(self, pairs: SetPairs, cache: SharedCache) -> Floats:
        """The score of each image alone; nan where it has none."""
        return State.of(pairs, (self.by_image, self.image_count), cache).totals(UNITS).of(self)

    @property
    @abstractmethod
    def by_image(self) -> ImageScore:
        """The value of each image, 0 where it has none."""

    @property
    @abstractmethod
    def image_count(self) -> ImageSum:
        """The images that have a value."""

    @property
    def _otherwise(self) -> OtherPairing:
        own = self.by_image
        return OtherPairing(*self.pairing, own.t, own.over, own.empty)

    def requirements(self) -> tuple[Requirement, ...]:
        return self.by_image, self.image_count, IMAGES, self._otherwise

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.by_image], totals[self.image_count])

    @property
    def label(self) -> str:
        matching = "" if self.matching == "greedy" else ", optimal pairs"
        return f"{self.title} ({self.distance}, t = {self.threshold:g}{matching})"

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Say where greedy and optimal pairing differ, and by how much."""
        differ, values, work, left = totals[self._otherwise].T
        if left[0] or work[0] > MOST_WORK:
            return ("Greedy and optimal pairing were not compared: there are too many ellipses in one image.",)
        if not differ[0]:
            return ()
        other = "optimal" if self.matching == "greedy" else "greedy"
        value, own = float(ratio(values, totals[self.image_count])[0]), float(self.reduce(totals)[0])
        return (
            f"Greedy and optimal pairing differ in {differ[0]:,.0f} of {totals[IMAGES][0]:,.0f} images: "
            f"{own:.4f} with matching={self.matching}, {value:.4f} with matching={other}.",
        )


class Score(Scored):
    r"""Ellipse score: how near the detections are, reduced for each missing and each extra detection.

    $S = \frac{1}{N} \sum_{\mathrm{images}} \frac{\sum_{\mathrm{pairs}} f(d)}{\max(n, m)}, \quad f(d) = \min(1, t / d)$

    n truths and m detections are paired by smallest distance, each used once, until one side is used up. A distance
    up to t, the precision of the labelling, counts as right. An image without an ellipse on either side scores 1
    (`empty=skip` leaves it out: its fraction is 0 / 0), with ellipses on one side only 0. Settings: distance (param,
    center, wasserstein, iou, hausdorff, probiou), t (5 pixels; 0.2 for iou, 0.5 for probiou), matching (greedy,
    optimal), and for param the weights of xc, yc, theta, a, b and whether to normalise them by their sum. In Python the
    distance may be a function of two ellipses.

    Undefined when there is no image.

    Pros:
    - One number for position, size, orientation, misses and false detections.
    - A near miss counts for something.

    Cons:
    - t and the distance decide what it means: compare only scores with the same.
    - t / d falls slowly: a detection ten thresholds off still earns 0.1.
    - Greedy pairs are not always the best ones; the report says when they are not.
    """

    name = "score"
    title = "Ellipse score"
    aliases = ("metrics_elps",)

    empty: Literal["one", "skip"] = "one"

    @classmethod
    def examples(cls) -> tuple[Score, ...]:
        """The one of the specification, and one that is smooth also for circles."""
        return cls(), cls(distance="wasserstein")

    @property
    def by_image(self) -> ImageScore:
        """Over max(n, m); 1 for an empty image, or 0 where it is left out."""
        return ImageScore(*self.pairing, self.threshold, "most", 1.0 if self.empty == "one" else 0.0)

    @property
    def image_count(self) -> ImageSum:
        return IMAGES if self.empty == "one" else ImageSum("with_any")

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        """Images without an ellipse, where they do not count."""
        if self.empty == "one":
            return 0, ""
        return float(totals[IMAGES][0] - totals[self.image_count][0]), "images without an ellipse"


class TruthScore(Scored):
    r"""Ellipse score over truths only: how near each true ellipse was found; false detections cost nothing.

    $S_{\mathrm{truths}} = \frac{1}{N} \sum_{\mathrm{images}} \frac{\sum_{\mathrm{pairs}} \min(1, t / d)}{n}$

    As the score, divided by the number of truths n. An image without truth has nothing to be found: it is left out
    and counted.

    Undefined when no image has a truth.

    Pros:
    - Tells misses and bad fits from false detections, beside the score.

    Cons:
    - A detector that fires everywhere is not punished.
    """

    name = "score_truths"
    title = "Ellipse score over truths"

    @property
    def by_image(self) -> ImageScore:
        return ImageScore(*self.pairing, self.threshold, "truths", 0.0)

    @property
    def image_count(self) -> ImageSum:
        return ImageSum("with_truth")

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        """Images without truth."""
        return float(totals[IMAGES][0] - totals[self.image_count][0]), "images without truth"
