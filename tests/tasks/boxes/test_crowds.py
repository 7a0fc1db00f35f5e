"""MR-2 and the Jaccard index of CrowdHuman, against mmdetection's own numbers and by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy
from steelyard.tasks.boxes.crowds import largest_matching

GOLDENS = TESTS / "goldens" / "crowdhuman.json"
CASES = json.loads(GOLDENS.read_text(encoding="utf-8"))["cases"]


def clipped(box: list[float], width: float, height: float) -> dict[str, float]:
    """A box cut at the image's edges."""
    x, y, w, h = box
    left, top = min(max(x, 0.0), width - 1), min(max(y, 0.0), height - 1)
    return {"x": left, "y": top, "w": min(max(x + w, 0.0), width) - left, "h": min(max(y + h, 0.0), height) - top}


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def sides(data: dict[str, Any]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """What the annotations and results of CrowdHuman are in columns: an ignored box is a crowd."""
    truth, predictions = [], []
    for image in data["odgt"]:
        size = image["width"], image["height"]
        for box in image["gtboxes"]:
            ignored = box["tag"] != "person" or bool(box["extra"].get("ignore"))
            row = {"image": image["ID"], "label": "person", "crowd": ignored}
            truth.append({**row, **clipped(box["fbox"], *size)})
    for image in data["results"]:
        for box in image["dtboxes"]:
            row = {"image": image["ID"], "label": "person", "score": box["score"]}
            predictions.append({**row, **clipped(box["box"], image["width"], image["height"])})
    return columns(truth), columns(predictions)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_numbers_of_the_reference(case: dict[str, Any]) -> None:
    report = sy.evaluate("boxes", *sides(case["input"]), ["mr2", "ji"], confidence=None)
    for name in ("mr2", "ji"):
        assert report[name].value == pytest.approx(case["expected"][name], abs=case["tolerance"]), name


def test_miss_rate_is_read_beyond_and_before() -> None:
    """Two persons: a hit, a false positive, a hit. Before the false one half is missed, and so it is at it."""
    truth = {
        "image": ["a", "a"],
        "label": ["p"] * 2,
        "x": [0.0, 100.0],
        "y": [0.0] * 2,
        "w": [10.0] * 2,
        "h": [10.0] * 2,
    }
    three = {name: [*values, values[0]] for name, values in truth.items()}
    predictions = {**three, "x": [0.0, 500.0, 100.0], "score": [0.9, 0.8, 0.7]}
    report = sy.evaluate("boxes", truth, predictions, ["mr2", "lamr"], confidence=None)
    assert report["mr2"].value == pytest.approx(0.5, abs=1e-12)  # at the false one, for all nine
    assert report["lamr"].value == pytest.approx((0.5**8 * 1e-10) ** (1 / 9), rel=1e-9)  # at 1 the last hit counts


def test_largest_matching_takes_pairs_before_overlap() -> None:
    """Highest first would pair 0 with 0 and leave 1 alone."""
    rows, taken = largest_matching(np.array([[0.9, 0.6], [0.7, 0.1]]), 0.5)
    assert list(zip(rows.tolist(), taken.tolist(), strict=True)) == [(0, 1), (1, 0)]


def test_scores_are_shares() -> None:
    truth = {"image": ["a"], "label": ["p"], "x": [0.0], "y": [0.0], "w": [10.0], "h": [10.0]}
    with refuses("E-out-of-range", "row 0", "'score'", "3"):
        sy.evaluate("boxes", truth, {**truth, "score": [3.0]}, "ji")
