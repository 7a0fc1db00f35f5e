"""Fuzz saved states: containers and accumulators, damaged anywhere, and changed with a checksum that fits again.

What is damaged must be an InputError. What was changed and signed again may be anything: it must not reach the native
core unchecked, so a crash or a sanitizer's report is a find; any exception is a refusal.
"""

from __future__ import annotations

import hashlib
import random
from functools import cache
from typing import Any

import numpy as np
from harness import REALS, WHOLES, target

import steelyard as sy
from steelyard.io.container import container_bytes, parse_container


@cache
def states() -> list[bytes]:
    """One state of each shape: rows, weights, labels, rankings, boxes, ellipses; and one that is compacted."""
    boxes = (
        {
            "images": [{"id": i, "width": 9, "height": 9} for i in range(3)],
            "annotations": [
                {"id": 1 + i, "image_id": i, "category_id": 1, "bbox": [1, 1, 4, 4 + i], "area": 16, "iscrowd": 0}
                for i in range(3)
            ],
            "categories": [{"id": 1, "name": "x"}],
        },
        [{"image_id": i, "category_id": 1, "bbox": [1, 1, 4, 4], "score": 0.9 - i / 9} for i in range(3)],
    )
    rankings = (
        {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}},
        {"q1": {"a": 0.5, "b": 0.7, "x": 0.5}, "q2": {"c": 1.0, "d": 1.0, "e": -2.0}},
    )
    labels = ({"id": [1, 2, 3], "label": ["a", "b", "a"]}, {"id": [1, 2, 3], "label": ["a", "a", "a"]})
    ellipses = {
        "image": [1, 1, 2],
        "x": [1.0, 5, 2],
        "y": [1.0, 2, 3],
        "a": [3.0, 2, 1],
        "b": [1.0, 1, 1],
        "angle": [0.0, 30, 9],
    }
    captions = ({"image": [1, 2], "caption": ["a dog", "two cats"]}, {"image": [1, 2], "caption": ["a dog", "a cat"]})
    made = []
    given: list[tuple[str, Any, Any]] = [
        ("labels", *labels), ("rankings", *rankings), ("boxes", *boxes), ("ellipses", ellipses, ellipses),
        ("captions", *captions),
    ]  # fmt: skip
    for task, truth, prediction in given:
        state = sy.Accumulator(task)
        state.update(truth, prediction)
        made.append(state.to_bytes())
    small = sy.Accumulator("labels")
    small.update(*labels)
    small.compact(["accuracy"])
    return [*made, small.to_bytes()]


def signed(data: bytes) -> bytes:
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def damaged(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 6])):
        at = rng.randrange(len(out)) if out else 0
        change = rng.randrange(4)
        if change == 0 and out:
            out[at] ^= 1 << rng.randrange(8)
        elif change == 1:
            del out[at:]
        elif change == 2:
            del out[at : at + rng.choice([1, 8, 64])]
        else:
            out[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 8, 64])))
    return bytes(out)


@target("states.damaged")
def fuzz_damaged(rng: random.Random) -> None:
    whole = rng.choice(states())
    data = damaged(rng, whole)
    if data == whole:
        return
    try:
        sy.Accumulator.from_bytes(data)
    except sy.InputError:
        return
    raise AssertionError("a damaged state was read")


def changed(rng: random.Random, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "O" or not array.size:
        return array[: rng.randrange(len(array) + 1)]
    if rng.random() < 0.2:
        return array[:-1]
    out = array.copy()
    odd = REALS if out.dtype.kind == "f" else WHOLES
    out.reshape(-1)[rng.randrange(out.size)] = np.array(rng.choice(odd)).astype(out.dtype)
    return out


@target("states.signed")
def fuzz_signed(rng: random.Random) -> None:
    whole = rng.choice(states())
    if rng.random() < 0.5:
        data = signed(damaged(rng, whole))
    else:
        kind, facts, arrays = parse_container(whole, "a state")
        names = rng.sample(list(arrays), min(len(arrays), rng.choice([1, 1, 2])))
        data = container_bytes(kind, facts, {n: changed(rng, a) if n in names else a for n, a in arrays.items()})
    try:
        sy.Accumulator.from_bytes(data).report(draws=32)
    except Exception:
        return
