"""Numbers and transcripts in answers, by hand; and metrics of answers for many rows of weights at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.made import check_alone, check_left_out, in_turn, pairs_of, values
from test_metrics_answers import CHOSEN, HEARD, OFFERED, TEN, TRUE, YES_NO, sides

import steelyard as sy
from steelyard.core.statistic import SharedCache
from steelyard.tasks.answers.sums import EditSums, NumberErrors, NumberHits, Questions, TextRemarks, numbers_of

NUMBERS = [["10"], ["20", "30"], ["0"], ["2.5"], ["red"], ["7"]], ["12", "28", "1", "2.5", "3", "about 8"]


def test_numbers() -> None:
    """Errors 2, -2 (of 30, the nearer), 1, 0, and none for red and for "about 8", which is 8 where one may be read."""
    assert values(
        "answers", *sides(*NUMBERS), "number", "number(abs=2)", "number(rel=0.2)", "number(read=only, abs=1)", "mae",
        "mae(read=only)", "bias", "rmse", "mape", "count_exact", "count_within@1", "count_within@2", "count_mae",
        "count_bias", "count_within@1(read=only)",
    ) == pytest.approx(
        [1 / 5, 4 / 5, 3 / 5, 3 / 5, 5 / 4, 6 / 5, 1 / 4, math.sqrt(9 / 4), 100 * (2 / 10 + 2 / 30 + 0) / 3, 0, 1 / 4,
         3 / 4, 5 / 3, 1 / 3, 2 / 4]
    )  # fmt: skip
    report = sy.evaluate("answers", *sides(*NUMBERS), ["mae", "count_mae", "number"], confidence=None)
    assert [report[spec].n_excluded for spec in ("mae", "count_mae", "number")] == [1, 1, 0]
    assert report["mae"].excluded == "questions for a number, whose reply is none"


def test_what_is_kept_of_numbers() -> None:
    pairs, work = pairs_of("answers", *sides(*NUMBERS)), SharedCache()
    true, given = numbers_of(pairs, work, "whole")
    np.testing.assert_array_equal(true, [10, 30, 0, 2.5, np.nan, 7])
    np.testing.assert_array_equal(given, [12, 28, 1, 2.5, 3, np.nan])
    errors = NumberErrors().of_questions(pairs, work)
    np.testing.assert_allclose(
        errors,
        [[1, 2, 2, 4, 0.2, 1, 1], [1, 2, -2, 4, 2 / 30, 1, 1], [1, 1, 1, 1, 0, 0, 1], [1, 0, 0, 0, 0, 1, 1],
         [0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1]],
    )  # fmt: skip
    assert NumberErrors("whole", True).of_questions(pairs, work)[:, 6].tolist() == [1, 1, 1, 0, 0, 1]
    assert NumberHits(0.0, 1.0, "whole", True).of_questions(pairs, work).astype(int).tolist() == [
        [0, 1], [0, 1], [1, 1], [0, 0], [0, 0], [0, 1],
    ]  # fmt: skip
    negative = pairs_of("answers", *sides([["-3"], ["4", "x"]], ["-3", ""]))
    assert NumberHits(0.0, 0.0, "whole", True).of_questions(negative, SharedCache()).astype(int).tolist() == [
        [0, 0],
        [0, 1],
    ]
    silent = numbers_of(pairs_of("answers", *sides([["x", "4", "5"]], ["9"], outcome=["lost"])), SharedCache(), "whole")
    assert silent[0].tolist() == [4]
    assert np.isnan(silent[1]).all()


def test_units_without_a_question() -> None:
    pairs = pairs_of("answers", *sides(*NUMBERS, group=list("aabbcc"))).select(np.arange(6) < 2)
    assert NumberHits(0.0, 2.0).measure(pairs, SharedCache()).values.tolist() == [[2, 2], [0, 0], [0, 0]]
    assert Questions().measure(pairs, SharedCache()).values.tolist() == [2, 0, 0]


TEXTS = [["the red car"], ["a b"], ["x"]], ["a red bus here", "b", "x"]  # S 2 I 1 of 3; D 1 of 2; right
RATES = {
    "wer": 4 / 6, "wer_s": 2 / 6, "wer_d": 1 / 6, "wer_i": 1 / 6, "mer": 4 / 7, "wip": 3 / 6 * 3 / 6, "wil": 1 - 1 / 4,
}  # fmt: skip


@in_turn("spec", RATES)
def test_rates_of_words(spec: str) -> None:
    assert values("answers", *sides(*TEXTS), spec) == pytest.approx([RATES[spec]])


def test_rates_of_characters() -> None:
    """abcd as abxd e: one substituted, two inserted; ab as a: one deleted."""
    given = sides([["abcd"], ["ab"]], ["abxd e", "a"])
    expected = [4 / 6, 1 / 6, 1 / 6, 2 / 6]
    assert values("answers", *given, "cer", "cer_s", "cer_d", "cer_i") == pytest.approx(expected)


def test_the_answer_with_the_lowest_rate() -> None:
    pairs = pairs_of("answers", *sides([["a b", "a b c d"], [" ", "z"], ["", "q"]], ["a b c", "", "r s"]))
    assert EditSums().of_questions(pairs, SharedCache()).tolist() == [[3, 0, 1, 0, 0], [0, 0, 0, 0, 1], [0, 1, 0, 1, 0]]
    longer = pairs_of("answers", *sides([["a b c d", "a b c d e f g"]], ["a b c d e"]))  # 1 of 4, and 2 of 7
    assert EditSums().of_questions(longer, SharedCache()).tolist() == [[4, 0, 0, 1, 0]]
    work = SharedCache()
    assert EditSums().of_questions(pairs, work) is EditSums().of_questions(pairs, work)


def test_what_separates_words() -> None:
    given = sides([["a\tb"], ["c d"], ["e"]], ["a b", "c d", "e\nf"])
    assert values("answers", *given, "wer", "wer(space=any)") == pytest.approx([3 / 4, 1 / 5])
    report = sy.evaluate("answers", *given, ["wer", "wer(space=any)", "cer"], confidence=None)
    assert report["wer"].notes == (
        "2 questions have a tab or line end inside a text, which separates no words; space=any does.",
    )
    assert report["wer(space=any)"].notes == report["cer"].notes == ()


def test_forms_of_characters_and_empty_texts() -> None:
    given = sides([["cafe\u0301"], [""], ["é"]], ["café", "x", "e\u0301"])
    report = sy.evaluate("answers", *given, ["cer", "cer(unicode=nfc)", "wer"], confidence=None)
    empty = "1 true texts are empty: what is inserted there adds to the errors, and nothing to the length."
    forms = "2 questions have characters in more than one form of Unicode; unicode=nfc joins them."
    assert report["cer"].notes == report["wer"].notes == (empty, forms)
    assert report["cer(unicode=nfc)"].notes == (empty,)
    assert report["cer(unicode=nfc)"].value == pytest.approx(1 / 5)
    assert report["cer"].value == pytest.approx((2 + 1 + 2) / 6)
    pairs = pairs_of("answers", *given)
    assert TextRemarks().of_questions(pairs, SharedCache()).astype(int).tolist() == [[0, 1], [0, 0], [0, 1]]


LEFT = [
    (sides(*NUMBERS), ["number", "mae", "rmse", "mape", "count_within@1", "count_bias", "exact", "anls@0.5", "cer"]),
    (sides(*TEXTS), ["wer", "wer_s", "mer", "wip", "wil", "word_f1", "char_f1", "answered"]),
    (sides([[text] for text in TRUE], HEARD), [*YES_NO]),
    (sides(CHOSEN[0], CHOSEN[1], choices=OFFERED["choices"]), ["choice", "choice_all"]),
    (sides(TEN, ["Yes", "3", "red", ""]), ["vqa", "vqa(of=answered)", "vqa(rule=simple)"]),
]  # fmt: skip


@in_turn("case", range(len(LEFT)))
def test_each_question_left_out_and_alone(case: int) -> None:
    """What rows of weights give at once is what the data give without the question, or of it alone."""
    given, specs = LEFT[case]
    check_left_out("answers", *given, "question", specs)
    check_alone("answers", *given, "question", specs)
