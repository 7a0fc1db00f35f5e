"""The kernels of tracking: ties as scipy breaks them, numbers as Python reads them, arguments checked at the boundary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.lazy import lazy

from steelyard import _native

scipy_optimize = lazy("scipy.optimize")

sizes = st.tuples(st.integers(0, 12), st.integers(0, 12))
tied = sizes.flatmap(lambda shape: arrays(np.float64, shape, elements=st.integers(-3, 0).map(float)))
apart = sizes.flatmap(lambda shape: arrays(np.float64, shape, elements=st.floats(-1, 0)))


@given(st.one_of(tied, apart))
@settings(deadline=None, max_examples=100)
def test_ties_are_broken_as_scipy_breaks_them(cost: np.ndarray) -> None:
    expected = np.full(cost.shape[0], -1)
    rows, columns = scipy_optimize.linear_sum_assignment(cost)
    expected[rows] = columns
    assert _native.assign_scipy(np.ascontiguousarray(cost)).tolist() == expected.tolist()


@given(
    st.lists(st.lists(st.floats(allow_nan=False), min_size=1, max_size=6), max_size=8),
    st.sampled_from([",", " ", "\t", ", "]),
)
@settings(deadline=None)
def test_numbers_are_read_as_python_reads_them(rows: list[list[float]], between: str) -> None:
    text = "\n\n".join(between.join(map(repr, row)) for row in rows)
    count, values, fields, line, wrong, _, _ = _native.number_rows(text.encode(), 4)
    values, fields, line = values[:, :count].T, fields[:count], line[:count]
    assert wrong == 0
    assert fields.tolist() == [len(row) for row in rows]
    assert line.tolist() == [1 + 2 * i for i in range(len(rows))]
    expected = np.full((len(rows), 4), np.nan)
    for i, row in enumerate(rows):
        expected[i, : min(4, len(row))] = row[:4]
    assert np.array_equal(values, expected, equal_nan=True)


@pytest.mark.parametrize(
    "number", ["0.1", "123456789012345.5", "1234567890.12345678", "-0", "+2.5", "1e-09", ".5", "5."]
)
def test_one_number_is_read_to_the_bit(number: str) -> None:
    assert _native.number_rows(number.encode(), 1)[1][0, 0] == float(number)


@pytest.mark.parametrize(
    ("text", "where"), [("1,2\n3,x", (2, 1, b"x")), ("0x10", (1, 0, b"0x10")), ("1,,2", (1, 1, b""))]
)
def test_what_is_no_number_is_named(text: str, where: tuple[int, int, bytes]) -> None:
    assert _native.number_rows(text.encode(), 4)[4:] == where


def test_a_separator_at_the_end_ends_nothing() -> None:
    assert _native.number_rows(b"1,2,\r\n3,4\r\n", 3)[2][:2].tolist() == [2, 2]


FRAMES = np.array([1, 2], dtype=np.int64)
ENDS = np.array([2], dtype=np.int64)
TRACKS = np.zeros(2, dtype=np.int32)
ROWS = np.array([0, 1], dtype=np.int32)
SCORED = np.ones(2, dtype=np.uint8)


def scores(**changed: np.ndarray | float) -> tuple[np.ndarray, ...]:
    arguments: dict[str, object] = {
        "truth_frame": FRAMES, "truth_track": TRACKS, "truth_ends": ENDS, "truth_scored": SCORED,
        "prediction_frame": FRAMES, "prediction_track": TRACKS, "prediction_ends": ENDS, "prediction_scored": SCORED,
        "truth_row": ROWS, "prediction_row": ROWS, "similarity": np.ones(2),
    }  # fmt: skip
    result: tuple[np.ndarray, ...] = _native.tracking_scores(**(arguments | changed))
    return result


def test_two_frames_that_fit() -> None:
    hota, losses, clear, identity, partner, event = scores()
    assert hota[0, 0].tolist() == [2.0] * 19
    assert not losses.any()
    assert clear[0].tolist() == [2, 0, 0, 2, 0, 0, 1, 0, 0]
    assert identity[0].tolist() == [2, 0, 0]
    assert partner.tolist() == [0, 1]
    assert event.tolist() == [0, 0]


def test_rows_that_are_not_scored_count_nowhere() -> None:
    """The second frame is not scored in the truth: its prediction is extra, and nothing is matched there."""
    hota, _, clear, identity, partner, event = scores(truth_scored=np.array([1, 0], dtype=np.uint8))
    assert hota[0, :3].tolist() == [[1.0] * 19, [0.0] * 19, [1.0] * 19]
    assert clear[0].tolist() == [1, 0, 1, 1, 0, 0, 1, 0, 0]
    assert identity[0].tolist() == [1, 0, 1]
    assert partner.tolist() == [0, -1]
    assert event.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"truth_scored": np.ones(3, dtype=np.uint8)}, "scored or not"),
        ({"prediction_scored": np.ones(1, dtype=np.uint8)}, "scored or not"),
        ({"truth_frame": FRAMES[::-1].copy()}, "by frame"),
        ({"truth_ends": np.array([3])}, "ends of the runs"),
        ({"truth_ends": np.array([1])}, "end with the rows"),
        ({"truth_ends": np.array([1, 2])}, "as many runs"),
        ({"truth_track": np.array([0, -1], dtype=np.int32)}, "negative"),
        ({"truth_track": np.array([0, 10**9], dtype=np.int32)}, "count from 0"),
        ({"truth_row": np.array([0, 2], dtype=np.int32)}, "overlap"),
        ({"truth_row": np.array([0, -1], dtype=np.int32)}, "overlap"),
        ({"prediction_row": np.array([1, 0], dtype=np.int32)}, "overlap"),
        ({"prediction_row": np.array([0, 7], dtype=np.int32)}, "overlap"),
        ({"similarity": np.array([0.5, np.nan])}, "similarity"),
        ({"similarity": np.array([0.5])}, "similarity"),
        ({"threshold": 0.0}, "threshold"),
    ],
)
def test_arguments_are_checked(changed: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scores(**changed)
