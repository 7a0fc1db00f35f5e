"""Eating sequences: the worked values and the decisions about frames that are not there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy

Sequences = dict[str, tuple[list[float], list[float], float]]


def meals(sequences: Sequences) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sequences by name: true weights, predicted weights, energy density."""
    ids = [name for name, (w, _, _) in sequences.items() for _ in w]
    t = [i for w, _, _ in sequences.values() for i in range(len(w))]
    truth = {
        "sequence": ids, "t": t,
        "weight": [x for w, _, _ in sequences.values() for x in w],
        "kcal_per_g": [d for w, _, d in sequences.values() for _ in w],
    }  # fmt: skip
    return truth, {"sequence": ids, "t": t, "weight": [x for _, p, _ in sequences.values() for x in p]}


EXAMPLE: Sequences = {"a": ([100, 70, 20], [110, 60, 30], 2.0), "b": ([50, 50], [40, 45], 0.5)}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("mae_overall", 9.0),
        ("pmae_overall", 15.517241379310345),
        ("mae_initial", 10.0),
        ("pmae_initial", 13.333333333333334),
        ("mae_consumed", 2.5),
        ("pmae_consumed", 6.25),
        ("mae_kcal", 13.5),
        ("pmae_kcal", 15.69767441860465),
        ("mae_sequence", (10 + 7.5) / 2),
        ("pmae_sequence", 100 * (10 + 7.5) / (190 / 3 + 50)),
        ("wape", 15.517241379310345),
        ("bias", -1.0),
    ],
)
def test_worked_example(spec: str, expected: float) -> None:
    assert sy.evaluate("sequences", *meals(EXAMPLE), spec, confidence=None)[spec].value == pytest.approx(
        expected, rel=1e-14
    )


def without(data: dict[str, Any], *rows: int) -> dict[str, Any]:
    return {name: [x for i, x in enumerate(column) if i not in rows] for name, column in data.items()}


def test_nothing_eaten_is_undefined() -> None:
    score = sy.evaluate("sequences", *meals({"b": EXAMPLE["b"]}), "pmae_consumed")["pmae_consumed"]
    assert math.isnan(score.value)
    assert "nothing was eaten" in score.undefined_reason


def test_a_single_frame_is_included_and_counted() -> None:
    data = meals({"a": EXAMPLE["a"], "c": ([80], [70], 1.0)})
    specs = ["mae_consumed", "mae_consumed(exclude_single=true)", "pmae_consumed"]
    report = sy.evaluate("sequences", *data, specs, confidence=None)
    assert report["mae_consumed"].value == 0.0
    assert "1 sequences have a single frame (n_single_frame)" in report["mae_consumed"].notes[0]
    assert report["mae_consumed(exclude_single=true)"].n_excluded == 1
    more = meals({"a": ([100, 20], [110, 50], 2.0), "c": ([80], [70], 1.0)})
    report = sy.evaluate("sequences", *more, specs, confidence=None)
    assert report["mae_consumed"].value == pytest.approx(20 / 2)
    assert report["mae_consumed(exclude_single=true)"].value == pytest.approx(20)
    assert report["pmae_consumed"].value == pytest.approx(100 * 20 / 80)


def test_t_1_is_never_promoted_to_t_0() -> None:
    truth, predictions = meals(EXAMPLE)
    report = sy.evaluate("sequences", without(truth, 0), without(predictions, 0), confidence=None)
    assert report["mae_initial"].value == 10  # of b alone
    assert report["mae_initial"].n_excluded == 1
    assert report["mae_consumed"].value == 5
    assert report["mae_consumed"].n_excluded == 1
    assert report["mae_overall"].value == pytest.approx(35 / 4)


def test_an_invalid_frame_is_out_whether_predicted_or_not() -> None:
    truth, predictions = meals(EXAMPLE)
    truth["valid"] = [True, True, False, True, True]
    for given_predictions in (predictions, without(predictions, 2)):
        report = sy.evaluate("sequences", truth, given_predictions, confidence=None)
        assert report["mae_overall"].value == pytest.approx(35 / 4)
        assert report["mae_consumed"].value == pytest.approx((abs(30 - 50) + 5) / 2)  # a ends at t = 1 now
        assert report.coverage.missing == 0
        assert report.coverage.extra == 0


def test_a_skipped_last_frame_takes_the_sequence_out_of_consumed() -> None:
    truth, predictions = meals(EXAMPLE)
    report = sy.evaluate("sequences", truth, without(predictions, 2), missing="skip", confidence=None)
    assert report["mae_consumed"].value == 5
    assert report["mae_consumed"].n_excluded == 1
    assert report["mae_initial"].n_excluded == 0


def test_energy_density() -> None:
    truth, predictions = meals(EXAMPLE)
    none = {name: column for name, column in truth.items() if name != "kcal_per_g"}
    report = sy.evaluate("sequences", none, predictions, confidence=None)
    assert math.isnan(report["mae_kcal"].value)
    assert report["mae_kcal"].undefined_reason == "no kcal_per_g is given"
    zero = {**truth, "kcal_per_g": [0] * 5}
    report = sy.evaluate("sequences", zero, predictions, confidence=None)
    assert report["mae_kcal"].value == 0
    assert report["pmae_kcal"].undefined_reason == "the foods hold no energy"
    some = {**truth, "kcal_per_g": [2, 2, 2, None, None]}
    report = sy.evaluate("sequences", some, predictions, confidence=None)
    assert report["mae_kcal"].value == 20
    assert report["mae_kcal"].n_excluded == 2


def reference(truth: list[list[float]], predicted: list[list[float]], density: list[float]) -> dict[str, float]:
    """Equations 5 to 12 of the paper, term by term."""
    frames = sum(len(w) for w in truth)
    n = len(truth)
    mae = sum(abs(a - b) for w, p in zip(truth, predicted, strict=True) for a, b in zip(w, p, strict=True)) / frames
    initial = sum(abs(w[0] - p[0]) for w, p in zip(truth, predicted, strict=True)) / n
    consumed = sum(abs((w[0] - w[-1]) - (p[0] - p[-1])) for w, p in zip(truth, predicted, strict=True)) / n
    energy = sum(
        abs(a - b) * d for w, p, d in zip(truth, predicted, density, strict=True) for a, b in zip(w, p, strict=True)
    )
    below = {
        "overall": sum(map(sum, truth)) / frames,
        "initial": sum(w[0] for w in truth) / n,
        "consumed": sum(w[0] - w[-1] for w in truth) / n,
        "kcal": sum(a * d for w, d in zip(truth, density, strict=True) for a in w) / frames,
    }
    above = {"overall": mae, "initial": initial, "consumed": consumed, "kcal": energy / frames}
    values = {f"mae_{name}": value for name, value in above.items()}
    return values | {f"pmae_{name}": 100 * above[name] / below[name] if below[name] > 0 else math.nan for name in above}


meal = st.lists(st.tuples(st.integers(0, 900), st.integers(0, 900)), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(meal, st.sampled_from([0.0, 0.5, 1.25, 4.0])), min_size=1, max_size=8))
def test_parity_with_the_paper(sequences: list[tuple[list[tuple[int, int]], float]]) -> None:
    truth = [[float(a) for a, _ in frames] for frames, _ in sequences]
    predicted = [[float(b) for _, b in frames] for frames, _ in sequences]
    density = [d for _, d in sequences]
    data: Sequences = {f"s{i}": (w, p, d) for i, (w, p, d) in enumerate(zip(truth, predicted, density, strict=True))}
    report = sy.evaluate("sequences", *meals(data), confidence=None)
    for spec, expected in reference(truth, predicted, density).items():
        np.testing.assert_allclose(report[spec].value, expected, rtol=1e-12, atol=1e-12)
