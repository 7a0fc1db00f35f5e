"""Detection against association, and the timeline of a sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.core.figure import Figure
from steelyard.render.charts.generic import axis_x, axis_y, clean, data, height_of, series_shape
from steelyard.render.charts.layout import fitting, text_width
from steelyard.render.charts.library import altair
from steelyard.render.charts.theme import BLUE, GREY, INK, ORANGE, SERIES, SOFT

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
