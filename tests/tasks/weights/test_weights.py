"""Food weights: the worked values, the decisions about edge cases, parity with scikit-learn."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy

sk = lazy("sklearn.metrics")
scipy_stats = lazy("scipy.stats")


def food(*rows: tuple[str, float, float]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rows of (dish, true, predicted); items are numbered."""
    keys = {"dish": [row[0] for row in rows], "item": list(range(len(rows)))}
    return {**keys, "weight": [row[1] for row in rows]}, {**keys, "weight": [row[2] for row in rows]}


EXAMPLE = (("A", 100, 110), ("A", 50, 40), ("B", 200, 150), ("B", 10, 30))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [  # by hand, from the formulas of the specification
        ("mae", 90 / 4),
        ("mape", 63.75),
        ("wape", 25.0),
        ("wmae_total", 29.285714285714285),
        ("wmae_sample", 32.5),
        ("bias", (10 - 10 - 50 + 20) / 4),
        ("rmse", math.sqrt((100 + 100 + 2500 + 400) / 4)),
        ("within@10", 25.0),
        ("within@20", 50.0),
        ("within@25", 75.0),
        ("within@200", 100.0),
    ],
)
def test_worked_example(spec: str, expected: float) -> None:
    report = sy.evaluate("weights", *food(*EXAMPLE), spec, confidence=None)
    assert report[spec].value == pytest.approx(expected, rel=1e-14)
    assert report[spec].interval is None


def test_each_dish_is_in_the_table_of_units() -> None:
    table = sy.evaluate("weights", *food(*EXAMPLE)).units()
    assert table.units.tolist() == ["A", "B"]
    assert table.values["wmae_sample"].tolist() == pytest.approx([10.0, 48.57142857142857], rel=1e-14)
    assert table.values["wmae_total"].tolist() == pytest.approx([10.0, 48.57142857142857], rel=1e-14)


def test_a_true_weight_of_zero_is_left_out_of_mape_and_counted() -> None:
    data = food(("A", 100, 110), ("A", 0, 5))
    report = sy.evaluate("weights", *data, ["mape", "wape", "mae"], confidence=None)
    assert report["mape"].value == pytest.approx(10.0)
    assert report["mape"].n_excluded == 1
    assert report["wape"].value == pytest.approx(15.0)
    assert report["mae"].value == pytest.approx(7.5)
    with refuses("E-invalid-value", "1", "0"):
        sy.evaluate("weights", *data, "mape(zero=error)")
    expected = 100 * sk.mean_absolute_percentage_error([100, 0], [110, 5])
    score = sy.evaluate("weights", *data, "mape(zero=eps)", confidence=None)["mape(zero=eps)"]
    assert score.value == pytest.approx(expected, rel=1e-12)
    assert score.n_excluded == 0


def test_mape_without_a_positive_weight_is_undefined() -> None:
    score = sy.evaluate("weights", *food(("A", 0, 5)), "mape")["mape"]
    assert math.isnan(score.value)
    assert score.undefined_reason == "no row has a positive true weight"
    assert score.interval is None


def test_a_dish_without_weight_is_out_of_the_total_and_counted() -> None:
    report = sy.evaluate("weights", *food(("A", 100, 110), ("B", 0, 7)), "wmae_total", confidence=None)
    assert report["wmae_total"].value == pytest.approx(10.0)
    assert report["wmae_total"].n_excluded == 1
    assert report["wmae_total"].excluded == "dishes whose true weights add up to 0"


def test_a_free_item_is_warned_of_once() -> None:
    report = sy.evaluate("weights", *food(("A", 100, 110), ("A", 0, 500)))
    assert report["wmae_sample"].value == pytest.approx(10.0)
    assert report["mae"].value == pytest.approx(255.0)
    assert str(report).count("hallucinated") == 1


def test_partial_dishes() -> None:
    truth, predictions = food(*EXAMPLE)
    truth["complete"] = [True, True, False, False]
    report = sy.evaluate(
        "weights", truth, predictions, ["wmae_total", "wmae_total(partial=allow)", "wmae_sample"], confidence=None
    )
    assert math.isnan(report["wmae_total"].value)
    assert report["wmae_total"].undefined_reason.startswith("1 of 2 dishes is incomplete")
    allowed = report["wmae_total(partial=allow)"]
    assert allowed.value == pytest.approx(29.285714285714285)
    assert "incomplete" in allowed.label
    assert report["wmae_sample"].value == pytest.approx(32.5)


def test_missing_predictions() -> None:
    truth, predictions = food(*EXAMPLE)
    short = {name: column[:3] for name, column in predictions.items()}
    with refuses("E-unmatched", "1", "4"):
        sy.evaluate("weights", truth, short)
    skipped = sy.evaluate("weights", truth, short, missing="skip", confidence=None)
    assert skipped["mae"].value == pytest.approx(70 / 3)
    assert math.isnan(skipped["wmae_total"].value)  # dish B is no longer whole
    assert skipped.coverage.missing == 1
    assert skipped.coverage.share == 0.75
    worst = sy.evaluate("weights", truth, short, missing="worst", confidence=None)
    assert worst["mae"].value == pytest.approx(80 / 4)  # as if 0 g had been predicted for the 10 g item
    assert "1 without a prediction (counted as the worst)" in str(worst)


def test_extra_predictions() -> None:
    truth, predictions = food(*EXAMPLE)
    short = {name: column[:3] for name, column in truth.items()}
    with refuses("E-unmatched", "predictions, row 3"):
        sy.evaluate("weights", short, predictions)
    report = sy.evaluate("weights", short, predictions, extra="skip", confidence=None)
    assert report["mae"].value == pytest.approx(70 / 3)
    assert report.coverage.extra == 1


def test_one_source_with_both_sides() -> None:
    truth, predictions = food(*EXAMPLE)
    both = {**truth, "prediction": predictions["weight"]}
    assert sy.evaluate("weights", both, confidence=None)["mae"].value == 22.5
    gap = {**truth, "prediction": [110, 40, None, 30]}
    with refuses("E-unmatched", "truth, row 2, column 'prediction'"):
        sy.evaluate("weights", gap)
    assert sy.evaluate("weights", gap, missing="skip", confidence=None)["mae"].value == pytest.approx(40 / 3)


def test_dishes_without_items() -> None:
    truth, predictions = {"dish": ["a", "b"], "weight": [100, 50]}, {"dish": ["b", "a"], "weight": [40, 110]}
    assert sy.evaluate("weights", truth, predictions, "mae", confidence=None)["mae"].value == 10


@pytest.mark.parametrize(
    ("names", "hint"),
    [(["rice", "soup", "rice"], "'item': 'food'"), (["rice", "rice", "soup"], "'item': 'YOUR_COLUMN'")],
    ids=["a column tells rows apart", "none does"],
)
def test_items_without_their_column_name_it(names: list[str], hint: str, tmp_path: Path) -> None:
    rows = zip(["a", "a", "b"], names, [1, 2, 3], strict=True)
    path = tmp_path / "dishes.csv"
    path.write_text("dish,food,weight\n" + "".join(f"{dish},{food},{grams}\n" for dish, food, grams in rows))
    with pytest.raises(sy.InputError) as error:
        sy.evaluate("weights", path, path)
    assert error.value.code == "E-duplicate-key"
    assert hint in error.value.remedy
    finding = next(f for f in sy.check("weights", path, path).findings if f.code == "repeated-rows")
    assert hint in finding.remedy


def test_columns_are_sliced_and_clustered_by_the_names_of_the_file() -> None:
    rows = {"plate": ["a", "a", "b", "c"], "food": ["x", "y", "x", "x"], "grams": [10, 20, 30, 40]}
    guesses = {**rows, "grams": [11, 22, 33, 44]}
    columns = {"dish": "plate", "item": "food", "weight": "grams"}
    asked = {"columns": columns, "metrics": "mae", "confidence": None}
    report = sy.evaluate("weights", rows, guesses, by="food", **asked)
    assert {food: part["mae"].value for food, part in report.slices["food"].items()} == {
        "x": pytest.approx(8 / 3),
        "y": 2,
    }
    assert sy.evaluate("weights", rows, guesses, "mae", columns=columns, cluster="plate")["mae"].clusters == 3
    with refuses("E-missing-column", "kitchen", "food"):
        sy.evaluate("weights", rows, guesses, by="kitchen", **asked)


def test_sample_weights_weigh_dishes() -> None:
    truth, predictions = food(*EXAMPLE)
    truth["sample_weight"] = [3, 3, 1, 1]
    report = sy.evaluate("weights", truth, predictions, ["mae", "wmae_total"], confidence=None)
    assert report["mae"].value == pytest.approx((3 * 20 + 70) / 8)
    assert report["wmae_total"].value == pytest.approx((3 * 10 + 48.57142857142857) / 4)


grams = st.floats(0, 2000, allow_subnormal=False).map(lambda x: round(x, 2))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ABCDE"), grams, grams), min_size=2, max_size=30))
@example([("A", 42.89, 0.0)] * 3)  # three of them add up to more than three times one
@example([("A", 42.89, 0.0)] * 3 + [("B", 42.89, 1.0)] * 7)
def test_parity_with_scikit_learn(rows: list[tuple[str, float, float]]) -> None:
    truth, predictions = food(*rows)
    y, p = np.array(truth["weight"]), np.array(predictions["weight"])
    report = sy.evaluate("weights", truth, predictions, confidence=None)

    assert report["mae"].value == pytest.approx(sk.mean_absolute_error(y, p), rel=1e-9)
    assert report["rmse"].value == pytest.approx(sk.root_mean_squared_error(y, p), rel=1e-9)
    positive = y > 0
    if positive.any():
        relative = 100 * sk.mean_absolute_percentage_error(y[positive], p[positive])
        assert report["mape"].value == pytest.approx(relative, rel=1e-9)
        weighted = sk.mean_absolute_error(y, p, sample_weight=y)
        assert report["wmae_sample"].value == pytest.approx(weighted, rel=1e-9, abs=1e-12)
    if np.ptp(y) > 0.01:
        assert report["r2"].value == pytest.approx(sk.r2_score(y, p), rel=1e-6, abs=1e-6)
        if np.ptp(p) > 0.01:
            assert report["pearson"].value == pytest.approx(scipy_stats.pearsonr(y, p).statistic, rel=1e-6, abs=1e-6)
    elif np.ptp(y) == 0:
        assert math.isnan(report["r2"].value)


def test_correlation_keeps_its_digits_far_from_zero() -> None:
    rng = np.random.default_rng(0)
    y = 1e9 + rng.normal(0, 1, 50)
    p = y + rng.normal(0, 0.5, 50)
    rows = [(str(i % 7), a, b) for i, (a, b) in enumerate(zip(y, p, strict=True))]
    report = sy.evaluate("weights", *food(*rows), ["r2", "pearson"], confidence=None)
    assert report["r2"].value == pytest.approx(sk.r2_score(y, p), rel=1e-6)
    assert report["pearson"].value == pytest.approx(scipy_stats.pearsonr(y, p).statistic, rel=1e-6)
