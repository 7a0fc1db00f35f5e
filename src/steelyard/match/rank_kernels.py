"""Kernels of ranks on a GPU, in Triton: see `ranks_gpu`, which launches them.

Counts are not specialized: each kernel is compiled once, whatever they are.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["rows", "first", "last", "room"])
def count(
    query, gallery, high_at, low_at, half_at, above_at, near_at, crowded_at, many_at, rows, first, last, room,
    WIDTH: tl.constexpr, SLOTS: tl.constexpr, HALVES: tl.constexpr, DESCRIBED: tl.constexpr, M: tl.constexpr,
    N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Count scores above the thresholds of each query, and list those that are too near to one.

    A program has M queries and N vectors of the gallery, of those from `first` to `last`. A query has SLOTS thresholds.
    With DESCRIBED both matrices are descriptors, which the copy engine of newer GPUs reads by.
    A pair in the list is the threshold's number times 2^32, plus the place in the gallery. Where more than three of a
    program's scores lie near to one threshold, the threshold and the program's first place are listed as crowded.
    """
    program = tl.program_id(0)
    down, across = tl.cdiv(rows, M), tl.cdiv(last - first, N)
    group = program // (GROUP * across)
    begin = group * GROUP
    size = tl.minimum(down - begin, GROUP)
    inside = program - group * GROUP * across
    row_begin = (begin + inside % size) * M
    place_begin = first + inside // size * N
    row = row_begin + tl.arange(0, M)
    place = place_begin + tl.arange(0, N)
    # Sums of what lies beyond the last begin so low that they stay there, for which no second kernel is compiled.
    value = tl.zeros((M, N), tl.float32) + tl.where(place < last, 0.0, float("-inf"))[None, :]
    if DESCRIBED:
        for k in range(0, WIDTH, K):
            value = tl.dot(query.load([row_begin, k]), gallery.load([place_begin, k]).T, value)
    else:
        lane = tl.arange(0, K)
        a_at = query + tl.minimum(row, rows - 1).to(tl.int64)[:, None] * WIDTH + lane[None, :]
        b_at = gallery + tl.minimum(place, last - 1).to(tl.int64)[:, None] * WIDTH + lane[None, :]
        for k in range(0, WIDTH, K):
            value = tl.dot(tl.load(a_at + k), tl.trans(tl.load(b_at + k)), value)
    if HALVES:
        value -= tl.load(half_at + tl.minimum(place, last - 1))[None, :]
    column = tl.arange(0, N)[None, :]
    for slot in tl.static_range(SLOTS):
        threshold = row * SLOTS + slot
        low = tl.load(low_at + threshold, row < rows, float("inf"))
        perhaps = tl.sum((value > low[:, None]).to(tl.int32), 1)
        if tl.max(perhaps, 0) > 0:
            high = tl.load(high_at + threshold, row < rows, float("inf"))
            surely = tl.sum((value > high[:, None]).to(tl.int32), 1)
            near = perhaps - surely
            # Few are near in one row: the first, the last, and one between them say which. More are counted again.
            tl.atomic_add(above_at + threshold, surely, (surely > 0) & (near <= 3))
            if tl.max(near, 0) > 0:
                is_near = (value > low[:, None]) & (value <= high[:, None])
                last_one = tl.max(tl.where(is_near, column, -1), 1)
                first_one = tl.min(tl.where(is_near, column, N), 1)
                between = tl.sum(tl.where(is_near, column, 0), 1) - last_one - first_one
                pair = (threshold.to(tl.int64) << 32) + place_begin
                at = tl.atomic_add(many_at + tl.zeros((M,), tl.int32), near, (near > 0) & (near <= 3))
                tl.store(near_at + at, pair + last_one, (near > 0) & (near <= 3) & (at < room))
                tl.store(near_at + at + 1, pair + first_one, (near > 1) & (near <= 3) & (at + 1 < room))
                tl.store(near_at + at + 2, pair + between, (near == 3) & (at + 2 < room))
                at = tl.atomic_add(many_at + 2 + tl.zeros((M,), tl.int32), 1, near > 3)
                tl.store(crowded_at + at, pair, (near > 3) & (at < room))


@triton.jit(do_not_specialize=["last", "room"])
def crowd(
    crowded_at, query, gallery, high_at, low_at, half_at, above_at, near_at, many_at, last, room,
    WIDTH: tl.constexpr, SLOTS: tl.constexpr, HALVES: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Count and list the scores of one query and N vectors, where many lie near to a threshold.

    The sum is in another order than `count`'s, so all of them are counted here and none there.
    """
    pair = tl.load(crowded_at + tl.program_id(0))
    threshold = pair >> 32
    place = (pair & 0xFFFFFFFF) + tl.arange(0, N)
    there = place < last
    lane = tl.arange(0, K)
    value = tl.zeros((N,), tl.float32)
    for k in range(0, WIDTH, K):
        a = tl.load(query + threshold // SLOTS * WIDTH + k + lane).to(tl.float32)
        b = tl.load(gallery + place[:, None] * WIDTH + (k + lane)[None, :], there[:, None], 0.0).to(tl.float32)
        value += tl.sum(a[None, :] * b, 1)
    if HALVES:
        value -= tl.load(half_at + place, there, 0.0)
    high = tl.load(high_at + threshold)
    low = tl.load(low_at + threshold)
    tl.atomic_add(above_at + threshold, tl.sum((there & (value > high)).to(tl.int32), 0))
    near = there & (value > low) & (value <= high)
    at = tl.atomic_add(many_at + tl.zeros((N,), tl.int32), 1, near)
    tl.store(near_at + at, (threshold << 32) + place, near & (at < room))


@triton.jit(do_not_specialize=["many", "room"])
def decide(
    near_at, many, query, gallery, owner_at, query_length, gallery_length, score_at, above_at, close_at, close_many,
    room, factor, WIDTH: tl.constexpr, SLOTS: tl.constexpr, COSINE: tl.constexpr, PAIRS: tl.constexpr,
    K: tl.constexpr,
):  # fmt: skip
    """Score listed pairs in double precision, count those that are above, and list again those that are nearly equal.

    The order of the sum is free here: what it may move is far below the distance that counts as nearly equal.
    """
    index = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)
    there = index < many
    pair = tl.load(near_at + index, there, 0)
    threshold = pair >> 32
    place = pair & 0xFFFFFFFF
    row = tl.load(owner_at + threshold // SLOTS, there, 0)
    lane = tl.arange(0, K)
    total = tl.zeros((PAIRS, K), tl.float64)
    for k in range(0, WIDTH, K):
        inside = there[:, None] & (lane + k < WIDTH)[None, :]
        a = tl.load(query + row[:, None] * WIDTH + (lane + k)[None, :], inside, 0.0).to(tl.float64)
        b = tl.load(gallery + place[:, None] * WIDTH + (lane + k)[None, :], inside, 0.0).to(tl.float64)
        if COSINE:
            total += a * b
        else:
            total += (a - b) * (a - b) * factor * factor
    score = tl.load(score_at + threshold, there, 0.0)
    total_score = tl.sum(total, 1)
    if COSINE:
        lengths = tl.load(query_length + row, there, 1.0) * tl.load(gallery_length + place, there, 1.0)
        gap = total_score / lengths - score
        equal = tl.abs(score) * 2.38e-7 + 1e-10
    else:
        gap = score * score - total_score
        equal = (score * score + total_score) * 4.77e-7
    tl.atomic_add(above_at + threshold, tl.where(gap > equal, 1, 0), there & (gap > equal))
    close = there & (tl.abs(gap) <= equal)
    at = tl.atomic_add(close_many + tl.zeros((PAIRS,), tl.int32), 1, close)
    tl.store(close_at + at, pair, close & (at < room))
