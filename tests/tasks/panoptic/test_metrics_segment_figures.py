"""What is shown of segments, by hand: pictures pixel by pixel, classes, and what other tools print."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.asked import pairs_of, pixels
from support.refusal import refuses
from support.shown import agree, check_figure, check_table
from test_metrics_segments import FOUND, TRUTH, segment, side

from steelyard.core import catalogue
from steelyard.core.explanation import Step
from steelyard.core.state import State
from steelyard.maps.raster import PALETTE
from steelyard.tasks.panoptic import views
from steelyard.tasks.panoptic.quality import SegmentCounts, StuffOverlaps
from steelyard.tasks.panoptic.views import explain

CAT, DOG, SKY, GRASS = PALETTE[:4]
PAIRED, MISSED, FALSE, IGNORED, OTHER, EDGE = "cfe8cf", "2f6fb2", "d7263d", "c9c9c9", "f2c14e", "ffffff"


def state_of(pairs: Any) -> State:
    return State.of(pairs, {SegmentCounts(): None})


def test_every_pixel_of_a_picture() -> None:
    """Edges are white where a pixel differs from the one to the left or above; void and crowds are grey."""
    truth = side(
        [[[1, 1, 1, 2], [1, 1, 1, 2], [3, 3, 0, 0]]], [[segment(1, 1), segment(2, 2, iscrowd=1), segment(3, 3)]]
    )  # fmt: skip
    predicted = side([[[1, 1, 5, 5], [1, 1, 0, 0], [0, 0, 0, 0]]], [[segment(1, 1), segment(5, 4)]])
    pairs = pairs_of("panoptic", truth, predicted)
    images, seen, size = views.pictures(pairs, 0, 1024)
    assert [pixels(one) for one in images] == [
        [[CAT, CAT, CAT, EDGE], [CAT, CAT, CAT, EDGE], [EDGE, EDGE, EDGE, EDGE]],
        [[CAT, CAT, EDGE, GRASS], [CAT, CAT, EDGE, EDGE], [EDGE, EDGE, IGNORED, IGNORED]],
        [[PAIRED, PAIRED, FALSE, FALSE], [PAIRED, PAIRED, OTHER, IGNORED], [MISSED, MISSED, IGNORED, IGNORED]],
    ]
    assert (seen, size) == ([0, 3], (3, 4))
    shown = views.scene(pairs, 0, catalogue.parse("pq", "panoptic"))
    assert shown.title == "Image 0: 1 segments paired, 1 missed, 1 false"
    assert shown.summary == "3 true and 2 predicted segments; a pair overlaps by more than half"
    assert (shown.shapes, shown.bounds) == ((), (0, 0, 4, 3))
    assert [(one.title, one.png, one.w, one.h) for one in shown.rasters] == [
        (title, one, 4, 3) for title, one in zip(("Truth", "Prediction", "Difference"), images, strict=True)
    ]
    assert shown.legend == (("cat", CAT), ("grass", GRASS), *views.MEANINGS)
    small, _, _ = views.pictures(pairs, 0, 2)
    assert [pixels(one) for one in small] == [
        [[CAT, CAT], [EDGE, EDGE]], [[CAT, EDGE], [EDGE, EDGE]], [[PAIRED, FALSE], [MISSED, IGNORED]],
    ]  # fmt: skip


def test_what_is_excused_is_neither_false_nor_right() -> None:
    truth = side([[1, 1, 0, 0, 0]], [[segment(1, 1)]])
    predicted = side([[0, 0, 5, 5, 0]], [[segment(5, 1)]])
    images, seen, _ = views.pictures(pairs_of("panoptic", truth, predicted), 0, 9)
    assert pixels(images[2]) == [[MISSED, MISSED, IGNORED, IGNORED, IGNORED]]
    assert pixels(images[1]) == [[IGNORED, IGNORED, EDGE, CAT, EDGE]]
    assert seen == [0]


def test_a_picture_of_the_second_image() -> None:
    both = side([[1, 1], [2, 2, 3]], [[segment(1, 1)], [segment(2, 2), segment(3, 3)]])
    none = side([[1, 1], [2, 2, 0]], [[segment(1, 1)], [segment(2, 2)]])
    pairs = pairs_of("panoptic", both, none)
    shown = views.scene(pairs, 1, catalogue.parse("pq", "panoptic"))
    assert shown.title == "Image 1: 1 segments paired, 1 missed, 0 false"
    assert shown.summary == "2 true and 1 predicted segments; a pair overlaps by more than half"
    assert [pixels(one.png) for one in shown.rasters] == [
        [[DOG, DOG, EDGE]],
        [[DOG, DOG, EDGE]],
        [[PAIRED, PAIRED, MISSED]],
    ]
    figure = views.maps(pairs, state_of(pairs))
    assert (figure.columns["image"], figure.columns["cost"]) == (["1", "0"], [1, 0])
    assert [pixels(one) for one in figure.columns["segments"]] == [[[PAIRED, PAIRED, MISSED]], [[PAIRED, PAIRED]]]
    assert [pixels(one) for one in figure.columns["truth"]] == [[[DOG, DOG, EDGE]], [[CAT, CAT]]]
    assert [pixels(one) for one in figure.columns["prediction"]] == [[[DOG, DOG, EDGE]], [[CAT, CAT]]]
    assert figure.facts["legend"] == [["cat", CAT], ["dog", DOG], *map(list, views.MEANINGS)]


def test_tables_and_figures_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = pairs_of("panoptic", TRUTH, FOUND)
    state, other = state_of(pairs), State.of(pairs, {StuffOverlaps(): None})
    assert list(views.tables(pairs, state)) == ["classes"]
    assert list(views.figures(pairs, state, ())) == ["maps", "pq_class"]
    assert (views.tables(pairs, other), views.figures(pairs, other, ()), views.listing(pairs, other)) == ({}, {}, None)
    assert {name: str(metric) for name, metric in views.class_metrics(state).items()} == {
        name: f"pq(label={name})" for name in ("cat", "dog", "sky", "grass")
    }
    rows = [
        [0.5, 0.75, 2 / 3, 1, 0, 1, 1], [0, np.nan, 0, 0, 1, 0, 1], [0.8, 0.8, 1, 1, 0, 0, 0], [0, np.nan, 0, 0, 0, 1, 0],
    ]  # fmt: skip
    check_table(
        views.class_table(state), ("classes", "Classes", "class"), ("cat", "dog", "sky", "grass"),
        ("PQ", "SQ", "RQ", "TP", "FP", "FN", "thing"), rows,
    )  # fmt: skip
    check_figure(
        views.pq_by_class(state), ("pq_class", "bars", "PQ by class"),
        {"name": ["dog", "grass", "cat", "sky"], "value": [0, 0, 0.5, 0.8], "SQ": [np.nan, np.nan, 0.75, 0.8],
         "RQ": [0, 0, 2 / 3, 1]},
        {"x": "PQ"}, "The worst first. PQ is SQ times RQ.",
    )  # fmt: skip
    shown = views.listing(pairs, state)
    assert shown is not None
    agree(shown.columns, {
        "image": ["0"], "pairs": [2], "false": [1], "missed": [2], "mean IoU of pairs": [1.55 / 2],
        "PQ of all its segments": [1.55 / 3.5],
    })  # fmt: skip
    monkeypatch.setattr(views, "MOST_CLASSES", 2)
    assert list(views.class_metrics(state)) == ["cat", "dog"]
    assert views.maps(pairs, state).facts["legend"] == [["cat", CAT], ["dog", DOG], *map(list, views.MEANINGS)]


def test_classes_without_a_segment_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """25 classes of one segment each, of which those of odd numbers are found, and a crowd."""
    numbers = np.arange(1, 27)
    named = [{"id": int(k), "category_id": int(k), "iscrowd": int(k == 26), "isthing": 1} for k in numbers]
    truth = side([numbers], [named])
    predicted = side(
        [np.where((numbers % 2 == 1) & (numbers < 26), numbers, 0)], [[one for one in named if one["id"] % 2 == 1]]
    )
    pairs = pairs_of("panoptic", truth, predicted)
    figure = views.pq_by_class(state_of(pairs))
    assert (
        figure.caption == "The worst first. PQ is SQ times RQ. The worst 12 and the best 12 of 25; the table has all."
    )
    assert figure.columns["name"] == [*(str(k) for k in range(2, 25, 2)), *(str(k) for k in range(3, 26, 2))]
    monkeypatch.setattr(views, "SHOWN", 0)
    assert figure.table is not None
    assert len(figure.table.rows) == 26


REMARKS = (
    "The areas of true segments are those of the JSON there, even where the map has others; here that is an error.",
    "A prediction of an image that the truth does not have is left out there without a word.",
    "Where no class is a thing, or none is stuff, panopticapi ends with ZeroDivisionError, and hotcoco says −1.",
)


def test_what_others_print() -> None:
    """Two crowds excuse a prediction together, the last alone does not: a false one more, 1 / 1.5 in place of 1."""
    crowds = [segment(1, 1, iscrowd=1), segment(2, 1, iscrowd=1), segment(3, 1)]
    truth = side([[1, 2, 0, 3, 3]], [crowds])
    predicted = side([[5, 5, 5, 6, 6]], [[segment(5, 1), segment(6, 1)]])
    pairs = pairs_of("panoptic", truth, predicted)
    names = [f"{name}{of}" for of in ("", "(of=things)", "(of=stuff)") for name in ("pq", "sq", "rq")]
    # One pixel on each crowd and one on void: 3 of 3; with the last crowd alone 2 of 3, which is more than half, too.
    same = dict(zip(names, [1, 1, 1, 1, 1, 1, np.nan, np.nan, np.nan], strict=True))
    for tool, version in (("panopticapi", "7bb46555"), ("hotcoco", "1.3.0")):
        (one,) = explain(pairs, [tool])
        assert (one.tool, one.version, one.remarks) == (tool, version, REMARKS)
        assert one.ours == pytest.approx(same, nan_ok=True)
        assert one.theirs == pytest.approx(same, nan_ok=True)
    wider = pairs_of(
        "panoptic",
        side([[1, 1, 2, 4, 3, 3]], [[*crowds, segment(4, 3)]]),
        side([[5, 5, 5, 5, 6, 6]], [predicted["segments"][0]]),
    )
    (one,) = explain(wider, ["panopticapi"])
    ours = {**same, "pq": 0.5, "sq": 0.5, "rq": 0.5, "pq(of=stuff)": 0, "sq(of=stuff)": 0, "rq(of=stuff)": 0}
    cat = 1 / 1.5
    theirs = {**ours, "pq": cat / 2, "rq": cat / 2, "pq(of=things)": cat, "rq(of=things)": cat}
    assert one.ours == pytest.approx(ours)
    assert one.theirs == pytest.approx(theirs)
    why = "Of several crowds of a class in an image, it keeps the last alone."
    assert one.steps == (Step("crowds", "all", "last", why, one.theirs),)
    last = pairs_of(
        "panoptic",
        side([[1, 1, 2, 4, 3, 3]], [[*crowds, segment(4, 3)]]),
        side([[5, 5, 5, 5, 6, 6]], [predicted["segments"][0]]),
        crowds="last",
    )
    (one,) = explain(last, ["hotcoco"])
    assert (one.steps, one.ours) == ((), pytest.approx(theirs))
    with refuses("E-unknown-name", "'coco'", "'hotcoco'"):
        explain(pairs, ["coco"])
