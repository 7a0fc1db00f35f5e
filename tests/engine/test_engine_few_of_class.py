"""Scores that rest on how many units each class has: Welch's degrees of freedom, and ends by the smaller class."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy
from steelyard.engine.intervals import ByClass, UnitSample, by_range, welch_df

scipy_stats = lazy("scipy.stats")

GOLDENS = json.loads((Path(__file__).parent.parent / "goldens" / "statistics2.json").read_text(encoding="utf-8"))


def labels(truth: list[str], predicted: list[str], metrics: str | list[str], **more: Any) -> Any:
    ids = np.arange(len(truth))
    columns = {name: more.pop(name) for name in ("cluster_of", "group") if name in more}
    return sy.evaluate(
        "labels", {"id": ids, "label": truth, **columns}, {"id": ids, "label": predicted}, metrics, draws=200, **more
    )


def test_golden() -> None:
    golden = GOLDENS["welch_by_class"]
    psi, code = np.array(golden["psi"]), np.array(golden["unit_class"])
    assert welch_df(psi, code, np.ones(12)) == pytest.approx(golden["df"])


def test_a_class_of_one_unit_has_half_a_degree_of_freedom() -> None:
    """All spread in one unit: v^2 / (v^2 / 0.5) = 0.5; copies count as units."""
    psi = np.array([3.0, 0.0, 0.0])
    assert welch_df(psi, np.array([1, 0, 0]), np.ones(3)) == pytest.approx(0.5)
    assert welch_df(psi, np.array([1, 0, 0]), np.array([5.0, 1, 1])) == pytest.approx(4.0)
    assert welch_df(np.zeros(3), np.array([1, 0, 0]), np.ones(3)) == math.inf


def test_the_interval_by_hand() -> None:
    """On the line: the jackknife's standard error, twice that of the draws, is not cut; df are Welch's."""
    rng = np.random.default_rng(1)
    code = np.array([1] * 4 + [0] * 36)
    left = 0.4 + np.where(code == 1, 0.02, 0.002) * rng.normal(0, 1, 40)
    se_left = math.sqrt(39 / 40 * ((left - left.mean()) ** 2).sum())
    draws = 0.4 + se_left / 2 * rng.normal(0, 1, 400)
    v = [((left - left.mean())[code == c] ** 2).sum() for c in (0, 1)]
    df = (v[0] + v[1]) ** 2 / (v[0] ** 2 / 35 + v[1] ** 2 / 3)
    result = by_range(0.4, draws, left, (-1.0, 1.0), UnitSample(40), 0.95, None, ByClass(code, 4, "4 positives", 0.0))
    reach = scipy_stats.t.ppf(0.975, df) * se_left / (1 - 0.4**2)
    expected = math.tanh(math.atanh(0.4) - reach), math.tanh(math.atanh(0.4) + reach)
    assert (result.df, result.se) == pytest.approx((df, se_left))
    assert result.interval == pytest.approx(expected)
    assert result.notes == ("rests on 4 positives",)


def test_all_right_says_as_much_as_the_smaller_class_has_units() -> None:
    """3 of 60 are positive, and all are found: a share of 1 - 0.025^(1/3) may be missed, down to guessing, 0."""
    truth = ["yes"] * 3 + ["no"] * 57
    report = labels(truth, truth, ["mcc", "kappa"])
    low = 0.025 ** (1 / 3)
    for spec in ("mcc", "kappa"):
        assert report[spec].interval == pytest.approx((low, 1.0))
        assert f"{spec} rests on 3 units of class 'yes'." in report[spec].notes
    turned = labels(truth, ["no"] * 3 + ["yes"] * 57, "mcc")["mcc"]
    assert (turned.value, turned.interval) == (-1.0, pytest.approx((-1.0, -low)))
    one_class = labels(["no"] * 60, ["yes"] * 3 + ["no"] * 57, "kappa")["kappa"]
    assert one_class.interval == pytest.approx((-0.975, 0.975))
    assert "kappa rests on 0 units outside class 'no'." in one_class.notes


def test_average_precision_rests_on_its_positives() -> None:
    ids, truth = np.arange(60), np.array([1] * 3 + [0] * 57)
    scored = {"id": ids, "score": np.linspace(1, 0, 60)}
    score = sy.evaluate("labels", {"id": ids, "label": truth}, scored, "ap", draws=200)["ap"]
    assert (score.value, score.interval) == (1.0, pytest.approx((0.025 ** (1 / 3), 1.0)))
    assert "ap rests on 3 positives." in score.notes
    late = {"id": ids, "score": np.where(ids == 2, 0.5, np.linspace(1, 0, 60))}
    varied = sy.evaluate("labels", {"id": ids, "label": truth}, late, "ap", draws=200)["ap"]
    assert varied.df < 3


def test_many_classes_count_what_is_outside_the_largest() -> None:
    truth = ["a"] * 50 + ["b"] * 5 + ["c"] * 4
    score = labels(truth, truth, "mcc")["mcc"]
    assert score.interval == pytest.approx((0.025 ** (1 / 9), 1.0))
    assert "mcc rests on 9 units outside class 'a'." in score.notes
    of_one = labels(truth, truth, "mcc(label=c)")["mcc(label=c)"]
    assert of_one.interval == pytest.approx((0.025 ** (1 / 4), 1.0))
    assert "mcc(label=c) rests on 4 positives." in of_one.notes


def test_clusters_and_units_of_several_rows_are_counted_by_the_rarest_class_they_hold() -> None:
    """20 clusters of three rows; two of them hold a row of the rare class."""
    truth = ["no"] * 60
    truth[0] = truth[3] = "yes"
    for name, more in (("cluster_of", {"cluster": "cluster_of"}), ("group", {})):
        score = labels(truth, truth, "kappa", **{name: np.arange(60) // 3}, **more)["kappa"]
        assert score.interval == pytest.approx((0.025 ** (1 / 2), 1.0))
        assert "kappa rests on 2 units of class 'yes'." in score.notes


def test_above_a_thousand_units_groups_are_counted_by_the_rarest_class() -> None:
    """3,000 rows, of which six are positive: the jackknife leaves out groups, and six of them hold the spread."""
    rng = np.random.default_rng(2)
    ids, truth = np.arange(3000), (np.arange(3000) < 6).astype(int)
    scored = {"id": ids, "score": rng.normal(0, 1, 3000) + 3 * truth}
    score = sy.evaluate("labels", {"id": ids, "label": truth}, scored, "ap", draws=100)["ap"]
    assert score.df < 8
    assert "ap rests on 6 positives." in score.notes


def test_rows_with_several_labels() -> None:
    ids = np.arange(40)
    truth = ["a|b"] * 3 + ["b"] * 37
    score = sy.evaluate("labels", {"id": ids, "labels": truth}, {"id": ids, "labels": truth}, "mcc(label=a)", draws=100)
    assert score["mcc(label=a)"].interval == pytest.approx((0.025 ** (1 / 3), 1.0))
