"""Records, their ids as codes, and pairs of them, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core.embeddings import Embeddings
from steelyard.core.errors import InputError
from steelyard.core.pairs import Coverage, Pairs
from steelyard.core.records import (
    BoxRecords,
    Column,
    Records,
    RowLocation,
    Schema,
    as_object,
    box_columns,
    boxes_of,
    constant_in_unit,
    distinct_values,
    factorize,
    first_of_runs,
    sounds_like_a_group,
    weight_column,
    with_similarity,
)


def said(caught: pytest.ExceptionInfo[Exception]) -> str:
    return str(caught.value)


RECORDS = Records(
    "t.csv",
    {"id": np.array([1, 2, 3]), "grams": np.array([1.0, 2, 3])},
    {"food": np.array(["a", "b", "c"])},
    lambda row: f"t.csv, line {row + 2}",
    {"grams": "weight"},
)


def test_records() -> None:
    assert (len(RECORDS), "id" in RECORDS, "food" in RECORDS, RECORDS["id"].tolist()) == (3, True, False, [1, 2, 3])
    assert RECORDS.where(1, "grams") == "t.csv, line 3, column 'weight'"
    assert RECORDS.where(1, "id") == "t.csv, line 3, column 'id'"
    assert RECORDS.find("food") is RECORDS.other["food"]
    assert RECORDS.find("grams") is RECORDS["grams"]
    assert RECORDS.find("none") is None
    part = RECORDS.take(np.array([2, 0]))
    assert (part["id"].tolist(), part.other["food"].tolist(), part.source) == ([3, 1], ["c", "a"], "t.csv")
    assert (part.where(0, "grams"), part.place(1)) == ("t.csv, line 4, column 'weight'", "t.csv, line 2")
    assert (len(Records("x", {})), Records("x", {}).place(4)) == (0, "row 4")
    schema = Schema(("id",), (Column("id", "id"), Column("grams", "number")))
    assert (schema.names, schema.column("grams"), schema.column("x")) == (("id", "grams"), schema.columns[1], None)
    vectors = Embeddings("e", {"query": np.zeros((2, 3)), "gallery": np.zeros((5, 3))})
    assert (len(vectors), len(Embeddings("e", {}))) == (5, 0)


def test_records_with_a_likeness() -> None:
    other = {"id": np.array([9])}
    plain = with_similarity(RECORDS, other, ("oks",))
    assert (plain.columns, plain.similarity, plain.source, plain.names) == (
        other,
        ("oks",),
        "t.csv",
        {"grams": "weight"},
    )
    assert (plain.place(0), list(plain.other)) == ("t.csv, line 2", ["food"])
    boxes = BoxRecords("b", {}, images=np.array([1]), notes=("n",))
    kept = with_similarity(boxes, other, ("mask",))
    assert (kept.columns, kept.similarity, kept.notes, kept.images) == (other, ("mask",), ("n",), boxes.images)


def codes(*columns: Any) -> tuple[list[Any], list[list[int]]]:
    ids, result = factorize(*(np.asarray(column) for column in columns))
    assert {code.dtype for code in result} == {np.dtype(np.int64)}
    return ids.tolist(), [code.tolist() for code in result]


def test_ids_become_codes() -> None:
    assert codes([5, 3, 5], [4, 3]) == ([3, 4, 5], [[2, 0, 2], [1, 0]])
    assert codes([10**12, -(10**12)], [0]) == ([-(10**12), 0, 10**12], [[2, 0], [1]])
    assert codes([10, 2], ["2", "x"]) == (["10", "2", "x"], [[0, 1], [1, 2]])
    assert codes(["b", "a"], ["a"]) == (["a", "b"], [[1, 0], [0]])
    assert codes(np.zeros(0, int), [3]) == ([3], [[], [0]])
    assert codes(np.zeros(0, int), np.zeros(0, int)) == ([], [[], []])
    assert codes(np.zeros(0, object), np.zeros(0, object)) == ([], [[], []])
    assert codes(np.array([200], np.uint8), np.array([-1], np.int8)) == ([-1, 200], [[1], [0]])
    assert codes([0, 1 << 16], [5]) == ([0, 5, 1 << 16], [[0, 2], [1]])
    assert codes([10**12, 0], [5], [0, 5]) == ([0, 5, 10**12], [[2, 0], [1], [0, 1]])
    assert (as_object(["a", "bcd"]).dtype, as_object(["a", "bcd"]).tolist()) == (object, ["a", "bcd"])


def test_ids_of_64_bits_stay_apart() -> None:
    """Signed and unsigned ones have no common type but float, which has 53 bits for a number."""
    big = 1 << 60
    unsigned, signed = np.array([big + 1, 5], np.uint64), np.array([big, 5], np.int64)
    assert codes(unsigned, signed) == ([5, big, big + 1], [[2, 0], [1, 0]])
    last = np.array([(1 << 63) - 1, 5], np.uint64)
    assert codes(last, signed) == ([5, big, (1 << 63) - 1], [[2, 0], [1, 0]])
    beyond = np.array([1 << 63, 5], np.uint64)
    assert codes(beyond, signed) == ([str(big), "5", str(1 << 63)], [[2, 1], [0, 1]])
    assert codes(np.array([(1 << 64) - 1, (1 << 64) - 2], np.uint64))[0] == [str((1 << 64) - 2), str((1 << 64) - 1)]
    assert codes(np.zeros(0, np.uint64), signed) == ([5, big], [[], [1, 0]])


def test_the_table_of_ids_is_at_most_as_long_as_the_data() -> None:
    """Up to 65,535 apart there is a table, and from there on up to four times the data; the result is the same."""
    for apart in ((1 << 16) - 1, 1 << 16, (1 << 16) + 1):
        assert codes([7 + apart, 7], [8]) == ([7, 8, 7 + apart], [[2, 0], [1]])
    assert codes([2, 0, 1]) == ([0, 1, 2], [[2, 0, 1]])
    assert factorize(np.array([3, 1], np.int32))[0].dtype == np.int64


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("video", True),
        ("Video_ID", True),
        ("patient-id", True),
        ("patient_name", True),
        ("id", False),
        ("food", False),
        ("video_frame", False),
        ("", False),
    ],
)
def test_columns_that_sound_like_groups(name: str, group: bool) -> None:
    assert sounds_like_a_group(name) is group


def test_the_column_of_weights() -> None:
    assert weight_column("dish") == Column(
        "sample_weight", "number", required=False, minimum=0, flags=True, meaning="the user's weight of the dish"
    )
    assert weight_column("dish", "w", "weights", meaning="m") == Column(
        "sample_weight", "number", required=False, minimum=0, flags=True, aliases=("w", "weights"), meaning="m"
    )


def test_boxes_in_one_array() -> None:
    boxes = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    columns = box_columns(boxes)
    assert {name: column.tolist() for name, column in columns.items()} == {
        "x": [1, 5],
        "y": [2, 6],
        "w": [3, 7],
        "h": [4, 8],
    }
    made = boxes_of(Records("t", columns))
    assert (made.tolist(), made.dtype) == (boxes.tolist(), np.float64)
    assert RowLocation("t.csv")(3) == "t.csv, row 3"


@pytest.mark.parametrize("length", [1, 8, 20])
def test_long_runs_of_texts_become_codes(length: int) -> None:
    """Ids that come sorted by unit are looked at once for each run; what comes after them goes on."""
    runs = as_object([text for text in ("b", "a", "c", "a") for _ in range(length)])
    expected = [code for code in (1, 0, 2, 0) for _ in range(length)]
    assert codes(runs, ["a", "d"]) == (["a", "b", "c", "d"], [expected, [0, 3]])
    assert codes(["d", "c"], runs) == (["a", "b", "c", "d"], [[3, 2], expected])
    numbers = as_object([7] * 9 * length + ["x"])
    assert codes(numbers, ["7", "9"]) == (["7", "9", "x"], [[0] * 9 * length + [2], [0, 1]])


def test_where_runs_begin() -> None:
    assert first_of_runs(as_object(["a", "a", "b", "a", "a"])).tolist() == [0, 2, 3]
    assert first_of_runs(np.array([1])).tolist() == [0]
    none = first_of_runs(as_object([]))
    assert (none.tolist(), none.dtype) == ([], np.int64)
    mixed = first_of_runs(as_object([7, "7", None, None]))
    assert (mixed.tolist(), mixed.dtype) == ([0, 1, 2], np.int64)


def test_distinct_values_rise() -> None:
    assert distinct_values(np.array([[3, 1], [2, 3]])).tolist() == [1, 2, 3]
    assert distinct_values(np.zeros(0)).tolist() == []
    assert distinct_values(np.array(["b", "a", "b"])).tolist() == ["a", "b"]


def test_a_column_must_be_constant_in_a_unit() -> None:
    records = Records(
        "t", {"w": np.array([2.0, 7, 2, math.nan, math.nan, 3])}, place=lambda row: f"line {row}", names={"w": "wt"}
    )
    value = constant_in_unit(records, "w", np.array([0, 0, 2, 2]), np.array([0, 2, 3, 4]), 4)
    assert (value[0], np.isnan(value[1:]).tolist()) == (2.0, [True, True, True])
    value = constant_in_unit(records, "w", np.array([2, 2, 0, 0]), np.array([3, 4, 0, 2]), 4)
    assert (value[0], np.isnan(value[1:]).tolist()) == (2.0, [True, True, True])
    with pytest.raises(InputError) as caught:
        constant_in_unit(records, "w", np.array([1, 0, 1]), np.array([5, 1, 0]), 2)
    assert said(caught) == (
        "line 0, column 'wt': 2 differs from 3, which the same unit has at line 5. "
        "'wt' must be the same in all rows of a unit."
    )
    with refuses("E-incompatible", "2", "line 0"):
        constant_in_unit(records, "w", np.array([0, 0]), np.array([0, 3]), 1)
    unnamed = Records("t", {"w": np.array([2.0, 7])})
    with pytest.raises(InputError) as caught:
        constant_in_unit(unnamed, "w", np.array([0, 0]), np.array([0, 1]), 1)
    assert said(caught) == (
        "row 1, column 'w': 7 differs from 2, which the same unit has at row 0. "
        "'w' must be the same in all rows of a unit."
    )


def test_coverage_and_pairs() -> None:
    assert Coverage(4, 3, 2, 2, 1).share == 0.5
    assert math.isnan(Coverage(0, 0, 0, 0, 0).share)
    prediction = Records("p", {"weight": np.array([7.0, 9])}, {"camera": np.array(["x", "y"])})
    pairs = Pairs(
        RECORDS, prediction, np.array([1, 2]), np.array([0, 1, 1]), np.array([0, 2, 1]), np.array([1, -1, 0]),
        np.array([False, False]), Coverage(3, 2, 2, 1, 0),
    )  # fmt: skip
    assert pairs.truth_column("grams").tolist() == [1, 3, 2]
    assert pairs.prediction_column("weight", -1.0).tolist() == [9, -1, 7]
    assert [column.tolist() for column in pairs.slice_values("food")] == [["a", "c", "b"], [0, 1, 1]]
    with pytest.raises(InputError) as caught:
        pairs.slice_values("fod")
    assert said(caught) == "t.csv: column 'fod' is missing, which `by` names. Did you mean 'food'?"
    with pytest.raises(InputError):  # a prediction is missing, and with it its camera
        pairs.slice_values("camera")
    kept = pairs.select(np.array([True, False, True]))
    assert (kept.owner.tolist(), kept.truth_row.tolist(), kept.prediction_row.tolist()) == ([0, 1], [0, 1], [1, 0])
    assert (kept.partial.tolist(), kept.units.tolist()) == ([False, True], [1, 2])
    assert [column.tolist() for column in kept.slice_values("camera")] == [["y", "x"], [0, 1]]
    again = kept.select(np.array([False, True]))
    assert again.partial.tolist() == [True, True]
    nothing = pairs.select(np.zeros(3, dtype=bool))
    assert [column.tolist() for column in nothing.slice_values("food")] == [[], []]
    nobody = Records("p", {"weight": np.zeros(0)})
    alone = Pairs(
        RECORDS, nobody, pairs.units, pairs.owner, pairs.truth_row, np.full(3, -1), pairs.partial, pairs.coverage
    )
    assert alone.prediction_column("weight", 5.0).tolist() == [5, 5, 5]
    assert pairs.metadata.axes == {}
