"""FROC and CPM: LUNA16's own numbers, and cases by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

GOLDENS = TESTS / "goldens" / "froc.json"
CASE = json.loads(GOLDENS.read_text(encoding="utf-8"))["cases"][0]


def boxes(rows: list[tuple[str, float]]) -> dict[str, list[Any]]:
    """Squares of 10 pixels of one class, by image and left edge."""
    n = len(rows)
    same: dict[str, list[Any]] = {"y": [0.0] * n, "w": [10.0] * n, "h": [10.0] * n, "label": ["nodule"] * n}
    return {"image": [image for image, _ in rows], "x": [x for _, x in rows], **same}


def values(truth: dict[str, Any], predictions: dict[str, Any], specs: list[str]) -> list[float]:
    report = sy.evaluate("boxes", truth, predictions, specs, confidence=None)
    return [float(score.value) for score in report.scores.values()]


def test_ten_scans() -> None:
    """Every mark stands at a place of its own; those of label 1 stand on a nodule."""
    data, scans = CASE["input"], CASE["input"]["scans"]
    places = [(f"s{i % scans}", 100.0 * i) for i in range(len(data["label"]))]
    truth = boxes([place for place, label in zip(places, data["label"], strict=True) if label])
    marks = [i for i, missed in enumerate(data["missed"]) if not missed]
    predictions = {**boxes([places[i] for i in marks]), "score": [data["score"][i] for i in marks]}
    expected = CASE["expected"]
    specs = [f"sensitivity@{rate}" for rate in expected["sensitivity"]]
    made = values(truth, predictions, [*specs, "cpm"])
    assert made == pytest.approx([*expected["sensitivity"].values(), expected["cpm"]], abs=CASE["tolerance"])


def test_repeated_hits_count_neither_way_or_are_wrong() -> None:
    """One image, two objects: a hit, a second mark on it, then the other object."""
    truth = boxes([("a", 0.0), ("a", 100.0)])
    predictions = {**boxes([("a", 0.0), ("a", 1.0), ("a", 100.0)]), "score": [0.9, 0.8, 0.7]}
    made = values(truth, predictions, ["sensitivity@0.5", "sensitivity(fppi=0.5, repeats=wrong)"])
    assert made == [1.0, 0.5]


def test_another_class_is_no_repeated_hit() -> None:
    truth = {**boxes([("a", 0.0), ("a", 100.0)]), "label": ["x", "y"]}
    predictions = {**boxes([("a", 0.0), ("a", 0.0), ("a", 100.0)]), "label": ["x", "y", "y"], "score": [0.9, 0.8, 0.7]}
    assert values(truth, predictions, ["sensitivity@0.5"]) == [0.5]  # of x 1; of y the false one comes first


def test_straight_between_two_scores() -> None:
    """Four marks of one score, two of them false, on four objects: at one false positive, half way to two hits."""
    truth = boxes([("a", 100.0 * i) for i in range(4)])
    predictions = {**boxes([("a", 0.0), ("a", 100.0), ("a", 1000.0), ("a", 1100.0)]), "score": [0.5] * 4}
    assert values(truth, predictions, ["sensitivity@1", "sensitivity@2", "sensitivity@8"]) == [0.25, 0.5, 0.5]


@pytest.mark.parametrize(
    ("spec", "part"),
    [("sensitivity@0", ("E-invalid-spec", "fppi")), ("cpm(repeats=twice)", ("E-invalid-spec", "repeats"))],
)
def test_refused(spec: str, part: tuple[str, ...]) -> None:
    truth = boxes([("a", 0.0)])
    with refuses(*part):
        values(truth, {**truth, "score": [0.5]}, [spec])
