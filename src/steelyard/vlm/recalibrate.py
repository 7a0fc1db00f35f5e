"""Linear recalibration of readings by cross-fitting: how much of the error is a wrong scale?

Sequences (or clusters) are put into folds by a hash of their names. The readings of a fold are replaced by a + b times
the reading, with the least-squares line of the true weights on the readings of all other folds: no reading is repaired
by a line that has seen its own meal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import MissingData
from steelyard.vlm.frames import Frame
from steelyard.vlm.sides import Key

FOLDS = 5
FEWEST = 3  # groups of a food in the other folds: with fewer, the line of all foods is taken

Array = NDArray[Any]


def folds_of(groups: list[str]) -> dict[str, int]:
    """The fold of each group. It depends on the names alone, not on their order."""
    names = sorted(dict.fromkeys(groups), key=lambda name: (hashlib.sha256(name.encode()).digest(), name))
    return {name: place % FOLDS for place, name in enumerate(names)}


def fit_line(readings: Array, truth: Array) -> tuple[float, float]:
    """Intercept and slope of least squares; a slope of 0 where the readings do not vary."""
    mean, true_mean = readings.mean(), truth.mean()
    spread = float(((readings - mean) ** 2).sum())
    slope = float(((readings - mean) * (truth - true_mean)).sum()) / spread if spread > 0 else 0.0
    return float(true_mean - slope * mean), slope


def cross_fit(
    values: Mapping[Key, float],
    truth: Mapping[Key, Frame],
    *,
    by_food: bool = False,
    clusters: Mapping[str, str] | None = None,
) -> dict[Key, float]:
    """Readings as lines that were fitted on other meals repair them.

    With `by_food` each food has a line of its own, where at least three other groups in the other folds have that food.
    `clusters` names the group of each sequence, where sequences belong together.
    """
    keys = list(values)
    groups = [(clusters or {}).get(sequence, sequence) for sequence, _ in keys]
    folds = folds_of(groups)
    if len(folds) < FOLDS:
        raise MissingData(
            f"a recalibration needs readings of {FOLDS} sequences or more, and there are {len(folds)}",
            remedy="Score without it, or read more sequences.",
        )
    fold = np.array([folds[group] for group in groups])
    x = np.array([values[key] for key in keys])
    y = np.array([truth[key].weight for key in keys])
    foods = np.array([truth[key].food for key in keys], dtype=object)
    names = np.array(groups, dtype=object)
    repaired = np.empty(len(keys))
    for number in range(FOLDS):
        own, others = fold == number, fold != number
        intercept, slope = fit_line(x[others], y[others])
        repaired[own] = intercept + slope * x[own]
        for food in dict.fromkeys(foods[own].tolist()) if by_food else ():
            same = others & (foods == food)
            if food and len(set(names[same].tolist())) >= FEWEST and np.ptp(x[same]) > 0:
                intercept, slope = fit_line(x[same], y[same])
                repaired[own & (foods == food)] = intercept + slope * x[own & (foods == food)]
    return dict(zip(keys, repaired.tolist(), strict=True))
