"""Several runs over the same units: the variance of runs and units, against hand calculations and published figures."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import steelyard as sy
from steelyard.core.request import RunDesign
from steelyard.engine.runs import crossed

GOLDEN = json.loads((Path(__file__).parent / "goldens" / "statistics2.json").read_text(encoding="utf-8"))["crossed"]
READINGS = np.array(GOLDEN["scores"])
CASES = {"id": np.arange(30), "label": np.array(GOLDEN["truth"])}


def readings(scores: Any) -> list[dict[str, Any]]:
    """The predictions of each reader."""
    return [{"id": np.arange(len(row)), "score": np.asarray(row)} for row in scores]


def auc(score: Any, truth: Any) -> float:
    positive, negative = score[truth == 1][:, None], score[truth == 0]
    return float(((positive > negative) + 0.5 * (positive == negative)).mean())


def jackknifed(score: Any, truth: Any) -> Any:
    """Influences of units on the AUC, by leaving each out."""
    n = len(score)
    left = np.array([auc(np.delete(score, k), np.delete(truth, k)) for k in range(n)])
    return (n - 1) * (left.mean() - left)


def test_readers_of_both_models_as_the_golden_values() -> None:
    golden = GOLDEN["same_readers"]
    d = sy.compare("labels", CASES, *map(readings, READINGS), ["roc_auc"], runs="readers", pair_runs=True)["roc_auc"]
    assert d.difference == pytest.approx(golden["difference"], rel=1e-12)
    assert d.runs is not None
    assert d.runs.v_items == pytest.approx(golden["V_items"], rel=1e-9)
    assert d.runs.v_runs == pytest.approx(golden["V_runs"], rel=1e-9)
    assert d.runs.v_both == pytest.approx(golden["V_both"], rel=1e-9)
    assert (d.runs.n_runs, d.runs.n_units, d.runs.factor) == (4, 30, "readers")
    assert d.runs.values == pytest.approx(np.subtract(GOLDEN["auc"][1], GOLDEN["auc"][0]))
    assert d.se == pytest.approx(golden["se"], rel=1e-9)
    assert d.df == pytest.approx(golden["df_hillis"], rel=1e-9)
    assert d.p == pytest.approx(golden["p"], rel=1e-9)
    reach = stats.t.ppf(0.975, golden["df_hillis"]) * golden["se"]
    assert d.interval == pytest.approx((golden["difference"] - reach, golden["difference"] + reach))
    assert d.p_method == "t"
    assert d.adjust == "holm"


def test_seeds_of_each_model_as_the_golden_values() -> None:
    golden = GOLDEN["own_seeds"]
    d = sy.compare("labels", CASES, *map(readings, READINGS), ["roc_auc"], runs="seeds")["roc_auc"]
    assert d.runs is not None
    assert d.runs.values == ()
    assert d.runs.v_items == pytest.approx(golden["V_items"], rel=1e-9)
    assert d.runs.v_runs == pytest.approx(golden["V_runs"], rel=1e-9)
    assert d.se == pytest.approx(golden["se"], rel=1e-9)
    assert d.df == pytest.approx(golden["df"], rel=1e-9)
    assert d.p == pytest.approx(golden["p"], rel=1e-9)
    assert d.a.runs is not None
    assert d.a.runs.values == pytest.approx(GOLDEN["auc"][0])


def test_obuchowski_and_rockette_with_hillis_written_out() -> None:
    """2/r [MS(TR) + r max(Cov2 - Cov3, 0)], from their covariances and mean squares, with other readings."""
    rng = np.random.default_rng(5)
    r, n = 5, 40
    truth = (np.arange(n) < 15).astype(int)
    scores = rng.normal(0, 1, n) + truth + rng.normal(0, 0.8, (2, r, n)).round(1)
    area = np.array([[auc(s, truth) for s in model] for model in scores])
    psi = np.array([[jackknifed(s, truth) for s in model] for model in scores])
    cov = np.einsum("ijn,kln->ijkl", psi, psi) / (n * (n - 1))
    pairs = [(j, k) for j, k in itertools.permutations(range(r), 2)]
    cov2 = np.mean([cov[i, j, i, k] for i in range(2) for j, k in pairs])
    cov3 = np.mean([cov[i, j, 1 - i, k] for i in range(2) for j, k in pairs])
    residual = area - area.mean(0) - area.mean(1, keepdims=True) + area.mean()
    ms = (residual**2).sum() / (r - 1)
    variance = 2 / r * (ms + r * max(cov2 - cov3, 0))
    df = (ms + r * max(cov2 - cov3, 0)) ** 2 / (ms**2 / (r - 1))
    data = {"id": np.arange(n), "label": truth}
    d = sy.compare("labels", data, *map(readings, scores), ["roc_auc"], runs="readers", like="or-dbm")["roc_auc"]
    assert d.se == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert d.df == pytest.approx(df, rel=1e-9)
    assert d.p == pytest.approx(2 * stats.t.sf(abs(d.difference) / math.sqrt(variance), df), rel=1e-9)
    fixed = {
        name: sy.compare(
            "labels", data, *map(readings, scores), ["roc_auc"], runs="readers", pair_runs=True, fixed=name
        )["roc_auc"]
        for name in ("runs", "items")
    }
    each = np.diff(psi, axis=0)[0].mean(0)
    assert fixed["runs"].se == pytest.approx(math.sqrt((each**2).sum() / (n * (n - 1))), rel=1e-9)
    assert fixed["runs"].df == n - 1
    assert fixed["items"].se == pytest.approx(np.diff(area, axis=0)[0].std(ddof=1) / math.sqrt(r), rel=1e-9)
    assert fixed["items"].df == pytest.approx(r - 1)


def test_delong_covariances_of_readers() -> None:
    """S10 / m + S01 / k of DeLong, DeLong and Clarke-Pearson (1988), written out."""
    rng = np.random.default_rng(6)
    r, n = 4, 40
    truth = (np.arange(n) % 3 == 0).astype(int)
    scores = rng.normal(0, 1, n) + truth + rng.normal(0, 0.8, (2, r, n)).round(1)
    v10, v01 = [], []
    for s in scores.reshape(-1, n):
        positive, negative = s[truth == 1][:, None], s[truth == 0]
        above = (positive > negative) + 0.5 * (positive == negative)
        v10.append(above.mean(1))
        v01.append(above.mean(0))
    cov = (np.cov(v10) / len(v10[0]) + np.cov(v01) / len(v01[0])).reshape(2, r, 2, r)
    area = np.array([v.mean() for v in v10]).reshape(2, r)
    difference = area[1] - area[0]
    sigma = cov[1, :, 1] + cov[0, :, 0] - cov[0, :, 1] - cov[1, :, 0]
    own, both = np.trace(sigma) / r, (sigma.sum() - np.trace(sigma)) / (r * (r - 1))
    v_runs, v_items = difference.var(ddof=1) / r, sigma.sum() / r**2
    variance = v_runs + max(v_items - (own - both) / r, 0)
    data = {"id": np.arange(n), "label": truth}
    d = sy.compare("labels", data, *map(readings, scores), ["roc_auc"], runs="readers", like="mrmcaov-delong")[
        "roc_auc"
    ]
    assert d.se == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert d.df == pytest.approx(variance**2 / (v_runs**2 / (r - 1)), rel=1e-9)


def test_one_model_of_seeds_written_out() -> None:
    """Accuracy of three seeds: influences of a mean are the deviations from it."""
    right = np.array([[1, 1, 0, 1, 1, 0, 1, 1], [1, 0, 0, 1, 1, 1, 1, 1], [1, 1, 0, 0, 1, 0, 1, 0]], dtype=float)
    r, n = right.shape
    truth = {"id": np.arange(n), "label": np.ones(n, int)}
    runs = {f"seed {k}": {"id": np.arange(n), "label": row.astype(int)} for k, row in enumerate(right)}
    report = sy.evaluate("labels", truth, runs, ["accuracy"], runs="seeds")
    score = report["accuracy"]
    psi = right - right.mean(1, keepdims=True)
    sigma = psi @ psi.T / (n * (n - 1))
    both = (sigma.sum() - np.trace(sigma)) / (r * (r - 1))
    v_runs, items = right.mean(1).var(ddof=1) / r, sigma.sum() / r**2 - (np.trace(sigma) / r - both) / r
    variance = v_runs + items
    df = variance**2 / (v_runs**2 / (r - 1) + items**2 / (n - 1))
    reach = stats.t.ppf(0.975, df) * math.sqrt(variance)
    assert score.value == pytest.approx(right.mean())
    assert score.se == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert score.df == pytest.approx(df, rel=1e-9)
    assert score.interval == pytest.approx((right.mean() - reach, min(right.mean() + reach, 1.0)))
    assert score.runs is not None
    assert score.runs.share_runs == pytest.approx(v_runs / variance)
    assert score.runs.share_items == pytest.approx(items / variance)
    assert [run.name for run in report.sources.runs] == ["seed 0", "seed 1", "seed 2"]
    assert sy.read(report.to_dict()) == report


def test_groups_of_runs_add_up() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(3, 12)), rng.normal(size=(5, 12))
    a, b = a - a.mean(1, keepdims=True), b - b.mean(1, keepdims=True)
    alone = [crossed([(rng.normal(size=len(psi)), psi)]) for psi in (a, b)]
    both = crossed([(np.array([1.0, 2.0, 4.0]), a), (np.array([1.0, 1.0, 1.0, 1.0, 2.0]), b)])
    assert both.v_both == pytest.approx(alone[0].v_both + alone[1].v_both)
    assert both.v_runs == pytest.approx(np.var([1, 2, 4], ddof=1) / 3 + np.var([1, 1, 1, 1, 2], ddof=1) / 5)
    assert both.runs == 3
    assert crossed([(np.array([1.0, 1.0]), a[:2])]).estimated(RunDesign("seeds", df="hillis"))[1] == math.inf
