"""The same data from every format gives the same report, to the bit, and the same digest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.io.read import read_table

pd = lazy("pandas")
pl = lazy("polars")

TRUTH = {"dish": ["A", "A", "B"], "item": ["x", "y", "x"], "weight": [100.5, 50.0, 200.0]}
PRED = {"dish": ["B", "A", "A"], "item": ["x", "y", "x"], "weight": [150.0, 40.25, 110.0]}


def csv_file(path: Path, data: dict[str, Any], sep: str = ",", newline: str = "\n", bom: str = "") -> Path:
    rows = [list(data), *zip(*data.values(), strict=True)]
    path.write_bytes((bom + "".join(sep.join(map(str, row)) + newline for row in rows)).encode())
    return path


def json_lines(path: Path, data: dict[str, Any]) -> Path:
    rows = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def parquet(path: Path, data: dict[str, Any]) -> Path:
    pyarrow.parquet.write_table(pa.table(data), path)
    return path


FORMATS = {
    "csv": lambda p, d: csv_file(p / "d.csv", d),
    "csv with a byte-order mark and CRLF": lambda p, d: csv_file(p / "d.csv", d, newline="\r\n", bom="\ufeff"),
    "tsv": lambda p, d: csv_file(p / "d.tsv", d, sep="\t"),
    "json lines": lambda p, d: json_lines(p / "d.jsonl", d),
    "json": lambda p, d: Path(
        p / "d.json"
    ).write_text(json.dumps([dict(zip(d, row, strict=True)) for row in zip(*d.values(), strict=True)])) and p / "d.json",
    "parquet": lambda p, d: parquet(p / "d.parquet", d),
    "pandas": lambda p, d: pd.DataFrame(d),
    "pandas with its own types": lambda p, d: pd.DataFrame(d).convert_dtypes(),
    "polars": lambda p, d: pl.DataFrame(d),
    "pyarrow": lambda p, d: pa.table(d),
    "arrays": lambda p, d: {name: np.asarray(column) for name, column in d.items()},
    "objects": lambda p, d: {name: np.asarray(column, dtype=object) for name, column in d.items()},
    "path as text": lambda p, d: str(csv_file(p / "d.csv", d)),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_same_report(name: str, tmp_path: Path) -> None:
    make = FORMATS[name]
    (tmp_path / "t").mkdir()
    (tmp_path / "p").mkdir()
    expected = sy.evaluate("weights", TRUTH, PRED)
    report = sy.evaluate("weights", make(tmp_path / "t", TRUTH), make(tmp_path / "p", PRED))
    assert report.scores == expected.scores
    assert report.sources.truth.digest == expected.sources.truth.digest
    assert report.sources.predictions.digest == expected.sources.predictions.digest


def test_ids_of_files_and_frames_agree(tmp_path: Path) -> None:
    truth = pd.DataFrame({"dish": [1, 2, 3], "weight": [10.0, 20.0, 30.0]})
    predictions = csv_file(tmp_path / "p.csv", {"dish": [3, 1, 2], "weight": [33, 11, 22]})
    from_file = sy.evaluate("weights", truth, predictions)
    in_memory = sy.evaluate("weights", truth, pd.DataFrame({"dish": [3, 1, 2], "weight": [33.0, 11.0, 22.0]}))
    assert from_file.scores == in_memory.scores


def test_columns_are_mapped_on_either_side(tmp_path: Path) -> None:
    renamed = {"dish": PRED["dish"], "item": PRED["item"], "grams": PRED["weight"]}
    expected = sy.evaluate("weights", TRUTH, PRED)["mae"]
    assert sy.evaluate("weights", TRUTH, renamed, columns={"weight": "grams"})["mae"] == expected
    assert sy.evaluate("weights", TRUTH, renamed, columns={"prediction.weight": "grams"})["mae"] == expected
    both = {**TRUTH, "estimate": [110.0, 40.25, 150.0]}
    assert sy.evaluate("weights", both, columns={"prediction": "estimate"})["mae"] == expected


def test_quoted_fields_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('dish,item,weight\n"a, ""b""\nc",1,5\n\nd,1,x\n')
    table = read_table(path, "truth")
    assert table.columns["dish"].tolist() == ['a, "b"\nc', "d"]
    assert table.place(1).endswith("t.csv, line 5")


def test_parquet_needs_its_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import steelyard as sy\n"
        "try: sy.evaluate('weights', 't.parquet', 'p.parquet')\n"
        "except sy.SteelyardError as e: print(e)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'steelyard[parquet]'" in result.stdout


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"dish": ["a"], "weight": [1, 2]}, ("E-shape-mismatch", "'dish'", "1", "'weight'", "2")),
        ({"dish": ["a"], "weight": np.ones((1, 2))}, ("E-shape-mismatch", "'weight'", "2")),
        ({"dish": ["a"], "weight": 5}, ("E-invalid-value", "'weight'")),
        ([1, 2], ("E-missing-key", "list")),
        ({"dish": ["a", None], "weight": [1, 2]}, ("E-empty-cell", "truth", "row 1", "'dish'")),
        ({"dish": ["a", "b"], "weight": [1, float("nan")]}, ("E-invalid-number", "truth", "row 1", "'weight'")),
    ],
)
def test_bad_data_in_memory(data: Any, message: tuple[str, ...]) -> None:
    with refuses(*message):
        sy.evaluate("weights", data, {"dish": ["a"], "weight": [1]})
