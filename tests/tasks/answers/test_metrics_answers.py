"""Metrics of answers: settings, labels, numbers by hand, and what is said beside them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from support.made import (
    by_unit,
    check_choices,
    check_range,
    examples,
    in_turn,
    labels,
    metric,
    pairs_of,
    state_of,
    values,
)
from support.refusal import refuses

import steelyard as sy
from steelyard.core.plan import POINT
from steelyard.core.statistic import SharedCache
from steelyard.tasks.answers.choices import AllChosen, ChoiceCounts, JudgeSum, LoggedSum, YesNoCounts
from steelyard.tasks.answers.sums import (
    AnlsSum,
    Questions,
    VqaRemarks,
    shares_apart,
    vqa_scores,
)
from steelyard.tasks.answers.texts import said_texts


def sides(accepted: list[list[str]], replies: list[str], **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    names = [f"q{i}" for i in range(len(replies))]
    truth = {"question": names, "answers": [json.dumps(texts) for texts in accepted]}
    outcome = {"outcome": more.pop("outcome")} if "outcome" in more else {}
    return {**truth, **more}, {"question": names, "answer": replies, **outcome}


def score(accepted: list[list[str]], replies: list[str], spec: str, **more: Any) -> list[float]:
    """The values of one metric, question by question."""
    return by_unit("answers", *sides(accepted, replies, **more), spec)


def test_examples() -> None:
    alone = (
        "vqa", "word_f1", "char_f1", "answered", "choice", "choice_all", "yn_accuracy", "yn_precision", "yn_recall", "yn_f1",
        "yes_ratio", "yes_bias", "number", "mae", "bias", "rmse", "mape", "count_exact", "count_mae", "count_bias", "cer",
        "cer_s", "cer_d", "cer_i", "wer", "wer_s", "wer_d", "wer_i", "mer", "wip", "wil", "judge", "logged",
    )  # fmt: skip
    assert examples("answers") == {
        **{name: [name] for name in alone}, "exact": ["exact", "exact(norm=squad)"], "anls": ["anls@0.5"],
        "relaxed": ["relaxed@0.05"], "count_within": ["count_within@1"],
    }  # fmt: skip


def test_labels() -> None:
    assert labels(
        "answers", "exact", "exact(of=answered)", "anls@0.25(of=answered)", "relaxed@0.1", "relaxed@0.05(lenient=true)",
        "relaxed@0.05(of=answered)", "relaxed@0.05(lenient=true, of=answered)", "choice", "choice(extract=strict)",
        "count_within@2", "logged(score=f1)", "choice_all",
    ) == [
        "Exact match", "Exact match, of what is answered", "ANLS, of what is answered", "Relaxed accuracy (10 %)",
        "Relaxed accuracy (5 %, lenient)", "Relaxed accuracy (5 %), of what is answered",
        "Relaxed accuracy (5 %, lenient), of what is answered", "Multiple choice (stated)", "Multiple choice (strict)",
        "Counts within 2", "Logged: f1", "Multiple choice, all of a unit right",
    ]  # fmt: skip


NORMS = ["as_is", "strip", "lower", "space", "squad", "vqa", "number"]


@in_turn(
    ("spec", "field", "allowed"),
    [
        *((f"{name}(of={{}})", "of", ["all", "answered"]) for name in ("exact", "vqa", "anls", "relaxed", "word_f1", "char_f1")),
        ("exact(norm={})", "norm", NORMS), ("exact(unicode={})", "unicode", ["as_is", "nfc", "nfkc"]),
        ("vqa(process={})", "process", ["official", "always"]), ("vqa(rule={})", "rule", ["official", "simple"]),
        ("anls(edge={})", "edge", ["script", "paper"]), ("anls(length={})", "length", ["raw", "folded"]),
        ("relaxed(years={})", "years", ["relaxed", "exact"]), ("choice(extract={})", "extract", ["stated", "strict"]),
        ("choice_all(extract={})", "extract", ["stated", "strict"]), ("yes_bias(reader={})", "reader", ["word", "whole", "pope"]),
        *((f"{name}(read={{}})", "read", ["whole", "only"]) for name in ("number", "mae", "count_within", "count_exact")),
        ("cer(unicode={})", "unicode", ["as_is", "nfc", "nfkc"]), ("wer(unicode={})", "unicode", ["as_is", "nfc", "nfkc"]),
        ("wip(space={})", "space", ["blank", "any"]),
    ],
)  # fmt: skip
def test_choices(spec: str, field: str, allowed: list[str]) -> None:
    check_choices("answers", spec, field, *allowed)


UP = "It must be a number from 0 up."


@in_turn(
    ("spec", "field", "taken", "not_taken", "remedy"),
    [
        ("anls@{}", "threshold", ["0", "0.5", "1"], ["-0.5", "1.5", "x"], "It must be a number from 0 to 1."),
        ("relaxed@{}", "tolerance", ["0", "0.5", "100"], ["-0.5", "x"], UP),
        ("number(rel={})", "rel", ["0", "0.5", "100"], ["-0.5", "x"], UP),
        ("number(abs={})", "abs", ["0", "0.5", "100"], ["-0.5", "x"], UP),
        ("count_within@{}", "k", ["0", "3", "100"], ["-1", "x"], UP),
    ],
)
def test_ranges(spec: str, field: str, taken: list[str], not_taken: list[str], remedy: str) -> None:
    check_range("answers", spec, field, taken, not_taken, remedy)


def test_lenient_is_true_or_false() -> None:
    for value in ("true", "false"):
        assert metric("answers", f"relaxed(lenient={value})") is not None
    with refuses("E-invalid-spec", "'relaxed'", "lenient", "2"):
        metric("answers", "relaxed(lenient=2)")


def test_exact() -> None:
    assert score([["a dog"], ["x", "Two"], ["y"]], ["A  Dog", "two", "z"], "exact") == [1, 1, 0]
    assert score([["the dog"]], ["dog"], "exact(norm=squad)") == [1]
    assert score([["ﬁne"]], ["fine"], "exact(unicode=nfkc)") == [1]


TEN = [["yes"] * 10, ["3"] * 3 + ["4"] * 7, ["red", "red", "blue"], ["a", "b", "c", "d"]]


def test_vqa() -> None:
    """Three of ten: (3 * 2/3 + 7 * 1) / 10. Two of three: (2 * 1/3 + 1 * 2/3) / 3. "Yes" is not what all ten say."""
    replies = ["Yes", "3", "red", "e"]
    assert score(TEN, replies, "vqa") == pytest.approx([0, 0.9, 4 / 9, 0])
    assert score(TEN, replies, "vqa(process=always)") == pytest.approx([1, 0.9, 4 / 9, 0])
    assert score(TEN, replies, "vqa(rule=simple)") == pytest.approx([0, 1, 2 / 3, 0])
    report = sy.evaluate("answers", *sides(TEN, replies), ["vqa", "vqa(process=always, rule=simple)"], confidence=None)
    assert report["vqa"].notes == (
        "1 question scores more where texts are always processed: vqa(process=always), as harnesses do.",
        "1 question has at most 3 accepted answers, of which VQA accuracy cannot reach 1; rule=simple does with 3.",
    )  # fmt: skip
    assert report["vqa(process=always, rule=simple)"].notes == ()
    pairs, work = pairs_of("answers", *sides(TEN, replies)), SharedCache()
    assert VqaRemarks().of_questions(pairs, work).tolist() == [[1, 0], [0, 0], [0, 1], [0, 0]]
    assert vqa_scores(pairs, work, "official", "official") is vqa_scores(pairs, work, "official", "official")
    none = pairs.select(np.zeros(4, dtype=bool))
    assert vqa_scores(none, SharedCache(), "official", "official").tolist() == []


def test_vqa_of_silence() -> None:
    sets = [["yes"] * 4, ["no", "No", "no", "no"]]
    for spec in ("vqa", "vqa(rule=simple)"):
        assert score(sets, ["yes", "no"], spec, outcome=["refused", "ok"]) == [0, 1]


def test_anls() -> None:
    """One edit in three is 2/3, two in four 1/2, at the edge; "Straße" is six letters, and seven in capitals."""
    accepted = [["cat"], ["abcd"], ["cat", "dog"], ["Straße"]]
    replies = ["cot", "abxy", "dog", "straß"]
    assert score(accepted, replies, "anls@0.5") == pytest.approx([2 / 3, 1 / 2, 1, 1 - 1 / 7])
    assert score(accepted, replies, "anls@0.5(edge=paper)") == pytest.approx([2 / 3, 0, 1, 1 - 1 / 7])
    assert score(accepted, replies, "anls@0.7") == pytest.approx([0, 0, 1, 1 - 1 / 7])
    assert score(accepted, replies, "anls@0.5(length=folded)") == pytest.approx([2 / 3, 1 / 2, 1, 1 - 1 / 6])
    pairs = pairs_of("answers", *sides([["a b"], ["x"]], ["A  b", "x"]))
    assert shares_apart(said_texts(pairs, SharedCache()), "raw").tolist() == [0, 0]
    empty = pairs_of("answers", *sides([[" "]], [" "]))
    assert shares_apart(said_texts(empty, SharedCache(), empty=True), "folded").tolist() == [0]
    assert AnlsSum(0.0).of_questions(pairs, SharedCache()).tolist() == [1, 1]


def test_relaxed() -> None:
    accepted = [["100"], ["100"], ["2000"], ["50%"], ["North"], ["$5"], ["0"]]
    replies = ["105", "106", "1950", "0.5", "north", "5", "0.0"]
    assert score(accepted, replies, "relaxed@0.05") == [1, 0, 1, 1, 1, 0, 0]
    assert score(accepted, replies, "relaxed@0.1") == [1, 1, 1, 1, 1, 0, 0]
    assert score(accepted, replies, "relaxed@0.05(years=exact)") == [1, 0, 0, 1, 1, 0, 0]
    assert score(accepted, replies, "relaxed@0.05(lenient=true)") == [1, 0, 1, 1, 1, 1, 1]


def test_bags() -> None:
    accepted, replies = [["the red car", "bus"], ["abc"], ["x y"]], ["a Red, bus", "cab", "z"]
    assert score(accepted, replies, "word_f1") == pytest.approx([2 / 3, 0, 0])
    assert score(accepted, replies, "char_f1")[1:] == pytest.approx([1, 0])


def test_answered() -> None:
    given = sides([["a"]] * 4, ["a", "", "b", "a"], outcome=["ok", "ok", "ok", "timed out"])
    specs = "answered", "exact", "exact(of=answered)", "anls@0.5(of=answered)"
    report = sy.evaluate("answers", *given, list(specs), confidence=None)
    assert [report[spec].value for spec in specs] == [2 / 4, 1 / 4, 1 / 2, 1 / 2]
    assert report["exact"].notes == ("2 of 4 questions have no answer and score 0; of=answered leaves them out.",)
    assert report["exact(of=answered)"].notes == ()
    assert (report["exact(of=answered)"].n_excluded, report["exact"].n_excluded) == (2, 0)
    assert report["exact(of=answered)"].excluded == "questions without an answer"
    assert sy.evaluate("answers", *sides([["a"]], ["a"]), ["exact"], confidence=None)["exact"].notes == ()
    pairs = pairs_of("answers", *given)
    for spec, left in (("exact", (0, "")), ("exact(of=answered)", (2, "questions without an answer"))):
        asked = metric("answers", spec)
        assert asked.excluded(state_of(pairs, asked).totals(POINT).only(asked.requirements())) == left
    assert Questions().of_questions(pairs, SharedCache()).tolist() == [1, 1, 1, 1]
    assert Questions("answered").of_questions(pairs, SharedCache()).tolist() == [1, 0, 1, 0]
    empty = pairs_of("answers", *sides([[" "]], ["a"]))
    assert Questions("answered").of_questions(empty, SharedCache()).tolist() == [1]


OFFERED = {
    "choices": ['["a cat", "a dog"]'] * 4 + ["", '["x", "y", "z", "w"]'],
    "group": ["g", "g", "h", "h", "i", "j"],
}
CHOSEN = [["A"], ["B"], ["A"], ["A"], ["x"], ["D"]], ["A", "the answer is B.", "B", "A", "x", "none"]


def test_multiple_choice() -> None:
    """Of five questions three are right; g is all right, h not, i has no choice, j names none."""
    given = sides(*CHOSEN, **OFFERED)
    specs = "choice", "choice(extract=strict)", "choice_all", "choice_all(extract=strict)"
    report = sy.evaluate("answers", *given, list(specs), confidence=None)
    assert [report[spec].value for spec in specs] == pytest.approx([3 / 5, 2 / 5, 1 / 3, 0])
    assert report["choice"].notes == (
        "choice: guessing alone would score 0.45.", "1 of 5 replies names no option, and is wrong.",
    )  # fmt: skip
    assert report["choice(extract=strict)"].notes[1] == "2 of 5 replies name no option, and are wrong."
    assert report["choice_all"].notes == ("choice_all: guessing alone would score 0.25.",)  # of 1/4, 1/4 and 1/4
    pairs = pairs_of("answers", *given)
    assert ChoiceCounts().of_questions(pairs, SharedCache()).tolist() == [
        [1, 0.5, 1, 1], [1, 0.5, 1, 1], [0, 0.5, 1, 1], [1, 0.5, 1, 1], [0, 0, 0, 0], [0, 0.25, 1, 0],
    ]  # fmt: skip
    assert AllChosen().measure(pairs, SharedCache()).values.ravel().tolist() == pytest.approx(
        [1, 1, 0.25, 0, 1, 0.25, 0, 0, 0, 0, 1, 0.25]
    )
    some = pairs.select(np.array([True] * 3 + [False] * 3))
    assert AllChosen().measure(some, SharedCache()).values.tolist() == [[1, 1, 0.25], [0, 1, 0.5], [0, 0, 0], [0, 0, 0]]
    none = sides([["A"], ["B"]], ["A", "B"], choices=["", ""])
    silent = sy.evaluate("answers", *none, ["choice", "choice_all"], confidence=None)
    assert math.isnan(silent["choice"].value)
    assert silent["choice"].notes == silent["choice_all"].notes == ()
    right = sides([["A"]], ["A"], choices=['["a", "b"]'])
    assert sy.evaluate("answers", *right, ["choice"], confidence=None)["choice"].notes == (
        "choice: guessing alone would score 0.5.",
    )


TRUE = ["yes"] * 6 + ["no"] * 5
HEARD = [
    "Yes.",
    "yes",
    "yes",
    "no",
    "No way",
    "maybe",
    "yes",
    "no",
    "No",
    "no",
    "hm",
]  # TP 3 FN 2 other 1; FP 1 TN 3 other 1
YES_NO = {
    "yn_accuracy": 6 / 11, "yn_precision": 3 / 4, "yn_recall": 3 / 6, "yn_f1": 6 / (6 + 1 + 2 + 1), "yes_ratio": 4 / 9,
    "yes_bias": -1 / 9, "yn_accuracy(reader=whole)": 5 / 11, "yn_recall(reader=pope)": 4 / 6,
}  # fmt: skip


@in_turn("spec", YES_NO)
def test_yes_and_no(spec: str) -> None:
    given = sides([[text] for text in TRUE], HEARD)
    report = sy.evaluate("answers", *given, [spec], confidence=None)
    assert report[spec].value == pytest.approx(YES_NO[spec])
    others = {"reader=whole": "4 of 11", "reader=pope": ""}.get(spec.partition("(")[2].rstrip(")"), "2 of 11")
    assert report[spec].notes == ((f"{others} replies are neither yes nor no, and are wrong.",) if others else ())


def test_counts_of_yes_and_no() -> None:
    accepted = [["yes"], ["yes"], ["no"], ["no"], [" YES", "yes"], ["no"], ["yes", "no"], ["red"]]
    given = sides(accepted, ["yes", "no", "no", "yes", "", "?", "yes", "yes"])
    pairs = pairs_of("answers", *given)
    assert YesNoCounts().of_questions(pairs, SharedCache()).astype(int).tolist() == [
        [1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 1], [0] * 6, [0] * 6,
    ]  # fmt: skip
    assert YesNoCounts("pope").of_questions(pairs, SharedCache()).astype(int)[4:6].tolist() == [
        [1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
    ]
    none = pairs.select(np.zeros(8, dtype=bool))
    assert YesNoCounts().of_questions(none, SharedCache()).shape == (0, 6)


def test_verdicts() -> None:
    truth, predicted = (
        {"question": ["p", "q"]},
        {"question": ["p", "q"], "judge": [1.0, 0.25], "logged:f1": [0.5, np.nan], "logged:acc": [1, 1]},
    )
    assert values("answers", truth, predicted, "judge", "logged(score=f1)") == [0.625, 0.5]
    assert values("answers", {**truth, "verdict": [0.0, 0.5]}, predicted, "judge") == [0.25]
    pairs = pairs_of("answers", truth, predicted)
    assert JudgeSum().of_questions(pairs, SharedCache()).tolist() == [[1, 1], [0.25, 1]]
    assert LoggedSum("f1").of_questions(pairs, SharedCache()).tolist() == [[0.5, 1], [0, 0]]
    one = {"question": ["p"], "judge": [1.0], "logged:f1": [0.5]}
    assert by_unit("answers", truth, one, "judge", missing="worst") == [1, 0]
    with refuses("E-unknown-name", "'em'", "logged", "predictions"):
        sy.evaluate("answers", truth, predicted, ["logged(score=em)"], confidence=None)  # fmt: skip
    plain = sides([["a"]], ["a"])
    with refuses("E-unknown-name", "'score'", "logged", "predictions"):
        sy.evaluate("answers", *plain, ["logged"], confidence=None)  # fmt: skip
    with refuses("E-missing-data", "verdict", "predictions"):
        sy.evaluate("answers", *plain, ["judge"], confidence=None)  # fmt: skip


@in_turn(
    ("spec", "expected"),
    [
        ("exact", [1, 4]), ("exact(of=answered)", [1, 2]), ("answered", [2, 4]), ("relaxed@0.05", [1, 4]), ("number", [1, 3]),
        ("count_exact", [1, 3]), ("anls@0.5", None), ("mae", None), ("cer", None),
    ],
)  # fmt: skip
def test_proportions(spec: str, expected: Any) -> None:
    given = sides([["1"], ["2"], ["x"], ["4"]], ["1", "3", "", "4"], outcome=["ok", "ok", "ok", "lost"])
    asked = metric("answers", spec)
    made = asked.proportions(state_of(pairs_of("answers", *given), asked).totals(POINT).only(asked.requirements()))
    assert (None if made is None else [float(part[0]) for part in made]) == expected
