"""What a report of labels shows beside scores: the confusion matrix, a row for each class, the reliability curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from steelyard.core.errors import InvalidValue
from steelyard.core.pairs import Array
from steelyard.core.plan import POINT
from steelyard.core.state import State, Totals
from steelyard.core.statistic import RankingReader, Requirement, Statistic
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.tasks.labels.calibration import Bins
from steelyard.tasks.labels.counts import class_counts, count_needs, holds, several
from steelyard.tasks.labels.data import LabelPairs
from steelyard.tasks.labels.hard import F1, Precision, Recall
from steelyard.tasks.labels.statistics import ConfidenceBins, Confusion

BINS = 15
MOST_CLASSES = 10_000  # of a confusion matrix: 800 MB
_TITLES = {
    "confusion": "Confusion matrix: rows of truth by prediction",
    "confusion_true": "Confusion matrix, as shares of the rows of each true class",
    "confusion_predicted": "Confusion matrix, as shares of the rows of each predicted class",
    "confusion_all": "Confusion matrix, as shares of all rows",
}


def tables(pairs: LabelPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """The tables that the data allow, by name; each is made when it is asked for."""
    facts = state.facts
    made: dict[str, Callable[[], Table]] = {}
    if holds(facts, "labels"):
        if not several(facts):
            made |= {name: _maker(pairs, name) for name in _TITLES}
        made["classes"] = lambda: class_table(pairs)
    if holds(facts, "probability") and not several(facts):
        made["reliability"] = lambda: reliability(pairs)
    return made


def _maker(pairs: LabelPairs, name: str) -> Callable[[], Table]:
    return lambda: confusion(pairs, name)


def all_rows(pairs: LabelPairs, *needs: Statistic) -> Totals:
    """The plain totals of some statistics."""
    return State.of(pairs, needs).totals(POINT)


def confusion(pairs: LabelPairs, name: str = "confusion") -> Table:
    """The confusion matrix: truth by prediction, raw or as shares. A row that has no prediction is in none."""
    classes = pairs.classes
    if len(classes) > MOST_CLASSES:
        raise InvalidValue(
            f"the table '{name}' of {len(classes):,} classes has {len(classes) ** 2:.1e} cells",
            remedy=f"It is made of up to {MOST_CLASSES:,} classes; the scores, and the table 'classes', know no limit.",
        )
    values: Array = _matrix(pairs) if pairs.counted is None else pairs.counted.matrix.copy()
    if name == "confusion_true":
        values = ratio(values, values.sum(axis=1, keepdims=True))
    elif name == "confusion_predicted":
        values = ratio(values, values.sum(axis=0, keepdims=True))
    elif name == "confusion_all":
        values = ratio(values, values.sum())
    return Table(name, _TITLES[name], "truth", classes, classes, values)


def _kept(requirement: Sequence[Requirement]) -> list[Statistic]:
    return list(dict.fromkeys(one.ranking if isinstance(one, RankingReader) else one for one in requirement))


def _matrix(pairs: LabelPairs) -> Array:
    size = len(pairs.classes)
    cells, counts = confused(pairs)
    matrix = np.zeros(size * size)
    matrix[cells] = counts
    return matrix.reshape(size, size)


def confused(pairs: LabelPairs) -> tuple[Array, Array]:
    """Cells of the confusion matrix that hold rows (truth times classes, plus prediction), and how many."""
    state = State.of(pairs, [Confusion()])
    block: Any = state.blocks[Confusion()]
    each, code = block.entries.times(state.units.plain), block.entries.code.astype(np.int64)
    kept = code < block.entries.size // 2
    cells, place = np.unique(code[kept], return_inverse=True)
    return cells, np.bincount(place, weights=each[kept], minlength=len(cells))


def class_table(pairs: LabelPairs) -> Table:
    """Counts, precision, recall and F1 of every class."""
    needs = count_needs(negatives=True)
    counts = class_counts(State.of(pairs, _kept(needs)).totals(POINT).only(needs))
    columns = {
        "rows": counts.tp + counts.fn,
        "predicted": counts.tp + counts.fp,
        "TP": counts.tp,
        "FP": counts.fp,
        "FN": counts.fn,
        "TN": counts.tn,
        "precision": Precision().value(counts),
        "recall": Recall().value(counts),
        "F1": F1().value(counts),
    }
    values = np.stack([column[0] for column in columns.values()], axis=1)
    return Table("classes", "Counts and scores by class", "class", pairs.classes, tuple(columns), values)


def reliability(pairs: LabelPairs, bins: int = BINS) -> Table:
    """Confidence of the given label against how often it was right, bin by bin."""
    statistic = ConfidenceBins(bins)
    binned = Bins.of(all_rows(pairs, statistic)[statistic])
    edges = np.linspace(0.0, 1.0, bins + 1)
    rows = binned.rows[0]
    values = np.stack(
        [edges[:-1], edges[1:], rows, ratio(binned.confidence[0], rows), ratio(binned.right[0], rows)], axis=1
    )
    names = tuple(f"{low:.3g}-{high:.3g}" for low, high in pairwise(edges))
    return Table(
        "reliability",
        "Reliability: confidence against the share that was right",
        "confidence",
        names,
        ("from", "to", "rows", "confidence", "accuracy"),
        values,
    )
