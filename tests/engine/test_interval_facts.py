"""What intervals rest on: parts of metrics, units with a value, few units, distances from zero."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy
from steelyard.engine.intervals import Estimate, of_distances

scipy_stats = lazy("scipy.stats")


def labels(truth: Any, predicted: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    ids = np.arange(len(truth))
    return {"id": ids, "label": truth}, {"id": ids, "label": predicted}


def ends(hits: float, n: float) -> tuple[float, float]:
    """The mean of the Clopper-Pearson and the Jeffreys ends."""
    low = [scipy_stats.beta.ppf(0.025, hits, n - hits + 1), scipy_stats.beta.ppf(0.025, hits + 0.5, n - hits + 0.5)]
    high = [scipy_stats.beta.ppf(0.975, hits + 1, n - hits), scipy_stats.beta.ppf(0.975, hits + 0.5, n - hits + 0.5)]
    return float(np.mean(low)), float(np.mean(high))


def test_proportions_of_one_class_stand_on_its_rows() -> None:
    """10 rows are yes, of which 8 are found, and 2 of 30 others are called yes: p and n by hand, with n - 1 as of the
    jackknife of a mean."""
    truth = ["yes"] * 10 + ["no"] * 30
    predicted = ["yes"] * 8 + ["no"] * 2 + ["yes"] * 2 + ["no"] * 28
    report = sy.evaluate(
        "labels", *labels(truth, predicted), ["recall(label=yes)", "specificity(label=yes)", "hamming"]
    )
    for spec, hits, n, of in (("recall(label=yes)", 8, 10, 40), ("specificity(label=yes)", 28, 30, 40)):
        # Leaving out a row of the class moves p by (p - x) / (n - 1); the other rows move nothing.
        p, moved = hits / n, np.zeros(of)
        moved[:n] = (p - (np.arange(n) < hits)) / (n - 1)
        moved -= moved.mean()
        effective = p * (1 - p) / ((of - 1) / of * (moved**2).sum())
        assert report[spec].interval == pytest.approx(ends(p * effective, effective), rel=1e-6), spec
    assert report["hamming"].interval == pytest.approx(ends(0.1 * 39, 39), rel=1e-6)


@pytest.mark.parametrize("spec", ["recall(label=elk)", "precision(label=elk)", "f1(label=elk)", "fnr(label=elk)"])
def test_a_class_of_three_units_is_no_sure_thing(spec: str) -> None:
    """All three elks of 300 rows are found: a population of 0.025 ** (1 / 3) = 29 % gives that in 2.5 % of test sets."""
    truth = ["elk"] * 3 + ["ant"] * 297
    low, high = sy.evaluate("labels", *labels(truth, truth), spec)[spec].interval
    far = 1 - 0.025 ** (1 / 3)
    assert (low, high) == pytest.approx((0, far) if spec.startswith("fnr") else (1 - far, 1), abs=1e-9)


def test_a_ranking_of_three_units_is_no_sure_thing() -> None:
    """Average precision is not a proportion, but 1 in the three images that hold the class stands on three images."""
    ids = [f"i{i}" for i in range(60)]
    label = ["owl"] * 3 + ["cat"] * 57
    box = {"image": ids, "label": label, "x": [0.0] * 60, "y": [0.0] * 60, "w": [9.0] * 60, "h": [9.0] * 60}
    report = sy.evaluate("boxes", box, {**box, "score": [0.9] * 60}, ["ap(label=owl)", "ap(label=cat)"])
    assert report["ap(label=owl)"].interval == pytest.approx((0.025 ** (1 / 3), 1), abs=1e-9)
    assert report["ap(label=cat)"].interval == pytest.approx((0.025 ** (1 / 57), 1), abs=1e-9)


def test_boxes_at_a_working_point_are_proportions() -> None:
    """20 images of one object, of which 15 are found and one of those detections is doubled: by hand as labels."""
    ids = [f"i{i}" for i in range(20)]
    box = {"image": ids, "label": ["cat"] * 20, "x": [0.0] * 20, "y": [0.0] * 20, "w": [9.0] * 20, "h": [9.0] * 20}
    result = {name: column[:15] for name, column in box.items()}
    recall = sy.evaluate("boxes", box, {**result, "score": [0.9] * 15}, "recall")["recall"]
    assert recall.value == 0.75
    assert recall.interval == pytest.approx(ends(0.75 * 19, 19), rel=1e-6)


@pytest.mark.parametrize(("spec", "held"), [("mae", False), ("bias", False), ("within@10", True), ("pearson", True)])
def test_two_units_say_too_little_where_the_range_has_no_end(spec: str, held: bool) -> None:
    dishes = {"dish": ["a", "b"], "weight": [100.0, 200.0]}
    score = sy.evaluate("weights", dishes, {**dishes, "weight": [105.0, 240.0]}, spec)[spec]
    if held:
        assert score.interval is not None
        assert -100 <= score.interval[0] <= score.interval[1] <= 100
    else:
        assert score.interval is None
        assert score.why_no_interval == "2 units say too little; 3 are needed"
    three = {"dish": ["a", "b", "c"], "weight": [100.0, 200.0, 300.0]}
    assert sy.evaluate("weights", three, {**three, "weight": [105.0, 240.0, 290.0]}, spec)[spec].interval is not None


def test_the_difference_of_distances_has_the_ends_of_the_signed_ones() -> None:
    """|b| - |a| over all b - a and b + a inside their intervals, walked on a grid."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        gap, total = (np.sort(rng.normal(0, 5, 2)) for _ in range(2))
        of_gap, of_total = (Estimate((float(low), float(high)), 1.0, 9.0) for low, high in (gap, total))
        grid = [np.linspace(*ends, 41) for ends in (gap, total)]
        every = [abs((t + g) / 2) - abs((t - g) / 2) for g, t in product(*grid)]
        result = of_distances(float(gap.mean()), float(total.mean()), of_gap, of_total).interval
        assert result == pytest.approx((min(every), max(every)), abs=1e-9)


def test_intervals_of_distances_from_zero_hold_at_the_kink() -> None:
    """Two models without a bias of their own: |bias| of both is the same, and draws on one side of zero do not say so."""
    rng = np.random.default_rng(2)
    held = 0
    for k in range(100):
        truth = {"dish": np.arange(60), "weight": np.full(60, 500.0)}
        a, b = ({**truth, "weight": 500 + rng.normal(0, 20, 60)} for _ in range(2))
        low, high = sy.compare("weights", truth, a, b, "bias", draws=100, seed=k)["bias"].interval
        held += low <= 0 <= high
    assert held >= 93  # 0.1 % of 100 sets at 97 % hold fewer than 91; the box of two intervals holds more


def test_kappa_is_at_least_minus_one() -> None:
    """Agreement of all units has an interval: with six of either class, 0.025 ** (1 / 6) of the way down to chance."""
    truth = ["a", "b"] * 6
    assert sy.evaluate("labels", *labels(truth, truth), "kappa")["kappa"].interval == pytest.approx(
        (0.025 ** (1 / 6), 1)
    )
    swapped = ["b", "a"] * 6
    assert sy.evaluate("labels", *labels(truth, swapped), "kappa")["kappa"].value == -1
