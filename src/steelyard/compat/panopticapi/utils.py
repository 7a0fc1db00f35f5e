"""`panopticapi.utils`: ids of segments and their colours."""

from __future__ import annotations

import functools
import json
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def get_traceback(f: Callable[..., Any]) -> Callable[..., Any]:
    """Print the traceback of what a function raises in another process."""

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except Exception:
            print("Caught exception in worker thread:")
            traceback.print_exc()
            raise

    return wrapper


class IdGenerator:
    """Ids that no segment has yet, with colours near that of their category: `categories` by id."""

    def __init__(self, categories: Mapping[Any, Mapping[str, Any]]) -> None:
        self.categories = categories
        self.taken_colors: set[Any] = {0}
        self.taken_colors |= {tuple(c["color"]) for c in categories.values() if c["isthing"] == 0}

    def get_color(self, cat_id: Any) -> Any:
        """A colour: of stuff that of the category, of things one near it that is new."""
        category = self.categories[cat_id]
        if category["isthing"] == 0:
            return category["color"]
        color = tuple(category["color"])
        while color in self.taken_colors:
            near = category["color"] + np.random.randint(low=-30, high=31, size=3)
            color = tuple(np.maximum(0, np.minimum(255, near)))
        self.taken_colors.add(color)
        return color

    def get_id(self, cat_id: Any) -> int:
        """An id."""
        return int(rgb2id(self.get_color(cat_id)))

    def get_id_and_color(self, cat_id: Any) -> tuple[int, Any]:
        """An id and its colour."""
        color = self.get_color(cat_id)
        return int(rgb2id(color)), color


def rgb2id(color: Any) -> Any:
    """The id of a colour, or of each pixel of an image."""
    if isinstance(color, np.ndarray) and color.ndim == 3:
        if color.dtype == np.uint8:
            color = color.astype(np.int32)
        return color[:, :, 0] + 256 * color[:, :, 1] + 256 * 256 * color[:, :, 2]
    return int(color[0] + 256 * color[1] + 256 * 256 * color[2])


def id2rgb(id_map: Any) -> Any:
    """The colour of an id, or of each pixel of an image."""
    parts = []
    for _ in range(3):
        parts.append(id_map % 256)
        id_map = id_map // 256
    return np.stack(parts, axis=-1).astype(np.uint8) if isinstance(id_map, np.ndarray) else parts


def save_json(d: Any, file: Any) -> None:
    """Write JSON."""
    with open(file, "w", encoding="utf-8") as target:
        json.dump(d, target)
