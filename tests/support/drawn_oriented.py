"""Drawn data of oriented boxes: those of `draw_boxes`, turned."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data
from support.drawn_objects import EXTRA, draw_boxes

CORNERS = tuple(f"{axis}{i}" for i in range(1, 5) for axis in "xy")


def draw_oriented(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Boxes turned by an angle that belongs to their place, so that what was found lies as what is true."""
    sides = []
    for side in draw_boxes(rng, units):
        x, y, w, h = (np.asarray(side.pop(name)) for name in "xywh")
        angle = (np.rint(x / 40) * 0.7 + np.rint(y / 40)) % np.pi - np.pi / 2 + rng.normal(0, 0.03, len(x))
        sides.append({**side, "cx": x + w / 2, "cy": y + h / 2, "w": w, "h": h, "angle": angle})
    truth, predictions = sides
    truth["difficult"] = rng.random(len(truth["image"])) < 0.1
    truth["difficult"][:3] = False
    return truth, predictions


def perfect_oriented(truth: Data) -> Data:
    """The truth itself, and below any threshold one box on nothing."""
    n = len(truth["image"])
    columns: dict[str, Any] = {
        name: [*truth[name], truth[name][0]] for name in ("image", "label", "cx", "cy", "w", "h", "angle")
    }
    columns["cx"][-1], columns["cy"][-1] = 5000.0, 5000.0
    return {**columns, "score": [*(1 - np.arange(n) / (100 * n)), 0.01]}


def as_corners(side: Data) -> Data:
    """The same side with four corners in the place of centre, size and angle; calculated apart from Steelyard."""
    cx, cy, w, h, angle = (np.asarray(side[name]) for name in ("cx", "cy", "w", "h", "angle"))
    c, s = np.cos(angle), np.sin(angle)
    columns = {name: values for name, values in side.items() if name not in ("cx", "cy", "w", "h", "angle")}
    for i, (u, v) in enumerate(((-1, -1), (1, -1), (1, 1), (-1, 1)), 1):
        columns[f"x{i}"] = cx + (u * w * c - v * h * s) / 2
        columns[f"y{i}"] = cy + (u * w * s + v * h * c) / 2
    return columns


DRAWN = {"oriented": Drawn(draw_oriented, perfect_oriented, policy=EXTRA)}
