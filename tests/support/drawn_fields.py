"""Drawn data of disparity and flow: small smooth fields with holes, and predictions that are off here and there."""

from __future__ import annotations

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of
from support.drawn_maps import objects


def draw_fields(rng: np.random.Generator, units: int, channels: int) -> tuple[Data, Data]:
    """Fields of several sizes and speeds; some truths and some estimates are missing."""
    truth, predictions = [], []
    for unit in range(units):
        height, width = (int(v) for v in rng.integers(5, 9, 2))
        shape = (height, width, 2) if channels == 2 else (height, width)
        field = rng.normal(0, 1, shape).astype(np.float32) + np.float32(rng.choice([4, 20, 60]))
        rows = 4 * np.arange(height, dtype=np.float32)
        if channels == 2:
            field *= np.array([1.0, -0.4], dtype=np.float32)
        field += rows.reshape((-1, *(1,) * (field.ndim - 1)))
        guess = field + rng.standard_t(2, shape).astype(np.float32)
        field[rng.random((height, width)) < 0.2] = np.nan
        if unit % 3 == 0:
            guess[rng.random((height, width)) < 0.1] = np.nan
        truth.append(field)
        predictions.append(guess)
    image = [f"i{unit:03d}" for unit in range(units)]
    group = [f"g{hash_of(i) % 3}" for i in image]
    weight = [1 + hash_of(i) % 3 for i in image]
    sides = {"image": image, "map": objects(truth), "group": group, "sample_weight": weight}
    return sides, {"image": image, "map": objects(predictions)}


def draw_disparity(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    return draw_fields(rng, units, 1)


def draw_flow(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    return draw_fields(rng, units, 2)


def perfect_fields(truth: Data) -> Data:
    """The truth itself, with an estimate everywhere."""
    return {"image": truth["image"], "map": objects([np.nan_to_num(field, nan=1.0) for field in truth["map"]])}


DRAWN = {
    "disparity": Drawn(draw_disparity, perfect_fields, unit="image", weight="sample_weight"),
    "flow": Drawn(draw_flow, perfect_fields, unit="image", weight="sample_weight"),
}
