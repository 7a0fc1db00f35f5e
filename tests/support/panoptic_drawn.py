"""Drawn data in COCO's panoptic format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

CATEGORIES = [{"id": i, "name": str(i), "isthing": int(i < 4), "color": [10 * i, 20, 30]} for i in range(1, 7)]


def draw_panoptic(seed: int, folder: Path, images: int = 5) -> tuple[str, str]:
    """Write truth and prediction with crowds and void; the paths of the JSON files."""
    rng = np.random.default_rng(seed)
    paths = folder / "truth.json", folder / "predicted.json"
    sides: tuple[list[Any], list[Any]] = ([], [])
    for image in range(images):
        blocks = rng.integers(0, 9, (4, 5)).repeat(8, axis=0).repeat(7, axis=1)
        moved = np.where(rng.random(blocks.shape) < 0.85, blocks, np.roll(blocks, 3, axis=1))
        ids = rng.choice(1 << 24, 9, replace=False)
        ids[0] = 0  # void
        kinds = rng.integers(1, 7, 9)
        for place, pixels in enumerate((blocks, moved)):
            path = paths[place].with_suffix("") / f"{image}.png"
            path.parent.mkdir(exist_ok=True)
            named = ids[pixels]
            Image.fromarray(np.stack([named % 256, named // 256 % 256, named // 65536], axis=-1).astype(np.uint8)).save(
                path
            )
            said = np.where(rng.random(9) < 0.85, kinds, rng.integers(1, 7, 9)) if place else kinds
            segments = [
                {
                    "id": int(ids[n]), "category_id": int(said[n]), "area": int((pixels == n).sum()),
                    "iscrowd": int(place == 0 and rng.random() < 0.15),
                }
                for n in np.unique(pixels) if n
            ]  # fmt: skip
            sides[place].append({"image_id": image, "file_name": path.name, "segments_info": segments})
    for path, side in zip(paths, sides, strict=True):
        path.write_text(json.dumps({"annotations": side, "categories": CATEGORIES}))
    return str(paths[0]), str(paths[1])
