"""CLEAR and Identity: how accurate tracks are at one threshold of similarity, counts of mistakes, and their rates."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

import numpy as np

from steelyard.core.metric import Between, Metric, family
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Cells, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.tracking.base import TrackMetric, add_counts, in_order
from steelyard.tasks.tracking.statistics import CLEAR, IDENTITY, SEQUENCES, ClearCells, SequenceMotaCells

INFINITY = float("inf")
NAMES = (*CLEAR, *IDENTITY)
S = dict[str, Floats]


class CountedMetric(TrackMetric):
    """A metric of the counts at a threshold of similarity."""

    iou: Annotated[float, Between(0, 1, open_low=True)] = 0.5

    @property
    def cells(self) -> ClearCells:
        """The counts."""
        return ClearCells(float(self.iou))

    def own_needs(self) -> tuple[Cells | Sum, ...]:
        return (self.cells,)


class ClearMetric(CountedMetric):
    """A function of the counts of each class."""

    reference = "trackeval.metrics.CLEAR"
    ways: ClassVar[tuple[str, ...]] = ("class_mean", "det", "trackeval")

    def reduce(self, totals: TotalsView) -> Floats:
        return self.combine_classes(totals, totals[self.cells], lambda sums: self.of(counts_by_name(sums)))

    @abstractmethod
    def of(self, s: S) -> Floats:
        """The value from counts."""


class CountRatio(ClearMetric):
    """A sum of counts over another."""

    numerator: ClassVar[tuple[str, ...]]
    denominator: ClassVar[tuple[str, ...]]

    def of(self, s: S) -> Floats:
        """Undefined where the denominator is 0."""
        return ratio(add_counts(s, self.numerator), add_counts(s, self.denominator))


def counts_by_name(sums: Floats) -> S:
    """Counts (rows, 12) by name."""
    return {name: sums[:, i] for i, name in enumerate(NAMES)}


class ByTruth(ClearMetric):
    """Matches less mistakes over true boxes. TrackEval divides by 1 where a class has none."""

    range = (-INFINITY, 1)

    def printed_value(self, sums: Floats) -> Floats:
        return -counts_by_name(sums)["fp"]


class Mota(ByTruth):
    r"""MOTA: multiple object tracking accuracy, 1 less all mistakes over all true boxes.

    $\mathrm{MOTA} = (\mathrm{TP} - \mathrm{FP} - \mathrm{IDSW}) / (\mathrm{TP} + \mathrm{FN})$

    A pair of the last frame goes on where it still fits; the others are paired by similarity. A switch is a true track
    that was matched with another predicted one before. A class without truth is left out of the mean over classes;
    over=trackeval counts it as TrackEval does, as minus its false positives.

    Undefined when there is no truth.

    Pros:
    - Long in use, so that older results can be compared.

    Cons:
    - Detection rules it: a switch costs one box, however long the wrong name is kept.
    - Has no lower end.
    """

    name = "mota"
    title = "MOTA"

    def of(self, s: S) -> Floats:
        return ratio(s["tp"] - s["fp"] - s["idsw"], s["tp"] + s["fn"])


class Moda(ByTruth):
    r"""MODA: MOTA without switches.

    $\mathrm{MODA} = (\mathrm{TP} - \mathrm{FP}) / (\mathrm{TP} + \mathrm{FN})$

    Undefined when there is no truth.

    Pros:
    - The difference to MOTA is what switches cost there.

    Cons:
    - Has no lower end.
    """

    name = "moda"
    title = "MODA"

    def of(self, s: S) -> Floats:
        return ratio(s["tp"] - s["fp"], s["tp"] + s["fn"])


class Smota(ByTruth):
    r"""sMOTA: MOTA in which a match counts as much as it fits.

    $\mathrm{sMOTA} = (\sum_{\mathrm{TP}} S - \mathrm{FP} - \mathrm{IDSW}) / (\mathrm{TP} + \mathrm{FN})$

    The sMOTSA of segmentation, where S is the IoU of masks.

    Undefined when there is no truth.

    Pros:
    - Rewards boxes and masks that fit better.

    Cons:
    - Has no lower end.
    """

    name = "smota"
    title = "sMOTA"

    def of(self, s: S) -> Floats:
        return ratio(s["similarity"] - s["fp"] - s["idsw"], s["tp"] + s["fn"])


class Motp(CountRatio):
    r"""MOTP: the mean similarity of matched boxes.

    $\mathrm{MOTP} = \frac{1}{\mathrm{TP}} \sum_{\mathrm{TP}} S$

    A similarity, so higher is better; other tools print the distance 1 - S under this name.

    Undefined when nothing is matched.

    Pros:
    - Plain: how well boxes fit.

    Cons:
    - Finding fewer objects may raise it.
    """

    name = "motp"
    title = "MOTP"
    numerator = ("similarity",)
    denominator = ("tp",)


class Recall(CountRatio):
    r"""Recall: the share of true boxes that are matched.

    $R = \mathrm{TP} / (\mathrm{TP} + \mathrm{FN})$

    Undefined when there is no truth.

    Pros:
    - Plain: how much is found.

    Cons:
    - Says nothing about false boxes and names.
    """

    name = "recall"
    title = "Recall"
    numerator = ("tp",)
    denominator = ("tp", "fn")


class Precision(CountRatio):
    r"""Precision: the share of predicted boxes that are matched.

    $P = \mathrm{TP} / (\mathrm{TP} + \mathrm{FP})$

    Undefined when there is no prediction.

    Pros:
    - Plain: how far a box can be trusted.

    Cons:
    - Says nothing about misses and names.
    """

    name = "precision"
    title = "Precision"
    numerator = ("tp",)
    denominator = ("tp", "fp")


class IdF1(ClearMetric):
    r"""IDF1: the share of boxes that have the right name, where each true track has one predicted track for good.

    $\mathrm{IDF}_1 = \mathrm{IDTP} / (\mathrm{IDTP} + \tfrac12 \mathrm{IDFN} + \tfrac12 \mathrm{IDFP})$

    True and predicted tracks are paired once for the whole sequence so that the most frames fit.

    Undefined when there is neither a truth nor a prediction.

    Pros:
    - Names rule it: for those who must know who is who.

    Cons:
    - What the second longest piece of a track does is worth nothing.
    """

    name = "idf1"
    title = "IDF1"
    reference = "trackeval.metrics.Identity"

    def of(self, s: S) -> Floats:
        return ratio(s["idtp"], s["idtp"] + 0.5 * s["idfn"] + 0.5 * s["idfp"])


class IdPrecision(CountRatio):
    r"""IDP: the share of predicted boxes that have the right name.

    $\mathrm{IDP} = \mathrm{IDTP} / (\mathrm{IDTP} + \mathrm{IDFP})$

    Undefined when there is no prediction.

    Pros:
    - How far a name can be trusted.

    Cons:
    - Says nothing about misses.
    """

    name = "idp"
    title = "IDP"
    reference = "trackeval.metrics.Identity"
    numerator = ("idtp",)
    denominator = ("idtp", "idfp")


class IdRecall(CountRatio):
    r"""IDR: the share of true boxes that have the right name.

    $\mathrm{IDR} = \mathrm{IDTP} / (\mathrm{IDTP} + \mathrm{IDFN})$

    Undefined when there is no truth.

    Pros:
    - How much is found under one name.

    Cons:
    - Says nothing about false boxes.
    """

    name = "idr"
    title = "IDR"
    reference = "trackeval.metrics.Identity"
    numerator = ("idtp",)
    denominator = ("idtp", "idfn")


class SequenceMota(CountedMetric):
    r"""MOTA of each sequence, and their mean: every sequence counts the same.

    $\frac{1}{n} \sum_s \mathrm{MOTA}_s$

    Sequences without a truth of the class are left out.

    Undefined when there is no truth.

    Pros:
    - Says how a tracker does on a video like these, not on a box like these.

    Cons:
    - A sequence of few boxes weighs as much as one of many.
    """

    name = "mota_sequence"
    title = "MOTA, mean over sequences"
    range = (-INFINITY, 1)

    def own_needs(self) -> tuple[Cells | Sum, ...]:
        return (SequenceMotaCells(float(self.iou)),)

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[SequenceMotaCells(float(self.iou))]
        return self.combine_classes(totals, sums, lambda one: ratio(one[:, 0], one[:, 1]))


CLEAR_METRICS: tuple[type[Metric], ...] = (
    Mota, Moda, Smota, Motp, Recall, Precision, SequenceMota, IdF1, IdPrecision, IdRecall,
)  # fmt: skip


class Total(ClearMetric):
    """A count over all sequences and classes. It has no interval: how many sequences a draw has is left to chance."""

    better = "lower"
    range = (0, INFINITY)
    total = True
    ways = ("class_mean", "det")

    def of(self, s: S) -> Floats:
        return s[self.name]

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[self.cells]
        if self.only is not None:
            value = self.combine_classes(totals, sums, lambda one: self.of(counts_by_name(one)))
        else:
            value = self.of(counts_by_name(in_order(np.moveaxis(sums, 1, -1))))
        return np.where(totals[SEQUENCES][:, 0] > 0, value, np.nan)


class Switches(Total):
    r"""IDSW: how often a true track is matched with another predicted track than before.

    $\mathrm{IDSW} = \sum_s \mathrm{IDSW}_s$

    Undefined when there is no sequence.

    Pros:
    - Each can be looked at: the listing names sequence, frame and tracks.

    Cons:
    - Grows with the data; idsw_per_track does not.
    """

    name = "idsw"
    title = "Switches"


class Fragments(Total):
    r"""Fragments: how often a true track is matched again after frames without a match.

    $\mathrm{Frag} = \sum_s \mathrm{Frag}_s$

    A gap of the true track itself counts too, as in the reference.

    Undefined when there is no sequence.

    Pros:
    - Counts breaks also where the name stays.

    Cons:
    - Grows with the data.
    """

    name = "fragments"
    title = "Fragments"
    reaches_best = False


class FalsePositives(Total):
    r"""FP: predicted boxes that fit no true one.

    $\mathrm{FP} = \sum_s \mathrm{FP}_s$

    Undefined when there is no sequence.

    Pros:
    - Plain.

    Cons:
    - Grows with the data; fpf does not.
    """

    name = "fp"
    title = "False positives"


class Misses(Total):
    r"""FN: true boxes that no predicted one fits.

    $\mathrm{FN} = \sum_s \mathrm{FN}_s$

    Undefined when there is no sequence.

    Pros:
    - Plain.

    Cons:
    - Grows with the data; recall does not.
    """

    name = "fn"
    title = "Misses"


_TRACKED = r"""{short}: true tracks that are matched in {share} of their frames.

    $\mathrm{{short}} = \sum_s \mathrm{{short}}_s$

    The share is of the frames in which the true track is there, whatever the names.

    Undefined when there is no sequence.

    Pros:
    - Counts objects, not boxes.

    Cons:
    - Grows with the data; {rate} does not.
    """


def _track_count_metadata(title: str, short: str, share: str, rate: str) -> dict[str, str]:
    """The facts of a count of tracks by the share of their frames that are matched."""
    return {"name": short.lower(), "title": title, "short": short, "share": share, "rate": rate, "better": "none"}


_TRACKS = family(
    Total,
    "tracks",
    _TRACKED,
    most=_track_count_metadata("Mostly tracked", "MT", "more than 80 %", "mtr"),
    some=_track_count_metadata("Partly tracked", "PT", "20 % to 80 %", "mtr"),
    few=_track_count_metadata("Mostly lost", "ML", "less than 20 %", "mlr"),
)


class MostlyTrackedRate(CountRatio):
    r"""The share of true tracks that are matched in more than 80 % of their frames.

    $\mathrm{MTR} = \mathrm{MT} / (\mathrm{MT} + \mathrm{PT} + \mathrm{ML})$

    Undefined when there is no truth.

    Pros:
    - Counts objects, not boxes.

    Cons:
    - A track at 80 % and one at 81 % differ by all.
    """

    name = "mtr"
    title = "Mostly tracked, share"
    numerator = ("mt",)
    denominator = ("mt", "pt", "ml")


class MostlyLostRate(CountRatio):
    r"""The share of true tracks that are matched in less than 20 % of their frames.

    $\mathrm{MLR} = \mathrm{ML} / (\mathrm{MT} + \mathrm{PT} + \mathrm{ML})$

    Undefined when there is no truth.

    Pros:
    - Counts objects, not boxes.

    Cons:
    - A track at 20 % and one at 19 % differ by all.
    """

    name = "mlr"
    title = "Mostly lost, share"
    better = "lower"
    numerator = ("ml",)
    denominator = ("mt", "pt", "ml")


class SwitchesPerTrack(CountRatio):
    r"""Switches per true track.

    $\mathrm{IDSW} / (\mathrm{MT} + \mathrm{PT} + \mathrm{ML})$

    Undefined when there is no truth.

    Pros:
    - Does not grow with the data, and so has an interval.

    Cons:
    - A long track has more chances to switch.
    """

    name = "idsw_per_track"
    title = "Switches per track"
    better = "lower"
    range = (0, INFINITY)
    numerator = ("idsw",)
    denominator = ("mt", "pt", "ml")


class FalsePerFrame(CountedMetric):
    r"""False positives per frame.

    $\mathrm{FPF} = \mathrm{FP} / \mathrm{frames}$

    Frames are those of whole sequences, with or without objects.

    Undefined when there is no frame.

    Pros:
    - Does not grow with the data, and so has an interval.

    Cons:
    - Says nothing about misses.
    """

    name = "fpf"
    title = "False positives per frame"
    better = "lower"
    range = (0, INFINITY)
    reference = "trackeval.metrics.CLEAR"

    def reduce(self, totals: TotalsView) -> Floats:
        """Over all frames; of several classes the mean."""
        frames = totals[SEQUENCES][:, 1]
        return self.combine_classes(totals, totals[self.cells], lambda sums: ratio(counts_by_name(sums)["fp"], frames))


COUNT_METRICS: tuple[type[Metric], ...] = (
    Switches, Fragments, FalsePositives, Misses, *_TRACKS,
    MostlyTrackedRate, MostlyLostRate, SwitchesPerTrack, FalsePerFrame,
)  # fmt: skip
