"""What is said of boxes, masks, keypoints and oriented boxes that cannot be taken: where, what and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy

TRUTH: dict[str, list[Any]] = {
    "image": ["i", "i", "j"], "label": ["cat", "dog", "cat"], "x": [0.0, 9, 0], "y": [0.0, 0, 0], "w": [5.0, 5, 5],
    "h": [5.0, 5, 5],
}  # fmt: skip
FOUND: dict[str, list[Any]] = {**TRUTH, "score": [0.5, 0.5, 0.5]}


OTHER_IMAGES: list[tuple[Any, ...]] = [
    (["i", "i", "k"], ("E-unknown-name", "row 2", "'image'", "'k'")),
    (["i", "k", "k"], ("E-unknown-name", "row 1", "'image'", "'k'", "2")),
    (["l", "k", "l"], ("E-unknown-name", "row 0", "'image'", "'l'", "3", "2", "'k'")),
]


def test_images_that_the_truth_has_not() -> None:
    for images, said in OTHER_IMAGES:
        with refuses(*said):
            sy.evaluate("boxes", TRUTH, {**FOUND, "image": images}, confidence=None)


def coco(image: int = 1, category: int = 1) -> dict[str, Any]:
    prediction = {"id": 1, "image_id": image, "category_id": category, "bbox": [0, 0, 5, 5], "area": 25, "iscrowd": 0}
    return {"images": [{"id": 1}, {"id": 2}], "annotations": [prediction], "categories": [{"id": 1, "name": "cat"}]}


def result(image: int, category: int) -> dict[str, Any]:
    return {"image_id": image, "category_id": category, "bbox": [0, 0, 5, 5], "score": 0.5}


def test_classes_that_the_truth_has_not() -> None:
    with refuses("E-unknown-name", "record 1", "'category_id'", "'2'"):
        sy.evaluate("boxes", coco(), [result(1, 1), result(1, 2)], confidence=None)
    with refuses("E-unknown-name", "record 0", "'category_id'", "'3'", "'2'"):
        sy.evaluate("boxes", coco(), [result(1, 3), result(2, 2)], confidence=None)
    with refuses("E-unknown-name", "record 1", "'image_id'", "'3'"):
        sy.evaluate("boxes", coco(), [result(1, 3), result(3, 1)], confidence=None)  # images come first
    with refuses("E-unknown-name", "annotation 0", "'category_id'", "'2'"):
        sy.evaluate("boxes", coco(category=2), [], confidence=None)
    with refuses("E-unknown-name", "annotation 0", "'image_id'", "'3'"):
        sy.evaluate("boxes", coco(image=3), [], confidence=None)


def test_what_the_truth_has_not_is_left_out_and_counted() -> None:
    """Of five detections one names another class and one another image."""
    prediction = [result(1, 2), result(1, 1), result(3, 1), result(2, 1), result(1, 1)]
    report = sy.evaluate("boxes", coco(), prediction, ["precision"], confidence=None, extra="skip")
    assert report["precision"].value == pytest.approx(1 / 3)
    coverage = report.coverage
    assert (coverage.truth, coverage.predictions, coverage.matched) == (1, 5, 1)
    assert (coverage.missing, coverage.extra) == (0, 2)


BESIDE = "For a column of another file, which has the ids of the images, write"
OTHER_COLUMNS: list[tuple[Any, ...]] = [
    (["d", "n", "d"], "light",
     ("E-conflict", "row 1", "'light'", "'i'")),
    (["d", "d", "n"], "ligth", ("E-missing-column", "'ligth'", "'light'")),
    (["d", "d", "n"], "x", ("E-missing-column", "'x'")),
]  # fmt: skip


def test_columns_that_do_not_part_boxes() -> None:
    for light, by, said in OTHER_COLUMNS:
        with refuses(*said):
            sy.evaluate("boxes", {**TRUTH, "light": light}, FOUND, confidence=None, by=[by])


SHARES: list[tuple[Any, ...]] = [
    ("dece", ("E-out-of-range", "predictions, row 1, column 'score'")), ("laece", ("E-out-of-range", "predictions, row 1, column 'score'")),
    ("laece(tau=0)", ("E-out-of-range", "predictions, row 1, column 'score'")), ("ji", ("E-out-of-range", "0.9")),
]  # fmt: skip


def test_scores_that_are_no_shares() -> None:
    for metric, why in SHARES:
        for scores, shown in (([0.5, 1.5, 2], "1.5"), ([1, -0.25, 0], "-0.25")):
            with refuses(*why, "row 1", "'score'", str(shown)):
                sy.evaluate("boxes", TRUTH, {**FOUND, "score": scores}, [metric], confidence=None)
        ends = sy.evaluate("boxes", TRUTH, {**FOUND, "score": [0, 0.5, 1]}, [metric], confidence=None)
        assert 0 <= ends[metric].value <= 1


TURNED: dict[str, list[Any]] = {
    "image": ["i", "i"], "label": ["a", "a"], "cx": [10.0, 30], "cy": [10.0, 10], "w": [8.0, 8], "h": [4.0, 4],
    "angle": [0.0, 0.5],
}  # fmt: skip


ANGLES: list[tuple[Any, ...]] = [
    ([0.0, 90.0], "radians", ("E-out-of-range", "90", "1", "2")),
    ([-7.0, 6.4], "radians", ("E-out-of-range", "2")),
    (
        [0.0, 361.0], "degrees",
        ("E-out-of-range", "361", "1", "2"),
    ),
    ([1.0, 2.0], "oc", ("E-out-of-range", "2", "8", "4", "'oc'", "1")),
    ([-2.0, 2.0], "le90", ("E-out-of-range", "8", "4", "'le90'", "2")),
]  # fmt: skip


def test_angles() -> None:
    for angles, convention, said in ANGLES:
        row = 0 if abs(angles[0]) > 1 else 1
        predicted = {**TURNED, "angle": angles, "score": [0.9, 0.8]}
        where = f"predictions, row {row}, column 'angle'"
        truth = {**TURNED, "angle": [0.1, 0.2]}
        with refuses(*said, str(where)):
            sy.evaluate("oriented", truth, predicted, confidence=None, options={"prediction.angle": convention})


def test_a_few_angles_beyond_a_turn_are_taken() -> None:
    """One of 101 rows is a turn and a half too far: the rectangle lies as one of half a turn does."""
    many = {name: [column[0]] * 101 for name, column in TURNED.items()} | {"cx": [20.0 * k for k in range(101)]}
    report = sy.evaluate(
        "oriented", many, {**many, "angle": [0.0] * 100 + [3 * np.pi], "score": [0.9] * 101}, ["f1(iou=0.95)"],
        confidence=None,
    )  # fmt: skip
    assert report["f1(iou=0.95)"].value == 1
    full = {**TURNED, "angle": [2 * np.pi, -2 * np.pi], "score": [0.9, 0.8]}
    assert sy.evaluate("oriented", TURNED, full, ["f1"], confidence=None)["f1"].value > 0


def test_oriented_boxes_without_a_column() -> None:
    for name in ("cx", "cy", "w", "h", "angle"):
        lacking = {key: column for key, column in TURNED.items() if key != name}
        with refuses("E-missing-column", f"'{name}'"):
            sy.evaluate("oriented", lacking, {**TURNED, "score": [0.9, 0.8]}, confidence=None)


def test_a_polygon_that_crosses_itself() -> None:
    square = {"x1": 0, "y1": 0, "x2": 4, "y2": 0, "x3": 4, "y3": 4, "x4": 0, "y4": 4}
    crossed = {**square, "x3": 0, "x4": 4}
    truth = {"image": ["i", "i"], "label": ["a", "a"], **{name: [float(v)] * 2 for name, v in square.items()}}
    prediction = {
        **truth,
        **{name: [float(square[name]), float(crossed[name])] for name in square},
        "score": [0.9, 0.8],
    }
    with refuses("E-invalid-value", "row 1", "'x1'"):
        sy.evaluate("oriented", truth, prediction, confidence=None)


POINTS: dict[str, list[Any]] = {"image": ["i"], "label": ["a"], "keypoints": [[1, 2, 2, 3, 4, 2]]}
PLACED = {**POINTS, "score": [0.5]}


KEYPOINTS: list[tuple[Any, ...]] = [
    ([[1, 2, 2] * 2], [[1, 2, 2] * 2], None,
     ("E-shape-mismatch", "2", "17")),
    ([[1, 2, 2]], [[1, 2, 2]], None,
     ("E-shape-mismatch", "1", "17")),
    ([[1, 2, 2] * 2], [[1, 2, 2]], [0.1],
     ("E-shape-mismatch", "row 0", "'keypoints'", "3", "6")),
    ([[1, 2, 2]], [[1, 2, 2] * 2], [0.1],
     ("E-shape-mismatch", "row 0", "'keypoints'", "3", "6")),
    ([[1, 2, 2] * 2], [[1, 2, 2] * 2], [0.1, 0.2, 0.3],
     ("E-shape-mismatch", "3", "2")),
    ([[1, 2, 2] * 2], [[1, 2, 2] * 2], [0.1, 1e-7],
     ("E-out-of-range", "1e-07")),
    ([[1, 2, 2] * 2], [[1, 2, 2] * 2], [0.1, 1e7],
     ("E-out-of-range", "1e+07")),
    ([[1, 2, 2, 3]], [[1, 2, 2, 3]], [0.1],
     ("E-shape-mismatch", "row 0", "'keypoints'", "4")),
    ([[1, 2, 2, 1e13, 0, 2]], [[1, 2, 2] * 2], [0.1],
     ("E-out-of-range", "row 0", "'keypoints'", "1e12")),
    ([[1, 2, 2] * 2], [[1, 2, 2, 0, -1e13, 2]], [0.1],
     ("E-out-of-range", "row 0", "'keypoints'", "1e12")),
    ([[]], [[]], [0.1],
     ("E-empty-cell", "row 0", "'keypoints'")),
]  # fmt: skip


def test_keypoints() -> None:
    for truth, prediction, sigmas, said in KEYPOINTS:
        options = {} if sigmas is None else {"sigmas": sigmas}
        sides = {**POINTS, "keypoints": truth}, {**PLACED, "keypoints": prediction}
        with refuses(*said):
            sy.evaluate("keypoints", *sides, confidence=None, options=options)


def test_sigmas_at_the_ends_of_their_range() -> None:
    for sigma in (1e-6, 1e6):
        report = sy.evaluate("keypoints", POINTS, PLACED, ["f1"], options={"sigmas": [sigma]}, confidence=None)
        assert report["f1"].value == 1


def mask(height: int, width: int) -> dict[str, Any]:
    """All of an image."""
    return {"size": [height, width], "counts": [0, height * width]}


def masks(*every: dict[str, Any]) -> dict[str, Any]:
    return {"image": ["i"] * len(every), "label": ["a"] * len(every), "mask": list(every)}


def test_masks() -> None:
    with refuses("E-shape-mismatch", "row 1", "'mask'", "3", "image 2"):
        sy.evaluate("masks", masks(mask(2, 3)), {**masks(mask(2, 3), mask(3, 2)), "score": [0.9, 0.8]}, confidence=None)
    with refuses("E-shape-mismatch", "row 1", "'mask'", "4", "image 2", "3"):
        sy.evaluate("masks", masks(mask(2, 3), mask(2, 4)), {**masks(mask(2, 3)), "score": [0.9]}, confidence=None)
    with refuses("E-out-of-range", "row 0", "'mask'"):
        sy.evaluate("masks", masks(mask(2, 3)), {**masks(mask(0, 3)), "score": [0.9]}, confidence=None)
    many = {"overlap": "boundary", "dilation": 1.5}
    with refuses("E-out-of-range", "dilation", "1.5"):
        sy.evaluate("masks", masks(mask(2, 3)), {**masks(mask(2, 3)), "score": [0.9]}, confidence=None, options=many)
    whole = {"overlap": "boundary", "dilation": 1}
    report = sy.evaluate("masks", masks(mask(2, 3)), {**masks(mask(2, 3)), "score": [0.9]}, ["f1"], options=whole)
    assert report["f1"].value == 1


def test_images_of_masks_without_a_pixel() -> None:
    truth = coco()
    truth["images"] = [{"id": 1, "height": 4, "width": 4}, {"id": 7, "height": 0, "width": 9}]
    truth["annotations"][0]["segmentation"] = [[0, 0, 4, 0, 4, 4, 0, 4]]
    prediction = [{"image_id": 1, "category_id": 1, "segmentation": mask(4, 4), "score": 0.9}]
    with refuses("E-shape-mismatch", "image 7", "0", "9"):
        sy.evaluate("masks", truth, prediction, confidence=None)
