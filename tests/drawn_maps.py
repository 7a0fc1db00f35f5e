"""Drawn data of label maps."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawn_common import Data, hash_of, same_columns

from steelyard.testing import Drawn


def objects(values: list[Any]) -> Any:
    """An array of Python objects, whatever they are."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def draw_maps(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Small maps of boxes of classes; the predictions' boxes are moved, and some have another class."""
    truth, predictions = [], []
    for _ in range(units):
        height, width = (int(v) for v in rng.integers(9, 17, 2))
        sides = [np.zeros((height, width), dtype=np.uint8) for _ in range(2)]
        for _ in range(int(rng.integers(2, 5))):
            label, y, x = (int(rng.integers(low, high)) for low, high in ((1, 5), (0, height - 3), (0, width - 3)))
            h, w = (int(v) for v in rng.integers(3, 8, 2))
            dy, dx = (int(v) for v in rng.integers(-1, 2, 2))
            sides[0][y : y + h, x : x + w] = label
            found = label if rng.random() < 0.85 else int(rng.integers(0, 5))
            sides[1][max(0, y + dy) : y + h + dy, max(0, x + dx) : x + w + dx] = found
        truth.append(sides[0])
        predictions.append(sides[1])
    image = [f"i{unit:03d}" for unit in range(units)]
    group = [f"g{hash_of(i) % 3}" for i in image]
    return {"image": image, "map": objects(truth), "group": group}, {"image": image, "map": objects(predictions)}


DRAWN = {"segmentation": Drawn(draw_maps, same_columns("image", "map"))}
