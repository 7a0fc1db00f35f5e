"""What is said of captions that cannot be scored."""

from __future__ import annotations

from typing import Any

import pytest
from support.refusal import refused_evaluation

CAPTION: dict[str, list[Any]] = {"image": ["i", "j"], "caption": ["a red car", "a dog"]}


CAPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no column": (
        {"image": ["i", "j"], "text": ["a", "b"]}, CAPTION,
        "column 'caption' is missing; the columns are 'image', 'text'. Rename the column, or map it: "
        "`columns={'caption': 'YOUR_COLUMN'}`.",
    ),
    "two candidates": (
        CAPTION, {"image": ["i", "j", "j"], "caption": ["a", "b", "c"]}, "row 1. Give one caption per image.",
    ),
    "no candidate": (
        CAPTION, {"image": ["i"], "caption": ["a"]},
        "1 of 2 images have no candidate: 'j'. Add them, or choose `missing='worst'` or `missing='skip'`.",
    ),
    "no reference": (
        CAPTION, {"image": ["i", "j", "k"], "caption": ["a", "b", "c"]},
        "1 images have a candidate and no reference: 'k'. Add references, or choose `extra='skip'`.",
    ),
    "an empty reference": (
        {**CAPTION, "caption": ["a", " "]}, CAPTION, "the reference caption is empty. Remove the row.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CAPTIONS)
def test_captions(case: str) -> None:
    truth, predicted, said = CAPTIONS[case]
    assert refused_evaluation("captions", truth, predicted, ["bleu"]).endswith(said)
