"""The mean over several OOD sets, each against all rows in distribution, and few-shot episodes."""

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
from steelyard.core.weights import GivenRows, Role
from steelyard.engine.measure import needs_of
from steelyard.io.sources import read_sides

OPTIONS = {"ood": "x", "higher": "id"}
INNER = ["roc_auc", "fpr@95(positive=ood)", "fpr@80(positive=id)", "aupr(positive=ood)", "aupr(positive=id)", "ccr@0.2"]
SETS = {"c100": "near", "tin": "near", "mnist": "far"}


def drawn(seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(seed)
    source = rng.permutation(np.repeat(["", *SETS], [40, 20, 10, 15]))
    group = np.array([SETS.get(name, "") for name in source.tolist()])
    label = np.where(source == "", rng.choice(["a", "b"], len(source)), "x")
    score = np.round(rng.normal(np.where(source == "", 1.0, 0.0), 1.0), 1)
    ids = np.arange(len(source))
    truth = {"id": ids, "label": label, "source": source, "source_group": group}
    return truth, {"id": ids, "label": rng.choice(["a", "b"], len(source)), "score": score}


def part(sides: Any, rows: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    first, second = ({name: column[rows] for name, column in side.items()} for side in sides)
    return first, second


def of_set(sides: Any, name: str, spec: str) -> float:
    rows = np.isin(sides[0]["source"], ["", name])
    return float(sy.evaluate("labels", *part(sides, rows), [spec], options=OPTIONS, confidence=None)[spec].value)


@pytest.mark.parametrize("spec", INNER)
def test_the_mean_over_sets_is_that_of_the_values_of_each(spec: str) -> None:
    sides, mean = drawn(), f"sources({spec})"
    report = sy.evaluate("labels", *sides, [mean], options=OPTIONS, by="source_group")
    values = {name: of_set(sides, name, spec) for name in SETS}
    score = next(iter(report.scores.values()))
    assert score.value == pytest.approx(np.mean(list(values.values())), rel=1e-12)
    for group, scores in report.slices["source_group"].items():
        expected = np.mean([values[name] for name in SETS if SETS[name] == group])
        assert next(iter(scores.values())).value == pytest.approx(expected, rel=1e-12)
    assert score.interval is not None
    assert score.interval[0] < score.value < score.interval[1]


def test_draws_keep_the_share_of_each_set() -> None:
    sides, task = drawn(1), catalogue.find_task("labels")
    options = Options(task.options, OPTIONS)
    pairs = task.join(*read_sides(task, *sides, {}, options), Policy("error", "error"), options)
    metric = catalogue.parse("sources(aupr(positive=ood))", "labels")
    state = State.of(pairs, needs_of([metric]))
    weights = np.random.default_rng(2).integers(0, 3, (3, len(state))).astype(np.float64)
    source = sides[0]["source"]
    weights[2, source == "tin"] = 0  # of which the draw has nothing: its plain weights stay
    drawn_values = Totals(state, GivenRows(weights, Role.DRAWS)).of(metric)
    for row, value in zip(weights, drawn_values, strict=True):
        each = []
        for name in SETS:
            scaled = row.copy()
            for stratum in (source == name, source == ""):
                total = scaled[stratum].sum()
                scaled[stratum] = scaled[stratum] * stratum.sum() / total if total else 1.0
            each.append(of_set((sides[0] | {"weight": scaled}, sides[1]), name, "aupr(positive=ood)"))
        assert value == pytest.approx(np.mean(each), rel=1e-12)


def test_parts_are_the_whole() -> None:
    sides = drawn(3)
    specs = [f"sources({spec})" for spec in INNER]
    whole = sy.Accumulator("labels", options=OPTIONS)
    whole.update(*sides)
    known = sides[0]["source"] == ""
    cuts = np.arange(len(known)) % 2 == 0
    parts = []
    for rows in (cuts & (known | (sides[0]["source"] != "tin")), ~cuts | (~known & (sides[0]["source"] == "tin"))):
        accumulator = sy.Accumulator("labels", options=OPTIONS)
        accumulator.update(*part(sides, rows))
        parts.append(sy.Accumulator.from_bytes(accumulator.to_bytes()))
    parts[0].merge(parts[1])
    expected, merged = (accumulator.report(specs, draws=200) for accumulator in (whole, parts[0]))
    assert merged.scores == expected.scores


def test_sets_and_rows_in_distribution_are_strata() -> None:
    truth, predictions = drawn(4)
    kept = sy.evaluate("labels", truth, predictions, ["roc_auc"], options=OPTIONS, strata="source")
    strata = truth | {"kind": np.where(truth["source"] == "", "id", truth["source"])}
    named = sy.evaluate("labels", strata, predictions, ["roc_auc"], options=OPTIONS, strata="kind")
    assert kept["roc_auc"].interval == named["roc_auc"].interval


def test_data_without_sets_have_no_mean_over_them() -> None:
    truth, predictions = drawn(5)
    without = {name: truth[name] for name in ("id", "label")}
    report = sy.evaluate("labels", without, predictions, ["sources(roc_auc)"], options=OPTIONS)
    assert np.isnan(report["sources(roc_auc)"].value)
    for spec in ("sources(accuracy)", "sources(eer)", "sources(fpr@95)"):
        with refuses("E-invalid-spec"):
            sy.evaluate("labels", truth, predictions, [spec], options=OPTIONS)


def episodes() -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(0)
    label = rng.choice(["a", "b", "c", "d"], 120)
    truth = {"label": label, "episode": np.repeat(np.arange(12), 10), "class": label}
    return truth, {"label": np.where(rng.random(120) < 0.7, label, "a")}


@pytest.mark.parametrize(
    ("cluster", "words"),
    [("episode", "new episodes of these classes"), ("class", "new classes"), (None, "too narrow")],
)
def test_a_note_says_which_question_an_interval_of_episodes_answers(cluster: str | None, words: str) -> None:
    truth, predictions = episodes()
    report = sy.evaluate("labels", truth, predictions, ["accuracy"], cluster=cluster)
    assert sum(words in note and "nterval" in note for note in report.notes) == 1
    plain = sy.evaluate("labels", truth, predictions, ["accuracy"], confidence=None)
    bare = {name: column for name, column in truth.items() if name == "label" or name == cluster == "episode"}
    unknown = sy.evaluate("labels", bare, predictions, ["accuracy"], cluster="episode" if "episode" in bare else None)
    assert not any("new classes" in note or "new episodes" in note for one in (plain, unknown) for note in one.notes)


def test_the_mean_over_sets_rests_on_few_rows_out_of_distribution() -> None:
    """Two sets of one row each, all ranked right: the exact limit of two rows, above chance for ROC AUC."""
    truth = {"label": ["a"] * 60 + ["x"] * 2, "source": [""] * 60 + ["near", "far"]}
    said = {"label": ["a"] * 62, "score": [0.9] * 60 + [0.1] * 2}
    specs = ["sources(roc_auc)", "sources(fpr@95(positive=ood))"]
    report = sy.evaluate("labels", truth, said, specs, options=OPTIONS)
    ends = [score.interval for score in report.scores.values()]
    low = 0.025**0.5
    assert ends == [pytest.approx((low, 1.0), abs=1e-12), pytest.approx((0.0, 1 - low), abs=1e-12)]
    assert all("rests on 2 " in " ".join(score.notes) for score in report.scores.values())
