"""Fuzz boxes in space: the kernels of matching and of curves, and the readers of label files and of JSON."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

import numpy as np
from harness import Draw, target

from steelyard import _native


def begins(draw: Draw, units: int, rows: int) -> np.ndarray:
    """Where the rows of units begin, and the end."""
    return np.concatenate([[0], np.sort(draw.whole(rows + 1, units - 1)), [rows]]).astype(np.int64)


@target("solid.kernels")
def fuzz_solid(rng: random.Random) -> None:
    draw = Draw(rng)
    units, classes, levels = 1 + draw.size(3), 1 + draw.size(2), rng.choice([1, 4, 8])
    t, d, r = draw.size(12), draw.size(12), draw.size(3)
    view = rng.choice([0, 1, 2])
    width = 4 if view == 0 else 7
    truth, predicted = (np.ascontiguousarray(draw.few(n, width) * 10) for n in (t, d))
    group, other = ((draw.whole(classes + 1, n) - 1).astype(np.int32) for n in (t, d))
    score = draw.few(d, 1).reshape(-1)
    events = draw.call(
        _native.kitti_match, view, begins(draw, units, t), truth, group, (draw.whole(2, t)).astype(np.uint8),
        draw.whole(256, t).astype(np.uint8), np.zeros(t), begins(draw, units, d), predicted, other,
        draw.whole(256, d).astype(np.uint8), np.zeros(d), score, begins(draw, units, r),
        np.ascontiguousarray(draw.few(r, 4) * 10), np.full(classes, 0.5), levels, 2,
    )  # fmt: skip
    draw.call(_native.solid_overlaps, view, truth[: min(t, d)], predicted[: min(t, d)])
    n = draw.size(9)
    score = -np.sort(-draw.few(n, 1).reshape(-1))
    unit, counts = draw.whole(units, n).astype(np.int32), draw.whole(3, units).astype(float)
    whole = [(draw.whole(3, n) - 1).astype(np.int32) for _ in range(3)]
    weights = np.ascontiguousarray(np.abs(draw.few(4, units)) * rng.choice([1, 0.3, 1e6]))
    if isinstance(events, dict) and rng.random() < 0.5:
        one = np.flatnonzero(events["cell"] == 0)
        score, unit = events["score"][one], events["unit"][one]
        whole, n = [events[name][one] for name in ("hits", "tp", "fp")], len(one)
    draw.call(_native.kitti_areas, weights, counts, score, unit, *whole, np.zeros(n), 2)
    draw.call(_native.kitti_curve, weights[0], counts, score, unit, *whole, np.zeros(n))
    order = np.lexsort((-score, unit))
    draw.call(
        _native.kitti_areas_by_unit, counts, score[order], unit[order], *(one[order] for one in whole), np.zeros(n)
    )  # fmt: skip


@target("solid.centres")
def fuzz_centres(rng: random.Random) -> None:
    draw = Draw(rng)
    units, classes = 1 + draw.size(3), 1 + draw.size(2)
    t, d = draw.size(12), draw.size(12)
    sides = []
    for n in (t, d):
        box = draw.few(n, 8) * 3
        box[:, 2:5] = np.abs(box[:, 2:5]) + 0.1
        sides += [begins(draw, units, n), np.ascontiguousarray(box), draw.whole(classes, n).astype(np.int32)]
        sides.append((draw.whole(3, n) - 1).astype(np.int32))
    score = draw.few(d, 1).reshape(-1)
    distances = np.array([0.5, 1.0, 2.0, 4.0])
    draw.call(_native.centre_match, *sides, score, distances, 2, np.zeros(classes, np.uint8), 2)
    score = -np.sort(-score)
    unit, bits = draw.whole(units, d).astype(np.int32), draw.whole(16, d).astype(np.uint8)
    errors, counts = np.abs(draw.few(d, 5)), draw.whole(3, units).astype(float)
    errors[draw.few(d, 5) > 0.5] = np.nan
    weights = np.ascontiguousarray(np.abs(draw.few(4, units)) * rng.choice([1, 0.3, 1e6]))
    draw.call(_native.centre_scores, weights, counts, score, unit, bits, errors, 4, 2, 2)
    draw.call(_native.centre_curves, weights[0], counts, score, unit, bits, errors, 4, 2)
    order = np.lexsort((-score, unit))
    draw.call(
        _native.centre_scores_by_unit, counts, score[order], unit[order], bits[order], errors[order], 4, 2
    )  # fmt: skip


@target("solid.files")
def fuzz_files(rng: random.Random) -> None:
    draw = Draw(rng)
    words = ["Car", "DontCare", "1", "-2.5", "1e-9", "nan", "x", "", "12345678901234567890", "\xff", "1e999"]
    lines = [" ".join(rng.choice(words) for _ in range(rng.choice([15, 16, 16, 3]))) for _ in range(draw.size(5))]
    box = {
        "sample_token": "s", "translation": [1.5, 2, 3], "size": [1, 2, 3], "rotation": [1, 0, 0, 0],
        "velocity": [None, 0.1234567890123456789], "detection_name": "car", "detection_score": 0.5,
    }  # fmt: skip
    boxes = [{key: value for key, value in box.items() if rng.random() < 0.97} for _ in range(draw.size(4))]
    data = {"results": {"s": boxes}, "ego": {"s": [1, 2, 3]}, "scene": {"s": "a"}}
    text = bytearray(json.dumps(data).replace("null", rng.choice(["null", "NaN", "Na"])).encode())
    for _ in range(rng.choice([0, 0, 1, 3])):
        text[rng.randrange(len(text))] = rng.randrange(256)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        path.write_bytes("\n".join(lines).encode("latin-1"))
        draw.call(_native.read_kitti, [str(path), str(path)], rng.random() < 0.5, 2)
        path.write_bytes(bytes(text))
        draw.call(_native.read_nuscenes, str(path), rng.random() < 0.5)
    draw.call(_native.parse_nuscenes, bytes(text), rng.random() < 0.5)
