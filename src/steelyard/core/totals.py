"""Totals: all that a metric sees. Weighted totals of a state's blocks, for each row of weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.block import MomentsBlock, SumBlock
from steelyard.core.errors import InputError
from steelyard.core.rows import RowsBlock
from steelyard.core.statistic import RankingReader, Statistic
from steelyard.core.weights import Floats, Role, Weights

if TYPE_CHECKING:
    from steelyard.core.metric import Metric
    from steelyard.core.state import State

Requirement = Statistic | RankingReader
NEAR = 1e-9  # how far rounding may carry a value beyond its range


class Totals:
    """Totals of a state under rows of weights: `totals[need]`, one value or more for each row.

    Each is made once for all metrics that ask. `facts` are the state's, `rows` is the number of rows, and `role` says
    what they are for.
    """

    def __init__(self, state: State, weights: Weights) -> None:
        self.state, self.weights = state, weights
        self.facts, self.rows, self.role = state.facts, weights.rows, weights.role
        self._made: dict[Requirement, Any] = {}

    def __getitem__(self, requirement: Requirement) -> Any:
        if requirement not in self._made:
            self._make(requirement)
        return self._made[requirement]

    def _make(self, requirement: Requirement) -> None:
        if isinstance(requirement, RankingReader):
            read = requirement.read_from(self._made, self.role, self.facts)
            if read is None:
                ranking: Any = self.state.blocks[requirement.ranking]
                read = ranking.read(requirement, self.weights, self.facts)
            self._made[requirement] = read
            return
        block = self.state.blocks[requirement]
        dense = requirement.drawn and isinstance(block, SumBlock | MomentsBlock | RowsBlock)
        if dense and self.role is Role.DRAWS:
            self._together()  # one pass over the drawn weights serves all columns
        else:
            self._made[requirement] = block.total(self.weights, self.facts)

    def _together(self) -> None:
        matrix, columns = self.state.dense
        totals = self.weights @ matrix
        for statistic, (first, last, shape) in columns.items():
            part, block = totals[:, first:last], self.state.blocks[statistic]
            if isinstance(block, MomentsBlock):
                self._made[statistic] = block.pooled(part)
            else:
                self._made[statistic] = part.reshape((self.rows, *shape))

    def only(self, declared: Iterable[Requirement]) -> TotalsView:
        """The same totals, of what a metric declared and nothing else."""
        return TotalsView(self, frozenset(declared))

    def of(self, metric: Metric) -> Floats:
        """A metric's value for each row of weights; an error where the plain score is outside its declared range."""
        values = metric.reduce(self.only(metric.needs()))
        if self.role is not Role.POINT:  # draws may leave it by rounding, and single units by their nature
            return values
        low, high = metric.range
        outside = (values < low - NEAR * max(1.0, abs(low))) | (values > high + NEAR * max(1.0, abs(high)))
        if outside.any():
            raise InputError(
                f"metric '{metric}' is {values[outside][0]:g}, which is outside its range from {low:g} to {high:g}",
                remedy=f"Correct the metric, or the range that the class '{type(metric).__name__}' declares.",
            )
        return values


class TotalsView:
    """Totals of declared statistics. Another one raises KeyError: what a metric reads, it must have declared."""

    def __init__(self, totals: Totals, declared: frozenset[Requirement]) -> None:
        self._totals, self._declared = totals, declared
        self.facts, self.rows, self.role = totals.facts, totals.rows, totals.role

    def __getitem__(self, requirement: Requirement) -> Any:
        if requirement not in self._declared:
            raise KeyError(f"'{requirement}' was not declared")
        return self._totals[requirement]

    def undefined(self) -> Any:
        """No number, for each row of weights."""
        return np.full(self.rows, np.nan)
