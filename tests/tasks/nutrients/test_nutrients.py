"""Nutrients: values by hand, parity with scikit-learn, pingouin and Nutrition5k's formula, units, files, ingredients."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.drawn_nutrients import TARGETS, draw_nutrients
from support.lazy import lazy
from support.nutrition5k import DISH, PREDICTED, TRUTH, nutrition5k, nutrition5k_rows
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue

sk = lazy("sklearn.metrics")
scipy_stats = lazy("scipy.stats")
GOLDENS = Path(__file__).parents[2] / "goldens" / "nutrients.json"


def value(spec: str, truth: Any = TRUTH, predicted: Any = PREDICTED, **settings: Any) -> float:
    report = sy.evaluate("nutrients", truth, predicted, spec, confidence=None, **settings)
    (score,) = report.scores.values()
    return float(score.value)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [  # by hand
        ("mae(target=mass)", 150 / 4),
        ("mae(target=energy)", 30),
        ("pmae(target=energy)", 100 * 30 / 175),
        ("pmae(target=mean)", 100 * (37.5 / 125 + 30 / 175 + 1.75 / 10) / 3),
        ("pmae(target=[energy, fat])", 100 * (30 / 175 + 1.75 / 10) / 2),
        ("mape(target=fat)", 100 * (0.2 + 0.2 + 0) / 3),  # without the dish that has no fat
        ("medae(target=energy)", 30),
        ("medae(target=fat)", 1.5),
        ("bias(target=mass)", -12.5),
        ("rmse(target=fat)", math.sqrt(21 / 4)),
        ("within@20(target=energy)", 100),
        ("within@19(target=energy)", 25),
        ("within@20(target=mean)", (50 + 100 + 75) / 3),
        ("r2(target=energy)", 1 - 5600 / 27500),
        # At the true mass the predictions of energy are 160, 200, 240 and 120.
        ("mae(target=energy, scaled=mass)", (40 + 100 + 60 + 20) / 4),
        ("bias(target=energy, scaled=mass)", (-40 + 100 - 60 + 20) / 4),
        # With the predicted mass and the true density: 300, 50, 300 and 100.
        ("split_mass", (100 + 50) / 4),
        ("split_composition", 220 / 4),
        ("split_interaction", 30 - 37.5 - 55),
        ("split_mass(interaction=shared)", 37.5 + (30 - 37.5 - 55) / 2),
        ("split_composition(interaction=shared)", 55 + (30 - 37.5 - 55) / 2),
        ("split_mass(of=bias)", (100 - 50) / 4),
        ("split_composition(of=bias)", 20 / 4),
        ("split_interaction(of=bias)", 0 - 12.5 - 5),
        ("loa_lower(target=energy)", 0 - 1.96 * math.sqrt(5600 / 3)),
        ("loa_upper(target=energy, sd=2)", 2 * math.sqrt(5600 / 3)),
        # Sums of squares and products around the means: 27500 and 17100, and 19500; both means are 175.
        ("ccc(target=energy)", 2 * 19500 / 44600),
        ("icc(target=energy)", 2 * 19500 / 44600),
    ],
)
def test_worked_example(spec: str, expected: float) -> None:
    assert value(spec) == pytest.approx(expected, rel=1e-12)


def test_a_metric_without_a_target_is_reported_for_each() -> None:
    report = sy.evaluate("nutrients", TRUTH, PREDICTED, ["mae", "pmae(scaled=mass)"], confidence=None)
    assert list(report.scores) == [
        "mae(target=mass)",
        "mae(target=energy)",
        "mae(target=fat)",
        "pmae(target=energy, scaled=mass)",
        "pmae(target=fat, scaled=mass)",
    ]
    assert [score.measured_in for score in report.scores.values()] == ["g", "kcal", "g", "%", "%"]


def drawn(seed: int, rows: int = 80) -> tuple[dict[str, Any], dict[str, Any]]:
    truth, predicted = draw_nutrients(np.random.default_rng(seed), rows)
    return truth, predicted


@pytest.mark.parametrize("target", TARGETS)
def test_parity_with_scikit_learn_and_scipy(target: str) -> None:
    truth, predicted = drawn(1)
    use = ~np.isnan(truth[target])
    y, p = truth[target][use], predicted[target][use]
    expected = {
        "mae": sk.mean_absolute_error(y, p),
        "medae": sk.median_absolute_error(y, p),
        "rmse": sk.root_mean_squared_error(y, p),
        "r2": sk.r2_score(y, p),
        "mape(zero=eps)": 100 * sk.mean_absolute_percentage_error(y, p),
        "pearson": scipy_stats.pearsonr(y, p).statistic,
        "pmae": 100 * sk.mean_absolute_error(y, p) / y.mean(),
    }
    for spec, number in expected.items():
        named = spec.replace(")", f", target={target})") if ")" in spec else f"{spec}(target={target})"
        assert value(named, truth, predicted) == pytest.approx(number, rel=1e-10), spec


@pytest.mark.parametrize("case", range(3))
def test_parity_with_pingouin(case: int) -> None:
    golden = json.loads(GOLDENS.read_text())["cases"][case]
    dish = list(range(len(golden["truth"])))
    sides = {"dish": dish, "protein": golden["truth"]}, {"dish": dish, "protein": golden["predicted"]}
    assert value("icc", *sides) == pytest.approx(golden["icc"], rel=1e-12)
    assert value("loa_lower", *sides) == pytest.approx(golden["limits"][0], rel=1e-12)
    assert value("loa_upper", *sides) == pytest.approx(golden["limits"][1], rel=1e-12)


def test_concordance_is_that_of_lin() -> None:
    """Lin (1989): twice the covariance by both variances and the squared difference of the means, divided by n."""
    truth, predicted = drawn(2)
    y, p = truth["protein"], predicted["protein"]
    expected = 2 * np.cov(y, p, ddof=0)[0, 1] / (y.var() + p.var() + (y.mean() - p.mean()) ** 2)
    assert value("ccc(target=protein)", truth, predicted) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("of", ["mae", "bias"])
@pytest.mark.parametrize("target", ["energy", "protein"])
def test_the_parts_of_the_split_add_up_to_the_error(of: str, target: str) -> None:
    truth, predicted = drawn(3)
    total = value(f"{of}(target={target})", truth, predicted)
    settings = f"target={target}, of={of}"
    three = [value(f"split_{part}({settings})", truth, predicted) for part in ("mass", "composition", "interaction")]
    two = [value(f"split_{part}({settings}, interaction=shared)", truth, predicted) for part in ("mass", "composition")]
    assert math.fsum(three) == pytest.approx(total, rel=1e-12)
    assert math.fsum(two) == pytest.approx(total, rel=1e-12)


def test_the_split_is_shapleys_over_both_orders() -> None:
    """The mean over both orders in which mass and density go from true to predicted."""
    truth, predicted = drawn(4)
    m, e = truth["mass"], truth["energy"]
    c = e / m
    m2, c2 = predicted["mass"], predicted["energy"] / predicted["mass"]
    error = lambda mass, density: np.abs(mass * density - e).mean()  # noqa: E731
    mass = (error(m2, c) - error(m, c) + error(m2, c2) - error(m, c2)) / 2
    assert value("split_mass(interaction=shared)", truth, predicted) == pytest.approx(mass, rel=1e-10)


def test_rows_without_a_mass_are_left_out_of_the_split_and_counted() -> None:
    predicted = {**PREDICTED, "mass": [150, 0, 150, 50]}
    report = sy.evaluate(
        "nutrients", TRUTH, predicted, ["split_mass", "mae(scaled=mass, target=energy)"], confidence=None
    )
    assert report["split_mass"].value == pytest.approx(100 / 3)
    assert (report["split_mass"].n_excluded, report["split_mass"].excluded[:4]) == (1, "rows")
    assert report["mae(target=energy, scaled=mass)"].value == pytest.approx((40 + 60 + 20) / 3)


def test_an_unknown_true_amount_leaves_the_row_out_of_that_target_alone() -> None:
    truth = {**TRUTH, "fat": [10, 0, float("nan"), 10]}
    assert value("mae(target=fat)", truth) == 1.0
    assert value("mae(target=energy)", truth) == 30.0


@pytest.mark.parametrize("counted", [False, True])
def test_files_of_nutrition5k_and_its_numbers(tmp_path: Path, counted: bool) -> None:
    truth, predicted = nutrition5k_rows(5, counted)
    for name, rows in (("metadata.csv", truth), ("predictions.csv", predicted)):
        (tmp_path / name).write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    files = tmp_path / "metadata.csv", tmp_path / "predictions.csv"
    report = sy.evaluate("nutrients", *files, ["mae", "pmae"], missing="skip", confidence=None)
    for spec, number in nutrition5k(truth, predicted).items():
        assert report[spec].value == pytest.approx(number, rel=1e-12), spec
    assert sum("Nutrition5k's CSV" in note for note in report.notes) == 2
    listed = sy.evaluate("nutrients", files[0], files[0], "ingredient_f1", confidence=None)
    assert listed["ingredient_f1"].value == 1.0


def test_tables_by_the_names_that_other_data_sets_use() -> None:
    truth = {"dish_id": ["a"], "total_food_weight": [100], "total_calories": [50], "total_carbohydrates": [3]}
    predicted = {"dish_id": ["a"], "grams": [90], "kcal": [60], "carbs": [5]}
    report = sy.evaluate("nutrients", truth, predicted, "mae", confidence=None)
    assert {spec: score.value for spec, score in report.scores.items()} == {
        "mae(target=mass)": 10.0,
        "mae(target=energy)": 10.0,
        "mae(target=carbohydrate)": 2.0,
    }


def test_one_table_with_both_sides() -> None:
    both = {**TRUTH, **{f"predicted_{name}": PREDICTED[name] for name in ("energy", "fat")}}
    report = sy.evaluate("nutrients", both, None, "mae", confidence=None)
    assert {spec: score.value for spec, score in report.scores.items()} == {
        "mae(target=energy)": 30.0,
        "mae(target=fat)": 1.75,
    }


def test_a_target_of_ones_own_with_its_unit() -> None:
    truth, predicted = {"dish": DISH, "iron": [1, 2, 3, 4]}, {"dish": DISH, "Fe": [1.5, 2, 3, 4]}
    settings: dict[str, Any] = {"options": {"target": "iron=mg"}, "columns": {"prediction.iron": "Fe"}}
    report = sy.evaluate("nutrients", truth, predicted, "mae", confidence=None, **settings)
    score = report["mae(target=iron)"]
    assert (score.value, score.measured_in, score.label) == (0.125, "mg", "Mean absolute error, iron")
    both = {"dish": [1, 2], "iron": [1, 2], "predicted_iron": [1, 4]}
    assert value("mae", both, None, options={"target": {"iron": "mg"}}) == 1.0


def test_predictions_are_converted_to_the_units_of_the_truth() -> None:
    predicted = {**PREDICTED, "energy": [x * 4.184 for x in PREDICTED["energy"]]}
    options = {"prediction.target": "energy=kJ"}
    assert value("mae(target=energy)", TRUTH, predicted, options=options) == pytest.approx(30, rel=1e-12)
    joules = {**TRUTH, "energy": [x * 4.184 for x in TRUTH["energy"]]}
    report = sy.evaluate(
        "nutrients", joules, predicted, "mae(target=energy)", options={"target": "energy=kJ"}, confidence=None
    )
    score = report["mae(target=energy)"]
    assert (score.value, score.measured_in) == (pytest.approx(30 * 4.184), "kJ")
    ounces = {**PREDICTED, "mass": [x / 28.349523125 for x in PREDICTED["mass"]]}
    assert value("mae(target=mass)", TRUTH, ounces, options={"prediction.target": "mass=oz"}) == pytest.approx(37.5)


LISTS = (
    {"dish": [1, 2], "ingredients": ["Rice=100|beans=50|salt=2", "bread=80"]},
    {"dish": [1, 2], "ingredients": ["rice=60|beans=50|egg=40", ""]},
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [  # by hand: 2 of 3 and 2 of 3 in the first dish, nothing in the second
        ("ingredient_precision", (2 / 3) / 2),
        ("ingredient_recall", (2 / 3) / 2),
        ("ingredient_f1", (2 / 3) / 2),
        ("ingredient_jaccard", (2 / 4) / 2),
        ("ingredient_precision(average=pooled)", 2 / 3),
        ("ingredient_recall(average=pooled)", 2 / 4),
        ("ingredient_f1(average=pooled)", 4 / 7),
        ("ingredient_jaccard(average=pooled)", 2 / 5),
        ("ingredient_precision(by=mass)", (110 / 150) / 2),
        ("ingredient_recall(by=mass)", (150 / 152) / 2),
        ("ingredient_jaccard(by=mass)", (110 / 192) / 2),
        ("ingredient_recall(by=mass, average=pooled)", 150 / 232),
    ],
)
def test_lists_of_ingredients(spec: str, expected: float) -> None:
    assert value(spec, *LISTS) == pytest.approx(expected, rel=1e-12)


def test_ingredients_agree_with_scikit_learn() -> None:
    truth, predicted = drawn(6)
    rows = [
        [{part.split("=")[0] for part in text.split("|")} for text in side["ingredients"]]
        for side in (truth, predicted)
    ]
    foods = sorted({food for side in rows for row in side for food in row})
    y, p = (np.array([[food in row for food in foods] for row in side]) for side in rows)
    for name in ("precision", "recall", "f1", "jaccard"):
        function = getattr(sk, f"{name}_score")
        for average, ours in (("samples", "dishes"), ("micro", "pooled")):
            expected = function(y, p, average=average, zero_division=0)
            assert value(f"ingredient_{name}(average={ours})", truth, predicted) == pytest.approx(expected, rel=1e-12)


def test_synonyms_are_off_by_default(tmp_path: Path) -> None:
    (tmp_path / "same.csv").write_text("name,same_as\nAubergine,eggplant\n")
    truth, predicted = {"dish": [1], "ingredients": ["eggplant=50"]}, {"dish": [1], "ingredients": ["aubergine=50"]}
    assert value("ingredient_f1", truth, predicted) == 0.0
    assert value("ingredient_f1(by=mass)", truth, predicted, options={"synonyms": tmp_path / "same.csv"}) == 1.0


def test_defaults_depend_on_the_data() -> None:
    only = sy.evaluate("nutrients", {"dish": [1, 2], "fat": [1, 2]}, {"dish": [1, 2], "fat": [1, 3]}, confidence=None)
    assert list(only.scores) == [f"{name}(target=fat)" for name in ("mae", "pmae", "bias")]
    lists = sy.evaluate("nutrients", *LISTS, confidence=None)
    assert list(lists.scores) == ["ingredient_f1", "ingredient_jaccard"]


def test_the_unit_is_the_dish_and_people_may_be_clusters() -> None:
    truth, predicted = drawn(7)
    plain = sy.evaluate("nutrients", truth, predicted, "mae(target=energy)")
    clustered = sy.evaluate("nutrients", truth, predicted, "mae(target=energy)", cluster="group")
    assert plain["mae(target=energy)"].units == 80
    assert clustered["mae(target=energy)"].clusters == 3


def test_specs_of_metrics_are_read_back() -> None:
    for text in (
        "mae(target=protein)",
        'mae(target="vitamin c", scaled=mass)',
        "pmae(target=[fat, protein])",
        "within@30(target=mean)",
    ):
        assert str(catalogue.parse(text, "nutrients")) == text


BAD: list[tuple[str, str, dict[str, Any]]] = [
    ("mae(target=mean)", "E-invalid-spec", {}),
    ("pmae(target=[fat])", "E-invalid-spec", {}),
    ("pmae(target=[fat, fat])", "E-invalid-spec", {}),
    ("pmae(target=[fat, 3])", "E-invalid-spec", {}),
    ("mae(target=mass, scaled=mass)", "E-invalid-spec", {}),
    ("mae(scaled=energy)", "E-invalid-spec", {}),
    ("mae(target=protein)", "E-unknown-name", {}),
    ("split_mass(target=mass)", "E-invalid-spec", {}),
    ("split_interaction(interaction=shared)", "E-invalid-spec", {}),
    ("split_mass(target=protein)", "E-missing-column", {}),
    ("loa_lower(sd=0)", "E-invalid-spec", {}),
    ("within@0(target=fat)", "E-invalid-spec", {}),
    ("ingredient_f1", "E-missing-column", {}),
    ("mae", "E-missing-column", {"options": {"target": "iron=mg"}}),
    ("mae", "E-invalid-setting", {"options": {"target": "iron"}}),
    ("mae", "E-invalid-setting", {"options": {"target": "=mg"}}),
    ("mae", "E-duplicate-key", {"options": {"target": "fat=g,fat=mg"}}),
    ("mae", "E-invalid-setting", {"options": {"target": "dish=g"}}),
    ("mae", "E-incompatible", {"options": {"prediction.target": "fat=kJ"}}),
    ("mae", "E-incompatible", {"options": {"prediction.target": "mass=ml"}}),
    ("mae", "E-unknown-name", {"options": {"targets": "fat=g"}}),
    ("mae", "E-invalid-setting", {"options": {"format": "csv"}}),
]


@pytest.mark.parametrize(("spec", "code", "settings"), BAD)
def test_wrong_specs_and_options_are_refused(spec: str, code: str, settings: dict[str, Any]) -> None:
    with refuses(code):
        sy.evaluate("nutrients", TRUTH, PREDICTED, spec, confidence=None, **settings)


def test_scaling_needs_the_mass() -> None:
    without = [{name: side[name] for name in ("dish", "fat")} for side in (TRUTH, PREDICTED)]
    with refuses("E-missing-column"):
        sy.evaluate("nutrients", *without, "mae(scaled=mass)")


def test_mass_of_ingredients_is_needed_where_it_is_asked_for() -> None:
    truth, predicted = {"dish": [1], "ingredients": ["rice"]}, {"dish": [1], "ingredients": ["rice=5"]}
    assert value("ingredient_f1", truth, predicted) == 1.0
    with refuses("E-missing-column"):
        sy.evaluate("nutrients", truth, predicted, "ingredient_f1(by=mass)")


@pytest.mark.parametrize(
    ("target", "name", "unit"),
    [("mass", "weight_oz", "mass=oz"), ("energy", "energy_kJ", "energy=kJ"), ("mass", "volume_ml", "mass=ml")],
)
def test_a_name_that_says_another_unit_is_mentioned(target: str, name: str, unit: str) -> None:
    truth, predicted = drawn(8, 10)
    truth[name] = truth.pop(target)
    settings: dict[str, Any] = {"columns": {f"truth.{target}": name}}
    assert "unit-in-name" in sy.check("nutrients", truth, predicted, **settings)
    assert "unit-in-name" not in sy.check("nutrients", truth, predicted, options={"target": unit}, **settings)


def test_a_target_of_ones_own_on_other_paths(tmp_path: Path) -> None:
    truth, predicted = {"dish": DISH, "iron": [1.0, 2, 3, 4]}, {"dish": DISH, "iron": [1.5, 2, 3, 5]}
    options = {"target": {"iron": "mg"}}
    whole = sy.evaluate("nutrients", truth, predicted, "mae", options=options, draws=100)
    parts = sy.Accumulator("nutrients", options=options, draws=100)
    for rows in (slice(0, 1), slice(1, 4)):
        parts.update(*({name: column[rows] for name, column in side.items()} for side in (truth, predicted)))
    for report in (parts.report("mae"), sy.load(_saved(whole, tmp_path / "result.json"))):
        score, expected = report["mae(target=iron)"], whole["mae(target=iron)"]
        assert (score.value, score.interval, score.measured_in) == (expected.value, expected.interval, "mg")
        assert dict(report.request.options) == {"target": "iron=mg"}


def _saved(report: sy.Report, path: Path) -> Path:
    path.write_text(report.to_json())
    return path
