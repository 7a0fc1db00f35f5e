"""Intervals of the area under the ROC curve, from placements: goldens, and by simulation."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy

scipy_stats = lazy("scipy.stats")

GOLDENS = json.loads((Path(__file__).parent.parent / "goldens" / "statistics2.json").read_text(encoding="utf-8"))
SETS = int(os.environ.get("STEELYARD_SETS", "100"))


def evaluated(positives: Any, negatives: Any, **more: Any) -> Any:
    scores = np.concatenate([positives, negatives])
    truth = np.repeat([1, 0], [len(positives), len(negatives)])
    ids = np.arange(len(truth))
    data = {"id": ids, "label": truth, **more}
    return sy.evaluate("labels", data, {"id": ids, "score": scores}, "roc_auc", draws=200)["roc_auc"]


@pytest.mark.parametrize("golden", GOLDENS["auc"])
def test_goldens(golden: Any) -> None:
    """The value is scipy's Mann-Whitney statistic, the ends are statsmodels' at the effective number of units."""
    score = evaluated(golden["positives"], golden["negatives"])
    assert score.value == pytest.approx(golden["auc"])
    assert score.interval == pytest.approx(golden["interval"], rel=1e-6)


def test_one_positive_says_next_to_nothing() -> None:
    """One positive above all of 59 negatives: [.025, 1], the Clopper-Pearson interval of one success."""
    score = evaluated([0.99], np.linspace(0, 0.9, 59))
    assert score.interval == pytest.approx((0.025, 1.0))
    assert "roc_auc rests on 1 positive." in score.notes
    assert evaluated([0.99], [0.1, 0.5, 0.995]).interval[0] < 0.1


def test_units_with_rows_of_both_classes_keep_the_rule_of_the_range() -> None:
    rng = np.random.default_rng(1)
    grouped = evaluated(rng.normal(1, 1, 40), rng.normal(0, 1, 40), group=np.arange(80) % 20)
    assert grouped.units == 20
    assert not any("rests on" in note for note in grouped.notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "share", "gain", "least"), [(60, 0.05, 2.0, 0.94), (200, 0.1, 2.0, 0.935), (60, 0.3, 1.0, 0.935)]
)
def test_coverage(n: int, share: float, gain: float, least: float) -> None:
    """The share of intervals that hold the population's area, with normal scores."""
    rng = np.random.default_rng(2)
    area = float(scipy_stats.norm.cdf(gain / np.sqrt(2)))
    held, sets = 0, 0
    while sets < SETS:
        m = int(rng.binomial(n, share))
        if not 0 < m < n:
            continue
        low, high = evaluated(rng.normal(gain, 1, m), rng.normal(0, 1, n - m)).interval
        held, sets = held + (low <= area <= high), sets + 1
    assert held >= scipy_stats.binom.ppf(0.001, sets, least)
