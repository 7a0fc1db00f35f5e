"""Drawn data of anomalies: small maps of two objects, good and defective, with ties and several regions."""

from __future__ import annotations

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of
from support.drawn_maps import objects

HEIGHT, WIDTH = 10, 12


def draw_anomalies(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Of each object, every other image is defective; scores are multiples of 1/32, so that many are equal."""
    truth: Data = {name: [] for name in ("image", "mask", "object", "defect", "group", "sample_weight")}
    masks, maps = [], []
    for unit in range(units):
        mask = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
        kind = (unit // 2) % 3
        if kind:
            for _ in range(int(rng.integers(1, 4))):
                y, x = int(rng.integers(0, HEIGHT - 3)), int(rng.integers(0, WIDTH - 3))
                mask[y : y + int(rng.integers(1, 4)), x : x + int(rng.integers(1, 5))] = 1
        scores = rng.normal(0.4, 0.15, mask.shape) + 0.25 * mask * rng.uniform(0.2, 1.6)
        image = f"i{unit:03d}"
        truth["image"].append(image)
        truth["object"].append("nut" if unit // 6 % 2 else "bolt")
        truth["defect"].append(("good", "scratch", "dent")[kind])
        truth["group"].append(f"g{hash_of(image) % 3}")
        truth["sample_weight"].append(1 + hash_of(image) % 3)
        masks.append(mask)
        maps.append((np.round(scores * 32) / 32).astype(np.float32))
    truth["mask"] = objects(masks)
    return truth, {"image": list(truth["image"]), "map": objects(maps)}


def perfect_anomalies(truth: Data) -> Data:
    """The masks themselves."""
    return {"image": list(truth["image"]), "map": objects([mask.astype(np.float32) for mask in truth["mask"]])}


def worst_anomalies(truth: Data) -> Data:
    """The masks turned around."""
    return {"image": list(truth["image"]), "map": objects([1 - mask.astype(np.float32) for mask in truth["mask"]])}


DRAWN = {
    "anomalies": Drawn(
        draw_anomalies,
        perfect_anomalies,
        worst_anomalies,
        unit="image",
        weight="sample_weight",
        policy={"missing": "skip", "extra": "skip"},
    ),
}
