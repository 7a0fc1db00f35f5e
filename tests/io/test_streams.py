"""Tables that come as a stream: DuckDB relations, polars LazyFrames, readers of record batches, foreign objects."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.io.streams import is_stream, read_stream

duckdb, pa, pl = lazy("duckdb"), lazy("pyarrow"), lazy("polars")
SAMPLES = Path(sy.__file__).parent / "samples"
TABLES = ("weights", "labels", "tracking", "answers", "boxes3d", "oriented")  # one for each reader of tables


class Foreign:
    """An object of another library, of which only Arrow's interface is known."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


FORMS: dict[str, Callable[[Any], Any]] = {
    "duckdb": lambda table: duckdb.from_arrow(table),
    "polars": lambda table: pl.from_arrow(table).lazy(),
    "reader": lambda table: table.to_reader(max_chunksize=2),
    "data set": lambda table: sys.modules["pyarrow"].dataset.dataset(table),
    "foreign": Foreign,
}


@pytest.mark.parametrize("task", TABLES)
def test_streams_score_as_their_files(task: str) -> None:
    """A column that nothing names is part of the query, and would fail if it were read."""
    paths = [SAMPLES / task / name for name in ("truth.csv", "model_a.csv")]
    expected = {spec: score.value for spec, score in sy.evaluate(task, *paths, confidence=None).scores.items()}
    relations = [
        duckdb.sql(f"select *, error('was read') as surplus from read_csv('{path}', all_varchar=true, nullstr='')")
        for path in paths
    ]
    lazies = [
        pl.scan_csv(path, infer_schema=False).with_columns(
            surplus=pl.col(pl.scan_csv(path, infer_schema=False).collect_schema().names()[0]).map_batches(
                lambda _: pytest.fail("was read"), return_dtype=pl.String
            )
        )
        for path in paths
    ]
    for sides in (relations, lazies):
        scores = sy.evaluate(task, *sides, confidence=None).scores
        assert {spec: score.value for spec, score in scores.items()} == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("form", FORMS)
def test_boxes_rankings_and_labels(form: str) -> None:
    import pyarrow.dataset  # noqa: F401

    make = FORMS[form]
    truth = pa.table(
        {
            "image": [1, 1, 2],
            "label": ["cup", "fork", None],
            "x": [0.0, 50, None],
            "y": [0.0, 0, None],
            "w": [10.0, 10, None],
            "h": [10.0, 10, None],
            "surplus": ["a", "b", "c"],
        }
    )
    detected = pa.table(
        {
            "image": [1, 2],
            "label": ["cup", "fork"],
            "x": [0.0, 0],
            "y": [0.0, 0],
            "w": [10.0, 10],
            "h": [10.0, 10],
            "score": [0.9, 0.8],
        }
    )
    assert sy.score("boxes", make(truth), make(detected), "map50") == pytest.approx(
        0.5
    )  # image 2 is known, and has no object
    relevance = pa.table({"query": ["a", "a", "b"], "doc": ["1", "2", "3"], "relevance": [1, 0, 1]})
    run = pa.table({"query": ["a", "a", "b"], "doc": ["1", "2", "4"], "score": [0.2, 0.9, 0.5]})
    assert sy.score("rankings", make(relevance), make(run), "mrr") == 0.25  # rank 2 of a, none of b
    both = pa.table({"id": [1, 2, 3], "label": ["a", "b", "a"], "predicted": ["a", "a", "a"], "site": ["x", "x", "y"]})
    report = sy.evaluate(
        "labels", make(both), metrics="accuracy", by="site", confidence=None, columns={"prediction": "predicted"}
    )
    assert report["accuracy"].value == pytest.approx(2 / 3)
    assert [part["accuracy"].value for part in report.slices["site"].values()] == [0.5, 1.0]


def test_a_reader_is_read_once_for_all_models() -> None:
    def reader(labels: list[str]) -> Any:
        return pa.table({"id": [1, 2], "label": labels}).to_reader(max_chunksize=1)

    lineup = sy.compare("labels", reader(["a", "b"]), [reader(["a", "b"]), reader(["a", "a"])], metrics="accuracy")
    assert lineup[0]["accuracy"].a.value == 1.0
    assert lineup[0]["accuracy"].b.value == 0.5
    judge = {"id": [1, 2, 3, 4], "label": ["a", "b", "a", "b"]}
    by_proxy = sy.evaluate_with_proxy("labels", reader(["a", "b"]), pa.table(judge).to_reader(), judge, "accuracy")
    assert by_proxy["accuracy"].value == 1.0


def test_batches_are_released_before_the_next() -> None:
    """Arrow's own count of bytes stays below two batches, although the stream has twenty."""
    schema = pa.schema([("id", pa.int64()), ("label", pa.string()), ("picture", pa.binary())])
    held: list[int] = []
    before = pa.total_allocated_bytes()

    def batches() -> Iterator[Any]:
        for part in range(20):
            held.append(pa.total_allocated_bytes() - before)
            rows = range(1000 * part, 1000 * part + 1000)
            columns = [pa.array(rows), pa.array([f"class {i % 3}" for i in rows]), pa.array([bytes(1000)] * 1000)]
            yield pa.record_batch(columns, schema=schema)

    stream = Foreign(pa.RecordBatchReader.from_batches(schema, batches()))
    report = sy.evaluate(
        "labels", stream, {"id": range(20_000), "label": ["class 0"] * 20_000}, "accuracy", confidence=None
    )
    assert report["accuracy"].value == 6667 / 20_000
    assert len(held) == 20
    assert max(held) < 2_500_000  # a batch has about 1,020,000


def test_kinds_that_change_between_batches() -> None:
    """Nulls in the second batch alone: whole numbers stay whole, texts that repeat are one object."""
    kinds = {
        "n": pa.int64(),
        "f": pa.float64(),
        "b": pa.bool_(),
        "t": pa.string(),
        "d": pa.date32(),
        "l": pa.list_(pa.int64()),
    }
    rows = [{"n": 1, "f": 1.5, "b": True, "t": "x", "d": 0, "l": [1]}] * 2 + [dict.fromkeys(kinds)] * 2
    table = pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items())))
    for stream in (table.to_reader(max_chunksize=2), Foreign(table)):
        columns = read_stream(stream, "truth").columns
        assert columns["n"].tolist() == [1, 1, None, None]
        assert columns["f"].tolist()[:2] == [1.5, 1.5]
        assert np.isnan(columns["f"][2:].astype(float)).all()
        assert columns["b"].tolist() == [True, True, None, None]
        assert columns["t"].tolist() == ["x", "x", None, None]
        assert columns["t"][0] is columns["t"][1]
        assert columns["d"].tolist() == ["1970-01-01", "1970-01-01", None, None]
        assert [None if cell is None else list(cell) for cell in columns["l"]] == [[1], [1], None, None]


def test_what_is_a_stream() -> None:
    table = pa.table({"a": [1]})
    frames = (table, table.to_pandas(), pl.from_arrow(table), {"a": [1]}, [1], "a.csv", np.zeros(2), pl.Series([1]))
    assert not any(map(is_stream, frames))


def test_streams_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = {"id": [1], "label": ["a"]}
    failing = duckdb.sql("select 1 as id, error('no such picture') as label")
    with refuses("E-invalid-value", "truth", "no such picture"):
        sy.evaluate("labels", failing, labels)
    with refuses("E-invalid-value", "predictions"):
        sy.evaluate("labels", labels, Foreign(pa.chunked_array([[1]])))
    with refuses("E-missing-column", "'weight'", "'grams'", "truth"):  # also those that were not read are named
        sy.evaluate("weights", duckdb.sql("select 'A' as dish, '1' as item, 2 as grams"), labels)
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"]).to_reader()
    with refuses("E-duplicate-key", "'id'", "truth"):
        sy.evaluate("labels", twice, labels)
    with refuses("E-empty-input", "truth"):
        sy.evaluate("labels", duckdb.sql("select 1 as id, 'x' as label where false"), labels)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with refuses("E-missing-extra", "truth", "parquet"):
        sy.evaluate("labels", duckdb.sql("select 1 as id, 'x' as label"), labels)
    assert sy.score("labels", pl.LazyFrame(labels), pl.LazyFrame(labels), "accuracy") == 1.0
