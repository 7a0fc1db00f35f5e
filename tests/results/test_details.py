"""What a result holds beside scores, and that a page can be drawn from it as well as from the data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy
from steelyard.core.figure import Figure, Listing, Texts
from steelyard.render.charts.registry import CHARTS
from steelyard.render.page.figures import SKETCHES, _Plane, sketch
from steelyard.results import details_json
from steelyard.results.details_json import EXACT_ROWS, pack, unpack

jsonschema = lazy("jsonschema")

TRUTH = {"dish": ["a", "a", "b", "c"], "item": ["x", "y", "x", "z"], "weight": [10.0, 20.0, 30.0, 40.0]}
PREDICTED = {**TRUTH, "weight": [12.0, 18.0, 33.0, 41.0]}


def test_packed_listing_comes_back() -> None:
    columns: dict[str, Any] = {
        "name": Texts.of(["b", "a", "b"]),
        "whole": np.array([-5.0, 1e6, 3.0]),
        "fraction": np.array([0.1, np.nan, -np.inf]),
        "flag": np.array([True, False, True]),
        "large": np.array([2**40, 0, 1]),
    }
    result = unpack(pack(Listing("rows", "All", columns, "name", "fraction")))
    assert (result.name, result.title, result.colour, result.x) == ("rows", "All", "name", "fraction")
    name, flag = result.columns["name"], result.columns["flag"]
    assert isinstance(name, Texts)
    assert isinstance(flag, Texts)
    assert [name.names[i] for i in name.codes] == ["b", "a", "b"]
    assert [flag.names[i] for i in flag.codes] == ["yes", "no", "yes"]
    for column in ("whole", "fraction", "large"):
        np.testing.assert_array_equal(result.columns[column], columns[column])


def test_long_listing_keeps_sixteen_bits() -> None:
    values = np.random.default_rng(0).uniform(-1e4, 1e4, EXACT_ROWS + 1)
    values[:2] = [np.nan, np.inf]
    result = unpack(pack(Listing("rows", "All", {"x": values}))).columns["x"]
    assert np.isnan(result[0])
    assert np.isinf(result[1])
    np.testing.assert_allclose(result[2:], values[2:], rtol=2**-16)


@pytest.mark.parametrize("text", ["", "%%%", "aGVsbG8=", pack(Listing("r", "R", {"x": np.arange(4)}))[:-8]])
def test_broken_listing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="packed listing"):
        unpack(text)


def test_page_of_a_result_is_the_page_of_the_data(tmp_path: Path) -> None:
    report = sy.evaluate("weights", TRUTH, PREDICTED, draws=100)
    report.to_json(tmp_path / "r.json", details=True)
    assert sy.load(tmp_path / "r.json").to_html() == report.to_html()
    assert sy.load(tmp_path / "r.json").to_dict(details=True) == report.to_dict(details=True)


def test_details_keep_to_the_schema() -> None:
    schema = json.loads((files("steelyard") / "results" / "schema" / "result-2.json").read_text())
    data = json.loads(sy.evaluate("weights", TRUTH, PREDICTED, draws=100).to_json(details=True))
    jsonschema.validate(data, schema)
    assert [figure["name"] for figure in data["details"]["figures"]] == ["agreement", "error_by_size", "bland_altman"]


def test_plain_result_makes_a_page_that_says_what_it_lacks(tmp_path: Path) -> None:
    sy.evaluate("weights", TRUTH, PREDICTED, draws=100).to_json(tmp_path / "r.json")
    report = sy.load(tmp_path / "r.json")
    assert "with details" in report.to_html()
    assert report["mae"].value == 2.0
    assert report.item == "item"


BROKEN = {
    "no file": (None, ["gone.json", "no such file"]),
    "no JSON": ("{", ["r.json", "not valid JSON"]),
    "another format": ('{"format": "other"}', ["other", "steelyard evaluate"]),
    "version 1": (
        '{"schema": "steelyard/report/1"}',
        ["a result of version 1", "reads version 2", "steelyard evaluate"],
    ),
    "no object": ("[]", ["where an object is expected"]),
    "half a report": (
        '{"format": "steelyard", "version": 2, "kind": "report", "body": {"scores": {}}}',
        ["'body.request' is missing"],
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_result_is_refused(case: str, steelyard: Callable[..., Any], tmp_path: Path) -> None:
    text, said = BROKEN[case]
    if text is not None:
        (tmp_path / "r.json").write_text(text)
    done = steelyard("report", "gone.json" if text is None else "r.json", "-o", "r.html")
    assert done.returncode == 2
    for part in said:
        assert part in done.stderr
    assert "Traceback" not in done.stderr


DETAILS = {
    "no details": (lambda d: d.update(tables=7), "details.tables is 7 where an array is expected"),
    "tables of no kind": (lambda d: d.update(tables=[1]), "'details.tables.0.' is broken"),
    "parts of nothing": (lambda d: d.update(parts=[None]), "1 parts of details for 0 results"),
    "half a figure": (lambda d: d["figures"][0].pop("columns"), "'columns' is missing"),
    "broken rows": (lambda d: d.update(rows="!"), "packed listing"),
    "broken units": (lambda d: d.update(units=pack(Listing("u", "U", {"x": np.arange(2)}))[:-9]), "packed listing"),
    "wrong facts": (lambda d: d["figures"][0].update(facts={}), "figure 'agreement' cannot be drawn"),
}


@pytest.mark.parametrize("case", DETAILS)
def test_broken_details_are_refused(case: str, tmp_path: Path) -> None:
    data = json.loads(sy.evaluate("weights", TRUTH, PREDICTED, draws=100).to_json(details=True))
    spoil, said = DETAILS[case]
    spoil(data["details"])
    (tmp_path / "r.json").write_text(json.dumps(data))
    with pytest.raises(sy.InputError, match=said.replace("'", ".")):
        sy.load(tmp_path / "r.json").to_html()


def test_a_packed_listing_that_swells_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = pack(Listing("r", "R", {"x": np.zeros(100_000)}))
    monkeypatch.setattr(details_json, "MOST_BYTES", 50_000)
    with pytest.raises(ValueError, match="packed listing cannot be read: it holds more than"):
        unpack(text)


def test_figures_for_papers(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    report = sy.evaluate("weights", TRUTH, PREDICTED, draws=100)
    report.to_json(tmp_path / "r.json", details=True)
    done = steelyard("report", "r.json", "--figures", "figures")
    assert done.returncode == 0, done.stderr
    heads = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    for name in ("agreement", "bland_altman", "error_by_size"):
        for ending, head in heads.items():
            assert (tmp_path / "figures" / f"{name}{ending}").read_bytes().startswith(head)


def test_without_the_chart_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from steelyard.render.charts import library
    from steelyard.render.page import figures, report

    for module in (figures, report):
        monkeypatch.setattr(module, "available", lambda: False)
    made = sy.evaluate("weights", TRUTH, PREDICTED, draws=100)
    page = made.to_html()
    assert "steelyard[report]" in page
    assert (
        page.count('<div class="sketch"><svg class="chart"') == 3
    )  # the cloud, Bland and Altman, the spread of errors
    assert "<details><summary>Table: Predicted against true" in page
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    library.vl_convert.cache_clear()
    try:
        with pytest.raises(sy.InputError, match=r"pip install 'steelyard\[report\]'"):
            made.write_figures(tmp_path)
    finally:
        library.vl_convert.cache_clear()


def test_more_classes_than_a_matrix_may_have(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = np.arange(10_200)
    guess = np.where(rng.random(len(names)) < 0.5, names, np.roll(names, 1))
    report = sy.evaluate(
        "labels", {"id": names, "label": names}, {"id": names, "label": guess}, ["accuracy"], draws=100
    )
    page = report.to_html()
    assert "of 10,200 classes has" in page
    assert 'id="data-table-classes"' in page
    assert len(page) < 1_500_000


def test_a_sketch_draws_the_line_that_its_caption_speaks_of() -> None:
    columns = {"name": ["mae", "rmse"], "value": [30.0, 10.0], "low": [20.0, 5.0], "high": [40.0, 15.0]}
    drawn = sketch(Figure("differences", "intervals", "Gain", columns, {"at": 0.0}))
    assert drawn.count('stroke-dasharray="3 3"') == 1
    assert "stroke-dasharray" not in sketch(Figure("differences", "intervals", "Gain", columns))


def test_sketches_of_points_draw_what_is_equal_and_the_limits() -> None:
    """The identity where both axes reach, from (2, 2) to (4, 4); of Bland and Altman's limits those on the axis."""
    points = {"x": [1.0, 4.0], "y": [2.0, 6.0]}
    drawn = sketch(Figure("agreement", "agreement", "A", points))
    plane = _Plane(Figure("agreement", "agreement", "A", points), np.array([1.0, 4.0]), np.array([2.0, 6.0]))
    (line,) = re.findall(r'stroke-dasharray="3 3" x1="(.*?)" y1="(.*?)" x2="(.*?)" y2="(.*?)"', drawn)
    assert [float(at) for at in line] == [round(at, 1) for at in (plane.x(2), plane.y(2), plane.x(4), plane.y(4))]
    limits = {"bias": 3.0, "low": 1.0, "high": 5.0}
    assert re.findall(r'"s-ink"( stroke-dasharray|)', sketch(Figure("b", "bland_altman", "B", points, limits))) == [
        "",
        " stroke-dasharray",
    ]  # the mean is solid, and the lower limit is off the axis
    assert "stroke-dasharray" not in sketch(Figure("p", "plane", "P", points))


def test_every_kind_of_chart_has_a_sketch() -> None:
    assert set(SKETCHES) == set(CHARTS)


def test_a_sketch_of_cells_is_darker_where_there_are_more() -> None:
    """Two cells of a grid: from (0, 0) to (1, 1) with one point, and from (1, 1) to (2, 2) with three."""
    columns = {"x": [0.0, 1.0], "x2": [1.0, 2.0], "y": [0.0, 1.0], "y2": [1.0, 2.0], "count": [1.0, 3.0]}
    figure = Figure("agreement", "agreement", "A", columns)
    plane, drawn = _Plane(figure, np.array([0.0, 2.0]), np.array([0.0, 2.0])), sketch(figure)
    cells = re.findall(r'fill-opacity="(.*?)" x="(.*?)" y="(.*?)" width="(.*?)" height="(.*?)"', drawn)
    size = (plane.x(1) - plane.x(0), plane.y(0) - plane.y(1))
    assert [[float(v) for v in cell] for cell in cells] == [
        pytest.approx([0.56, plane.x(0), plane.y(1), *size], abs=0.06),  # 0.12 + 0.88 log 2 / log 4
        pytest.approx([1.0, plane.x(1), plane.y(2), *size], abs=0.06),
    ]


def test_a_sketch_of_a_timeline_has_a_bar_per_stretch() -> None:
    columns = {"row": ["1", "1", "2"], "x": [0, 5, 0], "x2": [5, 10, 10], "series": ["a", "b", "missed"],
               "event": ["", "switch", ""]}  # fmt: skip
    drawn = sketch(Figure("timeline", "timeline", "T", columns, {"x": "frame"}))
    bars = re.findall(r'"f-c(\d)" fill-opacity="(.*?)" x="(.*?)" y="(.*?)" width="(.*?)"', drawn)
    assert [(colour, opacity) for colour, opacity, *_ in bars] == [("1", "0.9"), ("2", "0.9"), ("8", "0.25")]
    (x, width), (x2, width2), (x3, whole) = ((float(bar[2]), float(bar[4])) for bar in bars)
    assert width == pytest.approx(width2, abs=0.1)
    assert (x3, whole) == pytest.approx((x, 2 * width), abs=0.2)
    assert re.findall(r'"s-ink" stroke-width="2" x1="(.*?)"', drawn) == [f"{x2:.1f}"]


def test_a_sketch_of_traces_has_a_picture_per_panel() -> None:
    columns = {
        "panel": ["p", "p", "q<", "q<"],
        "series": ["true", "predicted"] * 2,
        "x": [0, 0, 0, 0],
        "y": [1, 2, 3, 4],
    }
    drawn = sketch(Figure("traces", "traces", "T", columns, {"x": "frame", "y": "weight"}))
    assert re.findall("<p>(.*?)</p>", drawn) == ["p", "q&lt;"]
    assert drawn.count('<svg class="chart"') == 2


def test_a_sketch_of_a_spread_draws_box_whisker_and_median() -> None:
    columns = {
        "low": [0.0, 10.0], "high": [10.0, 30.0], "count": [5.0, 5.0], "p10": [-4.0, -2.0], "p25": [-2.0, -1.0],
        "p50": [0.0, 1.0], "p75": [2.0, 3.0], "p90": [4.0, 6.0],
    }  # fmt: skip
    figure = Figure("error_by_size", "spread", "Error", columns, {"x": "true", "y": "error"})
    plane, drawn = _Plane(figure, np.array([0.0, 30.0]), np.array([-4.0, 6.0])), sketch(figure)
    whiskers = re.findall(
        r'"s-c1" stroke-width="1.5" x1="([0-9.]+)" y1="([0-9.]+)" x2="([0-9.]+)" y2="([0-9.]+)"', drawn
    )
    boxes = re.findall(
        r'"f-c1" fill-opacity="0.35" x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)"', drawn
    )
    medians = re.findall(r'"s-c2" stroke-width="2" x1="([0-9.]+)" y1="([0-9.]+)" x2="([0-9.]+)" y2="([0-9.]+)"', drawn)
    zero = re.findall(
        r'"s-soft" stroke-dasharray="3 3" x1="([0-9.]+)" y1="([0-9.]+)" x2="([0-9.]+)" y2="([0-9.]+)"', drawn
    )

    def shown(*values: float) -> tuple[str, ...]:
        return tuple(f"{value:.1f}" for value in values)

    edges = [(plane.x(0.0) + 0.5, plane.x(10.0) - 0.5), (plane.x(10.0) + 0.5, plane.x(30.0) - 0.5)]
    middles = [(a + b) / 2 for a, b in edges]
    assert whiskers == [
        shown(middles[0], plane.y(4.0), middles[0], plane.y(-4.0)),
        shown(middles[1], plane.y(6.0), middles[1], plane.y(-2.0)),
    ]
    assert boxes == [
        shown(edges[0][0], plane.y(2.0), edges[0][1] - edges[0][0], plane.y(-2.0) - plane.y(2.0)),
        shown(edges[1][0], plane.y(3.0), edges[1][1] - edges[1][0], plane.y(-1.0) - plane.y(3.0)),
    ]
    assert medians == [shown(a, plane.y(y), b, plane.y(y)) for (a, b), y in zip(edges, (0.0, 1.0), strict=True)]
    assert zero == [shown(plane.x(0.0), plane.y(0.0), plane.x(30.0), plane.y(0.0))]
