"""Sheets of a workbook, by openpyxl, which the extra `excel` brings."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any

from steelyard.core.errors import InputError
from steelyard.io.write import write_bytes

LONGEST = 31  # characters of a sheet's name
MOST_ROWS = 1_048_576
_NOT_IN_NAMES = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
_NOT_IN_CELLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
Sheet = tuple[Sequence[str], Iterable[Sequence[Any]]]  # the head, and the rows


def write_workbook(path: str | os.PathLike[str], sheets: Mapping[str, Sheet]) -> None:
    """Write a workbook whole or not at all. A text is a text, also where it begins like a formula."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
    except ImportError:
        raise InputError(
            "a workbook needs openpyxl", remedy="Install it: pip install 'steelyard[excel]', or write .csv."
        ) from None
    book = Workbook(write_only=True)
    for name, (head, rows) in zip(sheet_names(sheets), sheets.values(), strict=True):
        sheet = book.create_sheet(name)
        sheet.freeze_panes = "A2"
        for count, row in enumerate([head, *rows]):
            if count >= MOST_ROWS:
                raise InputError(f"sheet '{name}' has more rows than a workbook holds", remedy="Write .csv instead.")
            cells = []
            for value in row:
                cell = WriteOnlyCell(sheet, _plain(value))
                if isinstance(value, str):
                    cell.data_type = "s"
                cells.append(cell)
            sheet.append(cells)
    data = BytesIO()
    book.save(data)
    write_bytes(path, data.getvalue())


def sheet_names(names: Iterable[str]) -> list[str]:
    """Names as a workbook allows them, all different."""
    given: list[str] = []
    for name in names:
        base = _NOT_IN_NAMES.sub(" ", name).strip(" '")[:LONGEST] or "sheet"
        made, number = base, 2
        while made.casefold() in (other.casefold() for other in given):
            end = f" {number}"
            made, number = base[: LONGEST - len(end)] + end, number + 1
        given.append(made)
    return given


def _plain(value: Any) -> Any:
    """A value as a cell holds it: no nan, no infinity, no control character."""
    if isinstance(value, str):
        return _NOT_IN_CELLS.sub(" ", value)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value.item() if hasattr(value, "item") else value
