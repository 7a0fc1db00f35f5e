"""Entries, charts, units and runs of the viewer, each alone: no server is started."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from starlette.requests import Request
from support.viewer import settled

import steelyard as sy
from steelyard.core.errors import InputError
from steelyard.core.records import Records
from steelyard.view import pages, server, units
from steelyard.view import runs as indexes
from steelyard.view import server as viewing
from steelyard.view.entry import Entry, Shown, _number, _score, _text
from steelyard.view.folder import Folder, Outside
from steelyard.view.frame import Scale, Site, strip
from steelyard.view.listing import Point, _mark, tick_texts
from steelyard.view.runs import Index, NoHead, Runs, StoredRun, head_of, run_id
from steelyard.view.server import Guard


def outside(call: Any) -> str:
    with pytest.raises(Outside) as refused:
        call()
    return str(refused.value)


@pytest.fixture
def held(tmp_path: Path) -> Folder:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "a.json").write_bytes(b"abc")
    return Folder(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        '{"format": "steelyard", "version": 2, "kind": 7, "body": {}}',
        '{"format": "steelyard", "version": 2, "kind": "odd", "body": []}',
        '{"format" 7}',
        "{7: 7}",
        '{"format": "steelyard" 7}',
    ],
)
def test_texts_without_a_head(text: str) -> None:
    with pytest.raises(NoHead):
        head_of(text)


def test_values_of_an_entry() -> None:
    assert [_number(value) for value in (3, 0.5, "inf", "-inf")] == [3.0, 0.5, np.inf, -np.inf]
    with pytest.raises(TypeError, match=r"^no text$"):
        _text(7)
    score = {"value": 1, "interval": [0, 2], "better": "lower", "label": "MAE", "measured_in": "g"}
    assert _score(score) == Shown(1.0, (0.0, 2.0), "lower", "g", "MAE")
    with pytest.raises(ValueError, match=r"^no direction$"):
        _score(score | {"better": "sideways"})


def test_more_foreign_files_than_are_listed(held: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    (Path(held.root) / "b.json").write_text("{}")
    listed = Index(held, settled)
    assert [(entry.name, entry.foreign) for entry in listed.entries()] == [("b.json", True), ("sub/a.json", True)]
    monkeypatch.setattr(indexes, "MOST_FOREIGN", 1)
    assert [entry.name for entry in listed.entries()] == ["b.json"]


def test_what_was_wrong_with_a_file_is_remembered_of_known_ones(held: Folder) -> None:
    listed = Index(held, settled)
    listed.mark("sub/a.json", "cut off")  # nobody has listed it yet
    assert listed._known == {}
    listed.entries()
    listed.mark("sub/a.json", "cut off")
    assert [entry.problem for entry in listed.entries()] == ["cut off"]


def shown(value: float, interval: tuple[float, float] | None = None) -> Shown:
    return Shown(value, interval, "lower", "g", "MAE")


def test_a_score_without_an_interval_is_a_point() -> None:
    point = Point(0.0, shown(2.0), "", "run/1", "one")
    assert _mark(point, 10.0, lambda value: 5 * value, 3, 4) == (
        '<a href="run/1" tabindex="-1" class="c3"><title>one: 2</title><circle cx="10.0" cy="10.0" r="4"/></a>'
    )


def test_ticks_of_very_small_and_very_large_steps() -> None:
    assert tick_texts([-1e-9, 0.0, 1e-9]) == ["−1e−09", "0", "1e−09"]
    assert tick_texts([0.0, 2e9]) == ["0", "2e+09"]
    assert tick_texts([0.0, 0.5]) == ["0.0", "0.5"]


def test_strips_of_what_cannot_be_drawn() -> None:
    scale = Scale(0.0, 10.0)
    assert [strip(shown(value), used) for value, used in ((1.0, None), (np.inf, scale))] == ["", ""]
    drawn = strip(shown(5.0), scale)
    assert drawn.count("<line") == drawn.count('<line class="axis"') == drawn.count('<circle cx="80.0"') == 1


def data_of(values: dict[str, list[float]], names: str = "abc") -> Any:
    held = {spec: np.array(one) for spec, one in values.items()}
    return SimpleNamespace(
        units=np.array(list(names)), specs=list(held), values=held.__getitem__, report=SimpleNamespace(unit="dish")
    )


def test_units_by_their_change() -> None:
    a, b = data_of({"x": [np.nan] * 3, "y": [1.0, 2.0, 3.0]}), data_of({"x": [1.0] * 3, "y": [2.0, 5.0, np.nan]})
    c = data_of({"y": [7.0, 1.0, 2.0]})
    assert pages.Beside((), (a, b)).order() == ("y", [(1, 3.0), (0, 1.0)])
    assert pages.Beside((), (a, b, c)).order() == ("y", [(0, 6.0), (1, 4.0)])  # of three, the range of each unit
    assert pages.Beside((), (a, b), "x").order() == ("", [])
    assert pages.Beside((), (a, data_of({"x": [1.0] * 3}))).order() == ("", [])
    assert pages.Beside((), (a, data_of({"y": [1.0] * 3}, "abd"))).order() == ("", [])


def test_units_side_by_side_lead_to_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_unit_picture", lambda *given: "")
    monkeypatch.setattr(pages, "_unit_scores", lambda *given: "")
    site = Site("/t", None)  # type: ignore[arg-type]
    a, b = StoredRun("1", "a.json", 0.0, None), StoredRun("2", "b.json", 0.0, None)
    monkeypatch.setattr(pages, "has_threshold", lambda data: False)
    both = data_of({"y": [1.0, 2.0, 3.0]}), data_of({"y": [2.0, 5.0, np.nan]})

    def turns(unit: int) -> str:
        page = pages.beside_unit_page(site, pages.Beside((a, b), both), unit)
        return page.partition('<p class="turn">')[2].partition("</p>")[0]

    assert turns(0).endswith('<a href="/t/beside/1?run=1&amp;run=2" rel="prev">← more different</a>')
    assert turns(1).endswith('<a href="/t/beside/0?run=1&amp;run=2" rel="next">less different →</a>')
    assert turns(2) == ""


def test_a_unit_of_which_no_metric_makes_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    def scene(*given: Any) -> Any:
        raise InputError("no pairs")

    task = SimpleNamespace(scene=scene, view=lambda name: "", defaults=("mae", "bias"), name="weights")
    monkeypatch.setattr(units, "catalogue", SimpleNamespace(find_task=lambda name: task, parse=lambda *given: given))
    measured = SimpleNamespace(pairs=None)
    data: Any = SimpleNamespace(report=SimpleNamespace(task="weights", scores={}), measured=measured)
    assert units.unit_scene(data, 0) is None


def test_rows_of_sides_that_do_not_know_the_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    task = SimpleNamespace(truth=SimpleNamespace(key=("image",)))
    monkeypatch.setattr(units.catalogue, "find_task", lambda name: task)

    def side(columns: dict[str, Any]) -> Records:
        return Records("x.csv", {name: np.array(values) for name, values in columns.items()})

    measured = SimpleNamespace(
        pairs=None, truth=side({"image": ["a", "b"], "x": [1.0, 2.5]}), prediction=side({"other": ["a"]})
    )
    data: Any = SimpleNamespace(
        report=SimpleNamespace(task="t", listing=lambda: None), measured=measured, units=np.array(["b", "c"])
    )
    assert units.unit_rows(data, 0) == [units.UnitRows("Truth", ("x",), (("2.5",),), ("",))]
    assert units.unit_rows(data, 1) == []


def test_results_without_units_say_so(held: Folder) -> None:
    truth = {"dish": ["a", "b"], "weight": [1.0, 2.0]}
    compared = sy.compare("weights", truth, truth, truth, ["mae"], draws=100)
    runs = Runs(held)
    assert runs.data(StoredRun("1", "a.json", 0.0, compared)) == (None, "A comparison holds no units.")
    assert runs.data(StoredRun("1", "a.json", 0.0, None)) == (None, "A file holds no units.")


@pytest.mark.parametrize(
    "settings",
    [{}, {"cluster": "patient"}, {"strata": "patient"}, {"sequence": "exact"}],
    ids=["units", "clusters", "strata", "sequence"],
)
def test_two_runs_are_compared_as_they_were_resampled(held: Folder, settings: dict[str, Any]) -> None:
    """The comparison of two results whose data lie in the folder is that of `compare` with the same settings.

    Models are wrong in whole patients: as if rows were independent, the error of the difference would be far too small.
    """
    rng, root = np.random.default_rng(0), Path(held.root)
    label, patient = rng.integers(0, 2, 120), np.repeat(np.arange(12), 10)
    hard = np.isin(patient, [1, 4, 7, 8])
    wrong = hard | (rng.random(120) < 0.1), rng.random(120) < 0.1
    columns = {"truth": label, **{name: np.where(off, 1 - label, label) for name, off in zip("ab", wrong, strict=True)}}
    for name, values in columns.items():
        rows = "".join(f"{i},{value},p{own}\n" for i, (value, own) in enumerate(zip(values, patient, strict=True)))
        (root / f"{name}.csv").write_text(f"id,label,patient\n{rows}")
    truth, *sides = (str(root / f"{name}.csv") for name in columns)
    for name, side in zip("ab", sides, strict=True):
        report = sy.evaluate("labels", truth, side, ["accuracy"], draws=100, **settings)
        report.to_json(root / f"{name}.json")
    runs = Runs(held, settled)
    stored = [run for name in "ab" if (run := runs.get(run_id(f"{name}.json"))) is not None]
    shown = runs.comparison(*stored)["accuracy"]
    expected = sy.compare("labels", truth, *sides, ["accuracy"], draws=100, **settings)["accuracy"]
    assert (shown.difference, shown.se, shown.interval) == (expected.difference, expected.se, expected.interval)
    assert (shown.p, shown.p_method) == (expected.p, expected.p_method)


def test_two_runs_with_clusters_of_their_own_are_not_compared_by_rows(held: Folder) -> None:
    """One was resampled by patient, the other by row: only their own errors are left, as if they were independent."""
    root = Path(held.root)
    for name, labels in (("truth", "0101010101"), ("a", "0101010110"), ("b", "0101101001")):
        rows = "".join(f"{i},{label},p{i // 2}\n" for i, label in enumerate(labels))
        (root / f"{name}.csv").write_text(f"id,label,patient\n{rows}")
    errors = []
    for name, cluster in (("a", "patient"), ("b", None)):
        sides = str(root / "truth.csv"), str(root / f"{name}.csv")
        report = sy.evaluate("labels", *sides, ["accuracy"], cluster=cluster, draws=100)
        report.to_json(root / f"{name}.json")
        errors.append(report["accuracy"].se)
    runs = Runs(held, settled)
    stored = [run for name in "ab" if (run := runs.get(run_id(f"{name}.json"))) is not None]
    shown = runs.comparison(*stored)["accuracy"]
    assert shown.p_method == "intervals"
    assert shown.se == pytest.approx(np.hypot(*errors))


def test_data_that_may_not_be_read_again(held: Folder) -> None:
    def report(task: str) -> Any:
        return SimpleNamespace(task=task, request=SimpleNamespace(options={}))

    runs = Runs(held)
    assert outside(lambda: runs._options(report("of somebody"), "", [])) == "there is no task 'of somebody'"
    assert outside(lambda: runs._options(report("boxes"), "", ["a.XML"])) == "XML may look beside its file"
    assert runs._options(report("boxes"), "", ["a.json"]) == {}


def test_a_few_dozen_things_are_kept(held: Folder) -> None:
    runs, made = Runs(held), []
    for i in [*range(42), 41, 0]:
        runs.once((i,), lambda i=i: made.append(i) or i)
    assert made == [*range(42), 0]


def test_a_socket_is_refused() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask(kind: str) -> None:
        await Guard(None, "token", frozenset())({"type": kind}, None, send)  # type: ignore[arg-type]

    asyncio.run(ask("lifespan"))
    assert sent == []
    asyncio.run(ask("websocket"))
    assert sent == [{"type": "websocket.close", "code": 1008}]
    assert Entry("1", "a", 0.0).model == ""


TRUTH = {"dish": list("abc"), "weight": [10.0, 20.0, 30.0]}


GIVEN = {"dish": list("abc"), "weight": [11.0, 18.0, 33.0]}


def test_a_metric_that_one_run_of_a_board_lacks() -> None:
    full = sy.compare("weights", TRUTH, GIVEN, TRUTH, ["mae", "bias"], draws=100)
    less = sy.compare("weights", TRUTH, GIVEN, TRUTH, ["mae"], draws=100)
    runs = ["one", "two", "three"]
    held: Any = SimpleNamespace(comparisons=(full, less))
    rows = [server._block(runs, held, spec).partition("<tbody>")[2].count("<tr") for spec in ("mae", "bias")]
    assert rows == [3, 2]


def test_an_image_without_a_scene_is_shown_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("unit_steps", None), ("unit_scene", None), ("unit_rows", [])):
        monkeypatch.setattr(pages, name, lambda *given, value=value: value)
    site: Any = Site("/t", SimpleNamespace(of_unit=lambda *given: SimpleNamespace(kind=None)))  # type: ignore[arg-type]
    data: Any = SimpleNamespace(units=np.array(["a<b"]))
    run = StoredRun("1", "a.json", 0.0, None)
    assert pages._unit_picture(site, run, data, 0, None, "/here") == (
        '<img class="picture" src="/t/run/1/image/0" alt="a&lt;b">'
    )


def test_two_runs_without_units_have_no_page_of_both() -> None:
    run = StoredRun("1", "a.json", 0.0, None)
    runs: Any = SimpleNamespace(get=lambda name: run, data=lambda one: (None, "none"), index=None)
    with pytest.raises(viewing.Missing):
        viewing._View(runs)._beside(Request({"type": "http", "query_string": b"run=1&run=2", "headers": []}))


def reread(task: str, truth: Any, prediction: Any) -> Any:
    """A run whose data were read again."""
    report = sy.evaluate(task, truth, prediction, confidence=None)
    measured = SimpleNamespace(pairs=report.details.pairs, truth=None, prediction=None)
    return SimpleNamespace(report=report, measured=measured, units=report.units().units)


def test_the_only_row_of_a_unit_is_shown_column_by_column() -> None:
    truth = {"dish": ["a", "b"], "mass": [100.0, 50.0], "ingredients": [["rice", "oil"], ["soup"]], "site": ["n", "s"]}
    predicted = {"dish": ["a", "b"], "mass": [90.0, 60.5], "ingredients": [["rice"], ["soup"]]}
    cells = (("mass", "100", "90"), ("ingredients", "rice, oil", "rice"), ("site", "n", ""))
    rows = units.unit_rows(reread("nutrients", truth, predicted), 0)
    assert rows == [units.UnitRows("Values", ("", "truth", "prediction"), cells, ("",) * 3)]


def test_documents_of_a_query_are_listed_by_rank() -> None:
    truth = {"q": {"a": 1, "b": 0, "c": 2}, "p": {"a": 1}}
    run = {"q": {"b": 3.0, "c": 2.0, "d": 1.0}, "p": {"a": 1.0}}
    cells = (
        ("b", "0", "1", "found, not relevant"),
        ("c", "2", "2", "found"),
        ("a", "1", "", "not found"),
    )
    data = reread("rankings", truth, run)
    header = ("document", "relevance", "rank", "outcome")
    expected = [units.UnitRows("Judged documents", header, cells, ("",) * 3)]
    data.measured.truth = data.measured.prediction = SimpleNamespace(columns={})
    assert units.unit_rows(data, data.units.tolist().index("q")) == expected
