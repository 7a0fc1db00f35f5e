"""What is said of boxes in space, tracks and ellipses that cannot be taken: where, what and the remedy, word by word."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.refusal import refused_evaluation
from support.scene_pairs import pairs_of

import steelyard as sy

nan = math.nan


PLACE: dict[str, list[Any]] = {
    "frame": ["f", "f"], "label": ["car", "car"], "x": [1.0, 9.0], "y": [1.0, 1.0], "z": [1.0, 1.0], "length": [4.0, 4.0],
    "width": [2.0, 2.0], "height": [1.5, 1.5], "yaw": [0.0, 0.0],
}  # fmt: skip
IMAGE: dict[str, list[Any]] = {"left": [0.0, 9.0], "top": [0.0, 0.0], "right": [5.0, 12.0], "bottom": [30.0, 30.0]}
FINITE, SIZES = "Give a finite number, or no row.", "Sizes are metres, and more than 0."
SOLID: list[tuple[dict[str, Any], str]] = [
    *(
        ({name: [1.0, nan]}, f"row 1, column '{name}': '{name}' is empty or nan. {FINITE}")
        for name in ("y", "z", "length", "width", "height", "yaw", "top", "right", "bottom")
    ),
    ({"length": [4.0, 0.0]}, f"row 1, column 'length': the length is 0. {SIZES}"),
    ({"width": [-2.0, 2.0]}, f"row 0, column 'width': the width is -2. {SIZES}"),
    ({"height": [4.0, -0.5]}, f"row 1, column 'height': the height is -0.5. {SIZES}"),
    ({"score": [0.5, nan]}, "row 1, column 'score': the score is empty or nan. Give a number."),
    (
        {"right": [5.0, 8.0]},
        "row 1, column 'right': the width in the image is -1. A box in the image is left, top, right, bottom.",
    ),
    (
        {"bottom": [-3.0, 9.0]},
        "row 0, column 'bottom': the height in the image is -3. A box in the image is left, top, right, bottom.",
    ),
    (
        {"x": [1.0, -1000.0], "width": [2.0, -1.0]},
        "row 1, column 'width': a Car without a place in space. Only DontCare has none. Give its size and place, or leave the "
        "columns of the place out.",
    ),
    ({"x": [1.0, -998.0], "width": [2.0, -1.0]}, f"row 1, column 'width': the width is -1. {SIZES}"),
]  # fmt: skip


def test_boxes_in_space() -> None:
    for changed, said in SOLID:
        cars = {**PLACE, **IMAGE, "label": ["Car", "Car"]}
        assert refused_evaluation("boxes3d", cars, {**cars, "score": [0.5, 0.5], **changed}) == f"predictions, {said}"


def test_boxes_in_the_image_alone() -> None:
    image = {"frame": ["f", "f"], "label": ["Car", "Car"], **IMAGE}
    place = {**PLACE, "label": ["Car", "Car"], "score": [0.5, 0.5]}
    assert refused_evaluation("boxes3d", image, place) == (
        "truth: predictions has places in space and truth has boxes in the image. Give both sides the same columns."
    )
    assert refused_evaluation("boxes3d", {**place}, {**image, "score": [0.5, 0.5]}) == (
        "predictions: truth has places in space and predictions has boxes in the image. Give both sides the same columns."
    )
    assert refused_evaluation("boxes3d", {"frame": ["f"], "label": ["Car"], "right": [1.0]}, place) == (
        "truth: column 'x' is missing; the columns are 'frame', 'label', 'right'. A box is x, y, z, length, width, height, "
        "yaw (or left, top, right, bottom in the image alone)."
    )


NAMES: list[tuple[Any, ...]] = [
    ("truth", {"label": ["car", "cra"]},
     "row 1: 'cra' is not a nuScenes class. Did you mean 'car'? Other classes: the option `classes=a,b`, or `rules=none`."),
    ("predictions", {"label": ["bicycle_rack", "car"]},
     "row 0: 'bicycle_rack' is not a nuScenes class. Did you mean 'bicycle'? Other classes: the option `classes=a,b`, or "
     "`rules=none`."),
    ("truth", {"attribute": ["", "vehicle.movin"]},
     "row 1, column 'attribute': 'vehicle.movin' is not an attribute. Did you mean 'vehicle.moving'?"),
    ("truth", {"attribute": ["cycle.with_rider", ""]},
     "row 0, column 'attribute': attribute 'cycle.with_rider' is not one of car. Known: vehicle.moving, vehicle.parked, "
     "vehicle.stopped."),
    ("predictions", {"label": ["car", "barrier"], "attribute": ["", "vehicle.parked"]},
     "row 1, column 'attribute': attribute 'vehicle.parked' is not one of barrier. A barrier has none: leave it empty."),
]  # fmt: skip


def test_names_of_nuscenes() -> None:
    for side, changed, said in NAMES:
        known = {**PLACE, "vx": [0.0, 0.0], "vy": [0.0, 0.0], "attribute": ["", ""]}
        truth = known | (changed if side == "truth" else {})
        predicted = known | {"score": [0.5, 0.5]} | (changed if side == "predictions" else {})
        assert refused_evaluation("boxes3d", truth, predicted) == f"{side}, {said}"
        assert sy.evaluate("boxes3d", truth, predicted, ["map"], options={"rules": "none"}, confidence=None)[
            "map"
        ].defined


TRACK: dict[str, list[Any]] = {
    "sequence": ["s", "s"], "frame": [1, 2], "track": ["t", "t"], "x": [0.0, 0.0], "y": [0.0, 0.0], "w": [9.0, 9.0],
    "h": [9.0, 9.0],
}  # fmt: skip
EDGES = {name: column for name, column in TRACK.items() if name not in "wh"} | {
    "right": [9.0, 9.0],
    "bottom": [9.0, 9.0],
}
AREA = "It must be more than 0; the option `degenerate=keep` keeps such boxes, which fit nothing."
SHAPE = "Or give x, y, right, bottom, or a mask."


TRACKS: list[tuple[Any, ...]] = [
    ({**TRACK, "track": ["t", ""]}, "predictions, row 1, column 'track': the track is empty. Name every object."),
    ({**TRACK, "y": [0.0, nan]}, f"predictions, row 1, column 'y': 'y' is empty or nan. {FINITE}"),
    ({**TRACK, "w": [9.0, 0.0]}, f"predictions, row 1, column 'w': the width is 0. {AREA}"),
    ({**TRACK, "h": [-1.0, 9.0]}, f"predictions, row 0, column 'h': the height is -1. {AREA}"),
    ({**EDGES, "right": [9.0, -2.0]}, f"predictions, row 1, column 'right': the width is -2. {AREA}"),
    ({**EDGES, "bottom": [0.0, 9.0]}, f"predictions, row 0, column 'bottom': the height is 0. {AREA}"),
    ({**EDGES, "bottom": [9.0, nan]}, f"predictions, row 1, column 'bottom': 'bottom' is empty or nan. {FINITE}"),
    (
        {name: column for name, column in TRACK.items() if name != "x"},
        "predictions: column 'x' is missing; the columns are 'sequence', 'frame', 'track', 'y', 'w', 'h'. Map it: "
        f"`columns={{'x': 'YOUR_COLUMN'}}`. {SHAPE}",
    ),
    (
        {**TRACK, "frame": [1, 1], "x": [0.0, 50.0]},
        "predictions, row 1, column 'track': track t appears twice in frame 1 of sequence 's', also at predictions, row 0. "
        "A track has one box per frame. Are ids given by class? Then name the label.",
    ),
    (
        {**TRACK, "label": ["cow", "cow"]},
        "truth: predictions has classes and truth has none. Give both sides a label, or neither.",
    ),
]  # fmt: skip


def test_tracks() -> None:
    for predicted, said in TRACKS:
        assert refused_evaluation("tracking", TRACK, predicted) == said


def test_classes_of_the_truth_alone() -> None:
    assert refused_evaluation("tracking", {**TRACK, "label": ["cow", "cow"]}, TRACK) == (
        "predictions: truth has classes and predictions has none. Give both sides a label, or neither."
    )


def test_boxes_without_an_area_may_be_kept() -> None:
    flat = {**TRACK, "w": [9.0, 0.0]}
    report = sy.evaluate("tracking", TRACK, flat, ["fp", "fn"], options={"degenerate": "keep"}, confidence=None)
    assert (report["fp"].value, report["fn"].value) == (1, 1)


def test_classes_of_benchmarks() -> None:
    for benchmark in ("mot16", "mot17", "mot20"):
        named = {**TRACK, "track": [1, 1], "label": [1, 14]}
        plain = {**TRACK, "track": [1, 1]}
        options = {"benchmark": benchmark}
        assert refused_evaluation("tracking", plain, plain, options=options) == (
            f"truth: the truth has no classes, which {benchmark} takes rows out by. Column 8 of a truth file is the class; the "
            "option `benchmark=none` looks at none."
        )
        if benchmark != "mot17":
            continue
        wrong = "Column 8 of the truth is the class, from 1 to 13; the option `benchmark=none` looks at none."
        for label in ([1, 14], [1, 0], ["pedestrian", "horse"], ["1", "14"]):
            assert refused_evaluation("tracking", {**named, "label": label}, plain, options=options) == (
                f"truth, row 1, column 'label': class {label[1]} is none of the benchmark's. {wrong}"
            )
        for label in ([1, 2], ["", "car"], ["pedestrian", "13"]):
            assert refused_evaluation(
                "tracking", {**named, "label": [1, 1]}, {**plain, "label": label}, options=options
            ) == (
                f"predictions, row 1, column 'label': class {label[1]}, where the benchmark knows pedestrians only. Write -1 or 1 "
                "in column 8, or score your own classes with the option `benchmark=none`."
            )
        for label in ([1, -1], ["", "1"], ["pedestrian", "0"], ["-1", "1"]):
            report = sy.evaluate(
                "tracking",
                {**named, "label": [1, 13]},
                {**plain, "label": label},
                ["fp"],
                options=options,
                confidence=None,
            )
            assert report["fp"].value == 1


def test_masks_and_boxes_of_tracks() -> None:
    masks = {name: TRACK[name] for name in ("sequence", "frame", "track")} | {
        "mask": [{"size": [2, 2], "counts": [0, 4]}] * 2
    }
    remedy = "Give masks on both sides, or boxes on both."
    assert refused_evaluation("tracking", masks, TRACK) == f"truth has masks and predictions has none. {remedy}"
    assert refused_evaluation("tracking", TRACK, masks) == f"predictions has masks and truth has none. {remedy}"


def test_frames_beyond_the_video() -> None:
    remedy = "Is it the same video, and do both sides count frames alike?"
    long = {**TRACK, "frame": [1, 7]}
    given = {**TRACK, "frames": [6, 6]}
    assert refused_evaluation("tracking", given, long) == (
        f"predictions, row 1, column 'frame': sequence 's' has 6 frames, and a row is in frame 7. {remedy}"
    )
    assert refused_evaluation("tracking", {**long, "frames": [6, 6]}, TRACK) == (
        f"truth, row 1, column 'frame': sequence 's' has 6 frames, and a row is in frame 7. {remedy}"
    )
    report = sy.evaluate("tracking", given, {**TRACK, "x": [99.0, 99.0]}, ["fpf"], confidence=None)
    assert report["fpf"].value == pytest.approx(2 / 6)
    from_zero = {**TRACK, "frame": [0, 4]}
    report = sy.evaluate("tracking", from_zero, {**from_zero, "x": [99.0, 99.0]}, ["fpf"], confidence=None)
    assert report["fpf"].value == pytest.approx(2 / 5)
    assert refused_evaluation("tracking", {**from_zero, "frames": [4, 4]}, from_zero) == (
        f"predictions, row 1, column 'frame': sequence 's' has 4 frames, and a row is in frame 4. {remedy}"
    )


SLICES: list[tuple[Any, ...]] = [
    ("frame", "truth: 'frame' varies inside a sequence, and slicing by it would cut tracks. Slice by what holds for whole "
              "sequences (camera, light), or by label."),
    ("light", "truth, row 1: 'light' varies inside sequence 's', and slicing by it would cut tracks. A column to slice by "
              "must be the same in all rows of a sequence."),
    ("label", "truth: tracking cannot be sliced by 'label'. Known: light."),
]  # fmt: skip


def test_slices_of_tracks() -> None:
    for by, said in SLICES:
        assert refused_evaluation("tracking", {**TRACK, "light": ["day", "night"]}, TRACK, by=[by]) == said


ELLIPSE: dict[str, list[Any]] = {
    "image": ["i", "j"], "xc": [5.0, 5.0], "yc": [5.0, 5.0], "theta": [0.0, 0.0], "a": [4.0, 4.0], "b": [2.0, 2.0],
}  # fmt: skip
IN_SIZE, OF_AXIS = "It must be up to 1e+12 in size.", "It must be from 1e-12 up to 1e+12 in size."
HALF = "Give all five numbers, or none for an image without ellipses."


ELLIPSES: list[tuple[Any, ...]] = [
    *(
        ({name: [1.0, nan]},
         f"row 1, column '{name}': '{name}' is empty or nan, and other columns of the row are not. {HALF}")
        for name in ("xc", "yc", "theta", "a", "b")
    ),
    ({"a": [4.0, 0.0]}, "row 1, column 'a': the axis is 0. An axis must be more than 0."),
    ({"b": [-2.0, 2.0]}, "row 0, column 'b': the axis is -2. An axis must be more than 0."),
    ({"xc": [5.0, 1e13]}, f"row 1, column 'xc': 1e+13 is out of range. {IN_SIZE}"),
    ({"yc": [-1e13, 5.0]}, f"row 0, column 'yc': -1e+13 is out of range. {IN_SIZE}"),
    ({"theta": [0.0, 2e12]}, f"row 1, column 'theta': 2e+12 is out of range. {IN_SIZE}"),
    ({"a": [4.0, 1e13]}, f"row 1, column 'a': 1e+13 is out of range. {OF_AXIS}"),
    ({"b": [2.0, 1e-13]}, f"row 1, column 'b': 1e-13 is out of range. {OF_AXIS}"),
    ({"score": [0.5, nan]},
     "row 1, column 'score': the score is empty or nan. Give every ellipse a score, or leave the column out."),
]  # fmt: skip


def test_ellipses() -> None:
    for changed, said in ELLIPSES:
        assert refused_evaluation("ellipses", ELLIPSE, {**ELLIPSE, **changed}) == f"predictions, {said}"


def test_ellipses_without_a_column() -> None:
    for name in ("xc", "yc", "theta", "a", "b"):
        lacking = {key: column for key, column in ELLIPSE.items() if key != name}
        has = ", ".join(f"'{key}'" for key in ("image", "xc", "yc", "a", "b", "theta") if key != name)
        assert refused_evaluation("ellipses", lacking, ELLIPSE) == (
            f"truth: column '{name}' is missing; the columns are {has}. Map it: `columns={{'{name}': 'YOUR_COLUMN'}}`. Or give contours in a "
            "column 'points'."
        )


def test_contours() -> None:
    remedy = "Give at least five points of the contour, not all on a line."
    circle = np.array([[5 + 4 * math.cos(k), 5 + 4 * math.sin(k)] for k in range(6)])
    fine = {"image": ["i", "j"], "points": [circle, circle]}
    for points, why in ((circle[:4], None), (circle * 1e13, "a coordinate is larger than 1e+12")):
        said = refused_evaluation("ellipses", fine, {**fine, "points": [circle, points]})
        start = f"predictions, row 1, column 'points': no ellipse through {len(points)} points: "
        assert said.startswith(start)
        assert said.endswith(f". {remedy}")
        if why is not None:
            assert said == f"{start}{why}. {remedy}"
    fitted = pairs_of("ellipses", fine, fine).truth
    assert "points" not in fitted
    np.testing.assert_allclose([fitted[name][0] for name in ("xc", "yc", "a", "b")], [5, 5, 4, 4])
    report = sy.evaluate("ellipses", fine, {**fine, "points": [circle, circle + 3]}, ["center_error"], confidence=None)
    assert report["center_error"].value == pytest.approx(math.sqrt(18) / 2)


def test_images_that_the_list_has_not() -> None:
    listed = {"images": ["i", "k"]}
    other = {**ELLIPSE, "image": ["i", "l"]}
    assert refused_evaluation("ellipses", {**ELLIPSE, "image": ["i", "i"]}, ELLIPSE, options=listed) == (
        "predictions, row 1, column 'image': image 'j' is not in the list images. The list must name every image."
    )
    assert refused_evaluation("ellipses", {**ELLIPSE, "image": ["l", "j"]}, other, options=listed) == (
        "truth, row 0, column 'image': image 'l' is not in the list images (2 images are so: 'j', 'l'). The list must name "
        "every image."
    )
