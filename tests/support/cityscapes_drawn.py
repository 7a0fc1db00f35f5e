"""Drawn images of Cityscapes: labelIds, instanceIds and predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def draw_cityscapes(seed: int, folder: Path, images: int = 3) -> tuple[list[str], list[str]]:
    """Write images with ids of 0 to 33 and instances of the classes that have them; files of predictions and truth."""
    rng = np.random.default_rng(seed)
    few = rng.choice(34, int(rng.integers(3, 16)), replace=False)  # classes that occur
    predicted, truth = [], []
    for image in range(images):
        labels = rng.choice(few, (5, 8)).repeat(8, axis=0).repeat(9, axis=1)
        parts = rng.integers(0, 3, (5, 8)).repeat(8, axis=0).repeat(9, axis=1)
        # Instances of crowds have the id of their class only.
        instances = np.where((labels >= 24) & (parts < 2), labels * 1000 + parts, labels)
        moved = np.where(rng.random(labels.shape) < 0.8, labels, np.roll(labels, 5, axis=1))
        moved = np.where(rng.random(labels.shape) < 0.05, rng.integers(0, 34, labels.shape), moved)
        name = f"aachen_{seed:06d}_{image:06d}"
        for kind, pixels in (("gtFine_labelIds", labels), ("gtFine_instanceIds", instances), ("pred", moved)):
            picture = Image.fromarray(pixels.astype(np.uint16 if kind == "gtFine_instanceIds" else np.uint8))
            if kind == "pred" and image == 1:  # predictions with a palette are common
                picture.putpalette(list(range(256)) * 3)
            picture.save(folder / f"{name}_{kind}.png")
        predicted.append(str(folder / f"{name}_pred.png"))
        truth.append(str(folder / f"{name}_gtFine_labelIds.png"))
    return predicted, truth
