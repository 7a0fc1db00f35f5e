"""Columns in files of their own, slices of truth and proxy, and evidence by class: whole results by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refused_parts

from steelyard.api import evaluate
from steelyard.core import catalogue
from steelyard.core.figure import Figure
from steelyard.core.records import sounds_like_a_group
from steelyard.core.request import Request
from steelyard.engine.details import LazyDetails, _without, class_figure, with_intervals
from steelyard.engine.groups import _texts, by_unit
from steelyard.engine.judged import evaluate_judged
from steelyard.engine.proxy import proxy_scores
from steelyard.engine.run import check_asked, measure_sides
from steelyard.engine.score import score
from steelyard.engine.slices import paired_slices, slices, text_of
from steelyard.results.score import Score

WEIGHTS, LABELS = catalogue.find_task("weights"), catalogue.find_task("labels")
MAE = [catalogue.parse("mae", "weights")]
IDS = [f"d{i}" for i in range(8)]
TRUTH = {"dish": IDS, "weight": [10.0, 20, 30, 40, 50, 60, 70, 80]}
FOUND = {"dish": IDS, "weight": [11.0, 22, 33, 44, 55, 66, 77, 88]}


def beside(folder: Path, rows: list[str], head: str = "dish,site") -> str:
    path = folder / "sites.csv"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return f"site@{path}"


def test_slices_by_a_file_beside(tmp_path: Path) -> None:
    """Errors of a tenth of the weight: of the first four dishes 2.5 on average, of the others 6.5."""
    name = beside(tmp_path, [f"{one},{'n' if i < 4 else 's'}" for i, one in enumerate(IDS)])
    report = evaluate("weights", TRUTH, FOUND, "mae", by=[name], confidence=None)
    assert {part: scores["mae"].value for part, scores in report.slices[name].items()} == {
        "n": pytest.approx(2.5), "s": pytest.approx(6.5),
    }  # fmt: skip
    request = Request.of("weights", "mae", {"confidence": None})
    data = measure_sides(WEIGHTS, request, {**TRUTH, "size": list("abababab")}, FOUND)
    crossed = slices(data.pairs, data.state, ["size", name], lambda pairs: data.state, WEIGHTS)
    assert {part: state.units.ids.tolist() for part, state in crossed.items()} == {
        ("a", "n"): ["d0", "d2"], ("a", "s"): ["d4", "d6"], ("b", "n"): ["d1", "d3"], ("b", "s"): ["d5", "d7"],
    }  # fmt: skip
    both = paired_slices([(data.pairs, data.state)] * 2, [name], lambda pairs: data.state, WEIGHTS)
    assert {part: [len(one) for one in states] for part, states in both.items()} == {("n",): [4, 4], ("s",): [4, 4]}
    assert (
        refused_parts(slices, data.pairs, data.state, [name], None)[0]
        == f"column '{name}' is missing, which `by` names"
    )


@pytest.mark.parametrize(
    ("rows", "head", "said", "remedy"),
    [
        (["d0,n"], "dish,sight", "column 'site' is missing, which `by` names", "Did you mean 'sight'?"),
        (["d0,n"], "plate,site", "no column has the id of each dish", "Call it dish or dish_id or meal."),
        (
            ["d0,n", "d1,n", *(f"d{i},s" for i in range(3, 7))], "dish,site",
            "dish 'd2' has no row, which `by` needs (2 have none: 'd2', 'd7')", "Give every dish of the truth a row with its id.",
        ),
    ],
)  # fmt: skip
def test_files_beside_that_are_refused(tmp_path: Path, rows: list[str], head: str, said: str, remedy: str) -> None:
    name = beside(tmp_path, rows, head)
    file = name.partition("@")[2]
    assert refused_parts(evaluate, "weights", TRUTH, FOUND, "mae", by=[name], confidence=None) == (said, file, remedy)


def test_clusters_and_strata_by_a_file_beside(tmp_path: Path) -> None:
    name = beside(tmp_path, [f"{one},{'n' if i < 4 else 's'}" for i, one in enumerate(IDS)])
    for option in ("cluster", "strata"):
        data = measure_sides(WEIGHTS, Request.of("weights", "mae", {option: name, "draws": 100}), TRUTH, FOUND)
        groups = data.state.units.cluster if option == "cluster" else data.state.units.stratum
        assert groups is not None
        assert groups.tolist() == ["n"] * 4 + ["s"] * 4
    empty = beside(tmp_path, [f"{one},{'n' if i < 6 else ''}" for i, one in enumerate(IDS)])
    for option in ("cluster", "strata"):
        assert refused_parts(evaluate, "weights", TRUTH, FOUND, "mae", **{option: empty}) == (
            f"dish 'd6' has no value in column 'site', which `{option}` names (2 are so: 'd6', 'd7')", empty.partition("@")[2],
            "Give every dish one; a dish that stands alone takes its own id.",
        )  # fmt: skip
    lacking = beside(tmp_path, [f"{one},n" for one in IDS[:-1]])
    assert (
        refused_parts(evaluate, "weights", TRUTH, FOUND, "mae", cluster=lacking)[0]
        == "dish 'd7' has no row, which `cluster` needs"
    )


def test_texts_of_cells() -> None:
    assert [text_of(one) for one in (None, math.nan, 3.0, 3.5, 7, " a ", "")] == ["", "", "3", "3.5", "7", "a", ""]
    assert _texts(np.array([3, 4])) == ["3", "4"]
    assert _texts(np.array([3, 4], dtype=np.uint8)) == ["3", "4"]
    assert _texts(np.array([3.0, math.nan])) == ["3", ""]
    named = {
        name: sounds_like_a_group(name)
        for name in ("Video_ID", "patient-name", "site", "sites", "video_site", "id", "subject_id_name")
    }
    assert [name for name, sounds in named.items() if sounds] == ["Video_ID", "patient-name", "site", "subject_id_name"]


def test_units_are_listed_where_they_must_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Counted labels are listed for clusters, strata, proxies and files beside, and for nothing else."""
    monkeypatch.setattr(import_module("steelyard.tasks.labels.data"), "DISTINCT_FROM", 4)
    rows = {"id": IDS, "label": list("abababab"), "site": list("nnnnssss")}
    plain = measure_sides(
        LABELS, Request.of("labels", "accuracy", {}), rows, {name: rows[name] for name in ("id", "label")}
    )
    assert plain.state.units.deduplicated
    name = beside(tmp_path, [f"{one},n" for one in IDS], "id,site")
    for asked, counted in (({}, True), ({"by": ("site",)}, True), ({"by": (name,)}, False), ({"cluster": "site"}, False),
                           ({"strata": "site"}, False), ({"by": (("site", name),)}, False)):  # fmt: skip
        request = Request.of("labels", "accuracy", asked)
        assert (by_unit(request, plain.pairs).distinct_units is not None) is counted, asked
    assert by_unit(replace(Request.of("labels", "accuracy", {}), proxy="judge"), plain.pairs).distinct_units is None


def test_units_that_are_counted_are_listed_for_their_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("steelyard.tasks.labels.data"), "DISTINCT_FROM", 4)
    rows = {"id": IDS, "label": list("abababab")}
    data = measure_sides(LABELS, Request.of("labels", "accuracy", {}), rows, {"id": IDS, "label": list("aaaaaaaa")})
    assert data.state.units.deduplicated
    table = LazyDetails(LABELS, data.pairs, data.state, data.metrics).units()
    assert (table.unit, table.units.tolist(), list(table.values)) == ("unit", IDS, ["accuracy"])
    assert table.values["accuracy"].tolist() == [1, 0] * 4


def test_metrics_of_truth_and_proxy_by_default() -> None:
    """They are those of the data at hand: of labels with scores other ones than of labels alone."""
    truth, judge = {"id": IDS[:4], "label": list("abab")}, {"id": IDS, "label": list("abababab")}
    scored = {"id": IDS, "score:a": np.linspace(0, 1, 8), "score:b": np.linspace(1, 0, 8)}
    shown = []
    for predictions in ({"id": IDS, "label": list("aabbaabb")}, scored):
        report = evaluate_judged(
            Request.of("labels", None, {"confidence": None}),
            truth,
            predictions,
            judge,
            "difference",
            lambda data, task: (),
        )
        plain = measure_sides(LABELS, Request.of("labels", None, {"extra": "skip"}), truth, predictions)
        assert list(report.scores) == [str(metric) for metric in plain.metrics]
        shown.append(list(report.scores))
    assert shown[0] != shown[1]


def test_slices_of_truth_and_proxy() -> None:
    """Slice n has truth on two of four dishes, slice s on all of its three, and u on none."""
    sites = list("nnnnsss") + ["u"]
    some = [0, 2, 4, 5, 6]
    truth = {
        "dish": [IDS[i] for i in some],
        "weight": [TRUTH["weight"][i] for i in some],
        "site": [sites[i] for i in some],
    }
    cheap = {"dish": IDS, "weight": [9.0, 21, 28, 43, 50, 62, 70, 81], "site": sites}
    request = Request.of("weights", "mae", {"draws": 100, "by": ["site"]})
    report = evaluate_judged(request, truth, FOUND, cheap, "difference", lambda data, task: ())
    used = replace(request, proxy="in memory")
    labelled = measure_sides(WEIGHTS, replace(used, extra="skip"), truth, FOUND)
    every = measure_sides(WEIGHTS, used, cheap, FOUND)
    own = labelled.state.take(np.array([0, 1]))
    assert report.slices["site"]["n"] == proxy_scores(
        own, every.state.take(np.array([0, 2])), every.state.take(np.array([1, 3])), MAE, used
    )
    assert report.slices["site"]["s"] == score(labelled.state.take(np.array([2, 3, 4])), MAE, used)
    assert list(report.slices["site"]) == ["n", "s"]
    assert report.notes[-1] == "No dish of site 'u' has truth."
    other = {**cheap, "site": ["s", *sites[1:]]}
    assert refused_parts(evaluate_judged, request, truth, FOUND, other, "difference", lambda data, task: ()) == (
        "dish 'd0' of truth lies in slice 'n', and in another one by the proxy", "truth", "Give both the same columns to slice by.",
    )  # fmt: skip


def test_slices_of_truth_and_proxy_inside_dishes() -> None:
    """The food differs inside a dish: each slice is measured again, on both sides."""
    keys = {"dish": np.repeat(IDS[:4], 2), "item": [1, 2] * 4}
    foods = ["rice", "egg"] * 4
    weights, predicted = np.arange(8) * 10.0 + 10, np.arange(8) * 11.0 + 10
    cheap = {**keys, "weight": weights + 1, "food": foods}
    truth = {name: list(values)[:4] for name, values in {**keys, "weight": weights, "food": foods}.items()}
    request = Request.of("weights", "mae", {"draws": 100, "by": ["food"]})
    report = evaluate_judged(request, truth, {**keys, "weight": predicted}, cheap, "difference", lambda data, task: ())
    rice = report.slices["food"]["rice"]["mae"].few_labels
    assert rice is not None
    # Rice stands at 0, 2, 4 and 6: errors of 0 and 2 by the truth; |4 - 1| and |6 - 1| of the rest by the proxy.
    assert (rice.labels_alone, rice.proxy_alone, rice.others) == (pytest.approx(1), pytest.approx(4), 2)


def test_clusters_of_truth_and_proxy() -> None:
    def data(own: list[str], judged: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        truth = {"dish": IDS[:4], "weight": TRUTH["weight"][:4], "cook": own}
        return truth, {"dish": IDS, "weight": TRUTH["weight"], "cook": judged}

    request = Request.of("weights", "mae", {"draws": 100, "cluster": "cook"})

    def run(truth: Any, cheap: Any) -> Any:
        return evaluate_judged(request, truth, FOUND, cheap, "difference", lambda data, task: ())

    assert run(*data(list("ppqq"), list("ppqqrrss")))["mae"].few_labels.others == 4
    assert refused_parts(run, *data(list("ppqq"), list("pqqqrrss"))) == (
        "dish 'd1' is of cook 'p' by the truth, and of 'q' by the proxy", "truth", "Give both the same column.",
    )  # fmt: skip
    remedy = "Give all units of a cook their truth or none, or resample single units."
    assert refused_parts(run, *data(list("ppqq"), list("ppqqprrr"))) == (
        "cook 'p' has both units with truth and units without", "truth", remedy,
    )  # fmt: skip
    assert refused_parts(run, *data(list("ppqq"), list("ppqqpqrr"))) == (
        "cook 'p' has both units with truth and units without (2 are so: 'p', 'q')", "truth", remedy,
    )  # fmt: skip
    for asked, said in (
        ({"cluster": "cook"}, ("`judge_correction='rates'` cannot be combined with `cluster`: they count single units", "",
                               "Leave one of them out.")),
        ({"by": ["cook"]}, ("`judge_correction='rates'` cannot be combined with `by`: slices have too few labels of both kinds", "",
                            "Leave one of them out.")),
    ):  # fmt: skip
        rates = Request.of("weights", "mae", {"draws": 100, **asked})
        assert (
            refused_parts(
                evaluate_judged, rates, *data(list("ppqq"), list("ppqqrrss")), {}, "rates", lambda data, task: ()
            )
            == said
        )


def made(name: str, value: float, interval: tuple[float, float] | None = None, better: str = "higher") -> Score:
    return Score(name, f"F1 of '{name}'", value, interval, better=better)


def test_scores_by_class() -> None:
    scores = {"b": made("b", 0.5, (0.4, 0.6)), "a": made("a", 0.25), "c": made("c", math.nan)}
    figure = class_figure(scores, 3)
    assert (figure.name, figure.chart, figure.title) == ("by_class", "bars", "F1 by class")
    assert figure.columns == {"name": ["a", "b"], "value": [0.25, 0.5]}
    assert (figure.facts, figure.caption) == ({"x": "F1"}, "The worst first.")
    table = figure.table
    assert table is not None
    assert (table.name, table.title, table.corner, table.rows, table.columns) == (
        "by_class", "F1 by class", "class", ("a", "b"), ("F1", "low", "high"),
    )  # fmt: skip
    np.testing.assert_array_equal(table.values, [[0.25, math.nan, math.nan], [0.5, 0.4, 0.6]])
    low = {name: made(name, value, better="lower") for name, value in (("a", 0.25), ("b", 0.5))}
    assert class_figure(low, 5).columns["name"] == ["b", "a"]
    assert class_figure(low, 1500).caption == "The 2 of 1,500 classes with the most data. The worst first."
    assert class_figure({}, 0).title == "score by class"
    many = {str(k): made(str(k), k / 100) for k in range(30)}
    assert class_figure(many, 30).caption == "The worst first. The worst 12 and the best 12 of 30; the table has all."
    assert class_figure(many, 30).columns["name"] == [str(k) for k in (*range(12), *range(18, 30))]


def test_labels_without_their_class() -> None:
    named = [
        ("IoU: road", "road"),
        ("F1 of 'cat'", "cat"),
        ("AP (cat)", "cat"),
        ("cat", "cat"),
        ("Dice", "cat"),
        ("a, b of a", "a"),
    ]
    assert [_without(label, name) for label, name in named] == ["IoU", "F1", "AP", "cat", "Dice", "a, b"]


def test_intervals_on_bars() -> None:
    figure = Figure(
        "iou_class",
        "bars",
        "IoU",
        {"name": ["a", "b", "c", 4], "value": [0.25, 0.5, 0.75, 1.0]},
        {},
        "The worst first.",
    )
    scores = {
        "a": made("a", 0.25, (0.2, 0.3)),
        "b": made("b", 0.6, (0.5, 0.7)),
        "c": made("c", 0.75),
        "4": made("4", 1, (0.9, 1.0)),
    }
    shown = with_intervals(figure, scores)
    np.testing.assert_array_equal(shown.columns["low"], [0.2, math.nan, math.nan, 0.9])
    np.testing.assert_array_equal(shown.columns["high"], [0.3, math.nan, math.nan, 1.0])
    assert list(shown.columns) == ["name", "value", "low", "high"]
    assert shown.caption == "The worst first. The line on a bar is its interval."
    assert with_intervals(replace(figure, caption=""), scores).caption == "The line on a bar is its interval."
    assert with_intervals(figure, {}) is figure
    assert with_intervals(figure, {"c": scores["c"]}) is figure
    near = {"a": made("a", 0.25 * (1 + 1e-10), (0.2, 0.3))}
    assert with_intervals(figure, near) is not figure


def test_figures_of_classes_carry_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that draws its classes has intervals on its bars; one that does not gets a figure of them."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, (12, 4, 4))
    predicted = np.where(rng.random(truth.shape) < 0.8, truth, 1 - truth)
    report = evaluate("segmentation", truth, predicted, ["miou"], draws=100)
    bars = report.figure("iou_class")
    assert list(bars.columns) == ["name", "value", "low", "high"]
    assert bars.caption == "The worst first. The line on a bar is its interval."
    assert "by_class" not in report.figures
    plain = evaluate("segmentation", truth, predicted, ["miou"], confidence=None).figure("iou_class")
    assert list(plain.columns) == ["name", "value"]
    assert "low" not in report.figure("confusion").columns
    monkeypatch.setattr("steelyard.engine.details.MOST_CELLS", 23)
    assert list(evaluate("segmentation", truth, predicted, ["miou"], draws=100).figure("iou_class").columns) == [
        "name",
        "value",
    ]
    monkeypatch.setattr("steelyard.engine.details.MOST_CELLS", 24)
    assert "low" in evaluate("segmentation", truth, predicted, ["miou"], draws=100).figure("iou_class").columns


def test_evidence_without_a_request_has_no_intervals() -> None:
    truth = np.array([[[0, 1]], [[1, 0]]])
    request = Request.of("segmentation", "miou", {"draws": 100})
    data = measure_sides(catalogue.find_task("segmentation"), request, truth, truth)
    task = catalogue.find_task("segmentation")
    assert LazyDetails(task, data.pairs, data.state, data.metrics)._class_metrics == {}
    assert LazyDetails(task, None, data.state, data.metrics, request)._class_metrics == {}
    assert list(LazyDetails(task, data.pairs, data.state, data.metrics, request)._class_metrics) == ["0", "1"]
    one = replace(request, confidence=None)
    assert LazyDetails(task, data.pairs, data.state, data.metrics, one)._class_scores == {}


def test_tools_that_a_task_does_not_have() -> None:
    request = Request.of("weights", "mae", {"explain": ["sklearn"]})
    what, _, remedy = refused_parts(check_asked, WEIGHTS, request)
    assert what == "task 'weights' has no other tools to explain"
    have = [name for name, task in catalogue.loaded_tasks()[0].items() if task.explain is not None]
    assert "weights" not in have
    assert remedy == f"Tasks that have: {', '.join(have)}."
    check_asked(catalogue.find_task("panoptic"), Request.of("panoptic", "pq", {"explain": ["hotcoco"]}))
    check_asked(WEIGHTS, Request.of("weights", "mae", {}))
