"""What a result holds beside scores, and that a page can be drawn from it as well as from the data."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.core.figure import Listing, Texts
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
    "parts of nothing": (lambda d: d.update(parts=[None]), "1 part of details for 0 results"),
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


def test_only_png_and_pdf_need_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    report = sy.evaluate("weights", TRUTH, PREDICTED, draws=100)
    page = report.to_html()
    assert page.count('<div class="drawn w540"><svg class="chart"') == 3
    assert "<details><summary>Table: Predicted against true" in page
    with refuses("E-not-installed", "vl-convert-python", "steelyard[report]"):
        report.write_figures(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(report.write_figures(tmp_path, formats="svg")) == 3


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
