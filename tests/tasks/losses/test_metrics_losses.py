"""Losses of a detector by hand: what is added up, what is divided by, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.asked import pairs_of, refusal, values_of
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.statistic import SharedCache
from steelyard.tasks.losses.task import BoxSum, FocalSum, LossRows, sides

nan = np.nan
LN2 = math.log(2)
KEYS = {"image": ["i", "i", "i", "j", "j"], "item": list("abcab")}
# Rows of class: a logit of 0 for a positive and for a negative in i, for a half in j, which is ignored. Rows of box: an
# error of 3 in i, and of half in j.
TRUTH = {
    **KEYS,
    "target": [1, 0, nan, 0.5, nan],
    "value": [nan, nan, 5, nan, 2],
    "ignore": [False, False, False, True, False],
}
FOUND = {**KEYS, "logit": [0, 0, nan, 0, nan], "value": [nan, nan, 8, nan, 2.5]}


def summed(need: Any, truth: Any = TRUTH, predicted: Any = FOUND) -> list[float]:
    return [float(v) for v in need.measure(pairs_of("losses", truth, predicted), SharedCache()).values]


def test_rows() -> None:
    assert {of: summed(LossRows(of)) for of in ("classes", "positives", "boxes", "ignored")} == {
        "classes": [2, 0], "positives": [1, 0], "boxes": [1, 1], "ignored": [0, 1],
    }  # fmt: skip
    every = {name: values for name, values in TRUTH.items() if name != "ignore"}
    assert {of: summed(LossRows(of), every) for of in ("classes", "positives", "boxes", "ignored")} == {
        "classes": [2, 1], "positives": [1, 0.5], "boxes": [1, 1], "ignored": [0, 0],
    }  # fmt: skip


def test_sums_of_losses() -> None:
    """Of a logit of 0 the cross-entropy is ln 2 for either target, and each factor of focus one half."""
    assert summed(FocalSum(0.25, 0.0, False, 0.0)) == pytest.approx([(0.25 + 0.75) * LN2, 0])
    assert summed(FocalSum(0.25, 2.0, False, 0.0)) == pytest.approx([LN2 / 4, 0])
    assert summed(FocalSum(0.25, 0.0, True, 0.0)) == pytest.approx([2 * 0.25 * LN2, 0])
    assert summed(FocalSum(0.25, 1.0, True, 0.5)) == pytest.approx([0.25 * LN2, 0])
    assert summed(BoxSum("smooth_l1", 1.0)) == pytest.approx([3 - 0.5, 0.125])
    assert summed(BoxSum("smooth_l1", 4.0)) == pytest.approx([9 / 8, 0.25 / 8])
    assert summed(BoxSum("huber", 4.0)) == pytest.approx([9 / 2, 0.125])
    assert summed(BoxSum("huber", 2.0)) == pytest.approx([2 * (3 - 1), 0.125])


def test_a_kind_of_rows_that_is_not_there() -> None:
    only = {name: TRUTH[name] for name in ("image", "item", "value")}
    pairs = pairs_of("losses", only, FOUND)
    both = sides(pairs, "target", "logit")
    assert [np.isnan(side).tolist() for side in both] == [[True] * 5] * 2
    assert [side.tolist() for side in sides(pairs, "value", "value")] == pytest.approx(
        [pytest.approx([nan, nan, 5, nan, 2], nan_ok=True), pytest.approx([nan, nan, 8, nan, 2.5], nan_ok=True)]
    )


def test_scores() -> None:
    """Without focus, of two rows and one positive; of two coordinates; the weighted sum of both."""
    focal = "gamma=0, alpha=0.25"
    asked = {
        f"focal({focal})": LN2 / 2, f"focal({focal}, per=positive)": LN2, "smooth_l1": 2.625 / 2, "huber(delta=2)": 4.125 / 2,
        f"detection({focal})": LN2 + 2.625 / 2, f"detection({focal}, class_weight=3, box_weight=5, box_loss=huber, delta=2)": 3 * LN2 + 5 * 4.125 / 2,
        f"detection({focal}, constant_alpha=true)": LN2 / 2 + 2.625 / 2, "focal(gamma=0, constant_alpha=true)": LN2 / 4,
        "focal(alpha=1, gamma=2)": LN2 / 8, "focal(alpha=0, gamma=1e6)": pytest.approx(0), "focal(gamma=0, label_smoothing=1)": LN2 / 2,
    }  # fmt: skip
    report = sy.evaluate("losses", TRUTH, FOUND, list(asked), confidence=None)
    values = [score.value for score in report.scores.values()]
    assert values == [pytest.approx(value) if isinstance(value, float) else value for value in asked.values()]
    left = {(score.n_excluded, score.excluded) for score in report.scores.values()}
    assert left == {(1, "rows marked to be ignored")}


def test_why_there_is_no_number() -> None:
    nothing = {"image": ["i"], "item": ["a"], "target": [0.0], "value": [nan]}
    predicted = {"image": ["i"], "item": ["a"], "logit": [1.0], "value": [nan]}
    asked = ["focal", "focal(per=positive)", "smooth_l1", "huber", "detection"]

    def why(truth: Any, prediction: Any) -> list[str]:
        return [
            one.undefined_reason
            for one in sy.evaluate("losses", truth, prediction, asked, confidence=None).scores.values()
        ]

    assert why(nothing, predicted) == [
        "",
        "there is no positive",
        "no row has a value",
        "no row has a value",
        "no row has a value",
    ]
    boxes = {**nothing, "target": [nan], "value": [1.0]}, {**predicted, "logit": [nan], "value": [1.0]}
    assert why(*boxes) == ["no row has a class target"] * 2 + ["", "", "there is no positive"]


ONE = {"image": ["i", "i"], "item": ["a", "b"]}
FAULTS: list[tuple[dict[str, Any], dict[str, Any], tuple[str, str, str]]] = [
    (
        ONE, ONE, ("E-missing-column", "'target'", "'value'"),
    ),
    (
        {**ONE, "value": [1.0, 2.0]}, {**ONE, "logit": [1.0, 2.0]},
        ("E-missing-column", "'value'"),
    ),
    (
        {**ONE, "target": [1.0, 0.0]}, {**ONE, "value": [1.0, 2.0]},
        ("E-missing-column", "'logit'", "'target'"),
    ),
    (
        {**ONE, "target": [1.0, nan]}, {**ONE, "logit": [1.0, 2.0]},
        ("E-invalid-value", "'logit'", "row 1", "'target'"),
    ),
    (
        {**ONE, "value": [1.0, 2.0]}, {**ONE, "value": [nan, 2.0]},
        ("E-invalid-value", "'value'", "row 0"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("truth", "predicted", "said"), FAULTS, ids=[case[2][0] for case in FAULTS])
def test_data_that_are_refused(truth: Any, predicted: Any, said: tuple[str, str, str]) -> None:
    with refuses(*said):
        pairs_of("losses", truth, predicted)


def test_there_is_no_worst() -> None:
    with refuses("E-unsupported", "missing='worst'"):
        pairs_of("losses", TRUTH, FOUND, missing="worst")  # fmt: skip


SHARE, TRULY = "It must be a number from 0 to 1.", "Choose one of: true, false."
REFUSED = {
    "focal(alpha=1.5)": ("alpha cannot be 1.5", SHARE), "focal(alpha=-1)": ("alpha cannot be -1", SHARE),
    "focal(gamma=-1)": ("gamma cannot be -1", "It must be a number from 0 to 1e+06."),
    "focal(gamma=2e6)": ("gamma cannot be 2000000.0", "It must be a number from 0 to 1e+06."),
    "focal(constant_alpha=2)": ("constant_alpha cannot be 2", TRULY), "focal(label_smoothing=2)": ("label_smoothing cannot be 2", SHARE),
    "focal(label_smoothing=-1)": ("label_smoothing cannot be -1", SHARE),
    "focal(per=image)": ("per cannot be image", "Choose one of: row, positive."),
    "smooth_l1(delta=0)": ("delta cannot be 0", "It must be a number above 0."),
    "huber(delta=-1)": ("delta cannot be -1", "It must be a number above 0."),
    "detection(delta=0)": ("delta cannot be 0", "It must be a number above 0."),
    "detection(alpha=2)": ("alpha cannot be 2", SHARE), "detection(box_loss=l2)": ("box_loss cannot be l2", "Choose one of: smooth_l1, huber."),
    "detection(class_weight=-1)": ("class_weight cannot be -1", "It must be a number from 0 to 1e+12."),
    "detection(box_weight=2e12)": ("box_weight cannot be 2000000000000.0", "It must be a number from 0 to 1e+12."),
    "detection(class_weight=2e12)": ("class_weight cannot be 2000000000000.0", "It must be a number from 0 to 1e+12."),
    "detection(box_weight=-1)": ("box_weight cannot be -1", "It must be a number from 0 to 1e+12."),
}  # fmt: skip


@pytest.mark.parametrize("spec", REFUSED)
def test_settings_that_are_refused(spec: str) -> None:
    what, remedy = REFUSED[spec]
    assert refusal(values_of, "losses", TRUTH, FOUND, [spec]) == (
        f"metric '{spec.partition('(')[0]}': {what}",
        "",
        remedy,
    )


def test_names_and_examples() -> None:
    assert [str(one) for one in catalogue.metrics("losses")] == [
        "focal", "focal(per=positive)", "smooth_l1", "huber", "detection", "detection(box_weight=50.0, box_loss=huber, delta=0.1)",
    ]  # fmt: skip
    assert [catalogue.parse(spec, "losses").label for spec in ("focal", "focal(per=positive)", "huber")] == [
        "Focal loss", "Focal loss per positive", "Huber loss",
    ]  # fmt: skip
