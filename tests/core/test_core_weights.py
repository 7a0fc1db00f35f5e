"""Weights by hand: every way to weigh units, against the rows of weights written out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from steelyard.core import weights as module
from steelyard.core.weights import (
    EachUnit,
    Entries,
    GivenRows,
    LeaveGroupOut,
    LeaveOneOut,
    Plain,
    Role,
    Weights,
    ratio,
)

COLUMN = np.array([1.0, 2, 4, 8])
MATRIX = np.array([[1.0, 10], [2, 20], [4, 40], [8, 80]])
CELLS = Entries(np.array([0, 1, 1, 3]), np.array([2, 0, 2, 1]), np.array([1.0, 2, 3, 4]), 4)
COUNTED = Entries(np.array([0, 1, 1, 3]), np.array([2, 0, 2, 1]), None, 4)

CASES: list[tuple[Callable[[], Weights], list[list[float]], Role]] = [
    (lambda: Plain(np.array([1, 0, 2, 0.5])), [[1, 0, 2, 0.5]], Role.POINT),
    (lambda: Plain(lambda: np.array([1, 0, 2, 0.5]), role=Role.COUNT), [[1, 0, 2, 0.5]], Role.COUNT),
    (lambda: EachUnit(4), np.eye(4).tolist(), Role.UNITS),
    (lambda: EachUnit(4, 1, 3), np.eye(4)[1:3].tolist(), Role.UNITS),
    (lambda: LeaveOneOut(np.array([1, 2, 0.5, 3])), [[0, 2, 0.5, 3], [1, 0, 0.5, 3], [1, 2, 0, 3], [1, 2, 0.5, 0]], Role.JACKKNIFE),
    (lambda: LeaveOneOut(np.array([4.0, 0, 12, 3]), np.array([1.0, 0, 2, 3])), [[3, 0, 12, 3], [4, 0, 12, 3], [4, 0, 10, 3], [4, 0, 12, 0]], Role.JACKKNIFE),
    (lambda: LeaveGroupOut(np.array([1, 2, 0.5, 3]), np.array([1, 0, 1, -1]), 2), [[1, 0, 0.5, 3], [0, 2, 0, 3]], Role.JACKKNIFE),
    (lambda: GivenRows(np.array([[1, 0, 2, 0.5], [0, 1, 1, 1]]), Role.DRAWS), [[1, 0, 2, 0.5], [0, 1, 1, 1]], Role.DRAWS),
]  # fmt: skip


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize(("make", "rows", "role"), CASES)
def test_totals_are_those_of_the_rows(
    make: Callable[[], Weights], rows: list[list[float]], role: Role, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if small:
        monkeypatch.setattr(module, "BLOCK_BYTES", 1)
    weights, matrix = make(), np.array(rows)
    assert (weights.rows, weights.units, weights.role) == (len(rows), 4, role)
    assert np.concatenate(list(weights.blocks())).tolist() == rows
    assert (weights @ COLUMN).tolist() == (matrix @ COLUMN).tolist()
    assert (weights @ MATRIX).tolist() == (matrix @ MATRIX).tolist()
    for cells in (CELLS, COUNTED):
        dense = np.zeros((4, 4))
        np.add.at(dense, (cells.owner, cells.code), 1.0 if cells.value is None else cells.value)
        totals = weights.scatter(cells)
        assert (totals.tolist(), totals.dtype) == ((matrix @ dense).tolist(), np.float64)
    assert (weights.counts(), weights.groups()) == (None, None)
    whole_numbers = weights @ np.array([1, 2, 4, 8])
    assert (whole_numbers.tolist(), whole_numbers.dtype) == ((matrix @ COLUMN).tolist(), np.float64)


class Bare(Weights):
    """Nothing but rows, in two blocks."""

    role, rows, units = Role.DRAWS, 3, 4

    def blocks(self) -> object:
        yield np.array([[1.0, 1, 0, 0], [0, 0, 2, 0]])
        yield np.array([[0.0, 0, 0, 3]])


def test_what_every_kind_of_weights_can_do() -> None:
    weights = Bare()
    assert (weights @ COLUMN).tolist() == [3, 8, 24]
    assert (weights @ MATRIX).tolist() == [[3, 30], [8, 80], [24, 240]]
    assert weights.scatter(CELLS).tolist() == [[2, 0, 4, 0], [0, 0, 0, 0], [0, 12, 0, 0]]
    assert weights.scatter(Entries(np.zeros(0, int), np.zeros(0, int), None, 2)).tolist() == [[0, 0]] * 3
    assert [part is weights for part in weights.parts(1)] == [True]
    assert weights.present() is weights
    assert (weights.whole, weights.even, Plain(COLUMN).whole, Plain(COLUMN).even) == (False,) * 4


def test_units_in_parts() -> None:
    bounds = [(part.start, part.stop, part.units, part.rows) for part in EachUnit(7).parts(3)]  # type: ignore[attr-defined]
    assert bounds == [(0, 3, 7, 3), (3, 6, 7, 3), (6, 7, 7, 1)]
    assert [(p.start, p.stop) for p in EachUnit(7, 2, 5).parts(2)] == [(2, 4), (4, 5)]  # type: ignore[attr-defined]
    assert [p.rows for p in EachUnit(3).parts(0)] == [1, 1, 1]


def test_rows_of_a_block_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 100 * 70)
    assert [len(block) for block in EachUnit(100).blocks()] == [64, 36]
    assert [len(block) for block in LeaveOneOut(np.ones(100)).blocks()] == [64, 36]
    monkeypatch.setattr(module, "BLOCK_BYTES", 1)
    assert [len(block) for block in EachUnit(70).blocks()] == [32, 32, 6]
    assert [len(block) for block in LeaveOneOut(np.ones(70)).blocks()] == [32, 32, 6]
    whole = np.concatenate(list(LeaveOneOut(np.arange(70.0)).blocks()))
    expected = np.tile(np.arange(70.0), (70, 1))
    np.fill_diagonal(expected, 0)
    assert (whole == expected).all()
    assert list(EachUnit(0).blocks()) == []


def test_entries_times_a_factor() -> None:
    factor = np.array([1.0, 10, 100, 1000])
    assert CELLS.times(factor).tolist() == [1, 20, 30, 4000]
    assert COUNTED.times(factor).tolist() == [1, 10, 10, 1000]


def test_plain_weights_are_made_when_asked_for() -> None:
    calls: list[int] = []

    def make() -> list[int]:
        calls.append(1)
        return [1, 2]

    plain = Plain(make)  # type: ignore[arg-type]
    assert calls == []
    assert (plain.array.tolist(), plain.array.dtype, plain.units) == ([1, 2], np.float64, 2)
    assert calls == [1]


def test_ratio() -> None:
    value = ratio(np.array([1.0, 1, 0, -1]), np.array([2.0, 0, 0, 4]))
    assert value[[0, 3]].tolist() == [0.5, -0.25]
    assert ratio(np.array([1.0]), np.array([0.5])).tolist() == [2]
    assert np.isnan(value[1:3]).all()
    assert np.isnan(ratio(np.array([1.0]), np.array([-2.0]))).all()


def test_weights_above_zero_count_as_one() -> None:
    """Each kind keeps its rows: who is left out, and whether an alike one stays."""
    given = np.array([0.5, 0, 3])
    plain = Plain(given, role=Role.COUNT).present()
    assert (np.concatenate(list(plain.blocks())).tolist(), plain.role) == ([[1, 0, 1]], Role.COUNT)
    assert (plain.whole, plain.even) == (False, False)
    one = LeaveOneOut(given).present()
    assert np.concatenate(list(one.blocks())).tolist() == [[0, 0, 1], [1, 0, 1], [1, 0, 0]]
    alike = LeaveOneOut(np.array([2.0, 0, 3]), np.array([0.5, 0, 3])).present()  # four units of 0.5, none, one of 3
    assert np.concatenate(list(alike.blocks())).tolist() == [[1, 0, 1], [1, 0, 1], [1, 0, 0]]  # three of 0.5 stay
    group = LeaveGroupOut(given, np.array([1, -1, 0]), 2).present()
    assert np.concatenate(list(group.blocks())).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert (one.role, group.role, group.rows, group.units) == (Role.JACKKNIFE, Role.JACKKNIFE, 2, 3)


def test_wide_columns_without_a_group() -> None:
    weights = LeaveGroupOut(np.array([1.0, 2, 1]), np.array([0, 1, -1]), 2)
    cube = np.arange(12.0).reshape(3, 2, 2)  # weighted: 0..3, 8 10 12 14, 8..11
    assert (weights @ cube).tolist() == [[[16, 19], [22, 25]], [[8, 10], [12, 14]]]
    assert (weights @ np.zeros((3, 0))).shape == (2, 0)
    assert weights.scatter(Entries(np.array([2]), np.array([0]), None, 1)).tolist() == [[1], [1]]


@pytest.mark.parametrize(
    ("block_bytes", "rows", "groups"),
    [(1, 130, [4, 1]), (8 * 300 * 64, 300, [8, 2]), (32 << 20, 130, [5]), (32 << 20, 128, [4])],
)
def test_groups_left_out_as_bytes(
    block_bytes: int, rows: int, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """32 rows side by side; a unit's byte is 0 in the row of its own group, and 1 elsewhere."""
    monkeypatch.setattr(module, "BLOCK_BYTES", block_bytes)
    group = np.append(np.arange(rows)[::-1], -1)[-300:]
    weights = LeaveGroupOut(np.ones(len(group)), group, rows)
    counts = list(weights.counts() or ())
    assert weights.groups() is group
    assert [block.shape for block in counts] == [(n, len(group), 32) for n in groups]
    assert {block.dtype for block in counts} == {np.dtype(np.uint8)}
    expected = np.ones((32 * sum(groups), len(group)))
    for unit, its in enumerate(group):
        expected[its, unit] = 0 if its >= 0 else 1
    wide = np.concatenate([np.moveaxis(block, 2, 1).reshape(-1, len(group)) for block in counts])
    assert wide.tolist() == expected.tolist()
    blocks = list(weights.blocks())
    assert np.concatenate(blocks).tolist() == expected[:rows].tolist()
    if block_bytes == 1:
        assert [len(block) for block in blocks] == [32, 32, 32, 32, 2]
