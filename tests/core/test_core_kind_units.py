"""Units that are counted by kind: what the cells of a matrix come to."""

from __future__ import annotations

import pickle

import numpy as np

from steelyard.core.block import CellsBlock
from steelyard.core.distinct import DistinctCells, DistinctUnits
from steelyard.core.metadata import Metadata
from steelyard.core.plan import POINT
from steelyard.core.units import Units
from steelyard.core.weights import Entries

MATRIX = np.array([[3, 0], [2, 5]])


def test_units_are_the_cells_that_hold_any() -> None:
    units = DistinctUnits(MATRIX)
    assert (units.ids.tolist(), units.copies.tolist(), units.count) == ([0, 2, 3], [3, 2, 5], 10)
    assert units.deduplicated
    assert (units.groups, units.cluster, units.stratum, units.weight) == ({}, None, None, None)
    assert len(units) == 3
    back = pickle.loads(pickle.dumps(units))
    assert type(back) is Units
    assert (back.ids.tolist(), back.weight, back.copies.tolist(), back.groups) == ([0, 2, 3], None, [3, 2, 5], {})


def test_cells_are_made_when_they_are_asked_for() -> None:
    """The plain totals are those of the matrix; other weights read the entries, of which each kind has one."""
    made: list[str] = []

    def entries() -> Entries:
        made.append("entries")
        return CellsBlock.of((2, 2), Metadata(), np.arange(3), np.array([0, 2, 3]), np.ones(3)).entries

    def plain() -> np.ndarray:
        made.append("plain")
        return MATRIX.ravel().astype(float)

    cells = DistinctCells((2, 2), entries, plain)
    units = DistinctUnits(MATRIX)
    weights = POINT.bind(units)
    assert weights.whole
    assert cells.total(weights, Metadata()).tolist() == [[[3, 0], [2, 5]]]
    assert made == ["plain"]
    other = POINT.bind(Units(units.ids, None, units.copies).take(np.array([0, 1, 2])))
    assert cells.total(other, Metadata()).tolist() == [[[3, 0], [2, 5]]]
    assert (cells.kind, cells.axes) == ("cells", (2, 2))
    back = pickle.loads(pickle.dumps(cells))
    assert type(back) is CellsBlock
    assert back.total(other, Metadata()).tolist() == [[[3, 0], [2, 5]]]
