"""Figures of two kinds of ranked rows: error rates at thresholds, and the risk of the most confident rows.

Rows stand from the highest score to the lowest; rows with equal scores form one step, and a row is accepted where its
score is at least the threshold. Points are read at every distinct score and above all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from steelyard import _native
from steelyard.core.by_group import Arrays, GroupCurve
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array
from steelyard.core.ranking import SECOND, Grouped, LateRanking, RankingBlock
from steelyard.core.records import first_of_runs
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


def figure_parameters(given: Sequence[float]) -> Floats:
    """The four parameters that the core takes."""
    parameters = np.zeros(4)
    parameters[: len(given)] = given
    return parameters


def read_figure(block: RankingBlock, group: int, weights: Weights, figure: int, parameters: Floats) -> Floats:
    """One value for each row of weights; without sorting where the scores of hits, and counts between, are enough."""
    if weights.even and isinstance(block, LateRanking) and _native.rates_read_at_hits(figure, parameters):
        block = block.at_positives
    return RatedEvents(block, group).read(weights, figure, parameters)


def events_at_hits(thresholds: Array, hits: Array, counts: Array) -> RankingBlock:
    """One ranking of hits at rising thresholds, and of the number of others at and between them as `count_at` counts.

    What lies between two thresholds is one event, with a score beside the lower of them. Events are as many as they
    weigh.
    """
    score, weight = (np.empty((len(thresholds), 3), dtype=kind) for kind in (np.float64, np.int64))
    score[:, 0] = np.nextafter(thresholds, np.inf)
    score[:, 1:] = thresholds[:, np.newaxis]
    weight[:, 0], weight[:, 1], weight[:, 2] = counts[2::2], hits, counts[1::2]
    positive = np.tile(np.array([0, 1, 0], np.uint8), len(thresholds))
    lowest = thresholds[0] if len(thresholds) else 0.0
    every = np.append(weight[::-1].ravel(), counts[0])
    present = np.flatnonzero(every)
    columns = {
        "unit": np.zeros(len(present), np.int32),
        "score": np.append(score[::-1].ravel(), np.nextafter(lowest, -np.inf))[present],
        "positive": np.append(positive, np.uint8(0))[present],
        "weight": every[present].astype(np.float64),
    }
    return one_ranking(columns)


def count_at_hits(scores: Array, positive: Array) -> RankingBlock:
    """The ranking of scores at those that are positive; others are counted and not sorted."""
    is_hit = positive.view(bool)
    thresholds, hits = distinct_counts(scores[is_hit])
    counts, none = np.zeros((1, 2 * len(thresholds) + 1), dtype=np.int64), np.zeros(0, np.int32)
    _native.count_at(thresholds, scores[~is_hit], none, none, counts)
    return events_at_hits(thresholds, hits, counts[0])


def distinct_counts(scores: Array) -> tuple[Array, Array]:
    """Distinct scores, rising, and how often each occurs."""
    ordered = np.sort(scores)
    heads = first_of_runs(ordered)
    return ordered[heads], np.diff(np.append(heads, len(ordered)))


class Rates(GroupCurve):
    """A figure of each ranking: (rows, groups), or (rows,) of one."""

    ranking: Ranking
    figure: str
    parameters: tuple[float, ...] = ()

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        return self._shape_values([self._of_group(block, weights, k) for k in range(block.groups)], weights.rows)

    def _of_group(self, block: RankingBlock, weights: Weights, group: int) -> Floats:
        return read_figure(block, group, weights, FIGURES[self.figure], figure_parameters(self.parameters))

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
