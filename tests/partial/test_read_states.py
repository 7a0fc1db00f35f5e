"""States that somebody made up: what Steelyard would not have written is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.core import catalogue
from steelyard.core.block import CellsBlock, SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.rankings import Ids, Rankings
from steelyard.core.records import BoxRecords, Column, Records, Schema, as_object
from steelyard.core.rows import RowsBlock, RowTable
from steelyard.core.state import State
from steelyard.core.statistic import Cells, Rows, SharedCache, Sum
from steelyard.core.units import Units
from steelyard.core.weights import Entries
from steelyard.io.container import Container, Reader, container_bytes, parse_container
from steelyard.io.measured import check_state
from steelyard.io.state import pack_records, unpack_records
from steelyard.io.valid import check_answers, check_records


@frozen
class Counted(Cells):
    """A cell for each class."""

    name = "read.counted"

    def measure(self, pairs: Any, cache: SharedCache) -> CellsBlock:
        raise TypeError("given")


@frozen
class Held(Rows):
    """Rows with a number and a text."""

    name = "read.held"
    columns = {"size": "f", "word": "text"}

    def measure(self, pairs: Any, cache: SharedCache) -> Any:
        raise TypeError("given")

    def finish(self, rows: RowTable) -> SumBlock:
        raise TypeError("given")


@frozen
class Other(Held):
    """Rows of another need."""

    name = "read.other"


@frozen
class Added(Sum):
    """A number per unit."""

    name = "read.added"

    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        raise TypeError("given")


TWO = Metadata({"class": Axis(("a", "b"))})
IDS = np.array([1, 2])


def cells(owner: list[int], size: int = 2) -> dict[Any, Any]:
    return {Counted(): CellsBlock(("class",), Entries(np.array(owner), np.zeros(len(owner), np.int64), None, size))}


def rows(need: Any = None, **columns: Any) -> dict[Any, Any]:
    given = {"size": np.array([1.0, 2.0]), "word": as_object(["x", "y"]), **columns}
    kept = {name: column for name, column in given.items() if column is not None}
    return {Held(): RowsBlock((RowTable(need or Held(), IDS, np.array([0, 1, 2]), kept),), np.array([0, 1]))}


HELD, COUNTED = str(Held()), str(Counted())
STATES: dict[str, tuple[Units, dict[Any, Any], str]] = {
    "good": (Units(IDS, cluster=as_object(["u", "v"])), {**cells([0, 1]), **rows(), Added(): SumBlock(np.ones(2))}, ""),
    "clusters that are numbers": (
        Units(IDS, cluster=as_object(["u", 1])), {}, ("E-invalid-result", "cluster"),
    ),
    "one stratum": (Units(IDS, stratum=as_object(["u"])), {}, ("E-invalid-result", "stratum")),
    "cells of other classes": (Units(IDS), cells([0, 1], 3), ("E-invalid-result", f"'{COUNTED}'", "say")),
    "cells in another order": (
        Units(IDS), cells([1, 0]), ("E-invalid-result", f"'{COUNTED}'", "entries"),
    ),
    "rows of another need": (Units(IDS), rows(Other()), ("E-invalid-result", f"'{HELD}'", f"'{Other()}'")),
    "a column too few": (Units(IDS), rows(word=None), ("E-invalid-result", f"'{HELD}'", "word")),
    "texts that are none": (Units(IDS), rows(word=as_object(["x", 1])), ("E-invalid-result", "'word'", f"'{HELD}'")),
    "a text too few": (Units(IDS), rows(word=as_object(["x"])), ("E-invalid-result", "'word'", f"'{HELD}'")),
}  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_states_by_hand(name: str) -> None:
    units, blocks, message = STATES[name]
    state = State(units, TWO, blocks)
    if message:
        with refuses(*message):
            check_state(state, "f")
    else:
        check_state(state, "f")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["x.0", "x.1"], ""),
        (["y.0"], ("E-invalid-result", "'y.0'")),
        (["x.z"], ("E-invalid-result", "'x.z'")),
        (["x.1"], ("E-invalid-result", "'x.1'")),
        (["x.0", "x.2"], ("E-invalid-result", "'x.2'")),
    ],
)
def test_answers_by_hand(names: list[str], message: tuple[str, ...]) -> None:
    arrays = {name: np.zeros(3) for name in names}
    if message:
        with refuses(*message):
            check_answers(arrays, {"x": 3}, "f")
    else:
        check_answers(arrays, {"x": 3}, "f")


SCHEMA = Schema(("image",), (Column("image", "id"), Column("v", "numbers", required=False)))


def boxes(**more: Any) -> BoxRecords:
    given: dict[str, Any] = {"images": IDS, "labels": IDS, "label_names": ("a", "b"), **more}
    return BoxRecords("f", {"image": IDS}, {}, **given)


def lists(**more: Any) -> Rankings:
    given: dict[str, Any] = {
        "queries": as_object(["p", "q"]), "starts": np.array([0, 1, 3]), "values": np.array([1.0, 2.0, 3.0]),
        "documents": Rankings.from_runs(
            "f", str, ["p", "q"], np.array([0, 1]), ids(["a", "b", "c"]), np.array([1.0, 2.0, 3.0])
        ).documents,
        **more,
    }  # fmt: skip
    return Rankings("f", {}, **given)


def ids(names: list[str]) -> Ids:
    return Ids(*_native.pack_objects(as_object(names)))


RECORDS: dict[str, tuple[Records, str]] = {
    "good boxes": (boxes(), ""),
    "boxes without names": (boxes(label_names=()), ""),
    "names of columns that are none": (Records("f", {"image": IDS}, {}, names={"image": 1}), ("E-invalid-result", "f", "strings")),  # type: ignore[dict-item]
    "vectors that are not finite": (
        Records("f", {"image": IDS, "v": np.array([[1.0], [np.inf]])}, {}), ("E-invalid-result", "'v'"),
    ),
    "one name of two": (boxes(label_names=("a",)), ("E-invalid-result", "f", "fit")),
    "names that are numbers": (boxes(label_names=("a", 1)), ("E-invalid-result", "f", "fit")),
    "a row too far": (boxes(zero_id=2), ("E-invalid-result", "2")),
    "a row that is none": (boxes(zero_id="x"), ("E-invalid-result", "f", "number")),
    "good lists": (lists(order=np.array([2, 0, 1])), ""),
    "lists in their order": (lists(), ""),
    "a part too few": (lists(starts=np.array([0, 3])), ("E-invalid-result", "2", "1")),
    "an order that repeats": (lists(order=np.array([0, 0, 1])), ("E-invalid-result", "'order'")),
    "an order that is short": (lists(order=np.array([0, 1])), ("E-invalid-result", "'order'")),
    "an order too far": (lists(order=np.array([0, 1, 3])), ("E-invalid-result", "'order'", "0", "2")),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_records_by_hand(name: str) -> None:
    records, message = RECORDS[name]
    if message:
        with refuses(*message):
            check_records(records, SCHEMA, "f")
    else:
        check_records(records, SCHEMA, "f")


def test_an_id_of_a_document_that_is_empty() -> None:
    task = catalogue.find_task("rankings")
    arrays = {
        "truth.queries": as_object(["q"]), "truth.starts": np.array([0, 2]), "truth.values": np.array([1.0, 0.0]),
        "truth.documents": np.frombuffer(b"ab", np.uint8), "truth.ends": np.array([2, 2]),
    }  # fmt: skip
    container = Container("state", {"truth": {"shape": "rankings", "source": "f", "names": {}}}, arrays)
    with refuses("E-invalid-result", "f"):
        unpack_records(container, "truth", task.truth, lambda row: f"f, row {row}", "f")


def test_a_ranking_in_another_order_is_kept() -> None:
    """Rows that grouping moved come back to where they stood, from a saved state too."""
    truth = {"query": ["q", "p", "q"], "doc": ["a", "b", "c"], "relevance": [1.0, 1.0, 0.0]}
    run = {"query": ["q", "p", "q"], "doc": ["c", "b", "a"], "score": [0.9, 0.8, 0.7]}
    state = sy.Accumulator("rankings")
    state.update(truth, run)
    again = sy.Accumulator.from_bytes(state.to_bytes())
    for made in (state, again):
        report = made.report("ap", confidence=None)
        assert [score.value for score in report.scores.values()] == [0.75]  # the mean of 1/2 and 1


def test_lists_whose_rows_were_moved() -> None:
    """The order of the source travels with them."""
    moved = lists(order=np.array([2, 0, 1]))
    facts, arrays = pack_records(moved, "truth")
    schema = catalogue.find_task("rankings").truth
    container = Container("state", {"truth": facts}, arrays)
    again: Any = unpack_records(container, "truth", schema, lambda row: f"f, row {row}", "f")
    assert again.order.tolist() == [2, 0, 1]
    assert [again.documents[row] for row in range(3)] == ["a", "b", "c"]
    assert (again.queries.tolist(), again.starts.tolist(), again.values.tolist()) == (
        ["p", "q"],
        [0, 1, 3],
        [1.0, 2.0, 3.0],
    )


def test_a_file_that_grows_shorter(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(container_bytes("kind", {}, {"a": np.arange(4.0), "b": np.ones((2, 2))}))
    reader = Reader(path)
    assert reader.whole("a").tolist() == [0.0, 1.0, 2.0, 3.0]
    with refuses("E-invalid-result", str(path), "'b'"):
        reader.whole("b")
    with refuses("E-invalid-result", str(path), "'c'"):
        reader.whole("c")
    whole = path.read_bytes()
    assert parse_container(whole, "s").arrays["a"].tolist() == [0.0, 1.0, 2.0, 3.0]
    path.write_bytes(whole[: reader.begin + 8])
    with refuses("E-invalid-result", str(path)):
        reader.whole("a")
