"""Columns of scores beside the classes that a user declares, and labels without any class."""

from __future__ import annotations

import math

from support.refusal import refuses

import steelyard as sy


def test_a_column_of_no_class() -> None:
    truth = {"label": ["a", "b"]}
    given = {f"score:{name}": [1.0, 0.0] for name in "abc"}
    with refuses("E-missing-column", "'score:c'", "predictions"):
        sy.evaluate("labels", truth, given, confidence=None, options={"classes": ["a", "b"]})  # fmt: skip


def test_sets_without_any_label() -> None:
    """There is no class: rows are right, and what is a mean over classes is undefined."""
    sets = {"labels": ["", ""], "site": ["x", "y"]}
    report = sy.evaluate("labels", sets, {"labels": ["", ""]}, by=["site"], draws=100)
    assert report["exact_match"].value == 1
    assert [spec for spec, score in report.scores.items() if math.isnan(score.value)] == [
        "hamming", "macro(precision)", "macro(recall)", "macro(f1)", "micro(f1)", "weighted(f1)",
    ]  # fmt: skip
    assert report["macro(f1)"].undefined_reason == "no class has a value"
    assert report.units().values["exact_match"].tolist() == [1, 1]
    assert report.table("classes").values.shape == (0, 9)
