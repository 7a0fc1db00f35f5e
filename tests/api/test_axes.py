"""Every task's data in memory with an axis more, an axis fewer and an axis of another length.

Data of another form are refused with an InputError, or mean the same: an axis of 1 may be dropped. No other number, and no
other error, comes of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.drawn import DRAW
from support.tiers import slow_except

import steelyard as sy
from steelyard import losses
from steelyard.core.errors import InputError

Values = dict[str, float]


def values(task: str, truth: Any, prediction: Any, **settings: Any) -> Values:
    report = sy.evaluate(task, truth, prediction, confidence=None, **settings)
    return {spec: score.value for spec, score in report.scores.items()}


def changed(task: str, expected: Values, truth: Any, prediction: Any, **settings: Any) -> str:
    """What is wrong: an error that is not an InputError, or other values; empty where nothing is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = values(task, truth, prediction, **settings)
    except InputError:
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    same = result.keys() == expected.keys() and np.array_equal([*result.values()], [*expected.values()], equal_nan=True)
    return "" if same else f"{result}, not {expected}"


def each_cell(column: Any, change: Callable[[Any], Any]) -> Any:
    cells = np.empty(len(column), dtype=object)
    for row, value in enumerate(column):
        cells[row] = change(value)
    return cells


COLUMNS: dict[str, Callable[[Any], Any]] = {
    "n × 1": lambda column: np.asarray(column)[:, np.newaxis],
    "1 × n": lambda column: np.asarray(column)[np.newaxis],
    "n × 2": lambda column: np.stack([np.asarray(column)] * 2, axis=1),
    "n × 1 × 2": lambda column: np.stack([np.asarray(column)[:, np.newaxis]] * 2, axis=2),
    "one value": lambda column: column[0],
    "lists of one": lambda column: each_cell(column, lambda value: [value]),
    "lists of two": lambda column: each_cell(column, lambda value: [value, value]),
    "cells with an axis of 1 in front": lambda column: each_cell(column, lambda value: np.asarray(value)[np.newaxis]),
    "cells with an axis of 1 behind": lambda column: each_cell(
        column, lambda value: np.asarray(value)[..., np.newaxis]
    ),
    "cells twice": lambda column: each_cell(column, lambda value: np.stack([np.asarray(value)] * 2)),
    "cells twice, behind": lambda column: each_cell(column, lambda value: np.stack([np.asarray(value)] * 2, axis=-1)),
    "cells without their first axis": lambda column: each_cell(
        column, lambda value: np.asarray(value)[0] if np.ndim(value) else value
    ),
}
TEXTS = {("answers", "outcome")}  # any text but "ok" says why there is no answer, and the report counts it


@pytest.mark.parametrize("task", slow_except(DRAW, "weights", "labels", "boxes", "volumes"))
def test_columns_with_another_axis(task: str) -> None:
    drawn = DRAW[task](np.random.default_rng(0), 8)
    expected = values(task, *drawn)
    wrong = []
    for side, columns in enumerate(drawn):
        for name, column in columns.items():
            for form, change in COLUMNS.items():
                if (task, name) in TEXTS and ("cells" in form or "lists" in form):
                    continue
                sides = [dict(one) for one in drawn]
                sides[side][name] = change(column)
                said = changed(task, expected, *sides)
                if said:
                    wrong.append(f"{('truth', 'predictions')[side]}, {name}, {form}: {said}")
    assert not wrong, "\n".join(wrong)


def forms(array: Any) -> Iterator[tuple[str, Any]]:
    """An array with one more axis of 1 or 2 at each place, and without each axis."""
    array = np.asarray(array)
    for axis in range(array.ndim + 1):
        yield f"an axis of 1 at {axis}", np.expand_dims(array, axis)
        yield f"an axis of 2 at {axis}", np.stack([array, array], axis=axis)
    for axis in range(array.ndim):
        yield f"without axis {axis}", array.take(0, axis=axis)


RNG = np.random.default_rng(0)
CLASSES, PREDICTED = RNG.integers(0, 3, (2, 12))
BINARY, POSITIVE = RNG.integers(0, 2, 12), RNG.random(12)
GRAMS = RNG.uniform(10, 90, (2, 12))
MAPS = RNG.integers(0, 3, (2, 4, 6, 7))
LOGITS = RNG.normal(size=(4, 3, 6, 7))
CUBES = RNG.integers(0, 2, (2, 3, 4, 5, 6))
ELLIPSES = np.array([[[10.0, 10, 0, 4, 2], [30, 30, 10, 5, 3]], [[20, 20, 0, 4, 2], [25, 25, 0, 3, 2]]])
ARRAYS: dict[str, tuple[str, Any, Any, Any]] = {
    "classes": ("labels", CLASSES, PREDICTED, {}),
    "probabilities of classes": ("labels", CLASSES, RNG.dirichlet(np.ones(3), 12), {}),
    "probabilities": ("labels", BINARY, POSITIVE, {}),
    "grams": ("weights", *GRAMS, {}),
    "maps": ("segmentation", *MAPS, {}),
    "scores of maps": ("segmentation", MAPS[0], LOGITS, {}),
    "volumes": ("volumes", *CUBES, {"options": {"spacing": "1,1,1"}}),
    "ellipses": ("ellipses", ELLIPSES, ELLIPSES + 1, {}),
}
# Not another form of the same data, but other data of a form that is known.
KNOWN = {
    ("probabilities", 1, "an axis of 2 at 1"),  # scores of both classes, as the note says
}


@pytest.mark.parametrize("name", list(ARRAYS))
def test_arrays_with_another_axis(name: str) -> None:
    task, *sides, settings = ARRAYS[name]
    given: list[Any] = [side.tolist() if task == "ellipses" else side for side in sides]
    expected = values(task, *given, **settings)
    wrong = []
    for side in (0, 1):
        for form, array in forms(sides[side]):
            both = list(given)
            both[side] = array.tolist() if task == "ellipses" else array
            said = "" if (name, side, form) in KNOWN else changed(task, expected, *both, **settings)
            if said:
                wrong.append(f"{('truth', 'predictions')[side]}, {form}, {array.shape}: {said}")
    assert not wrong, "\n".join(wrong)


def test_a_column_of_probabilities_is_that_of_the_positive_class() -> None:
    """It was taken for the first class: the area under the curve was 1 less it."""
    expected = values("labels", BINARY, POSITIVE, metrics=["roc_auc", "ap", "brier"])
    positive = sum(p > n for p in POSITIVE[BINARY == 1] for n in POSITIVE[BINARY == 0])
    assert expected["roc_auc"] == pytest.approx(positive / ((BINARY == 1).sum() * (BINARY == 0).sum()))
    column = POSITIVE[:, np.newaxis]
    assert values("labels", BINARY, column, metrics=["roc_auc", "ap", "brier"]) == expected
    assert values("labels", BINARY[:, np.newaxis], column.tolist(), metrics=["roc_auc", "ap", "brier"]) == expected
    named = {"id": range(12), "label": BINARY}, {"id": range(12), "probability": column}
    assert values("labels", *named, metrics=["roc_auc", "ap", "brier"]) == expected


BOXES = np.column_stack([RNG.uniform(0, 50, (3, 2)), RNG.uniform(5, 20, (3, 2))])
MASKS = (RNG.random((3, 8, 9)) > 0.5).astype(np.uint8)
POINTS = np.dstack([RNG.uniform(0, 40, (3, 17, 2)), np.full((3, 17), 2)])
VECTORS = RNG.normal(size=(30, 4))
OBJECTS = {"image": [0, 0, 1], "label": [0, 1, 1]}
SCORED = {**OBJECTS, "score": [0.9, 0.8, 0.7]}
PERSONS = {**OBJECTS, "label": [0, 0, 0], "x": [0, 10, 20], "y": [0, 10, 20], "w": [20] * 3, "h": [20] * 3}
FRAMES = [{"sequence": "a", "frame": t, "tracks": [1, 2, 3]} for t in (1, 2)]
SEGMENTS = [[{"id": k, "category_id": k, "isthing": k % 2} for k in (1, 2, 3)]] * 2
NESTED: dict[str, tuple[str, Callable[[Any], Any], Any, Any]] = {
    "boxes of images": (
        "boxes",
        lambda boxes: [{"image": 1, "boxes": boxes, "labels": [0, 1, 1]}],
        [{"image": 1, "boxes": BOXES + 1, "labels": [0, 1, 1], "scores": [0.9, 0.8, 0.7]}],
        BOXES,
    ),
    "labels of images": (
        "boxes",
        lambda labels: [{"image": 1, "boxes": BOXES, "labels": labels}],
        [{"image": 1, "boxes": BOXES + 1, "labels": [0, 1, 1], "scores": [0.9, 0.8, 0.7]}],
        np.array([0, 1, 1]),
    ),
    "boxes of frames": (
        "tracking",
        lambda boxes: [{**FRAMES[0], "boxes": boxes}, {**FRAMES[1], "boxes": BOXES}],
        [{**frame, "boxes": BOXES} for frame in FRAMES],
        BOXES,
    ),
    "masks of frames": (
        "tracking",
        lambda masks: [{**FRAMES[0], "masks": list(masks)}, {**FRAMES[1], "masks": list(MASKS)}],
        [{**frame, "masks": list(MASKS)} for frame in FRAMES],
        MASKS,
    ),
    "masks": ("masks", lambda masks: {**OBJECTS, "mask": list(masks)}, {**SCORED, "mask": list(MASKS)}, MASKS),
    "keypoints": (
        "keypoints",
        lambda points: {**PERSONS, "keypoints": list(points)},
        {**SCORED, "label": [0, 0, 0], "keypoints": list(POINTS.reshape(3, 51) + 1)},
        POINTS.reshape(3, 51),
    ),
    "embeddings": (
        "rankings",
        lambda vectors: {"query": vectors, "gallery": VECTORS[10:]},
        {"query_label": np.arange(10) % 3, "gallery_label": np.arange(20) % 3},
        VECTORS[:10],
    ),
    "labels of embeddings": (
        "rankings",
        lambda labels: {"query_label": labels, "gallery_label": np.arange(20) % 3},
        {"query": VECTORS[:10], "gallery": VECTORS[10:]},
        np.arange(10) % 3,
    ),
    "maps of segments": (
        "panoptic",
        lambda maps: {"image": [0, 1], "map": maps, "segments": SEGMENTS},
        {"image": [0, 1], "map": np.array(MAPS[0, :2] + 1), "segments": SEGMENTS},
        MAPS[1, :2] + 1,
    ),
}


@pytest.mark.parametrize("name", list(NESTED))
def test_arrays_inside_with_another_axis(name: str) -> None:
    task, make, other, plain = NESTED[name]

    def sides(array: Any) -> tuple[Any, Any]:
        return (other, make(array)) if name == "embeddings" else (make(array), other)

    expected = values(task, *sides(plain))
    wrong = [
        f"{form}, {array.shape}: {said}"
        for form, array in forms(plain)
        if (said := changed(task, expected, *sides(array)))
    ]
    assert not wrong, "\n".join(wrong)


def test_masks_of_frames_have_one_size() -> None:
    """A mask of another size overlaps nothing: it was a miss and a false positive without a word."""
    whole = [{**frame, "masks": list(MASKS)} for frame in FRAMES]
    cut = [{**frame, "masks": list(MASKS[:, :4])} for frame in FRAMES]
    with pytest.raises(InputError, match=r"predictions, row 0, column 'mask': the mask is 4×9 .*is 8×9"):
        values("tracking", whole, cut)


def test_losses_with_another_axis() -> None:
    """The functions take shapes that are equal, or say what they take."""
    logits, boxes = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 4))
    for _, array in forms(np.ones((4, 3))):
        with pytest.raises((InputError, ValueError, TypeError)):
            losses.focal_loss(logits, array)
    for _, array in forms(np.ones((4, 4))):
        with pytest.raises((InputError, ValueError, TypeError)):
            losses.smooth_l1_loss(boxes, array)
