"""Debiased calibration errors: the golden, sums by hand, intervals, and what they hold by simulation."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

scipy_stats = lazy("scipy.stats")

GOLDENS = json.loads((TESTS / "goldens" / "statistics2.json").read_text(encoding="utf-8"))
SETS = min(int(os.environ.get("STEELYARD_SETS", "40")), 200)


def scored(sure: Any, right: Any, specs: list[str], **settings: Any) -> Any:
    """Rows of two classes whose given label has this confidence."""
    first = np.asarray(sure)
    given = {"id": np.arange(len(first)), "probability:a": first, "probability:b": 1 - first}
    truth = {"id": given["id"], "label": np.where(np.asarray(right) > 0, "a", "b")}
    return sy.evaluate("labels", truth, given, specs, **settings)


def test_golden() -> None:
    golden = GOLDENS["calibration"]
    specs = ["ece(bins=10)", "ece(bins=10, debias=true)", "rms_ce(bins=10)"]
    report = scored(golden["confidence"], golden["right"], specs, confidence=None)
    assert report[specs[0]].value == pytest.approx(golden["ece"])
    assert report[specs[1]].value == report[specs[1]].signed == pytest.approx(golden["ece_debiased"])
    assert report[specs[2]].signed == pytest.approx(golden["squared_debiased"])
    assert report[specs[2]].value == pytest.approx(math.sqrt(golden["squared_debiased"]))
    assert math.isnan(report[specs[0]].signed)


def test_a_square_below_zero_is_shown_as_zero() -> None:
    """Right half of the time at 0.5: the gap is 0, and its variance (0.25 - 0) / 3 is what chance would add."""
    score = scored([0.5, 0.5, 0.5, 0.5], [1, 0, 1, 0], ["rms_ce"], draws=200)["rms_ce"]
    assert (score.value, score.signed) == (0.0, pytest.approx(-0.25 / 3))
    assert score.interval[0] == 0.0
    assert json.loads(json.dumps(score.signed)) < 0


def test_a_bin_of_one_row() -> None:
    """Of one row nothing is known of the spread, so its variance is 0.25."""
    report = scored([0.9], [1], ["rms_ce", "ece(debias=true)"], confidence=None)
    assert report["rms_ce"].signed == pytest.approx(0.1**2 - 0.25)
    folded = 0.5 * math.sqrt(2 / math.pi) * math.exp(-(0.2**2) / 2) + 0.1 * (1 - 2 * scipy_stats.norm.cdf(-0.2))
    assert report["ece(debias=true)"].signed == pytest.approx(0.2 - folded)
    assert report["ece(debias=true)"].value == 0.0


def test_interval_by_hand() -> None:
    """One bin: t(n-1) times the larger of the two standard errors of the square, and the root of the ends."""
    rng = np.random.default_rng(3)
    confidence, right = np.full(30, 0.8), (rng.random(30) < 0.5).astype(float)
    score = scored(confidence, right, ["rms_ce(bins=1)"], draws=500, save_draws=True)["rms_ce(bins=1)"]

    def square(d: Any) -> float:
        return float(d.mean() ** 2 - d.var(ddof=1) / len(d))

    d = right - confidence
    left = np.array([square(np.delete(d, i)) for i in range(30)])
    se = math.sqrt(29 / 30 * ((left - left.mean()) ** 2).sum())
    assert score.signed == pytest.approx(square(d))
    low, high = (end**2 for end in score.interval)
    assert (high - score.signed) / scipy_stats.t.ppf(0.975, 29) >= se * (1 - 1e-9)
    assert (low == 0) or (high - score.signed) == pytest.approx(score.signed - low)
    assert score.se == pytest.approx((high - score.signed) / scipy_stats.t.ppf(0.975, 29) / (2 * score.value))


def test_classes_and_settings() -> None:
    rng = np.random.default_rng(4)
    given = rng.dirichlet(np.ones(3), 60)
    truth = {"label": [str(k) for k in rng.integers(0, 3, 60)]}
    probabilities = {f"probability:{k}": given[:, k] for k in range(3)}
    specs = ["macro(rms_ce)", *(f"rms_ce(label={k})" for k in range(3))]
    report = sy.evaluate("labels", truth, probabilities, specs, confidence=None)
    assert report["macro(rms_ce)"].value == pytest.approx(np.mean([report[spec].value for spec in specs[1:]]))
    with refuses("E-invalid-spec", "debias"):
        sy.evaluate("labels", truth, probabilities, "ece(debias=2)")
    assert not sy.evaluate("labels", truth, {"label": truth["label"]}, "rms_ce")["rms_ce"].defined


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, 0.5], ids=["calibrated", "too sure"])
def test_coverage_of_the_population(slope: float) -> None:
    """300 rows: the debiased interval holds the population's value in 88 % at least; the plain one does not where the
    model is calibrated."""
    rng = np.random.default_rng(5)

    def drawn(n: int) -> tuple[Any, Any]:
        confidence = rng.uniform(0.5, 1.0, n)
        return confidence, rng.random(n) < 0.5 + slope * (confidence - 0.5)

    grid = np.linspace(0.5, 1, 100_001)
    edges = np.clip(np.searchsorted(np.linspace(0, 1, 16)[1:-1], grid), 0, 14)
    gap = np.abs(np.bincount(edges, weights=(1 - slope) * (grid - 0.5)))
    target = float(gap.sum() / len(grid))
    held = {"ece(debias=true)": 0, "ece": 0}
    for k in range(SETS):
        report = scored(*drawn(300), list(held), draws=100, seed=k)
        for spec in held:
            low, high = report[spec].interval
            held[spec] += low <= target <= high
    assert held["ece(debias=true)"] >= scipy_stats.binom.ppf(0.001, SETS, 0.88), held
    if slope == 1:
        assert held["ece"] <= scipy_stats.binom.ppf(0.999, SETS, 0.2), held
