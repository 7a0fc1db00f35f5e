"""Runs of a mask: COCO counts down the columns of the whole image, CVAT along the rows of a box around the object.

Only what carrying a mask from one file to the other takes; scoring masks has its own, in the native core.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.core.records import Array

LARGEST = 1 << 28  # pixels of one image


def counts_of(shape: dict[str, Any]) -> list[int]:
    """The runs of COCO's mask, written out or packed into text; none where they are something else."""
    counts = shape.get("counts")
    if isinstance(counts, list):
        return counts if all(type(run) is int for run in counts) else []
    text = counts.encode() if isinstance(counts, str) else b""
    runs: list[int] = []
    value = shift = 0
    for byte in text:
        bits = byte - 48
        value |= (bits & 0x1F) << shift
        shift += 5
        if bits & 0x20:
            continue
        if bits & 0x10:
            value -= 1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
        value = shift = 0
    return runs


def bounds(counts: list[int], width: int, height: int) -> tuple[int, int, int, int] | None:
    """Left, top, width, height of the mask; None where it is empty, or where its runs do not fill its image."""
    if any(run < 0 for run in counts) or sum(counts) != width * height or width * height > LARGEST:
        return None
    ends = np.cumsum(np.array(counts, dtype=np.int64))
    starts, stops = ends[0::2][: len(ends) // 2], ends[1::2]  # of the runs of ones
    filled = stops > starts
    starts, stops = starts[filled], stops[filled] - 1
    if not len(starts):
        return None
    left, right = int(starts[0]) // height, int(stops[-1]) // height
    whole = starts // height != stops // height  # a run over the end of a column touches both edges
    top = 0 if whole.any() else int((starts % height).min())
    low = height - 1 if whole.any() else int((stops % height).max())
    return left, top, right - left + 1, low - top + 1


def to_rows(counts: list[int], box: tuple[int, int, int, int], width: int, height: int) -> list[int]:
    """COCO's runs as CVAT's, inside the box that `bounds` says."""
    flat = np.repeat(np.arange(len(counts)) % 2, counts).astype(np.uint8)
    left, top, wide, high = box
    return _runs(flat.reshape(width, height).T[top : top + high, left : left + wide].ravel())


def from_rows(runs: list[int], box: tuple[int, int, int, int], size: tuple[int, int]) -> list[int]:
    """CVAT's runs as COCO's over the whole image."""
    left, top, wide, high = box
    width, height = size
    if left + wide > width or top + high > height or width * height > LARGEST:
        raise ValueError(f"of {wide} × {high} at {left}, {top} in an image of {width} × {height}")
    if sum(runs) != wide * high:
        raise ValueError(f"whose runs hold {sum(runs)} pixels where its box has {wide * high}")
    full = np.zeros((height, width), dtype=np.uint8)
    full[top : top + high, left : left + wide] = (
        np.repeat(np.arange(len(runs)) % 2, runs).astype(np.uint8).reshape(high, wide)
    )
    return _runs(full.T.ravel())


def _runs(flat: Array) -> list[int]:
    """Lengths of equal values, from zeros on."""
    edges = np.flatnonzero(np.diff(flat)) + 1
    lengths = np.diff(np.concatenate([[0], edges, [len(flat)]]))
    runs: list[int] = lengths.tolist()
    return [0, *runs] if len(flat) and flat[0] else runs
