"""What intervals and p of several runs promise, by simulation: the populations are of seeds and units alike.

An answer is right where skill + seed + unit + noise is above 0; seeds shift all units of a run.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.request import RunDesign
from steelyard.engine.quantiles import t_quantile
from steelyard.engine.runs import crossed_variance

SETS = 400
UNIT, NOISE = 0.8, 0.6


def right(rng: np.random.Generator, units: Any, runs: int, skill: float, seed_sd: float) -> Any:
    """Which answers of each run are right."""
    shift = rng.normal(0, seed_sd, (runs, 1))
    return skill + shift + UNIT * units + rng.normal(0, NOISE, (runs, len(units))) > 0


def predictions(answers: Any) -> list[dict[str, Any]]:
    return [{"id": np.arange(len(row)), "label": row.astype(int)} for row in answers]


def truth(n: int) -> dict[str, Any]:
    return {"id": np.arange(n), "label": np.ones(n, int)}


@pytest.mark.slow
def test_intervals_of_five_seeds_cover() -> None:
    """The accuracy over all seeds and units lies in 92 to 98 % of the intervals."""
    rng = np.random.default_rng(31)
    n, seed_sd = 200, 0.3
    target = NormalDist().cdf(0.8 / math.sqrt(1 + seed_sd**2))
    inside = 0
    for _ in range(SETS):
        runs = predictions(right(rng, rng.normal(size=n), 5, 0.8, seed_sd))
        interval = sy.evaluate("labels", truth(n), runs, ["accuracy"], runs="seeds")["accuracy"].interval
        assert interval is not None
        inside += interval[0] <= target <= interval[1]
    assert 0.92 * SETS <= inside <= 0.98 * SETS


@pytest.mark.slow
def test_equal_recipes_are_rarely_different_and_single_runs_often_are() -> None:
    """Three seeds each: at most 6 %. One run each, tested by units alone: at least 30 %."""
    rng = np.random.default_rng(32)
    n, seed_sd = 200, 0.3
    several = single = 0
    for k in range(SETS):
        units = rng.normal(size=n)
        a, b = (predictions(right(rng, units, 3, 0.8, seed_sd)) for _ in "ab")
        several += sy.compare("labels", truth(n), a, b, ["accuracy"], runs="seeds")["accuracy"].p <= 0.05
        single += sy.compare("labels", truth(n), a[0], b[0], ["accuracy"], seed=k, draws=199)["accuracy"].p <= 0.05
    assert several <= 0.06 * SETS
    assert single >= 0.3 * SETS


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "n", "seed_sd"), [(5, 50, 0.3), (10, 200, 0.3), (3, 200, 0.0), (3, 1000, 0.15)])
def test_other_numbers_of_runs_and_units_cover(runs: int, n: int, seed_sd: float) -> None:
    """Means of continuous scores, where a run's influences are its deviations: 92 to 98 %."""
    rng = np.random.default_rng(33)
    inside = 0
    for _ in range(SETS):
        scores = rng.normal(0, seed_sd, (runs, 1)) + rng.normal(0, 0.8, n) + rng.normal(0, 0.6, (runs, n))
        parts = crossed_variance([(scores.mean(1), scores - scores.mean(1, keepdims=True))])
        variance, df = parts.estimate_variance(RunDesign("seeds"))
        inside += abs(parts.value) <= t_quantile(0.975, df) * math.sqrt(variance)
    assert 0.92 * SETS <= inside <= 0.98 * SETS
