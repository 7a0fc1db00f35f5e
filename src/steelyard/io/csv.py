"""Comma- and tab-separated text."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.records import as_object
from steelyard.io.table import Table
from steelyard.io.text import open_text


def read_csv(path: Path, source: str, delimiter: str = ",") -> Table:
    """Read a file with a header line; rows may not be shorter or longer than it."""
    with open_text(path, source) as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            header = next((row for row in reader if row), None)
            if header is None:
                raise InputError("the file is empty", where=source, remedy="It needs a header line and rows.")
            names = [name.strip() for name in header]
            _check_separator(names, source, delimiter)
            _check_header(names, source)
            rows: list[list[str]] = []
            lines: list[int] = []
            for row in reader:
                if not row:
                    continue
                if len(row) != len(names):
                    raise InputError(
                        f"the row has {len(row)} fields and the header {len(names)}",
                        where=f"{source}, line {reader.line_num}",
                        remedy=_remedy(row, len(names)),
                    )
                rows.append(row)
                lines.append(reader.line_num)
        except csv.Error as error:
            raise InputError(f"not readable as CSV: {error}", where=f"{source}, line {reader.line_num}") from None
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in names]
    return Table(
        source,
        {name: as_object(column) for name, column in zip(names, columns, strict=True)},
        np.array(lines, dtype=np.int64),
    )


def _check_separator(names: list[str], source: str, delimiter: str) -> None:
    """One column whose name holds another separator: the whole line is taken for it."""
    remedies = {
        ";": "Write commas between fields, and points in decimals.",
        "\t": "Name the file .tsv.",
        ",": "Name the file .csv.",
        "|": "Write commas between fields.",
    }
    for other, remedy in remedies.items():
        if len(names) == 1 and other != delimiter and other in names[0]:
            shown = {"\t": "tabs", ",": "commas"}.get(other, f"'{other}'")
            raise InputError(f"the fields are separated by {shown}", where=f"{source}, line 1", remedy=remedy)


def _remedy(row: list[str], count: int) -> str:
    """What to do about a row that does not fit the header: a decimal comma makes two fields of one."""
    if len(row) > count:
        for left, right in reversed(list(pairwise(part.strip() for part in row))):
            if left.lstrip("+-").isdigit() and right.isdigit():
                return f"Is '{left},{right}' a number with a decimal comma? Write a point: {left}.{right}."
    return "Quote fields that hold the separator."


def _check_header(names: list[str], source: str) -> None:
    seen: set[str] = set()
    for i, name in enumerate(names):
        if not name:
            raise InputError(f"column {i + 1} has no name", where=f"{source}, line 1", remedy="Name every column.")
        if name in seen:
            raise InputError(f"column '{name}' stands twice", where=f"{source}, line 1", remedy="Rename one of them.")
        seen.add(name)
