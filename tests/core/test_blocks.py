"""Blocks and facts by hand: cells that move to other classes, moments that pool, axes that unite."""

from __future__ import annotations

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core.block import CellsBlock, MomentsBlock, SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.plan import POINT, UNITS
from steelyard.core.state import State
from steelyard.core.statistic import Cells, SharedCache
from steelyard.core.units import Units
from steelyard.core.weights import Plain
from steelyard.io.measured import check_state, pack_state, unpack_state


@frozen
class Confusion(Cells):
    """A confusion matrix, given."""

    name = "tests.confusion"

    def measure(self, pairs: object, cache: SharedCache) -> CellsBlock:
        raise TypeError("the entries are given")


NEED = Confusion()
AXES = ("class", "class")


def facts(*names: object) -> Metadata:
    return Metadata({"class": Axis(tuple(names))})


def cells(
    ids: list[int], classes: Metadata, entries: list[tuple[int, int, int]], weight: list[float] | None = None
) -> State:
    """Entries of unit, true and predicted class."""
    owner, truth, predicted = (np.array(column, dtype=np.int64) for column in zip(*entries, strict=True))
    block = CellsBlock.of(AXES, classes, owner, truth * classes.size("class") + predicted, None)
    return State(Units(np.array(ids), None if weight is None else np.array(weight)), classes, {NEED: block})


def test_cells_of_other_classes_merge_by_hand() -> None:
    first = cells([3, 1], facts("a", "c"), [(1, 1, 0), (0, 0, 0), (0, 1, 1)])  # c for a in 1; a, c right in 3
    second = cells([2], facts("b", "c"), [(0, 0, 0), (0, 1, 1), (0, 1, 0)])  # b, c right; b for c
    for parts in ([first, second], [second, first]):
        merged = State.merge(parts)
        assert merged.units.ids.tolist() == [1, 2, 3]
        assert merged.metadata.axes["class"].ids == ("a", "b", "c")
        assert merged.totals(POINT)[NEED].tolist() == [[[1, 0, 0], [0, 1, 0], [1, 1, 2]]]
        alone = merged.totals(UNITS)[NEED]
        assert alone[0].tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0]]
        assert alone[2].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]


def test_cells_are_weighed_cut_and_kept() -> None:
    state = cells([1, 2], facts("a", "b"), [(0, 0, 1), (1, 0, 0), (1, 1, 1)], [0.5, 2.0])
    assert state.totals(POINT)[NEED].tolist() == [[[2.0, 0.5], [0.0, 2.0]]]
    assert state.take(np.array([1])).totals(POINT)[NEED].tolist() == [[[2.0, 0.0], [0.0, 2.0]]]
    again = unpack_state(*pack_state(state))
    check_state(again, "state")
    assert again.totals(POINT)[NEED].tolist() == state.totals(POINT)[NEED].tolist()
    assert (again.metadata, again.units.ids.tolist()) == (state.metadata, [1, 2])


def test_frequencies_of_classes_are_kept() -> None:
    """As a mapping, and as versions before 0.3 stored them: a text of lines."""
    often = {"cat=1": "r", "dog": "f"}
    known = Metadata({"class": Axis(("cat=1", "dog"))}, {"similarity": "boxes", "frequency": often})
    stored, arrays = pack_state(cells([1], known, [(0, 0, 1)]))
    assert (stored["flags"], stored["mappings"]) == ({"similarity": "boxes"}, {"frequency": often})
    assert unpack_state(stored, arrays).metadata == known
    earlier = {**stored, "flags": {"similarity": "boxes", "frequency": "cat=1=r\ndog=f"}}
    del earlier["mappings"]
    assert unpack_state(earlier, arrays).metadata == known


def test_moments_pool_as_all_rows_do() -> None:
    """Around a mean of 1e9, where plain sums of squares lose every digit."""
    rng = np.random.default_rng(0)
    x, owner = 1e9 + rng.normal(0, 1, 400), np.sort(rng.integers(0, 20, 400))
    y = 2 * x + rng.normal(0, 1, 400)
    block = MomentsBlock.of((x, y), owner, 20)
    weight = rng.uniform(0.5, 2, 20)
    rows = weight[owner]
    pooled = block.total(Plain(weight), Metadata())
    centre = np.average(x, weights=rows), np.average(y, weights=rows)
    assert pooled.count[0] == pytest.approx(rows.sum(), rel=1e-12)
    for (a, b), (u, v) in {(0, 0): (x, x), (0, 1): (x, y), (1, 1): (y, y)}.items():
        expected = (rows * (u - centre[a]) * (v - centre[b])).sum()
        assert pooled.covariance(a, b)[0][0] == pytest.approx(expected, rel=1e-6)


def test_axes_unite_in_one_order() -> None:
    axis, codes = Axis.union([Axis((10, 9)), Axis((2, 10))])
    assert (axis.ids, [code.tolist() for code in codes]) == ((2, 9, 10), [[2, 1], [0, 2]])
    assert Axis.union([Axis(("9",)), Axis(("10",))])[0].ids == ("10", "9")  # texts as texts
    assert Axis.union([Axis(("10",), whole=True), Axis(("9",), whole=True)])[0].ids == ("9", "10")
    declared = Axis(("b", "a"))
    assert Axis.union([declared, declared])[0].ids == ("b", "a")  # equal ones keep the order that a user gave
    assert Axis.union([Axis((1,), ("cat",)), Axis((2,))])[0].display_names == ("cat", "2")
    with refuses("E-conflict", "'1'", "'cat'", "'dog'"):
        Axis.union([Axis((1,), ("cat",)), Axis((1,), ("dog",))])


def test_facts_that_differ_do_not_merge() -> None:
    with refuses("E-incompatible", "'several'"):
        Metadata.merge([Metadata(flags={"several": True}), Metadata(flags={"several": False})])
    assert Metadata.merge([Metadata(holds=frozenset("ab")), Metadata(holds=frozenset("bc"))])[0].holds == {"b"}


def test_a_unit_in_two_parts_is_named() -> None:
    part = State(Units(np.array([7])), Metadata(), {NEED: SumBlock(np.ones(1))})
    with refuses("E-duplicate-key", "1", "'7'"):
        State.merge([part, part])
