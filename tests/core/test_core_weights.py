"""Weights by hand: every way to weigh units, against the rows of weights written out."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.core import weights as module
from steelyard.core.weights import EachUnit, Entries, LeaveOneOut, Plain, Role, Weights, ratio

COLUMN = np.array([1.0, 2, 4, 8])
MATRIX = np.array([[1.0, 10], [2, 20], [4, 40], [8, 80]])
CELLS = Entries(np.array([0, 1, 1, 3]), np.array([2, 0, 2, 1]), np.array([1.0, 2, 3, 4]), 3)
COUNTED = Entries(np.array([0, 1, 1, 3]), np.array([2, 0, 2, 1]), None, 3)

CASES: list[tuple[Weights, list[list[float]], Role]] = [
    (Plain(np.array([1, 0, 2, 0.5])), [[1, 0, 2, 0.5]], Role.POINT),
    (Plain(lambda: np.array([1, 0, 2, 0.5]), role=Role.COUNT), [[1, 0, 2, 0.5]], Role.COUNT),
    (EachUnit(4), np.eye(4).tolist(), Role.UNITS),
    (EachUnit(4, 1, 3), np.eye(4)[1:3].tolist(), Role.UNITS),
    (LeaveOneOut(np.array([1, 2, 0.5, 3])), [[0, 2, 0.5, 3], [1, 0, 0.5, 3], [1, 2, 0, 3], [1, 2, 0.5, 0]], Role.JACKKNIFE),
]  # fmt: skip


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize(("weights", "rows", "role"), CASES)
def test_totals_are_those_of_the_rows(
    weights: Weights, rows: list[list[float]], role: Role, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if small:
        monkeypatch.setattr(module, "BLOCK_BYTES", 1)
    matrix = np.array(rows)
    assert (weights.rows, weights.units, weights.role) == (len(rows), 4, role)
    assert np.concatenate(list(weights.blocks())).tolist() == rows
    assert (weights @ COLUMN).tolist() == (matrix @ COLUMN).tolist()
    assert (weights @ MATRIX).tolist() == (matrix @ MATRIX).tolist()
    for cells in (CELLS, COUNTED):
        dense = np.zeros((4, 3))
        np.add.at(dense, (cells.owner, cells.code), 1.0 if cells.value is None else cells.value)
        totals = weights.scatter(cells)
        assert (totals.tolist(), totals.dtype) == ((matrix @ dense).tolist(), np.float64)
    assert weights.counts() is None


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
    assert weights.scatter(CELLS).tolist() == [[2, 0, 4], [0, 0, 0], [0, 12, 0]]
    assert weights.scatter(Entries(np.zeros(0, int), np.zeros(0, int), None, 2)).tolist() == [[0, 0]] * 3
    assert [part is weights for part in weights.parts(1)] == [True]


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
    assert np.isnan(value[1:3]).all()
    assert np.isnan(ratio(np.array([1.0]), np.array([-2.0]))).all()
