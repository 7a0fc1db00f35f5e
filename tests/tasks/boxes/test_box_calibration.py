"""Calibration of detections, and F-beta at a working point, against worked examples."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.paths import TESTS

import steelyard as sy

GOLDENS = TESTS / "goldens" / "box_calibration.json"
CASES = {case["id"]: case for case in json.loads(GOLDENS.read_text(encoding="utf-8"))["cases"]}
DECE = [case for name, case in CASES.items() if name.startswith("dece/")]


def only(*arguments: Any) -> float:
    (score,) = sy.evaluate("boxes", *arguments, confidence=None).scores.values()
    return float(score.value)


def sides(scores: list[float], hits: list[int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An image per detection: it lies on the object, or beside it."""
    n = len(scores)
    truth = {
        "image": [f"i{i:03d}" for i in range(n)],
        "label": ["a"] * n,
        "x": [0.0] * n,
        "y": [0.0] * n,
        "w": [10.0] * n,
        "h": [10.0] * n,
    }
    return truth, {**truth, "x": [0.0 if hit else 50.0 for hit in hits], "score": scores}


@pytest.mark.parametrize("edges", ["left", "right"])
@pytest.mark.parametrize("case", DECE, ids=[case["id"] for case in DECE])
def test_dece(case: dict[str, Any], edges: str) -> None:
    data = case["input"]
    made = only(*sides(data["score"], data["hit"]), f"dece(bins={data['bins']}, edges={edges})")
    assert made == pytest.approx(case["expected"][f"{edges}_closed"], abs=case["tolerance"])


def test_dece_of_a_data_set() -> None:
    data, case = CASES["lrp/common"]["input"], CASES["laece/dece_0.5"]
    made = only(data["truth"], data["results"], "dece(bins=25, edges=right)")
    assert made == pytest.approx(case["expected"], abs=case["tolerance"])


@pytest.mark.parametrize("tau", ["0", "0.1", "0.5"])
def test_laece_of_a_data_set(tau: str) -> None:
    data, case = CASES["lrp/common"]["input"], CASES[f"laece/laece_{tau}"]
    made = only(data["truth"], data["results"], f"laece(tau={tau})")
    assert made == pytest.approx(case["expected"], abs=case["tolerance"])


def test_laece_counts_a_class_without_error() -> None:
    """Of `a` a hit of score 1; of `b` one that overlaps by half, with score 1: the mean of 0 and 0.5."""
    truth, predictions = sides([1.0, 1.0], [1, 1])
    truth, predictions = {**truth, "label": ["a", "b"]}, {**predictions, "label": ["a", "b"], "w": [10.0, 5.0]}
    assert only(truth, predictions, "laece") == pytest.approx(0.25, abs=1e-12)


@pytest.mark.parametrize(("tau", "expected"), [("0", (0.9 + 0.8) / 2), ("0.1", (0.9 + 0.2) / 2)])
def test_laece_at_zero_takes_what_is_not_touched(tau: str, expected: float) -> None:
    """One object: of score 0.9 a detection beside it, of score 0.8 one on it."""
    truth, _ = sides([1.0], [1])
    predictions = {name: values * 2 for name, values in truth.items()} | {"x": [500.0, 0.0], "score": [0.9, 0.8]}
    assert only(truth, predictions, f"laece(tau={tau})") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("column", "expected"), [("crowd", 1.0), ("difficult", (1.0 + 0.7) / 2)])
def test_laece_at_zero_leaves_out_what_is_ignored(column: str, expected: float) -> None:
    """No object that counts is left: a crowd takes both others, a difficult object one. Scores 1, 0.8 and 0.7."""
    truth, _ = sides([1.0, 1.0], [1, 1])
    truth = {**truth, "image": ["i"] * 2, "x": [0.0, 900.0], column: [False, True]}
    predictions = {name: [truth[name][0]] * 3 for name in ("image", "label", "x", "y", "w", "h")}
    predictions |= {"x": [500.0, 600.0, 700.0], "score": [1.0, 0.8, 0.7]}
    assert only(truth, predictions, "laece(tau=0)") == pytest.approx(expected, abs=1e-12)


def test_fbeta_by_hand() -> None:
    """6 right and 2 wrong of 10 objects."""
    case = CASES["operating/fbeta"]
    tp, fp, fn = (case["input"][name] for name in ("tp", "fp", "fn"))
    truth, every = sides([0.9] * (tp + fn), [1] * (tp + fn))
    kept = {name: values[:tp] for name, values in every.items()}
    predictions = {name: [*values, *([5000.0] * fp if name == "x" else values[:fp])] for name, values in kept.items()}
    for beta, expected in case["expected"]["fbeta"].items():
        assert only(truth, predictions, f"fbeta(beta={beta})") == pytest.approx(expected, abs=case["tolerance"])
    assert only(truth, predictions, "fbeta(beta=0)") == pytest.approx(case["expected"]["precision"], abs=1e-12)


@pytest.mark.parametrize(
    ("spec", "score", "part"),
    [
        ("dece", 1.5, "predictions, row 0, column 'score': the score is 1.5"),
        ("laece", 1.5, "predictions, row 0, column 'score': the score is 1.5"),
        ("laece(tau=1)", 0.5, "tau"),
        ("dece(bins=0)", 0.5, "bins"),
        ("dece(edges=both)", 0.5, "edges"),
        ("fbeta(beta=-1)", 0.5, "beta"),
    ],
)
def test_refused(spec: str, score: float, part: str) -> None:
    with pytest.raises(sy.InputError, match=part):
        only(*sides([score], [1]), spec)
