"""What is read from rankings of rows: average precision, ROC AUC, the best F1, the hit rate at a false alarm rate.

Rankings of rows by the score (or probability) of a class.

Rows stand from the highest score to the lowest; rows with equal scores form one step. Sorting is done once, when a
state is measured; every row of weights is then one walk down the ranking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from steelyard import _native
from steelyard.core.by_group import Arrays, GroupCurve, GroupSizes, Stream, no_approximation
from steelyard.core.errors import Unsupported
from steelyard.core.histogram import Histogram, bin_of_score
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array
from steelyard.core.ranking import SECOND, Grouped, LateRanking, RankingBlock, first_steps
from steelyard.core.statistic import Ranking, RankingReader, SharedCache
from steelyard.core.weights import Floats, InStrata, Role, Weights, ratio
from steelyard.tasks.labels.statistics import LabelRows, rows_of
from steelyard.tasks.shared.rates import FIGURES, count_at_hits, figure_parameters, one_ranking, read_figure

Columns = dict[str, Array]
MOST_POSITIVE = 1 / 8  # of the rows may be positive: with more it is faster to sort all than to count the others


class Scores(Ranking):
    """Rows by falling score, with whether they are of the class.

    `of=one` ranks by the score of the class `label`, or of the positive one where none is named; `each` has a ranking
    for each class, and `pooled` one of every class's score of every row. `pairs` is `each` with the class of every row.
    `sources` is `one` with a group for the rows in distribution and one for each source of those out of it.
    """

    name = "labels.scores"

    of: Literal["one", "each", "pooled", "pairs", "sources"] = "one"
    label: str | int | None = None

    def measure(self, pairs: Any, cache: SharedCache) -> RankingBlock:
        """Nothing where the predictions hold no scores, or no class is meant."""
        rows = rows_of(pairs, cache)
        if self.of == "pooled":
            return _block("", [_pooled_columns(rows)] if rows.ranked_by and rows.classes else [], 1)
        if self.of in ("one", "sources"):
            place = positive_place(pairs) if self.label is None else rows.place(self.label)
            if not rows.ranked_by or (self.label is None and place < 0):
                return _block("", [], 1)
            if self.of == "sources":
                return _by_source(pairs, class_ranking(rows, place, cache))
            return _late_block(rows, place, cache)
        if not rows.ranked_by or (self.of == "pairs" and rows.several):
            return _block("class", [], rows.classes)
        groups = [class_ranking(rows, place, cache) for place in range(rows.classes)]
        if self.of == "pairs":
            groups = [{**group, "code": rows.truth[group["row"]]} for group in groups]
        return _block("class", groups, rows.classes)


def positive_place(pairs: Any) -> int:
    """The class that is positive, as `counts.positive` reads it from facts; -1 where there is none."""
    named = [hold.partition(":")[2] for hold in pairs.metadata.holds if hold.startswith("positive:")]
    if named:
        return int(pairs.classes.index(named[0]))
    return len(pairs.classes) - 1 if not pairs.several and 0 < len(pairs.classes) <= 2 else -1


def _late_block(rows: LabelRows, place: int, cache: SharedCache) -> RankingBlock:
    """One ranking, which is not sorted before it must be."""

    def make() -> RankingBlock:
        return _block("", [class_ranking(rows, place, cache)], 1)

    def count() -> RankingBlock:
        positive = rows.is_class(place)
        if np.count_nonzero(positive) > MOST_POSITIVE * len(positive):
            return make()
        scores = np.ascontiguousarray(rows.scores(place, rows.ranked_by), dtype=np.float64)
        return count_at_hits(scores, positive)

    return make() if rows.weight is not None else LateRanking(make, count, rows.second_owner is not None)


def class_ranking(rows: LabelRows, place: int, cache: SharedCache) -> Columns:
    """The ranking by the score of one class."""
    return cache.once(
        ("ranking", place),
        lambda: _sorted(rows, rows.scores(place, rows.ranked_by), rows.is_class(place)),
    )


def _pooled_columns(rows: LabelRows) -> Columns:
    positive = np.stack([rows.is_class(place) for place in range(rows.classes)], axis=1)
    row = np.repeat(np.arange(len(rows.truth)), rows.classes)
    return _sorted(rows, rows.matrix(rows.ranked_by).ravel(), positive.ravel(), row)


def _sorted(rows: LabelRows, scores: Array, positive: Array, row: Array | None = None) -> Columns:
    """Events of rows, or of the given row each."""
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    order, _, marked = _native.rank_order(scores, np.ascontiguousarray(positive))
    ranked: Array = order if row is None else row[order]
    unit = (
        ranked.view(np.int32) if rows.alone and ranked.dtype == np.uint32 else rows.first_owner[ranked].astype(np.int32)
    )
    columns = {"unit": unit, "score": np.take(scores, order), "positive": marked, "row": ranked}
    if rows.second_owner is not None:
        columns[SECOND] = rows.second_owner[ranked].astype(np.int32)
    if rows.right is not None:
        columns["right"] = rows.right[ranked].astype(np.uint8)
    return columns if rows.weight is None else columns | {"weight": rows.weight[ranked]}


def _block(axis: str, groups: Sequence[Columns], count: int) -> RankingBlock:
    """Groups one after the other; without any, so many empty ones."""
    begin = np.cumsum([0] + [len(group["unit"]) for group in groups]) if groups else np.zeros(count + 1, np.int64)
    none: Columns = {"unit": np.zeros(0, np.int32), "score": np.zeros(0), "positive": np.zeros(0, np.uint8)}
    joined = {
        name: groups[0][name] if len(groups) == 1 else np.concatenate([group[name] for group in groups])
        for name in (groups[0] if groups else {})
        if name != "row"
    } or none
    columns = {name: column for name, column in joined.items() if name != "unit"}
    nothing = Grouped(np.zeros(count + 1, np.int64), np.zeros(0, np.int32), {})
    return RankingBlock(axis, Grouped(begin.astype(np.int64), joined["unit"], columns), nothing)


def _by_source(pairs: Any, ranking: Columns) -> RankingBlock:
    """A ranking in groups: rows in distribution, and each source of those out of it."""
    if pairs.sources is None:
        return _block("", [], 1)
    names, place = pairs.sources
    source = place[ranking["row"]]
    groups = [{name: column[source == k] for name, column in ranking.items()} for k in range(len(names))]
    return _block("source", groups, len(names))


class OverSources(RankingReader):
    """The mean of what a curve reads from the rows in distribution and those of one source; undefined ones left out.

    Draws are taken within the rows in distribution and within each source: their total weights stay.
    """

    ranking: Scores
    curve: GroupCurve

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        if block.axis != "source":
            return np.full(weights.rows, np.nan)
        known = metadata.axes["source"].ids.index("")
        values = []
        for k in (k for k in range(block.groups) if k != known):
            unit = block.events.unit[block.events.begin[k] : block.events.begin[k + 1]]
            part = block.some([known, k]).pooled
            values.append(self.curve.read(part, _in_parts(part, unit, weights), metadata))
        each = np.stack(values, axis=1) if values else np.zeros((weights.rows, 0))
        defined = ~np.isnan(each)
        return ratio(np.where(defined, each, 0.0).sum(axis=1), defined.sum(axis=1))


def _in_parts(block: RankingBlock, source: Array, weights: Weights) -> Weights:
    """Draws and the jackknife with the total weights of the units of a source and of the others kept."""
    every = np.unique(block.events.unit)
    one_row_each = len(block.events) == len(every)  # else a unit may have rows of both
    if weights.role not in (Role.DRAWS, Role.JACKKNIFE) or not one_row_each:
        return weights
    stratum = np.full(weights.units, 2, dtype=np.int64)  # of units that have no part in it
    stratum[every] = 0
    stratum[source] = 1
    return InStrata(weights, np.ones(weights.units), stratum)


class Confidence(Ranking):
    """Rows by falling confidence, with whether their label is wrong.

    The confidence is the column of that name, or else the highest probability.
    """

    name = "labels.confidence"

    def measure(self, pairs: Any, cache: SharedCache) -> RankingBlock:
        rows = rows_of(pairs, cache)
        confidence = pairs.confidence
        if confidence is None or rows.several:
            return one_ranking({"unit": np.zeros(0, np.int32), "score": np.zeros(0), "positive": np.zeros(0, np.uint8)})
        wrong = (rows.truth != rows.predicted_labels).astype(np.uint8)
        order, _, marked = _native.rank_order(np.ascontiguousarray(confidence, dtype=np.float64), wrong)
        columns = {"unit": rows.first_owner[order].astype(np.int32), "score": confidence[order], "positive": marked}
        if rows.second_owner is not None:
            columns[SECOND] = rows.second_owner[order].astype(np.int32)
        return one_ranking(columns if rows.weight is None else columns | {"weight": rows.weight[order]})


CurveFigure = Literal["ap", "auc", "best_f1", "best_threshold", "tpr"]
READINGS = {"ap": 0, "auc": 1, "best_f1": 2, "best_threshold": 3, "tpr": 4}
COUNTED = (0, 1)  # readings that have a faster way with whole numbers
MOST_COUNTED = 1 << 24  # events


class Ranked:
    """The events of one ranking, ready to be walked; `last` is 1 where a run of equal scores ends.

    With `ties="order"` every event is a run of its own.
    """

    def __init__(self, unit: Array, columns: Columns, ties: str = "step") -> None:
        self.unit, self.score = unit, columns["score"]
        self.positive = np.ascontiguousarray(columns["positive"])
        self.value = np.ascontiguousarray(columns["weight"]) if "weight" in columns else np.zeros(0)
        self.last = np.ones(len(unit), dtype=np.uint8)
        self.in_order = ties == "order"
        if not self.in_order:
            self.last[:-1] = self.score[1:] != self.score[:-1]
        self._owner: Array | None = None

    @property
    def owner(self) -> Array:
        """The unit of each event."""
        if self._owner is None:
            self._owner = self.unit.astype(np.int64)
        return self._owner

    def evenly(self, reading: int, limit: float) -> Floats:
        """One value, all units weighing 1."""
        value: Floats = _native.ranked(
            np.ones((1, 1)), np.zeros(0, np.int64), self.positive, self.last, self.value, reading, limit
        )
        return self._score_at_rank(value, reading, self.score)

    def walk(self, block: Floats, reading: int, limit: float) -> Floats:
        """One value for each row of weights."""
        value: Floats = _native.ranked(block, self.owner, self.positive, self.last, self.value, reading, limit)
        return self._score_at_rank(value, reading, self.score)

    def alone(self, start: int, stop: int, reading: int, limit: float) -> Floats:
        """One value for each unit from `start` to `stop`, which is alone."""
        order, starts, last = self._by_unit(start, stop)
        weight = self.value[order] if len(self.value) else self.value
        value: Floats = _native.ranked_each(starts, self.positive[order], last, weight, reading, limit)
        return self._score_at_rank(value, reading, self.score[order], starts[:-1])

    def _by_unit(self, start: int, stop: int) -> tuple[Array, Array, Array]:
        """Events by unit, where those of each unit begin, and the ends of runs of equal scores."""
        order = np.argsort(self.unit, kind="stable")
        owner, score = self.unit[order], self.score[order]
        starts = np.searchsorted(owner, np.arange(start, stop + 1)).astype(np.int64)
        last = np.ones(len(order), dtype=np.uint8)
        if not self.in_order:
            last[:-1] = (owner[1:] != owner[:-1]) | (score[1:] != score[:-1])
        return order, starts, last

    def first_step(self, rows: Floats) -> Floats:
        """What the first step adds to average precision, for each row of weights."""
        value = self.value if len(self.value) else np.ones(len(self.unit))
        ends = np.flatnonzero(self.last)
        hits, every = first_steps(rows, self.unit, self.positive, ends, value)
        positives = np.asarray(rows, dtype=np.float64)[:, self.unit] @ (self.positive * value)
        return _product(hits, every, positives)

    def first_step_alone(self, start: int, stop: int) -> Floats:
        """Read each unit from `start` to `stop` on its own."""
        order, starts, last = self._by_unit(start, stop)
        value = (self.value if len(self.value) else np.ones(len(self.unit)))[order]
        hits, every = (np.concatenate([[0.0], np.cumsum(one)]) for one in (value * self.positive[order], value))
        ends = np.append(np.flatnonzero(last), len(order) - 1)
        first = ends[np.searchsorted(ends, starts[:-1]).clip(max=len(ends) - 1)] + 1
        first = np.where(starts[1:] > starts[:-1], first, starts[:-1])
        return _product(
            hits[first] - hits[starts[:-1]], every[first] - every[starts[:-1]], hits[starts[1:]] - hits[starts[:-1]]
        )

    @staticmethod
    def _score_at_rank(value: Floats, reading: int, score: Array, starts: Array | int = 0) -> Floats:
        """The score at the rank that a walk gives, where that is asked for."""
        if reading != READINGS["best_threshold"] or not len(score):
            return value
        place = np.where(np.isnan(value), 0, value).astype(np.int64) + starts
        return np.where(np.isnan(value), np.nan, score[np.minimum(place, len(score) - 1)])


def _product(hits: Floats, every: Floats, positives: Floats) -> Floats:
    """Precision times recall of a step; 0 where there is none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((every > 0) & (positives > 0), hits / every * hits / positives, 0.0)


def first_steps_of(rankings: Sequence[Ranked], weights: Weights) -> Floats:
    """What the first step of each ranking adds to average precision: (rows, rankings)."""
    if weights.role is Role.UNITS:
        start, stop = getattr(weights, "start", 0), getattr(weights, "stop", weights.units)
        return np.stack([one.first_step_alone(start, stop) for one in rankings], axis=1)
    parts = [np.stack([one.first_step(rows) for one in rankings], axis=1) for rows in weights.blocks()]
    return np.concatenate(parts) if parts else np.zeros((0, len(rankings)))


def walk_rankings(rankings: Sequence[Ranked], weights: Weights, reading: int, limit: float) -> Floats:
    """What each ranking gives under each row of weights: (rows, rankings). The weights are made once for all."""
    if not rankings:
        return np.zeros((weights.rows, 0))
    if weights.role is Role.UNITS:
        start, stop = getattr(weights, "start", 0), getattr(weights, "stop", weights.units)
        return np.stack([one.alone(start, stop, reading, limit) for one in rankings], axis=1)
    if weights.even:
        return np.stack([one.evenly(reading, limit) for one in rankings], axis=1)
    if reading in COUNTED and all(not len(one.value) and len(one.unit) < MOST_COUNTED for one in rankings):
        counted = _walk_counts(rankings, weights, reading)
        if counted is not None:
            return counted
    parts = []
    for block in weights.blocks():
        rows = np.ascontiguousarray(block)
        parts.append(np.stack([one.walk(rows, reading, limit) for one in rankings], axis=1))
    return np.concatenate(parts) if parts else np.zeros((0, len(rankings)))


def _walk_counts(rankings: Sequence[Ranked], weights: Weights, reading: int) -> Floats | None:
    """Walk with integer weights: bootstrap draws, or one group left out."""
    groups = weights.groups()
    counts = None if groups is not None else weights.counts()
    if groups is None and counts is None:
        return None
    begin: Array = np.cumsum([0] + [len(one.unit) for one in rankings])
    unit, positive, last = (
        np.concatenate([getattr(one, name) for one in rankings]) for name in ("unit", "positive", "last")
    )
    if groups is not None:
        without: Floats = _native.ranked_left_out(groups, weights.rows, begin, unit, positive, last, reading)
        return without
    left, values = weights.rows, []
    for some in counts or ():
        draws = min(left, 32 * len(some))
        values.append(_native.ranked_draws(some, draws, begin, unit, positive, last, reading))
        left -= draws
    return np.concatenate(values) if values else np.zeros((0, len(rankings)))


class _Streamed:
    """One value of a ranking that comes in parts."""

    def __init__(self, walk: Any, in_order: bool, loop: bool, positives: int) -> None:
        self.walk, self.in_order, self.positives = walk, in_order, positives
        self.first: float | None = None if loop else 0.0  # what the first step adds, where it is left out
        self.fed = 0

    def feed(self, part: Mapping[str, Array]) -> None:
        score = part["score"]
        if self.in_order:
            score = -np.arange(self.fed, self.fed + len(score), dtype=np.float64)
        if self.first is None and len(score):
            step = score == score[0]
            hits = int(part["positive"][step].sum())
            self.first = hits / int(step.sum()) * hits / self.positives if self.positives else 0.0
        self.walk.feed(score, part["positive"])
        self.fed += len(score)

    def result(self) -> Arrays:
        return (np.array([self.walk.result() - (self.first or 0.0)]),)


class Walk(GroupCurve):
    """A walk down each ranking; `limit` is the highest rate of false alarms. (rows, groups), or (rows,) of one.

    With `ties="order"` equal scores are taken one by one, and `loop` leaves out the first step of average precision.
    """

    ranking: Scores
    reading: CurveFigure
    limit: float = 0.0
    ties: str = "step"
    loop: bool = False

    @property
    def approximate(self) -> bool:
        """Whether histograms bound it: nothing that is sought along a ranking, and no single rows."""
        return self.reading in ("ap", "auc") and self.ties == "step" and not self.loop

    def _walk_rankings(self, rankings: Sequence[Ranked], weights: Weights) -> Floats:
        values = walk_rankings(rankings, weights, READINGS[self.reading], self.limit)
        return values - first_steps_of(rankings, weights) if self.loop and rankings else values

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        if block.two_owners:
            return self._shape_values(self._of_two_owners(block, weights))
        if weights.even and isinstance(block, LateRanking) and self.ties == "step" and not self.loop:
            block = block.at_positives
        rankings = [Ranked(*_group(block, k), self.ties) for k in range(block.groups)]
        return self._shape_values(self._walk_rankings(rankings, weights))

    def _of_two_owners(self, block: RankingBlock, weights: Weights) -> Floats:
        """The same figures of rows that weigh the product of two units' weights."""
        if self.ties != "step" or self.loop:
            raise Unsupported(
                "average precision of pairs of people takes equal scores as one step", remedy="Leave ties and kind out."
            )
        figure = FIGURES["tar" if self.reading == "tpr" else self.reading]
        parameters = figure_parameters((self.limit,))
        values = [read_figure(block, k, weights, figure, parameters) for k in range(block.groups)]
        return np.stack(values, axis=1)

    def _shape_values(self, values: Floats) -> Floats:
        return values[:, 0] if self.ranking.of in ("one", "pooled") else values

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        return (self._walk_rankings([Ranked(*_group(block, 0), self.ties)], weights)[:, 0],)

    def join(self, parts: Iterator[Arrays]) -> Floats:
        return self._shape_values(np.stack([part[0] for part in parts], axis=1))

    def stream(self, sizes: GroupSizes, units: int) -> Stream | None:
        positives = sizes.sum("event", "positive")
        negatives = sizes.rows("event") - positives
        walk = _native.LabelStream(READINGS[self.reading], self.limit, positives, negatives)
        return _Streamed(walk, self.ties == "order", self.loop, positives)

    def histogram(self, block: RankingBlock, bins: int) -> dict[str, Array]:
        if not self.approximate:
            raise no_approximation("what is sought along a ranking, or takes rows one by one,")
        return {"counts": _histogram(block, block.events.columns["positive"] == 0, 2, bins)}

    def bound_reading(self, counts: Mapping[str, Array], metadata: Metadata, upper: bool) -> Floats:
        ends = [_end(self.reading, group[0], group[1], upper) for group in counts["counts"]]
        return self._shape_values(np.array(ends)[np.newaxis])


class NotedWalk(Walk):
    """A ranking that only a note reads, never a draw."""

    drawn = False


class _PairStream:
    """The rankings of one class among the rows of each other, in parts: areas and false alarms by the other class."""

    def __init__(self, reading: str) -> None:
        self.reading, self.tp = reading, 0
        self.fp: dict[int, int] = {}
        self.area: dict[int, float] = {}

    def feed(self, part: Mapping[str, Array]) -> None:
        run = np.cumsum(np.concatenate([[0], part["score"][1:] != part["score"][:-1]]))
        hits = np.bincount(run, weights=part["positive"])
        after = self.tp + np.cumsum(hits)
        other = part["positive"] == 0
        for code in {*self.fp, *np.unique(part["code"][other]).tolist()}:
            false = np.bincount(run[other & (part["code"] == code)], minlength=len(hits))
            area, fp = self.area.get(code, float(self.tp) if self.reading == "ap" else 0.0), self.fp.get(code, 0)
            if self.reading == "auc":
                self.area[code] = area + float((false * (2 * after - hits)).sum()) * 0.5
            else:
                rising = hits > 0
                steps = hits[rising] * (after[rising] / (after[rising] + fp + np.cumsum(false)[rising]))
                self.area[code] = float(np.cumsum(np.concatenate([[area], steps]))[-1])
            self.fp[code] = fp + int(false.sum())
        self.tp = int(after[-1])

    def result(self) -> Arrays:
        values = np.full((1, max(self.fp, default=-1) + 1), np.nan)
        for code, area in self.area.items():
            whole = self.tp * self.fp[code] if self.reading == "auc" else self.tp
            values[0, code] = area / whole if whole else np.nan
        return (values,)


class PairWalk(GroupCurve):
    """A walk for each ordered pair of classes: the rows of both, ranked by the score of the first.

    (rows, classes, classes); nan on the diagonal.
    """

    ranking: Scores
    reading: CurveFigure
    limit: float = 0.0

    @property
    def approximate(self) -> bool:
        return self.reading in ("ap", "auc")

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        return self.join(self.read_group(block.one(k), weights) for k in range(block.groups))

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        """One value for each row of weights and each other class, as far as there are rows of it."""
        unit, columns = _group(block, 0)
        others = np.unique(columns["code"][columns["positive"] == 0]) if "code" in columns else np.zeros(0, np.int64)
        rankings = []
        for code in others.tolist():
            rows = np.flatnonzero((columns["positive"] > 0) | (columns["code"] == code))
            rankings.append(Ranked(unit[rows], {name: column[rows] for name, column in columns.items()}))
        values = np.full((weights.rows, int(others.max(initial=-1)) + 1), np.nan)
        values[:, others] = walk_rankings(rankings, weights, READINGS[self.reading], self.limit)
        return (values,)

    def join(self, parts: Iterator[Arrays]) -> Floats:
        every = [part[0] for part in parts]
        joined = np.full((len(every[0]) if every else 0, len(every), len(every)), np.nan)
        for a, values in enumerate(every):
            joined[:, a, : values.shape[1]] = values
        return joined

    def stream(self, sizes: GroupSizes, units: int) -> Stream | None:
        """The same in parts, where nothing is sought along a ranking."""
        return _PairStream(self.reading) if self.approximate else None

    def histogram(self, block: RankingBlock, bins: int) -> dict[str, Array]:
        return {"counts": _histogram(block, block.events.columns["code"], block.groups, bins)}

    def bound_reading(self, counts: Mapping[str, Array], metadata: Metadata, upper: bool) -> Floats:
        every = counts["counts"]
        ends = np.full((1, len(every), len(every)), np.nan)
        for a, group in enumerate(every):
            for b in range(len(every)):
                if a != b and group[b].any():
                    ends[0, a, b] = _end(self.reading, group[a], group[b], upper)
        return ends


def _histogram(block: RankingBlock, side: Array, sides: int, bins: int) -> Array:
    """Events by group, by what they are, and by bin of scores."""
    place = (block.events.group * sides + side) * bins + bin_of_score(block.events.columns["score"], bins)
    return np.bincount(place, minlength=block.groups * sides * bins).reshape(block.groups, sides, bins)


def _end(reading: str, hits: Array, others: Array, upper: bool) -> float:
    histogram = Histogram(hits, others, float(hits.sum()))
    ends = histogram.average_precision("step") if reading == "ap" else histogram.roc_auc()
    return float(ends[int(upper)])


def _group(block: RankingBlock, k: int) -> tuple[Array, Columns]:
    part = slice(int(block.events.begin[k]), int(block.events.begin[k + 1]))
    return block.events.unit[part], {name: column[part] for name, column in block.events.columns.items()}
