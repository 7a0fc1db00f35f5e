"""Charts that several tasks share: points and cells, spreads, histograms, bars, curves, matrices, intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.figure import Figure
from steelyard.render.charts.library import altair
from steelyard.render.charts.theme import BLUE, GREEN, GREY, HEIGHT, INK, ORANGE, PAPER, SERIES, SOFT, WIDTH

# Names that mean the same on every page have their own colour.
MEANT = {
    "better": GREEN, "worse": ORANGE, "no difference shown": GREY, "hit": BLUE, "false positive": ORANGE,
    "right": BLUE, "wrong": ORANGE,
}  # fmt: skip


def clean(text: Any) -> str:
    """A text that a picture can hold: no control characters."""
    return "".join(c if c.isprintable() else "\ufffd" for c in str(text))


def data(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Rows for a chart; undefined numbers are left out by it."""
    lists = [np.asarray(values).tolist() for values in columns.values()]
    rows = [dict(zip(columns, map(_plain, row), strict=True)) for row in zip(*lists, strict=True)]
    return altair().Data(values=rows)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    return None if isinstance(value, float) and not np.isfinite(value) else value


def axis_x(title: str, field: str = "x:Q", **kwargs: Any) -> Any:
    """An axis of numbers, as wide as its values."""
    alt = altair()
    scale = kwargs.pop("scale", alt.Scale(zero=False, nice=True))
    return alt.X(field, title=clean(title), scale=scale, axis=alt.Axis(tickCount=6, **kwargs))


def axis_y(title: str, field: str = "y:Q", **kwargs: Any) -> Any:
    """The same, upward."""
    alt = altair()
    scale = kwargs.pop("scale", alt.Scale(zero=False, nice=True))
    return alt.Y(field, title=clean(title), scale=scale, axis=alt.Axis(tickCount=6, **kwargs))


def cloud(figure: Figure, x: Any, y: Any) -> Any:
    """Points, or cells shaded by how many they hold."""
    alt = altair()
    base = alt.Chart(data(figure.columns)).properties(width=WIDTH, height=HEIGHT)
    if "count" in figure.columns:
        shade = alt.Opacity("count:Q", scale=alt.Scale(type="log", range=[0.12, 1]), legend=None)
        return base.mark_rect(color=BLUE).encode(x=x, y=y, x2="x2:Q", y2="y2:Q", opacity=shade)
    few = len(figure) <= 200
    return base.mark_circle(color=BLUE, size=34 if few else 18, opacity=0.6 if few else 0.4).encode(x=x, y=y)


def line_at(values: Mapping[str, Sequence[float]], **mark: Any) -> Any:
    """A straight line between two points."""
    alt = altair()
    return alt.Chart(data(values)).mark_line(**{"color": INK, "strokeWidth": 1.2, **mark}).encode(x="x:Q", y="y:Q")


def rule_at(y: float, **mark: Any) -> Any:
    """A level."""
    alt = altair()
    return alt.Chart(data({"y": [y]})).mark_rule(**{"color": INK, "strokeWidth": 1.2, **mark}).encode(y="y:Q")


def agreement(figure: Figure) -> Any:
    """Predicted against true on equal axes, with the line of identity."""
    alt = altair()
    columns = {name: np.asarray(values, dtype=float) for name, values in figure.columns.items()}
    ends = np.concatenate([columns[n] for n in ("x", "y", "x2", "y2") if n in columns])
    low, high = float(ends.min()), float(ends.max())
    pad = 0.03 * (high - low) or 1.0
    scale = alt.Scale(domain=[low - pad if low < 0 else max(0.0, low - pad), high + pad], nice=False, zero=False)
    chart = cloud(figure, axis_x(figure.facts["x"], scale=scale), axis_y(figure.facts["y"], scale=scale))
    ends_line = [scale.domain[0], scale.domain[1]]
    identity = line_at({"x": ends_line, "y": ends_line}, color=SOFT, strokeDash=[5, 4])
    return alt.layer(identity, chart)


def bland_altman(figure: Figure) -> Any:
    """Differences against means with the limits of agreement, each named at its line."""
    alt, facts = altair(), figure.facts
    chart = cloud(figure, axis_x(facts["x"]), axis_y(facts["y"]))
    levels = {"y": [facts["high"], facts["bias"], facts["low"]]}
    texts = [f"+1.96 sd: {facts['high']:.3g}", f"mean: {facts['bias']:.3g}", f"−1.96 sd: {facts['low']:.3g}"]
    names = (
        alt.Chart(data({**levels, "text": texts}))
        .mark_text(align="right", dy=-6, color=INK, fontSize=11, stroke=PAPER, strokeWidth=0)
        .encode(x=alt.value(WIDTH), y="y:Q", text="text:N")
    )
    return alt.layer(
        rule_at(0.0, color=GREY, strokeWidth=0.8),
        chart,
        rule_at(facts["bias"], color=ORANGE, strokeWidth=1.8),
        rule_at(facts["low"], color=ORANGE, strokeDash=[5, 4]),
        rule_at(facts["high"], color=ORANGE, strokeDash=[5, 4]),
        names,
    )


def spread(figure: Figure) -> Any:
    """Median, middle half and middle 80 % in each bin of x."""
    alt, c = altair(), figure.columns
    names = [f"{low:.3g}–{high:.3g}" for low, high in zip(c["low"], c["high"], strict=True)]
    base = alt.Chart(data({"name": names, **{k: c[k] for k in ("p10", "p25", "p50", "p75", "p90")}})).properties(
        width=WIDTH, height=HEIGHT
    )
    x = alt.X(
        "name:N",
        title=clean(figure.facts["x"]),
        sort=None,
        axis=alt.Axis(labelAngle=-30 if len(names) > 4 else 0, grid=False),
    )
    y = axis_y(figure.facts["y"], "p10:Q")
    return alt.layer(
        rule_at(0.0, color=SOFT, strokeDash=[5, 4]),
        base.mark_rule(color=BLUE, strokeWidth=1.5).encode(x=x, y=y, y2="p90:Q"),
        base.mark_bar(color=BLUE, size=22, fillOpacity=0.35, stroke=BLUE).encode(x=x, y="p25:Q", y2="p75:Q"),
        base.mark_tick(color=ORANGE, size=22, thickness=2.5).encode(x=x, y="p50:Q"),
    )


def histogram(figure: Figure) -> Any:
    """Counts in bins; a column `series` stacks them."""
    alt, c = altair(), figure.columns
    columns = {"low": c["low"], "high": c["high"], "base": [], "top": []}
    reached: dict[float, float] = {}
    for low, count in zip(c["low"], c["count"], strict=True):
        columns["base"].append(reached.get(low, 0.0))
        reached[low] = reached.get(low, 0.0) + float(count)
        columns["top"].append(reached[low])
    if "series" in c:
        columns["series"] = c["series"]
    chart = alt.Chart(data(columns)).properties(width=WIDTH, height=HEIGHT)
    x = axis_x(figure.facts["x"], "low:Q", grid=False)
    y = alt.Y("base:Q", title=clean(figure.facts.get("y", "count")), axis=alt.Axis(tickCount=5))
    colour: Any = series_colour(c["series"]) if "series" in c else alt.value(BLUE)
    return chart.mark_rect(stroke=PAPER, strokeWidth=0.5).encode(x=x, x2="high:Q", y=y, y2="top:Q", color=colour)


def series_colour(series: Sequence[Any], *, legend: bool = True) -> Any:
    """Colours for a few names, in the order in which they come."""
    alt = altair()
    names = list(dict.fromkeys(clean(name) for name in series))
    colours = [MEANT.get(name, SERIES[i % len(SERIES)]) for i, name in enumerate(names)]
    scale = alt.Scale(domain=names, range=colours)
    shown = alt.Legend(columns=3 if len(names) > 3 else 0) if legend else None
    return alt.Color("series:N", scale=scale, legend=shown, sort=None)


def intervals(figure: Figure) -> Any:
    """Values with their intervals, one per row: slices, differences, prompts. `at` draws the line to compare with."""
    alt, c = altair(), figure.columns
    rows = len(figure)
    base = alt.Chart(data(c)).properties(width=WIDTH - 60, height=max(60, min(24 * rows, 1200)))
    y = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=170, grid=False))
    x = axis_x(figure.facts.get("x", ""), "value:Q")
    colour: Any = alt.value(BLUE)
    if "series" in c:
        colour = series_colour(c["series"])
    layers = []
    if figure.facts.get("at") is not None:
        at = alt.Chart(data({"value": [figure.facts["at"]]}))
        layers.append(at.mark_rule(color=SOFT, strokeDash=[5, 4], strokeWidth=1.2).encode(x="value:Q"))
    twice = "series" in c and len(set(c["name"])) < rows  # several points per name: beside each other
    offset = {"yOffset": alt.YOffset("series:N", sort=None)} if twice else {}
    layers.append(base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colour, **offset))
    layers.append(base.mark_circle(size=70, opacity=1).encode(x=x, y=y, color=colour, **offset))
    return alt.layer(*layers)


def bars(figure: Figure) -> Any:
    """One bar a name, with its number beside it."""
    alt, c = altair(), figure.columns
    texts = [f"{v:.3g}" if np.isfinite(v) else "undefined" for v in np.asarray(c["value"], dtype=float)]
    base = alt.Chart(data({**c, "text": texts})).properties(
        width=WIDTH - 80, height=max(60, min(22 * len(figure), 1600))
    )
    y = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=170, grid=False))
    x = axis_x(figure.facts.get("x", ""), "value:Q", scale=alt.Scale(zero=True, nice=True))
    colour: Any = series_colour(c["series"]) if "series" in c else alt.value(BLUE)
    return alt.layer(
        base.mark_bar(height={"band": 0.72}).encode(x=x, y=y, color=colour),
        base.mark_text(align="left", dx=4).encode(x=x, y=y, text="text:N"),
    )


def curves(figure: Figure) -> Any:
    """Lines by series; a band where there is an interval; `diagonal` draws what chance would give."""
    alt, c, facts = altair(), figure.columns, figure.facts
    base = alt.Chart(data(c)).properties(width=WIDTH, height=HEIGHT)
    unit = alt.Scale(domain=[0, 1], nice=False) if facts.get("unit") else alt.Scale(zero=False, nice=True)
    x, y = axis_x(facts["x"], scale=unit), axis_y(facts["y"], scale=unit)
    if facts.get("ticks") is not None:
        x = alt.X("x:Q", title=clean(facts["x"]), scale=alt.Scale(type="log", nice=False),
                  axis=alt.Axis(values=list(facts["ticks"]), format="d"))  # fmt: skip
    many = "series" in c and len(set(c["series"])) > 1
    colour: Any = series_colour(c["series"]) if many else alt.value(BLUE)
    layers = []
    if facts.get("diagonal"):
        layers.append(line_at({"x": [0.0, 1.0], "y": [0.0, 1.0]}, color=SOFT, strokeDash=[5, 4]))
    if "low" in c:
        band = base.mark_area(opacity=0.18).encode(
            x=x, y=alt.Y("low:Q", title=clean(facts["y"])), y2="high:Q", color=colour
        )
        layers.append(band)
    order = {"order": "place:Q"} if "place" in c else {}
    layers.append(
        base.mark_line(strokeWidth=1.8, interpolate="step-before" if facts.get("steps") else "linear").encode(
            x=x, y=y, color=colour, **order
        )
    )
    if facts.get("points"):
        layers.append(base.mark_circle(size=40, opacity=1).encode(x=x, y=y, color=colour))
    return alt.layer(*layers)


def matrix(figure: Figure) -> Any:
    """A matrix: cells shaded by share, with the number inside where there is room."""
    alt, c = altair(), figure.columns
    rows = list(dict.fromkeys(map(clean, c["row"])))
    columns = list(dict.fromkeys(map(clean, c["column"])))
    size = max(8, min(46, 420 // max(1, len(columns))))
    base = alt.Chart(data(c)).properties(width=size * len(columns), height=size * len(rows))
    x = alt.X("column:N", sort=None, title=clean(figure.facts["x"]),
              axis=alt.Axis(orient="top", labelAngle=-45 if len(columns) > 4 else 0, grid=False))  # fmt: skip
    y = alt.Y("row:N", sort=None, title=clean(figure.facts["y"]), axis=alt.Axis(grid=False))
    shade = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.04, 0.95]), legend=None)
    layers = [base.mark_rect(color=BLUE, stroke=PAPER, strokeWidth=1).encode(x=x, y=y, opacity=shade)]
    if size >= 24:
        ink = alt.condition("datum.share > 0.75", alt.value(PAPER), alt.value(INK))
        layers.append(base.mark_text(fontSize=11 if size >= 30 else 9).encode(x=x, y=y, text="text:N", color=ink))
    return alt.layer(*layers)
