"""Optimal LRP and its parts, against LRP-Error's own numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.paths import TESTS

import steelyard as sy

GOLDENS = TESTS / "goldens" / "lrp.json"
CASES = json.loads(GOLDENS.read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_means_of_the_reference(case: dict[str, Any]) -> None:
    data, tau = case["input"], case["input"]["tau"]
    specs = {
        "olrp": f"olrp(tau={tau})",
        **{f"olrp_{part}": f"olrp(tau={tau}, part={part})" for part in ("loc", "fp", "fn")},
    }
    report = sy.evaluate("boxes", data["truth"], data["results"], list(specs.values()), confidence=None)
    for name, score in zip(specs, report.scores.values(), strict=True):
        assert score.value == pytest.approx(case["expected"]["means"][name], abs=case["tolerance"]), name


def test_a_threshold_cannot_part_equal_scores() -> None:
    """A hit and a false positive of one score: either both count, (0 + 1 + 0) / 2, or none, 1."""
    truth = {"image": ["a"], "label": ["x"], "x": [0.0], "y": [0.0], "w": [10.0], "h": [10.0]}
    predictions = {name: values * 2 for name, values in truth.items()} | {"x": [0.0, 50.0], "score": [0.5, 0.5]}
    assert sy.evaluate("boxes", truth, predictions, "olrp", confidence=None)["olrp"].value == 0.5
