"""How data are split into slices: by columns of units and of rows, alone and crossed, of one model and of two."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core import catalogue
from steelyard.core.plan import POINT
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.engine.measure import measure_state
from steelyard.engine.run import Measured, measure_sides
from steelyard.engine.slices import MOST_SLICES, paired_slices, slices, text_of

WEIGHTS = catalogue.find_task("weights")
TRUTH: dict[str, Any] = {
    "dish": ["a", "a", "b", "b", "c"],
    "item": [1, 2, 3, 4, 5],
    "weight": [10, 10, 10, 10, 10],
    "food": ["rice", "rice", "rice", "bread", "bread"],
    "site": ["x", "x", "x", "x", "y"],
    "shelf": [1.0, 1.0, 2.5, 2.5, math.nan],
    "cut": ["", " thin ", "", "thin", None],
}
ERRORS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}


def measured(items: dict[int, int] = ERRORS, **settings: Any) -> Measured:
    """Items with an error each: 1 to 5, unless others are given."""
    rows = [i for i, item in enumerate(TRUTH["item"]) if item in items]
    predicted = {
        "dish": [TRUTH["dish"][i] for i in rows],
        "item": [TRUTH["item"][i] for i in rows],
        "weight": [10 + error for error in items.values()],
    }
    return measure_sides(WEIGHTS, Request.of("weights", "mae", {"confidence": None, **settings}), TRUTH, predicted)  # type: ignore[typeddict-item]


def shown(states: dict[Any, State], model: Measured) -> dict[Any, tuple[list[str], float]]:
    """The units of each slice, and the mean error."""
    (mae,) = model.metrics
    return {name: (state.units.ids.tolist(), float(state.totals(POINT).of(mae)[0])) for name, state in states.items()}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        # constant in each dish: whole dishes
        (["site"], {("x",): (["a", "b"], 2.5), ("y",): (["c"], 5.0)}),
        (["shelf"], {("(none)",): (["c"], 5.0), ("1",): (["a"], 1.5), ("2.5",): (["b"], 3.5)}),
        # varies inside dish b, which is in both with some of its rows
        (["food"], {("bread",): (["b", "c"], 4.5), ("rice",): (["a", "b"], 2.0)}),
        (["cut"], {("(none)",): (["a", "b", "c"], 3.0), ("thin",): (["a", "b"], 3.0)}),
        (
            ["food", "site"],
            {("bread", "x"): (["b"], 4.0), ("bread", "y"): (["c"], 5.0), ("rice", "x"): (["a", "b"], 2.0)},
        ),
        (
            ["site", "food"],
            {("x", "bread"): (["b"], 4.0), ("x", "rice"): (["a", "b"], 2.0), ("y", "bread"): (["c"], 5.0)},
        ),
    ],
)
def test_slices_of_one_model(by: list[str], expected: dict[Any, tuple[list[str], float]]) -> None:
    model = measured()

    def measure(pairs: Any) -> State:
        return measure_state(pairs, model.metrics)

    assert shown(slices(model.pairs, model.state, by, measure), model) == expected


def test_slices_of_two_models_hold_the_units_of_either() -> None:
    """The first has no item 4, the second no item 5; without the policy each would be refused."""
    first, second = (
        measured({item: error for item, error in ERRORS.items() if item != left}, missing="skip") for left in (4, 5)
    )

    def measure(pairs: Any) -> State:
        return measure_state(pairs, first.metrics)

    sides = [(one.pairs, one.state) for one in (first, second)]
    both = paired_slices(sides, ["food"], measure)
    assert list(both) == [("bread",), ("rice",)]
    for name, values in ((("bread",), (5.0, 4.0)), (("rice",), (2.0, 2.0))):
        units = ["b", "c"] if name == ("bread",) else ["a", "b"]
        values_of_models = [shown({name: part}, first)[name] for part in both[name]]
        assert values_of_models == [(units, values[0]), (units, values[1])]
    by_site = paired_slices(sides, ["site"], measure)
    assert [shown({0: part}, first)[0] for part in by_site[("x",)]] == [(["a", "b"], 2.0), (["a", "b"], 2.5)]
    assert [part.units.ids.tolist() for part in by_site[("y",)]] == [["c"], ["c"]]


def test_too_many_slices() -> None:
    count = MOST_SLICES + 1
    for size in (MOST_SLICES, count):
        truth = {"dish": list(map(str, range(size))), "weight": [1.0] * size}
        model = measure_sides(WEIGHTS, Request("weights", ("mae",), confidence=None), truth, truth)

        def measure(pairs: Any, model: Measured = model) -> State:
            return measure_state(pairs, model.metrics)

        if size == count:
            with refuses("E-too-large", "'dish'", str(count), str(MOST_SLICES)):
                slices(model.pairs, model.state, ["dish"], measure)
        else:
            assert len(slices(model.pairs, model.state, ["dish"], measure)) == size


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (math.nan, ""),
        ("", ""),
        (" a b ", "a b"),
        ("nan", "nan"),
        (3.0, "3"),
        (3.5, "3.5"),
        (-0.0, "0"),
        (1e22, "10000000000000000000000"),
        (7, "7"),
        (True, "True"),
        (np.str_("x"), "x"),
        (date(2026, 3, 1), "2026-03-01"),
    ],
)
def test_cells_as_texts(value: Any, text: str) -> None:
    assert text_of(value) == text
