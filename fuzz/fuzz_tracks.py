"""Fuzz the kernels of tracking: overlaps, pairings, scores, codes, matrices by frame, and rows of numbers as text."""

from __future__ import annotations

import random

import numpy as np
from harness import REALS, Draw, target

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


@target("tracking.frames")
def fuzz_frames(rng: random.Random) -> None:
    """Sequences with a full matrix of similarities for each frame."""
    draw = Draw(rng)
    frames = draw.size(4)
    sizes = draw.whole(5, frames), draw.whole(5, frames)
    if frames and rng.random() < 0.1:  # blocks and sums of more than eight values
        sizes[0][0], sizes[1][0] = rng.choice([(12, 9), (9, 12), (140, 130)])
    rows = [int(side.sum()) for side in sizes]
    corners = [np.ascontiguousarray(draw.few(n, 4) * 40) for n in rows]
    for corner in corners:
        corner[:, 2:] += corner[:, :2]
    draw.call(_native.frame_ious, corners[0], sizes[0], corners[1], sizes[1], rng.random() < 0.5)
    cells = int(sizes[0] @ sizes[1])
    similarity = draw.few(cells) if rng.random() < 0.5 else draw.real(cells, high=1.0)
    if cells and rng.random() < 0.2:
        similarity[rng.randrange(cells)] = rng.choice(REALS)
    chosen = [draw.flags(n) for n in rows]
    threshold = rng.choice([0.0, 0.5, 1.0, -1.0, float("nan"), float("inf")])
    lift = rng.choice([0.0, 1000.0, -1.0, 1e300, float("nan")])
    draw.call(_native.frame_select, similarity, *sizes, *chosen)
    draw.call(_native.frame_pairs, similarity, *sizes, *chosen, threshold, lift)
    draw.call(_native.frame_sums, similarity, *sizes)
    tracks = [1 + draw.size(4) for _ in rows]
    names = [draw.whole(count, n) for count, n in zip(tracks, rows, strict=True)]
    draw.call(_native.frame_hota, similarity, *sizes, *names, *tracks)
    draw.call(_native.frame_clear, similarity, *sizes, *names, *tracks, threshold)
    draw.call(_native.frame_identity, similarity, *sizes, *names, *tracks, threshold)


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
