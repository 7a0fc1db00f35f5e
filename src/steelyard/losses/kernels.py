"""Kernels of the losses on a GPU, in Triton: see `fused`, which launches them.

A program takes a piece of one array: of the logits of a level, or of its boxes. `table` has a row per array with where
its programs begin and how it lies in memory (see `layout`). Settings are constants of the compiled kernel, so that
float64 loses nothing: numbers that are passed come in single precision.
"""

from __future__ import annotations

import triton
import triton.language as tl

from steelyard.losses.kernel_formulas import focal


@triton.jit
def _pick(values, place, COUNT: tl.constexpr):
    chosen = values[0]
    for k in tl.static_range(1, COUNT):
        chosen = tl.where(place == k, values[k], chosen)
    return chosen


@triton.jit
def _row_of(table, program, COUNT: tl.constexpr, ROOM: tl.constexpr, WIDTH: tl.constexpr):
    """Which array a program belongs to: the last that begins at it or before."""
    rows = tl.arange(0, ROOM)
    starts = tl.load(table + rows * WIDTH, rows < COUNT, 1 << 40)
    return tl.sum((starts <= program).to(tl.int32), 0) - 1


@triton.jit
def _divisor(counts_at, many, COUNTED: tl.constexpr, CLASSES: tl.constexpr):
    """What the sum is divided by: 1, the elements that count, or the positives (counted or given) and 1."""
    lane = tl.arange(0, 1024)
    if COUNTED == 0:
        result = tl.full((), 1.0, tl.float64)
    elif COUNTED == 1:
        counted_rows = tl.load(counts_at + 2 * lane + 1, lane < many, 0)
        result = (tl.sum(counted_rows, 0) * CLASSES).to(tl.float64)
    elif COUNTED == 2:
        positives = tl.load(counts_at + 2 * lane, lane < many, 0)
        result = (tl.sum(positives, 0) + 1).to(tl.float64)
    else:
        partial = tl.load(counts_at + lane, lane < many, 0).to(tl.float64)
        result = tl.sum(partial, 0) + 1
    return result


@triton.jit
def _from_above(total_at, own_at, WEIGHT: tl.constexpr, TOTAL: tl.constexpr, OWN: tl.constexpr):
    """The gradient of what is asked for with respect to one of the two losses."""
    scale = tl.full((), 0.0, tl.float64)
    if TOTAL:
        scale += tl.load(total_at).to(tl.float64) * WEIGHT
    if OWN:
        scale += tl.load(own_at).to(tl.float64)
    return scale


@triton.jit
def _finish(
    sums, class_programs, programs, counts_at, many, losses_at, COUNTED: tl.constexpr, CLASSES: tl.constexpr,
    COORDINATES: tl.constexpr, CLASS_WEIGHT: tl.constexpr, BOX_WEIGHT: tl.constexpr, ROUNDS: tl.constexpr,
):  # fmt: skip
    """The total and the two losses from the sums of the programs, added up in float64."""
    lane = tl.arange(0, 1024)
    classes = tl.zeros((1024,), tl.float64)
    boxes = tl.zeros((1024,), tl.float64)
    for turn in range(ROUNDS):
        for part in tl.static_range(4):  # loads that do not wait for one another
            place = turn * 4096 + part * 1024 + lane
            value = tl.load(sums + place, place < programs, 0.0, cache_modifier=".cg").to(tl.float64)
            classes += tl.where(place < class_programs, value, 0.0)
            boxes += tl.where(place < class_programs, 0.0, value)
    divisor = _divisor(counts_at, many, COUNTED, CLASSES)
    class_loss = tl.sum(classes, 0) / divisor
    box_loss = tl.sum(boxes, 0) / divisor
    if COUNTED != 0:
        box_loss = box_loss / COORDINATES
    kind: tl.constexpr = losses_at.dtype.element_ty
    tl.store(losses_at, (class_loss * CLASS_WEIGHT + box_loss * BOX_WEIGHT).to(kind))
    tl.store(losses_at + 1, class_loss.to(kind))
    tl.store(losses_at + 2, box_loss.to(kind))


@triton.jit
def walk(
    logits, targets, ignore, boxes, box_targets, gradients, box_gradients, weight_at, table, sums, counts_at, many,
    above_total, above_classes, above_boxes, losses_at, done, class_programs, programs,
    CLASSES: tl.constexpr, COORDINATES: tl.constexpr, COUNTED: tl.constexpr, TARGET: tl.constexpr, IGNORE: tl.constexpr,
    WEIGHT: tl.constexpr, SUMS: tl.constexpr, SLOPES: tl.constexpr, BOXES: tl.constexpr, NONZERO: tl.constexpr,
    TOTAL: tl.constexpr, OWN_CLASSES: tl.constexpr, OWN_BOXES: tl.constexpr, BACK: tl.constexpr, ALPHA: tl.constexpr,
    GAMMA: tl.constexpr, CONSTANT_ALPHA: tl.constexpr, SMOOTHING: tl.constexpr, HUBER: tl.constexpr,
    DELTA: tl.constexpr, CLASS_WEIGHT: tl.constexpr, BOX_WEIGHT: tl.constexpr, TINY: tl.constexpr,
    DOUBLE: tl.constexpr, LEVELS: tl.constexpr, LAST: tl.constexpr, ALIGNED: tl.constexpr, ROUNDS: tl.constexpr,
    ROOM: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, TURNS: tl.constexpr, ANCHORS: tl.constexpr,
    TILE: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr, BOX_BLOCK: tl.constexpr, BOX_TURNS: tl.constexpr,
):  # fmt: skip
    """One program: the sum of its piece, and the gradient of each of its elements. The last to end adds up all sums."""
    TYPE: tl.constexpr = tl.float64 if DOUBLE else tl.float32
    program = tl.program_id(0)
    array = _row_of(table, program, 2 * LEVELS if BOXES else LEVELS, ROOM, WIDTH)
    level = array % LEVELS
    row = table + array * WIDTH
    piece = program - tl.load(row)
    scale = tl.full((), 1.0, tl.float64)
    if SLOPES:
        scale = 1.0 / _divisor(counts_at, many, COUNTED, CLASSES)
    labels_at = _pick(targets, level, LEVELS)
    ignore_at = _pick(ignore, level, LEVELS)
    if array < LEVELS:
        x_at = _pick(logits, level, LEVELS)
        out_at = _pick(gradients, level, LEVELS)
        if ALIGNED:
            x_at = tl.multiple_of(x_at, 16)
            out_at = tl.multiple_of(out_at, 16)
        if BACK:
            scale = scale * _from_above(above_total, above_classes, CLASS_WEIGHT, TOTAL, OWN_CLASSES)
        elif CLASS_WEIGHT != 0.0:
            scale = scale * CLASS_WEIGHT
        factor = scale.to(TYPE)
        if LAST:
            n = tl.load(row + 1)
            if ALIGNED:  # said here: of an argument of a function it would be lost
                n = tl.multiple_of(n, 16)
            total = _walk_last(
                x_at, labels_at, ignore_at, weight_at, out_at, piece.to(tl.int64), n, factor,
                CLASSES, TARGET, IGNORE, WEIGHT, SUMS, SLOPES, ALPHA, GAMMA, CONSTANT_ALPHA, SMOOTHING, TINY, TYPE,
                BLOCK, TURNS,
            )  # fmt: skip
        else:
            total = _walk_apart(
                x_at, labels_at, ignore_at, weight_at, out_at, piece, row, factor,
                CLASSES, TARGET, IGNORE, WEIGHT, SUMS, SLOPES, ALPHA, GAMMA, CONSTANT_ALPHA, SMOOTHING, TINY, TYPE,
                ALIGNED, ANCHORS, TILE, CHUNK, CHUNKS,
            )  # fmt: skip
        if SUMS:
            tl.store(sums + program, total)
    elif BOXES:
        if BACK:
            scale = scale * _from_above(above_total, above_boxes, BOX_WEIGHT, TOTAL, OWN_BOXES)
        elif BOX_WEIGHT != 0.0:
            scale = scale * BOX_WEIGHT
        if COUNTED != 0:
            scale = scale / COORDINATES
        total = _walk_boxes(
            _pick(boxes, level, LEVELS), _pick(box_targets, level, LEVELS), labels_at, ignore_at,
            _pick(box_gradients, level, LEVELS), piece, row, scale.to(TYPE),
            IGNORE, SUMS, SLOPES, NONZERO, HUBER, DELTA, TYPE, BOX_BLOCK, BOX_TURNS,
        )  # fmt: skip
        if SUMS:
            tl.store(sums + program, total)
    if SUMS:
        before = tl.atomic_add(done, 1, sem="acq_rel", scope="gpu")
        if before == programs - 1:
            tl.store(done, 0)  # for the next launch of the stream
            _finish(
                sums, class_programs, programs, counts_at, many, losses_at, COUNTED, CLASSES, COORDINATES, CLASS_WEIGHT,
                BOX_WEIGHT, ROUNDS,
            )  # fmt: skip


@triton.jit
def _walk_last(
    x_at, target_at, ignore_at, weight_at, out_at, piece, n, factor,
    CLASSES: tl.constexpr, TARGET: tl.constexpr, IGNORE: tl.constexpr, WEIGHT: tl.constexpr, SUMS: tl.constexpr,
    SLOPES: tl.constexpr, ALPHA: tl.constexpr, GAMMA: tl.constexpr, CONSTANT_ALPHA: tl.constexpr,
    SMOOTHING: tl.constexpr, TINY: tl.constexpr, TYPE: tl.constexpr, BLOCK: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """Logits that lie anchor by anchor, the classes of one behind the other."""
    lane = tl.arange(0, BLOCK)
    loss = tl.zeros((BLOCK,), TYPE)
    begin = piece * (BLOCK * TURNS)
    for turn in range(TURNS):
        start = begin + turn * BLOCK
        inside = lane < n - start
        anchor = start // CLASSES
        rest = (start - anchor * CLASSES).to(tl.int32) + lane
        ahead = rest // CLASSES
        c = rest - ahead * CLASSES
        x = tl.load(x_at + start + lane, inside, 0.0).to(TYPE)
        counts = inside
        if TARGET == 1:
            label = tl.load(target_at + anchor + ahead, inside, -1)
            hit = label == c
            t = hit
            counts = counts & (label != -2)
        elif TARGET == 2:
            hit = tl.load(target_at + start + lane, inside, 0) != 0
            t = hit
        else:
            t = tl.load(target_at + start + lane, inside, 0.0).to(TYPE)
            hit = inside
        if IGNORE:
            counts = counts & (tl.load(ignore_at + anchor + ahead, inside, 1) == 0)
        weight = x
        if WEIGHT:
            weight = tl.load(weight_at + c).to(TYPE)
        value, slope = focal(
            x, t, hit, counts, weight, TARGET, WEIGHT, ALPHA, GAMMA, CONSTANT_ALPHA, SMOOTHING, TINY, SUMS, SLOPES
        )
        if SUMS:
            if TARGET == 1:
                value = tl.where(inside & ((label >= CLASSES) | (label < -2)), float("nan"), value)
            loss += value
        if SLOPES:
            tl.store(out_at + start + lane, (slope * factor).to(out_at.dtype.element_ty), inside)
    return tl.sum(loss, 0)


@triton.jit
def _walk_apart(
    x_at, target_at, ignore_at, weight_at, out_at, piece, row, factor,
    CLASSES: tl.constexpr, TARGET: tl.constexpr, IGNORE: tl.constexpr, WEIGHT: tl.constexpr, SUMS: tl.constexpr,
    SLOPES: tl.constexpr, ALPHA: tl.constexpr, GAMMA: tl.constexpr, CONSTANT_ALPHA: tl.constexpr,
    SMOOTHING: tl.constexpr, TINY: tl.constexpr, TYPE: tl.constexpr, ALIGNED: tl.constexpr, ANCHORS: tl.constexpr,
    TILE: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    """Logits in planes of one class each, as a convolution leaves them: some classes of a stretch of anchors."""
    inner = tl.load(row + 1)
    blocks = tl.load(row + 2)
    second = tl.load(row + 3)
    place = (piece // CHUNKS).to(tl.int64)
    line = place // blocks
    start = (place - line * blocks) * ANCHORS
    first = line // second
    line = line - first * second
    plane = tl.load(row + 6)
    base = first * tl.load(row + 4) + line * tl.load(row + 5) + start
    if ALIGNED:
        inner = tl.multiple_of(inner, 16)
        plane = tl.multiple_of(plane, 16)
        base = tl.multiple_of(base, 16)
    target = first * tl.load(row + 7) + line * tl.load(row + 8) + start * tl.load(row + 9)
    lane = tl.arange(0, ANCHORS)
    inside = lane < inner - start
    at = target + lane * tl.load(row + 9)
    label = tl.load(target_at + at, inside, -1)
    counts = inside & (label != -2)
    if IGNORE:
        counts = counts & (tl.load(ignore_at + at, inside, 1) == 0)
    begin = (piece % CHUNKS) * CHUNK
    tile = tl.arange(0, TILE)
    loss = tl.zeros((TILE, ANCHORS), TYPE)
    for k in range(0, CHUNK, TILE):
        c = begin + k + tile
        there = (c < CLASSES) & (k + tile < CHUNK)
        mask = there[:, None] & inside[None, :]
        offset = (base + c.to(tl.int64) * plane)[:, None] + lane[None, :]
        x = tl.load(x_at + offset, mask, 0.0).to(TYPE)
        hit = label[None, :] == c[:, None]
        weight = x
        if WEIGHT:
            weight = tl.load(weight_at + c, there, 0.0).to(TYPE)[:, None]
        value, slope = focal(
            x, hit, hit, there[:, None] & counts[None, :], weight, TARGET, WEIGHT, ALPHA, GAMMA, CONSTANT_ALPHA,
            SMOOTHING, TINY, SUMS, SLOPES,
        )  # fmt: skip
        if SUMS:
            loss += value
        if SLOPES:
            tl.store(out_at + offset, (slope * factor).to(out_at.dtype.element_ty), mask)
    total = tl.sum(tl.sum(loss, 1), 0)
    if SUMS:
        unknown = tl.sum((inside & ((label >= CLASSES) | (label < -2))).to(tl.int32), 0)
        total = tl.where(unknown > 0, float("nan"), total)
    return total


@triton.jit
def _place(strides, i0, i1, i2, i3):
    """Where elements of four indices stand, in 32 bits: fewer registers leave room for more programs."""
    outer = i0 * tl.load(strides).to(tl.int32) + i1 * tl.load(strides + 1).to(tl.int32)
    return outer + i2 * tl.load(strides + 2).to(tl.int32) + i3 * tl.load(strides + 3).to(tl.int32)


@triton.jit
def _walk_boxes(
    x_at, target_at, labels_at, ignore_at, out_at, piece, row, factor,
    IGNORE: tl.constexpr, SUMS: tl.constexpr, SLOPES: tl.constexpr, NONZERO: tl.constexpr, HUBER: tl.constexpr,
    DELTA: tl.constexpr, TYPE: tl.constexpr, BLOCK: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """Smooth L1 or Huber: with c = min(|e|, δ) both are c (|e| - c / 2), over δ for smooth L1."""
    n = tl.load(row + 1).to(tl.int32)
    size1 = tl.load(row + 2).to(tl.int32)
    size2 = tl.load(row + 3).to(tl.int32)
    size3 = tl.load(row + 4).to(tl.int32)
    lane = tl.arange(0, BLOCK)
    loss = tl.zeros((BLOCK,), TYPE)
    for turn in range(TURNS):
        i = (piece.to(tl.int32) * TURNS + turn) * BLOCK + lane
        inside = i < n
        rest = i // size3
        i3 = i - rest * size3
        i1 = rest // size2
        i2 = rest - i1 * size2
        i0 = i1 // size1
        i1 = i1 - i0 * size1
        place = _place(row + 5, i0, i1, i2, i3)
        target = _place(row + 9, i0, i1, i2, i3)
        anchor = _place(row + 13, i0, i1, i2, i3)
        wanted = tl.load(target_at + target, inside, 0.0).to(TYPE)
        if NONZERO:
            counts = inside & (wanted != 0)
        else:
            counts = inside & (tl.load(labels_at + anchor, inside, -1) >= 0)
        if IGNORE:
            counts = counts & (tl.load(ignore_at + anchor, inside, 1) == 0)
        error = tl.where(counts, tl.load(x_at + place, inside, 0.0).to(TYPE) - wanted, 0.0)
        edge = error * 0 + DELTA
        if SUMS:
            size = tl.abs(error)
            near = tl.where(size < edge, size, edge)
            value = near * (size - near / 2)
            loss += value if HUBER else value / edge
        if SLOPES:
            slope = tl.where(error > edge, edge, tl.where(error < -edge, -edge, error))
            slope = (slope if HUBER else slope / edge) * factor
            tl.store(out_at + place, slope.to(out_at.dtype.element_ty), inside)
    return tl.sum(loss, 0)


@triton.jit
def count(
    targets, ignore, counts, table, IGNORE: tl.constexpr, LEVELS: tl.constexpr, WORK: tl.constexpr,
    ROOM: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """By program: anchors with a class, and anchors that count."""
    program = tl.program_id(0)
    level = _row_of(table, program, LEVELS, ROOM, WIDTH)
    labels_at = _pick(targets, level, LEVELS)
    ignore_at = _pick(ignore, level, LEVELS)
    begin = (program - tl.load(table + level * WIDTH)).to(tl.int64) * WORK
    n = tl.load(table + level * WIDTH + 1)
    lane = tl.arange(0, 1024)
    positives = tl.zeros((1024,), tl.int64)
    counted_rows = tl.zeros((1024,), tl.int64)
    for turn in range(0, WORK, 1024):
        place = begin + turn + lane
        inside = place < n
        label = tl.load(labels_at + place, inside, -2)
        counted = inside & (label != -2)
        if IGNORE:
            counted = counted & (tl.load(ignore_at + place, inside, 1) == 0)
        counted_rows += counted.to(tl.int64)
        positives += (counted & (label >= 0)).to(tl.int64)
    tl.store(counts + 2 * program, tl.sum(positives, 0))
    tl.store(counts + 2 * program + 1, tl.sum(counted_rows, 0))


@triton.jit
def rescale(
    gradients, table, above_total, above_classes, above_boxes, TOTAL: tl.constexpr, OWN_CLASSES: tl.constexpr,
    OWN_BOXES: tl.constexpr, CLASS_WEIGHT: tl.constexpr, BOX_WEIGHT: tl.constexpr, CLASS_ARRAYS: tl.constexpr,
    ARRAYS: tl.constexpr, ROOM: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """Gradients of the total times what comes from above. Where that is 1 there is nothing to do."""
    program = tl.program_id(0)
    array = _row_of(table, program, ARRAYS, ROOM, WIDTH)
    if array < CLASS_ARRAYS:
        scale = _from_above(above_total, above_classes, CLASS_WEIGHT, TOTAL, OWN_CLASSES)
        if CLASS_WEIGHT != 0.0:
            scale = scale / CLASS_WEIGHT
    else:
        scale = _from_above(above_total, above_boxes, BOX_WEIGHT, TOTAL, OWN_BOXES)
        if BOX_WEIGHT != 0.0:
            scale = scale / BOX_WEIGHT
    if scale != 1.0:
        at = _pick(gradients, array, ARRAYS)
        n = tl.load(table + array * WIDTH + 1)
        begin = (program - tl.load(table + array * WIDTH)).to(tl.int64) * (BLOCK * TURNS)
        lane = tl.arange(0, BLOCK)
        kind: tl.constexpr = at.dtype.element_ty
        factor = scale.to(kind)
        for turn in range(TURNS):
            place = begin + turn * BLOCK + lane
            inside = place < n
            value = tl.load(at + place, inside, 0.0)
            tl.store(at + place, value * factor, inside)
