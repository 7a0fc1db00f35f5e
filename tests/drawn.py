"""Drawn data, one generator a task: what the laws are tested on.

`DRAW[task](rng, units)` gives truth and predictions as `evaluate` takes them, with at least one row in each unit and
the awkward cases that the task allows. `PERFECT[task](truth)` gives predictions that are equal to the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Data = dict[str, Any]


def draw_weights(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    dish, item = [], []
    for unit in range(units):
        count = int(rng.integers(1, 5))
        dish += [f"d{unit}"] * count
        item += [f"i{i}" for i in range(count)]
    weight = np.round(rng.gamma(2.0, 60.0, len(dish)), 1)
    weight[rng.random(len(dish)) < 0.05] = 0.0
    predicted = np.round(weight * rng.uniform(0.5, 1.6, len(dish)) + rng.normal(0, 5, len(dish)), 1)
    truth = {"dish": dish, "item": item, "weight": weight, "group": [f"g{hash_of(d) % 3}" for d in dish]}
    return truth, {"dish": dish, "item": item, "weight": predicted}


def draw_sequences(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    sequence: list[str] = []
    t: list[int] = []
    density: list[float] = []
    for unit in range(units):
        count = int(rng.integers(1, 7))
        sequence += [f"s{unit}"] * count
        t += list(range(count))
        density += [float(np.round(rng.uniform(0, 4), 2))] * count
    weight = np.round(rng.gamma(2.0, 60.0, units)[[int(s[1:]) for s in sequence]] * 0.8 ** np.array(t), 1)
    valid = rng.random(len(t)) > 0.1
    first = np.flatnonzero(np.array(t) == 0)
    valid[first[::2]] = True
    for unit in range(units):  # at least one valid frame in each sequence
        rows = np.flatnonzero(np.array(sequence) == f"s{unit}")
        if not valid[rows].any():
            valid[rows[0]] = True
    predicted = np.round(weight * rng.uniform(0.5, 1.6, len(t)) + rng.normal(0, 5, len(t)), 1)
    truth = {
        "sequence": sequence, "t": t, "weight": weight, "kcal_per_g": density, "valid": valid,
        "group": [f"g{hash_of(s) % 3}" for s in sequence],
    }  # fmt: skip
    return truth, {"sequence": sequence, "t": t, "weight": predicted}


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


def hash_of(text: str) -> int:
    """A hash that is the same in every process."""
    return sum(ord(c) * (i + 7) for i, c in enumerate(text))


def same_columns(*names: str) -> Callable[[Data], Data]:
    """Predictions that repeat the truth's columns."""
    return lambda truth: {name: truth[name] for name in names}


DRAW: dict[str, Callable[[np.random.Generator, int], tuple[Data, Data]]] = {
    "weights": draw_weights,
    "sequences": draw_sequences,
    "captions": draw_captions,
}
PERFECT: dict[str, Callable[[Data], Data]] = {
    "weights": same_columns("dish", "item", "weight"),
    "sequences": same_columns("sequence", "t", "weight"),
    "captions": perfect_captions,
}
