"""Detections of the package supervision, in lists and by image, against its own metric."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy

sv = lazy("supervision")


@pytest.fixture(autouse=True)
def _installed() -> None:
    pytest.importorskip("supervision")  # installed by requirements/test.txt


def detections(boxes: list[list[float]], labels: list[int], scores: list[float] | None = None, **more: Any) -> Any:
    return sv.Detections(
        xyxy=np.array(boxes, dtype=float).reshape(-1, 4),
        class_id=np.array(labels, dtype=int),
        confidence=None if scores is None else np.array(scores, dtype=float),
        **more,
    )


CUP, FORK = [10, 10, 30, 30], [50, 10, 60, 20]


def test_lists_are_joined_by_position() -> None:
    truth = [detections([CUP, FORK], [0, 1]), detections([CUP], [0]), sv.Detections.empty()]
    predicted = [detections([CUP], [0], [0.9]), sv.Detections.empty(), detections([FORK], [1], [0.5])]
    report = sy.evaluate("boxes", truth, predicted, ["recall", "map50"], confidence=None)
    assert report["recall"].value == pytest.approx(1 / 3)
    assert report["recall"].units == 3
    assert report["map50"].value == pytest.approx(51 / 101 / 2)  # recall 0.5 of cups is 51 of COCO's 101 points
    by_image = [dict(zip("abc", side, strict=True)) for side in (truth, predicted)]
    assert sy.score("boxes", *by_image, "recall") == pytest.approx(1 / 3)
    del by_image[1]["b"]
    assert sy.score("boxes", *by_image, "recall") == pytest.approx(1 / 3)


@pytest.mark.filterwarnings("ignore")
def test_the_same_map_as_supervision() -> None:
    """To six digits: supervision computes in single precision."""
    from supervision.metrics import MeanAveragePrecision

    rng = np.random.default_rng(3)
    truth, predicted = [], []
    for _ in range(20):
        count = int(rng.integers(1, 6))
        boxes = rng.uniform(0, 400, (count, 4))
        boxes[:, 2:] = boxes[:, :2] + rng.uniform(40, 200, (count, 2))
        labels = rng.integers(0, 3, count)
        truth.append(detections(boxes.tolist(), labels.tolist()))
        moved = np.vstack([boxes + rng.normal(0, 6, boxes.shape), boxes[:1] + 300])
        scores = rng.permutation(1000)[: count + 1] / 1000
        predicted.append(detections(moved.tolist(), [*labels.tolist(), 0], scores.tolist()))
    theirs = MeanAveragePrecision().update(predicted, truth).compute()
    report = sy.evaluate("boxes", truth, predicted, ["map", "map50", "map75"], confidence=None)
    assert report["map"].value == pytest.approx(theirs.map50_95, abs=1e-6)
    assert report["map50"].value == pytest.approx(theirs.map50, abs=1e-6)
    assert report["map75"].value == pytest.approx(theirs.map75, abs=1e-6)


def test_masks_and_crowds() -> None:
    pixels = np.zeros((1, 40, 40), dtype=bool)
    pixels[0, 10:30, 10:30] = True
    half = pixels.copy()
    half[0, 10:20] = False
    truth, predicted = detections([CUP], [0], mask=pixels), detections([CUP], [0], [0.9], mask=half)
    assert sy.score("masks", [truth], [predicted], "mean_iou(iou=0.4)") == pytest.approx(0.5)
    assert sy.score("boxes", [truth], [predicted], "mean_iou") == 1.0  # the boxes are equal
    crowd = detections([CUP, FORK], [0, 0], data={"iscrowd": np.array([1, 0]), "area": np.array([400, 100])})
    assert sy.score("boxes", [crowd], [detections([CUP, FORK], [0, 0], [0.9, 0.8])], "map50") == pytest.approx(1.0)


def test_detections_that_cannot_be_taken() -> None:
    truth, predicted = [detections([CUP], [0])], [detections([CUP], [0], [0.9])]
    with refuses("E-shape-mismatch", "1", "2"):
        sy.evaluate("boxes", truth, predicted * 2)
    with refuses("E-missing-key", "confidence", "predictions"):
        sy.evaluate("boxes", truth, truth)
    with refuses("E-missing-key", "class_id", "truth"):
        sy.evaluate("boxes", [sv.Detections(xyxy=np.array([CUP], dtype=float))], predicted)
    with refuses("E-missing-key", "mask"):
        sy.evaluate("masks", truth, predicted)
    with refuses("E-invalid-value", "int", "image 1"):
        sy.evaluate("boxes", [truth[0], 7], predicted * 2)


def test_objects_with_the_same_attributes() -> None:
    """No package is imported: what has the attributes is taken."""
    box = SimpleNamespace(xyxy=[CUP], class_id=[0], confidence=[0.9])
    assert sy.score("boxes", [box], [box], "map50") == pytest.approx(1.0)
