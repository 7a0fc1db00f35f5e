"""Rankings of rows by the score (or probability) of a class.

Rows stand from the highest score to the lowest; rows with equal scores form one step. Sorting is done once, when a
state is measured; every row of weights is then one walk down the ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from steelyard import _native
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.statistic import Ranking, SharedCache
from steelyard.tasks.labels.rows import LabelRows, rows_of

Columns = dict[str, Array]


@frozen
class Scores(Ranking):
    """Rows by falling score, with whether they are of the class.

    `of=one` ranks by the score of the class `label`, or of the positive one where none is named; `each` has a ranking
    for each class, and `pooled` one of every class's score of every row. `pairs` is `each` with the class of every row.
    """

    name = "labels.scores"

    of: Literal["one", "each", "pooled", "pairs"] = "one"
    label: str | int | None = None

    def measure(self, pairs: Any, cache: SharedCache) -> RankingBlock:
        """Nothing where the predictions hold no scores, or no class is meant."""
        rows = rows_of(pairs, cache)
        if self.of == "pooled":
            return _block("", [_pooled(rows)] if rows.ranked_by and rows.classes else [], 1)
        if self.of == "one":
            place = positive_place(pairs) if self.label is None else rows.place(self.label)
            meant = rows.ranked_by and (self.label is not None or place >= 0)
            return _block("", [_by_class(rows, place, cache)] if meant else [], 1)
        if not rows.ranked_by or (self.of == "pairs" and rows.several):
            return _block("class", [], rows.classes)
        groups = [_by_class(rows, place, cache) for place in range(rows.classes)]
        if self.of == "pairs":
            groups = [{**group, "code": rows.truth[group["row"]]} for group in groups]
        return _block("class", groups, rows.classes)


def positive_place(pairs: Any) -> int:
    """The class that is positive, as `counts.positive` reads it from facts; -1 where there is none."""
    named = [hold.partition(":")[2] for hold in pairs.facts.holds if hold.startswith("positive:")]
    if named:
        return int(pairs.classes.index(named[0]))
    return len(pairs.classes) - 1 if not pairs.several and 0 < len(pairs.classes) <= 2 else -1


def _by_class(rows: LabelRows, place: int, cache: SharedCache) -> Columns:
    """The ranking by the score of one class."""
    return cache.once(
        ("ranking", place),
        lambda: _sorted(rows, rows.scores(place, rows.ranked_by), rows.is_class(place)),
    )


def _pooled(rows: LabelRows) -> Columns:
    positive = np.stack([rows.is_class(place) for place in range(rows.classes)], axis=1)
    row = np.repeat(np.arange(len(rows.owner)), rows.classes)
    return _sorted(rows, rows.matrix(rows.ranked_by).ravel(), positive.ravel(), row)


def _sorted(rows: LabelRows, scores: Array, positive: Array, row: Array | None = None) -> Columns:
    """Events of rows, or of the given row each."""
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    order, _, marked = _native.rank_order(scores, np.ascontiguousarray(positive))
    ranked: Array = order if row is None else row[order]
    unit = ranked.view(np.int32) if rows.alone and ranked.dtype == np.uint32 else rows.owner[ranked].astype(np.int32)
    columns = {"unit": unit, "score": np.take(scores, order), "positive": marked, "row": ranked}
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
