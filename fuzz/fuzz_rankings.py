"""Fuzz rankings: ids as flat columns, TREC files, joins of a truth with a run, and the scores of queries."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from harness import REALS, Draw, target

from steelyard import _native

IDS = ["a", "b", "c", "d1", "d2", "d3", "d10", "longer than eight", "x" * 70_000, " a ", "é", "", "q"]


def ids_of(draw: Draw, n: int) -> np.ndarray:
    ids = np.empty(n, dtype=object)
    ids[:] = [draw.rng.choice(IDS[:8] if draw.rng.random() < 0.95 else [*IDS, None, 5, "\ud800"]) for _ in range(n)]
    return ids


def side(draw: Draw, queries: int) -> tuple[np.ndarray, ...] | None:
    """Text, places, keys, values and starts of one side, made by the native core itself."""
    starts = np.concatenate([[0], np.cumsum(draw.whole(7, queries))]).astype(np.int64)
    n = int(starts[-1])
    every = [f"d{i}" for i in range(12)]
    names = np.empty(n, dtype=object)
    for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        names[a:b] = draw.rng.sample(every, b - a)
    packed = draw.call(_native.pack_objects, names)
    if packed is None or isinstance(packed, int):
        return None
    values = draw.rng.choice(
        [draw.few(n), draw.real(n), draw.few(n) * 1e39, -draw.few(n) * 1e300, 1 + draw.few(n) * 1e-9]
    )
    return (*packed, values, starts)


@target("rankings.joins")
def fuzz_joins(rng: random.Random) -> None:
    draw = Draw(rng)
    queries, runs = draw.size(4), draw.size(4)
    truth, run = side(draw, queries), side(draw, runs)
    if truth is None or run is None:
        return
    run_of = np.full(queries, -1, dtype=np.int64)
    both = min(queries, runs)
    run_of[:both] = rng.sample(range(runs), both)
    order = rng.choice([np.zeros(0, np.int64), draw.whole(1 << 40, len(run[1]))])
    draw.call(_native.join_rankings, *truth, *run, run_of, order, 2)
    draw.call(_native.ranking_repeats, *run, 2)
    draw.call(_native.ranking_sums, *run[2:], 2)
    nested = {f"q{i}": nested_query(rng) for i in range(runs)}
    draw.call(_native.join_nested, *truth, nested, run_of)
    draw.call(_native.pack_nested, nested)


def nested_query(rng: random.Random) -> Any:
    if rng.random() < 0.03:
        return rng.choice([None, [], "x", 5])
    values = [1.0, 2, 0.5, -1e300, 1e300, True, 10**400, *REALS] if rng.random() < 0.2 else [1.0, 2, 0.5, 1e-9, -3]
    names = IDS if rng.random() < 0.1 else [f"d{i}" for i in range(12)]
    return {rng.choice(names): rng.choice(values) for _ in range(rng.choice([3, 9, 400]))}


@target("rankings.scores")
def fuzz_scores(rng: random.Random) -> None:
    draw = Draw(rng)
    queries, n = draw.size(4), draw.size(30)
    starts = draw.offsets(queries, n)
    n = int(starts[-1])
    events = draw.whole(9, n), rng.choice([draw.few(n) * 4 - 1, draw.real(n, high=4.0)]), starts
    draw.call(_native.ranking_hits, *events, draw.size(9), 1.0)
    draw.call(_native.ranking_r_hits, *events, 1.0)
    draw.call(_native.ranking_gain, *events, draw.size(9), 1.0, rng.random() < 0.5)
    draw.call(_native.ranking_rbp, *events, 0.8, 1.0, rng.random() < 0.5)
    draw.call(_native.ranking_err, *events, draw.size(9), 4.0)
    draw.call(_native.ranking_bpref, *events, 1.0)


@target("rankings.above")
def fuzz_above(rng: random.Random) -> None:
    draw = Draw(rng)
    rows, columns = draw.size(5), draw.size(40)
    scores = rng.choice([draw.few(rows, columns), draw.real(rows, columns, low=-2.0)]).astype(np.float32)
    starts = draw.offsets(rows, draw.size(12))
    high = np.sort(draw.real(int(starts[-1]), low=-2.0)).astype(np.float32)
    draw.call(_native.count_above, scores, starts, high, high - rng.choice([0.0, 0.1, 3.0]))


@target("rankings.texts")
def fuzz_texts(rng: random.Random) -> None:
    draw, n = Draw(rng), rng.randrange(9)
    draw.call(_native.pack_objects, ids_of(draw, n))
    draw.call(_native.pack_runs, ids_of(draw, n))
    draw.call(_native.pack_integers, draw.whole(1 << 62, n) - (1 << 61))
    text = rng.choice([b"abcdefgh", b"  a b ", bytes(70_000), draw.bytes()])
    draw.call(_native.pack_offsets, np.frombuffer(text, np.uint8), draw.offsets(draw.size(), len(text)))
    packed = _native.pack_integers(draw.whole(3, n))
    draw.call(_native.text_runs, *packed)


LINES = {
    4: ["q1 0 d1 1", "q1 0 d2 0", "q2 0 d1 -1", "", "  ", "q2\t0\td3\t2.5\r"],
    6: [
        "q1 Q0 d1 1 0.5 t",
        "q1 Q0 d2 2 1e-400 t",
        "q2 Q0 d1 1 -3.25E+2 t",
        "",
        "q3 Q0 d9 1 123456789012345678901234 t",
    ],
}
PIECES = [
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1e-999",
    "0x1p3",
    "+1",
    "-",
    ".",
    "1.",
    ".5",
    "1e",
    "1e+",
    "9" * 400,
    "\0",
    "é",
]


@target("rankings.trec")
def fuzz_trec(rng: random.Random) -> None:
    fields = rng.choice([4, 6])
    lines = rng.choices(LINES[fields], k=rng.randrange(9))
    if lines and rng.random() < 0.7:
        at = rng.randrange(len(lines))
        words = lines[at].split(" ")
        words[rng.randrange(len(words))] = rng.choice(PIECES)
        lines[at] = " ".join(words)
    data = bytearray(rng.choice([b"", b"\xef\xbb\xbf"]) + "\n".join(lines).encode() + rng.choice([b"", b"\n"]))
    if data and rng.random() < 0.2:
        data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.01:  # over the size of a chunk
        data = (data + b"\n") * (9_000_000 // (len(data) + 1))
    file, draw = np.frombuffer(bytes(data), np.uint8), Draw(rng)
    one, three = (_native.read_trec(file, fields, fields - (1 if fields == 4 else 2), threads) for threads in (1, 3))
    if any(not np.array_equal(a, b) for a, b in zip(one[:5], three[:5], strict=True)) or one[5] != three[5]:
        raise AssertionError("the number of threads changed what was read")
    if not np.isfinite(one[2]).all():
        raise AssertionError("a value that is not finite was read")
    draw.call(_native.read_trec, file, fields, fields - 1, 2)
