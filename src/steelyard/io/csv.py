"""Comma- and tab-separated text, and such with semicolons and decimal commas where the header says so."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import TextIO

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, DuplicateKey, EmptyCell, EmptyInput, InvalidFile
from steelyard.core.records import as_object
from steelyard.io.dialect import current_dialect, note
from steelyard.io.table import Table
from steelyard.io.text import check_blank, open_text

SHOWN = {"\t": "tabs", ",": "commas", ";": "semicolons"}
_QUOTED = re.compile(r'"[^"]*"?')
_EXCEL = re.compile(r'"?sep=(.)"?\s*')  # a first line that Excel writes and reads


def read_csv(path: Path, source: str, delimiter: str = ",") -> Table:
    """Read a file with a header line; rows may not be shorter or longer than it.

    `delimiter` is that of the file's ending; one that was asked for, or that the header says, goes before it.
    """
    with open_text(path, source) as file:
        first, delimiter, decimal = _open_lines(file, source, delimiter)
        reader = csv.reader(chain(first, file), delimiter=delimiter, strict=True)
        try:
            header = next((row for row in reader if row), None)
            if header is None:
                raise EmptyInput("the file is empty", where=source, remedy="It needs a header line and rows.")
            names = [name.strip() for name in header]
            _check_separator(names, source, delimiter)
            check_header(names, f"{source}, line 1")
            rows: list[list[str]] = []
            lines: list[int] = []
            blank = 0
            for row in reader:
                if not row:
                    blank += 1
                    check_blank(blank, source)
                    continue
                if len(row) != len(names):
                    raise InvalidFile(
                        f"the row has {count_text(len(row), 'field')} and the header {len(names)}",
                        where=f"{source}, line {reader.line_num}",
                        remedy=_remedy(row, len(names), delimiter),
                    )
                rows.append(row)
                lines.append(reader.line_num)
        except csv.Error as error:
            raise InvalidFile(f"not readable as CSV: {error}", where=f"{source}, line {reader.line_num}") from None
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in names]
    return Table(
        source,
        {name: as_object(column) for name, column in zip(names, columns, strict=True)},
        np.array(lines, dtype=np.int64),
        decimal=decimal,
    )


def header_names(path: Path, source: str, delimiter: str = ",") -> list[str]:
    """The column names of a file, of which only the header is read."""
    with open_text(path, source) as file:
        first, delimiter, _ = _open_lines(file, source, delimiter)
        reader = csv.reader(chain(first, file), delimiter=delimiter, strict=True)
        try:
            header: list[str] = next((row for row in reader if row), [])
        except csv.Error as error:
            raise InvalidFile(f"not readable as CSV: {error}", where=f"{source}, line {reader.line_num}") from None
    return [name.strip() for name in header]


def _open_lines(file: TextIO, source: str, delimiter: str) -> tuple[Iterator[str], str, str | None]:
    """The lines up to the header, what separates fields, and what decimals have (None: it is found out)."""
    dialect = current_dialect()
    lines = []
    for line in file:
        lines.append(line)
        if line.strip():
            break
        check_blank(len(lines), source)
    head = lines[-1] if lines else ""
    declared = _EXCEL.fullmatch(head)
    if declared:
        lines[-1] = "\n"
        head = ""
    if dialect.delimiter is not None:
        delimiter = dialect.delimiter
    elif declared:
        delimiter = declared[1]
    elif delimiter == ",":
        bare = _QUOTED.sub("", head)
        if ";" in bare and "," in bare:
            raise Conflict(
                "the header has both commas and semicolons",
                where=f"{source}, line {len(lines)}",
                remedy="Say which separate fields: `delimiter=';'` or `delimiter=','`.",
            )
        if ";" in bare:
            delimiter = ";"
            note(f"{source}: fields are separated by semicolons, as the header says.")
    return iter(lines), delimiter, dialect.decimal or (None if delimiter == ";" else ".")


def _check_separator(names: list[str], source: str, delimiter: str) -> None:
    """One column whose name holds another separator: the whole line is taken for it."""
    remedies = {
        ";": "Set `delimiter=';'`.",
        "\t": "Name the file .tsv, or set `delimiter='tab'`.",
        ",": "Name the file .csv, or set `delimiter=','`.",
        "|": "Set `delimiter='|'`.",
    }
    for other, remedy in remedies.items():
        if len(names) == 1 and other != delimiter and other in names[0]:
            shown = SHOWN.get(other, f"'{other}'")
            raise InvalidFile(f"the fields are separated by {shown}", where=f"{source}, line 1", remedy=remedy)


def _remedy(row: list[str], count: int, delimiter: str) -> str:
    """What to do about a row that does not fit the header: a decimal comma makes two fields of one."""
    if len(row) > count and delimiter == ",":
        for left, right in reversed(list(pairwise(part.strip() for part in row))):
            if left.lstrip("+-").isdigit() and right.isdigit():
                return f"Is '{left},{right}' a number with a decimal comma? Write a point: {left}.{right}."
    return "Quote fields that hold the separator."


def check_header(names: list[str], where: str) -> None:
    """Every column has a name of its own."""
    seen: set[str] = set()
    for i, name in enumerate(names):
        if not name:
            raise EmptyCell(f"column {i + 1} has no name", where=where, remedy="Name every column.")
        if name in seen:
            raise DuplicateKey(f"column '{name}' appears twice", where=where, remedy="Rename one of them.")
        seen.add(name)
