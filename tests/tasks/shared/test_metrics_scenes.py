"""Pictures of one unit, by hand: their shapes, what they say, and what they leave open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses
from support.scene_pairs import pairs_of
from support.shown import cats_and_sky

from steelyard.core import catalogue
from steelyard.core.scene import BoxShape, EllipseShape, LineShape, Steps
from steelyard.maps.raster import colour
from steelyard.tasks.boxes import views as boxes
from steelyard.tasks.ellipses import views as ellipses_views
from steelyard.tasks.panoptic import views as panoptic
from steelyard.tasks.segmentation import views as segmentation_views
from steelyard.tasks.tracking import views as tracking_views
from steelyard.tasks.volumes import views as volumes


def test_boxes() -> None:
    truth = {
        "image": ["i", "i"],
        "label": ["cat", "dog"],
        "x": [0.0, 100],
        "y": [1.0] * 2,
        "w": [10.0] * 2,
        "h": [20.0] * 2,
    }
    predicted = {**truth, "label": ["cat", "cat"], "score": [0.9, 0.82]}
    pairs = pairs_of("boxes", truth, predicted)
    shown = boxes.scene(pairs, 0, catalogue.parse("map", "boxes"))
    assert shown.shapes == (
        BoxShape("truth", 0, 1, 10, 20, "cat", True), BoxShape("truth", 100, 1, 10, 20, "dog", False),
        BoxShape("prediction", 0, 1, 10, 20, "cat 0.90", True), BoxShape("prediction", 100, 1, 10, 20, "cat 0.82", False),
    )  # fmt: skip
    assert shown.title == f"Image i: {catalogue.parse('map', 'boxes').label} = 0.5000"  # all of the cats, no dog
    assert shown.summary == "2 true, 2 detected with a score from 0, 1 pair at IoU 0.5"
    strict = boxes.scene(pairs, 0, catalogue.parse("precision(score=0.85, iou=0.75)", "boxes"))
    assert strict.summary == "2 true, 1 detected with a score from 0.85, 1 pair at IoU 0.75"
    assert len(strict.shapes) == 3


def rows(frames: list[int], tracks: list[str], x: list[int]) -> dict[str, Any]:
    size = len(frames)
    return {
        "sequence": ["a"] * size, "frame": frames, "track": tracks, "x": x, "y": [0] * size, "w": [9] * size,
        "h": [9] * size,
    }  # fmt: skip


def test_frames_of_a_sequence() -> None:
    """An object found as p, p, q, p, not, r: the first switch is looked at first."""
    truth = rows([1, 2, 3, 4, 5, 6], ["t"] * 6, [0] * 6)
    pairs = pairs_of("tracking", truth, rows([1, 2, 3, 4, 6], ["p", "p", "q", "p", "r"], [0] * 5))
    counts = {"switches": (0, 0, 1, 1, 0, 1), "missed": (0, 0, 0, 0, 1, 0), "extra": (0,) * 6}
    assert tracking_views.steps(pairs, 0) == Steps("frame", (1, 2, 3, 4, 5, 6), counts, 3)
    metric = catalogue.parse("hota", "tracking")
    shown = tracking_views.scene(pairs, 0, metric)
    assert (shown.title, shown.summary) == ("Sequence a, frame 3", "matched 1, switches 1, missed 0, extra 0")
    assert shown.shapes == (
        BoxShape("truth", 0, 0, 9, 9, "Tt", True), LineShape("pair", 4.5, 4.5, 4.5, 4.5, "switch"),
        BoxShape("prediction", 0, 0, 9, 9, "Pq", True),
    )  # fmt: skip
    assert shown.bounds == pytest.approx((-1.92, -1.92, 10.92, 10.92))  # three percent of 64 pixels around
    assert shown.images == ("a/img1/000003", "image_02/a/000003", "a/000003")
    missed = tracking_views.scene(pairs, 0, metric, 5)
    assert missed.shapes == (BoxShape("truth", 0, 0, 9, 9, "Tt", False),)
    assert missed.summary == "matched 0, switches 0, missed 1, extra 0"
    matched = tracking_views.scene(pairs, 0, metric, 1)
    assert matched.shapes[1] == LineShape("pair", 4.5, 4.5, 4.5, 4.5, "")
    with refuses("E-unknown-name", "'a'", "frame 9"):
        tracking_views.scene(pairs, 0, metric, 9)


def test_the_frame_with_the_most_mistakes() -> None:
    truth = rows([1, 2, 3], ["t"] * 3, [0] * 3)
    pairs = pairs_of("tracking", truth, rows([1, 2, 2, 2], ["p", "p", "q", "r"], [0, 0, 200, 300]))
    counts = {"switches": (0, 0, 0), "missed": (0, 0, 1), "extra": (0, 2, 0)}
    assert tracking_views.steps(pairs, 0) == Steps("frame", (1, 2, 3), counts, 2)
    shown = tracking_views.scene(pairs, 0, catalogue.parse("hota", "tracking"))
    assert [shape.matched for shape in shown.shapes if isinstance(shape, BoxShape)] == [True, True, False, False]
    assert shown.bounds == pytest.approx((-9.27, -9.27, 318.27, 18.27))  # three percent of 309 pixels


def test_ellipses() -> None:
    truth = {"image": ["i"], "xc": [150.0], "yc": [100.0], "theta": [45.0], "a": [40.0], "b": [20.0]}
    predicted = {
        "image": ["i", "i"], "xc": [150.0, 10], "yc": [100.0, 10], "theta": [45.0, 0], "a": [40.0, 5], "b": [20.0, 3],
    }  # fmt: skip
    pairs, metric = pairs_of("ellipses", truth, predicted), catalogue.parse("score", "ellipses")
    shown = ellipses_views.scene(pairs, 0, metric)
    assert shown.shapes == (
        EllipseShape("truth", 150, 100, 45, 40, 20, "T1", True), EllipseShape("prediction", 150, 100, 45, 40, 20, "D1", True),
        EllipseShape("prediction", 10, 10, 0, 5, 3, "D2", False), LineShape("pair", 150, 100, 150, 100, "0"),
    )  # fmt: skip
    assert shown.title.startswith(f"Image i: {metric.label} = ")
    assert shown.summary == "1 true, 2 detected, 1 pair (greedy)"
    with refuses("E-invalid-spec", "'ap'"):
        ellipses_views.scene(pairs, 0, catalogue.parse("ap", "ellipses"))


def test_label_maps() -> None:
    truth = {"image": ["a", "b"], "map": np.array([[[0, 0, 1, 1]], [[0, 0, 0, 0]]])}
    prediction = {"image": ["a", "b"], "map": np.array([[[0, 1, 1, 1]], [[0, 0, 0, 0]]])}
    shown = segmentation_views.scene(
        pairs_of("segmentation", truth, prediction), 0, catalogue.parse("miou", "segmentation")
    )
    assert (shown.title, shown.summary) == (
        "Image a: pixel accuracy 0.7500", "4 pixels count, 1 are wrong, 0 are ignored",
    )  # fmt: skip
    assert (shown.shapes, shown.bounds) == ((), (0, 0, 4, 1))
    assert [(r.title, r.w, r.h) for r in shown.rasters] == [("Truth", 4, 1), ("Prediction", 4, 1), ("Difference", 4, 1)]
    assert shown.legend == (("0", colour(0)), ("1", colour(1)), *segmentation_views.MEANINGS)
    assert segmentation_views.MEANINGS == (("right", "eef2ee"), ("wrong", "d7263d"), ("ignored", "c9c9c9"))


def test_slices() -> None:
    truth, prediction = np.zeros((2, 2, 3, 6, 8), dtype=np.uint8)
    truth[1, 1, 2:4, 2:4], prediction[1, 1, 2:4, 2:5] = 1, 1
    truth[1, 2, 0, 0] = 2
    pairs, metric = pairs_of("volumes", truth, prediction, spacing=(2.0, 2.0, 2.0)), catalogue.parse("dice", "volumes")
    assert volumes.steps(pairs, 0) is None
    assert volumes.steps(pairs, 1) == Steps("slice", (1, 2), {"wrong voxels": (2, 1)}, 1)
    shown = volumes.scene(pairs, 1, metric)
    assert shown.title == "Case 1, slice 1: 2 wrong voxels"
    assert shown.summary == "4 true and 6 predicted voxels of all labels"
    assert (shown.shapes, shown.bounds) == ((), (0, 0, 16, 12))
    assert [(r.title, r.w, r.h) for r in shown.rasters] == [
        ("Truth", 16, 12), ("Prediction", 16, 12), ("Difference", 16, 12),
    ]  # fmt: skip
    assert shown.legend == (("label 1", colour(0)), *volumes.MEANINGS)
    last = volumes.scene(pairs, 1, metric, 2)
    assert (last.title, last.legend[0]) == ("Case 1, slice 2: 1 wrong voxels", ("label 2", colour(1)))
    assert volumes.scene(pairs, 0, metric).title == "Case 0, slice 0: 0 wrong voxels"
    for wrong in (3, -1):
        with refuses("E-unknown-name", "'1'", f"slice {wrong}"):
            volumes.scene(pairs, 1, metric, wrong)


def test_segments() -> None:
    shown = panoptic.scene(pairs_of("panoptic", *cats_and_sky()), 0, catalogue.parse("pq", "panoptic"))
    assert shown.title == "Image 1: 2 segments paired, 1 missed, 1 false"
    assert shown.summary == "3 true and 3 predicted segments; a pair overlaps by more than half"
    assert (shown.shapes, shown.bounds) == ((), (0, 0, 7, 1))
    assert [(r.title, r.w, r.h) for r in shown.rasters] == [("Truth", 7, 1), ("Prediction", 7, 1), ("Difference", 7, 1)]
    assert shown.legend == (("cat", colour(0)), ("sky", colour(1)), *panoptic.MEANINGS)
