"""Rules of boxes at their edges, by hand: large objects, most detections, many thresholds, other tools, axes of rankings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.scene_pairs import pairs_of

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.plan import POINT
from steelyard.core.records import Records, boxes_of
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.tasks.boxes import views as boxes_views
from steelyard.tasks.boxes.calibration import LocatedShares, ScoreBins
from steelyard.tasks.boxes.counts import ClassesSeen, MatchedOverlap, WorkingCounts
from steelyard.tasks.boxes.errors import Repaired
from steelyard.tasks.boxes.explain import OURS, BoxConventions, hits_by_image, rank_in_image, straight_lines, values
from steelyard.tasks.boxes.froc import FirstHits
from steelyard.tasks.boxes.lrp import Located
from steelyard.tasks.boxes.matches import match_objects, matches
from steelyard.tasks.boxes.ranking import detections
from steelyard.tasks.boxes3d.nuscenes import EVENTS
from steelyard.tasks.boxes3d.statistics import KittiEvents

nan = np.nan


def boxes(rows: list[tuple[Any, ...]], *names: str, size: float = 100.0) -> dict[str, list[Any]]:
    """Rows of image, class and left edge, then other columns; the boxes are squares, large ones by default."""
    heads = ("image", "label", "x", *names)
    columns: dict[str, list[Any]] = {name: [row[k] for row in rows] for k, name in enumerate(heads)}
    return columns | {"y": [0.0] * len(rows), "w": [size] * len(rows), "h": [size] * len(rows)}


# Two cats and a dog, all large: a hit, a dog taken for a cat, a false one; a cat is missed.
TRUTH = boxes([("i", "cat", 0.0), ("i", "dog", 1000.0), ("j", "cat", 0.0)])
FOUND = boxes([("i", "cat", 0.0, 0.9), ("i", "cat", 1000.0, 0.8), ("j", "dog", 5000.0, 0.7)], "score")


def test_large_objects() -> None:
    expected = {
        "map": 51 / 202, "map(area=small)": nan, "map(area=medium)": nan, "map(area=large)": 51 / 202, "ar@1": 1 / 4,
        "ar@100(area=large)": 1 / 4, "precision": 1 / 3, "recall": 1 / 3, "f1": 2 / 6, "fppi": 1, "mean_iou": 1,
        "best_f1": 2 / 4, "fpr_candidate": 1, "fpr_image": 1, "dece": (0.1 + 0.8 + 0.7) / 3, "cpm": 1 / 4,
        "olrp": (1 / 2 + 1) / 2, "laece": ((0.1 + 0.8) / 2 + 0.7) / 2, "lamr": (1 / 2 + 1) / 2, "mr2": (1 / 2 + 1) / 2,
        "precision_at(recall=0.2)": 1, "recall_at": 1 / 3,
    }  # fmt: skip
    report = sy.evaluate("boxes", TRUTH, FOUND, list(expected), confidence=None)
    assert {spec: report[spec].value for spec in expected} == pytest.approx(expected, nan_ok=True)


def test_what_is_shown_of_large_objects() -> None:
    pairs = pairs_of("boxes", TRUTH, FOUND)
    assert boxes_views.confusion(pairs, SharedCache()).values.tolist() == [[1, 0, 1], [1, 0, 0], [0, 1, 0]]
    shown = boxes_views.scores(pairs, SharedCache())
    assert [count for count in shown.columns["count"] if count] == [1, 1, 1]
    np.testing.assert_allclose(boxes_views.classes(pairs, SharedCache()).values[:, :3], [[2, 2, 51 / 101], [1, 1, 0]])
    np.testing.assert_allclose(boxes_views.operating(pairs, SharedCache()).values[0, :4], [2 / 3, 0.9, 1, 1 / 2])


MANY = boxes(
    [("i", "cat", 0.0, 0.9), ("i", "cat", 0.0, 0.8), ("i", "cat", 1000.0, 0.6), ("i", "dog", 0.0, 0.7)], "score"
)
ONE = boxes([("i", "cat", 0.0), ("i", "cat", 1000.0)])


def test_the_most_detections_of_a_class_and_image() -> None:
    """With one of a class the hit stays, and the dog; with two the second on the same cat, too."""
    expected = {
        "dece(max_dets=1)": (0.1 + 0.7) / 2, "dece(max_dets=2)": (0.1 + 0.8 + 0.7) / 3, "laece(max_dets=1)": 0.1,
        "laece(max_dets=2)": (0.1 + 0.8) / 2, "laece(max_dets=1, tau=0)": 0.1, "olrp(max_dets=1)": 1 / 2,
        "olrp(part=fn, max_dets=1)": 1 / 2, "cpm(max_dets=1)": 1 / 2, "cpm(max_dets=3)": 1,
        "sensitivity@1.0(repeats=wrong, max_dets=2)": 1 / 2, "mr2(max_dets=2)": 1 / 2, "lamr(max_dets=1)": 1 / 2,
        "map50(max_dets=1)": 51 / 101, "recall(max_dets=2)": 1 / 2, "recall(max_dets=3)": 1, "ar@1": 1 / 2, "ar@3": 1,
        "precision_at(recall=0.6, max_dets=2)": nan, "recall_at(max_dets=2)": 1 / 2, "best_f1(max_dets=1)": 2 / 3,
    }  # fmt: skip
    report = sy.evaluate("boxes", ONE, MANY, list(expected), confidence=None)
    assert {spec: report[spec].value for spec in expected} == pytest.approx(expected, nan_ok=True)


def test_overlaps_at_a_threshold() -> None:
    """Half of the union: a hit at 0.5, except where more than that is asked for."""
    truth, predicted = boxes([("i", "cat", 0.0)]), boxes([("i", "cat", 0.0, 0.9)], "score") | {"w": [50.0]}
    expected = {
        "map50": 1,
        "mr2": 1,
        "mr2(iou=0.49)": 0,
        "ap(rule=voc)": 1,
        "ap(rule=dota)": 0,
        "ji": 1,
        "mean_iou": 0.5,
    }
    report = sy.evaluate("boxes", truth, predicted, list(expected), confidence=None)
    assert {spec: report[spec].value for spec in expected} == pytest.approx(expected, abs=1e-5)


def test_as_many_thresholds_as_bits() -> None:
    """A box with IoU 0.9 is a hit at each threshold up to there."""
    truth, predicted = boxes([("i", "cat", 0.0)]), boxes([("i", "cat", 0.0, 0.9)], "score") | {"w": [90.5]}
    for spec, share in (
        ("map(iou=0.15:0.9)", 1), ("map(iou=0.1:0.9)", 1), ("map(iou=0.1:0.95)", 17 / 18), ("map(iou=0.59:0.9:0.01)", 1),
        ("map(iou=0.69:1:0.01)", 22 / 32),
    ):  # fmt: skip
        made = sy.evaluate("boxes", truth, predicted, [spec], confidence=None)[spec]
        assert made.value == pytest.approx(share), spec


def test_rankings_are_by_class() -> None:
    pairs, work = pairs_of("boxes", TRUTH, FOUND), SharedCache()
    for need in (
        detections(0.5, "all", "coco")[0], FirstHits(0.5, "ignore", 100), FirstHits(0.5, "wrong", 100),
        Located(0.5, 100), LocatedShares(0.5, 100), LocatedShares(0.0, 100), Repaired("loc", 0.5, 0.1),
    ):  # fmt: skip
        block = need.measure(pairs, work)
        assert (block.axis, block.groups) == ("class", 2)
        assert {name: column.dtype.kind for name, column in block.events.columns.items()} == dict(need.columns[0])
        assert {name: column.dtype.kind for name, column in block.positives.columns.items()} == dict(need.columns[1])
    solid: dict[str, list[Any]] = {
        "frame": ["f"], "label": ["Car"], "left": [0.0], "top": [0.0], "right": [50.0], "bottom": [50.0], "x": [0.0],
        "y": [0.0], "z": [9.0], "length": [4.0], "width": [2.0], "height": [2.0], "yaw": [0.0],
    }  # fmt: skip
    for lacking in ((), ("left",), ("x",)):
        some = {name: column for name, column in solid.items() if name not in lacking}
        spaced = pairs_of("boxes3d", some, {**some, "score": [0.9]}, rules="kitti")
        for need in (KittiEvents("3d", "all", "strict"), KittiEvents("bbox", "moderate", "strict"), EVENTS):
            block = need.measure(spaced, SharedCache())
            assert (block.axis, block.groups) == ("class", 1)
            assert (block.events.begin.dtype, block.positives.begin.dtype) == (np.int64, np.int64)
            columns = {name: column.dtype.kind for name, column in block.events.columns.items()}
            assert columns == dict(need.columns[0])


def test_sums_by_image() -> None:
    pairs, work = pairs_of("boxes", TRUTH, FOUND), SharedCache()
    assert WorkingCounts(0.5, 0.75, 100).measure(pairs, work).values.tolist() == [[1, 1, 2], [0, 0, 1]]
    assert WorkingCounts(0.5, None, 100, "cat").measure(pairs, work).values.tolist() == [[1, 1, 1], [0, 0, 1]]
    assert WorkingCounts(0.5, None, 100, "hen").measure(pairs, work).values.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert MatchedOverlap(0.5, 0.9, 100).measure(pairs, work).values.tolist() == [[1, 1], [0, 0]]
    assert MatchedOverlap(0.5, 0.91, 100).measure(pairs, work).values.tolist() == [[0, 0], [0, 0]]
    assert ClassesSeen(0.7).measure(pairs, work).values.tolist() == [[2, 0], [1, 1]]
    assert ClassesSeen(0.71).measure(pairs, work).values.tolist() == [[2, 0], [1, 0]]
    bins = ScoreBins(0.5, 2, "left", 100).measure(pairs, work).values
    np.testing.assert_allclose(bins, [[0, 0, 0, 2, 1.7, 1], [0, 0, 0, 1, 0.7, 0]])


def test_ways_of_other_tools() -> None:
    """A crowd that takes what lies in it, or is an object, or nothing at all."""
    truth = boxes([("i", "cat", 0.0, 0), ("i", "cat", 1000.0, 1)], "crowd")
    predicted = boxes([("i", "cat", 1000.0, 0.9), ("i", "cat", 0.0, 0.8)], "score")
    s, work = pairs_of("boxes", truth, predicted), SharedCache()
    assert values(s, work, OURS)["map"] == pytest.approx(1)
    assert values(s, work, BoxConventions(crowd="ordinary objects"))["map"] == pytest.approx(1)
    assert values(s, work, BoxConventions(crowd="left out"))["map"] == pytest.approx(1 / 2)
    lines = values(s, work, BoxConventions(curve="101 points, straight lines"))
    assert lines["map"] == pytest.approx(0.995)
    assert np.isnan(lines["map_small"])
    only = pairs_of("boxes", truth, {name: column[:1] for name, column in predicted.items()})
    assert (
        values(only, SharedCache(), BoxConventions(curve="101 points, straight lines"))["map"] == 0
    )  # all that there is counts neither way
    assert values(s, SharedCache(), BoxConventions(least="0.001"))["map"] == pytest.approx(1)
    low = pairs_of("boxes", truth, {**predicted, "score": [0.9, 0.001]})
    assert values(low, SharedCache(), BoxConventions(least="0.001"))["map"] == 0
    assert values(low, SharedCache(), OURS)["map"] == pytest.approx(1)


def test_most_detections_of_other_tools() -> None:
    """The object is found by the 300th or the 301st of an image, of two classes in turn."""
    for before, kept in ((299, True), (300, False)):
        wrong = [("i", "dog" if k % 2 else "cat", 1000.0 * (k + 1), 1 - k / 1000) for k in range(before)]
        pairs = pairs_of("boxes", boxes([("i", "cat", 0.0)]), boxes([*wrong, ("i", "cat", 0.0, 0.5)], "score"))
        many = values(pairs, SharedCache(), BoxConventions(limit="300 of an image"))["map50"]
        assert many == pytest.approx(1 / 151 if kept else 0)
        assert values(pairs, SharedCache(), OURS)["map50"] == 0  # 100 of a class
        rank = rank_in_image(pairs, np.ones(len(pairs.d_image), dtype=bool))
        assert rank.tolist() == list(range(before + 1))
    few = pairs_of("boxes", TRUTH, FOUND)
    assert rank_in_image(few, np.array([False, True, True])).tolist() == [0, 0, 0]
    m = match_objects(few, (0.5,), ((0.0, 1e10),), 100)[0]
    order, hit, ignored = hits_by_image(few, m)
    assert (order.tolist(), hit.tolist(), ignored.tolist()) == ([0, 1, 2], [1, 0, 0], [0, 0, 0])
    # Of cats a line at 1 that falls to 0 at recall 0.5, of dogs nothing: 49 steps and a half
    assert straight_lines(few, order, hit, ignored, OURS)["map50"] == pytest.approx(0.495 / 2)
    assert m.label.tolist() == [0, 0, 1]
    assert matches(few, SharedCache(), (0.5,), ((0.0, 1e10),), 100)[0].places().tolist() == [True] * 3


def test_states_of_rankings_merge_by_class() -> None:
    """Two parts of the images, one of which lacks a class: together they are the whole."""
    need = detections(0.5, "all", "coco")[0]
    metric = catalogue.parse("map", "boxes")
    wanted = [need, *(n for n in metric.requirements() if not hasattr(n, "ranking"))]
    parts = []
    for image in ("i", "j"):
        sides = [
            {
                name: [v for v, i in zip(column, side["image"], strict=True) if i == image]
                for name, column in side.items()
            }
            for side in (TRUTH, FOUND)
        ]
        parts.append(State.of(pairs_of("boxes", *sides), wanted))
    whole = State.merge(parts)
    assert whole.totals(POINT).of(metric) == pytest.approx([51 / 202])


def test_groups_at_every_threshold() -> None:
    """A detection inside a group is one hit at each of the ten, and another counts neither way."""
    truth = boxes([("i", "cat", 0.0, 1), ("i", "cat", 5000.0, 0)], "group_of") | {"w": [1000.0, 100.0]}
    predicted = boxes([("i", "cat", 0.0, 0.9), ("i", "cat", 500.0, 0.8), ("i", "cat", 5000.0, 0.7)], "score")
    expected = {
        "ap(iou=0.5:0.95, rule=openimages)": 1, "ap(iou=0.5:0.95, rule=openimages_v2)": 1, "ap(rule=openimages)": 1,
        "ap(kind=step, iou=0.5, rule=openimages)": 1,
    }  # fmt: skip
    report = sy.evaluate("boxes", truth, predicted, list(expected), confidence=None)
    assert {spec: report[spec].value for spec in expected} == pytest.approx(expected)
    half = predicted | {"x": [-40.0, 500.0, 5000.0]}  # 60 % of the first lie inside: a hit of the group up to 0.6
    spec = "ap(iou=0.55:0.65, rule=openimages)"
    made = sy.evaluate("boxes", truth, half, [spec], confidence=None)[spec].value
    assert made == pytest.approx((1 + 1 + 2 / 3) / 3)  # at 0.65 it is false, and the second one is the group's hit


def test_hits_just_above_a_half() -> None:
    """A box with IoU 0.52 is a hit at 0.5, and at no other of the ten thresholds."""
    pairs = pairs_of("boxes", boxes([("i", "cat", 0.0)]), boxes([("i", "cat", 0.0, 0.9)], "score") | {"w": [52.0]})
    shown = boxes_views.scores(pairs, SharedCache()).columns
    assert (sum(shown["count"][:25]), sum(shown["count"][25:])) == (1, 0)
    np.testing.assert_allclose(boxes_views.classes(pairs, SharedCache()).values, [[1, 1, 0.1, 1, 0, 0.1]])
    assert boxes_views.confusion(pairs, SharedCache()).values.tolist() == [[1, 0], [0, 0]]
    curves = boxes_views.pr_by_iou(pairs, SharedCache(), 100).columns["y"]
    assert (curves[:101], sum(curves[101:])) == (pytest.approx([1] * 101), 0)
    assert boxes_views.pr_by_class(pairs, SharedCache(), 100).columns["y"] == pytest.approx([1] * 101)
    assert boxes_views.operating(pairs, SharedCache()).values[0, :4].tolist() == pytest.approx([1, 0.9, 1, 1])


def test_the_classes_that_are_confused_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four classes, cats and dogs are taken for each other; hens and cows are right."""
    names = ("cat", "cow", "dog", "hen")
    truth = boxes([("i", name, 1000.0 * k) for k, name in enumerate(names)])
    predicted = truth | {"label": ["dog", "cow", "cat", "hen"], "score": [0.9] * 4}
    pairs = pairs_of("boxes", truth, predicted)
    monkeypatch.setattr(boxes_views, "MOST_CLASSES", 2)
    shown = boxes_views.confusion_figure(pairs, SharedCache())
    assert shown.columns["row"] == ["cat"] * 3 + ["dog"] * 3 + ["(background)"] * 3
    assert shown.columns["count"].tolist() == [0, 1, 0, 1, 0, 0, 0, 0, 0]
    assert shown.caption.endswith(" The 2 of 4 classes that are confused most.")
    monkeypatch.setattr(boxes_views, "MOST_CLASSES", 4)
    assert len(boxes_views.confusion_figure(pairs, SharedCache()).columns["row"]) == 25


def test_loose_and_repeated_boxes() -> None:
    """A second box with just the IoU asked for is loose, as TIDE has it; with more it is a repeated one."""
    truth = boxes([("i", "cat", 0.0), ("i", "cat", 1000.0)])
    plain = (51 + 50 * 2 / 3) / 101
    for width, loose, repeated in ((50.0, 1 - plain, 0), (51.0, 0, 1 - plain)):
        predicted = boxes([("i", "cat", 0.0, 0.9), ("i", "cat", 0.0, 0.8), ("i", "cat", 1000.0, 0.7)], "score")
        predicted["w"] = [width, width, 100.0]
        report = sy.evaluate("boxes", truth, predicted, ["dap", "dap(error=dupe)"], confidence=None)
        assert report["dap"].value == pytest.approx(loose, abs=1e-9)
        assert report["dap(error=dupe)"].value == pytest.approx(repeated, abs=1e-9)
    for left, near, far in ((81.0, True, False), (83.0, False, True)):  # IoU 19/181 and 17/183: a tenth parts them
        predicted = boxes([("i", "cat", left, 0.9), ("i", "cat", 1000.0, 0.8)], "score")
        report = sy.evaluate("boxes", truth, predicted, ["dap", "dap(error=bkg)"], confidence=None)
        assert (report["dap"].value > 0.4, report["dap(error=bkg)"].value > 0) == (near, far)


def test_no_class_at_all() -> None:
    nothing = {"images": [{"id": 1}], "annotations": [], "categories": []}
    specs = ["laece", "olrp", "cpm", "mr2", "map", "sensitivity@1.0"]
    report = sy.evaluate("boxes", nothing, [], specs, confidence=None)
    assert [score.defined for score in report.scores.values()] == [False] * 6
    pairs = pairs_of("boxes", nothing, [])
    metric: Any = catalogue.parse("laece", "boxes")
    state = State.of(pairs, [metric.curve.ranking])
    assert state.totals(POINT)[metric.curve].shape == (1, 1)
    lrp: Any = catalogue.parse("olrp", "boxes")
    assert State.of(pairs, [lrp.curve.ranking]).totals(POINT)[lrp.curve].shape == (1, 4)


def test_a_loose_box_on_an_object_that_is_taken() -> None:
    """It is not a match of another object, once it fits: it goes."""
    truth = boxes([("i", "cat", 0.0), ("i", "cat", 1000.0)])
    predicted = boxes([("i", "cat", 0.0, 0.9), ("i", "cat", 70.0, 0.8)], "score")
    report = sy.evaluate("boxes", truth, predicted, ["dap", "dap(error=miss)"], confidence=None)
    assert report["dap"].value == 0
    assert report["dap(error=miss)"].value == pytest.approx(50 / 101)  # the other object is missed, whatever fits


def test_errors_are_looked_at_in_all_images(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = pairs_of("boxes", TRUTH, FOUND)
    for most, said in ((3, ""), (2, " From every 2th image: 1 of 2.")):
        monkeypatch.setattr(boxes_views, "MOST_LOOKED_AT", most)
        assert boxes_views.errors(pairs, SharedCache()).caption == (
            f"How much AP would rise if all errors of a kind were repaired, each kind alone (TIDE).{said}"
        )


def test_boxes_are_one_array() -> None:
    base = np.arange(12.0).reshape(3, 4)

    def records(x: Any, y: Any, w: Any, h: Any) -> Records:
        return Records("truth", {"x": x, "y": y, "w": w, "h": h}, {}, str, {})

    for columns in (
        base.T, base.T[[1, 0, 2, 3]], base.T.copy(), (*base.T[:3], base[:, 3].copy()), base.astype(np.float32).T,
        (base[:, 1], base[:, 0], base[:, 2], base[:, 3]), base[::-1].T, np.asfortranarray(base).T,
    ):  # fmt: skip
        made = boxes_of(records(*columns))
        assert (made.dtype, made.flags.c_contiguous) == (np.float64, True)
        np.testing.assert_array_equal(made, np.stack(list(columns), axis=1))
    empty = np.zeros((0, 4))
    assert boxes_of(records(*empty.T)).shape == (0, 4)


def test_classes_that_are_not_detected() -> None:
    """Calibration is of classes with detections; the others are missed."""
    truth = boxes([("i", "cat", 0.0), ("i", "dog", 1000.0)])
    predicted = boxes([("i", "cat", 0.0, 0.75)], "score")
    expected = {"laece": 0.25, "laece(tau=0)": 0.25, "dece": 0.25, "olrp": 1 / 2, "olrp(part=fp)": 0, "cpm": 1 / 2}
    report = sy.evaluate("boxes", truth, predicted, list(expected), confidence=None)
    assert {spec: report[spec].value for spec in expected} == pytest.approx(expected)
    nothing = sy.evaluate("boxes", truth, {name: [] for name in predicted}, ["laece", "dece"], confidence=None)
    assert [score.defined for score in nothing.scores.values()] == [False, False]


def test_images_that_are_missed_altogether() -> None:
    truth = boxes([("i", "cat", 0.0), ("j", "cat", 0.0)])
    report = sy.evaluate("boxes", truth, boxes([("i", "cat", 0.0, 0.95)], "score"), ["ji"], confidence=None)
    assert report["ji"].value == pytest.approx(1 / 2, abs=1e-5)
    false = boxes([("i", "cat", 0.0, 0.95), ("j", "cat", 900.0, 0.95)], "score")
    alone = sy.evaluate("boxes", boxes([("i", "cat", 0.0)]) | {"images": ["i", "j"]}, false, ["ji"], confidence=None)
    assert alone["ji"].value == pytest.approx(1 / 2, abs=1e-5)


def test_objects_and_detections_are_told_apart() -> None:
    """Three cats that others are named for: they are confused most, by their row; cows, dogs and hens once each."""
    truth = boxes([("i", "cat", 1000.0 * k) for k in range(3)])
    pairs = pairs_of("boxes", truth, truth | {"label": ["dog", "hen", "cow"], "score": [0.9] * 3})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boxes_views, "MOST_CLASSES", 2)
        shown = boxes_views.confusion_figure(pairs, SharedCache()).columns
    assert shown["row"] == ["cat"] * 3 + ["cow"] * 3 + ["(background)"] * 3
    assert shown["count"].tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert boxes_views.ap_by_class(pairs, SharedCache(), 100).columns["objects"].tolist() == [3]


def test_which_of_two_objects_is_taken() -> None:
    """A detection between two objects takes the last here, and the first there: then the next one finds nothing."""
    truth = boxes([("i", "cat", 0.0), ("i", "cat", 20.0)])
    predicted = boxes([("i", "cat", 10.0, 0.9), ("i", "cat", -30.0, 0.8)], "score")
    pairs = pairs_of("boxes", truth, predicted)
    assert values(pairs, SharedCache(), OURS)["map50"] == pytest.approx(1)
    assert values(pairs, SharedCache(), BoxConventions(first="the first"))["map50"] == pytest.approx(51 / 101)


def test_crowds_take_errors_of_their_class() -> None:
    """A detection inside a crowd of cats before a hit costs nothing; inside one of dogs it is on background."""
    for label, cost in (("cat", 0), ("dog", 1 / 2)):
        truth = boxes([("i", "cat", 0.0, 0), ("i", label, 1000.0, 1)], "crowd")
        predicted = boxes([("i", "cat", 1010.0, 0.9), ("i", "cat", 0.0, 0.8)], "score")
        report = sy.evaluate("boxes", truth, predicted, ["dap(error=bkg)", "dap(error=fp)"], confidence=None)
        assert [score.value for score in report.scores.values()] == pytest.approx([cost, cost])
