"""Labels: decisions at the edges, bad input, units, slices, comparison, and rows that are counted by cell."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.core import catalogue
from steelyard.core.distinct import DISTINCT_FROM
from steelyard.core.draws import BootstrapDraws, unit_keys
from steelyard.core.metric import Metric
from steelyard.core.options import Options
from steelyard.core.plan import POINT, WeightPlan
from steelyard.core.request import Request
from steelyard.core.state import State, Totals
from steelyard.core.task import Policy
from steelyard.core.weights import EachUnit, LeaveOneOut, Plain, Role
from steelyard.engine.measure import measure_state
from steelyard.engine.score import score
from steelyard.io.read import read_table, to_records
from steelyard.tasks.labels.data import LabelPairs
from steelyard.tasks.labels.statistics import RowSum

TASK = catalogue.find_task("labels")


def pairs_of(truth: Any, predictions: Any) -> LabelPairs:
    sides = [
        to_records(read_table(data, side), schema, {}, side)
        for data, side, schema in ((truth, "truth", TASK.truth), (predictions, "prediction", TASK.prediction))
    ]
    pairs = TASK.join(*sides, Policy(), Options(TASK.options))
    assert isinstance(pairs, LabelPairs)
    return pairs


def state_of(pairs: LabelPairs, *specs: str) -> State:
    """What the metrics need, or all of the catalogue."""
    wanted = [catalogue.parse(spec, "labels") for spec in specs] or list(catalogue.metrics("labels"))
    return measure_state(pairs, wanted)


def of(metric: Metric, state: State, weights: Any = None) -> np.ndarray[Any, Any]:
    """The metric under these weights, or the plain ones."""
    return (state.totals(POINT) if weights is None else Totals(state, weights)).of(metric)


def scores(truth: Any, predictions: Any, *specs: str, **more: Any) -> dict[str, float]:
    report = sy.evaluate("labels", truth, predictions, list(specs) or None, confidence=None, **more)
    return {spec: result.value for spec, result in report.scores.items()}


# --- decisions


def test_f1_is_zero_not_undefined_where_precision_and_recall_are_zero() -> None:
    result = scores({"label": ["a", "a", "b"]}, {"label": ["b", "b", "a"]}, "f1(label=a)", "f1(label=b)", "macro(f1)")
    assert result == {"f1(label=a)": 0.0, "f1(label=b)": 0.0, "macro(f1)": 0.0}


def test_f1_is_undefined_only_for_a_class_on_neither_side() -> None:
    report = sy.evaluate(
        "labels", {"label": ["a", "b"]}, {"label": ["a", "a"]}, ["f1(label=c)", "macro(f1)"],
        confidence=None, options={"classes": ["a", "b", "c"]},
    )  # fmt: skip
    assert math.isnan(report["f1(label=c)"].value)
    assert report["f1(label=c)"].undefined_reason == "the class stands neither in the truth nor in the prediction"
    assert report["macro(f1)"].value == pytest.approx((2 / 3 + 0) / 2)
    assert report["macro(f1)"].n_excluded == 1


def test_weighted_is_by_true_support() -> None:
    result = scores({"label": list("aaab")}, {"label": list("aabb")}, "weighted(f1)", "f1(label=a)", "f1(label=b)")
    assert result["f1(label=a)"] == pytest.approx(4 / 5)
    assert result["f1(label=b)"] == pytest.approx(2 / 3)
    assert result["weighted(f1)"] == pytest.approx((3 * 4 / 5 + 1 * 2 / 3) / 4)


def test_average_precision_counts_the_first_step() -> None:
    """Four of four right is 1.0: recall 0 stands before the first."""
    assert scores({"label": [1, 1, 1, 1]}, {"score": [4, 3, 2, 1]}, "ap") == {"ap": 1.0}


def test_average_precision_worked_example() -> None:
    """24 detections of 15 truths, hits at ranks 1, 3, 10, 12, 13, 14, 23: 0.22784 over 15, so 15/7 of that over 7."""
    hits = [1, 3, 10, 12, 13, 14, 23]
    label = [int(rank in hits) for rank in range(1, 25)]
    result = scores({"label": label}, {"score": list(range(24, 0, -1))}, "ap")["ap"]
    assert result * 7 / 15 == pytest.approx(0.22784, abs=5e-6)


def test_the_positive_class_is_the_last_and_is_named() -> None:
    truth, predictions = {"label": ["no", "yes", "yes", "no"]}, {"label": ["no", "yes", "no", "no"]}
    report = sy.evaluate("labels", truth, predictions, ["recall", "recall(label=no)"], confidence=None)
    assert report["recall"].value == 0.5
    assert report["recall"].notes == ("The positive class is 'yes'.",)
    assert report["recall(label=no)"].value == 1.0


def test_of_many_classes_none_is_positive() -> None:
    report = sy.evaluate("labels", {"label": [1, 2, 3]}, {"label": [1, 2, 2]}, "f1", confidence=None)
    assert report["f1"].undefined_reason == "there are 3 classes: name one, f1(label=1), or wrap it, macro(f1)"


def test_integers_in_text_are_ordered_as_integers() -> None:
    report = sy.evaluate("labels", {"label": ["10", "9", "2"]}, {"label": ["10", "9", "2"]}, "accuracy", draws=100)
    assert report.table("confusion").rows == ("2", "9", "10")


def test_labels_that_are_numbers_match_texts_of_them() -> None:
    assert scores({"label": [1, 2, 3]}, {"label": ["1", "2", "2"]}, "accuracy")["accuracy"] == pytest.approx(2 / 3)


def test_labels_beside_scores_are_taken_as_they_are() -> None:
    truth, predictions = {"label": [0, 1, 1]}, {"label": [0, 0, 0], "score": [0.1, 0.8, 0.9]}
    assert scores(truth, predictions, "accuracy", "roc_auc") == {"accuracy": pytest.approx(1 / 3), "roc_auc": 1.0}


def test_what_the_data_do_not_hold_is_undefined_with_its_reason() -> None:
    truth = {"label": [0, 1, 1, 0]}
    report = sy.evaluate("labels", truth, {"score": [1, 2, 3, 0]}, ["accuracy", "f1", "kappa", "ece"], confidence=None)
    for spec in ("accuracy", "f1", "kappa"):
        assert report[spec].undefined_reason == "the predictions hold scores and no labels"
    assert report["ece"].undefined_reason == "the predictions hold no probabilities"
    report = sy.evaluate("labels", truth, {"label": [0, 1, 1, 1]}, ["roc_auc", "topk@1", "macro(ap)"], confidence=None)
    for spec in ("roc_auc", "topk@1", "macro(ap)"):
        assert report[spec].undefined_reason == "the predictions hold labels and no scores"


def test_defaults_follow_what_the_data_hold() -> None:
    assert "macro(f1)" in scores({"label": [1, 2, 3]}, {"label": [1, 2, 2]})
    assert list(scores({"label": [0, 1]}, {"score": [0.1, 2.0]})) == ["roc_auc", "ap", "best_f1"]
    assert "log_loss" in scores({"label": [0, 1]}, {"probability": [0.1, 0.8]})
    assert "exact_match" in scores({"labels": [["a"], []]}, {"labels": [["a"], ["b"]]})


def test_per_class_is_one_score_a_class() -> None:
    report = sy.evaluate("labels", {"label": ["a", "hot dog"]}, {"label": ["a", "a"]}, "per_class(recall)", draws=100)
    assert list(report.scores) == ["recall(label=a)", 'recall(label="hot dog")']


def test_declared_classes_give_the_order() -> None:
    truth, predictions = {"label": ["low", "high", "middle"]}, {"label": ["low", "low", "middle"]}
    spec = "kappa(weights=linear)"
    declared = scores(truth, predictions, spec, options={"classes": ["low", "middle", "high"]})[spec]
    codes = scores({"label": [0, 2, 1]}, {"label": [0, 0, 1]}, spec)[spec]
    assert declared == pytest.approx(codes)
    assert declared != pytest.approx(scores(truth, predictions, spec)[spec])


# --- sides and forms


def test_one_source_holds_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "both.csv"
    path.write_text("id,label,prediction\n1,cat,cat\n2,dog,cat\n3,dog,dog\n", encoding="utf-8")
    assert scores(path, None, "accuracy")["accuracy"] == pytest.approx(2 / 3)
    path.write_text("id,label,probability:cat,probability:dog\n1,cat,0.9,0.1\n2,dog,0.8,0.2\n", encoding="utf-8")
    assert scores(path, None, "accuracy")["accuracy"] == 0.5


def test_forms_of_probabilities_agree() -> None:
    truth = {"label": ["a", "b", "b"]}
    p = np.array([0.2, 0.7, 0.4])
    for predictions in ({"probability": p}, {"probability": {"a": 1 - p, "b": p}}, {"probability:b": p}):
        assert scores(truth, predictions, "brier")["brier"] == pytest.approx(((p - [0, 1, 1]) ** 2).mean())
    matrix = {"probability": np.stack([1 - p, p], axis=1)}
    assert scores({"label": [0, 1, 1]}, matrix, "brier")["brier"] == pytest.approx(((p - [0, 1, 1]) ** 2).mean())


def test_sets_in_files(tmp_path: Path) -> None:
    rows = [{"id": 1, "labels": ["a", "b"]}, {"id": 2, "labels": []}, {"id": 3, "labels": ["c"]}]
    truth, csv = tmp_path / "truth.jsonl", tmp_path / "predictions.csv"
    truth.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    csv.write_text("id,labels\n3,c\n1,a|c\n2,\n", encoding="utf-8")
    result = scores(truth, csv, "exact_match", "hamming", "micro(f1)")
    assert result == {
        "exact_match": pytest.approx(2 / 3), "hamming": pytest.approx(2 / 9), "micro(f1)": pytest.approx(4 / 6),
    }  # fmt: skip


@pytest.mark.parametrize("form", ["labels", "scores", "probabilities", "sets"])
def test_missing_predictions(form: str) -> None:
    truth: dict[str, Any] = {"id": [1, 2, 3], "label": ["a", "b", "b"]}
    predictions: dict[str, Any] = {"id": [2, 3]}
    spec = {"labels": "accuracy", "scores": "roc_auc", "probabilities": "accuracy", "sets": "exact_match"}[form]
    if form == "labels":
        predictions["label"] = ["b", "b"]
    elif form == "sets":
        truth["labels"], predictions["labels"] = [[x] for x in truth.pop("label")], [["b"], ["b"]]
    else:
        predictions["score" if form == "scores" else "probability"] = [0.9, 0.8]
    with refuses("E-unmatched", "1", "3"):
        scores(truth, predictions, spec)
    worst = scores(truth, predictions, spec, missing="worst")[spec]
    assert worst == pytest.approx(0.0 if form == "scores" else 2 / 3)
    skipped = scores(truth, predictions, spec, missing="skip")[spec]
    assert math.isnan(skipped) if form == "scores" else skipped == 1.0


def test_joined_by_id_whatever_the_order() -> None:
    truth = {"id": ["x", "y", "z"], "label": ["a", "b", "c"]}
    assert scores(truth, {"id": ["z", "x", "y"], "label": ["c", "a", "b"]}, "accuracy") == {"accuracy": 1.0}


# --- bad input

GOOD: dict[str, Any] = {"id": [1, 2], "label": ["a", "b"]}
BAD: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a score that is NaN": (
        GOOD, {"id": [1, 2], "score:a": [0.1, math.nan], "score:b": [1, 2]}, ("E-invalid-value", "row 1", "'score:a'"),
    ),
    "a probability above 1": (
        GOOD, {"id": [1, 2], "probability": [0.2, 1.5]}, ("E-out-of-range", "row 1", "'probability'", "'1.5'", "0", "1"),
    ),
    "a probability below 0": (
        GOOD, {"id": [1, 2], "probability:a": [-0.2, 0.5], "probability:b": [1, 0.5]}, ("E-out-of-range", "row 0", "'-0.2'"),
    ),
    "probabilities that do not add up": (
        GOOD, {"id": [1, 2], "probability:a": [0.5, 0.5], "probability:b": [0.5, 0.4]},
        ("E-invalid-value", "row 1", "0.9", "0.001"),
    ),
    "a label without a column": (
        {"id": [1, 2], "label": ["a", "cat"]}, {"id": [1, 2], "score:a": [0, 1], "score:b": [1, 0]},
        ("E-unknown-name", "row 1", "'label'", "'cat'", "'a'", "'b'"),
    ),
    "an empty label": ({"id": [1, 2], "label": ["a", " "]}, GOOD, ("E-empty-cell", "row 1", "'label'")),
    "a label that is None": ({"id": [1, 2], "label": ["a", None]}, GOOD, ("E-empty-cell", "row 1", "'label'")),
    "a list as a label": ({"id": [1, 2], "label": ["a", ["b"]]}, GOOD, ("E-invalid-value", "truth, row 1, column 'label'")),
    "no labels at all": ({"id": [1, 2]}, GOOD, ("E-missing-column", "'id'", "columns")),
    "no prediction at all": (GOOD, {"id": [1, 2]}, ("E-missing-column", "predictions")),
    "one side without ids": (GOOD, {"label": ["a", "b"]}, ("E-missing-column", "'id'", "missing")),
    "no ids and other lengths": ({"label": ["a", "b"]}, {"label": ["a"]}, ("E-unmatched", "1", "2")),
    "a repeated id": (GOOD, {"id": [1, 1], "label": ["a", "b"]}, ("E-duplicate-key", "id", "'1'")),
    "one label against several": (GOOD, {"id": [1, 2], "labels": [["a"], []]}, ("E-incompatible", "predictions", "labels")),
    "several labels against one": ({"id": [1, 2], "labels": [["a"], []]}, GOOD, ("E-incompatible", "predictions", "label")),
    "one score for three classes": (
        {"label": ["a", "b", "c"]}, {"score": [1, 2, 3]}, ("E-missing-column", "'score'", "3"),
    ),
    "a class without its column": (
        {"labels": [["a"], ["b"]]}, {"label:a": [1, 0], "label:b": [0, 1], "score:a": [1, 2]}, ("E-missing-column", "'b'"),
    ),
    "scores and labels of other classes": (
        {"labels": [["a"], ["b"]]}, {"label:a": [1, 0], "label:b": [0, 1], "score:a": [1, 2], "score:c": [1, 2]},
        ("E-missing-column", "'b'", "'c'"),
    ),
    "a score too large to hold": (GOOD, {"id": [1, 2], "score": [10**400, 1]}, ("E-invalid-number", "row 0", "'score'")),
    "a weight below 0": ({"label": ["a", "b"], "weight": [1, -1]}, {"label": ["a", "b"]}, ("E-out-of-range", "row 1", "'weight'", "'-1'")),
    "an indicator that is 2": ({"label:a": [1, 2]}, {"label:a": [1, 0]}, ("E-invalid-value", "row 1", "'label:a'", "'2'")),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    truth, predictions, message = BAD[case]
    with refuses(*message):
        sy.evaluate("labels", truth, predictions)


def test_bad_input_names_file_and_line(tmp_path: Path) -> None:
    truth, predictions = tmp_path / "truth.csv", tmp_path / "predictions.csv"
    truth.write_text("id,label\n1,a\n\n2,b\n", encoding="utf-8")
    predictions.write_text("id,probability:a,probability:b\n2,0.5,0.5\n1,0.7,0.7\n", encoding="utf-8")
    with refuses("E-invalid-value", "predictions.csv", "line 3", "1.4"):
        sy.evaluate("labels", truth, predictions)
    predictions.write_text("id,score:a,score:b\n2,0.5,x\n1,0.7,0.7\n", encoding="utf-8")
    with refuses("E-invalid-number", "predictions.csv", "line 2", "'score:b'", "'x'"):
        sy.evaluate("labels", truth, predictions)
    truth.write_text("id,label\n1,a\n\n2,c\n", encoding="utf-8")
    predictions.write_text("id,score:a,score:b\n2,0.5,1\n1,0.7,0.7\n", encoding="utf-8")
    with refuses("E-unknown-name", "truth.csv", "line 4", "'label'", "'c'"):
        sy.evaluate("labels", truth, predictions)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("f1(label=cta)", ("E-unknown-name", "'cta'", "'cat'")),
        ("macro(kappa)", ("E-invalid-spec", "'kappa'")),
        ("macro(f1(label=cat))", ("E-invalid-spec", "macro")),
        ("micro(ece)", ("E-invalid-spec", "'ece'", "micro")),
        ("ovo(f1)", ("E-invalid-spec", "'f1'")),
        ("macro", ("E-invalid-spec", "wraps")),
        ("fbeta(beta=-1)", ("E-invalid-spec", "beta")),
        ("kappa(weights=cubic)", ("E-invalid-spec", "weights", "cubic")),
        ("tpr_at_fpr@2", ("E-invalid-spec", "2")),
        ("macro(f1, undefined=one)", ("E-invalid-spec", "undefined")),
        ("topk@0", ("E-invalid-spec", "0")),
        ("ece(bins=0)", ("E-invalid-spec", "bins", "0")),
    ],
)
def test_bad_specs(spec: str, message: tuple[str, ...]) -> None:
    with refuses(*message):
        sy.evaluate("labels", {"label": ["cat", "dog"]}, {"label": ["cat", "cat"]}, spec)


def test_undeclared_labels_of_a_declaration() -> None:
    with refuses("E-unknown-name", "'b'"):
        sy.evaluate("labels", GOOD, GOOD, options={"classes": ["a", "c"]})


def test_nothing_but_an_input_error_comes_of_odd_data() -> None:
    """Columns of any form, with odd cells among good ones: a report whose numbers have reasons, or one clear error."""
    odd: list[Any] = ["", None, math.nan, 2.5, True, ["a"], -3, 10**30, math.inf, "é|a"]
    outcomes = {"report": 0, "error": 0}
    for seed in range(36):
        rng = np.random.default_rng(seed)
        rows = int(rng.choice([1, 2, 12]))

        def column(values: list[Any], rng: Any = rng, rows: int = rows) -> list[Any]:
            return [
                odd[rng.integers(len(odd))] if rng.random() < 0.004 else values[rng.integers(len(values))]
                for _ in range(rows)
            ]

        classes = ["a", "b", "c"][: int(rng.integers(1, 4))]
        several = rng.random() < 0.3
        forms = ["labels", "label:"] if several else ["label"]
        truth: dict[str, Any] = {}
        predictions: dict[str, Any] = {}
        for side, form in (
            (truth, rng.choice(forms)),
            (predictions, rng.choice([*forms, "score:", "probability:", "score"])),
        ):
            if form == "label":
                side["label"] = column(list(classes))
            elif form == "labels":
                side["labels"] = column([[], ["a"], classes, "a|b", ""])
            elif form == "score":
                side["score"] = column([0.1, 0.5, 0.5, 2])
            else:
                values: list[Any] = {"label:": [0, 1], "score:": [0.1, 3, -2], "probability:": [1 / len(classes)]}[form]
                side |= {f"{form}{name}": column(values) for name in classes}
        if rng.random() < 0.3:
            truth["weight"] = column([0, 1, 2.5])
        if rng.random() < 0.3:
            truth["group"] = column(["g", "h"])
        try:
            report = sy.evaluate("labels", truth, predictions, list(catalogue.metrics("labels")), draws=100)
            sy.compare("labels", truth, predictions, predictions, draws=100)
        except sy.InputError:
            outcomes["error"] += 1
            continue
        outcomes["report"] += 1
        for result in report.scores.values():
            assert result.defined or result.undefined_reason, result
        for name in report.tables:
            assert str(report.table(name))
        report.to_json()
        report.units()
    assert min(outcomes.values()) > 5, outcomes


# --- units


def drawn(rows: int, classes: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, rows)
    return truth, np.where(rng.random(rows) < 0.7, truth, rng.integers(0, classes, rows))


def test_the_group_is_the_unit() -> None:
    """Rows of a group repeated: the value stays, and an interval over groups stays too."""
    truth, predicted = drawn(60, 3)
    group = np.arange(60)
    once = sy.evaluate("labels", {"label": truth, "group": group}, {"label": predicted}, "macro(f1)", draws=200)
    again = sy.evaluate(
        "labels", {"label": np.repeat(truth, 4), "group": np.repeat(group, 4)}, {"label": np.repeat(predicted, 4)},
        "macro(f1)", draws=200,
    )  # fmt: skip
    assert again["macro(f1)"].units == 60
    assert again["macro(f1)"].value == pytest.approx(once["macro(f1)"].value)
    assert again["macro(f1)"].interval == pytest.approx(once["macro(f1)"].interval)


def test_weights_are_repeated_rows() -> None:
    truth, predicted = drawn(50, 3, seed=1)
    p = np.random.default_rng(2).dirichlet(np.ones(3), 50)
    times = np.random.default_rng(3).integers(0, 4, 50)
    specs = ["macro(f1)", "mcc", "kappa(weights=linear)", "macro(roc_auc)", "ap(label=1)", "log_loss", "ece", "topk@2"]
    weighted = scores({"label": truth, "weight": times}, {"label": predicted, "probability": p}, *specs)
    repeated = scores(
        {"label": np.repeat(truth, times)},
        {"label": np.repeat(predicted, times), "probability": np.repeat(p, times, axis=0)},
        *specs,
    )
    for spec in specs:
        assert weighted[spec] == pytest.approx(repeated[spec], rel=1e-12), spec


def test_slices_by_a_column_inside_groups() -> None:
    truth, predicted = drawn(80, 3, seed=4)
    view = np.where(np.arange(80) % 2, "side", "top")
    report = sy.evaluate(
        "labels", {"label": truth, "group": np.arange(80) // 8, "view": view}, {"label": predicted},
        ["accuracy", "macro(f1)"], by=["view"], confidence=None,
    )  # fmt: skip
    for name in ("side", "top"):
        kept = view == name
        alone = scores({"label": truth[kept]}, {"label": predicted[kept]}, "accuracy", "macro(f1)")
        for spec, expected in alone.items():
            assert report.slices["view"][name][spec].value == pytest.approx(expected)


def test_table_of_units() -> None:
    report = sy.evaluate(
        "labels", {"label": list("aabb"), "group": [1, 1, 2, 2]}, {"label": list("abbb")}, ["accuracy", "macro(f1)"],
        draws=100,
    )  # fmt: skip
    assert report.units().values["accuracy"].tolist() == [0.5, 1.0]
    assert report.units().values["macro(f1)"] == pytest.approx([1 / 3, 1.0])


def test_compare_models_that_know_different_classes() -> None:
    truth = {"label": ["a", "b", "b", "a"] * 10}
    comparison = sy.compare(
        "labels", truth, {"label": ["a", "b", "c", "a"] * 10}, {"label": ["a", "b", "b", "d"] * 10},
        ["accuracy", "macro(f1)"], draws=200,
    )  # fmt: skip
    assert comparison["accuracy"].difference == pytest.approx(0.0)
    assert comparison["macro(f1)"].a.value == pytest.approx(
        scores(truth, {"label": list("abca") * 10}, "macro(f1)")["macro(f1)"]
    )


def test_compare_labels_with_scores_on_what_both_hold() -> None:
    truth = {"label": [0, 1, 1, 0] * 10}
    comparison = sy.compare(
        "labels", truth, {"label": [0, 1, 0, 0] * 10}, {"probability": [0.1, 0.9, 0.8, 0.2] * 10},
        ["accuracy", "roc_auc"], draws=200,
    )  # fmt: skip
    assert comparison["accuracy"].difference == pytest.approx(0.25)
    assert comparison["roc_auc"].undefined_reason == "the predictions hold labels and no scores"


def test_states_of_different_classes_merge() -> None:
    truth, predicted = drawn(40, 5, seed=5)
    specs = ("macro(f1)", "kappa(weights=quadratic)", "kappa(weights=linear)", "mcc")
    pairs = pairs_of({"id": np.arange(40), "label": truth}, {"id": np.arange(40), "label": predicted})
    order = np.argsort(truth, kind="stable")
    parts = [
        pairs_of({"id": rows, "label": truth[rows]}, {"id": rows, "label": predicted[rows]})
        for rows in (np.sort(order[:15]), np.sort(order[15:]))
    ]
    assert len(parts[0].classes) < len(pairs.classes)
    joined = State.merge([state_of(part, *specs) for part in parts])
    for spec in specs:
        metric = catalogue.parse(spec, "labels")
        assert of(metric, joined) == of(metric, state_of(pairs, *specs))


def many_classes(seed: int, *, several: bool, shuffled: bool = False) -> LabelPairs:
    """Thirty groups of rows with four classes, labels and scores; ties, weights, and a class that some draws lack."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(30), rng.integers(1, 5, 30))
    rows = len(group)
    truth: dict[str, Any] = {"id": np.arange(rows), "group": group, "weight": rng.choice([0.5, 1, 2], rows)}
    predictions: dict[str, Any] = {"id": np.arange(rows)}
    if several:
        truth["label"] = rng.integers(0, 2, (rows, 4))
        predictions["label"] = rng.integers(0, 2, (rows, 4))
        predictions["probability"] = np.round(rng.random((rows, 4)), 1)
    else:
        truth["label"] = rng.choice(4, rows, p=[0.5, 0.3, 0.17, 0.03])
        p = rng.integers(1, 5, (rows, 4)) + np.eye(4)[truth["label"]]
        predictions["probability"] = p / p.sum(axis=1, keepdims=True)
    if shuffled:
        order = np.random.default_rng(3).permutation(rows)
        predictions |= {name: column[order] for name, column in predictions.items() if name != "id"}
    return pairs_of(truth, predictions)


@pytest.mark.parametrize("several", [False, True])
def test_every_kind_of_weights_agrees_with_the_plain_ones(several: bool) -> None:
    """As the laws have it for two classes, here for four, and for several labels per row."""
    inner = (
        "precision",
        "f1",
        "fbeta(beta=2)",
        "npv",
        "accuracy",
        "mcc",
        "roc_auc",
        "ap",
        "best_f1",
        "log_loss",
        "ece",
    )
    specs = [f"macro({name})" for name in inner] + [f"weighted({name})" for name in inner]
    specs += [f"micro({name})" for name in inner if name not in ("log_loss", "ece")] + ["ap(label=2)", "ece(label=1)"]
    specs += ["accuracy", "exact_match", "hamming", "balanced_accuracy", "classwise_ece", "macro(best_threshold)"]
    if not several:
        specs += ["mcc", "kappa(weights=linear)", "topk@2", "ovo(roc_auc, weighted=true)", "ovo(ap)", "brier", "mce"]
    a = state_of(many_classes(1, several=several, shuffled=False), *specs)
    keys, base = unit_keys(a.units.ids), np.random.default_rng(4).uniform(0.5, 2, len(a))
    cases: list[tuple[State, Any]] = [
        (a, EachUnit(len(a))),
        (a, LeaveOneOut(base)),
        (a, BootstrapDraws(keys, base, 1, 40)),
    ]
    for spec in specs:
        metric = catalogue.parse(spec, "labels")
        for state, weights in cases:
            rows = np.concatenate(list(weights.blocks()))
            expected = [float(of(metric, state, Plain(row))[0]) for row in rows]
            np.testing.assert_allclose(of(metric, state, weights), expected, rtol=1e-7, atol=1e-9, err_msg=spec)


# --- rows counted by cell

HARD = ("accuracy", "macro(f1)", "micro(jaccard)", "weighted(npv)", "mcc", "kappa(weights=linear)")


def counted_and_listed(rows: int, classes: int) -> tuple[State, State]:
    truth, predicted = drawn(rows, classes, seed=6)
    pairs = pairs_of({"label": truth}, {"label": predicted})
    counted, listed = state_of(replace(pairs, among=DISTINCT_FROM), *HARD), state_of(pairs, *HARD)
    assert counted.units.copies is not None
    assert listed.units.copies is None
    return counted, listed


@pytest.mark.parametrize("spec", HARD)
def test_counted_rows_are_listed_rows(spec: str) -> None:
    counted, listed = counted_and_listed(500, 4)
    metric = catalogue.parse(spec, "labels")
    assert counted.units.count == listed.units.count == 500
    expected = of(metric, listed)
    assert of(metric, counted) == pytest.approx(expected, rel=1e-12)
    assert of(metric, counted, Plain(counted.units.plain)) == pytest.approx(expected, rel=1e-12)


def test_listed_rows_become_the_kinds_that_counting_gives() -> None:
    """The same kinds under the same numbers, so that draws are the same to the bit."""
    truth, predicted = drawn(DISTINCT_FROM, 5, seed=8)
    pairs = pairs_of({"label": truth}, {"label": predicted})
    counted, listed = state_of(pairs, *HARD), state_of(pairs.per_unit(), *HARD)
    kinds = listed.aggregated()
    assert len(listed) == DISTINCT_FROM
    assert kinds.units.ids.tolist() == counted.units.ids.tolist()
    assert kinds.units.copies.tolist() == counted.units.copies.tolist()
    for spec in HARD:
        metric = catalogue.parse(spec, "labels")
        for plan in (POINT, WeightPlan(Role.DRAWS, seed=3, rows=50)):
            np.testing.assert_array_equal(kinds.totals(plan).of(metric), counted.totals(plan).of(metric))


def test_counted_rows_are_listed_only_where_something_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, predicted = drawn(DISTINCT_FROM, 5, seed=8)
    with monkeypatch.context() as patched:
        patched.setattr(LabelPairs, "per_unit", None)
        report = sy.evaluate("labels", {"label": truth}, {"label": predicted}, draws=100)
    assert len(report.units().values["accuracy"]) == DISTINCT_FROM


def test_a_row_without_a_prediction_is_of_no_kind() -> None:
    ids, labels = np.arange(DISTINCT_FROM), np.arange(DISTINCT_FROM) % 3
    truth, predicted = {"id": ids, "label": labels}, {"id": ids[1:], "label": labels[1:]}
    report = sy.evaluate("labels", truth, predicted, ["accuracy", "kappa(weights=linear)"], missing="worst", draws=100)
    assert report["accuracy"].value == (DISTINCT_FROM - 1) / DISTINCT_FROM
    assert len(report.units().values["accuracy"]) == DISTINCT_FROM


def test_draws_of_counted_rows_are_distributed_as_those_of_listed_rows() -> None:
    """Means, spreads and quantiles of 4,000 draws each way agree within what chance allows."""
    counted, listed = counted_and_listed(2000, 3)
    for spec in ("accuracy", "macro(f1)", "mcc"):
        metric = catalogue.parse(spec, "labels")
        a = counted.totals(WeightPlan(Role.DRAWS, seed=1, rows=4000)).of(metric)
        b = listed.totals(WeightPlan(Role.DRAWS, seed=2, rows=4000)).of(metric)
        spread = b.std()
        assert abs(a.mean() - b.mean()) < 4 * spread * math.sqrt(2 / 4000)
        assert a.std() / spread == pytest.approx(1, abs=4 * math.sqrt(1 / 4000))
        assert np.quantile(a, [0.025, 0.975]) == pytest.approx(np.quantile(b, [0.025, 0.975]), abs=0.25 * spread)


@pytest.mark.parametrize("copies", [1, 2, 7, 100, 10_000, 3_000_000])
def test_poisson_of_many_copies(copies: int) -> None:
    """Mean and variance of Poisson(n), and for small n every probability."""
    units, draws = 400, 512
    keys = unit_keys(np.arange(units))
    weights = _native.poisson_weights(keys, 3, 0, draws, copies=np.full(units, copies)).ravel()
    assert (weights == np.floor(weights)).all()
    assert weights.min() >= 0
    n = units * draws
    assert weights.mean() == pytest.approx(copies, abs=5 * math.sqrt(copies / n))
    assert weights.var() == pytest.approx(copies, rel=5 * math.sqrt((2 + 1 / copies) / n))
    if copies <= 7:
        for k in range(3 * copies + 5):
            p = math.exp(-copies) * copies**k / math.factorial(k)
            assert np.mean(weights == k) == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / n) + 1e-9)


def test_counted_draws_agree_with_their_own_weights() -> None:
    counted, _ = counted_and_listed(3000, 5)
    drawn_weights = WeightPlan(Role.DRAWS, seed=1, rows=70).bind(counted.units)
    metric = catalogue.parse("macro(f1)", "labels")
    rows = np.concatenate(list(drawn_weights.blocks()))
    expected = [float(of(metric, counted, Plain(row))[0]) for row in rows]
    assert of(metric, counted, drawn_weights) == pytest.approx(expected, rel=1e-12)
    assert Totals(counted, drawn_weights)[RowSum("rows")] == pytest.approx(rows.sum(axis=1))


def test_counted_rows_in_slices_units_comparison_and_merge() -> None:
    rows = DISTINCT_FROM
    truth, predicted = drawn(rows, 3, seed=7)
    half = np.where(np.arange(rows) < rows // 3, "first", "second")
    report = sy.evaluate(
        "labels", {"label": truth, "half": half}, {"label": predicted}, "accuracy", by=["half"], draws=100
    )
    right = truth == predicted
    assert report["accuracy"].value == pytest.approx(right.mean())
    assert report["accuracy"].units == rows
    for name in ("first", "second"):
        assert report.slices["half"][name]["accuracy"].value == pytest.approx(right[half == name].mean())
    assert report.units().values["accuracy"].tolist() == right.astype(float).tolist()
    low, high = report["accuracy"].interval or (math.nan, math.nan)
    assert (high - low) / (2 * 1.96) == pytest.approx(math.sqrt(right.mean() * (1 - right.mean()) / rows), rel=0.25)
    comparison = sy.compare("labels", {"label": truth}, {"label": predicted}, {"label": truth}, "accuracy", draws=100)
    assert comparison["accuracy"].difference == pytest.approx(1 - right.mean())
    parts = [state_of(pairs_of({"label": truth}, {"label": p}), "accuracy") for p in (predicted, truth)]
    merged = State.merge(parts)
    assert merged.units.count == 2 * rows
    metric = catalogue.parse("accuracy", "labels")
    assert of(metric, merged)[0] == pytest.approx((right.mean() + 1) / 2)


def test_parts_that_are_few_alone_are_counted_together(tmp_path: Path) -> None:
    """Two compacted parts of 6,000 rows, merged, report what all 12,000 do: by kind, and with draws and units by row."""
    truth, predicted = drawn(12_000, 3, seed=9)
    ids = np.array([f"r{i}" for i in range(12_000)])
    settings: dict[str, Any] = {"by": ["half"], "draws": 100, "save_draws": True}
    half = np.where(np.arange(12_000) % 12 < 11, "most", "few")
    sides = {"id": ids, "label": truth, "half": half}, {"id": ids, "label": predicted}
    expected = sy.evaluate("labels", *sides, ["accuracy", "macro(f1)", "kappa(weights=linear)"], **settings)
    parts = []
    for rows in (slice(0, 6_000), slice(6_000, None)):
        parts.append(sy.Accumulator("labels", **settings))
        parts[-1].update(*({name: column[rows] for name, column in side.items()} for side in sides))
        parts[-1].compact(["accuracy", "macro(f1)", "kappa(weights=linear)"])
    parts[1].save(tmp_path / "part")
    parts[0].merge(sy.Accumulator.load(tmp_path / "part"))
    report = parts[0].report()
    assert report.scores == expected.scores
    assert report.slices == expected.slices
    assert report.units() == expected.units()


def test_ranked_metrics_of_single_units() -> None:
    rng = np.random.default_rng(8)
    truth = {"label": rng.integers(0, 2, 60), "group": np.repeat(np.arange(6), 10)}
    predictions = {"score": np.round(rng.normal(size=60), 1)}
    specs = ("ap", "roc_auc", "best_f1", "best_threshold", "tpr_at_fpr@0.3")
    state = state_of(pairs_of(truth, predictions), *specs)
    for spec in specs:
        metric = catalogue.parse(spec, "labels")
        alone = [float(of(metric, state, Plain(np.eye(6)[u]))[0]) for u in range(6)]
        assert of(metric, state, EachUnit(6)) == pytest.approx(alone, nan_ok=True)


def test_score_gives_an_interval_to_every_metric_of_the_catalogue() -> None:
    truth, predicted = drawn(1000, 2, seed=6)
    counted = state_of(replace(pairs_of({"label": truth}, {"label": predicted}), among=DISTINCT_FROM))
    metrics = [m for m in catalogue.metrics("labels") if not np.isnan(of(m, counted)[0])]
    assert len(metrics) > 15
    for result in score(counted, metrics, Request("labels", draws=100)).values():
        assert result.interval is not None


# --- tables and the command line


def test_tables() -> None:
    report = sy.evaluate("labels", {"label": [0, 0, 1]}, {"probability": [0.2, 0.7, 0.9]}, "ece", draws=100)
    assert report.tables == (
        "confusion", "confusion_true", "confusion_predicted", "confusion_all", "classes", "reliability",
    )  # fmt: skip
    assert report.table("confusion").values.tolist() == [[1, 1], [0, 1]]
    assert report.table("confusion_true")["0", "1"] == 0.5
    assert report.table("classes")["1", "precision"] == 0.5
    bins = report.table("reliability")
    assert bins.values[:, 2].sum() == 3
    assert json.loads(json.dumps(bins.to_dict(), allow_nan=False))["values"][0][3] is None
    page = report.to_html()
    assert "<summary>Confusion matrix: rows of truth by prediction</summary>" in page
    assert '<th scope="row">0</th><td class=n data-v="1">1</td><td class=n data-v="1">1</td>' in page
    with refuses(KeyError, "'confusion'"):
        report.table("confusio")


def test_tables_on_the_command_line(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,label\n1,a\n2,b\n3,b\n", encoding="utf-8")
    (tmp_path / "p.csv").write_text("id,label\n1,a\n2,a\n3,b\n", encoding="utf-8")
    result = steelyard("evaluate", "labels", "t.csv", "p.csv", "--tables", "out", "--draws", "100")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out" / "confusion.csv").read_text(encoding="utf-8") == "truth,a,b\na,1.0,0.0\nb,1.0,1.0\n"


# --- kernels against numpy


@settings(max_examples=60, deadline=None)
@given(
    arrays(
        np.float64,
        st.integers(0, 60),
        elements=st.one_of(
            st.floats(allow_nan=False), st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2), math.inf, -math.inf])
        ),
    )
)
def test_rank_order_is_a_stable_sort(scores: Any) -> None:
    positive = (np.arange(len(scores)) % 2).astype(np.uint8)
    order, last, marked = _native.rank_order(scores, positive)
    expected = np.argsort(-scores, kind="stable")
    assert order.tolist() == expected.tolist()
    ranked = scores[expected]
    assert last.astype(bool).tolist() == [*(ranked[1:] != ranked[:-1]).tolist(), *([True] if len(scores) else [])]
    assert marked.tolist() == positive[expected].tolist()


def test_rank_order_of_many_close_scores() -> None:
    rng = np.random.default_rng(9)
    scores = 1.0 + rng.integers(0, 50, 5000) * np.finfo(float).eps
    order, _, _ = _native.rank_order(scores, np.zeros(5000, np.uint8))
    assert order.tolist() == np.argsort(-scores, kind="stable").tolist()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6), max_size=40))
def test_codes_of_texts(texts: list[str]) -> None:
    array = np.array(texts, dtype=str) if texts else np.zeros(0, "U1")
    wide = array if array.dtype.itemsize else array.astype("U1")
    codes, first = _native.factor_rows(
        wide.view(np.uint32).reshape(len(wide), -1) if len(wide) else np.zeros((0, 1), np.uint32)
    )
    names = array[first].tolist()
    assert names == list(dict.fromkeys(array.tolist()))
    assert [names[code] for code in codes] == array.tolist()
    codes, first = _native.factor_texts(texts)
    assert [texts[i] for i in first] == list(dict.fromkeys(texts))
    assert [texts[first[code]] for code in codes] == texts


def test_codes_of_what_is_not_text() -> None:
    assert _native.factor_texts(["a", 1]) is None
    assert _native.factor_texts(["a", "\ud800"]) is None
    odd = {"label": ["a", "\ud800", "b"]}
    assert scores(odd, odd, "accuracy") == {"accuracy": 1.0}


def test_codes_of_many_texts() -> None:
    texts = [f"text {i * 7919 % 5000}" for i in range(20_000)]
    for codes, first in (
        _native.factor_texts(texts), _native.factor_rows(np.array(texts).view(np.uint32).reshape(len(texts), -1)),
    ):  # fmt: skip
        assert len(first) == 5000
        assert [texts[first[code]] for code in codes] == texts


def test_confusion_counts_past_a_byte() -> None:
    truth = np.array([5, 5, 7] * 1000)
    table = _native.confusion(truth, np.full(3000, 6), 5, 3)
    assert table.tolist() == [[0, 2000, 0], [0, 0, 0], [0, 1000, 0]]
    assert _native.confusion(truth, truth, 5, 2) is None


def test_kernels_refuse_what_they_cannot_do() -> None:
    one = np.zeros(1, np.int64)
    keys, code = np.zeros(1, np.uint64), np.zeros(1, np.int32)
    for call in (
        lambda: _native.rank_order(np.array([math.nan]), np.zeros(1, np.uint8)),
        lambda: _native.rank_order(np.zeros(2), np.zeros(1, np.uint8)),
        lambda: _native.confusion(one, np.zeros(2, np.int64), 0, 1),
        lambda: _native.confusion(one, one, 0, 0),
        lambda: _native.confusion(one, one, 0, 100_000),
        lambda: _native.extent(np.zeros(0, np.int64)),
        lambda: _native.poisson_scatter(keys, one + 1, code, np.zeros(0), 1, 0, 0, 32),
        lambda: _native.poisson_scatter(keys, one, code + 1, np.zeros(0), 1, 0, 0, 32),
        lambda: _native.poisson_scatter(keys, one, code, np.zeros(2), 1, 0, 0, 32),
        lambda: _native.poisson_scatter(keys, one, code, np.zeros(0), 1, 0, 1, 32),
        lambda: _native.poisson_weights(keys, 0, 0, 32, copies=one),
        lambda: _native.poisson_weights(keys, 0, 0, 32, copies=np.ones(2, np.int64)),
        lambda: _native.ranked(np.ones((1, 1)), one + 1, np.ones(1, np.uint8), np.ones(1, np.uint8), np.zeros(0), 0),
        lambda: _native.ranked(np.ones((1, 1)), one, np.ones(1, np.uint8), np.ones(1, np.uint8), np.zeros(0), 9),
        lambda: _native.ranked_each(one + 5, np.ones(1, np.uint8), np.ones(2, np.uint8), np.zeros(0), 0),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            call()


def test_the_chart_by_class_is_named_by_its_metric() -> None:
    truth = ["cat", "dog", "cat", "dog", "cat", "dog"]
    report = sy.evaluate("labels", truth, ["cat", "dog", "dog", "dog", "cat", "cat"], draws=100)
    assert report.figure("by_class").title == "F1 by class"


def test_columns_without_names_are_the_declared_classes() -> None:
    """By hand: the columns are fox, cat, dog; three of four rows have their class on top."""
    truth = ["cat", "dog", "fox", "cat"]
    scores = np.array([[0.1, 0.8, 0.1], [0.1, 0.2, 0.7], [0.7, 0.1, 0.2], [0.3, 0.3, 0.4]])
    for classes in (["fox", "cat", "dog"], np.array(["fox", "cat", "dog"])):
        report = sy.evaluate("labels", truth, scores, "accuracy", confidence=None, options={"classes": classes})
        assert report["accuracy"].value == 0.75
        assert any("fox, cat, dog" in note for note in report.notes)
    with refuses("E-unknown-name", "'cat'", "`classes`"):
        sy.evaluate("labels", truth, scores, "accuracy")
