"""Which module reads a shape of data. Rows of a table are one shape; a shape with files of its own gets a line here.

A module offers `read_sides(task, truth, predictions, columns) -> (truth, predictions)` as records, `read_side(task,
data, columns, side)` for one of them alone, and is imported when a task of its shape is evaluated. Where a task has
options for its reader, `read_sides` takes them as a fifth argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from steelyard.core.options import Options
from steelyard.core.records import Records
from steelyard.core.task import Task

SHAPES = {
    "rows": "steelyard.io.rows",
    "rankings": "steelyard.io.rankings",
    "boxes": "steelyard.io.boxes",
    "masks": "steelyard.io.boxes",
    "keypoints": "steelyard.io.boxes",
}


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side ("truth" or "prediction") by itself, by the task's shape."""
    records: Records = import_module(SHAPES[task.shape]).read_side(task, data, columns, side)
    return records


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Both sides of a task's data, by its shape; records are what they are."""
    if isinstance(truth, Records) and isinstance(predictions, Records):
        return truth, predictions
    module = import_module(SHAPES[task.shape])
    arguments: tuple[Any, ...] = (task, truth, predictions, columns)
    if any(option.reads for option in task.options):
        arguments += (options or Options(task.options),)
    sides: tuple[Records, Records] = module.read_sides(*arguments)
    return sides
