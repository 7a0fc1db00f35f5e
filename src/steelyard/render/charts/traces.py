"""Values over time, panel by panel: true and predicted."""

from __future__ import annotations

from typing import Any

from steelyard.core.figure import Figure
from steelyard.render.charts.generic import clean, data, series_colour
from steelyard.render.charts.library import altair


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
