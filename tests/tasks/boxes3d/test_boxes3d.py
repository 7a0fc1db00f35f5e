"""Boxes in space: KITTI's and nuScenes' own numbers from their own files, rules one by one, and what a reader is shown."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.drawn_boxes3d import draw_frames
from support.paths import TESTS
from support.solid_files import columns, nuscenes_box, write_nuscenes

import steelyard as sy
from steelyard import _native
from steelyard.core.options import Options
from steelyard.core.scene import PolygonShape
from steelyard.core.state import State
from steelyard.core.task import Policy
from steelyard.io.sources import read_sides
from steelyard.tasks.boxes3d.kitti import Aos, KittiAp
from steelyard.tasks.boxes3d.nuscenes import EVENTS, CentreMap
from steelyard.tasks.boxes3d.statistics import centre_curves, kitti_curve, least_overlap
from steelyard.tasks.boxes3d.task import TASK
from steelyard.tasks.boxes3d.views import scene

GOLDENS = json.loads((TESTS / "goldens" / "boxes3d.json").read_text())
CASES: dict[str, Any] = {case["id"]: case for case in GOLDENS["cases"]}
LEVELS = ("easy", "moderate", "hard")
ERRORS = {"mate": "trans_err", "mase": "scale_err", "maoe": "orient_err", "mave": "vel_err", "maae": "attr_err"}


def kitti_folders(folder: Path, case: Any) -> tuple[Path, Path]:
    for name, key in (("label_2", "label_2"), ("data", "results")):
        (folder / name).mkdir()
        for number, text in enumerate(case["input"][key]):
            (folder / name / f"{number:06d}.txt").write_text(text)
    return folder / "label_2", folder / "data"


def nuscenes_files(folder: Path, case: Any) -> tuple[Path, Path]:
    for side in ("truth", "results"):
        boxes: dict[str, list[Any]] = {sample: [] for sample in case["input"]["samples"]}
        for box in case["input"][side]:
            boxes[box["sample_token"]].append(box)
        (folder / f"{side}.json").write_text(json.dumps({"meta": {}, "results": boxes}))
    return folder / "truth.json", folder / "results.json"


def pairs_of(truth: Any, predictions: Any, **options: Any) -> Any:
    given = Options(TASK.options, options)
    return TASK.join(*read_sides(TASK, truth, predictions, {}, given), Policy(), given)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["group"] == "kitti"])
def test_kitti_goldens(name: str, tmp_path: Path) -> None:
    """Every curve of 41 places, R11 and R40, as KITTI's development kit gives them."""
    case = CASES[name]
    pairs = pairs_of(*kitti_folders(tmp_path, case))
    assert ("alpha" in pairs.metadata.holds) == case["expected"]["aos_valid"]
    for key, expected in case["expected"].items():
        if key == "aos_valid":
            continue
        view, label, level = key.split("_")
        metric: KittiAp | Aos = (
            Aos(level=LEVELS[int(level)], only=label.capitalize())
            if view == "aos"
            else KittiAp(level=LEVELS[int(level)], only=label.capitalize(), view=view)
        )
        state = State.of(pairs, [metric.events])
        group = pairs.metadata.axes["class"].find(label.capitalize())
        weights = np.ones(len(state))
        values = {r: sy_value(state, metric, r) for r in (11, 40)}
        block: Any = state.blocks[metric.events]
        if expected is None:
            assert math.isnan(values[40])
            continue
        if not np.diff(block.positives.begin)[group]:
            assert set(expected["precision41"]) == {0}  # the kit's 0 for nothing to find: undefined here
            assert all(math.isnan(value) for value in values.values())
            continue
        _, (_, precision, similarity) = kitti_curve(block, group, weights)
        curve = similarity if view == "aos" else precision
        np.testing.assert_allclose(curve, expected["precision41"], rtol=0, atol=1e-12)
        assert values[11] == pytest.approx(expected["r11"], abs=1e-12 * 100)
        assert values[40] == pytest.approx(expected["r40"], abs=1e-12 * 100)


def sy_value(state: State, metric: Any, positions: int) -> float:
    from dataclasses import replace

    from steelyard.core.plan import POINT

    return float(state.totals(POINT).of(replace(metric, positions=positions))[0])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["group"] == "nuscenes"])
def test_nuscenes_goldens(name: str, tmp_path: Path) -> None:
    """mAP, the five errors and NDS, of all classes and of each, as nuScenes' development kit gives them."""
    case = CASES[name]
    expected = {"map": case["expected"]["mean_ap"], "nds": case["expected"]["nds"]}
    expected |= {metric: case["expected"]["tp_errors"][key] for metric, key in ERRORS.items()}
    for label, of_class in case["expected"]["classes"].items():
        expected |= {f"map@{float(d)}(label={label})": value for d, value in of_class["ap"].items()}
        expected |= {
            f"{metric}(label={label})": of_class["tp"][key]
            for metric, key in ERRORS.items()
            if of_class["tp"].get(key) is not None
        }
    report = sy.evaluate("boxes3d", *nuscenes_files(tmp_path, case), list(expected), confidence=None)
    for spec, value in expected.items():
        assert report[spec].value == pytest.approx(min(value, 1.0) if "map" in spec else value, abs=1e-12), spec


def test_files_and_columns_agree(tmp_path: Path) -> None:
    """KITTI's files and the same numbers as a table."""
    truth, predicted = kitti_folders(tmp_path, CASES["kitti/mixture_30"])
    records = read_sides(TASK, truth, predicted, {})
    tables = [{name: side.columns[name] for name in side.columns} for side in records]
    specs = ["kitti_ap", "kitti_ap(view=bev)", "kitti_ap(view=bbox)", "aos"]
    by_file, by_table = (sy.evaluate("boxes3d", *sides, specs) for sides in ((truth, predicted), tables))
    assert by_file.scores == by_table.scores


def test_overlap_by_hand() -> None:
    """Two boxes of 4 × 2 × 1.5 m: half a length apart, half a height apart, and a quarter turn."""
    box = np.array([[0.0, 0, 0, 1.5, 4, 2, 0]])
    along, up, across = box.copy(), box.copy(), box.copy()
    along[:, 0] += 2
    up[:, 2:4] += 0.75
    across[:, 6] = np.pi / 2
    third = pytest.approx(1 / 3, abs=1e-15)
    assert _native.solid_overlaps(1, box, along)[0] == third
    assert _native.solid_overlaps(2, box, along)[0] == third
    assert _native.solid_overlaps(1, box, up)[0] == 1
    assert _native.solid_overlaps(2, box, up)[0] == third
    assert _native.solid_overlaps(1, box, across)[0] == third
    image = np.array([[0.0, 0, 10, 10]])
    assert _native.solid_overlaps(0, image, image + [5, 0, 5, 0])[0] == third


@pytest.mark.parametrize(
    ("label", "view", "overlap", "least"),
    [("Car", "3d", "strict", 0.7), ("Car", "3d", "loose", 0.5), ("Car", "bbox", "loose", 0.7), ("Cyclist", "bev", "strict", 0.5),
     ("Pedestrian", "bev", "loose", 0.25), ("tram", "3d", "strict", 0.5), ("Car", "3d", 0.4, 0.4)],
)  # fmt: skip
def test_least_overlap(label: str, view: str, overlap: Any, least: float) -> None:
    assert least_overlap(label, view, overlap) == least


@pytest.mark.parametrize("turns", [1, -1, 40])
def test_yaw_beyond_a_turn_is_the_same_heading(turns: int) -> None:
    truth = columns()
    predicted = columns(yaw=[0.3 + turns * 2 * np.pi], score=[0.9])
    report = sy.evaluate("boxes3d", truth, predicted, ["kitti_ap(positions=11)", "maoe"], confidence=None)
    assert report["kitti_ap(positions=11)"].value == pytest.approx(100 / 11)
    assert report["maoe"].value == pytest.approx(0, abs=1e-12)


def test_places_of_the_middle_and_of_the_bottom() -> None:
    """The same boxes with y down and z up."""
    truth = columns()
    up = columns(y=[20.0], z=[-1.6 + 0.75], yaw=[-0.3], score=[0.9])
    options = {"prediction.axes": "up"}
    report = sy.evaluate("boxes3d", truth, up, ["kitti_ap(positions=11)", "map"], options=options, confidence=None)
    assert report["map"].value == pytest.approx(1)
    assert report["kitti_ap(positions=11)"].value == 0  # heights are counted the other way, so the boxes do not meet
    down = columns(y=[1.6 - 0.75], score=[0.9])
    for anchor, expected in (("centre", 100 / 11), ("bottom", 0.0)):
        report = sy.evaluate(
            "boxes3d", truth, down, ["kitti_ap(positions=11)"], options={"prediction.anchor": anchor}, confidence=None
        )
        assert report["kitti_ap(positions=11)"].value == pytest.approx(expected)


def test_nuscenes_filters(tmp_path: Path) -> None:
    """Too far from the car, without a point, bicycles in a rack: by hand, one of each on both sides where it can be."""
    far = nuscenes_box(translation=[151.0, 0, 1])
    unseen = nuscenes_box(translation=[110.0, 20, 1], num_pts=0)
    rack = nuscenes_box(
        detection_name="bicycle_rack", translation=[100.0, 10, 1], size=[2.0, 6.0, 2.0], attribute_name=""
    )
    parked = nuscenes_box(detection_name="bicycle", translation=[103.0, 11.0, 1], attribute_name="cycle.without_rider")
    outside = nuscenes_box(detection_name="bicycle", translation=[103.1, 11.0, 1], attribute_name="cycle.without_rider")
    near = nuscenes_box(translation=[110.0, 0, 1], num_pts=3)
    truth = {"s": [near, far, unseen, rack, parked, outside]}
    results = {"s": [{**box, "detection_score": 0.9} for box in (near, far, parked, outside)]}
    for box in results["s"]:
        box.pop("num_pts", None)
    paths = write_nuscenes(tmp_path, truth, results, ego={"s": [100.0, 0, 0]})
    pairs = pairs_of(*paths)
    kept = [sorted(pairs.metadata.axes["class"].display_names[code] for code in side.group) for side in pairs.sides]
    assert kept == [["bicycle", "car"], ["bicycle", "car"]]
    report = sy.evaluate("boxes3d", *paths, ["map(label=car)", "map"], confidence=None)
    assert report["map(label=car)"].value == 1
    assert any("1 truth too far" in note and "1 truth without a point" in note for note in report["map"].notes)
    assert any("8 of 10 classes have no truth" in note for note in report["map"].notes)
    assert report["map"].value == pytest.approx(0.2)


def test_scenes_are_drawn_together(tmp_path: Path) -> None:
    truth = {f"s{i}": [nuscenes_box(f"s{i}", translation=[10.0 * i, 0, 1])] for i in range(8)}
    results = {name: [{**boxes[0], "detection_score": 0.5}] for name, boxes in truth.items()}
    paths = write_nuscenes(tmp_path, truth, results, scene={f"s{i}": f"drive {i // 2}" for i in range(8)})
    report = sy.evaluate("boxes3d", *paths, "map", cluster="scene", by="scene", draws=100)
    assert set(report.slices["scene"]) == {f"drive {i}" for i in range(4)}


def test_frames_are_chosen() -> None:
    truth, predicted = draw_frames(np.random.default_rng(3), 8)
    whole = pairs_of(truth, predicted)
    some = sy.evaluate("boxes3d", truth, predicted, "map", options={"frames": ["f001", "f005"]}, confidence=None)
    assert some["map"].units == 2 < len(whole.units)


def test_few_truths_are_said() -> None:
    truth, predicted = columns(), columns(score=[0.9])
    report = sy.evaluate("boxes3d", truth, predicted, ["kitti_ap"], confidence=None)
    (note,) = report["kitti_ap"].notes
    assert "cannot reach 100 with 1 truth of Car, moderate: a perfect result would be 0.0" in note


def test_undefined_says_why() -> None:
    truth = {
        name: column for name, column in columns().items() if name not in ("left", "top", "right", "bottom", "alpha")
    }
    report = sy.evaluate(
        "boxes3d", truth, {**truth, "score": [0.5]}, ["kitti_ap", "aos", "kitti_ap(level=all, positions=11)", "mave"], confidence=None
    )  # fmt: skip
    assert "level=all takes every truth" in report["kitti_ap"].undefined_reason
    assert "box in the image" in report["aos"].undefined_reason
    assert "no velocity" in report["mave"].undefined_reason
    assert report["kitti_ap(level=all, positions=11)"].value == pytest.approx(100 / 11)


def test_curves_are_read_at_the_recalls_of_the_reference() -> None:
    """Two truths, hits at 0.9 and 0.5 with a miss between: precision 1 up to recall 0.5, then from 1/2 to 2/3."""
    truth = {**columns(), "frame": ["a", "a"], "label": ["Car"] * 2, "x": [0.0, 30.0]}
    for name, column in columns().items():
        truth.setdefault(name, column * 2)
        truth[name] = column * 2 if name not in ("frame", "label", "x") else truth[name]
    predicted = {name: [*column, column[0]] for name, column in truth.items()}
    predicted |= {"x": [0.0, 30.0, 70.0], "score": [0.9, 0.5, 0.7]}
    pairs = pairs_of(truth, predicted)
    state = State.of(pairs, [*CentreMap().requirements()[1:]])
    curves = centre_curves(state.blocks[EVENTS], 0, np.ones(1))  # type: ignore[arg-type]
    assert curves[0, 49] == 1
    assert curves[0, 50] == 0.5  # at a repeated recall the last point counts
    assert curves[0, 75] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert curves[4, 75] == pytest.approx(0.6)  # confidence between 0.7 and 0.5


def test_large_weights_take_no_longer() -> None:
    """A unit of weight a million stands for a million: its places are jumped to, not counted out."""
    truth, predicted = draw_frames(np.random.default_rng(5), 12)
    state = State.of(pairs_of(truth, predicted), [KittiAp().events, EVENTS])
    from steelyard.core.state import Totals
    from steelyard.core.weights import Plain
    from steelyard.tasks.boxes3d.statistics import CentreScores, KittiAreas

    for curve in (KittiAreas(KittiAp().events), CentreScores(EVENTS)):
        thousand, million = (Totals(state, Plain(np.full(12, w)))[curve] for w in (1e4, 1e7))
        np.testing.assert_allclose(
            thousand, million, atol=5e-2 if isinstance(curve, KittiAreas) else 1e-3, equal_nan=True
        )


def test_explained() -> None:
    truth, predicted = draw_frames(np.random.default_rng(6), 20)
    report = sy.evaluate(
        "boxes3d",
        truth,
        predicted,
        ["kitti_ap(label=Car, positions=11)", "kitti_ap(label=Car)"],
        explain="kitti-2017",
        confidence=None,
    )
    (explanation,) = report.explanations
    assert explanation.ours["Car"] == pytest.approx(report["kitti_ap(label=Car)"].value)
    assert explanation.theirs["Car"] == pytest.approx(report["kitti_ap(positions=11, label=Car)"].value)
    assert {step.theirs for step in explanation.steps} >= {"11, with recall 0 (R11)", "the image (2D, bbox)"}
    with pytest.raises(sy.InputError, match="cannot be explained"):
        sy.evaluate("boxes3d", truth, predicted, explain="kitty", confidence=None)


@pytest.mark.parametrize(
    "value", ["0.1", "3.141592653589793", "-1234.56789012345678", "0.30000000000000004", "1e-7", "12345678.123456789"]
)
def test_numbers_are_read_to_the_bit(value: str) -> None:
    box = json.dumps(nuscenes_box(velocity=[0, 0])).replace("[10.0, 0.0, 1.0]", f"[{value}, 0, 0]")
    result: Any = _native.parse_nuscenes(f'{{"results": {{"s": [{box}]}}}}'.encode(), False)
    assert result["translation"][0, 0] == float(value)


def test_drawn_numbers_are_read_to_the_bit() -> None:
    values = np.random.default_rng(7).uniform(-2000, 2000, 3000)
    boxes = [nuscenes_box(translation=row) for row in values.reshape(-1, 3).tolist()]
    result: Any = _native.parse_nuscenes(json.dumps({"results": {"s": boxes}}).encode(), False)
    assert (result["translation"].reshape(-1) == values).all()


def test_seen_from_above() -> None:
    """A box of 4 × 2 m that looks along x, 10 pixels a metre: its front edge first, y down; and the line of its pair."""
    truth = {
        name: column
        for name, column in columns(yaw=[0.0], y=[5.0], z=[0.8]).items()
        if name not in ("left", "top", "right", "bottom", "alpha")
    }
    pairs = pairs_of(truth, {**truth, "x": [1.0], "score": [0.75]})
    shown = scene(pairs, 0, CentreMap())
    outline, line, other = shown.shapes
    assert isinstance(outline, PolygonShape)
    assert isinstance(other, PolygonShape)
    assert outline.points == pytest.approx((20, -60, 20, -40, -20, -40, -20, -60))
    assert outline.matched
    assert other.label == "Car 0.75"
    assert "1.00 m and 0° off" in other.facts
    assert (line.x1, line.y1, line.x2, line.y2) == pytest.approx((0, -50, 10, -50))  # type: ignore[union-attr]
    assert "1 true, 1 predicted, 1 found" in shown.summary


def test_errors_are_drawn_of_classes_that_have_them(tmp_path: Path) -> None:
    """A car of the right attribute and a cone, which has none: the line of attributes lies at 0."""
    cone = nuscenes_box(detection_name="traffic_cone", attribute_name="", translation=[-10.0, 0, 1])
    truth = {"s": [nuscenes_box(), cone]}
    results = {"s": [{**box, "detection_score": 0.9} for box in truth["s"]]}
    drawn = sy.evaluate("boxes3d", *write_nuscenes(tmp_path, truth, results), "nds", confidence=None).figure("errors")
    lines = dict(zip(drawn.columns["series"], drawn.columns["y"], strict=True))
    assert lines["attribute"] == lines["translation"] == 0


def some(kind: Any, *values: Any) -> np.ndarray:
    return np.array(values, dtype=kind)


EVENT = (some(float, 0.9), some(np.int32, 0), some(np.int32, 1), some(np.int32, 1), some(np.int32, 0), some(float, 1))
CENTRE = (some(float, 0.9), some(np.int32, 0), some(np.uint8, 15), np.zeros((1, 5)))
REFUSED = {
    "a unit beyond": lambda: _native.kitti_areas(np.ones((1, 1)), np.ones(1), EVENT[0], some(np.int32, 1), *EVENT[2:]),
    "rising scores": lambda: _native.kitti_areas(
        np.ones((1, 1)), np.ones(1), some(float, 0.1, 0.9), *(np.repeat(column, 2) for column in EVENT[1:])
    ),
    "a negative weight": lambda: _native.kitti_areas(-np.ones((1, 1)), np.ones(1), *EVENT),
    "columns of other lengths": lambda: _native.kitti_curve(np.ones(1), np.ones(1), *EVENT[:5], np.zeros(2)),
    "units in disorder": lambda: _native.kitti_areas_by_unit(
        np.ones(2), some(float, 0.9, 0.9), some(np.int32, 1, 0), *(np.repeat(column, 2) for column in EVENT[2:])
    ),
    "another view": lambda: _native.solid_overlaps(3, np.zeros((1, 7)), np.zeros((1, 7))),
    "a box of four in space": lambda: _native.solid_overlaps(2, np.zeros((1, 4)), np.zeros((1, 4))),
    "nan": lambda: _native.solid_overlaps(0, np.full((1, 4), np.nan), np.zeros((1, 4))),
    "nine distances": lambda: _native.centre_scores(np.ones((1, 1)), np.ones(1), *CENTRE, 9, 2),
    "errors at no distance": lambda: _native.centre_curves(np.ones(1), np.ones(1), *CENTRE, 4, 4),
    "four errors": lambda: _native.centre_scores_by_unit(np.ones(1), *CENTRE[:3], np.zeros((1, 4)), 4, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_kernels_refuse(name: str) -> None:
    with pytest.raises(ValueError, match=r"must|needs|from|expected|range|weight|view"):
        REFUSED[name]()


def curve_ends(weight: float, units: int, hits: int) -> tuple[float, list[float]]:
    """nuScenes' AP and KITTI's R11 and R40 of units with one truth each, of which the first ones are found."""
    weights, truths = np.full((1, units), weight), np.ones(units)
    score, unit = np.linspace(1, 0.5, hits), np.minimum(np.arange(hits), units - 1).astype(np.int32)
    one = np.ones(hits, np.int32)
    centre = _native.centre_scores(weights, truths, score, unit, one.astype(np.uint8), np.zeros((hits, 5)), 1, 0, 1)
    kitti = _native.kitti_areas(weights, truths, score, unit, one, one, 0 * one, np.ones(hits), 1)
    return float(centre[0, 0]), kitti[0, :2].tolist()


@pytest.mark.parametrize("weight", [1e6, 1e12, 1e16, 1e18, 1e300])
def test_curves_of_large_weights_end(weight: float) -> None:
    """Three of four truths are found, without a false one: precision is 1 up to recall 0.75, and 0 beyond."""
    centre, kitti = curve_ends(weight, 4, 3)
    assert centre == pytest.approx(65 / 90)  # recalls 0.11 to 0.75 of 0.11 to 1
    assert kitti == pytest.approx([800 / 11, 75.0])


def test_curves_of_many_truths_of_the_largest_weight_end() -> None:
    """20,000 truths of weight 1e12: their sum is so large that adding 1 does not change it."""
    centre, kitti = curve_ends(1e12, 20_000, 15_000)
    assert centre == pytest.approx(65 / 90)
    assert kitti == pytest.approx([800 / 11, 75.0])


def test_curves_of_more_matches_than_truths_end() -> None:
    centre, kitti = curve_ends(1e14, 2, 8)
    assert [centre, *kitti] == pytest.approx([1, 100, 100])


def test_curves_whose_weights_overflow_have_no_value() -> None:
    centre, kitti = curve_ends(1e308, 4, 3)
    assert np.isnan([centre, *kitti]).all()
