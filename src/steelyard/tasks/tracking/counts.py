"""Counts of mistakes and of tracks, and the rates that do not grow with the data."""

from __future__ import annotations

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric, family
from steelyard.core.state import TotalsView
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.tracking.base import in_order
from steelyard.tasks.tracking.clear import INFINITY, ClearMetric, CountedMetric, CountRatio, S, named
from steelyard.tasks.tracking.statistics import SEQUENCES


@frozen
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
            value = self.combined(totals, sums, lambda one: self.of(named(one)))
        else:
            value = self.of(named(in_order(np.moveaxis(sums, 1, -1))))
        return np.where(totals[SEQUENCES][:, 0] > 0, value, np.nan)


@frozen
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


@frozen
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


@frozen
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


@frozen
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


def _tracked(title: str, short: str, share: str, rate: str) -> dict[str, str]:
    """The facts of a count of tracks by the share of their frames that are matched."""
    return {"name": short.lower(), "title": title, "short": short, "share": share, "rate": rate, "better": "none"}


_TRACKS = family(
    Total,
    "tracks",
    _TRACKED,
    most=_tracked("Mostly tracked", "MT", "more than 80 %", "mtr"),
    some=_tracked("Partly tracked", "PT", "20 % to 80 %", "mtr"),
    few=_tracked("Mostly lost", "ML", "less than 20 %", "mlr"),
)


@frozen
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


@frozen
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


@frozen
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


@frozen
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
        return self.combined(totals, totals[self.cells], lambda sums: ratio(named(sums)["fp"], frames))


COUNT_METRICS: tuple[type[Metric], ...] = (
    Switches, Fragments, FalsePositives, Misses, *_TRACKS,
    MostlyTrackedRate, MostlyLostRate, SwitchesPerTrack, FalsePerFrame,
)  # fmt: skip
