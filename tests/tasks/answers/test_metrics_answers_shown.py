"""What is shown of answers beside scores, and what other tools print of the same replies, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.made import in_turn, pairs_of
from support.refusal import refuses
from support.shown import check_figure, check_listing
from test_metrics_answers import sides

import steelyard as sy
from steelyard.core.explanation import Explanation, Step
from steelyard.core.statistic import SharedCache
from steelyard.tasks.answers import views
from steelyard.tasks.answers.texts import said_texts
from steelyard.tasks.answers.views import TEXT_ONLY, TOOLS, AnswerConventions, _set_f1, _word_set, outcomes_of


def evaluated(given: Any, *specs: str, **settings: Any) -> sy.Report:
    return sy.evaluate("answers", *given, list(specs) or None, confidence=None, **settings)


def test_what_is_shown_of_what_is_held() -> None:
    texts = evaluated(sides([["a"], ["b"]], ["a", "c"]))
    assert list(texts.tables) == ["confusions"]
    assert [name for name in texts.figures if name in ("similarity", "confusions", "agreement", "yes_no")] == [
        "similarity", "confusions",
    ]  # fmt: skip
    numbers = evaluated(sides([["1"], ["2"]], ["1", "3"]))
    assert list(numbers.figures)[:3] == ["agreement", "similarity", "confusions"]
    assert "agreement" not in evaluated(sides([["1"]], ["one or two"]), "number").figures
    offered = evaluated(sides([["A"], ["B"]], ["A", "A"], choices=['["x", "y"]'] * 2))
    assert not {"similarity", "confusions"} & set(offered.figures)
    assert list(offered.tables) == ["confusions"]
    said_yes = evaluated(sides([["yes"], ["no"]], ["yes", "yes"]))
    assert (list(said_yes.tables), "yes_no" in said_yes.figures) == (["yes_no"], True)
    judged = sy.evaluate("answers", {"question": ["p"]}, {"question": ["p"], "judge": [1.0]}, confidence=None)
    assert (list(judged.tables), judged.listing()) == ([], None)
    assert not {"similarity", "confusions", "agreement"} & set(judged.figures)


def test_a_report_of_nothing_shows_nothing() -> None:
    report = evaluated(sides([["a"], ["b"]], ["a", "c"]))
    state = report.details.state  # type: ignore[union-attr]
    none = pairs_of("answers", *sides([["a"], ["b"]], ["a", "c"])).select(np.zeros(2, dtype=bool))
    assert views.figures(none, state, []) == {}
    assert views.tables(none, state) == {}


def test_characters_that_are_mixed_up() -> None:
    """Of several accepted answers the first is aligned; silence is not in it. Equal numbers stand in the order of names."""
    given = sides(
        [["cat", "cot"], ["hat"], ["ab"], ["x"]], ["cot", "hot", "a b", "y"], outcome=["ok", "ok", "ok", "lost"]
    )
    pairs = pairs_of("answers", *given)
    assert views._frequent_edits(pairs) == [("a as o", 2), ("nothing as blank", 1)]
    assert views.confusions(pairs).values.tolist() == [[2], [1]]
    later = pairs_of("answers", *sides([["x"], ["b"], ["a"], ["a"]], ["y", "c", "b", "b"]))
    assert views._frequent_edits(later) == [("a as b", 2), ("b as c", 1), ("x as y", 1)]
    many = pairs_of("answers", *sides([["a"], ["z"], ["z"]], ["b", "y", "y"]))
    assert views._frequent_edits(many) == [("z as y", 2), ("a as b", 1)]
    right = pairs_of("answers", *sides([["a"]], ["a"]))
    assert views.confusions(right).values.shape == (0, 1)


def test_the_listing() -> None:
    given = sides([["a cat", "cat", "cat"], ["dog"]], ["cat", ""], group=["g", "h"], kind=["m", "n"])
    columns = {
        "question": ["q0", "q1"], "unit": ["g", "h"], "accepted": ["a cat | cat", "dog"], "reply": ["cat", ""],
        "similarity": [1, 0], "exact": [1, 0], "kind": ["m", "n"],
    }  # fmt: skip
    check_listing(evaluated(given, "exact").listing(), ("questions", "Questions"), columns, "", "similarity")
    empty = sides([[""], ["dog"]], ["", "dog"])
    check_listing(
        evaluated(empty, "cer").listing(), ("questions", "Questions"),
        {"question": ["q0", "q1"], "accepted": ["", "dog"], "reply": ["", "dog"]}, "", "",
    )  # fmt: skip


def test_how_alike() -> None:
    shown = views.similarity_figure(pairs_of("answers", *sides([["ab"], ["abcd"]], ["xy", "abcx"])))
    counts = [0] * 20
    counts[0], counts[15] = 1, 1
    low = np.arange(20) / 20
    check_figure(
        shown, ("similarity", "histogram", "How alike replies and answers are"),
        {"low": low, "high": low + 1 / 20, "count": counts},
        {"x": "1 - edit distance / length", "y": "questions"},
        "ANLS without its threshold. What stands just below 1 is nearly right.",
    )  # fmt: skip
    assert (views.MOST_CONFUSIONS, views.MOST_QUESTIONS, views.BINS) == (20, 20_000, 20)


def test_yes_and_no_of_nothing_said() -> None:
    shown = views.yes_no_figure(pairs_of("answers", *sides([["yes"]], ["hm"])))
    assert shown.columns["share"].tolist() == [0, 0, 1, 0, 0, 0]
    assert shown.columns["text"] == ["", "", "1", "", "", ""]


TRUTH = ["red car", "5", "north", "the dog", "x y z"]
SAID = ["Car red", "5.0", " north ", "dog", "x x"]


def explained(given: Any, tool: str) -> Explanation:
    (made,) = views.explain(pairs_of("answers", *given), [tool])
    return made


def test_inspect() -> None:
    """By sets of words the first two and the dog are right; F1 of x x and x y z is 2 * 1 * 1/3 over 4/3, 0.5."""
    made = explained(sides([[text] for text in TRUTH], SAID), "inspect")
    exact, words = {"exact": 1 / 5}, {"word_f1": (1 + 0 + 1 + 1 + 2 * (1 / 2) * (1 / 3) / (5 / 6)) / 5}
    ours = {**exact, **words}
    sets = {"exact": 4 / 5}
    two = {"word_f1": (1 + 1 + 1 + 1 + 0.5) / 5}
    assert (made.tool, made.version) == ("inspect", "56828e8")
    assert made.ours == pytest.approx(ours)
    assert made.theirs == pytest.approx({**sets, **two})
    assert [(step.setting, step.ours, step.theirs, step.reason) for step in made.steps] == [
        ("outcome of a reply", "no answer where it is not ok", "not known", TEXT_ONLY),
        ("weights of units", "as given", "not known", "No weights are known there."),
        ("when texts are equal", "lower, single blanks", "sets of words",
         "exact() compares sets of words, without marks and articles: order and repeats do not count."),
        ("what F1 compares", "bags of words", "sets of words, two digits",
         "f1() compares sets, and rounds each question to two digits."),
    ]  # fmt: skip
    assert [dict(step.values) for step in made.steps] == [
        pytest.approx(one) for one in (ours, ours, {**sets, **words}, {**exact, **two})
    ]
    assert made.remarks == ("match() and includes() look for the target inside the reply: other questions than these.",)


def test_two_digits() -> None:
    made = explained(sides([["x y z"]], ["x"]), "inspect")
    assert made.theirs["word_f1"] == 0.5
    third = explained(sides([["u v w x y"]], ["u"]), "inspect")  # 2 * 1 * 1/5 over 6/5
    assert third.theirs["word_f1"] == 0.33


def test_what_tools_print_of_such_data() -> None:
    texts, people = sides([["a"]], ["a"]), sides([["a"] * 4], ["a"])
    said_yes = sides([["yes"]], ["yes"])
    prints = {
        name: [list(explained(given, name).ours) for given in (texts, people, said_yes)] for name in TOOLS
    }  # fmt: skip
    yes = ["yn_accuracy", "yn_precision", "yn_recall", "yn_f1"]
    assert prints == {
        "lmms-eval": [["exact", "anls@0.5", "relaxed@0.05"], ["vqa"], [*yes, "yes_ratio"]],
        "vlmevalkit": [["exact", "anls@0.5", "relaxed@0.05"], ["vqa"], yes],
        "inspect": [["exact", "word_f1"], ["exact"], ["exact"]], "lm-eval": [["exact"]] * 3, "vqa": [["vqa"]] * 3,
    }  # fmt: skip
    with refuses("E-unknown-name", "'inspct'", "'inspect'"):
        views.explain(pairs_of("answers", *texts), ["inspct"])  # fmt: skip


def test_weights_and_outcomes() -> None:
    """One right reply of weight 3, one lost of weight 1, one wrong of weight 4."""
    given = sides([["a"], ["b"], ["c"]], ["a", "b", "x"], sample_weight=[3.0, 1.0, 4.0], outcome=["ok", "lost", "ok"])
    blank = explained(sides([["a"], ["a b"]], ["A", "a  b"]), "lm-eval")
    assert (blank.ours["exact"], blank.theirs["exact"]) == (1, 0)
    assert explained(sides([["a"], ["a b"]], [" A", "a  b"]), "vlmevalkit").theirs["exact"] == 1 / 2
    made = explained(given, "lm-eval")
    assert made.ours == pytest.approx({"exact": 3 / 8})
    assert [step.values["exact"] for step in made.steps] == pytest.approx([4 / 8, 1 / 3, 3 / 8])
    assert made.theirs == pytest.approx({"exact": 2 / 3})
    pairs = pairs_of("answers", *sides([["a"]], ["a"], sample_weight=[0.0]))
    texts = said_texts(pairs, SharedCache())
    assert np.isnan(outcomes_of(pairs, texts, ("exact",), AnswerConventions())["exact"])


def test_groups_and_weights() -> None:
    given = sides([["a"], ["b"], ["c"]], ["a", "x", "c"], group=["g", "g", "h"], sample_weight=[2.0, 2.0, 1.0])
    assert explained(given, "lm-eval").ours == pytest.approx({"exact": 3 / 5})


YES = ["yes", "yes", "no", "no", "yes", "yes", "no", "no"]
HEARD = ["Yes", "Yes, there is.", "yes", "No", "unsure", "no", "no:", "?"]


def test_yes_and_no() -> None:
    """TP 2, FP 1, TN 2, FN 1, one neither of each; nothing but the word: TP 1, FP 1, TN 1, FN 1, and two of each."""
    made = explained(sides([[text] for text in YES], HEARD), "lmms-eval")
    ours = {"yn_accuracy": 4 / 8, "yn_precision": 2 / 3, "yn_recall": 2 / 4, "yn_f1": 4 / 7, "yes_ratio": 3 / 6}
    assert made.ours == pytest.approx(ours)
    steps = {step.setting: step.values for step in made.steps}
    assert steps["how yes and no are read"] == pytest.approx(
        {"yn_accuracy": 2 / 8, "yn_precision": 1 / 2, "yn_recall": 1 / 4, "yn_f1": 2 / 6, "yes_ratio": 2 / 4}
    )
    assert steps["a reply that is neither"] == pytest.approx({**ours, "yn_recall": 2 / 3, "yn_f1": 4 / 6})
    assert steps["yes ratio"] == pytest.approx({**ours, "yes_ratio": 4 / 8})
    assert made.theirs == pytest.approx(
        {"yn_accuracy": 2 / 8, "yn_precision": 1 / 2, "yn_recall": 1 / 2, "yn_f1": 2 / 4, "yes_ratio": 4 / 8}
    )
    marks = explained(sides([[text] for text in YES], HEARD), "vlmevalkit")  # "no:" is neither there
    assert marks.theirs == pytest.approx(
        {"yn_accuracy": 3 / 8, "yn_precision": 2 / 3, "yn_recall": 2 / 4, "yn_f1": 4 / 7}
    )
    lost = explained(sides([["yes"], ["no"]], ["yes", "no"], outcome=["lost", "ok"]), "vlmevalkit")
    assert lost.ours["yn_accuracy"] == 1 / 2
    assert np.isnan(lost.ours["yn_precision"])
    assert lost.theirs["yn_accuracy"] == 1
    assert [views._by_marks(text) for text in ("Yes, sir", "no", "yes or no", "hm", "YES.", "yes:")] == [
        "yes", "no", "other", "other", "yes", "other",
    ]  # fmt: skip


def test_vqa() -> None:
    """Ten of ten say "yes"; three say "3" and seven "4"."""
    given = sides([["yes"] * 10, ["3"] * 3 + ["4"] * 7], ["Yes", "3."])
    made = explained(given, "vlmevalkit")
    assert made.ours == pytest.approx({"vqa": 0.9 / 2})
    assert {step.setting: step.values["vqa"] for step in made.steps if "VQA" in step.setting} == pytest.approx(
        {"VQA's rule for texts is applied": 1.9 / 2, "full stops in VQA's rule": 0}
    )
    assert made.theirs == pytest.approx({"vqa": 1 / 2})
    silent = sides([["yes"] * 4, ["no"] * 4], ["yes", "no"], outcome=["lost", "ok"])
    assert explained(silent, "vqa").ours == pytest.approx({"vqa": 1 / 2})
    assert explained(silent, "vqa").theirs == pytest.approx({"vqa": 1})


def test_blanks_around() -> None:
    made = explained(sides([["north"], ["100"], ["x"]], [" north", "103", "x"]), "vlmevalkit")
    assert made.ours["relaxed@0.05"] == pytest.approx(2 / 3)
    around = [step for step in made.steps if step.setting == "blanks around a reply, in relaxed accuracy"]
    assert around == [
        Step("blanks around a reply, in relaxed accuracy", "kept", "stripped", '" north " is right for "north".', around[0].values)
    ]  # fmt: skip
    assert around[0].values["relaxed@0.05"] == 1
    assert around[0].values["exact"] == made.ours["exact"] == 2 / 3
    assert made.ours["anls@0.5"] == pytest.approx((1 + 2 / 3 + 1) / 3)
    edge = explained(sides([["abcd"], ["ab"]], ["abxy", "axc"]), "lmms-eval")  # one half, and one third
    assert edge.ours["anls@0.5"] == edge.theirs["anls@0.5"] == pytest.approx(0.5 / 2)


@in_turn(
    ("text", "words"),
    [
        ("The red-hot Car!", {"red", "hot", "car"}), ("5", {"5.0"}), ("5.50", {"5.5"}), ("$5", {"5.0"}), ("a an the", set()),
        ("x x", {"x"}), ("", set()),
    ],
)  # fmt: skip
def test_sets_of_words(text: str, words: set[str]) -> None:
    assert _word_set(text) == words


@in_turn(
    ("reply", "answer", "f1"),
    [("x", "x y", 2 / 3), ("x y", "x", 2 / 3), ("x", "y", 0), ("", "x", 0), ("x", "", 0), ("", "", 1)],
)
def test_f1_of_sets(reply: str, answer: str, f1: float) -> None:
    assert _set_f1(frozenset(reply.split()), frozenset(answer.split())) == pytest.approx(f1)
