"""KITTI's numbers of two cars, by hand: one found in every view, the other a quarter of its height too high."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses
from support.scene_pairs import pairs_of
from support.shown import check_figure, check_table

import steelyard as sy
from steelyard.core.explanation import Explanation, Step
from steelyard.core.metadata import Axis, Metadata
from steelyard.tasks.boxes3d import views
from steelyard.tasks.boxes3d.task import defaults_for

# With two truths there are two thresholds of score: place 0 and place 1 of 41. R40 leaves out place 0, R11 has it.
SECOND, FIRST = 100 / 40, 100 / 11
PLACE: dict[str, list[Any]] = {
    "frame": ["f", "f"], "label": ["Car", "Car"], "x": [0.0, 10], "y": [2.0, 2], "z": [20.0, 20], "length": [4.0, 4],
    "width": [2.0, 2], "height": [2.0, 2], "yaw": [0.0, 0],
}  # fmt: skip
IMAGE: dict[str, list[Any]] = {
    "left": [0.0, 100], "top": [0.0, 0], "right": [50.0, 150], "bottom": [50.0, 30], "alpha": [0.0, 0],
}  # fmt: skip
TRUTH = {**PLACE, **IMAGE, "truncated": [0.0, 0], "occluded": [0.0, 0]}
# Moved up by 0.5 of 2 metres the IoU in space is 1.5 / 2.5 = 0.6: too little for a car, enough where less is asked.
# The second looks the other way.
FOUND = {**PLACE, **IMAGE, "y": [2.0, 1.5], "alpha": [0.0, math.pi], "score": [0.9, 0.8]}
ONE, TWO = {name: column[:1] for name, column in TRUTH.items()}, {name: column[:1] for name, column in FOUND.items()}


NUMBERS: list[tuple[Any, ...]] = [
    ("kitti_ap", 0), ("kitti_ap(positions=11)", FIRST), ("kitti_ap(overlap=loose)", SECOND),
    ("kitti_ap(overlap=0.59)", SECOND), ("kitti_ap(overlap=0.61)", 0), ("kitti_ap(view=bev)", SECOND),
    ("kitti_ap(view=bbox)", SECOND), ("kitti_ap(view=bbox, positions=11)", FIRST),
    ("kitti_ap(level=easy, view=bbox)", 0), ("kitti_ap(level=hard, view=bbox)", SECOND),
    ("kitti_ap(level=all, view=bev)", SECOND), ("kitti_ap(label=Car, view=bev)", SECOND),
    ("aos", SECOND / 2), ("aos(positions=11)", FIRST), ("aos(level=easy)", 0),
]  # fmt: skip


def test_numbers() -> None:
    report = sy.evaluate("boxes3d", TRUTH, FOUND, [spec for spec, _ in NUMBERS], confidence=None)
    values = [score.value for score in report.scores.values()]
    assert values == pytest.approx([expected for _, expected in NUMBERS], abs=1e-12)


def with_label(side: dict[str, list[Any]], label: str) -> dict[str, list[Any]]:
    return {**side, "label": ["Car", label]}


def test_vans_and_regions_count_neither_way() -> None:
    """What stands on a van beside the cars is neither right nor wrong, and so is what stands in a region."""
    for label in ("Van", "DontCare"):
        truth = with_label(TRUTH, label)
        report = sy.evaluate("boxes3d", truth, FOUND, ["kitti_ap(positions=11, view=bbox)"], confidence=None)
        assert report["kitti_ap(positions=11, view=bbox)"].value == pytest.approx(FIRST)
    misc = sy.evaluate(
        "boxes3d", with_label(TRUTH, "Misc"), {**FOUND, "score": [0.8, 0.9]}, ["kitti_ap(positions=11, view=bbox)"],
        confidence=None,
    )  # fmt: skip
    assert misc["kitti_ap(positions=11, view=bbox)"].value == pytest.approx(FIRST / 2)


LEVELS: list[tuple[Any, ...]] = [
    ({}, ("easy", "moderate", "hard", "all")),
    ({"bottom": [40.0]}, ("moderate", "hard", "all")),
    ({"bottom": [25.0]}, ("all",)),
    ({"occluded": [1.0]}, ("moderate", "hard", "all")),
    ({"occluded": [2.0]}, ("hard", "all")),
    ({"occluded": [3.0]}, ("all",)),
    ({"truncated": [0.15]}, ("easy", "moderate", "hard", "all")),
    ({"truncated": [0.16]}, ("moderate", "hard", "all")),
    ({"truncated": [0.31]}, ("hard", "all")),
    ({"truncated": [0.51]}, ("all",)),
    ({"difficulty": [0.0]}, ("easy", "moderate", "hard", "all")),
    ({"difficulty": [1.0]}, ("moderate", "hard", "all")),
    ({"difficulty": [2.0]}, ("hard", "all")),
    ({"difficulty": [-1.0]}, ("all",)),
    ({"difficulty": [math.nan], "occluded": [2.0]}, ("hard", "all")),
]


def test_levels() -> None:
    """A truth that a level does not count leaves nothing to score."""
    for changed, levels in LEVELS:
        specs = [f"kitti_ap(level={level}, positions=11, view=bev)" for level in ("easy", "moderate", "hard", "all")]
        report = sy.evaluate("boxes3d", {**ONE, **changed}, TWO, specs, confidence=None)
        seen = tuple(
            level
            for level, score in zip(("easy", "moderate", "hard", "all"), report.scores.values(), strict=True)
            if score.defined
        )
        assert seen == levels
        assert all(score.value == pytest.approx(FIRST) for score in report.scores.values() if score.defined)


def test_notes() -> None:
    report = sy.evaluate(
        "boxes3d", TRUTH, FOUND, ["kitti_ap", "kitti_ap(positions=11, view=bev)", "kitti_ap(level=all, label=Car)", "aos"],
        confidence=None,
    )  # fmt: skip
    said = "KITTI's sampling cannot reach 100 with 2 truths of Car{}: a perfect result would be {}."
    assert [score.notes for score in report.scores.values()] == [
        (said.format(", moderate", "2.5"),), (said.format(", moderate", "9.1"),), (said.format("", "2.5"),),
        (said.format(", moderate", "2.5"),),
    ]  # fmt: skip
    alone = sy.evaluate("boxes3d", TRUTH, FOUND, ["kitti_ap(level=easy, view=bbox)"], confidence=None)
    assert alone["kitti_ap(level=easy, view=bbox)"].notes == (
        "KITTI's sampling cannot reach 100 with 1 truth of Car, easy: a perfect result would be 0.0.",
    )
    none = sy.evaluate("boxes3d", with_label(TRUTH, "Cyclist"), FOUND, ["kitti_ap(label=Tram)"], confidence=None)
    assert none["kitti_ap(label=Tram)"].notes == ()


def many(count: int, side: dict[str, list[Any]]) -> dict[str, list[Any]]:
    frames = [f"f{k}" for k in range(count)]
    return {name: column[:1] * count for name, column in side.items()} | {"frame": frames}


def test_as_many_truths_as_there_are_places() -> None:
    report = sy.evaluate("boxes3d", many(41, TRUTH), many(41, FOUND), ["kitti_ap"], confidence=None)
    assert (report["kitti_ap"].value, report["kitti_ap"].notes) == (pytest.approx(100), ())
    fewer = sy.evaluate(
        "boxes3d", many(9, TRUTH), many(9, FOUND), ["kitti_ap", "kitti_ap(positions=11)"], confidence=None
    )
    said = "KITTI's sampling cannot reach 100 with 9 truths of Car, moderate: a perfect result would be {}."
    assert (fewer["kitti_ap"].value, fewer["kitti_ap"].notes) == (pytest.approx(20), (said.format("20.0"),))
    eleven = fewer["kitti_ap(positions=11)"]
    assert (eleven.value, eleven.notes) == (pytest.approx(300 / 11), (said.format("27.3"),))


def without(side: dict[str, list[Any]], names: Any) -> dict[str, list[Any]]:
    return {name: column for name, column in side.items() if name not in names}


IN_SPACE = "both sides need a place in space: x, y, z, length, width, height, yaw"
IN_IMAGE = "both sides need the box in the image: left, top, right, bottom"


REASONS: list[tuple[Any, ...]] = [
    (tuple(PLACE)[2:], "kitti_ap", IN_SPACE), (tuple(PLACE)[2:], "kitti_ap(view=bev)", IN_SPACE),
    (tuple(PLACE)[2:], "map", IN_SPACE), (tuple(PLACE)[2:], "nds", IN_SPACE), (tuple(PLACE)[2:], "mate", IN_SPACE),
    (tuple(IMAGE), "kitti_ap(level=all, view=bbox)", IN_IMAGE), (tuple(IMAGE), "aos", IN_IMAGE),
    (tuple(IMAGE), "kitti_ap",
     "levels need the box in the image, or a column 'difficulty'; level=all takes every truth"),
    (("alpha",), "aos", "a prediction has no alpha (-10), and KITTI then scores no orientation"),
    ((), "kitti_ap(label=Tram)", "there is no class 'Tram'"), ((), "aos(label=Tram)", "there is no class 'Tram'"),
    ((), "map(label=Tram)", "there is no class 'Tram'"), ((), "mave", "the truth has no velocity"),
    ((), "maae", "the truth has no attribute"), ((), "nds", "the truth has no velocity and no attribute"),
]  # fmt: skip


def test_why_there_is_no_number() -> None:
    for lacking, spec, why in REASONS:
        score = sy.evaluate("boxes3d", without(TRUTH, lacking), without(FOUND, lacking), [spec], confidence=None)[spec]
        assert (score.defined, score.undefined_reason, score.notes) == (False, why, ())


def test_an_angle_that_is_not_known() -> None:
    for alpha in (-10.0, math.nan):
        score = sy.evaluate("boxes3d", TRUTH, {**FOUND, "alpha": [0.0, alpha]}, ["aos"], confidence=None)["aos"]
        assert score.undefined_reason == "a prediction has no alpha (-10), and KITTI then scores no orientation"


NAMES = [f"{view}{level}" for view in ("3D", "BEV", "2D", "AOS") for level in (" easy", "", " hard", " all")]


def test_tables() -> None:
    report = sy.evaluate("boxes3d", TRUTH, FOUND, ["kitti_ap"], confidence=None)
    assert report.tables == ("kitti", "kitti_r11", "centres")
    seen = [0, SECOND, SECOND, SECOND]
    check_table(
        report.table("kitti"), ("kitti", "KITTI, 40 recalls, by class", "class"), ["Car"], NAMES,
        [0, 0, 0, 0, *seen, *seen, 0, *[SECOND / 2] * 3],
    )  # fmt: skip
    check_table(
        report.table("kitti_r11"), ("kitti_r11", "KITTI, 11 recalls, by class", "class"), ["Car"],
        [f"{name.split()[0]}{''.join(f' {part}' for part in name.split()[1:])} R11" for name in NAMES], [FIRST] * 16,
    )  # fmt: skip


def test_places() -> None:
    report = sy.evaluate("boxes3d", TRUTH, FOUND, ["kitti_ap"], confidence=None)
    assert report.figures == ("places", "headings")
    levels = ("easy", "moderate", "hard", "all")
    said = (
        "R40 is the mean of the places 1 to 40, R11 of every fourth from 0 on. A line that ends in 0 does not reach that "
        "recall."
    )
    places, facts = [k / 40 for k in range(41)], {"x": "recall", "y": "precision", "unit": True}
    check_figure(
        report.figure("places"), ("places", "curves", "Precision at KITTI's 41 places, 3d"),
        {
            "series": [f"Car, {level}" for level in levels for _ in places], "x": places * 4,
            "y": [1.0, *[0.0] * 40] * 4,
        },
        facts, said,
    )  # fmt: skip
    image = tuple(PLACE)[2:]
    truth, predicted = without(with_label(TRUTH, "Cyclist"), image), without(with_label(FOUND, "Cyclist"), image)
    two = sy.evaluate("boxes3d", truth, predicted, ["aos"], confidence=None)
    assert two.figures == ("places",)
    check_figure(
        two.figure("places"), ("places", "curves", "Precision at KITTI's 41 places, bbox"),
        {
            "series": ["Car, moderate"] * 41 + ["Cyclist, moderate"] * 41, "x": places * 2, "y": [1.0, *[0.0] * 40] * 2,
        },
        facts, said,
    )  # fmt: skip


def remarks(tool: str, level: str = "moderate") -> tuple[str, str]:
    own = {
        "kitti-2017": "KITTI's own table took 11 recalls until October 2019, and 40 since.",
        "openpcdet": "It prints R11 first (headed AP), then R40 (headed AP_R40), each for two sets of overlaps.",
    }[tool]
    return own, f"Values are of level {level}, in percent, by class; each step changes one rule alone."


def recalls(**values: float) -> Step:
    return Step(
        "recalls", "40, without recall 0 (R40)", "11, with recall 0 (R11)",
        "One match of high score is enough for the place at recall 0, a whole 9.09 points.", values,
    )  # fmt: skip


GROUND = ("view: ground", "space (3d)", "the ground (bev)", "Heights do not matter there.")
PICTURE = ("view: image", "space (3d)", "the image (2D, bbox)", "A place in space is not asked for.")
LESS = (
    "overlap", "Car 0.7, others 0.5", "Car 0.5, others 0.25 in its second block",
    "The block headed 0.70, 0.50, 0.50 asks 0.7 in the image alone.",
)  # fmt: skip


def same(made: Explanation, expected: Explanation) -> None:
    assert (made.tool, made.version, made.remarks) == (expected.tool, expected.version, expected.remarks)
    assert (made.ours, made.theirs) == (pytest.approx(dict(expected.ours)), pytest.approx(dict(expected.theirs)))
    assert len(made.steps) == len(expected.steps)
    for one, other in zip(made.steps, expected.steps, strict=True):
        assert (one.setting, one.ours, one.theirs, one.reason) == (
            other.setting,
            other.ours,
            other.theirs,
            other.reason,
        )
        assert one.values == pytest.approx(dict(other.values))


def test_other_tables() -> None:
    first, second = views.explain(pairs_of("boxes3d", TRUTH, FOUND), ["kitti-2017", "openpcdet"])
    zero, seen, top = {"Car": 0.0}, {"Car": SECOND}, {"Car": FIRST}
    steps = (recalls(Car=FIRST), Step(*GROUND, seen), Step(*PICTURE, seen))
    same(first, Explanation("kitti-2017", "2017", zero, steps, top, remarks("kitti-2017")))
    steps = (steps[0], Step(*LESS, seen), *steps[1:])
    same(second, Explanation("openpcdet", "0.6", zero, steps, top, remarks("openpcdet")))


def test_other_tables_without_the_image_or_a_place() -> None:
    places = pairs_of("boxes3d", without(TRUTH, IMAGE), without(FOUND, IMAGE), rules="kitti")
    (made,) = views.explain(places, ["kitti-2017"])
    steps = recalls(Car=FIRST), Step(*GROUND, {"Car": SECOND})
    same(made, Explanation("kitti-2017", "2017", {"Car": 0.0}, steps, {"Car": FIRST}, remarks("kitti-2017", "all")))
    flat = tuple(PLACE)[2:]
    (made,) = views.explain(pairs_of("boxes3d", without(TRUTH, flat), without(FOUND, flat)), ["openpcdet"])
    same(
        made,
        Explanation("openpcdet", "0.6", {"Car": SECOND}, (recalls(Car=FIRST),), {"Car": FIRST}, remarks("openpcdet")),
    )
    with refuses("E-unknown-name", "'openpcdt'", "'openpcdet'"):
        views.explain(places, ["openpcdt"])


def facts(rules: str, *holds: str, labels: tuple[str, ...] = ("Car",)) -> Metadata:
    return Metadata({"class": Axis(labels)}, {"rules": rules}, frozenset(holds))


USUAL: list[tuple[Any, ...]] = [
    (facts("nuscenes", "place"), ("nds", "map", "mate", "mase", "maoe", "mave", "maae")),
    (facts("none", "image"), ("map", "mate", "mase", "maoe")),
    (
        facts("none", "place", labels=("a", "b")),
        (
            "map", "mate", "mase", "maoe", "kitti_ap(level=all, label=a)", "kitti_ap(level=all, label=b)",
            "kitti_ap(level=all, view=bev, label=a)", "kitti_ap(level=all, view=bev, label=b)",
        ),
    ),
    (
        facts("kitti", "place", "image", "levels", "alpha", labels=("Car", "Cyclist")),
        tuple(
            spec.format(label)
            for label in ("Car", "Cyclist")
            for spec in (
                "kitti_ap(label={})", "kitti_ap(level=easy, label={})", "kitti_ap(level=hard, label={})",
                "kitti_ap(label={}, view=bev)", "kitti_ap(label={}, view=bbox)", "aos(label={})",
            )
        ),
    ),
    (
        facts("kitti", "image", "levels"),
        (
            "kitti_ap(label=Car, view=bbox)", "kitti_ap(level=easy, label=Car, view=bbox)",
            "kitti_ap(level=hard, label=Car, view=bbox)",
        ),
    ),
    (facts("kitti", "place", "levels", labels=()), ("kitti_ap",)),
]  # fmt: skip


def test_metrics_by_what_the_data_hold() -> None:
    for given, expected in USUAL:
        assert defaults_for(given) == expected


def test_metrics_by_class() -> None:
    pairs = pairs_of("boxes3d", with_label(TRUTH, "Cyclist"), with_label(FOUND, "Cyclist"))
    from steelyard.core.state import State
    from steelyard.tasks.boxes3d.kitti import KittiAp
    from steelyard.tasks.boxes3d.nuscenes import DROPPED, EVENTS, CentreMap

    both = {"Car": KittiAp(only="Car"), "Cyclist": KittiAp(only="Cyclist")}
    assert views.class_metrics(State.of(pairs, [KittiAp().events])) == both
    centre = {"Car": CentreMap(only="Car"), "Cyclist": CentreMap(only="Cyclist")}
    assert views.class_metrics(State.of(pairs, [EVENTS, DROPPED])) == centre
    assert views.class_metrics(State.of(pairs, [DROPPED])) == {}
    one = pairs_of("boxes3d", TRUTH, FOUND)
    assert views.class_metrics(State.of(one, [KittiAp().events])) == {}


def test_nothing_true_nothing_shown() -> None:
    empty = {name: ["f"] if name == "frame" else [""] if name == "label" else [math.nan] for name in TRUTH}
    report = sy.evaluate("boxes3d", empty, FOUND, ["kitti_ap"], confidence=None)
    assert report.figures == ()
    np.testing.assert_array_equal(report.table("kitti").values, np.full((1, 16), np.nan))
