"""Bare arrays, single numbers, and specs in any spelling."""

from __future__ import annotations

import pickle
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy

pd = lazy("pandas")
pl = lazy("polars")
torch = lazy("torch")

TRUE, PREDICTED = [0, 1, 2, 1, 0, 2], [0, 2, 2, 1, 1, 2]
ACCURACY = 4 / 6  # by hand: all but the second and the fifth
PROBABLE = [[0.7, 0.2, 0.1], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3], [0.2, 0.5, 0.3], [0.0, 0.1, 0.9]]
SAMPLE = Path(str(files("steelyard") / "samples"))


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        np.array,
        lambda v: pd.Series(v),
        lambda v: pl.Series(v),
        lambda v: torch.tensor(v),
        lambda v: torch.tensor(v, dtype=torch.bfloat16),
    ],
    ids=["list", "tuple", "array", "pandas", "polars", "torch", "bfloat16"],
)
def test_labels_of_every_kind(form: Any) -> None:
    assert sy.score("labels", np.array(TRUE), form(PREDICTED), "accuracy") == ACCURACY
    report = sy.evaluate("labels", np.array(TRUE), form(PREDICTED), ["accuracy"], confidence=None)
    assert report.notes == ()
    assert report == sy.evaluate("labels", {"label": TRUE}, {"label": PREDICTED}, ["accuracy"], confidence=None)


def test_texts_are_classes() -> None:
    assert sy.score("labels", ["cat", "dog"], ["cat", "cat"], "accuracy") == 0.5


@pytest.mark.parametrize("trained", [False, True])
def test_a_matrix_whose_rows_add_up_to_one_is_probabilities(trained: bool) -> None:
    matrix = torch.tensor(PROBABLE, requires_grad=trained)
    report = sy.evaluate("labels", TRUE, matrix, ["accuracy", "log_loss"], confidence=None)
    right = [row[label] for row, label in zip(PROBABLE, TRUE, strict=True)]
    assert report["log_loss"].value == pytest.approx(-np.mean(np.log(right)), rel=1e-6)
    assert report["accuracy"].value == ACCURACY
    assert report.notes == ("Predictions without a name are taken for probabilities: each row adds up to 1.",)


def test_a_matrix_of_other_numbers_is_scores() -> None:
    report = sy.evaluate("labels", TRUE, (3 * np.array(PROBABLE)).tolist(), ["macro(roc_auc)"], confidence=None)
    assert report.notes == ("Predictions without a name are taken for scores: rows do not add up to 1.",)


def test_one_number_per_row_is_the_positive_class() -> None:
    # pairs of a positive and a negative: 0.4 > 0.1, 0.8 > 0.1, 0.4 > 0.35, 0.8 > 0.35
    assert sy.score("labels", [0, 0, 1, 1], [0.1, 0.35, 0.4, 0.8], "roc_auc") == 1.0
    report = sy.evaluate("labels", [0, 0, 1, 1], [0.1, 4.0, 0.4, 0.8], ["roc_auc"], confidence=None)
    assert report["roc_auc"].value == 0.5  # 4.0 stands above both positives
    assert report.notes[0] == "Predictions without a name are taken for scores: they do not lie from 0 to 1."


def test_weights_and_captions() -> None:
    assert sy.score("weights", [10.0, 20.0], np.array([12.0, 19.0]), "mae") == 1.5
    named = {"image": ["a", "a", "b"], "caption": ["a red car", "the car", "two dogs"]}
    said = {"image": ["a", "b"], "caption": ["a car", "dogs"]}
    plain = sy.evaluate("captions", {"a": ["a red car", "the car"], "b": ["two dogs"]}, {"a": "a car", "b": "dogs"},
                        ["spice", "bleu@1"], confidence=None)  # fmt: skip
    assert plain == sy.evaluate("captions", named, said, ["spice", "bleu@1"], confidence=None)


def test_a_lazy_frame() -> None:
    lazy = pl.LazyFrame({"label": PREDICTED})
    assert sy.score("labels", pl.LazyFrame({"label": TRUE}), lazy, "accuracy") == ACCURACY


@pytest.mark.parametrize(
    ("truth", "predictions", "message"),
    [
        ([1, 2], [1, 2, 3], ("E-shape-mismatch", "2", "3")),
        (
            [1, 2],
            {"label": [1, 2]},
            ("E-missing-key", "truth"),
        ),
        ({"label": [1, 2]}, [1, 2], ("E-missing-key", "predictions")),
        ([[1, 0], [0, 1]], [1, 2], ("E-shape-mismatch", "2")),
        ([1, 2], [[0.5, 0.5], [1.0]], ("E-shape-mismatch", "predictions")),
        ([1, 2], [["a", "b"], ["c", "d"]], ("E-invalid-number", "predictions")),
        ([1, 2], np.zeros((2, 2, 2)), ("E-shape-mismatch", "3")),
    ],
)
def test_arrays_that_mean_nothing(truth: Any, predictions: Any, message: tuple[str, ...]) -> None:
    with refuses(*message):
        sy.evaluate("labels", truth, predictions)


def test_weights_have_one_dimension() -> None:
    with refuses("E-shape-mismatch", "weights"):
        sy.score("weights", [[1.0, 2.0]], [[1.0, 2.0]], "mae")


def test_a_score_is_one_number() -> None:
    with refuses("E-invalid-spec", "'per_class(f1)'", "3"):
        sy.score("labels", TRUE, PREDICTED, "per_class(f1)")
    assert np.isnan(sy.score("labels", [0, 0], [0, 0], "mcc"))


@pytest.mark.parametrize("spelling", ["macro(f1)", "macro( f1 )", "f1_macro", " macro(f1)"])
def test_a_report_knows_every_spelling(spelling: str) -> None:
    asked = sy.evaluate("labels", TRUE, PREDICTED, [spelling], by=(), confidence=None)
    report = pickle.loads(pickle.dumps(asked))
    assert list(report.scores) == ["macro(f1)"]
    for other in ("macro(f1)", "macro( f1 )", "f1_macro"):
        assert report[other] == asked.scores["macro(f1)"]
    with refuses(KeyError, "'f1_micro'"):
        report["f1_micro"]
    with refuses(KeyError, "'no metric'"):
        report["no metric"]


def test_spellings_of_boxes_and_settings() -> None:
    truth, model = SAMPLE / "boxes" / "truth.json", SAMPLE / "boxes" / "model_a.json"
    report = sy.evaluate("boxes", truth, model, ["mAP", "AP50", "APs", "mAP(area=large)"], confidence=None)
    assert list(report.scores) == ["map", "map50", "map(area=small)", "map(area=large)"]
    both = sy.evaluate("boxes", truth, model, ["APs(iou=0.5)", "map(iou=0.5, area=small)"], confidence=None)
    assert list(both.scores) == ["map(iou=0.5, area=small)"]
    with refuses("E-duplicate-key", "'APs'", "'map(area=small)'"):
        sy.evaluate("boxes", truth, model, ["APs(area=large)"])


def test_settings_that_are_defaults_are_no_other_metric() -> None:
    truth = {"query": ["q", "q"], "doc": ["a", "b"], "relevance": [1, 0]}
    run = {"query": ["q", "q"], "doc": ["a", "b"], "score": [1.0, 2.0]}
    report = sy.evaluate("rankings", truth, run, ["ap@10"], confidence=None)
    assert report["ap@10(norm=relevant)"].value == 0.5  # the one relevant document stands second
