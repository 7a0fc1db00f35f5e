"""Gaps between the groups of a slice: by hand, against tables of the studentised range, and in the result."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from steelyard.engine.gaps import largest_difference, range_cdf, range_quantile


@pytest.mark.parametrize(("groups", "quantile"), [(2, 2.772), (3, 3.314), (5, 3.858), (10, 4.474), (20, 5.012)])
def test_quantiles_of_the_range_of_normal_values(groups: int, quantile: float) -> None:
    # Tables of the studentised range, upper 5 % points, infinite degrees of freedom.
    assert range_quantile(0.95, groups) == pytest.approx(quantile, abs=6e-4)
    assert 1 - range_cdf(quantile, groups) == pytest.approx(0.05, abs=1e-4)
    assert range_cdf(math.inf, groups) == 1


def test_two_groups_by_hand() -> None:
    # Intervals of 0.1 to both sides: MOVER gives sqrt(0.1^2 + 0.1^2) = 0.14142, so 0.2 lies 2.7718 errors from 0.
    (low, high), p = largest_difference(np.array([0.8, 0.6]), np.array([[0.7, 0.9], [0.5, 0.7]]), 0.95)
    assert (low, high) == pytest.approx((0.2 - 0.141421, 0.2 + 0.141421), abs=1e-5)
    assert p == pytest.approx(math.erfc(2.77181 / math.sqrt(2)), abs=1e-5)  # 0.0056


def test_more_groups_widen_the_interval() -> None:
    # The same ends, times 3.3145 / 2.7718 for three groups.
    values, ends = np.array([0.8, 0.6, 0.7]), np.array([[0.7, 0.9], [0.5, 0.7], [0.6, 0.8]])
    (low, high), p = largest_difference(values, ends, 0.95)
    assert (low, high) == pytest.approx(
        (0.2 - 0.141421 * 3.31449 / 2.77181, 0.2 + 0.141421 * 3.31449 / 2.77181), abs=1e-4
    )
    assert p > math.erfc(2.77181 / math.sqrt(2))


def test_correlated_groups_are_compared_more_surely() -> None:
    # sqrt(0.1^2 + 0.1^2 - 2 * 0.5 * 0.1 * 0.1) = 0.1
    together = np.array([[1.0, 0.5], [0.5, 1.0]])
    (low, high), _ = largest_difference(np.array([0.8, 0.6]), np.array([[0.7, 0.9], [0.5, 0.7]]), 0.95, together)
    assert (low, high) == pytest.approx((0.1, 0.3), abs=1e-6)


def test_a_wide_group_does_not_hide_a_difference_of_others() -> None:
    values = np.array([0.9, 0.6, 0.3])
    ends = np.array([[0.88, 0.92], [0.58, 0.62], [0.0, 0.8]])
    (low, high), p = largest_difference(values, ends, 0.95)
    assert low > 0.2
    assert high > 0.9
    assert p < 1e-6


def test_equal_groups_are_seldom_told_apart() -> None:
    # Five groups with errors from 1 to 4: at most 5 % of 1,500 sets, and not much fewer, show a gap.
    rng, errors = np.random.default_rng(3), np.array([1.0, 1.0, 2.0, 3.0, 4.0])
    false_alarms = 0
    for _ in range(1500):
        values = rng.normal(size=5) * errors
        ends = np.stack([values - 1.96 * errors, values + 1.96 * errors], axis=1)
        (low, high), p = largest_difference(values, ends, 0.95)
        false_alarms += p <= 0.05
        assert (low > 0) == (p < 0.05)
        assert high > np.ptp(values)
    assert 30 <= false_alarms <= 90  # 5 % are 75


N = 120
TRUTH = {
    "id": list(range(N)),
    "label": ["cat", "dog"] * (N // 2),
    "light": ["day", "day", "lamp"] * (N // 3),
    "site": ["a", "a", "b", "b", "c", "c", "d", "d"] * (N // 8),
}
# All right by day, every second one by lamp.
FOUND = {
    "id": TRUTH["id"],
    "label": ["dog" if light == "lamp" else label for label, light in zip(TRUTH["label"], TRUTH["light"], strict=True)],
}


@pytest.fixture(scope="module")
def report() -> sy.Report:
    return sy.evaluate("labels", TRUTH, FOUND, ["accuracy", "kappa"], by=["light", "site"], draws=200)


def test_gaps_of_a_report(report: sy.Report) -> None:
    gap = report.gap("light", "accuracy")
    assert (gap.difference, gap.ratio, gap.worst, gap.low, gap.high) == (0.5, 0.5, "lamp", "lamp", "day")
    assert gap.groups == 2
    assert 0 < gap.interval[0] < 0.5 < gap.interval[1] < 1
    assert gap.ratio_interval is not None
    assert gap.ratio_interval[0] < 0.5 < gap.ratio_interval[1] < 1
    assert gap.shown
    assert gap.p_adjusted == pytest.approx(2 * gap.p)  # Holm, two slicings
    assert math.isnan(report.gap("light", "kappa").ratio)  # kappa may be negative
    assert not report.gap("site").shown
    assert report.gap("site").p_adjusted >= report.gap("site").p
    with pytest.raises(KeyError, match="light"):
        report.gap("lihgt")


def test_gaps_are_kept_in_the_file(report: sy.Report, tmp_path: Path) -> None:
    report.to_json(tmp_path / "report.json")
    assert sy.load(tmp_path / "report.json") == report
    data = report.to_dict()
    del data["body"]["gaps"], data["digest"]
    (tmp_path / "old.json").write_text(json.dumps(data), encoding="utf-8")
    old = sy.load(tmp_path / "old.json")
    assert isinstance(old, sy.Report)
    assert old.gaps == ()
    assert old.scores == report.scores


def test_there_is_no_gap_without_an_interval() -> None:
    assert sy.evaluate("labels", TRUTH, FOUND, ["accuracy"], by="light", confidence=None).gaps == ()
    assert sy.evaluate("labels", TRUTH, FOUND, ["accuracy"], draws=100).gaps == ()


def test_groups_that_share_units_go_together() -> None:
    # Every dish has rice and peas, and both have the error of the dish: only the difference is sure.
    rng = np.random.default_rng(5)
    error = np.repeat(rng.normal(50, 20, 60), 2)
    dishes, items = np.repeat(np.arange(60), 2), ["rice", "peas"] * 60
    truth = {"dish": dishes, "item": items, "weight": np.full(120, 200.0)}
    predicted = {"dish": dishes, "item": items, "weight": 200 + error + np.tile([0.0, 8.0], 60) + rng.normal(0, 1, 120)}
    report = sy.evaluate("weights", truth, predicted, ["bias"], by="item", draws=300)
    gap = report.gap("item", "bias")
    assert gap.difference == pytest.approx(8, abs=1)
    assert gap.interval[1] - gap.interval[0] < 3  # as if independent it would be 20
    assert gap.worst == "peas"
    assert all(score["bias"].draws is None for score in report.slices["item"].values())
