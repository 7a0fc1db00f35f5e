"""Results, figures and tables as notebooks display them."""

from __future__ import annotations

import math
import re

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
