"""nuScenes' numbers by hand: what is left out, what is matched by the distance of centres, pictures, slices, messages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses
from support.scene_pairs import pairs_of
from support.shown import check_table

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.plan import POINT, UNITS
from steelyard.core.records import Column
from steelyard.core.scene import LineShape, PolygonShape
from steelyard.core.state import State
from steelyard.tasks.boxes3d import data, views
from steelyard.tasks.boxes3d import views as boxes3d_views
from steelyard.tasks.boxes3d.nuscenes import CentreMap

CLASSES = (
    "car", "truck", "bus", "trailer", "construction_vehicle", "pedestrian", "motorcycle", "bicycle", "traffic_cone",
    "barrier",
)  # fmt: skip
SIZE = {"length": 4.0, "width": 2.0, "height": 1.5}


def boxes(*rows: dict[str, Any]) -> dict[str, list[Any]]:
    """Rows of one sample; a car that stands still where a row does not say otherwise."""
    usual = {"frame": "s", "label": "car", "x": 0.0, "y": 0.0, "z": 1.0, **SIZE, "yaw": 0.0}
    names = list(dict.fromkeys([*usual, *(name for row in rows for name in row)]))
    return {name: [row.get(name, usual.get(name, math.nan)) for row in rows] for name in names}


MOVING = {"vx": 1.0, "vy": 0.0, "attribute": "vehicle.moving"}
RIDDEN = {**MOVING, "attribute": "cycle.with_rider", "label": "bicycle"}
# A car that is found; one 50 m away, one without a point, and a bicycle in a rack, which are left out.
TRUTH = boxes(
    {**MOVING, "x": 10.0, "ego_dx": 10.0, "ego_dy": 0.0, "points": 3.0},
    {**MOVING, "x": 30.0, "y": 40.0, "ego_dx": 30.0, "ego_dy": 40.0, "points": 3.0},
    {**MOVING, "x": 20.0, "ego_dx": 20.0, "ego_dy": 0.0, "points": 0.0},
    {**RIDDEN, "x": 31.0, "ego_dx": 31.0, "ego_dy": 0.0, "points": 3.0},
    {**MOVING, "label": "bicycle_rack", "attribute": "", "x": 30.0, "ego_dx": 30.0, "ego_dy": 0.0, "points": 3.0},
)
FOUND = boxes(
    {**MOVING, "x": 10.0, "score": 0.9},
    {**MOVING, "x": 30.0, "y": 40.0, "score": 0.8},
    {**RIDDEN, "x": 29.0, "y": 1.0, "score": 0.7},
)


def area(recall: list[float], precision: list[float]) -> float:
    """nuScenes' AP: straight between the points, recalls up to 0.1 and precisions below 0.1 count nothing."""
    at = np.interp(np.linspace(0, 1, 101), recall, precision, right=0)[11:]
    return float(np.mean(np.maximum(at - 0.1, 0)) / 0.9)


def evaluated(specs: list[str], truth: Any = TRUTH, predicted: Any = FOUND, **settings: Any) -> sy.Report:
    return sy.evaluate("boxes3d", truth, predicted, specs, confidence=None, **settings)


LEFT_OUT = (
    "Left out before matching: 1 truth too far from the car, 1 truth without a point, 1 truth in a bicycle rack, 1 "
    "prediction too far from the car, 1 prediction in a bicycle rack."
)


def test_all_that_is_left_is_right() -> None:
    """Of ten classes cars alone have truth: AP 1 and no error. The other nine have AP 0 and errors of 1, where asked."""
    report = evaluated(
        ["nds", "map", "map@0.5", "mate", "mase", "maoe", "mave", "maae", "map(label=car)", "nds(label=car)"]
    )
    expected = [
        (0.5 + 0.1 + 0.1 + 1 / 9 + 1 / 8 + 1 / 8) / 10, 0.1, 0.1, 0.9, 0.9, 8 / 9, 7 / 8, 7 / 8, 1, 1,
    ]  # fmt: skip
    assert [score.value for score in report.scores.values()] == pytest.approx(expected)
    none = (
        f"9 of 10 classes have no truth and count as AP 0 and errors 1, as nuScenes has it: {', '.join(CLASSES[1:])}."
    )
    for spec in ("nds", "map", "map@0.5", "mate"):
        assert report[spec].notes == (LEFT_OUT, none)
    assert report["map(label=car)"].notes == (LEFT_OUT,)


def test_one_class_of_several() -> None:
    truth = boxes({**MOVING, "x": 10.0}, {**RIDDEN, "x": 20.0})
    predicted = boxes({**MOVING, "x": 10.0, "score": 0.9})
    report = evaluated(
        ["nds(label=bicycle)", "map(label=bicycle)", "mate(label=bicycle)", "map", "nds(label=car)"], truth, predicted
    )
    assert [score.value for score in report.scores.values()] == pytest.approx([0, 0, 1, 0.1, 1])
    assert report["map"].notes[0].startswith("8 of 10 classes have no truth and count as AP 0")


def test_one_class_without_truth() -> None:
    truth = boxes(
        *({**MOVING, "label": name, "attribute": "", "x": 10.0 + 2 * i} for i, name in enumerate(CLASSES[1:]))
    )
    note = evaluated(["map"], truth, boxes({**MOVING, "x": 10.0, "score": 0.9}))["map"].notes[0]
    expected = "1 of 10 classes has no truth and counts as AP 0 and errors 1, as nuScenes has it: "
    assert note == f"{expected}{CLASSES[0]}."


def test_other_rules_leave_nothing_out() -> None:
    """Without nuScenes' rules a class without truth is left out of the mean, and every truth counts."""
    report = evaluated(["map", "mate", "mave"], options={"rules": "none"})
    # cars: two of three found, without a false one; the bicycle is 2 m and 1 m off, a rack is not found
    cars = sum(1 for k in range(11, 101) if k <= 66) / 90
    assert report["map"].notes == ()
    assert evaluated(["map@0.5(label=car)"], options={"rules": "none"})["map@0.5(label=car)"].value == pytest.approx(
        cars
    )
    assert evaluated(["map@4.0(label=bicycle)"], options={"rules": "none"})[
        "map@4.0(label=bicycle)"
    ].value == pytest.approx(1)
    assert evaluated(["map@2.0(label=bicycle)"], options={"rules": "none"})["map@2.0(label=bicycle)"].value == 0


OFFSETS: list[tuple[Any, ...]] = [
    (29.9, 39.9, True),
    (30.0, 40.0, False),
    (50.0, 0.0, False),
    (0.0, -49.9, True),
    (-49.9, 0.0, True),
    (0.0, 50.1, False),
]


def test_how_far_a_car_may_be() -> None:
    """A car counts below 50 m from the one that looks: by its own offset, or by where that one stands."""
    for x, y, kept in OFFSETS:
        offset = boxes({**MOVING, "x": 7.0, "ego_dx": x, "ego_dy": y})
        predicted = boxes({**MOVING, "x": 7.0, "ego_dx": x, "ego_dy": y, "score": 0.9})
        assert evaluated(["map(label=car)"], offset, predicted)["map(label=car)"].defined is kept
        truth = boxes(
            {**MOVING, "x": 1007.0, "y": 5.0, "ego_dx": 7.0, "ego_dy": 5.0}
        )  # the one that looks is at (1000, 0)
        near = evaluated(["map(label=car)"], truth, boxes({**MOVING, "x": 1000.0 + x, "y": y, "score": 0.9}))
        assert any("prediction too far" in note for note in near["map(label=car)"].notes) is not kept


IN_RACK: list[tuple[Any, ...]] = [
    (31.0, 2.0, 1.0, True), (31.1, 0.0, 1.0, False), (30.0, 2.1, 1.0, False), (30.0, -2.0, 1.75, True),
    (30.0, 0.0, 1.76, False), (29.0, 0.0, 0.25, True), (28.9, 0.0, 1.0, False),
]  # fmt: skip


def test_racks_hold_what_is_inside() -> None:
    """A rack that looks along y: 4 m along, 2 m across, 1.5 m high around (30, 0, 1). Motorcycles go in too."""
    for x, y, z, inside in IN_RACK:
        rack = {**MOVING, "label": "bicycle_rack", "attribute": "", "x": 30.0, "yaw": math.pi / 2}
        other = {**rack, "frame": "t"}
        ridden = {**RIDDEN, "label": "motorcycle", "x": x, "y": y, "z": z}
        truth = boxes(rack, other, {**MOVING, "x": x, "y": y, "z": z}, ridden)
        report = evaluated(
            ["map"], truth, boxes({**ridden, "score": 0.9}, {**MOVING, "x": x, "y": y, "score": 0.9}), missing="worst"
        )
        said = "Left out before matching: 1 truth in a bicycle rack, 1 prediction in a bicycle rack."
        assert (report["map"].notes[0] == said) is inside


def test_the_place_of_the_car() -> None:
    truth = boxes({**MOVING, "ego_dx": 1.0, "ego_dy": 0.0}, {**MOVING, "frame": "t", "ego_dx": math.nan, "ego_dy": 0.0})
    with refuses("E-missing-data", "row 1", "'t'"):
        evaluated(["map"], truth, boxes({**MOVING, "score": 0.9}))


def test_too_many_results(monkeypatch: pytest.MonkeyPatch) -> None:
    predicted = boxes(*({**MOVING, "x": 10.0, "score": 0.9, "frame": "s"} for _ in range(501)))
    predicted["frame"][0] = "t"
    truth = boxes({**MOVING}, {**MOVING, "frame": "t"})
    assert evaluated(["map"], truth, predicted)["map"].defined
    predicted["frame"][0] = "s"
    with refuses("E-too-large", "row 0", "'s'", "501", "500"):
        evaluated(["map"], truth, predicted)


def test_a_barrier_looks_both_ways() -> None:
    """Half a turn is not an error of a barrier, and attributes and velocities are not asked of it."""
    truth = boxes({"label": "barrier", "vx": 0.0, "vy": 0.0, "attribute": ""}, {**MOVING, "x": 20.0})
    predicted = boxes(
        {"label": "barrier", "yaw": math.pi, "vx": 9.0, "vy": 0.0, "attribute": "", "score": 0.9},
        {**MOVING, "x": 20.0, "yaw": math.pi, "vx": 1.0, "vy": 3.0, "attribute": "vehicle.parked", "score": 0.9},
    )  # fmt: skip
    report = evaluated(
        ["maoe(label=barrier)", "maoe(label=car)", "mave(label=car)", "maae(label=car)", "mave(label=barrier)"],
        truth,
        predicted,
    )
    assert [score.value for score in report.scores.values()][:4] == pytest.approx([0, math.pi, 3, 1])
    assert (report["mave(label=barrier)"].defined, report["mave(label=barrier)"].undefined_reason) == (
        False, "there is no truth, or it has no velocity",
    )  # fmt: skip


def test_attributes_that_are_not_predicted() -> None:
    truth = boxes({**MOVING, "x": 10.0}, {**RIDDEN, "x": 20.0, "attribute": ""})
    predicted = boxes({"vx": 1.0, "vy": 0.0, "x": 10.0, "score": 0.9}, {**RIDDEN, "x": 20.0, "score": 0.9})
    del predicted["attribute"]
    specs = ["maae(label=car)", "mave(label=car)", "maae(label=bicycle)"]
    report = evaluated(specs, truth, predicted)
    assert [report[spec].value for spec in specs[:2]] == [1, 0]


def test_equal_scores_are_asked_from_the_last() -> None:
    """Of two with one score the later one comes first: it is right, and the other is false."""
    truth = boxes({**MOVING, "x": 10.0})
    predicted = boxes({**MOVING, "x": 40.0, "score": 0.9}, {**MOVING, "x": 10.0, "score": 0.9})
    assert evaluated(["map(label=car)"], truth, predicted)["map(label=car)"].value == pytest.approx(
        area([1, 1], [1, 0.5])
    )
    turned = boxes({**MOVING, "x": 10.0, "score": 0.9}, {**MOVING, "x": 40.0, "score": 0.9})
    assert evaluated(["map(label=car)"], truth, turned)["map(label=car)"].value == pytest.approx(area([0, 1], [0, 0.5]))


TWO = boxes({"x": 10.0, "light": "day"}, {"frame": "t", "label": "bus", "x": 5.0, "light": "night"})
HIT = boxes({"x": 10.0, "score": 0.9}, {"frame": "t", "label": "car", "x": 5.0, "score": 0.8})


CARS = area([1, 1], [1, 0.5])


def test_why_a_class_has_no_number() -> None:
    predicted = boxes({"x": 10.0, "score": 0.9}, {"frame": "t", "label": "hen", "x": 5.0, "score": 0.8})
    image = {"left": [0.0] * 2, "top": [0.0] * 2, "right": [50.0] * 2, "bottom": [50.0] * 2}
    for spec in ("map(label=hen)", "mate(label=hen)"):
        score = evaluated([spec], TWO, predicted)[spec]
        assert (score.defined, score.undefined_reason) == (False, "there is no truth")
        assert (
            evaluated([spec.replace("hen", "cow")], TWO, predicted)[spec.replace("hen", "cow")].undefined_reason
            == "there is no class 'cow'"
        )
    cars, cyclists = {**TWO, **image, "label": ["Car", "Car"]}, {**predicted, **image, "label": ["Car", "Cyclist"]}
    spec = "kitti_ap(label=Cyclist, view=bbox)"
    score = evaluated([spec], cars, cyclists)[spec]
    assert (score.defined, score.undefined_reason) == (False, "no truth of the class counts")


def test_frames_alone() -> None:
    pairs = pairs_of("boxes3d", TWO, HIT)
    state = State.of(pairs, [need for need in CentreMap().requirements() if not hasattr(need, "ranking")])
    np.testing.assert_allclose(state.totals(UNITS).of(CentreMap()), [1, 0])
    np.testing.assert_allclose(state.totals(POINT).of(CentreMap()), [CARS / 2])  # the car is found first, no bus is
    check_table(
        views.tables(pairs, state)["centres"](), ("centres", "By the distance of centres, by class", "class"),
        ["bus", "car"],
        ["mAP (centre distance)", *(f"mAP at {d} m" for d in ("0.5", "1", "2", "4")), "mATE, translation", "mASE, scale",
         "mAOE, orientation", "mAVE, velocity", "mAAE, attribute"],
        [[0, 0, 0, 0, 0, 1, 1, 1, np.nan, np.nan], [CARS] * 5 + [0, 0, 0, np.nan, np.nan]],
    )  # fmt: skip


def test_slices() -> None:
    by_light = evaluated(["map"], TWO, HIT, by=["light"])
    assert {name: part["map"].value for name, part in by_light.slices["light"].items()} == {"day": 1, "night": 0}
    by_label = evaluated(["map"], TWO, HIT, by=["label"])
    parts = {name: part["map"].value for name, part in by_label.slices["label"].items()}
    assert parts == {"bus": 0, "car": pytest.approx(CARS)}


def test_chosen_frames_and_classes() -> None:
    weighted = {**TWO, "sample_weight": [3.0, 2.0]}
    report = evaluated(["map"], weighted, HIT, options={"frames": ["t"]})
    assert (report["map"].value, report["map"].units) == (0, 1)
    cars = evaluated(["map"], TWO, HIT, options={"classes": ["car"]})
    assert cars["map"].value == pytest.approx(CARS)
    pairs = pairs_of("boxes3d", weighted, HIT)
    assert pairs.weight.tolist() == [3, 2]


def corners(x: float, y: float, along: float, across: float) -> tuple[float, ...]:
    """A box from above, 10 pixels per metre, y up: its ends in x and in y."""
    return tuple(
        10 * v
        for v in (
            x + along,
            -(y + across),
            x + along,
            -(y - across),
            x - along,
            -(y - across),
            x - along,
            -(y + across),
        )
    )


def test_a_frame_from_above() -> None:
    """A car found 0.5 m ahead and turned by a quarter, another one missed, and one that is false."""
    truth = boxes({"x": 10.0, "y": 2.0}, {"x": 20.0, "y": -3.0}, {"frame": "t", "x": 99.0})
    predicted = boxes(
        {"x": 10.5, "y": 2.0, "yaw": math.pi / 2, "score": 0.9}, {"x": 30.0, "y": 8.0, "score": 0.75},
        {"frame": "t", "x": 99.0, "score": 0.5},
    )  # fmt: skip
    shown = boxes3d_views.scene(pairs_of("boxes3d", truth, predicted), 0, catalogue.parse("map", "boxes3d"))
    assert shown.title == "Frame s, from above"
    assert shown.summary == "2 true, 2 predicted, 1 found below 2 m; 10 pixels are a metre"
    assert shown.bounds == (60, -120, 340, 70)  # 4 m around the centres
    first, second, pair, third, fourth = shown.shapes
    turned = tuple(10 * v for v in (9.5, -4, 11.5, -4, 11.5, 0, 9.5, 0))
    for shape, role, places, label, matched, facts in (
        (first, "truth", corners(10, 2, 2, 1), "car", True, "car"),
        (second, "truth", corners(20, -3, 2, 1), "car", False, "car"),
        (third, "prediction", turned, "car 0.90", True, "car, score 0.90, 0.50 m and 90° off"),
        (fourth, "prediction", corners(30, 8, 2, 1), "car 0.75", False, "car, score 0.75"),
    ):
        assert isinstance(shape, PolygonShape)
        assert (shape.role, shape.label, shape.matched, shape.facts) == (role, label, matched, facts)
        assert shape.points == pytest.approx(places)
    assert pair == LineShape("pair", 100, -20, 105, -20)
    other = boxes3d_views.scene(pairs_of("boxes3d", truth, predicted), 1, catalogue.parse("map", "boxes3d"))
    assert (other.title, other.summary, len(other.shapes)) == (
        "Frame t, from above", "1 true, 1 predicted, 1 found below 2 m; 10 pixels are a metre", 3,
    )  # fmt: skip


def test_a_frame_without_a_box() -> None:
    nothing = {"label": "", **dict.fromkeys(("x", "y", "z", "length", "width", "height", "yaw"), math.nan)}
    both = boxes(nothing, {"frame": "t"})
    shown = boxes3d_views.scene(pairs_of("boxes3d", both, {**both, "score": [math.nan, 0.9]}), 0, CentreMap())
    assert (shown.summary, shown.shapes, shown.bounds) == (
        "0 true, 0 predicted, 0 found below 2 m; 10 pixels are a metre", (), None,
    )  # fmt: skip


def test_no_picture_without_a_place() -> None:
    image = {"frame": ["f"], "label": ["Car"], "left": [0.0], "top": [0.0], "right": [50.0], "bottom": [50.0]}
    pairs = pairs_of("boxes3d", image, {**image, "score": [0.9]})
    with refuses("E-missing-data", "place"):
        boxes3d_views.scene(pairs, 0, catalogue.parse("map", "boxes3d"))
    assert views.listing(pairs, State.of(pairs, [])) is None


def test_a_column_of_numbers() -> None:
    assert data._number("vx", "velocity") == Column(
        "vx", "number", required=False, empty=True, minimum=-1e9, maximum=1e9, meaning="velocity"
    )
