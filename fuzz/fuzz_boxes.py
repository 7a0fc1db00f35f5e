"""Fuzz the COCO reader and the evaluator of boxes. Run by `make fuzz` on a build with sanitizers.

Texts are made by changing good ones: bytes, pieces, tokens, numbers. Whatever comes must give columns or an InputError;
what gives columns on both sides is evaluated. A sanitizer's report, a crash or any other exception ends the run.

    python fuzz/fuzz_boxes.py [--target reader|evaluator|kernel|streams] [--seconds 60] [--seed N]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time

import numpy as np

import steelyard as sy
from steelyard import _native
from steelyard.core.task import Policy
from steelyard.io.coco import parse_coco
from steelyard.metrics.boxes.pairs import measure, pair

TOKENS = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u0041", b"\\ud83d\\ude00", b"\\ud800", b"null", b"true",
    b"false",
    b"NaN", b"-Infinity", b"1e999", b"-0", b"0.1e-400", b"9" * 30, b"9" * 400, b"1" * 5000, b"\xff",
    b"\xc3\xa9", b"\x00",
    b" " * 70, b'"images"', b'"annotations"', b'"categories"', b'"bbox"', b'"score"', b'"image_id"', b'"id"', b"}, {",
    b"[[[[[[[[[[[[[[[[[[[[", b'{"a":' * 50,
]  # fmt: skip


def good(rng: random.Random) -> tuple[bytes, bytes]:
    images, classes = rng.randrange(1, 5), rng.randrange(1, 4)

    def number() -> float:
        return rng.choice([0, 1, -1, 5.5, 1e12, 1e-300, rng.uniform(0, 100), rng.randrange(100)])

    def box() -> list[float]:
        return [number(), number(), abs(number()), abs(number())]

    truth = {
        "info": {"x": [{"y": [1, "é\n"]}]},
        "images": [{"id": i, "file_name": "ä.jpg"} for i in range(images)],
        "annotations": [
            {"id": i, "image_id": rng.randrange(images), "category_id": rng.randrange(classes), "bbox": box(),
             "area": abs(number()), "iscrowd": rng.randrange(2), "segmentation": [[1.5, 2, 3]]}
            for i in range(rng.randrange(6))
        ],
        "categories": [{"id": i, "name": f"n{i}"} for i in range(classes)],
    }  # fmt: skip
    results = [
        {"image_id": rng.randrange(images), "category_id": rng.randrange(classes), "bbox": box(), "score": number()}
        for _ in range(rng.randrange(8))
    ]
    space = rng.choice([None, 1])
    return json.dumps(truth, indent=space).encode(), json.dumps(results, indent=space).encode()


def changed(rng: random.Random, text: bytes) -> bytes:
    data = bytearray(text)
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        place = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[min(place, len(data) - 1)] = rng.randrange(256)
        elif kind == 1:
            del data[place : place + rng.choice([1, 2, 10, 1000])]
        elif kind == 2:
            data[place:place] = rng.choice(TOKENS)
        elif kind == 3:
            other = rng.randrange(len(data) + 1)
            data[place:place] = data[other : other + rng.randrange(40)]
        elif kind == 4:
            del data[place:]
        else:
            data[place:place] = rng.choice(TOKENS) * rng.choice([1, 3, 300])
    return bytes(data)


def read(text: bytes, side: str, threads: int) -> object:
    try:
        return parse_coco(text, side, threads=threads)
    except sy.InputError as error:
        if len(str(error)) > 3000:
            raise AssertionError("the message is too long") from error
        return None


def fuzz_reader(rng: random.Random) -> None:
    for side, text in zip(("truth", "prediction"), good(rng), strict=True):
        text = changed(rng, text)
        if rng.random() < 0.02:  # over the size of a chunk
            text = changed(rng, text[:-1] + (b", " + text[1:-1]) * (1_500_000 // max(1, len(text))) + text[-1:])
        one, two = read(text, side, 1), read(text, side, 3)
        assert (one is None) == (two is None), text[:2000]


def fuzz_evaluator(rng: random.Random) -> None:
    truth, results = good(rng)
    if rng.random() < 0.5:
        truth, results = changed(rng, truth), changed(rng, results)
    sides = [read(truth, "truth", 1), read(results, "prediction", 1)]
    if None in sides:
        return
    try:
        stats = measure(pair(*sides, Policy(extra="skip")))  # type: ignore[arg-type]
        if len(stats) == 0:
            return
        metrics = [m for m in sy.metrics("boxes") if rng.random() < 0.3]
        from steelyard.core.weights import EachUnit, Plain

        for metric in metrics:
            metric.reduce(stats, Plain(stats.weight))
            metric.reduce(stats, EachUnit(len(stats)))
    except sy.InputError:
        pass


def fuzz_kernel(rng: random.Random) -> None:
    """Arrays of any content: the kernels must refuse what they cannot take."""
    n = np.random.default_rng(rng.randrange(1 << 30))
    t, d, images, labels = (int(n.integers(0, 6)) for _ in range(4))

    def rows(count: int, limit: int) -> np.ndarray:
        return n.integers(-1 if rng.random() < 0.05 else 0, max(1, limit + (rng.random() < 0.05)), count).astype(
            np.int32
        )

    def real(*shape: int) -> np.ndarray:
        values = n.uniform(0, 50, shape)
        if rng.random() < 0.1 and values.size:
            values.flat[int(n.integers(values.size))] = rng.choice([np.nan, np.inf, -1.0, 1e300, 1e-320])
        return values

    ious = n.uniform(0.05, 1, int(n.integers(0, 40)) if rng.random() < 0.1 else 3)
    try:
        found = _native.boxes_match(
            rows(t, images), rows(t, labels), real(t, 4), real(t), n.integers(0, 4, t).astype(np.uint8),
            rows(d, images), rows(d, labels), real(d, 4), real(d), images, labels, ious, np.sort(real(2, 2), axis=1),
            int(n.integers(0, 5)), bool(n.integers(2)), bool(n.integers(2)), 2,
        )  # fmt: skip
        begin, end, _, rank, hit, ignored, truth_begin = found[:7]
        image = rows(d, images)
        args = (begin, end, image, real(d), rank, hit[0], ignored[0], truth_begin, rows(t, images))
        counts = n.integers(0, 2, t).astype(np.uint8)
        grid = np.linspace(0, 1, 101 if rng.random() < 0.9 else 7)
        _native.box_curves(*args, counts, len(ious), 3, real(images), grid, 2)
        for kind in range(7):
            weights = real(int(n.integers(0, 40)), images)
            _native.box_figures(*args, counts, len(ious), 3, weights, kind, grid, 2)
            drawn = n.integers(0, 256, (2, images, 32)).astype(np.uint8)
            _native.box_draws(
                *args, counts, len(ious), 3, drawn, int(n.integers(30, 66)), kind, grid, bool(n.integers(2)), 2
            )
    except (ValueError, TypeError):
        pass


def fuzz_streams(rng: random.Random) -> None:
    """Rankings in parts of any content: refused, or walked to the end."""
    n = np.random.default_rng(rng.randrange(1 << 30))
    odd = [np.nan, np.inf, -np.inf, -1.0, 0.5, 1e14, 1e300, 1e-320]

    def count() -> float:
        return float(rng.choice(odd) if rng.random() < 0.1 else n.integers(0, 9))

    try:
        thresholds = int(n.integers(0, 40)) if rng.random() < 0.1 else int(n.integers(1, 33))
        grid = np.linspace(0, 1, int(n.integers(1, 102)))
        boxes = _native.BoxStream(thresholds, int(n.integers(0, 9)), int(n.integers(-1, 9)), grid, count(), count())
        rows = _native.LabelStream(int(n.integers(-1, 6)), float(rng.choice(odd)), count(), count())
        top = 9.0
        for _ in range(int(n.integers(0, 5))):
            size = int(n.integers(0, 20))
            score = np.sort(n.uniform(top - 1, top, size))[::-1].copy()
            if size and rng.random() < 0.1:
                score[int(n.integers(size))] = rng.choice(odd)
            bits = (n.integers(0, 1 << 32, size, dtype=np.uint32) for _ in range(2))
            boxes.feed(score, n.integers(0, 12, size).astype(np.uint16), *bits)
            rows.feed(score, n.integers(0, 3, size).astype(np.uint8))
            top -= 1
        boxes.result()
        rows.result()
    except (ValueError, TypeError):
        pass


TARGETS = {"reader": fuzz_reader, "evaluator": fuzz_evaluator, "kernel": fuzz_kernel, "streams": fuzz_streams}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    asked = parser.parse_args()
    np.seterr(all="ignore")
    for name in asked.target or TARGETS:
        start, runs = time.monotonic(), 0
        while time.monotonic() - start < asked.seconds:
            seed = asked.seed * 1_000_003 + runs
            try:
                TARGETS[name](random.Random(seed))
            except Exception:
                print(f"{name}: run {runs} of seed {asked.seed} (random.Random({seed})) failed", file=sys.stderr)
                raise
            runs += 1
        print(f"{name}: {runs} runs without a find (seed {asked.seed})")


if __name__ == "__main__":
    main()
