"""Charts by the chart library: points, cells, spreads, histograms, curves, matrices, bars, intervals and timelines.

`width` is that of the whole chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.figure import Figure
from steelyard.render.charts.layout import LABEL, NARROW, apart, fitting, legend_columns, text_width, ticks
from steelyard.render.charts.library import altair
from steelyard.render.charts.theme import BLUE, DASHES, GREEN, GREY, HEIGHT, INK, ORANGE, PAPER, SERIES, SHAPES, SOFT

# Names that mean the same on every page have their own colour, and their own shape for who sees no colours.
MEANT = {
    "better": GREEN, "worse": ORANGE, "no difference shown": GREY, "hit": BLUE, "false positive": ORANGE,
    "right": BLUE, "wrong": ORANGE,
}  # fmt: skip
MEANT_SHAPES = {"better": "triangle-up", "worse": "triangle-down", "no difference shown": "circle"}


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


def height_of(width: float) -> float:
    """How high a chart of this width is."""
    return HEIGHT if width >= NARROW else 220.0


def axis_x(title: str, width: float, field: str = "x:Q", **kwargs: Any) -> Any:
    """An axis of numbers, as wide as its values."""
    alt = altair()
    scale = kwargs.pop("scale", alt.Scale(zero=False, nice=True))
    axis = alt.Axis(**{"tickCount": max(3, int(width // 90)), **kwargs})
    return alt.X(field, title=_wrap_title(clean(title), width - 70), scale=scale, axis=axis)


def axis_y(title: str, field: str = "y:Q", **kwargs: Any) -> Any:
    """The vertical axis of a chart."""
    alt = altair()
    scale = kwargs.pop("scale", alt.Scale(zero=False, nice=True))
    title_lines = _wrap_title(clean(title), HEIGHT - 50)
    return alt.Y(field, title=title_lines, scale=scale, axis=alt.Axis(tickCount=6, **kwargs))


def _wrap_title(text: str, room: float) -> Any:
    """A title in as many lines as it needs."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and text_width(f"{lines[-1]} {word}", 12) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word if text_width(word, 12) <= room else fitting([word], room, 12)[0])
    return lines if len(lines) > 1 else (lines[0] if lines else "")


def names_axis(names: Sequence[str], width: float) -> tuple[Any, list[str], float]:
    """An axis of names, a row each, the names as they fit there, and how wide it is."""
    alt = altair()
    room = width * (0.36 if width >= NARROW else 0.4)
    short = fitting([clean(name) for name in names], room)
    extent = min(room, max((text_width(name) for name in short), default=0.0)) + 4
    axis = alt.Axis(grid=False, labelLimit=room + 40, minExtent=extent, labelOverlap=False)
    return alt.Y("name:N", sort=None, title=None, axis=axis), short, extent


def cloud(figure: Figure, x: Any, y: Any) -> Any:
    """Points, or cells shaded by how many they hold."""
    alt = altair()
    base = alt.Chart(data(figure.columns))
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


def agreement(figure: Figure, width: float) -> Any:
    """Predicted against true on equal axes, with the line of identity."""
    alt = altair()
    columns = {name: np.asarray(values, dtype=float) for name, values in figure.columns.items()}
    ends = np.concatenate([columns[n] for n in ("x", "y", "x2", "y2") if n in columns])
    low, high = float(ends.min()), float(ends.max())
    pad = 0.03 * (high - low) or 1.0
    scale = alt.Scale(domain=[low - pad if low < 0 else max(0.0, low - pad), high + pad], nice=False, zero=False)
    chart = cloud(figure, axis_x(figure.facts["x"], width, scale=scale), axis_y(figure.facts["y"], scale=scale))
    ends_line = [scale.domain[0], scale.domain[1]]
    identity = line_at({"x": ends_line, "y": ends_line}, color=SOFT, strokeDash=[5, 4])
    return alt.layer(identity, chart).properties(height=height_of(width))


def bland_altman(figure: Figure, width: float) -> Any:
    """Differences against means with the limits of agreement, each named at its line where there is room."""
    alt, facts = altair(), figure.facts
    height = height_of(width)
    seen = np.asarray([*figure.columns["y"], *figure.columns.get("y2", ()), facts["low"], facts["high"], 0.0], float)
    low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
    pad = 20 * (high - low) / height or 1.0  # so that a name below the lowest line has room
    scale = alt.Scale(domain=[low - pad, high + pad], nice=False, zero=False)
    chart = cloud(figure, axis_x(facts["x"], width), axis_y(facts["y"], scale=scale))
    names = [
        (facts["high"], _level("+1.96 sd", facts["high"]), -6),
        (facts["low"], _level("−1.96 sd", facts["low"]), 12),
    ]
    if (facts["high"] - facts["bias"]) / (high - low + 2 * pad) * height > 16:
        names.append((facts["bias"], _level("mean", facts["bias"]), -6))
    texts = [
        alt.Chart(data({"y": [at], "text": [text]}))
        .mark_text(align="right", dx=-2, dy=dy, color=INK, fontSize=LABEL)
        .encode(x=alt.value("width"), y="y:Q", text="text:N")
        for at, text, dy in names
    ]
    return alt.layer(
        rule_at(0.0, color=GREY, strokeWidth=0.8),
        chart,
        rule_at(facts["bias"], color=ORANGE, strokeWidth=1.8),
        rule_at(facts["low"], color=ORANGE, strokeDash=[5, 4]),
        rule_at(facts["high"], color=ORANGE, strokeDash=[5, 4]),
        *texts,
    ).properties(height=height)


def _level(name: str, value: float) -> str:
    return f"{name}: {value:.3g}".replace("-", "−")


def spread(figure: Figure, width: float) -> Any:
    """Median, middle half and middle 80 % in each bin of x."""
    alt, c = altair(), figure.columns
    names = [f"{low:.3g}–{high:.3g}" for low, high in zip(c["low"], c["high"], strict=True)]
    base = alt.Chart(data({"name": names, **{k: c[k] for k in ("p10", "p25", "p50", "p75", "p90")}}))
    room = (width - 60) / max(1, len(names))
    crowded = max(map(text_width, names), default=0) + 6 > room
    angle = -90 if room < 26 else -35
    axis = alt.Axis(labelAngle=angle if crowded else 0, grid=False, labelOverlap=False)
    x = alt.X("name:N", title=_wrap_title(clean(figure.facts["x"]), width - 70), sort=None, axis=axis)
    y = axis_y(figure.facts["y"], "p10:Q")
    size = min(22.0, 0.7 * room)
    return alt.layer(
        rule_at(0.0, color=SOFT, strokeDash=[5, 4]),
        base.mark_rule(color=BLUE, strokeWidth=1.5).encode(x=x, y=y, y2="p90:Q"),
        base.mark_bar(color=BLUE, size=size, fillOpacity=0.35, stroke=BLUE).encode(x=x, y="p25:Q", y2="p75:Q"),
        base.mark_tick(color=ORANGE, size=size, thickness=2.5).encode(x=x, y="p50:Q"),
    ).properties(height=height_of(width))


def histogram(figure: Figure, width: float) -> Any:
    """Counts in bins; a column `series` stacks them, each fainter than the one below it."""
    alt, c = altair(), short_series(figure.columns, width)
    columns = {"low": c["low"], "high": c["high"], "base": [], "top": []}
    reached: dict[float, float] = {}
    for low, count in zip(c["low"], c["count"], strict=True):
        columns["base"].append(reached.get(low, 0.0))
        reached[low] = reached.get(low, 0.0) + float(count)
        columns["top"].append(reached[low])
    if "series" in c:
        columns["series"] = c["series"]
    x = axis_x(figure.facts["x"], width, "low:Q", grid=False)
    y = alt.Y("base:Q", title=clean(figure.facts.get("y", "count")), axis=alt.Axis(tickCount=5, tickMinStep=1))
    encoded: dict[str, Any] = {"color": alt.value(BLUE)}
    if "series" in c:
        names = list(dict.fromkeys(map(clean, c["series"])))
        shades = alt.Scale(domain=names, range=[max(0.3, 1 - 0.4 * i) for i in range(len(names))])
        encoded = {"color": series_colour(c["series"], width)}
        encoded["fillOpacity"] = alt.FillOpacity("series:N", scale=shades, sort=None)
    chart = alt.Chart(data(columns)).properties(height=height_of(width))
    return chart.mark_rect(stroke=PAPER, strokeWidth=0.5).encode(x=x, x2="high:Q", y=y, y2="top:Q", **encoded)


def short_series(columns: Mapping[str, Any], width: float) -> Mapping[str, Any]:
    """The columns of a chart with names of series that fit its legend."""
    if "series" not in columns:
        return columns
    names = list(dict.fromkeys(map(clean, columns["series"])))
    short = dict(zip(names, fitting(names, min(260.0, width - 70)), strict=True))
    return {**columns, "series": [short[clean(name)] for name in columns["series"]]}


def series_colour(series: Sequence[Any], width: float, **legend: Any) -> Any:
    """Colours for a few names, in the order in which they come."""
    alt = altair()
    names = list(dict.fromkeys(clean(name) for name in series))
    colours = [MEANT.get(name, SERIES[i % len(SERIES)]) for i, name in enumerate(names)]
    shown = alt.Legend(columns=legend_columns(names, width), labelLimit=width, **legend)
    return alt.Color("series:N", scale=alt.Scale(domain=names, range=colours), legend=shown, sort=None)


def series_shape(series: Sequence[Any]) -> Any:
    """Shapes for the same names, so that they differ without colours too."""
    alt = altair()
    names = list(dict.fromkeys(clean(name) for name in series))
    shapes = [MEANT_SHAPES.get(name, SHAPES[i % len(SHAPES)]) for i, name in enumerate(names)]
    return alt.Shape("series:N", scale=alt.Scale(domain=names, range=shapes), sort=None)


def series_dash(series: Sequence[Any]) -> Any:
    """Dashes for the same names."""
    alt = altair()
    names = list(dict.fromkeys(clean(name) for name in series))
    dashes = [list(DASHES[i % len(DASHES)]) for i in range(len(names))]
    return alt.StrokeDash("series:N", scale=alt.Scale(domain=names, range=dashes), sort=None)


def curves(figure: Figure, width: float) -> Any:
    """Lines by series; a band where there is an interval; `diagonal` draws what chance would give."""
    alt, c, facts = altair(), short_series(figure.columns, width), figure.facts
    base = alt.Chart(data(c))
    unit = alt.Scale(domain=[0, 1], nice=False) if facts.get("unit") else alt.Scale(zero=False, nice=True)
    x, y = axis_x(facts["x"], width, scale=unit), axis_y(facts["y"], scale=unit)
    if facts.get("ticks") is not None:
        x = alt.X("x:Q", title=clean(facts["x"]), scale=alt.Scale(type="log", nice=False),
                  axis=alt.Axis(values=list(facts["ticks"]), format="d"))  # fmt: skip
    many = "series" in c and len(set(c["series"])) > 1
    encoded: dict[str, Any] = {"color": series_colour(c["series"], width, symbolSize=340) if many else alt.value(BLUE)}
    layers = []
    if facts.get("diagonal"):
        layers.append(line_at({"x": [0.0, 1.0], "y": [0.0, 1.0]}, color=SOFT, strokeDash=[5, 4]))
    if "low" in c:
        low = alt.Y("low:Q", title=clean(facts["y"]))
        layers.append(base.mark_area(opacity=0.18).encode(x=x, y=low, y2="high:Q", **encoded))
    more = {"order": "place:Q"} if "place" in c else {}
    if many:
        more["strokeDash"] = series_dash(c["series"])
    shape = "step-before" if facts.get("steps") else "linear"
    layers.append(base.mark_line(strokeWidth=1.8, interpolate=shape).encode(x=x, y=y, **encoded, **more))
    if facts.get("points"):
        layers.append(base.mark_circle(size=40, opacity=1).encode(x=x, y=y, **encoded))
    return alt.layer(*layers).properties(height=height_of(width))


def matrix(figure: Figure, width: float) -> Any:
    """A matrix: cells shaded by share, with the number inside where there is room."""
    alt, c = altair(), figure.columns
    rows = list(dict.fromkeys(map(clean, c["row"])))
    columns = list(dict.fromkeys(map(clean, c["column"])))
    names = dict(zip(rows, fitting(rows, 0.3 * width), strict=True))
    heads = dict(zip(columns, fitting(columns, 110), strict=True))
    side = max(map(text_width, names.values()), default=0) + 40
    over = 0.71 * max(map(text_width, heads.values()), default=0)  # of the names above, which are turned
    size = max(6.0, min(46.0, (width - side - over) / max(1, len(columns) - 0.5)))
    shown = {**c, "row": [names[clean(row)] for row in c["row"]], "column": [heads[clean(one)] for one in c["column"]]}
    base = alt.Chart(data(shown))
    flat = all(text_width(head) + 6 < size for head in heads.values())
    padding = {"left": 5, "top": 5, "bottom": 5, "right": 5 if flat else max(5.0, over - size / 2 + 5)}
    angle = 0 if flat else -45 if size >= 20 else -90
    x = alt.X("column:N", sort=None, title=clean(figure.facts["x"]),
              axis=alt.Axis(orient="top", labelAngle=angle, grid=False, labelOverlap=False,
                            values=apart(list(heads.values()), size),
                            minExtent=0 if flat else over / (0.71 if angle == -90 else 1) + 8))  # fmt: skip
    rows_axis = alt.Axis(grid=False, labelOverlap=False, values=apart(list(names.values()), size), minExtent=side - 30)
    y = alt.Y("row:N", sort=None, title=clean(figure.facts["y"]), axis=rows_axis)
    shade = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.04, 0.95]), legend=None)
    layers = [base.mark_rect(color=BLUE, stroke=PAPER, strokeWidth=1).encode(x=x, y=y, opacity=shade)]
    longest = max((len(str(text)) for text in c["text"]), default=0)
    letters = min(LABEL, (size - 3) / max(1.0, 0.62 * longest))
    if letters >= 7.5:
        ink = alt.condition("datum.share > 0.75", alt.value(PAPER), alt.value(INK))
        layers.append(base.mark_text(fontSize=letters).encode(x=x, y=y, text="text:N", color=ink))
    return alt.layer(*layers).properties(width=size * len(columns), height=size * len(rows), padding=padding)


ROW, TALLEST = 24.0, 1600.0


def intervals(figure: Figure, width: float) -> Any:
    """Values with their intervals, a row each: slices, differences, prompts. `at` draws the line to compare with."""
    alt = altair()
    distinct = list(dict.fromkeys(map(clean, figure.columns["name"])))
    y, short, side = names_axis(distinct, width)
    c = short_series(figure.columns, width - side)
    series = list(dict.fromkeys(c["series"])) if "series" in c else []
    twice = len(distinct) < len(figure) and len(series) > 1  # several points per name: beside each other
    place = dict(zip(distinct, short, strict=True))
    base = alt.Chart(data({**c, "name": [place[clean(name)] for name in c["name"]]}))
    each = max(ROW, 11.0 * len(series)) if twice else ROW
    x = axis_x(figure.facts.get("x", ""), width - side + 20, "value:Q", tickCount=max(3, int(width // 110)))
    encoded: dict[str, Any] = {"color": alt.value(BLUE)}
    shape: dict[str, Any] = {}
    if series:
        encoded, shape = {"color": series_colour(c["series"], width - side)}, {"shape": series_shape(c["series"])}
    layers = []
    if figure.facts.get("at") is not None:
        at = alt.Chart(data({"value": [figure.facts["at"]]}))
        layers.append(at.mark_rule(color=SOFT, strokeDash=[5, 4], strokeWidth=1.2).encode(x="value:Q"))
    if twice:
        encoded["yOffset"] = alt.YOffset("series:N", sort=[clean(name) for name in series])
    layers.append(base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q", y=y, **encoded))
    layers.append(base.mark_point(size=60, opacity=1, filled=True).encode(x=x, y=y, **encoded, **shape))
    return alt.layer(*layers).properties(height=max(60.0, min(each * len(distinct), TALLEST)))


def bars(figure: Figure, width: float) -> Any:
    """A bar per name with its number beside it, and its interval where there is one."""
    alt = altair()
    y, short, side = names_axis(figure.columns["name"], width)
    c = short_series(figure.columns, width - side)
    values = np.asarray(c["value"], dtype=float)
    texts = [f"{v:.3g}" if np.isfinite(v) else "undefined" for v in values]
    ends = np.where(np.isfinite(values), values, 0.0)
    if "high" in c:
        ends = np.fmax(ends, np.asarray(c["high"], dtype=float))
    low = min(0.0, float(np.nanmin(np.append(np.asarray(c.get("low", values), dtype=float), 0.0))))
    top = max(float(ends.max(initial=0.0)), 0.0) or 1.0
    plot = width * (0.6 if width >= NARROW else 0.5)
    room = max(map(text_width, texts), default=0.0) + 10
    reach = low + (top - low) / (1 - min(0.5, room / plot))  # so that the last number has room
    at = [value for value in ticks(low, top, plot - room) if value <= top + 1e-12]
    scale = alt.Scale(domain=[low, reach], nice=False)
    base = alt.Chart(data({**c, "name": short, "text": texts, "end": np.maximum(ends, 0.0).tolist()}))
    x = axis_x(figure.facts.get("x", ""), width - side + 20, "value:Q", scale=scale, values=at)
    colour: Any = series_colour(c["series"], width - side) if "series" in c else alt.value(BLUE)
    opacity = 0.55 if "low" in c else 1.0  # so that the interval is seen on the bar
    layers = [base.mark_bar(height={"band": 0.72}, opacity=opacity).encode(x=x, y=y, color=colour)]
    if "low" in c:
        ends_x = {"x": alt.X("low:Q", scale=scale), "x2": "high:Q"}
        layers.append(base.mark_rule(color=INK, strokeWidth=1.4).encode(**ends_x, y=y))
    end = alt.X("end:Q", scale=scale)
    layers.append(base.mark_text(align="left", dx=4).encode(x=end, y=y, text="text:N"))
    return alt.layer(*layers).properties(height=max(60.0, min(22.0 * len(figure), TALLEST)))


def reliability(figure: Figure, width: float) -> Any:
    """Share that was right against confidence; points as large as their bins are full."""
    alt = altair()
    base = alt.Chart(data(figure.columns))
    unit = alt.Scale(domain=[0, 1], nice=False)
    x, y = axis_x(figure.facts["x"], width, scale=unit), axis_y(figure.facts["y"], scale=unit)
    size = alt.Size("count:Q", scale=alt.Scale(range=[20, 320], zero=True), legend=None)
    return alt.layer(
        line_at({"x": [0.0, 1.0], "y": [0.0, 1.0]}, color=SOFT, strokeDash=[5, 4]),
        base.mark_line(color=BLUE, strokeWidth=1.6).encode(x=x, y=y),
        base.mark_circle(color=BLUE, opacity=0.85).encode(x=x, y=y, size=size),
    ).properties(height=height_of(width))


LEVELS = (0.2, 0.4, 0.6, 0.8)


def plane(figure: Figure, width: float) -> Any:
    """Points by sequence over lines of equal HOTA."""
    alt, c = altair(), figure.columns
    unit = alt.Scale(domain=[0, 1], nice=False)
    x, y = axis_x(figure.facts["x"], width, scale=unit), axis_y(figure.facts["y"], scale=unit)
    lines: dict[str, list[Any]] = {"x": [], "y": [], "level": []}
    for level in LEVELS:
        for at in np.linspace(level * level, 1, 40):
            lines["x"].append(float(at))
            lines["y"].append(float(level * level / at))
            lines["level"].append(f"HOTA {level:g}")
    back = (
        alt.Chart(data(lines))
        .mark_line(color=SOFT, strokeWidth=1, strokeDash=[4, 4])
        .encode(x=x, y=y, detail="level:N")
    )
    ends: dict[str, list[Any]] = {
        "x": [1.0] * len(LEVELS),
        "y": [level * level for level in LEVELS],
        "text": [f"{level:g}" for level in LEVELS],
    }
    names = (
        alt.Chart(data(ends))
        .mark_text(align="right", dx=-3, dy=-6, fontSize=10, color=GREY)
        .encode(x=x, y=y, text="text:N")
    )
    scale = alt.Scale(domain=["sequence", "all"], range=[BLUE, ORANGE])
    points = (
        alt.Chart(data(c))
        .mark_point(size=70, opacity=0.9, filled=True)
        .encode(x=x, y=y, color=alt.Color("series:N", scale=scale, sort=None), shape=series_shape(["sequence", "all"]))
    )
    return alt.layer(back, names, points).properties(height=height_of(width))


def timeline(figure: Figure, width: float) -> Any:
    """A bar per stretch of a true track under one name, and a tick per switch."""
    alt, c = altair(), figure.columns
    tracks = list(dict.fromkeys(map(clean, c["row"])))
    names = [name for name in dict.fromkeys(map(clean, c["series"])) if name != "missed"]
    colours = [GREY if name == "missed" else SERIES[names.index(name) % len(SERIES)] for name in ["missed", *names]]
    scale = alt.Scale(domain=["missed", *names], range=colours)
    short = dict(zip(tracks, fitting(tracks, 110), strict=True))
    base = alt.Chart(data({**c, "row": [short[clean(row)] for row in c["row"]]}))
    axis = alt.Axis(grid=False, labelLimit=120, minExtent=max(map(text_width, short.values()), default=0) + 4)
    y = alt.Y("row:N", sort=list(short.values()), title=clean(figure.facts["y"]), axis=axis)
    x = axis_x(figure.facts["x"], width, "x:Q")
    opacity = alt.condition("datum.series == 'missed'", alt.value(0.25), alt.value(0.9))
    bars = base.mark_bar(height={"band": 0.7}).encode(
        x=x,
        x2="x2:Q",
        y=y,
        color=alt.Color("series:N", scale=scale, legend=None),
        opacity=opacity,
    )
    ticks = (
        base.transform_filter("datum.event == 'switch'").mark_tick(color=INK, thickness=2.5, size=16).encode(x=x, y=y)
    )
    return alt.layer(bars, ticks).properties(height=max(60, min(18 * len(tracks), 900)))


def traces(figure: Figure, width: float) -> Any:
    """A small panel per sequence, as many side by side as there is room for."""
    alt, c = altair(), figure.columns
    panels = list(dict.fromkeys(map(clean, c["panel"])))
    across = max(1, min(len(panels), int(width // 300)))
    base = alt.Chart(data(c)).properties(width=(width - 62) / across - 22, height=130)
    x = alt.X("x:Q", title=clean(figure.facts["x"]), axis=alt.Axis(tickMinStep=1, tickCount=5, format="d"))
    y = alt.Y("y:Q", title=clean(figure.facts["y"]), scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=4))
    colour = series_colour(c["series"], width)
    dash = alt.StrokeDash(
        "series:N", scale=alt.Scale(domain=["true", "predicted"], range=[[1, 0], [5, 3]]), legend=None
    )
    layers = alt.layer(
        base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, strokeDash=dash),
        base.mark_circle(size=28, opacity=1).encode(x=x, y=y, color=colour),
    )
    header = alt.Header(title=None, labelLimit=width / across - 30)
    return layers.facet(facet=alt.Facet("panel:N", sort=panels, header=header), columns=across, spacing=22)
