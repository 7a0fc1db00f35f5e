"""What reports of maps, volumes, segments, oriented boxes and ellipses show beside numbers, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.shown import cats_and_sky, check_figure, check_listing, check_table

import steelyard as sy
from steelyard.maps.raster import colour
from steelyard.tasks.oriented.views import angle_errors
from steelyard.tasks.panoptic.views import MEANINGS as SEGMENT_MEANINGS
from steelyard.tasks.segmentation import views as segmentation_views
from steelyard.tasks.volumes.views import MEANINGS as VOXEL_MEANINGS

nan = np.nan


def segmentation() -> sy.Report:
    """Of image a one of four pixels is wrong, of b none: class 0 has 5 of 6 pixels, class 1 one too many."""
    truth = {"image": ["a", "b"], "map": np.array([[[0, 0, 1, 1]], [[0, 0, 0, 0]]])}
    prediction = {"image": ["a", "b"], "map": np.array([[[0, 1, 1, 1]], [[0, 0, 0, 0]]])}
    return sy.evaluate("segmentation", truth, prediction, ["miou"], confidence=None)


def test_tables_of_maps() -> None:
    shown = segmentation()
    check_table(
        shown.table("classes"), ("classes", "Classes", "class"), ("0", "1"),
        ("images", "pixels", "predicted", "IoU", "Dice", "accuracy", "precision"),
        [[2, 6, 5, 5 / 6, 10 / 11, 5 / 6, 1], [1, 2, 3, 2 / 3, 4 / 5, 1, 2 / 3]],
    )  # fmt: skip
    for name, title, values in (
        ("confusion", "Confusion matrix: pixels of truth by prediction", [[5, 1], [0, 2]]),
        ("confusion_true", "Confusion matrix, as shares of the pixels of each true class", [[5 / 6, 1 / 6], [0, 1]]),
        ("confusion_predicted", "Confusion matrix, as shares of the pixels of each predicted class",
         [[1, 1 / 3], [0, 2 / 3]]),
    ):  # fmt: skip
        check_table(shown.table(name), (name, title, "truth"), "01", "01", values)


def test_figures_of_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = segmentation()
    assert list(shown.figures) == ["maps", "iou_class", "confusion"]
    check_figure(
        shown.figure("iou_class"), ("iou_class", "bars", "IoU by class"), {"name": ["1", "0"], "value": [2 / 3, 5 / 6]},
        {"x": "IoU"}, "The worst first.",
    )  # fmt: skip
    columns = {
        "row": ["0", "0", "1", "1"], "column": ["0", "1", "0", "1"], "count": [5, 1, 0, 2],
        "share": [5 / 6, 1 / 6, 0, 1], "text": ["83", "17", "", "100"],
    }  # fmt: skip
    check_figure(
        shown.figure("confusion"), ("confusion", "matrix", "Confusion"), columns, {"x": "predicted", "y": "true"},
        "Rows are true classes, columns what was predicted; numbers are percent of the row's pixels.",
    )  # fmt: skip
    monkeypatch.setattr(segmentation_views, "MOST_CLASSES", 1)
    check_figure(
        segmentation().figure("confusion"), ("confusion", "bars", "Classes that are taken for another most"),
        {"name": ["0 → 1"], "value": [1 / 6], "pixels": [1]}, {"x": "share of the true class"},
        "True class → predicted class, by pixels.",
    )  # fmt: skip


def test_maps_that_cost_most() -> None:
    """Of a, each class has a wrong pixel, of unions of 6 and 3: a quarter of the mean of two classes."""
    figure = segmentation().figure("maps")
    assert (figure.name, figure.chart, figure.title) == ("maps", "rasters", "Images that cost most")
    assert list(figure.columns) == ["image", "cost", "truth", "prediction", "errors"]
    assert figure.columns["image"] == ["a", "b"]
    assert figure.columns["cost"] == pytest.approx([0.25, 0])
    first = [figure.columns[name][0] for name in ("truth", "prediction", "errors")]
    assert len(set(first)) == 3
    assert figure.columns["truth"][1] == figure.columns["prediction"][1]
    legend = [["0", colour(0)], ["1", colour(1)]]
    assert figure.facts == {"panels": ["truth", "prediction", "errors"], "legend": legend}
    assert figure.caption == (
        "Truth, prediction, and in red what is wrong; grey is ignored. The cost is what the image's wrong pixels take from "
        "mean IoU."
    )
    check_table(
        figure.table, ("maps", "Images that cost most", "image"), ["a", "b"], ["cost of mean IoU"], [[0.25], [0]]
    )


def test_the_listing_of_maps() -> None:
    columns = {
        "image": ["a", "b"], "classes": [2, 1], "pixels": [4, 4], "mean IoU of its classes": [(1 / 2 + 2 / 3) / 2, 1],
        "pixel accuracy": [3 / 4, 1], "cost of mean IoU": [0.25, 0],
    }  # fmt: skip
    check_listing(segmentation().listing(), ("images", "Images"), columns, "", "mean IoU of its classes")


def panoptic() -> sy.Report:
    return sy.evaluate("panoptic", *cats_and_sky(), ["pq"], confidence=None)


def test_classes_of_segments() -> None:
    rows = [[3 / 8, 3 / 4, 1 / 2, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]]
    names = ("PQ", "SQ", "RQ", "TP", "FP", "FN", "thing")
    shown = panoptic()
    check_table(shown.table("classes"), ("classes", "Classes", "class"), ("cat", "sky"), names, rows)
    figure = shown.figure("pq_class")
    columns = {"name": ["cat", "sky"], "value": [3 / 8, 1], "SQ": [3 / 4, 1], "RQ": [1 / 2, 1]}
    check_figure(
        figure, ("pq_class", "bars", "PQ by class"), columns, {"x": "PQ"}, "The worst first. PQ is SQ times RQ."
    )
    check_table(figure.table, ("classes", "Classes", "class"), ("cat", "sky"), names, rows)


def test_images_of_segments() -> None:
    shown = panoptic()
    columns = {
        "image": ["1"], "pairs": [2], "false": [1], "missed": [1], "mean IoU of pairs": [7 / 8],
        "PQ of all its segments": [(3 / 4 + 1) / 3],
    }  # fmt: skip
    check_listing(shown.listing(), ("images", "Images"), columns, "", "PQ of all its segments")
    figure = shown.figure("maps")
    assert (figure.name, figure.chart, figure.title) == (
        "maps", "rasters", "Images with the most missed and false segments",
    )  # fmt: skip
    assert (figure.columns["image"], figure.columns["cost"]) == (["1"], [2])
    legend = [["cat", colour(0)], ["sky", colour(1)], *map(list, SEGMENT_MEANINGS)]
    assert figure.facts == {"panels": ["truth", "prediction", "segments"], "legend": legend}
    assert figure.caption == (
        "Segments of the truth, of the prediction, and what became of them. The number is of missed and false ones."
    )
    check_table(figure.table, ("maps", "Images", "image"), ["1"], ["missed and false segments"], [[2]])


def volumes() -> sy.Report:
    """Four voxels in two cases: found as they are, and with two more."""
    truth, prediction = np.zeros((2, 2, 1, 6, 8), dtype=np.uint8)
    truth[0, 0, 2:4, 2:4] = prediction[0, 0, 2:4, 2:4] = 1
    truth[1, 0, 2:4, 2:4], prediction[1, 0, 2:4, 2:5] = 1, 1
    return sy.evaluate("volumes", truth, prediction, ["dice"], options={"spacing": "2,2,2"}, confidence=None)


def test_structures() -> None:
    shown = volumes()
    check_table(
        shown.table("structures"), ("structures", "Structures", "structure"), ["1"],
        ["dice", "on one side only", "on neither side"], [[0.9, 0, 0]],
    )  # fmt: skip
    columns = {"case": ["0", "1"], "dice": [1, 0.8], "structures on one side only": [0, 0]}
    check_listing(shown.listing(), ("cases", "Cases"), columns, "", "dice")
    assert len(shown.figure("dice_volume")) == 0  # two structures are no two groups of five


def test_slices_with_the_most_wrong_voxels() -> None:
    figure = volumes().figure("slices")
    assert (figure.name, figure.chart, figure.title) == (
        "slices", "rasters", "Cases with the largest share of wrong voxels",
    )  # fmt: skip
    assert figure.columns["image"] == ["1, slice 0", "0, slice 0"]
    assert figure.columns["cost"] == pytest.approx([2 / 10, 0])
    assert figure.facts == {
        "panels": ["truth", "prediction", "errors"], "legend": [["label 1", colour(0)], *map(list, VOXEL_MEANINGS)],
    }  # fmt: skip
    assert figure.caption == (
        "The slice of each with the most wrong voxels. The number is wrong voxels over true and predicted ones."
    )
    check_table(
        figure.table, ("slices", "Cases", "case"), ["1, slice 0", "0, slice 0"], ["share of wrong voxels"], [[0.2], [0]]
    )


def test_errors_of_the_angle() -> None:
    def row(w: float, h: float, degrees: float) -> list[float]:
        return [0, 0, w, h, np.radians(degrees)]

    detected = [row(10, 2, 30), row(2, 10, 0), row(10, 9, 0), row(10, 8.6, 5), row(10, 2, 100), row(10, 2, 5)]
    true = [row(10, 2, 0), row(10, 2, 0), row(10, 2, 0), row(10, 2, 0), row(10, 2, 0), row(10, 9, 0)]
    np.testing.assert_allclose(angle_errors(np.array(detected), np.array(true)), [30, -90, nan, 5, -80, nan])


def test_angles_of_what_was_found() -> None:
    names = ("x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4")
    corners = [(0, 0, 10, 0, 10, 2, 0, 2), (50, 0, 54, 0, 54, 4, 50, 4)]
    columns: dict[str, Any] = {name: [float(one[i]) for one in corners] for i, name in enumerate(names)}
    truth = {"image": ["a", "a"], "label": ["ship", "ship"], **columns}
    shown = sy.evaluate("oriented", truth, {**truth, "score": [0.9, 0.8]}, ["map"], confidence=None).figure("angles")
    edges = np.linspace(-5, 5, 19)
    check_figure(
        shown, ("angles", "histogram", "Errors of the angle"),
        {"low": edges[:-1].tolist(), "high": edges[1:].tolist(), "count": [0] * 9 + [1] + [0] * 8},
        {"x": "degrees from the true long edge, x towards y", "y": "matched detections"},
        "Of what is matched at IoU 0.5, by the long edges. A centre beside 0 is a convention that differs. 1 box is "
        "nearly square and has none.",
    )  # fmt: skip


def ellipses() -> sy.Report:
    """One ellipse that is found as it is, and a detection of nothing."""
    truth = {"image": ["i"], "xc": [150.0], "yc": [100.0], "theta": [45.0], "a": [40.0], "b": [20.0]}
    predicted = {
        "image": ["i", "i"], "xc": [150.0, 10], "yc": [100.0, 10], "theta": [45.0, 0], "a": [40.0, 5], "b": [20.0, 3],
    }  # fmt: skip
    return sy.evaluate("ellipses", truth, predicted, ["score"], confidence=None)


def test_the_listing_of_ellipses() -> None:
    columns = {
        "image": ["i"] * 3, "side": ["true", "detected", "detected"], "partner": ["has one", "has one", "has none"],
        "distance": [0, 0, nan], "xc": [150, 150, 10], "yc": [100, 100, 10], "theta": [45, 45, 0], "a": [40, 40, 5],
        "b": [20, 20, 3],
    }  # fmt: skip
    check_listing(ellipses().listing(), ("ellipses", "Ellipses"), columns, "partner", "distance")


def test_distances_of_ellipses() -> None:
    columns = {
        "low": [k / 24 for k in range(24)], "high": [(k + 1) / 24 for k in range(24)], "count": [1] + [0] * 23,
    }  # fmt: skip
    check_figure(
        ellipses().figure("distances"), ("distances", "histogram", "Distances of the pairs"), columns,
        {"x": "distance", "y": "pairs"}, "The distance that score measures.",
    )  # fmt: skip


def test_pictures_of_ellipses() -> None:
    figure = ellipses().figure("overlays")
    assert (figure.name, figure.chart) == ("overlays", "overlays")
    assert figure.title == "Images: the worst, one in the middle, the best"
    assert list(figure.columns) == ["image", "role", "x", "y", "degrees", "a", "b", "x2", "y2", "matched", "label"]
    rows = [row[:-1] for row in zip(*figure.columns.values(), strict=True)]
    assert sorted(rows) == [
        (0, "pair", 150, 100, 0, 0, 0, 150, 100, 1), (0, "prediction", 10, 10, 0, 5, 3, 0, 0, 0),
        (0, "prediction", 150, 100, 45, 40, 20, 0, 0, 1), (0, "truth", 150, 100, 45, 40, 20, 0, 0, 1),
    ]  # fmt: skip
    assert figure.caption == (
        "True ellipses are solid, detected ones dashed; those without a partner are filled. A line joins a pair, with "
        "distance. steelyard draw shows any other image."
    )
