"""Figures as SVG: points, curves, histograms, spreads, matrices, bars, intervals, waterfalls and timelines.

A chart is drawn at a given width, for a page, a notebook or a paper alike. Colours are classes of the page's style
sheet (`f-c1` fills, `s-c1` strokes), so that a chart follows light and dark. Series also differ by dash or shape, for
readers who cannot tell the colours apart. The `<title>` of a shape is its tooltip.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np

from steelyard.core.figure import Array, Figure
from steelyard.render.charts.layout import LABEL, fit_names, places_with_room, text_width, tick_texts, ticks, wrap_text

WIDTHS = (350.0, 540.0)  # a chart for a phone, and one for a column of a page
BROAD_WIDTHS = (350.0, 720.0, 1200.0)  # those of a chart that takes the whole width of a page
BROAD = {"traces"}
NARROW = 450.0  # below, a chart is one for a phone
TITLE, LINE = 12.0, 15.0  # the size of an axis title, and from one line of text to the next
ROW, TALLEST = 24.0, 1600.0  # of a row of bars or intervals, and of all of them
FEW = 200  # so many marks have tooltips
SERIES = 8  # colours
DASHED = "5 4"

# Names that mean the same on every page have a colour and a shape of their own.
MEANT = {
    "better": 3, "worse": 2, "no difference shown": 8, "hit": 1, "false positive": 2, "right": 1, "wrong": 2,
}  # fmt: skip
MEANT_SHAPES = {"better": 2, "worse": 5, "no difference shown": 0}
DASHES = ("", "6 3", "2 2", "8 3 2 3", "4 4", "1 3", "10 4", "5 2 1 2 1 2")
SHAPES = (
    "M-1,0a1,1 0 1,0 2,0a1,1 0 1,0 -2,0z",  # circle
    "M-.9,-.9h1.8v1.8h-1.8z",
    "M0,-1.1L1.1,.9H-1.1z",
    "M0,-1.3L1.1,0L0,1.3L-1.1,0z",
    "M-.4,-1.2h.8v.8h.8v.8h-.8v.8h-.8v-.8h-.8v-.8h.8z",
    "M0,1.1L1.1,-.9H-1.1z",
    "M-1.1,0L.9,-1.1V1.1z",
    "M1.1,0L-.9,-1.1V1.1z",
)


class Drawing:
    """The shapes of a chart and its size. A shape with an undefined coordinate is left out."""

    def __init__(self, width: float) -> None:
        self.width, self.height = width, 0.0
        self.parts: list[str] = []

    def add(self, tag: str, kind: str = "", tip: str = "", **attributes: float | str) -> None:
        """A shape with its class, its tooltip and its attributes."""
        if all(isinstance(value, str) or math.isfinite(value) for value in attributes.values()):
            self.parts.append(element(tag, kind, tip, **attributes))

    def text(self, x: float, y: float, words: str, anchor: str = "start", kind: str = "f-soft", **more: Any) -> None:
        """Words at a place."""
        if math.isfinite(x) and math.isfinite(y):
            shown = {"x": x, "y": y, "font_size": LABEL, "text_anchor": anchor, **more}
            self.parts.append(f"{element('text', kind, **shown)[:-2]}>{escape(clean(words))}</text>")

    def line(self, kind: str, x1: float, y1: float, x2: float, y2: float, **more: Any) -> None:
        """A straight line."""
        self.add("line", kind, x1=x1, y1=y1, x2=x2, y2=y2, **more)

    def marker(self, shape: int, kind: str, x: float, y: float, size: float = 4.0, tip: str = "") -> None:
        """A point of one of the shapes."""
        if math.isfinite(x) and math.isfinite(y):
            place = f"translate({number(x)} {number(y)}) scale({number(size)})"
            self.add("path", kind, tip, transform=place, d=SHAPES[shape % len(SHAPES)])

    def legend(self, names: Sequence[str], symbol: Callable[[int, float, float], None]) -> None:
        """Names above the chart, each behind its symbol, in as many lines as they need."""
        x, y = 0.0, LINE
        for place, name in enumerate(fit_names(names, min(260.0, self.width - 40))):
            wide = 28 + text_width(name)
            if x and x + wide > self.width:
                x, y = 0.0, y + 18
            symbol(place, x + 11, y - 4)
            self.text(x + 28, y, name, kind="f-ink")
            x += wide + 12
        self.height = y + 12 if names else 0.0


def element(tag: str, kind: str = "", tip: str = "", **attributes: float | str) -> str:
    """An element of SVG; underscores in names of attributes are dashes."""
    shown = f' class="{kind}"' if kind else ""
    for name, value in attributes.items():
        if value == "":
            continue
        shown += f' {name.replace("_", "-")}="{value if isinstance(value, str) else number(value)}"'
    title = "\n".join(map(clean, tip.split("\n")))
    return f"<{tag}{shown}><title>{escape(title)}</title></{tag}>" if tip else f"<{tag}{shown}/>"


def number(value: float) -> str:
    """A number with one decimal at most."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def clean(text: Any) -> str:
    """A text that a picture can hold: no control characters."""
    shown = str(text)
    return shown if shown.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in shown)


def short_text(value: float) -> str:
    """A number for a label: three digits, and all of a whole or a larger one."""
    whole = abs(value) < 1e9 and (abs(value) >= 1000 or value == round(value))
    text = f"{value:,.0f}" if whole else f"{value:#.3g}".rstrip(".")
    return text.replace("-", "−")


def texts_alike(values: Sequence[float]) -> list[str]:
    """Numbers with as many decimals as the largest of them has in three digits; whole ones without."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if largest and not 1e-5 <= largest < 1e9:
        return [short_text(value) for value in values]
    whole = all(value == math.floor(value) for value in values if math.isfinite(value))
    decimals = 0 if whole else max(0, 2 - math.floor(math.log10(largest)))
    return [f"{value:,.{decimals}f}".replace("-", "−") for value in values]


def chart_svg(figure: Figure, width: float) -> str:
    """The figure as an SVG element of this width; a matrix may be narrower."""
    drawing = Drawing(width)
    CHARTS[figure.chart](drawing, figure)
    wide, high = f"{drawing.width:.0f}", f"{drawing.height:.0f}"
    kind = "chart" if drawing.width == width else "chart own"  # the last keeps its size
    desc = f"<desc>{escape(clean(figure.caption))}</desc>" if figure.caption else ""
    return (
        f'<svg class="{kind}" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img" '
        f'aria-label="{escape(clean(figure.title))}">{desc}{"".join(drawing.parts)}</svg>'
    )


def page_charts(figure: Figure, broad: bool = False) -> str:
    """The figure in several widths, of which a page shows the one that fits; a broad one takes the page's width."""
    widths = BROAD_WIDTHS if broad or figure.chart in BROAD else WIDTHS
    return "".join(f'<div class="drawn w{width:g}">{chart_svg(figure, width)}</div>' for width in widths)


def _numbers(figure: Figure, name: str) -> Array:
    values: Array = np.asarray(figure.columns[name], dtype=float)
    return values.clip(-1e300, 1e300)


def _names(figure: Figure, column: str = "series") -> tuple[list[str], list[str]]:
    """A column of names row by row, and each name once; without the column all rows have the empty name."""
    rows = [clean(name) for name in figure.columns.get(column, [""] * len(figure))]
    return rows, list(dict.fromkeys(rows))


def _colours(names: Iterable[str]) -> dict[str, str]:
    return {name: f"c{MEANT.get(name, place % SERIES + 1)}" for place, name in enumerate(names)}


def _dash(place: int) -> str:
    return DASHES[(place + place // SERIES) % len(DASHES)]  # another one where colours are used again


def span_of(*values: Any) -> tuple[float, float]:
    """The lowest and the highest number, set apart where they are equal."""
    every = np.concatenate([np.atleast_1d(np.asarray(each, dtype=float)) for each in values])
    finite = every[np.isfinite(every)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    size = max(abs(low), abs(high))
    pad = 0.0 if high - low > max(1e-9 * size, 1e-300) else 0.5 + size / 1e6
    return low - pad, high + pad


class Axes:
    """Two axes of numbers with their titles, grid and labels; `x` and `y` say where a number lies.

    Spans are widened to round numbers unless they are `exact`; axes of `whole` numbers have no others. `marks` are the
    numbers that are shown at x: with `labels` instead of them, or else on a logarithmic scale. With the fact `scale` of
    "probit" both axes are normal quantiles of shares, and `marks` are shown at both.
    """

    def __init__(
        self, drawing: Drawing, figure: Figure, x: tuple[float, float], y: tuple[float, float], *, exact: str = "",
        whole: str = "", marks: Sequence[float] = (), labels: Sequence[str] = (), grid: bool = True, high: float = 0.0,
    ) -> None:  # fmt: skip
        high = high or (230.0 if drawing.width >= NARROW else 190.0)
        upward = wrap_text(clean(figure.facts.get("y", "")), drawing.width, TITLE)
        for place, line in enumerate(upward):
            drawing.text(0, drawing.height + TITLE + place * LINE, line, kind="f-ink", font_size=TITLE)
        self.top = drawing.height + LINE * len(upward) + 8
        self.bottom = self.top + high
        self.probit = figure.facts.get("scale") == "probit"
        up = list(marks) if self.probit else ticks(*y, high, outside="y" not in exact, whole="y" in whole, upright=True)
        up_names = list(labels) if self.probit else tick_texts(up)
        self.y_span = y if "y" in exact or len(up) < 2 else (up[0], up[-1])
        left = max(map(text_width, up_names), default=0.0) + 11
        along = list(marks) or ticks(*x, drawing.width - left - 16, outside="x" not in exact, whole="x" in whole)
        self.x_span = x if "x" in exact or marks or len(along) < 2 else (along[0], along[-1])
        self.log = bool(marks) and not labels
        names = list(labels) or ([f"{value:,.0f}" for value in marks] if marks else tick_texts(along))
        margin = text_width(names[-1]) / 2 if names and (self.probit or not labels) else 4.0
        self.left, self.right = max(left, margin), drawing.width - margin
        lines = ""
        for value, label in zip(up, up_names, strict=True):
            drawing.text(self.left - 7, self.y(value) + 4, label, "end")
            lines += f"M{number(self.left)},{number(self.y(value))}H{number(self.right)}"
        drawing.add("path", "s-line", d=lines)
        places = [self.x(value) for value in along]
        x_axis(drawing, figure, places, names, (self.left, self.top, self.right, self.bottom), grid=grid)

    def x(self, value: float) -> float:
        """Where a number lies from the left."""
        low, high = self.x_span
        if self.probit:
            low, high, value = probits(low, high, value)
        elif self.log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.left + (self.right - self.left) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        """Where a number lies from the top."""
        low, high = self.y_span
        if self.probit:
            low, high, value = probits(low, high, value)
        return self.bottom - (self.bottom - self.top) * (value - low) / (high - low)

    def path(self, xs: Iterable[float], ys: Iterable[float], *, steps: bool = False) -> str:
        """A line through the points, broken where one is undefined; with `steps` it goes up before it goes on."""
        parts, pen = [], False
        for x, y in zip(xs, ys, strict=True):
            if math.isfinite(x) and math.isfinite(y):
                across, up = number(self.x(x)), number(self.y(y))
                parts.append(f"M{across},{up}" if not pen else f"V{up}H{across}" if steps else f"L{across},{up}")
            pen = math.isfinite(x) and math.isfinite(y)
        return "".join(parts)


def probits(low: float, high: float, value: float) -> tuple[float, float, float]:
    """Normal quantiles of both ends of an axis of shares, and of a value that is cut to it."""
    quantile = NormalDist().inv_cdf
    return quantile(low), quantile(high), quantile(min(max(value, low), high))


def x_axis(
    drawing: Drawing, figure: Figure, places: Sequence[float], labels: Sequence[str],
    box: tuple[float, float, float, float], *, grid: bool = True,
) -> None:  # fmt: skip
    """Labels and title below a chart, and lines up from them. Where labels have no room, each second one is shown."""
    left, top, right, bottom = box
    deep = 0
    for place in _labels_with_room(places, [max(map(text_width, label.split("\n"))) for label in labels]):
        for deep, line in enumerate(labels[place].split("\n")):
            drawing.text(places[place], bottom + 17 + 13 * deep, line, "middle")
    if grid:
        drawing.add("path", "s-line", d="".join(f"M{number(at)},{number(top)}V{number(bottom)}" for at in places))
    drawing.height = bottom + 24 + 13 * deep
    for line in wrap_text(clean(figure.facts.get("x", "")), right - left, TITLE):
        drawing.text((left + right) / 2, drawing.height + TITLE, line, "middle", "f-ink", font_size=TITLE)
        drawing.height += LINE


def _labels_with_room(places: Sequence[float], widths: Sequence[float]) -> list[int]:
    """Which labels fit beside each other: of evenly spaced ones each second, third, ...; of others as many as can."""
    gaps = [b - a for a, b in pairwise(places)]
    if gaps and max(gaps) - min(gaps) < 0.5:
        for step in range(1, len(places)):
            shown = list(range(0, len(places), step))
            if all(places[b] - places[a] > (widths[a] + widths[b]) / 2 + 4 for a, b in pairwise(shown)):
                return shown
    shown, end = [], -math.inf
    for i, (place, width) in enumerate(zip(places, widths, strict=True)):
        if place - width / 2 > end:
            shown.append(i)
            end = place + width / 2 + 4
    return shown


class Rows:
    """Names down the left side and an axis of numbers below; `x` says where a number lies, `y` where a row."""

    def __init__(
        self, drawing: Drawing, figure: Figure, names: Sequence[str], span: tuple[float, float], *, row: float = ROW,
        right: float = 8.0, exact: bool = False, whole: bool = False,
    ) -> None:  # fmt: skip
        room = 0.45 * drawing.width
        wrapped = [wrap_text(name, room) if text_width(name) > room else [name] for name in names]
        several = any(map(self._is_wrapped, names, wrapped))
        self.row = min(max(row, 30.0) if several else row, TALLEST / max(1, len(names)))
        whole_names = [[name] for name in fit_names(names, room)]
        if several and self.row >= 22:  # two lines have room
            whole_names = [
                lines if self._is_wrapped(name, lines) else cut
                for name, lines, cut in zip(names, wrapped, whole_names, strict=True)
            ]
        self.top = drawing.height + 2
        bottom = self.top + self.row * len(names)
        left = max((text_width(line) for lines in whole_names for line in lines), default=0.0) + 13
        along = ticks(*span, drawing.width - left - right, outside=not exact, whole=whole)
        labels = tick_texts(along)
        half = max((text_width(label) / 2 for label in labels[-1:]), default=0.0)
        self.left, self.right = left, drawing.width - max(right, half)
        self.span = span if exact or len(along) < 2 else (along[0], along[-1])
        places = [self.x(value) for value in along]
        x_axis(drawing, figure, places, labels, (self.left, self.top, self.right, bottom))
        for place in places_with_room(len(names), self.row):
            lines = whole_names[place]
            for i, line in enumerate(lines):
                drawing.text(left - 8, self.y(place) + 4 + 12 * (i - (len(lines) - 1) / 2), line, "end")

    @staticmethod
    def _is_wrapped(name: str, lines: Sequence[str]) -> bool:
        """Whether a name fits in two lines, with nothing of it cut."""
        return len(lines) == 2 and " ".join(lines) == " ".join(name.split())

    def x(self, value: float) -> float:
        """Where a number lies from the left."""
        low, high = self.span
        return self.left + (self.right - self.left) * (value - low) / (high - low)

    def y(self, place: int) -> float:
        """The middle of a row, from the top."""
        return self.top + self.row * (place + 0.5)


def _tip(figure: Figure, x: tuple[float, ...], y: tuple[float, ...], name: str = "", count: float | None = None) -> str:
    """A tooltip: a name, the numbers or ranges at both axes, and how many rows they stand for."""
    lines = [name] if name else []
    for side, values in (("x", x), ("y", y)):
        lines.append(f"{figure.facts[side]}: {' to '.join(map(short_text, values))}")
    return "\n".join(lines if count is None else [*lines, f"count: {count:,.0f}"])


def _points(drawing: Drawing, axes: Axes, figure: Figure) -> None:
    """Points, or cells that are the darker the more points they hold."""
    xs, ys = _numbers(figure, "x"), _numbers(figure, "y")
    if "count" in figure.columns:
        ends, tops, counts = (_numbers(figure, name) for name in ("x2", "y2", "count"))
        shades = 0.12 + 0.88 * np.log1p(counts) / np.log1p(counts.max())
        for x, y, x2, y2, count, shade in zip(xs, ys, ends, tops, counts, shades, strict=True):
            drawing.add(
                "rect", "f-c1", _tip(figure, (x, x2), (y, y2), count=count),
                fill_opacity=f"{shade:.2f}", x=axes.x(x), y=axes.y(y2), width=axes.x(x2) - axes.x(x),
                height=axes.y(y) - axes.y(y2),
            )  # fmt: skip
        return
    few = len(xs) <= FEW
    drawing.parts.append(f'<g class="f-c1" fill-opacity="{0.6 if few else 0.4}">')
    for x, y in zip(xs.tolist(), ys.tolist(), strict=True):
        tip = _tip(figure, (x,), (y,)) if few else ""
        drawing.add("circle", "", tip, cx=axes.x(x), cy=axes.y(y), r=3.3 if few else 2.4)
    drawing.parts.append("</g>")


def agreement(drawing: Drawing, figure: Figure) -> None:
    """Predicted against true on equal axes, with the line of identity."""
    low, high = span_of(*(_numbers(figure, name) for name in ("x", "y", "x2", "y2") if name in figure.columns))
    pad = 0.03 * (high - low)
    span = (low - pad if low < 0 else max(0.0, low - pad), high + pad)
    axes = Axes(drawing, figure, span, span, exact="xy")
    drawing.line("s-soft", axes.left, axes.bottom, axes.right, axes.top, stroke_dasharray=DASHED)
    _points(drawing, axes, figure)


def points(drawing: Drawing, figure: Figure) -> None:
    """Points on axes of their own; where the facts say `zero`, both axes have 0 in them, marked by dashed lines."""
    zero = [0.0] if figure.facts.get("zero") else []
    spans = []
    for names in (("x", "x2"), ("y", "y2")):
        low, high = span_of(*(_numbers(figure, name) for name in names if name in figure.columns), *zero)
        pad = 0.04 * (high - low)
        spans.append((low - pad, high + pad))
    axes = Axes(drawing, figure, *spans, exact="xy")
    if zero:
        drawing.line("s-soft", axes.left, axes.y(0.0), axes.right, axes.y(0.0), stroke_dasharray=DASHED)
        drawing.line("s-soft", axes.x(0.0), axes.bottom, axes.x(0.0), axes.top, stroke_dasharray=DASHED)
    _points(drawing, axes, figure)


def bland_altman(drawing: Drawing, figure: Figure) -> None:
    """Differences against means with the limits of agreement, each named at its line where there is room."""
    levels = [float(figure.facts[name]) for name in ("low", "bias", "high")]
    tops, ends = ([_numbers(figure, name)] if name in figure.columns else [] for name in ("y2", "x2"))
    low, high = span_of(_numbers(figure, "y"), *tops, levels, 0.0)
    pad = 0.09 * (high - low)  # room for the name below the lowest line
    axes = Axes(drawing, figure, span_of(_numbers(figure, "x"), *ends), (low - pad, high + pad), exact="y")
    _points(drawing, axes, figure)
    for level, name, below in zip(levels, ("−1.96 sd", "mean", "+1.96 sd"), (13, -5, -5), strict=True):
        y = axes.y(level)
        drawing.line(
            "s-c2", axes.left, y, axes.right, y, stroke_width=1.5, stroke_dasharray="" if name == "mean" else DASHED
        )
        if name != "mean" or axes.y(levels[1]) - axes.y(levels[2]) > 18:
            drawing.text(axes.right - 2, y + below, f"{name}: {short_text(level)}", "end", "f-ink halo")


def spread(drawing: Drawing, figure: Figure) -> None:
    """Median, middle half and middle 80 % of each group of rows, side by side."""
    lows, highs = (map(short_text, _numbers(figure, name).tolist()) for name in ("low", "high"))
    ranges = list(zip(lows, highs, strict=True))
    parts = [_numbers(figure, name) for name in ("p10", "p25", "p50", "p75", "p90")]
    axes = Axes(
        drawing, figure, (0.0, float(len(figure))), span_of(*parts, 0.0), marks=[i + 0.5 for i in range(len(figure))],
        labels=[f"{low}–\n{high}" for low, high in ranges], grid=False,
    )  # fmt: skip
    drawing.line("s-soft", axes.left, axes.y(0.0), axes.right, axes.y(0.0), stroke_dasharray=DASHED)
    wide = min(30.0, 0.6 * (axes.right - axes.left) / len(figure))
    for i, (low, high) in enumerate(ranges):
        tip = f"{figure.facts['x']}: {low} to {high}\nmedian {short_text(parts[2][i])}"
        tip += f"\nmiddle half {short_text(parts[1][i])} to {short_text(parts[3][i])}"
        p10, p25, p50, p75, p90 = (axes.y(part[i]) for part in parts)
        x = axes.x(i + 0.5)
        drawing.line("s-c1", x, p10, x, p90, stroke_width=1.5)
        drawing.add(
            "rect", "f-c1 s-c1", tip, fill_opacity="0.35", x=x - wide / 2, y=p75, width=wide, height=p25 - p75,
        )  # fmt: skip
        drawing.line("s-c2", x - wide / 2, p50, x + wide / 2, p50, stroke_width=2.5)


def histogram(drawing: Drawing, figure: Figure) -> None:
    """Counts in bins; series are stacked, each fainter than the one below it."""
    low, high, count = (_numbers(figure, name) for name in ("low", "high", "count"))
    series, names = _names(figure)
    colours, reached = _colours(names), dict[float, float]()
    tops = np.zeros(len(figure))
    for i in range(len(figure)):
        reached[low[i]] = tops[i] = reached.get(low[i], 0.0) + count[i]
    shade = {name: f"{max(0.3, 1 - 0.4 * place):g}" for place, name in enumerate(names)}

    def symbol(place: int, x: float, y: float) -> None:
        name = names[place]
        drawing.add("rect", f"f-{colours[name]}", fill_opacity=shade[name], x=x - 2, y=y - 6, width=12.0, height=12.0)

    if "series" in figure.columns:
        drawing.legend(names, symbol)
    axes = Axes(drawing, figure, span_of(low, high), span_of(tops, 0.0), whole="y", grid=False)
    for i in np.flatnonzero(count).tolist():
        tip = f"{short_text(low[i])} to {short_text(high[i])}: {count[i]:,.0f} {series[i]}".strip()
        drawing.add(
            "rect", f"f-{colours[series[i]]}", tip, fill_opacity=shade[series[i]], x=axes.x(low[i]) + 0.3,
            y=axes.y(tops[i]), width=max(0.5, axes.x(high[i]) - axes.x(low[i]) - 0.6),
            height=axes.y(tops[i] - count[i]) - axes.y(tops[i]),
        )  # fmt: skip


def curves(drawing: Drawing, figure: Figure) -> None:
    """Lines by series, with a band where they have an interval."""
    facts, series = figure.facts, _names(figure)[0]
    _line_legend(drawing, figure)
    xs, ys = _numbers(figure, "x"), _numbers(figure, "y")
    ends = [_numbers(figure, name) for name in ("low", "high") if name in figure.columns]
    unit, probit = bool(facts.get("unit")), facts.get("scale") == "probit"
    axes = Axes(
        drawing, figure, (0.0, 1.0) if unit else span_of(xs, facts.get("ticks", [])),
        (0.0, 1.0) if unit else span_of(ys, *ends), exact="xy" if unit else "", marks=facts.get("ticks") or (),
        labels=[f"{100 * mark:g} %" for mark in facts["ticks"]] if probit else (),
    )  # fmt: skip
    if facts.get("diagonal"):
        drawing.line("s-soft", axes.left, axes.bottom, axes.right, axes.top, stroke_dasharray=DASHED)
    rows = np.arange(len(figure))
    _draw_lines(
        drawing, axes, figure, {name: rows[[each == name for each in series]] for name in dict.fromkeys(series)}
    )


def _line_legend(drawing: Drawing, figure: Figure) -> None:
    names = _names(figure)[1]
    colours = _colours(names)

    def symbol(place: int, x: float, y: float) -> None:
        dash = _dash(place)
        drawing.line(f"s-{colours[names[place]]}", x - 11, y, x + 11, y, stroke_width=2.0, stroke_dasharray=dash)

    if len(names) > 1:
        drawing.legend(names, symbol)


def _draw_lines(drawing: Drawing, axes: Axes, figure: Figure, lines: dict[str, Array]) -> None:
    """The line of each name through its rows, with the band around it and its points."""
    facts, c = figure.facts, figure.columns
    xs, ys = _numbers(figure, "x").tolist(), _numbers(figure, "y").tolist()
    colours = _colours(lines)
    for place, (name, rows) in enumerate(lines.items()):
        colour, x = colours[name], [xs[i] for i in rows]
        if "low" in c:
            low, high = (_numbers(figure, end)[rows] for end in ("low", "high"))
            band = axes.path([*x, *x[::-1]], [*high, *low[::-1]])
            drawing.add("path", f"f-{colour}", d=f"{band}z", fill_opacity="0.18")
        path = axes.path(x, [ys[i] for i in rows], steps=bool(facts.get("steps")))
        dash = _dash(place)
        drawing.add("path", f"s-{colour}", name, d=path, stroke_width=1.8, stroke_dasharray=dash)
    if len(xs) > FEW and not facts.get("points"):
        return
    for name, rows in lines.items():
        drawing.parts.append(f'<g class="f-{colours[name]}" fill-opacity="{int(bool(facts.get("points")))}">')
        for i in rows:
            tip = _tip(figure, (xs[i],), (ys[i],), name)
            drawing.add("circle", "", tip, cx=axes.x(xs[i]), cy=axes.y(ys[i]), r=3.5)
        drawing.parts.append("</g>")


def traces(drawing: Drawing, figure: Figure) -> None:
    """A small panel of lines per name, on equal axes, as many side by side as there is room for."""
    panels, names = _names(figure, "panel")
    series = _names(figure)[0]
    _line_legend(drawing, figure)
    across = max(1, min(len(names), int(drawing.width // 300)))
    wide = (drawing.width - 24 * (across - 1)) / across
    spans = span_of(_numbers(figure, "x")), span_of(_numbers(figure, "y"), 0.0)
    pointed = Figure(figure.name, figure.chart, figure.title, figure.columns, {**figure.facts, "points": True})
    top = drawing.height + 4
    for place, name in enumerate(names):
        panel = Drawing(wide)
        panel.text(0, TITLE, fit_names([name], wide, TITLE)[0], kind="f-ink", font_size=TITLE, font_weight="600")
        panel.height = LINE + 3
        axes = Axes(panel, figure, *spans, exact="x", whole="x", high=120.0)
        inside = [i for i, each in enumerate(panels) if each == name]
        lines = {each: np.array([i for i in inside if series[i] == each], int) for each in dict.fromkeys(series)}
        _draw_lines(panel, axes, pointed, lines)
        x, y = (place % across) * (wide + 24), top + (place // across) * (panel.height + 14)
        drawing.parts += [f'<g transform="translate({number(x)} {number(y)})">', *panel.parts, "</g>"]
        drawing.height = y + panel.height


def reliability(drawing: Drawing, figure: Figure) -> None:
    """How often it was right against confidence; points are as large as their bins are full."""
    axes = Axes(drawing, figure, (0.0, 1.0), (0.0, 1.0), exact="xy")
    drawing.line("s-soft", axes.left, axes.bottom, axes.right, axes.top, stroke_dasharray=DASHED)
    xs, ys, counts = (_numbers(figure, name) for name in ("x", "y", "count"))
    drawing.add("path", "s-c1", d=axes.path(xs, ys), stroke_width=1.6)
    for x, y, count in zip(xs, ys, counts, strict=True):
        tip = _tip(figure, (x,), (y,), count=count)
        size = math.sqrt((20 + 300 * count / counts.max()) / math.pi)
        drawing.add("circle", "f-c1", tip, fill_opacity="0.85", cx=axes.x(x), cy=axes.y(y), r=size)


def plane(drawing: Drawing, figure: Figure) -> None:
    """Points by sequence over lines of equal HOTA, whose square is the product of both axes."""
    series, names = _names(figure)
    xs, ys = _numbers(figure, "x"), _numbers(figure, "y")
    drawing.legend(names, lambda place, x, y: drawing.marker(place, f"f-c{place + 1}", x, y))
    axes = Axes(drawing, figure, (0.0, 1.0), (0.0, 1.0), exact="xy")
    for level in (0.2, 0.4, 0.6, 0.8):
        along = np.linspace(level * level, 1, 40)
        drawing.add("path", "s-soft", d=axes.path(along, level * level / along), stroke_dasharray="4 4")
        drawing.text(axes.right - 3, axes.y(level * level) - 5, f"{level:g}", "end", "f-soft halo")
    for i, name in enumerate(series):
        label = figure.columns["name"][i] if "name" in figure.columns else name
        tip = _tip(figure, (xs[i],), (ys[i],), label)
        drawing.marker(names.index(name), f"f-c{names.index(name) + 1}", axes.x(xs[i]), axes.y(ys[i]), 4.5, tip)


def matrix(drawing: Drawing, figure: Figure) -> None:
    """Cells shaded by share, with the number inside where there is room."""
    (row, rows), (column, columns) = _names(figure, "row"), _names(figure, "column")
    titles = {side: clean(figure.facts[side]) for side in "xy"}
    names, heads = fit_names(rows, 0.3 * drawing.width), fit_names(columns, 110)
    left = max(map(text_width, [*names, titles["y"]])) + 10
    slant = 0.71 * max(map(text_width, heads))  # of names that are turned by 45 degrees
    size = min(56.0, max(6.0, (drawing.width - left - slant) / max(1.0, len(columns) - 0.5)))
    turned = any(text_width(head) + 6 > size for head in heads)
    top = LINE + 8 + (slant + 4 if turned else LABEL)
    wide = left + size * len(columns)
    drawing.text(left, TITLE, titles["x"], kind="f-ink", font_size=TITLE)
    drawing.text(left - 8, top - 4, titles["y"], "end", "f-ink", font_size=TITLE)
    for place in places_with_room(len(columns), 0.71 * size if turned else size):
        x = left + (place + 0.5) * size
        turn = f"rotate(-45 {number(x)} {number(top - 6)})" if turned else ""
        drawing.text(x, top - 6, heads[place], "start" if turned else "middle", transform=turn)
    for place in places_with_room(len(rows), size):
        drawing.text(left - 8, top + (place + 0.5) * size + 4, names[place], "end")
    texts = list(map(str, figure.columns["text"]))
    letters = min(LABEL, (size - 3) / max(1.0, 0.62 * max(map(len, texts))))
    for i, share in enumerate(_numbers(figure, "share").tolist()):
        x, y = left + columns.index(column[i]) * size, top + rows.index(row[i]) * size
        shade = 0.04 + 0.91 * (share if math.isfinite(share) else 0.0)
        tip = f"{titles['y']}: {row[i]}\n{titles['x']}: {column[i]}\n{texts[i]} ({100 * share:.3g} %)"
        link = {"data_row": escape(row[i]), "data_column": escape(column[i])} if figure.name == "confusion" else {}
        drawing.add("rect", "f-c1", tip, fill_opacity=f"{shade:.2f}", x=x, y=y, width=size - 1, height=size - 1, **link)
        if letters >= 7.5 and (texts[i] or link):
            ink = "f-paper" if share > 0.7 else "f-ink"
            middle = y + size / 2 + 0.35 * letters
            drawing.text(x + size / 2, middle, texts[i], "middle", ink, font_size=letters, **link)
    drawing.width = min(drawing.width, wide + (max(0.0, slant - size / 2) if turned else 0.0))
    drawing.height = top + size * len(rows) + 2


def intervals(drawing: Drawing, figure: Figure) -> None:
    """Values with their intervals, a row each: slices, differences, prompts. `at` is the line to compare with."""
    (name, names), (series, groups) = _names(figure, "name"), _names(figure)
    value, low, high = (_numbers(figure, column) for column in ("value", "low", "high"))
    colours, at = _colours(groups), figure.facts.get("at")
    shape = {group: MEANT_SHAPES.get(group, place) for place, group in enumerate(groups)}
    if "series" in figure.columns:
        drawing.legend(groups, lambda i, x, y: drawing.marker(shape[groups[i]], f"f-{colours[groups[i]]}", x, y))
    beside = len(names) < len(figure) and len(groups) > 1  # several points per name, one below the other
    row = max(ROW, 11.0 * len(groups) + 6) if beside else ROW
    rows = Rows(drawing, figure, names, span_of(value, low, high, [] if at is None else at), row=row)
    if at is not None:
        drawing.line(
            "s-soft", rows.x(at), rows.top, rows.x(at), rows.top + rows.row * len(names), stroke_dasharray=DASHED
        )
    step = min(11.0, rows.row / len(groups)) if beside else 0.0
    for i, group in enumerate(series):
        y = rows.y(names.index(name[i])) + step * (groups.index(group) - (len(groups) - 1) / 2)
        tip = f"{name[i]}\n{group}\n{short_text(value[i])}".replace("\n\n", "\n")
        if math.isfinite(value[i]) and low[i] < high[i]:
            tip += f" ({short_text(low[i])} to {short_text(high[i])})"
            drawing.line(f"s-{colours[group]}", rows.x(low[i]), y, rows.x(high[i]), y, stroke_width=2.0)
        drawing.marker(shape[group], f"f-{colours[group]}", rows.x(value[i]), y, 4.0, tip)


def bars(drawing: Drawing, figure: Figure) -> None:
    """A bar per name with its number beside it, and its interval where there is one."""
    c, names = figure.columns, _names(figure, "name")[0]
    value = _numbers(figure, "value")
    low, high = (_numbers(figure, end) if end in c else value for end in ("low", "high"))
    series, groups = _names(figure)
    colours = _colours(groups)
    if "series" in c:
        drawing.legend(groups, lambda i, x, y: drawing.add(
            "rect", f"f-{colours[groups[i]]}", x=x - 2, y=y - 6, width=12.0, height=12.0))  # fmt: skip
    texts = ["undefined" if text == "nan" else text for text in texts_alike(value.tolist())]
    room = max(map(text_width, texts)) + 10
    least, most = span_of(value, low, high, 0.0)
    rows = Rows(drawing, figure, names, (least, most), row=22.0, right=room, exact=True)
    zero = rows.x(0.0)
    for i, name in enumerate(names):
        y, end = rows.y(i), rows.x(value[i])
        held = f" ({short_text(low[i])} to {short_text(high[i])})" if low[i] < high[i] else ""
        link = {"data_name": escape(name)} if figure.name == "errors" else {}
        drawing.add(
            "rect", f"f-{colours[series[i]]}", f"{name}: {texts[i]}{held}", fill_opacity="0.55" if "low" in c else "1",
            x=min(zero, end), y=y - 0.36 * rows.row, width=abs(end - zero), height=0.72 * rows.row, **link,
        )  # fmt: skip
        if held:
            drawing.line("s-ink", rows.x(low[i]), y, rows.x(high[i]), y, stroke_width=1.4)
        if rows.row >= LABEL:
            drawing.text(np.nanmax([zero, end, rows.x(high[i])]) + 5, y + 4, texts[i], kind="f-ink")


def waterfall(drawing: Drawing, figure: Figure) -> None:
    """From one number to another: a point for each of both, and between them a bar for each change, end to end."""
    names = _names(figure, "name")[0]
    start, end = _numbers(figure, "start"), _numbers(figure, "end")
    texts = fit_names(list(map(clean, figure.columns["text"])), 0.2 * drawing.width)
    rows = Rows(drawing, figure, names, span_of(start, end), right=max(map(text_width, texts)) + 10)
    for i, name in enumerate(names):
        y, (left, right) = rows.y(i), sorted((rows.x(start[i]), rows.x(end[i])))
        tip, total = f"{name}: {texts[i]}", i in (0, len(names) - 1)
        if total:
            drawing.marker(3, "f-ink", right, y, 5.0, tip)
        else:
            kind = "f-c1" if end[i] >= start[i] else "f-c2"
            drawing.add(
                "rect", kind, tip, x=left, y=y - 0.32 * rows.row, width=max(1.5, right - left), height=0.64 * rows.row
            )
        if i < len(names) - 1:
            drawing.line("s-soft", rows.x(end[i]), y, rows.x(end[i]), rows.y(i + 1), stroke_dasharray="2 2")
        drawing.text(right + 8, y + 4, texts[i], kind="f-ink halo")


def timeline(drawing: Drawing, figure: Figure) -> None:
    """A bar per stretch of a true track under one name, and a tick per switch."""
    (row, tracks), (series, names) = _names(figure, "row"), _names(figure)
    start, end = _numbers(figure, "x"), _numbers(figure, "x2")
    colours = _colours(name for name in names if name != "missed") | {"missed": "c8"}
    drawing.text(0, TITLE, clean(figure.facts["y"]), kind="f-ink", font_size=TITLE)
    drawing.height = LINE + 4
    rows = Rows(drawing, figure, tracks, span_of(start, end), row=18.0, whole=True)
    for i, name in enumerate(series):
        y, x = rows.y(tracks.index(row[i])) - 0.36 * rows.row, rows.x(start[i])
        tip = f"{name}: {short_text(start[i])} to {short_text(end[i] - 1)}"
        drawing.add(
            "rect", f"f-{colours[name]}", tip, fill_opacity="0.25" if name == "missed" else "0.9", x=x, y=y,
            width=max(1.0, rows.x(end[i]) - x), height=0.72 * rows.row,
        )  # fmt: skip
        if figure.columns["event"][i] == "switch":
            drawing.line("s-ink", x, y - 2, x, y + 0.72 * rows.row + 2, stroke_width=2.5)


CHARTS: dict[str, Callable[[Drawing, Figure], None]] = {
    "agreement": agreement, "bars": bars, "bland_altman": bland_altman, "curves": curves, "histogram": histogram,
    "intervals": intervals, "matrix": matrix, "plane": plane, "points": points,
    "reliability": reliability, "spread": spread, "timeline": timeline, "traces": traces, "waterfall": waterfall,
}  # fmt: skip
