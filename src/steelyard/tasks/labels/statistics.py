"""What metrics of labels need a state to keep: sums over rows, counts by class, bins of confidence."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np

from steelyard.core.block import CellsBlock, SumBlock
from steelyard.core.distinct import DistinctCells
from steelyard.core.errors import Unsupported
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array
from steelyard.core.statistic import Cells, RankingReader, SharedCache, Sum
from steelyard.core.weights import Entries, Floats, Weights


class LabelRows:
    """The rows of pairs, or one row for each kind of rows where they are counted.

    `truth` and `predicted` are codes, or 0 and 1 by class where a row has several labels; `predicted` is -1 where a row
    has no label, and `weight` is None where all rows weigh 1.
    """

    def __init__(self, pairs: Any) -> None:
        self.pairs = pairs
        self.classes: int = len(pairs.classes)
        self.several: bool = pairs.several

    @cached_property
    def units(self) -> int:
        """How many units there are."""
        return len(self.pairs.units) if self.pairs.aggregated is None else len(self._cells)

    @cached_property
    def _cells(self) -> Array:
        return np.flatnonzero(self.pairs.aggregated.matrix.ravel())

    @cached_property
    def owner(self) -> Array:
        """The unit of each row."""
        if self.pairs.people is not None:
            raise Unsupported(
                "with people as units each row belongs to two units, which this metric does not support",
                remedy="Leave out the metric or the option `people`; tar, frr, eer, min_dcf and roc_auc support it.",
            )
        return self.first_owner

    @cached_property
    def first_owner(self) -> Array:
        """The unit of each row, or the first of its two."""
        owner: Array = self.pairs.owned_pairs[1] if self.pairs.aggregated is None else np.arange(self.units)
        return owner

    @cached_property
    def second_owner(self) -> Array | None:
        """The other unit of each row, where rows have two."""
        second: Array | None = self.pairs.second_owner
        return second

    @cached_property
    def alone(self) -> bool:
        """Whether row i is unit i's only one."""
        if self.pairs.people is not None:
            return False
        if not self.pairs.grouped and self.pairs.truth_row is None:
            return True
        return len(self.owner) == self.units and bool((self.owner == np.arange(self.units)).all())

    @cached_property
    def _sides(self) -> tuple[Array, Array]:
        truth, predicted = np.divmod(self._cells, self.classes)
        return truth, predicted

    @cached_property
    def truth(self) -> Array:
        """The labels that are right."""
        truth: Array = self.pairs.coded_labels.truth if self.pairs.aggregated is None else self._sides[0]
        return truth

    @cached_property
    def predicted_labels(self) -> Array:
        """The labels that were predicted; none where there are scores only."""
        if self.pairs.aggregated is not None:
            return self._sides[1]
        given: Array | None = self.pairs.predicted_labels
        if given is not None:
            return given
        return np.zeros_like(self.truth) if self.several else np.full(len(self.truth), -1)

    @cached_property
    def weight(self) -> Array | None:
        """The weight of each row."""
        if self.pairs.aggregated is not None or "weight" not in self.pairs.truth:
            return None
        weight: Array = self.pairs.truth["weight"][self.pairs.rows]
        return weight

    @property
    def right(self) -> Array | None:
        """Whether the label of each row is right, where rows out of distribution are declared."""
        right: Array | None = self.pairs.right
        return right

    @property
    def ranked_by(self) -> str:
        """What a ranking goes by: "score" where there are scores, "probability" where there are those, or nothing."""
        if self.pairs.scores is not None:
            return "score"
        return "probability" if self.pairs.probabilities is not None else ""

    def place(self, label: str | int) -> int:
        """The class of that name; -1 where these rows know none."""
        classes: tuple[str, ...] = self.pairs.classes
        return classes.index(str(label)) if str(label) in classes else -1

    def scores(self, place: int, kind: str) -> Array:
        """The score of one class; of two classes with one column, the other's is the complement.

        A class that these rows do not know has the lowest there is.
        """
        table = self.pairs.scores if kind == "score" else self.pairs.probabilities
        if place < 0:
            return np.full(len(self.truth), -np.inf if kind == "score" else 0.0)
        if place in table.classes:
            return np.ascontiguousarray(table.values[:, table.classes.index(place)])
        complement: Array = -table.values[:, 0] if kind == "score" else 1 - table.values[:, 0]
        return complement

    def matrix(self, kind: str) -> Array:
        """Scores of all classes: (rows, classes)."""
        table = self.pairs.scores if kind == "score" else self.pairs.probabilities
        if table.classes == tuple(range(self.classes)):
            values: Array = table.values
            return values
        columns = [self.scores(place, kind) for place in range(self.classes)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.truth), 0))

    def is_class(self, place: int) -> Array:
        """Whether each row's truth is the class, as 0 and 1."""
        if place < 0:
            return np.zeros(len(self.truth), dtype=np.uint8)
        is_class: Array = self.truth[:, place] if self.several else self.truth == place
        return np.ascontiguousarray(is_class, dtype=np.uint8)

    def at_least(self, place: int, threshold: float) -> Array:
        """Whether the class's score (or probability) reaches the threshold, as 0 and 1.

        Of two classes with one column, a row that does not reach it is of the other class.
        """
        table = self.pairs.scores if self.ranked_by == "score" else self.pairs.probabilities
        if place in table.classes:
            reached = table.values[:, table.classes.index(place)] >= threshold
        else:
            reached = table.values[:, 0] < threshold
        return np.ascontiguousarray(reached, dtype=np.uint8)

    def sums(self, values: Array) -> SumBlock:
        """A value of each row, times its weight, summed into its unit; with a column for each class where there are."""
        each = np.asarray(values, dtype=np.float64)
        if each.ndim == 1:
            return SumBlock(self._sum_by_unit(each))
        columns = [self._sum_by_unit(np.ascontiguousarray(column)) for column in each.T]
        return SumBlock(np.stack(columns, axis=1) if columns else np.zeros((self.units, 0)), "class")

    def _sum_by_unit(self, each: Array) -> Array:
        return np.bincount(
            self.owner, weights=each if self.weight is None else each * self.weight, minlength=self.units
        )

    def entries(self, row: Array, code: Array, size: int) -> Entries:
        """One entry for each code, with the owner and the weight of its row."""
        return Entries(
            np.ascontiguousarray(self.owner[row], dtype=np.int64),
            np.ascontiguousarray(code, dtype=np.int32 if size < 2**31 else np.int64),
            None if self.weight is None else np.ascontiguousarray(self.weight[row]),
            size,
        )


def rows_of(pairs: Any, cache: SharedCache) -> LabelRows:
    """The rows, made once."""
    return cache.once("label rows", lambda: LabelRows(pairs))


SMALLEST = float(np.finfo(np.float64).eps)


class RowSum(Sum):
    """Rows of a unit, by their weight: all, those that are right, those that are wrong."""

    name = "labels.rows"

    of: Literal["rows", "right", "wrong"] = "rows"

    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        """Where a row has several labels, all must be right."""
        rows = rows_of(pairs, cache)
        if self.of == "rows":
            if rows.weight is None:
                return SumBlock(np.bincount(rows.owner, minlength=rows.units).astype(np.float64))
            return SumBlock(np.bincount(rows.owner, weights=rows.weight, minlength=rows.units))
        equal: Array = rows.truth == rows.predicted_labels
        right = np.asarray(equal.all(axis=1)) if rows.several else equal
        return rows.sums(right if self.of == "right" else ~right)


class WeightedRows(Sum):
    """How many rows of a unit have a weight."""

    name = "labels.weighted_rows"

    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        rows = rows_of(pairs, cache)
        each = None if rows.weight is None else (rows.weight > 0).astype(np.float64)
        return SumBlock(np.bincount(rows.owner, weights=each, minlength=rows.units))


class TopHits(Sum):
    """Rows whose class is among the k with the highest scores."""

    name = "labels.top_hits"

    k: int = 5
    ties: Literal["first", "last"] = "first"

    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        """None where there is nothing to rank by, or a row has several labels."""
        rows = rows_of(pairs, cache)
        if rows.several or not rows.ranked_by:
            return SumBlock(np.zeros(rows.units))
        ranks: Array = cache.once(("ranks", self.ties), lambda: self._ranks(rows))
        return rows.sums(ranks < self.k)

    def _ranks(self, rows: LabelRows) -> Array:
        """How many classes come before the true one."""
        scores, truth = rows.matrix(rows.ranked_by), rows.truth
        own = scores[np.arange(len(truth)), truth][:, np.newaxis]
        place = np.arange(scores.shape[1])
        before = place < truth[:, np.newaxis] if self.ties == "first" else place > truth[:, np.newaxis]
        return np.asarray(((scores > own) | ((scores == own) & before)).sum(axis=1))


class ProbabilitySum(Sum):
    """Surprise at the truth, or squared distance from it: of a row's own class, or of one class against the others."""

    name = "labels.probability"

    of: Literal["surprise", "squared"] = "surprise"
    label: str | int | None = None

    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        """Where a row has several labels, only a single class has a value without its name."""
        rows = rows_of(pairs, cache)
        if pairs.probabilities is None:
            return SumBlock(np.zeros(rows.units))
        if self.label is not None:
            return rows.sums(of_class(rows, self.of, rows.place(self.label)))
        if rows.several:
            return rows.sums(of_class(rows, self.of, 0)) if rows.classes == 1 else SumBlock(np.zeros(rows.units))
        if self.of == "surprise":
            return rows.sums(_surprise(true_probability(rows)))
        matrix, own = rows.matrix("probability"), true_probability(rows)
        others = np.where(np.arange(matrix.shape[1]) == rows.truth[:, np.newaxis], 0.0, matrix)
        return rows.sums((others**2).sum(axis=1) + (1 - own) ** 2)


class ClassProbabilitySum(Sum):
    """The ranking of every class against the others."""

    name = "labels.probability_by_class"

    of: Literal["surprise", "squared"] = "surprise"

    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        rows = rows_of(pairs, cache)
        if pairs.probabilities is None or not rows.classes:
            return SumBlock(np.zeros((rows.units, rows.classes)), "class")
        return rows.sums(np.stack([of_class(rows, self.of, place) for place in range(rows.classes)], axis=1))


class NoChance(Sum):
    """How many rows of a unit give their true class no chance."""

    name = "labels.no_chance"
    drawn = False

    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        """Each counts 1, whatever its weight."""
        rows = rows_of(pairs, cache)
        if pairs.probabilities is None or rows.several:
            return SumBlock(np.zeros(rows.units))
        return SumBlock(np.bincount(rows.owner, weights=true_probability(rows) < SMALLEST, minlength=rows.units))


def true_probability(rows: LabelRows) -> Array:
    """The probability of each row's own class."""
    own: Array = rows.matrix("probability")[np.arange(len(rows.truth)), rows.truth]
    return own


def of_class(rows: LabelRows, of: str, place: int) -> Array:
    """Surprise or squared distance of each row, for one class against the others."""
    p, is_class = rows.scores(place, "probability"), rows.is_class(place)
    if of == "squared":
        return np.asarray((p - is_class) ** 2)
    return _surprise(np.where(is_class > 0, p, 1 - p))


def _surprise(p: Array) -> Array:
    return np.asarray(np.abs(-np.log(np.clip(p, SMALLEST, 1.0))))


class ClassCounts(Cells):
    """True positives, false negatives and false positives of every class.

    With `threshold` labels are not looked at: a row is of the class whose score, or else probability, is at least that.
    Where the predictions hold no labels, every row is a false negative: the rows of each class.
    """

    name = "labels.counts"

    threshold: float | None = None

    def measure(self, pairs: Any, cache: SharedCache) -> CellsBlock:
        rows, axes = rows_of(pairs, cache), (3, "class")
        if pairs.aggregated is not None and self.threshold is None:
            matrix = pairs.aggregated.matrix
            return DistinctCells(axes, lambda: _label_entries(rows), lambda: _margins(matrix))
        if self.threshold is None:
            return CellsBlock(axes, _label_entries(rows))
        if not rows.ranked_by or not rows.classes:
            none = np.zeros(0, np.int64)
            return CellsBlock(axes, rows.entries(none, none, 3 * rows.classes))
        places = range(rows.classes)
        truth = np.stack([rows.is_class(place) for place in places], axis=1)
        predicted = np.stack([rows.at_least(place, self.threshold) for place in places], axis=1)
        return CellsBlock(axes, _indicator_entries(rows, truth, predicted))


def _margins(matrix: Array) -> Floats:
    """Counts of every class from the confusion matrix of all rows."""
    hits = np.diagonal(matrix)
    return np.stack([hits, matrix.sum(axis=1) - hits, matrix.sum(axis=0) - hits]).astype(np.float64)


def _label_entries(rows: LabelRows) -> Entries:
    truth, predicted, classes = rows.truth, rows.predicted_labels, rows.classes
    if rows.several:
        return _indicator_entries(rows, truth, predicted)
    right = truth == predicted
    pairs = np.empty((len(truth), 2), dtype=np.int64)
    pairs[:, 0] = np.where(right, truth, truth + classes)
    pairs[:, 1] = np.where(right | (predicted < 0), -1, predicted + 2 * classes)
    flat = np.flatnonzero(pairs.ravel() >= 0)
    return rows.entries(flat // 2, pairs.ravel()[flat], 3 * classes)


def _indicator_entries(rows: LabelRows, truth: Array, predicted: Array) -> Entries:
    """Entries of 0 and 1 by row and class."""
    classes = truth.shape[1]
    row, place = np.nonzero(truth | predicted)
    is_true, is_predicted = truth[row, place] > 0, predicted[row, place] > 0
    code = place + np.where(is_true & is_predicted, 0, np.where(is_true, classes, 2 * classes))
    return rows.entries(row, code, 3 * classes)


class Present(RankingReader):
    """The totals of counts or sums where every weight above 0 counts as 1: whole numbers, without rounding."""

    def read(self, block: Any, weights: Weights, metadata: Metadata) -> Any:
        if isinstance(block, SumBlock):
            return block.total(weights.present(), metadata)
        e = block.entries
        value = None if e.value is None else (e.value > 0).astype(np.float64)
        counts = CellsBlock(block.axes, Entries(e.owner, e.code, value, e.size))
        return counts.total(weights.present(), metadata)


class Confusion(Cells):
    """Rows by their two labels. One without a prediction stands beside them, by its own label."""

    name = "labels.confusion"
    distinct = True

    def measure(self, pairs: Any, cache: SharedCache) -> CellsBlock:
        """One entry for each row; none where a row has several labels."""
        rows, axes = rows_of(pairs, cache), (2, "class", "class")
        if pairs.aggregated is None:
            return CellsBlock(axes, _cell_entries(rows))
        matrix = pairs.aggregated.matrix
        return DistinctCells(
            axes, lambda: _cell_entries(rows), lambda: np.stack([matrix, np.zeros_like(matrix)]).astype(np.float64)
        )


def _cell_entries(rows: LabelRows) -> Entries:
    size = rows.classes**2
    if rows.several:
        none = np.zeros(0, np.int64)
        return rows.entries(none, none, 2 * size)
    truth, predicted = rows.truth.astype(np.int64), rows.predicted_labels
    lacking = predicted < 0
    cells = truth * rows.classes + np.where(lacking, truth + size, predicted)
    return rows.entries(np.arange(len(cells)), cells, 2 * size)


class LabelDistance(RankingReader):
    """How far apart the two labels of each row are in the order of all classes, or the square of that, added up.

    Where a row has no prediction, it counts as one place before the first class.
    """

    squared: bool = False

    def read(self, block: Any, weights: Weights, metadata: Metadata) -> Floats:
        e, classes = block.entries, metadata.size("class")
        lacking, cell = np.divmod(e.code.astype(np.int64), classes**2)
        truth, predicted = np.divmod(cell, classes)
        gap = np.abs(truth - np.where(lacking, -1, predicted)).astype(np.float64)
        each = gap**2 if self.squared else gap
        value = each if e.value is None else each * e.value
        return weights @ np.bincount(e.owner, weights=value, minlength=weights.units)


class ConfidenceBins(Cells):
    """Sums by bin of confidence: rows that are right, confidence, rows. Of the given label, or of one class.

    Bins are of equal width; one holds its upper edge and not its lower, the first also 0.
    """

    name = "labels.bins"

    bins: int = 15
    label: str | int | None = None

    def measure(self, pairs: Any, cache: SharedCache) -> CellsBlock:
        """Where a row has several labels, only a single class has bins without its name."""
        rows = rows_of(pairs, cache)
        return CellsBlock((3, self.bins), _bin_entries(rows, _confidences(pairs, rows, self.label), self.bins))


class ClassBins(Cells):
    """The sums by bin for every class's own probability."""

    name = "labels.bins_by_class"

    bins: int = 15

    def measure(self, pairs: Any, cache: SharedCache) -> CellsBlock:
        rows = rows_of(pairs, cache)
        entries = _bin_entries(rows, _class_confidences(pairs, rows), self.bins, rows.classes)
        return CellsBlock(("class", 3, self.bins), entries)


class SquaredGaps(Cells):
    """The sum by bin of the square of how far a row's confidence is from whether it is right, for debiasing."""

    name = "labels.squared_gaps"

    bins: int = 15
    label: str | int | None = None

    def measure(self, pairs: Any, cache: SharedCache) -> CellsBlock:
        """In the bins of `ConfidenceBins`."""
        rows = rows_of(pairs, cache)
        return CellsBlock((self.bins,), _gap_entries(rows, _confidences(pairs, rows, self.label), self.bins))


class ClassSquaredGaps(Cells):
    """The squared gaps by bin for every class's own probability."""

    name = "labels.squared_gaps_by_class"

    bins: int = 15

    def measure(self, pairs: Any, cache: SharedCache) -> CellsBlock:
        """In the bins of `ClassBins`."""
        rows = rows_of(pairs, cache)
        entries = _gap_entries(rows, _class_confidences(pairs, rows), self.bins, rows.classes)
        return CellsBlock(("class", self.bins), entries)


def _confidences(pairs: Any, rows: LabelRows, label: str | int | None) -> list[tuple[Array, Array]]:
    """Confidence of each row, and whether it is right: of the given label, or of one class. Empty without bins."""
    if pairs.probabilities is None or (rows.several and label is None and rows.classes != 1):
        return []
    if label is None and not rows.several:
        matrix = rows.matrix("probability")
        return [(matrix.max(axis=1), (matrix.argmax(axis=1) == rows.truth).astype(np.float64))]
    return [_of_class(rows, 0 if label is None else rows.place(label))]


def _class_confidences(pairs: Any, rows: LabelRows) -> list[tuple[Array, Array]]:
    return [_of_class(rows, place) for place in range(0 if pairs.probabilities is None else rows.classes)]


def _of_class(rows: LabelRows, place: int) -> tuple[Array, Array]:
    return rows.scores(place, "probability"), rows.is_class(place).astype(np.float64)


def _bin_entries(rows: LabelRows, pairs: list[tuple[Array, Array]], bins: int, groups: int = 1) -> Entries:
    """Three entries for each row and each pair of confidence and whether it is right."""
    each = np.ones(len(rows.owner)) if rows.weight is None else rows.weight
    codes, values = [], []
    for group, (confidence, right) in enumerate(pairs):
        code = _bin_of(confidence, bins) + 3 * bins * group
        codes += [code, code + bins, code + 2 * bins]
        values += [right * each, confidence * each, each]
    return _stack_entries(rows, codes, values, 3 * bins * groups)


def _gap_entries(rows: LabelRows, pairs: list[tuple[Array, Array]], bins: int, groups: int = 1) -> Entries:
    """One entry for each row and each pair of confidence and whether it is right."""
    each = np.ones(len(rows.owner)) if rows.weight is None else rows.weight
    codes = [_bin_of(confidence, bins) + bins * group for group, (confidence, _) in enumerate(pairs)]
    return _stack_entries(rows, codes, [(right - confidence) ** 2 * each for confidence, right in pairs], bins * groups)


def _bin_of(confidence: Array, bins: int) -> Array:
    return np.asarray(np.searchsorted(np.linspace(0.0, 1.0, bins + 1)[1:-1], confidence))


def _stack_entries(rows: LabelRows, codes: list[Array], values: list[Array], size: int) -> Entries:
    """Entries of each row, one after the other."""
    if not codes:
        return Entries(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0), size)
    return Entries(
        np.ascontiguousarray(np.repeat(rows.owner, len(codes)), dtype=np.int64),
        np.stack(codes, axis=1).ravel().astype(np.int32 if size < 2**31 else np.int64),
        np.ascontiguousarray(np.stack(values, axis=1).ravel()),
        size,
    )
