"""Reports and lineups: whole results against their parts, for small tables."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.api import evaluate, measure
from steelyard.core import catalogue
from steelyard.core.block import SumBlock
from steelyard.core.errors import InputError
from steelyard.core.pairs import Coverage
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.engine import measure as measure_module
from steelyard.engine.compare import compare
from steelyard.engine.details import LazyDetails, definitions_of, tables_of, unit_table
from steelyard.engine.families import judged_together
from steelyard.engine.lineup import SAME, lineup
from steelyard.engine.measure import measure_state, needs_of, per_unit_state, unit_values
from steelyard.engine.report import applied_request, notes_of, report_of, sources_of, state_report, task_facts
from steelyard.engine.run import expand_metrics, measure_records, measure_sides, metrics_of
from steelyard.engine.score import score
from steelyard.engine.sides import sides_of
from steelyard.engine.slices import among_all, paired_slices, slices
from steelyard.engine.threads import use_threads
from steelyard.io.digest import digest
from steelyard.results.origin import SourceInfo, TaskFacts

RNG = np.random.default_rng(2)
WEIGHTS, LABELS = catalogue.find_task("weights"), catalogue.find_task("labels")
METRICS = [catalogue.parse(spec, "weights") for spec in ("mae", "r2")]
ROUGH = "below 30 units an interval is rough and tends to be too narrow."


def dishes(n: int = 12, shift: float = 0.0) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(n)
    truth = rng.uniform(50, 400, n)
    ids = [f"d{i:02}" for i in range(n)]
    kinds, sizes = ["a", "b", "a"] * n, ["s", "s", "l", "l"] * n
    rows = {"dish": ids, "weight": truth, "kind": kinds[:n], "size": sizes[:n], "hall": [1.0, 2.0] * (n // 2)}
    return rows, {"dish": ids, "weight": truth + rng.normal(shift, 20, n)}


def items() -> tuple[dict[str, Any], dict[str, Any]]:
    """Five dishes of two items, whose food differs inside a dish."""
    rows = {"dish": np.repeat(list("vwxyz"), 2), "item": [1, 2] * 5, "weight": np.arange(1.0, 11) * 10}
    predicted = {**rows, "weight": rows["weight"] + np.array([3.0, -4, 1, 5, -2, 6, -7, 2, 1, 9])}
    return {**rows, "food": ["rice", "egg"] * 4 + ["rice", None]}, predicted


def measured_dishes(n: int = 12, **settings: Any) -> tuple[Request, Any]:
    request = Request.of("weights", ["mae", "r2"], {"draws": 100, **settings})
    return request, measure_sides(WEIGHTS, request, *dishes(n))


# Running


def test_metrics_that_are_asked_for() -> None:
    assert metrics_of(WEIGHTS, ["mae", METRICS[1], "mae"]) == METRICS
    assert [str(m) for m in metrics_of(WEIGHTS, None)] == list(WEIGHTS.defaults)
    with refuses("E-empty-input", "asked"):
        metrics_of(WEIGHTS, [])


def test_metrics_are_expanded_by_the_data() -> None:
    rows = {"id": np.arange(4), "label": ["x", "y", "x", "z"]}
    data = measure("labels", rows, rows, ["accuracy"])
    state = data.state
    asked = metrics_of(LABELS, ["accuracy", "accuracy"])
    assert expand_metrics(LABELS, asked, False, state) == list(data.metrics)
    by_default = expand_metrics(LABELS, asked, True, state)
    assert LABELS.defaults_for is not None
    wanted = metrics_of(LABELS, LABELS.defaults_for(state.metadata))
    assert by_default == list(dict.fromkeys(one for metric in wanted for one in metric.expand(state.metadata)))
    assert expand_metrics(WEIGHTS, METRICS, True, state) == METRICS


def test_what_is_measured() -> None:
    request, data = measured_dishes()
    assert data.metrics == tuple(METRICS)
    assert (len(data.truth), len(data.prediction), len(data.state)) == (12, 12, 12)
    assert data.coverage == Coverage(12, 12, 12, 0, 0)
    assert data.pairs.units.tolist() == [f"d{i:02}" for i in range(12)]
    again = measure_records(WEIGHTS, request, data.options, data.truth, data.prediction)
    assert (again.options, again.coverage, again.metrics) == (data.options, data.coverage, data.metrics)
    assert set(data.state.blocks) == set(needs_of(METRICS))
    renamed = {"dish": ["a", "b"], "grams": [1.0, 2.0]}
    given = Request.of("weights", "mae", {"columns": {"weight": "grams"}, "missing": "skip"})
    lost = measure_sides(WEIGHTS, given, renamed, {"dish": ["a"], "grams": [1.5]})
    assert (lost.coverage.missing, lost.coverage.policy) == (1, "skip")
    default = measure_sides(WEIGHTS, Request.of("weights"), *dishes())
    assert [str(m) for m in default.metrics] == list(WEIGHTS.defaults)


def test_threads() -> None:
    before = _native.set_threads(0)
    try:
        with use_threads(3):
            assert _native.set_threads(3) == 3
            with pytest.raises(RuntimeError), use_threads(2):
                raise RuntimeError
            assert _native.set_threads(3) == 3
        with use_threads(None):
            assert _native.set_threads(0) == 0
        use_threads(5)  # without a block it holds from here on
        assert _native.set_threads(5) == 5
    finally:
        _native.set_threads(before)
    for count, shown in ((0, "0"), (-2, "-2"), (4097, "4097"), (10**9, "so many"), (10**9 - 1, "999999999")):
        with pytest.raises(InputError) as refused, use_threads(count):
            pass
        assert str(refused.value) == f"{shown} threads cannot work. Choose a whole number from 1 up to 4,096."
    with use_threads(4096), use_threads(1):
        pass
    _native.set_threads(before)


# Measuring


def test_values_of_each_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    _, data = measured_dishes()
    error = np.abs(data.prediction["weight"] - data.truth["weight"])
    result = unit_values(data.state, METRICS)
    assert list(result) == ["mae", "r2"]
    assert result["mae"] == pytest.approx(error)
    rows = {"id": np.arange(7), "label": ["x", "y", "x", "z", "x", "y", "z"]}
    named = {"id": np.arange(7), "label": ["x", "x", "x", "z", "y", "y", "z"]}
    labels = measure("labels", rows, named, ["accuracy", "macro(f1)"])
    whole = unit_values(labels.state, labels.metrics)
    assert whole["accuracy"].tolist() == [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]
    monkeypatch.setattr(measure_module, "MOST_CELLS", 1)  # one unit at a time
    apart = unit_values(labels.state, labels.metrics)
    for spec, values in whole.items():
        assert apart[spec] == pytest.approx(values, nan_ok=True)


def test_units_that_are_counted_are_listed_again() -> None:
    _, data = measured_dishes()
    assert per_unit_state(data.pairs, data.state, METRICS) is data.state
    state = measure_state(data.pairs, METRICS)
    assert state.blocks.keys() == data.state.blocks.keys()


# Reports


def same_scores(scores: Any, expected: Any) -> None:
    assert dict(scores) == expected


def test_a_report_is_its_parts() -> None:
    request, data = measured_dishes(by=["kind", ("kind", "size")])
    report = report_of(WEIGHTS, request, data, ("checked",))
    used = applied_request(WEIGHTS, request, data.metrics, data.options.given)
    assert report.request == used
    assert (used.metrics, used.missing, used.extra, used.draws) == (("mae", "r2"), "error", "error", 100)
    assert report.task_facts == TaskFacts(WEIGHTS.title, "dish", "item") == task_facts(WEIGHTS)
    same_scores(report.scores, score(data.state, METRICS, request))
    kinds = slices(data.pairs, data.state, ["kind"], lambda pairs: measure_state(pairs, METRICS))
    assert list(kinds) == [("a",), ("b",)]
    for (kind,), part in kinds.items():
        same_scores(report.slices["kind"][kind], score(part, METRICS, request))
    assert list(report.slices) == ["kind", ("kind", "size")]
    assert list(report.slices["kind", "size"]) == [("a", "l"), ("a", "s"), ("b", "l"), ("b", "s")]
    assert report.coverage == data.coverage
    assert report.sources == sources_of(data)
    assert report.sources.truth == SourceInfo(data.truth.source, 12, digest(data.truth))
    assert report.sources.predictions == SourceInfo(data.prediction.source, 12, digest(data.prediction))
    assert report.notes == ("checked", f"Only 12 dishes: {ROUGH}")
    assert report.explanations == ()
    assert report.details.pairs is data.pairs
    assert report.units().values["mae"] == pytest.approx(unit_values(data.state, METRICS)["mae"])


def test_a_report_of_states_alone() -> None:
    request, data = measured_dishes()
    parts = {"kind": {"a": data.state.take(np.arange(4)), "b": data.state.take(np.arange(4, 12))}}
    facts = (data.coverage, sources_of(data))
    report = state_report(WEIGHTS, request, METRICS, data.state, parts, *facts, ("noted",))
    same_scores(report.scores, score(data.state, METRICS, request))
    same_scores(report.slices["kind"]["b"], score(parts["kind"]["b"], METRICS, request))
    assert (report.request, report.coverage, report.sources) == (request, *facts)
    assert report.notes == ("noted", f"Only 12 dishes: {ROUGH}")
    assert (report.details.pairs, report.details.state, report.details.metrics) == (None, data.state, tuple(METRICS))
    kept = data.state.take(np.arange(3))
    assert state_report(WEIGHTS, request, METRICS, data.state, {}, *facts, kept=kept).details.state is kept


def test_draws_of_counted_labels_are_those_of_their_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units are counted by kind where they are many; what is saved is by unit, in all and in each slice."""
    monkeypatch.setattr(import_module("steelyard.tasks.labels.data"), "DISTINCT_FROM", 100)
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 400)
    named = np.where(rng.random(400) < 0.7, truth, rng.integers(0, 3, 400))
    rows = {"id": np.arange(400), "label": truth, "site": rng.integers(0, 2, 400)}
    settings = {"draws": 100, "save_draws": True, "by": ["site"]}
    request = Request.of("labels", ["accuracy"], settings)
    data = measure_sides(LABELS, request, rows, {"id": np.arange(400), "label": named})
    assert data.state.units.deduplicated
    report = report_of(LABELS, request, data)
    every = per_unit_state(data.pairs, data.state, data.metrics)
    assert report["accuracy"].draws is not None
    assert report["accuracy"].draws.tolist() == every.totals(request.plan).of(data.metrics[0]).tolist()
    part = every.take(np.flatnonzero(rows["site"] == 1))
    draws = report.slices["site"]["1"]["accuracy"].draws
    assert draws is not None
    assert draws.tolist() == part.totals(request.plan).of(data.metrics[0]).tolist()


def test_what_was_applied() -> None:
    request = Request.of("weights", None, {"missing": "skip", "columns": {"weight": "grams"}, "confidence": None})
    used = applied_request(WEIGHTS, request, METRICS, {"angle": "degrees"})
    assert (used.metrics, used.missing, used.extra, used.draws) == (("mae", "r2"), "skip", "error", 0)
    assert (used.columns, used.options, used.confidence) == ({"weight": "grams"}, {"angle": "degrees"}, None)


def test_notes_of_few_units() -> None:
    request = Request("weights")
    states = {n: measured_dishes(n)[1].state for n in (2, 28, 30)}
    one = states[2].take(np.array([0]))
    assert notes_of(WEIGHTS, one, request) == ("An interval needs at least two units; there is 1 dish.",)
    assert notes_of(WEIGHTS, states[2], request) == (f"Only 2 dishes: {ROUGH}",)
    assert notes_of(WEIGHTS, states[30], request) == ()
    parts = [states[28], states[30], one]
    assert notes_of(WEIGHTS, states[30], request, parts) == (f"2 of 3 slices have few units: {ROUGH}",)
    assert notes_of(WEIGHTS, states[30], request, parts[1:2]) == ()
    assert notes_of(WEIGHTS, states[2], Request("weights", confidence=None)) == ()


def test_slices_inside_units_in_reports_and_lineups() -> None:
    """The food differs inside a dish: each slice is measured again, in a report and for two models."""
    truth, a = items()
    request = Request.of("weights", ["mae"], {"draws": 100, "by": ["food"]})
    data = [measure_sides(WEIGHTS, request, truth, {**a, "weight": a["weight"] + k}) for k in (0.0, 1.0)]
    report = report_of(WEIGHTS, request, data[0])
    sides = paired_slices([(one.pairs, one.state) for one in data], ["food"], measure_items)
    result = lineup(WEIGHTS, METRICS[:1], request, data, [[], []]).comparisons[0]
    for (food,), states in sides.items():
        same_scores(report.slices["food"][food], score(states[0], METRICS[:1], request))
        raw = compare(*sides_of(states, METRICS[:1], request), METRICS[:1], request)["mae"].difference
        assert result.slices["food"][food]["mae"].difference == raw.difference
        assert result.slices["food"][food]["mae"].interval == raw.interval


# Evidence


def test_live_evidence() -> None:
    _, data = measured_dishes()
    live = LazyDetails(WEIGHTS, data.pairs, data.state, data.metrics)
    table = live.units()
    assert (table.unit, table.units.tolist(), list(table.values)) == ("dish", data.pairs.units.tolist(), ["mae", "r2"])
    assert table == unit_table(WEIGHTS, data.state, METRICS)
    assert live.definitions() == definitions_of(METRICS)
    assert list(live.definitions()) == ["mae", "r2"]
    assert live.definitions()["mae"].summary == "Mean absolute error: how far off a prediction is, on average."
    bare = LazyDetails(WEIGHTS, None, data.state, data.metrics)
    assert (bare.tables, bare.figures, bare.listing()) == ((), (), None)
    assert bare.units() == table
    assert tables_of(WEIGHTS, data.pairs, data.state) == {}


def test_evidence_of_labels() -> None:
    rows = {"id": np.arange(4), "label": ["x", "y", "x", "z"]}
    data = measure("labels", rows, {"id": np.arange(4), "label": ["x", "x", "x", "z"]}, ["accuracy"])
    live = LazyDetails(LABELS, data.pairs, data.state, data.metrics)
    assert live.tables == tuple(tables_of(LABELS, data.pairs, data.state))
    assert repr(live.table(live.tables[0])) == repr(tables_of(LABELS, data.pairs, data.state)[live.tables[0]]())
    make = LABELS.view("listing")
    if make is not None:
        assert live.listing() is not None


# Slices


def measure_items(pairs: Any) -> State:
    return measure_state(pairs, METRICS)


def test_slices_inside_units_are_measured_again() -> None:
    request = Request.of("weights", ["mae"], {"confidence": None})
    data = measure_sides(WEIGHTS, request, *items())
    sliced = slices(data.pairs, data.state, ["food"], measure_items)
    assert list(sliced) == [("(none)",), ("egg",), ("rice",)]
    assert [part.units.ids.tolist() for part in sliced.values()] == [["z"], list("vwxy"), list("vwxyz")]
    values = {name[0]: unit_values(part, METRICS[:1])["mae"].tolist() for name, part in sliced.items()}
    assert values == {"(none)": [9.0], "egg": [4.0, 5.0, 6.0, 2.0], "rice": [3.0, 1.0, 2.0, 7.0, 1.0]}


def test_slices_of_whole_units_are_taken() -> None:
    _, data = measured_dishes()
    asked = []

    def refuse(pairs: Any) -> State:
        asked.append(pairs)
        return data.state

    sliced = slices(data.pairs, data.state, ["kind", "size"], refuse)
    assert asked == []
    assert {name: part.units.ids.tolist() for name, part in sliced.items()} == {
        ("a", "l"): ["d02", "d03", "d06", "d11"],
        ("a", "s"): ["d00", "d05", "d08", "d09"],
        ("b", "l"): ["d07", "d10"],
        ("b", "s"): ["d01", "d04"],
    }
    assert list(slices(data.pairs, data.state, ["hall"], refuse)) == [("1",), ("2",)]


def test_too_many_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    _, data = measured_dishes()
    monkeypatch.setattr("steelyard.engine.slices.MOST_SLICES", 4)
    assert len(slices(data.pairs, data.state, ["kind", "size"], measure_items)) == 4
    monkeypatch.setattr("steelyard.engine.slices.MOST_SLICES", 3)
    with refuses("E-too-large", "'kind, size'", "4"):
        slices(data.pairs, data.state, ["kind", "size"], measure_items)


def test_paired_slices() -> None:
    """A slice holds the units that are in it for any model, in all of them."""
    request = Request.of("weights", ["mae"], {"confidence": None})
    truth, predicted = items()
    models = [measure_sides(WEIGHTS, request, truth, {**predicted, "weight": predicted["weight"] + k}) for k in (0, 1)]
    sliced = paired_slices([(m.pairs, m.state) for m in models], ["food"], measure_items)
    assert list(sliced) == [("(none)",), ("egg",), ("rice",)]
    assert [part.units.ids.tolist() for part in sliced["egg",]] == [list("vwxy")] * 2
    assert unit_values(sliced["egg",][1], METRICS[:1])["mae"].tolist() == [3.0, 6.0, 7.0, 3.0]
    _, whole = measured_dishes()
    halves = paired_slices([(whole.pairs, whole.state)] * 2, ["kind"], measure_items)
    assert halves["b",][0].units.ids.tolist() == [f"d{i:02}" for i in (1, 4, 7, 10)]


def test_slices_of_values_that_predictions_hold() -> None:
    """A model may have values that another lacks: then its slice is of the units that it names."""
    truth, first = dishes(4)
    models = [measure("weights", truth, {**first, "mark": mark}, "mae") for mark in (list("ppqq"), list("pppp"))]
    sliced = paired_slices([(m.pairs, m.state) for m in models], ["mark"], measure_items)
    assert {name: [p.units.ids.tolist() for p in parts] for name, parts in sliced.items()} == {
        ("p",): [["d00", "d01", "d02", "d03"]] * 2,
        ("q",): [["d02", "d03"]] * 2,
    }


def test_slices_among_all_without_rows_are_their_parts() -> None:
    _, data = measured_dishes()
    parts = {("a",): data.state.take(np.arange(5)), ("b",): data.state.take(np.arange(5, 12))}
    assert among_all(data.state, parts) == parts
    block = next(iter(data.state.blocks.values()))
    assert isinstance(block, SumBlock)


# Lineups


def test_a_lineup_is_its_comparisons() -> None:
    truth, a = dishes()
    others = [{**a, "weight": np.asarray(a["weight"]) + shift} for shift in (15.0, 0.0)]
    request = Request.of("weights", ["mae", "r2"], {"draws": 100, "by": ["kind"], "seed": 5})
    data = [measure_sides(WEIGHTS, request, truth, one) for one in (a, *others)]
    result = lineup(WEIGHTS, METRICS, request, data, [["odd"], ["odd", "new"], []])
    sides = sides_of([one.state for one in data], METRICS, request)
    raw = {
        "0": compare(sides[0], sides[1], METRICS, request),
        "1": compare(sides[0], sides[2], METRICS, request, same=True),
    }
    expected = judged_together(raw, 0.95, "max-t")
    for i, comparison in enumerate(result.comparisons):
        assert dict(comparison.differences) == expected[str(i)]
        assert comparison.a.sources == sources_of(data[0])
        assert comparison.b.sources == replace(sources_of(data[i + 1]), truth_units=None)  # A has them
        assert comparison.a.request == applied_request(WEIGHTS, request, METRICS, {})
        assert comparison.task_facts == task_facts(WEIGHTS)
        assert comparison.a.coverage == data[0].coverage
        assert comparison.units() == tuple(unit_table(WEIGHTS, data[k].state, METRICS) for k in (0, i + 1))
    assert result.comparisons[1]["mae"].interval == (0.0, 0.0)
    assert result.comparisons[0].notes == (f"Only 12 dishes: {ROUGH}", "odd", "new")
    assert result.comparisons[1].notes == (SAME, f"Only 12 dishes: {ROUGH}", "odd")
    assert list(result.standings) == ["mae", "r2"]
    # In slices each metric is a family of its own, over all slices and models.
    parts = paired_slices([(one.pairs, one.state) for one in data], ["kind"], measure_items)
    for metric in map(str, METRICS):
        group = {}
        for (kind,), states in parts.items():
            scored = sides_of(states, METRICS, request)
            for i in (0, 1):
                group[i, kind] = {metric: compare(scored[0], scored[i + 1], METRICS, request)[metric]}
        for (i, kind), one in judged_together(group, 0.95, "max-t").items():
            assert result.comparisons[i].slices["kind"][kind][metric] == one[metric]


def test_two_models_have_no_ranks() -> None:
    truth, a = dishes()
    result = sy.compare("weights", truth, [a, {**a, "weight": np.asarray(a["weight"]) + 9}], metrics=["mae"], draws=100)
    assert result.standings == {}
    assert result.comparisons[0]["mae"].adjust == "max-t"
    other = sy.compare(
        "weights", truth, [a, {**a, "weight": np.asarray(a["weight"]) + 9}], metrics=["mae"], draws=100, adjust="holm",
        confidence=None, by=["kind"],
    )  # fmt: skip
    assert other.comparisons[0]["mae"].adjust == "holm"
    assert other.comparisons[0].slices["kind"]["a"]["mae"].adjust == "holm"


def test_models_with_different_gaps() -> None:
    truth, a = dishes(4)
    gap = {name: column[:2] for name, column in a.items()}
    comparison = sy.compare("weights", truth, [a, gap], metrics=["mae"], draws=100, missing="skip").comparisons[0]
    scored = "Every model is scored on the 2 items that all models have a prediction for: "
    assert f"{scored}model 2 lacks 2." in comparison.notes
    turned = sy.compare("weights", truth, [gap, a], metrics=["mae"], draws=100, missing="skip").comparisons[0]
    assert f"{scored}model 1 lacks 2." in turned.notes
    worst = sy.compare("weights", truth, [a, a], metrics=["mae"], draws=100, missing="skip").comparisons[0]
    assert worst.notes[0] == SAME
    assert len(worst.notes) == 2


def test_classes_of_a_comparison() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 60)
    named = [np.where(rng.random(60) < p, truth, rng.integers(0, 3, 60)) for p in (0.5, 0.8)]
    rows = {"id": np.arange(60), "label": truth}
    result = sy.compare(
        "labels", rows, [{"id": np.arange(60), "label": one} for one in named], metrics="accuracy", draws=100
    )
    classes = result.comparisons[0].classes()
    assert list(classes) == ["0", "1", "2"]
    assert {d.family for d in classes.values()} == {3}
    for k, d in enumerate(classes.values()):
        a, b = (2 * ((one == k) & (truth == k)).sum() / ((one == k).sum() + (truth == k).sum()) for one in named)
        assert d.difference == pytest.approx(b - a)
    assert evaluate("labels", rows, {"id": np.arange(60), "label": named[0]}, "accuracy", draws=100).notes == ()
