"""Precision at a recall and recall at a precision, by hand: right at ranks 1, 3, 10, 12, 13, 14 and 23 of 24."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steelyard as sy

RIGHT = (1, 3, 10, 12, 13, 14, 23)
OBJECTS = 15


def ranking(label: str = "a", scale: float = 0.01) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scores are 1 - rank / 100."""
    truth = [(label, 100.0 * i) for i in range(OBJECTS)]
    marks = [(label, 100.0 * RIGHT.index(rank) if rank in RIGHT else 1e6 + 100 * rank) for rank in range(1, 25)]
    return columns(truth), {**columns(marks), "score": [1 - scale * rank for rank in range(1, 25)]}


def columns(rows: list[tuple[str, float]]) -> dict[str, Any]:
    n = len(rows)
    boxes = {"x": [x for _, x in rows], "y": [0.0] * n, "w": [10.0] * n, "h": [10.0] * n}
    return {"image": ["i"] * n, "label": [label for label, _ in rows], **boxes}


def joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    return {name: [*first[name], *second[name]] for name in first}


@pytest.mark.parametrize(
    ("spec", "expected", "score"),
    [
        ("precision_at(recall=0.2)", 6 / 14, 0.86),  # 3 of 15 are reached at rank 10, and rank 14 is better
        ("precision_at(recall=0.4)", 6 / 14, 0.86),
        ("precision_at(recall=0.41)", 7 / 23, 0.77),
        ("precision_at(recall=0.01)", 1.0, 0.99),
        ("recall_at(precision=0.4)", 6 / 15, 0.86),
        ("recall_at(precision=0.6)", 2 / 15, 0.97),
        ("recall_at", 1 / 15, 0.99),
    ],
)
def test_by_hand(spec: str, expected: float, score: float) -> None:
    report = sy.evaluate("boxes", *ranking(), spec, confidence=None)
    (made,) = report.scores.values()
    assert made.value == pytest.approx(expected, abs=1e-12)
    assert f"score {score:.4g} or more" in " ".join(str(report).split())


@pytest.mark.parametrize("spec", ["precision_at(recall=0.5)", "recall_at(precision=0.9, iou=0.9, label=b)"])
def test_never_reached_is_undefined(spec: str) -> None:
    truth, predictions = ranking()
    other = {**columns([("b", 1e4)]), "score": [0.5]}
    truth = joined(truth, columns([("b", 2e4)]))
    (made,) = sy.evaluate("boxes", truth, joined(predictions, other), spec, confidence=None).scores.values()
    assert np.isnan(made.value)
    assert "no score threshold reaches" in made.undefined_reason


def test_classes_have_points_of_their_own() -> None:
    """`b` has lower scores, so one threshold cannot suit both."""
    (truth, predictions), (more, low) = ranking(), ranking("b", 0.04)
    both = joined(truth, more), joined(predictions, low)
    specs = [f"precision_at(recall=0.4, label={label})" for label in "ab"]
    report = sy.evaluate("boxes", *both, [*specs, "precision_at(recall=0.4)"], confidence=None)
    a, b, pooled = (score.value for score in report.scores.values())
    assert a == b == pytest.approx(6 / 14, abs=1e-12)
    assert pooled < a


def test_table_of_classes() -> None:
    """The best F1 is at rank 14: 6 right of 14, of 15 objects. A class without detections has no point."""
    truth, predictions = ranking()
    table = sy.evaluate("boxes", joined(truth, columns([("b", 0.0)])), predictions, "map", confidence=None).table(
        "operating"
    )
    assert table.rows == ("a", "b")
    heads = ("f1", "score", "precision", "recall", "precision at recall 0.5", "recall at precision 0.9")
    assert tuple(table.columns) == heads
    assert table.values[0] == pytest.approx([12 / 29, 0.86, 6 / 14, 6 / 15, np.nan, 1 / 15], abs=1e-12, nan_ok=True)
    assert table.values[1] == pytest.approx([0, np.nan, np.nan, 0, np.nan, np.nan], nan_ok=True)


def test_equal_scores_are_not_parted() -> None:
    truth = columns([("a", 0.0)])
    predictions = {**columns([("a", 0.0), ("a", 500.0)]), "score": [0.5, 0.5]}
    assert sy.evaluate("boxes", truth, predictions, "precision_at", confidence=None)["precision_at"].value == 0.5


@pytest.mark.parametrize(
    ("spec", "part"),
    [("precision_at(recall=0)", "recall"), ("recall_at(precision=1.5)", "precision"), ("recall_at(label=c)", "'c'")],
)
def test_refused(spec: str, part: str) -> None:
    with pytest.raises(sy.InputError, match=part):
        sy.evaluate("boxes", *ranking(), spec, confidence=None)
