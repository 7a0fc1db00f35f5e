"""Boxes in space and tracks by slice: the values that rows are told apart by, and what is left of pairs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.scene_pairs import pairs_of

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.options import Options
from steelyard.core.records import Records
from steelyard.core.statistic import SharedCache
from steelyard.io.sources import read_sides
from steelyard.tasks.boxes3d import data
from steelyard.tasks.boxes3d import pairs as solid
from steelyard.tasks.boxes3d import statistics as solid_needs
from steelyard.tasks.boxes3d.statistics import KittiEvents, least_overlap
from steelyard.tasks.tracking import statistics as track_needs

nan = math.nan


def boxes(rows: list[tuple[Any, ...]], *more: str) -> dict[str, list[Any]]:
    """Rows of frame, class and x, then other columns; a row without a class has no box."""
    names = ("frame", "label", "x", *more)
    columns: dict[str, list[Any]] = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    there = [bool(row[1]) for row in rows]
    columns["x"] = [x if here else nan for x, here in zip(columns["x"], there, strict=True)]
    usual = {"y": 1.0, "z": 2.0, "length": 4.0, "width": 2.0, "height": 1.5, "yaw": 0.25}
    return columns | {name: [value if here else nan for here in there] for name, value in usual.items()}


TRUTH = boxes([("f", "car", 0.0, "day"), ("f", "bus", 10.0, "day"), ("g", "car", 0.0, "night"), ("h", "", nan, "night")],
              "light")  # fmt: skip
FOUND = boxes([("f", "car", 0.0, 0.9), ("g", "hen", 5.0, 0.8), ("h", "car", 7.0, 0.7)], "score")


def owners(pairs: Any) -> list[list[int]]:
    return [side.owner.tolist() for side in pairs.sides]


def test_boxes_in_space() -> None:
    pairs = pairs_of("boxes3d", TRUTH, FOUND)
    assert pairs.metadata.axes["class"].ids == ("bus", "car", "hen")
    assert owners(pairs) == [[0, 0, 1], [0, 1, 2]]
    values, owner = pairs.slice_values("label")
    assert (values.tolist(), owner.tolist()) == (["car", "bus", "car", "car", "hen", "car"], [0, 0, 1, 0, 1, 2])
    values, owner = pairs.slice_values("light")  # a frame without a box has its value, too
    assert (values.tolist(), owner.tolist()) == (["day", "night", "night"], [0, 1, 2])
    assert owners(pairs.select(np.array([True, False, False]))) == [[0, 0], [0]]
    assert owners(pairs.select(np.array([False, True, True, False, False, True]))) == [[0, 1], [2]]
    assert pairs.select(np.array([False, True, True])).sides[1].column("score").tolist() == [0.8, 0.7]
    part = pairs.select(np.array([False, True, False, False, True, False])).sides
    assert [side.group.tolist() for side in part] == [[0], [2]]
    assert [side.row.tolist() for side in part] == [[1], [1]]


def test_as_many_rows_as_units() -> None:
    """A mask of two is of rows, where there are two of both: the truth of g, and what is found in f."""
    truth = boxes([("f", "", nan), ("g", "car", 0.0)])
    predicted = boxes([("f", "car", 0.0, 0.9), ("g", "", nan, nan)], "score")
    pairs = pairs_of("boxes3d", truth, predicted)
    assert owners(pairs) == [[1], [0]]
    assert owners(pairs.select(np.array([True, False]))) == [[1], []]
    assert owners(pairs.select(np.array([False, True]))) == [[], [0]]


def test_columns_that_vary_inside_a_frame() -> None:
    truth = {**TRUTH, "size": ["big", "small", "big", ""]}
    predicted = {**FOUND, "size": ["big", "big", "small"]}
    values, owner = pairs_of("boxes3d", truth, predicted).slice_values("size")
    assert (values.tolist(), owner.tolist()) == (["big", "small", "big", "big", "big", "small"], [0, 0, 1, 0, 1, 2])
    report = sy.evaluate("boxes3d", truth, predicted, ["map(label=car)"], by=["size"], confidence=None)
    parts = report.slices["size"]
    assert parts["small"]["map(label=car)"].defined is False  # the small one is a bus
    assert parts["big"]["map(label=car)"].defined is True


def test_neighbours_are_sliced_by_their_class() -> None:
    image = {"left": [0.0] * 3, "top": [0.0] * 3, "right": [50.0] * 3, "bottom": [50.0] * 3}
    truth = {"frame": ["f"] * 3, "label": ["Car", "Van", "Tram"], **image}
    pairs = pairs_of("boxes3d", truth, {**truth, "label": ["car", "Cyclist", "Tram"], "score": [0.9, 0.8, 0.7]})
    assert pairs.metadata.axes["class"].ids == ("Car", "Cyclist")
    assert pairs.slice_values("label")[0].tolist() == ["Car", "Car", "other", "Car", "Cyclist", "other"]
    assert [side.own.tolist() for side in pairs.sides] == [[1, 0, 1], [1, 1, 1]]


def test_sides() -> None:
    """Places as the kernels take them: on the ground, from the low end to the high one."""
    turned = boxes([("f", "car", 3.0)])
    predicted = {**turned, "score": [0.9], "vx": [1.0], "vy": [2.0]}
    for options, low, high, ahead, angle in (
        ({"axes": "up", "anchor": "centre"}, 1.25, 2.75, 1.0, 0.25),
        ({"axes": "up", "anchor": "bottom"}, 2.0, 3.5, 1.0, 0.25),
        ({"axes": "camera", "anchor": "bottom"}, -0.5, 1.0, 2.0, -0.25),
        ({"axes": "camera", "anchor": "centre"}, 0.25, 1.75, 2.0, -0.25),
        ({}, 1.25, 2.75, 1.0, 0.25),
        ({"rules": "kitti"}, -0.5, 1.0, 2.0, -0.25),
    ):
        pairs = pairs_of("boxes3d", turned | ({"label": ["Car"]} if "rules" in options else {}), predicted, **options)
        side = pairs.sides[0]
        assert side.solid.tolist() == [pytest.approx([3, ahead, low, high, 4, 2, angle])]
        assert side.centre[0, :6].tolist() == pytest.approx([3, ahead, 4, 2, 1.5, 0.25])
        assert np.isnan(side.centre[0, 6:]).all()
        assert pairs.sides[1].centre[0, 6:].tolist() == [1, 2]
        assert side.column("occluded").tolist() == [0]
        assert side.column("occluded", 7.0).tolist() == [7]
        assert side.begin(1).tolist() == [0, 1]
        assert len(side) == 1
    around = pairs_of("boxes3d", {**turned, "yaw": [0.25 - 2 * math.pi]}, predicted, axes="up").sides[0]
    assert around.solid[0, 6] == pytest.approx(0.25)


def test_bits_of_levels() -> None:
    image = {
        "left": [0.0] * 4, "top": [0.0, 0, 10, 0], "right": [50.0] * 4, "bottom": [41.0, 40, 35, 25],
        "frame": ["f"] * 4, "label": ["Car"] * 4,
    }  # fmt: skip
    pairs = pairs_of("boxes3d", image, {**image, "score": [0.9] * 4})
    truth, predicted = pairs.sides
    assert truth.levels.tolist() == [0b1111, 0b1110, 0b1000, 0b1000]  # 41, 40, 25 and 25 pixels high
    assert predicted.small.tolist() == [0, 0, 0b001, 0b001]
    low = pairs_of("boxes3d", image, {**image, "bottom": [39.0, 24, 30, 41], "score": [0.9] * 4}).sides[1]
    assert low.small.tolist() == [0b001, 0b111, 0b111, 0]
    assert solid_needs._repack_levels(np.array([0b1010, 0b0101], dtype=np.uint8), ("moderate", "all")).tolist() == [
        0b11,
        0,
    ]


def test_what_the_data_hold() -> None:
    turned, place = boxes([("f", "car", 3.0)]), {"place"}
    image: dict[str, list[Any]] = {"left": [0.0], "top": [0.0], "right": [5.0], "bottom": [5.0]}
    for truth, predicted, expected in (
        ({}, {}, place), (image, image, {*place, "image", "levels"}), (image, {}, place),
        ({"difficulty": [1.0]}, {}, {*place, "levels"}), ({"alpha": [0.0]}, {}, place),
        ({"alpha": [0.0]}, {"alpha": [1.0]}, {*place, "alpha"}), ({"alpha": [0.0]}, {"alpha": [-10.0]}, place),
        ({"vx": [0.0], "vy": [0.0], "attribute": [""]}, {}, {*place, "vx", "attribute"}),
        ({"points": [3.0]}, {}, {*place, "points"}), ({}, {"vx": [1.0], "points": [1.0]}, place),
    ):  # fmt: skip
        made = pairs_of("boxes3d", {**turned, **truth}, {**turned, "score": [0.9], **predicted}, rules="none")
        assert made.metadata.holds == expected
        assert made.metadata.flags == {"rules": "none"}


def test_whose_rules_hold() -> None:
    turned = boxes([("f", "car", 3.0)])
    image: dict[str, list[Any]] = {"left": [0.0], "top": [0.0], "right": [5.0], "bottom": [5.0]}
    for more, expected in (
        ({}, "none"), (image, "kitti"), ({"vx": [0.0]}, "nuscenes"), ({"attribute": [""]}, "nuscenes"),
        ({**image, "vx": [0.0]}, "kitti"), ({"left": [0.0]}, "none"),
    ):  # fmt: skip
        pairs = pairs_of("boxes3d", {**turned, **more}, {**turned, **image, "score": [0.9]})
        assert pairs.metadata.flags["rules"] == expected


def test_the_overlap_that_is_asked_for() -> None:
    for label, view, overlap, expected in (
        ("Car", "3d", "strict", 0.7), ("car", "bbox", "strict", 0.7), ("Cyclist", "3d", "strict", 0.5),
        ("Tram", "bev", "strict", 0.5), ("Car", "3d", "loose", 0.5), ("Pedestrian", "bev", "loose", 0.25),
        ("Cyclist", "3d", "loose", 0.25), ("Tram", "3d", "loose", 0.5), ("Car", "bbox", "loose", 0.7),
        ("Cyclist", "bbox", "loose", 0.5), ("Car", "3d", 0.3, 0.3),
    ):  # fmt: skip
        assert least_overlap(label, view, overlap) == expected


def test_levels_that_are_measured_together() -> None:
    need = KittiEvents("3d", "moderate", "strict")
    work = SharedCache()
    work.statistics = (
        KittiEvents("3d", "all", "strict"), need, KittiEvents("bev", "easy", "strict"), KittiEvents("3d", "hard", "loose"),
    )  # fmt: skip
    assert solid_needs.asked_levels(work, "3d", "strict") == ("moderate", "all")
    assert solid_needs.asked_levels(work, "bev", "strict") == ("easy",)
    assert solid_needs.asked_levels(work, "bbox", "strict") == ("easy", "moderate", "hard", "all")


def test_frames_that_are_chosen() -> None:
    truth = {**TRUTH, "sample_weight": [1.0, 1.0, 2.0, 3.0]}
    pairs = pairs_of("boxes3d", truth, FOUND)
    kept = solid._only(pairs.joined, {"g", "h"})
    assert (kept.units.tolist(), kept.weight.tolist()) == (["g", "h"], [2, 3])
    assert (kept.truth_row.tolist(), kept.truth_owner.tolist()) == ([2, 3], [0, 1])
    assert (kept.prediction_row.tolist(), kept.prediction_owner.tolist()) == ([1, 2], [0, 1])
    assert solid._only(pairs_of("boxes3d", TRUTH, FOUND).joined, {"f"}).weight is None


def tracks(*rows: tuple[Any, ...], **more: Any) -> dict[str, Any]:
    names, size = ("sequence", "frame", "track", "x", "label"), len(rows)
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    return columns | {"y": [0.0] * size, "w": [9.0] * size, "h": [9.0] * size} | more


def test_tracks() -> None:
    truth = tracks(("a", 1, 1, 0, "cow"), ("a", 1, 2, 50, "dog"), ("b", 1, 1, 0, "dog"), light=["day", "day", "night"])
    predicted = tracks(("a", 1, 1, 0, "cow"), ("a", 1, 2, 50, "cow"), ("b", 1, 1, 0, "dog"), ("b", 2, 1, 0, "dog"))
    pairs = pairs_of("tracking", truth, predicted)
    values, owner = pairs.slice_values("label")
    assert values.tolist() == ["cow", "dog", "dog", "cow", "cow", "dog", "dog"]
    assert owner.tolist() == [0, 0, 1, 0, 0, 1, 1]
    values, owner = pairs.slice_values("light")
    assert (values.tolist(), owner.tolist()) == (["day", "night"], [0, 1])
    assert [side.row.tolist() for side in pairs.select(np.array([False, True])).sides] == [[2], [2, 3]]
    part = pairs.select(np.array([True, False, True, False, True, False, True])).sides
    assert [side.row.tolist() for side in part] == [[0, 2], [1, 3]]
    assert [side.run.tolist() for side in part] == [[0, 3], [0, 3]]
    assert [side.frame.tolist() for side in part] == [[1, 1], [1, 2]]
    assert pairs.frames.tolist() == [1, 2]
    assert pairs.slice_values("sequence")[0].tolist() == ["a", "b"]


def test_tracks_without_classes() -> None:
    truth = tracks(("a", 1, 1, 0, ""), ("b", 1, 1, 0, ""), ("b", 2, 1, 0, ""))
    del truth["label"]
    pairs = pairs_of("tracking", truth, truth)
    assert [side.row.tolist() for side in pairs.select(np.array([False, True])).sides] == [[1, 2], [1, 2]]
    assert [side.row.tolist() for side in pairs.select(np.array([True, False])).sides] == [[0], [0]]


def test_shares_of_boxes_in_regions() -> None:
    regions = np.array([[0.0, 0, 10, 10], [8, 8, 20, 20], [40, 0, 50, 10], [0, 20, 10, 30]])
    shares = track_needs._shares(np.array([5.0, 5, 15, 15]), regions)
    assert shares.tolist() == [25 / 100, 49 / 100, 0, 0]
    assert track_needs._shares(np.array([5.0, 5, 5, 15]), regions).tolist() == [0] * 4


def kitti(*labels: str, **more: Any) -> dict[str, list[Any]]:
    """Boxes in the image; one without a label is not there."""
    sides = {"left": 0.0, "top": 0.0, "right": 50.0, "bottom": 50.0}
    columns: dict[str, list[Any]] = {"frame": ["f"] * len(labels), "label": list(labels)}
    return columns | {name: [v if label else nan for label in labels] for name, v in sides.items()} | more


def prepared(truth: dict[str, list[Any]], predicted: dict[str, list[Any]], **options: Any) -> Any:
    known = catalogue.find_task("boxes3d")
    given = Options(known.options, options)
    return data.prepare(*read_sides(known, truth, predicted, {}, given), given)


LABELS = ("Car", "van", "DontCare", "Person_sitting", "Pedestrian", "", "Tram")


def test_rows_and_their_classes() -> None:
    rules, truth, predicted = prepared(kitti(*LABELS), kitti("car", "Van", "Tram", "PEDESTRIAN", score=[0.9] * 4))
    assert (rules.name, rules.classes) == ("kitti", ("Car", "Pedestrian"))
    assert truth.group.tolist() == [0, 0, -1, 1, 1, -1, -1]
    assert truth.keep.tolist() == [True, True, False, True, True, False, True]
    assert truth.region.tolist() == [False, False, True, False, False, False, False]
    assert truth.own.tolist() == [True, False, True, False, True, True, True]
    assert predicted.group.tolist() == [0, -1, -1, 1]  # what is found is never a neighbour
    assert (predicted.keep.tolist(), predicted.own.tolist()) == ([True] * 4, [True] * 4)
    assert (truth.dropped, predicted.dropped) == ({}, {})


def test_rows_of_chosen_classes_and_of_no_rules() -> None:
    named = Records(
        "classes", {"label": np.array(["Van", "Car", "Van"], dtype=object)}, {}, lambda row: f"row {row}", {}
    )
    rules, truth, _ = prepared(kitti(*LABELS), kitti("Car", score=[0.9]), classes=named)
    assert (rules.classes, truth.group.tolist()) == (("Van", "Car"), [1, 0, -1, -1, -1, -1, -1])
    assert truth.own.tolist()[:2] == [True, True]  # a van is itself where it is asked for
    rules, truth, predicted = prepared(kitti(*LABELS), kitti("van", "hen", score=[0.9] * 2), rules="none")
    assert rules.classes == ("Car", "DontCare", "Pedestrian", "Person_sitting", "Tram", "hen", "van")
    assert truth.group.tolist() == [0, 6, 1, 3, 2, -1, 4]
    assert truth.keep.tolist() == [True] * 5 + [False, True]
    assert (truth.region.any(), predicted.group.tolist()) == (np.False_, [6, 5])
    few = Records("classes", {"label": np.array(["Tram"], dtype=object)}, {}, lambda row: f"row {row}", {})
    _, truth, predicted = prepared(kitti(*LABELS), kitti("van", "Tram", score=[0.9] * 2), rules="none", classes=few)
    assert truth.keep.tolist() == [False] * 6 + [True]
    assert predicted.keep.tolist() == [False, True]
