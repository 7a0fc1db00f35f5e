"""What is said of data that a task cannot take: the whole of what and of the remedy, task by task."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue

IDS = ["r0", "r1"]
ONE = {"id": IDS, "label": ["a", "b"]}
SEVERAL = {"id": IDS, "labels": ["a", "b"]}
LABELS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no label": (
        {"id": IDS, "class": ["a", "b"]}, ONE,
        ("E-missing-column", "'id'", "'class'"),
    ),
    "both": ({**ONE, "labels": ["a", "b"]}, ONE, ("E-conflict", "'label'", "'labels'")),
    "a column per class too": (
        ONE, {**ONE, "label:a": [1, 0], "label:b": [0, 1]},
        ("E-conflict", "'label'"),
    ),
    "several for one": (
        ONE, SEVERAL,
        ("E-incompatible", "predictions", "labels"),
    ),
    "one for several": (
        SEVERAL, ONE,
        ("E-incompatible", "predictions", "label"),
    ),
    "sums": (
        {"id": IDS, "label": ["a", "b"]},
        {"id": IDS, "probability:a": [0.5, 0.5], "probability:b": [0.25, 0.25], "probability:c": [0.0, 0.0]},
        ("E-invalid-value", "0.75", "1", "0.001"),
    ),
    "one score of three classes": (
        {"id": ["0", "1", "2"], "label": ["a", "b", "c"]}, {"id": ["0", "1", "2"], "score": [1.0, 2.0, 3.0]},
        ("E-missing-column", "'score'", "3", "'a'", "'b'", "'c'"),
    ),
    "one column of three classes": (
        {"id": ["0", "1", "2"], "label": ["a", "b", "c"]}, {"id": ["0", "1", "2"], "score:a": [1.0, 2.0, 3.0]},
        ("E-missing-column", "3", "'a'", "'b'", "'c'"),
    ),
    "score twice": (
        ONE, {"id": IDS, "score": [1.0, 2.0], "score:a": [1.0, 2.0]},
        ("E-conflict", "'score'", "'score:a'"),
    ),
    "other classes": (
        {"id": IDS, "label:a": [1, 0], "label:b": [0, 1]}, {"id": IDS, "score:a": [1.0, 0.0], "score:c": [0.0, 1.0]},
        ("E-missing-column", "predictions"),
    ),
    "no ids": (
        {"label": ["a", "b"]}, {"label": ["a"]},
        ("E-unmatched", "predictions"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LABELS)
def test_labels(case: str) -> None:
    truth, predicted, said = LABELS[case]
    with refuses(*said):
        sy.evaluate("labels", truth, predicted, confidence=None)


ROWS = {"image": ["a", "b"], "item": ["0", "0"]}
LOSSES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no target": (
        {**ROWS, "weight": [1.0, 1.0]}, {**ROWS, "score": [0.0, 1.0]},
        ("E-missing-column", "'target'", "'value'"),
    ),
    "no score": (
        {**ROWS, "target": [0.0, 1.0]}, {**ROWS, "other": [0.0, 1.0]},
        ("E-missing-column", "'target'"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LOSSES)
def test_losses(case: str) -> None:
    truth, predicted, said = LOSSES[case]
    with refuses(*said):
        sy.evaluate("losses", truth, predicted, confidence=None)


def test_losses_have_no_worst() -> None:
    with refuses("E-unsupported", "missing='worst'"):
        sy.evaluate("losses", {**ROWS, "target": [0.0, 1.0]}, {**ROWS, "logit": [0.0, 1.0]}, missing="worst")


ELLIPSE: dict[str, list[Any]] = {"image": ["i"], "xc": [5.0], "yc": [5.0], "theta": [0.0], "a": [4.0], "b": [2.0]}
ELLIPSES: dict[str, tuple[dict[str, Any], str]] = {
    "half empty": (
        {"theta": [math.nan]},
        ("E-empty-cell", "'theta'"),
    ),
    "no axis": ({"b": [0.0]}, ("E-out-of-range", "0", "axis")),
    "far away": ({"xc": [1e30]}, ("E-out-of-range", "1e+30")),
    "no score": (
        {"score": [math.nan]},
        ("E-empty-cell", "predictions, row 0, column 'score'"),
    ),
}


@pytest.mark.parametrize("case", ELLIPSES)
def test_ellipses(case: str) -> None:
    changed, said = ELLIPSES[case]
    with refuses(*said):
        sy.evaluate("ellipses", ELLIPSE, {**ELLIPSE, **changed}, confidence=None)


def test_ellipses_without_a_column() -> None:
    with refuses("E-missing-column", "'theta'", "'image'", "'xc'", "'yc'", "'a'", "'b'"):
        sy.evaluate(
            "ellipses", ELLIPSE, {name: ELLIPSE[name] for name in ("image", "xc", "yc", "a", "b")}, confidence=None
        )


SOLID: dict[str, list[Any]] = {
    "frame": ["f"], "label": ["car"], "x": [1.0], "y": [1.0], "z": [1.0], "length": [4.0], "width": [2.0], "height": [1.5],
    "yaw": [0.0],
}  # fmt: skip
SOLIDS: dict[str, tuple[dict[str, Any], str]] = {
    "no number": ({"yaw": [math.nan]}, ("E-empty-cell", "'yaw'")),
    "no size": ({"width": [0.0]}, ("E-out-of-range", "0", "width")),
    "no score": ({"score": [math.nan]}, ("E-empty-cell", "predictions, row 0, column 'score'")),
}


@pytest.mark.parametrize("case", SOLIDS)
def test_boxes_in_space(case: str) -> None:
    changed, said = SOLIDS[case]
    with refuses(*said):
        sy.evaluate("boxes3d", SOLID, {**SOLID, "score": [0.5], **changed}, confidence=None)


def test_boxes_in_space_without_a_place() -> None:
    with refuses(
        "E-missing-column", "'z'", "'frame'", "'label'", "'x'", "'y'", "'length'", "'width'", "'height'", "'yaw'"
    ):
        sy.evaluate("boxes3d", {name: SOLID[name] for name in SOLID if name != "z"}, {**SOLID, "score": [0.5]})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"label": ["car", "cra"]},
         ("E-unknown-name", "'cra'", "'car'")),
        ({"attribute": ["", "vehicle.movin"]}, ("E-unknown-name", "'vehicle.movin'", "attribute", "'vehicle.moving'")),
        ({"label": ["car", "traffic_cone"], "attribute": ["", "vehicle.moving"]},
         ("E-unknown-name", "attribute", "'vehicle.moving'", "traffic_cone")),
    ],
)  # fmt: skip
def test_names_of_nuscenes(changed: dict[str, Any], said: tuple[str, ...]) -> None:
    two = {name: column * 2 for name, column in SOLID.items()} | {"vx": [0.0, 0.0], "vy": [0.0, 0.0]}
    with refuses(*said):
        sy.evaluate("boxes3d", two | {"attribute": ["", ""]} | changed, two | {"score": [0.5, 0.5]}, confidence=None)


ASKED: dict[str, list[Any]] = {"question": ["p", "q"], "answer": ["a", "b"]}


def test_an_empty_truth() -> None:
    with refuses("E-empty-cell", "'p'"):
        sy.evaluate("answers", {**ASKED, "answer": ["", "b"]}, ASKED, ["anls"], confidence=None)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("mae@5", ("E-invalid-spec", "'mae'", "'@'")),
        ("mea", ("E-unknown-metric", "'weights'", "'mea'", "'mae'")),
        ("mape(skip)", ("E-invalid-spec", "'mape'")),
        ("mape(zeros=skip)", ("E-invalid-spec", "'mape'", "'zeros'")),
    ],
)
def test_specs(spec: str, said: tuple[str, ...]) -> None:
    with refuses(*said):
        catalogue.parse(spec, "weights")


def test_a_task_that_there_is_not() -> None:
    with refuses("E-unknown-task", "'wieghts'", "'weights'"):
        catalogue.find_task("wieghts")
