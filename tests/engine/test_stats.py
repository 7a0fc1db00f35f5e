"""Intervals and comparisons: against scipy, and by simulation of what they promise."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy
from steelyard.engine.families import holm

scipy_stats = lazy("scipy.stats")


def one_item_dishes(truth: Any, predicted: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    ids = [f"dish {i}" for i in range(len(truth))]
    return {"dish": ids, "weight": truth}, {"dish": ids, "weight": predicted}


def test_p_value_agrees_with_scipys_permutation_test() -> None:
    rng = np.random.default_rng(4)
    truth = np.full(40, 300.0)
    a, b = truth + rng.normal(0, 20, 40), truth + rng.normal(0, 15, 40)
    ids = one_item_dishes(truth, a)[0]["dish"]
    comparison = sy.compare(
        "weights", {"dish": ids, "weight": truth}, {"dish": ids, "weight": a}, {"dish": ids, "weight": b},
        ["mae", "rmse"], draws=20_000,
    )  # fmt: skip
    for spec, statistic in (
        ("mae", lambda x, y: y.mean() - x.mean()),
        ("rmse", lambda x, y: np.sqrt((y**2).mean()) - np.sqrt((x**2).mean())),
    ):
        expected = scipy_stats.permutation_test(
            (np.abs(a - truth), np.abs(b - truth)), statistic, permutation_type="samples", n_resamples=20_000, rng=5
        )
        assert comparison[spec].difference == pytest.approx(float(expected.statistic))
        assert comparison[spec].p == pytest.approx(float(expected.pvalue), abs=0.015)


def test_p_value_counts_the_observed_world_itself() -> None:
    """60 dishes of which A misses each by 10 g and B none: no drawn world has all coins alike, so p is 1 / (100 + 1)."""
    truth = np.full(60, 300.0)
    data, worse = one_item_dishes(truth, truth + 10)
    comparison = sy.compare("weights", data, worse, {**worse, "weight": truth}, "mae", draws=100)
    assert comparison["mae"].p_adjusted == 1 / 101
    assert comparison["mae"].p_method == "tail bound"


def test_units_without_a_weight_do_not_count() -> None:
    """Of four dishes one weighs 0; weights of 3 and 2 are one dish each. Two true zeros, of which one counts."""
    truth, predictions = one_item_dishes([0.0, 10.0, 0.0, 20.0], [1.0, 11.0, 1.0, 21.0])
    truth["sample_weight"] = [3.0, 1.0, 0.0, 2.0]
    score = sy.evaluate("weights", truth, predictions, "mape", draws=100)["mape"]
    assert (score.units, score.n_excluded) == (3, 1)
    qrels = {"query": ["a", "b", "c"], "doc": ["x"] * 3, "relevance": [1, 1, 1], "sample_weight": [5.0, 0.0, 2.0]}
    run = {"query": ["a", "b", "c"], "doc": ["x"] * 3, "score": [1.0] * 3}
    assert sy.evaluate("rankings", qrels, run, "ap", draws=100)["ap"].units == 2
    references = {"image": ["a", "b", "c"], "caption": ["a dog"] * 3, "sample_weight": [5.0, 0.0, 2.0]}
    candidates = {"image": ["a", "b", "c"], "caption": ["a dog"] * 3}
    assert sy.evaluate("captions", references, candidates, "bleu@1", draws=100)["bleu@1"].units == 2


def test_slices_of_few_units_are_warned_of() -> None:
    """Thirty units are enough, 29 are few."""
    rough = "below 30 units an interval is rough and tends to be too narrow."
    for sizes, expected in (((30, 30), ()), ((30, 29), (f"1 of 2 slices have few units: {rough}",))):
        truth, predictions = one_item_dishes(np.arange(sum(sizes)) + 1.0, np.arange(sum(sizes)) * 1.1 + 2)
        truth["kind"] = ["a"] * sizes[0] + ["b"] * sizes[1]
        assert sy.evaluate("weights", truth, predictions, "mae", by=["kind"], draws=100).notes == expected
        assert sy.evaluate("weights", truth, predictions, "mae", by=["kind"], confidence=None).notes == ()


def test_holm() -> None:
    # by hand: sorted 0.01, 0.03, 0.04 times 3, 2, 1, made monotone
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    corrected = holm([0.02, float("nan"), 0.5])
    assert corrected[0] == pytest.approx(0.04)
    assert np.isnan(corrected[1])


def test_verdicts() -> None:
    rng = np.random.default_rng(6)
    truth = rng.uniform(50, 400, 80)
    good, poor = truth + rng.normal(0, 5, 80), truth + rng.normal(0, 40, 80)
    data = one_item_dishes(truth, good)
    other = {"dish": data[0]["dish"], "weight": poor}
    worse = sy.compare("weights", data[0], data[1], other, ["mae", "pearson", "within@10"])
    better = sy.compare("weights", data[0], other, data[1], ["mae", "pearson", "within@10"])
    for spec in ("mae", "pearson", "within@10"):
        assert worse[spec].verdict == "worse"
        assert better[spec].verdict == "better"
        assert better[spec].difference == -worse[spec].difference
    assert worse["mae"].difference > 0
    assert worse["mae"].interval is not None
    assert worse["mae"].interval[0] > 0


def test_bias_is_judged_by_its_distance_from_zero() -> None:
    truth = np.linspace(50, 400, 60)
    noise = np.random.default_rng(7).normal(0, 1, 60)
    data = one_item_dishes(truth, truth - 20 + noise)
    other = {"dish": data[0]["dish"], "weight": truth + 2 + noise}
    comparison = sy.compare("weights", data[0], data[1], other, "bias")["bias"]
    assert comparison.difference == pytest.approx(abs(2 + noise.mean()) - abs(-20 + noise.mean()))
    assert comparison.verdict == "better"


def test_models_with_different_gaps_are_warned_of() -> None:
    truth, predictions = one_item_dishes([10.0, 20.0, 30.0], [11.0, 22.0, 33.0])
    gap = {"dish": predictions["dish"][:2], "weight": predictions["weight"][:2]}
    notes = sy.compare("weights", truth, predictions, gap, "mae", missing="skip").notes
    assert "Every model is scored on the 2 items that all models have a prediction for: model 2 lacks 1." in notes


def test_few_units_are_warned_of() -> None:
    report = sy.evaluate("weights", *one_item_dishes([1.0, 2.0, 3.0], [1.0, 2.5, 2.0]))
    assert "Only 3 dishes" in report.notes[0]
    report = sy.evaluate("weights", *one_item_dishes([1.0], [2.0]))
    assert report["mae"].interval is None
    assert "at least two units" in report.notes[0]


def test_slices_use_the_same_draws_and_only_their_units() -> None:
    truth, predictions = one_item_dishes(np.arange(40.0) + 1, np.arange(40.0) * 1.1 + 2)
    truth["kind"] = ["a", "b"] * 20
    truth["size"] = ["s", "s", "l", "l"] * 10
    report = sy.evaluate("weights", truth, predictions, "mae", by=["kind", ("kind", "size")])
    rows = [i for i, kind in enumerate(truth["kind"]) if kind == "a"]
    alone = sy.evaluate(
        "weights",
        {name: [truth[name][i] for i in rows] for name in ("dish", "weight")},
        {name: [predictions[name][i] for i in rows] for name in ("dish", "weight")},
        "mae",
    )
    assert report.slices["kind"]["a"]["mae"] == alone["mae"]
    assert sorted(report.slices["kind", "size"]) == [("a", "l"), ("a", "s"), ("b", "l"), ("b", "s")]
    assert report.slices["kind", "size"]["a", "l"]["mae"].units == 10


def test_slices_inside_a_unit_measure_again() -> None:
    truth = {"dish": ["A", "A", "B"], "item": [1, 2, 3], "weight": [100, 50, 10], "food": ["rice", "egg", "rice"]}
    predictions = {"dish": ["A", "A", "B"], "item": [1, 2, 3], "weight": [110, 70, 5]}
    report = sy.evaluate("weights", truth, predictions, ["mae", "wmae_total"], by=["food"], confidence=None)
    assert report.slices["food"]["rice"]["mae"].value == 7.5
    assert report.slices["food"]["rice"]["mae"].units == 2
    assert report.slices["food"]["egg"]["mae"].value == 20
    assert report.slices["food"]["egg"]["mae"].units == 1
    assert "1 of 2 dishes is incomplete" in report.slices["food"]["rice"]["wmae_total"].undefined_reason


def simulated(rng: np.random.Generator, dishes: int) -> tuple[dict[str, Any], dict[str, Any], float]:
    """Five items a dish whose errors share the dish's own: MAE of the population is known."""
    shared = np.repeat(rng.normal(0, 20, dishes), 5)
    error = shared + rng.normal(0, 10, 5 * dishes)
    keys = {"dish": np.repeat(np.arange(dishes), 5), "item": np.tile(np.arange(5), dishes)}
    population = float(np.sqrt(2 / np.pi) * np.hypot(20, 10))  # mean of |normal| with both variances
    return {**keys, "weight": np.full(5 * dishes, 1000.0)}, {**keys, "weight": 1000 + error}, population


@pytest.mark.slow
def test_coverage_of_the_bootstrap_over_dishes() -> None:
    """A nominal 95 % interval holds the truth in 93 to 97 of 100 cases at 100 dishes.

    `make simulate` makes 3,000 simulations: a standard error of 0.4 %, so the bounds are five of them away. Fewer are
    held to the exact binomial range of 99.9 % around those bounds.
    """
    rng = np.random.default_rng(8)
    held, runs = 0, int(os.environ.get("STEELYARD_SETS", "40")) * 15 // 2
    for seed in range(runs):
        truth, predictions, population = simulated(rng, 100)
        low, high = sy.evaluate("weights", truth, predictions, "mae", seed=seed).scores["mae"].interval
        held += low <= population <= high
    most, least = (
        (0.97, 0.93)
        if runs >= 3000
        else (scipy_stats.binom.ppf(0.9995, runs, 0.97) / runs, scipy_stats.binom.ppf(5e-4, runs, 0.93) / runs)
    )
    assert least <= held / runs <= most
