"""Missing values in every kind of column, from every reader: a null stays a null, and its neighbours keep their values."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.io.frames import lazy_frame
from steelyard.io.read import read_table

pd = lazy("pandas")
pl = lazy("polars")

DAY, BIG = dt.datetime(2020, 1, 2, 3, 4, 5), 2**60 + 1  # a float does not hold BIG
DAY_TEXT = "2020-01-02T03:04:05"
CATEGORIES = pa.array(["cat", None, "dog", "cow"])
# Each kind of column: its values, the second of which is missing, and what a table must hold.
KINDS: dict[str, tuple[Any, list[Any]]] = {
    "dictionary": (CATEGORIES.dictionary_encode(), ["cat", None, "dog", "cow"]),
    "dictionary of numbers": (pa.array([1, None, BIG, 4]).dictionary_encode(), [1, None, BIG, 4]),
    "dictionary of floats": (pa.array([1.5, None, 3.25, 4.5]).dictionary_encode(), [1.5, None, 3.25, 4.5]),
    "integer": (pa.array([1, None, 3, 4]), [1, None, 3, 4]),
    "large integer": (pa.array([BIG, None, 3, 4]), [BIG, None, 3, 4]),
    "unsigned": (pa.array([2**63 + 1, None, 3, 4], pa.uint64()), [2**63 + 1, None, 3, 4]),
    "small integer": (pa.array([1, None, 3, 4], pa.int8()), [1, None, 3, 4]),
    "float": (pa.array([1.5, None, 3.0, 4.0]), [1.5, None, 3.0, 4.0]),
    "single": (pa.array([1.5, None, 3.0, 4.0], pa.float32()), [1.5, None, 3.0, 4.0]),
    "bool": (pa.array([True, None, False, True]), [True, None, False, True]),
    "text": (pa.array(["a", None, "", "b"]), ["a", None, "", "b"]),
    "large text": (pa.array(["a", None, "", "b"], pa.large_string()), ["a", None, "", "b"]),
    "binary": (pa.array([b"a", None, b"", b"b"]), [b"a", None, b"", b"b"]),
    "list": (pa.array([[1, 2], None, [], [3, None]]), [[1, 2], None, [], [3, None]]),
    "large list": (pa.array([[1, 2], None, [], [3]], pa.large_list(pa.int64())), [[1, 2], None, [], [3]]),
    "list of categories": (
        pa.array([["a", "b"], None, [], ["c", None]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        [["a", "b"], None, [], ["c", None]],
    ),
    "struct": (pa.array([{"a": 1}, None, {"a": None}, {"a": 4}]), [{"a": 1}, None, {"a": None}, {"a": 4}]),
    "struct of categories": (
        pa.StructArray.from_arrays([CATEGORIES.dictionary_encode()], ["a"]),
        [{"a": "cat"}, {"a": None}, {"a": "dog"}, {"a": "cow"}],
    ),
    "decimal": (
        pa.array([Decimal("1.50"), None, Decimal("2.25"), Decimal("3.00")]),
        [Decimal("1.5"), None, Decimal("2.25"), Decimal(3)],
    ),
    "timestamp": (pa.array([DAY, None, DAY, DAY], pa.timestamp("ns")), [DAY_TEXT, None, DAY_TEXT, DAY_TEXT]),
    "timestamp of seconds": (pa.array([DAY, None, DAY, DAY], pa.timestamp("ms")), [DAY_TEXT, None, DAY_TEXT, DAY_TEXT]),
    "timestamp with a zone": (
        pa.array([DAY, None, DAY, DAY], pa.timestamp("us", tz="UTC")),
        [DAY_TEXT + "+00:00", None, DAY_TEXT + "+00:00", DAY_TEXT + "+00:00"],
    ),
    "date": (pa.array([DAY.date(), None, DAY.date(), DAY.date()]), ["2020-01-02", None, "2020-01-02", "2020-01-02"]),
    "time": (pa.array([DAY.time(), None, DAY.time(), DAY.time()]), ["03:04:05", None, "03:04:05", "03:04:05"]),
    "nothing": (pa.nulls(4), [None, None, None, None]),
}  # fmt: skip


def chunked(column: Any) -> Any:
    """The column in two chunks, and one that is empty."""
    return pa.chunked_array([column.slice(0, 1), column.slice(0, 0), column.slice(1)])


FORMS: dict[str, Callable[[Any, Path], Any]] = {
    "pyarrow": lambda column, folder: pa.table({"c": column}),
    "pyarrow, chunked": lambda column, folder: pa.table({"c": chunked(column)}),
    "pyarrow, a batch": lambda column, folder: pa.RecordBatch.from_arrays([column], names=["c"]),
    "pandas": lambda column, folder: pa.table({"c": column}).to_pandas(),
    "pandas of arrow": lambda column, folder: pa.table({"c": chunked(column)}).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda column, folder: pl.DataFrame({"c": pl.from_arrow(chunked(column))}),
    "parquet": lambda column, folder: _parquet(column, folder),
}


def _parquet(column: Any, folder: Path) -> Path:
    pq.write_table(pa.table({"c": column}), folder / "t.parquet", row_group_size=3)
    return folder / "t.parquet"


def plain(value: Any) -> Any:
    """A cell as Python has it; nan is a missing value."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return None if isinstance(value, float) and value != value else value


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_null_stays_a_null(kind: str, form: str, tmp_path: Path) -> None:
    column, expected = KINDS[kind]
    data = FORMS[form](column, tmp_path)
    if form == "pandas" and kind in ("integer", "large integer", "unsigned", "small integer"):
        expected = [None if value is None else float(value) for value in expected]  # pandas made floats of them
    if form == "polars" and kind.startswith("dictionary of"):
        expected = [None if value is None else str(value) for value in expected]  # polars knows categories of text
    tables = [read_table(data, "t")]
    if form != "parquet":
        tables.append(lazy_frame(data, "t"))
    for table in tables:
        assert table.columns["c"].ndim == 1
        assert [plain(value) for value in table.columns["c"].tolist()] == expected


@pytest.mark.parametrize(
    "column",
    [
        lambda: pd.Series(pd.Categorical([BIG, None, 3])),
        lambda: pd.Series([BIG, None, 3], dtype="Int64"),
        lambda: pl.Series([BIG, None, 3]),
    ],
    ids=["pandas categories", "pandas Int64", "polars"],
)
def test_whole_numbers_beside_a_null_are_exact(column: Any) -> None:
    column = column()
    data = pd.DataFrame({"c": column}) if isinstance(column, pd.Series) else pl.DataFrame({"c": column})
    assert read_table(data, "t").columns["c"].tolist() == [BIG, None, 3]


def test_a_matrix_in_a_polars_column_is_a_cell_per_row() -> None:
    data = pl.DataFrame({"c": pl.Series([[1, 2], None], dtype=pl.Array(pl.Int64, 2))})
    assert read_table(data, "t").columns["c"].tolist() == [[1, 2], None]


def test_times_of_a_dict_of_arrays_are_texts() -> None:
    times = np.array(["2020-01-02T03:04:05.5", "NaT"], dtype="M8[ns]")
    assert read_table({"c": times}, "t").columns["c"].tolist() == ["2020-01-02T03:04:05.5", None]


def frames(columns: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The same table in every form in which a column of categories comes."""
    arrow = pa.table(columns)
    return {
        "pyarrow": arrow,
        "pandas": arrow.to_pandas(),
        "pandas of arrow": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.from_arrow(arrow),
        "parquet": _written(arrow, folder),
    }


def _written(arrow: Any, folder: Path) -> Path:
    pq.write_table(arrow, folder / "given.parquet")
    return folder / "given.parquet"


CODED = CATEGORIES.dictionary_encode()
LIBRARIES = ("pyarrow", "pandas", "pandas of arrow", "polars", "parquet")
IDS = [1, 2, 3, 4]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_label_that_is_null_is_refused(library: str, tmp_path: Path) -> None:
    truth = {"id": IDS, "label": ["cat", "cow", "dog", "cow"]}  # the last category stands where the null is
    given = frames({"id": IDS, "label": CODED}, tmp_path)[library]
    with refuses("E-unmatched", "row 1", "'label'"):
        sy.evaluate("labels", truth, given, metrics="accuracy")


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_id_that_is_null_is_refused(library: str, tmp_path: Path) -> None:
    given = frames({"id": CODED, "label": ["a", "b", "a", "b"]}, tmp_path)[library]
    with refuses("E-empty-cell", "row 1", "'id'", "id"):
        sy.evaluate("labels", given, {"id": ["cat", "cow", "dog"], "label": ["a", "b", "a"]}, metrics="accuracy")


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_query_that_is_null_is_refused(library: str, tmp_path: Path) -> None:
    given = frames({"query": CODED, "doc": ["a", "b", "c", "d"], "relevance": [1, 0, 1, 1]}, tmp_path)[library]
    run = {"query": ["cat", "dog", "cow"], "doc": ["a", "c", "d"], "score": [0.5, 0.4, 0.3]}
    with refuses("E-empty-cell", "row 1", "'query'"):
        sy.evaluate("rankings", given, run, metrics="map")


@pytest.mark.parametrize("kind", ["dictionary of numbers", "integer", "float", "decimal"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_number_that_is_null_is_refused(library: str, kind: str, tmp_path: Path) -> None:
    values = {
        "dictionary of numbers": pa.array([10, None, 30, 40]).dictionary_encode(),
        "integer": pa.array([10, None, 30, 40]),
        "float": pa.array([10.0, None, 30.0, 40.0]),
        "decimal": pa.array([Decimal(10), None, Decimal(30), Decimal(40)]),
    }[kind]
    truth = {"dish": ["a", "b", "c", "d"], "weight": [10, 40, 30, 40]}
    given = frames({"dish": ["a", "b", "c", "d"], "weight": values}, tmp_path)[library]
    with refuses("E-unmatched", "row 1", "'weight'"):
        sy.evaluate("weights", truth, given, metrics="mae")


@pytest.mark.parametrize(
    "kind", ["dictionary", "dictionary of numbers", "integer", "large integer", "text", "bool", "date"]
)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_slice_of_nulls_is_one_of_its_own(library: str, kind: str, tmp_path: Path) -> None:
    column, expected = KINDS[kind]
    truth = frames({"id": IDS, "label": ["a", "a", "b", "b"], "light": column}, tmp_path)[library]
    report = sy.evaluate(
        "labels", truth, {"id": IDS, "label": ["a", "b", "b", "b"]}, metrics="accuracy", by="light", confidence=None
    )
    names = {"(none)" if value in (None, "") else str(value) for value in expected}
    if library == "pandas" and kind == "large integer":
        names = {"(none)" if value is None else str(int(float(value))) for value in expected}
    assert set(report.slices["light"]) == names
    if kind != "text":
        assert report.slices["light"]["(none)"]["accuracy"].value == 0.0


def test_labels_of_a_list_that_are_null_are_refused() -> None:
    truth = pa.table({"id": [1, 2], "labels": [["a", "b"], ["a"]]})
    given = pa.table({"id": [1, 2], "labels": pa.array([["a", None], ["a"]])})
    with refuses("E-invalid-value", "row 0", "'labels'"):
        sy.evaluate("labels", truth, given, metrics="exact_match")


def test_bytes_are_no_labels_and_no_ids() -> None:
    truth = {"id": [1, 2], "label": ["a", "b"]}
    with refuses("E-invalid-value", "row 0", "'label'"):
        sy.evaluate("labels", truth, pa.table({"id": [1, 2], "label": [b"a", b"b"]}), metrics="accuracy")
    with refuses("E-invalid-value", "row 0", "'id'"):
        sy.evaluate("labels", truth, pa.table({"id": [b"1", b"2"], "label": ["a", "b"]}), metrics="accuracy")


# The other readers: the second row lacks the value of each column but the id.
ROWS = [
    {"id": "1", "label": "a", "light": "x"},
    {"id": "2", "label": None, "light": None},
    {"id": "3", "label": "b", "light": "y"},
]


def _text_file(path: Path, separator: str) -> Path:
    lines = [separator.join(ROWS[0]), *(separator.join(value or "" for value in row.values()) for row in ROWS)]
    path.write_text("\n".join(lines) + "\n")
    return path


def _workbook(path: Path) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(list(ROWS[0]))
    for row in ROWS:
        book.active.append(list(row.values()))
    book.save(path)
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "csv": lambda folder: _text_file(folder / "t.csv", ","),
    "tsv": lambda folder: _text_file(folder / "t.tsv", "\t"),
    "json": lambda folder: _saved(folder / "t.json", json.dumps(ROWS)),
    "json lines": lambda folder: _saved(folder / "t.jsonl", "\n".join(map(json.dumps, ROWS))),
    "xlsx": lambda folder: _workbook(folder / "t.xlsx"),
    "parquet": lambda folder: _written(pa.Table.from_pylist(ROWS), folder),
}


def _saved(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", FILES)
def test_an_empty_cell_of_a_file_is_no_label_and_a_slice_of_its_own(kind: str, tmp_path: Path) -> None:
    path = FILES[kind](tmp_path)
    with refuses("E-unmatched", "'label'"):
        sy.evaluate("labels", {"id": ["1", "2", "3"], "label": ["a", "b", "b"]}, path, metrics="accuracy")
    labels = {"id": ["1", "2", "3"], "guess": ["a", "a", "a"]}
    report = sy.evaluate(
        "labels", path, labels, metrics="accuracy", by="light", confidence=None,
        columns={"truth.label": "id", "prediction.label": "guess"},
    )  # fmt: skip
    assert sorted(report.slices["light"]) == ["(none)", "x", "y"]
