"""What intervals promise, by simulation. `make simulate` draws 400 test sets; the suite draws few, with a wide band."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.tiers import slow_except

import steelyard as sy
from steelyard.engine.differences import by_draws, by_intervals, least_df
from steelyard.engine.families import false_discovery, holm

scipy_stats = lazy("scipy.stats")

SETS = int(os.environ.get("STEELYARD_SETS", "40"))
SIZE = 60


def dishes(rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    ids = np.arange(SIZE)
    truth = rng.lognormal(5, 0.4, SIZE)
    return {"dish": ids, "weight": truth}, {"dish": ids, "weight": truth + rng.normal(3, 25, SIZE)}


def labels(rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    ids = np.arange(SIZE)
    truth = rng.choice(4, SIZE, p=[0.5, 0.3, 0.17, 0.03])
    named = np.where(rng.random(SIZE) < 0.8, truth, rng.choice(4, SIZE))
    return {"id": ids, "label": truth}, {"id": ids, "label": named}


CASES = {
    "weights": (dishes, ("mae", "bias", "pearson", "rmse", "r2", "within@20"), 0.910),
    "labels": (labels, ("accuracy", "kappa", "mcc"), 0.915),
}


@pytest.mark.parametrize("task", slow_except(CASES, "weights"))
def test_intervals_hold_the_mean_of_test_sets(task: str) -> None:
    """The share of intervals that hold the mean lies in statistics' band, and in what chance allows around it."""
    draw, metrics, least = CASES[task]
    rng = np.random.default_rng(12)
    scores = [sy.evaluate(task, *draw(rng), list(metrics), draws=300, seed=k).scores for k in range(SETS)]
    for spec in metrics:
        mean = np.mean([one[spec].value for one in scores])
        held = sum(one[spec].interval[0] <= mean <= one[spec].interval[1] for one in scores)
        assert held >= scipy_stats.binom.ppf(0.001, SETS, least), spec


@pytest.mark.slow
def test_not_worse_keeps_its_level_and_has_power() -> None:
    """A loss of the margin is called not worse in at most 2.5 % of test sets on each side, and no loss in most."""
    rng = np.random.default_rng(13)
    result = {"loss": 0, "none": 0}
    for k in range(SETS):
        truth = np.full(200, 500.0)
        data = {"dish": np.arange(200), "weight": truth}
        a = {**data, "weight": truth + rng.normal(0, 20, 200)}
        for name, spread in (("loss", 24.6), ("none", 20.0)):
            b = {**data, "weight": truth + rng.normal(0, spread, 200)}
            margin = (24.6 - 20) * np.sqrt(2 / np.pi)
            d = sy.compare("weights", data, a, b, "mae", draws=200, seed=k, margin={"mae": margin})["mae"]
            result[name] += d.margin_verdict in ("not worse", "equivalent")
    assert result["loss"] <= scipy_stats.binom.ppf(0.999, SETS, 0.05)
    assert result["none"] >= scipy_stats.binom.ppf(0.001, SETS, 0.65)


METRICS = (
    "mae", "mape", "wape", "wmae_total", "wmae_sample", "bias", "rmse", "r2", "pearson", "slope",
    "within@5", "within@10", "within@15", "within@20", "within@25", "within@30", "within@40",
)  # fmt: skip
FAMILIES = SETS * 3 // 4 if SETS >= 400 else SETS // 8


def models(rng: np.random.Generator, better: float) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """100 dishes and six models that share four fifths of the variance of their errors; those of the second are smaller.

    Models that are trained alike err alike. With errors of their own altogether even one plain test of the MAE finds a
    model with errors 25 % smaller in two of three test sets only.
    """
    ids, truth, shared = np.arange(100), rng.lognormal(5, 0.4, 100), rng.normal(size=100)
    errors = [np.sqrt(0.8) * shared + np.sqrt(0.2) * rng.normal(size=100) for _ in range(6)]
    errors[1] *= 1 - better
    return {"dish": ids, "weight": truth}, [{"dish": ids, "weight": truth * (1 + 0.2 * error)} for error in errors]


@pytest.mark.slow
def test_a_family_of_models_and_metrics_keeps_its_level_and_finds_the_better_model() -> None:
    """5 models x 17 metrics: max-T shows nothing in 92 to 98 % of equal families, and finds more than Holm's method."""
    rng = np.random.default_rng(31)
    false = shown = by_holm = 0
    for k in range(FAMILIES):
        equal = sy.compare("weights", *models(rng, 0.0), metrics=METRICS, draws=299, seed=k)
        false += any(d.verdict in ("better", "worse") for one in equal.comparisons for d in one.differences.values())
        lineup = sy.compare("weights", *models(rng, 0.25), metrics=METRICS, draws=299, seed=k)
        every = [list(one.differences.values()) for one in lineup.comparisons]
        assert 75 < every[0][0].family <= len(METRICS) * 5  # a metric that no swap moves is in no family
        shown += any(d.verdict == "better" for d in every[0])
        corrected = holm([d.p for one in every for d in one])
        by_holm += any(p < 0.05 for p in corrected[: len(METRICS)])
    assert scipy_stats.binom.ppf(0.001, FAMILIES, 0.02) <= false <= scipy_stats.binom.ppf(0.999, FAMILIES, 0.08)
    assert shown >= (0.75 * FAMILIES if FAMILIES >= 300 else scipy_stats.binom.ppf(0.001, FAMILIES, 0.75))
    assert by_holm < shown


def answered(rng: np.random.Generator, better: float, units: int) -> tuple[dict[str, Any], ...]:
    """Two models on the same labels, right in 70 % and in `better`, and often on the same ones."""
    ids, ease = np.arange(units), rng.random(units)
    sides = [np.ones(units, int)]
    for right in (0.7, better):
        sides.append((np.where(rng.random(units) < 0.5, ease, rng.random(units)) < right).astype(int))
    truth, a, b = ({"id": ids, "label": one} for one in sides)
    return truth, a, b


def p_of_each(truth: Any, a: Any, b: Any, other: Any, k: int) -> dict[str, float]:
    """p by each test that there is, of one metric: `other` is B's twin on units of its own."""
    setting: Any = {"draws": 199, "seed": k}
    results = [
        sy.evaluate("labels", truth, one, ["accuracy"], save_draws=True, **setting)["accuracy"] for one in (a, b)
    ]
    apart = sy.evaluate("labels", other[0], other[2], ["accuracy"], **setting)["accuracy"]
    difference = results[1].value - results[0].value
    draws = np.asarray(results[1].draws) - np.asarray(results[0].draws)
    one, always = (
        sy.compare("labels", truth, a, b, ["accuracy"], adjust="none", sequence=sequence, **setting)["accuracy"].p
        for sequence in (None, "exact")
    )
    errors, df = (results[0].se, apart.se), (results[0].df, apart.df)
    return {
        "flips": one,
        "sequence": always,
        "draws": by_draws(difference, draws, 0.95, least_df(*results)).p,
        "intervals": by_intervals(apart.value - results[0].value, errors, 0.95, df).p,
    }


@pytest.mark.slow
def test_every_test_of_one_difference_keeps_its_level_and_has_power() -> None:
    """Flips, paired draws of finished results, their intervals alone, and a sequence: p < 0.05 of 120 answers.

    Equal models are told apart in 5 % of sets at most; 70 % against 90 % in most, a sequence and unpaired ones too.
    """
    rng, sets = np.random.default_rng(15), max(20, SETS // 2)
    low: dict[str, dict[str, int]] = {"equal": {}, "better": {}}
    for k in range(sets):
        for name, better in (("equal", 0.7), ("better", 0.9)):
            tests = p_of_each(*answered(rng, better, 120), answered(rng, better, 120), k)
            for test, p in tests.items():
                low[name][test] = low[name].get(test, 0) + (p < 0.05)
    for test, count in low["equal"].items():
        assert count <= scipy_stats.binom.ppf(0.999, sets, 0.06), test
    for test, least in (("flips", 0.9), ("draws", 0.9), ("intervals", 0.85), ("sequence", 0.6)):
        assert low["better"][test] >= scipy_stats.binom.ppf(0.001, sets, least), test


@pytest.mark.slow
def test_false_discoveries_keep_their_share() -> None:
    """Of 60 tests 6 are of a true difference: at most a tenth of what is flagged is false, and most are flagged."""
    rng = np.random.default_rng(16)
    shares, flagged = [], 0
    for _ in range(10 * SETS):
        p = 2 * scipy_stats.norm.sf(np.abs(rng.normal(np.where(np.arange(60) < 6, 3.5, 0.0))))
        shown = np.array(false_discovery(p.tolist())) < 0.1
        shares.append(shown[6:].sum() / max(1, shown.sum()))
        flagged += int(shown[:6].sum())
    assert np.mean(shares) <= 0.1 + 3 * np.std(shares) / np.sqrt(len(shares))
    assert flagged >= 0.7 * 6 * 10 * SETS
