"""Results, figures and tables as notebooks display them."""

from __future__ import annotations

import math
import pickle
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.core.table import Table

# Sorted by the score of "dog": 0.9 (dog), 0.7 (cat), 0.2 (dog), 0.1 (cat).
TRUTH = {"id": [1, 2, 3, 4], "label": ["cat", "dog", "cat", "dog"], "site": ["<a>", "<a>", "b", "b"]}
FOUND = {"id": [1, 2, 3, 4], "probability": {"cat": [0.9, 0.8, 0.3, 0.1], "dog": [0.1, 0.2, 0.7, 0.9]}}
ROC = [(0.0, 0.0), (0.0, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0)]


@pytest.fixture(scope="module")
def report() -> sy.Report:
    return sy.evaluate("labels", TRUTH, FOUND, ["accuracy", "f1(label=dog)"], by="site", draws=100)


def test_plot_draws_svg(report: sy.Report) -> None:
    drawing = report.plot("roc")
    html = drawing._repr_html_()
    assert html == str(drawing) == report.figure("roc")._repr_html_()
    assert '<svg viewBox="0 0 400 ' in str(report.plot("roc", width=400))
    for width in (100, 6000, math.nan):
        with refuses("E-out-of-range", "pixels"):
            report.plot("roc", width=width)
    assert re.findall("class=.*?>", html) == ['class="steelyard">']  # no style sheet is needed
    (path,) = re.findall(r'<path stroke="#0b6bb0" fill="none" d="(.*?)"', html)
    points = np.array([[float(v) for v in point.split(",")] for point in re.findall("[ML]([^ML]+)", path)])
    low, high = points.min(axis=0), points.max(axis=0)
    shares = (points - low) / (high - low)
    shares[:, 1] = 1 - shares[:, 1]  # SVG counts from the top
    assert shares == pytest.approx(np.array(ROC), abs=0.01)


def test_plot_draws_what_no_chart_library_draws() -> None:
    maps = {"image": ["1"], "map": [np.array([[0, 1], [1, 1]])]}
    report = sy.evaluate("segmentation", maps, maps, "miou", confidence=None)
    assert "data:image/png;base64," in report.plot("maps")._repr_html_()


def test_every_figure_that_is_written_can_be_plotted(report: sy.Report) -> None:
    assert "<svg" in str(report.plot("by_site"))
    comparison = sy.compare("labels", TRUTH, FOUND, TRUTH, "accuracy", draws=100)
    assert "Accuracy by model" in str(comparison.plot("scores_1"))
    with pytest.raises(KeyError, match=r"'rok'.*'roc'"):
        report.plot("rok")


def test_a_drawing_is_saved_and_has_svg_of_its_own(report: sy.Report, tmp_path: Path) -> None:
    drawing = report.plot("roc")
    svg = drawing._repr_svg_()
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg" ')
    assert "currentColor" not in svg  # outside of a page there is no such colour
    ElementTree.fromstring(svg)
    drawing.save(tmp_path / "roc.svg")
    assert (tmp_path / "roc.svg").read_text() == svg
    drawing.save(tmp_path / "roc.html")
    assert "<title>ROC" in (tmp_path / "roc.html").read_text()
    assert len(repr(drawing)) < 100
    assert len(repr(report.figure("roc"))) < 200
    curves = sy.evaluate("labels", TRUTH, TRUTH, "accuracy", confidence=None).plot("confusion")
    assert curves._repr_html_()


def test_slices_tables_and_units_are_frames(report: sy.Report) -> None:
    frame = report.slices.to_pandas()
    assert frame.columns[:4].tolist() == ["by", "slice", "metric", "value"]
    accuracy = frame[frame.metric == "accuracy"]
    assert accuracy.slice.tolist() == ["<a>", "b"]
    assert accuracy.value.tolist() == [0.5, 0.5]
    assert report.slices.to_polars().shape == (4, 9)
    assert pickle.loads(pickle.dumps(report)).slices.to_pandas().equals(frame)
    html = report.slices._repr_html_()
    assert "<details open><summary>By site</summary>" in html
    confusion = report.table("confusion").to_pandas()
    assert confusion.columns.tolist() == ["truth", "cat", "dog"]
    assert confusion[["cat", "dog"]].to_numpy().tolist() == [[1, 1], [1, 1]]  # one of two of each is found
    assert repr(report.table("confusion")).splitlines()[1].split() == ["truth", "cat", "dog"]
    units = report.units().to_polars()
    assert units.columns == ["unit", "accuracy", "f1(label=dog)"]
    assert units["accuracy"].to_list() == [1, 0, 0, 1]
    assert report.units()._repr_html_().count("<tr>") == 5
    comparison = sy.compare("labels", TRUTH, FOUND, TRUTH, "accuracy", by="site", draws=100)
    assert comparison.slices.to_pandas().difference.tolist() == [0.5, 0.5]
    assert sy.evaluate("labels", TRUTH, FOUND, "accuracy", confidence=None).slices.to_frame() == {
        name: [] for name in ("by", "slice", "metric", "value", "low", "high", "units", "undefined", "reason")
    }


def test_slices_are_in_the_html(report: sy.Report) -> None:
    html = report._repr_html_()
    assert html is not None
    details = re.findall("<details>.*?</details>", html)
    assert len(details) == 1
    assert "<summary>By site</summary>" in details[0]
    cells = [re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?>(.*?)</td>", details[0])]
    assert [cells[0], cells[1], cells[4], cells[5]] == ["&lt;a&gt;", "2", "b", "2"]
    assert [cells[2].split()[0], cells[6].split()[0]] == ["0.500", "0.500"]  # one of two is right in each
    plain = sy.evaluate("labels", TRUTH, FOUND, "accuracy", confidence=None)
    assert "<details>" not in str(plain._repr_html_())


def test_slices_of_a_comparison_have_verdicts() -> None:
    html = sy.compare("labels", TRUTH, FOUND, TRUTH, "accuracy", by="site", draws=100)._repr_html_()
    assert html is not None
    assert re.sub("<.*?>", "", html.partition("<summary>By site</summary>")[2]).count("+0.5") == 2


def test_a_table_is_html_and_a_long_one_is_cut() -> None:
    table = Table("t", "a <title>", "class", ("x<1>", "y"), ("n", "share"), np.array([[1.0, 0.5], [2.0, np.nan]]))
    html = table._repr_html_()
    assert "a &lt;title&gt;" in html
    assert [re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?</td>", html)] == [
        *("x&lt;1&gt;", "1", "0.5000"),
        *("y", "2", "–"),
    ]
    names = tuple(f"class {i}" for i in range(100))
    long = Table("t", "Classes", "class", names, ("n",), np.ones((100, 1)))._repr_html_()
    assert long.count("<tr>") == 61  # the head, and 60 rows
    assert "40 more rows" in long


def test_a_gallery_shows_the_worst_units(tmp_path: Path) -> None:
    """Of four boxes on four images, one is missed and one is somewhere else."""
    images = [1, 2, 3, 4]
    truth = {"image": images, "label": ["a"] * 4, "x": [10] * 4, "y": [10] * 4, "w": [20] * 4, "h": [20] * 4}
    detected = {"image": [1, 2, 3], "label": ["a"] * 3, "x": [10, 10, 60], "y": [10] * 3, "w": [20] * 3, "h": [20] * 3}
    detected["score"] = [0.9] * 3
    report = sy.evaluate("boxes", truth, detected, "map50", confidence=None)
    drawing = report.gallery(2)
    html = drawing._repr_html_()
    assert sorted(re.findall("<figcaption>(.*?)<small>", html)) == ["3", "4"]
    assert "0 TP, 1 FP, 1 FN" in html
    assert drawing._repr_svg_() is None
    drawing.save(tmp_path / "g.html")
    assert html in (tmp_path / "g.html").read_text()
    with refuses("E-unsupported", "g.svg"):
        drawing.save(tmp_path / "g.svg")
    with refuses("E-out-of-range", "0"):
        report.gallery(0)
    stored = sy.load(report.to_dict(details=True))
    assert isinstance(stored, sy.Report)
    assert stored.gallery(2)._repr_html_() == html
    comparison = sy.compare("boxes", truth, {**truth, "score": [0.9] * 4}, detected, "map50", draws=100)
    both = comparison.gallery(1)._repr_html_()
    assert both.count('<figure class="shot swipe"') == 1
    assert both != comparison.gallery(2)._repr_html_()
    with refuses("E-unsupported", "labels"):
        sy.evaluate("labels", TRUTH, FOUND, "accuracy", confidence=None).gallery()
