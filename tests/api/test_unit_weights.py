"""Weights of units have one name in every task, and a column that looks like one is never ignored in silence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.errors import InputError
from steelyard.io.read import LIKE_WEIGHTS

GRAMS = 8.0
BOX: dict[str, Any] = {"image": ["a", "b"], "label": [1, 1], "x": [0, 0], "y": [0, 0], "w": [10, 10], "h": [10, 10]}
CORNERS = {
    "x1": [0, 0],
    "y1": [0, 0],
    "x2": [10, 10],
    "y2": [0, 0],
    "x3": [10, 10],
    "y3": [10, 10],
    "x4": [0, 0],
    "y4": [10, 10],
}
RUN = {"size": [10, 10], "counts": [0, 100]}
POINTS = [5, 5, 2, 9, 9, 2]
SPACE = {"frame": ["a", "b"], "label": ["car", "car"], "x": [5, 5], "y": [5, 5], "z": [0, 0], "length": [4, 4], "width": [2, 2],
         "height": [2, 2], "yaw": [0, 0]}  # fmt: skip
FULL, HALF = np.ones((4, 4), np.int64), np.repeat([[1, 1, 2, 2]], 4, axis=0)
UP = np.tile(np.array([0.0, 0.0, 1.0]), (2, 4, 1))
SEGMENTS = [{"id": 1, "category_id": 1, "iscrowd": 0, "area": 16, "name": "cat", "isthing": 1}]
# Two units each: the first is right, the second is wrong. The score without weights, and with 3 to 1.
TASKS: dict[str, tuple[Mapping[str, Any], Mapping[str, Any], str, float, float]] = {
    "labels": ({"id": ["a", "b"], "label": ["x", "y"]}, {"id": ["a", "b"], "label": ["x", "x"]}, "accuracy", 0.5, 0.75),
    "answers": (
        {"question": ["a", "b"], "answer": ["x", "y"]}, {"question": ["a", "b"], "answer": ["x", "x"]}, "exact", 0.5, 0.75
    ),
    "rankings": (
        {"query": ["a", "b"], "doc": ["d", "d"], "relevance": [1, 1]},
        {"query": ["a", "b"], "doc": ["d", "e"], "score": [1.0, 1.0]}, "ap", 0.5, 0.75,
    ),
    "captions": (
        {"image": ["a", "b"], "caption": ["a red car", "a dog"]},
        {"image": ["a", "b"], "caption": ["a red car", "the moon"]}, "rouge_l", 0.5, 0.75,
    ),
    "weights": ({"dish": ["a", "b"], "weight": [5, 5]}, {"dish": ["a", "b"], "weight": [5, 5 + GRAMS]}, "mae", 4.0, 2.0),
    "sequences": (
        {"sequence": ["a", "b"], "t": [0, 0], "weight": [5, 5]},
        {"sequence": ["a", "b"], "t": [0, 0], "weight": [5, 5 + GRAMS]}, "mae_overall", 4.0, 2.0,
    ),
    "ellipses": (
        {"image": ["a", "b"], "xc": [9, 9], "yc": [9, 9], "a": [4, 4], "b": [3, 3], "theta": [0, 0]},
        {"image": ["a"], "xc": [9], "yc": [9], "a": [4], "b": [3], "theta": [0], "score": [1]}, "score", 0.5, 0.75,
    ),
    "boxes": (BOX, {**{k: v[:1] for k, v in BOX.items()}, "score": [0.9]}, "recall(score=0)", 0.5, 0.75),
    "masks": (
        {"image": ["a", "b"], "label": [1, 1], "mask": [RUN, RUN]},
        {"image": ["a"], "label": [1], "mask": [RUN], "score": [0.9]}, "recall(score=0)", 0.5, 0.75,
    ),
    "keypoints": (
        {"image": ["a", "b"], "label": [1, 1], "keypoints": [POINTS, POINTS], "area": [50, 50]},
        {"image": ["a"], "label": [1], "keypoints": [POINTS], "score": [0.9]}, "recall(score=0)", 0.5, 0.75,
    ),
    "oriented": (
        {"image": ["a", "b"], "label": [1, 1], **CORNERS},
        {"image": ["a"], "label": [1], **{k: v[:1] for k, v in CORNERS.items()}, "score": [0.9]},
        "recall(score=0)", 0.5, 0.75,
    ),
    "losses": (
        {"image": ["a", "b"], "item": [1, 1], "value": [1, 1]}, {"image": ["a", "b"], "item": [1, 1], "value": [1, 2]},
        "smooth_l1", 0.25, 0.125,
    ),
    "documents": (
        {"page": ["a", "b"], "text": ["one", "two"], "order": [1, 1]}, {"page": ["a", "b"], "text": ["one", "six"]},
        "text_edit", 0.5, 0.25,
    ),
    "anomalies": (
        {"image": ["a", "b"], "mask": [FULL, FULL]}, {"image": ["a", "b"], "map": [FULL, FULL * 0]}, "pro", 0.5, 0.75,
    ),
    "distributions": (  # 0 and 1 to 0 and 2: means 0.5 and 1, variances 0.5 and 2; then of 0, 0, 0, 1: 0.25 and 0.25
        {"id": ["a", "b"], "features": [[0.0], [1.0]]}, {"id": ["a", "b"], "features": [[0.0], [2.0]]}, "fid(least=0)",
        0.25 + (2**0.5 - 0.5**0.5) ** 2, 0.75**2 + (2**0.5 - 0.5) ** 2,
    ),
    "flow": (
        {"image": ["a", "b"], "map": [np.zeros((2, 3, 4))] * 2},
        {"image": ["a", "b"], "map": [np.zeros((2, 3, 4)), np.ones((2, 3, 4))]}, "bad@1", 0.5, 0.25,
    ),
    "disparity": (
        {"image": ["a", "b"], "map": [np.ones((3, 4))] * 2},
        {"image": ["a", "b"], "map": [np.ones((3, 4)), np.full((3, 4), 5)]}, "epe", 2, 1,
    ),
    "grounding": (
        {**{k: v for k, v in BOX.items() if k != "label"}, "expression": ["e", "e"]},
        {**{k: v[:1] for k, v in BOX.items() if k != "label"}, "expression": ["e"]}, "acc@0.5", 0.5, 0.75,
    ),
    "tables": (
        {"table": ["a", "b"], "html": ["<table><td>x</table>"] * 2},
        {"table": ["a", "b"], "html": ["<table><td>x</table>", "<table><td>y</table>"]}, "teds", 0.75, 0.875,
    ),
    "images": (
        {"image": ["a", "b"], "pixels": [[[10] * 5] * 5] * 2},
        {"image": ["a", "b"], "pixels": [[[10] * 5] * 5, [[14] * 5] * 5]}, "mae", 2, 1,
    ),
    "nutrients": ({"dish": ["a", "b"], "fat": [10, 10]}, {"dish": ["a", "b"], "fat": [10, 14]}, "mae(target=fat)", 2, 1),
    "boxes3d": (SPACE, {**{k: v[:1] for k, v in SPACE.items()}, "score": [0.9]}, "map", 40 / 90, 65 / 90),  # nuScenes: recalls above 0.1
    "tracking": (
        {**{k: v for k, v in BOX.items() if k != "image"}, "sequence": ["a", "b"], "frame": [1, 1], "track": [1, 1]},
        {**{k: v[:1] for k, v in BOX.items() if k != "image"}, "sequence": ["a"], "frame": [1], "track": [1]},
        "mota", 0.5, 0.75,
    ),
    "depth": ({"image": ["a", "b"], "map": [FULL + 1.0, FULL + 1.0]}, {"image": ["a", "b"], "map": [FULL + 1.0, 2 * (FULL + 1.0)]}, "abs_rel", 0.5, 0.25),
    "normals": (
        {"image": ["a", "b"], "map": [UP, UP]}, {"image": ["a", "b"], "map": [UP, UP[:, :, ::-1]]}, "within@30", 0.5, 0.75,
    ),
    "segmentation": ({"image": ["a", "b"], "map": [FULL, FULL]}, {"image": ["a", "b"], "map": [FULL, FULL + 1]}, "accuracy", 0.5, 0.75),
    "panoptic": (
        {"image": ["a", "b"], "map": [FULL, FULL], "segments": [SEGMENTS, SEGMENTS]},
        {"image": ["a", "b"], "map": [FULL, FULL * 0], "segments": [SEGMENTS, []]}, "rq", 2 / 3, 6 / 7,
    ),
    "volumes": (
        {"case": ["a", "b"], "map": [FULL[None], FULL[None]]}, {"case": ["a", "b"], "map": [FULL[None], FULL[None] * 0]},
        "dice", 0.5, 0.75,
    ),
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {"keypoints": {"sigmas": [0.1, 0.1]}}
ALSO_WEIGHT = ("labels", "rankings", "captions")  # where `weight` cannot be grams or something of the image


def report(task: str, more: Mapping[str, Any], **settings: Any) -> Any:
    truth, predictions, metric, _, _ = TASKS[task]
    options = {"options": OPTIONS[task]} if task in OPTIONS else {}
    return sy.evaluate(task, {**truth, **more}, predictions, metrics=metric, confidence=None, missing="worst" if task not in ("boxes", "losses", "images") else "error", **options, **settings)  # fmt: skip


def value(given: Any) -> float:
    return float(next(iter(given.scores.values())).value)


def test_every_task_is_here() -> None:
    assert sorted(TASKS) == sorted(catalogue.TASKS)


@pytest.mark.parametrize("task", TASKS)
def test_sample_weight_weighs_units(task: str) -> None:
    _, _, _, plain, weighted = TASKS[task]
    assert value(report(task, {})) == pytest.approx(plain, abs=1e-12)
    given = report(task, {"sample_weight": [3, 1]})
    assert value(given) == pytest.approx(weighted, abs=1e-12)
    assert not any("is not used" in note for note in given.notes)
    assert value(report(task, {"mine": [3, 1]}, columns={"sample_weight": "mine"})) == pytest.approx(
        weighted, abs=1e-12
    )


@pytest.mark.parametrize("name", [name for name in LIKE_WEIGHTS if name != "sample_weight"])
@pytest.mark.parametrize("task", TASKS)
def test_a_column_that_sounds_like_weights_is_used_or_mentioned(task: str, name: str) -> None:
    if name == "weight" and task in ("weights", "sequences", "nutrients"):
        return  # it is grams
    _, _, _, plain, weighted = TASKS[task]
    given = report(task, {name: [3, 1]})
    used = name == "weight" and task in ALSO_WEIGHT
    assert value(given) == pytest.approx(weighted if used else plain, abs=1e-12)
    said = [note for note in given.notes if f"column '{name}' is not used" in note and f"sample_weight={name}" in note]
    assert len(said) == (not used)


@pytest.mark.parametrize("task", ALSO_WEIGHT)
def test_sample_weight_goes_before_weight(task: str) -> None:
    given = report(task, {"sample_weight": [3, 1], "weight": [1, 100]})
    assert value(given) == pytest.approx(TASKS[task][4], abs=1e-12)
    assert any("column 'weight' is not used" in note for note in given.notes)


@pytest.mark.parametrize("task", ["labels", "weights", "boxes"])
def test_weights_beside_the_predictions_are_mentioned(task: str) -> None:
    truth, predictions, metric, plain, _ = TASKS[task]
    rows = len(next(iter(predictions.values())))
    given = sy.evaluate(task, truth, {**predictions, "sample_weight": [3, 1][:rows]}, metrics=metric, confidence=None)
    assert value(given) == pytest.approx(plain)
    assert any("predictions: column 'sample_weight' is not used" in note for note in given.notes)


def test_texts_are_no_weights() -> None:
    assert not report("boxes", {"weight": ["heavy", "light"]}).notes


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "x"])
def test_weights_that_are_none_are_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="column 'sample_weight'"):
        report("boxes", {"sample_weight": [3, bad]})


def test_an_image_without_an_object_has_no_weight() -> None:
    truth = {"image": ["a", "b"], "label": [1, None], **{name: [0, 0] for name in "xywh"}, "sample_weight": [3, 1]}
    with refuses("E-missing-data", "'b'"):
        sy.evaluate("boxes", truth, {**{k: v[:1] for k, v in BOX.items()}, "score": [0.9]}, metrics="map50")


def test_the_weight_of_an_image_is_one() -> None:
    truth = {name: [*values, values[-1]] for name, values in BOX.items()}
    with refuses("E-incompatible", "truth, row 2, column 'sample_weight'"):
        sy.evaluate("boxes", {**truth, "sample_weight": [1, 2, 3]}, {**BOX, "score": [1, 1]}, metrics="map50")


def test_a_weight_of_two_is_an_image_twice() -> None:
    """The law for AP, whose value is not a mean over images."""
    rng = np.random.default_rng(5)
    images = np.repeat(np.arange(30), 3)
    at = rng.uniform(0, 80, (90, 2))
    truth = {
        "image": images,
        "label": rng.integers(1, 4, 90),
        "x": at[:, 0],
        "y": at[:, 1],
        "w": np.full(90, 20.0),
        "h": np.full(90, 20.0),
    }
    moved = at + rng.normal(0, 4, (90, 2))
    given = {**truth, "x": moved[:, 0], "y": moved[:, 1], "score": rng.permutation(90) / 90}
    weights = np.where(images < 10, 2, 1)
    twice = [
        {name: np.concatenate([v, np.where(name == "image", 100, 0) + v[:30]]) for name, v in side.items()}
        for side in (truth, given)
    ]
    twice[1]["score"] = np.concatenate([given["score"], given["score"][:30]])
    weighted = sy.evaluate(
        "boxes",
        {**truth, "sample_weight": weights},
        given,
        metrics=["map", "map50", "ar", "recall(score=0.5)"],
        confidence=None,
    )
    repeated = sy.evaluate("boxes", *twice, metrics=["map", "map50", "ar", "recall(score=0.5)"], confidence=None)
    for name, score in repeated.scores.items():
        assert weighted.scores[name].value == pytest.approx(score.value, abs=1e-12), name
