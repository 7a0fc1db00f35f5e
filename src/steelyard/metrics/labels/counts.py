"""Weighted counts by class, and the base of the metrics that are made of them.

Conventions: for a class, `TP` rows have it on both sides, `FN` only in the truth, `FP` only in the prediction, `TN` on
neither; each row counts with the weight of its unit times its own. A class that stands on neither side (TP = FP =
FN = 0) is absent.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import field

import numpy as np

from steelyard.core.errors import InputError, nearest
from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.metric import within_range
from steelyard.core.pairs import Array
from steelyard.core.stats import Stats
from steelyard.core.weights import Entries, Floats, LeaveOneOut, Plain, Weights
from steelyard.metrics.labels.scores import NO_SCORES, at_least, has_scores, is_class

_HELD = 1 << 23  # numbers that one part of the weights may give
INFINITY = float("inf")
MATRIX = "confusion matrix"  # what stats that count cells hold
NO_LABELS = "the predictions hold scores and no labels"


@frozen
class Counts:
    """True and false positives and negatives: (rows of weights,) or (rows, classes)."""

    tp: Floats
    fp: Floats
    fn: Floats
    tn: Floats

    @property
    def present(self) -> Array:
        """Where the class stands on at least one side."""
        return self.tp + self.fp + self.fn > 0

    def of(self, place: int) -> Counts:
        """One class."""
        return Counts(self.tp[:, place], self.fp[:, place], self.fn[:, place], self.tn[:, place])

    def pooled(self) -> Counts:
        """All classes together."""
        return Counts(self.tp.sum(axis=1), self.fp.sum(axis=1), self.fn.sum(axis=1), self.tn.sum(axis=1))


def class_counts(stats: Stats, weights: Weights, threshold: float | None = None) -> Counts:
    """Counts of every class, for each row of weights; with a threshold, a row is of each class that scores as much."""
    classes = len(stats.facts["classes"])
    matrix = stats.held(MATRIX)
    if isinstance(weights, Plain) and weights.whole and matrix is not None and threshold is None:
        return stats.derived("counts", lambda: _matrix_counts(matrix))
    key = "entries" if threshold is None else ("entries", threshold)
    entries = stats.derived(key, lambda: _entries(stats) if threshold is None else _decisions(stats, threshold))
    tp, fn, fp = np.split(weights.scatter(entries), (classes, 2 * classes), axis=1)
    # Where a row has one label, its class has it as TP or FN: no other pass is needed to count rows.
    rows = weights @ stats["rows"] if stats.facts["several"] else (tp + fn).sum(axis=1)
    tn = np.maximum(rows[:, np.newaxis] - tp - fp - fn, 0.0)
    if not _is_whole(entries, weights):  # a difference of sums keeps what rounding left: count the rows instead
        tn = np.where(_some_left(stats, weights, entries, key), tn, 0.0)
    return Counts(tp, fp, fn, tn)


def _is_whole(entries: Entries, weights: Weights) -> bool:
    """Whether all that is added up are whole numbers, whose sums are exact."""
    if entries.value is not None:
        return False
    base = weights.array if isinstance(weights, Plain) else getattr(weights, "base", None)
    return base is None or bool((base == np.floor(base)).all())


def _some_left(stats: Stats, weights: Weights, entries: Entries, key: object) -> Array:
    """Where a class has a true negative with a weight: the same counts, with 1 for every weight above 0."""
    classes = len(stats.facts["classes"])
    if isinstance(weights, Plain):
        weights = Plain((weights.array > 0).astype(np.float64))
    elif isinstance(weights, LeaveOneOut):
        weights = LeaveOneOut((weights.base > 0).astype(np.float64))
    if entries.value is not None:
        above = (entries.value > 0).astype(np.float64)
        entries = stats.derived(("above 0", key), lambda: Entries(entries.owner, entries.code, above, entries.size))
    tp, fn, fp = np.split(weights.scatter(entries), (classes, 2 * classes), axis=1)
    if stats.facts["several"]:
        rows = weights @ stats.per_unit("rows above 0", lambda: _rows_above_zero(stats))
    else:
        rows = (tp + fn).sum(axis=1)
    return rows[:, np.newaxis] - tp - fp - fn > 0.5


def _rows_above_zero(stats: Stats) -> Array:
    weight = stats.events.get("weight")
    return stats.sum_events(np.ones(len(stats.owner)) if weight is None else weight > 0)


def _matrix_counts(matrix: Array) -> Counts:
    """Counts of every class from the confusion matrix of the whole."""
    tp, truth, predicted = np.diagonal(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    parts = (tp, predicted - tp, truth - tp, matrix.sum() - truth - predicted + tp)
    return Counts(*(part.astype(np.float64)[np.newaxis] for part in parts))


def _entries(stats: Stats) -> Entries:
    """An entry for each true and false positive and each false negative of a row: codes k, 2K + k and K + k."""
    truth, predicted, classes = stats.events["truth"], stats.events["predicted"], len(stats.facts["classes"])
    if stats.facts["several"]:
        return _both_sides(stats, truth, predicted)
    right = truth == predicted
    pairs = np.empty((len(truth), 2), dtype=np.int64)
    pairs[:, 0] = np.where(right, truth, truth + classes)
    pairs[:, 1] = np.where(right | (predicted < 0), -1, predicted + 2 * classes)
    flat = np.flatnonzero(pairs.ravel() >= 0)
    return _at_rows(stats, flat // 2, pairs.ravel()[flat], 3 * classes)


def _decisions(stats: Stats, threshold: float) -> Entries:
    """The same where a row is decided to be of each class whose score reaches the threshold."""
    places = range(len(stats.facts["classes"]))
    if not len(places):
        return _at_rows(stats, np.zeros(0, np.int64), np.zeros(0, np.int64), 0)
    truth = np.stack([is_class(stats, place) for place in places], axis=1)
    predicted = np.stack([at_least(stats, place, threshold) for place in places], axis=1)
    return _both_sides(stats, truth, predicted)


def _both_sides(stats: Stats, truth: Array, predicted: Array) -> Entries:
    """Entries of 0 and 1 by row and class."""
    classes = truth.shape[1]
    row, place = np.nonzero(truth | predicted)
    is_true, is_predicted = truth[row, place] > 0, predicted[row, place] > 0
    code = place + np.where(is_true & is_predicted, 0, np.where(is_true, classes, 2 * classes))
    return _at_rows(stats, row, code, 3 * classes)


def _at_rows(stats: Stats, row: Array, code: Array, size: int) -> Entries:
    """One entry for each code, with the owner and the weight of its row."""
    weight = stats.events.get("weight")
    return Entries(
        np.ascontiguousarray(stats.owner[row], dtype=np.int64),
        np.ascontiguousarray(code, dtype=np.int32),
        None if weight is None else np.ascontiguousarray(weight[row]),
        size,
    )


def row_sums(stats: Stats, key: object, values: Callable[[], Array]) -> Array:
    """A dense column: a value of each row, times its weight, summed into its unit. Made once."""

    def make() -> Array:
        weight = stats.events.get("weight")
        each = np.asarray(values(), dtype=np.float64)
        return stats.sum_events(each if weight is None else each * weight)

    return stats.per_unit(key, make)


def in_parts(stats: Stats, weights: Weights, value: Callable[[Weights], Floats]) -> Floats:
    """The value for each row of weights, so many rows at a time that counts by class can be held."""
    most = max(1, _HELD // max(1, 3 * len(stats.facts["classes"])))
    parts = [value(part) for part in weights.parts(most)]
    return np.concatenate(parts) if parts else np.zeros(0)


def place_of(metric: Metric, label: str | int | None, stats: Stats) -> int:
    """The class that a metric is asked of: the named one, or the positive one of two; -1 where there is none."""
    classes: tuple[str, ...] = stats.facts["classes"]
    if label is None:
        return int(stats.facts["positive"])
    if str(label) not in classes:
        raise InputError(f"metric '{metric}': there is no class '{label}'", remedy=nearest(str(label), classes))
    return classes.index(str(label))


def undefined(weights: Weights) -> Floats:
    """No number, for each row of weights."""
    return np.full(weights.rows, np.nan)


def which_class(metric: Metric, stats: Stats) -> str:
    """The reason why a metric of one class has no number where none is named."""
    classes = stats.facts["classes"]
    number = "a row may have several labels" if stats.facts["several"] else f"there are {len(classes)} classes"
    example = str(classes[0]) if classes else "CLASS"
    return f"{number}: name one, {metric.name}(label={example}), or wrap it, macro({metric.name})"


@frozen
class PerClass(Metric):
    """Base of the metrics that a class has: with `label` that class's, against all others.

    Without it, the metric of all classes together where there is one (`overall`), else that of the positive class of
    two. The wrappers `macro`, `weighted`, `micro` and `per_class` take any of these.
    """

    only: str | int | None = field(default=None, metadata={"spec": "label"})

    @property
    def label(self) -> str:
        """Name the class."""
        return self.title if self.only is None else f"{self.title} of '{self.only}'"

    @abstractmethod
    def lacks(self, stats: Stats) -> str:
        """What the data would have to hold; empty where they do."""

    @abstractmethod
    def of(self, stats: Stats, weights: Weights, place: int) -> Floats:
        """The value of one class."""

    def each(self, stats: Stats, weights: Weights) -> Floats:
        """The values of all classes: (rows, classes)."""
        values = [self.of(stats, weights, place) for place in range(len(stats.facts["classes"]))]
        return np.stack(values, axis=1) if values else np.zeros((weights.rows, 0))

    def pooled(self, stats: Stats, weights: Weights) -> Floats:
        """The value of all classes' decisions in one."""
        raise InputError(f"metric '{self.name}' has no micro average", remedy=f"Use macro({self.name}).")

    def overall(self, stats: Stats, weights: Weights) -> Floats | None:
        """The value of all classes together, where the metric has such a form."""
        return None

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """The value of the one class, or of all together."""
        if self.lacks(stats):
            return undefined(weights)
        if self.only is None:
            together = self.overall(stats, weights)
            if together is not None:
                return together
        place = place_of(self, self.only, stats)
        return undefined(weights) if place < 0 else self.of(stats, weights, place)

    def why(self, stats: Stats, weights: Weights) -> str:
        """Say what lacks: labels, the name of a class, or rows of it."""
        lacking = self.lacks(stats)
        if lacking:
            return lacking
        if place_of(self, self.only, stats) < 0 and self.overall(stats, weights) is None:
            return which_class(self, stats)
        return super().why(stats, weights)

    def notes(self, stats: Stats, weights: Weights) -> tuple[str, ...]:
        """Say which class was taken for the positive one."""
        if self.only is not None or stats.facts["positive"] < 0 or self.overall(stats, weights) is not None:
            return ()
        return (f"The positive class is '{stats.facts['classes'][stats.facts['positive']]}'.",)


@frozen
class CountMetric(PerClass):
    """Base of the metrics that are a formula of a class's counts.

    With `threshold` labels are not looked at: a row is of the class whose score, or else probability, is at least that.
    """

    threshold: float | None = None

    @abstractmethod
    def value(self, counts: Counts) -> Floats:
        """The formula, for counts of any shape; nan where undefined."""

    def check(self) -> None:
        """Check that the threshold is a number."""
        if self.threshold is not None:
            within_range(self, "threshold", -INFINITY, INFINITY)

    @property
    def label(self) -> str:
        """Name the class, and the threshold."""
        return super().label if self.threshold is None else f"{super().label} at a score of {self.threshold:g}"

    def lacks(self, stats: Stats) -> str:
        """Labels are needed, or scores to decide by."""
        if self.threshold is not None:
            return "" if has_scores(stats) else NO_SCORES
        return "" if stats.facts["labelled"] else NO_LABELS

    def counts(self, stats: Stats, weights: Weights) -> Counts:
        """Counts of every class, by labels or by the threshold."""
        return class_counts(stats, weights, None if self.threshold is None else float(self.threshold))

    def of(self, stats: Stats, weights: Weights, place: int) -> Floats:
        """The formula of one class's counts."""
        return in_parts(stats, weights, lambda part: self.value(self.counts(stats, part).of(place)))

    def each(self, stats: Stats, weights: Weights) -> Floats:
        """The formula of every class's counts."""
        return self.value(self.counts(stats, weights))

    def pooled(self, stats: Stats, weights: Weights) -> Floats:
        """The formula of the counts of all classes."""
        return in_parts(stats, weights, lambda part: self.value(self.counts(stats, part).pooled()))


def class_support(stats: Stats, weights: Weights) -> Floats:
    """Weighted rows whose truth is each class: (rows, classes)."""
    if stats.facts["labelled"]:
        counts = class_counts(stats, weights)
        return counts.tp + counts.fn
    return weights.scatter(stats.derived("support", lambda: _support(stats)))


def _support(stats: Stats) -> Entries:
    truth = stats.events["truth"]
    row, code = np.nonzero(truth) if stats.facts["several"] else (np.arange(len(truth)), truth)
    return _at_rows(stats, row, code, len(stats.facts["classes"]))
