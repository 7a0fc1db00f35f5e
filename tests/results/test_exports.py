"""What is written for other programs: no formula, no steering character, and frames that other libraries take."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from support.lazy import lazy

import steelyard as sy
from steelyard.io.read import read_table
from steelyard.io.write import sheet_text

pd = lazy("pandas")
pl = lazy("polars")

EVIL = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\tx", "\rx"]
STEERING = "\x1b[31m", "\u202e", "\u2066", "\u200f", "\u061c", "\x9b"


def report(classes: list[str]) -> sy.Report:
    ids = [f"{name}!" for name in classes]
    truth = {"id": ids, "label": classes, "light": classes}
    return sy.evaluate(
        "labels",
        truth,
        {"id": ids, "label": classes[::-1]},
        metrics=["accuracy", "f1(label=x)"] if "x" in classes else "accuracy",
        by="light",
    )


@pytest.mark.parametrize("evil", EVIL)
def test_a_cell_that_begins_like_a_formula_is_text(evil: str, tmp_path: Path) -> None:
    given = report([evil, "plain"])
    given.to_csv(tmp_path / "scores.csv")
    given.units().to_csv(tmp_path / "units.csv")
    given.write_tables(tmp_path)
    written = [*tmp_path.glob("*.csv")]
    assert len(written) >= 3
    seen = 0
    for path in written:
        with path.open(newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        wrong = [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r")) and not _is_number(cell)]
        assert wrong == []
        seen += sum(cell.startswith(f"'{evil[0]}") for cell in cells)
    assert seen or evil[0] in "\t\r"  # blanks around names are not kept


def test_tabs_and_returns_are_behind_an_apostrophe() -> None:
    text = sheet_text(["=a", "b"], [["\tx", -1.5], ["-1e3", "\ry"]])
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["'=a", "b"], ["'\tx", "-1.5"], ["-1e3", "' y"]]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_negative_numbers_stay_numbers() -> None:
    truth = {"dish": ["a", "b"], "weight": [10, 20]}
    text = sy.evaluate(
        "weights", truth, {"dish": ["a", "b"], "weight": [4, 18]}, metrics="bias", confidence=None
    ).to_csv()
    assert ",-4.0," in text or ",-4," in text  # (4 - 10 + 18 - 20) / 2


@pytest.mark.parametrize("mark", STEERING)
def test_steering_characters_are_written_out(mark: str) -> None:
    given = report([f"a{mark}b", "plain"])
    for text in (given.to_markdown(), given.to_html()):
        assert mark not in text
        assert f"\\u{ord(mark[0]):04x}" in text


def test_pandas_and_polars_take_a_result() -> None:
    given = report(["a", "b"])
    frame = given.to_frame()
    for table in (given.to_pandas(), pd.DataFrame(frame)):
        assert list(table.columns) == list(frame)
        assert len(table) == len(frame["metric"]) == 3
        assert table["metric"].tolist() == frame["metric"]
        assert table["value"].tolist() == frame["value"]
        assert table["units"].dtype == "int64"
        assert table["slice"].isna().tolist() == [cell is None for cell in frame["slice"]]
    for other in (given.to_polars(), pl.DataFrame(frame)):
        assert other.columns == list(frame)
        assert other["value"].to_list() == frame["value"]
    assert read_table(given.to_pandas(), "t").columns["metric"].tolist() == frame["metric"]
