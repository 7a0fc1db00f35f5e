"""Tables whose cells, columns or sheets are spoiled: nulls of every kind, weights, sheets, blank lines, large numbers."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

from hostile.rows import (
    LABELS,
    LABELS_P,
    RANKINGS,
    RANKINGS_P,
    SEQUENCES_P,
    WEIGHTS,
    WEIGHTS_P,
    Row,
    evaluate,
    pred,
    program,
    row,
    truth,
)

ARROW = "import pyarrow as pa\ntruth = {'id': [1, 2, 3], 'label': ['a', 'c', 'b']}\n"
SHEET = "xl/worksheets/sheet1.xml"


def arrow(name: str, column: str, *says: str, what: str = "label", **more: Any) -> Row:
    """Labels whose column, an expression of pyarrow, is spoiled."""
    columns = {"id": "[1, 2, 3]", "label": "['a', 'c', 'b']"} | {what: column}
    table = ", ".join(f"'{name}': {values}" for name, values in columns.items())
    return program(
        f"cells: {name}",
        f'{ARROW}print(sy.evaluate("labels", truth, pa.table({{{table}}}), metrics="accuracy"))',
        *says,
        **more,
    )


def frames(name: str, source: str, *says: str, **more: Any) -> Row:
    return program(f"cells: {name}", source, *says, **more)


def sheet(name: str, old: str, new: str, *says: str, **more: Any) -> Row:
    """A workbook of four rows whose sheet is changed."""

    def make(path: Path) -> None:
        import openpyxl

        book = openpyxl.Workbook()
        for line in (("dish", "item", "weight"), ("A", 1, 100), ("A", 2, 50), ("B", 1, 200)):
            book.active.append(line)
        whole = io.BytesIO()
        book.save(whole)
        with zipfile.ZipFile(whole) as before, zipfile.ZipFile(path, "w") as after:
            for member in before.namelist():
                data = before.read(member)
                after.writestr(member, data.replace(old.encode(), new.encode()) if member == SHEET else data)

    line = "evaluate weights t.xlsx pred.csv -m mae --ci none"
    return row(f"cells: sheet with {name}", line, *says, files={"t.xlsx": make, "pred.csv": WEIGHTS_P}, **more)


def packed(text: bytes) -> bytes:
    return gzip.compress(text)


BLANK = b"\n" * 1_200_000
W2 = "dish,item,weight,sample_weight\nA,1,100,{}\nA,2,50,{}\nB,1,200,1\n"
ROWS: list[Row] = [
    arrow("null in a dictionary", "pa.array(['a', None, 'b']).dictionary_encode()", "row 1, column 'label'", "empty"),
    arrow("null in a dictionary of numbers", "pa.array([1, None, 2]).dictionary_encode()", "row 1, column 'label'", "empty"),
    arrow("null in texts", "pa.array(['a', None, 'b'], pa.large_string())", "row 1, column 'label'", "empty"),
    arrow("null id in a dictionary", "pa.array([1, None, 3]).dictionary_encode()", "row 1, column 'id'", "id is empty", what="id"),
    arrow("ids of bytes", "pa.array([b'1', b'2', b'3'])", "row 0, column 'id'", "bytes", what="id"),
    arrow("labels of bytes", "pa.array([b'a', b'b', b'c'])", "row 0, column 'label'", "bytes"),
    arrow("labels of structs", "pa.array([{'x': 1}, {'x': 2}, {'x': 3}])", "row 0, column 'label'", "not one label"),
    arrow("labels of lists", "pa.array([['a'], ['b'], ['c']])", "row 0, column 'label'", "not one label"),
    arrow("ids of lists", "pa.array([[1], [2], [3]])", "row 0, column 'id'", "is not a valid id", what="id"),
    arrow("labels that are all null", "pa.nulls(3)", "row 0, column 'label'", "empty"),
    arrow("null in a list of labels", "pa.array([['a', None], ['c'], ['b']])", "column 'labels'", "empty", what="labels"),
    frames("NaT in ids", 'import pandas as pd\nt = pd.DataFrame({"id": pd.to_datetime(["2020-01-01", None]), "label": ["a", "b"]})\nsy.evaluate("labels", t, t)', "row 1, column 'id'", "id is empty"),
    frames("NA in weights", 'import pandas as pd\nt = pd.DataFrame({"dish": ["a", "b"], "weight": pd.array([1, None], dtype="Int64")})\nsy.evaluate("weights", t, t)', "row 1, column 'weight'", "empty"),
    frames("durations for weights", 'import polars as pl, datetime as dt\nt = pl.DataFrame({"dish": ["a"], "weight": [dt.timedelta(1)]})\nsy.evaluate("weights", t, t)', "row 0, column 'weight'", "not a number"),
    frames("dates for weights", 'import polars as pl, datetime as dt\nt = pl.DataFrame({"dish": ["a"], "weight": [dt.date(2020, 1, 1)]})\nsy.evaluate("weights", t, t)', "row 0, column 'weight'", "not a number"),
    frames("structs for weights", 'import polars as pl\nt = pl.DataFrame({"dish": ["a"], "weight": [{"g": 1}]})\nsy.evaluate("weights", t, t)', "row 0, column 'weight'", "not a number"),
    frames("slices of lists", 'import polars as pl\nt = pl.DataFrame({"dish": ["a", "b"], "weight": [1, 2], "tags": [["x"], ["y", "z"]]})\nprint(sy.evaluate("weights", t, t, metrics="mae", by="tags"))', "mae", code=0),
    sheet("rows beyond its declared size", 'ref="A1:C4"', 'ref="A1:C2"', "mae", code=0),
    sheet("a row twice", '<row r="4"', '<row r="3"', "row 3 follows row 3"),
    sheet("row 0", '<row r="4"', '<row r="0"', "row 0 follows row 3"),
    sheet("row 10^12", '<row r="4"', '<row r="1000000000000"', "row 1000000000000 follows row 3"),
    sheet("a cell twice", '"B3"', '"A3"', "cell A3 is out of order"),
    sheet("a cell of another row", '"B3"', '"B4"', "cell B4 is out of order"),
    sheet("column ZZZZ", '"C4"', '"ZZZZ4"', "cell ZZZZ4 is out of order"),
    sheet("an entity that is not declared", "<sheetData>", "<sheetData>&bomb;", "cannot be read"),
    truth("1,200,000 blank lines", "weights", WEIGHTS.encode() + BLANK, "truth.csv", "more than 1,000,000 blank lines"),
    truth("blank lines that gzip packed", "weights", packed(BLANK), "truth.csv", "more than 1,000,000 blank lines"),
    row("cells: JSON lines that are blank, packed", "evaluate weights t.jsonl pred.csv", "t.jsonl", "more than 1,000,000 blank lines", files={"t.jsonl": packed(BLANK), "pred.csv": WEIGHTS_P}),
    truth("weight of 1e308", "weights", WEIGHTS.replace("200", "1e308"), "line 4", "'weight'", "1e+12"),
    pred("weight of -1e200", "weights", WEIGHTS_P.replace("150", "-1e200"), "line 4", "'weight'", "1e+12"),
    pred("frame of 1e200 g", "sequences", SEQUENCES_P.replace("90\ns", "1e200\ns"), "line 2", "'weight'", "1e+12"),
    truth("negative weights of units", "weights", W2.format(-1, -1), "line 2", "'sample_weight'", "at least 0"),
    truth("weights of units of 1e300", "weights", W2.format("1e300", "1e300"), "line 2", "'sample_weight'", "1e+12"),
    truth("weights that differ in a unit", "weights", W2.format(1, 2), "line 3", "'sample_weight'", "2 differs from 1"),
    truth("relevance of 2000", "rankings", RANKINGS.replace("c,2", "c,2000"), "relevance of 2000", "above 500", options="-m 'ndcg(gain=exponential)'"),
    pred("a class that is empty in one row", "labels", "id,score:cat,score:dog\n1,1,2\n2,,1\n3,1,2\n4,1,2\n", "line 3", "'score:cat'", "empty", options="--missing skip"),
    evaluate("metric without a range", "labels", "mine", options="-m mine"),
    program("cells: metric class without a range", 'from steelyard.extend import Metric\nclass Mine(Metric):\n    name, title = "mine", "Mine"\nsy.evaluate("labels", {}, {})', "class 'Mine' declares no range"),
    row("cells: model column that is not there", "compare weights truth.csv truth.csv truth.csv --map a.weight=x --map b.weight=y", "column 'x' is missing", files={"truth.csv": WEIGHTS}),
    row("cells: models with nothing in common", "compare labels truth.csv a.csv b.csv --missing common", "no row has a prediction of every model", files={"truth.csv": LABELS, "a.csv": "id,label\n1,cat\n", "b.csv": "id,label\n2,cat\n"}),
    row("cells: formula for a class", "evaluate labels truth.csv pred.csv -m accuracy --by label -o out.csv", "accuracy", code=0, writes=("out.csv",), files={"truth.csv": LABELS.replace("dog", "=cmd"), "pred.csv": LABELS_P.replace("dog", "=cmd")}),
    row("cells: run of another task's columns", "evaluate rankings truth.csv pred.csv --map a.score=score", "cannot be mapped", files={"truth.csv": RANKINGS, "pred.csv": RANKINGS_P}),
]  # fmt: skip
