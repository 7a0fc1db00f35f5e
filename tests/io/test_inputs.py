"""Tables as offices write them: semicolons, decimal commas, workbooks; and what is said of columns that are not there."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy

openpyxl = lazy("openpyxl")

TRUTH = "dish,item,weight\nA,1,100\nB,1,200\nC,1,300.5\n"
PRED = "dish,item,weight\nA,1,110\nB,1,195.5\nC,1,300\n"  # off by 10, 4.5 and 0.5: 5 on average


def mae(truth: Path, predictions: Path, **settings: Any) -> tuple[float, str]:
    report = sy.evaluate("weights", truth, predictions, "mae", confidence=None, **settings)
    return report["mae"].value, "\n".join(report.notes)


def foreign(text: str) -> str:
    return text.replace(",", ";").replace(".", ",")


@pytest.fixture
def pred(tmp_path: Path) -> Path:
    (tmp_path / "p.csv").write_text(PRED)
    return tmp_path / "p.csv"


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_text(foreign(TRUTH)),
        lambda path: path.write_text(f"sep=;\n{foreign(TRUTH)}"),
        lambda path: path.write_text("\ufeff\n\n" + foreign(TRUTH).replace("\n", "\r\n"), encoding="utf-8"),
        lambda path: path.write_bytes(gzip.compress(foreign(TRUTH).encode())),
        lambda path: path.write_text('"dish";"item, or part";"weight"\nA;1;100\nB;1;200\nC;1;300,5\n'),
    ],
    ids=["plain", "sep", "bom", "gzip", "quoted"],
)
def test_semicolons_and_decimal_commas(tmp_path: Path, pred: Path, write: Callable[[Path], Any]) -> None:
    write(tmp_path / "t.csv")
    value, notes = mae(tmp_path / "t.csv", pred, columns={"truth.item": "item, or part"} if "or part" in str(
        (tmp_path / "t.csv").read_bytes()) else None)  # fmt: skip
    assert value == 5.0
    assert "t.csv: column 'weight' is read with decimal commas." in notes
    if not (tmp_path / "t.csv").read_bytes().startswith(b"sep"):
        assert "t.csv: fields are separated by semicolons, as the header says." in notes


def test_semicolons_and_points(tmp_path: Path, pred: Path) -> None:
    (tmp_path / "t.csv").write_text(TRUTH.replace(",", ";"))
    value, notes = mae(tmp_path / "t.csv", pred)
    assert value == 5.0
    assert "decimal commas" not in notes


REFUSED = {
    "a header with both": ("dish;item,weight\nA;1,5\n", ("E-conflict", "t.csv", "line 1")),
    "commas and points": (
        foreign(TRUTH).replace(";100\n", ";100.5\n"),
        ("E-invalid-number", "line 4", "'weight'"),
    ),
    "thousands or decimals": (
        "dish;item;weight\nA;1;100\nB;1;1,250\nC;1;2,300\n",
        ("E-invalid-number", "line 3", "'weight'", "'1,250'"),
    ),
    "points of thousands": (
        "dish;item;weight\nA;1;100\nB;1;1.250\nC;1;2.300\n",
        ("E-invalid-number", "line 3", "'weight'", "'1.250'"),
    ),
    "no number": (foreign(TRUTH).replace("300,5", "3,x"), ("E-invalid-number", "line 4", "'weight'", "'3,x'")),
    "a mark of its own": ("dish|item|weight\nA|1|3.5\n", ("E-invalid-file", "'|'")),
    "a short row": (foreign(TRUTH) + "D;1\n", ("E-invalid-file", "line 5", "2", "3")),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_may_mean_two_things_is_not_guessed(tmp_path: Path, pred: Path, case: str) -> None:
    text, message = REFUSED[case]
    (tmp_path / "t.csv").write_text(text)
    with refuses(*message):
        mae(tmp_path / "t.csv", pred)


def test_what_is_asked_for_goes_first(tmp_path: Path, pred: Path) -> None:
    (tmp_path / "t.csv").write_text("dish|item|weight\nA|1|1,250\nB|1|2,500\nC|1|0\n")
    (tmp_path / "p.csv").write_text("dish|item|weight\nA|1|1,250\nB|1|2,500\nC|1|3\n")
    assert mae(tmp_path / "t.csv", pred, delimiter="pipe", decimal="comma")[0] == 1.0
    with refuses("E-invalid-number", "'1,250'"):
        mae(tmp_path / "t.csv", pred, delimiter="|", decimal="point")
    (tmp_path / "t.csv").write_text("dish|item|weight\nA|1|1.5\nB|1|2,5\nC|1|0\n")
    with refuses("E-invalid-number", "'1.5'"):
        mae(tmp_path / "t.csv", pred, delimiter="|", decimal="comma")
    for bad in ({"delimiter": "ab"}, {"delimiter": "a"}, {"decimal": "dot"}):
        with refuses("E-invalid-setting", *(f"'{value}'" for value in bad.values())):
            mae(tmp_path / "t.csv", pred, **bad)


def test_on_the_command_line(steelyard: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("dish|item|weight\nA|1|1,250\nB|1|2,500\n")
    done = steelyard("evaluate", "weights", "t.csv", "t.csv", "--delimiter", "|", "--decimal", "comma", "-m", "mae")
    assert done.returncode == 0, done.stderr
    assert "column 'weight' is read with" in done.stdout
    done = steelyard("evaluate", "weights", "t.csv", "t.csv", "--delimiter", "abc", "-m", "mae")
    assert (done.returncode, "'abc' cannot separate fields" in done.stderr) == (2, True)
    done = steelyard("evaluate", "weights", "t*.csv", "t*.csv", "--delimiter", "|", "-m", "mae")
    assert (done.returncode, "are for single files" in done.stderr) == (2, True)


def test_an_accumulator_says_it_too(tmp_path: Path, pred: Path) -> None:
    (tmp_path / "t.csv").write_text(foreign(TRUTH))
    state = sy.Accumulator("weights", confidence=None)
    state.update(tmp_path / "t.csv", pred)
    report = sy.Accumulator.from_bytes(state.to_bytes()).report("mae")
    assert report["mae"].value == 5.0
    assert any("decimal commas" in note for note in report.notes)


def book(path: Path, **sheets: list[list[Any]]) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


ROWS = [["dish", "item", "weight", "day"], ["A", 1, 100, date(2026, 11, 1)], [], ["B", 1, 200.0, date(2026, 11, 2)],
        ["C", 1, 300.5, date(2026, 11, 2)]]  # fmt: skip


def test_a_workbook(tmp_path: Path, pred: Path) -> None:
    path = book(tmp_path / "t.xlsx", empty=[], truth=ROWS)
    report = sy.evaluate("weights", path, pred, "mae", by=["day"], confidence=None)
    assert report["mae"].value == 5.0
    assert list(report.slices["day"]) == ["2026-11-01T00:00:00", "2026-11-02T00:00:00"]
    two = book(tmp_path / "two.xlsx", truth=ROWS, notes=[["x"], ["y"]])
    assert mae(Path(f"{two}#truth"), pred)[0] == 5.0
    with refuses("E-invalid-file", "notes", "two.xlsx#truth"):
        mae(two, pred)
    with refuses("E-unknown-name", "'truht'", "'truth'"):
        mae(Path(f"{two}#truht"), pred)


def test_boxes_in_a_workbook(tmp_path: Path) -> None:
    rows = [["image", "label", "x", "y", "w", "h"], [1, "cat", 0, 0, 10, 10], [2, "dog", 5, 5, 10, 10]]
    path = book(tmp_path / "t.xlsx", boxes=rows)
    predictions = {"image": [1, 2], "label": ["cat", "dog"], "x": [0, 5], "y": [0, 5], "w": [10, 10], "h": [10, 10],
             "score": [0.9, 0.8]}  # fmt: skip
    assert sy.score("boxes", path, predictions, "map") == pytest.approx(1.0, abs=1e-12)


BROKEN = {
    "a cell that is not a number": ([*ROWS[:1], ["A", 1, "heavy"]], ("E-invalid-number", "t.xlsx", "row 2", "'weight'", "'heavy'")),
    "an error of a formula": ([*ROWS[:1], ["A", 1, "#DIV/0!"]], ("E-invalid-number", "row 2", "'weight'", "'#DIV/0!'")),
    "a name given twice": ([["dish", "item", "item"], ["A", 1, 2]], ("E-duplicate-key", "t.xlsx", "row 1", "'item'")),
    "a column without a name": ([["dish", None, "item"], ["A", 1, 2]], ("E-empty-cell", "row 1", "column 2")),
    "nothing": ([], ("E-empty-input", "t.xlsx")),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_broken_workbooks(tmp_path: Path, pred: Path, case: str) -> None:
    rows, message = BROKEN[case]
    with refuses(*message):
        mae(book(tmp_path / "t.xlsx", truth=rows), pred)


def test_what_is_no_workbook(tmp_path: Path, pred: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.xlsx").write_bytes(book(tmp_path / "w.xlsx", a=ROWS).read_bytes()[:900])
    with refuses("E-invalid-file", "t.xlsx"):
        mae(tmp_path / "t.xlsx", pred)
    monkeypatch.setenv("STEELYARD_UNPACK_LIMIT", "1000")
    monkeypatch.setattr("steelyard.core.opening.RATIO", 1)
    with refuses("E-too-large", "w.xlsx"):
        mae(tmp_path / "w.xlsx", pred)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with refuses("E-missing-extra", "pip install 'steelyard[excel]'"):
        mae(tmp_path / "w.xlsx", pred)


def test_an_optional_part_that_does_not_load(tmp_path: Path, pred: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "openpyxl.py").write_text("raise ImportError('libGL.so.1:\\n no such file')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "openpyxl", raising=False)
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    with refuses("E-missing-extra", "t.xlsx", "does not load: libGL.so.1: no such file"):
        mae(tmp_path / "t.xlsx", pred)


def test_all_missing_columns_at_once_with_the_nearest(tmp_path: Path, pred: Path) -> None:
    (tmp_path / "t.csv").write_text("Dish,part,wieght\nA,1,2\n")
    with refuses("E-missing-column", "t.csv", "'dish'", "'weight'", "'Dish'", "'part'", "'wieght'"):
        mae(tmp_path / "t.csv", pred)
    with refuses("E-missing-column", "'weight'", "'net weight'"):  # fmt: skip
        sy.evaluate("weights", {"dish": ["A"], "item": [1], "net weight": [1]}, pred)


def test_a_zip_named_as_a_workbook(tmp_path: Path, pred: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as file:
        file.writestr("t.csv", TRUTH)
    with refuses("E-invalid-file", "t.xlsx", "read"):
        mae(tmp_path / "t.xlsx", pred)


def test_many_files_say_it_too(steelyard: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    (tmp_path / "t1.csv").write_text(foreign(TRUTH))
    (tmp_path / "p1.csv").write_text(PRED)
    asked = ("evaluate", "weights", "t*.csv", "p*.csv", "-m", "mae", "--ci", "none", "--workers", "1", "--join")
    done = steelyard(*asked, "pairs")
    assert done.returncode == 0, done.stderr
    assert "• In some files fields are separated by semicolons, as the header says." in done.stdout
    assert "• In some files column 'weight' is read with decimal commas." in done.stdout
    done = steelyard(*asked, "hash")
    assert (done.returncode, "--join pairs" in done.stderr) == (2, True)


def test_a_name_without_an_ending_that_is_no_file(tmp_path: Path) -> None:
    with refuses("E-missing-file", "nowhere"):
        sy.evaluate("weights", tmp_path / "nowhere", tmp_path / "nowhere")
