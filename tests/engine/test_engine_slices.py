"""Slices of needs whose rows are looked at together, by hand; and what units move, of many units and of two models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.engine_states import Count, Mean, N, X, state_of

from steelyard.core.block import SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.plan import JACKKNIFE, UNITS
from steelyard.core.rows import RowsBlock, RowTable
from steelyard.core.state import State
from steelyard.core.statistic import Rows, SharedCache
from steelyard.core.units import Units
from steelyard.engine import together
from steelyard.engine.slices import among_all
from steelyard.engine.together import _effect, _influences, _some_groups


@frozen
class Portion(Rows):
    """The rows of a unit over those of all."""

    name, columns = "engine.slices.portion", {"size": "f"}

    def measure(self, pairs: Any, cache: SharedCache) -> RowsBlock:
        raise TypeError("given")

    def finish(self, rows: RowTable) -> SumBlock:
        owner = np.repeat(np.arange(len(rows.ids)), np.diff(rows.begin))
        sums = np.bincount(owner, weights=rows.columns["size"], minlength=len(rows.ids))
        return SumBlock(sums / sums.sum())

    def bare(self, rows: RowTable) -> RowTable:
        return rows


def portions(ids: list[str], sizes: list[list[float]], classes: tuple[str, ...] = ()) -> State:
    begin = np.cumsum([0, *map(len, sizes)])
    columns = {"size": np.array([x for one in sizes for x in one], float)}
    table = RowTable(Portion(), np.array(ids), begin, columns)
    blocks = {Portion(): RowsBlock((table,), np.arange(len(ids))), X: SumBlock(np.arange(len(ids)) + 1.0)}
    return State(Units(np.array(ids)), Metadata({"class": Axis(classes)} if classes else {}), blocks)


def values(states: dict[Any, State]) -> dict[Any, list[float]]:
    return {name: state.totals(UNITS)[Portion()].tolist() for name, state in states.items()}


def test_whole_units_of_a_slice_keep_the_values_of_the_whole() -> None:
    """Of 1, 2, 5: slices that were measured apart would say 1/6, 5/6 and 1."""
    whole = portions(["a", "b", "c"], [[1], [2], [5]])
    parts = {("p",): portions(["c", "a"], [[5], [1]]), ("q",): portions(["b"], [[2]])}
    assert values(parts) == {("p",): [5 / 6, 1 / 6], ("q",): [1]}
    sliced = among_all(whole, parts)
    assert values(sliced) == {("p",): [5 / 8, 1 / 8], ("q",): [2 / 8]}
    assert {name: state.units.ids.tolist() for name, state in sliced.items()} == {("p",): ["c", "a"], ("q",): ["b"]}
    assert sliced["p",].totals(UNITS)[X].tolist() == [1, 2]  # other needs are those of the part


def test_units_in_two_slices_keep_their_own_rows_among_the_others() -> None:
    """Unit a has a row of 1 in p and of 3 in q; b has 4. In p it is 1 of 1 + 4, in q 3 of 3 + 4."""
    whole = portions(["a", "b"], [[1, 3], [4]])
    sliced = among_all(whole, {("p",): portions(["a"], [[1]]), ("q",): portions(["a", "b"], [[3], [4]])})
    assert values(sliced) == {("p",): [1 / 5], ("q",): [3 / 7, 4 / 7]}


def test_a_slice_knows_all_classes() -> None:
    whole = portions(["a", "b"], [[1], [2]], ("x", "y"))
    sliced = among_all(whole, {("p",): portions(["b"], [[2]], ("y",))})
    assert sliced["p",].metadata.axes["class"].ids == ("x", "y")
    assert values(sliced) == {("p",): [2 / 3]}


def test_what_units_move_is_the_jackknife_without_its_mean() -> None:
    """Means of 0, 3, 6 without one of them: 4.5, 3, 1.5."""
    state = state_of([0.0, 3.0, 6.0])
    taken = _influences(Mean(), [state], [state.totals(JACKKNIFE)], np.array([4, 9, 4]))
    assert taken is not None
    assert (taken[0].tolist(), taken[1].tolist()) == ([1.5, 0, -1.5], [0, 1, 0])


def test_units_that_do_not_count_are_left_out() -> None:
    """The second unit weighs nothing: of 0 and 6 the other is left, and the group of nobody is gone."""
    state = state_of([0.0, 3.0, 6.0], weight=np.array([1.0, 0.0, 1.0]))
    taken = _influences(Mean(), [state], [state.totals(JACKKNIFE)], np.array([0, 1, 2]))
    assert taken is not None
    assert (taken[0].tolist(), taken[1].tolist()) == ([3, -3], [0, 1])
    lone = state_of([0.0, 3.0], weight=np.array([1.0, 0.0]))
    assert _influences(Mean(), [lone], [lone.totals(JACKKNIFE)], np.array([0, 1])) is None


def test_what_units_move_of_a_difference() -> None:
    """B without one: 3, 1.5, 4.5; less A's 4.5, 3, 1.5."""
    states = [state_of([0.0, 3.0, 6.0]), state_of([3.0, 6.0, 0.0])]
    taken = _influences(Mean(), states, [state.totals(JACKKNIFE) for state in states], np.arange(3))
    assert taken is not None
    assert taken[0].tolist() == [-1.5, -1.5, 3]


def test_of_many_units_some_whole_groups_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of 2, 1, 1, 1, 1, 3: up to 6 units the first five fit, and the last is left out."""
    monkeypatch.setattr(together, "DENSE_UNITS", 6)
    code = np.array([5, 0, 1, 2, 0, 3, 4, 5, 5])
    assert _some_groups(code, 6).tolist() == [1, 2, 3, 4, 5, 6]
    x = np.array([9.0, 1, 2, 3, 4, 5, 6, 9, 9])
    taken = _influences(Mean(), [state_of(x)], [None], code)
    assert taken is not None
    assert taken[1].tolist() == [0, 1, 2, 0, 3, 4]
    left = [(21 - one) / 5 for one in (1, 2, 3, 4, 5, 6)]
    np.testing.assert_allclose(taken[0], np.array(left) - np.mean(left), rtol=1e-13)
    monkeypatch.setattr(together, "DENSE_UNITS", 5)  # the first four groups are too few
    assert _influences(Mean(), [state_of(x)], [None], code) is None


def test_the_first_metric_with_a_value_is_asked() -> None:
    """Sums over all units say nothing of units that go together; six pairs of equal units do: an effect of 2."""
    x, code = np.repeat([0.0, 1, 2, 7, 8, 9], 2), np.repeat(np.arange(6), 2)
    state = state_of(x)
    left = [state.totals(JACKKNIFE)]
    assert _effect([Count()], [state], left, code, 0) == 0
    assert _effect([Count(), Mean()], [state], left, code, 0) == pytest.approx(2)
    assert _effect([Mean()], [state], left, np.tile(np.arange(6), 2), 0) == 0  # pairs that are not alike
    nothing = state_of(x, n=np.zeros(12))
    assert nothing.totals(UNITS)[N].tolist() == [0] * 12
    assert _effect([Mean()], [nothing], [nothing.totals(JACKKNIFE)], code, 0) == 0
