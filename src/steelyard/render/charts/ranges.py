"""Values by name: bars, and points with their intervals, a row each."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.core.figure import Figure
from steelyard.render.charts.generic import (
    axis_x,
    clean,
    data,
    names_axis,
    series_colour,
    series_shape,
    short_series,
)
from steelyard.render.charts.layout import NARROW, text_width, ticks
from steelyard.render.charts.library import altair
from steelyard.render.charts.theme import BLUE, INK, SOFT

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
