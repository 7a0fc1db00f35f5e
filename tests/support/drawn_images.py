"""Drawn data of images: small colour pictures with smooth parts and edges, and noisy copies of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of

HEIGHT, WIDTH = 42, 44


def objects(values: list[Any]) -> Any:
    """An array of Python objects, whatever they are."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def draw_images(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Blocks of colours with a slope over them, and copies with noise of a strength of their own."""
    truth, predictions = [], []
    for _ in range(units):
        blocks = rng.integers(30, 226, (HEIGHT // 7 + 1, WIDTH // 7 + 1, 3)).repeat(7, 0).repeat(7, 1)
        slope = np.linspace(-20, 20, WIDTH).astype(np.int64)[np.newaxis, :, np.newaxis]
        picture = blocks[:HEIGHT, :WIDTH] + slope
        noise = rng.integers(-1, 2, picture.shape) * int(rng.integers(4, 25))
        truth.append(picture.astype(np.uint8))
        predictions.append(np.clip(picture + noise, 0, 255).astype(np.uint8))
    image = [f"i{unit:03d}" for unit in range(units)]
    group = [f"g{hash_of(i) % 3}" for i in image]
    weight = [1 + hash_of(i) % 3 for i in image]
    lpips = rng.uniform(0.1, 0.5, units).tolist()
    return (
        {"image": image, "pixels": objects(truth), "group": group, "sample_weight": weight},
        {"image": image, "pixels": objects(predictions), "lpips": lpips},
    )


def perfect_images(truth: Data) -> Data:
    """The true pictures themselves."""
    return {"image": truth["image"], "pixels": truth["pixels"], "lpips": [0.0] * len(truth["image"])}


DRAWN = {
    "images": Drawn(draw_images, perfect_images, weight="sample_weight", policy={"missing": "skip", "extra": "skip"})
}
