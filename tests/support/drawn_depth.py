"""Drawn data of depth and normals: small rooms with steps, holes in the truth, and images without a valid pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of, same_columns


def column_of(values: list[Any]) -> Any:
    """An array of Python objects, whatever they are."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def room(rng: np.random.Generator) -> Any:
    """A floor that comes nearer to the bottom, and two boxes before it, in steps of 1/256."""
    height, width = (int(n) for n in rng.integers(8, 14, 2))
    depth = np.repeat(np.linspace(18, 3, height)[:, None], width, axis=1)
    for _ in range(2):
        y, x = int(rng.integers(0, height - 4)), int(rng.integers(0, width - 4))
        depth[y : y + 4, x : x + 3] = rng.uniform(1.5, 12)
    return np.round(depth * 256) / 256


def draw_depth(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Predictions have noise, a scale of their own and soft edges; the last of five images has hardly any truth."""
    truth, predictions = [], []
    for unit in range(units):
        depth = room(rng)
        scale = float(rng.uniform(0.85, 1.2))
        soft = (depth + np.roll(depth, 1, axis=1)) / 2 if unit % 2 else depth
        predicted = scale * soft * np.exp(rng.normal(0, 0.08, depth.shape))
        depth[rng.random(depth.shape) < (0.8 if unit % 5 == 4 else 0.2)] = 0
        truth.append(depth.astype(np.float32))
        predictions.append(predicted.astype(np.float32))
    image = [f"i{unit:03d}" for unit in range(units)]
    group = [f"g{hash_of(name) % 3}" for name in image]
    return {"image": image, "map": column_of(truth), "group": group}, {"image": image, "map": column_of(predictions)}


def perfect_depth(truth: Data) -> Data:
    """The true depths; where there is none, any."""
    return {"image": truth["image"], "map": column_of([np.where(grid > 0, grid, 5.0) for grid in truth["map"]])}


def draw_normals(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Directions towards the camera, with noise that differs between images; some truth is missing."""
    truth, predictions = [], []
    for _ in range(units):
        height, width = (int(n) for n in rng.integers(6, 11, 2))
        true = rng.normal(0, 1, (height, width, 3)) + [0, 0, 2.0]
        predicted = true + rng.normal(0, rng.uniform(0.1, 0.8), true.shape)
        true /= np.linalg.norm(true, axis=2, keepdims=True)
        true[rng.random((height, width)) < 0.2] = 0
        truth.append(true.astype(np.float32))
        predictions.append(predicted.astype(np.float32))
    image = [f"i{unit:03d}" for unit in range(units)]
    group = [f"g{hash_of(name) % 3}" for name in image]
    return {"image": image, "map": column_of(truth), "group": group}, {"image": image, "map": column_of(predictions)}


DRAWN = {
    "depth": Drawn(draw_depth, perfect_depth),
    "normals": Drawn(draw_normals, same_columns("image", "map")),
}
