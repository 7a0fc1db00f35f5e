"""Intervals of proportions whose strata have sizes that were fixed: goldens, and the design effect by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.engine.intervals import Parts

GOLDENS = json.loads((Path(__file__).parent.parent / "goldens" / "statistics2.json").read_text(encoding="utf-8"))


def accuracy(right: Any, stratum: Any, metric: str = "accuracy", **columns: Any) -> Any:
    ids = np.arange(len(right))
    predicted = {"id": ids, "label": np.asarray(right, dtype=int)}
    truth = {"id": ids, "label": np.ones(len(right), int), "site": stratum, **columns}
    return sy.evaluate("labels", truth, predicted, metric, strata="site", draws=100)[metric]


@pytest.mark.parametrize("golden", GOLDENS["strata"])
def test_goldens(golden: Any) -> None:
    """Ends are statsmodels' at the effective number of rows; 10 of 10 and 0 of 10 are [.38, .62], not a point."""
    right = np.concatenate([np.arange(n) < x for x, n in zip(golden["right"], golden["of"], strict=True)])
    score = accuracy(right, np.repeat([f"s{k:02d}" for k in range(len(golden["of"]))], golden["of"]))
    assert score.value == pytest.approx(golden["value"])
    assert score.interval == pytest.approx(golden["interval"], rel=1e-6)


def ends(total: float, effective: float) -> Any:
    low, high = Parts(np.array([total]), np.array([effective]), np.eye(1)).ends(0.95)
    return pytest.approx((low[0], high[0]), rel=1e-9)


def test_rows_inside_units_count_as_many_as_their_design_effect_leaves() -> None:
    """Two strata of ten units with four rows each that all agree: the design effect is near four.

    In the first six units are right, so p = .6; the squares of what units move are 10 x .24 (4 / 40)^2 = .024. With 10 / 9
    that is a variance of .02667, against .24 / 39 of 40 rows on their own: 4.333, which leaves 9.231 rows. In the second
    none is right, and its ten units count.
    """
    right = np.repeat([1] * 6 + [0] * 4 + [0] * 10, 4)
    score = accuracy(right, np.repeat(["a", "b"], 40), group=np.repeat(np.arange(20), 4))
    assert (score.value, score.units) == (0.3, 20)
    rows = np.array([40 / (0.024 * 10 / 9 * 39 / 0.24), 10.0])
    q = (np.array([0.6, 0.0]) * rows + 0.6) / (rows + 2)
    variance = (0.25 * q * (1 - q) / rows).sum()
    assert score.interval == ends(0.3, max(0.21 / variance, rows.sum()))


def test_rows_of_one_unit_each_with_clusters_of_one_are_the_same() -> None:
    rng = np.random.default_rng(1)
    right, site = rng.random(60) < 0.7, np.repeat(["a", "b", "c"], 20)
    alone = accuracy(right, site)
    ids = np.arange(60)
    truth = {"id": ids, "label": np.ones(60, int), "site": site, "video": ids}
    clustered = sy.evaluate(
        "labels", truth, {"id": ids, "label": right.astype(int)}, "accuracy", strata="site", cluster="video", draws=100
    )["accuracy"]
    assert clustered.interval == pytest.approx(alone.interval)


def test_a_share_of_units_whose_number_was_not_fixed_keeps_its_rule() -> None:
    """Recall is of the rows of a class, of which a stratum has as many as chance gave it."""
    truth = np.array([1, 0] * 20)
    ids, site = np.arange(40), np.repeat(["a", "b"], 20)
    predicted = {"id": ids, "label": np.where(ids % 5 == 0, 1 - truth, truth)}
    data = {"id": ids, "label": truth, "site": site}
    stratified = sy.evaluate("labels", data, predicted, "recall", strata="site", draws=100)["recall"]
    plain = sy.evaluate("labels", data, predicted, "recall", draws=100)["recall"]
    assert stratified.interval == pytest.approx(plain.interval, abs=0.02)
