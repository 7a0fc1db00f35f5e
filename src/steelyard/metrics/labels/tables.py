"""What a report of labels shows beside scores: the confusion matrix, a row for each class, the reliability curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.pairs import Array
from steelyard.core.stats import Stats
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.metrics.labels.calibration import binned
from steelyard.metrics.labels.counts import MATRIX, class_counts
from steelyard.metrics.labels.hard import F1, Precision, Recall

BINS = 15
MOST_CLASSES = 10_000  # of a confusion matrix: 800 MB
_TITLES = {
    "confusion": "Confusion matrix: rows of truth by prediction",
    "confusion_true": "Confusion matrix, as shares of the rows of each true class",
    "confusion_predicted": "Confusion matrix, as shares of the rows of each predicted class",
    "confusion_all": "Confusion matrix, as shares of all rows",
}


def tables(stats: Stats) -> Mapping[str, Callable[[], Table]]:
    """The tables that the data allow, by name; each is made when it is asked for."""
    found: dict[str, Callable[[], Table]] = {}
    if stats.facts["labelled"]:
        if not stats.facts["several"]:
            found |= {name: _maker(stats, name) for name in _TITLES}
        found["classes"] = lambda: class_table(stats)
    if "probability" in stats.facts and not stats.facts["several"]:
        found["reliability"] = lambda: reliability(stats)
    return found


def _maker(stats: Stats, name: str) -> Callable[[], Table]:
    return lambda: confusion(stats, name)


def confusion(stats: Stats, name: str = "confusion") -> Table:
    """The confusion matrix: truth by prediction, raw or as shares. A row that has no prediction is in none."""
    classes: tuple[str, ...] = stats.facts["classes"]
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"the table '{name}' of {len(classes):,} classes has {len(classes) ** 2:.1e} cells",
            remedy=f"It is made of up to {MOST_CLASSES:,} classes; the scores, and the table 'classes', know no limit.",
        )
    held = stats.held(MATRIX)
    values: Array = _matrix(stats) if held is None else held.copy()
    if name == "confusion_true":
        values = ratio(values, values.sum(axis=1, keepdims=True))
    elif name == "confusion_predicted":
        values = ratio(values, values.sum(axis=0, keepdims=True))
    elif name == "confusion_all":
        values = ratio(values, values.sum())
    return Table(name, _TITLES[name], "truth", classes, classes, values)


def _matrix(stats: Stats) -> Array:
    size = len(stats.facts["classes"])
    cells, counts = confused(stats)
    matrix = np.zeros(size * size)
    matrix[cells] = counts
    return matrix.reshape(size, size)


def confused(stats: Stats) -> tuple[Array, Array]:
    """Cells of the confusion matrix that hold rows (truth times classes, plus prediction), and how many."""
    truth, predicted = stats.events["truth"].astype(np.int64), stats.events["predicted"]
    each = stats.plain[stats.owner] * stats.events.get("weight", 1.0)
    kept = predicted >= 0
    cells, place = np.unique(truth[kept] * len(stats.facts["classes"]) + predicted[kept], return_inverse=True)
    return cells, np.bincount(place, weights=each[kept], minlength=len(cells))


def class_table(stats: Stats) -> Table:
    """Counts, precision, recall and F1 of every class."""
    counts = class_counts(stats, stats.whole())
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
    return Table("classes", "Counts and scores by class", "class", stats.facts["classes"], tuple(columns), values)


def reliability(stats: Stats, bins: int = BINS) -> Table:
    """Confidence of the given label against how often it was right, bin by bin."""
    found = binned(stats, stats.whole(), bins)
    edges = np.linspace(0.0, 1.0, bins + 1)
    rows = found.rows[0]
    values = np.stack(
        [edges[:-1], edges[1:], rows, ratio(found.confidence[0], rows), ratio(found.right[0], rows)], axis=1
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
