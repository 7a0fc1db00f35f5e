"""Sheets of workbooks whose XML does not say what they hold."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.io.read import read_table

openpyxl = lazy("openpyxl")

ROWS = [("dish", "weight", "seen"), ("A", 10, "x"), ("B", 20, "y"), ("C", 30, "z"), ("D", 40, "x")]
GUESSES = {"dish": ["A", "B", "C", "D"], "weight": [10, 20, 30, 700]}
SHEET = "xl/worksheets/sheet1.xml"


def workbook(path: Path, change: Callable[[str], str]) -> Path:
    """A workbook of one sheet with its XML changed."""
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.save(path.with_suffix(".whole.xlsx"))
    with zipfile.ZipFile(path.with_suffix(".whole.xlsx")) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == SHEET:
                text = change(data.decode())
                assert text != data.decode()
                data = text.encode()
            new.writestr(name, data)
    return path


def rows_of(text: str) -> list[str]:
    return [f"<row{part}" for part in text.partition("<sheetData>")[2].partition("</sheetData>")[0].split("<row")[1:]]


@pytest.mark.parametrize("ref", ["A1:C3", "A1", "B2:C3", "A1:A5"])
def test_the_declared_size_is_ignored(ref: str, tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", lambda text: text.replace('ref="A1:C5"', f'ref="{ref}"'))
    table = read_table(path, "t")
    assert {name: column.tolist() for name, column in table.columns.items()} == {
        "dish": ["A", "B", "C", "D"], "weight": [10, 20, 30, 40], "seen": ["x", "y", "z", "x"],
    }  # fmt: skip
    assert sy.evaluate("weights", path, GUESSES, metrics="mae", confidence=None)["mae"].value == 165.0


def test_rows_and_cells_without_places_are_counted(tmp_path: Path) -> None:
    import re

    path = workbook(tmp_path / "t.xlsx", lambda text: re.sub(r'(<(?:row|c)) r="[A-Z]*[0-9]+"', r"\1", text))
    assert read_table(path, "t").columns["weight"].tolist() == [10, 20, 30, 40]


def _swapped(text: str) -> str:
    rows = rows_of(text)
    return text.replace(rows[3] + rows[4], rows[4] + rows[3])


def _cells_swapped(text: str) -> str:
    row = rows_of(text)[2]
    a, b, c = (f"<c{part}" for part in row.partition(">")[2].removesuffix("</row>").split("<c")[1:])
    return text.replace(a + b + c, a + c + b)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_swapped, ("E-invalid-file", "row 4", "row 5")),
        (lambda text: text.replace('<row r="5"', '<row r="4"').replace('"A5"', '"A4"'), ("E-invalid-file", "row 4")),
        (lambda text: text.replace('<row r="5"', '<row r="0"'), ("E-invalid-file", "row 0", "row 4")),
        (lambda text: text.replace('<row r="5"', '<row r="99999999999"'), ("E-invalid-file", "row 99999999999", "row 4")),
        (lambda text: text.replace('<row r="5"', '<row r="5.5"'), ("E-invalid-file", "row 5.5", "row 4")),
        (_cells_swapped, ("E-invalid-file", "B3", "row 3")),
        (lambda text: text.replace('"B3"', '"A3"'), ("E-invalid-file", "A3", "row 3")),
        (lambda text: text.replace('"B3"', '"B9"'), ("E-invalid-file", "B9", "row 3")),
        (lambda text: text.replace('"C3"', '"ZZZ3"'), ("E-invalid-file", "ZZZ3", "row 3")),
        (lambda text: text.replace('"C3"', '"7"'), ("E-invalid-file", "7", "row 3")),
    ],
)  # fmt: skip
def test_cells_out_of_order_are_refused(change: Callable[[str], str], says: tuple[str, ...], tmp_path: Path) -> None:
    with refuses(*says):
        read_table(workbook(tmp_path / "t.xlsx", change), "t")


def test_a_sheet_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    with refuses("E-invalid-file", "t.xlsx"):
        read_table(workbook(tmp_path / "t.xlsx", lambda text: text[: len(text) // 2]), "t")
