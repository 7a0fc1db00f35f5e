"""Layout: how the arrays of the losses lie in memory, and which program of a kernel takes which piece of them.

An array is walked in the order in which it lies, whatever its axes mean (see `strides`). Imports PyTorch, for the
tables that kernels read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from steelyard.losses.strides import Strides, is_dense, is_packed, join_axes

LEVELS = 8
WIDTH, ROOM = 17, 16  # numbers of a row of a table, and rows
BLOCK, TURNS = 1024, 16  # elements of a turn, and turns of a program
BOX_BLOCK, BOX_TURNS = 256, 4
ANCHORS, TILE, CHUNK = 256, 2, 18  # of logits in planes: anchors of a program, classes of a turn and of a program
COUNTED = 16384  # labels that a program counts, at least
MOST_COUNTING = 900  # programs that count
MOST = 1 << 31
TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
LABELS = (torch.int64, torch.int32)


@dataclass(frozen=True)
class LaunchPlan:
    """One launch for arrays that lie so: its programs, those of the classes first, and the table that they read."""

    labels: bool
    last: bool
    aligned: bool  # of logits: all steps are multiples of 16 elements, so that several are read at once
    programs: int
    class_programs: int
    table: Any
    facts: dict[str, Any]
    sizes: tuple[int, ...]  # of the arrays that have gradients
    anchors: tuple[int, ...]
    device: str

    def counting(self) -> tuple[int, int, Any]:
        """How labels are counted: programs, labels of each, and the table."""
        return _counting(self.anchors, self.device)

    def scaling(self) -> tuple[int, Any]:
        """How gradients are scaled: programs, and the table."""
        return _scaling(self.sizes, self.device)


@cache
def _counting(anchors: tuple[int, ...], device: str) -> tuple[int, int, Any]:
    work = max(COUNTED, 1024 * math.ceil(sum(anchors) / (1024 * MOST_COUNTING)))
    programs, table = _linear(anchors, work, device)
    return programs, work, table


@cache
def _scaling(sizes: tuple[int, ...], device: str) -> tuple[int, Any]:
    return _linear(sizes, 4 * BLOCK * TURNS, device)


def _linear(sizes: Sequence[int], work: int, device: str) -> tuple[int, Any]:
    rows, programs = [], 0
    for size in sizes:
        rows.append([programs, size])
        programs += -(-size // work)
    return programs, _table(rows, device)


def _table(rows: Sequence[Sequence[int]], device: str) -> Any:
    padded = [[*row, *[0] * (WIDTH - len(row))] for row in rows]
    return torch.tensor(padded, dtype=torch.int64).to(device)


@dataclass(frozen=True)
class Shape:
    """Sizes, strides and type of an array."""

    sizes: Strides
    strides: Strides
    dtype: Any


@dataclass(frozen=True)
class Arrays:
    """The shapes of one level's arrays."""

    logits: Shape
    targets: Shape
    ignore: Shape | None
    boxes: Shape | None
    box_targets: Shape | None


@cache
def plan_of(key: tuple[Any, ...], device: str, anchors_per_cell: int | None = None) -> LaunchPlan | None:
    """The plan for levels of these shapes, or None where a kernel does not know a type, or how an array lies.

    `key` has five arrays for each level, each None or sizes, strides and type: logits, targets, what is left out, boxes
    and their targets. With `anchors_per_cell` the numbers of an anchor lie in planes, as a convolution leaves them.
    """
    if anchors_per_cell is not None:
        if not _are_planes(key, anchors_per_cell):
            return None
        key = tuple(_apart(level, anchors_per_cell) for level in key)
    levels = [Arrays(*(None if one is None else Shape(*one) for one in level)) for level in key]  # type: ignore[arg-type]
    labels = levels[0].targets.dtype in LABELS
    if not all(_is_supported(level, levels[0], labels) for level in levels):
        return None
    rows, programs = [], 0
    last = _lies_last(levels[0], labels)
    sizes, anchors = [], []
    classes = levels[0].logits.sizes[-1]
    chunk = _chunk(classes)
    for level in levels:
        x, t = level.logits, level.targets
        if _lies_last(level, labels) != last:
            return None
        sizes.append(math.prod(x.sizes))
        anchors.append(math.prod(x.sizes[:-1]))
        if last:
            row = [math.prod(x.sizes)]
            many = -(-row[0] // (BLOCK * TURNS))
        else:
            planes = _planes(x.sizes, x.strides, t.strides, -(-classes // chunk)) if labels else None
            if planes is None:
                return None
            row, many = planes
        rows.append([programs, *row])
        programs += many
    class_programs = programs
    for level in levels if levels[0].boxes is not None else ():
        steps = _boxes(level)
        if steps is None:
            return None
        rows.append([programs, *steps])
        sizes.append(steps[0])
        programs += -(-steps[0] // (BOX_BLOCK * BOX_TURNS))
    if programs >= MOST:
        return None
    strides = [row[1:2] if last else [row[1], *row[4:7]] for row in rows[: len(levels)]]
    aligned = all(step % 16 == 0 for row in strides for step in row)
    facts = {
        "ROOM": ROOM, "WIDTH": WIDTH, "BLOCK": BLOCK, "TURNS": TURNS, "ANCHORS": ANCHORS, "TILE": TILE, "CHUNK": chunk,
        "CHUNKS": -(-classes // chunk), "BOX_BLOCK": BOX_BLOCK, "BOX_TURNS": BOX_TURNS,
        "CLASSES": classes, "COORDINATES": 1 if levels[0].boxes is None else levels[0].boxes.sizes[-1],
        "ROUNDS": 1 << (-(-programs // 4096) - 1).bit_length(), "LAST": last, "LEVELS": len(levels),
        "num_warps": 8 if last else 4,
    }  # fmt: skip
    return LaunchPlan(
        labels, last, aligned, programs, class_programs, _table(rows, device), facts, tuple(sizes), tuple(anchors),
        device,
    )  # fmt: skip


def _are_planes(key: tuple[Any, ...], anchors: Any) -> bool:
    """Whether arrays have the planes of so many anchors."""
    if type(anchors) is not int or anchors < 1:
        return False
    steps = ((0, 1), (3, 1), (4, 3))  # logits, boxes, box targets: the axis of their planes
    axes = [(level[array][0], axis) for level in key for array, axis in steps if level[array] is not None]
    return all(len(sizes) == 4 and sizes[axis] % anchors == 0 for sizes, axis in axes)


def _apart(level: tuple[Any, ...], anchors: int) -> tuple[Any, ...]:
    """The shapes of a level with an axis for the anchors of a cell and one for the numbers of an anchor."""
    logits, targets, ignore, boxes, box_targets = level
    return (
        _planes_apart(logits, anchors),
        targets,
        ignore,
        _planes_apart(boxes, anchors),
        _last_apart(box_targets, anchors),
    )


def _planes_apart(array: Any, anchors: int) -> Any:
    if array is None:
        return None
    (batch, planes, height, width), (by_batch, by_plane, by_row, by_column), dtype = array
    numbers = planes // anchors
    strides = (by_batch, by_row, by_column, by_plane * numbers, by_plane)
    return (batch, height, width, anchors, numbers), strides, dtype


def _last_apart(array: Any, anchors: int) -> Any:
    if array is None:
        return None
    sizes, strides, dtype = array
    numbers = sizes[3] // anchors
    return (*sizes[:3], anchors, numbers), (*strides[:3], strides[3] * numbers, strides[3]), dtype


def _is_supported(level: Arrays, first: Arrays, labels: bool) -> bool:
    """Whether the kernels know the types and shapes of a level, which are those of the first."""
    x, t = level.logits, level.targets
    anchors = x.sizes[:-1]
    if x.dtype not in TYPES or x.dtype != first.logits.dtype or x.sizes[-1:] != first.logits.sizes[-1:]:
        return False
    if not math.prod(x.sizes) or not is_dense(x.sizes, x.strides) or t.dtype != first.targets.dtype:
        return False
    if t.sizes != (anchors if labels else x.sizes) or not (labels or t.dtype in (torch.bool, *TYPES)):
        return False
    if labels and not is_dense(t.sizes, t.strides):
        return False
    if level.ignore is not None:  # which goes with labels, and lies as they do
        same = level.ignore.sizes == anchors and level.ignore.strides == t.strides
        if not labels or not same or level.ignore.dtype != torch.bool:
            return False
    if level.boxes is None or level.box_targets is None or first.boxes is None or first.box_targets is None:
        return level.boxes is None
    b, target = level.boxes, level.box_targets
    alike = b.dtype == x.dtype and target.dtype == first.box_targets.dtype and target.dtype in TYPES
    same = b.sizes[:-1] == anchors and b.sizes == target.sizes and b.sizes[-1:] == first.boxes.sizes[-1:]
    return labels and alike and same and bool(math.prod(b.sizes)) and is_dense(b.sizes, b.strides)


def _chunk(classes: int) -> int:
    """How many classes a program takes: an even number near `CHUNK`, such that all take about as many."""
    each = -(-classes // -(-classes // CHUNK))
    return each + each % TILE


def _lies_last(level: Arrays, labels: bool) -> bool:
    """Whether the classes of an anchor lie one behind the other, and anchors in the order of their targets."""
    x, t = level.logits, level.targets
    return is_packed(x.sizes, x.strides) and is_packed(x.sizes[:-1] if labels else x.sizes, t.strides)


def _planes(shape: Strides, x: Strides, t: Strides, chunks: int) -> tuple[list[int], int] | None:
    """Logits of which a class is a plane: at most three joined axes of anchors, the innermost in one stretch."""
    sizes, (along, targets) = join_axes(shape[:-1], (x[:-1], t))
    if len(sizes) > 3 or along[-1] != 1:
        return None
    lead = 3 - len(sizes)
    sizes, along, targets = ([fill] * lead + list(of) for fill, of in ((1, sizes), (0, along), (0, targets)))
    blocks = -(-sizes[2] // ANCHORS)
    row = [sizes[2], blocks, sizes[1], along[0], along[1], x[-1], *targets]
    return row, sizes[0] * sizes[1] * blocks * chunks


def _boxes(level: Arrays) -> list[int] | None:
    """Boxes and their targets along at most four joined axes; labels stand still along the coordinates."""
    b, target = level.boxes, level.box_targets
    if b is None or target is None:
        return None
    reach = sum((size - 1) * step for size, step in zip(target.sizes, target.strides, strict=True))
    if max(math.prod(b.sizes) + BOX_BLOCK * BOX_TURNS, reach) >= MOST:
        return None
    shape = b.sizes
    sizes, strides = join_axes(shape, (b.strides, target.strides, (*level.targets.strides, 0)))
    if len(sizes) > 4:
        return None
    lead = 4 - len(sizes)
    padded = [[0] * lead + list(of) for of in strides]
    return [math.prod(shape), *([1] * lead + sizes)[1:], *padded[0], *padded[1], *padded[2]]
