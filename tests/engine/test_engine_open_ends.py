"""Scores whose range lacks an end: the worst unit counts once more, and what they rest on is said."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy
from steelyard.engine.intervals import UnitSample, by_range

scipy_stats = lazy("scipy.stats")

GOLDENS = json.loads((Path(__file__).parent.parent / "goldens" / "statistics2.json").read_text(encoding="utf-8"))
GOLDEN = GOLDENS["open_end"]
ERRORS = np.array(GOLDEN["errors"])


def drawn(errors: Any) -> Any:
    """Draws whose standard error on the log scale lies a little below the jackknife's, which then decides."""
    se = errors.std(ddof=1) / math.sqrt(len(errors)) / errors.mean()
    z = scipy_stats.norm.ppf((np.arange(400) + 0.5) / 400)
    return errors.mean() * np.exp(z / z.std(ddof=1) * se / 1.05)


def evaluated(errors: Any, metrics: Any = "mae", **more: Any) -> Any:
    ids, weight = np.arange(len(errors)), np.full(len(errors), 100.0)
    truth = {"dish": ids, "weight": weight, **more.pop("columns", {})}
    return sy.evaluate("weights", truth, {"dish": ids, "weight": weight + errors}, metrics, draws=200, **more)


def test_golden() -> None:
    n = len(ERRORS)
    left = (ERRORS.sum() - ERRORS) / (n - 1)
    result = by_range(ERRORS.mean(), drawn(ERRORS), left, (0.0, math.inf), UnitSample(n), 0.95)
    assert result.df == pytest.approx(GOLDEN["df"])
    assert result.interval == pytest.approx(GOLDEN["interval"], rel=1e-9)
    mirrored = by_range(-ERRORS.mean(), -drawn(ERRORS), -left, (-math.inf, 0.0), UnitSample(n), 0.95)
    assert mirrored.interval == pytest.approx((-GOLDEN["interval"][1], -GOLDEN["interval"][0]), rel=1e-9)


def test_kinds_of_units_count_as_often_as_they_are_there() -> None:
    """Errors of two kinds, listed or with how many units each stands for."""
    errors = np.repeat([1.0, 7.0], [15, 5])
    n = len(errors)
    left = (errors.sum() - errors) / (n - 1)
    listed = by_range(errors.mean(), drawn(errors), left, (0.0, math.inf), UnitSample(n), 0.95)
    kinds = UnitSample(n, copies=np.array([15.0, 5.0]))
    counted = by_range(errors.mean(), drawn(errors), left[[0, 19]], (0.0, math.inf), kinds, 0.95)
    assert counted.interval == pytest.approx(listed.interval)


def test_facts() -> None:
    """What the score rests on, what may be missing, and the largest unit's share of the sum of errors."""
    score = evaluated(ERRORS)["mae"]
    assert score.rests_on == pytest.approx(GOLDEN["rests_on"])
    assert score.unseen == pytest.approx(GOLDEN["unseen"])
    assert score.largest_share == pytest.approx(ERRORS.max() / ERRORS.sum())
    assert score.largest_unit == str(int(ERRORS.argmax()))
    bounded = evaluated(ERRORS, "within@10")["within@10"]
    assert math.isnan(bounded.rests_on)
    assert math.isnan(bounded.unseen)
    both = evaluated(ERRORS, "bias")["bias"]
    assert both.unseen == pytest.approx(GOLDEN["unseen"])
    assert math.isnan(both.largest_share)
    r2 = sy.evaluate(
        "weights",
        {"dish": np.arange(20), "weight": 100.0 + 9 * np.arange(20)},
        {"dish": np.arange(20), "weight": 100.0 + 9 * np.arange(20) + ERRORS},
        "r2",
        draws=200,
    )["r2"]
    assert r2.interval[1] < 1
    assert 0 < r2.largest_share < 1


def test_clusters_are_what_it_rests_on() -> None:
    score = evaluated(ERRORS, cluster="person", columns={"person": [f"p{k // 2}" for k in range(20)]})["mae"]
    sums = ERRORS.reshape(10, 2).sum(axis=1)
    assert score.rests_on <= 10
    assert score.unseen == pytest.approx(1 - 0.025 ** (1 / 10))
    assert (score.largest_unit, score.largest_share) == (f"p{sums.argmax()}", pytest.approx(sums.max() / ERRORS.sum()))


def test_said_once() -> None:
    """One remark for all metrics of an open range, and the largest shares on the page."""
    report = evaluated(ERRORS, ["mae", "rmse", "within@10"])
    said = " ".join(str(report).split())
    low, high = sorted(round(report[spec].rests_on) for spec in ("mae", "rmse"))
    rare = "errors rarer than 1 in 6 dishes may be missing here, however large."
    assert f"mae and rmse rest on {low} to {high} of 20 dishes; {rare}" in said
    assert said.count("may be missing here") == 1
    assert "likely too narrow" not in said
    alone = " ".join(str(evaluated(ERRORS)).split())
    assert f"mae rests on {round(report['mae'].rests_on)} of 20 dishes" in alone
    share = f"Largest share of one dish: mae {100 * report['mae'].largest_share:.0f} %"
    assert share in report.to_html()
    few = " ".join(str(evaluated(ERRORS[:4])).split())
    assert "errors of up to 60 % of dishes may be missing here" in few


def test_saved_results_keep_them(tmp_path: Path) -> None:
    report = evaluated(ERRORS)
    path = tmp_path / "result.json"
    path.write_text(report.to_json(), encoding="utf-8")
    again = sy.load(path)["mae"]
    assert (again.rests_on, again.unseen, again.largest_unit) == (
        report["mae"].rests_on, report["mae"].unseen, report["mae"].largest_unit,
    )  # fmt: skip
