"""A column that lies in a file of its own: COLUMN@FILE, for data whose files have no columns of the user's.

The file has a row for each unit, with its id and the column. Rows of units that the data lack are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import Conflict, MissingColumn, Unmatched, first_few, nearest
from steelyard.core.task import Task
from steelyard.io.table import Table, is_empty
from steelyard.io.text import ending, sheet_path

Array = NDArray[Any]
ID_NAMES = ("unit", "id")


def in_file(name: str) -> tuple[str, str] | None:
    """The column and the file of COLUMN@FILE; None where it is the name of a column alone."""
    column, at, file = name.partition("@")
    if not (column and at):
        return None
    from steelyard.io.read import READERS  # few evaluations name a file: the others need no reader of tables

    return (column, file) if ending(sheet_path(file)[0]) in READERS else None


def values_beside(task: Task, units: Sequence[Any], name: str, option: str) -> Array:
    """The value of COLUMN@FILE in each unit, as text; "" where its cell is empty. `option` is what named it."""
    from steelyard.io.read import read_table

    column, file = in_file(name) or ("", "")
    table = read_table(file, "groups")
    if column not in table.columns:
        raise MissingColumn(
            f"column '{column}' is missing, which `{option}` names", where=file, remedy=nearest(column, table.columns)
        )
    ids, values = table.columns[_id_column(task, table, file, column)].tolist(), table.columns[column].tolist()
    first_rows: dict[str, int] = {}
    for row, own_id in enumerate(ids):
        first = first_rows.setdefault(_text(own_id), row)
        if _text(values[first]) != _text(values[row]):
            raise Conflict(
                f"{task.unit} '{_text(own_id)}' has both '{_text(values[first])}' and '{_text(values[row])}' in column "
                f"'{column}', which `{option}` names",
                where=table.place(row),
                remedy=f"Give each {task.unit} one row.",
            )
    lacking = [str(unit) for unit in units if str(unit) not in first_rows]
    if lacking:
        more = f" ({len(lacking)} have none: {first_few(lacking)})" if len(lacking) > 1 else ""
        raise Unmatched(
            f"{task.unit} '{lacking[0]}' has no row, which `{option}` needs{more}",
            where=file,
            remedy=f"Give every {task.unit} of the truth a row with its id.",
        )
    texts = np.empty(len(units), dtype=object)
    texts[:] = [_text(values[first_rows[str(unit)]]) for unit in units]
    return texts


def _id_column(task: Task, table: Table, file: str, column: str) -> str:
    """The column with the ids of units: as the truth calls it, or the task its units."""
    key = task.truth.column(task.truth.key[0])
    names = dict.fromkeys((task.truth.key[0], *(key.aliases if key else ()), task.unit, f"{task.unit}_id", *ID_NAMES))
    for name in names:
        if name in table.columns and name != column:
            return name
    raise MissingColumn(
        f"no column has the id of each {task.unit}", where=file, remedy=f"Call it {' or '.join(list(names)[:3])}."
    )


def _text(value: Any) -> str:
    if is_empty(value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
