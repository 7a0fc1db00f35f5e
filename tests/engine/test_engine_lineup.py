"""Lineups and slices by their parts: notes, standings, levels, columns that are crossed, and units that are counted."""

from __future__ import annotations

from dataclasses import fields, replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.plan import POINT
from steelyard.core.records import Records
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.engine.compare import compare
from steelyard.engine.details import definitions_of
from steelyard.engine.families import judged_together
from steelyard.engine.lineup import lineup
from steelyard.engine.measure import measure_state, per_unit_state
from steelyard.engine.paired import MetricTraits
from steelyard.engine.ranks import standing
from steelyard.engine.run import measure_sides
from steelyard.engine.sides import sides_of
from steelyard.engine.slices import paired_slices, slices, text_of

WEIGHTS, LABELS = catalogue.find_task("weights"), catalogue.find_task("labels")
MAE, ACCURACY = catalogue.parse("mae", "weights"), catalogue.parse("accuracy", "labels")


class Noted(Records):
    """Records whose reader has something to say."""

    notes = ("read as grams",)


def models(n: int = 40, count: int = 3, **more: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    rng = np.random.default_rng(n)
    truth, ids = rng.uniform(50, 400, n), [f"d{i:02}" for i in range(n)]
    sides = [{"dish": ids, "weight": truth + rng.normal(0, 5 + 20 * k, n)} for k in range(count)]
    return {"dish": ids, "weight": truth, **more}, sides


def lined(truth: Any, sides: Any, **settings: Any) -> tuple[Request, list[Any], Any]:
    request = Request.of("weights", ["mae"], {"draws": 100, **settings})
    data = [measure_sides(WEIGHTS, request, truth, one) for one in sides]
    return request, data, lineup(WEIGHTS, [MAE], request, data, [[]] * len(data))


def test_notes_of_the_truth_come_first() -> None:
    truth, sides = models(12, 2)
    request, data, _ = lined(truth, sides)
    records = data[0].truth
    noted = Noted(**{one.name: getattr(records, one.name) for one in fields(records)})
    result = lineup(WEIGHTS, [MAE], request, [replace(data[0], truth=noted), data[1]], [["a"], ["a", "b"]])
    assert result.comparisons[0].notes[0] == "read as grams"
    assert result.comparisons[0].notes[-2:] == ("a", "b")


def test_groups_that_move_the_difference_of_the_first_two() -> None:
    """Eight videos of five dishes: the second model errs by video, the third by dish."""
    rng = np.random.default_rng(0)
    video = np.repeat(np.arange(8), 5)
    truth, sides = models(40, 3, video=[f"v{k}" for k in video])
    sides[1] = {**sides[0], "weight": truth["weight"] + np.repeat(rng.uniform(20, 200, 8), 5)}
    _, _, result = lined(truth, sides)
    for one in result.comparisons:
        assert sum("of one video go together" in note for note in one.notes) == 1
    _, _, turned = lined(truth, [sides[0], sides[2], sides[1]])
    for one in turned.comparisons:
        assert not any("go together" in note for note in one.notes)


@pytest.mark.parametrize("confidence", [None, 0.95, 0.6])
def test_everything_is_at_the_level_that_is_asked_for(confidence: float | None) -> None:
    truth, sides = models(40, 3, kind=list("ab") * 20)
    request, data, result = lined(truth, sides, confidence=confidence, by=["kind"])
    level = 0.95 if confidence is None else confidence
    scored = sides_of([one.state for one in data], [MAE], request)
    values = [np.abs(one["weight"] - truth["weight"]).mean() for one in sides]
    expected = standing(MetricTraits.of(MAE), values, [one.influences[MAE] for one in scored], level)
    assert result.standings == {"mae": expected}
    assert result.standings["mae"].confidence == level
    raw = {str(i): compare(scored[0], scored[i + 1], [MAE], request) for i in (0, 1)}
    for i, one in judged_together(raw, level, "max-t").items():
        assert result.comparisons[int(i)]["mae"] == one["mae"]
    family = {}
    parts = paired_slices([(one.pairs, one.state) for one in data], ["kind"], lambda pairs: measure_state(pairs, [MAE]))
    for (kind,), states in parts.items():
        apart = sides_of(states, [MAE], request)
        family.update({(i, kind): compare(apart[0], apart[i + 1], [MAE], request) for i in (0, 1)})
    for (i, kind), one in judged_together(family, level, "max-t").items():
        assert result.comparisons[i].slices["kind"][kind]["mae"] == one["mae"]
        assert one["mae"].family == 4


def test_who_has_no_ranks() -> None:
    """A sequence has none, and neither has one dish."""
    truth, sides = models(120, 3)
    assert lined(truth, sides)[2].standings != {}
    assert lined(truth, sides, sequence="approximate")[2].standings == {}
    assert lined(truth, sides[:2])[2].standings == {}
    two = {name: column[:2] for name, column in truth.items()}
    assert lined(two, [{name: column[:2] for name, column in side.items()} for side in sides])[2].standings != {}
    one = {name: column[:1] for name, column in truth.items()}
    assert lined(one, [{name: column[:1] for name, column in side.items()} for side in sides])[2].standings == {}


def test_evidence_of_a_comparison_says_what_metrics_mean() -> None:
    _, _, result = lined(*models(12, 2))
    assert result.comparisons[0].details.definitions() == definitions_of([MAE])


def test_gaps_are_said_where_they_are_skipped_alone() -> None:
    truth, sides = models(6, 2)
    gap = {name: column[:4] for name, column in sides[1].items()}
    skipped = sy.compare("weights", truth, [sides[0], gap], metrics=["mae"], draws=100, missing="skip").comparisons[0]
    assert sum("all models have a prediction for" in note for note in skipped.notes) == 1
    worst = sy.compare("weights", truth, [sides[0], gap], metrics=["mae"], draws=100, missing="worst").comparisons[0]
    assert not any("all models have a prediction for" in note for note in worst.notes)


# Slices


def test_cells_as_text() -> None:
    cells = [None, float("nan"), 2.0, 2.5, " a ", 7, True, np.float64(3.0), "", -0.0]
    assert [text_of(cell) for cell in cells] == ["", "", "2", "2.5", "a", "7", "True", "3", "", "0"]


def test_columns_are_crossed() -> None:
    """Three sizes by two kinds, of which one pair is not there; an empty cell has a name."""
    truth, sides = models(6, 1, size=["s", "m", "l", "s", None, "m"], kind=["b", "a", "b", "a", "b", "a"])
    data = measure_sides(WEIGHTS, Request.of("weights", ["mae"]), truth, sides[0])
    sliced = slices(data.pairs, data.state, ["size", "kind"], lambda pairs: measure_state(pairs, [MAE]))
    assert {name: part.units.ids.tolist() for name, part in sliced.items()} == {
        ("(none)", "b"): ["d04"],
        ("l", "b"): ["d02"],
        ("m", "a"): ["d01", "d05"],
        ("s", "a"): ["d03"],
        ("s", "b"): ["d00"],
    }
    turned = slices(data.pairs, data.state, ["kind", "size"], lambda pairs: measure_state(pairs, [MAE]))
    assert list(turned) == [("a", "m"), ("a", "s"), ("b", "(none)"), ("b", "l"), ("b", "s")]


def test_slices_of_units_that_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of labels are counted by kind where they are many: a slice is counted again, for one model and for two."""
    monkeypatch.setattr(import_module("steelyard.tasks.labels.data"), "DISTINCT_FROM", 100)
    rng = np.random.default_rng(3)
    true, site = rng.integers(0, 3, 400), rng.integers(0, 2, 400)
    named = [np.where(rng.random(400) < share, true, (true + 1) % 3) for share in (0.7, 0.9)]
    rows = {"id": np.arange(400), "label": true, "site": site}
    request = Request.of("labels", ["accuracy"], {"draws": 100})
    data = [measure_sides(LABELS, request, rows, {"id": np.arange(400), "label": one}) for one in named]
    assert data[0].state.units.deduplicated

    def counted(pairs: Any) -> State:
        return measure_state(pairs, [ACCURACY])

    sliced = slices(data[0].pairs, data[0].state, ["site"], counted)
    assert list(sliced) == [("0",), ("1",)]
    for (name,), part in sliced.items():
        mine = site == int(name)
        assert part.units.count == mine.sum()
        assert float(part.totals(POINT).of(ACCURACY)[0]) == pytest.approx((named[0] == true)[mine].mean())

    def each(pairs: Any) -> State:
        return per_unit_state(pairs, counted(pairs), [ACCURACY])

    both = paired_slices([(one.pairs, one.state) for one in data], ["site"], each)
    assert list(both) == [("0",), ("1",)]
    for (name,), parts in both.items():
        mine = site == int(name)
        for part, one in zip(parts, named, strict=True):
            assert not part.units.deduplicated
            assert part.units.count == mine.sum()
            assert float(part.totals(POINT).of(ACCURACY)[0]) == pytest.approx((one == true)[mine].mean())


def test_a_lineup_of_units_that_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are compared unit by unit, in all and by slice: as where every row is listed."""
    rng = np.random.default_rng(3)
    true, site = rng.integers(0, 3, 400), rng.integers(0, 2, 400)
    named = [np.where(rng.random(400) < share, true, (true + 1) % 3) for share in (0.7, 0.9)]
    rows, results = {"id": np.arange(400), "label": true, "site": site}, []
    sides = [{"id": np.arange(400), "label": one} for one in named]
    for most in (100, 10_000):
        monkeypatch.setattr(import_module("steelyard.tasks.labels.data"), "DISTINCT_FROM", most)
        results.append(sy.compare("labels", rows, sides, metrics="accuracy", draws=100, by=["site"]).comparisons[0])
    assert results[0]["accuracy"].difference == pytest.approx((named[1] == true).mean() - (named[0] == true).mean())
    for counted, each in zip(*([one.differences, *one.slices["site"].values()] for one in results), strict=True):
        assert (counted["accuracy"].difference, counted["accuracy"].p) == (
            each["accuracy"].difference,
            each["accuracy"].p,
        )
        assert counted["accuracy"].interval == pytest.approx(each["accuracy"].interval)


def test_counted_parts_of_two_models_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `measure` counts units too, a slice is what it gives."""
    monkeypatch.setattr(import_module("steelyard.tasks.labels.data"), "DISTINCT_FROM", 100)
    true = np.arange(400) % 3
    rows = {"id": np.arange(400), "label": true, "site": np.arange(400) % 4 // 3}
    request = Request.of("labels", ["accuracy"], {"draws": 100})
    sides = [measure_sides(LABELS, request, rows, {"id": np.arange(400), "label": (true + k) % 3}) for k in (0, 1)]
    sliced = paired_slices(
        [(one.pairs, one.state) for one in sides], ["site"], lambda pairs: measure_state(pairs, [ACCURACY])
    )
    assert {name: [part.units.count for part in parts] for name, parts in sliced.items()} == {
        ("0",): [300, 300],
        ("1",): [100, 100],
    }


def test_whole_units_of_two_models_are_not_measured_again() -> None:
    """A value that one model lacks takes none of its units."""
    truth, sides = models(6, 2)
    request = Request.of("weights", ["mae"])
    marks = (list("ppqqpp"), list("prprpp"))
    data = [
        measure_sides(WEIGHTS, request, truth, {**side, "mark": mark}) for side, mark in zip(sides, marks, strict=True)
    ]

    def refuse(pairs: Any) -> State:
        raise AssertionError("whole units need no measuring")

    sliced = paired_slices([(one.pairs, one.state) for one in data], ["mark"], refuse)
    assert {name: parts[0].units.ids.tolist() for name, parts in sliced.items()} == {
        ("p",): ["d00", "d01", "d02", "d04", "d05"],
        ("q",): ["d02", "d03"],
        ("r",): ["d01", "d03"],
    }


def test_units_without_rows_are_in_no_slice() -> None:
    truth, sides = models(4, 1, kind=list("abab"))
    some = {name: column[1:] for name, column in sides[0].items()}
    data = measure_sides(WEIGHTS, Request.of("weights", ["mae"], {"missing": "skip"}), truth, some)
    assert data.state.units.ids.tolist() == ["d00", "d01", "d02", "d03"]
    sliced = slices(data.pairs, data.state, ["kind"], lambda pairs: measure_state(pairs, [MAE]))
    assert {name: part.units.ids.tolist() for name, part in sliced.items()} == {("a",): ["d02"], ("b",): ["d01", "d03"]}
