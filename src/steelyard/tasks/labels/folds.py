"""Accuracy of pairs over folds, as LFW, CFP and AgeDB are scored: each fold at the threshold of all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from steelyard.core.errors import InvalidValue, Unsupported
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.pairs import Array
from steelyard.core.ranking import SECOND, RankingBlock
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Ranking, RankingReader, Requirement, SharedCache
from steelyard.core.weights import Floats, Role, Weights
from steelyard.tasks.labels.counts import NO_SCORES, holds, positive, several
from steelyard.tasks.labels.statistics import rows_of
from steelyard.tasks.labels.walks import class_ranking, positive_place
from steelyard.tasks.shared.rates import one_ranking

if TYPE_CHECKING:
    from steelyard.tasks.labels.data import LabelPairs

GRID = np.arange(0, 4, 0.01)  # thresholds of squared distances that insightface tries
MOST_FOLDS = 1000
SLACK = 1e-12
Grid = Literal["midpoints", "insightface"]


class FoldedScores(Ranking):
    """Rows by falling score of the positive class, with their folds.

    A column `fold` of the truth says them; else they are consecutive blocks of its rows, and `place` is that of each
    row, which shows where parts were joined.
    """

    name = "labels.folded"

    folds: int = 10

    def measure(self, pairs: Any, cache: SharedCache) -> RankingBlock:
        rows, place = rows_of(pairs, cache), positive_place(pairs)
        if not rows.ranked_by or place < 0:
            return one_ranking({"unit": np.zeros(0, np.int32), "score": np.zeros(0), "positive": np.zeros(0, np.uint8)})
        columns = dict(class_ranking(rows, place, cache))
        columns.update(self._of_rows(pairs, pairs.rows[columns.pop("row")]))
        return one_ranking(columns)

    def _of_rows(self, pairs: LabelPairs, row: Array) -> dict[str, Array]:
        """The folds of some rows of the truth."""
        given = pairs.truth.find("fold")
        if given is None:
            return {"fold": fold_of_place(row, len(pairs.truth), self.folds), "place": row.astype(np.int64)}
        folds = np.empty(len(given), dtype=np.int64)
        for at, value in enumerate(given.tolist()):
            text = str(value).strip().removesuffix(".0")
            if not text.isdigit() or int(text) > MOST_FOLDS:
                raise InvalidValue(
                    f"'{value}' is not a fold",
                    where=pairs.truth.where(at, "fold"),
                    remedy=f"Number the folds with whole numbers up to {MOST_FOLDS}.",
                )
            folds[at] = int(text)
        return {"fold": folds[row]}


def fold_of_place(place: Array, rows: int, folds: int) -> Array:
    """The fold of each place of a list that is cut into consecutive folds; the first ones are longer by a row."""
    size, longer = divmod(rows, folds)
    limit = longer * (size + 1)
    return np.where(place < limit, place // (size + 1), longer + (place - limit) // max(size, 1)).astype(np.int64)


class FoldAccuracies(RankingReader):
    """The accuracy of each fold, which only notes read: nan for folds without rows."""

    ranking: FoldedScores
    grid: Grid = "midpoints"
    drawn: ClassVar[bool] = False

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        columns, unit = block.events.columns, block.events.unit
        names = np.unique(columns["fold"]) if "fold" in columns else np.zeros(0, np.int64)
        joined = "place" in columns and len(np.unique(columns["place"])) < len(unit)
        if joined or len(names) < 2 or weights.role is Role.UNITS:
            return np.full((weights.rows, 1), np.nan)
        if self.grid == "insightface" and columns["score"].max() > 0:
            highest = f"{columns['score'].max():g}"
            raise Unsupported(
                f"grid=insightface reads scores as minus squared distances, and the highest is {highest}",
                remedy="Set the option `distance=squared`, negate squared distances, or leave out grid.",
            )
        folds, second = np.searchsorted(names, columns["fold"]), columns.get(SECOND)
        positives, parts = columns["positive"] > 0, []
        for rows in weights.blocks():
            for one in np.asarray(rows, dtype=np.float64):
                weight = one[unit]
                if second is not None:
                    weight = np.where(unit == second, weight, weight * one[second])
                if "weight" in columns:
                    weight = weight * columns["weight"]
                parts.append(fold_accuracies(columns["score"], positives, folds, weight, len(names), self.grid))
        return np.array(parts, dtype=np.float64).reshape(weights.rows, len(names))


class MeanFold(FoldAccuracies):
    """The mean accuracy over folds."""

    drawn: ClassVar[bool] = True

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        values = super().read(block, weights, metadata)
        known = (~np.isnan(values)).sum(axis=1)
        return np.where(known > 0, np.nansum(values, axis=1) / np.maximum(known, 1), np.nan)


def fold_accuracies(score: Array, positive: Array, fold: Array, weight: Array, folds: int, grid: Grid) -> Floats:
    """The accuracy of each fold at the threshold that is best on all others; rows stand by falling score.

    Of equally good thresholds it is the highest score (the lowest distance).
    """
    values = np.full(folds, np.nan)
    for k in range(folds):
        mine, train = (fold == k) & (weight > 0), (fold != k) & (weight > 0)
        if not mine.any() or not train.any():
            continue
        accepted = _accepted(score, positive, weight, mine, train, grid)
        right = weight[mine] * (accepted == positive[mine])
        values[k] = right.sum() / weight[mine].sum()
    return values


def _accepted(score: Array, positive: Array, weight: Array, mine: Array, train: Array, grid: Grid) -> Array:
    """Which rows of a fold are accepted at the best threshold of the others."""
    own, each = score[train], weight[train]
    gain = np.concatenate([[0.0], np.cumsum(np.where(positive[train], each, -each))])  # right answers, by rows accepted
    if grid == "insightface":
        reached = gain[np.searchsorted(-own, GRID, side="left")]
        best = GRID[int(np.argmax(reached >= reached.max() - SLACK * each.sum()))]
        return np.asarray(-score[mine] < best)
    ends = np.concatenate([[0], np.flatnonzero(np.append(own[1:] != own[:-1], True)) + 1])
    reached = gain[ends]
    # Equal up to rounding counts as equal: weights may be added up in another order.
    best = int(ends[int(np.argmax(reached >= reached.max() - SLACK * each.sum()))])
    if best == 0:
        return np.zeros(int(mine.sum()), dtype=bool)
    return np.asarray(score[mine] >= ((own[best - 1] + own[best]) / 2 if best < len(own) else -np.inf))


class FoldAccuracy(Metric):
    r"""Accuracy over folds: for each fold the share of right decisions at the threshold that is best on all others.

    $\frac{1}{F} \sum_f \mathrm{acc}_f(t_f), \quad t_f = \arg\max_t \mathrm{acc}_{\text{not } f}(t)$

    The protocol of LFW, CFP and AgeDB. Folds are those of the truth's column `fold`, or consecutive blocks of its rows.
    Thresholds lie between neighbouring scores; of equally good ones the highest score is taken. `grid=insightface`
    tries 0, 0.01, ..., 3.99 as squared distances, as insightface does: it needs `distance=squared` or such scores.

    Undefined when there are no scores of one class, fewer than two folds, or the folds are blocks of a list that came
    in parts.

    Pros:
    - The threshold is not chosen on the rows that are scored.

    Cons:
    - The spread over folds that papers print does not know that folds share people; the interval here does, with people
      as units.
    """

    name = "fold_accuracy"
    title = "Accuracy over folds"
    range = (0.0, 1.0)
    aliases = ("lfw accuracy",)
    reference = "insightface: verification.evaluate"

    folds: Annotated[int, Between(2, MOST_FOLDS, whole=True)] = 10
    grid: Grid = "midpoints"

    @property
    def curve(self) -> MeanFold:
        """The mean over folds."""
        return MeanFold(FoldedScores(self.folds), self.grid)

    @property
    def _each(self) -> FoldAccuracies:
        return FoldAccuracies(FoldedScores(self.folds), self.grid)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.curve, self._each)

    def lacks(self, metadata: Metadata) -> str:
        """What the data would have to hold; empty where they do."""
        if not holds(metadata, "ranked"):
            return NO_SCORES
        return "" if not several(metadata) and positive(metadata) >= 0 else "it needs two classes"

    def reduce(self, totals: TotalsView) -> Floats:
        if self.lacks(totals.metadata):
            return np.full(totals.rows, np.nan)
        values: Floats = totals[self.curve]
        return values

    def undefined_reason(self, totals: TotalsView) -> str:
        return self.lacks(totals.metadata) or (
            "there are fewer than two folds, or folds are blocks of a list that came in parts: give a column 'fold'"
        )

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """What papers print behind ±."""
        each = totals[self._each][0]
        each = each[~np.isnan(each)]
        if len(each) < 2:
            return ()
        deviation, error = float(each.std()), float(each.std(ddof=1) / np.sqrt(len(each)))
        return (
            f"Over {len(each)} folds the standard deviation is {deviation:.4f} (as insightface prints it) and the "
            f"standard error {error:.4f} (as LFW's paper does); neither knows that folds share people.",
        )
