"""States whose alike units are counted by kind: when they are, what a kind keeps, and how such states merge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core import state as module
from steelyard.core.block import CellsBlock, SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.pairs import Countable
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.core.statistic import Cells, SharedCache, Sum
from steelyard.core.units import Units

FACTS = Metadata({"class": Axis(("a", "b"))})


@frozen
class Kind(Cells):
    """The class of each unit; beside it the place for units of no kind."""

    name, distinct = "core.counted.kind", True

    def measure(self, pairs: Any, cache: SharedCache) -> CellsBlock:
        return CellsBlock.of((2, "class"), pairs.metadata, pairs.owner, pairs.code, None)


@frozen
class Plain(Cells):
    """The same cells, which say nothing of kinds."""

    name = "core.counted.plain"

    def measure(self, pairs: Any, cache: SharedCache) -> CellsBlock:
        return CellsBlock.of((2, "class"), pairs.metadata, pairs.owner, pairs.code, None)


@frozen
class Column(Sum):
    """A given column; what the work measures is written down."""

    name = "core.counted.column"

    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        pairs.asked.append(cache.statistics)
        return SumBlock(pairs.column)


class Given:
    """Pairs of these ids. Code 0 is class a, 1 class b; 2 and more are of no kind."""

    def __init__(self, ids: list[int], code: list[int], column: list[float], owner: list[int] | None = None) -> None:
        self.units, self.weight, self.metadata = np.array(ids), None, FACTS
        self.code, self.column = np.array(code), np.array(column)
        self.owner = np.arange(len(ids)) if owner is None else np.array(owner)
        self.asked: list[Any] = []


class CountablePairs(Given, Countable):
    """Pairs that say of which kinds their units are."""

    kinds_: Units | None = None

    @property
    def distinct_units(self) -> Units | None:
        return self.kinds_

    @property
    def kept_statistics(self) -> tuple[Any, ...]:
        return (Kind(), Column())


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four units are many."""
    monkeypatch.setattr(module, "DISTINCT_FROM", 4)


def measured(*given: Any, needs: tuple[Any, ...] = (Kind(), Column())) -> State:
    return State.of(Given(*given), needs)


def listing(state: State) -> tuple[list[int], list[int] | None, list[float]]:
    """Ids, copies and the column."""
    copies = state.units.copies
    column: Any = state.blocks[Column()]
    return state.units.ids.tolist(), None if copies is None else copies.tolist(), column.values.tolist()


def test_countable_pairs_say_what_is_kept_and_of_which_kinds_units_are() -> None:
    pairs = CountablePairs([5, 6], [0, 1], [1.0, 2.0])
    listed = State.of(pairs, (Plain(),))
    assert (tuple(listed.blocks), listed.units.ids.tolist()) == ((Plain(), Kind(), Column()), [5, 6])
    assert pairs.asked == [(Plain(), Kind(), Column())]  # all that is measured, at once
    pairs.kinds_ = Units(np.array([0, 1]), None, np.array([7, 8]))
    assert State.of(pairs, ()).units is pairs.kinds_
    weighted = Given([5, 6], [0, 1], [1.0, 2.0])
    weighted.weight = np.array([0.5, 2])  # type: ignore[assignment]
    assert State.of(weighted, (Kind(),)).units.own.tolist() == [0.5, 2]


def test_many_alike_units_are_counted() -> None:
    """Three units of class b and one of class a become two kinds, numbered by their cells."""
    state = measured([5, 6, 7, 8], [1, 0, 1, 1], [2.0, 9.0, 2.0, 2.0])
    counted = state.aggregated()
    assert listing(counted) == ([0, 1], [1, 3], [9, 2])
    assert (counted.units.weight, counted.units.ids.dtype, counted.units.count) == (None, np.int64, 4)
    assert counted.totals(POINT)[Column()].tolist() == state.totals(POINT)[Column()].tolist() == [15]
    assert counted.totals(POINT)[Kind()].tolist() == [[[1, 3], [0, 0]]]
    assert counted.aggregated() is counted  # they are already
    known = measured([5, 6, 7, 8], [1, 1, 1, 1], [2.0] * 4).aggregated()
    assert listing(known) == ([1], [4], [2])


def test_a_unit_without_a_cell_has_no_row() -> None:
    state = measured([5, 6, 7, 8], [1, 0, 1], [2.0, 0.0, 9.0, 2.0], [0, 2, 3])
    assert listing(state.aggregated()) == ([0, 1], [1, 2], [9, 2])


@pytest.mark.parametrize(
    "state",
    [
        lambda: measured([5, 6, 7], [1, 0, 1], [1.0] * 3),  # few
        lambda: measured([5, 6, 7, 8], [1, 0, 2, 1], [1.0] * 4),  # one of no kind
        lambda: measured([5, 6, 7, 8], [1, 0, 1, 1], [1.0] * 4, [0, 1, 1, 2]),  # one of two kinds
        lambda: measured([5, 6, 7, 8], [1, 0, 1, 1], [1.0] * 4, needs=(Plain(), Column())),
        lambda: measured([5, 6, 7, 8], [1, 0, 1, 1], [1.0] * 4, needs=(Column(),)),
        lambda: State(Units(np.arange(4), np.ones(4)), FACTS, measured([5, 6, 7, 8], [1] * 4, [1.0] * 4).blocks),
        lambda: State(Units(np.arange(4)), FACTS, {Kind(): SumBlock(np.ones(4))}),  # not cells
    ],
)
def test_units_that_are_not_counted(state: Any) -> None:
    given = state()
    assert given.aggregated() is given


def test_kinds_merge_by_adding_their_copies() -> None:
    many = measured([1, 2, 3, 4], [1, 0, 1, 1], [2.0, 9.0, 2.0, 2.0]).aggregated()
    some = measured([5, 6], [0, 0], [9.0, 9.0])  # few, and listed
    for parts in ([many, some], [some, many]):
        assert listing(State.merge(parts)) == ([0, 1], [3, 3], [9, 2])
    assert listing(State.merge([many, many])) == ([0, 1], [2, 6], [9, 2])
    assert listing(State.merge([some])) == ([5, 6], None, [9, 9])


def test_kinds_do_not_merge_with_units_of_no_kind() -> None:
    many = measured([1, 2, 3, 4], [1, 0, 1, 1], [2.0, 9.0, 2.0, 2.0]).aggregated()
    odd = measured([5], [3], [1.0])
    with refuses("E-incompatible", "deduplicated"):
        State.merge([many, odd])


def test_parts_of_which_only_some_know_kinds_forget_them() -> None:
    knows, plain = measured([2], [1], [2.0]), measured([1], [0], [9.0], needs=(Column(),))
    for parts in ([knows, plain], [plain, knows]):
        merged = State.merge(parts)
        assert (listing(merged), tuple(merged.blocks)) == (([1, 2], None, [9, 2]), (Column(),))
    assert tuple(State.merge([knows, measured([1], [0], [9.0])]).blocks) == (Kind(), Column())
    assert tuple(State.merge([plain, measured([3], [0], [9.0], needs=(Column(),))]).blocks) == (Column(),)
