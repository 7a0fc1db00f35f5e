"""Weighted counts by class, and the base of the metrics that are made of them.

Conventions: for a class, `TP` rows have it on both sides, `FN` only in the truth, `FP` only in the prediction, `TN` on
neither; each row counts with the weight of its unit times its own. A class that stands on neither side (TP = FP =
FN = 0) is absent.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from steelyard.core.errors import InvalidSpec, UnknownName, nearest
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric, UnitClasses
from steelyard.core.pairs import Array
from steelyard.core.plan import COUNT, POINT
from steelyard.core.state import Totals, TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Entries, Floats, ratio
from steelyard.tasks.labels.statistics import ClassCounts, Present, RowSum, WeightedRows

if TYPE_CHECKING:
    from steelyard.core.state import State

INFINITY = float("inf")
NO_LABELS = "the predictions hold scores and no labels"
NO_SCORES = "the predictions hold labels and no scores"
ROWS = RowSum("rows")


def holds(metadata: Metadata, what: str) -> bool:
    """Whether the predictions hold "labels", "ranked" (scores or probabilities) or "probability"."""
    return any(hold.partition(":")[0] == what for hold in metadata.holds)


def several(metadata: Metadata) -> bool:
    """Whether a row may have several labels."""
    return bool(metadata.flags.get("several labels"))


def classes_of(metadata: Metadata) -> tuple[str, ...]:
    """Names of the classes."""
    classes: tuple[str, ...] = metadata.axes["class"].ids
    return classes


def positive(metadata: Metadata) -> int:
    """The class that is positive: the one that alone has scores, or the last of two; -1 where there is none."""
    classes = classes_of(metadata)
    named = [hold.partition(":")[2] for hold in metadata.holds if hold.startswith("positive:")]
    if named:
        return classes.index(named[0])
    return len(classes) - 1 if not several(metadata) and 0 < len(classes) <= 2 else -1


class Counts:
    """True and false positives and negatives: (rows of weights,) or (rows, classes); `tn` is made when it is needed."""

    def __init__(self, tp: Floats, fp: Floats, fn: Floats, tn: Callable[[], Floats]) -> None:
        self.tp, self.fp, self.fn, self._tn = tp, fp, fn, tn

    @cached_property
    def tn(self) -> Floats:
        """True negatives."""
        return self._tn()

    @property
    def present(self) -> Array:
        """Where the class stands on at least one side."""
        return self.tp + self.fp + self.fn > 0

    def of(self, place: int) -> Counts:
        """One class."""
        return Counts(self.tp[:, place], self.fp[:, place], self.fn[:, place], lambda: self.tn[:, place])

    def pool_classes(self) -> Counts:
        """All classes together."""
        return Counts(self.tp.sum(axis=1), self.fp.sum(axis=1), self.fn.sum(axis=1), lambda: self.tn.sum(axis=1))


def count_needs(threshold: float | None = None, *, negatives: bool = False) -> tuple[Requirement, ...]:
    """What `class_counts` reads; `negatives` where true negatives are looked at."""
    counts = ClassCounts(threshold)
    return (counts, ROWS, Present(counts), Present(WeightedRows())) if negatives else (counts,)


def class_counts(totals: TotalsView | Totals, threshold: float | None = None) -> Counts:
    """Counts of every class, for each row of weights; with a threshold, a row is of each class that scores as much."""
    statistic = ClassCounts(threshold)
    cells = totals[statistic]
    tp, fn, fp = cells[:, 0], cells[:, 1], cells[:, 2]

    def negatives() -> Floats:
        # Where a row has one label, its class has it as TP or FN: no other pass is needed to count rows.
        rows = totals[ROWS] if several(totals.metadata) else (tp + fn).sum(axis=1)
        tn: Floats = np.maximum(rows[:, np.newaxis] - tp - fp - fn, 0.0)
        if (cells == np.floor(cells)).all() and (rows == np.floor(rows)).all():
            return tn
        # A difference of sums keeps what rounding left: count the rows instead.
        return np.where(_some_left(totals, statistic), tn, 0.0)

    return Counts(tp, fp, fn, negatives)


def _some_left(totals: TotalsView | Totals, statistic: ClassCounts) -> Array:
    """Where a class has a true negative with a weight: the same counts, with 1 for every weight above 0."""
    cells = totals[Present(statistic)]
    tp, fn, fp = cells[:, 0], cells[:, 1], cells[:, 2]
    rows = totals[Present(WeightedRows())] if several(totals.metadata) else (tp + fn).sum(axis=1)
    return np.asarray(rows[:, np.newaxis] - tp - fp - fn > 0.5)


def class_units(
    state: State, threshold: float | None, fraction: Callable[[Counts], Any], *, pooled: bool = False
) -> Floats | None:
    """How many units, or clusters, stand behind each class, or all together, in a proportion without true negatives."""
    tp, fn, fp = np.eye(3)
    stands = tuple(np.flatnonzero(fraction(Counts(tp, fp, fn, lambda: np.zeros(3)))[1] > 0).tolist())
    key = "class units", threshold, stands, pooled
    return state.once(key, lambda: _class_units(state, ClassCounts(threshold), stands, pooled))


def _class_units(state: State, statistic: ClassCounts, stands: tuple[int, ...], pooled: bool) -> Floats | None:
    """Those with a true positive, a false negative or a false positive of the class, as `stands` says."""
    if state.units.deduplicated and not pooled:  # a kind is one row
        return np.asarray(state.totals(POINT)[statistic][0, list(stands)].sum(axis=0))
    entries: Entries | None = getattr(state.blocks[statistic], "entries", None)
    if entries is None:
        return None
    kind, place = np.divmod(entries.code.astype(np.int64), entries.size // 3)
    some = np.isin(kind, stands)
    if entries.value is not None:
        some &= entries.value > 0
    if pooled:
        return state.units.behind(entries.owner[some], np.zeros(np.count_nonzero(some), dtype=np.int64), 1)
    return state.units.behind(entries.owner[some], place[some], entries.size // 3)


def _on_either_side(counts: Counts) -> tuple[Floats, Floats]:
    """Rows that have the class on both sides, of those that have it on one."""
    return counts.tp, counts.tp + counts.fp + counts.fn


def class_truth(state: State, threshold: float | None = None) -> Array | None:
    """Whether the truth has each class; None where no counts by class are kept."""
    statistic = ClassCounts(threshold)
    if statistic not in state.blocks:
        return None
    cells = state.totals(POINT)[statistic][0]
    return np.asarray(cells[0] + cells[1] > 0)


def true_classes(state: State, threshold: float | None = None, place: int | None = None) -> UnitClasses | None:
    """The true classes of the units, or whether they hold the class at `place`; None where entries lie elsewhere."""
    entries: Entries | None = getattr(state.blocks[ClassCounts(threshold)], "entries", None)
    if entries is None:
        return None
    kind, code = np.divmod(entries.code.astype(np.int64), entries.size // 3)
    owner, code = entries.owner[kind < 2], code[kind < 2]  # true positives and false negatives
    if place is None:
        return UnitClasses(owner, code, classes_of(state.metadata))
    held = code == place
    if several(state.metadata):
        owner = owner[held]
        others = np.setdiff1d(np.arange(len(state)), owner)
        held, owner = np.arange(len(owner) + len(others)) < len(owner), np.concatenate([owner, others])
    return UnitClasses(owner, held.astype(np.int64))


def class_support(totals: TotalsView) -> Floats:
    """Weighted rows whose truth is each class: (rows, classes)."""
    cells = totals[ClassCounts()]
    return np.asarray(cells[:, 0] + cells[:, 1])


def place_of(metric: Metric, label: str | int | None, metadata: Metadata) -> int:
    """The class that a metric is asked of: the named one, or the positive one of two; -1 where there is none."""
    if label is None:
        return positive(metadata)
    classes = classes_of(metadata)
    if str(label) not in classes:
        raise UnknownName(f"metric '{metric}': there is no class '{label}'", remedy=nearest(str(label), classes))
    return classes.index(str(label))


def which_class(metric: Metric, metadata: Metadata) -> str:
    """The reason why a metric of one class has no number where none is named."""
    classes = classes_of(metadata)
    number = "a row may have several labels" if several(metadata) else f"there are {len(classes)} classes"
    example = str(classes[0]) if classes else "CLASS"
    return f"{number}: name one, {metric.name}(label={example}), or wrap it, macro({metric.name})"


class PerClass(Metric):
    """Base of the metrics that a class has: with `label` that class's, against all others.

    Without it, the metric of all classes together where there is one (`has_overall`), else that of the positive class
    of two. The wrappers `macro`, `weighted`, `micro` and `per_class` take any of these.
    """

    range = (0.0, 1.0)

    only: str | int | None = field(default=None, metadata={"spec": "label"})

    @property
    def label(self) -> str:
        return self.title if self.only is None else f"{self.title} of '{self.only}'"

    @abstractmethod
    def class_needs(self) -> tuple[Requirement, ...]:
        """What `each` reads."""

    def pooled_needs(self) -> tuple[Requirement, ...]:
        """What `pooled_value` reads."""
        return ()

    @abstractmethod
    def lacks(self, metadata: Metadata) -> str:
        """What the data would have to hold; empty where they do."""

    @abstractmethod
    def of(self, totals: TotalsView, place: int) -> Floats:
        """The value of one class: the named or the positive one."""

    @abstractmethod
    def each(self, totals: TotalsView) -> Floats:
        """The values of all classes: (rows, classes)."""

    def class_units(self, state: State, *, undefined: str = "skip") -> Floats | None:
        """How many units, or clusters, the value of each class rests on: all of them."""
        return np.full(state.metadata.size("class"), float(state.units.n_resampled))

    def class_truth(self, state: State) -> Array | None:
        return class_truth(state)

    def pooled_value(self, totals: TotalsView) -> Floats:
        """The value of all classes' decisions in one."""
        raise InvalidSpec(f"metric '{self.name}' has no micro average", remedy=f"Use macro({self.name}).")

    def has_overall(self, metadata: Metadata) -> bool:
        """Whether there is a value of all classes together."""
        return False

    def overall(self, totals: TotalsView) -> Floats:
        """The value of all classes together."""
        raise TypeError(f"'{self.name}' is of one class")

    def reduce(self, totals: TotalsView) -> Floats:
        if self.lacks(totals.metadata):
            return self.undefined_rows(totals)
        if self.only is None and self.has_overall(totals.metadata):
            return self.overall(totals)
        place = place_of(self, self.only, totals.metadata)
        return self.undefined_rows(totals) if place < 0 else self.of(totals, place)

    def undefined_rows(self, totals: TotalsView) -> Floats:
        """No number, for each row of weights."""
        return np.full(totals.rows, np.nan)

    def undefined_reason(self, totals: TotalsView) -> str:
        metadata = totals.metadata
        lacking = self.lacks(metadata)
        if lacking:
            return lacking
        if place_of(self, self.only, metadata) < 0 and not self.has_overall(metadata):
            return which_class(self, metadata)
        return super().undefined_reason(totals)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        place = positive(totals.metadata)
        if self.only is not None or place < 0 or self.has_overall(totals.metadata):
            return ()
        return (f"The positive class is '{classes_of(totals.metadata)[place]}'.",)


class CountMetric(PerClass):
    """Base of the metrics that are a formula of a class's counts.

    With `threshold` labels are not looked at: a row is of the class whose score, or else probability, is at least that.
    """

    negatives: ClassVar[bool] = False  # whether the formula has true negatives

    threshold: Annotated[float, Between(-INFINITY)] | None = None

    @abstractmethod
    def value(self, counts: Counts) -> Floats:
        """The formula, for counts of any shape; nan where undefined."""

    @property
    def label(self) -> str:
        return super().label if self.threshold is None else f"{super().label} at a score of {self.threshold:g}"

    @property
    def limit(self) -> float | None:
        """The threshold as a number."""
        return None if self.threshold is None else float(self.threshold)

    def requirements(self) -> tuple[Requirement, ...]:
        return count_needs(self.limit, negatives=self.negatives)

    def class_needs(self) -> tuple[Requirement, ...]:
        return count_needs(self.limit, negatives=self.negatives)

    def pooled_needs(self) -> tuple[Requirement, ...]:
        return self.class_needs()

    def lacks(self, metadata: Metadata) -> str:
        if self.threshold is not None:
            return "" if holds(metadata, "ranked") else NO_SCORES
        return "" if holds(metadata, "labels") else NO_LABELS

    def fraction(self, counts: Counts) -> tuple[Floats, Floats] | None:
        """What counts, and of how much, where the formula is one proportion."""
        return None

    def counts(self, totals: TotalsView) -> Counts:
        """Counts of every class, by labels or by the threshold."""
        return class_counts(totals, self.limit)

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats] | None:
        metadata = totals.metadata
        if self.lacks(metadata) or (self.only is None and self.has_overall(metadata)):
            return None
        place = place_of(self, self.only, metadata)
        return None if place < 0 else self.fraction(self.counts(totals).of(place))

    def part_units(self, state: State) -> Floats | None:
        metadata = state.metadata
        if self.negatives or (self.only is None and self.has_overall(metadata)):
            return None
        units, place = class_units(state, self.limit, self.fraction), place_of(self, self.only, metadata)
        return None if units is None else units[[place]]

    def class_units(self, state: State, *, undefined: str = "skip") -> Floats | None:
        return class_units(state, self.limit, _on_either_side)

    def class_truth(self, state: State) -> Array | None:
        return class_truth(state, self.limit)

    def of(self, totals: TotalsView, place: int) -> Floats:
        return self.value(self.counts(totals).of(place))

    def each(self, totals: TotalsView) -> Floats:
        return self.value(self.counts(totals))

    def pooled_value(self, totals: TotalsView) -> Floats:
        return self.value(self.counts(totals).pool_classes())


class ProportionMetric(CountMetric):
    """Base of the metrics of counts that are one proportion."""

    @abstractmethod
    def fraction(self, counts: Counts) -> tuple[Floats, Floats]:
        """What counts, and of how much."""

    def class_units(self, state: State, *, undefined: str = "skip") -> Floats | None:
        """Those with a row that the proportion counts; with true negatives, as many as it counts rows and at most all.

        Where an undefined proportion is 0, those with a row that has the class on either side.
        """
        if undefined == "zero":
            return super().class_units(state)
        if not self.negatives:
            return class_units(state, self.limit, self.fraction)
        entries: Entries | None = getattr(state.blocks[ClassCounts(self.limit)], "entries", None)
        if entries is not None and entries.value is not None:  # what rows weigh does not say how many they are
            return None
        rows = self.fraction(class_counts(state.totals(COUNT), self.limit))[1][0]
        return np.asarray(np.minimum(rows, state.units.n_resampled))

    def value(self, counts: Counts) -> Floats:
        return ratio(*self.fraction(counts))
