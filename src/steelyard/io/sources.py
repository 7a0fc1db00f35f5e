"""Which module reads a shape of data. Rows of a table are one shape; a shape with files of its own gets a line here.

A module offers `read_sides(task, truth, predictions, columns) -> (truth, predictions)` as records, and is imported when
a task of its shape is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from steelyard.core.records import Records
from steelyard.core.task import Task

SHAPES = {
    "rows": "steelyard.io.rows",
    "rankings": "steelyard.io.rankings",
    "boxes": "steelyard.io.boxes",
    "masks": "steelyard.io.boxes",
    "keypoints": "steelyard.io.boxes",
}


def read_sides(task: Task, truth: Any, predictions: Any, columns: Mapping[str, str]) -> tuple[Records, Records]:
    """Both sides of a task's data, by its shape; records are what they are."""
    if isinstance(truth, Records) and isinstance(predictions, Records):
        return truth, predictions
    sides: tuple[Records, Records] = import_module(SHAPES[task.shape]).read_sides(task, truth, predictions, columns)
    return sides
