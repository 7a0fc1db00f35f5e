"""Charts drawn by hand: shapes lie where the labels of the axes say, series differ, and nothing breaks a drawing."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from steelyard.core.figure import Figure
from steelyard.render.charts.draw import (
    BROAD_WIDTHS,
    CHARTS,
    WIDTHS,
    chart_svg,
    page_charts,
    short_text,
    span_of,
    texts_alike,
)
from steelyard.render.charts.layout import places_with_room, text_width, tick_texts, ticks, wrap_text
from steelyard.render.charts.theme import ADAPTING, PALETTE, with_colours

AXES = {"x": "across", "y": "up"}


class Svg:
    """A drawing as a reader sees it: shapes, words, and numbers read off the labels of its axes."""

    def __init__(self, chart: str, columns: dict[str, Any], facts: dict[str, Any] | None = None, width: float = 540):
        self.root = ElementTree.fromstring(chart_svg(Figure("f", chart, "T", columns, AXES | (facts or {})), width))
        self.parents = {child: parent for parent in self.root.iter() for child in parent}

    def all(self, tag: str, kind: str = "") -> list[ElementTree.Element]:
        return [e for e in self.root.iter(tag) if kind in (e.get("class") or "").split() or not kind]

    @property
    def texts(self) -> list[str]:
        return [e.text or "" for e in self.all("text")]

    @property
    def tips(self) -> list[str]:
        return [e.text or "" for e in self.all("title")]

    def scale(self, side: str) -> Any:
        """From pixels to numbers, by the first and the last label of an axis."""
        anchor = {"x": "middle", "y": "end"}[side]
        marks = []
        for text in self.all("text"):
            if (text.get("class"), text.get("text-anchor")) == ("f-soft", anchor) and re.fullmatch(
                r"−?[\d,.]+", text.text or ""
            ):
                value = float((text.text or "").replace("−", "-").replace(",", ""))
                marks.append((float(text.get(side, "nan")) - (4 if side == "y" else 0), value))
        (p0, v0), (p1, v1) = marks[0], marks[-1]
        return lambda pixel: v0 + (float(pixel) - p0) * (v1 - v0) / (p1 - p0)

    def points(self, path: ElementTree.Element) -> list[tuple[float, float]]:
        """The corners of a path of straight lines, in numbers."""
        x, y, corners, at = self.scale("x"), self.scale("y"), [], ["", ""]
        for letter, numbers in re.findall("([MLVH])([-\\d.,]+)", path.get("d", "")):
            at = [at[0], numbers] if letter == "V" else [numbers, at[1]] if letter == "H" else numbers.split(",")
            corners.append((x(at[0]), y(at[1])))
        return corners

    def line(self, element: ElementTree.Element) -> tuple[float, ...]:
        x, y = self.scale("x"), self.scale("y")
        return tuple(read(element.get(name)) for name, read in (("x1", x), ("y1", y), ("x2", x), ("y2", y)))

    def box(self, rect: ElementTree.Element) -> tuple[float, ...]:
        """Left, bottom, right and top of a rectangle, in numbers."""
        left, top, wide, high = (float(rect.get(name, "nan")) for name in ("x", "y", "width", "height"))
        x, y = self.scale("x"), self.scale("y")
        return x(left), y(top + high), x(left + wide), y(top)


def near(*values: float, abs: float = 0.01) -> Any:
    return pytest.approx(values, rel=0.0, abs=abs)


def dashed(svg: Svg) -> list[ElementTree.Element]:
    return [line for line in svg.all("line") if line.get("stroke-dasharray")]


def test_a_curve_lies_at_the_labels_of_its_axes() -> None:
    roc = [(0.0, 0.0), (0.0, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0)]
    columns = {"x": [x for x, _ in roc], "y": [y for _, y in roc]}
    svg = Svg("curves", columns, {"unit": True, "diagonal": True})
    (path,) = svg.all("path", "s-c1")
    assert svg.points(path) == [near(*point) for point in roc]
    assert [svg.line(line) for line in dashed(svg)] == [near(0, 0, 1, 1)]
    assert svg.tips[-1] == "across: 1\nup: 1"
    stairs = Svg("curves", {"x": [0.0, 1.0], "y": [1.0, 0.4]}, {"unit": True, "steps": True})
    assert stairs.points(stairs.all("path", "s-c1")[0]) == [near(0, 1), near(0, 0.4), near(1, 0.4)]


def test_series_differ_by_colour_and_by_dash() -> None:
    names = [name for name in ("base", "ours", "third") for _ in range(2)]
    svg = Svg("curves", {"x": [0, 1] * 3, "y": [0, 1, 0, 2, 0, 3], "series": names})
    paths = [path for path in svg.all("path") if "stroke-width" in path.attrib]
    assert [path.get("class") for path in paths] == ["s-c1", "s-c2", "s-c3"]
    assert len({path.get("stroke-dasharray") for path in paths}) == 3
    legend = [line.get("stroke-dasharray") for line in svg.all("line")]
    assert legend == [path.get("stroke-dasharray") for path in paths]
    assert {"base", "ours", "third"} <= set(svg.texts)
    many = Svg("curves", {"x": [0, 1] * 20, "y": [0, 1] * 20, "series": [f"m{i // 2}" for i in range(40)]})
    looks = [(p.get("class"), p.get("stroke-dasharray")) for p in many.all("path") if "stroke-width" in p.attrib]
    assert len(set(looks)) == 20


def test_a_band_goes_up_along_the_high_ends_and_back_along_the_low_ones() -> None:
    columns = {"x": [0, 1, 2], "y": [2, 4, 6], "low": [1, 3, 5], "high": [4, 6, 8]}
    svg = Svg("curves", columns)
    (band,) = svg.all("path", "f-c1")
    corners = [(0, 4), (1, 6), (2, 8), (2, 5), (1, 3), (0, 1)]
    assert svg.points(band) == [near(*corner, abs=0.05) for corner in corners]


def test_a_line_is_broken_where_a_number_is_undefined() -> None:
    svg = Svg("curves", {"x": [0, 1, 2, 3], "y": [0.0, 1.0, math.nan, 3.0]})
    assert svg.all("path", "s-c1")[0].get("d", "").count("M") == 2
    assert len(svg.all("circle")) == 3


def test_marks_of_a_logarithmic_axis_are_equally_far_apart() -> None:
    svg = Svg("curves", {"x": [1, 10, 100], "y": [0, 1, 2]}, {"ticks": [1, 10, 100]})
    at = [float(t.get("x", "nan")) for t in svg.all("text", "f-soft") if t.get("text-anchor") == "middle"]
    assert at[1] - at[0] == pytest.approx(at[2] - at[1], abs=0.2)


def test_intervals_have_lines_points_and_the_line_to_compare_with() -> None:
    rows = {"name": ["m", "m", "n", "n"], "value": [1.0, 2, 3, math.nan], "low": [0.0, 1, 2, 0], "high": [2.0, 3, 4, 0]}
    svg = Svg("intervals", {**rows, "series": ["base", "ours"] * 2}, {"at": 1.5})
    x = svg.scale("x")
    lines = [line for line in svg.all("line") if line.get("stroke-width") == "2"]
    assert [line.get("class") for line in lines] == ["s-c1", "s-c2", "s-c1"]
    ends = [(x(line.get("x1")), x(line.get("x2"))) for line in lines]
    assert ends == [near(0, 2), near(1, 3), near(2, 4)]
    assert [x(line.get("x1")) for line in dashed(svg)] == near(1.5)
    points = [path for path in svg.all("path") if path.find("title") is not None]
    places = [x(re.findall(r"translate\((\S+)", path.get("transform", ""))[0]) for path in points]
    assert places == near(1, 2, 3)
    assert [path.get("class") for path in points] == ["f-c1", "f-c2", "f-c1"]
    assert points[0].get("d") != points[1].get("d") == svg.all("path", "f-c2")[0].get("d")
    assert svg.tips == ["m\nbase\n1 (0 to 2)", "m\nours\n2 (1 to 3)", "n\nbase\n3 (2 to 4)"]
    assert dashed(Svg("intervals", rows)) == []


def test_points_of_many_models_stay_in_their_rows() -> None:
    names, models = [f"slice {i}" for i in range(60) for _ in range(5)], [f"model {i}" for i in range(5)] * 60
    svg = Svg("intervals", {"name": names, "series": models, **dict.fromkeys(("value", "low", "high"), [1.0] * 300)})
    points = [path.get("transform", "") for path in svg.all("path") if path.find("title") is not None]
    heights = [float(re.findall(r"translate\(\S+ (\S+)\)", place)[0]) for place in points]
    assert len(heights) == 300
    assert heights == sorted(heights)
    assert float(svg.root.get("height", 0)) < 1750


def test_verdicts_have_their_own_colours_and_shapes() -> None:
    rows = {
        "name": ["a", "b"],
        "value": [1.0, -1],
        "low": [0.5, -2],
        "high": [2.0, -0.5],
        "series": ["worse", "better"],
    }
    points = [path for path in Svg("intervals", rows).all("path") if path.find("title") is not None]
    other = [path for path in Svg("intervals", {**rows, "series": ["better", "worse"]}).all("path") if len(path)]
    assert [path.get("class") for path in points] == ["f-c2", "f-c3"]
    assert [(p.get("class"), p.get("d")) for p in points] == [(p.get("class"), p.get("d")) for p in other[::-1]]


def test_bars_begin_at_zero_and_share_their_decimals() -> None:
    columns = {"name": ["a", "b", "c", "d"], "value": [0.5, -0.25, 0.1234, math.nan]}
    svg = Svg("bars", columns)
    x = svg.scale("x")
    spans = [(x(r.get("x")), x(float(r.get("x", 0)) + float(r.get("width", 0)))) for r in svg.all("rect")]
    assert spans == [near(0, 0.5), near(-0.25, 0), near(0, 0.1234)]
    assert [text for text in svg.texts if text in ("0.500", "−0.250", "0.123", "undefined")] == [
        "0.500",
        "−0.250",
        "0.123",
        "undefined",
    ]
    held = Svg("bars", {"name": ["a"], "value": [2.0], "low": [1.0], "high": [3.0]})
    (line,) = held.all("line", "s-ink")
    x = held.scale("x")
    assert near(x(line.get("x1")), x(line.get("x2"))) == (1.0, 3.0)
    assert held.tips == ["a: 2 (1 to 3)"]


def test_series_of_a_histogram_are_stacked() -> None:
    columns = {"low": [0, 1, 0, 1], "high": [1, 2, 1, 2], "count": [3, 1, 2, 4], "series": ["hit", "hit", "no", "no"]}
    svg = Svg("histogram", columns)
    bars = [rect for rect in svg.all("rect") if rect.find("title") is not None]
    assert [svg.box(rect) for rect in bars] == [
        near(0, 0, 1, 3, abs=0.03),
        near(1, 0, 2, 1, abs=0.03),
        near(0, 3, 1, 5, abs=0.03),
        near(1, 1, 2, 5, abs=0.03),
    ]
    assert [rect.get("fill-opacity") for rect in bars] == ["1", "1", "0.6", "0.6"]
    assert svg.tips[0] == "0 to 1: 3 hit"


def test_a_matrix_has_numbers_shades_and_tooltips() -> None:
    columns = {
        "row": list("aabb"),
        "column": list("abab"),
        "share": [0.75, 0.25, 0.5, 0.5],
        "text": ["3", "1", "2", "2"],
    }
    svg = Svg("matrix", columns)
    assert svg.texts == ["across", "up", "a", "b", "a", "b", "3", "1", "2", "2"]
    assert [float(rect.get("fill-opacity", 0)) for rect in svg.all("rect")] == near(
        0.722, 0.268, 0.495, 0.495, abs=0.006
    )
    assert svg.tips[1] == "up: a\nacross: b\n1 (25 %)"
    assert float(svg.root.get("width", 0)) < 540  # no wider than its cells


def test_a_matrix_of_narrow_columns_names_the_last() -> None:
    names = [f"class {place}" for place in range(23)] + ["(background)"]
    columns = {"row": names, "column": names, "share": [0.5] * 24, "text": ["1"] * 24}
    texts = Svg("matrix", columns, width=350).texts
    assert texts.count("(background)") == 2
    assert 4 < len(texts) < 2 + 2 * 24  # the numbers have no room


def test_points_have_the_line_of_identity_and_cells_are_darker_where_there_are_more() -> None:
    svg = Svg("agreement", {"x": [1.0, 4.0], "y": [2.0, 6.0]})
    x, y = svg.scale("x"), svg.scale("y")
    assert [(x(c.get("cx")), y(c.get("cy"))) for c in svg.all("circle")] == [near(1, 2, abs=0.03), near(4, 6, abs=0.03)]
    (line,) = [svg.line(line) for line in dashed(svg)]
    assert line[:2] == near(line[0], line[0], abs=0.03)
    assert line[2:] == near(line[2], line[2], abs=0.03)
    cells = {"x": [0.0, 1.0], "x2": [1.0, 2.0], "y": [0.0, 1.0], "y2": [1.0, 2.0], "count": [1.0, 3.0]}
    svg = Svg("agreement", cells)
    assert [svg.box(rect) for rect in svg.all("rect")] == [near(0, 0, 1, 1), near(1, 1, 2, 2)]
    assert [rect.get("fill-opacity") for rect in svg.all("rect")] == ["0.56", "1.00"]  # 0.12 + 0.88 log 2 / log 4


def test_points_lie_on_axes_of_their_own_and_zero_is_marked() -> None:
    svg = Svg("points", {"x": [1.0, 4.0], "y": [-2.0, 6.0]})
    x, y = svg.scale("x"), svg.scale("y")
    marks = [(x(c.get("cx")), y(c.get("cy"))) for c in svg.all("circle")]
    assert marks == [near(1, -2, abs=0.03), near(4, 6, abs=0.03)]
    assert not dashed(svg)
    svg = Svg("points", {"x": [1.0, 4.0], "y": [-2.0, 6.0]}, {"zero": True})
    across, down = [svg.line(line) for line in dashed(svg)]
    assert (across[1], across[3]) == near(0, 0, abs=0.03)
    assert (down[0], down[2]) == near(0, 0, abs=0.03)


def test_limits_of_agreement_are_lines_with_names() -> None:
    svg = Svg("bland_altman", {"x": [1.0, 4.0], "y": [2.0, 6.0]}, {"bias": 3.0, "low": 1.0, "high": 5.0})
    levels = [svg.line(line)[1] for line in svg.all("line", "s-c2")]
    assert levels == near(1, 3, 5, abs=0.03)
    assert [line.get("stroke-dasharray") for line in svg.all("line", "s-c2")] == ["5 4", None, "5 4"]
    assert {"−1.96 sd: 1", "mean: 3", "+1.96 sd: 5"} <= set(svg.texts)


def test_a_spread_draws_whisker_box_and_median() -> None:
    columns = {
        "low": [0.0, 10.0],
        "high": [10.0, 30.5],
        "p10": [-4.0, -2.0],
        "p25": [-2.0, -1.0],
        "p50": [0.0, 1.0],
        "p75": [2.0, 3.0],
        "p90": [4.0, 6.0],
    }
    svg = Svg("spread", columns)
    y = svg.scale("y")
    ends = [(y(line.get("y1")), y(line.get("y2"))) for line in svg.all("line", "s-c1")]
    assert ends == [near(-4, 4, abs=0.05), near(-2, 6, abs=0.05)]
    boxes = [(y(float(r.get("y", 0)) + float(r.get("height", 0))), y(r.get("y"))) for r in svg.all("rect")]
    assert boxes == [near(-2, 2, abs=0.05), near(-1, 3, abs=0.05)]
    assert [y(line.get("y1")) for line in svg.all("line", "s-c2")] == near(0, 1, abs=0.05)
    assert [y(line.get("y1")) for line in dashed(svg)] == near(0, abs=0.05)
    assert [text for text in svg.texts if text in ("0–", "10", "10–", "30.5")] == ["0–", "10", "10–", "30.5"]


def test_reliability_and_the_plane_of_hota() -> None:
    svg = Svg("reliability", {"x": [0.25, 0.75], "y": [0.5, 0.5], "count": [1, 10]})
    assert svg.points(svg.all("path", "s-c1")[0]) == [near(0.25, 0.5), near(0.75, 0.5)]
    small, large = (float(circle.get("r", 0)) for circle in svg.all("circle"))
    assert large**2 / small**2 == pytest.approx(320 / 50, rel=0.05)  # areas of 20 + 300 n / most
    svg = Svg("plane", {"x": [0.25, 1.0], "y": [1.0, 0.25], "series": ["sequence", "all"]})
    for path, level in zip(svg.all("path", "s-soft"), (0.2, 0.4, 0.6, 0.8), strict=True):
        assert {round(x * y, 1) for x, y in svg.points(path)} == {round(level * level, 1)}
    points = [path for path in svg.all("path") if path.find("title") is not None]
    assert [path.get("class") for path in points] == ["f-c1", "f-c2"]


def test_a_timeline_has_a_bar_per_stretch_and_a_tick_per_switch() -> None:
    columns = {
        "row": ["1", "1", "2"],
        "x": [0, 5, 0],
        "x2": [5, 10, 10],
        "series": ["a", "b", "missed"],
        "event": ["", "switch", ""],
    }
    svg = Svg("timeline", columns)
    bars, x = svg.all("rect"), svg.scale("x")
    assert [(rect.get("class"), rect.get("fill-opacity")) for rect in bars] == [
        ("f-c1", "0.9"),
        ("f-c2", "0.9"),
        ("f-c8", "0.25"),
    ]
    spans = [(x(r.get("x")), x(float(r.get("x", 0)) + float(r.get("width", 0)))) for r in bars]
    assert spans == [near(0, 5, abs=0.05), near(5, 10, abs=0.05), near(0, 10, abs=0.05)]
    assert [x(line.get("x1")) for line in svg.all("line", "s-ink")] == near(5, abs=0.05)
    assert svg.tips[0] == "a: 0 to 4"


def test_traces_have_a_panel_each_side_by_side_where_there_is_room() -> None:
    columns = {
        "panel": ["p", "p", "q<", "q<"],
        "series": ["true", "predicted"] * 2,
        "x": [0, 0, 1, 1],
        "y": [1, 2, 3, 4],
    }
    for width, lefts in ((350, {"0"}), (720, {"0", "372"})):
        svg = Svg("traces", columns, width=width)
        panels = [g for g in svg.all("g") if "transform" in g.attrib]
        assert {re.findall(r"\((\S+)", g.get("transform", ""))[0] for g in panels} == lefts
        assert [g.findtext("text") for g in panels] == ["p", "q<"]
        assert len(svg.all("circle")) == 4


NAMES = ["<b>&\"'", "a\x00b\nc", "x" * 300, "行" * 60]
HOSTILE = [math.nan, -1e308, 3.0, 1e308]


def columns_of(value: list[float], count: int) -> dict[str, Any]:
    names, numbers = NAMES[:count], value[:count]
    texts = dict.fromkeys(("name", "series", "row", "column", "panel", "text"), names)
    parts = dict.fromkeys(
        ("x", "y", "x2", "y2", "low", "high", "p10", "p25", "p50", "p75", "p90", "start", "end"), numbers
    )
    return {
        **texts,
        **parts,
        "value": numbers,
        "count": list(range(1, count + 1)),
        "share": [0.5] * count,
        "event": ["switch"] * count,
    }


@pytest.mark.parametrize("width", [151.2, 350.0, 1900.0])
@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize(
    "values", [HOSTILE, [2.0] * 4, [math.nan] * 4, [0.0, 1e-320, 5e-324, 0.0], [1e17, 1e17 + 16, 1e17, 0]]
)
def test_no_number_or_name_breaks_a_drawing(chart: str, width: float, values: list[float]) -> None:
    facts = {"x": NAMES[0], "y": NAMES[2], "at": 0.0, "low": -1.0, "high": 2.0, "bias": 1.0}
    for count in (1, 4):
        columns = columns_of(values, count)
        if chart == "curves":
            columns["low"] = columns["high"] = columns["y"]
        text = chart_svg(Figure("f", chart, NAMES[1], columns, facts, NAMES[0]), width)
        root = ElementTree.fromstring(text)
        assert (root.get("role"), root.get("aria-label")) == ("img", "a\ufffdb\ufffdc")
        assert root.findtext("desc") == NAMES[0]
        for element in root.iter():
            for name, value in element.attrib.items():
                assert name in ("class", "aria-label") or not re.search("nan|inf", value), (name, value)
        assert len(text) < 30_000


def test_colours_are_put_in_where_there_is_no_style_sheet() -> None:
    svg = chart_svg(Figure("f", "bars", "T", {"name": ["a"], "value": [1.0]}, AXES), 300)
    for colours in (PALETTE, ADAPTING):
        plain = with_colours(svg, colours)
        assert "class=" not in plain
        (bar,) = ElementTree.fromstring(plain).iter("rect")
        assert bar.get("fill") == "#0b6bb0"
    assert "currentColor" in with_colours(svg, ADAPTING)
    assert "currentColor" not in with_colours(svg)


def test_a_page_has_each_chart_in_the_widths_of_its_column() -> None:
    one = Figure("f", "bars", "T", {"name": ["a"], "value": [1.0]}, AXES)
    assert re.findall(r'<div class="drawn w(\d+)">', page_charts(one)) == [f"{width:g}" for width in WIDTHS]
    wide = Figure("f", "traces", "T", {"panel": ["p"], "x": [0], "y": [1]}, AXES)
    assert re.findall(r'<div class="drawn w(\d+)">', page_charts(wide)) == [f"{width:g}" for width in BROAD_WIDTHS]


def test_ticks_are_round_numbers_with_room() -> None:
    assert ticks(0.0, 1.0, 300.0) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert ticks(1000000.0, 2000000.0, 80.0) == [1000000.0, 2000000.0]
    assert ticks(0.0, 1.0, 5.0) == []
    assert ticks(1.0, 1.0, 100) == [1.0]
    for high in (0.0123, 3.7, 12345.0):
        at = ticks(0.0, high, 200)
        assert 2 <= len(at) <= 5
        assert at[-1] <= high
    assert ticks(-4.9, 4.6, 245) == [-4.0, -2.0, 0.0, 2.0, 4.0]  # closer than usual, but one number says nothing
    assert ticks(-3.8e6, 3e6, 250) == [-2e6, 0.0, 2e6]
    assert ticks(-0.3, 8.7, 200, outside=True) == [-5.0, 0.0, 5.0, 10.0]
    assert ticks(0.0, 2.0, 230, outside=True, whole=True, upright=True) == [0.0, 1.0, 2.0]


def test_labels_of_an_axis_share_their_decimals() -> None:
    assert tick_texts([0.0, 0.5, 1.0]) == ["0.0", "0.5", "1.0"]
    assert tick_texts([-2000.0, 0.0, 2000.0]) == ["−2,000", "0", "2,000"]
    assert tick_texts([0.05, 0.1]) == ["0.05", "0.10"]
    assert tick_texts([1e-7, 2e-7]) == ["1e−07", "2e−07"]
    assert tick_texts([2e12, 2.5e12]) == ["2e+12", "2.5e+12"]
    assert [short_text(value) for value in (0.0, 3.0, 12.3456, 1234.5, -0.00123, 2.5e12)] == [
        "0",
        "3",
        "12.3",
        "1,234",
        "−0.00123",
        "2.50e+12",
    ]
    assert texts_alike([0.5, 0.0123, math.nan]) == ["0.500", "0.012", "nan"]
    assert texts_alike([12.0, 3.0]) == ["12", "3"]
    assert texts_alike([1234.5, 0.5]) == ["1,234", "0"]
    assert texts_alike([2e-9, 1e-9]) == ["2.00e−09", "1.00e−09"]


def test_a_span_of_nothing_or_of_one_number() -> None:
    assert span_of(np.array([math.nan])) == (0.0, 1.0)
    assert span_of([1.0, math.nan], 4.0) == (1.0, 4.0)
    low, high = span_of([2.0])
    assert (low, high) == near(1.5, 2.5)


def test_titles_are_folded_and_words_that_are_too_long_are_cut() -> None:
    lines = wrap_text("a title of several words", 60.0)
    assert " ".join(lines) == "a title of several words"
    assert all(text_width(line) <= 60 for line in lines)
    (cut,) = wrap_text("x" * 200, 60.0)
    assert text_width(cut) <= 60
    assert wrap_text("", 60.0) == []


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 23, 24])
@pytest.mark.parametrize("size", [6.0, 11.9, 12.0, 40.0])
def test_names_of_narrow_columns_keep_their_distance_and_the_last(count: int, size: float) -> None:
    """The last is the background of a confusion matrix. Letters are 11 high: names need 12 from one to the next."""
    shown = places_with_room(count, size)
    assert shown[-1:] == list(range(count))[-1:]
    assert all((second - first) * size >= 12 for first, second in pairwise(shown))
    assert size < 12 or len(shown) == count


def test_the_last_label_of_shares_on_normal_quantiles_fits() -> None:
    columns = {"x": [0.01, 0.5], "y": [0.5, 0.01]}
    svg = Svg("curves", columns, {"scale": "probit", "ticks": [0.01, 0.5, 0.95]})
    last = next(e for e in reversed(svg.all("text")) if e.text == "95 %" and e.get("text-anchor") == "middle")
    assert float(last.get("x", "nan")) + text_width("95 %") / 2 <= 540.1  # places are rounded to a tenth of a pixel
