"""HOTA and its parts: how well objects are found, how well they keep their names, how well boxes fit."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

import numpy as np

from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Cells, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.tracking.base import TrackMetric, add_counts, defined_mean, in_order
from steelyard.tasks.tracking.statistics import ALPHAS, HOTA, LOSSES, HotaCells, LossCells, SequenceHota

CELLS, LOST = HotaCells(), LossCells()


class HotaMetric(TrackMetric):
    """A part of HOTA: one number for each threshold, and their mean. `alpha` asks for one threshold."""

    at = "alpha"
    reference = "trackeval.metrics.HOTA"
    ways: ClassVar[tuple[str, ...]] = ("class_mean", "det", "trackeval")

    alpha: float | None = None

    def check(self) -> None:
        """Check that the threshold is one of the 19."""
        TrackMetric.check(self)
        if self.alpha is not None and self._place() is None:
            raise InvalidSpec(
                f"metric '{self.name}': {self.alpha:g} is none of its thresholds",
                remedy="They go from 0.05 to 0.95 in steps of 0.05.",
            )

    def _place(self) -> int | None:
        places = np.flatnonzero(np.abs(ALPHAS - (self.alpha or 0.0)) < 1e-9)
        return int(places[0]) if len(places) else None

    @property
    def label(self) -> str:
        return self.full_title() if self.alpha is None else f"{self.full_title()} at {self.alpha:g}"

    def own_needs(self) -> tuple[Cells | Sum, ...]:
        return (CELLS,)

    def reduce(self, totals: TotalsView) -> Floats:
        return self.combine_classes(totals, totals[CELLS], self.one)

    def one(self, sums: Floats) -> Floats:
        """The value of one class from sums (rows, 7, 19)."""
        curve = self.curve(sums)
        place = self._place() if self.alpha is not None else None
        return curve[:, place] if place is not None else in_order(curve) / len(ALPHAS)

    def curve(self, sums: Floats) -> Floats:
        """The values by threshold: (rows, 19). No match at a threshold is 0 there."""
        parts: dict[str, Floats] = {name: sums[:, i] for i, name in enumerate(HOTA)}
        there = parts["tp"] + parts["fn"] + parts["fp"] > 0
        return np.where(there, self.at_threshold(parts), np.nan)

    @abstractmethod
    def at_threshold(self, s: dict[str, Floats]) -> Floats:
        """The value from the sums at a threshold."""


def share(numerator: Floats, denominator: Floats, nothing: float = 0.0) -> Floats:
    """A ratio that is `nothing` where there is nothing to divide by."""
    result = np.full(numerator.shape, nothing)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


class HotaShare(HotaMetric):
    """A sum over another at each threshold, 0 where the denominator is 0."""

    numerator: ClassVar[tuple[str, ...]]
    denominator: ClassVar[tuple[str, ...]]

    def at_threshold(self, s: dict[str, Floats]) -> Floats:
        return share(add_counts(s, self.numerator), add_counts(s, self.denominator))


class Hota(HotaMetric):
    r"""HOTA: higher order tracking accuracy, detection and association in one number.

    $\mathrm{HOTA} = \frac{1}{19} \sum_\alpha \sqrt{\mathrm{DetA}_\alpha \cdot \mathrm{AssA}_\alpha}$

    The mean over the thresholds 0.05 to 0.95 of the geometric mean of DetA and AssA. `hota@0.5` is one threshold.
    Frames are paired once for all thresholds, as the reference does. Sums run over all sequences of a class; classes
    are averaged, or summed first with over=det.

    Undefined when there is neither a truth nor a prediction.

    Pros:
    - Weighs finding objects and keeping their names alike.
    - Falls apart into parts that say what went wrong.

    Cons:
    - Crowded sequences rule the sums: see hota_sequence.
    - A track that is lost and found again costs much, however long it was followed before.
    """

    name = "hota"
    title = "HOTA"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return cls(), cls(alpha=0.5), cls(over="det")

    def at_threshold(self, s: dict[str, Floats]) -> Floats:
        return np.sqrt(share(s["tp"], s["tp"] + s["fn"] + s["fp"]) * share(s["assa"], s["tp"]))


class DetA(HotaShare):
    r"""DetA: detection accuracy, the share of right boxes among all true and predicted ones.

    $\mathrm{DetA}_\alpha = \mathrm{TP} / (\mathrm{TP} + \mathrm{FN} + \mathrm{FP})$

    Undefined when there is neither a truth nor a prediction.

    Pros:
    - What of HOTA is about finding objects.

    Cons:
    - Says nothing about names.
    """

    name = "deta"
    title = "DetA"
    numerator = ("tp",)
    denominator = ("tp", "fn", "fp")


class AssA(HotaShare):
    r"""AssA: association accuracy, how far the two tracks of a matched box are the same track.

    $\mathrm{AssA}_\alpha = \frac{1}{\mathrm{TP}} \sum_{c \in \mathrm{TP}}
    \frac{|c|}{|g_c| + |t_c| - |c|}$

    For each matched box: frames in which its two tracks are matched, over frames in which either is there.

    Undefined when there is neither a truth nor a prediction.

    Pros:
    - What of HOTA is about keeping names; assa_loss says what is lost to which mistake.

    Cons:
    - Only matched boxes are looked at: a tracker that finds little may keep its names well.
    """

    name = "assa"
    title = "AssA"
    numerator = ("assa",)
    denominator = ("tp",)


class DetRe(HotaShare):
    r"""DetRe: the share of true boxes that are found, over all thresholds.

    $\mathrm{DetRe}_\alpha = \mathrm{TP} / (\mathrm{TP} + \mathrm{FN})$

    Undefined when there is neither a truth nor a prediction.

    Pros:
    - Plain: how much is found.

    Cons:
    - Says nothing about false boxes.
    """

    name = "detre"
    title = "DetRe"
    numerator = ("tp",)
    denominator = ("tp", "fn")


class DetPr(HotaShare):
    r"""DetPr: the share of predicted boxes that are right, over all thresholds.

    $\mathrm{DetPr}_\alpha = \mathrm{TP} / (\mathrm{TP} + \mathrm{FP})$

    Undefined when there is neither a truth nor a prediction.

    Pros:
    - Plain: how far a box can be trusted.

    Cons:
    - Says nothing about misses.
    """

    name = "detpr"
    title = "DetPr"
    numerator = ("tp",)
    denominator = ("tp", "fp")


class AssRe(HotaShare):
    r"""AssRe: association recall, how much of a true track one predicted track follows.

    $\mathrm{AssRe}_\alpha = \frac{1}{\mathrm{TP}} \sum_{c \in \mathrm{TP}} |c| / |g_c|$

    Undefined when there is neither a truth nor a prediction.

    Pros:
    - Low where true tracks are split.

    Cons:
    - Says nothing about tracks that jump to another object.
    """

    name = "assre"
    title = "AssRe"
    numerator = ("assre",)
    denominator = ("tp",)


class AssPr(HotaShare):
    r"""AssPr: association precision, how much of a predicted track follows one true track.

    $\mathrm{AssPr}_\alpha = \frac{1}{\mathrm{TP}} \sum_{c \in \mathrm{TP}} |c| / |t_c|$

    Undefined when there is neither a truth nor a prediction.

    Pros:
    - Low where a track goes from one object to another.

    Cons:
    - Says nothing about true tracks that are split.
    """

    name = "asspr"
    title = "AssPr"
    numerator = ("asspr",)
    denominator = ("tp",)


class LocA(HotaMetric):
    r"""LocA: localisation accuracy, the mean similarity of matched boxes.

    $\mathrm{LocA}_\alpha = \frac{1}{\mathrm{TP}} \sum_{c \in \mathrm{TP}} S(c)$

    A threshold at which nothing is matched counts as 1, as in the reference.

    Undefined when nothing is matched at any threshold.

    Pros:
    - Plain: how well boxes fit where they fit at all.

    Cons:
    - Finding fewer objects may raise it.
    """

    name = "loca"
    title = "LocA"

    def curve(self, sums: Floats) -> Floats:
        """Undefined where no threshold has a match."""
        curve = HotaMetric.curve(self, sums)
        return np.where((sums[:, 0] > 0).any(axis=1, keepdims=True), curve, np.nan)

    def printed_value(self, sums: Floats) -> Floats:
        """1 where nothing is matched."""
        return np.ones(len(sums))

    def at_threshold(self, s: dict[str, Floats]) -> Floats:
        return share(s["similarity"], s["tp"], 1.0)


class SequenceMean(TrackMetric):
    r"""HOTA of each sequence, and their mean: every sequence counts the same.

    $\frac{1}{n} \sum_s \mathrm{HOTA}_s$

    In the sums of HOTA one crowded sequence may rule; here it is one of many. Sequences without a truth and a
    prediction of the class are left out.

    Undefined when there is neither a truth nor a prediction.

    Pros:
    - Says how a tracker does on a video like these, not on a box like these.

    Cons:
    - A sequence of few boxes weighs as much as one of many.
    """

    name = "hota_sequence"
    title = "HOTA, mean over sequences"

    def own_needs(self) -> tuple[Cells | Sum, ...]:
        return (SequenceHota(),)

    def reduce(self, totals: TotalsView) -> Floats:
        return self.combine_classes(totals, totals[SequenceHota()], lambda sums: ratio(sums[:, 0], sums[:, 1]))


class AssociationLoss(TrackMetric):
    r"""What AssA loses to one kind of mistake, in points of AssA: the four kinds and AssA add up to 1.

    $\frac{1}{19} \sum_\alpha \frac{1}{\mathrm{TP}} \sum_{c \in \mathrm{TP}}
    \frac{\mathrm{part}(c)}{|g_c| + |t_c| - |c|}$

    Of the frames in which the tracks of a matched box are not matched with each other: split, where the true track is
    matched under other names; miss, where it is not found; merge, where the predicted track is on another object;
    extra, where it is on none. Thresholds without a match are left out.

    Undefined when nothing is matched at any threshold.

    Pros:
    - Says which mistake costs association most, exactly.

    Cons:
    - Repairing one kind would change the others too.
    """

    name = "assa_loss"
    title = "AssA lost"
    better = "lower"
    reaches_best = True

    part: Literal["split", "miss", "merge", "extra"] = "split"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return tuple(cls(part=part) for part in ("split", "miss", "merge", "extra"))

    @property
    def label(self) -> str:
        return f"{self.title} to {self.part}"

    def own_needs(self) -> tuple[Cells | Sum, ...]:
        return LOST, CELLS

    def reduce(self, totals: TotalsView) -> Floats:
        place = LOSSES.index(self.part)
        both = np.stack([totals[LOST][:, :, place], totals[CELLS][:, :, 0]], axis=2)
        return self.combine_classes(totals, both, lambda sums: defined_mean(ratio(sums[:, 0], sums[:, 1])))


HOTA_METRICS: tuple[type[Metric], ...] = (
    Hota, DetA, AssA, DetRe, DetPr, AssRe, AssPr, LocA, SequenceMean, AssociationLoss,
)  # fmt: skip
