"""Fuzz packed scores of anomaly maps and LZW: what is packed comes back, and damaged bytes are refused."""

from __future__ import annotations

import random

import numpy as np
from harness import Draw, target

from steelyard import _native

TYPES = (np.float16, np.float32, np.float64, np.uint8, np.uint16)


@target("anomalies.scores")
def fuzz_scores(rng: random.Random) -> None:
    draw = Draw(rng)
    count, by_order = rng.choice([0, 1, 5, 300, 3000, 9000]), rng.random() < 0.5
    scores = draw.few(count) if rng.random() < 0.5 else draw.real(count, low=0.0 if rng.random() < 0.5 else -50.0) + 50
    scores = np.ascontiguousarray(scores.astype(rng.choice(TYPES)))
    skip = draw.flags(count) if rng.random() < 0.5 else np.zeros(0, np.uint8)
    draw.call(_native.pack_scores, scores, skip, by_order)
    packed = np.frombuffer(_native.pack_scores(scores, skip, by_order), np.uint8)
    draw.call(_native.unpack_scores, packed)
    distinct, times = np.unique(scores[skip == 0] if len(skip) else scores, return_counts=True)
    values, counts = _native.unpack_scores(packed)
    if not np.array_equal(values, distinct.astype(np.float64)) or not np.array_equal(counts, times):
        raise AssertionError("packed scores come back as others")
    thresholds = np.sort(draw.real(draw.size(8), high=110.0))
    places = np.array([[0, len(packed)]] * draw.size(3), dtype=np.int64).reshape(-1, 2)
    draw.call(_native.count_scores, packed, places, thresholds, np.ones(len(places)), rng.random() < 0.5)
    cuts = np.sort(np.concatenate([thresholds, values[: draw.size(300)]]))
    at, above = _native.count_scores(packed, np.array([[0, len(packed)]]), cuts, np.ones(1), False)[0]
    rising = np.sort(np.repeat(values, counts))
    exact = (len(rising) - np.searchsorted(rising, cuts, side) for side in ("left", "right"))
    if not all(map(np.array_equal, (at, above), exact)):
        raise AssertionError("scores at thresholds are miscounted")
    factors = np.ones(len(places)), np.ones(len(places)), np.zeros(len(places), np.int64)
    draw.call(_native.sum_scores, packed, places, *factors)
    broken = packed.copy()
    if len(broken):
        broken[rng.randrange(len(broken))] = rng.randrange(256)
    broken = np.ascontiguousarray(broken[: rng.randrange(len(broken) + 1)])
    draw.call(_native.unpack_scores, broken)
    draw.call(_native.sum_scores, broken, np.array([[0, len(broken)]]), np.ones(1), np.ones(1), np.zeros(1, np.int64))
    whole = np.array([[0, len(broken)]], dtype=np.int64)
    draw.call(_native.count_scores, broken, whole, thresholds, np.ones(1), True)


@target("anomalies.regions")
def fuzz_regions(rng: random.Random) -> None:
    draw = Draw(rng)
    mask = draw.flags(1 + draw.size(12), 1 + draw.size(40)) * draw.flags(1, 1)
    draw.call(_native.mask_regions, mask, rng.random() < 0.5)
    places, ends = _native.mask_regions(mask, True)
    if not np.array_equal(np.sort(places), np.flatnonzero(mask)):
        raise AssertionError("regions hold other pixels than their mask")
    if len(ends) != _native.connected_parts(mask)[1]:
        raise AssertionError("there are as many regions as connected parts")


@target("anomalies.lzw")
def fuzz_lzw(rng: random.Random) -> None:
    draw = Draw(rng)
    data = bytes(rng.randrange(256) for _ in range(rng.choice([0, 1, 9, 200])))
    if rng.random() < 0.5:
        data = b"\x80" + data  # begins with the code that clears the table
    draw.call(_native.unpack_lzw, data, rng.choice([0, 1, 100, 1 << 16]))
