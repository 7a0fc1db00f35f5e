"""What is said of data that a task cannot take: the whole of what and of the remedy, task by task."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.refusal import refused_evaluation

import steelyard as sy
from steelyard.core import catalogue

IDS = ["r0", "r1"]
ONE = {"id": IDS, "label": ["a", "b"]}
SEVERAL = {"id": IDS, "labels": ["a", "b"]}
LABELS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no label": (
        {"id": IDS, "class": ["a", "b"]}, ONE,
        "there is no column of label or labels; the columns are 'id', 'class'. Rename the column, or map it: "
        "`columns={'label': 'YOUR_COLUMN'}`.",
    ),
    "both": ({**ONE, "labels": ["a", "b"]}, ONE, "there are both 'label' and 'labels'. Keep 'labels' for several per row."),
    "a column per class too": (
        ONE, {**ONE, "label:a": [1, 0], "label:b": [0, 1]},
        "there are both 'label' and a column per class. Keep one of them.",
    ),
    "several for one": (
        ONE, SEVERAL,
        "the predictions hold several labels per row and the truth one. Give the truth in a column 'labels' too.",
    ),
    "one for several": (
        SEVERAL, ONE,
        "the predictions hold one label per row and the truth several. Give the predictions in a column 'labels' too.",
    ),
    "sums": (
        {"id": IDS, "label": ["a", "b"]},
        {"id": IDS, "probability:a": [0.5, 0.5], "probability:b": [0.25, 0.25], "probability:c": [0.0, 0.0]},
        "the probabilities add up to 0.75, not to 1 (within 0.001); so do 1 other rows'. Normalise them, or name the "
        "columns score:CLASS.",
    ),
    "one score of three classes": (
        {"id": ["0", "1", "2"], "label": ["a", "b", "c"]}, {"id": ["0", "1", "2"], "score": [1.0, 2.0, 3.0]},
        "one column 'score' is for two classes, and there are 3: 'a', 'b', 'c'. Give a column for each class: score:CLASS.",
    ),
    "one column of three classes": (
        {"id": ["0", "1", "2"], "label": ["a", "b", "c"]}, {"id": ["0", "1", "2"], "score:a": [1.0, 2.0, 3.0]},
        "there is one column of score and 3 classes: 'a', 'b', 'c'. Give a column for each class: score:CLASS.",
    ),
    "score twice": (
        ONE, {"id": IDS, "score": [1.0, 2.0], "score:a": [1.0, 2.0]},
        "there are both 'score' and 'score:a'. Keep one of them.",
    ),
    "other classes": (
        {"id": IDS, "label:a": [1, 0], "label:b": [0, 1]}, {"id": IDS, "score:a": [1.0, 0.0], "score:c": [0.0, 1.0]},
        "is missing in one. Give one column for each class wherever there is one per class.",
    ),
    "no ids": (
        {"label": ["a", "b"]}, {"label": ["a"]},
        "without ids they cannot be joined. Give both sides a column 'id'.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LABELS)
def test_labels(case: str) -> None:
    truth, predicted, said = LABELS[case]
    with pytest.raises(sy.InputError) as raised:
        sy.evaluate("labels", truth, predicted, confidence=None)
    assert str(raised.value).endswith(said)


ROWS = {"image": ["a", "b"], "item": ["0", "0"]}
LOSSES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no target": (
        {**ROWS, "weight": [1.0, 1.0]}, {**ROWS, "score": [0.0, 1.0]},
        "there is neither a column 'target' nor 'value'. Give one of them, or both.",
    ),
    "no score": (
        {**ROWS, "target": [0.0, 1.0]}, {**ROWS, "other": [0.0, 1.0]},
        "is missing, which column 'target' of the truth goes with. Rename the column, or map it: "
        "`columns={'prediction.logit': 'YOUR_COLUMN'}`.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LOSSES)
def test_losses(case: str) -> None:
    truth, predicted, said = LOSSES[case]
    with pytest.raises(sy.InputError) as raised:
        sy.evaluate("losses", truth, predicted, confidence=None)
    assert str(raised.value).endswith(said)


def test_losses_have_no_worst() -> None:
    with pytest.raises(sy.InputError) as raised:
        sy.evaluate("losses", {**ROWS, "target": [0.0, 1.0]}, {**ROWS, "logit": [0.0, 1.0]}, missing="worst")
    assert str(raised.value) == "missing='worst' is not supported: a loss has no upper bound. Choose error or skip."


ELLIPSE: dict[str, list[Any]] = {"image": ["i"], "xc": [5.0], "yc": [5.0], "theta": [0.0], "a": [4.0], "b": [2.0]}
ELLIPSES: dict[str, tuple[dict[str, Any], str]] = {
    "half empty": (
        {"theta": [math.nan]},
        "'theta' is empty or nan, and other columns of the row are not. Give all five numbers, or none for an image "
        "without ellipses.",
    ),
    "no axis": ({"b": [0.0]}, "the axis is 0. An axis must be more than 0."),
    "far away": ({"xc": [1e30]}, "1e+30 is out of range. It must be up to 1e+12 in size."),
    "no score": (
        {"score": [math.nan]},
        "the score is empty or nan. Give every ellipse a score, or leave the column out.",
    ),
}


@pytest.mark.parametrize("case", ELLIPSES)
def test_ellipses(case: str) -> None:
    changed, said = ELLIPSES[case]
    with pytest.raises(sy.InputError) as raised:
        sy.evaluate("ellipses", ELLIPSE, {**ELLIPSE, **changed}, confidence=None)
    assert str(raised.value).endswith(said)


def test_ellipses_without_a_column() -> None:
    with pytest.raises(sy.InputError) as raised:
        sy.evaluate(
            "ellipses", ELLIPSE, {name: ELLIPSE[name] for name in ("image", "xc", "yc", "a", "b")}, confidence=None
        )
    assert str(raised.value).endswith(
        "column 'theta' is missing; the columns are 'image', 'xc', 'yc', 'a', 'b'. Map it: `columns={'theta': 'YOUR_COLUMN'}`. Or give "
        "contours in a column 'points'."
    )


SOLID: dict[str, list[Any]] = {
    "frame": ["f"], "label": ["car"], "x": [1.0], "y": [1.0], "z": [1.0], "length": [4.0], "width": [2.0], "height": [1.5],
    "yaw": [0.0],
}  # fmt: skip
SOLIDS: dict[str, tuple[dict[str, Any], str]] = {
    "no number": ({"yaw": [math.nan]}, "'yaw' is empty or nan. Give a finite number, or no row."),
    "no size": ({"width": [0.0]}, "the width is 0. Sizes are metres, and more than 0."),
    "no score": ({"score": [math.nan]}, "the score is empty or nan. Give a number."),
}


@pytest.mark.parametrize("case", SOLIDS)
def test_boxes_in_space(case: str) -> None:
    changed, said = SOLIDS[case]
    with pytest.raises(sy.InputError) as raised:
        sy.evaluate("boxes3d", SOLID, {**SOLID, "score": [0.5], **changed}, confidence=None)
    assert str(raised.value).endswith(said)


def test_boxes_in_space_without_a_place() -> None:
    with pytest.raises(sy.InputError) as raised:
        sy.evaluate("boxes3d", {name: SOLID[name] for name in SOLID if name != "z"}, {**SOLID, "score": [0.5]})
    assert str(raised.value).endswith(
        "column 'z' is missing; the columns are 'frame', 'label', 'x', 'y', 'length', 'width', 'height', 'yaw'. A box is x, "
        "y, z, length, width, height, yaw (or left, top, right, bottom in the image alone)."
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"label": ["car", "cra"]},
         "'cra' is not a nuScenes class. Did you mean 'car'? Other classes: the option `classes=a,b`, or `rules=none`."),
        ({"attribute": ["", "vehicle.movin"]}, "'vehicle.movin' is not an attribute. Did you mean 'vehicle.moving'?"),
        ({"label": ["car", "traffic_cone"], "attribute": ["", "vehicle.moving"]},
         "attribute 'vehicle.moving' is not one of traffic_cone. A traffic_cone has none: leave it empty."),
    ],
)  # fmt: skip
def test_names_of_nuscenes(changed: dict[str, Any], said: str) -> None:
    two = {name: column * 2 for name, column in SOLID.items()} | {"vx": [0.0, 0.0], "vy": [0.0, 0.0]}
    with pytest.raises(sy.InputError) as raised:
        sy.evaluate("boxes3d", two | {"attribute": ["", ""]} | changed, two | {"score": [0.5, 0.5]}, confidence=None)
    assert str(raised.value).endswith(said)


ASKED: dict[str, list[Any]] = {"question": ["p", "q"], "answer": ["a", "b"]}


def test_an_empty_truth() -> None:
    assert refused_evaluation("answers", {**ASKED, "answer": ["", "b"]}, ASKED, ["anls"]).endswith(
        "question 'p' has an accepted answer that is empty. Remove the row, or choose metrics that take an empty text: cer, "
        "wer."
    )


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("mae@5", "metric 'mae' takes no '@'. It has no settings."),
        ("mea", "task 'weights' has no metric 'mea'. Did you mean 'mae'?"),
        ("mape(skip)", "metric 'mape' takes settings by name only. Its settings: zero."),
        ("mape(zeros=skip)", "metric 'mape' has no setting 'zeros'. Its settings: zero."),
    ],
)
def test_specs(spec: str, said: str) -> None:
    with pytest.raises(sy.InputError) as raised:
        catalogue.parse(spec, "weights")
    assert str(raised.value) == said


def test_a_task_that_there_is_not() -> None:
    with pytest.raises(sy.InputError) as raised:
        catalogue.find_task("wieghts")
    assert str(raised.value) == "there is no task 'wieghts'. Did you mean 'weights'?"
