"""Which module reads a task's data: one of those here by its name, or one that a task's package brings.

`Task.reader` is a name of `READERS`, or the full name of a module: "mypackage.reading". Rows of a table are "rows". A
module offers `read_sides(task, truth, predictions, columns) -> (truth, predictions)` as records, `read_side(task,
data, columns, side)` for one of them alone, and is imported when such a task is evaluated. Where a task has
options for its reader, `read_sides` takes them as a fifth argument.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from importlib import import_module
from os import PathLike
from typing import Any

from steelyard.core.errors import UnknownName
from steelyard.core.options import Options
from steelyard.core.records import Records, sounds_like_a_group
from steelyard.core.task import Task
from steelyard.io.once import of_truth

READERS = {
    "rows": "steelyard.io.rows",
    "labels": "steelyard.tasks.labels.reader",
    "rankings": "steelyard.tasks.rankings.reader",
    "boxes": "steelyard.tasks.boxes.reader",
    "masks": "steelyard.tasks.boxes.reader",
    "keypoints": "steelyard.tasks.boxes.reader",
    "oriented": "steelyard.tasks.oriented.reader",
    "maps": "steelyard.io.maps",
    "fields": "steelyard.tasks.fields.reader",
    "tracking": "steelyard.tasks.tracking.reader",
    "panoptic": "steelyard.tasks.panoptic.reader",
    "answers": "steelyard.tasks.answers.reader",
    "nutrients": "steelyard.tasks.nutrients.reader",
    "volumes": "steelyard.io.maps",
    "solid": "steelyard.tasks.boxes3d.reader",
    "grounding": "steelyard.tasks.grounding.reader",
    "documents": "steelyard.tasks.documents.reader",
    "tables": "steelyard.tasks.tables.reader",
    "anomalies": "steelyard.tasks.anomalies.reader",
    "distributions": "steelyard.tasks.distributions.reader",
    "images": "steelyard.tasks.images.reader",
}

WHOLE = (str, PathLike, dict, list, tuple, type(None))  # data that are certainly not a stream
OF_ROWS = ("rows", "labels", "answers", "nutrients")  # those that read tables in which a row is what is scored


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side ("truth" or "prediction") by itself, by the task's reader."""
    records: Records = _reader(task).read_side(task, data, columns, side)
    return records


def read_sides(
    task: Task,
    truth: Any,
    predictions: Any,
    columns: Mapping[str, str],
    options: Options | None = None,
    named: Collection[str] | None = None,
) -> tuple[Records, Records]:
    """Both sides of a task's data, by its reader; records are returned as they are.

    `named` are the columns that settings name, such as `by`. Of data that come as a stream, only these and the columns
    of the task are read; all are where it is None.
    """
    if isinstance(truth, Records) and isinstance(predictions, Records):
        return truth, predictions
    if named is not None and not all(isinstance(side, WHOLE) for side in (truth, predictions)):
        from steelyard.io.streams import is_stream, read_stream  # files need no reader of streams

        asked = options.values.items() if options is not None else ()
        named = [*named, *(name for _, value in asked if isinstance(value, dict) for name in value)]
        wanted = partial(_is_wanted, task, columns, named)
        if is_stream(truth):
            truth = of_truth(read_stream, truth, "truth", wanted)
        if is_stream(predictions):
            predictions = read_stream(predictions, "predictions", wanted)
    module = _reader(task)
    arguments: tuple[Any, ...] = (task, truth, predictions, columns)
    if any(option.reads for option in task.options):
        arguments += (options or Options(task.options),)
    sides: tuple[Records, Records] = module.read_sides(*arguments)
    return sides


def _is_wanted(task: Task, columns: Mapping[str, str], named: Collection[str], name: str) -> bool:
    """Whether a column of a stream is read: the task, a mapping or a setting names it, or it may be a group."""
    base = name.partition(":")[0]
    own = [column for schema in (task.truth, task.prediction) for column in schema.columns]
    known = {other for column in own for other in (column.name, column.beside, *column.aliases)}
    if name in known or base in known or name in (*named, *columns.values(), "height", "width"):
        return True
    return base in columns.values() or sounds_like_a_group(name)


def _reader(task: Task) -> Any:
    if task.reader not in READERS and "." not in task.reader:
        remedy = f"It is one of {', '.join(READERS)}, or a module's full name."
        raise UnknownName(f"task '{task.name}' has the reader '{task.reader}'", remedy=remedy)
    return import_module(READERS.get(task.reader, task.reader))
