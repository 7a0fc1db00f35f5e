"""Figures for papers: every chart of a report as SVG, PNG and PDF."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from steelyard.core.figure import Figure
from steelyard.io.write import write_bytes, write_text
from steelyard.render.charts.layout import WIDTHS
from steelyard.render.charts.library import vl_convert
from steelyard.render.charts.registry import is_chart
from steelyard.render.charts.render import spec_of, svg_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steelyard.results.result import Path

PIXELS = 3.0  # of the PNG, for one of the drawing


def file_name(name: str) -> str:
    """A figure's name as a file's: a column to slice by may hold anything."""
    return re.sub(r"[^\w-]+", "_", name)[:80] or "figure"


def export_figures(figures: Iterable[Figure], folder: Path) -> tuple[str, ...]:
    """Write them; gives the paths."""
    library, paths = vl_convert(), []
    for figure in figures:
        if not is_chart(figure) or not len(figure):
            continue
        spec = spec_of(figure, WIDTHS[-1])
        base = os.path.join(folder, file_name(figure.name))
        write_text(f"{base}.svg", svg_text(spec))
        write_bytes(f"{base}.png", library.vegalite_to_png(spec, scale=PIXELS))
        write_bytes(f"{base}.pdf", library.vegalite_to_pdf(spec))
        paths += [f"{base}.svg", f"{base}.png", f"{base}.pdf"]
    return tuple(paths)
