"""Columns that say where a box of a table is: upright, as four corners, or as a rotated rectangle."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from steelyard.core.errors import InvalidFile, OutOfRange
from steelyard.core.quads import CORNERS, RECTANGLE, corners_of, extents_of
from steelyard.core.records import Array
from steelyard.io.formats.corners import corners_of_dataset
from steelyard.io.formats.dataset import Dataset

BOX = ("x", "y", "w", "h")
ORIENTED = ("dota", "yolo-obb", "hrsc")


def shape_columns(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns of the boxes of a table: those of oriented ones where it has them all."""
    has = set(columns)
    return next((names for names in (CORNERS, RECTANGLE) if has.issuperset(names)), BOX)


def upright(numbers: Array, names: tuple[str, ...], place: Callable[[int], str]) -> tuple[Array, list[dict[str, Any]]]:
    """The upright boxes, and for oriented ones what a data set keeps of each."""
    if names == BOX:
        return numbers, []
    if names == CORNERS:
        return extents_of(numbers), [{"segmentation": [row]} for row in numbers.tolist()]
    far = np.flatnonzero(np.abs(numbers[:, 4]) > 2 * math.pi + 1e-6)
    if len(far) > 0.01 * len(numbers):
        raise InvalidFile(
            f"angle {numbers[far[0], 4]:g} looks like degrees", where=place(int(far[0])),
            remedy="Write radians, from x towards y.",
        )  # fmt: skip
    wrong = np.flatnonzero((numbers[:, 2:4] < 0).any(axis=1))
    if len(wrong):
        raise OutOfRange("a box of negative size", where=place(int(wrong[0])), remedy="Sizes are 0 or more.")
    return extents_of(corners_of(numbers)), [{"obb": row} for row in numbers.tolist()]


def shapes_of(dataset: Dataset) -> tuple[tuple[str, ...], Array]:
    """The columns that a data set is written with, and their values."""
    rows = [extra.get("obb") for extra in dataset.extra]
    if rows and all(isinstance(row, list) and len(row) == 5 for row in rows):
        return RECTANGLE, np.array(rows, dtype=np.float64)
    if dataset.format in ORIENTED:
        return CORNERS, corners_of_dataset(dataset)
    return BOX, dataset.box
