"""From what was asked for to what is measured: columns of each model, metrics, default clusters and notes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core import catalogue
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.pairs import Coverage
from steelyard.core.plan import POINT
from steelyard.core.progress import use_progress
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.units import Units
from steelyard.engine.run import (
    check_asked,
    expand_metrics,
    measure_models,
    measure_sides,
    metrics_of,
    model_columns,
)

WEIGHTS = catalogue.find_task("weights")


@pytest.mark.parametrize(
    ("columns", "models", "expected"),
    [
        ({}, 2, [{}, {}]),
        ({"weight": "g"}, 2, [{"weight": "g"}, {"weight": "g"}]),
        ({"a.weight": "x", "b.weight": "y"}, 2, [{"prediction.weight": "x"}, {"prediction.weight": "y"}]),
        ({"a.weight": "x"}, 2, [{"prediction.weight": "x"}, {}]),
        # what is said of one model goes before what is said of all, in either order
        ({"a.weight": "x", "prediction.weight": "y"}, 2, [{"prediction.weight": "x"}, {"prediction.weight": "y"}]),
        ({"prediction.weight": "y", "a.weight": "x"}, 2, [{"prediction.weight": "x"}, {"prediction.weight": "y"}]),
        ({"truth.weight": "t", "b.id": "k"}, 2, [{"truth.weight": "t"}, {"truth.weight": "t", "prediction.id": "k"}]),
        # two models are called a and b: c, ab and an empty name are unknown
        ({"c.w": "x"}, 2, [{"c.w": "x"}] * 2),
        ({"ab.w": "x", ".w": "y"}, 2, [{"ab.w": "x", ".w": "y"}] * 2),
        ({"a": "x"}, 1, [{"a": "x"}]),
        ({"a.b.c": "x"}, 1, [{"prediction.b.c": "x"}]),
    ],
)
def test_columns_of_each_model(columns: dict[str, str], models: int, expected: list[dict[str, str]]) -> None:
    assert [model_columns(columns, model, models) for model in range(models)] == expected


def test_more_models_than_letters() -> None:
    assert model_columns({"z.weight": "x"}, 25, 27) == {"prediction.weight": "x"}
    assert model_columns({"z.weight": "x", "weight": "g"}, 26, 27) == {"weight": "g"}


def test_metrics_are_the_defaults_or_what_is_asked_for_once() -> None:
    mae, bias = (catalogue.parse(spec, "weights") for spec in ("mae", "bias"))
    assert [str(metric) for metric in metrics_of(WEIGHTS, None)] == list(WEIGHTS.defaults)
    assert metrics_of(WEIGHTS, ["bias", mae, "MAE", "mae", bias]) == [bias, mae]
    with refuses("E-empty-input", "'weights'"):
        metrics_of(WEIGHTS, [])
    with refuses("E-unknown-metric", "'mea'", "'mae'"):
        metrics_of(WEIGHTS, ["mea"])
    with refuses("E-invalid-spec", "topk", "0"):
        metrics_of(catalogue.find_task("labels"), [replace(catalogue.parse("topk@5", "labels"), k=0)])


def test_a_choice_depends_on_the_data_where_the_task_says_so() -> None:
    """`per_class(f1)` stands for one metric of each class. Defaults may depend on metadata; what is asked for does not."""
    labels = catalogue.find_task("labels")
    state = State(Units(np.zeros(0, np.int64)), Metadata({"class": Axis(("a", "b"))}), {})
    chosen = metrics_of(labels, ["per_class(f1)", "f1(label=a)", "accuracy"])
    assert [str(one) for one in expand_metrics(labels, chosen, False, state)] == [
        "f1(label=a)",
        "f1(label=b)",
        "accuracy",
    ]
    made: Any = replace(WEIGHTS, defaults_for=lambda metadata: ("bias", "bias") if "class" in metadata.axes else ())
    mae = metrics_of(made, ["mae"])
    assert [str(one) for one in expand_metrics(made, mae, True, state)] == ["bias"]
    assert [str(one) for one in expand_metrics(made, mae, False, state)] == ["mae"]
    assert [str(one) for one in expand_metrics(WEIGHTS, mae, True, state)] == ["mae"]


def test_what_no_data_could_answer() -> None:
    check_asked(WEIGHTS, Request("weights", ("mae",)))
    with refuses("E-unknown-metric", "'mea'"):
        check_asked(WEIGHTS, Request("weights", ("mea",)))
    without = next(task for task in catalogue.built_in().values() if task.explain is None)
    check_asked(without, Request(without.name))
    with refuses("E-unsupported", f"'{without.name}'") as caught:
        check_asked(without, Request(without.name, explain=("tool",)))
    error: Any = caught.value
    have = [name for name, task in catalogue.built_in().items() if task.explain is not None]
    assert error.where == ""
    assert error.remedy.removesuffix(".").partition(": ")[2] == ", ".join(have)


def dishes(*ids: str, **columns: Any) -> dict[str, Any]:
    return {"dish": list(ids), **columns}


def test_models_that_lack_predictions_are_scored_on_what_all_have() -> None:
    """The first lacks d, the second a: b and c are left, with errors of 2 and 6, and of 1 and 1."""
    truth = dishes("a", "b", "c", "d", weight=[10, 10, 10, 10])
    models = [dishes("a", "b", "c", weight=[11, 8, 16]), dishes("b", "c", "d", weight=[11, 9, 99])]
    request = Request.of("weights", "mae", {"missing": "skip", "confidence": None})
    first, second = measure_models(WEIGHTS, request, truth, models)
    (mae,) = first.metrics
    assert [float(model.state.totals(POINT).of(mae)[0]) for model in (first, second)] == [4.0, 1.0]
    assert first.coverage == second.coverage == Coverage(4, 3, 2, 2, 0, "common")
    lacking = "model 1 lacks 1, model 2 lacks 1"
    for model in (first, second):
        assert (
            model.notes[-1] == f"Every model is scored on the 2 items that all models have a prediction for: {lacking}."
        )
    apart = [dishes("a", weight=[11]), dishes("b", weight=[11])]
    with refuses("E-unmatched", "model 1 lacks 3, model 2 lacks 3", "`missing='worst'`"):
        measure_models(WEIGHTS, request, truth, apart)
    alone = measure_models(WEIGHTS, request, truth, models[:1])
    assert [model.coverage.policy for model in alone] == ["skip"]


def errors_of(models: list[Any]) -> list[float]:
    return [float(model.state.totals(POINT).of(model.metrics[0])[0]) for model in models]


def test_each_model_has_its_own_columns() -> None:
    truth = dishes("a", "b", weight=[10, 10])
    models = [dishes("a", "b", x=[11, 12], y=[0, 0]), dishes("a", "b", x=[0, 0], y=[13, 14])]
    request = Request.of("weights", "mae", {"confidence": None, "columns": {"a.weight": "x", "b.weight": "y"}})
    assert errors_of(measure_models(WEIGHTS, request, truth, models)) == [1.5, 3.5]


def test_a_task_may_take_plain_data() -> None:
    """Its notes are those of the report, and what it makes of the data is read."""
    truth, predictions = dishes("a", "b", weight=[10, 10]), dishes("a", "b", weight=[11, 12])

    def plain(given: Any, predicted: Any) -> Any:
        return (
            None
            if isinstance(given, dict)
            else (truth, predictions, ("Taken as dishes.",))
            if (given, predicted) == (1, 2)
            else None
        )

    task = replace(WEIGHTS, plain=plain)
    request = Request.of("weights", "mae", {"confidence": None})
    steps: list[tuple[Any, ...]] = []
    with use_progress(lambda *said: steps.append(said)):
        model = measure_sides(task, request, 1, 2)
    assert (errors_of([model]), model.notes) == ([1.5], ("Taken as dishes.",))
    assert steps == [("reading", 0, 1), ("matching", 0, 1), ("matching", 1, 1)]


def test_models_are_measured_again_on_units_that_all_have() -> None:
    """A task says which pairs are compared: here the second model keeps the first row alone, with its groups."""
    truth = dishes("a", "b", weight=[10, 10], site=["x", "y"])
    models = [dishes("a", "b", weight=[11, 12]), dishes("a", "b", weight=[13, 19])]
    asked: list[Any] = []

    def align(pairs: Any, metrics: Any) -> Any:
        asked.append((len(pairs), metrics))
        return [pairs[0], pairs[1].select(np.array([True, False]))]

    request = Request.of("weights", "mae", {"confidence": None, "cluster": "site"})
    first, second = measure_models(replace(WEIGHTS, align=align), request, truth, models)
    assert asked == [(2, first.metrics)]
    assert errors_of([first, second]) == [1.5, 3.0]
    assert second.state.units.cluster is not None
    assert errors_of(measure_models(replace(WEIGHTS, align=align), request, truth, models[1:])) == [6.0]
