"""The reliability of confidence."""

from __future__ import annotations

from typing import Any

from steelyard.core.figure import Figure
from steelyard.render.charts.generic import axis_x, axis_y, data, height_of, line_at
from steelyard.render.charts.library import altair
from steelyard.render.charts.theme import BLUE, SOFT


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
