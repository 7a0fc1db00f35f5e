"""Answers from what is given to questions with accepted answers: what is refused, in whole messages, and what is held."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.made import in_turn, pairs_of
from support.refusal import refuses

import steelyard as sy
from steelyard.core.metadata import Metadata
from steelyard.core.statistic import SharedCache
from steelyard.core.task import Policy
from steelyard.tasks.answers import data
from steelyard.tasks.answers.data import choices_of
from steelyard.tasks.answers.task import defaults_for
from steelyard.tasks.answers.texts import chosen_options, codes_of, said_texts

ASKED: dict[str, Any] = {"question": ["p", "q"], "answer": ["a", "b"]}
LIST = 'Write JSON: ["two", "2"].'
OPTIONS = 'Write JSON: ["a cat", "a dog"].'
SAME = "It must be the same in all rows of a question."
MAPPED = "Rename the column, or map it: `columns={'answer': 'YOUR_COLUMN'}`."
BAD: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "no truth": (
        {"question": ["p"], "text": ["a"], "more": ["x"]}, {"question": ["p"], "answer": ["a"]},
        ["E-missing-column", "'answer'", "'question'", "'text'", "'more'", "'YOUR_COLUMN'"],
    ),
    "no reply": (
        ASKED, {"question": ["p", "q"], "text": ["a", "b"]},
        ["E-missing-column", "'answer'", "'YOUR_COLUMN'"],
    ),
    "no list": (
        {"question": ["o", "p"], "answers": ['["x"]', "a, b" + "x" * 50]}, {"question": ["o", "p"], "answer": ["a", "b"]},
        ["E-invalid-value", f"'a, b{'x' * 36}'", "row 1", "'answers'", "2"],
    ),
    "no list but a text": (
        {"question": ["p"], "answers": ['"a"']}, {"question": ["p"], "answer": ["a"]},
        ["E-invalid-value", "'\"a\"'", "row 0", "'answers'", "2"],
    ),
    "a list of truths": (
        {"question": ["p"], "answers": ["[true]"]}, {"question": ["p"], "answer": ["a"]},
        ["E-invalid-value", "'[true]'", "row 0", "'answers'", "2"],
    ),
    "a list of lists": (
        {"question": ["p"], "answers": ['[["a"]]']}, {"question": ["p"], "answer": ["a"]},
        ["E-invalid-value", "'[[\"a\"]]'", "row 0", "'answers'", "2"],
    ),
    "a list too deep": (
        {"question": ["p"], "answers": ["[" * 100_000]}, {"question": ["p"], "answer": ["a"]},
        ["E-invalid-value", f"'{'[' * 40}'", "row 0", "'answers'", "2"],
    ),
    "an empty list": (
        {"question": ["o", "p"], "answers": ['["x"]', "[]"]}, {"question": ["o", "p"], "answer": ["a", "b"]},
        ["E-empty-input", "row 1", "'answers'"],
    ),
    "nothing accepted": (
        {"question": ["p"], "answers": [""]}, {"question": ["p"], "answer": ["a"]},
        ["E-empty-input", "row 0", "'answers'"],
    ),
    "two groups": (
        {"question": ["p", "q", "p"], "answer": ["a", "b", "c"], "group": ["g", "g", "h"]}, ASKED,
        ["E-conflict", "'p'", "'h'", "'g'", "row 0", "row 2", "'group'"],
    ),
    "two weights": (
        {"question": ["p", "p"], "answer": ["a", "b"], "sample_weight": [1.0, 2.0]}, {"question": ["p"], "answer": ["a"]},
        ["E-conflict", "'p'", "'2.0'", "'1.0'", "row 0", "row 1", "'sample_weight'"],
    ),
    "two lists of options": (
        {"question": ["p", "p"], "answer": ["a", "b"], "choices": ["[1]", "[2]"]}, {"question": ["p"], "answer": ["a"]},
        ["E-conflict", "'p'", "'[2]'", "'[1]'", "row 0", "row 1", "'choices'"],
    ),
    "two verdicts": (
        {"question": ["p", "p"], "answer": ["a", "b"], "verdict": [1.0, 0.5]}, {"question": ["p"], "answer": ["a"]},
        ["E-conflict", "'p'", "'0.5'", "'1.0'", "row 0", "row 1", "'verdict'"],
    ),
    "another truth": (
        ASKED, {"question": ["q", "p"], "answer": ["b", "a"], "target": ["c" * 50, "a"]},
        ["E-incompatible", "'q'", f"'{'c' * 40}'", "'b'", "row 0"],
    ),
    "weights of a unit": (
        {**ASKED, "group": ["g", "g"], "sample_weight": [1.0, 2.0]}, ASKED,
        ["E-incompatible", "2", "1", "row 0", "row 1", "'sample_weight'"],
    ),
}  # fmt: skip


@in_turn("case", BAD)
def test_refused(case: str) -> None:
    truth, predicted, what = BAD[case]
    with refuses(*what):
        sy.evaluate("answers", truth, predicted, confidence=None)


def test_texts_that_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "LONGEST", 1200)
    long = {"question": ["p", "q"], "answer": ["a" * 1200, "b" * 1201]}
    with refuses("E-too-large", "1,201", "row 1", "'answer'", "truth, row 1, column 'answer'"):
        sy.evaluate("answers", long, ASKED, confidence=None)
    with refuses("E-too-large", "1,201", "row 1", "'answer'", "predictions, row 1, column 'answer'"):
        sy.evaluate("answers", ASKED, long, confidence=None)
    fits = {"question": ["p", "q"], "answer": ["a" * 1200, "b"]}
    assert pairs_of("answers", fits, fits).held == {"answers"}
    monkeypatch.undo()
    assert (data.LONGEST, data.MANY, data.LETTERS[25]) == (1_048_576, 3, "Z")


def test_questions_and_their_answers() -> None:
    """Answers of a question stand in the order of the input, questions in that of their ids."""
    truth = {
        "question": ["q", "p", "q", "p"], "answer": ["a", "b", "c", "d"], "group": ["g", "h", "g", "h"],
        "sample_weight": [2.0, 3.0, 2.0, 3.0],
    }  # fmt: skip
    pairs = pairs_of("answers", truth, {"question": ["q", "p"], "answer": ["c", "B"]})
    assert pairs.accepted.tolist() == ["b", "d", "a", "c"]
    assert pairs.begin.tolist() == [0, 2, 4]
    assert pairs.truth["question"].tolist() == ["p", "q"]
    assert (pairs.units.tolist(), pairs.owner.tolist(), pairs.weight.tolist()) == (["g", "h"], [1, 0], [2, 3])
    assert (pairs.place.tolist(), pairs.prediction_row.tolist()) == ([0, 1], [1, 0])
    assert (pairs.grouped, pairs.own_units) == (True, False)
    assert pairs.metadata == Metadata(holds=frozenset({"answers"}))
    texts = said_texts(pairs, SharedCache())
    assert texts.distinct == ["B", "c", "b", "d", "a"]
    assert (texts.reply.tolist(), texts.accepted.tolist()) == ([0, 1], [2, 3, 4, 1])
    assert (texts.of.tolist(), texts.begin.tolist()) == ([0, 0, 1, 1], [0, 2, 4])
    assert (texts.answered.tolist(), texts.blank.tolist()) == ([True, True], [False] * 5)
    assert texts.best(np.array([0.25, 0.5, 1.0, 0.0])).tolist() == [0.5, 1]
    assert texts.each(str.upper) == ["B", "C", "B", "D", "A"]
    part = pairs.select(np.array([False, True]))
    few = said_texts(part, SharedCache())
    assert (few.distinct, few.begin.tolist(), few.accepted.tolist()) == (["c", "a"], [0, 2], [1, 0])
    none = said_texts(pairs.select(np.array([False, False])), SharedCache())
    assert none.best(np.zeros(0)).tolist() == []
    assert none.answered.tolist() == []


def test_lists_of_answers() -> None:
    truth = {"question": ["p", "q"], "answers": ['["a", 2, {"answer": "c"}]', "[0.5]"], "kind": ["x", "y"]}
    pairs = pairs_of("answers", truth, ASKED)
    assert (pairs.accepted.tolist(), pairs.begin.tolist()) == (["a", "2", "c", "0.5"], [0, 3, 4])
    assert pairs.slice_values("kind")[0].tolist() == ["x", "y"]


def test_replies_that_are_none() -> None:
    truth = {"question": list("abcdef"), "answer": ["x"] * 6}
    predicted = {
        "question": list("abcde"),
        "answer": ["x", " \t", "x", "x", ""],
        "outcome": ["ok", "ok", "refused", " ", ""],
    }
    pairs = pairs_of("answers", truth, predicted, Policy("worst", "skip"))
    texts = said_texts(pairs, SharedCache())
    assert texts.answered.tolist() == [True, False, False, True, False, False]
    assert [texts.distinct[k] for k in texts.reply] == ["x", "", "x", "x", "", ""]  # blanks are nothing
    assert texts.best(np.ones(6)).tolist() == [1, 0, 0, 1, 0, 0]
    nothing = pairs_of("answers", truth, {"question": [], "answer": []}, Policy("worst", "skip"))
    assert said_texts(nothing, SharedCache()).answered.tolist() == [False] * 6


def test_logs_that_agree_on_the_truth() -> None:
    truth = {"question": ["p", "p", "q"], "answer": ["a", "b", "c"]}
    predicted = {"question": ["p", "q"], "answer": ["x", "y"], "target": ["b", ""]}
    assert pairs_of("answers", truth, predicted).held == {"answers"}
    one = {"question": ["p", "r"], "answer": ["x", "y"], "target": ["a", "z"]}
    assert len(pairs_of("answers", truth, one, Policy("worst", "skip")).owner) == 2


def test_texts_that_a_metric_needs() -> None:
    judged = {"question": ["p"], "judge": [1.0]}
    with refuses("E-missing-column", "'answer'", "predictions"):
        sy.evaluate("answers", {"question": ["p"], "answer": ["a"]}, judged, ["exact"], confidence=None)  # fmt: skip
    with refuses("E-missing-column", "'answer'", "truth"):
        sy.evaluate("answers", {"question": ["p"], "kind": ["x"]}, {**judged, "answer": ["a"]}, ["exact"], confidence=None)  # fmt: skip
    empty = {"question": ["o", "p"], "answer": ["x", " "]}
    with refuses("E-empty-cell", "'p'", "row 1", "truth, row 1"):
        sy.evaluate("answers", empty, {"question": ["o", "p"], "answer": ["a", "b"]}, ["exact"], confidence=None)  # fmt: skip
    work, pairs = SharedCache(), pairs_of("answers", empty, {"question": ["o", "p"], "answer": ["a", "b"]})
    assert said_texts(pairs, work, empty=True).blank.tolist() == [False, False, False, True]
    with refuses("E-empty-cell", "'p'"):
        said_texts(pairs, work)


def test_texts_made_alike() -> None:
    truth = {"question": ["p", "q"], "answer": ["The  Dog", "café"]}
    pairs, work = (
        pairs_of("answers", truth, {"question": ["p", "q"], "answer": ["the dog", "cafe\u0301"]}),
        SharedCache(),
    )
    for norm, form, same in (
        ("space", "as_is", [True, False]), ("as_is", "nfc", [False, True]), ("squad", "nfkc", [True, True]),
        ("lower", "as_is", [False, False]),
    ):  # fmt: skip
        reply, accepted = codes_of(pairs, work, norm, form)
        assert (reply == accepted).tolist() == same


@in_turn(
    ("text", "read"),
    [
        ('["a cat", " a dog "]', {"A": "a cat", "B": "a dog"}), ('{"b": "x", "C": 3}', {"B": "x", "C": "3"}), ("[1]", {"A": "1"}),
        (json.dumps(list(range(26))), {chr(65 + i): str(i) for i in range(26)}),
    ],
)  # fmt: skip
def test_options(text: str, read: dict[str, str]) -> None:
    assert choices_of(text, "there") == read


@in_turn("text", ["a cat", "[]", "{}", '{"AB": "x"}', '{"1": "x"}', '"a"', json.dumps(list(range(27)))])
def test_no_options(text: str) -> None:
    with refuses("E-invalid-value", f"'{text[:40]}'", "there"):
        choices_of(text, "there")


def test_what_is_chosen() -> None:
    truth = {
        "question": list("abcde"), "answer": ["B", "a dog", "a cat", "x", "c"],
        "choices": ['["a cat", "a dog"]'] * 3 + ["", '{"c": "x", "d": "y", "e": "z"}'],
    }  # fmt: skip
    predicted = {"question": list("abcde"), "answer": ["B", "A", "neither", "x", ""]}
    pairs, work = pairs_of("answers", truth, predicted), SharedCache()
    made = chosen_options(pairs, work, "strict")
    assert made.asked.tolist() == [True, True, True, False, True]
    assert made.named.tolist() == [True, True, False, False, False]
    assert made.right.tolist() == [True, False, False, False, False]
    assert made.guess.tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 2, 0, 1 / 3])
    assert chosen_options(pairs, work, "strict") is made
    first = {**predicted, "answer": ["", "B", "A", "x", "C"]}
    silent = chosen_options(pairs_of("answers", truth, first), SharedCache(), "strict")
    assert silent.right.tolist() == [False, True, True, False, True]


def test_options_that_are_refused() -> None:
    with refuses("E-missing-column", "'choices'", "truth"):
        sy.evaluate("answers", ASKED, ASKED, ["choice"], confidence=None)
    offered = {"question": ["p", "q"], "answer": ["A", "z" * 50], "choices": ['["x", "y"]', '["x", "y"]']}
    with refuses("E-unknown-name", "'q'", f"'{'z' * 40}'", "row 1", "truth, row 1"):
        sy.evaluate("answers", offered, ASKED, ["choice"], confidence=None)  # fmt: skip
    twice = {**offered, "answer": ["x", "y"], "choices": ['["x", "X "]', '["x", "y"]']}
    with refuses("E-unknown-name", "'p'", "'x'"):
        sy.evaluate("answers", twice, ASKED, ["choice"], confidence=None)
    with refuses("E-invalid-value", "'x or y'", "row 0", "'choices'", "truth, row 0, column 'choices'"):
        sy.evaluate("answers", {**offered, "choices": ["x or y", ""]}, ASKED, ["choice"], confidence=None)  # fmt: skip


@in_turn(
    ("truth", "predicted", "held"),
    [
        ({"answer": ["Yes ", "no"]}, {}, {"answers", "yes or no"}),
        ({"answer": ["yes", "maybe"]}, {}, {"answers"}),
        ({"answer": ["3", "two"]}, {}, {"answers", "numbers"}),
        ({"answer": ["3", "red"]}, {}, {"answers"}),
        ({"answer": ["A", "B"], "choices": ["[1, 2]", "[1, 2]"]}, {}, {"answers", "choices"}),
        ({"answers": ['["a", "b", "c"]', '["a", "b", "c", "d"]']}, {}, {"answers", "many"}),
        ({"answers": ['["a", "b", "c"]', '["a", "b"]']}, {}, {"answers"}),
        ({"answer": ["a", "b"], "verdict": [1.0, 0.0]}, {}, {"answers", "verdict"}),
        ({"answer": ["a", "b"]}, {"judge": [1.0, 0.0], "logged:f1": [0.5, 0.5]}, {"answers", "judge", "logged:f1"}),
    ],
)  # fmt: skip
def test_what_is_held(truth: dict[str, Any], predicted: dict[str, Any], held: set[str]) -> None:
    pairs = pairs_of("answers", {"question": ["p", "q"], **truth}, {**ASKED, **predicted})
    assert pairs.held == held


def test_verdicts_alone() -> None:
    judged = pairs_of("answers", {"question": ["p"]}, {"question": ["p"], "judge": [0.5]})
    assert (judged.held, judged.accepted.tolist(), judged.begin.tolist()) == ({"judge"}, [], [0, 0])
    people = pairs_of("answers", {"question": ["p"], "verdict": [0.5]}, {"question": ["p"], "kind": ["x"]})
    assert people.held == {"verdict"}
    silent = pairs_of("answers", {"question": ["p"], "answer": ["a"]}, {"question": ["p"], "judge": [0.5]})
    assert silent.held == {"judge"}


YES = ("yn_accuracy", "yn_precision", "yn_recall", "yn_f1", "yes_ratio", "yes_bias", "answered")
TEXTS = ("exact", "anls@0.5", "relaxed@0.05", "word_f1", "cer", "wer", "answered")
NUMBERS = ("number", "count_within@1", "mae", "bias", "rmse", "mape", "answered")
LOGGED = ("logged(score=a)", "logged(score=b:c)")


@in_turn(
    ("held", "expected"),
    [
        ((), ()), (("judge",), ("judge",)), (("verdict",), ("judge",)), (("logged:b:c", "logged:a"), LOGGED),
        (("answers",), TEXTS), (("answers", "many"), ("vqa", *TEXTS)), (("answers", "yes or no", "many"), YES),
        (("answers", "choices", "numbers"), ("choice", "choice_all", "answered")), (("answers", "numbers"), NUMBERS),
        (("answers", "numbers", "many"), ("vqa", *TEXTS)),
        (("answers", "yes or no", "judge", "logged:a", "logged:b:c"), (*YES, "judge", *LOGGED)),
        (("answers", "choices", "verdict", "logged:a"), ("choice", "choice_all", "answered", "judge", LOGGED[0])),
        (("answers", "numbers", "judge", "logged:a"), (*NUMBERS, "judge", LOGGED[0])),
        (("answers", "judge", "logged:a"), (*TEXTS, "judge", LOGGED[0])),
    ],
)  # fmt: skip
def test_what_is_shown_if_nothing_is_asked(held: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert defaults_for(Metadata(holds=frozenset(held))) == expected


def test_the_id_of_a_question_goes_before_its_text() -> None:
    """Two pictures with one question: one of two answers is right."""
    truth = {"question_id": [7, 8], "question": ["what?", "what?"], "answer": ["cat", "dog"]}
    said = {"question_id": [8, 7], "question": ["what?", "what?"], "answer": ["cat", "cat"]}
    for predictions in (said, {name: said[name] for name in ("question_id", "answer")}):
        assert sy.score("answers", truth, predictions, "exact") == 0.5
    with refuses("E-duplicate-key", "what?"):
        sy.evaluate("answers", truth, said, columns={"question": "question"})
    texts = {"question": ["what?", "who?"], "answer": ["cat", "ann"]}
    assert (
        sy.score("answers", texts | {"question_id": [1, 2]}, texts, "exact", columns={"truth.question": "question"})
        == 1
    )
