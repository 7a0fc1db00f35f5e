"""The figures, tables and lists of a report of nutrients, whole, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.nutrition5k import PREDICTED, TRUTH
from support.shown import check_figure, check_listing, check_table

import steelyard as sy

RELATIVE = (
    "The mean absolute error and the mean error of each target, by its mean true amount. A bias as long as the MAE "
    "means that all errors go one way."
)


def report_of(truth: dict[str, Any], predicted: dict[str, Any], **options: Any) -> sy.Report:
    return sy.evaluate("nutrients", truth, predicted, ["mae"], confidence=None, options=options)


def test_relative_errors() -> None:
    """Errors of mass are 50, -100, 0, 0 of 125 g on average; of energy 40, 0, -60, 20 of 175; of fat 2, 1, -4, 0 of 10."""
    check_figure(
        report_of(TRUTH, PREDICTED).figure("relative_errors"),
        ("relative_errors", "bars", "Errors of all targets"),
        {
            "name": ["mass", "mass", "energy", "energy", "fat", "fat"],
            "value": [30, -10, 100 * 30 / 175, 0, 17.5, -2.5],
            "series": ["MAE", "bias"] * 3,
        },
        {"x": "percent of the mean true amount"},
        RELATIVE,
    )


def test_targets_that_are_0_have_no_relative_error() -> None:
    truth = {"dish": [1, 2], "mass": [10, 30], "fat": [0, 0], "protein": [1, 3]}
    shown = report_of(truth, {"dish": [1, 2], "mass": [12, 30], "fat": [1, 1], "protein": [1, 1]})
    columns = {
        "name": ["mass", "mass", "protein", "protein"],
        "value": [5, 5, 50, -50],
        "series": ["MAE", "bias", "MAE", "bias"],
    }
    check_figure(
        shown.figure("relative_errors"),
        ("relative_errors", "bars", "Errors of all targets"),
        columns,
        {"x": "percent of the mean true amount"},
        RELATIVE,
    )


def test_split_of_the_energy_error() -> None:
    shown = report_of(TRUTH, PREDICTED).figure("split")
    check_figure(
        shown,
        ("split", "waterfall", "Where the energy error comes from"),
        {
            "name": ["no error", "mass", "composition", "both together", "MAE of the energy"],
            "start": [0, 0, 37.5, 92.5, 30],
            "end": [0, 37.5, 92.5, 30, 30],
            "text": ["0", "+37.5 kcal", "+55 kcal", "−62.5 kcal", "30 kcal"],
        },
        {"x": "mean absolute error, kcal"},
        "What a wrong mass alone and a wrong composition alone would cost, and what they cost together: below 0 the "
        "two faults cancel in some dishes. The parts add up to the error.",
    )
    head = ("split", "Where the energy error comes from", "part")
    rows = ["mass", "composition", "both together", "all"]
    check_table(shown.table, head, rows, ["error, kcal"], [37.5, 55, -62.5, 30])


@pytest.mark.parametrize(("item", "plural"), [("dish", "dishes"), ("item", "items")])
def test_agreement_of_a_target(item: str, plural: str) -> None:
    """Of fat: pairs of 10 and 12, 0 and 1, 20 and 16, 10 and 10."""
    items = {"item": [1, 1, 1, 1]} if item == "item" else {}
    shown = report_of({**TRUTH, **items}, {**PREDICTED, **items})
    agreement, bland_altman = shown.figure("agreement_fat"), shown.figure("bland_altman_fat")
    check_figure(
        agreement,
        ("agreement_fat", "agreement", "Predicted against true: fat"),
        {"x": [10, 0, 20, 10], "y": [12, 1, 16, 10]},
        {"x": "true, g", "y": "predicted, g", "item": item},
        f"Each point is one {item}. On the line prediction and truth are equal; above it the prediction is too high.",
    )
    deviation = np.std([2, 1, -4, 0], ddof=1)
    limits = [-0.25, -0.25 - 1.96 * deviation, -0.25 + 1.96 * deviation]
    check_figure(
        bland_altman,
        ("bland_altman_fat", "bland_altman", "Difference against mean (Bland–Altman): fat"),
        {"x": [11, 0.5, 18, 10], "y": [2, 1, -4, 0]},
        {
            "x": "mean of true and predicted, g",
            "y": "predicted − true, g",
            "item": item,
            "bias": limits[0],
            "low": pytest.approx(limits[1]),
            "high": pytest.approx(limits[2]),
        },
        "The solid line is the mean difference. Between the dashed lines (1.96 standard deviations) lie about 95 % of "
        f"the {plural}, if differences are normal.",
    )
    head = ("bland_altman", "Limits of agreement", "")
    rows = ["mean difference", "lower limit", "upper limit", plural]
    check_table(bland_altman.table, head, rows, ["g"], [*limits, 4])


def test_means_by_true_value() -> None:
    """Two rows of 1 and two of 9: the groups hold equal values together."""
    truth = {"dish": [1, 2, 3, 4], "fat": [9, 1, 9, 1]}
    shown = report_of(truth, {"dish": [1, 2, 3, 4], "fat": [8, 1, 12, 4]})
    columns = ["number", "mean true", "mean predicted", "mean absolute error", "mean error"]
    table = shown.figure("agreement_fat").table
    head = ("agreement", "Means by true value", "true, g")
    assert table is not None
    assert (table.values[:, 0].sum(), list(table.columns)) == (4, columns)
    rows = dict(zip(table.rows, table.values.tolist(), strict=True))
    assert rows == {"1 to 1": [2, 1, 2.5, 1.5, 1.5], "9 to 9": [2, 9, 10, 2, 1]}
    assert (table.name, table.title, table.corner) == head


def test_every_row() -> None:
    truth = {**TRUTH, "cuisine": ["home", "home", "canteen", "home"], "item": ["a", "b", "a", "c"]}
    columns = {
        "dish": ["1", "2", "3", "4"],
        "item": ["a", "b", "a", "c"],
        "true mass, g": [100, 200, 150, 50],
        "predicted mass, g": [150, 100, 150, 50],
        "error of mass, g": [50, -100, 0, 0],
        "true energy, kcal": [200, 100, 300, 100],
        "predicted energy, kcal": [240, 100, 240, 120],
        "error of energy, kcal": [40, 0, -60, 20],
        "true fat, g": [10, 0, 20, 10],
        "predicted fat, g": [12, 1, 16, 10],
        "error of fat, g": [2, 1, -4, 0],
        "cuisine": ["home", "home", "canteen", "home"],
    }
    listing = report_of(truth, {**PREDICTED, "item": truth["item"]}).listing()
    check_listing(listing, ("rows", "Rows"), columns, "", "error of mass, g")


def test_only_nine_targets_are_drawn() -> None:
    """All ten are in the picture of all; the list and the pairs of pictures end with the ninth."""
    names = [f"t{k}" for k in range(10)]
    side = {"dish": [1, 2], **{name: [1, 2] for name in names}}
    shown = report_of(side, side, target=[f"{name}=mg" for name in names])
    assert shown.figure("relative_errors").columns["name"] == [name for name in names for _ in range(2)]
    drawn = [f"{kind}_{name}" for name in names[:9] for kind in ("agreement", "bland_altman")]
    assert list(shown.figures) == ["relative_errors", *drawn]
    listing = shown.listing()
    assert listing is not None
    shown_columns = [f"{kind} {name}, mg" for name in names[:9] for kind in ("true", "predicted", "error of")]
    assert list(listing.columns) == ["dish", *shown_columns]
