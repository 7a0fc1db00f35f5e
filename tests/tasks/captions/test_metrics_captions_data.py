"""Captions from what is given to texts by image: what joins, what is refused, in whole messages."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.made import in_turn, pairs_of
from support.refusal import refuses

import steelyard as sy
from steelyard.core.options import Options
from steelyard.core.pairs import Coverage
from steelyard.core.statistic import SharedCache
from steelyard.core.task import Policy
from steelyard.tasks.captions import data, task
from steelyard.tasks.captions import data as captions_data
from steelyard.tasks.captions.data import captions, tokenise_pairs

TRUTH: dict[str, Any] = {
    "image": ["j", "i", "k", "i"], "caption": ["a dog", "a car", "a sky", "A red car."],
    "set": ["s", "t", "u", "v"], "sample_weight": [2.0, 3.0, 0.5, 3.0],
}  # fmt: skip
PREDICTED: dict[str, Any] = {"image": ["k", "j", "i"], "caption": ["clouds", "a cat", "the car"], "model": [7, 8, 9]}


def test_images_stand_in_the_order_of_ids() -> None:
    pairs = pairs_of("captions", TRUTH, PREDICTED)
    assert pairs.units.tolist() == ["i", "j", "k"]
    assert pairs.owner.tolist() == [0, 0, 1, 2]
    assert pairs.truth_row.tolist() == [1, 3, 0, 2]
    assert pairs.prediction_row.tolist() == [2, 1, 0]
    assert pairs.weight.tolist() == [3, 2, 0.5]
    assert pairs.coverage == Coverage(3, 3, 3, 0, 0, "error")
    assert pairs.metadata.axes == {}
    work = SharedCache()
    texts = captions(pairs, work)
    assert texts.candidates == ["the car", "a cat", "clouds"]
    assert texts.references == ["a car", "A red car.", "a dog", "a sky"]
    assert texts.candidate_graphs == [None] * 3
    assert texts.reference_graphs == [None] * 4
    assert texts.starts.tolist() == [0, 2, 3, 4]
    assert [texts.of(i) for i in range(3)] == [["a car", "A red car."], ["a dog"], ["a sky"]]
    assert captions(pairs, work) is texts
    made = tokenise_pairs(pairs, work)
    assert made == (["the car", "a cat", "clouds"], ["a car", "a red car", "a dog", "a sky"])
    assert tokenise_pairs(pairs, work) is made


def test_a_part_of_the_references() -> None:
    pairs = pairs_of("captions", TRUTH, PREDICTED)
    part = pairs.select(np.array([False, True, False, True]))
    assert (part.owner.tolist(), part.truth_row.tolist(), part.units.tolist()) == ([0, 2], [3, 2], ["i", "j", "k"])
    texts = captions(part, SharedCache())
    assert (texts.references, texts.starts.tolist()) == (["A red car.", "a sky"], [0, 1, 1, 2])
    first = captions(pairs.select(np.array([True, False, False, False])), SharedCache())
    assert (first.references, first.starts.tolist()) == (["a car"], [0, 1, 1, 1])


def test_images_without_a_partner() -> None:
    more = {"image": ["k", "z", "i"], "caption": ["clouds", "more", "the car"]}
    worst = pairs_of("captions", TRUTH, more, Policy("worst", "skip"))
    assert worst.units.tolist() == ["i", "j", "k"]
    assert worst.prediction_row.tolist() == [2, -1, 0]
    assert worst.coverage == Coverage(3, 3, 2, 1, 1, "worst")
    assert captions(worst, SharedCache()).candidates == ["the car", "", "clouds"]
    skip = pairs_of("captions", TRUTH, more, Policy("skip", "skip"))
    assert skip.units.tolist() == ["i", "k"]
    assert (skip.owner.tolist(), skip.truth_row.tolist()) == ([0, 0, 1], [1, 3, 2])
    assert skip.prediction_row.tolist() == [2, 0]
    assert skip.weight.tolist() == [3, 0.5]
    assert skip.coverage == Coverage(3, 3, 2, 1, 1, "skip")


def test_slices() -> None:
    pairs = pairs_of("captions", TRUTH, PREDICTED)
    values, owner = pairs.slice_values("set")
    assert (values.tolist(), owner.tolist()) == (["t", "v", "s", "u"], [0, 0, 1, 2])
    values, owner = pairs.slice_values("model")
    assert (values.tolist(), owner.tolist()) == ([9, 8, 7], [0, 1, 2])
    with refuses("E-missing-column", "'sett'", "truth", "'set'"):
        pairs.slice_values("sett")  # fmt: skip
    with refuses("E-missing-column", "'q#'", "truth"):
        pairs.slice_values("q#")  # fmt: skip
    lacking = pairs_of("captions", TRUTH, {"image": ["i"], "caption": ["a"], "model": [1]}, Policy("worst", "skip"))
    with refuses("E-missing-column", "'model'"):
        lacking.slice_values("model")
    none = pairs_of("captions", ONE, {"image": ["z"], "caption": ["a"], "model": [1]}, Policy("skip", "skip"))
    assert [part.tolist() for part in none.slice_values("model")] == [[], []]


GRAPH = 'Example: [["car"], ["car", "red"]].'
ONE: dict[str, Any] = {"image": ["i"], "caption": ["a dog"]}
BAD: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "no caption in the truth": (
        {"image": ["i"], "text": ["a"], "more": ["b"]}, ONE,
        ["E-missing-column", "'caption'", "'image'", "'text'", "'more'", "'YOUR_COLUMN'"],
    ),
    "no caption in the predictions": (
        ONE, {"image": ["i"], "text": ["a"]},
        ["E-missing-column", "'caption'", "'image'", "'text'", "'YOUR_COLUMN'"],
    ),
    "two candidates": (
        ONE, {"image": ["i", "j", "i"], "caption": ["a", "b", "c"]},
        ["E-duplicate-key", "'i'", "row 0", "row 2", "caption"],
    ),
    "no candidate": (
        {"image": list("abcde"), "caption": list("abcde")}, {"image": ["c"], "caption": ["a"]},
        ["E-unmatched", "4", "5", "'a'", "'b'", "'d'", "1"],
    ),
    "no reference": (
        ONE, {"image": list("hijkl"), "caption": list("abcde")},
        ["E-unmatched", "4", "'h'", "'j'", "'k'", "1"],
    ),
    "an empty reference": (
        {"image": ["i", "i"], "caption": ["a", "\t"]}, ONE,
        ["E-empty-cell", "caption", "row 1", "'caption'"],
    ),
    "two candidates in a list": (
        ONE, {"image": ["i"], "caption": ['["a", "b"]']},
        ["E-invalid-value", "caption", "2", "row 0", "'caption'"],
    ),
    "a graph that is not JSON": (
        ONE, {"image": ["i"], "tuples": ["[["]},
        ["E-invalid-file", "row 0", "'tuples'"],
    ),
    "a graph too deep": (
        {**ONE, "tuples": ["[" * 100_000]}, ONE,
        ["E-invalid-file", "row 0", "'tuples'"],
    ),
    "weights that differ": (
        {"image": ["i", "i"], "caption": ["a", "b"], "sample_weight": [1.0, 2.0]}, ONE,
        ["E-incompatible", "2", "1", "row 0", "row 1", "'sample_weight'"],
    ),
}  # fmt: skip


@in_turn("case", BAD)
def test_refused(case: str) -> None:
    truth, predicted, said = BAD[case]
    with refuses(*said):
        sy.evaluate("captions", truth, predicted, ["spice"], confidence=None)


def test_policies_have_names() -> None:
    with refuses("E-invalid-setting", "missing='wurst'", "'worst'"):
        pairs_of("captions", TRUTH, PREDICTED, Policy("wurst", "skip"))


def test_a_caption_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "LONGEST_CAPTION", 1200)
    at_most = {"image": ["i"], "caption": ["x" * 1200]}
    assert captions(pairs_of("captions", at_most, at_most), SharedCache()).candidates == ["x" * 1200]
    long = {"image": ["i"], "caption": ["x" * 1201]}
    with refuses("E-too-large", "caption", "1,201", "row 0", "'caption'", "truth, row 0, column 'caption'"):
        captions(pairs_of("captions", long, ONE), SharedCache())  # fmt: skip
    with refuses("E-too-large", "row 0", "'caption'"):
        captions(pairs_of("captions", ONE, long), SharedCache())
    monkeypatch.undo()
    assert data.LONGEST_CAPTION == 1_048_576


def test_graphs_beside_or_instead_of_captions() -> None:
    """A row may have a caption, a graph, or both; an empty graph is none."""
    truth = {"image": ["i", "i"], "caption": ["a car", ""], "tuples": ["", '[["Car"], ["car", "Dark  red"]]']}
    predicted = {"image": ["i"], "tuples": ['[["bus"]]']}
    texts = captions(pairs_of("captions", truth, predicted), SharedCache())
    assert (texts.candidates, texts.candidate_graphs) == ([""], ["bus"])
    assert (texts.references, texts.reference_graphs) == (["a car", ""], [None, "car\ncar\tdark red"])


def test_lists_of_captions() -> None:
    truth = {"image": ["i", "j"], "caption": ['["a dog", "a hound"]', "a cat"], "set": ["s", "t"]}
    predicted = {"image": ["j", "i"], "caption": ["[a cat", '["a dog"]']}
    pairs = pairs_of("captions", truth, predicted)
    texts = captions(pairs, SharedCache())
    assert texts.candidates == ["a dog", "[a cat"]
    assert [texts.of(i) for i in range(2)] == [["a dog", "a hound"], ["a cat"]]
    assert pairs.slice_values("set")[0].tolist() == ["s", "s", "t"]


@in_turn(
    ("text", "read"),
    [
        ('["a", "b"]', ["a", "b"]), ('["a"]', ["a"]), ("[]", None), ("[a]", None), ('["a", 1]', None), ('"a"', None),
        (' ["a"]', None), ("a", None), ("[" * 100_000, None),
    ],
)  # fmt: skip
def test_a_text_that_is_a_list(text: str, read: list[str] | None) -> None:
    assert captions_data.captions_of_list(text) == read


def test_sides_without_lists_are_left_as_they_are() -> None:
    pairs = pairs_of("captions", TRUTH, PREDICTED)
    truth, predicted = captions_data.prepare(pairs.truth, pairs.prediction, Options())
    assert truth is pairs.truth
    assert predicted is pairs.prediction


def test_texts_by_image() -> None:
    made = task.plain_sides({"i": ["a", "b"], 7: "c", "k": ("d",)}, {"i": "e", 7: ["f"], "k": "g"})
    assert made is not None
    truth, predicted, notes = made
    assert [list(side) for side in (truth, predicted)] == [["image", "caption"]] * 2
    assert truth["image"].tolist() == ["i", "i", 7, "k"]
    assert truth["caption"].tolist() == ["a", "b", "c", "d"]
    assert predicted["image"].tolist() == ["i", 7, "k"]
    assert predicted["caption"].tolist() == ["e", "f", "g"]
    assert notes == ()


@in_turn(
    "side",
    [{}, [("i", "a")], {"image": ["i"], "caption": ["a"]}, {"image_id": ["i"], "text": ["a"]}, {"i": 1},
     {"i": "a", "j": 2.5}, {"i": ["a", 3]}, {"tuples": "a"}, {"i": {"a"}}],
)  # fmt: skip
def test_what_is_no_texts_by_image(side: Any) -> None:
    good = {"i": "a"}
    assert task.plain_sides(side, good) is None
    assert task.plain_sides(good, side) is None


def test_texts_by_image_are_scored() -> None:
    report = sy.evaluate("captions", {"i": ["a dog", "a cat"]}, {"i": "a cat"}, ["bleu@1"], confidence=None)
    assert report["bleu@1"].value == pytest.approx(1)


def test_what_is_shown_if_nothing_is_asked() -> None:
    assert task.TASK.defaults == task.DEFAULTS
    report = sy.evaluate("captions", ONE, {**ONE, "tuples": [json.dumps([["dog"]])]}, confidence=None)
    assert list(report.scores) == list(task.DEFAULTS)
