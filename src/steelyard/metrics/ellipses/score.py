"""The scores: how near the detections are to the truths, on a scale from 0 to 1."""

from __future__ import annotations

from abc import abstractmethod
from typing import Literal

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.metric import one_of
from steelyard.core.pairs import Array
from steelyard.core.stats import Stats
from steelyard.core.weights import Floats, Weights, ratio
from steelyard.metrics.ellipses.matched import Matches, Paired

MOST_WORK = 2e10  # about one image of 2,700 truths and detections: some seconds of optimal pairing


def closeness(distance: Array, t: float) -> Array:
    """f(d) = 1 up to the threshold, t / d beyond it. No division by zero."""
    return np.divide(t, distance, out=np.ones(len(distance)), where=distance > t)


@frozen
class _Scored(Paired):
    """A mean over images of the pairs' closeness, divided by a number of ellipses."""

    def numerator(self, stats: Stats, matching: str = "") -> Array:
        """Sum of f over the pairs of each image."""

        def make() -> Array:
            found: Matches = self.matches(stats, matching)
            values = closeness(found.distance, self.threshold)
            return np.bincount(found.owner, weights=values, minlength=len(stats))

        return stats.per_unit((type(self).name, self, matching), make)

    @abstractmethod
    def by_image(self, stats: Stats, matching: str = "") -> Array:
        """The value of each image, 0 where it has none."""

    @abstractmethod
    def counted(self, stats: Stats) -> Array:
        """1 for an image that has a value."""

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over images."""
        return ratio(weights @ self.by_image(stats), weights @ self.counted(stats))

    @property
    def label(self) -> str:
        """Name the distance and its threshold."""
        how = "" if self.matching == "greedy" else ", optimal pairs"
        return f"{self.title} ({self.distance}, t = {self.threshold:g}{how})"

    def notes(self, stats: Stats, weights: Weights) -> tuple[str, ...]:
        """Say where greedy and optimal pairing differ, and by how much."""
        other = "optimal" if self.matching == "greedy" else "greedy"
        differ, values = self._otherwise(stats, other).T
        if _work(stats) > MOST_WORK:
            return ("Greedy and optimal pairing were not compared: there are too many ellipses in one image.",)
        used = weights @ np.ones(len(stats))
        count = float((weights @ np.ascontiguousarray(differ))[0])
        if not count:
            return ()
        value = float(ratio(weights @ np.ascontiguousarray(values), weights @ self.counted(stats))[0])
        own = float(self.reduce(stats, weights)[0])
        return (
            f"Greedy and optimal pairing differ in {count:,.0f} of {float(used[0]):,.0f} images: "
            f"{own:.4f} with matching={self.matching}, {value:.4f} with matching={other}.",
        )

    def _otherwise(self, stats: Stats, other: str) -> Array:
        """By image: whether the other way of pairing differs, and the value it gives; 0 where that is too much."""

        def make() -> Array:
            if _work(stats) > MOST_WORK:
                return np.zeros((len(stats), 2))
            mine, theirs = (
                np.bincount(found.owner, weights=found.distance, minlength=len(stats))
                for found in (self.matches(stats), self.matches(stats, other))
            )
            differ = np.abs(mine - theirs) > 1e-9 * np.maximum(mine, theirs)
            return np.stack([differ.astype(float), self.by_image(stats, other)], axis=1)

        return stats.per_unit((type(self).name, self, "otherwise"), make)


def _work(stats: Stats) -> float:
    """What optimal pairing costs, about."""
    truths, found = stats["truths"], stats["detections"]
    return float((truths * found * np.minimum(truths, found)).sum())


@frozen
class Score(_Scored):
    r"""Ellipse score: how near the detections are, with a share lost for every one too few or too many.

    $S = \frac{1}{N} \sum_{\mathrm{images}} \frac{\sum_{\mathrm{pairs}} f(d)}{\max(n, m)}, \quad f(d) = \min(1, t / d)$

    n truths and m detections are paired by smallest distance, each used once, until one side is used up. A distance
    up to t, the precision of the labelling, counts as right. An image without an ellipse on either side scores 1
    (`empty=skip` leaves it out: its fraction is 0 / 0), with ellipses on one side only 0. Settings: distance (param,
    center, wasserstein, iou, hausdorff, probiou), t (5 pixels; 0.2 for iou, 0.5 for probiou), matching (greedy,
    optimal), and for param the weights of xc, yc, theta, a, b and whether to normalise them by their sum.

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

    empty: Literal["one", "skip"] = "one"

    def check(self) -> None:
        """Check what to do with an image without an ellipse."""
        super().check()
        one_of(self, "empty", "one", "skip")

    @classmethod
    def examples(cls) -> tuple[Score, ...]:
        """The one of the specification, and one that is smooth also for circles."""
        return cls(), cls(distance="wasserstein")

    def by_image(self, stats: Stats, matching: str = "") -> Array:
        """Numerator over max(n, m); 1 for an empty image, or 0 where it is left out."""

        def make() -> Array:
            most = np.maximum(stats["truths"], stats["detections"])
            empty: Array = np.full(len(stats), 1.0 if self.empty == "one" else 0.0)
            np.divide(self.numerator(stats, matching), most, out=empty, where=most > 0)
            return empty

        return stats.per_unit(("by_image", self, matching), make)

    def counted(self, stats: Stats) -> Array:
        """Every image, or those with an ellipse."""
        if self.empty == "one":
            return stats["images"]

        def make() -> Array:
            return np.asarray((stats["truths"] + stats["detections"] > 0) * stats["images"])

        return stats.per_unit("with_any", make)

    def left_out(self, stats: Stats, weights: Weights) -> tuple[float, str]:
        """Images without an ellipse, where they do not count."""
        if self.empty == "one":
            return super().left_out(stats, weights)
        some = self.counted(stats)
        return float((weights @ (stats["images"] - some))[0]), "images without an ellipse"


@frozen
class TruthScore(_Scored):
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

    def by_image(self, stats: Stats, matching: str = "") -> Array:
        """Numerator over n."""

        def make() -> Array:
            truths = stats["truths"]
            return np.divide(self.numerator(stats, matching), truths, out=np.zeros(len(stats)), where=truths > 0)

        return stats.per_unit(("by_image", self, matching), make)

    def counted(self, stats: Stats) -> Array:
        """Images that have a truth."""
        return stats.per_unit("with_truth", lambda: (stats["truths"] > 0).astype(float))

    def left_out(self, stats: Stats, weights: Weights) -> tuple[float, str]:
        """Images without truth."""
        return float((weights @ (stats["truths"] == 0).astype(float))[0]), "images without truth"
