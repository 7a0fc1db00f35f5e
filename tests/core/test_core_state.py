"""States, units, totals and needs by hand."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core.block import CellsBlock, MomentsBlock, SumBlock
from steelyard.core.draws import BootstrapDraws
from steelyard.core.frozen import frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT, UNITS, WeightPlan
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.rows import RowsBlock, RowTable
from steelyard.core.state import State, Totals, TotalsView
from steelyard.core.statistic import (
    Cells,
    Moments,
    Ranking,
    RankingReader,
    Rows,
    SharedCache,
    Statistic,
    Sum,
    sum_by_unit,
)
from steelyard.core.units import Units
from steelyard.core.weights import Role


@frozen
class Size(Sum):
    """A given column."""

    name = "core.size"
    times: float = field(default=1.0, metadata={"spec": "factor"})

    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        return SumBlock(cache.once("column", lambda: pairs.looked()) * self.times)


@frozen
class Aside(Sum):
    """A column that only remarks read."""

    name, drawn = "core.aside", False

    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        return SumBlock(pairs.column)


@frozen
class Spread(Moments):
    """Moments of a given column."""

    name = "core.spread"

    def measure(self, pairs: Any, cache: SharedCache) -> MomentsBlock:
        return MomentsBlock.of((pairs.column,), np.arange(len(pairs.column)), len(pairs.column))


@frozen
class Kinds(Cells):
    """One cell for each unit."""

    name, version = "core.kinds", 3

    def measure(self, pairs: Any, cache: SharedCache) -> CellsBlock:
        n = len(pairs.column)
        return CellsBlock.of(("class",), pairs.metadata, np.arange(n), pairs.code, None)


class Given:
    """Pairs that count how often their column is looked at."""

    def __init__(self, ids: list[Any], column: list[float], code: list[int], classes: tuple[str, ...]) -> None:
        self.units, self.weight, self.column = np.array(ids), None, np.array(column)
        self.code, self.metadata, self.looks = np.array(code), Metadata({"class": Axis(classes)}), 0

    def looked(self) -> np.ndarray:
        self.looks += 1
        return self.column


NEEDS = (Size(), Size(2.0), Aside(), Spread(), Kinds())


def state(ids: list[Any], column: list[float], code: list[int], classes: tuple[str, ...] = ("a", "b")) -> State:
    return State.of(Given(ids, column, code, classes), NEEDS)


def test_measured_once_and_weighed() -> None:
    pairs = Given([2, 1], [5.0, 7.0], [0, 1], ("a", "b"))
    measured = State.of(pairs, NEEDS)
    assert (pairs.looks, len(measured), tuple(measured.blocks)) == (1, 2, NEEDS)
    totals = measured.totals(POINT)
    assert (totals.rows, totals.role, totals.metadata is measured.metadata) == (1, Role.POINT, True)
    assert totals[Size()].tolist() == [12]
    assert totals[Size(2.0)].tolist() == [24]
    assert totals[Kinds()].tolist() == [[1, 1]]
    assert totals[Spread()].count.tolist() == [2]
    assert totals[Size()] is totals[Size()]
    assert measured.totals(UNITS)[Size()].tolist() == [5, 7]
    work = SharedCache()
    State.of(pairs, NEEDS, work)
    State.of(pairs, NEEDS, work)
    assert pairs.looks == 2  # shared by all that are given the same work


def test_draws_are_one_pass_over_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = state([1, 2, 3], [1.0, 2, 4], [0, 1, 1])
    matrix, columns = measured.dense
    # The moments are about the mean, 7/3, which is counted from the first unit: 1 and 4/3.
    assert matrix.tolist() == [[x, 2 * x, 1, x - 1 - 4 / 3, (x - 1 - 4 / 3) ** 2] for x in (1.0, 2.0, 4.0)]
    assert columns == {Size(): (0, 1, ()), Size(2.0): (1, 2, ()), Spread(): (2, 5, (3,))}
    assert matrix.flags.c_contiguous
    plan = WeightPlan(Role.DRAWS, 0, 0, 40)
    rows = np.concatenate(list(plan.bind(measured.units).blocks()))
    passes: list[int] = []
    monkeypatch.setattr(
        BootstrapDraws,
        "__matmul__",
        lambda self, matrix, make=BootstrapDraws.__matmul__: passes.append(1) or make(self, matrix),
    )
    totals = measured.totals(plan)
    assert totals[Size(2.0)].tolist() == (rows @ np.array([2.0, 4, 8])).tolist()
    assert totals[Size()].tolist() == (rows @ np.array([1.0, 2, 4])).tolist()
    assert totals[Spread()].count.tolist() == rows.sum(axis=1).tolist()
    assert passes == [1]
    assert totals[Aside()].tolist() == totals[Size()].tolist()
    assert totals[Kinds()].tolist() == (rows @ np.array([[1, 0], [0, 1], [0, 1]])).tolist()
    only = State(measured.units, measured.metadata, {Kinds(): measured.blocks[Kinds()]})
    assert only.dense[0].shape == (3, 0)


def test_wide_sums_keep_their_shape_in_draws() -> None:
    values = np.arange(12.0).reshape(3, 2, 2)
    measured = State(Units(np.arange(3)), Metadata(), {Size(): SumBlock(values), Size(2.0): SumBlock(np.ones(3))})
    assert measured.dense[1] == {Size(): (0, 4, (2, 2)), Size(2.0): (4, 5, ())}
    plan = WeightPlan(Role.DRAWS, 0, 0, 40)
    rows = np.concatenate(list(plan.bind(measured.units).blocks()))
    totals = measured.totals(plan)[Size()]
    assert (totals.shape, totals.tolist()) == ((40, 2, 2), np.tensordot(rows, values, 1).tolist())


def test_take_and_merge() -> None:
    first, second = state([3, 1], [3.0, 1], [0, 1]), state([2], [2.0], [0], ("c",))
    part = first.take(np.array([1]))
    assert (part.units.ids.tolist(), part.totals(POINT)[Size()].tolist()) == ([1], [1])
    merged = State.merge([first, second])
    assert merged.units.ids.tolist() == [1, 2, 3]
    assert merged.metadata.axes["class"].ids == ("a", "b", "c")
    assert merged.totals(UNITS)[Size()].tolist() == [1, 2, 3]
    assert merged.totals(UNITS)[Kinds()].tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    stacked = State.stack([first, first])
    assert stacked.units.ids.tolist() == [3, 1, 3, 1]
    unified = State.unified([first, second])
    assert [one.metadata.axes["class"].ids for one in unified] == [("a", "b", "c")] * 2
    same = State.unified([first, first])
    assert (same[0] is first, same[1] is first) == (True, True)


def test_what_does_not_merge() -> None:
    first = state([1], [1.0], [0])
    other = State(Units(np.array([2])), first.metadata, {Size(): SumBlock(np.ones(1))})
    with refuses("E-incompatible", "measurements"):
        State.merge([first, other])
    with refuses("E-duplicate-key", "2", "'1'", "'5'"):
        State.merge([state([1, 2, 5], [1.0] * 3, [0] * 3), state([5, 1], [1.0] * 2, [0] * 2)])


def test_one_part_and_a_plain_list() -> None:
    alone = State.merge([state([2, 1], [5.0, 7.0], [0, 1])])
    assert (alone.units.ids.tolist(), alone.totals(UNITS)[Size()].tolist()) == ([1, 2], [7, 5])
    assert [part is alone for part in State.unified([alone])] == [True]
    part = alone.take([1])  # type: ignore[arg-type]
    assert (part.units.ids.tolist(), part.totals(POINT)[Size()].tolist()) == ([2], [5])
    assert len(alone.take([])) == 0  # type: ignore[arg-type]


@frozen
class Share(Rows):
    """The sum of a unit's rows over that of all."""

    name, columns = "core.state.share", {"size": "f"}

    def measure(self, pairs: Any, cache: SharedCache) -> RowsBlock:
        n = len(pairs.column)
        table = RowTable(self, pairs.units, np.arange(n + 1), {"size": pairs.column})
        return RowsBlock((table,), np.arange(n))

    def finish(self, rows: RowTable) -> SumBlock:
        return SumBlock(rows.columns["size"] / rows.columns["size"].sum())


def test_merged_parts_are_looked_at_together() -> None:
    parts = [
        State.of(Given(ids, sizes, [0] * len(ids), ("a",)), (Share(),))
        for ids, sizes in (([1, 3], [1.0, 5.0]), ([2], [2.0]))
    ]
    assert [part.totals(UNITS)[Share()].tolist() for part in parts] == [[1 / 6, 5 / 6], [1]]
    assert State.merge(parts).totals(UNITS)[Share()].tolist() == [1 / 8, 2 / 8, 5 / 8]
    assert State.stack(parts).totals(UNITS)[Share()].tolist() == [1 / 6, 5 / 6, 1]  # two models are not


def test_units() -> None:
    plain = Units(np.array([4, 5, 6]))
    assert (len(plain), plain.unweighted, plain.count) == (3, True, 3)
    assert (plain.own.tolist(), plain.plain.tolist(), plain.unit_counts.tolist()) == ([1.0] * 3, [1.0] * 3, [1.0] * 3)
    own = Units(np.array([4, 5, 6]), np.array([2, 0, 3]), np.array([1, 5, 4]))
    assert (own.unweighted, own.count, own.own.dtype) == (False, 5, np.float64)
    assert (own.plain.tolist(), own.unit_counts.tolist()) == ([2, 0, 12], [1, 0, 4])
    assert Units(np.array([4, 5]), np.array([1.0, 0])).count == 1
    assert Units(np.array([4, 5]), None, np.array([3, 0])).count == 3
    part = own.take(np.array([2, 0]))
    assert part.weight is not None
    assert part.copies is not None
    assert (part.ids.tolist(), part.weight.tolist(), part.copies.tolist()) == ([6, 4], [3, 2], [4, 1])
    assert (plain.take(np.array([1])).weight, plain.take(np.array([1])).copies) == (None, None)


def test_units_are_stacked() -> None:
    numbers, texts = Units(np.array([1, 2])), Units(np.array(["x"], dtype=object))
    both = Units.stack([numbers, texts])
    assert (both.ids.tolist(), both.weight, both.copies) == (["1", "2", "x"], None, None)
    assert Units.stack([numbers, numbers]).ids.dtype.kind == "i"
    none = Units(np.zeros(0, dtype=object))
    assert Units.stack([none, numbers]).ids.tolist() == [1, 2]
    assert Units.stack([none, none]).ids.tolist() == []
    assert Units.stack([none]).ids.tolist() == []
    mixed = Units.stack([numbers, Units(np.array([3]), np.array([0.5]), np.array([7]))])
    assert mixed.weight is not None
    assert mixed.copies is not None
    assert (mixed.weight.tolist(), mixed.copies.tolist(), mixed.copies.dtype) == ([1, 1, 0.5], [1, 1, 7], np.int64)


def test_a_need_is_its_text() -> None:
    assert [str(need) for need in NEEDS] == [
        "core.size/1(factor=1.0)",
        "core.size/1(factor=2.0)",
        "core.aside/1",
        "core.spread/1",
        "core.kinds/3",
    ]
    assert [Statistic.parse(str(need)) for need in NEEDS] == list(NEEDS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("core.none/1", ("E-invalid-result", "'core.none/1'")),
        (
            "core.kinds/2",
            ("E-invalid-result", "'core.kinds'", "version 2", "version 3"),
        ),
        ("core.size/1", ("E-invalid-result", "'core.size/1'")),
        (
            "core.aside/1(factor=1)",
            ("E-invalid-result", "'core.aside/1(factor=1)'"),
        ),
        ("core.size/1(times=2)", ("E-invalid-result", "'core.size/1(times=2)'")),
    ],
)  # fmt: skip
def test_a_text_that_names_no_need(text: str, message: tuple[str, ...]) -> None:
    with refuses(*message):
        Statistic.parse(text)


@frozen
class Ranked(Ranking):
    """A ranking that is given."""

    name = "core.ranked"

    def measure(self, pairs: Any, cache: SharedCache) -> Any:
        raise TypeError("given")


@frozen
class Reader(RankingReader):
    """What it is given, to be looked at."""

    def read(self, block: Any, weights: Any, facts: Any) -> Any:
        return block, weights, facts


@frozen
class Both(Metric):
    """The size, and one that it forgot to declare."""

    name, title, range = "both", "Both", (0.0, float("inf"))
    also: bool = False

    def requirements(self) -> tuple[Any, ...]:
        return (Size(),)

    def reduce(self, totals: TotalsView) -> Any:
        return totals[Size()] + (totals[Size(2.0)] if self.also else 0)


def test_needs_of_one_name_are_of_one_module() -> None:
    """A notebook may define its own again; another module may not take the name."""

    def define(module: str) -> None:
        fields = {"name": "core.defined", "__module__": module, "measure": lambda self, pairs, work: None}
        type("Defined", (Sum,), fields)

    define("core.first")
    define("core.first")
    with refuses(TypeError, "'core.defined'", "core.first.Defined"):
        define("core.second")


def test_the_text_of_a_curve_and_of_what_is_measured() -> None:
    assert str(Reader(Ranked())) == "Reader(ranking=core.ranked/1)"

    @frozen
    class Deep(Reader):
        depth: int = 3

    assert str(Deep(Ranked())) == "Deep(ranking=core.ranked/1, depth=3)"
    assert str(Both(also=True)) == "both(also=true)"
    assert (SharedCache((Size(),)).statistics, SharedCache().statistics) == ((Size(),), ())


def test_a_metric_sees_what_it_declares() -> None:
    measured = state([1, 2], [1.0, 2], [0, 1])
    totals = measured.totals(POINT)
    assert totals.of(Both()).tolist() == [3]
    with refuses(KeyError, "'core.size/1(factor=2.0)'"):
        totals.of(Both(also=True))
    declared = totals.only([Size()])
    assert (declared.metadata is measured.metadata, declared.rows, declared.role) == (True, 1, Role.POINT)
    assert np.isnan(measured.totals(UNITS).only([]).undefined()).tolist() == [True, True]


def test_a_curve_reads_the_block_of_its_ranking() -> None:
    nothing = Grouped(np.zeros(2, np.int64), np.zeros(0, np.int32), {})
    block = RankingBlock("", nothing, nothing)
    measured = State(Units(np.arange(2)), Metadata(flags={"x": 1}), {Ranked(): block})
    totals = Totals(measured, POINT.bind(measured.units))
    reading = totals[Reader(Ranked())]
    assert reading == (block, totals.weights, measured.metadata)
    assert totals[Reader(Ranked())] is reading


def test_rows_are_summed_by_unit() -> None:
    assert sum_by_unit(np.array([1.0, 2, 4]), np.array([2, 0, 2]), 4).values.tolist() == [2, 0, 5, 0]
