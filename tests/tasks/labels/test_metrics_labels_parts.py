"""Proportions that metrics of labels are made of, and their numbers for many rows of weights at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.made import check_alone, check_left_out, in_turn, metric, pairs_of, state_of

from steelyard.core.block import CellsBlock
from steelyard.core.metadata import Metadata
from steelyard.core.options import Options
from steelyard.core.plan import POINT, UNITS
from steelyard.core.records import Records
from steelyard.core.state import State
from steelyard.core.task import Policy
from steelyard.tasks.labels import codes, data
from steelyard.tasks.labels.codes import Counted, CountedRecords
from steelyard.tasks.labels.counts import CountMetric, class_units
from steelyard.tasks.labels.data import join
from steelyard.tasks.labels.statistics import ClassCounts, Confusion, LabelRows, RowSum

THREE = {"label": list("aaaabbc")}, {"label": list("aaabbcb")}
SETS = {"labels": ["a|b", "b", "c"]}, {"labels": ["a", "b", "a|c"]}


def parts(spec: str, sides: Any = THREE) -> Any:
    asked = metric("labels", spec)
    totals = state_of(pairs_of("labels", *sides), asked).totals(POINT).only(asked.requirements())
    made = asked.proportions(totals)
    return None if made is None else [np.asarray(part)[0].tolist() for part in made]


@in_turn(
    ("spec", "expected"),
    [
        ("accuracy", [4, 7]), ("accuracy(label=a)", [6, 7]), ("exact_match", [4, 7]), ("hamming", [3, 7]),
        ("balanced_accuracy", [[3, 1, 0], [4, 2, 1]]), ("balanced_accuracy(adjusted=true)", None),
        ("precision(label=b)", [1, 3]), ("precision", None), ("f1(label=b)", [2, 5]), ("mcc(label=a)", None), ("mcc", None),
        ("macro(recall)", [[3, 1, 0], [4, 2, 1]]), ("macro(recall, undefined=zero)", None), ("macro(mcc)", None),
        ("micro(f1)", [8, 14]), ("micro(f1, undefined=zero)", None), ("micro(mcc)", None),
        ("macro(f1(threshold=1))", [[0, 0, 0], [0, 0, 0]]), ("micro(f1(threshold=1))", None),
        ("per_class(recall)", [[3, 1, 0], [4, 2, 1]]),
    ],
)  # fmt: skip
def test_proportions(spec: str, expected: Any) -> None:
    assert parts(spec) == expected


def test_proportions_of_scores_and_sets() -> None:
    given = {"score:a": [1.0, 2.0], "score:b": [2.0, 1.0]}
    assert parts("topk@1", ({"label": ["a", "b"]}, given)) == [0, 2]
    assert parts("hamming", SETS) == [2, 9]
    assert parts("macro(ap)", ({"label": ["a", "b"]}, given)) is None
    assert parts("precision", ({"label": ["a", "b"]}, {"label": ["b", "b"]})) == [1, 2]


@in_turn(
    ("spec", "expected"),
    [
        ("balanced_accuracy", [4, 2, 1]), ("macro(recall)", [4, 2, 1]), ("macro(precision)", [3, 3, 1]),
        ("macro(f1)", [4, 4, 2]), ("macro(specificity)", [3, 5, 6]), ("macro(accuracy)", [7, 7, 7]), ("macro(mcc)", [4, 4, 2]),
        ("macro(recall, undefined=zero)", [4, 4, 2]), ("macro(fbeta(beta=inf))", [4, 2, 1]), ("micro(recall)", [7]), ("micro(specificity)", None),
        ("precision(label=b)", [3]), ("specificity(label=b)", None), ("accuracy", None), ("per_class(f1)", [4, 4, 2]),
    ],
)  # fmt: skip
def test_rows_behind_proportions(spec: str, expected: Any) -> None:
    asked = metric("labels", spec)
    made = asked.part_units(state_of(pairs_of("labels", *THREE), asked))
    assert (None if made is None else made.tolist()) == expected


@in_turn(
    ("spec", "names"),
    [
        ("macro(f1)", ["ClassCounts"]), ("macro(f1, undefined=zero)", ["ClassCounts"]), ("macro(ap)", ["Walk"]),
        ("macro(ap, undefined=zero)", ["Walk", "ClassCounts"]), ("weighted(ap)", ["Walk", "ClassCounts"]),
        ("micro(f1)", ["ClassCounts"]), ("micro(f1, undefined=zero)", ["ClassCounts", "RowSum"]), ("micro(ap)", ["Walk"]),
        ("macro(specificity)", ["ClassCounts", "RowSum", "Present", "Present"]), ("accuracy", ["RowSum", "RowSum"]),
        ("accuracy(label=a)", ["ClassCounts", "RowSum", "Present", "Present"]), ("ovo(ap)", ["PairWalk", "ClassCounts"]),
        ("best_f1", ["Walk", "NotedWalk"]), ("log_loss", ["ProbabilitySum", "RowSum", "NoChance"]),
        ("macro(brier)", ["ClassProbabilitySum", "RowSum"]), ("ece", ["ConfidenceBins"]), ("macro(ece)", ["ClassBins"]),
        ("per_class(ap)", ["Walk"]), ("topk", ["TopHits", "RowSum"]), ("kappa", ["RowSum", "RowSum", "ClassCounts"]),
        ("kappa(weights=linear)", ["LabelDistance", "RowSum", "ClassCounts"]), ("balanced_accuracy", ["ClassCounts"]),
    ],
)  # fmt: skip
def test_what_metrics_need(spec: str, names: list[str]) -> None:
    """No more than they read: what is not kept costs nothing."""
    assert [type(need).__name__ for need in metric("labels", spec).requirements()] == names


@in_turn(
    ("spec", "expected"),
    [
        ("balanced_accuracy", [3 / 4, 1 / 2, 0]), ("balanced_accuracy(adjusted=true)", None), ("macro(recall)", [3 / 4, 1 / 2, 0]),
        ("per_class(recall)", [3 / 4, 1 / 2, 0]), ("macro(f1)", [6 / 7, 2 / 5, 0]), ("recall(label=a)", None), ("macro(ap)", None),
        ("macro(accuracy)", [6 / 7, 4 / 7, 5 / 7]), ("macro(f1(threshold=1))", None), ("weighted(f1)", None),
    ],
)  # fmt: skip
def test_class_scores(spec: str, expected: Any) -> None:
    asked = metric("labels", spec)
    state = state_of(pairs_of("labels", *THREE), asked)
    made = asked.class_scores(state.totals(POINT).only(asked.requirements()))
    assert (None if made is None else made[0].tolist()) == (None if expected is None else pytest.approx(expected))
    if expected is not None:
        assert asked.class_truth(state).tolist() == [True, True, True]  # type: ignore[union-attr]


def test_units_of_a_ranking() -> None:
    """Rows of each class; of ROC AUC the fewer of those and the others. Of units with several rows, units."""
    truth = {"id": list("0123456"), "label": list("aaaaabc")}
    scores = {"id": list("0123456"), **{f"score:{k}": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7] for k in "abcd"}}
    for spec, units in (("macro(ap)", [5, 1, 1, 0]), ("macro(roc_auc)", [2, 1, 1, 0]), ("macro(brier)", None)):
        asked = metric("labels", spec)
        state = state_of(pairs_of("labels", truth, scores), asked)
        assert asked.part_units(state).tolist() == (units or [7] * 4)  # type: ignore[union-attr]
        if units:
            assert asked.class_truth(state).tolist() == [True, True, True, False]  # type: ignore[union-attr]
    weighted = state_of(
        pairs_of("labels", {**truth, "weight": [1, 1, 0, 0, 1, 1, 0]}, scores), metric("labels", "macro(ap)")
    )
    assert metric("labels", "macro(ap)").part_units(weighted).tolist() == [3, 1, 0, 0]  # type: ignore[union-attr]


IDS = list("0123456")
WEIGHT = [1.0, 0.5, 2.0, 1.0, 0.25, 3.0, 1.0]
OF_LABELS = (
    "accuracy", "accuracy(label=a)", "balanced_accuracy", "balanced_accuracy(adjusted=true)", "mcc", "mcc(label=b)", "kappa",
    "kappa(weights=linear)", "kappa(weights=quadratic)", "hamming", "exact_match", "precision(label=b)", "fbeta(beta=2, label=a)",
    "specificity(label=b)", "npv(label=a)", "macro(f1)", "macro(precision, undefined=zero)", "weighted(recall)", "micro(f1)",
    "micro(specificity)", "macro(specificity)",
)  # fmt: skip
OF_SCORES = (
    "topk@2", "roc_auc(label=a)", "ap(label=b)", "best_f1(label=a)", "macro(roc_auc)", "macro(ap, undefined=zero)", "weighted(ap)",
    "micro(roc_auc)", "ovo(roc_auc)", "ovo(roc_auc, weighted=true)", "f1(label=a, threshold=0.3)", "log_loss", "log_loss(label=a)",
    "brier", "brier(label=b)", "macro(brier)", "weighted(log_loss)", "ece(bins=3)", "mce(bins=3)", "ece(bins=3, label=a)",
    "classwise_ece(bins=3)", "macro(mce(bins=2))",
)  # fmt: skip
PROBABLE = {
    "probability:a": [0.6, 0.5, 0.3, 0.2, 0.1, 0.4, 0.3], "probability:b": [0.3, 0.2, 0.6, 0.7, 0.5, 0.2, 0.4],
    "probability:c": [0.1, 0.3, 0.1, 0.1, 0.4, 0.4, 0.3],
}  # fmt: skip
OF_SETS = (
    "hamming", "exact_match", "macro(f1)", "micro(f1)", "micro(specificity)", "weighted(recall)", "macro(jaccard)",
    "accuracy(label=a)", "macro(specificity)",
)  # fmt: skip


@pytest.mark.parametrize("weights", [{}, {"weight": WEIGHT}], ids=["alike", "weighted"])
def test_each_row_left_out(weights: dict[str, Any]) -> None:
    """What rows of weights give at once is what the data give without the row."""
    declared = {"classes": Records("classes", {"label": np.array(["a", "b", "c"], dtype=object)})}
    truth = {"id": IDS, "label": list("aaaabbc"), **weights}
    check_left_out("labels", truth, {"id": IDS, "label": list("aaabbcb")}, "id", OF_LABELS, **declared)
    check_left_out("labels", truth, {"id": IDS, **PROBABLE}, "id", OF_SCORES, **declared)
    sets = {"id": IDS, "labels": ["a", "a|b", "", "c", "b|c", "a", "b"], **weights}
    check_left_out(
        "labels", sets, {"id": IDS, "labels": ["a|c", "b", "a", "c", "b", "", "b|c"]}, "id", OF_SETS, **declared
    )


def test_each_row_alone() -> None:
    """A unit's own number is that of its row, weights apart."""
    declared = {"classes": Records("classes", {"label": np.array(["a", "b", "c"], dtype=object)})}
    truth = {"id": IDS, "label": list("aaaabbc")}
    check_alone("labels", truth, {"id": IDS, "label": list("aaabbcb")}, "id", OF_LABELS, **declared)
    check_alone("labels", truth, {"id": IDS, **PROBABLE}, "id", OF_SCORES, **declared)
    sets = {"id": IDS, "labels": ["a", "a|b", "", "c", "b|c", "a", "b"]}
    guess = {"id": IDS, "labels": ["a|c", "b", "", "c", "b", "", "b|c"]}
    check_alone("labels", sets, guess, "id", (*OF_SETS, "micro(f1, undefined=zero)"), **declared)


def test_numbers_of_single_rows() -> None:
    """A right row, a wrong one, and a set of nothing that is said to be nothing."""
    asked = [metric("labels", spec) for spec in ("micro(f1)", "micro(f1, undefined=zero)", "macro(f1)", "hamming")]
    state = state_of(pairs_of("labels", {"labels": ["a", "b", ""]}, {"labels": ["a", "a", ""]}), *asked)
    totals = state.totals(UNITS)
    nan = float("nan")
    expected = ([1, 0, nan], [1, 0, 0], [1, 0, nan], [0, 1, 0])
    for one, values in zip(asked, expected, strict=True):
        assert totals.of(one).tolist() == pytest.approx(values, nan_ok=True), str(one)


def test_labels_that_were_counted_where_they_were_made() -> None:
    counted = Counted(("-1", "4"), np.array([[2, 1], [0, 3]]))
    assert [counted.rows(side)["label"].tolist() for side in (0, 1)] == [[-1, -1, -1, 4, 4, 4], [-1, -1, 4, 4, 4, 4]]
    truth = CountedRecords("truth", counted.rows(0), aggregated=counted)
    pairs = join(truth, Records("predictions", counted.rows(1)), Policy(), Options())
    assert pairs.aggregated is counted
    assert (pairs.classes, len(pairs)) == (("-1", "4"), 6)
    assert (pairs.coverage.truth, pairs.coverage.matched, pairs.coverage.policy) == (6, 6, "error")
    asked = metric("labels", "kappa")
    # right 5 of 6; by chance 3 * 2 + 3 * 4 of 36
    assert state_of(pairs, asked).totals(POINT).of(asked).tolist() == pytest.approx([1 - (1 / 6) / (1 - 18 / 36)])
    assert Counted((), np.zeros((0, 0), np.int64)).rows(0)["label"].tolist() == []
    assert Counted(("300",), np.ones((1, 1), np.int64)).rows(0)["label"].dtype == np.int16


def behind(state: State, threshold: float | None, spec: str, *, pooled: bool = False) -> list[float]:
    asked = metric("labels", spec)
    assert isinstance(asked, CountMetric)
    made = class_units(state, threshold, asked.fraction, pooled=pooled)
    assert made is not None
    return made.tolist()  # type: ignore[no-any-return]


def test_units_behind_classes() -> None:
    """Rows without a weight stand behind nothing; units of a kind and units of a cluster are counted as such."""
    recall = metric("labels", "recall")
    truth = {"label": list("abab"), "group": list("ppqq"), "weight": [1.0, 0.0, 1.0, 2.0]}
    state = state_of(pairs_of("labels", truth, {"label": list("aaab")}), recall)
    assert behind(state, None, "recall") == [2, 1]
    assert behind(state, None, "precision") == [2, 1]
    assert behind(state, None, "f1", pooled=True) == [2]
    rows = state_of(pairs_of("labels", {"label": list("abbb")}, {"label": list("aabb")}), recall)
    copied = replace(rows, units=replace(rows.units, copies=np.array([5, 1, 2, 3])))
    assert behind(copied, None, "recall") == [5, 6]
    assert behind(copied, None, "recall", pooled=True) == [11]
    clustered = replace(rows, units=replace(rows.units, cluster=np.array(["x", "y", "y", "x"], dtype=object)))
    assert behind(clustered, None, "recall") == [1, 2]
    assert behind(clustered, None, "precision") == [2, 2]
    assert behind(clustered, None, "precision", pooled=True) == [2]
    scored = pairs_of("labels", {"label": ["a", "b"]}, {"score:a": [1.0, 3.0], "score:b": [3.0, 3.0]})
    reached = state_of(scored, metric("labels", "recall(threshold=2)"))
    assert behind(reached, 2.0, "recall") == [1, 1]
    assert behind(reached, 2.0, "precision") == [1, 2]


def many(monkeypatch: pytest.MonkeyPatch, truth: Any, predicted: Any, policy: Policy | None = None) -> Any:
    monkeypatch.setattr(data, "DISTINCT_FROM", 4)
    return pairs_of("labels", truth, predicted, policy)


def test_rows_that_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = many(monkeypatch, {"label": ["b", "a", "b", "b"]}, {"label": ["b", "b", "b", "a"]})
    assert pairs.plain
    assert pairs.aggregated.classes == pairs.classes == ("a", "b")
    assert pairs.aggregated.matrix.tolist() == [[0, 1], [1, 2]]
    assert pairs.distinct_units.copies.tolist() == [1, 1, 2]
    rows = LabelRows(pairs)
    assert (rows.units, rows.owner.tolist(), rows.weight) == (3, [0, 1, 2], None)
    assert (rows.truth.tolist(), rows.predicted_labels.tolist()) == ([0, 1, 1], [1, 0, 1])
    state = State.of(pairs, [ClassCounts(), RowSum("right"), Confusion()])
    assert state.totals(POINT)[ClassCounts()].tolist() == [[[0, 2], [1, 1], [1, 1]]]
    assert state.totals(POINT)[RowSum("right")].tolist() == [2]
    assert state.totals(POINT)[Confusion()].tolist() == [[[[0, 1], [1, 2]], [[0, 0], [0, 0]]]]
    entries = {need: block.entries for need, block in state.blocks.items() if isinstance(block, CellsBlock)}
    assert entries[Confusion()].code.tolist() == [1, 2, 3]
    assert entries[ClassCounts()].code.tolist() == [2, 5, 3, 4, 1]  # a is missed, b is said; and back; b is right
    assert entries[ClassCounts()].owner.tolist() == [0, 0, 1, 1, 2]
    listed = pairs.per_unit()
    assert (listed.aggregated, listed.distinct_units) == (None, None)
    assert LabelRows(listed).truth.tolist() == [1, 0, 1, 1]
    part = pairs.part_of(Metadata({"class": pairs.metadata.axes["class"]}), 3)
    assert (part.declared, part.aggregated) == (("a", "b"), None)
    assert pairs.part_of(pairs.metadata, 4).aggregated.matrix.tolist() == [[0, 1], [1, 2]]


def test_rows_that_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = ["b", "a", "b", "b"]
    for truth, predicted in (
        ({"label": labels[:3]}, {"label": labels[:3]}), ({"label": labels, "weight": [1.0] * 4}, {"label": labels}),
        ({"label": labels, "group": labels}, {"label": labels}), ({"label": labels}, {"label": labels, "score": [1.0] * 4}),
        ({"labels": labels}, {"labels": labels}), ({"label": labels}, {"probability": [0.5] * 4}),
    ):  # fmt: skip
        assert many(monkeypatch, truth, predicted).aggregated is None
    ids = {"id": IDS[:4], "label": labels}
    assert many(monkeypatch, ids, ids).aggregated.matrix.tolist() == [[1, 0], [0, 3]]
    assert many(monkeypatch, ids, {"id": ["0"], "label": ["a"]}, Policy("worst", "skip")).aggregated is None
    whole = many(monkeypatch, {"label": [3, 3, 1, 1]}, {"label": [3, 1, 1, 1]})
    assert whole.aggregated.classes == ("1", "3")
    assert whole.aggregated.matrix.tolist() == [[2, 0], [1, 1]]
    monkeypatch.setattr(codes, "MOST_IN_A_TABLE", 1)
    assert many(monkeypatch, {"label": [3, 3, 1, 1]}, {"label": [3, 1, 1, 1]}).aggregated is None
