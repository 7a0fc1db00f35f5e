"""What a report of labels shows beside numbers: tables, figures and the listing of six rows, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from support.refusal import refuses
from support.shown import check_figure, check_listing, check_table

import steelyard as sy
from steelyard.tasks.labels import views as labels_views

LABELS = ["a", "a", "b", "b", "c", "c"]
GIVEN = np.array([
    [0.71, 0.19, 0.10], [0.29, 0.61, 0.10], [0.10, 0.82, 0.08], [0.19, 0.51, 0.30], [0.08, 0.10, 0.82], [0.61, 0.09, 0.30],
])  # fmt: skip
IDS = [f"r{i}" for i in range(6)]
MATRIX = [[1, 1, 0], [0, 2, 0], [1, 0, 1]]


def report() -> sy.Report:
    """Two rows of each of three classes: a is taken for b once, c for a once."""
    predicted = {"id": IDS, **{f"probability:{name}": GIVEN[:, i] for i, name in enumerate("abc")}}
    return sy.evaluate("labels", {"id": IDS, "label": LABELS}, predicted, ["accuracy"], confidence=None)


def test_tables() -> None:
    shown = report()
    names = ["confusion", "confusion_true", "confusion_predicted", "confusion_all", "classes", "reliability"]
    assert list(shown.tables) == names
    check_table(
        shown.table("confusion"), ("confusion", "Confusion matrix: rows of truth by prediction", "truth"), "abc", "abc",
        MATRIX,
    )  # fmt: skip
    check_table(
        shown.table("confusion_true"),
        ("confusion_true", "Confusion matrix, as shares of the rows of each true class", "truth"), "abc", "abc",
        [[0.5, 0.5, 0], [0, 1, 0], [0.5, 0, 0.5]],
    )  # fmt: skip
    check_table(
        shown.table("confusion_predicted"),
        ("confusion_predicted", "Confusion matrix, as shares of the rows of each predicted class", "truth"), "abc", "abc",
        [[1 / 2, 1 / 3, 0], [0, 2 / 3, 0], [1 / 2, 0, 1]],
    )  # fmt: skip
    check_table(
        shown.table("confusion_all"), ("confusion_all", "Confusion matrix, as shares of all rows", "truth"), "abc", "abc",
        np.array(MATRIX) / 6,
    )  # fmt: skip
    check_table(
        shown.table("classes"), ("classes", "Counts and scores by class", "class"), "abc",
        ("rows", "predicted", "TP", "FP", "FN", "TN", "precision", "recall", "F1"),
        [[2, 2, 1, 1, 1, 3, 1 / 2, 1 / 2, 1 / 2], [2, 3, 2, 1, 0, 3, 2 / 3, 1, 4 / 5], [2, 1, 1, 0, 1, 4, 1, 1 / 2, 2 / 3]],
    )  # fmt: skip
    empty = [0, np.nan, np.nan]
    bins = [[k / 15, (k + 1) / 15, *empty] for k in range(15)]
    for k, rows, sure, right in ((7, 1, 0.51, 1), (9, 2, 0.61, 0), (10, 1, 0.71, 1), (12, 2, 0.82, 1)):
        bins[k][2:] = [rows, sure, right]
    check_table(
        shown.table("reliability"),
        ("reliability", "Reliability: confidence against the share that was right", "confidence"),
        ["0-0.0667", "0.0667-0.133", "0.133-0.2", "0.2-0.267", "0.267-0.333", "0.333-0.4", "0.4-0.467", "0.467-0.533",
         "0.533-0.6", "0.6-0.667", "0.667-0.733", "0.733-0.8", "0.8-0.867", "0.867-0.933", "0.933-1"],
        ("from", "to", "rows", "confidence", "accuracy"), bins,
    )  # fmt: skip


def test_a_matrix_of_too_many_classes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels_views, "MOST_CLASSES", 3)
    assert report().table("confusion").rows == ("a", "b", "c")
    monkeypatch.setattr(labels_views, "MOST_CLASSES", 2)
    with refuses("E-too-large", "'confusion'", "3", "9.0e+00"):
        report().table("confusion")


def test_the_matrix() -> None:
    shown = report().figure("confusion")
    columns = {
        "row": list("aaabbbccc"), "column": list("abcabcabc"), "count": np.ravel(MATRIX).tolist(),
        "share": [0.5, 0.5, 0, 0, 1, 0, 0.5, 0, 0.5], "text": ["1", "1", "", "", "2", "", "1", "", "1"],
    }  # fmt: skip
    check_figure(
        shown, ("confusion", "matrix", "Confusion matrix"), columns, {"x": "predicted", "y": "true"},
        "Rows are true classes, columns what was predicted; shade is the share of the row.",
    )  # fmt: skip
    check_table(
        shown.table, ("confusion", "Confusion matrix: rows of truth by prediction", "truth"), "abc", "abc", MATRIX
    )


CURVE = [
    1,
    1,
    1 / 2,
    2 / 3,
    2 / 4,
    2 / 5,
    2 / 6,
]  # precision where one, none, one more of two and four others are found


def test_precision_and_recall() -> None:
    columns = {
        "series": ["a"] * 7 + ["b"] * 7 + ["c"] * 5,
        "x": [0, 0.5, 0.5, 1, 1, 1, 1] * 2 + [0, 0.5, 1, 1, 1],
        "y": [*CURVE, *CURVE, 1, 1, 2 / 3, 2 / 5, 2 / 6],
        "place": list(range(19)),
    }
    check_figure(
        report().figure("precision_recall"), ("precision_recall", "curves", "Precision and recall"), columns,
        {"x": "recall", "y": "precision", "unit": True, "diagonal": False, "steps": True},
        "From the highest score down: each class against all others.",
    )  # fmt: skip


def test_roc() -> None:
    columns = {
        "series": ["a"] * 7 + ["b"] * 7 + ["c"] * 5,
        "x": [0, 0, 0.25, 0.25, 0.5, 0.75, 1] * 2 + [0, 0, 0.25, 0.75, 1],
        "y": [0, 0.5, 0.5, 1, 1, 1, 1] * 2 + [0, 0.5, 1, 1, 1],
        "place": list(range(19)),
    }
    check_figure(
        report().figure("roc"), ("roc", "curves", "ROC"), columns,
        {"x": "false positive rate", "y": "true positive rate", "unit": True, "diagonal": True, "steps": False},
        "Each class against all others. The dashed line is what chance gives.",
    )  # fmt: skip


def test_curves_of_the_classes_with_the_most_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels_views, "MOST_CURVES", 2)
    predicted = {"id": IDS, **{f"probability:{name}": GIVEN[:, i] for i, name in enumerate("abc")}}
    shown = sy.evaluate("labels", {"id": IDS, "label": list("abbccc")}, predicted, ["accuracy"], confidence=None)
    assert list(dict.fromkeys(shown.figure("roc").columns["series"])) == ["b", "c"]


def test_curves_weigh_rows() -> None:
    truth = {"id": IDS[:4], "label": ["no", "yes", "no", "yes"], "weight": [1.0, 2.0, 3.0, 4.0]}
    predicted = {"id": IDS[:4], "probability": [0.1, 0.2, 0.3, 0.4]}
    shown = sy.evaluate("labels", truth, predicted, ["accuracy"], confidence=None)
    columns = shown.figure("precision_recall").columns
    assert columns["series"] == ["yes"] * 5
    assert columns["x"] == pytest.approx([0, 4 / 6, 4 / 6, 1, 1])
    assert columns["y"] == pytest.approx([1, 1, 4 / 7, 6 / 9, 6 / 10])


def test_a_class_without_rows_has_no_curve() -> None:
    predicted = {"id": IDS, **{f"probability:{name}": GIVEN[:, i] for i, name in enumerate("abc")}}
    shown = sy.evaluate("labels", {"id": IDS, "label": list("aabbbb")}, predicted, ["accuracy"], confidence=None)
    assert list(dict.fromkeys(shown.figure("roc").columns["series"])) == ["a", "b"]


def test_long_curves_keep_their_ends() -> None:
    (kept,) = labels_views._thin_points(np.arange(1001))
    assert (len(kept), kept[0], kept[1], kept[-1]) == (160, 0, 6, 1000)
    (kept,) = labels_views._thin_points(np.arange(160))
    assert kept.tolist() == list(range(160))


def test_reliability() -> None:
    columns = {
        "x": [0.51, 0.61, 0.71, 0.82], "y": [1, 0, 1, 1], "count": [1, 2, 1, 2],
        "low": [7 / 15, 9 / 15, 10 / 15, 12 / 15], "high": [8 / 15, 10 / 15, 11 / 15, 13 / 15],
    }  # fmt: skip
    shown = report().figure("reliability")
    check_figure(
        shown, ("reliability", "reliability", "Reliability"), columns,
        {"x": "confidence", "y": "share that was right"},
        "On the dashed line confidence is deserved; below it the model is too sure. Points are as large as their bins are "
        "full.",
    )  # fmt: skip
    assert shown.table is not None
    assert shown.table.name == "reliability"


def test_confidence_of_right_and_wrong_rows() -> None:
    low = [1 / 3 + k / 30 for k in range(20)]
    right, wrong = [0] * 20, [0] * 20
    right[5], right[11], right[14], wrong[8] = 1, 1, 2, 2
    columns = {
        "low": low * 2, "high": [edge + 1 / 30 for edge in low] * 2, "count": right + wrong,
        "series": ["right"] * 20 + ["wrong"] * 20,
    }  # fmt: skip
    check_figure(
        report().figure("confidence"), ("confidence", "histogram", "Confidence, right and wrong"), columns,
        {"x": "confidence", "y": "rows"}, "A model that knows what it does not know is wrong only where it is unsure.",
    )  # fmt: skip


def test_pairs_of_many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels_views, "MOST_DRAWN_CLASSES", 2)
    predicted = {"id": IDS + ["r6"], "label": ["a", "b", "b", "a", "c", "a", "a"]}
    shown = sy.evaluate(
        "labels", {"id": IDS + ["r6"], "label": [*LABELS, "c"]}, predicted, ["accuracy"], confidence=None
    )
    check_figure(
        shown.figure("confusion"), ("confusion", "bars", "Classes that are confused most"),
        {"name": ["c → a", "a → b", "b → a"], "value": [2, 1, 1]}, {"x": "rows"},
        "True class → predicted class: the first 3 pairs. The tables as CSV hold the whole matrix.",
    )  # fmt: skip
    near = shown.figure("confusion_near")
    assert (near.name, near.chart, near.title) == ("confusion_near", "matrix", "The most confused classes")
    assert near.caption == "The 3 of 3 classes with the most confused pairs; shade is the share of the row here."
    check_table(
        near.table, ("confusion_near", "Confusion of the classes that are confused most", "true"), "abc", "abc",
        [[1, 1, 0], [1, 1, 0], [2, 0, 1]],
    )  # fmt: skip
    monkeypatch.setattr(labels_views, "MOST_NEAR", 2)
    assert shown.figure("confusion_near").columns["row"] == ["a", "a", "c", "c"]
    assert shown.figure("confusion_near").columns["count"].tolist() == [1, 0, 2, 1]
    monkeypatch.setattr(labels_views, "MOST_PAIRS", 1)
    assert shown.figure("confusion").columns["name"] == ["c → a"]


def test_what_is_drawn_of_what_is_there() -> None:
    assert list(report().figures)[:5] == ["confusion", "precision_recall", "roc", "reliability", "confidence"]
    labels = sy.evaluate(
        "labels", {"id": IDS, "label": LABELS}, {"id": IDS, "label": LABELS}, ["accuracy"], confidence=None
    )
    assert "confusion" in labels.figures
    assert not {"precision_recall", "roc", "reliability", "confidence", "confusion_near"} & set(labels.figures)


def test_the_listing() -> None:
    columns = {
        "id": IDS, "true": LABELS, "predicted": ["a", "b", "b", "b", "c", "a"],
        "result": ["right", "wrong", "right", "right", "right", "wrong"],
        "confidence": [0.71, 0.61, 0.82, 0.51, 0.82, 0.61],
        "probability of the true class": [0.71, 0.29, 0.82, 0.51, 0.82, 0.3],
    }  # fmt: skip
    check_listing(report().listing(), ("rows", "Rows"), columns, "result", "probability of the true class")


def test_the_listing_of_scores_in_groups() -> None:
    truth = {"id": IDS[:2], "label": ["a", "b"], "group": ["g", "h"]}
    predicted = {"id": IDS[:2], "score:a": [3.0, 5.0], "score:b": [1.0, 4.0]}
    shown = sy.evaluate("labels", truth, predicted, ["accuracy"], confidence=None).listing()
    columns = {
        "id": IDS[:2], "group": ["g", "h"], "true": ["a", "b"], "predicted": ["a", "a"], "result": ["right", "wrong"],
        "highest score": [3, 5], "score of the true class": [3, 4],
    }  # fmt: skip
    check_listing(shown, ("rows", "Rows"), columns, "result", "score of the true class")


def test_the_listing_of_several_labels() -> None:
    truth = {"id": IDS[:3], "labels": ["a|b", "", "c"]}
    predicted = {"id": IDS[:3], "labels": ["a", "b|c", "c"]}
    shown = sy.evaluate("labels", truth, predicted, ["hamming"], confidence=None).listing()
    columns = {"id": IDS[:3], "true": ["a | b", "", "c"], "predicted": ["a", "b | c", "c"], "differing": [1, 2, 0]}
    check_listing(shown, ("rows", "Rows"), columns, "", "differing")


def test_f1_by_class() -> None:
    truth, first = {"id": IDS, "label": LABELS}, {"id": IDS, "label": list("abbbca")}
    shown = sy.compare("labels", truth, first, truth, ["accuracy"], draws=100).details.classes()
    assert {name: difference.a.value for name, difference in shown.items()} == pytest.approx(
        {"a": 0.5, "b": 0.8, "c": 2 / 3}
    )
