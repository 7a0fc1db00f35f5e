"""Fuzz the kernels of tracking: overlaps, pairings, scores, codes, and rows of numbers as text."""

from __future__ import annotations

import random

import numpy as np
from harness import Draw, target

from steelyard import _native


@target("tracking.kernels")
def fuzz_tracking(rng: random.Random) -> None:
    draw = Draw(rng)
    runs = 1 + draw.size(2)
    sides = []
    for _ in range(2):
        n = draw.size(24)
        ends = np.sort(np.append(draw.whole(n + 1, runs - 1), n)).astype(np.int64)
        frame = np.concatenate(
            [np.sort(draw.whole(4, size)) for size in np.diff(ends, prepend=0)] or [np.zeros(0, np.int64)]
        )
        corner = draw.few(n, 4) * 40
        corner[:, 2:] += corner[:, :2]
        sides.append((np.ascontiguousarray(corner), frame.astype(np.int64), ends, draw.whole(5, n)))
    (box, frame, ends, track), (other, at, stops, name) = sides
    given = _native.tracking_overlaps(box, frame, ends, other, at, stops, 2)
    draw.call(_native.tracking_overlaps, box, frame, ends, other, at, stops, 2)
    draw.call(_native.tracking_matches, frame, ends, at, stops, *given, rng.choice([0.0, 10000.0]), 2)
    codes = [_native.tracking_codes(*side, 2)[0] for side in ((frame, track, ends), (at, name, stops))]
    draw.call(_native.tracking_codes, frame, track * rng.choice([1, 1 << 40]), ends, 2)
    scored = [np.array([rng.random() < 0.8 for _ in code], dtype=np.uint8) for code in codes]
    sides = frame, codes[0], ends, scored[0], at, codes[1], stops, scored[1]
    draw.call(_native.tracking_scores, *sides, *given, 0.5, rng.random() < 0.5, 2)
    draw.call(_native.assign_scipy, draw.few(draw.size(9), draw.size(9)))


@target("tracking.rows")
def fuzz_rows(rng: random.Random) -> None:
    draw = Draw(rng)
    numbers = [
        "1",
        "-2.5",
        "1e-9",
        ".5",
        "5.",
        "nan",
        "inf",
        "",
        " ",
        "x",
        "12345678901234567890",
        "0x1p3",
        "\xff",
        "1e999",
    ]
    between = [",", " ", "\t", "\r\n", "\n", ", "]
    text = "".join(rng.choice(numbers) + rng.choice(between) for _ in range(draw.size(60)))
    draw.call(_native.number_rows, text.encode("latin-1"), rng.choice([1, 4, 8, 64]))
    draw.call(_native.number_rows, draw.bytes(200), 8)
