"""Pairs of people: a row has two owners, and the people are the units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.options import Options
from steelyard.core.state import State, Totals
from steelyard.core.task import Policy
from steelyard.core.weights import GivenRows, LeaveOneOut, Role
from steelyard.io.sources import read_sides
from steelyard.tasks.labels.preparation import SHARED

PEOPLE = {"people": "person_a,person_b"}
METRICS = (
    "tar@0.1",
    "tar@0.2(rule=nearest)",
    "tar@0.1(rule=impostor)",
    "tar@0.05(rule=interpolated)",
    "frr@0.1",
    "eer",
    "min_dcf(p=0.3)",
    "best_accuracy",
    "roc_auc",
    "tpr_at_fpr@0.1",
    "ap",
    "best_f1",
    "frr_at_threshold@0.5",
    "dprime",
)
TruthAndScores = tuple[dict[str, Any], dict[str, Any]]


def drawn(seed: int, people: int = 12, pictures: int = 3) -> TruthAndScores:
    rng = np.random.default_rng(seed)
    person = np.repeat([f"p{k:02}" for k in range(people)], pictures)
    first, second = np.triu_indices(len(person), 1)
    a, b = person[first], person[second]
    score = np.round(rng.normal((a == b) * 1.5, 1.0), 1)
    truth = {"a": first, "b": second, "person_a": a, "person_b": b}
    return truth, {"a": first, "b": second, "score": score}


def state_of(sides: TruthAndScores) -> State:
    task = catalogue.find_task("labels")
    options = Options(task.options, PEOPLE)
    truth, prediction = read_sides(task, *sides, {}, options)
    pairs = task.join(truth, prediction, Policy("error", "error"), options)
    metrics = [catalogue.parse(spec, "labels") for spec in METRICS]
    needs = [getattr(need, "ranking", need) for metric in metrics for need in metric.requirements()]
    return State.of(pairs, needs)


def repeated(sides: TruthAndScores, weight: np.ndarray[Any, Any], ids: list[str]) -> TruthAndScores:
    """Each pair as often as the product of its people's weights; as that of one where both are the same."""
    truth, predictions = sides
    of = dict(zip(ids, weight.tolist(), strict=True))
    times = np.array(
        [of[a] if a == b else of[a] * of[b] for a, b in zip(truth["person_a"], truth["person_b"], strict=True)]
    )
    rows = np.repeat(np.arange(len(times)), times)
    label = (truth["person_a"] == truth["person_b"]).astype(int)
    return {"label": label[rows]}, {"score": predictions["score"][rows]}


@pytest.mark.parametrize("seed", range(3))
def test_a_draw_of_people_is_their_pairs_repeated(seed: int) -> None:
    sides, rng = drawn(seed), np.random.default_rng(100 + seed)
    state = state_of(sides)
    ids = state.units.ids.tolist()
    weights = rng.integers(0, 4, (4, len(ids)))
    totals = Totals(state, GivenRows(weights.astype(np.float64), Role.DRAWS))
    for row, weight in enumerate(weights):
        report = sy.evaluate("labels", *repeated(sides, weight, ids), METRICS, confidence=None)
        for spec in METRICS:
            value = totals.of(catalogue.parse(spec, "labels"))[row]
            assert value == pytest.approx(report[spec].value, rel=1e-12, nan_ok=True), spec


def test_the_jackknife_leaves_out_all_pairs_of_a_person() -> None:
    sides = drawn(5)
    state = state_of(sides)
    metric = catalogue.parse("eer", "labels")
    left = Totals(state, LeaveOneOut(state.units.own)).of(metric)
    for place, person in enumerate(state.units.ids.tolist()):
        rows = np.flatnonzero((sides[0]["person_a"] != person) & (sides[0]["person_b"] != person))
        part = tuple({name: values[rows] for name, values in side.items()} for side in sides)
        assert left[place] == sy.evaluate("labels", *part, ["eer"], confidence=None, options=PEOPLE)["eer"].value
    taken = state.take(np.arange(1, len(state)))
    assert Totals(taken, GivenRows(np.ones((1, len(taken))), Role.POINT)).of(metric)[0] == left[0]


def test_exchanging_both_sides_of_pairs_changes_nothing() -> None:
    truth, predictions = drawn(2)
    turned = {"a": truth["b"], "b": truth["a"], "person_a": truth["person_b"], "person_b": truth["person_a"]}
    settings: dict[str, Any] = {"options": PEOPLE, "draws": 200}
    first = sy.evaluate("labels", truth, predictions, METRICS, **settings)
    second = sy.evaluate("labels", turned, predictions, METRICS, **settings)
    for spec in METRICS:
        assert first[spec].value == second[spec].value
        assert first[spec].interval == second[spec].interval


def test_weight_two_for_every_person_changes_no_rate() -> None:
    state = state_of(drawn(3))
    rows = np.stack([np.ones(len(state)), np.full(len(state), 2.0)])
    totals = Totals(state, GivenRows(rows, Role.DRAWS))
    for spec in ("tar@0.1", "eer", "min_dcf(p=0.3)", "roc_auc", "frr_at_threshold@0.5"):
        once, twice = totals.of(catalogue.parse(spec, "labels"))
        assert once == pytest.approx(twice, rel=1e-12), spec


def test_parts_by_pair_are_the_whole() -> None:
    truth, predictions = drawn(4)
    ids = [f"pair {k}" for k in range(len(truth["a"]))]
    truth, predictions = truth | {"id": np.array(ids)}, predictions | {"id": np.array(ids)}
    whole = sy.Accumulator("labels", options=PEOPLE)
    whole.update(truth, predictions)
    parts = []
    for part in range(3):
        rows = np.arange(part, len(truth["a"]), 3)
        accumulator = sy.Accumulator("labels", options=PEOPLE)
        accumulator.update({k: v[rows] for k, v in truth.items()}, {k: v[rows] for k, v in predictions.items()})
        parts.append(sy.Accumulator.from_bytes(accumulator.to_bytes()))
    for other in parts[1:]:
        parts[0].merge(other)
    specs = ["tar@0.1", "eer", "roc_auc"]
    expected, merged = (accumulator.report(specs, draws=200) for accumulator in (whole, parts[0]))
    assert merged.scores == expected.scores
    halves = [tuple({k: v[part::2] for k, v in side.items()} for side in (truth, predictions)) for part in (0, 1)]
    state, joined = state_of((truth, predictions)), State.merge([state_of(half) for half in halves])
    rows = np.random.default_rng(0).integers(0, 3, (5, len(state))).astype(np.float64)
    for spec in METRICS:
        metric = catalogue.parse(spec, "labels")
        values = [Totals(one, GivenRows(rows, Role.DRAWS)).of(metric) for one in (state, joined)]
        assert np.array_equal(*values, equal_nan=True), spec


def test_comparison_of_two_models_draws_the_same_people() -> None:
    truth, predictions = drawn(6)
    better = predictions | {"score": predictions["score"] + 0.4 * (truth["person_a"] == truth["person_b"])}
    settings: dict[str, Any] = {"options": PEOPLE, "draws": 300}
    result = sy.compare("labels", truth, predictions, better, ["eer", "tar@0.1"], **settings)
    own = sy.evaluate("labels", truth, predictions, ["eer"], **settings)["eer"]
    difference = result.differences["eer"]
    assert difference.difference < 0
    low, high = difference.interval
    assert high - low < own.interval[1] - own.interval[0]
    assert sy.compare("labels", truth, predictions, predictions, ["eer"], **settings).differences["eer"].p == 1


def test_a_note_says_that_rows_may_share_people() -> None:
    """Whatever the metric, where the data are pairs; but not where people or clusters are resampled."""
    sides = drawn(7, people=3, pictures=2)
    truth, predictions = sides[0] | {"same": sides[0]["person_a"] == sides[0]["person_b"]}, sides[1]
    images = {name: truth[name] for name in ("a", "b", "same")}
    people = {"id": truth["a"] * 10 + truth["b"], **{name: truth[name] for name in ("person_a", "person_b", "same")}}
    by_id = {"id": people["id"], "score": predictions["score"]}

    def said(truth: dict[str, Any], scores: dict[str, Any] = predictions, **settings: Any) -> int:
        report = sy.evaluate("labels", truth, scores, **{"metrics": ["roc_auc"], "draws": 100, **settings})
        return report.notes.count(SHARED)

    assert said(truth) == said(images) == said(people, by_id) == 1
    assert said(truth, metrics=["roc_auc", "eer"]) == 1
    assert said(truth, options=PEOPLE) == said(truth, cluster="person_a") == 0
    assert said({"id": people["id"], "label": truth["same"]}, by_id) == 0


def test_labels_come_from_people_and_must_agree() -> None:
    truth, predictions = drawn(7, people=3, pictures=2)
    same = (truth["person_a"] == truth["person_b"]).astype(int)
    values = [
        sy.evaluate("labels", side, predictions, ["eer"], confidence=None, options=PEOPLE)["eer"].value
        for side in (truth, truth | {"label": same}, truth | {"same": same})
    ]
    assert len(set(values)) == 1
    wrong = same.copy()
    wrong[4] = 1 - wrong[4]
    with refuses("E-conflict", truth["person_a"][4], truth["person_b"][4]):
        sy.evaluate("labels", truth | {"label": wrong}, predictions, ["eer"], options=PEOPLE)


def test_a_picture_paired_with_itself_is_left_out() -> None:
    truth, predictions = drawn(8, people=3, pictures=2)
    settings: dict[str, Any] = {"confidence": None, "options": PEOPLE}
    value = sy.evaluate("labels", truth, predictions, ["eer", "dprime"], **settings)
    more = {name: np.append(column, column[:1]) for name, column in truth.items()}
    more["b"], more["person_b"] = (
        np.append(truth["b"], truth["a"][:1]),
        np.append(truth["person_b"], truth["person_a"][:1]),
    )
    scores = {"a": more["a"], "b": more["b"], "score": np.append(predictions["score"], 99.0)}
    again = sy.evaluate("labels", more, scores, ["eer", "dprime"], **settings)
    assert [again[name].value for name in ("eer", "dprime")] == [value[name].value for name in ("eer", "dprime")]
    assert [note for note in again.notes if note not in value.notes] == [
        "truth: 1 pair is of an image with itself, and left out."
    ]


def test_bad_pairs_are_refused() -> None:
    truth, predictions = drawn(9, people=3, pictures=2)

    def run(
        side: dict[str, Any], scores: dict[str, Any], metric: str = "eer", people: str = "person_a,person_b"
    ) -> None:
        sy.evaluate("labels", side, scores, [metric], options={"people": people})

    with refuses("E-missing-column", "person_c"):
        run(truth, predictions, people="person_a,person_c")
    for columns in ("person_a", "person_a,person_a", "a,b,c", ","):
        with refuses("E-invalid-setting", "two columns"):
            run(truth, predictions, people=columns)
    with refuses("E-empty-cell", "person"):
        run(truth | {"person_a": np.array(["", *truth["person_a"][1:]])}, predictions)
    with refuses("E-invalid-value", "perhaps"):
        run(truth | {"same": np.array(["perhaps"] * len(truth["a"]))}, predictions)
    with refuses("E-unsupported", "two units"):
        run(truth, {**predictions, "label": np.zeros(len(truth["a"]), int)}, "accuracy")
    turned = {"a": [0, 1], "b": [1, 0], "person_a": ["x", "x"], "person_b": ["x", "x"]}
    with refuses("E-duplicate-key"):
        run(turned, {"a": [0, 1], "b": [1, 0], "score": [0.1, 0.2]})
    with refuses("E-unmatched"):
        run(truth, {name: column[1:] for name, column in predictions.items()})
    with refuses("E-invalid-number"):
        run(truth, predictions | {"score": np.array([np.nan, *predictions["score"][1:]])})


def test_people_by_their_errors_by_hand() -> None:
    truth = {"person_a": ["x", "x", "x", "y", "y", "z"], "person_b": ["x", "y", "z", "y", "z", "z"]}
    predictions = {"score": [0.2, 0.9, 0.1, 0.8, 0.3, 0.95]}
    report = sy.evaluate("labels", truth, predictions, ["eer"], confidence=None, options=PEOPLE)
    # FAR 0.01 of 3 impostor pairs allows none: the threshold is above 0.9, and two of three genuine pairs are refused.
    table = report.table("people")
    assert list(table.rows) == ["x", "y", "z"]
    assert table.values.tolist() == [[2, 0, 0, 1, 1, 0.5], [2, 0, 0, 1, 1, 0.5], [2, 0, 0, 1, 0, 0]]
    bars = report.figure("people").columns
    assert bars["value"][:2] == [0.0, 50.0]
    listing = report.listing().columns
    assert listing["score"].tolist() == predictions["score"]
    assert [listing["person b"].names[code] for code in listing["person b"].codes] == truth["person_b"]
