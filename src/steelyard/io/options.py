"""From the options that a user gave to values that a task takes; lists of ids are read here."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.errors import DuplicateKey, InvalidSetting
from steelyard.core.options import Option, Options, find_option
from steelyard.core.records import Column, Records, Schema, as_object
from steelyard.core.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.io.table import Table


def resolve_options(task: Task, options: Mapping[str, Any]) -> Options:
    """Check and convert what was given, by what the task declares."""
    values: dict[str, Any] = {}
    shown: dict[str, str] = {}
    for key, value in options.items():
        option = find_option(task.options, key, task.name)
        side, dot, _ = key.rpartition(".")
        name = f"{side}{dot}{option.name}"
        if name in values:
            raise DuplicateKey(f"option {name} is given twice", remedy="Give it once.")
        if option.type == "ids":
            ids = read_ids(option, value)
            values[name], shown[name] = ids, ids.source
        else:
            values[name] = option.convert(value)
            shown[name] = str(value) if option.type != "pairs" else ",".join(map("=".join, values[name].items()))
    return Options(task.options, values, shown)


def read_ids(option: Option, value: Any) -> Records:
    """A list of ids: in memory, a text file with one per line, or a table with a column of them."""
    from pathlib import Path

    from steelyard.io.read import read_table, to_records  # few evaluations name a list: the others need no reader yet
    from steelyard.io.table import Table

    column = option.column or option.name
    schema = Schema((column,), (Column(column, "id"),))
    if isinstance(value, str | PathLike):
        path = Path(value)
        if path.suffix.lower() == ".txt":
            return to_records(_one_a_line(path, str(value), column), schema, {}, "")
        return to_records(read_table(value, option.name), schema, {}, "")
    if hasattr(value, "columns") or isinstance(value, Mapping):
        return to_records(read_table(value, option.name), schema, {}, "")
    try:
        ids = list(value)
    except TypeError:
        raise InvalidSetting(
            f"option {option.name}: {value} is not a list", remedy="Give ids, or a file of them."
        ) from None
    return to_records(Table(option.name, {column: as_object(ids)}), schema, {}, "")


def _one_a_line(path: Path, source: str, column: str) -> Table:
    from steelyard.io.table import Table
    from steelyard.io.text import open_text

    ids: list[str] = []
    lines: list[int] = []
    with open_text(path, source) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                ids.append(line.strip())
                lines.append(number)
    return Table(source, {column: as_object(ids)}, np.array(lines, dtype=np.int64))
