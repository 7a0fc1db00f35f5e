"""The catalogue: tasks by name, lent and brought ones, what a spec may say, and what tools are explained by."""

from __future__ import annotations

import dataclasses
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest
from support.asked import refusal
from support.refusal import refuses

from steelyard.core import catalogue, registry
from steelyard.core.explanation import Explanation, Step
from steelyard.core.frozen import frozen
from steelyard.tasks.shared.agreement import agreement, binned_table, bins_of, error_by_size
from steelyard.tasks.shared.tools import Tool, explain_tool

NAMES = [
    "weights", "sequences", "boxes", "masks", "keypoints", "oriented", "losses", "ellipses", "labels", "rankings", "captions",
    "segmentation", "tracking", "panoptic", "volumes", "answers", "boxes3d", "nutrients",
    "grounding", "tables",
    "documents",
    "anomalies",
    "distributions",
    "depth", "normals",
    "images",
    "flow", "disparity",
]  # fmt: skip


def lend(name: str, **changes: Any) -> Any:
    return dataclasses.replace(catalogue.find_task("weights"), name=name, **changes)


def test_tasks_of_this_package() -> None:
    assert list(catalogue.MODULES) == NAMES
    made = catalogue.built_in()
    assert list(made) == NAMES
    assert [task.name for task in made.values()] == NAMES
    assert set(catalogue.samples()) <= set(catalogue.TASKS)


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two entry points: a task by another name, and one whose module is not there."""
    points = {
        "borrowed": (EntryPoint("borrowed", "steelyard.tasks.weights.task:TASK", registry.TASKS),),
        "broken": (EntryPoint("broken", "no.such.module:TASK", registry.TASKS),),
        "boxes": (EntryPoint("boxes", "steelyard.tasks.weights.task:TASK", registry.TASKS),),
    }
    monkeypatch.setattr(registry, "plugins", lambda group: points if group == registry.TASKS else {})


@pytest.mark.usefixtures("brought")
def test_tasks_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(catalogue.TASKS) == [*NAMES, "borrowed", "broken"]
    assert len(catalogue.TASKS) == len(NAMES) + 2
    assert "borrowed" in catalogue.TASKS
    assert "elsewhere" not in catalogue.TASKS
    assert catalogue.TASKS["boxes"].name == "boxes"
    with refuses(KeyError, "'elsewhere'"):
        catalogue.TASKS["elsewhere"]
    with refuses("E-unknown-task", "'borowed'", "'borrowed'"):
        catalogue.find_task("borowed")
    monkeypatch.setattr(catalogue, "find_sample", lambda module, name: None if name == "boxes" else (module, name))
    expected = {name: (module, name) for name, module in catalogue.MODULES.items() if name != "boxes"}
    expected |= {"borrowed": ("steelyard.tasks.weights.task", "borrowed"), "broken": ("no.such.module", "broken")}
    assert catalogue.samples() == expected
    tasks, problems = catalogue.loaded_tasks()
    assert [name for name in tasks if name not in ("borrowed", "broken")] == NAMES
    assert any("'broken'" in problem for problem in problems)
    hidden = registry.hidden_names(registry.TASKS, catalogue.MODULES, "task")
    assert problems[: len(hidden)] == hidden
    assert any(problem.startswith("task 'boxes' of ") for problem in hidden)


def test_tasks_that_are_lent() -> None:
    first, second = lend("trial"), lend("trial", title="other")
    assert "trial" not in catalogue.TASKS
    with catalogue.registered(first):
        assert catalogue.find_task("trial") is first
        with catalogue.registered(second):
            assert catalogue.find_task("trial") is second
        assert catalogue.find_task("trial") is first
    assert "trial" not in catalogue.TASKS
    with catalogue.registered(lend("weights", title="other")):
        assert catalogue.find_task("weights").title == "other"
    assert catalogue.find_task("weights").title == "Food weights, dish by dish"


def test_names_of_other_tools() -> None:
    task = lend("trial", spellings={"error": "mae", "tight": "within@5"})
    parsed = {spec: str(catalogue.parse_for(spec, task)) for spec in ("error", "tight", "mae")}
    assert parsed == {"error": "mae", "tight": "within@5", "mae": "mae"}
    with refuses("E-duplicate-key", "'within'", "'percent'"):
        catalogue.parse_for("tight(percent=3)", task)  # fmt: skip
    loose = lend("trial", spellings={"near": "within", "mean_absolute_percentage_error": "mape"})
    assert str(catalogue.parse_for("near@7", loose)) == "within@7"
    assert str(catalogue.parse_for("mean_absolute_percentage_error(zero=eps)", loose)) == "mape(zero=eps)"


SETTINGS = "Its settings: label, average, both_empty, surface, missed, percentile, rule, like."
REFUSED: list[tuple[str, str, tuple[str, str]]] = [
    ("dise", "volumes", ("task 'volumes' has no metric 'dise'", "Did you mean 'dice'?")),
    ("dice@5", "volumes", ("metric 'dice' takes no '@'", "Its settings: label, average, both_empty.")),
    ("dice(7)", "volumes", ("metric 'dice' takes settings by name only", "Its settings: label, average, both_empty.")),
    ("hd(only=7)", "volumes", ("metric 'hd' has no setting 'only'", SETTINGS)),
    ("hd@5(percentile=7)", "volumes", ("metric 'hd': 'percentile' is given twice", "Give it once.")),
    ("mae@5", "weights", ("metric 'mae' takes no '@'", "It has no settings.")),
    ("macro", "labels", ("metric 'macro' wraps another metric", "Example: macro(accuracy).")),
    ("macro(f1, f1)", "labels", ("metric 'macro' takes settings by name only", "Its settings: of, undefined.")),
    ("macro(f2)", "labels", ("task 'labels' has no metric 'f2'", "Did you mean 'f1'?")),
]


@pytest.mark.parametrize(("spec", "task", "said"), REFUSED)
def test_specs_that_are_refused(spec: str, task: str, said: tuple[str, str]) -> None:
    assert refusal(catalogue.parse, spec, task) == (said[0], "", said[1])


def test_specs() -> None:
    metric: Any = catalogue.parse("hd@95(label=3)", "volumes")
    assert (metric.percentile, metric.only) == (95, 3)
    assert str(catalogue.parse("macro(f1)", "labels")) == "macro(f1)"


@frozen
class Conventions:
    """A way with two settings."""

    first: str = dataclasses.field(default="a", metadata={"title": "the first"})
    second: int = dataclasses.field(default=2, metadata={"title": "the second"})


def test_what_is_explained_one_setting_at_a_time() -> None:
    def values(way: Conventions) -> dict[str, float]:
        return {"x": float(way.second), "y": float(ord(way.first)), "unused": 0.0}

    tool = Tool(
        "other", "1.2", Conventions("b", 5), {"first": "It is so.", "second": "It is 5."}, ("y", "x"), ("A remark.",)
    )
    assert explain_tool(tool, values) == Explanation(
        "other", "1.2", {"y": 97, "x": 2},
        (Step("the first", "a", "b", "It is so.", {"y": 98, "x": 2}), Step("the second", "2", 5, "It is 5.", {"y": 97, "x": 5})),  # type: ignore[arg-type]
        {"y": 98, "x": 5}, ("A remark.",),
    )  # fmt: skip
    same = explain_tool(dataclasses.replace(tool, conventions=Conventions(second=5)), values)
    assert [step.setting for step in same.steps] == ["the second"]


def test_groups_of_true_values() -> None:
    """Nine values in eight groups: their ends are the octiles, and the last group has both of its ends."""
    groups = bins_of(np.arange(9.0))
    assert [np.flatnonzero(group).tolist() for group in groups] == [[0], [1], [2], [3], [4], [5], [6], [7, 8]]
    table = binned_table("t", np.array([1.0, 2, 30]), np.array([2.0, 4, 33]), "mm")
    assert (table.corner, table.rows) == ("true, mm", ("1 to 1", "2 to 2", "30 to 30"))
    long = binned_table("t", np.array([0.123456, 123456.0]), np.zeros(2), "mm")
    assert long.rows == ("0.1235 to 0.1235", "1.235e+05 to 1.235e+05")
    apart = bins_of(np.array([0.0, 0, 0, 0, 10, 10, 10, 90]), 2)
    assert [np.flatnonzero(group).tolist() for group in apart] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    figure = error_by_size(np.array([1.0, 2.0]), np.array([1.0, 5.0]), "lesion", "mm")
    assert figure.facts == {"x": "true, mm", "y": "error, mm"}
    assert figure.caption.startswith("The lesions in groups of equal number")
    assert agreement(np.array([1.0]), np.array([2.0]), "lesion", "mm").facts == {
        "x": "true, mm", "y": "predicted, mm", "item": "lesion",
    }  # fmt: skip


def test_every_metric_stands_in_its_task() -> None:
    for name in NAMES:
        assert {type(one) for one in catalogue.metrics(name)} == set(catalogue.find_task(name).metrics)
