"""What a report of label maps shows beside scores: a row for each class, and which classes are taken for which."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.tasks.segmentation.counts import IMAGES, PREDICTED, TRUE, ClassPixels, Confusion
from steelyard.tasks.segmentation.overlap import figure_of

_TITLES = {
    "confusion": "Confusion matrix: pixels of truth by prediction",
    "confusion_true": "Confusion matrix, as shares of the pixels of each true class",
    "confusion_predicted": "Confusion matrix, as shares of the pixels of each predicted class",
}


def tables(pairs: Any, state: State) -> Mapping[str, Callable[[], Table]]:
    """The tables that the state can give, by name."""
    makers: dict[str, Callable[[], Table]] = {}
    if ClassPixels() in state.blocks:
        makers["classes"] = lambda: class_table(state)
    if Confusion() in state.blocks:
        makers |= {name: _maker(state, name) for name in _TITLES}
    return makers


def _maker(state: State, name: str) -> Callable[[], Table]:
    return lambda: confusion(state, name)


def class_table(state: State) -> Table:
    """Pixels and figures of every class."""
    cells = state.totals(POINT)[ClassPixels()]
    columns = {
        "images": cells[0, :, IMAGES],
        "pixels": cells[0, :, TRUE],
        "predicted": cells[0, :, PREDICTED],
        **{title: figure_of(kind, cells)[0] for title, kind in FIGURES.items()},
    }
    names = state.facts.axes["class"].shown
    return Table("classes", "Classes", "class", names, tuple(columns), np.stack(list(columns.values()), axis=1))


FIGURES = {"IoU": "iou", "Dice": "dice", "accuracy": "recall", "precision": "precision"}


def confusion(state: State, name: str = "confusion") -> Table:
    """The confusion matrix, as pixels or as shares. What is predicted as no class is in none."""
    values = state.totals(POINT)[Confusion()][0]
    if name == "confusion_true":
        values = ratio(values, values.sum(axis=1, keepdims=True))
    elif name == "confusion_predicted":
        values = ratio(values, values.sum(axis=0, keepdims=True))
    names = state.facts.axes["class"].shown
    return Table(name, _TITLES[name], "truth", names, names, values)
