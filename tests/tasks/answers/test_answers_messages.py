"""What is said of answers that cannot be scored."""

from __future__ import annotations

from typing import Any

import pytest
from support.refusal import refused_evaluation

from steelyard.tasks.answers.data import LONGEST

ASKED: dict[str, list[Any]] = {"question": ["p", "q"], "answer": ["a", "b"]}


ANSWERS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no truth": (
        {"question": ["p", "q"], "text": ["a", "b"]}, ASKED,
        "column 'answer' is missing; the columns are 'question', 'text'. Rename the column, or map it: "
        "`columns={'answer': 'YOUR_COLUMN'}`.",
    ),
    "no reply": (
        ASKED, {"question": ["p", "q"], "text": ["a", "b"]},
        "column 'answer' is missing. Map it: `columns={'prediction.answer': 'YOUR_COLUMN'}`.",
    ),
    "no list": (
        {"question": ["p"], "answers": ["a, b"]}, {"question": ["p"], "answer": ["a"]},
        "'a, b' is not a list of strings. Write JSON: [\"two\", \"2\"].",
    ),
    "an empty list": (
        {"question": ["p"], "answers": ["[]"]}, {"question": ["p"], "answer": ["a"]},
        "there is no accepted answer. Give at least one.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
def test_answers(case: str) -> None:
    truth, predicted, said = ANSWERS[case]
    assert refused_evaluation("answers", truth, predicted).endswith(said)


def test_an_answer_that_is_too_long() -> None:
    long = {"question": ["p"], "answer": ["a" * (LONGEST + 1)]}
    assert refused_evaluation("answers", {"question": ["p"], "answer": ["a"]}, long).endswith(
        f"the answer has {LONGEST + 1:,} characters. At most {LONGEST:,} are taken."
    )


def test_choices_of_answers() -> None:
    assert refused_evaluation("answers", ASKED, ASKED, ["choice"]).endswith(
        'column \'choices\' is missing, which the metric needs. Give the options of each question, as JSON: ["a cat", "a '
        'dog"].'
    )
    offered = {**ASKED, "choices": ['["x", "y"]', '["x", "y"]']}
    assert refused_evaluation("answers", {**offered, "answer": ["z", "x"]}, ASKED, ["choice"]).endswith(
        "question 'p': the answer 'z' is not among A, B. Give the letter or the text of one option."
    )
    assert refused_evaluation("answers", {**offered, "choices": ["x or y", "[]"]}, ASKED, ["choice"]).endswith(
        '\'x or y\' is not a list of options. Write JSON: ["a cat", "a dog"].'
    )
