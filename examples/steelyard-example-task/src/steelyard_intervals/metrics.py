"""What is measured of events, and the metrics that it makes."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from steelyard.extend import (
    Between,
    Floats,
    Metric,
    Requirement,
    SetPairs,
    SharedCache,
    Sum,
    SumBlock,
    TotalsView,
    ratio,
)
from steelyard_intervals.data import Array, covered, events, matched


class Seconds(Sum):
    """Seconds of each recording: `both` truth and prediction, and `either` of them."""

    name = "intervals.seconds"

    of: str

    def measure(self, pairs: SetPairs, cache: SharedCache) -> SumBlock:
        """The union is that of all events; what both cover is the rest of the two sums."""
        columns = cache.once("seconds", lambda: self._columns(pairs))
        return SumBlock(columns[self.of])

    @staticmethod
    def _columns(pairs: SetPairs) -> dict[str, Array]:
        both, either = np.zeros(len(pairs.units)), np.zeros(len(pairs.units))
        for unit, (truth, predicted) in enumerate(events(pairs)):
            every = np.concatenate([truth, predicted])
            either[unit] = covered(every[np.lexsort((every[:, 1], every[:, 0]))])
            both[unit] = max(0.0, covered(truth) + covered(predicted) - either[unit])
        return {"both": both, "either": either}


class Matched(Sum):
    """Of each recording: matched, true and predicted events, and how far the starts of matched ones are apart."""

    name = "intervals.matched"

    iou: float = 0.5

    def measure(self, pairs: SetPairs, cache: SharedCache) -> SumBlock:
        """Match recording by recording."""
        rows = []
        for truth, predicted in cache.once("events", lambda: events(pairs)):
            both = matched(truth, predicted, self.iou)
            apart = sum(abs(truth[i, 0] - predicted[j, 0]) for i, j in sorted(both))
            rows.append((len(both), len(truth), len(predicted), apart))
        return SumBlock(np.array(rows, dtype=np.float64).reshape(-1, 4))


class TimeIou(Metric):
    r"""Time IoU: seconds that truth and prediction share, of those that either covers.

    $\mathrm{IoU} = \frac{\sum_r |T_r \cap P_r|}{\sum_r |T_r \cup P_r|}$

    Undefined when no event is true or predicted.

    Pros:
    - Needs no threshold.

    Cons:
    - Long events dominate; how many events there are does not matter.
    """

    name, title, range = "time_iou", "Time IoU", (0.0, 1.0)

    def requirements(self) -> tuple[Requirement, ...]:
        """Both sums of seconds."""
        return Seconds("both"), Seconds("either")

    def reduce(self, totals: TotalsView) -> Floats:
        """Their ratio."""
        return ratio(totals[Seconds("both")], totals[Seconds("either")])


class _AtOverlap(Metric):
    at = "iou"
    range = (0.0, 1.0)
    iou: Annotated[float, Between(0.0, 1.0, open_low=True)] = 0.5

    def requirements(self) -> tuple[Requirement, ...]:
        """The matching at its overlap."""
        return (Matched(self.iou),)


class Precision(_AtOverlap):
    r"""Precision: the share of predicted events that are true.

    $P = \frac{\mathrm{TP}}{\mathrm{predicted}}$

    Undefined when no event is predicted.

    Pros:
    - Says how far a prediction can be trusted.

    Cons:
    - Blind to events that are missed.
    """

    name, title = "precision", "Precision"

    def reduce(self, totals: TotalsView) -> Floats:
        """Pairs of predicted events."""
        sums = totals[Matched(self.iou)]
        return ratio(sums[:, 0], sums[:, 2])


class Recall(_AtOverlap):
    r"""Recall: the share of true events that are found.

    $R = \frac{\mathrm{TP}}{\mathrm{true}}$

    Undefined when no event is true.

    Pros:
    - Says what is missed.

    Cons:
    - Blind to events that are made up.
    """

    name, title = "recall", "Recall"

    def reduce(self, totals: TotalsView) -> Floats:
        """Pairs of true events."""
        sums = totals[Matched(self.iou)]
        return ratio(sums[:, 0], sums[:, 1])


class OnsetError(_AtOverlap):
    r"""Onset error: how far the starts of matched events are apart, on average.

    $E = \frac{1}{\mathrm{TP}} \sum_i |\hat s_i - s_i|$

    Undefined when no event is matched.

    Pros:
    - In seconds.

    Cons:
    - Only of events that are found: an easy recording with few pairs can look exact.
    """

    name, title = "onset_error", "Onset error"
    better, range, measured_in = "lower", (0.0, float("inf")), "s"

    def reduce(self, totals: TotalsView) -> Floats:
        """The sum of distances by pairs."""
        sums = totals[Matched(self.iou)]
        return ratio(sums[:, 3], sums[:, 0])


METRICS = (TimeIou, Precision, Recall, OnsetError)
