"""The cap on detections per image and class: COCO's metrics have it and say when it bites, others have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

RELEASED = TESTS / "released"
LEFT_OUT = "51 detections are left out: at most 100 per image and class count. max_dets=151 counts all of them."


def many(count: int = 151) -> tuple[dict[str, Any], dict[str, Any]]:
    """One object, and `count` detections of its class of which the last, with the lowest score, finds it."""
    truth = {"image": ["i"], "label": ["cat"], "x": [0.0], "y": [0.0], "w": [10.0], "h": [10.0]}
    x = [500.0] * (count - 1) + [0.0]
    detected = {"image": ["i"] * count, "label": ["cat"] * count, "x": x, "y": [0.0] * count}
    score = [1 - k / 1000 for k in range(count)]
    return truth, {**detected, "w": [10.0] * count, "h": [10.0] * count, "score": score}


def as_task(task: str, sides: tuple[dict[str, Any], dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same objects as rotated boxes, or as 17 keypoints on a diagonal of the box."""
    made: list[dict[str, Any]] = []
    for side in sides:
        rest = {name: side[name] for name in ("image", "label", "score") if name in side}
        if task == "oriented":
            x, count = side["x"], len(side["x"])
            rest |= {"cx": x, "cy": [5.0] * count, "w": [10.0] * count, "h": [10.0] * count, "angle": [0.0] * count}
        else:
            rest["keypoints"] = [[v for k in range(17) for v in (x + k, float(k), 2.0)] for x in side["x"]]
        made.append(rest)
    return made[0], made[1]


def test_the_cost_of_errors_names_what_its_cap_leaves_out() -> None:
    """TIDE looks at 100 detections of an image, whatever their classes: 51 of 151 are left out, and no cost moves."""
    truth, predictions = many()
    report = sy.evaluate("boxes", truth, predictions, ["dap", "dap(error=bkg)", "map"])
    assert "51 detections are left out of dap: at most 100 per image count, as in TIDE." in report["dap"].notes
    first = {name: column[:100] for name, column in predictions.items()}
    assert (
        report["dap(error=bkg)"].value == sy.evaluate("boxes", truth, first, "dap(error=bkg)")["dap(error=bkg)"].value
    )
    mixed = {**predictions, "label": ["cat", "dog"] * 75 + ["cat"]}
    two = {name: column * 2 for name, column in truth.items()} | {"label": ["cat", "dog"]}
    assert any(note.startswith("51 detections") for note in sy.evaluate("boxes", two, mixed, "dap")["dap"].notes)
    fewer = {name: column[:101] for name, column in predictions.items()}
    assert "1 detection is left out of dap: at most 100 per image count, as in TIDE." in (
        sy.evaluate("boxes", truth, fewer, "dap")["dap"].notes
    )
    assert not sy.evaluate("boxes", truth, first, "dap", confidence=None)["dap"].notes


# Of the 151 detections one is right, so precision is 1 / 151 at the last score; every object is found.
UNCAPPED = {
    "recall(score=0)": 1.0, "precision(score=0)": 1 / 151, "f1(score=0)": 2 / 152, "fppi(score=0)": 150.0,
    "fpr_candidate(score=0.9)": 101 / 150, "best_f1": 2 / 152, "ap(kind=step)": 1 / 151, "ap(kind=voc)": 1 / 151,
    "map(kind=step)": 1 / 151, "recall_at(precision=0.001)": 1.0, "precision_at(recall=1.0)": 1 / 151,
    "fbeta(score=0, beta=1)": 2 / 152,
}  # fmt: skip


def test_metrics_that_are_not_cocos_have_no_cap() -> None:
    report = sy.evaluate("boxes", *many(), [*UNCAPPED, "ap(kind=voc, rule=voc)", "mean_iou(score=0)"], confidence=None)
    for spec, value in (UNCAPPED | {"ap(kind=voc, rule=voc)": 1 / 151, "mean_iou(score=0)": 1.0}).items():
        assert report[spec].value == pytest.approx(value, abs=1e-12), spec
        assert not any("left out" in note for note in report[spec].notes), spec
    capped = sy.evaluate("boxes", *many(), "recall(score=0, max_dets=100)", confidence=None)
    assert capped["recall(score=0, max_dets=100)"].value == 0


@pytest.mark.parametrize(
    "spec",
    [
        "map",
        "map50",
        "map75",
        "ap",
        "map(area=small)",
        "ap(label=cat)",
        "olrp",
        "laece",
        "map(kind=step, max_dets=100)",
    ],
)
def test_a_cap_that_leaves_detections_out_says_so(spec: str) -> None:
    assert sy.evaluate("boxes", *many(), spec, confidence=None)[spec].notes[0] == LEFT_OUT
    for count in (99, 100):
        assert not any("left out" in n for n in sy.evaluate("boxes", *many(count), spec, confidence=None)[spec].notes)


def test_what_the_remark_asks_for_counts_all() -> None:
    report = sy.evaluate("boxes", *many(), ["map", "map(max_dets=151)", "ap(max_dets=150)"], confidence=None)
    assert report["map"].value == 0
    assert report["map(max_dets=151)"].value == pytest.approx(1 / 151)
    assert not any("left out" in note for note in report["map(max_dets=151)"].notes)
    assert report["ap(max_dets=150)"].notes[0].startswith("1 detection is left out: at most 150 per image and class")
    assert sum(LEFT_OUT in line for line in report.to_text().splitlines()) <= 1


def test_keypoints_and_oriented_boxes() -> None:
    points = as_task("keypoints", many(25))
    report = sy.evaluate("keypoints", *points, ["map", "recall(score=0)", "ap(kind=step)", "fppi(score=0)"])
    said = "5 detections are left out: at most 20 per image and class count. max_dets=25 counts all of them."
    assert report["map"].notes[0] == said
    assert report["map"].value == 0
    assert [report[s].value for s in ("recall(score=0)", "ap(kind=step)", "fppi(score=0)")] == [1, 1 / 25, 24]
    assert report.table("classes").values[0, 2] == 0  # with the cap of `map`
    report = sy.evaluate("oriented", *as_task("oriented", many()), ["map", "recall(score=0)"])
    assert report["map"].value == pytest.approx(1 / 151)
    assert not any("left out" in note for note in report["map"].notes)


def test_draws_and_shards_have_the_same_cap(tmp_path: Path) -> None:
    truth, detected = many()
    more = {name: [*values, *(["j"] if name == "image" else values[:1])] for name, values in truth.items()}
    report = sy.evaluate("boxes", more, detected, ["map", "recall(score=0)"])
    assert report["map"].notes[0] == LEFT_OUT
    part = sy.Accumulator("boxes")
    part.update(more, detected)
    part.compact(["map", "recall(score=0)"])
    part.save(tmp_path / "one.state")
    again = sy.Accumulator.load(tmp_path / "one.state").report()
    assert again["map"].notes[0] == LEFT_OUT
    assert again["recall(score=0)"].interval == report["recall(score=0)"].interval


@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
@pytest.mark.parametrize(("task", "cap"), [("boxes", 100), ("masks", 100), ("keypoints", 100)])
def test_states_of_earlier_versions_say_which_cap_they_have(version: str, task: str, cap: int) -> None:
    state = sy.Accumulator.load(RELEASED / version / f"{task}.sums.state")
    said = f"The state was saved before version 0.3: at most {cap} detections per image and class count"
    assert any(note.startswith(said) for note in state.report(confidence=None).notes)
    again = sy.Accumulator.from_bytes(state.to_bytes())
    assert again.report(confidence=None)["map"].value == state.report(confidence=None)["map"].value


def test_states_of_this_version_say_nothing() -> None:
    part = sy.Accumulator("boxes")
    part.update(*many(3))
    part.compact()
    assert not any("before version" in note for note in sy.Accumulator.from_bytes(part.to_bytes()).report().notes)


def test_more_detections_than_can_be_ranked() -> None:
    """65,535 of a class in an image can be; one more is refused, whichever metric is asked for."""
    truth, detected = many(3)
    most = {name: [values[0]] * 65_535 for name, values in detected.items()}
    assert sy.evaluate("boxes", truth, most, "fppi", confidence=None)["fppi"].value == 65_535
    more = {name: [values[0]] * 65_536 for name, values in detected.items()}
    for spec in ("map", "fppi"):
        with refuses("E-too-large", "'i'", "65,536", "'cat'"):
            sy.evaluate("boxes", truth, more, spec, confidence=None)
    halves = {**more, "label": ["cat", "dog"] * 32_768}
    assert sy.evaluate("boxes", {**truth, "label": ["dog"]}, halves, "fppi", confidence=None)["fppi"].value == 65_536
