"""Fuzz the kernels of plain columns: draws, labels, ranked events, rates, places, ellipses, assignment and losses."""

from __future__ import annotations

import random

import numpy as np
from harness import Draw, target

from steelyard import _native


@target("draws.totals")
def fuzz_draws(rng: random.Random) -> None:
    draw = Draw(rng)
    n, k, seed, first, count, threads = draw.size(300), draw.size(10), 7, 32 * draw.size(3), draw.size(70), 2
    keys, columns, copies = draw.keys(n), draw.real(n, k), 1 + draw.whole(rng.choice([2, 40, 100_000]), n)
    given = (seed, first, count)
    draw.call(_native.poisson_totals, keys, columns, *given, threads, rng.choice([None, copies]))
    draw.call(_native.flip_totals, keys, columns, *given, threads)
    m, size = (draw.size(40) if n else 0), 1 + draw.size(9)
    entries = (np.sort(draw.owners(n, m)), draw.whole(size, m, kind=np.int32), rng.choice([draw.real(m), np.zeros(0)]))
    draw.call(_native.poisson_scatter, keys, *entries, size, *given, threads, rng.choice([None, copies]))
    draw.call(_native.poisson_weights, keys, *given, rng.choice([None, copies]))
    draw.call(_native.poisson_counts, keys, *given, threads)
    text = draw.bytes()
    draw.call(_native.unit_keys, text, draw.offsets(draw.size(), len(text))[1:])
    draw.call(_native.unit_keys_of_integers, draw.whole(1 << 62, n))
    draw.call(_native.set_threads, rng.choice([0, 1, 2]))
    assert _native.thread_count() >= 1
    assert _native.simd() in ("baseline", "avx2")


@target("frames.streams")
def fuzz_frames(rng: random.Random) -> None:
    draw, rows = Draw(rng), rng.randrange(40)
    cells = {
        "u": lambda: rng.choice(["", "é", "x" * rng.randrange(50), None]),
        "g": lambda: rng.choice([0.5, float("nan"), float("inf"), 3, None]),
        "l": lambda: rng.choice([0, -1, 1 << 62, None]),
    }
    kinds = [rng.choice(list(cells)) for _ in range(rng.randrange(5))]
    columns = [[cells[kind]() for _ in range(rows)] for kind in kinds]
    names = [f"c{i}" for i in range(len(kinds))]
    if columns and rng.random() < 0.3:
        rng.choice(columns).append(rng.choice([1, "a", None, 1 << 70, "\ud800", b"b"]))
    draw.call(_native.arrow_stream, names, kinds, columns)


@target("labels.counts")
def fuzz_labels(rng: random.Random) -> None:
    draw = Draw(rng)
    n, classes = draw.size(20), 1 + draw.size()
    draw.call(_native.extent, draw.whole(classes, n))
    draw.call(_native.confusion, draw.whole(classes, n), draw.whole(classes, n), 0, classes)
    draw.call(_native.factor_rows, draw.whole(3, n, draw.size(3), kind=np.uint32))
    draw.call(_native.factor_texts, [rng.choice(["a", "bb", "é", "", "x" * 40, "\ud800"]) for _ in range(n)])
    draw.call(_native.fingerprint, draw.whole(256, draw.size(99), kind=np.uint8))
    draw.call(_native.fingerprint_words, draw.keys(n)[:: rng.choice([1, 2, -1])])
    ids = draw.whole(rng.choice([9, 1 << 62]), n)
    draw.call(_native.places, ids, draw.whole(9, draw.size(20)))
    draw.call(_native.first_repeated, ids)


@target("labels.ranked")
def fuzz_ranked(rng: random.Random) -> None:
    """Events in the order of their scores under rows of weights: the labels' and the ellipses' curves."""
    draw = Draw(rng)
    n, units, rows, kind = draw.size(20), 1 + draw.size(), draw.size(20), rng.randrange(5)
    scores, positive = draw.few(n), draw.flags(n)
    draw.call(_native.rank_order, scores, positive)
    owner, last, value = draw.owners(units, n), draw.flags(n), rng.choice([draw.real(n), np.zeros(0)])
    weights = draw.whole(3, rows, units, kind=np.float64)
    owners = rng.choice([owner, np.zeros(0, np.int64)])
    draw.call(_native.ranked, weights, owners, positive, last, value, kind, 0.5, 2)
    ending = np.append(last[:-1], np.ones(min(n, 1), np.uint8)).astype(np.uint8)
    counts, units32 = draw.whole(4, (rows + 31) // 32, units, 32, kind=np.uint8), owner.astype(np.int32)
    begin, group = np.array([0, rng.choice([0, n]), n]), draw.whole(4, units).astype(np.int32) - 1
    draw.call(_native.ranked_draws, counts, rows, begin, units32, positive, ending, rng.randrange(2), 2)
    draw.call(_native.ranked_left_out, group, 3, begin, units32, positive, ending, rng.randrange(2), 2)
    draw.call(_native.ranked_each, draw.offsets(units, n), positive, last, value, kind, 0.5)
    truths, rule = draw.whole(4, units, kind=np.float64), rng.randrange(4)
    draw.call(_native.ranked_ap, weights, truths, owner, positive, last, rule, 2)
    draw.call(_native.ranked_ap_by_unit, truths, np.sort(owner), positive, last, rule)


@target("labels.rates")
def fuzz_rates(rng: random.Random) -> None:
    """Every figure of two kinds of events, under rows of weights and of each unit alone; threads change nothing."""
    draw = Draw(rng)
    n, units, rows, figure = draw.size(30), 1 + draw.size(), draw.size(6), rng.randrange(23)
    score = np.sort(rng.choice([draw.few(n), draw.real(n)]))[::-1].copy()
    last = np.append(score[1:] != score[:-1], np.ones(min(n, 1), bool)).astype(np.uint8)
    kind, value = draw.whole(4, n, kind=np.uint8), rng.choice([draw.whole(3, n, kind=np.float64), np.zeros(0)])
    parameters = np.array([rng.choice([0.0, 0.01, 0.5, 1.0]), *draw.whole(4, 3)], dtype=np.float64)
    events = (kind, last, value, score, figure, parameters)
    none = np.zeros(0, np.int64)
    owner = rng.choice([draw.owners(units, n), none])
    second = rng.choice([draw.owners(units, n), none]) if len(owner) else none
    weights = draw.whole(3, rows, units, kind=np.float64)
    draw.call(_native.rates, weights, owner, second, *events, 2)
    alone, together = (_native.rates(weights, owner, second, *events, threads) for threads in (1, 3))
    if not np.array_equal(alone, together, equal_nan=True):
        raise AssertionError("the number of threads changed a figure")
    draw.call(_native.rates_each, draw.offsets(units, n), *events)
    draw.call(_native.rates_read_at_hits, *events[-2:])
    thresholds, counts = np.unique(events[3]), np.zeros((units, 2 * len(np.unique(events[3])) + 1), np.int64)
    draw.call(_native.count_at, thresholds, events[3], owner.astype(np.int32), second.astype(np.int32), counts)


def ellipses(draw: Draw, n: int) -> np.ndarray:
    """Rows x, y, degrees, a, b: from specks to giants, of which some are the same, nested or touching."""
    axes = np.sort(10.0 ** draw.real(n, 2, low=-12.0 if draw.rng.random() < 0.2 else -1.0, high=2.0), axis=1)[:, ::-1]
    turned = np.where(draw.real(n) < 25, 90.0 * draw.whole(2, n), draw.real(n, high=179.9))
    centres = draw.whole(4, n, 2) * draw.rng.choice([0.0, 1.0, 1e11])
    rows = np.column_stack([centres, turned, axes])
    if n > 1 and draw.rng.random() < 0.3:
        rows[1] = rows[0]
    return np.ascontiguousarray(rows)


@target("ellipses.kernels")
def fuzz_ellipses(rng: random.Random) -> None:
    draw, kind = Draw(rng), rng.randrange(6)
    most = rng.choice([3, 5, 40])
    n, m, images = draw.size(most), draw.size(most), 1 + draw.size(2)
    truth, detected, weights = ellipses(draw, n), ellipses(draw, m), draw.real(5)
    draw.call(_native.ellipse_matrix, truth, detected, kind, weights, 2)
    same = min(n, m)
    draw.call(_native.ellipse_pairwise, truth[:same], detected[:same], kind, weights)
    draw.call(_native.ellipse_overlap, truth[:same], detected[:same])
    ends = draw.offsets(images, n)[1:], draw.offsets(images, m)[1:]
    draw.call(_native.ellipse_match, truth, detected, *ends, kind, weights, rng.random() < 0.5, 2)
    draw.call(_native.ellipse_match_by_score, truth, detected, *ends, draw.few(m), draw.real(2, high=1.0), 2)


@target("ellipses.assign")
def fuzz_assign(rng: random.Random) -> None:
    """Costs with many ties, of both signs and all sizes: every pairing is one to one and complete."""
    draw = Draw(rng)
    most = rng.choice([3, 18, 60])
    n, m = draw.size(most), draw.size(most)
    cost = rng.choice([draw.few(n, m), draw.real(n, m, low=-50.0), draw.real(n, m) * 1e298, 10.0 ** draw.real(n, m)])
    for optimal in (False, True):
        draw.call(_native.assign, cost, optimal)
        partner = _native.assign(cost, optimal)
        paired = partner[partner >= 0]
        if len(paired) != min(n, m) or len(set(paired.tolist())) != len(paired) or (paired >= m).any():
            raise AssertionError(f"{partner} is not a pairing of {n} rows with {m} columns")


@target("losses.focal")
def fuzz_focal(rng: random.Random) -> None:
    """Logits by rows and by planes, with steps that reach their ends or not."""
    draw = Draw(rng)
    classes, size = draw.size(40), [draw.size(), draw.size(), draw.size(30)]
    anchors = size[0] * size[1] * size[2]
    given = (rng.choice([0.25, 1.0, 0.0]), rng.choice([0.75, 1.0]), rng.choice([0.0, 1.0, 1.5, 2.0]))
    logits = draw.real(anchors * classes, low=-120.0, high=120.0).astype(np.float32)
    labels = draw.whole(classes + 3, anchors) - 2
    slope = rng.choice([None, np.zeros(len(logits), np.float32)])
    draw.call(_native.focal_of_rows, logits, labels, classes, *given, slope, 2)
    steps, places = [size[1] * size[2], size[2]], [size[1] * size[2], size[2], 1]
    if rng.random() < 0.3:
        places[rng.randrange(3)] = draw.size(40)
    draw.call(_native.focal_of_planes, logits, labels, size, steps, places, classes, anchors, *given, slope, 2)
