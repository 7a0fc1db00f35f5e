"""Both sides of a task whose data are plain rows: two sources, or one that holds both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.core.errors import EmptyInput, MissingData
from steelyard.core.records import Records, Schema, UnfilledRecords
from steelyard.core.task import Task
from steelyard.io.once import of_truth
from steelyard.io.read import check_mapping, filled_rows, key_names, read_table, to_records
from steelyard.io.table import Table


def read_sides(task: Task, truth: Any, predictions: Any, columns: Mapping[str, str]) -> tuple[Records, Records]:
    """Truth and predictions as the task's schemas describe them."""
    if predictions is None:
        sides = _one_source(task, truth, columns)
    else:
        tables = {
            "truth": of_truth(read_table, truth, "truth"),
            "prediction": read_table(predictions, "predictions"),
        }
        check_mapping(columns, {"truth": task.truth, "prediction": task.prediction}, tables)
        sides = (
            of_truth(to_records, tables["truth"], task.truth, columns, "truth"),
            _predictions(task, tables["prediction"], columns),
        )
    if not len(sides[0]):
        raise EmptyInput("there are no rows", where=sides[0].source, remedy="The truth needs at least one.")
    return sides


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side as the task's schema describes it."""
    if side == "truth":
        return of_truth(to_records, of_truth(read_table, data, "truth"), task.truth, columns, side)
    return _predictions(task, read_table(data, "predictions"), columns)


def _predictions(task: Task, table: Table, columns: Mapping[str, str], schema: Schema | None = None) -> Records:
    """The predictions of a table. A row without a predicted value is left out: its prediction is missing.

    `schema` is that of a source which holds both sides. Rows without an id are joined by position, so that none can be
    left out: there an empty cell is an error.
    """
    both = schema is not None
    names = {column.beside if both else column.name for column in task.prediction.columns if column.beside}
    schema = schema or task.prediction
    predicted = [c for c in schema.columns if c.name in names and c.type not in ("text", "labels")]
    unfilled = ""
    if both or any(name in table.columns for name in key_names(table, schema, columns)):
        table, unfilled = filled_rows(table, predicted, columns)
    records = to_records(table, schema, columns, "prediction")
    records = task.split(records) if both else records
    if not unfilled:
        return records
    return UnfilledRecords(records.source, records.columns, records.other, records.place, records.names, unfilled)


def _one_source(task: Task, data: Any, columns: Mapping[str, str]) -> tuple[Records, Records]:
    if not task.joint_columns:
        raise MissingData(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    table, schema = of_truth(read_table, data, "truth"), task.both_sides()
    check_mapping(columns, {"truth": schema}, {"truth": table})
    truth = of_truth(to_records, table, task.truth, columns, "truth")
    return truth, _predictions(task, table, columns, schema)
