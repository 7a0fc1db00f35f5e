"""Figures of a page: the chart, how to read it, and the table that says the same.

Small pictures of figures, drawn here: for a page that is made without the package of the charts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.errors import MissingData
from steelyard.core.figure import Array, Figure, are_near
from steelyard.core.slice import Slice, slice_heading, slice_text
from steelyard.render.charts.layout import fitting, text_width
from steelyard.render.charts.library import available
from steelyard.render.charts.registry import BROAD, is_chart, markup_of
from steelyard.render.numbers import value_text
from steelyard.render.page.tables import Cell, data_table, head_cell, number_cell, table, text_cell
from steelyard.results.score import Score

if TYPE_CHECKING:
    from steelyard.results.details import UnitTable
    from steelyard.results.report import Report


WIDE, HIGH, LEFT, ROW = 350.0, 170.0, 8.0, 20.0
MOST_BARS, MOST_POINTS = 24, 400
SERIES = 8
DASHED = ' stroke-dasharray="3 3"'


def sketch(figure: Figure) -> str:
    """The figure as a small picture; nothing for a kind that has none."""
    draw = SKETCHES.get(figure.chart)
    return "" if draw is None or not len(figure) else draw(figure)


def _svg(figure: Figure, height: float, body: Sequence[str]) -> str:
    return (
        f'<div class="sketch"><svg class="chart" viewBox="0 0 {WIDE:g} {height:g}" width="{WIDE:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(figure.title)}">{"".join(body)}</svg></div>'
    )


def _text(x: float, y: float, words: str, anchor: str = "start", kind: str = "f-soft") -> str:
    shown = escape("".join(c if c.isprintable() else "\ufffd" for c in words))
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="11" text-anchor="{anchor}">{shown}</text>'


def _line(kind: str, start: tuple[float, float], end: tuple[float, float], more: str = "") -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line class="{kind}"{more} x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _numbers(figure: Figure, name: str) -> Array:
    return np.asarray(figure.columns[name], dtype=float)


def _rows(figure: Figure) -> str:
    """Bars, or points, by name; lines are intervals, and a dashed one stands at what the figure compares with."""
    at = figure.facts.get("at")
    values = _numbers(figure, "value")
    places = [i for i in range(len(figure)) if np.isfinite(values[i])][:MOST_BARS]
    low = _numbers(figure, "low") if "low" in figure.columns else values
    high = _numbers(figure, "high") if "high" in figure.columns else values
    every = np.concatenate([values[places], low[places], high[places], [0.0] if figure.chart == "bars" else []])
    every = every if at is None else np.append(every, float(at))
    least, most = _range(every)
    names = fitting([str(figure.columns["name"][i]) for i in places], 0.38 * WIDE)
    side = max(map(text_width, names), default=0.0) + 10
    texts = [f"{values[i]:.3g}".replace("-", "−") for i in places]
    room = WIDE - side - max(map(text_width, texts), default=0.0) - 8

    def x(value: float) -> float:
        return side + room * (value - least) / (most - least)

    body = []
    if at is not None:
        body.append(_line("s-ink", (x(float(at)), 0.0), (x(float(at)), ROW * len(places)), DASHED))
    for row, (i, name, text) in enumerate(zip(places, names, texts, strict=True)):
        y = ROW * row + ROW / 2
        body.append(_text(side - 6, y + 4, name, "end"))
        if figure.chart == "bars":
            start, end = sorted((x(0.0), x(values[i])))
            body.append(
                f'<rect class="f-c1" fill-opacity="0.6" x="{start:.1f}" y="{y - 6:.1f}" width="{end - start:.1f}" '
                'height="12"/>'
            )
        if np.isfinite(low[i]) and np.isfinite(high[i]) and high[i] > low[i]:
            body.append(_line("s-ink", (x(low[i]), y), (x(high[i]), y), ' stroke-width="1.5"'))
        if figure.chart != "bars":
            body.append(f'<circle class="f-c1" cx="{x(values[i]):.1f}" cy="{y:.1f}" r="3.5"/>')
        body.append(_text(WIDE, y + 4, text, "end", "f-ink"))
    return _svg(figure, ROW * len(places) + 4, body)


def _range(values: Array) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    least, most = float(finite.min()), float(finite.max())
    return (least, most) if most > least else (least - 0.5, most + 0.5)


class _Plane:
    """Axes of numbers: names of both, their ends, and where a point lies."""

    def __init__(self, figure: Figure, xs: Array, ys: Array) -> None:
        self.x_range, self.y_range = _range(xs), _range(ys)
        ends = [f"{end:.3g}".replace("-", "−") for end in (*self.x_range, *self.y_range)]
        self.left = max(text_width(end) for end in ends[2:]) + 6
        name, upward = (str(figure.facts.get(axis, "")) for axis in ("x", "y"))
        room = WIDE - self.left - text_width(ends[0]) - text_width(ends[1]) - 16
        self.body = [
            f'<line class="s-line" x1="{self.left:.1f}" x2="{WIDE:g}" y1="{HIGH - 18:g}" y2="{HIGH - 18:g}"/>',
            f'<line class="s-line" x1="{self.left:.1f}" x2="{self.left:.1f}" y1="18" y2="{HIGH - 18:g}"/>',
            _text(self.left, HIGH - 4, ends[0]), _text(WIDE, HIGH - 4, ends[1], "end"),
            _text(self.left - 4, HIGH - 20, ends[2], "end"), _text(self.left - 4, 28, ends[3], "end"),
            _text((self.left + WIDE) / 2, HIGH - 4, fitting([name], max(40.0, room))[0], "middle", "f-ink"),
            _text(0, 12, fitting([upward], WIDE)[0], "start", "f-ink"),
        ]  # fmt: skip

    def x(self, value: float) -> float:
        """Where a number lies from the left."""
        least, most = self.x_range
        return self.left + (WIDE - self.left) * (value - least) / (most - least)

    def y(self, value: float) -> float:
        """Where a number lies from the top."""
        least, most = self.y_range
        return HIGH - 18 - (HIGH - 38) * (value - least) / (most - least)


def _points(figure: Figure) -> str:
    xs, ys = _numbers(figure, "x"), _numbers(figure, "y")
    if "count" in figure.columns and "x2" in figure.columns:
        return _cells(figure, xs, ys)
    finite = np.flatnonzero(np.isfinite(xs) & np.isfinite(ys))
    plane = _Plane(figure, xs, ys)
    step = max(1, -(-len(finite) // MOST_POINTS))
    dots = [
        f'<circle class="f-c1" fill-opacity="0.5" cx="{plane.x(xs[i]):.1f}" cy="{plane.y(ys[i]):.1f}" r="2.5"/>'
        for i in finite[::step].tolist()
    ]
    return _svg(figure, HIGH, [*plane.body, *_rules(figure, plane), *dots])


def _cells(figure: Figure, xs: Array, ys: Array) -> str:
    """Points that are counted in cells of a grid, which are darker the more they hold."""
    ends, tops, counts = (_numbers(figure, name) for name in ("x2", "y2", "count"))
    plane = _Plane(figure, np.concatenate([xs, ends]), np.concatenate([ys, tops]))
    shade = 0.12 + 0.88 * np.log1p(counts) / np.log1p(counts.max())
    cells = [
        f'<rect class="f-c1" fill-opacity="{shade[i]:.2f}" x="{plane.x(xs[i]):.1f}" y="{plane.y(tops[i]):.1f}" '
        f'width="{plane.x(ends[i]) - plane.x(xs[i]):.1f}" height="{plane.y(ys[i]) - plane.y(tops[i]):.1f}"/>'
        for i in range(len(figure))
    ]
    return _svg(figure, HIGH, [*plane.body, *cells, *_rules(figure, plane)])


def _rules(figure: Figure, plane: _Plane) -> list[str]:
    """The lines that a caption speaks of: where both axes are equal, or the mean and the limits of agreement."""
    (left, right), (low, high) = plane.x_range, plane.y_range
    begin, end = max(left, low), min(right, high)
    ends = []
    if figure.chart in ("agreement", "reliability") and begin < end:
        ends.append((begin, begin, end, end, True))
    elif figure.chart == "bland_altman":
        levels = [
            (float(figure.facts[name]), name != "bias") for name in ("bias", "low", "high") if name in figure.facts
        ]
        ends += [(left, level, right, level, dashed) for level, dashed in levels if low <= level <= high]
    return [
        _line("s-ink", (plane.x(a), plane.y(b)), (plane.x(c), plane.y(d)), DASHED if dashed else "")
        for a, b, c, d, dashed in ends
    ]


def _lines(figure: Figure) -> str:
    xs, ys = _numbers(figure, "x"), _numbers(figure, "y")
    plane = _Plane(figure, xs, ys)
    series = [str(name) for name in figure.columns.get("series", [""] * len(figure))]
    names = list(dict.fromkeys(series))
    lines = []
    for k, name in enumerate(names):
        rows = [i for i, one in enumerate(series) if one == name and np.isfinite(xs[i]) and np.isfinite(ys[i])]
        points = " ".join(f"{'L' if n else 'M'}{plane.x(xs[i]):.1f},{plane.y(ys[i]):.1f}" for n, i in enumerate(rows))
        dash = f' stroke-dasharray="{2 + 2 * (k % 4)} {k % 4 + 1}"' if k else ""
        lines.append(f'<path class="s-c{k % SERIES + 1}" d="{points}" stroke-width="1.6"{dash}/>' if rows else "")
    return _svg(figure, HIGH, [*plane.body, *lines]) + _legend(names)


def _legend(names: Sequence[str]) -> str:
    if len(names) < 2:
        return ""
    parts = [
        '<span class="nowrap"><svg class="swatch" width="12" height="12" aria-hidden="true">'
        f'<rect class="f-c{k % SERIES + 1}" width="12" height="12"/></svg> {escape(name)}</span>'
        for k, name in enumerate(names)
    ]
    return f'<p class="legend">{" ".join(parts)}</p>'


def _histogram(figure: Figure) -> str:
    low, high, count = (_numbers(figure, name) for name in ("low", "high", "count"))
    series = [str(name) for name in figure.columns.get("series", [""] * len(figure))]
    names, reached = list(dict.fromkeys(series)), dict[float, float]()
    tops = np.zeros(len(figure))
    for i in range(len(figure)):
        reached[low[i]] = tops[i] = reached.get(low[i], 0.0) + count[i]
    plane = _Plane(figure, np.concatenate([low, high]), np.append(tops, 0.0))
    body = [
        f'<rect class="f-c{names.index(series[i]) % SERIES + 1}" x="{plane.x(low[i]):.1f}" y="{plane.y(tops[i]):.1f}" '
        f'width="{max(0.5, plane.x(high[i]) - plane.x(low[i]) - 0.5):.1f}" '
        f'height="{plane.y(tops[i] - count[i]) - plane.y(tops[i]):.1f}"/>'
        for i in range(len(figure))
        if count[i]
    ]
    return _svg(figure, HIGH, [*plane.body, *body]) + _legend(names)


def _spread(figure: Figure) -> str:
    """Of each bin the middle 80 % as a line, the middle half as a box, and the median; a dashed line at zero."""
    low, high = _numbers(figure, "low"), _numbers(figure, "high")
    parts = [_numbers(figure, name) for name in ("p10", "p25", "p50", "p75", "p90")]
    plane = _Plane(figure, np.concatenate([low, high]), np.concatenate([*parts, [0.0]]))
    left, right = map(plane.x, plane.x_range)
    body = [_line("s-soft", (left, plane.y(0.0)), (right, plane.y(0.0)), DASHED)]
    for i in range(len(figure)):
        p10, p25, p50, p75, p90 = (plane.y(part[i]) for part in parts)
        start, end = plane.x(low[i]) + 0.5, plane.x(high[i]) - 0.5
        middle, wide = (start + end) / 2, max(2.0, end - start)
        begin = middle - wide / 2
        body += [
            _line("s-c1", (middle, p90), (middle, p10), ' stroke-width="1.5"'),
            f'<rect class="f-c1" fill-opacity="0.35" x="{begin:.1f}" y="{p75:.1f}" width="{wide:.1f}" '
            f'height="{p25 - p75:.1f}"/>',
            _line("s-c2", (begin, p50), (begin + wide, p50), ' stroke-width="2"'),
        ]
    return _svg(figure, HIGH, [*plane.body, *body])


def _matrix(figure: Figure) -> str:
    rows = {name: k for k, name in enumerate(dict.fromkeys(map(str, figure.columns["row"])))}
    columns = {name: k for k, name in enumerate(dict.fromkeys(map(str, figure.columns["column"])))}
    names = fitting(list(rows), 0.35 * WIDE)
    side = max(map(text_width, names), default=0.0) + 8
    size = min(24.0, (WIDE - side) / max(1, len(columns)))
    body = [_text(side - 5, (k + 0.5) * size + 4, name, "end") for k, name in enumerate(names) if size >= 13]
    for row, column, share in zip(*(figure.columns[name] for name in ("row", "column", "share")), strict=True):
        x, y = side + columns[str(column)] * size, rows[str(row)] * size
        body.append(
            f'<rect class="f-c1" fill-opacity="{0.05 + 0.9 * float(share):.2f}" x="{x:.1f}" y="{y:.1f}" '
            f'width="{size - 1:.1f}" height="{size - 1:.1f}"/>'
        )
    return _svg(figure, size * len(rows) + 4, body)


def _timeline(figure: Figure) -> str:
    """A bar per stretch of a true track under one name, and a line per switch."""
    tracks = {name: k for k, name in enumerate(dict.fromkeys(map(str, figure.columns["row"])))}
    series = list(map(str, figure.columns["series"]))
    names = [name for name in dict.fromkeys(series) if name != "missed"]
    starts, ends = _numbers(figure, "x"), _numbers(figure, "x2")
    low, high = _range(np.concatenate([starts, ends]))
    shown = fitting(list(tracks), 0.3 * WIDE)
    side = max(map(text_width, shown), default=0.0) + 8
    body = [_text(side - 6, ROW * (k + 0.5) + 4, name, "end") for k, name in enumerate(shown)]
    for i, row in enumerate(map(str, figure.columns["row"])):
        start, end = (side + (WIDE - side) * (at[i] - low) / (high - low) for at in (starts, ends))
        y = ROW * tracks[row] + 3
        colour, opacity = (8, 0.25) if series[i] == "missed" else (names.index(series[i]) % SERIES + 1, 0.9)
        body.append(
            f'<rect class="f-c{colour}" fill-opacity="{opacity}" x="{start:.1f}" y="{y:.1f}" '
            f'width="{max(1.0, end - start):.1f}" height="{ROW - 6:g}"/>'
        )
        if figure.columns["event"][i] == "switch":
            body.append(_line("s-ink", (start, y - 2), (start, y + ROW - 4), ' stroke-width="2"'))
    bottom = ROW * len(tracks) + 14
    body += [_text(side, bottom, f"{low:g}"), _text(WIDE, bottom, f"{high:g}", "end")]
    body.append(_text((side + WIDE) / 2, bottom, str(figure.facts.get("x", "")), "middle", "f-ink"))
    return _svg(figure, bottom + 6, body)


def _traces(figure: Figure) -> str:
    """The lines of each panel, below its name."""
    panels = list(map(str, figure.columns["panel"]))
    drawn = []
    for panel in dict.fromkeys(panels):
        rows = [i for i, name in enumerate(panels) if name == panel]
        columns = {name: [figure.columns[name][i] for i in rows] for name in ("series", "x", "y")}
        drawn.append(f"<p>{escape(panel)}</p>{_lines(Figure(figure.name, 'curves', panel, columns, figure.facts))}")
    return "".join(drawn)


SKETCHES: dict[str, Callable[[Any], str]] = {
    "agreement": _points, "bars": _rows, "bland_altman": _points, "curves": _lines, "histogram": _histogram,
    "intervals": _rows, "matrix": _matrix, "plane": _points, "reliability": _points,
    "spread": _spread, "timeline": _timeline, "traces": _traces,
}  # fmt: skip


BINS = 24
MOST_ROWS = 400  # of a figure's own table
NO_CHARTS = (
    "The pictures are sketches, since the package that draws charts is not installed: pip install 'steelyard[report]'."
)


def figures_of(report: Report) -> list[Figure]:
    """Every figure of a report: the task's own, then slices and the distribution over units."""
    figures = [report.figure(name) for name in report.figures]
    figures += slice_figures(report).values()
    units = report.details.units()
    if units is not None:
        figures += distributions(units, report.scores)
    return [figure for figure in figures if len(figure)]


def unique_name(name: str, taken: list[str]) -> str:
    """The name of a figure, with a number where another has it: two files may have a column of one name."""
    return name if name not in taken else f"{name}_{1 + sum(one.startswith(name) for one in taken)}"


def slice_figures(report: Report) -> dict[Slice, Figure]:
    """For each way of slicing, the first score by slice with its interval, beside that of all."""
    figures: dict[Slice, Figure] = {}
    for by, parts in report.slices.items():
        spec, whole = next(iter(report.scores.items()))
        scores = [
            (slice_text(value), part[spec]) for value, part in parts.items() if spec in part and part[spec].defined
        ]
        if len(scores) < 2:
            continue
        scores.sort(key=lambda pair: pair[1].value)
        figures[by] = interval_figure(
            unique_name(f"by_{slice_heading(by, '_')}", [figure.name for figure in figures.values()]),
            f"{whole.label} by {slice_heading(by)}",
            scores,
            whole.value if whole.defined else None,
        )
    return figures


def interval_figure(name: str, title: str, scores: list[tuple[str, Score]], at: float | None) -> Figure:
    """Scores side by side with their intervals."""
    first = scores[0][1]
    ends = [s.interval or (s.value, s.value) for _, s in scores]
    return Figure(
        name,
        "intervals",
        title,
        {
            "name": [value for value, _ in scores],
            "value": [s.value for _, s in scores],
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
        },
        {"x": f"{first.label}{', ' + first.measured_in if first.measured_in else ''}", "at": at},
        "The line through each point is its interval."
        + ("" if at is None else " The dashed line is the score of all."),
    )


def distributions(units: UnitTable, scores: Mapping[str, Score], most: int = 1) -> list[Figure]:
    """How the first scores are spread over the units."""
    figures: list[Figure] = []
    for spec, score in list(scores.items()):
        values = np.asarray(units.values.get(spec, ()), dtype=float)
        values = values[np.isfinite(values)]
        if len(values) < 5 or are_near(values):
            continue
        counts, edges = np.histogram(values, bins=min(BINS, max(5, round(len(values) ** 0.5 * 2))))
        in_unit = f", {score.measured_in}" if score.measured_in else ""
        figures.append(
            Figure(
                f"units_{len(figures) + 1}",
                "histogram",
                f"{score.label} over all {_plural(units.unit)}",
                {"low": edges[:-1], "high": edges[1:], "count": counts},
                {"x": f"{score.label}{in_unit}", "y": f"number of {_plural(units.unit)}"},
                f"How many {_plural(units.unit)} have a score in each range.",
            )
        )
        if len(figures) == most:
            break
    return figures


def _plural(word: str) -> str:
    from steelyard.core.counts import count_text

    return count_text(2, word).partition(" ")[2]


def figure_blocks(figures: Iterable[Figure]) -> str:
    """Figures in a grid that folds to one column."""
    blocks = [figure_block(figure) for figure in figures if len(figure)]
    return f'<div class="figures">{"".join(blocks)}</div>' if blocks else ""


def figure_block(figure: Figure) -> str:
    """One figure with its caption and its table."""
    drawn = _draw_figure(figure)
    wide = " broad" if figure.chart in BROAD or not is_chart(figure) else ""
    says = (
        ""
        if figure.chart in OWN_TEXT
        else (f"<details><summary>Table: {escape(figure.title)}</summary>{figure_table(figure)}</details>")
    )
    caption = f'<p class="legend">{escape(figure.caption)}</p>' if figure.caption else ""
    return (
        f'<figure class="picture{wide}" id="figure-{escape(figure.name)}">'
        f"<figcaption>{escape(figure.title)}</figcaption>{drawn}{caption}{says}</figure>"
    )


OWN_TEXT = {"sentences", "conversation"}  # kinds that are text themselves


def _draw_figure(figure: Figure) -> str:
    if not is_chart(figure):
        return markup_of(figure)
    if not available():
        return sketch(figure)
    from steelyard.render.charts.render import inline_charts

    try:
        return inline_charts(figure)
    except Exception as error:  # a result that was changed by hand: its figures may hold anything
        raise MissingData(
            f"figure '{figure.name}' cannot be drawn: {str(error).splitlines()[0] if str(error) else error!r}",
            remedy="Score the data again, and write the result with `details=True`.",
        ) from error


def figure_table(figure: Figure) -> str:
    """What the figure shows, in numbers."""
    if figure.table is not None:
        return data_table(figure.table, f"figure-{figure.name}-")
    columns = {name: np.asarray(values).tolist() for name, values in figure.columns.items()}
    rows = [
        [_cell(value, i == 0) for i, value in enumerate(row)]
        for row in list(zip(*columns.values(), strict=True))[:MOST_ROWS]
    ]
    more = ""
    if len(figure) > MOST_ROWS:
        more = f'<p class="legend">The first {MOST_ROWS} of {len(figure):,} rows.</p>'
    return table(figure.title, list(columns), rows) + more


def _cell(value: Any, first: bool) -> Cell:
    if isinstance(value, str):
        return head_cell(value) if first else text_cell(value)
    number = float(value) if value is not None else float("nan")
    return number_cell(number, value_text(number))
