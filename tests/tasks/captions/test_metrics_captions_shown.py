"""What a report of captions shows beside numbers: sentences word by word, and the listing, by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.made import check_alone, check_left_out, metric, pairs_of, state_of
from support.shown import agree, check_figure, check_listing

import steelyard as sy
from steelyard.core.statistic import SharedCache
from steelyard.tasks.captions import views as figures
from steelyard.tasks.captions.views import PARTS, _match_tuples, _same, _scores

TRUTH: dict[str, Any] = {
    "image": ["i", "i", "j"],
    "caption": ["A mat.", "a brown dog", "a pony"],
    "tuples": [json.dumps(t) for t in ([["mat"]], [["mat"], ["dog"], ["cow"]], [["pony"]])],
}
PREDICTED: dict[str, Any] = {
    "image": ["j", "i"],
    "caption": ["Ponies, blue", "The black cat near birds and MATS!"],
    "tuples": [json.dumps(t) for t in ([["pony"]], [["mat"], ["cat", "black"], ["cat", "near", "bird"], ["mat"]])],
}
SAID = (
    "What the references say too is underlined, what none of them says is struck through. Missed is what they say and the "
    "caption does not."
)
FIRST = {
    "words": [
        ["The", ""], ["black", "miss"], ["cat", "miss"], ["near", "miss"], ["birds", "miss"], ["and", ""], ["MATS!", "hit"],
    ],
    "matched": ["mat"],
    "wrong": ["cat · black", "cat · near · bird"],
    "missed": ["dog", "cow"],
    "references": ["A mat.", "a brown dog"],
}  # fmt: skip
SECOND = {
    "words": [["Ponies,", "hit"], ["blue", ""]],
    "matched": ["pony"],
    "wrong": [],
    "missed": [],
    "references": ["a pony"],
}
SPICE = 2 * 1 / (5 + 3)  # mat, cat, bird and two more tuples; mat, dog and cow


def test_sentences() -> None:
    report = sy.evaluate("captions", TRUTH, PREDICTED, ["spice"], confidence=None)
    assert list(report.figures)[:1] == ["sentences"]
    check_figure(
        report.figure("sentences"),
        ("sentences", "sentences", "Captions: the worst 2 by SPICE, and some of the best"),
        {"image": ["i", "j"], "spice": [SPICE, 1]}, {"sentences": [FIRST, SECOND]}, SAID,
    )  # fmt: skip


def many(images: int, words: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Image k names k of the objects of its references, and nothing else."""
    objects = [[f"w{n}"] for n in range(words)]
    names = [f"{k:02}" for k in range(images)]
    truth = {"image": names, "tuples": [json.dumps(objects)] * images}
    return truth, {"image": names, "tuples": [json.dumps(objects[:k]) for k in range(images)]}


def test_the_worst_and_the_best() -> None:
    report = sy.evaluate("captions", *many(12, 14), ["bleu"], confidence=None)
    shown = report.figure("sentences")
    assert shown.title == "Captions: the worst 7 by SPICE, and some of the best"
    assert shown.columns["image"] == ["00", "01", "02", "03", "04", "05", "06", "11", "10", "09"]
    assert shown.columns["spice"].tolist() == pytest.approx(
        [2 * k / (k + 14) for k in (0, 1, 2, 3, 4, 5, 6, 11, 10, 9)]
    )
    first, second = shown.facts["sentences"][0], shown.facts["sentences"][3]
    assert first == {
        "words": [],
        "matched": [],
        "wrong": [],
        "missed": [f"w{n}" for n in range(12)],
        "references": [""],
    }
    assert second["matched"] == ["w0", "w1", "w2"]
    assert second["missed"] == [f"w{n}" for n in range(3, 14)]
    assert [len(text) for text in shown.facts["sentences"][8]] == [5, 7, 5, 6, 10]


def test_few_images_stand_once() -> None:
    shown = sy.evaluate("captions", *many(8, 9), ["bleu"], confidence=None).figure("sentences")
    assert shown.columns["image"] == ["00", "01", "02", "03", "04", "05", "06", "07"]
    assert shown.title == "Captions: the worst 7 by SPICE, and some of the best"
    assert (figures.WORST, figures.BEST, figures.MOST_MISSED) == (7, 3, 12)


def test_sentences_are_read_as_the_first_spice_reads_them() -> None:
    """The subject of a passive has a relation only where the reading says what is described."""
    truth = {"image": [1], "caption": ["A car is parked beside a house"]}
    for graph, relation in (("original", []), ("described", ["car · beside · house"])):
        report = sy.evaluate("captions", truth, truth, ["bleu", f"spice(graph={graph})"], confidence=None)
        (shown,) = report.figure("sentences").facts["sentences"]
        assert [text for text in shown["matched"] if text.count("·") == 2] == relation


def test_words_that_only_end_alike() -> None:
    assert [_same(*pair) for pair in (("talks", "walk"), ("hats", "cat"), ("cats", "cat"), ("bees", "be"))] == [
        False, False, True, False,
    ]  # fmt: skip


def test_a_report_of_nothing_shows_nothing() -> None:
    pairs = pairs_of("captions", TRUTH, PREDICTED)
    empty = state_of(pairs, metric("captions", "spice")).take(np.zeros(0, dtype=np.int64))
    assert figures.figures(pairs, empty, []) == {}


def test_scores_are_those_that_were_measured() -> None:
    pairs = pairs_of("captions", TRUTH, PREDICTED)
    asked = metric("captions", "spice_object")
    state = state_of(pairs, asked)
    work = SharedCache()
    assert _scores(pairs, state, work, "object", "original").tolist() == pytest.approx([2 * 1 / (3 + 3), 1])
    assert not work._made  # nothing was parsed again
    assert _scores(pairs, state, work, "all", "original").tolist() == pytest.approx([SPICE, 1])
    relations = _scores(pairs, state, work, "relation", "original")
    assert np.isnan(relations).all()


def test_tuples_alone() -> None:
    assert _match_tuples([], "car") == []
    assert _match_tuples([("car",), ("bus",)], "") == [False, False]
    assert _match_tuples([("automobile",), ("bus",), ("dog",)], "car\nbus") == [True, True, False]


def test_the_listing() -> None:
    assert PARTS == (("object", "objects"), ("attribute", "attributes"), ("relation", "relations"))
    columns = {
        "image": ["i", "j"], "caption": ["The black cat near birds and MATS!", "Ponies, blue"],
        "first reference": ["A mat.", "a pony"], "spice": [SPICE, 1], "objects": [2 * 1 / (3 + 3), 1],
        "attributes": [np.nan, np.nan], "relations": [np.nan, np.nan],
    }  # fmt: skip
    report = sy.evaluate("captions", TRUTH, PREDICTED, ["bleu"], confidence=None)
    check_listing(report.listing(), ("captions", "Captions"), columns, "", "spice")
    pairs = pairs_of("captions", TRUTH, PREDICTED).select(np.array([False, False, True]))
    part = figures.listing(pairs, state_of(pairs, metric("captions", "bleu")))
    agree(
        {"first reference": part.columns["first reference"], "image": part.columns["image"]},
        {"first reference": ["", "a pony"], "image": ["i", "j"]},
    )


def test_each_image_left_out() -> None:
    """What rows of weights give at once is what the data give without the image; CIDEr looks at the others too."""
    words = ["a red car", "a brown dog on a mat", "two big cows", "a man with a kite", "a car beside a white house"]
    said = ["a car", "a dog on the mat", "a cow", "two men", "a red house"]
    truth = {"image": list("aabcde"), "caption": [words[0], *words]}
    specs = (
        "bleu@1", "bleu@2(level=image)", "sacrebleu", "rouge_l", "rouge_score@2", "meteor", "meteor(level=corpus)", "spice",
        "spice_attribute", "spice_count", "spice_weighted(color=2)", "spice(value=recall)",
    )  # fmt: skip
    check_left_out("captions", truth, {"image": list("abcde"), "caption": said}, "image", specs)
    check_alone("captions", truth, {"image": list("abcde"), "caption": said}, "image", specs)
