"""Sheets of a workbook, read and written by openpyxl, which the extra `excel` brings."""

from __future__ import annotations

import contextlib
import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import (
    EmptyInput,
    InputError,
    InvalidFile,
    MissingExtra,
    NotInstalled,
    TooLarge,
    UnknownName,
    WriteError,
    nearest,
)
from steelyard.core.opening import RATIO, check_readable, open_archive
from steelyard.core.records import as_object
from steelyard.io.csv import check_header
from steelyard.io.table import Table
from steelyard.io.text import sheet_path
from steelyard.io.write import write_bytes

LONGEST = 31  # characters of a sheet's name
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
MOST_PLACES = 4 << 20  # that a sheet may have without a question, filled or not; each takes time
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
_NOT_IN_CELLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
Sheet = tuple[Sequence[str], Iterable[Sequence[Any]]]  # the head, and the rows


def read_sheet(path: Path, source: str) -> Table:
    """The only sheet of a workbook that holds anything, or the one that `source` names: `book.xlsx#sheet`.

    The first row that is not empty is the header; rows without a value are left out. Formulas have the value that was
    saved with them. The size that a sheet declares is ignored.
    """
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra(f"{source}: reading a workbook", "excel") from None
    _check_workbook(path, source)
    _check_cells(path, source)
    wanted = sheet_path(source)[1]
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # the size that a sheet declares may be smaller than the sheet
            if wanted and wanted not in book.sheetnames:
                raise UnknownName(
                    f"there is no sheet '{wanted}'", where=str(path), remedy=nearest(wanted, book.sheetnames)
                )
            sheets = {
                sheet.title: [
                    (number, row)
                    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1)
                    if any(value is not None and value != "" for value in row)
                ]
                for sheet in book.worksheets
                if not wanted or sheet.title == wanted
            }
        finally:
            book.close()
    except InputError:
        raise
    except Exception as error:  # openpyxl raises what its parsers do
        raise InvalidFile(f"the workbook cannot be read: {error}", where=source, remedy="Save it again.") from None
    filled = {name: rows for name, rows in sheets.items() if rows}
    if not filled:
        raise EmptyInput("the sheet is empty", where=source, remedy="It needs a header and rows.")
    if len(filled) > 1:
        raise InvalidFile(
            f"the workbook has several sheets: {', '.join(filled)}",
            where=source,
            remedy=f"Name one: {path.name}#{next(iter(filled))}.",
        )
    return _sheet_table(source, next(iter(filled.values())))


def _check_workbook(path: Path, source: str) -> None:
    check_readable(path, source)
    if not zipfile.is_zipfile(path):
        raise InvalidFile("is not a workbook", where=source, remedy="Is the file whole? .xls is not read.")
    with open_archive(path, source):  # which holds no more than it may
        pass


def _check_cells(path: Path, source: str) -> None:
    """Raise where rows or cells are out of order, repeated or beyond a sheet's limits: openpyxl drops such cells."""
    from xml.parsers.expat import ExpatError, ParserCreate

    sheet, row, column, cells, places = "", 0, 0, 0, 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal row, column, cells, places
        kind, place = name.rpartition(":")[2], attributes.get("r", "")
        if kind == "row":
            before, row, column = row, _row_number(place) if place else row + 1, 0
            places += row - before
            if not before < row <= MOST_ROWS:
                raise _misplaced_error(f"row {place or row} follows row {before}", sheet, source)
        elif kind == "c":
            letters = place.rstrip("0123456789")
            before, column = column, _column_number(letters.upper()) if place else column + 1
            if not before < column <= MOST_COLUMNS or (place and place[len(letters) :] != str(row)):
                raise _misplaced_error(f"cell {place or column} is out of order in row {row}", sheet, source)
            cells, places = cells + 1, places + column - before
            if places > max(MOST_PLACES, RATIO * cells):
                raise TooLarge(
                    f"{sheet} has {places:,} places for {cells:,} cells", where=source, remedy="Export it as CSV."
                )

    with zipfile.ZipFile(path) as archive:
        for sheet in archive.namelist():
            if not re.fullmatch(r"/?xl/worksheets/[^/]*\.xml", sheet, re.IGNORECASE):
                continue
            row = column = 0
            parser = ParserCreate()
            parser.StartElementHandler = start
            try:
                with archive.open(sheet) as file:
                    parser.ParseFile(file)
            except (ExpatError, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
                raise InvalidFile(
                    f"the workbook cannot be read: {error}", where=source, remedy="Save it again."
                ) from None


def _row_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def _column_number(letters: str) -> int:
    """The number of a column by its letters, A being 1; -1 where it has none."""
    number = 0
    for letter in letters if len(letters) <= 3 else "?":
        if not "A" <= letter <= "Z":
            return -1
        number = 26 * number + ord(letter) - ord("A") + 1
    return number or -1


def _misplaced_error(what: str, sheet: str, source: str) -> InputError:
    return InvalidFile(f"{what} of {sheet}", where=source, remedy="Open the workbook in Excel and save it again.")


def _sheet_table(source: str, rows: list[tuple[int, tuple[Any, ...]]]) -> Table:
    (number, head), *body = rows
    width = max(max((i + 1 for i, v in enumerate(row) if v is not None and v != ""), default=0) for _, row in rows)
    names = ["" if value is None else str(value).strip() for value in (*head, *[None] * width)][:width]
    check_header(names, f"{source}, row {number}")
    columns = {
        name: as_object([_read_cell(row[i]) if i < len(row) else None for _, row in body])
        for i, name in enumerate(names)
    }
    return Table(source, columns, np.array([line for line, _ in body], dtype=np.int64), counted="row")


def _read_cell(value: Any) -> Any:
    """A cell as the other readers give it: dates are texts."""
    return value.isoformat() if isinstance(value, datetime | date | time) else value


def write_workbook(path: str | os.PathLike[str], sheets: Mapping[str, Sheet]) -> None:
    """Write a workbook whole or not at all. A text is a text, also where it begins like a formula."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
    except ImportError:
        raise NotInstalled(
            "a workbook needs openpyxl", remedy="Install it: pip install 'steelyard[excel]', or write .csv."
        ) from None
    lines = [[head, *rows] for head, rows in sheets.values()]
    for name, own in zip(sheets, lines, strict=True):  # before anything is written, which would stay open
        if len(own) > MOST_ROWS:
            raise TooLarge(f"sheet '{name}' has more rows than a workbook holds", remedy="Write .csv instead.")
    book, data = Workbook(write_only=True), BytesIO()
    try:
        for name, own in zip(sheet_names(sheets), lines, strict=True):
            sheet = book.create_sheet(name)
            sheet.freeze_panes = "A2"
            for row in own:
                cells = []
                for value in row:
                    cell = WriteOnlyCell(sheet, _plain(value))
                    if isinstance(value, str):
                        cell.data_type = "s"
                    cells.append(cell)
                sheet.append(cells)
        book.save(data)
    except Exception as error:
        for sheet in book.worksheets:  # else each would complain once more when it is forgotten
            for end in (sheet.close, getattr(getattr(sheet, "_writer", None), "close", sheet.close)):
                with contextlib.suppress(Exception):
                    end()
        if not isinstance(error, OSError) and not type(error).__module__.startswith("lxml"):
            raise
        reason = getattr(error, "strerror", None) or error
        raise WriteError(
            f"cannot be written: the temporary file of a sheet fails: {reason}",
            where=os.fspath(path),
            remedy="Make room for temporary files, or set TMPDIR.",
        ) from None
    write_bytes(path, data.getvalue())


def sheet_names(names: Iterable[str]) -> list[str]:
    """Names as a workbook allows them, all different."""
    taken: list[str] = []
    for name in names:
        base = _NOT_IN_NAMES.sub(" ", name).strip(" '")[:LONGEST] or "sheet"
        candidate, number = base, 2
        while candidate.casefold() in (other.casefold() for other in taken):
            end = f" {number}"
            candidate, number = base[: LONGEST - len(end)] + end, number + 1
        taken.append(candidate)
    return taken


def _plain(value: Any) -> Any:
    """A value as a cell holds it: no nan, no infinity, no control character."""
    if isinstance(value, str):
        return _NOT_IN_CELLS.sub(" ", value)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value.item() if hasattr(value, "item") else value
