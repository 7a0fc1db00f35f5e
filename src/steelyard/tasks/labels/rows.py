"""Rows of labels as they are measured: codes of both sides, scores by class, and the unit that each row belongs to."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache
from steelyard.core.weights import Entries


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
        owner: Array = self.pairs.owned[1] if self.pairs.aggregated is None else np.arange(self.units)
        return owner

    @cached_property
    def alone(self) -> bool:
        """Whether row i is unit i's only one."""
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
        truth: Array = self.pairs.coded.truth if self.pairs.aggregated is None else self._sides[0]
        return truth

    @cached_property
    def predicted(self) -> Array:
        """The labels that were predicted; none where there are scores only."""
        if self.pairs.aggregated is not None:
            return self._sides[1]
        given: Array | None = self.pairs.predicted
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
        given = self.pairs.scores if kind == "score" else self.pairs.probabilities
        if place < 0:
            return np.full(len(self.truth), -np.inf if kind == "score" else 0.0)
        if place in given.classes:
            return np.ascontiguousarray(given.values[:, given.classes.index(place)])
        complement: Array = -given.values[:, 0] if kind == "score" else 1 - given.values[:, 0]
        return complement

    def matrix(self, kind: str) -> Array:
        """Scores of all classes: (rows, classes)."""
        given = self.pairs.scores if kind == "score" else self.pairs.probabilities
        if given.classes == tuple(range(self.classes)):
            values: Array = given.values
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
        given = self.pairs.scores if self.ranked_by == "score" else self.pairs.probabilities
        if place in given.classes:
            reached = given.values[:, given.classes.index(place)] >= threshold
        else:
            reached = given.values[:, 0] < threshold
        return np.ascontiguousarray(reached, dtype=np.uint8)

    def sums(self, values: Array) -> SumBlock:
        """A value of each row, times its weight, summed into its unit; with a column for each class where there are."""
        each = np.asarray(values, dtype=np.float64)
        if each.ndim == 1:
            return SumBlock(self._summed(each))
        columns = [self._summed(np.ascontiguousarray(column)) for column in each.T]
        return SumBlock(np.stack(columns, axis=1) if columns else np.zeros((self.units, 0)), "class")

    def _summed(self, each: Array) -> Array:
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
