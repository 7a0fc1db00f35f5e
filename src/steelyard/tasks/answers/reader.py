"""Questions and replies from whatever the user has: tables of rows, VQA's annotations, logs of other harnesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from steelyard.core.errors import EmptyInput
from steelyard.core.frozen import frozen
from steelyard.core.options import Options
from steelyard.core.records import Records, as_object
from steelyard.core.task import Task
from steelyard.io import rows
from steelyard.io.once import of_truth
from steelyard.io.read import to_records
from steelyard.io.table import Table
from steelyard.tasks.answers.logs import ENDED, detect, read_log

OF_REPLIES = (ENDED, "outcome", "prediction")


@frozen
class LoggedRecords(Records):
    """The truth of a log, with what a reader of the scores must know."""

    notes: tuple[str, ...] = ()


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions: two sources, or one that holds both, as every log does."""
    options = options or Options(task.options)
    tables = [of_truth(_table, truth, options, "truth"), _table(predictions, options, "prediction")]
    if all(table is None for table in tables):
        return rows.read_sides(task, truth, predictions, columns)
    if predictions is None:
        tables[1] = tables[0]
        if tables[0] is not None and "prediction" not in tables[0].columns:
            raise EmptyInput(
                "there are no replies", where=tables[0].source, remedy="Give the file of replies behind it."
            )
    first, second = (
        rows.read_side(task, data, columns, side) if table is None else _side(task, table, side)
        for side, data, table in zip(("truth", "prediction"), (truth, predictions), tables, strict=True)
    )
    if not len(first):
        raise EmptyInput("there are no rows", where=first.source, remedy="The truth needs at least one.")
    return first, second


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side alone."""
    table = _table(data, Options(task.options), side)
    return rows.read_side(task, data, columns, side) if table is None else _side(task, table, side)


def _table(data: Any, options: Options, side: str) -> Table | None:
    """The questions of a log; None where the data are rows."""
    if not isinstance(data, str | PathLike):
        return None
    path = Path(data)
    form = options.of("format", side)
    if form == "auto":
        form = detect(path)
    if form == "rows":
        return None
    return read_log(path, str(data), form)


def _side(task: Task, table: Table, side: str) -> Records:
    """The columns of a log that belong to a side."""
    columns = dict(table.columns)
    if side == "truth":
        return of_truth(_truth, table, task)
    kept = {
        name: column
        for name, column in columns.items()
        if name in ("question", "outcome") or name.startswith("logged:")
    }
    if "prediction" not in columns:
        raise EmptyInput("there are no replies", where=table.source, remedy="It holds the truth alone.")
    kept["answer"] = columns["prediction"]
    kept["target"] = as_object([answers[0] if answers else "" for answers in columns["answers"].tolist()])
    return to_records(replace(table, columns=kept), task.prediction, {}, side)


def _truth(table: Table, task: Task) -> LoggedRecords:
    columns = dict(table.columns)
    kept = {name: column for name, column in columns.items() if not _of_replies(name)}
    made = to_records(replace(table, columns=kept), task.truth, {}, "truth")
    ends = {str(one) for one in columns.get(ENDED, as_object([])).tolist() if one}
    notes = [f"The log says that the run ended with '{end}': samples may be missing." for end in sorted(ends)]
    return LoggedRecords(made.source, made.columns, made.other, made.place, made.names, tuple(notes))


def _of_replies(name: str) -> bool:
    return name in OF_REPLIES or name.startswith("logged:")
