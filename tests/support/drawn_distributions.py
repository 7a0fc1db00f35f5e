"""Drawn data of distributions: vectors of real and of generated images, with class probabilities, labels and weights."""

from __future__ import annotations

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of


def vectors(rng: np.random.Generator, rows: int, shift: float) -> list[list[float]]:
    values = rng.normal(size=(rows, 2)) * [1.0, 0.5] + shift
    return np.round(values, 3).tolist()


def add_columns(rng: np.random.Generator, side: str, features: list[list[float]]) -> Data:
    rows = len(features)
    columns: Data = {
        "id": [f"{place:04d}" for place in range(rows)],
        "features": features,
        "probs": (rng.dirichlet([0.5, 0.7, 1.0], rows)).tolist(),
        "label": ["ab"[place % 2] for place in range(rows)],
        "group": [f"g{place % 2}" for place in range(rows)],
    }
    if side == "real":
        columns["sample_weight"] = [1.0 + hash_of(f"real{place}") % 3 for place in range(rows)]
    return columns


def draw_distributions(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Half of the units are real and half are generated; ids of both sides are the same numbers."""
    half = units // 2
    real, generated = vectors(rng, half, 0.0), vectors(rng, half, 0.6)
    return add_columns(rng, "real", real), add_columns(rng, "generated", generated)


def perfect_distributions(truth: Data) -> Data:
    """The real vectors themselves; each image surely of one class."""
    rows = len(truth["id"])
    return {**truth, "probs": np.eye(3)[np.arange(rows) % 3].tolist()}


DRAWN = {
    "distributions": Drawn(draw_distributions, perfect_distributions, weight="sample_weight"),
}
