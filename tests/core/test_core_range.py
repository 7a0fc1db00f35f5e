"""A metric declares its range, and a value outside it is an error that names the metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.metric import Metric
from steelyard.core.state import Totals
from steelyard.core.weights import Role
from steelyard.extend import Floats, Requirement, frozen

METRICS = [
    pytest.param(task, metric, id=f"{task}-{metric}") for task in catalogue.TASKS for metric in catalogue.metrics(task)
]


class Rows:
    """Totals that give a metric values of ours."""

    def __init__(self, rows: int) -> None:
        self.state, self.role, self.rows = None, Role.POINT, rows

    def only(self, declared: Any) -> Any:
        return self


def given(metric: Metric, values: list[float]) -> Floats:
    """What `Totals.of` says where the metric's values are these."""
    cls = type(f"Given{type(metric).__name__}", (type(metric),), {"reduce": lambda self, totals: np.array(values)})
    other = object.__new__(cls)
    other.__dict__.update(metric.__dict__)
    return Totals.of(Rows(len(values)), other)  # type: ignore[arg-type]


@pytest.mark.parametrize(("task", "metric"), METRICS)
def test_every_metric_refuses_a_value_outside_its_range(task: str, metric: Metric) -> None:
    low, high = metric.range
    assert low < high
    inside = [max(low, -1e6), min(high, 1e6), float("nan")]
    assert given(metric, inside).tolist()[:2] == inside[:2]
    for outside in [
        *([low - 0.01 - abs(low)] if np.isfinite(low) else []),
        *([high + 0.01] if np.isfinite(high) else []),
    ]:
        with refuses("E-invalid-spec", f"'{metric}'"):
            given(metric, [inside[0], outside])


def define(**facts: Any) -> type[Metric]:
    body: dict[str, Any] = {
        "name": "mine",
        "title": "Mine",
        "requirements": lambda self: (),
        "reduce": lambda self, t: t.undefined(),
    }
    return type("Mine", (Metric,), body | facts)


def test_an_unknown_direction_is_refused_where_the_class_is_defined() -> None:
    with refuses("E-invalid-value", "'Mine'", "'smaller'", "lower"):
        define(range=(0, 1), better="smaller")


SIDES = ({"dish": ["a", "b"], "weight": [1, 2]}, {"dish": ["a", "b"], "weight": [2, 2]})


@pytest.mark.parametrize(
    ("metrics", "names"),
    [
        (define(range=(0, 1)), ["Mine is a class", "Mine()"]),
        ([define(range=(0, 1), reduce=lambda self, t: 0.5)()], ["'mine'", "()", "(1,)"]),
        ([define(range=(0, 1), reduce=lambda self, t: np.zeros((t.rows, 2)))()], ["'mine'", "(1, 2)", "(1,)"]),
    ],
    ids=["a class", "a number", "a matrix"],
)
def test_what_is_not_a_value_for_each_row_is_refused(metrics: Any, names: list[str]) -> None:
    wanted = metrics if isinstance(metrics, list) else [metrics]
    with refuses("E-invalid-spec", *names):
        sy.evaluate("weights", *SIDES, wanted, confidence=None)


def test_two_metrics_of_one_name_are_refused() -> None:
    with refuses("E-conflict", "'mae'"):
        sy.evaluate("weights", *SIDES, [define(name="mae", range=(0, 1))(), "mae"], confidence=None)


def test_a_score_is_of_one_metric() -> None:
    with refuses("E-invalid-spec", "'mae'", "'bias'"):
        sy.score("weights", *SIDES, ["mae", "bias"])


def test_a_class_without_a_range_is_refused_where_it_is_defined() -> None:
    with refuses("E-invalid-value", "'Mine'", "0", "1)`"):
        define()


@pytest.mark.parametrize("ends", [(1, 0), (0, 0), (0,), [0, 1], (0, "1"), None, (float("nan"), 1)])
def test_what_is_no_range_is_refused(ends: Any) -> None:
    with refuses("E-invalid-value", "'Mine'"):
        define(range=ends)


def test_a_class_may_declare_any_range() -> None:
    assert define(range=(0, float("inf"))).range == (0, float("inf"))
    assert type("Family", (Metric,), {}).__name__ == "Family"  # a base without a name needs none


def test_a_pinball_loss_of_a_wrong_range_is_an_error() -> None:
    """The finding: a loss of 16.1 was printed with the interval [12.07, 1]."""
    from steelyard.extend import Pairs, SharedCache, Sum, SumBlock, ratio, sum_by_unit

    @frozen
    class Loss(Sum):
        """The loss, and the rows."""

        name = "tests.pinball"

        def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
            off = pairs.truth_column("weight") - pairs.prediction_column("weight", missing=0.0)
            return sum_by_unit(np.maximum(0.9 * off, -0.1 * off), pairs.owner, len(pairs.units))

    @frozen
    class Count(Sum):
        """How many rows there are."""

        name = "tests.rows"

        def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
            return sum_by_unit(pairs.owner * 0 + 1, pairs.owner, len(pairs.units))

    def pinball(ends: tuple[float, float]) -> type[Metric]:
        @frozen
        class Pinball(Metric):
            """The pinball loss."""

            name, title, better, range = "pinball", "Pinball loss", "lower", ends

            def requirements(self) -> tuple[Requirement, ...]:
                return Loss(), Count()

            def reduce(self, totals: Totals) -> Floats:
                return ratio(totals[Loss()], totals[Count()])

        return Pinball

    truth = {"dish": ["a", "b"], "weight": [100.0, 50.0]}
    predictions = {"dish": ["a", "b"], "weight": [90.0, 70.0]}
    # 0.9 · 10 and 0.1 · 20, of which the mean is 5.5
    report = sy.evaluate("weights", truth, predictions, [pinball((0, float("inf")))()])
    assert report["pinball"].value == pytest.approx(5.5)
    with refuses("E-invalid-spec", "'pinball'", "5.5", "0", "1"):
        sy.evaluate("weights", truth, predictions, [pinball((0, 1))()])
