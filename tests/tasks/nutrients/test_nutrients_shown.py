"""What reports of nutrients show beside numbers, by hand; and the numbers of Nutrition5k's script."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.nutrition5k import PREDICTED, TRUTH, nutrition5k, nutrition5k_rows

import steelyard as sy


def four_dishes() -> sy.Report:
    truth = {**TRUTH, "cuisine": ["home", "home", "canteen", "home"]}
    return sy.evaluate("nutrients", truth, PREDICTED, ["mae"], confidence=None)


def test_every_target_has_its_pictures() -> None:
    names = [f"{name}_{target}" for target in ("mass", "energy", "fat") for name in ("agreement", "bland_altman")]
    assert list(four_dishes().figures) == ["relative_errors", "split", *names]
    shown = four_dishes().figure("agreement_energy")
    assert (shown.name, shown.chart, shown.title) == ("agreement_energy", "agreement", "Predicted against true: energy")
    assert list(shown.columns["x"]) == TRUTH["energy"]
    assert shown.facts == {"x": "true, kcal", "y": "predicted, kcal", "item": "dish"}
    limits = four_dishes().figure("bland_altman_energy").facts
    assert limits["low"] == pytest.approx(-1.96 * np.sqrt(5600 / 3))


def test_errors_of_all_targets_by_their_means() -> None:
    shown = four_dishes().figure("relative_errors")
    assert list(shown.columns["name"]) == ["mass", "mass", "energy", "energy", "fat", "fat"]
    assert list(shown.columns["series"]) == ["MAE", "bias"] * 3
    expected = [30, -10, 100 * 30 / 175, 0, 17.5, -2.5]
    assert shown.columns["value"] == pytest.approx(expected)


def test_the_split_leads_from_nothing_to_the_error() -> None:
    shown = four_dishes().figure("split")
    assert shown.columns["name"] == ["no error", "mass", "composition", "both together", "MAE of the energy"]
    assert shown.columns["start"] == pytest.approx([0, 0, 37.5, 92.5, 30])
    assert shown.columns["end"] == pytest.approx([0, 37.5, 92.5, 30, 30])
    assert shown.columns["text"] == ["0", "+37.5 kcal", "+55 kcal", "−62.5 kcal", "30 kcal"]
    assert shown.table is not None
    assert shown.table.values[:, 0].tolist() == pytest.approx([37.5, 55, -62.5, 30])


def test_no_picture_is_made_of_nothing() -> None:
    one = sy.evaluate("nutrients", {"dish": [1, 2], "fat": [1, 2]}, {"dish": [1, 2], "fat": [1, 3]}, confidence=None)
    assert list(one.figures) == ["agreement_fat", "bland_altman_fat"]
    lists = {"dish": [1], "ingredients": ["rice"]}
    assert list(sy.evaluate("nutrients", lists, lists, confidence=None).figures) == []


def test_rows_can_be_looked_through() -> None:
    listing = four_dishes().listing()
    assert listing is not None
    assert list(listing.columns["error of energy, kcal"]) == [40, 0, -60, 20]
    assert listing.x == "error of mass, g"
    assert "cuisine" in listing.columns


@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("missing", ["skip", "worst"])
def test_the_numbers_of_nutrition5k(tmp_path: Path, seed: int, missing: str) -> None:
    """Whatever happens here to dishes that the model skipped, the script leaves them out."""
    truth, predicted = nutrition5k_rows(seed, counted=False)
    for name, rows in (("metadata.csv", truth), ("predictions.csv", predicted)):
        (tmp_path / name).write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    files = tmp_path / "metadata.csv", tmp_path / "predictions.csv"
    report = sy.evaluate("nutrients", *files, "mae", missing=missing, explain=["nutrition5k"], confidence=None)
    in_units, in_percent = report.explanations
    expected = nutrition5k(truth, predicted)
    names = {"energy": "calories", "mass": "mass", "fat": "fat", "carbohydrate": "carb", "protein": "protein"}
    for target, name in names.items():
        assert in_units.theirs[f"{name}_MAE"] == pytest.approx(expected[f"mae(target={target})"], rel=1e-12)
        assert in_percent.theirs[f"{name}_MAE_%"] == pytest.approx(expected[f"pmae(target={target})"], rel=1e-12)
        assert in_units.ours[f"{name}_MAE"] == pytest.approx(report[f"mae(target={target})"].value, rel=1e-12)
    assert (in_units.theirs == in_units.ours) == (missing == "skip")


def test_weights_are_not_known_to_the_script() -> None:
    truth = {**TRUTH, "sample_weight": [1, 3, 1, 1]}
    (explanation, _) = sy.evaluate(
        "nutrients", truth, PREDICTED, "mae", explain=["nutrition5k"], confidence=None
    ).explanations
    assert explanation.ours["mass_MAE"] == pytest.approx((50 + 300) / 6)
    assert explanation.theirs["mass_MAE"] == pytest.approx(150 / 4)
