"""Results in frames, sheets and notebooks, read back by the libraries that people use."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.io.excel import sheet_names, write_workbook
from steelyard.io.parquet import COUNT, NUMBER, TEXT, Frame

duckdb = lazy("duckdb")
nbformat = lazy("nbformat")
openpyxl = lazy("openpyxl")
pd = lazy("pandas")
pl = lazy("polars")
nbclient = lazy("nbclient")

SAMPLE = Path(str(files("steelyard") / "samples"))
TRUTH, A, B = (str(SAMPLE / "weights" / name) for name in ("truth.csv", "model_a.csv", "model_b.csv"))
REPORT = sy.evaluate("weights", TRUTH, A, ["mae", "bias"], by=["cuisine"], draws=100)
LINEUP = sy.compare("weights", TRUTH, {"base": A, "ours <1>": B, "oracle": TRUTH}, metrics=["mae"], draws=100)
SCORES = [score for part in (REPORT.scores, *REPORT.slices["cuisine"].values()) for score in part.values()]
HELD = {
    "slice": [None, None] + [f"cuisine={name}" for name in ("canteen", "home", "restaurant") for _ in range(2)],
    "metric": ["mae", "bias"] * 4,
    "value": [score.value for score in SCORES],
    "low": [score.interval[0] for score in SCORES if score.interval],
    "high": [score.interval[1] for score in SCORES if score.interval],
    "units": [60, 60, 20, 20, 20, 20, 20, 20],
    "undefined": [0] * 8,
    "reason": [None] * 8,
}


@pytest.mark.parametrize(
    "read",
    [
        lambda frame: pl.DataFrame(frame).to_dict(as_series=False),
        lambda frame: pa.table(frame).to_pydict(),
        lambda frame: duckdb.from_arrow(pa.RecordBatchReader.from_stream(frame)).fetchall(),
        dict,
    ],
    ids=["polars", "pyarrow", "duckdb", "dict"],
)
def test_every_library_reads_the_same(read: Callable[[Frame], Any]) -> None:
    held = read(REPORT.to_frame())
    assert held == (HELD if isinstance(held, dict) else list(zip(*HELD.values(), strict=True)))


def test_pandas_reads_it() -> None:
    frame = pd.DataFrame.from_arrow(REPORT.to_frame())
    assert list(frame.columns) == list(HELD)
    assert frame["value"].tolist() == HELD["value"]
    assert frame["slice"].isna().tolist() == [True, True] + [False] * 6


def test_what_is_not_there_is_null_and_memory_outlives_the_frame() -> None:
    cells = {"text": (TEXT, ["é", None, "", "x" * 1000]), "number": (NUMBER, [1.5, math.nan, None, math.inf]),
             "count": (COUNT, [2**62, None, 0, -1])}  # fmt: skip
    table = pa.RecordBatchReader.from_stream(Frame(cells)).read_all()
    gc.collect()
    table.validate(full=True)
    assert table.to_pydict() == {
        "text": ["é", None, "", "x" * 1000], "number": [1.5, None, None, math.inf], "count": [2**62, None, 0, -1]
    } == pa.table(Frame(cells)).to_pydict()  # fmt: skip
    assert [str(field.type) for field in table.schema] == ["large_string", "double", "int64"]
    nothing = Frame({name: (kind, []) for name, kind in (("a", TEXT), ("b", NUMBER), ("c", COUNT))})
    empty = pa.RecordBatchReader.from_stream(nothing).read_all()
    assert (empty.num_rows, [str(f.type) for f in empty.schema]) == (0, ["large_string", "double", "int64"])
    many = pa.table(Frame({"a": (TEXT, [str(i) if i % 3 else None for i in range(1000)])}))
    assert many.to_pydict()["a"] == [str(i) if i % 3 else None for i in range(1000)]
    Frame({"a": (TEXT, ["nobody takes this"])}).__arrow_c_stream__()


@pytest.mark.parametrize(
    ("names", "kinds", "columns", "error"),
    [
        (["a"], ["u"], [], ValueError),
        (["a"], ["x"], [[1]], ValueError),
        (["a"], ["u"], [[1]], TypeError),
        (["a"], ["u"], ["text"], TypeError),
        (["a"], ["g"], [["x"]], TypeError),
        (["a", "b"], ["l", "l"], [[1], [1, 2]], ValueError),
        (["a"], ["u"], [["\ud800"]], UnicodeError),
    ],
)
def test_the_native_stream_checks_its_arguments(names: Any, kinds: Any, columns: Any, error: Any) -> None:
    with pytest.raises(error):
        _native.arrow_stream(names, kinds, columns)


def test_a_comparison_and_a_lineup_are_frames_too() -> None:
    comparison = sy.compare("weights", TRUTH, A, B, ["mae"], by=["cuisine"], draws=100)
    frame = dict(comparison.to_frame())
    d = comparison["mae"]
    assert frame["slice"] == [None, "cuisine=canteen", "cuisine=home", "cuisine=restaurant"]
    first = {name: cells[0] for name, cells in frame.items()}
    assert d.interval is not None
    assert first == {
        "model": "B", "against": "A", "slice": None, "metric": "mae", "value": d.b.value, "value_against": d.a.value,
        "difference": d.difference, "low": d.interval[0], "high": d.interval[1], "p": d.p,
        "p_adjusted": d.p_adjusted, "verdict": d.verdict, "units": 60,
    }  # fmt: skip
    board = dict(LINEUP.to_frame())
    assert board["model"] == ["base", "ours <1>", "oracle"]
    assert board["value"] == [LINEUP[0]["mae"].a.value, LINEUP[0]["mae"].b.value, 0.0]
    assert [*zip(board["rank_first"], board["rank_last"], strict=True)] == list(LINEUP.standings["mae"].ranks)


def test_files_on_the_command_line(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    done = steelyard("evaluate", "weights", TRUTH, A, "-m", "mae", "-m", "bias", "--by", "cuisine", "--draws", "100",
                     "-o", "s.csv", "-o", "s.xlsx", "-o", "s.tex")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == "wrote s.csv\nwrote s.xlsx\nwrote s.tex\n"
    csv = pd.read_csv(tmp_path / "s.csv")
    assert csv["value"].tolist() == pytest.approx(HELD["value"], rel=1e-12)
    assert csv["metric"].tolist() == HELD["metric"]
    book = openpyxl.load_workbook(tmp_path / "s.xlsx")
    rows = list(book["scores"].values)
    assert rows[0] == tuple(HELD)
    for row, expected in zip(rows[1:], zip(*HELD.values(), strict=True), strict=True):
        for cell, value in zip(row, expected, strict=True):
            assert cell == (
                pytest.approx(value, rel=1e-14) if isinstance(value, float) else value
            )  # it writes 16 digits
    assert book["units"].max_row == 61
    assert [cell.value for cell in book["units"][1]] == ["dish", "mae", "bias"]


def test_texts_of_a_workbook_are_no_formulas(tmp_path: Path) -> None:
    rows = [["=1+1", 2.0], ["a\x00b", math.nan], ["+x", math.inf]]
    write_workbook(tmp_path / "w.xlsx", {"a/b": (["name", "value"], rows), "A:B": (["x"], [])})
    book = openpyxl.load_workbook(tmp_path / "w.xlsx")
    assert book.sheetnames == ["a b", "A B 2"]
    assert list(book["a b"].values)[1:] == [("=1+1", 2), ("a b", None), ("+x", "inf")]
    assert book["a b"]["A2"].data_type == "s"
    assert sheet_names(["x" * 40, "x" * 40, "'"]) == ["x" * 31, "x" * 29 + " 2", "sheet"]


def test_a_form_that_a_kind_has_not(tmp_path: Path, steelyard: Callable[..., Any]) -> None:
    gate = sy.gate(REPORT, ["mae < 100"])
    with refuses("E-unsupported", "'frame'"):
        gate.to_frame()
    assert gate._repr_html_() is None


def test_a_notebook_shows_results(tmp_path: Path) -> None:
    code = f"""import steelyard as sy
sy.compare("weights", {TRUTH!r}, {{"base": {A!r}, "ours <1>": {B!r}, "oracle": {TRUTH!r}}}, metrics="mae", draws=100)"""
    cells = [
        f'import steelyard as sy\nreport = sy.evaluate("weights", {TRUTH!r}, {A!r}, ["mae", "bias"], draws=100)\nreport',
        f'sy.compare("weights", {TRUTH!r}, {A!r}, {B!r}, ["mae"], draws=100)',
        code,
        'report.plot("agreement")',
        f"""boxes = {str(SAMPLE / "boxes")!r}
found = sy.evaluate("boxes", f"{{boxes}}/truth.json", f"{{boxes}}/model_a.json", "map50", confidence=None)
found.gallery(2, images=f"{{boxes}}/images")""",
        "found.units()",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    shown = [cell.outputs[0].data for cell in book.cells]
    assert shown[0]["text/html"].count("<svg") == 2
    assert "↓ mae" in shown[0]["text/html"]
    assert "### weights: 60 dishes" in shown[0]["text/markdown"]
    assert "B − A" in shown[1]["text/html"]
    assert "ours &lt;1&gt;" in shown[2]["text/html"]
    assert "<1>" not in shown[2]["text/html"]
    assert "rank 1</small>" in shown[2]["text/html"]
    assert shown[3]["text/html"].count("<svg") == 1
    assert shown[3]["image/svg+xml"].startswith("<svg ")
    assert shown[3]["text/plain"] == "Drawing(Predicted against true)"
    assert shown[4]["text/html"].count('<figure class="shot"') == 2
    assert shown[4]["text/html"].count("data:image/jpeg;base64,") == 2
    assert "image/svg+xml" not in shown[4]  # several pictures
    assert "80 images" in shown[5]["text/html"]


def test_an_interpreter_shows_a_few_lines() -> None:
    report = sy.evaluate("weights", TRUTH, A, by=["cuisine"], draws=100)
    for result in (report, LINEUP, LINEUP[0], sy.compare("weights", TRUTH, A, B, by=["cuisine"], draws=100)):
        lines = repr(result).splitlines()
        assert 2 <= len(lines) <= 10
        assert max(map(len, lines)) <= 110
    assert repr(report).startswith("weights: 60 dishes, 207 items\n")
    assert "more lines: print it" in repr(report)
    mae, d = report["mae"], LINEUP[0]["mae"]
    assert mae.interval is not None
    assert d.interval is not None
    ends = f"[{mae.interval[0]:.2f}, {mae.interval[1]:.2f}]"
    assert repr(mae) == f"Score(mae = {mae.value:.2f} g {ends}, 60 units)"
    assert repr(d).startswith("Difference(mae: −")
    assert repr(d).endswith(f", {d.verdict})")
    assert repr(report.units()).startswith("UnitTable(60 dishes: mae, mape, ")
    undefined = sy.evaluate("weights", TRUTH, TRUTH, ["mape"], draws=100)
    assert len(repr(undefined).splitlines()) <= 10


def test_markdown_says_what_the_text_says() -> None:
    flat = {"dish": [1, 2, 3], "item": ["a"] * 3, "weight": [5.0, 5.0, 5.0]}
    other = {**flat, "weight": [4.0, 5.0, 7.0]}
    comparison = sy.compare("weights", flat, other, {**flat, "weight": [5.0, 5.5, 6.0]}, ["mae", "r2"], draws=100)
    said = next(line for line in comparison.to_text(width=200).splitlines() if "r2 is undefined" in line)
    assert said.removeprefix("• ") in comparison.to_markdown()
