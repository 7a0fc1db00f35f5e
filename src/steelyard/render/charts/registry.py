"""Which kind of figure is drawn by what. A task that brings a new kind of picture adds its row here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from steelyard.core.figure import Figure
from steelyard.render.charts.layout import BROAD_WIDTHS, WIDTHS

# Drawn by the chart library: functions of the figure and the width in pixels that give an Altair chart.
CHARTS = (
    "agreement",
    "bars",
    "bland_altman",
    "curves",
    "histogram",
    "intervals",
    "matrix",
    "plane",
    "reliability",
    "spread",
    "timeline",
    "traces",
)
# Written by us: functions of the figure that give HTML, with nothing in it that could act.
MARKUP = ("overlays", "sentences", "rasters")

BROAD = {"traces"}  # kinds that take the whole width of a page


def _drawing(module: str, kind: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_module(f"steelyard.render.charts.{module}"), kind)
    return function


def is_chart(figure: Figure) -> bool:
    """Whether the chart library draws it."""
    return figure.chart in CHARTS


def chart_of(figure: Figure, width: float) -> Any:
    """The figure as an Altair chart, so wide with all that belongs to it."""
    return _drawing("generic", figure.chart)(figure, width)


def widths_of(figure: Figure) -> tuple[float, ...]:
    """The widths in which a page draws a figure: it shows the one that fits."""
    return BROAD_WIDTHS if figure.chart in BROAD else WIDTHS


def markup_of(figure: Figure) -> str:
    """The figure as HTML; nothing where its kind is not known here."""
    return str(_drawing("overlays", figure.chart)(figure)) if figure.chart in MARKUP else ""
