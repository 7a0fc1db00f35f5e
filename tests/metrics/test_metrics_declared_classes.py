"""Columns of scores beside the classes that a user declares."""

from __future__ import annotations

from metrics.made import refused


def test_a_column_of_no_class() -> None:
    truth = {"label": ["a", "b"]}
    given = {f"score:{name}": [1.0, 0.0] for name in "abc"}
    assert refused("labels", truth, given, options={"classes": ["a", "b"]}) == [
        "column 'score:c' is of no class", "predictions", "Every class needs one, and only classes.",
    ]  # fmt: skip
