"""What a report of boxes shows beside numbers: two images with four objects and four detections, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from support.shown import agree, check_figure, check_listing, check_table

import steelyard as sy
from steelyard.tasks.boxes import views as boxes_views

nan = np.nan
# Of three cats the first detection finds one, the second names a dog, the third finds another: precision over recalls.
CAT = [1.0] * 34 + [2 / 3] * 33 + [0.0] * 34
AP = 56 / 101


def report() -> sy.Report:
    """A hit, a dog taken for a cat, a hit, a dog on nothing; one cat is missed."""
    truth = {
        "image": ["i1", "i1", "i2", "i2"], "label": ["cat", "dog", "cat", "cat"], "x": [0.0, 100, 0, 100],
        "y": [0.0] * 4, "w": [10.0] * 4, "h": [10.0] * 4,
    }  # fmt: skip
    predicted = {
        "image": ["i1", "i1", "i2", "i2"], "label": ["cat", "cat", "cat", "dog"], "x": [0.0, 100, 0, 1000],
        "y": [0.0] * 4, "w": [10.0] * 4, "h": [10.0] * 4, "score": [0.9, 0.82, 0.7, 0.62],
    }  # fmt: skip
    return sy.evaluate("boxes", truth, predicted, ["map"], confidence=None)


def test_tables() -> None:
    shown = report()
    check_table(
        shown.table("classes"), ("classes", "Average precision by class", "class"), ("cat", "dog"),
        ("objects", "detections", "ap", "ap50", "ap75", "ar@100"), [[3, 3, AP, AP, AP, 2 / 3], [1, 1, 0, 0, 0, 0]],
    )  # fmt: skip
    names = ("cat", "dog", "(background)")
    head = ("confusion", "Confusion matrix at IoU 0.5 and score 0.5: rows of truth by prediction", "truth")
    check_table(shown.table("confusion"), head, names, names, [[2, 0, 1], [1, 0, 0], [0, 1, 0]])
    working = shown.table("operating")
    assert (working.name, working.title, working.corner) == ("operating", "Working points by class, IoU 0.5", "class")
    assert working.columns[:4] == ("f1", "score", "precision", "recall")
    np.testing.assert_allclose(working.values[:, :4], [[2 / 3, 0.7, 2 / 3, 2 / 3], [0, nan, nan, 0]])


def test_curves_by_iou() -> None:
    ious = ("0.5", "0.6", "0.7", "0.8", "0.9")
    columns = {
        "series": [f"IoU {iou}" for iou in ious for _ in CAT], "x": [k / 100 for k in range(101)] * 5,
        "y": [value / 2 for value in CAT] * 5,
    }  # fmt: skip
    check_figure(
        report().figure("pr_iou"), ("pr_iou", "curves", "Precision and recall by IoU"), columns,
        {"x": "recall", "y": "precision", "unit": True},
        "The mean over classes. How fast the curves fall from one IoU to the next says how well the boxes fit.",
    )  # fmt: skip


def test_curves_by_class(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {
        "series": ["cat"] * 101 + ["dog"] * 101, "x": [k / 100 for k in range(101)] * 2, "y": CAT + [0.0] * 101,
    }  # fmt: skip
    shown = report()
    check_figure(
        shown.figure("pr_class"), ("pr_class", "curves", "Precision and recall by class, IoU 0.5"), columns,
        {"x": "recall", "y": "precision", "unit": True}, "All classes.",
    )  # fmt: skip
    monkeypatch.setattr(boxes_views, "MOST_CURVES", 1)
    few = shown.figure("pr_class")
    assert few.columns["series"] == ["cat"] * 101
    assert few.caption == "The 1 class with the most objects."


def test_ap_by_class() -> None:
    shown = report().figure("ap_class")
    check_figure(
        shown, ("ap_class", "bars", "AP by class"), {"name": ["dog", "cat"], "value": [0, AP], "objects": [1, 3]},
        {"x": "AP, IoU 0.5:0.95"}, "The worst first.",
    )  # fmt: skip
    assert shown.table is not None
    assert shown.table.name == "classes"


def test_what_errors_cost() -> None:
    """Named a dog: of dogs all, of cats the first two without a fault. Without the missed cat: two of two found."""
    named = (67 / 101 + 1) / 2 - AP / 2
    missed = (51 + 50 * 2 / 3) / 101 / 2 - AP / 2
    shown = report().figure("errors")
    assert (shown.name, shown.chart, shown.title) == ("errors", "bars", "What errors cost")
    assert shown.columns["value"] == pytest.approx([named, missed, 0, 0, 0, 0], abs=1e-9)
    assert shown.columns["name"][:2] == [boxes_views.TITLES["cls"], boxes_views.TITLES["miss"]]
    assert len(set(shown.columns["name"])) == 6
    assert shown.facts == {"x": "AP at IoU 0.5 that a repair would give", "cost": "AP50"}
    assert shown.caption == "How much AP would rise if all errors of a kind were repaired, each kind alone (TIDE)."


def test_errors_of_many_detections_are_looked_at_in_some_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes_views, "MOST_LOOKED_AT", 3)
    shown = report().figure("errors")  # of the first image alone: both cats are named, the dog is one of them
    assert shown.caption.endswith("(TIDE). From every 2th image: 1 of 2.")
    assert shown.columns["value"] == pytest.approx([0.5, 0, 0, 0, 0, 0], abs=1e-9)


def test_scores_of_hits() -> None:
    hits, false = [0] * 25, [0] * 25
    hits[22], hits[17], false[20], false[15] = 1, 1, 1, 1
    low = [k / 25 for k in range(25)]
    columns = {
        "low": low * 2, "high": [edge + 1 / 25 for edge in low] * 2, "count": hits + false,
        "series": ["hit"] * 25 + ["false positive"] * 25,
    }  # fmt: skip
    check_figure(
        report().figure("scores"), ("scores", "histogram", "Scores of hits and false positives"), columns,
        {"x": "score", "y": "detections"}, "At IoU 0.5. Where the two overlap, no score threshold can part them.",
    )  # fmt: skip


CAPTION = (
    "At IoU 0.5 and score 0.5. The last column are objects that were missed, the last row (background) are detections on "
    "nothing; shade is the share of the row."
)


def test_confusion(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["cat", "dog", "(background)"]
    columns = {
        "row": [name for name in names for _ in names], "column": names * 3, "count": [2, 0, 1, 1, 0, 0, 0, 1, 0],
        "share": [2 / 3, 0, 1 / 3, 1, 0, 0, 0, 1, 0], "text": ["2", "", "1", "1", "", "", "", "1", ""],
    }  # fmt: skip
    shown = report()
    figure = shown.figure("confusion")
    check_figure(
        figure, ("confusion", "matrix", "Confusion, with background"), columns, {"x": "predicted", "y": "true"}, CAPTION
    )
    head = ("confusion", "Confusion matrix at IoU 0.5 and score 0.5: rows of truth by prediction", "truth")
    check_table(figure.table, head, names, names, [[2, 0, 1], [1, 0, 0], [0, 1, 0]])
    monkeypatch.setattr(boxes_views, "MOST_CLASSES", 1)
    few = shown.figure("confusion")
    assert few.columns["row"] == ["cat", "cat", "(background)", "(background)"]
    assert few.caption == f"{CAPTION} The 1 of 2 classes that are confused most."


def test_the_listing() -> None:
    columns = {
        "image": ["i1"] * 3 + ["i2"] * 3,
        "class": ["cat", "cat", "dog", "cat", "dog", "cat"],
        "outcome": ["hit", "false positive", "missed object"] * 2,
        "score": [0.9, 0.82, nan, 0.7, 0.62, nan],
        "IoU": [1, nan, nan, 1, nan, nan],
        "area": [100] * 6,
    }
    check_listing(report().listing(), ("detections", "Detections and missed objects"), columns, "outcome", "score")


def test_no_objects_no_figures() -> None:
    empty: dict[str, list[object]] = {name: [] for name in ("image", "label", "x", "y", "w", "h")}
    truth = {"images": [{"id": 1}], "annotations": [], "categories": [{"id": 1, "name": "cat"}]}
    assert sy.evaluate("boxes", truth, {**empty, "score": []}, ["map"], confidence=None).figures == ()


def test_columns_are_compared_in_their_order() -> None:
    with pytest.raises(AssertionError):
        agree({"a": [1], "b": [2]}, {"b": [2], "a": [1]})
