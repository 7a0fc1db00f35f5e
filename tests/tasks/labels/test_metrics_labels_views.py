"""What a report of labels shows of sets, of rows without a prediction and of scores that are alike, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.made import metric, pairs_of, state_of
from support.shown import check_listing, check_table

import steelyard as sy
from steelyard.core.task import Policy
from steelyard.tasks.labels import data
from steelyard.tasks.labels import views as labels_views
from steelyard.tasks.labels.statistics import ClassCounts

IDS = ["r0", "r1", "r2"]
SETS: dict[str, Any] = {"id": IDS, "labels": ["a|b", "", "b"]}
GUESS: dict[str, Any] = {"id": IDS, "labels": ["a", "b", "b"]}


def evaluated(truth: Any, predicted: Any, **settings: Any) -> sy.Report:
    return sy.evaluate("labels", truth, predicted, ["accuracy"], confidence=None, **settings)


def test_sets() -> None:
    report = evaluated(SETS, GUESS)
    assert list(report.tables) == ["classes"]
    assert not {"confusion", "roc", "reliability", "confidence"} & set(report.figures)
    check_table(
        report.table("classes"), ("classes", "Counts and scores by class", "class"), "ab",
        ("rows", "predicted", "TP", "FP", "FN", "TN", "precision", "recall", "F1"),
        [[1, 1, 1, 0, 0, 2, 1, 1, 1], [2, 2, 1, 1, 1, 0, 1 / 2, 1 / 2, 1 / 2]],
    )  # fmt: skip
    columns = {"id": IDS, "true": ["a | b", "", "b"], "predicted": ["a", "b", "b"], "differing": [1, 1, 0]}
    check_listing(report.listing(), ("rows", "Rows"), columns, "", "differing")


def test_sets_by_scores() -> None:
    report = evaluated(SETS, {"id": IDS, "score:a": [3.0, 2.0, 1.0], "score:b": [1.0, 1.0, 2.0]})
    assert list(report.tables) == []
    assert [name for name in report.figures if name in ("precision_recall", "roc", "confusion", "reliability")] == [
        "precision_recall", "roc",
    ]  # fmt: skip
    check_listing(report.listing(), ("rows", "Rows"), {"id": IDS, "true": ["a | b", "", "b"]}, "", "")


def test_rows_without_a_prediction() -> None:
    truth = {"id": IDS, "label": ["a", "b", "b"]}
    report = evaluated(truth, {"id": ["r2", "r0"], "label": ["a", "a"]}, missing="worst")
    columns = {
        "id": IDS, "true": ["a", "b", "b"], "predicted": ["a", "(none)", "a"], "result": ["right", "wrong", "wrong"],
    }  # fmt: skip
    check_listing(report.listing(), ("rows", "Rows"), columns, "result", "")
    assert report.table("confusion").values.tolist() == [[1, 0], [1, 0]]  # the row without a prediction is in none
    assert report.table("classes").values[1, :6].tolist() == [2, 0, 0, 0, 2, 1]


def test_rows_without_ids_and_labels() -> None:
    report = evaluated({"label": ["a", "b", "b"]}, {"score": [1.0, 3.0, 2.0]})
    columns = {
        "id": ["0", "1", "2"], "true": ["a", "b", "b"], "highest score": [1, 3, 2], "score of the true class": [-1, 3, 2],
    }  # fmt: skip
    check_listing(report.listing(), ("rows", "Rows"), columns, "", "score of the true class")
    shown = report.figure("precision_recall")
    assert list(dict.fromkeys(shown.columns["series"])) == ["b"]
    first = evaluated({"label": ["a", "b", "b"]}, {"score:a": [1.0, 3.0, 2.0]}).figure("roc")
    assert list(dict.fromkeys(first.columns["series"])) == ["a"]
    assert first.columns["x"] == [0, 0.5, 1, 1]
    assert first.columns["y"] == [0, 0, 0, 1]


def test_equal_scores_are_one_step() -> None:
    report = evaluated({"label": ["a", "b", "b"]}, {"score": [1.0, 1.0, 1.0]})
    assert report.figure("roc").columns["x"] == [0, 1]
    assert report.figure("precision_recall").columns["y"] == [1, pytest.approx(2 / 3)]


def test_one_class_has_no_roc() -> None:
    report = evaluated({"label": [1, 1]}, {"probability": [0.5, 0.25]})
    assert report.figure("roc").columns == {"series": [], "x": [], "y": [], "place": []}
    assert report.figure("precision_recall").columns["x"] == [0, 0.5, 1]


def test_the_most_rows_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels_views, "MOST_DRAWN_CLASSES", 2)
    truth = {"label": list("abbccc")}
    asked = metric("labels", "macro(f1)")
    state = state_of(pairs_of("labels", truth, truth), asked)
    assert ClassCounts() in state.blocks
    shown = labels_views.class_metrics(state)
    assert {name: str(one) for name, one in shown.items()} == {"b": "f1(label=b)", "c": "f1(label=c)"}
    without = state_of(pairs_of("labels", truth, truth), metric("labels", "exact_match"))
    assert list(labels_views.class_metrics(without)) == ["a", "b"]
    scored = {f"score:{c}": [1.0] * 6 for c in "abc"}
    bare = pairs_of("labels", {"labels": list("abbccc")}, scored)
    assert labels_views.class_metrics(state_of(bare, metric("labels", "macro(ap)"))) == {}
    monkeypatch.undo()
    assert (
        labels_views.MOST_CURVES,
        labels_views.MOST_DRAWN_CLASSES,
        labels_views.MOST_PAIRS,
        labels_views.MOST_NEAR,
    ) == (6, 40, 25, 16)
    assert (labels_views.POINTS, labels_views.CONFIDENCE_BINS, labels_views.BINS, labels_views.MOST_CLASSES) == (
        160,
        20,
        15,
        10_000,
    )


def test_whole_numbers_are_classes_in_specs() -> None:
    truth = {"label": [3, 4]}
    state = state_of(pairs_of("labels", truth, truth), metric("labels", "macro(f1)"))
    assert {name: str(one) for name, one in labels_views.class_metrics(state).items()} == {
        "3": "f1(label=3)",
        "4": "f1(label=4)",
    }


def test_weights_in_the_matrix() -> None:
    truth = {"id": IDS, "label": ["a", "b", "b"], "weight": [0.5, 0.25, 2.0]}
    pairs = pairs_of("labels", truth, {"id": IDS, "label": ["b", "b", "a"]})
    assert labels_views.confusion(pairs).values.tolist() == [[0, 0.5], [2, 0.25]]
    assert labels_views.confusion(pairs, "confusion_all").values.tolist() == pytest.approx(
        np.array([[0, 0.5], [2, 0.25]]) / 2.75
    )
    figure = labels_views.confusion_figure(pairs)
    assert figure.columns["text"] == ["", "0.5", "2", "0.2"]
    assert figure.columns["share"].tolist() == pytest.approx([0, 1, 8 / 9, 1 / 9])
    cells, counts = labels_views.confusion_cells(pairs)
    assert (cells.tolist(), counts.tolist()) == ([1, 2, 3], [0.5, 2, 0.25])


def test_a_matrix_of_what_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "DISTINCT_FROM", 2)
    pairs = pairs_of("labels", {"label": ["a", "b", "b"]}, {"label": ["b", "b", "b"]})
    assert pairs.aggregated is not None
    made = labels_views.confusion(pairs)
    assert made.values.tolist() == [[0, 1], [0, 2]]
    made.values[0, 0] = 9
    assert pairs.aggregated.matrix.tolist() == [[0, 1], [0, 2]]
    assert labels_views.class_table(pairs).values[1, :6].tolist() == [2, 3, 2, 1, 0, 0]


def test_confidence_below_even(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bins begin at 1 over the classes, or at the lowest confidence where that is less."""
    monkeypatch.setattr(labels_views, "CONFIDENCE_BINS", 2)
    pairs = pairs_of("labels", {"label": ["a", "b"]}, {"probability": [0.0, 0.75]})
    shown = labels_views.confidence_figure(pairs)
    assert shown.columns == {
        "low": [0.5, 0.75] * 2, "high": [0.75, 1.0] * 2, "count": [0, 2, 0, 0], "series": ["right"] * 2 + ["wrong"] * 2,
    }  # fmt: skip
    off = pairs_of("labels", {"label": ["a", "b"]}, {"probability:a": [0.4996, 0.0], "probability:b": [0.4995, 1.0]})
    assert labels_views.confidence_figure(off).columns["low"][0] == 0.4996
    none = pairs_of(
        "labels", {"id": ["1"], "label": ["a"]}, {"id": ["2"], "probability": [0.5]}, Policy("skip", "skip")
    )
    assert labels_views.confidence_figure(none).columns == {"low": [], "high": [], "count": [], "series": []}


def test_rows_that_are_right_are_not_confused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rows of a are right: b and c are those that are confused most."""
    monkeypatch.setattr(labels_views, "MOST_NEAR", 2)
    pairs = pairs_of("labels", {"label": ["a"] * 10 + list("bbca")}, {"label": ["a"] * 10 + list("ccbb")})
    near = labels_views.near_figure(pairs)
    assert near.table is not None
    assert (near.table.rows, near.table.values.tolist()) == (("b", "c"), [[0, 2], [1, 0]])
    assert near.caption == "The 2 of 3 classes with the most confused pairs; shade is the share of the row here."
    assert labels_views.confused_figure(pairs).columns["name"] == ["b → c", "a → b", "c → b"]
