"""Drawn frames of a street: cars, people and cyclists, found, missed, turned around, and boxes where nothing is."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of

KINDS = {"Car": (4.0, 1.7, 1.5), "Pedestrian": (0.8, 0.6, 1.75), "Cyclist": (1.8, 0.6, 1.7)}
BOX = (
    "frame", "label", "x", "y", "z", "length", "width", "height", "yaw", "vx", "vy", "attribute", "left", "top", "right",
    "bottom", "alpha",
)  # fmt: skip
TRUTH = (*BOX, "truncated", "occluded")
NOTHING = {"label": "", "attribute": ""}


def draw_frames(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Frames with objects far from each other, so that the order of rows decides nothing; one frame is empty."""
    truth: list[dict[str, Any]] = []
    predicted: list[dict[str, Any]] = []
    for unit in range(units):
        frame = f"f{unit:03d}"
        if unit % 12 == 11:
            truth.append({"frame": frame})
            predicted.append({"frame": frame})
            continue
        for place in range(int(rng.integers(4, 8))):
            label = list(KINDS)[(place + unit) % 3]
            size = np.array(KINDS[label]) * rng.uniform(0.9, 1.1, 3)
            x, z = -30 + 15.0 * (place % 4) + rng.uniform(-1, 1), 12 + 15.0 * (place // 4) + rng.uniform(-1, 1)
            tall, left = float(rng.choice([22, 32, 60])), 100 + 150.0 * place
            yaw, velocity = rng.uniform(-3, 3), rng.normal(0, 2, 2)
            one = {
                "frame": frame, "label": label, "x": x, "y": 1.6, "z": z, "length": size[0], "width": size[1],
                "height": size[2], "yaw": yaw, "vx": velocity[0], "vy": velocity[1],
                "attribute": str(rng.choice(["moving", "standing"])), "left": left, "top": 100.0, "right": left + tall,
                "bottom": 100 + tall, "alpha": yaw - np.arctan2(x, z), "truncated": float(rng.choice([0, 0, 0.2])),
                "occluded": float(rng.integers(0, 3)),
            }  # fmt: skip
            truth.append(one)
            if rng.random() < 0.85:
                predicted.append(_found(rng, one))
        for _ in range(int(rng.integers(0, 3))):
            label = str(rng.choice(list(KINDS)))
            false = _found(rng, {**truth[-1], "label": label, "frame": frame})
            false |= {"x": false["x"] + 100, "left": 5000 + false["left"], "right": 5000 + false["right"]}
            predicted.append({**false, "score": round(float(rng.uniform(0, 0.7)), 6)})
    sides = [_columns(truth, TRUTH), _columns(predicted, (*BOX, "score"))]
    sides[0]["group"] = np.array([f"g{hash_of(name) % 3}" for name in sides[0]["frame"]], dtype=object)
    return sides[0], sides[1]


def _found(rng: np.random.Generator, one: dict[str, Any]) -> dict[str, Any]:
    """A detection of an object, mostly near, sometimes far off or turned around."""
    far = rng.choice([0.05, 0.2, 1.0])
    turned = np.pi if rng.random() < 0.1 else rng.normal(0, 0.1)
    shift = rng.normal(0, 1.5, 2) * far
    return {
        **one, "x": one["x"] + rng.normal(0, far), "z": one["z"] + rng.normal(0, far), "y": one["y"] + rng.normal(0, 0.05),
        "length": one["length"] * rng.uniform(0.95, 1.05), "yaw": one["yaw"] + turned, "alpha": one["alpha"] + turned,
        "vx": one["vx"] + rng.normal(0, 0.5), "left": one["left"] + shift[0], "right": one["right"] + shift[1],
        "attribute": str(rng.choice(["moving", "standing"])), "score": round(float(rng.uniform(0.2, 1)), 6),
    }  # fmt: skip


def _columns(rows: list[dict[str, Any]], names: tuple[str, ...]) -> Data:
    columns: Data = {}
    for name in names:
        values = [row.get(name, NOTHING.get(name, np.nan)) for row in rows]
        columns[name] = np.array(values, dtype=object if isinstance(values[0], str) else float)
    return columns


def perfect_frames(truth: Data) -> Data:
    """The truth itself."""
    empty = np.isnan(truth["x"])
    return {**{name: truth[name] for name in BOX}, "score": np.where(empty, np.nan, 0.9)}


DRAWN = {"boxes3d": Drawn(draw_frames, perfect_frames)}
