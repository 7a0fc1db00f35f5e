"""Sums, moments and cells, each operation by hand: cut, put behind others, moved, weighed, kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steelyard.core.block import CellsBlock, MomentsBlock, Pooled, SumBlock, shape_of
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.ranking import BlockReader
from steelyard.core.weights import EachUnit, Entries, LeaveOneOut, Plain

FACTS = Metadata({"class": Axis(("a", "b")), "rater": Axis((1, 2, 3))})


def entries(block: CellsBlock) -> tuple[list[int], list[int], list[float] | None, int]:
    e = block.entries
    return e.owner.tolist(), e.code.tolist(), None if e.value is None else e.value.tolist(), e.size


def test_sums() -> None:
    block = SumBlock(np.array([[1, 2], [3, 4], [5, 6]]))
    assert block.values.dtype == np.float64
    assert block.take(np.array([2, 0]), 2).values.tolist() == [[5, 6], [1, 2]]
    assert block.take(np.array([2, 0]), 2).values.flags.c_contiguous
    both = SumBlock.stack([block, SumBlock(np.array([[7, 8]]))], [3, 1])
    assert both.values.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert both.total(Plain(np.array([1, 0, 2, 1.0])), FACTS).tolist() == [[18, 22]]
    assert both.total(EachUnit(4), FACTS).tolist() == both.values.tolist()
    assert SumBlock(np.array([1.0, 2, 4])).total(LeaveOneOut(np.array([1.0, 2, 1])), FACTS).tolist() == [8, 5, 5]
    facts, arrays = block.pack()
    assert (facts, list(arrays)) == ({}, ["values"])
    assert SumBlock.unpack(facts, arrays).values.tolist() == block.values.tolist()


def test_moments_of_each_unit() -> None:
    """Unit 0 has (1, 10) and (3, 14), unit 1 nothing, unit 2 has (5, 0)."""
    block = MomentsBlock.of((np.array([1.0, 3, 5]), np.array([10.0, 14, 0])), np.array([0, 0, 2]), 3)
    assert block.count.tolist() == [2, 0, 1]
    assert block.mean.tolist() == [[2, 12], [0, 0], [5, 0]]
    assert block.product.tolist() == [[2, 4, 8], [0, 0, 0], [0, 0, 0]]  # xx, xy, yy
    pooled = block.total(Plain(np.ones(3)), FACTS)
    x, y = np.array([1.0, 3, 5]), np.array([10.0, 14, 0])
    assert pooled.count.tolist() == [3]
    for a, b, u, v in ((0, 0, x, x), (0, 1, x, y), (1, 0, x, y), (1, 1, y, y)):
        expected = ((u - u.mean()) * (v - v.mean())).sum()
        assert pooled.covariance(a, b)[0] == pytest.approx([expected], rel=1e-12)
    assert block.matrix.flags.c_contiguous
    assert block.matrix[:, 0].tolist() == [2, 0, 1]
    assert block.matrix[:, 1].tolist() == [-2, 0, 2]  # about 3, the mean of all rows
    assert block.matrix[:, 2].tolist() == [8, 0, -8]  # about 8
    assert block.matrix[:, 3].tolist() == [4, 0, 4]
    assert block.matrix[:, 4].tolist() == [-4, 0, -16]
    assert block.matrix[:, 5].tolist() == [40, 0, 64]


def test_values_that_are_all_alike_have_no_spread() -> None:
    """3 × 42.89 is rounded, and so is a third of it: the mean must be the value all the same."""
    block = MomentsBlock.of((np.full(10, 42.89),), np.array([0] * 3 + [1] * 7), 2)
    assert (block.mean.tolist(), block.product.tolist()) == ([[42.89]] * 2, [[0.0]] * 2)
    assert block.matrix.tolist() == [[3, 0, 0], [7, 0, 0]]


def test_moments_are_cut_stacked_and_kept() -> None:
    block = MomentsBlock.of((np.array([1.0, 3, 5]),), np.array([0, 0, 2]), 3)
    part = block.take(np.array([2, 0]), 2)
    assert (part.count.tolist(), part.mean.tolist(), part.product.tolist()) == ([1, 2], [[5], [2]], [[0], [2]])
    both = MomentsBlock.stack([part, block], [2, 3])
    assert (both.count.tolist(), both.mean.tolist()) == ([1, 2, 2, 0, 1], [[5], [2], [2], [0], [5]])
    assert both.product.tolist() == [[0], [2], [2], [0], [0]]
    facts, arrays = block.pack()
    assert (facts, list(arrays)) == ({}, ["count", "mean", "product"])
    again = MomentsBlock.unpack(facts, arrays)
    for name in ("count", "mean", "product"):
        assert getattr(again, name).tolist() == getattr(block, name).tolist()
    whole = MomentsBlock(np.array([1], np.int32), np.array([[2]], np.int32), np.array([[3]], np.int32))
    assert {getattr(whole, name).dtype for name in ("count", "mean", "product")} == {np.dtype(np.float64)}


def test_moments_of_no_rows() -> None:
    block = MomentsBlock.of((np.zeros(0),), np.zeros(0, np.int64), 2)
    assert block.matrix.tolist() == [[0, 0, 0], [0, 0, 0]]
    covariance, size = block.total(Plain(np.ones(2)), FACTS).covariance(0, 0)
    assert np.isnan(covariance).all()
    assert np.isnan(size).all()


def test_the_size_of_a_covariance_is_what_its_rounding_is_relative_to() -> None:
    pooled = Pooled(np.array([4.0]), np.array([[2.0, -6.0]]), np.array([[5.0, -1.0, 20.0]]))
    assert [part.tolist() for part in pooled.covariance(0, 1)] == [[2.0], [4.0]]  # -1 + 3; 1 + 3
    assert [part.tolist() for part in pooled.covariance(1, 1)] == [[11.0], [29.0]]


def test_cells_of_entries_in_any_order() -> None:
    block = CellsBlock.of(
        ("class", 3), FACTS, np.array([1, 0, 1, 0]), np.array([5, 1, 0, 2]), np.array([10.0, 20, 30, 40])
    )
    assert entries(block) == ([0, 0, 1, 1], [1, 2, 5, 0], [20, 40, 10, 30], 6)
    assert (block.entries.owner.dtype, block.entries.code.dtype) == (np.int64, np.int32)
    assert block.entries.value is not None
    assert block.entries.value.dtype == np.float64
    sorted_already = CellsBlock.of(("class",), FACTS, np.array([0, 0, 2]), np.array([1, 0, 1]), None)
    assert entries(sorted_already) == ([0, 0, 2], [1, 0, 1], None, 2)
    assert sorted_already.total(Plain(np.array([1.0, 1, 0.5])), FACTS).tolist() == [[1, 1.5]]
    assert block.total(EachUnit(2), FACTS).tolist() == [[[0, 20, 40], [0, 0, 0]], [[30, 0, 0], [0, 0, 10]]]
    wide = CellsBlock.of((2**16, 2**15), FACTS, np.array([0]), np.array([2**31 - 1]), None)
    assert (wide.entries.size, wide.entries.code.dtype) == (2**31, np.int64)
    assert CellsBlock.of((2**31 - 1,), FACTS, np.array([0]), np.array([5]), None).entries.code.dtype == np.int32


def test_cells_are_cut() -> None:
    block = CellsBlock.of(("class",), FACTS, np.array([0, 1, 1, 3]), np.array([0, 1, 0, 1]), np.array([1.0, 2, 3, 4]))
    assert entries(block.take(np.array([3, 1]), 2)) == ([0, 1, 1], [1, 1, 0], [4, 2, 3], 2)
    assert entries(block.take(np.array([5, 2]), 2)) == ([], [], [], 2)
    assert entries(block.take(np.zeros(0, np.int64), 0)) == ([], [], [], 2)
    plain = CellsBlock.of(("class",), FACTS, np.array([0, 2]), np.array([0, 1]), None)
    assert entries(plain.take(np.array([2]), 1)) == ([0], [1], None, 2)
    none = CellsBlock.of(("class",), FACTS, np.zeros(0, np.int64), np.zeros(0, np.int64), None)
    assert entries(none.take(np.array([0]), 1)) == ([], [], None, 2)


def test_cells_are_stacked() -> None:
    counted = CellsBlock.of(("class",), FACTS, np.array([0, 1]), np.array([0, 1]), None)
    valued = CellsBlock.of(("class",), FACTS, np.array([0]), np.array([1]), np.array([0.5]))
    assert entries(CellsBlock.stack([counted, counted], [2, 2])) == ([0, 1, 2, 3], [0, 1, 0, 1], None, 2)
    both = CellsBlock.stack([counted, valued], [2, 1])
    assert entries(both) == ([0, 1, 2], [0, 1, 1], [1, 1, 0.5], 2)
    assert both.axes == ("class",)
    assert entries(CellsBlock.stack([valued, counted], [1, 2]))[2] == [0.5, 1, 1]


def test_cells_move_along_named_axes_only() -> None:
    """Class b becomes code 2 of 4, raters 1 and 3 codes 0 and 1 of 2; the middle axis of two places stays."""
    new = Metadata({"class": Axis(("a", "aa", "b", "c")), "rater": Axis((1, 3, 2))})
    codes: dict[str, Any] = {"class": np.array([0, 2]), "rater": np.array([0, 2, 1])}
    axes = ("class", 2, "rater")
    code = np.ravel_multi_index((np.array([1, 0, 1]), np.array([1, 0, 0]), np.array([2, 1, 0])), (2, 2, 3))
    block = CellsBlock.of(axes, FACTS, np.array([0, 1, 1]), code, np.array([1.0, 2, 3]))
    moved = block.move(codes, FACTS, new)
    expected = np.ravel_multi_index((np.array([2, 0, 2]), np.array([1, 0, 0]), np.array([1, 2, 0])), (4, 2, 3))
    assert entries(moved) == ([0, 1, 1], expected.tolist(), [1, 2, 3], 24)
    assert (moved.axes, moved.entries.code.dtype) == (axes, np.int32)
    none = CellsBlock(axes, Entries(np.zeros(0, np.int64), np.zeros(0, np.int32), None, 12))
    assert entries(none.move(codes, FACTS, new)) == ([], [], None, 24)
    large = Metadata({"class": Axis(tuple(range(2**16))), "rater": FACTS.axes["rater"]})
    far = CellsBlock.of(("class", 2**15), FACTS, np.array([0]), np.array([2**15 + 1]), None)
    away = far.move({"class": np.array([0, 2**16 - 1])}, FACTS, large)
    assert entries(away) == ([0], [(2**16 - 1) * 2**15 + 1], None, 2**31)
    assert away.entries.code.dtype == np.int64
    assert SumBlock(np.ones(1)).move(codes, FACTS, new).values.tolist() == [1]


@pytest.mark.parametrize("value", [None, [0.5, 2.0]])
def test_cells_are_kept(value: list[float] | None) -> None:
    given = None if value is None else np.array(value)
    block = CellsBlock.of(("class", 3), FACTS, np.array([0, 1]), np.array([5, 2]), given)
    facts, arrays = block.pack()
    assert facts == {"axes": ["class", 3], "size": 6}
    assert list(arrays) == (["owner", "code"] if value is None else ["owner", "code", "value"])
    again = CellsBlock.unpack(facts, arrays)
    assert (again.axes, entries(again)) == (("class", 3), entries(block))


def test_shapes() -> None:
    assert shape_of(("rater", 7, "class"), FACTS) == (3, 7, 2)
    block = SumBlock(np.ones(1))
    assert block.merged() is block


def test_sums_along_an_axis() -> None:
    """Columns are classes: they keep their axis wherever they go, and are weighed one by one."""
    block = SumBlock(np.array([[1, 2], [3, 4], [5, 6]]), "class")
    assert (block.take(np.array([2, 0]), 2).axis, block.take(np.array([2, 0]), 2).values.tolist()) == (
        "class",
        [[5, 6], [1, 2]],
    )
    alone = SumBlock.stack([block], [3])
    assert (alone.axis, alone.values.tolist()) == ("class", block.values.tolist())
    new = Metadata({"class": Axis(("a", "aa", "b", "c"))})
    moved = block.move({"class": np.array([2, 0])}, FACTS, new)
    assert (moved.axis, moved.values.tolist()) == ("class", [[2, 0, 1, 0], [4, 0, 3, 0], [6, 0, 5, 0]])
    assert block.total(Plain(np.array([1.0, 2, 0.5])), FACTS).tolist() == [[9.5, 13]]
    assert block.total(EachUnit(3), FACTS).tolist() == block.values.tolist()
    assert SumBlock(np.zeros((3, 0)), "class").total(EachUnit(3), FACTS).shape == (3, 0)
    facts, arrays = block.pack()
    assert (facts, list(arrays)) == ({"axis": "class"}, ["values"])
    again = SumBlock.unpack(facts, arrays)
    assert (again.axis, again.values.tolist()) == ("class", block.values.tolist())
    assert SumBlock.unpack({}, arrays).axis == ""


def test_moments_of_three_columns() -> None:
    """Rows (1, 2, 9), (3, 2, 3) and (5, 8, 3); means 3, 4 and 5; each product around them by hand."""
    columns = (np.array([1.0, 3, 5]), np.array([2.0, 2, 8]), np.array([9.0, 3, 3]))
    block = MomentsBlock.of(columns, np.array([0, 0, 1]), 2)
    assert block.product.tolist() == [[2, 0, 0, -6, 0, 18], [0] * 6]  # xx, xy, yy, xz, yz, zz around 2, 2, 6
    pooled = block.total(Plain(np.ones(2)), FACTS)
    assert (pooled.count.tolist(), pooled.sums.tolist()) == ([3], [[0, 0, 0]])  # about the mean of all
    products = {(0, 0): 8, (0, 1): 12, (1, 1): 24, (0, 2): -12, (1, 2): -12, (2, 2): 24}
    for (a, b), expected in products.items():
        assert pooled.covariance(a, b)[0].tolist() == [expected]
        assert pooled.covariance(b, a)[0].tolist() == [expected]


def test_covariances_of_one_row_and_of_none() -> None:
    pooled = Pooled(np.array([1.0, 0]), np.array([[2.0], [3]]), np.array([[5.0], [5]]))
    covariance, size = pooled.covariance(0, 0)
    assert (covariance[0], size[0]) == (1, 9)  # 5 - 4; 5 + 4
    assert np.isnan([covariance[1], size[1]]).all()


def many_cells(value: bool) -> tuple[CellsBlock, list[tuple[int, int, float]]]:
    """Sixty entries of five units, in any order, and the same in the order of their owners."""
    rng = np.random.default_rng(4)
    owner, code = rng.integers(0, 5, 60).astype(np.int32), rng.permutation(60)
    values = rng.integers(1, 9, 60) if value else None
    rows = zip(owner.tolist(), code.tolist(), [1.0] * 60 if values is None else values.tolist(), strict=True)
    return CellsBlock.of((100,), FACTS, owner, code, values), sorted(rows, key=lambda row: row[0])


@pytest.mark.parametrize("value", [True, False])
def test_many_cells_stay_as_they_came_inside_a_unit(value: bool) -> None:
    block, rows = many_cells(value)
    owner, code, values, size = entries(block)
    assert list(zip(owner, code, values or [1.0] * 60, strict=True)) == rows
    assert (size, block.entries.owner.dtype) == (100, np.int64)
    assert block.entries.value is None or block.entries.value.dtype == np.float64
    part = block.take(np.array([4, 1, 0]), 3)
    owner, code, values, size = entries(part)
    expected = [(new, c, v) for new, old in enumerate((4, 1, 0)) for o, c, v in rows if o == old]
    assert list(zip(owner, code, values or [1.0] * len(code), strict=True)) == expected
    assert (size, part.axes, values is None) == (100, (100,), not value)


def test_cells_alone_and_without_an_entry() -> None:
    block = CellsBlock.of(("class",), FACTS, np.array([0]), np.array([1]), np.array([0.5]))
    alone = CellsBlock.stack([block], [1])
    assert (alone.axes, entries(alone)) == (("class",), ([0], [1], [0.5], 2))
    new = Metadata({"class": Axis(tuple(range(70)))})
    moved = block.move({"class": np.array([0, 69])}, FACTS, new)
    assert (entries(moved), moved.entries.code.dtype) == (([0], [69], [0.5], 70), np.int32)
    none = block.take(np.zeros(0, np.int64), 0).move({"class": np.array([0, 69])}, FACTS, new)
    assert (none.axes, entries(none)) == (("class",), ([], [], [], 70))


class Passed(BlockReader):
    """What it is given, to be looked at."""

    def read(self, block: Any, weights: Any, facts: Any) -> Any:
        return block, weights, facts


def test_a_reading_is_given_the_block() -> None:
    block, weights = SumBlock(np.ones(1)), Plain(np.ones(1))
    assert block.read(Passed(), weights, FACTS) == (block, weights, FACTS)
