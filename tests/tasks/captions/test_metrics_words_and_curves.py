"""Words that a picture of captions marks, and curves that it draws of sets of labels, by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.made import in_turn, pairs_of
from support.shown import check_figure

import steelyard as sy
from steelyard.tasks.captions.views import _match_tuples
from steelyard.tasks.labels import views as labels_views

GRAPH = "car\ncar\tred\nhouse\ncar\tbeside\thouse"


@in_turn(
    ("said", "matched"),
    [
        (("car",), True), (("car", "red"), True), (("car", "blue"), False), (("house", "red"), False),
        (("car", "beside", "house"), True), (("car", "behind", "house"), False), (("house", "beside", "car"), False),
        (("automobile", "red"), True), (("bus",), False),
    ],
)  # fmt: skip
def test_a_tuple_matches_as_what_it_is(said: tuple[str, ...], matched: bool) -> None:
    """The right object does not make its attribute right, nor a relation."""
    assert _match_tuples([said, ("car",)], GRAPH) == [matched, True]


def test_wrong_attributes_of_right_objects() -> None:
    truth = {"image": ["i"], "caption": ["a red car beside a house"], "tuples": [json.dumps([["car"], ["car", "red"]])]}
    predicted = {"image": ["i"], "caption": ["a blue car"], "tuples": [json.dumps([["car"], ["car", "blue"]])]}
    (shown,) = (
        sy.evaluate("captions", truth, predicted, ["spice"], confidence=None).figure("sentences").facts["sentences"]
    )
    assert shown == {
        "words": [["a", ""], ["blue", "miss"], ["car", "hit"]], "matched": ["car"], "wrong": ["car · blue"],
        "missed": ["car · red"], "references": ["a red car beside a house"],
    }  # fmt: skip


SETS: dict[str, Any] = {"labels": ["a|b", "", "b"]}


def test_curves_of_sets() -> None:
    columns = {
        "series": ["a"] * 4 + ["b"] * 3, "x": [0, 0, 0.5, 1, 0, 0, 1], "y": [0, 1, 1, 1, 0, 0.5, 1], "place": list(range(7)),
    }  # fmt: skip
    report = sy.evaluate(
        "labels", SETS, {"score:a": [3.0, 2.0, 1.0], "score:b": [1.0, 1.0, 2.0]}, ["macro(ap)"], confidence=None
    )
    check_figure(
        report.figure("roc"), ("roc", "curves", "ROC"), columns,
        {"x": "false positive rate", "y": "true positive rate", "unit": True, "diagonal": True, "steps": False},
        "Each class against all others. The dashed line is what chance gives.",
    )  # fmt: skip


def test_curves_of_the_classes_with_the_most_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class without rows comes last."""
    monkeypatch.setattr(labels_views, "MOST_CURVES", 2)
    given = {f"score:{name}": [1.0, 2.0, 3.0] for name in ("a", "b", "none", "z")}
    assert labels_views._shown_classes(pairs_of("labels", {"labels": ["a|z", "b|z", "b|z"]}, given)) == [1, 3]
