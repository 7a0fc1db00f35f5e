"""What is said of captions that cannot be scored."""

from __future__ import annotations

from typing import Any

import pytest
from support.refusal import refuses

import steelyard as sy

CAPTION: dict[str, list[Any]] = {"image": ["i", "j"], "caption": ["a red car", "a dog"]}


CAPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no column": (
        {"image": ["i", "j"], "text": ["a", "b"]}, CAPTION,
        ("E-missing-column", "'caption'", "'image'", "'text'"),
    ),
    "two candidates": (
        CAPTION, {"image": ["i", "j", "j"], "caption": ["a", "b", "c"]}, ("E-duplicate-key", "row 1"),
    ),
    "no candidate": (
        CAPTION, {"image": ["i"], "caption": ["a"]},
        ("E-unmatched", "1", "2", "'j'"),
    ),
    "no reference": (
        CAPTION, {"image": ["i", "j", "k"], "caption": ["a", "b", "c"]},
        ("E-unmatched", "1", "'k'"),
    ),
    "an empty reference": (
        {**CAPTION, "caption": ["a", " "]}, CAPTION, ("E-empty-cell", "caption"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CAPTIONS)
def test_captions(case: str) -> None:
    truth, predicted, said = CAPTIONS[case]
    with refuses(*said):
        sy.evaluate("captions", truth, predicted, ["bleu"], confidence=None)
