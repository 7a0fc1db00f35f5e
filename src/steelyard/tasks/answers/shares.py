"""Metrics that are one column of a sum over another: the bases of numbers, choices and verdicts."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from steelyard.core.metric import Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, Sum
from steelyard.core.weights import Floats, ratio


class OfSum(Metric):
    """Base of what is one column of a sum over another."""

    range = (0.0, 1.0)

    columns: ClassVar[tuple[int, int]] = (0, 1)

    @property
    @abstractmethod
    def statistic(self) -> Sum:
        """What is added up."""

    def needs(self) -> tuple[Requirement, ...]:
        return (self.statistic,)

    def both(self, totals: TotalsView) -> tuple[Floats, Floats]:
        """What counts, and of how much."""
        sums = totals[self.statistic]
        return sums[:, self.columns[0]], sums[:, self.columns[1]]

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(*self.both(totals))


class ShareOf(OfSum):
    """Base of those that are a share: each question or unit counts, or does not."""

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        return self.both(totals)
