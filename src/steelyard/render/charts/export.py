"""Figures for papers: every chart of a result as SVG, PNG and PDF, so wide as a journal wants it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from steelyard.core.figure import Figure
from steelyard.io.write import write_bytes
from steelyard.render.charts.journal import INCH, PIXELS, Paper, paper_of
from steelyard.render.charts.library import altair, vl_convert
from steelyard.render.charts.registry import is_chart
from steelyard.render.charts.render import spec_of, svg_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steelyard.results.result import Path

_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


def file_name(name: str) -> str:
    """A figure's name as a file's: a column to slice by may hold anything."""
    return re.sub(r"[^\w-]+", "_", name)[:80] or "figure"


def check_figures(**asked: Any) -> None:
    """Raise where figures cannot be had so: before anything is worked out."""
    paper_of(**asked)
    altair()
    vl_convert()


def export_figures(figures: Iterable[Figure], folder: Path, **asked: Any) -> tuple[str, ...]:
    """Write them, all or none; gives the paths. `asked` are the formats, the width, the dots per inch and the font."""
    paper = paper_of(**asked)
    made: dict[str, bytes] = {}
    for figure in figures:
        if is_chart(figure) and len(figure):
            base = os.path.join(folder, file_name(figure.name))
            made |= {f"{base}.{ending}": data for ending, data in _drawn(figure, paper).items()}
    for path, data in made.items():
        write_bytes(path, data)
    return tuple(made)


def _drawn(figure: Figure, paper: Paper) -> dict[str, bytes]:
    """The figure in each format."""
    library, svg = vl_convert(), svg_text(spec_of(figure, paper.pixels, font=paper.font))
    drawn = {}
    for ending in paper.formats:
        if ending == "svg":
            drawn[ending] = _sized(svg, INCH / PIXELS, "mm").encode()
        elif ending == "pdf":
            drawn[ending] = library.svg_to_pdf(_sized(svg, 72 / PIXELS))
        else:
            drawn[ending] = library.svg_to_png(_sized(svg, 72 / PIXELS), scale=1.0, ppi=float(paper.dpi))
    return drawn


def _sized(svg: str, scale: float, unit: str = "") -> str:
    """The drawing with its size on paper: that of its pixels times a factor."""

    def size(match: re.Match[str]) -> str:
        wide, high = (f"{float(number) * scale:.6g}{unit}" for number in match.groups())
        return f'width="{wide}" height="{high}"'

    return _SIZE.sub(size, svg, count=1)
