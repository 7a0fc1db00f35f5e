"""Fuzz the kernels of pictures: similarity in windows, halves, visual information and errors."""

from __future__ import annotations

import random

import numpy as np
from harness import Draw, target

from steelyard import _native


@target("images.kernels")
def fuzz_kernels(rng: random.Random) -> None:
    """Pictures of every type: a picture is like itself, and sums of errors are those of NumPy."""
    draw = Draw(rng)
    kind = rng.choice([np.uint8, np.uint16, np.float64])
    shape = (1 + draw.size(20), 1 + draw.size(20), rng.choice([1, 1, 3]))
    top = rng.choice([2, 255])
    x, y = (draw.whole(top + 1, *shape, kind=kind) for _ in range(2))
    half = draw.real(1 + draw.size(5), low=0.1, high=1.0)
    taps = np.concatenate([half, half[::-1]])[rng.randrange(2) :]
    taps = np.ascontiguousarray((taps + taps[::-1]) / (2 * taps.sum()))
    if rng.random() < 0.3:
        taps = np.full(len(taps), 1 / len(taps))
    edges = rng.choice(["inner", "mirror", "replicate", "zeros", "none"])
    constants = (rng.choice([0.0, 6.5, 1e-3]), rng.choice([0.0, 58.5, 1e-3]))
    flags = [rng.random() < 0.3 for _ in range(4)]
    settings = (rng.choice([1.0, 1.01]), flags[0], flags[1], rng.choice([0.0, 1e-8]), *flags[2:])
    draw.call(_native.image_similarity, x, y, taps, edges, *constants, *settings)
    odd = len(taps) % 2 == 1  # a window of an even number of taps has no centre for edges that are continued
    if min(shape[:2]) >= len(taps) and (edges == "inner" or (edges != "none" and odd)):
        values, _ = _native.image_similarity(x, x, taps, edges, 6.5, 58.5)
        if not np.allclose(values[:, 0], 1.0):
            raise AssertionError("a picture is not like itself")
    halved = draw.call(_native.image_halve, x)
    if halved is not None and halved.dtype != np.float64:
        raise AssertionError("a half is not of floating-point numbers")
    times = rng.choice([1, 5, 45])  # pictures that are too small are refused
    large = [np.tile(side, (times, times, 1)) for side in (x, y)]
    draw.call(_native.image_information, *large, 1.0, rng.choice([0.0, 1e-10, 1e-8]))
    draw.call(_native.image_errors, x, y)
    if kind is not np.float64:
        wide = x.astype(np.int64) - y.astype(np.int64)
        expected = np.stack([(wide**2).sum(axis=(0, 1)), np.abs(wide).sum(axis=(0, 1))], axis=1)
        if not np.array_equal(_native.image_errors(x, y), expected):
            raise AssertionError("a sum of errors is wrong")
