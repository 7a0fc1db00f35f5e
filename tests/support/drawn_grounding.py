"""Drawn data of grounding: expressions that name one object, several or none, with boxes, masks, points and scores."""

from __future__ import annotations

import json

import numpy as np

from steelyard.testing import Drawn
from support.drawn_common import Data, hash_of

WIDTH, HEIGHT = 24, 16
TRUTH = ("image", "expression", "x", "y", "w", "h", "mask", "width", "height", "exhaustive", "kind", "sample_weight")
FOUND = ("image", "expression", "x", "y", "w", "h", "mask", "px", "py", "score", "none")
NOWHERE = (float("nan"),) * 4


def pixels(box: tuple[float, ...]) -> str:
    """The mask of a box in whole pixels, as JSON of COCO's run lengths by column; empty for none."""
    mask = np.zeros((HEIGHT, WIDTH), dtype=np.int64)
    if not np.isnan(box[0]):
        x, y, w, h = map(int, box)
        mask[y : y + h, x : x + w] = 1
    steps = np.flatnonzero(np.diff(mask.ravel(order="F"), prepend=0, append=-1))
    return json.dumps({"size": [HEIGHT, WIDTH], "counts": np.diff(steps, prepend=0).tolist()})


def some_box(rng: np.random.Generator) -> tuple[float, ...]:
    x, y = int(rng.integers(0, 14)), int(rng.integers(0, 8))
    return (x, y, int(rng.integers(2, 10)), int(rng.integers(2, 8)))


def near(rng: np.random.Generator, box: tuple[float, ...]) -> tuple[float, ...]:
    x, y, w, h = (int(v) for v in box)
    dx, dy = (int(v) for v in rng.integers(-2, 3, 2))
    return (max(0, x + dx), max(0, y + dy), max(1, w + int(rng.integers(-1, 2))), h)


def add(columns: Data, *values: object) -> None:
    for name, value in zip(columns, values, strict=True):
        columns[name].append(value)


def find(columns: Data, image: str, name: str, box: tuple[float, ...], score: float) -> None:
    middle = (box[0] + box[2] / 2, box[1] + box[3] / 2)
    add(columns, image, name, *box, pixels(box), *middle, score, bool(np.isnan(box[0])))


def draw_grounding(rng: np.random.Generator, units: int) -> tuple[Data, Data]:
    """Of each image: two expressions of one object, one of several, two of none; replies that miss, add or are silent."""
    truth: Data = {name: [] for name in TRUTH}
    predicted: Data = {name: [] for name in FOUND}
    for unit in range(units):
        image, weight = f"i{unit}", 1 + hash_of(f"i{unit}") % 3
        for place, count in enumerate((1, 1, int(rng.integers(2, 4)), 0, 0)):
            name, exhaustive = f"e{place}", place != 1 or rng.random() < 0.8
            boxes = [some_box(rng) for _ in range(count)]
            for box in boxes or [NOWHERE]:
                add(truth, image, name, *box, pixels(box), WIDTH, HEIGHT, exhaustive, "abc"[place % 3], weight)
            replies = [near(rng, box) for box in boxes if rng.random() < 0.8]
            replies += [some_box(rng)] * int(rng.random() < 0.3)
            if place == 0 and rng.random() < 0.1:
                continue  # no answer
            for box in replies or [NOWHERE]:
                # No two scores are equal: of equal ones the first counts, which the order of rows decides.
                find(predicted, image, name, box, float(rng.choice([0.4, 0.6, 0.6, 0.9]) + rng.random() / 100))
    return truth, predicted


def perfect_grounding(truth: Data) -> Data:
    """The true objects themselves, all sure."""
    predicted: Data = {name: [] for name in FOUND}
    for row in range(len(truth["image"])):
        box = tuple(float(truth[name][row]) for name in "xywh")
        find(predicted, truth["image"][row], truth["expression"][row], box, 1.0)
    return predicted


DRAWN = {"grounding": Drawn(draw_grounding, perfect_grounding, unit="image", weight="sample_weight")}
