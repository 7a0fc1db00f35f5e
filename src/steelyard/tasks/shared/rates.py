"""Figures of two kinds of ranked rows: error rates at thresholds, and the risk of the most confident rows.

Rows stand from the highest score to the lowest; rows with equal scores form one step, and a row is accepted where its
score is at least the threshold. Points are read at every distinct score and above all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from steelyard import _native
from steelyard.core.by_group import Arrays, GroupCurve
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array
from steelyard.core.ranking import SECOND, Grouped, RankingBlock
from steelyard.core.statistic import Ranking
from steelyard.core.weights import Floats, Role, Weights

_NAMES = (
    "tar,eer,min_dcf,best_accuracy,fpr_at_tpr,aupr,auc,ap,best_f1,best_threshold,far_at,frr_at,dprime,misses,hits,aurc,"
    "e_aurc,augrc,risk,coverage,ccr,oscr,right"
)
FIGURES = {name: code for code, name in enumerate(_NAMES.split(","))}
NONE = np.zeros(0, dtype=np.int64)


class RatedEvents:
    """The events of one ranking, as the core takes them."""

    def __init__(self, block: RankingBlock, group: int = 0) -> None:
        part = slice(int(block.events.begin[group]), int(block.events.begin[group + 1]))
        columns = {name: column[part] for name, column in block.events.columns.items()}
        self._unit, self._second = block.events.unit[part], columns.get(SECOND, NONE)
        kind = columns["positive"]
        self.kind: Array = np.ascontiguousarray(kind + columns["right"] * 2 if "right" in columns else kind, np.uint8)
        self.score = np.ascontiguousarray(columns["score"], dtype=np.float64)
        self.value = np.ascontiguousarray(columns["weight"]) if "weight" in columns else np.zeros(0)
        self.last = np.ones(len(self.unit), dtype=np.uint8)
        self.last[:-1] = self.score[1:] != self.score[:-1]

    @cached_property
    def unit(self) -> Array:
        """The unit of each event."""
        return self._unit.astype(np.int64)

    @cached_property
    def second(self) -> Array:
        """The other unit of each event; empty where events have one."""
        return self._second.astype(np.int64)

    def read(self, weights: Weights, figure: int, parameters: Floats) -> Floats:
        """One value for each row of weights."""
        if weights.role is Role.UNITS:
            return self._alone(weights, figure, parameters)
        rows = (self.kind, self.last, self.value, self.score, figure, parameters)
        if weights.even:
            value: Floats = _native.rates(np.ones((1, 1)), NONE, NONE, *rows)
            return value
        parts = [
            _native.rates(np.ascontiguousarray(block, dtype=np.float64), self.unit, self.second, *rows)
            for block in weights.blocks()
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _alone(self, weights: Weights, figure: int, parameters: Floats) -> Floats:
        """One value for each unit that is alone; of rows with two owners, those that one unit owns twice."""
        start, stop = getattr(weights, "start", 0), getattr(weights, "stop", weights.units)
        order = np.argsort(self.unit, kind="stable")
        if len(self.second):
            order = order[(self.unit == self.second)[order]]
        owner, score = self.unit[order], self.score[order]
        starts = np.searchsorted(owner, np.arange(start, stop + 1)).astype(np.int64)
        last = np.ones(len(order), dtype=np.uint8)
        last[:-1] = (owner[1:] != owner[:-1]) | (score[1:] != score[:-1])
        value = self.value[order] if len(self.value) else self.value
        each: Floats = _native.rates_each(starts, self.kind[order], last, value, score, figure, parameters)
        return each


class Rates(GroupCurve):
    """A figure of each ranking: (rows, groups), or (rows,) of one."""

    ranking: Ranking
    figure: str
    parameters: tuple[float, ...] = ()

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        return self._shape_values([self._of_group(block, weights, k) for k in range(block.groups)], weights.rows)

    def _of_group(self, block: RankingBlock, weights: Weights, group: int) -> Floats:
        parameters = np.zeros(4)
        parameters[: len(self.parameters)] = self.parameters
        return RatedEvents(block, group).read(weights, FIGURES[self.figure], parameters)

    def _shape_values(self, values: list[Floats], rows: int) -> Floats:
        if getattr(self.ranking, "of", "one") in ("one", "pooled"):
            return values[0]
        return np.stack(values, axis=1) if values else np.zeros((rows, 0))

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        return (self._of_group(block, weights, 0),)

    def join(self, parts: Iterator[Arrays]) -> Floats:
        values = [part[0] for part in parts]
        return self._shape_values(values, len(values[0]) if values else 0)


class NotedRates(Rates):
    """A figure that only notes read, never a draw."""

    drawn = False


def one_ranking(columns: dict[str, Array]) -> RankingBlock:
    """Events of one ranking, with their units under `unit`."""
    unit = columns.pop("unit")
    nothing = Grouped(np.zeros(2, np.int64), np.zeros(0, np.int32), {})
    return RankingBlock("", Grouped(np.array([0, len(unit)], dtype=np.int64), unit, columns), nothing)
