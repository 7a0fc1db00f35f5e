"""Drawn data of label maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard import _native
from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of, same_columns


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
            predicted_label = label if rng.random() < 0.85 else int(rng.integers(0, 5))
            sides[1][max(0, y + dy) : y + h + dy, max(0, x + dx) : x + w + dx] = predicted_label
        truth.append(sides[0])
        predictions.append(sides[1])
    image = [f"i{unit:03d}" for unit in range(units)]
    group = [f"g{hash_of(i) % 3}" for i in image]
    return {"image": image, "map": objects(truth), "group": group}, {"image": image, "map": objects(predictions)}


def draw_panoptic(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """The same maps as segments: each class of stuff is one, each connected box of a thing another."""
    truth, predictions = draw_maps(rng, units)
    sides: list[Data] = []
    for side in (truth, predictions):
        maps, segments = [], []
        for grid in side["map"]:
            ids = np.zeros(grid.shape, dtype=np.int64)
            listed = []
            for label in np.unique(grid).tolist():
                parts, count = _native.connected_parts((grid == label).astype(np.uint8))
                for part in range(1, count + 1) if label > 2 else [0]:
                    number = 10 * (label + 1) + part
                    ids[(parts == part) if part else (grid == label)] = number
                    listed.append(
                        {"id": number, "category_id": label + 1, "name": f"c{label}", "isthing": int(label > 2)}
                    )
            maps.append(ids)
            segments.append(listed)
        sides.append({**side, "map": objects(maps), "segments": objects(segments)})
    return sides[0], sides[1]


def draw_volumes(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Small volumes with one or two structures, which a prediction may miss or make up."""
    truth, predictions, spacing = [], [], []
    for unit in range(units):
        shape = tuple(int(v) for v in rng.integers(7, 11, 3))
        sides = [np.zeros(shape, dtype=np.uint8) for _ in range(2)]
        for label in (1, 2):
            low, size = rng.integers(1, 4, 3), rng.integers(2, 5, 3)
            moved = low + rng.integers(-1, 2, 3)
            for side, corner, there in zip(sides, (low, moved), rng.random(2) < 0.9, strict=True):
                if there or unit == 0:
                    side[tuple(slice(int(c), int(c + n)) for c, n in zip(corner, size, strict=True))] = label
        truth.append(sides[0])
        predictions.append(sides[1])
        spacing.append([3.0, 1.0, 1.0] if unit % 2 else [1.0, 0.5, 0.5])
    case = [f"c{unit:03d}" for unit in range(units)]
    group = [f"g{hash_of(i) % 3}" for i in case]
    return (
        {"case": case, "map": objects(truth), "spacing": objects(spacing), "group": group},
        {"case": case, "map": objects(predictions), "spacing": objects(spacing)},
    )


DRAWN = {
    "volumes": Drawn(draw_volumes, same_columns("case", "map", "spacing")),
    "segmentation": Drawn(draw_maps, same_columns("image", "map")),
    "panoptic": Drawn(draw_panoptic, same_columns("image", "map", "segments")),
}
