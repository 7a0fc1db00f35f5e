"""What is said of boxes in space, tracks and ellipses that cannot be taken: where, what and the remedy, word by word."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses
from support.scene_pairs import pairs_of

import steelyard as sy

nan = math.nan


PLACE: dict[str, list[Any]] = {
    "frame": ["f", "f"], "label": ["car", "car"], "x": [1.0, 9.0], "y": [1.0, 1.0], "z": [1.0, 1.0], "length": [4.0, 4.0],
    "width": [2.0, 2.0], "height": [1.5, 1.5], "yaw": [0.0, 0.0],
}  # fmt: skip
IMAGE: dict[str, list[Any]] = {"left": [0.0, 9.0], "top": [0.0, 0.0], "right": [5.0, 12.0], "bottom": [30.0, 30.0]}
SIZES = "Sizes are metres, and more than 0."
SOLID: list[tuple[dict[str, Any], str]] = [
    *(
        ({name: [1.0, nan]}, ("E-empty-cell", "row 1", f"'{name}'", f"'{name}'"))
        for name in ("y", "z", "length", "width", "height", "yaw", "top", "right", "bottom")
    ),
    ({"length": [4.0, 0.0]}, ("E-out-of-range", "row 1", "'length'", "0")),
    ({"width": [-2.0, 2.0]}, ("E-out-of-range", "row 0", "'width'")),
    ({"height": [4.0, -0.5]}, ("E-out-of-range", "row 1", "'height'")),
    ({"score": [0.5, nan]}, ("E-empty-cell", "row 1", "'score'")),
    (
        {"right": [5.0, 8.0]},
        ("E-out-of-range", "row 1", "'right'", "image"),
    ),
    (
        {"bottom": [-3.0, 9.0]},
        ("E-out-of-range", "row 0", "'bottom'", "image"),
    ),
    (
        {"x": [1.0, -1000.0], "width": [2.0, -1.0]},
        ("E-missing-key", "row 1", "'width'"),
    ),
    ({"x": [1.0, -998.0], "width": [2.0, -1.0]}, ("E-out-of-range", "row 1", "'width'")),
]  # fmt: skip


def test_boxes_in_space() -> None:
    for changed, said in SOLID:
        cars = {**PLACE, **IMAGE, "label": ["Car", "Car"]}
        with refuses(*said):
            sy.evaluate("boxes3d", cars, {**cars, "score": [0.5, 0.5], **changed}, confidence=None)


def test_boxes_in_the_image_alone() -> None:
    image = {"frame": ["f", "f"], "label": ["Car", "Car"], **IMAGE}
    place = {**PLACE, "label": ["Car", "Car"], "score": [0.5, 0.5]}
    with refuses("E-incompatible", "truth"):
        sy.evaluate("boxes3d", image, place, confidence=None)
    with refuses("E-incompatible", "predictions"):
        sy.evaluate("boxes3d", {**place}, {**image, "score": [0.5, 0.5]}, confidence=None)
    with refuses("E-missing-column", "'x'", "'frame'", "'label'", "'right'"):
        sy.evaluate("boxes3d", {"frame": ["f"], "label": ["Car"], "right": [1.0]}, place, confidence=None)


NAMES: list[tuple[Any, ...]] = [
    ("truth", {"label": ["car", "cra"]},
     ("E-unknown-name", "row 1", "'cra'", "'car'")),
    ("predictions", {"label": ["bicycle_rack", "car"]},
     ("E-unknown-name", "row 0", "'bicycle_rack'", "'bicycle'")),
    ("truth", {"attribute": ["", "vehicle.movin"]},
     ("E-unknown-name", "row 1", "'attribute'", "'vehicle.movin'", "'vehicle.moving'")),
    ("truth", {"attribute": ["cycle.with_rider", ""]},
     ("E-unknown-name", "row 0", "'attribute'", "'cycle.with_rider'")),
    ("predictions", {"label": ["car", "barrier"], "attribute": ["", "vehicle.parked"]},
     ("E-unknown-name", "row 1", "'attribute'", "'vehicle.parked'", "barrier")),
]  # fmt: skip


def test_names_of_nuscenes() -> None:
    for side, changed, said in NAMES:
        known = {**PLACE, "vx": [0.0, 0.0], "vy": [0.0, 0.0], "attribute": ["", ""]}
        truth = known | (changed if side == "truth" else {})
        predicted = known | {"score": [0.5, 0.5]} | (changed if side == "predictions" else {})
        with refuses(*said, str(side)):
            sy.evaluate("boxes3d", truth, predicted, confidence=None)
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
    ({**TRACK, "track": ["t", ""]}, ("E-empty-cell", "row 1", "'track'")),
    ({**TRACK, "y": [0.0, nan]}, ("E-empty-cell", "row 1", "'y'")),
    ({**TRACK, "w": [9.0, 0.0]}, ("E-out-of-range", "row 1", "'w'", "0")),
    ({**TRACK, "h": [-1.0, 9.0]}, ("E-out-of-range", "row 0", "'h'")),
    ({**EDGES, "right": [9.0, -2.0]}, ("E-out-of-range", "row 1", "'right'")),
    ({**EDGES, "bottom": [0.0, 9.0]}, ("E-out-of-range", "row 0", "'bottom'")),
    ({**EDGES, "bottom": [9.0, nan]}, ("E-empty-cell", "row 1", "'bottom'")),
    (
        {name: column for name, column in TRACK.items() if name != "x"},
        ("E-missing-column", "'x'", "'sequence'", "'frame'", "'track'", "'y'", "'w'", "'h'"),
    ),
    (
        {**TRACK, "frame": [1, 1], "x": [0.0, 50.0]},
        ("E-duplicate-key", "row 1", "'track'", "frame 1", "'s'", "row 0"),
    ),
    (
        {**TRACK, "label": ["cow", "cow"]},
        ("E-missing-data", "truth"),
    ),
]  # fmt: skip


def test_tracks() -> None:
    for predicted, said in TRACKS:
        with refuses(*said):
            sy.evaluate("tracking", TRACK, predicted, confidence=None)


def test_classes_of_the_truth_alone() -> None:
    with refuses("E-missing-data", "predictions"):
        sy.evaluate("tracking", {**TRACK, "label": ["cow", "cow"]}, TRACK, confidence=None)


def test_boxes_without_an_area_may_be_kept() -> None:
    flat = {**TRACK, "w": [9.0, 0.0]}
    report = sy.evaluate("tracking", TRACK, flat, ["fp", "fn"], options={"degenerate": "keep"}, confidence=None)
    assert (report["fp"].value, report["fn"].value) == (1, 1)


def test_classes_of_benchmarks() -> None:
    for benchmark in ("mot16", "mot17", "mot20"):
        named = {**TRACK, "track": [1, 1], "label": [1, 14]}
        plain = {**TRACK, "track": [1, 1]}
        options = {"benchmark": benchmark}
        with refuses("E-missing-data", str(benchmark)):
            sy.evaluate("tracking", plain, plain, confidence=None, options=options)
        if benchmark != "mot17":
            continue
        for label in ([1, 14], [1, 0], ["pedestrian", "horse"], ["1", "14"]):
            with refuses("E-unknown-name", "row 1", "'label'", f"class {label[1]}"):
                sy.evaluate("tracking", {**named, "label": label}, plain, confidence=None, options=options)
        for label in ([1, 2], ["", "car"], ["pedestrian", "13"]):
            with refuses("E-unknown-name", "row 1", "'label'", f"class {label[1]}", "benchmark"):
                sy.evaluate(
                    "tracking", {**named, "label": [1, 1]}, {**plain, "label": label}, confidence=None, options=options
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
    with refuses("E-missing-data"):
        sy.evaluate("tracking", masks, TRACK, confidence=None)
    with refuses("E-missing-data"):
        sy.evaluate("tracking", TRACK, masks, confidence=None)


def test_frames_beyond_the_video() -> None:
    long = {**TRACK, "frame": [1, 7]}
    given = {**TRACK, "frames": [6, 6]}
    with refuses("E-out-of-range", "row 1", "'frame'", "'s'", "6", "frames", "frame 7"):
        sy.evaluate("tracking", given, long, confidence=None)
    with refuses("E-out-of-range", "row 1", "'frame'", "'s'", "6", "frames", "frame 7"):
        sy.evaluate("tracking", {**long, "frames": [6, 6]}, TRACK, confidence=None)
    report = sy.evaluate("tracking", given, {**TRACK, "x": [99.0, 99.0]}, ["fpf"], confidence=None)
    assert report["fpf"].value == pytest.approx(2 / 6)
    from_zero = {**TRACK, "frame": [0, 4]}
    report = sy.evaluate("tracking", from_zero, {**from_zero, "x": [99.0, 99.0]}, ["fpf"], confidence=None)
    assert report["fpf"].value == pytest.approx(2 / 5)
    with refuses("E-out-of-range", "row 1", "'frame'", "'s'", "frames", "frame 4"):
        sy.evaluate("tracking", {**from_zero, "frames": [4, 4]}, from_zero, confidence=None)


SLICES: list[tuple[Any, ...]] = [
    ("frame", ("E-unsupported", "'frame'")),
    ("light", ("E-conflict", "row 1", "'light'", "'s'")),
    ("label", ("E-unknown-name", "'label'")),
]  # fmt: skip


def test_slices_of_tracks() -> None:
    for by, said in SLICES:
        with refuses(*said):
            sy.evaluate("tracking", {**TRACK, "light": ["day", "night"]}, TRACK, confidence=None, by=[by])


ELLIPSE: dict[str, list[Any]] = {
    "image": ["i", "j"], "xc": [5.0, 5.0], "yc": [5.0, 5.0], "theta": [0.0, 0.0], "a": [4.0, 4.0], "b": [2.0, 2.0],
}  # fmt: skip
HALF = "Give all five numbers, or none for an image without ellipses."


ELLIPSES: list[tuple[Any, ...]] = [
    *(
        ({name: [1.0, nan]},
         ("E-empty-cell", "row 1", f"'{name}'", f"'{name}'", "columns"))
        for name in ("xc", "yc", "theta", "a", "b")
    ),
    ({"a": [4.0, 0.0]}, ("E-out-of-range", "row 1", "'a'", "0")),
    ({"b": [-2.0, 2.0]}, ("E-out-of-range", "row 0", "'b'")),
    ({"xc": [5.0, 1e13]}, ("E-out-of-range", "row 1", "'xc'", "1e+13")),
    ({"yc": [-1e13, 5.0]}, ("E-out-of-range", "row 0", "'yc'")),
    ({"theta": [0.0, 2e12]}, ("E-out-of-range", "row 1", "'theta'", "2e+12")),
    ({"a": [4.0, 1e13]}, ("E-out-of-range", "row 1", "'a'", "1e+13")),
    ({"b": [2.0, 1e-13]}, ("E-out-of-range", "row 1", "'b'", "1e-13")),
    ({"score": [0.5, nan]},
     ("E-empty-cell", "row 1", "'score'")),
]  # fmt: skip


def test_ellipses() -> None:
    for changed, said in ELLIPSES:
        with refuses(*said):
            sy.evaluate("ellipses", ELLIPSE, {**ELLIPSE, **changed}, confidence=None)


def test_ellipses_without_a_column() -> None:
    for name in ("xc", "yc", "theta", "a", "b"):
        lacking = {key: column for key, column in ELLIPSE.items() if key != name}
        has = ", ".join(f"'{key}'" for key in ("image", "xc", "yc", "a", "b", "theta") if key != name)
        with refuses("E-missing-column", f"'{name}'", str(has)):
            sy.evaluate("ellipses", lacking, ELLIPSE, confidence=None)


def test_contours() -> None:
    remedy = "Give at least five points of the contour, not all on a line."
    circle = np.array([[5 + 4 * math.cos(k), 5 + 4 * math.sin(k)] for k in range(6)])
    fine = {"image": ["i", "j"], "points": [circle, circle]}
    for points, why in ((circle[:4], None), (circle * 1e13, "a coordinate is larger than 1e+12")):
        place = ("predictions", "row 1", "column 'points'", f"{len(points)} points")
        with refuses("E-invalid-value", *place, *(() if why is None else (why,))) as caught:
            sy.evaluate("ellipses", fine, {**fine, "points": [circle, points]}, confidence=None)
        assert caught.value.remedy == remedy
    fitted = pairs_of("ellipses", fine, fine).truth
    assert "points" not in fitted
    np.testing.assert_allclose([fitted[name][0] for name in ("xc", "yc", "a", "b")], [5, 5, 4, 4])
    report = sy.evaluate("ellipses", fine, {**fine, "points": [circle, circle + 3]}, ["center_error"], confidence=None)
    assert report["center_error"].value == pytest.approx(math.sqrt(18) / 2)


def test_images_that_the_list_has_not() -> None:
    listed = {"images": ["i", "k"]}
    other = {**ELLIPSE, "image": ["i", "l"]}
    with refuses("E-unmatched", "row 1", "'image'", "'j'"):
        sy.evaluate("ellipses", {**ELLIPSE, "image": ["i", "i"]}, ELLIPSE, confidence=None, options=listed)
    with refuses("E-unmatched", "row 0", "'image'", "'l'", "2", "'j'"):
        sy.evaluate("ellipses", {**ELLIPSE, "image": ["l", "j"]}, other, confidence=None, options=listed)
