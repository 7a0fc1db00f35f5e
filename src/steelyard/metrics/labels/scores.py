"""Scores and probabilities of paired rows, class by class."""

from __future__ import annotations

import numpy as np

from steelyard.core.pairs import Array
from steelyard.core.stats import Stats

NO_SCORES = "the predictions hold labels and no scores"


def has_scores(stats: Stats) -> bool:
    """Whether the predictions hold scores or probabilities."""
    return "score" in stats.facts or "probability" in stats.facts


def class_scores(stats: Stats, place: int, kind: str = "") -> Array:
    """The score of one class; of two classes with one column, the other's is the complement."""
    kind = kind or ("score" if "score" in stats.facts else "probability")
    places, values = stats.facts[kind], stats.events[kind]
    if place in places:
        return np.ascontiguousarray(values[:, places.index(place)])
    return -values[:, 0] if kind == "score" else 1 - values[:, 0]


def score_matrix(stats: Stats, kind: str = "") -> Array:
    """Scores of all classes: (rows, classes)."""
    kind = kind or ("score" if "score" in stats.facts else "probability")
    classes = len(stats.facts["classes"])
    if stats.facts[kind] == tuple(range(classes)):
        return stats.events[kind]
    columns = [class_scores(stats, place, kind) for place in range(classes)]
    matrix: Array = stats.derived(("matrix", kind), lambda: np.stack(columns, axis=1))
    return matrix


def is_class(stats: Stats, place: int) -> Array:
    """Whether each row's truth is the class, as 0 and 1."""
    truth = stats.events["truth"]
    return np.ascontiguousarray(truth[:, place] if stats.facts["several"] else truth == place, dtype=np.uint8)


def at_least(stats: Stats, place: int, threshold: float) -> Array:
    """Whether the class's score (or probability) reaches the threshold, as 0 and 1.

    Of two classes with one column a row that does not reach it is of the other class.
    """
    kind = "score" if "score" in stats.facts else "probability"
    places, values = stats.facts[kind], stats.events[kind]
    reached = values[:, places.index(place)] >= threshold if place in places else values[:, 0] < threshold
    return np.ascontiguousarray(reached, dtype=np.uint8)
