"""What intervals promise, by simulation. `make simulate` draws 400 test sets; the suite draws few, with a wide band."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

import steelyard as sy

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


@pytest.mark.slow
@pytest.mark.parametrize("task", CASES)
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
