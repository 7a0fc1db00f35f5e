"""Input that was once scored in silence: each is refused, read rightly, or noted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy


def scored(task: str, truth: Any, predictions: Any, metric: str) -> tuple[float, str]:
    """The score, and all notes as one text."""
    report = sy.evaluate(task, truth, predictions, metric, confidence=None)
    return next(iter(report.scores.values())).value, " ".join(report.notes)


@pytest.mark.parametrize(
    ("truth", "given"),
    [
        ([True, False, True, False], ["True", "False", "True", "True"]),
        (["true", "false", "true", "false"], [1, 0, 1, 1]),
        ([1, 0, 1, 0], np.array(["TRUE", "FALSE", "TRUE", "TRUE"])),
    ],
)
def test_true_and_false(truth: Any, given: Any) -> None:
    value, notes = scored("labels", {"label": truth}, {"label": given}, "accuracy")
    assert value == 0.75
    assert "True and False" in notes


def test_scores_for_labels() -> None:
    for given in ([0.2, 0.9], ["0.2", "0.9"]):
        with refuses("E-invalid-value", "row 0", "'label'", "'0.2'", "'score'"):
            sy.evaluate("labels", {"label": [0, 1]}, {"label": given}, "accuracy")
    value, notes = scored("labels", {"label": ["0.5", "1.5"]}, {"label": ["0.5", "0.5"]}, "accuracy")
    assert (value, notes) == (0.5, "")  # half stars are labels where the truth has them


@pytest.mark.parametrize("kind", [list, tuple, lambda texts: np.array(texts, dtype=object)])
def test_lists_of_captions_are_references(kind: Any) -> None:
    columns = {"image": [1, 2], "caption": [kind(["a brown dog", "the dog runs"]), kind(["a cat", "one cat sits"])]}
    flat = {"image": [1, 1, 2, 2], "caption": ["a brown dog", "the dog runs", "a cat", "one cat sits"]}
    given = {"image": [1, 2], "caption": ["the dog runs", "a cat sits"]}
    value, notes = scored("captions", columns, given, "bleu@1")
    assert value == scored("captions", flat, given, "bleu@1")[0] == pytest.approx(1, abs=1e-8)
    assert "read as a reference" in notes
    one = {"image": [1, 2], "caption": [["the dog runs"], ["a cat sits"]]}
    assert scored("captions", flat, one, "bleu@1")[0] == value
    with refuses("E-invalid-value", "row 1", "'caption'", "2"):
        sy.evaluate("captions", flat, {"image": [1, 2], "caption": ["a", ["b", "c"]]}, "bleu@1")


def test_captions_that_are_none() -> None:
    flat = {"image": [1, 2], "caption": ["a dog", "a cat"]}
    _, notes = scored("captions", flat, {"image": [1, 2], "caption": [None, "a cat"]}, "bleu@1")
    assert "1 caption is empty" in notes
    with refuses("E-empty-cell", "row 1", "'caption'"):
        sy.evaluate("captions", {"image": [1, 2], "caption": ["a dog", None]}, flat, "bleu@1")


def test_masked_arrays() -> None:
    truth = {"dish": [1, 2], "weight": np.ma.array([1.0, 999.0], mask=[False, True])}
    with refuses("E-empty-cell", "row 1", "'weight'"):
        sy.evaluate("weights", truth, {"dish": [1, 2], "weight": [1, 2]}, "mae")
    whole = {"dish": [1, 2], "weight": np.ma.array([1.0, 3.0])}
    assert scored("weights", whole, {"dish": [1, 2], "weight": [1, 2]}, "mae")[0] == 0.5
    table = np.ma.array([[0.4, 0.6], [0.5, 0.5]], mask=[[False, False], [True, False]])
    with refuses("E-empty-cell", "row 1", "'probability:0'"):
        sy.evaluate("labels", {"label": [0, 1]}, {"probability": table}, "log_loss")
    box = {
        "image": [1, 1],
        "label": [1, 1],
        "x": np.ma.array([1.0, 2.0], mask=[0, 1]),
        "y": [0, 0],
        "w": [1, 1],
        "h": [1, 1],
    }
    with refuses("E-empty-cell", "row 1", "'x'"):
        sy.evaluate("boxes", box, [], "map")
    masked = np.ma.array([[0, 0, 5, 5], [1, 1, 2, 2]], mask=[[0] * 4, [1] * 4])
    with refuses("E-invalid-value", "item 0", "row 1"):
        sy.evaluate("boxes", [{"image": 1, "boxes": masked, "labels": [1, 1]}], [], "map")


@pytest.mark.parametrize(("truth", "given"), [([90.0], [1.57]), ([90.0, 60.0], [1.57, 61.0]), ([1.57], [90.0])])
def test_radians_beside_degrees(truth: list[float], given: list[float]) -> None:
    def side(theta: list[float]) -> dict[str, Any]:
        n = len(theta)
        return {"image": list(range(n)), "xc": [50] * n, "yc": [50] * n, "a": [20] * n, "b": [10] * n, "theta": theta}

    assert "radians" in scored("ellipses", side(truth), side(given), "score")[1]
    assert not scored("ellipses", side(truth), side([t + 3 for t in truth]), "score")[1]


def coco(**annotation: Any) -> dict[str, Any]:
    row = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "area": 25, "iscrowd": 0, **annotation}
    return {
        "images": [{"id": 1, "width": 10, "height": 10}],
        "categories": [{"id": 1, "name": "cup"}],
        "annotations": [row],
    }


RING = [[0, 0, 5, 0, 5, 5, 0, 5]]


def test_images_of_width_zero() -> None:
    truth = coco(segmentation=RING)
    truth["images"][0]["width"] = 0
    with refuses("E-shape-mismatch", "image 1", "10", "0"):
        sy.evaluate("masks", truth, [], "map")
    assert "refused" in sy.check("masks", truth, [])


def test_visible_points_that_are_not_counted() -> None:
    points = [1, 1, 2] * 17
    given = [{"image_id": 1, "category_id": 1, "score": 0.5, "keypoints": points}]
    _, notes = scored("keypoints", coco(num_keypoints=0, keypoints=points), given, "map")
    assert "'num_keypoints' is 0 for 1 object" in notes
    assert not scored("keypoints", coco(num_keypoints=17, keypoints=points), given, "map")[1]


@pytest.mark.parametrize(
    ("task", "truth"),
    [
        ("boxes", coco()),
        ("masks", coco(segmentation=RING)),
        ("keypoints", coco(keypoints=[1, 1, 2] * 17, num_keypoints=17)),
    ],
)
def test_no_detection_at_all(task: str, truth: Any) -> None:
    value, notes = scored(task, truth, [], "map")
    assert value == 0
    assert "There is no prediction at all" in notes


def test_truth_that_stands_twice() -> None:
    truth = coco()
    truth["annotations"].append({**truth["annotations"][0], "id": 2})
    given = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "score": 0.5}]
    assert "1 object of the truth appears twice" in scored("boxes", truth, given, "map")[1]
    truth["annotations"][1]["bbox"] = [0, 0, 5, 6]
    assert not scored("boxes", truth, given, "map")[1]
