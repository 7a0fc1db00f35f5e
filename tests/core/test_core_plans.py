"""Plans, kinds of units and answered rankings by hand: which rows of weights they give, and what they refuse."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core import plan as module
from steelyard.core.block import CellsBlock
from steelyard.core.by_group import AnsweredBlock, GroupCurve
from steelyard.core.counts import count_text
from steelyard.core.distinct import DistinctCells, DistinctUnits
from steelyard.core.frozen import frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.plan import COUNT, JACKKNIFE, POINT, UNITS, leave_groups_out
from steelyard.core.statistic import Ranking, SharedCache
from steelyard.core.units import Units
from steelyard.core.weights import EachUnit, Entries, LeaveGroupOut, LeaveOneOut, Plain, Role


def keys(*values: int) -> Any:
    return lambda: np.array(values, dtype=np.uint64)


def test_few_units_are_left_out_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LEFT_OUT", 3)
    weights = leave_groups_out(np.array([1.0, 2, 0]), lambda: pytest.fail("nobody needs the keys"))
    assert isinstance(weights, LeaveOneOut)
    assert np.concatenate(list(weights.blocks())).tolist() == [[0, 2, 0], [1, 0, 0], [1, 2, 0]]


def test_many_units_are_left_out_in_groups_by_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys modulo 3 are 0, 1, 2, 0 and 1; the unit without a weight is in no group, so only two are left."""
    monkeypatch.setattr(module, "MOST_LEFT_OUT", 3)
    weights = leave_groups_out(np.array([1.0, 2, 0, 1, 3]), keys(3, 7, 8, 9, 4))
    assert isinstance(weights, LeaveGroupOut)
    assert (weights.group.tolist(), weights.group.dtype, weights.rows) == ([0, 1, -1, 0, 1], np.int32, 2)
    assert np.concatenate(list(weights.blocks())).tolist() == [[0, 2, 0, 0, 3], [1, 0, 0, 1, 0]]
    every = leave_groups_out(np.ones(4), keys(5, 8, 4, (1 << 64) - 2))  # 2, 2, 1 and 2: none is 0
    assert isinstance(every, LeaveGroupOut)
    assert (every.group.tolist(), every.rows) == ([1, 1, 0, 1], 2)


def test_a_jackknife_leaves_each_of_many_units_out_once() -> None:
    ids = np.arange(1500)
    weights = JACKKNIFE.bind(Units(ids, np.full(1500, 0.5)))
    assert isinstance(weights, LeaveGroupOut)
    assert (0.5 * 1500 - weights @ np.ones(1500)).sum() == 0.5 * 1500
    assert 700 < weights.rows <= 1000  # 1000 (1 - exp(-1.5)) = 777 groups are used, if keys are spread
    alone = JACKKNIFE.bind(Units(ids[:1200]))
    assert isinstance(alone, LeaveGroupOut)
    together = weights.group[:1200, np.newaxis] == weights.group[:1200]
    assert ((alone.group[:, np.newaxis] == alone.group) == together).all()  # whoever else is there
    assert isinstance(JACKKNIFE.bind(Units(ids[:1000])), LeaveOneOut)


def test_what_a_plan_says_of_its_weights() -> None:
    for units, even in (
        (Units(np.arange(2)), True),
        (Units(np.arange(2), np.ones(2)), False),
        (Units(np.arange(2), None, np.array([3, 4])), False),
    ):
        weights = POINT.bind(units)
        assert (weights.even, weights.whole) == (even, True)
        assert (COUNT.bind(units).even, COUNT.bind(units).whole) == (False, False)
    assert isinstance(UNITS.bind(Units(np.arange(2))), EachUnit)


MATRIX = np.array([[2, 0], [1, 4]])
FACTS = Metadata({"class": Axis(("a", "b"))})


def test_kinds_of_units_are_the_filled_cells() -> None:
    units = DistinctUnits(MATRIX)
    assert (units.ids.tolist(), units.copies.tolist(), units.count, units.deduplicated) == (
        [0, 2, 3],
        [2, 1, 4],
        7,
        True,
    )
    assert (len(units), units.weight, units.plain.tolist()) == (3, None, [2, 1, 4])
    again = pickle.loads(pickle.dumps(units))
    assert type(again) is Units
    assert (again.ids.tolist(), again.weight, again.copies.tolist()) == ([0, 2, 3], None, [2, 1, 4])


def test_cells_of_kinds_are_listed_when_they_are_needed() -> None:
    calls: list[str] = []

    def make() -> Entries:
        calls.append("entries")
        return Entries(np.arange(3), np.array([0, 2, 3]), None, 4)

    def all_units() -> np.ndarray:
        calls.append("all")
        return MATRIX.astype(float)

    cells = DistinctCells(("class", "class"), make, all_units)
    units = DistinctUnits(MATRIX)
    assert cells.total(POINT.bind(units), FACTS).tolist() == [[[2, 0], [1, 4]]]
    assert calls == ["all"]
    assert cells.total(Plain(np.array([1.0, 0, 0.5])), FACTS).tolist() == [[[1, 0], [0, 0.5]]]
    assert cells.total(UNITS.bind(units), FACTS).tolist() == [[[1, 0], [0, 0]], [[0, 0], [1, 0]], [[0, 0], [0, 1]]]
    assert calls == ["all", "entries"]  # made once
    again = pickle.loads(pickle.dumps(cells))
    assert (type(again), again.axes, again.entries.code.tolist()) == (CellsBlock, ("class", "class"), [0, 2, 3])


@frozen
class Given(Ranking):
    """A ranking that is given."""

    name = "core.plans.given"

    def measure(self, pairs: Any, cache: SharedCache) -> Any:
        raise TypeError("given")


@frozen
class Area(GroupCurve):
    """A curve that no histogram bounds."""

    def read(self, block: Any, weights: Any, facts: Any) -> Any:
        return None

    def read_group(self, block: Any, weights: Any) -> Any:
        return ()

    def join(self, parts: Any) -> Any:
        return None


def test_what_a_curve_by_groups_can_do_unless_it_says_more() -> None:
    curve = Area(Given())
    assert (curve.approximate, curve.groups(FACTS), curve.stream(None, 3)) == (False, None, None)  # type: ignore[arg-type]
    assert (curve.pooled, curve.drawn) == (False, True)
    for ask in (lambda: curve.histogram(None, 4), lambda: curve.bound_reading({}, FACTS, True)):  # type: ignore[arg-type]
        with refuses("E-unsupported", "'core.plans.given'"):
            ask()


def test_an_answered_ranking_gives_what_was_read() -> None:
    curve = Area(Given())
    block = AnsweredBlock({(curve, Role.POINT): "point", (curve, Role.DRAWS): "draws"})
    units = Units(np.arange(2))
    assert [block.read(curve, plan.bind(units), FACTS) for plan in (POINT, COUNT)] == ["point", "point"]
    assert block.read(curve, module.WeightPlan(Role.DRAWS, rows=1).bind(units), FACTS) == "draws"
    with pytest.raises(KeyError):
        block.read(curve, UNITS.bind(units), FACTS)
    for ask in (
        lambda: block.take(np.arange(1), 1), lambda: AnsweredBlock.stack([block], [2]), block.pack,
        lambda: AnsweredBlock.unpack({}, {}),
    ):  # fmt: skip
        with refuses(TypeError, "elsewhere"):
            ask()
    with refuses(TypeError, "curve"):
        block.total(POINT.bind(units), FACTS)


@pytest.mark.parametrize(
    ("count", "word", "text"),
    [
        (1, "dish", "1 dish"), (0, "dish", "0 dishes"), (1200, "dish", "1,200 dishes"), (2, "class", "2 classes"),
        (2, "batch", "2 batches"), (2, "box", "2 boxes"), (2, "image", "2 images"), (1, "query", "1 query"),
        (2, "query", "2 queries"), (2, "day", "2 days"), (2, "survey", "2 surveys"), (2, "toy", "2 toys"),
        (2, "guy", "2 guys"), (2, "moth", "2 moths"), (2, "arc", "2 arcs"),
    ],
)  # fmt: skip
def test_counts_in_words(count: int, word: str, text: str) -> None:
    assert count_text(count, word) == text
