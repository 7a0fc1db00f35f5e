"""The native core at the edges of what it takes: nothing at all, one of a kind, and more than fits into one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard import _native

NONE: Any = np.zeros(0)


# Draws.
@pytest.mark.parametrize(("units", "columns", "draws"), [(0, 2, 3), (2, 0, 3), (2, 2, 0)])
def test_totals_of_nothing(units: int, columns: int, draws: int) -> None:
    keys = np.arange(units, dtype=np.uint64)
    for totals in (_native.poisson_totals, _native.flip_totals):
        assert totals(keys, np.ones((units, columns)), 0, 0, draws).tolist() == [[0.0] * columns] * draws


@pytest.mark.parametrize(("entries", "size", "draws"), [(0, 2, 3), (2, 2, 0)])
def test_scattered_nothing(entries: int, size: int, draws: int) -> None:
    owner, code = np.arange(entries), np.zeros(entries, np.int32)
    result = _native.poisson_scatter(np.arange(2, dtype=np.uint64), owner, code, NONE, size, 0, 0, draws)
    assert result.tolist() == [[0.0] * size] * draws


@pytest.mark.parametrize("valued", [True, False])
def test_entries_of_a_few_units_of_many(valued: bool) -> None:
    """A code's total is the sum of its entries' values under the weights of their units; 700 units have none."""
    keys = np.arange(1000, dtype=np.uint64)
    owner, code = np.array([0, 0, 7, 299]), np.array([1, 0, 1, 1], np.int32)
    value = np.array([2.0, 3.0, 5.0, 7.0]) if valued else NONE
    each = _native.poisson_weights(keys, 5, 0, 40)[:, owner] * (value if valued else 1)
    wanted = np.stack([each[:, [1]].sum(1), each[:, [0, 2, 3]].sum(1)], axis=1)
    np.testing.assert_array_equal(_native.poisson_scatter(keys, owner, code, value, 2, 5, 0, 40), wanted)


def test_weights_as_bytes() -> None:
    keys = np.arange(300, dtype=np.uint64)
    by_unit = _native.poisson_counts(keys, 5, 0, 64)
    np.testing.assert_array_equal(np.concatenate(list(by_unit), axis=1).T, _native.poisson_weights(keys, 5, 0, 64))


# Maps.
def packed(*runs: int) -> bytes:
    """A map of 1 by 2 bytes, and runs of value and length as they are written."""
    return b"\1\2" + b"\1\0\0\0" + b"\2\0\0\0" + bytes(runs)


def test_runs_of_maps() -> None:
    assert _native.map_unpack(packed(5, 2)).tolist() == [[5, 5]]
    assert _native.map_unpack(packed(0x83, 1, 1, 7, 1)).tolist() == [[0x83, 7]]


@pytest.mark.parametrize(
    "runs",
    [(0xAC, 2, 2), (5, 0, 5, 2), (5, 3), (5, 1), (5, 1, 5), (5, 0x82), (0xFF,) * 10 + (1, 2), (5, 1, 5, 1, 5, 1), ()],
)
def test_runs_that_do_not_fill_a_map(runs: tuple[int, ...]) -> None:
    """A value beyond a byte, a length of 0, more or fewer pixels than there are, a number that does not end."""
    with refuses(ValueError, "fill"):
        _native.map_unpack(packed(*runs))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_values_that_have_no_code(kind: Any) -> None:
    recoded = _native.map_recode(
        np.array([[0, 3, 7, 9]], kind), np.array([3, 7], np.uint32), np.array([1, 2], np.uint16), 5
    )
    assert recoded.tolist() == [[5, 1, 2, 5]]


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_bands_of_maps(kind: Any) -> None:
    """What is farther than a pixel from any other value lies inside; a row of one value that is too short has no inside."""
    square = np.zeros((5, 5), kind)
    square[1:4, 1:4] = 4
    banded = square.copy()
    banded[2, 2] = 1
    assert _native.map_bands(square, 1, 1).tolist() == banded.tolist()
    assert _native.map_bands(square, 1, 1, 4).tolist() == square.tolist()
    assert _native.map_bands(square[:2], 1, 1).tolist() == square[:2].tolist()


# Tracks.
def test_a_crowd_in_one_place() -> None:
    """150 tracks of one frame in one place, found 150 times: each pair of them fits, and each has its own in the end."""
    many = 150
    truth = {
        "sequence": ["a"] * many,
        "frame": [1] * many,
        "track": list(range(many)),
        **dict.fromkeys("xywh", [4] * many),
    }
    report = sy.evaluate(
        "tracking", truth, {**truth}, ["hota", "deta", "assa", "mota", "idf1", "idsw"], confidence=None
    )
    assert [score.value for score in report.scores.values()] == pytest.approx([1, 1, 1, 1, 1, 0])


def test_overlaps_in_another_order() -> None:
    good: dict[str, Any] = {
        "truth_frame": np.array([0, 1]), "truth_ends": np.array([2]), "prediction_frame": np.array([0, 1]),
        "prediction_ends": np.array([2]), "similarity": np.ones(2),
    }  # fmt: skip
    rows = np.array([0, 1], np.int32)
    assert _native.tracking_matches(truth_row=rows, prediction_row=rows, **good).tolist() == [0, 1]
    for truth, prediction in (([0, 1], [0, 0]), ([0, 1], [1, 1]), ([0, 0], [0, 0])):
        pair = np.array(truth, np.int32), np.array(prediction, np.int32)
        with refuses(ValueError, "overlaps"):
            _native.tracking_matches(truth_row=pair[0], prediction_row=pair[1], **good)


# Labels and rankings.
def test_codes_of_texts_and_rows() -> None:
    codes, firsts = _native.factor_texts(["b", "a", "b", "", "a"]) or (NONE, NONE)
    assert (codes.tolist(), firsts.tolist()) == ([0, 1, 0, 2, 1], [0, 1, 3])
