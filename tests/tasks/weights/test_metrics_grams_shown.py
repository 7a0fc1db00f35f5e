"""What reports of weights and of sequences show beside numbers, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.shown import check_figure, check_listing, check_table

import steelyard as sy
from steelyard.tasks.shared.agreement import agreement_figures, bins_of

TRUE, PREDICTED = [100.0] * 5 + [300.0], [100.0, 110, 120, 130, 140, 290]
ERROR = [0, 10, 20, 30, 40, -10]


def weights() -> sy.Report:
    """Five items of one weight, with errors of 0 to 40 g, and one of another."""
    keys = {"dish": ["A", "A", "A", "B", "B", "C"], "item": ["1", "2", "3", "1", "2", "1"]}
    truth = {**keys, "weight": TRUE, "food": ["rice", "rice", "soup", "rice", "soup", "rice"]}
    return sy.evaluate("weights", truth, {**keys, "weight": PREDICTED}, ["mae"], confidence=None)


def test_predicted_against_true() -> None:
    shown = weights().figure("agreement")
    check_figure(
        shown, ("agreement", "agreement", "Predicted against true"), {"x": TRUE, "y": PREDICTED},
        {"x": "true, g", "y": "predicted, g", "item": "item"},
        "Each point is one item. On the line prediction and truth are equal; above it the prediction is too high.",
    )  # fmt: skip
    check_table(
        shown.table, ("agreement", "Means by true value", "true, g"), ("100 to 100", "300 to 300"),
        ("number", "mean true", "mean predicted", "mean absolute error", "mean error"),
        [[5, 100, 120, 20, 20], [1, 300, 290, 10, -10]],
    )  # fmt: skip


def test_error_by_size() -> None:
    columns = {
        "low": [100, 300], "high": [100, 300], "count": [5, 1], "p10": [4, -10], "p25": [10, -10], "p50": [20, -10],
        "p75": [30, -10], "p90": [36, -10],
    }  # fmt: skip
    check_figure(
        weights().figure("error_by_size"), ("error_by_size", "spread", "Error by true value"), columns,
        {"x": "true, g", "y": "error, g"},
        "The items in groups of equal number by their true value. The line is the median error, the box the middle half, "
        "the whisker the middle 80 %. Above zero the prediction is too high.",
    )  # fmt: skip


def test_limits_of_agreement() -> None:
    spread = 1.96 * math.sqrt(1750 / 5)  # squares of -15, -5, 5, 15, 25 and -25 around the mean of 15
    shown = weights().figure("bland_altman")
    facts = dict(shown.facts)
    limits = [facts.pop(name) for name in ("bias", "low", "high")]
    assert limits == pytest.approx([15, 15 - spread, 15 + spread])
    assert facts == {"x": "mean of true and predicted, g", "y": "predicted − true, g", "item": "item"}
    assert (shown.name, shown.chart, shown.title) == (
        "bland_altman", "bland_altman", "Difference against mean (Bland–Altman)",
    )  # fmt: skip
    assert shown.columns["x"].tolist() == [100, 105, 110, 115, 120, 295]
    assert shown.columns["y"].tolist() == ERROR
    assert shown.caption == (
        "The solid line is the mean difference. Between the dashed lines (1.96 standard deviations) lie about 95 % of the "
        "items, if differences are normal."
    )
    check_table(
        shown.table, ("bland_altman", "Limits of agreement", ""),
        ("mean difference", "lower limit", "upper limit", "items"), ("g",), [15, 15 - spread, 15 + spread, 6],
    )  # fmt: skip


def test_one_pair_has_no_spread() -> None:
    shown = agreement_figures(np.array([2.0, np.nan, 3.0]), np.array([5.0, 1.0, np.inf]), "lesion", "mm")[
        "bland_altman"
    ]()
    assert [shown.facts[name] for name in ("bias", "low", "high")] == [3, 3, 3]
    assert shown.facts["x"] == "mean of true and predicted, mm"
    assert agreement_figures(np.array([np.nan]), np.array([1.0]), "lesion") == {}
    two = agreement_figures(np.array([0.0, 0.0]), np.array([1.0, 3.0]), "lesion")["bland_altman"]()
    assert two.facts["high"] == pytest.approx(2 + 1.96 * math.sqrt(2))


def test_groups_of_equal_number() -> None:
    groups = bins_of(np.arange(16.0))
    assert [np.flatnonzero(group).tolist() for group in groups] == [[2 * i, 2 * i + 1] for i in range(8)]
    assert [group.tolist() for group in bins_of(np.array([3.0, 3.0]))] == [[True, True]]
    assert [group.tolist() for group in bins_of(np.array([3.0, 4.0]), 1)] == [[True, True]]


def test_the_listing_of_items() -> None:
    columns = {
        "dish": ["A", "A", "A", "B", "B", "C"], "item": ["1", "2", "3", "1", "2", "1"], "true, g": TRUE,
        "predicted, g": PREDICTED, "error, g": ERROR, "absolute error, g": [0, 10, 20, 30, 40, 10],
        "food": ["rice", "rice", "soup", "rice", "soup", "rice"],
    }  # fmt: skip
    check_listing(weights().listing(), ("items", "Items"), columns, "", "error, g")


def test_dishes_without_items() -> None:
    names = [f"c{i}" for i in range(6)]
    truth: dict[str, Any] = {"dish": ["A", "B"], "weight": [1.0, 2.0], **{name: ["x", "y"] for name in names[::-1]}}
    shown = sy.evaluate(
        "weights", truth, {"dish": ["A", "B"], "weight": [1.0, 2.0]}, ["mae"], confidence=None
    ).listing()
    assert shown is not None
    assert list(shown.columns) == ["dish", "true, g", "predicted, g", "error, g", "absolute error, g", *names[:4]]


def sequences(units: int) -> sy.Report:
    """Sequences of two frames, written backwards; the i-th is i + 1 g too high, then as much too low."""
    frames = [
        (f"s{i}", t, 10.0 * (t + 1), 10.0 * (t + 1) + (i + 1) * (1 - 2 * t)) for i in range(units) for t in (1, 0)
    ]
    names, t, true, predicted = (list(column) for column in zip(*frames, strict=True))
    truth = {"sequence": names, "t": t, "weight": true, "kcal_per_g": [2.0] * len(t), "kitchen": ["k"] * len(t)}
    return sy.evaluate("sequences", truth, {"sequence": names, "t": t, "weight": predicted}, ["mape"], confidence=None)


def test_weights_over_time() -> None:
    shown = sequences(2).figure("traces")
    columns = {
        "panel": ["s1: mean error 2 g"] * 4 + ["s0: mean error 1 g"] * 4,
        "series": ["true", "true", "predicted", "predicted"] * 2,
        "x": [0, 1] * 4,
        "y": [10, 20, 12, 18, 10, 20, 11, 19],
    }
    check_figure(
        shown, ("traces", "traces", "Weight over time: the worst, the middle, the best"), columns,
        {"x": "frame", "y": "weight, g"}, "Two sequences each with the largest, the middle and the smallest mean error.",
    )  # fmt: skip
    assert sequences(2).figure("agreement").facts["item"] == "frame"


def test_the_worst_the_middle_and_the_best_sequences() -> None:
    panels = list(dict.fromkeys(sequences(9).figure("traces").columns["panel"]))
    assert [panel[:2] for panel in panels] == ["s8", "s7", "s5", "s4", "s1", "s0"]


def test_the_listing_of_frames() -> None:
    columns = {
        "sequence": ["s0", "s0", "s1", "s1"], "frame": [0, 1, 0, 1], "true, g": [10, 20, 10, 20],
        "predicted, g": [11, 19, 12, 18], "error, g": [1, -1, 2, -2], "absolute error, g": [1, 1, 2, 2],
        "kitchen": ["k"] * 4,
    }  # fmt: skip
    check_listing(sequences(2).listing(), ("frames", "Frames"), columns, "", "error, g")
