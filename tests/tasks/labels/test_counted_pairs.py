"""Impostors that are counted at the scores of genuine pairs, and pairs that are too many to list."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.core.plan import left_out_rows
from steelyard.core.units import Units

METRICS = [
    "tar@0.1",
    "tar@0.2(rule=interpolated)",
    "frr@0.1",
    "eer",
    "min_dcf(p=0.3)",
    "best_accuracy",
    "roc_auc",
    "ap",
]
AT_HITS = [*METRICS, "best_f1", "best_threshold", "tpr_at_fpr@0.1", "fpr@95(positive=1)", "aupr(positive=1)"]
EVERY = {"pairing": "all"}
NONE = np.zeros(0, np.int32)


def drawn(seed: int = 0, people: int = 9, images: int = 3) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(seed)
    person = np.repeat([f"p{k:02}" for k in range(people)], images)
    vectors = rng.normal(size=(people, 6))[np.repeat(np.arange(people), images)]
    image = np.array([f"i{k:03}" for k in range(len(person))])
    return {"image": image, "person": person}, {
        "image": image,
        "vector": vectors + 0.9 * rng.normal(size=vectors.shape),
    }


def without(sides: tuple[dict[str, Any], dict[str, Any]], people: set[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    rows = np.array([name not in people for name in sides[0]["person"].tolist()])
    first, second = ({name: column[rows] for name, column in side.items()} for side in sides)
    return first, second


def jackknifed(sides: Any, groups: list[set[str]], spec: str) -> tuple[float, float]:
    """Standard error and half the width of an interval, from the values without each group of people."""
    left = [
        sy.evaluate("labels", *without(sides, group), [spec], confidence=None, options=EVERY)[spec].value
        for group in groups
    ]
    error = math.sqrt((len(left) - 1) / len(left) * float(((np.array(left) - np.mean(left)) ** 2).sum()))
    return error, float(student.ppf(0.975, len(left) - 1)) * error


@pytest.mark.parametrize("seed", range(4))
def test_counts_at_thresholds_are_those_of_comparisons(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spread = [1.0, 1e-300, 1e300, 1.0][seed]
    scores = np.concatenate([np.round(rng.normal(size=400), 1) * spread, [np.inf, -np.inf, 0.0, -0.0]])
    thresholds = np.unique(
        np.append(np.round(rng.normal(size=60), 1) * spread, [0.0] + [np.inf, -np.inf] * (seed == 3))
    )
    first, second = (rng.integers(-1, 3, len(scores)).astype(np.int32) for _ in range(2))
    counts = np.zeros((3, 2 * len(thresholds) + 1), np.int64)
    _native.count_at(thresholds, scores, first, second, counts)
    expected = np.zeros_like(counts)
    for score, owners in zip(scores.tolist(), zip(first.tolist(), second.tolist(), strict=True), strict=True):
        place = 2 * int((thresholds < score).sum()) + int((thresholds == score).any())
        for owner in {*owners} - {-1}:
            expected[owner, place] += 1
    assert np.array_equal(counts, expected)
    _native.count_at(thresholds, scores, NONE, NONE, counts[:1])
    assert counts[0].sum() == expected[0].sum() + len(scores)


def test_thresholds_and_owners_are_checked() -> None:
    counts, one = np.zeros((1, 5), np.int64), np.array([0.5])
    for thresholds in ([1.0, 1.0], [2.0, 1.0], [1.0, math.nan]):
        with pytest.raises(ValueError, match="threshold"):
            _native.count_at(np.array(thresholds), one, NONE, NONE, counts)
    rising = np.array([1.0, 2.0])
    for score, first, second, table in (
        (np.array([math.nan]), NONE, NONE, counts),
        (one, np.array([1], np.int32), NONE, counts),
        (one, NONE, np.array([0], np.int32), counts),
        (one, NONE, NONE, counts[:, :3].copy()),
        (one, NONE, NONE, counts[:0]),
        (one, NONE, NONE, np.full((1, 5), 2**63 - 1)),
    ):
        with pytest.raises(ValueError, match=r"score|owner|row|count"):
            _native.count_at(rising, score, first, second, table)


@pytest.mark.parametrize("digits", [1, 9])
@pytest.mark.parametrize("seed", range(3))
def test_counted_impostors_give_the_figures_of_sorted_ones(digits: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.repeat([1, 0], [40, 300]))
    sides = (
        {"id": np.arange(340), "label": label},
        {"id": np.arange(340), "score": np.round(rng.normal(1.2 * label, 1.0), digits)},
    )
    counted = sy.evaluate("labels", *sides, AT_HITS, confidence=None)
    accumulator = sy.Accumulator("labels", confidence=None)
    accumulator.update(*sides)
    stored = sy.Accumulator.from_bytes(accumulator.to_bytes()).report(AT_HITS)  # sorted before they are stored
    assert [counted[spec].value for spec in AT_HITS] == [stored[spec].value for spec in AT_HITS]


def test_many_pairs_of_vectors_have_the_values_of_listed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = drawn()
    listed = sy.evaluate("labels", *sides, METRICS, options=EVERY)
    monkeypatch.setattr("steelyard.core.ranking.MOST_DRAWN", 100)
    monkeypatch.setattr("steelyard.tasks.labels.counted.TILE", 4)
    monkeypatch.setattr("steelyard.tasks.labels.counted.BATCH", 30)
    report = sy.evaluate("labels", *sides, METRICS, options=EVERY)
    for spec in METRICS:
        assert report[spec].value == pytest.approx(listed[spec].value, rel=1e-12), spec
    assert report.coverage == listed.coverage
    assert any("jackknife over people" in note and "351 pairs" in note for note in report.notes)
    assert not any("jackknife over people" in note for note in listed.notes)


@pytest.mark.parametrize("table", [1, 1 << 20])
@pytest.mark.parametrize("most", [1000, 4])
def test_many_pairs_have_the_interval_of_the_jackknife(table: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = drawn(1)
    names = sorted(set(sides[0]["person"].tolist()))
    monkeypatch.setattr("steelyard.core.plan.MOST_LEFT_OUT", most)
    row = left_out_rows(Units(np.array(names, dtype=object)))
    groups = [{name for name, one in zip(names, row.tolist(), strict=True) if one == k} for k in range(row.max() + 1)]
    expected = {spec: jackknifed(sides, groups, spec) for spec in METRICS}
    monkeypatch.setattr("steelyard.core.ranking.MOST_DRAWN", 100)
    monkeypatch.setattr("steelyard.tasks.labels.counted.TABLE", table)
    monkeypatch.setattr("steelyard.tasks.labels.counted.TILE", 5)
    report = sy.evaluate("labels", *sides, METRICS, options=EVERY)
    for spec, (error, reach) in expected.items():
        value = report[spec].value
        assert report[spec].se == pytest.approx(error, rel=1e-9), spec
        ends = (max(value - reach, 0.0), min(value + reach, 1.0))
        assert report[spec].interval == pytest.approx(ends, rel=1e-9), spec


def test_many_listed_pairs_have_the_interval_of_the_jackknife(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = drawn(2)
    groups = [{name} for name in sorted(set(sides[0]["person"].tolist()))]
    error, _ = jackknifed(sides, groups, "eer")
    first, second = np.triu_indices(len(sides[0]["image"]), 1)
    image, person = sides[0]["image"], sides[0]["person"]
    truth = {"a": image[first], "b": image[second], "person_a": person[first], "person_b": person[second]}
    monkeypatch.setattr("steelyard.core.ranking.MOST_DRAWN", 100)
    report = sy.evaluate("labels", truth, sides[1], ["eer"], options={"people": "person_a,person_b"})
    assert report["eer"].se == pytest.approx(error, rel=1e-9)
    assert any("jackknife over people" in note for note in report.notes)


def test_many_pairs_refuse_what_needs_every_score(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = drawn(3)
    monkeypatch.setattr("steelyard.core.ranking.MOST_DRAWN", 100)
    for spec in ("dprime", "tar@0.1(rule=nearest)", "ap(ties=order)", "macro(roc_auc)", "accuracy"):
        with refuses("E-unsupported", "every score"):
            sy.evaluate("labels", *sides, [spec], options=EVERY)
    with refuses("E-unsupported", "draws"):
        sy.compare("labels", *sides, sides[1], ["eer"], options=EVERY)
    with refuses("E-missing-column", "country"):
        sy.evaluate("labels", *sides, ["eer"], by="country", options=EVERY)
    with refuses("E-missing-column", "person"):
        sy.evaluate("labels", *sides, ["eer"], options=EVERY, cluster="person")
    with refuses("E-missing-column", "person"):
        sy.evaluate("labels", *sides, ["eer"], options=EVERY, strata="person")
    assert not sy.check("labels", *sides, options=EVERY).findings


def test_reports_of_many_pairs_can_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr("steelyard.core.ranking.MOST_DRAWN", 100)
    report = sy.evaluate("labels", *drawn(4), ["tar@0.1", "eer"], options=EVERY)
    assert "eer" in report.to_text()
    assert len(report.units().units) == 9
    assert report.to_html(tmp_path / "report.html")
    other = sy.evaluate("labels", *drawn(5), ["tar@0.1", "eer"], options=EVERY)
    assert report.sources.truth.digest == other.sources.truth.digest
    assert report.sources.predictions.digest != other.sources.predictions.digest
