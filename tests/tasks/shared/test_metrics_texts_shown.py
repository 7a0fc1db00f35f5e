"""What reports of answers, of captions and of rankings show beside numbers, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.shown import check_figure, check_listing, check_table

import steelyard as sy
from steelyard.tasks.answers import views
from steelyard.tasks.captions.views import _same, _state
from steelyard.tasks.rankings import views as rankings_figures


def answers(accepted: list[list[str]], said: list[str], **more: list[str]) -> sy.Report:
    questions = [f"q{i}" for i in range(len(said))]
    truth = {"question": questions, "answers": accepted, **more}
    return sy.evaluate("answers", truth, {"question": questions, "answer": said}, ["anls"], confidence=None)


def texts() -> sy.Report:
    return answers([["cat"], ["a b"], ["dog"], ["car", "x"]], ["cot", "ab", "dog", "cor"], kind=["m", "n", "m", "n"])


def test_characters_that_are_mixed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = texts()
    assert list(shown.tables) == ["confusions"]
    assert list(shown.figures) == ["similarity", "confusions"]
    names, times = ["a as o", "blank as nothing"], [2, 1]
    check_table(
        shown.table("confusions"), ("confusions", "Characters that are mixed up", "edit"), names, ("times",), times
    )
    figure = shown.figure("confusions")
    check_figure(
        figure, ("confusions", "bars", "Characters that are mixed up"), {"name": names, "value": times}, {"x": "times"},
        "What stands in the first accepted answer, as what the reply has; as nothing: left out, nothing as: added. "
        "Questions without an answer are not in it.",
    )  # fmt: skip
    assert figure.table is not None
    monkeypatch.setattr(views, "MOST_CONFUSIONS", 1)
    assert list(shown.table("confusions").rows) == ["a as o"]
    monkeypatch.setattr(views, "MOST_QUESTIONS", 2)
    monkeypatch.setattr(views, "MOST_CONFUSIONS", 20)
    assert shown.table("confusions").values.tolist() == [[1], [1]]


def test_names_of_characters() -> None:
    assert [views._name(c) for c in "a \n\t\x07\u200b"] == ["a", "blank", "line end", "tab", "U+0007", "U+200B"]


def test_added_characters() -> None:
    assert list(answers([["ab"]], ["abc"]).table("confusions").rows) == ["nothing as c"]


def test_how_alike() -> None:
    counts = [0] * 20
    counts[13], counts[19] = 3, 1  # one edit in three characters, three times, and none
    low = [k / 20 for k in range(20)]
    columns = {"low": low, "high": [edge + 1 / 20 for edge in low], "count": counts}
    check_figure(
        texts().figure("similarity"), ("similarity", "histogram", "How alike replies and answers are"), columns,
        {"x": "1 - edit distance / length", "y": "questions"},
        "ANLS without its threshold. What stands just below 1 is nearly right.",
    )  # fmt: skip


def test_the_listing_of_questions() -> None:
    columns = {
        "question": ["q0", "q1", "q2", "q3"], "accepted": ["cat", "a b", "dog", "car | x"],
        "reply": ["cot", "ab", "dog", "cor"], "similarity": [2 / 3, 2 / 3, 1, 2 / 3], "exact": [0, 0, 1, 0],
        "kind": ["m", "n", "m", "n"],
    }  # fmt: skip
    check_listing(texts().listing(), ("questions", "Questions"), columns, "", "similarity")


def test_yes_and_no() -> None:
    said = ["yes", "yes", "yes", "no", "no", "maybe", "yes", "no", "no", "no", "no"]
    shown = answers([["yes"]] * 6 + [["no"]] * 5, said)
    assert list(shown.tables) == ["yes_no"]
    assert list(shown.figures) == ["yes_no"]
    head = ("yes_no", "Yes and no", "true")
    check_table(shown.table("yes_no"), head, ("yes", "no"), ("yes", "no", "other"), [[3, 2, 1], [1, 4, 0]])
    figure = shown.figure("yes_no")
    columns = {
        "row": ["yes"] * 3 + ["no"] * 3, "column": ["yes", "no", "other"] * 2, "count": [3, 2, 1, 1, 4, 0],
        "share": [1 / 2, 1 / 3, 1 / 6, 1 / 5, 4 / 5, 0], "text": ["3", "2", "1", "1", "4", ""],
    }  # fmt: skip
    check_figure(
        figure, ("yes_no", "matrix", "Yes and no"), columns, {"x": "said", "y": "true"},
        "Rows are true answers, columns what replies say; other is neither, or both. Shade is the share of the row.",
    )  # fmt: skip
    check_table(figure.table, head, ("yes", "no"), ("yes", "no", "other"), [[3, 2, 1], [1, 4, 0]])


def test_numbers() -> None:
    shown = answers([["3"], ["5"], ["7"]], ["4", "5", "some"]).figure("agreement")
    assert shown.columns["x"].tolist() == [3, 5]
    assert shown.columns["y"].tolist() == [4, 5]
    assert shown.facts == {"x": "true, as answered", "y": "predicted, as answered", "item": "question"}


@pytest.mark.parametrize(
    ("word", "lemma", "same"),
    [
        ("dog", "dog", True), ("dogs", "dog", True), ("boxes", "box", True), ("sitting", "sit", True),
        ("stopped", "stop", True), ("baked", "bake", True), ("taken", "take", True), ("eaten", "eat", True),
        ("ponies", "pony", True), ("men", "man", True), ("women", "woman", True), ("doge", "dog", False),
        ("cat", "car", False), ("walk", "talk", False), ("omen", "woman", False), ("women", "man", False),
        ("walks", "walker", False), ("as", "a", False),
    ],
)  # fmt: skip
def test_forms_of_a_word(word: str, lemma: str, same: bool) -> None:
    assert _same(word, lemma) is same


def test_words_that_are_right_or_wrong() -> None:
    good, bad = {"hot dog"}, {"cat", "dog"}
    assert [_state(word, good, bad) for word in ("Dogs,", "HOT", "cats", "the")] == ["hit", "hit", "miss", ""]


TRUTH = {"q1": {"d1": 1.0, "d2": 0.0, "d3": 1.0}, "q2": {"d1": 1.0, "d5": 0.0}}
RUN = {"q1": {"d2": 0.9, "d1": 0.8}, "q2": {"d9": 0.5}}


def rankings() -> sy.Report:
    """Of q1's two relevant documents the second in the run is one; q2's is not in it."""
    return sy.evaluate("rankings", TRUTH, RUN, ["recall@2"], confidence=None)


def test_scores_by_depth() -> None:
    second = 1 / math.log2(3)
    columns = {
        "series": ["nDCG", "nDCG", "recall", "recall", "precision", "precision", "hit rate", "hit rate"], "x": [1, 2] * 4,
        "y": [0, second / (1 + second) / 2, 0, 1 / 4, 0, 1 / 4, 0, 1 / 2],
    }  # fmt: skip
    check_figure(
        rankings().figure("depth"), ("depth", "curves", "Scores by depth"), columns,
        {"x": "first k documents", "y": "mean over queries", "ticks": [1, 2], "points": True},
        "What a reader has who looks at the first k. The axis of k is logarithmic.",
    )  # fmt: skip


def test_queries_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = rankings()
    label = shown.figure("queries").facts["x"]
    check_figure(
        shown.figure("queries"), ("queries", "bars", f"{label}, query by query"),
        {"name": ["q2", "q1"], "value": [0, 1 / 2]}, {"x": label}, "The worst first.",
    )  # fmt: skip
    monkeypatch.setattr(rankings_figures, "MOST_BARS", 1)
    check_figure(
        rankings().figure("queries"), ("queries", "curves", f"{label}, query by query"),
        {"x": [1, 2], "y": [0, 1 / 2], "query": ["q2", "q1"]}, {"x": "queries, the worst first", "y": label},
        "A long flat start are queries that fail; the explorer names them.",
    )  # fmt: skip


def test_judged_documents() -> None:
    columns = {
        "query": ["q1"] * 3 + ["q2"] * 2, "document": ["d2", "d1", "d3", "d1", "d5"], "relevance": [0, 1, 1, 1, 0],
        "rank": [1, 2, np.nan, np.nan, np.nan],
        "outcome": ["found, not relevant", "found", "not found", "not found", "not relevant"],
    }  # fmt: skip
    check_listing(rankings().listing(), ("documents", "Judged documents"), columns, "outcome", "rank")
