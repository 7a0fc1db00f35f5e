"""What is said of boxes, masks, keypoints and oriented boxes that cannot be taken: where, what and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refused_evaluation

import steelyard as sy

TRUTH: dict[str, list[Any]] = {
    "image": ["i", "i", "j"], "label": ["cat", "dog", "cat"], "x": [0.0, 9, 0], "y": [0.0, 0, 0], "w": [5.0, 5, 5],
    "h": [5.0, 5, 5],
}  # fmt: skip
FOUND: dict[str, list[Any]] = {**TRUTH, "score": [0.5, 0.5, 0.5]}


OTHER_IMAGE = "List every image in the truth, also those without objects, or choose `extra='skip'`."


OTHER_IMAGES: list[tuple[Any, ...]] = [
    (["i", "i", "k"], "row 2, column 'image': image 'k' is not in truth."),
    (["i", "k", "k"], "row 1, column 'image': image 'k' is not in truth; 2 rows name 1 unknown: 'k'."),
    (["l", "k", "l"], "row 0, column 'image': image 'l' is not in truth; 3 rows name 2 unknown: 'l', 'k'."),
]


def test_images_that_the_truth_has_not() -> None:
    for images, said in OTHER_IMAGES:
        assert refused_evaluation("boxes", TRUTH, {**FOUND, "image": images}) == f"predictions, {said} {OTHER_IMAGE}"


def coco(image: int = 1, category: int = 1) -> dict[str, Any]:
    prediction = {"id": 1, "image_id": image, "category_id": category, "bbox": [0, 0, 5, 5], "area": 25, "iscrowd": 0}
    return {"images": [{"id": 1}, {"id": 2}], "annotations": [prediction], "categories": [{"id": 1, "name": "cat"}]}


def result(image: int, category: int) -> dict[str, Any]:
    return {"image_id": image, "category_id": category, "bbox": [0, 0, 5, 5], "score": 0.5}


def test_classes_that_the_truth_has_not() -> None:
    remedy = "List every class in the truth, or choose `extra='skip'`."
    assert refused_evaluation("boxes", coco(), [result(1, 1), result(1, 2)]) == (
        f"predictions, record 1, column 'category_id': class '2' is not in truth. {remedy}"
    )
    assert refused_evaluation("boxes", coco(), [result(1, 3), result(2, 2)]) == (
        "predictions, record 0, column 'category_id': class '3' is not in truth; 2 rows name 2 unknown: '3', '2'. "
        f"{remedy}"
    )
    both = refused_evaluation("boxes", coco(), [result(1, 3), result(3, 1)])  # images come first
    assert both == f"predictions, record 1, column 'image_id': image '3' is not in truth. {OTHER_IMAGE}"
    assert refused_evaluation("boxes", coco(category=2), []) == (
        f"truth, annotation 0, column 'category_id': class '2' is not in truth. {remedy}"
    )
    assert refused_evaluation("boxes", coco(image=3), []) == (
        f"truth, annotation 0, column 'image_id': image '3' is not in truth. {OTHER_IMAGE}"
    )


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
     "truth, row 1: 'light' varies inside image 'i'. A column to slice by must be constant in each image."),
    (["d", "d", "n"], "ligth", f"truth: there is no column 'ligth' to slice by. Did you mean 'light'? {BESIDE} ligth@FILE."),
    (["d", "d", "n"], "x", f"truth: there is no column 'x' to slice by. Known: label, light. {BESIDE} x@FILE."),
]  # fmt: skip


def test_columns_that_do_not_part_boxes() -> None:
    for light, by, said in OTHER_COLUMNS:
        assert refused_evaluation("boxes", {**TRUTH, "light": light}, FOUND, by=[by]) == said


SHARES: list[tuple[Any, ...]] = [
    ("dece", "calibration compares it with a share"), ("laece", "calibration compares it with a share"),
    ("laece(tau=0)", "calibration compares it with a share"), ("ji", "thresholds go from 0 to 0.9"),
]  # fmt: skip


def test_scores_that_are_no_shares() -> None:
    for metric, why in SHARES:
        for scores, shown in (([0.5, 1.5, 2], "1.5"), ([1, -0.25, 0], "-0.25")):
            assert refused_evaluation("boxes", TRUTH, {**FOUND, "score": scores}, [metric]) == (
                f"predictions, row 1, column 'score': the score is {shown}, and {why}. Scores must be from 0 to 1."
            )
        ends = sy.evaluate("boxes", TRUTH, {**FOUND, "score": [0, 0.5, 1]}, [metric], confidence=None)
        assert 0 <= ends[metric].value <= 1


TURNED: dict[str, list[Any]] = {
    "image": ["i", "i"], "label": ["a", "a"], "cx": [10.0, 30], "cy": [10.0, 10], "w": [8.0, 8], "h": [4.0, 4],
    "angle": [0.0, 0.5],
}  # fmt: skip
RANGE = "Set their convention: the options `angle=radians` and `angle=degrees` accept any value."


ANGLES: list[tuple[Any, ...]] = [
    ([0.0, 90.0], "radians", "angle 90 looks like degrees; 1 of 2 rows are beyond. Set the option `angle=degrees`."),
    ([-7.0, 6.4], "radians", "angle -7 looks like degrees; 2 of 2 rows are beyond. Set the option `angle=degrees`."),
    (
        [0.0, 361.0], "degrees",
        "angle 361 is more than a full turn; 1 of 2 rows are beyond. Angles of more than 360 degrees are none; is it "
        "another column?",
    ),
    ([1.0, 2.0], "oc", f"angle 2, width 8 and height 4 are not of 'oc'; 1 of 2 rows are not. {RANGE}"),
    ([-2.0, 2.0], "le90", f"angle -2, width 8 and height 4 are not of 'le90'; 2 of 2 rows are not. {RANGE}"),
]  # fmt: skip


def test_angles() -> None:
    for angles, convention, said in ANGLES:
        row = 0 if abs(angles[0]) > 1 else 1
        predicted = {**TURNED, "angle": angles, "score": [0.9, 0.8]}
        where = f"predictions, row {row}, column 'angle'"
        truth = {**TURNED, "angle": [0.1, 0.2]}
        assert (
            refused_evaluation("oriented", truth, predicted, options={"prediction.angle": convention})
            == f"{where}: {said}"
        )


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
    remedy = "Give centre, size and angle (cx, cy, w, h, angle), or four corners (x1, y1 to x4, y4)."
    for name in ("cx", "cy", "w", "h", "angle"):
        lacking = {key: column for key, column in TURNED.items() if key != name}
        assert refused_evaluation("oriented", lacking, {**TURNED, "score": [0.9, 0.8]}) == (
            f"truth: column '{name}' is missing. {remedy}"
        )


def test_a_polygon_that_crosses_itself() -> None:
    square = {"x1": 0, "y1": 0, "x2": 4, "y2": 0, "x3": 4, "y3": 4, "x4": 0, "y4": 4}
    crossed = {**square, "x3": 0, "x4": 4}
    truth = {"image": ["i", "i"], "label": ["a", "a"], **{name: [float(v)] * 2 for name, v in square.items()}}
    prediction = {
        **truth,
        **{name: [float(square[name]), float(crossed[name])] for name in square},
        "score": [0.9, 0.8],
    }
    assert refused_evaluation("oriented", truth, prediction) == (
        "predictions, row 1, column 'x1': the polygon crosses itself. List the corners in order around the box."
    )


POINTS: dict[str, list[Any]] = {"image": ["i"], "label": ["a"], "keypoints": [[1, 2, 2, 3, 4, 2]]}
PLACED = {**POINTS, "score": [0.5]}


KEYPOINTS: list[tuple[Any, ...]] = [
    ([[1, 2, 2] * 2], [[1, 2, 2] * 2], None,
     "there are 2 keypoints, and sigmas are known for COCO's 17 only. Give the option sigmas: one number for all (0.05), "
     "or one for each."),
    ([[1, 2, 2]], [[1, 2, 2]], None,
     "there are 1 keypoints, and sigmas are known for COCO's 17 only. Give the option sigmas: one number for all (0.05), "
     "or one for each."),
    ([[1, 2, 2] * 2], [[1, 2, 2]], [0.1],
     "predictions, row 0, column 'keypoints': 3 numbers per row, where the other side has 6. Give x, y and v of the same "
     "points on both sides."),
    ([[1, 2, 2]], [[1, 2, 2] * 2], [0.1],
     "truth, row 0, column 'keypoints': 3 numbers per row, where the other side has 6. Give x, y and v of the same points "
     "on both sides."),
    ([[1, 2, 2] * 2], [[1, 2, 2] * 2], [0.1, 0.2, 0.3],
     "3 sigmas for 2 keypoints. Give one number, or one for each."),
    ([[1, 2, 2] * 2], [[1, 2, 2] * 2], [0.1, 1e-7],
     "a sigma of 1e-07 is out of range. It must be from 1e-6 to 1e6."),
    ([[1, 2, 2] * 2], [[1, 2, 2] * 2], [0.1, 1e7],
     "a sigma of 1e+07 is out of range. It must be from 1e-6 to 1e6."),
    ([[1, 2, 2, 3]], [[1, 2, 2, 3]], [0.1],
     "truth, row 0, column 'keypoints': 4 numbers per row are not x, y and v of points. Give x, y and v of each point."),
    ([[1, 2, 2, 1e13, 0, 2]], [[1, 2, 2] * 2], [0.1],
     "truth, row 0, column 'keypoints': a keypoint is beyond 1e12"),
    ([[1, 2, 2] * 2], [[1, 2, 2, 0, -1e13, 2]], [0.1],
     "predictions, row 0, column 'keypoints': a keypoint is beyond 1e12"),
    ([[]], [[]], [0.1],
     "truth, row 0, column 'keypoints': the list of keypoints is empty. Give x, y and v of each point."),
]  # fmt: skip


def test_keypoints() -> None:
    for truth, prediction, sigmas, said in KEYPOINTS:
        options = {} if sigmas is None else {"sigmas": sigmas}
        sides = {**POINTS, "keypoints": truth}, {**PLACED, "keypoints": prediction}
        assert refused_evaluation("keypoints", *sides, options=options) == said


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
    both = "All masks of an image are of its size: height × width."
    assert refused_evaluation("masks", masks(mask(2, 3)), {**masks(mask(2, 3), mask(3, 2)), "score": [0.9, 0.8]}) == (
        f"predictions, row 1, column 'mask': the mask is 3 × 2 and another one of its image 2 × 3. {both}"
    )
    assert refused_evaluation("masks", masks(mask(2, 3), mask(2, 4)), {**masks(mask(2, 3)), "score": [0.9]}) == (
        f"truth, row 1, column 'mask': the mask is 2 × 4 and another one of its image 2 × 3. {both}"
    )
    assert refused_evaluation("masks", masks(mask(2, 3)), {**masks(mask(0, 3)), "score": [0.9]}) == (
        "predictions, row 0, column 'mask': the mask is of an image of size 0. Give the image's height and width in pixels."
    )
    many = {"overlap": "boundary", "dilation": 1.5}
    assert refused_evaluation("masks", masks(mask(2, 3)), {**masks(mask(2, 3)), "score": [0.9]}, options=many) == (
        "option dilation: 1.5 is out of range. It is a share: 0.02, say."
    )
    whole = {"overlap": "boundary", "dilation": 1}
    report = sy.evaluate("masks", masks(mask(2, 3)), {**masks(mask(2, 3)), "score": [0.9]}, ["f1"], options=whole)
    assert report["f1"].value == 1


def test_images_of_masks_without_a_pixel() -> None:
    truth = coco()
    truth["images"] = [{"id": 1, "height": 4, "width": 4}, {"id": 7, "height": 0, "width": 9}]
    truth["annotations"][0]["segmentation"] = [[0, 0, 4, 0, 4, 4, 0, 4]]
    prediction = [{"image_id": 1, "category_id": 1, "segmentation": mask(4, 4), "score": 0.9}]
    assert refused_evaluation("masks", truth, prediction) == (
        "truth, image 7: the image is 0 × 9. Give its height and width in pixels."
    )
