"""What the engine makes once and hands on, letters of ranks, shuffles of influences, and groups of units without rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.engine_states import Count, High, Mean, state_of
from support.refusal import refuses

from steelyard.api import measure as measured
from steelyard.core import catalogue
from steelyard.core.errors import InputError
from steelyard.core.pairs import Coverage
from steelyard.core.plan import JACKKNIFE, POINT
from steelyard.core.records import Records
from steelyard.core.request import Request
from steelyard.core.state import Totals
from steelyard.engine import groups, measure, report, sides, together
from steelyard.engine.report import state_report
from steelyard.engine.sides import KeptTotals, sides_of
from steelyard.results.origin import SourceInfo, Sources

WEIGHTS = catalogue.find_task("weights")
SOURCES = Sources(SourceInfo("t", 4, "x"), SourceInfo("p", 4, "y"))


def test_the_jackknife_of_a_report_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    real = report.left_out_totals

    def counted(state: Any) -> Any:
        made.append(state)
        return real(state)

    monkeypatch.setattr(report, "left_out_totals", counted)
    handed: list[Any] = []
    plain = report.score
    monkeypatch.setattr(
        report, "score", lambda *words, **more: handed.append(more["leave_one_out"]) or plain(*words, **more)
    )
    coverage = Coverage(4, 4, 4, 0, 0)
    for state, confidence, times in ((state_of([1.0, 2, 4, 8]), 0.95, 1), (state_of([1.0, 2]), 0.95, 1), (state_of([1.0]), 0.95, 0),
                                     (state_of([1.0, 2, 4, 8]), None, 0)):  # fmt: skip
        made.clear()
        handed.clear()
        request = Request("weights", draws=100, confidence=confidence)
        shown = state_report(WEIGHTS, request, [Mean()], state, {}, coverage, SOURCES)
        assert len(made) == times
        assert [one is not None for one in handed] == [times > 0]
        assert shown.details.task is WEIGHTS
        assert (shown.details.pairs, shown.details.state, shown.details.metrics) == (None, state, (Mean(),))


def test_sides_hand_their_totals_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model is scored once, from the totals that its side keeps."""
    handed: list[tuple[Any, ...]] = []
    plain = sides.score

    def heard(state: Any, metrics: Any, request: Any, drawn: Any = None, **more: Any) -> Any:
        handed.append((drawn, more["leave_one_out"], more["plain"]))
        return plain(state, metrics, request, drawn, **more)

    monkeypatch.setattr(sides, "score", heard)
    states = [state_of([1.0, 2, 4, 8]), state_of([2.0, 2, 5, 9])]
    request = Request("weights", draws=100)
    both = sides_of(states, [Mean(), High()], request)
    assert len(handed) == 2
    for side, (drawn, left_out, point) in zip(both, handed, strict=True):
        assert point is side.plain
        assert drawn.of(Mean()).tolist() == side.drawn.of(Mean()).tolist()
        assert side.leave_one_out is not None
        assert left_out.of(High()).tolist() == side.leave_one_out.of(High()).tolist()
        assert isinstance(side.drawn, KeptTotals)
        assert isinstance(side.leave_one_out, KeptTotals)
    assert both[0].influences[Mean()].coins is both[1].influences[Mean()].coins
    lone = sides_of([state_of([1.0])] * 2, [Mean()], request)[0]
    assert isinstance(lone.drawn, KeptTotals)
    assert lone.drawn._values == {}
    for other in (state_of([1.0, 2, 4]), state_of([1.0, 2, 4, 8], weight=np.array([1.0, 1, 1, 2]))):
        with refuses("E-incompatible", "scored"):
            sides_of([states[0], other], [Mean()], request)  # fmt: skip


def test_values_that_are_kept() -> None:
    totals = state_of([1.0, 2, 6]).totals(POINT)
    kept = KeptTotals(totals, [Mean()])
    assert kept.of(Mean()).tolist() == [3]
    assert kept.of(Count()).tolist() == [9]
    assert kept.of(Mean()) is kept.of(Mean())


def test_units_that_have_values_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(sides, "with_values", lambda *words: asked.append(words) or len(asked))
    side = sides_of([state_of([1.0, 2, 4])] * 2, [Mean()], Request("weights", draws=100))[0]
    sample: Any = object()
    assert [side.agreeing(Mean(), sample), side.agreeing(Mean(), sample), side.agreeing(High(), sample)] == [1, 1, 2]
    assert asked == [(side.state, Mean(), sample), (side.state, High(), sample)]


def dealt(monkeypatch: pytest.MonkeyPatch, values: list[float]) -> list[float]:
    """Design effects of shuffles, one after the other; what is left of them says how many were looked at."""
    left = list(values)
    monkeypatch.setattr(together, "design_effect", lambda u, code: left.pop(0))
    return left


def test_influences_that_are_dealt_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first 19 have a mean of 1 and a standard deviation of 0.1, but for one in the middle: 8 of them are 0.8."""
    first = [0.9, 1.1] * 9 + [1.0]
    u, code = np.arange(4.0), np.zeros(4, dtype=int)
    spread = float(np.std(first))
    for effect, chance, looked in (
        (1 + 8.1 * spread, False, 19),
        (1 + 7.9 * spread, True, 20),
        (1.05, True, 2),
        (1.1, True, 2),
    ):
        left = dealt(monkeypatch, [*first, 5.0])
        assert together._by_chance(u, code, effect, 0) is chance
        assert 20 - len(left) == looked
    left = dealt(monkeypatch, [*first, *[1.0] * 80])
    assert together._by_chance(u, code, 1 + 7.9 * spread, 0) is False
    assert left == []


def test_which_groups_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five groups are enough, four are too few, and as many as units are none."""
    seen: list[int] = []
    monkeypatch.setattr(
        together,
        "_effect",
        lambda metrics, states, left, code, seed: float(seen.append(int(code.max()) + 1) or 4 + len(seen)),
    )
    names = {f"g{k}": (np.arange(12) % k).astype(np.uint64) for k in (4, 5, 11, 12)}
    state = state_of(np.arange(12.0), groups=names)
    notes = together.together_notes(WEIGHTS, Request("weights"), [Mean()], [state], [None])
    assert seen == [5, 11]
    assert notes == (
        "Dishes of one g11 go together (design effect 6.0): intervals are about 2.4 times too narrow. Resample by 'g11' (cluster).",
    )
    for quiet in (state_of(np.arange(12.0), groups=names, cluster=np.arange(12).astype(str)), state_of([1.0], groups={}),
                  state_of(np.arange(12.0), groups=names, copies=np.full(12, 2))):  # fmt: skip
        assert together.together_notes(WEIGHTS, Request("weights"), [Mean()], [quiet], [None]) == ()
    one = state_of([1.0, 2.0], weight=np.array([1.0, 0.0]), groups={"g": np.zeros(2, np.uint64)})
    assert together.together_notes(WEIGHTS, Request("weights"), [Mean()], [one], [None]) == ()
    assert len(seen) == 2


def test_many_units_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"id": np.arange(7), "label": ["x", "y", "x", "z", "x", "y", "z"]}
    labels = measured("labels", rows, rows, ["accuracy", "macro(f1)"])
    sizes: list[int] = []
    real = Totals.__init__

    def heard(self: Any, state: Any, weights: Any) -> None:
        sizes.append(weights.rows)
        real(self, state, weights)

    monkeypatch.setattr(measure.Totals, "__init__", heard)
    cells = max(b.entries.size for b in labels.state.blocks.values() if isinstance(b, measure.CellsBlock))
    for most, parts in ((3 * cells, [3, 3, 1]), (1, [1] * 7), (7 * cells, [7])):
        monkeypatch.setattr(measure, "MOST_CELLS", most)
        sizes.clear()
        assert measure.unit_values(labels.state, labels.metrics)["accuracy"].tolist() == [1] * 7
        assert sizes[: len(parts)] == parts


def pairs(truth: dict[str, list[Any]], units: list[str], owner: list[int], name: str, **more: Any) -> Any:
    """Pairs of which some units have no row left."""
    records = Records("truth.csv", {key: np.array(values, dtype=object) for key, values in truth.items()})
    values = np.array(truth[name], dtype=object)[[truth["dish"].index(units[i]) for i in owner]]
    return SimpleNamespace(
        truth=records, units=np.array(units, dtype=object), slice_values=lambda asked: (values, owner), **more
    )


def test_units_without_a_row_of_their_own() -> None:
    """c lost its row to the policy: the truth has it. d has no row anywhere."""
    truth = {"dish": ["a", "b", "c"], "site": ["n", "s", "s"]}
    assert groups.unit_column(WEIGHTS, pairs(truth, ["a", "b", "c"], [0, 1], "site"), "site", "cluster").tolist() == [
        "n",
        "s",
        "s",
    ]
    with refuses("E-unmatched", "dish", "'d'", "'site'", "truth.csv"):
        groups.unit_column(WEIGHTS, pairs(truth, ["a", "b", "c", "d"], [0, 1], "site"), "site", "strata")  # fmt: skip
    with refuses("E-unmatched", "dish", "'d'", "'site'", "2", "'e'"):
        groups.unit_column(WEIGHTS, pairs(truth, ["a", "d", "e"], [0], "site"), "site", "cluster")
    grouped = {"group": ["a", "b", "c"], **truth}
    assert groups.unit_column(
        WEIGHTS, pairs(grouped, ["a", "b", "c"], [0], "site", grouped=True), "site", "cluster"
    ).tolist() == ["n", "s", "s"]


def test_columns_that_may_be_groups() -> None:
    truth = {"dish": ["a", "b", "c"], "site": ["n", "s", "s"], "video": [None, "v", "v"], "colour": ["r", "r", "r"]}
    made = pairs(truth, ["a", "b", "c"], [0, 1, 2], "site")
    made.slice_values = lambda asked: (np.array(truth[asked], dtype=object), np.arange(3))
    predicted = groups._suspected_groups(WEIGHTS, made)
    assert list(predicted) == ["site", "video"]
    assert [len(set(keys.tolist())) for keys in predicted.values()] == [2, 2]
    assert predicted["site"][1] == predicted["site"][2] != predicted["site"][0]
    varies = pairs({**truth, "dish": ["a", "b", "b"], "site": ["n", "n", "s"]}, ["a", "b"], [0, 1], "site")
    varies.slice_values = lambda asked: (np.array(["n", "n", "s"], dtype=object), np.array([0, 1, 1]))
    assert groups._suspected_groups(WEIGHTS, varies) == {}

    def none(asked: str) -> Any:
        raise InputError("no column")

    made.slice_values = none
    assert groups._suspected_groups(WEIGHTS, made) == {}


def test_the_jackknife_is_taken_where_there_is_one() -> None:
    state = state_of([0.0, 3.0, 6.0])
    taken = together._influences(Mean(), [state, state], [state.totals(JACKKNIFE), None], np.array([0, 1, 2]))
    assert taken is None  # without both it is made of some groups, and three are too few
