"""Metrics of labels: settings, labels, numbers by hand, notes, and the reason where there is no number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.made import (
    by_unit,
    check_choices,
    check_range,
    examples,
    in_turn,
    labels,
    metric,
    pairs_of,
    refusal,
    refused,
    state_of,
    values,
)

import steelyard as sy
from steelyard.core.numerals import as_spec
from steelyard.core.plan import POINT
from steelyard.tasks.labels.counts import Counts, PerClass
from steelyard.tasks.labels.hard import F1

TRUTH = list("aaaabbc")
GUESS = list("aaabbcb")  # a: TP 3 FP 0 FN 1 TN 3; b: TP 1 FP 2 FN 1 TN 3; c: TP 0 FP 1 FN 1 TN 5
THREE = {"label": TRUTH}, {"label": GUESS}
UP = "It must be a number from 0 up."


def test_examples() -> None:
    alone = (
        "accuracy", "balanced_accuracy", "mcc", "kappa", "hamming", "exact_match", "precision", "recall", "f1", "fbeta",
        "jaccard", "specificity", "fpr", "fnr", "npv", "fdr", "ap", "roc_auc", "best_f1", "best_threshold", "log_loss",
        "brier", "ece", "rms_ce", "mce", "classwise_ece", "eer", "min_dcf", "dprime", "best_accuracy",
        "fold_accuracy", "oscr", "id_accuracy", "aurc", "e_aurc", "augrc",
    )  # fmt: skip
    wrapped = {name: [f"{name}(f1)"] for name in ("macro", "micro", "weighted", "per_class")}
    others = {
        "ovo": ["ovo(roc_auc)"],
        "sources": ["sources(roc_auc)"],
        "aupr": ["aupr(positive=yes)"],
        "fpr_at_tpr": ["fpr_at_tpr@95(positive=yes)"],
    }
    for spec in (
        "topk@5",
        "tpr_at_fpr@0.01",
        "tar@0.001",
        "frr@0.001",
        "frr_at_threshold@0.5",
        "far_at_threshold@0.5",
        "ccr@0.1",
        "risk@0.8",
        "coverage@0.05",
    ):
        others[spec.partition("@")[0]] = [spec]
    assert examples("labels") == {**{name: [name] for name in alone}, **wrapped, **others}


def test_labels() -> None:
    assert labels(
        "labels", "topk@3", "kappa(weights=linear)", "kappa", "fbeta(beta=2)", "fbeta(beta=0.5, label=cat)", "f1(label=3)",
        "precision(threshold=0.5)", "recall(label=cat, threshold=2)", "tpr_at_fpr@0.05", "tpr_at_fpr@0.1(label=cat)",
        "macro(f1)", "micro(fbeta(beta=2))", "weighted(ap)", "per_class(roc_auc)", "ovo(roc_auc)",
    ) == [
        "Top-3 accuracy", "Cohen's kappa, linear weights", "Cohen's kappa", "F2", "F0.5 of 'cat'", "F1 of '3'",
        "Precision at a score of 0.5", "Recall of 'cat' at a score of 2", "TPR at FPR 0.05", "TPR at FPR 0.1 of 'cat'",
        "Macro F1", "Micro F2", "Weighted Average precision", "Per class ROC AUC", "One versus one ROC AUC",
    ]  # fmt: skip


@in_turn(
    ("spec", "field", "allowed"),
    [
        ("kappa(weights={})", "weights", ["plain", "linear", "quadratic"]),
        ("brier(form={})", "form", ["auto", "sum", "half"]), ("topk(ties={})", "ties", ["first", "last"]),
        ("macro(f1, undefined={})", "undefined", ["skip", "zero"]),
        ("micro(f1, undefined={})", "undefined", ["skip", "zero"]),
        ("weighted(f1, undefined={})", "undefined", ["skip", "zero"]),
    ],
)  # fmt: skip
def test_choices(spec: str, field: str, allowed: list[str]) -> None:
    check_choices("labels", spec, field, *allowed)


@in_turn("spec", ["balanced_accuracy(adjusted={})", "ovo(roc_auc, weighted={})"])
def test_true_or_false(spec: str) -> None:
    name, field = spec.partition("(")[0], spec.partition("=")[0].split("(")[-1].split(", ")[-1]
    for value in ("true", "false"):
        assert metric("labels", spec.format(value)) is not None
    said = refusal(metric, "labels", spec.format("2"))
    assert said == [f"metric '{name}': {field} cannot be 2", "", "Choose one of: true, false."]


@in_turn(
    ("spec", "field", "taken", "not_taken", "remedy"),
    [
        ("topk@{}", "k", ["1", "2"], ["0", "-1", "0.5"], "It must be a number from 1 up."),
        ("fbeta(beta={})", "beta", ["0", "0.5", "100"], ["-0.5", "x"], UP),
        ("tpr_at_fpr@{}", "fpr", ["0", "1", "0.5"], ["-0.1", "1.5", "x"], "It must be a number from 0 to 1."),
        ("ece(bins={})", "bins", ["1", "10000"], ["0", "10001"], "It must be a number from 1 to 10000."),
        ("mce(bins={})", "bins", ["1", "10000"], ["0", "10001"], "It must be a number from 1 to 10000."),
        ("classwise_ece(bins={})", "bins", ["1", "10000"], ["0", "10001"], "It must be a number from 1 to 10000."),
        ("f1(threshold={})", "threshold", ["-5", "0", "2.5"], ["x"], "It must be a number from -inf up."),
        ("fbeta(threshold={})", "threshold", ["-5"], ["x"], "It must be a number from -inf up."),
    ],
)  # fmt: skip
def test_ranges(spec: str, field: str, taken: list[str], not_taken: list[str], remedy: str) -> None:
    check_range("labels", spec, field, taken, not_taken, remedy)


@in_turn(
    ("spec", "what", "remedy"),
    [
        ("macro(f1(label=a))", "metric 'macro(f1(label=a))' wraps a metric of one class", "Write macro(f1)."),
        ("ovo(ap(label=a))", "metric 'ovo(ap(label=a))' wraps a metric of one class", "Write ovo(ap)."),
        ("macro(kappa)", "metric 'kappa' is not one that every class has", "Example: macro(f1)."),
        ("ovo(f1)", "metric 'f1' is not one of a ranking", "Example: ovo(roc_auc)."),
        ("micro(brier)", "metric 'brier' has no micro form", "Use macro(brier)."),
        ("micro(ece(bins=3))", "metric 'ece(bins=3)' has no micro form", "Use macro(ece(bins=3))."),
        ("macro(fbeta(beta=-1))", "metric 'fbeta': beta cannot be -1", UP),
    ],
)
def test_what_is_wrapped(spec: str, what: str, remedy: str) -> None:
    assert refusal(metric, "labels", spec) == [what, "", remedy]


def test_a_wrapper_is_as_what_it_wraps() -> None:
    wrapped = metric("labels", "macro(log_loss)")
    assert (wrapped.better, wrapped.range, wrapped.measured_in) == ("lower", (0, math.inf), "nats")


@in_turn(("name", "expected"), [("3", 3), ("03", "03"), ("-1", "-1"), ("a", "a"), ("٣", "٣"), ("", ""), ("0", 0)])
def test_names_of_classes_in_specs(name: str, expected: Any) -> None:
    assert as_spec(name) == expected
    assert type(as_spec(name)) is type(expected)


ONE_CLASS = {
    "accuracy(label=a)": 6 / 7, "precision(label=b)": 1 / 3, "recall(label=a)": 3 / 4, "f1(label=a)": 6 / 7,
    "fbeta(beta=2, label=a)": 15 / (15 + 4), "fbeta(beta=0.5, label=b)": 1.25 / (1.25 + 0.25 + 2),
    "jaccard(label=b)": 1 / 4, "specificity(label=b)": 3 / 5, "fpr(label=b)": 2 / 5, "fnr(label=a)": 1 / 4,
    "npv(label=a)": 3 / 4, "fdr(label=b)": 2 / 3, "f1(label=c)": 0, "mcc(label=a)": 9 / 12,
    "mcc(label=b)": (1 * 3 - 2 * 1) / math.sqrt(3 * 2 * 5 * 4),
}  # fmt: skip
TOGETHER = {
    "accuracy": 4 / 7, "balanced_accuracy": (3 / 4 + 1 / 2 + 0) / 3,
    "balanced_accuracy(adjusted=true)": ((3 / 4 + 1 / 2) / 3 - 1 / 3) / (2 / 3), "hamming": 3 / 7, "exact_match": 4 / 7,
    # rows of truth 4, 2, 1 and of predictions 3, 3, 1
    "mcc": (4 * 7 - 19) / math.sqrt((49 - 19) * (49 - 21)), "kappa": 1 - 3 * 7 / (49 - 19),
    # a and b 4 * 3 + 2 * 3 times one place apart, b and c 2 * 1 + 1 * 3 times, a and c 4 * 1 + 1 * 3 times two
    "kappa(weights=linear)": 1 - 3 * 7 / (18 + 5 + 7 * 2), "kappa(weights=quadratic)": 1 - 3 * 7 / (18 + 5 + 7 * 4),
    "macro(f1)": (6 / 7 + 2 / 5 + 0) / 3, "weighted(f1)": (4 * 6 / 7 + 2 * 2 / 5) / 7, "micro(f1)": 4 / 7,
    "micro(specificity)": 11 / 14, "macro(specificity)": (1 + 3 / 5 + 5 / 6) / 3,
    "per_class(recall)": (3 / 4 + 1 / 2 + 0) / 3, "micro(mcc)": (4 * 11 - 9) / math.sqrt(7 * 7 * 14 * 14),
    "macro(accuracy)": (6 + 4 + 5) / 21,
}  # fmt: skip


def test_numbers() -> None:
    expected = {**ONE_CLASS, **TOGETHER}
    mean = expected.pop("per_class(recall)")
    report = sy.evaluate("labels", *THREE, list(expected), confidence=None)
    for spec, value in expected.items():
        assert report[spec].value == pytest.approx(value), spec
    asked = metric("labels", "per_class(recall)")
    assert state_of(pairs_of("labels", *THREE), asked).totals(POINT).of(asked).tolist() == pytest.approx([mean])


def test_undefined_classes() -> None:
    """b is never predicted: its precision is none, or 0; c is on neither side and out of every mean."""
    truth, predicted = {"label": ["a", "b", "b"]}, {"label": ["a", "a", "a"]}
    options = {"classes": ["a", "b", "c"]}
    specs = (
        "macro(precision)",
        "macro(precision, undefined=zero)",
        "weighted(precision)",
        "weighted(f1, undefined=zero)",
    )
    report = sy.evaluate("labels", truth, predicted, list(specs), options=options, confidence=None)
    assert [report[spec].value for spec in specs] == pytest.approx([1 / 3, 1 / 6, 1 / 3, (2 / 4) / 3])
    assert [report[spec].n_excluded for spec in specs] == [2, 1, 2, 1]
    assert report["macro(precision)"].excluded == "classes without a value"
    nothing = {"labels": ["", ""]}, {"labels": ["", ""]}
    both = "micro(f1)", "micro(f1, undefined=zero)"
    assert values("labels", *nothing, *both, options={"classes": ["a"]}) == pytest.approx([math.nan, 0], nan_ok=True)


def test_means_of_ranked_classes() -> None:
    """a: AUC 1; b: 1/2; c has no row and no value, or 0 where it is asked and stands in the truth, which it does not."""
    truth = {"label": ["a", "b", "b"]}
    given = {"score:a": [3.0, 1.0, 2.0], "score:b": [2.0, 1.0, 3.0], "score:c": [1.0, 0.0, 0.0]}
    specs = "macro(roc_auc)", "macro(roc_auc, undefined=zero)", "weighted(roc_auc)", "micro(roc_auc)"
    report = sy.evaluate("labels", truth, given, list(specs), confidence=None)
    # all nine scores: hits 3 (a), 1 and 3 (b); others 2 1, 1 0, 2 0 of 2, 1, 2, 1, 0, 0
    wins = [6, 2 + 2 * 0.5, 6]
    assert [report[spec].value for spec in specs] == pytest.approx([3 / 4, 3 / 4, (1 + 2 / 2) / 3, sum(wins) / 18])
    assert report["macro(roc_auc)"].n_excluded == 1


def test_one_versus_one() -> None:
    """a against b: 1/2 by a's score, 1 by b's; a against c: 1 and 0; b against c: 1 and 1."""
    truth = {"label": ["a", "a", "b", "c"]}
    given = {"score:a": [3.0, 1.0, 2.0, 0.0], "score:b": [0.0, 0.0, 1.0, 0.0], "score:c": [2.0, 2.0, 0.0, 1.0]}
    specs = "ovo(roc_auc)", "ovo(roc_auc, weighted=true)"
    expected = [(3 / 4 + 1 / 2 + 1) / 3, (3 * 3 / 4 + 3 * 1 / 2 + 2 * 1) / 8]
    assert values("labels", truth, given, *specs) == pytest.approx(expected)
    lacking = {"label": ["a", "a", "b"]}, {name: column[:3] for name, column in given.items()}
    assert values("labels", *lacking, *specs) == pytest.approx([3 / 4, 3 / 4])  # no pair has c
    sets = {"labels": ["a", "a|b"]}, {"score:a": [1.0, 0.0], "score:b": [1.0, 0.0]}
    report = sy.evaluate("labels", *sets, ["ovo(roc_auc)"], confidence=None)
    assert math.isnan(report["ovo(roc_auc)"].value)
    assert report["ovo(roc_auc)"].undefined_reason == "a row may have several labels"


SCORED = {"label": ["a", "b", "a", "b"]}, {"probability": [0.1, 0.4, 0.35, 0.8]}


def test_ranked() -> None:
    """By falling probability: b, b, a, a. One mistake less than perfect if 0.35 and 0.4 change places."""
    specs = "roc_auc", "ap", "best_f1", "best_threshold", "tpr_at_fpr@0.4", "roc_auc(label=a)"
    assert values("labels", *SCORED, *specs) == pytest.approx([1, 1, 1, 0.4, 1, 1])
    other = {"probability": [0.1, 0.35, 0.4, 0.8]}
    assert values("labels", SCORED[0], other, *specs) == pytest.approx(
        [3 / 4, (1 + 2 / 3) / 2, 2 * 2 / 5, 0.35, 1 / 2, 3 / 4]
    )
    report = sy.evaluate("labels", SCORED[0], other, ["best_f1", "roc_auc", "ap(label=a)"], confidence=None)
    assert report["best_f1"].notes == (
        "The positive class is 'b'.", "The best F1 is reached by scores from 0.35 up.",
    )  # fmt: skip
    assert report["roc_auc"].notes == ("The positive class is 'b'.",)
    assert report["ap(label=a)"].notes == ()


def test_probabilities() -> None:
    logs = [-math.log(p) for p in (0.9, 0.4, 0.65, 0.8)]
    squares = [0.1**2, 0.6**2, 0.35**2, 0.2**2]
    specs = (
        "log_loss",
        "brier",
        "brier(form=sum)",
        "brier(form=half)",
        "brier(label=a)",
        "macro(brier)",
        "log_loss(label=b)",
    )
    mean = sum(squares) / 4
    assert values("labels", *SCORED, *specs) == pytest.approx(
        [sum(logs) / 4, mean, 2 * mean, mean, mean, mean, sum(logs) / 4]
    )
    three = (
        {"label": ["a", "b"]},
        {"probability:a": [0.5, 0.2], "probability:b": [0.25, 0.6], "probability:c": [0.25, 0.2]},
    )
    whole = (0.5**2 + 2 * 0.25**2 + 2 * 0.2**2 + 0.4**2) / 2
    assert values("labels", *three, "brier", "brier(form=half)", "brier(form=sum)") == pytest.approx(
        [whole, whole / 2, whole]
    )


def test_calibration() -> None:
    """Two bins: 0.9 right; 0.6 (of a, is b) wrong, 0.65 right, 0.8 right, all in the upper one; of b's probability two in each."""
    specs = "ece(bins=2)", "mce(bins=2)", "ece(bins=2, label=b)", "mce(bins=2, label=b)", "classwise_ece(bins=2)"
    low, high = abs(1 - (0.1 + 0.4 + 0.35)), abs(1 - 0.8)  # of b: one of three, and the one
    assert values("labels", *SCORED, *specs) == pytest.approx(
        [abs(3 - 2.95) / 4, abs(3 - 2.95) / 4, (low + high) / 4, max(low / 3, high), (low + high) / 4]
    )
    assert values("labels", *SCORED, "macro(mce(bins=2))") == pytest.approx([max(low / 3, high)])


def test_rows_without_a_chance() -> None:
    truth = {"label": ["a", "b", "b"]}
    for given, said in (([0.5, 0.0, 1.0], "1 row gives its"), ([1.0, 0.0, 1.0], "2 rows give their")):
        report = sy.evaluate("labels", truth, {"probability": given}, ["log_loss", "brier"], confidence=None)
        assert report["log_loss"].notes == (f"{said} true class a probability of 0; it is taken for 2.2e-16.",)
        assert report["brier"].notes == ()
    assert sy.evaluate("labels", *SCORED, ["log_loss"], confidence=None)["log_loss"].notes == ()


SETS = {"labels": ["a|b", "b", "c"]}, {"labels": ["a", "b", "a|c"]}
NO_LABELS, NO_SCORES = "the predictions hold scores and no labels", "the predictions hold labels and no scores"
NO_PROBABILITIES = "the predictions hold no probabilities"
SEVERAL = "a row may have several labels"
REASONS: list[tuple[Any, dict[str, str]]] = [
    ((SCORED[0], {"score": [1.0, 2.0, 3.0, 4.0]}),
     {"kappa": NO_LABELS, "f1": NO_LABELS, "macro(f1)": NO_LABELS, "exact_match": NO_LABELS, "mcc": NO_LABELS,
      "log_loss": NO_PROBABILITIES, "ece": NO_PROBABILITIES, "classwise_ece": NO_PROBABILITIES}),
    (THREE, {"topk": NO_SCORES, "roc_auc": NO_SCORES, "ovo(roc_auc)": NO_SCORES, "f1(threshold=1)": NO_SCORES,
             "macro(ap)": NO_SCORES,
             "f1": "there are 3 classes: name one, f1(label=a), or wrap it, macro(f1)",
             "precision(label=a)": ""}),
    (SETS, {"kappa": SEVERAL, "topk": SEVERAL,
            "recall": "a row may have several labels: name one, recall(label=a), or wrap it, macro(recall)"}),
    (({"label": ["a", "b"]}, {"label": ["a", "a"]}),
     {"precision": "the class was never predicted", "mcc": "the truth or the prediction holds one class only",
      "recall(label=b)": ""}),
]  # fmt: skip


@in_turn("case", range(len(REASONS)))
def test_why_there_is_no_number(case: int) -> None:
    sides, reasons = REASONS[case]
    report = sy.evaluate("labels", *sides, list(reasons), confidence=None)
    for spec, why in reasons.items():
        assert math.isnan(report[spec].value) is bool(why), spec
        assert report[spec].undefined_reason == why, spec


def test_rows_without_a_weight() -> None:
    truth = {"label": ["a", "b"], "weight": [0.0, 0.0]}
    given = {"probability:a": [0.5, 0.5], "probability:b": [0.5, 0.5]}
    reasons = {
        "topk@1": "there is no row", "classwise_ece": "there is no row", "accuracy": "there is no row",
        "macro(f1)": "no class has a value", "roc_auc(label=a)": metric("labels", "roc_auc").documented_reason(),
    }  # fmt: skip
    report = sy.evaluate("labels", truth, given, list(reasons), confidence=None)
    assert {spec: score.undefined_reason for spec, score in report.scores.items()} == reasons
    assert all(math.isnan(score.value) for score in report.scores.values())
    assert all(map(math.isnan, values("labels", truth, given, "mce", "ece", "log_loss", "brier", "macro(mce)")))


def test_a_class_that_there_is_not() -> None:
    assert refused("labels", *THREE, ["f1(label=d)"]) == [
        "metric 'f1(label=d)': there is no class 'd'", "", "Known: a, b, c.",
    ]  # fmt: skip
    assert refused("labels", {"label": ["cat", "dog"]}, {"label": ["cat", "dog"]}, ["f1(label=dgo)"])[2] == (
        "Did you mean 'dog'?"
    )


def test_sets() -> None:
    """Of nine decisions two are wrong: b of the first row, a of the last; the second row is right."""
    specs = (
        "hamming",
        "exact_match",
        "accuracy",
        "micro(precision)",
        "macro(recall)",
        "micro(accuracy)",
        "accuracy(label=a)",
    )
    assert values("labels", *SETS, *specs) == pytest.approx(
        [2 / 9, 1 / 3, 1 / 3, 3 / 4, (1 + 1 / 2 + 1) / 3, 7 / 9, 2 / 3]
    )
    assert by_unit("labels", *SETS, "hamming") == pytest.approx([1 / 3, 0, 1 / 3])


def test_top() -> None:
    truth = {"label": ["a", "b", "c"]}
    given = {"score:a": [1.0, 1.0, 3.0], "score:b": [2.0, 1.0, 2.0], "score:c": [3.0, 0.0, 1.0]}
    specs = "topk@1", "topk@2", "topk@3", "topk@1(ties=last)"
    assert values("labels", truth, given, *specs) == pytest.approx([0, 1 / 3, 1, 1 / 3])


def test_counts() -> None:
    one = Counts(np.array([[1.0, 0]]), np.array([[0.0, 0]]), np.array([[2.0, 0]]), lambda: np.array([[3.0, 4]]))
    assert one.present.tolist() == [[True, False]]
    assert [c.tolist() for c in (one.of(0).tp, one.of(0).fp, one.of(0).fn, one.of(1).tn)] == [[1], [0], [2], [4]]
    pooled = one.pool_classes()
    assert [c.tolist() for c in (pooled.tp, pooled.fp, pooled.fn, pooled.tn)] == [[1], [0], [2], [7]]


def test_what_has_no_form_for_all_classes() -> None:
    asked = metric("labels", "brier")
    assert isinstance(asked, PerClass)
    assert asked.pooled_needs() == ()
    totals = state_of(pairs_of("labels", *SCORED), asked).totals(POINT).only(asked.requirements())
    assert refusal(asked.pooled_value, totals) == ["metric 'brier' has no micro average", "", "Use macro(brier)."]
    with pytest.raises(TypeError, match=r"^'f1' is of one class$"):
        F1().overall(totals)
