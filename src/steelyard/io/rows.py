"""Both sides of a task whose data are plain rows: two sources, or one that holds both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.core.errors import InputError
from steelyard.core.records import Records
from steelyard.core.task import Task
from steelyard.io.read import check_mapping, read_table, to_records


def read_sides(task: Task, truth: Any, predictions: Any, columns: Mapping[str, str]) -> tuple[Records, Records]:
    """Truth and predictions as the task's schemas describe them."""
    if predictions is None:
        sides = _one_source(task, truth, columns)
    else:
        tables = {"truth": read_table(truth, "truth"), "prediction": read_table(predictions, "predictions")}
        check_mapping(columns, {"truth": task.truth, "prediction": task.prediction}, tables)
        sides = (
            to_records(tables["truth"], task.truth, columns, "truth"),
            to_records(tables["prediction"], task.prediction, columns, "prediction"),
        )
    if not len(sides[0]):
        raise InputError("there are no rows", where=sides[0].source, remedy="The truth needs at least one.")
    return sides


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side as the task's schema describes it."""
    schema = task.truth if side == "truth" else task.prediction
    return to_records(read_table(data, "truth" if side == "truth" else "predictions"), schema, columns, side)


def _one_source(task: Task, data: Any, columns: Mapping[str, str]) -> tuple[Records, Records]:
    if not task.joined:
        raise InputError(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    table, schema = read_table(data, "truth"), task.both_sides()
    check_mapping(columns, {"truth": schema}, {"truth": table})
    return to_records(table, task.truth, columns, "truth"), task.split(to_records(table, schema, columns, "prediction"))
