"""Intervals and notes of means over classes: goldens, sums by hand, and what is said of classes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy
from steelyard.engine.intervals import Parts, UnitSample, by_parts, effective_units
from steelyard.engine.quantiles import beta_quantile
from steelyard.render.text import remarks_of

scipy_stats = lazy("scipy.stats")

GOLDENS = json.loads((Path(__file__).parent.parent / "goldens" / "statistics2.json").read_text(encoding="utf-8"))


def test_golden() -> None:
    golden = GOLDENS["macro_parts"]
    share = np.array(golden["values"])
    effective = effective_units(share, np.array(golden["variances"]), np.array(golden["units"], dtype=float))
    assert effective == pytest.approx(golden["effective"])
    parts = Parts(share, effective, np.array(golden["correlation"]))
    estimate = by_parts(share.mean(), np.zeros(0), None, parts, (0.0, 1.0), UnitSample(40), 0.95)
    assert estimate.interval == pytest.approx(golden["interval"], rel=1e-6)


def test_effective_units_at_the_ends() -> None:
    """A class of one unit is that unit, whatever its score; at 0 and 1 the units count; unequal units say less."""
    ones = np.ones(3)
    assert effective_units(np.array([0.0, 0.4, 1.0]), np.zeros(3), ones).tolist() == pytest.approx([1, 1, 1])
    assert effective_units(np.array([0.0, 1.0]), np.zeros(2), np.array([7.0, 9.0])).tolist() == [7, 9]
    # 0/1 scores of m units: ((m-1) T(1-T)/(m-1) + 12 T(1-T)/m) / (m+11) is T(1-T) (m+12) / (m (m+11))
    assert effective_units(np.array([0.3]), np.array([0.21 / 19]), np.array([20.0])) == pytest.approx(20 * 31 / 32)
    assert effective_units(np.array([0.5]), np.array([0.2]), np.array([50.0]))[0] < 2


def ends(share: float, n: float) -> tuple[float, float]:
    """The mean of the Clopper-Pearson and the Jeffreys ends, by scipy."""
    if share in (0, 1):
        return (0.0, 1 - 0.025 ** (1 / n)) if share == 0 else (0.025 ** (1 / n), 1.0)
    x, y, beta = share * n, (1 - share) * n, scipy_stats.beta
    low = (beta.ppf(0.025, x, y + 1) + beta.ppf(0.025, x + 0.5, y + 0.5)) / 2
    high = (beta.ppf(0.975, x + 1, y) + beta.ppf(0.975, x + 0.5, y + 0.5)) / 2
    return float(low), float(high)


def by_hand(left_out: list[list[float]], share: list[float], units: list[int]) -> tuple[float, float]:
    """Jackknife, shrinking and MOVER, written out: rows that leave one unit out, classes beside each other."""
    rows = np.array(left_out)
    n, classes = rows.shape
    moved = rows - rows.mean(axis=0)
    variance = (n - 1) / n * (moved**2).sum(axis=0)
    below, above = [], []
    for t, v, m in zip(share, variance, units, strict=True):
        shrunk = ((m - 1) * v + 12 * t * (1 - t) / m) / (m + 11)
        low, high = ends(t, t * (1 - t) / shrunk if shrunk else m)
        below.append(t - low)
        above.append(high - t)
    correlation = np.eye(classes)
    for a in range(classes):
        for b in range(classes):
            if a != b and moved[:, a].any() and moved[:, b].any():
                correlation[a, b] = (
                    moved[:, a] @ moved[:, b] / np.sqrt((moved[:, a] ** 2).sum() * (moved[:, b] ** 2).sum())
                )
    value = float(np.mean(share))
    reach = [math.sqrt(np.array(side) @ correlation @ np.array(side)) / classes for side in (below, above)]
    return max(0.0, value - reach[0]), min(1.0, value + reach[1])


TRUTH, NAMED = "aaaaaabbbc", "aaaabbbbac"


def f1(rows: list[int], name: str) -> float:
    hits = sum(TRUTH[i] == NAMED[i] == name for i in rows)
    either = sum((TRUTH[i] == name) + (NAMED[i] == name) for i in rows)
    return 2 * hits / either if either else math.nan


def test_macro_f1_by_hand() -> None:
    """Class c has one row and keeps its value where that is left out."""
    every = list(range(10))
    share = [f1(every, name) for name in "abc"]
    left_out = [[f1([i for i in every if i != k], name) for name in "abc"] for k in every]
    left_out[9][2] = share[2]
    expected = by_hand(left_out, share, [7, 5, 1])
    score = sy.evaluate("labels", {"label": list(TRUTH)}, {"label": list(NAMED)}, "macro(f1)", draws=200)["macro(f1)"]
    assert score.value == pytest.approx(np.mean(share))
    assert score.interval == pytest.approx(expected, rel=1e-9)
    assert score.notes == ("macro(f1) has 1 class that rests on fewer than 5 units: c.",)
    assert (score.classes_absent, score.classes_few) == ((), ("c",))


def test_mean_iou_by_hand() -> None:
    """Pixels of 6 images: class 2 is in two of them."""
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, (6, 4, 4))
    truth[4:, 0, :] = 2
    predicted = np.where(rng.random((6, 4, 4)) < 0.8, truth, 0)

    def iou(images: list[int], label: int) -> float:
        first, second = truth[images] == label, predicted[images] == label
        return float((first & second).sum() / (first | second).sum())

    every = list(range(6))
    share = [iou(every, k) for k in range(3)]
    left_out = [[iou([i for i in every if i != k], label) for label in range(3)] for k in every]
    score = sy.evaluate("segmentation", truth, predicted, "miou", draws=200)["miou"]
    assert score.value == pytest.approx(np.mean(share))
    assert score.interval == pytest.approx(by_hand(left_out, share, [6, 6, 2]), rel=1e-9)


def test_one_class_has_the_interval_of_its_own_metric() -> None:
    """A mean of one class is that class: the rule of the range, as `dice(label=...)` has it."""
    rng = np.random.default_rng(5)
    truth = np.ones((8, 3, 3), dtype=int)
    predicted = np.where(rng.random((8, 3, 3)) < 0.7, 1, 9)
    scores = sy.evaluate(
        "segmentation",
        truth,
        predicted,
        ["miou(classes=truth)", "iou(label=1)"],
        options={"unknown": "wrong", "classes": 2},
    )
    assert scores["miou(classes=truth)"].interval == scores["iou(label=1)"].interval


def drawn(rows: int, classes: int = 5) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(6)
    ids, names = np.arange(rows), np.array([f"c{k}" for k in range(classes)])
    label = rng.integers(0, classes, rows)
    scores = rng.normal(size=(rows, classes)) + 1.5 * (label[:, np.newaxis] == np.arange(classes))
    truth = {"id": ids, "label": names[label], "video": ids // 4, "weight": rng.uniform(0.5, 2, rows)}
    return truth, {"id": ids, **{f"score:{name}": scores[:, k] for k, name in enumerate(names)}}


@pytest.mark.parametrize("spec", ["macro(ap)", "macro(roc_auc)", "macro(best_f1)", "macro(f1(threshold=1))"])
@pytest.mark.parametrize("settings", [{}, {"cluster": "video"}], ids=["units", "clusters"])
@pytest.mark.parametrize("rows", [60, 2400], ids=["few", "groups"])
def test_clusters_weights_and_many_units(spec: str, settings: dict[str, Any], rows: int) -> None:
    """The interval holds the value, narrows with units, and is there for clusters, weights and groups of units."""
    truth, scores = drawn(rows)
    weighted = sy.evaluate("labels", truth, scores, spec, draws=100, columns={"weight": "weight"}, **settings)[spec]
    plain = sy.evaluate("labels", {**truth, "weight": np.ones(rows)}, scores, spec, draws=100, **settings)[spec]
    for score in (weighted, plain):
        low, high = score.interval
        assert low < score.value < high
        assert (0.05, 0.01)[rows > 60] < high - low < (0.4, 0.08)[rows > 60]
    assert plain.classes_few == plain.classes_absent == ()


def test_notes_of_absent_classes() -> None:
    """A class that has probabilities and no truth is named; `undefined` still counts what the mean leaves out."""
    truth = {"label": list("aabbabab")}
    rng = np.random.default_rng(7)
    given = rng.dirichlet(np.ones(4), 8)
    predicted = {f"probability:{name}": given[:, k] for k, name in enumerate("abcd")}
    report = sy.evaluate("labels", truth, predicted, ["macro(ap)", "macro(roc_auc)", "macro(recall)"], confidence=None)
    for score in report.scores.values():
        assert score.classes_absent == ("c", "d")
        assert score.notes[0].startswith(f"{score.spec} is of 2 classes; 2 have no truth")
        assert score.notes[0].endswith(": c, d.")


def test_remarks_are_said_once() -> None:
    """Several means with the same classes share a remark."""
    truth = {"label": list("aaaaaaabbbbbbc")}
    predicted = {"label": list("aaaaaabbbbbbac")}
    said = remarks_of(sy.evaluate("labels", truth, predicted, ["macro(f1)", "macro(recall)", "balanced_accuracy"]))
    shared = "macro(f1), macro(recall) and balanced_accuracy have 1 class that rests on fewer than 5 units: c."
    assert [remark for remark in said if "fewer than 5 units" in remark] == [shared]
    absent = sy.evaluate(
        "labels", {"label": list("aab")}, {f"probability:{k}": [0.2, 0.2, 0.2] for k in "abcde"}, "macro(ap)"
    )
    assert "macro(ap) is of 2 classes; 3 have no truth: c, d, e." in remarks_of(absent)
    assert not any("without a value" in remark for remark in remarks_of(absent))


def test_quantiles_of_many_units() -> None:
    """From 30,000 of either kind on by expansion, which is quick and right to ten digits."""
    share = np.linspace(0.1, 0.9, 9)
    for n in (2e4, 1e5, 1e6, 1e9):
        for p in (0.025, 0.975, 0.5, 1e-4):
            assert beta_quantile(p, share * n, (1 - share) * n) == pytest.approx(
                scipy_stats.beta.ppf(p, share * n, (1 - share) * n), rel=1e-9
            )
