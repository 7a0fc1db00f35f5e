"""Keypoints and masks by hand: boxes and areas of them, what is ignored, sigmas, boundaries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.scene_pairs import pairs_of

import steelyard as sy
from steelyard.tasks.boxes.matches import overlaps
from steelyard.tasks.boxes.pairs import IGNORED, KeypointSimilarity, MaskIou
from steelyard.tasks.keypoints import task as keypoints


def points(*rows: tuple[Any, ...], **more: Any) -> dict[str, Any]:
    """Rows of image and keypoints, of one class."""
    return {
        "image": [row[0] for row in rows], "label": ["a"] * len(rows), "keypoints": [list(row[1:]) for row in rows], **more,
    }  # fmt: skip


# Two points, the second of which is two pixels off: its term is exp(-4 / (2 * 100 * (2 * 0.1)^2)) = exp(-1/2).
TRUTH = points(("i", 0, 0, 2, 10, 10, 2))
FOUND = points(("i", 0, 0, 1, 10, 12, 1), score=[0.9])
ONE = {"sigmas": [0.1]}


def value(spec: str, truth: Any = TRUTH, predicted: Any = FOUND, **options: Any) -> float:
    made = sy.evaluate("keypoints", truth, predicted, [spec], options={**ONE, **options}, confidence=None)
    return float(made[spec].value)


def test_similarity() -> None:
    expected = (1 + math.exp(-0.5)) / 2
    assert value("mean_oks") == pytest.approx(expected)
    assert value("mean_oks", sigmas=[0.2]) == pytest.approx((1 + math.exp(-0.125)) / 2)
    assert value("mean_oks", sigmas=[0.1, 0.2]) == pytest.approx((1 + math.exp(-0.125)) / 2)
    assert value("mean_oks", sigmas=[0.2, 0.1]) == pytest.approx(expected)
    assert value("mean_oks", {**TRUTH, "area": [400.0]}) == pytest.approx((1 + math.exp(-0.125)) / 2)
    sized = {**TRUTH, "x": [0.0], "y": [0.0], "w": [20.0], "h": [20.0]}
    assert value("mean_oks", sized) == pytest.approx((1 + math.exp(-0.125)) / 2)
    hidden = points(("i", 0, 0, 2, 10, 10, 0), area=[100.0])
    assert value("mean_oks", hidden) == pytest.approx(1)
    assert value("f1(iou=0.81)") == 0
    assert value("f1(iou=0.8)") == 1


def test_boxes_around_points() -> None:
    truth = points(("i", 5, 7, 2, 1, 2, 0, 9, 11, 1), ("i", 5, 7, 0, 1, 2, 0, 9, 11, 0))
    predicted = points(("i", 5, 7, 0, 1, 2, 0, 9, 11, 0), score=[0.5])
    pairs = pairs_of("keypoints", truth, predicted, sigmas=(0.1,))
    columns = {name: pairs.truth[name].tolist() for name in ("x", "y", "w", "h", "area", "ignored")}
    assert columns == {
        "x": [5, 0], "y": [7, 0], "w": [4, 0], "h": [4, 0], "area": [16, 0], "ignored": [False, True],
    }  # fmt: skip
    theirs = {name: pairs.prediction[name].tolist() for name in ("x", "y", "w", "h", "area")}
    assert theirs == {"x": [1], "y": [2], "w": [8], "h": [9], "area": [72]}  # of all points, seen or not
    assert pairs.similarity == KeypointSimilarity((0.1, 0.1, 0.1))
    assert pairs.flags.tolist() == [0, IGNORED]
    assert pairs.metadata.flags["similarity"] == "keypoints"


VISIBLE: list[tuple[Any, ...]] = [
    ([2, 0], [False, True]),
    ([-1, -1], [False, True]),
    ([0, 1], [True, False]),
]


def test_how_many_points_count() -> None:
    for visible, ignored in VISIBLE:
        truth = points(("i", 0, 0, 2, 10, 10, 2), ("i", 50, 0, 0, 90, 10, 0), visible=visible)
        pairs = pairs_of("keypoints", truth, FOUND, sigmas=(0.1,))
        assert pairs.truth["ignored"].tolist() == ignored
        assert "visible" not in pairs.truth


def test_similarity_of_all_pairs() -> None:
    predicted = points(("i", 0, 0, 1, 10, 12, 1), ("i", 0, 0, 1, 10, 10, 1), score=[0.9, 0.8])
    truth = points(("i", 0, 0, 2, 10, 10, 2), ("i", 2, 0, 2, 12, 10, 0), area=[100.0, 100.0])
    both = pairs_of("keypoints", truth, predicted, sigmas=(0.1,))
    near = overlaps(both, np.array([0, 1]), np.array([0, 1]))
    np.testing.assert_allclose(near, [[(1 + math.exp(-0.5)) / 2, math.exp(-0.5)], [1, math.exp(-0.5)]])


def test_a_truth_without_a_point_counts_neither_way() -> None:
    truth = points(
        ("i", 0, 0, 2, 10, 10, 2), ("i", 50, 0, 0, 60, 10, 0), x=[0.0, 50], y=[0.0, 0], w=[10.0] * 2, h=[10.0] * 2
    )
    predicted = points(
        ("i", 0, 0, 1, 10, 10, 1), ("i", 50, 0, 1, 60, 10, 1), ("i", 500, 0, 1, 560, 10, 1), score=[0.9, 0.8, 0.7]
    )
    assert value("precision", truth, predicted) == 1 / 2
    assert value("recall", truth, predicted) == 1


def test_sigmas() -> None:
    assert keypoints._sigmas(None, 17) == keypoints._sigmas(None, 0) == keypoints.BODY
    assert keypoints.BODY[:6] == (0.026, 0.025, 0.025, 0.035, 0.035, 0.079)
    assert keypoints._sigmas((0.2,), 3) == (0.2, 0.2, 0.2)
    assert keypoints._sigmas((0.2,), 0) == (0.2,)
    assert keypoints._sigmas((0.2, 0.1), 0) == (0.2, 0.1)
    for sigmas in ((0.1, 0.0), (0.1, 2e6)):
        with pytest.raises(sy.InputError):
            keypoints._sigmas(sigmas, 2)


def test_nothing_found() -> None:
    nothing = {"image": [], "label": [], "keypoints": [], "score": []}
    report = sy.evaluate("keypoints", TRUTH, nothing, ["recall", "map"], options=ONE, confidence=None)
    assert (report["recall"].value, report["map"].value) == (0, 0)
    body = points(("i", *[1, 2, 2] * 17))
    assert sy.evaluate("keypoints", body, nothing, ["recall"], confidence=None)["recall"].value == 0
    pairs = pairs_of("keypoints", body, nothing)
    assert pairs.prediction["shape"].shape == (0, 51)


def row(start: int, stop: int, width: int = 12) -> dict[str, Any]:
    """Some columns of an image of one row."""
    return {"size": [1, width], "counts": [start, stop - start, width - stop]}


def masks(*rows: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"image": [r[0] for r in rows], "label": ["a"] * len(rows), "mask": [r[1] for r in rows], **more}


def test_masks_by_pixels() -> None:
    """Two of four pixels, then three of four; images may differ in size."""
    truth = masks(("i", row(0, 4)), ("j", row(2, 5, 20)))
    predicted = masks(("i", row(0, 2)), ("j", row(2, 6, 20)), score=[0.9, 0.8])
    report = sy.evaluate("masks", truth, predicted, ["mean_iou", "f1", "f1(iou=0.6)"], confidence=None)
    assert [score.value for score in report.scores.values()] == pytest.approx([(1 / 2 + 3 / 4) / 2, 1, 1 / 2])
    pairs = pairs_of("masks", truth, predicted)
    assert pairs.similarity == MaskIou(0.0)
    assert {name: pairs.truth[name].tolist() for name in ("x", "y", "w", "h", "area", "ignored")} == {
        "x": [0, 2], "y": [0, 0], "w": [4, 3], "h": [1, 1], "area": [4, 3], "ignored": [False, False],
    }  # fmt: skip
    assert "mask" not in pairs.truth
    assert overlaps(pairs, np.array([0]), np.array([0])).tolist() == [[0.5]]
    assert overlaps(pairs, np.array([1]), np.array([1]), crowd=True).tolist() == [[0.75]]


def test_regions_of_masks() -> None:
    """One of two objects is found; the other lies in a region, and so does a detection: neither is held against it."""
    truth = masks(("i", row(0, 4)), ("i", row(6, 7)), ("i", row(6, 12)), crowd=[0, 0, 1])
    predicted = masks(("i", row(0, 4)), ("i", row(8, 11)), score=[0.95, 0.95])
    report = sy.evaluate("masks", truth, predicted, ["ji", "precision"], confidence=None)
    assert report["ji"].value == pytest.approx(1, abs=1e-5)
    assert report["precision"].value == 1


def test_areas_of_masks_that_are_given() -> None:
    truth = masks(("i", row(0, 4)), area=[5000.0])
    predicted = masks(("i", row(0, 4)), score=[0.9])
    specs = ["recall", "map(area=medium)", "map(area=small)"]
    report = sy.evaluate("masks", truth, predicted, specs, confidence=None)
    assert report["map(area=medium)"].value == pytest.approx(1)
    assert not report["map(area=small)"].defined
    assert pairs_of("masks", truth, predicted).truth["area"].tolist() == [5000]


def test_boundaries_of_masks() -> None:
    """All of ten by ten against its ring of one pixel: IoU 36/100 by pixels, and the boundaries are the same."""
    whole, ring = np.ones((10, 10), dtype=bool), np.ones((10, 10), dtype=bool)
    ring[1:-1, 1:-1] = False
    truth, predicted = masks(("i", whole)), masks(("i", ring), score=[0.9])  # type: ignore[arg-type]
    plain = sy.evaluate("masks", truth, predicted, ["mean_iou(iou=0.1)"], confidence=None)
    assert plain["mean_iou(iou=0.1)"].value == pytest.approx(0.36)
    inner = np.zeros((10, 10), dtype=bool)
    inner[1:, 1:] = True
    moved = masks(("i", inner), score=[0.9])  # type: ignore[arg-type]
    assert pairs_of("masks", truth, moved, overlap="boundary", dilation=0.07).similarity == MaskIou(0.07)
    # Boundaries of one pixel: 36 of the whole, 32 of nine by nine; they share the two outer edges, 9 + 8 pixels
    report = sy.evaluate(
        "masks", truth, moved, ["mean_iou(iou=0.1)"], options={"overlap": "boundary", "dilation": 0.07}, confidence=None
    )
    assert report["mean_iou(iou=0.1)"].value == pytest.approx(17 / (36 + 32 - 17))
