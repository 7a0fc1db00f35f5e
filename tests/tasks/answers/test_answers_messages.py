"""What is said of answers that cannot be scored."""

from __future__ import annotations

from typing import Any

import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.tasks.answers.data import LONGEST

ASKED: dict[str, list[Any]] = {"question": ["p", "q"], "answer": ["a", "b"]}


ANSWERS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no truth": (
        {"question": ["p", "q"], "text": ["a", "b"]}, ASKED,
        ("E-missing-column", "'answer'", "'question'", "'text'"),
    ),
    "no reply": (
        ASKED, {"question": ["p", "q"], "text": ["a", "b"]},
        ("E-missing-column", "'answer'"),
    ),
    "no list": (
        {"question": ["p"], "answers": ["a, b"]}, {"question": ["p"], "answer": ["a"]},
        ("E-invalid-value", "'a, b'"),
    ),
    "an empty list": (
        {"question": ["p"], "answers": ["[]"]}, {"question": ["p"], "answer": ["a"]},
        ("E-empty-input", "truth, row 0, column 'answers'"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
def test_answers(case: str) -> None:
    truth, predicted, said = ANSWERS[case]
    with refuses(*said):
        sy.evaluate("answers", truth, predicted, confidence=None)


def test_an_answer_that_is_too_long() -> None:
    long = {"question": ["p"], "answer": ["a" * (LONGEST + 1)]}
    with refuses("E-too-large", f"{LONGEST + 1:,}", f"{LONGEST:,}"):
        sy.evaluate("answers", {"question": ["p"], "answer": ["a"]}, long, confidence=None)


def test_choices_of_answers() -> None:
    with refuses("E-missing-column", "'choices'"):
        sy.evaluate("answers", ASKED, ASKED, ["choice"], confidence=None)
    offered = {**ASKED, "choices": ['["x", "y"]', '["x", "y"]']}
    with refuses("E-unknown-name", "'p'", "'z'"):
        sy.evaluate("answers", {**offered, "answer": ["z", "x"]}, ASKED, ["choice"], confidence=None)
    with refuses("E-invalid-value", "'x or y'"):
        sy.evaluate("answers", {**offered, "choices": ["x or y", "[]"]}, ASKED, ["choice"], confidence=None)
