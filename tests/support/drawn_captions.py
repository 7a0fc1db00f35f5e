"""Drawn data of captions."""

from __future__ import annotations

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of

_THINGS = (
    "dog",
    "cat",
    "man",
    "woman",
    "car",
    "bus",
    "table",
    "bowl",
    "horse",
    "boat",
    "kite",
    "pizza",
    "bench",
    "clock",
)
_COLORS, _SIZES, _COUNTS = (
    ("red", "blue", "black", "white"),
    ("small", "large", "tiny", "huge"),
    ("two", "three", "four"),
)
_PLACES = ("next to", "behind", "under", "near", "on", "beside")


def draw_captions(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Long captions, some images with the same reference more than once (so that a perfect candidate exists)."""

    def word(words: tuple[str, ...]) -> str:
        return words[int(rng.integers(len(words)))]

    def caption() -> str:
        clauses = [
            f"a {word(_SIZES)} {word(_COLORS)} {word(_THINGS)} {word(_PLACES)} {word(_COUNTS)} {word(_COLORS)} "
            f"{word(_THINGS)}s {word(_PLACES)} the {word(_THINGS)}"
            for _ in range(6)
        ]
        return " and ".join(clauses)

    image: list[str] = []
    references: list[str] = []
    candidates: list[str] = []
    for unit in range(units):
        text = caption()
        count = int(rng.integers(1, 4))
        image += [f"i{unit}"] * count
        references += [text] * count
        words = text.split()
        kept = [w if rng.random() > 0.15 else word(_THINGS) for w in words]
        candidates.append(" ".join(kept[: int(rng.integers(len(kept) // 2, len(kept) + 1))]))
    truth = {"image": image, "caption": references, "group": [f"g{hash_of(i) % 3}" for i in image]}
    return truth, {"image": [f"i{unit}" for unit in range(units)], "caption": candidates}


def perfect_captions(truth: Data) -> Data:
    """For every image its first reference."""
    first = dict(zip(reversed(list(truth["image"])), reversed(list(truth["caption"])), strict=True))
    return {"image": list(first), "caption": list(first.values())}


DRAWN = {"captions": Drawn(draw_captions, perfect_captions)}
