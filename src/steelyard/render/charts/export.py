"""Figures for papers: every chart of a result as SVG, PNG and PDF, so wide as a journal wants it.

Figures for journals: their formats, how wide they are on paper, how fine, and in which letters.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from steelyard.core.errors import InvalidSetting, NotInstalled, OutOfRange, UnknownFormat
from steelyard.core.figure import Figure
from steelyard.core.frozen import Frozen
from steelyard.io.write import write_bytes
from steelyard.render.charts.draw import CHARTS, chart_svg
from steelyard.render.charts.theme import with_colours

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steelyard.results.result import Path


FORMATS = ("svg", "png", "pdf")
FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif"
INCH = 25.4  # millimetres
PIXELS = 96.0  # of the drawing, for an inch of paper: labels of 11 are 8.25 points
UNITS = {"mm": 1.0, "cm": 10.0, "in": INCH, "pt": INCH / 72}
COLUMNS = {"1col": 89.0, "1.5col": 120.0, "2col": 183.0}  # millimetres, as Nature has them
NARROWEST, WIDEST = 40.0, 500.0
FINENESS = (72, 2400)
_FONT = re.compile(r"[\w ,-]{1,120}")


class Paper(Frozen):
    """How figures are put on paper. `width` is in millimetres."""

    formats: tuple[str, ...] = FORMATS
    width: float = 540.0 / PIXELS * INCH
    dpi: int = 288
    font: str = FONT

    @property
    def pixels(self) -> float:
        """The width of the drawing."""
        return self.width / INCH * PIXELS


def paper_of(
    formats: str | Sequence[str] = (), width: str | float = "", dpi: int | None = None, font: str = ""
) -> Paper:
    """What was asked for, or an error that says what there is. A bare number is a width in millimetres."""
    plain = Paper()
    listed = formats.split(",") if isinstance(formats, str) else list(formats)
    named = tuple(dict.fromkeys(name.strip().lower().removeprefix(".") for name in listed if name.strip()))
    wrong = [name for name in named if name not in FORMATS]
    if wrong:
        raise UnknownFormat(f"there is no figure in the format '{wrong[0]}'", remedy=f"Choose {', '.join(FORMATS)}.")
    fine = plain.dpi if dpi is None else dpi
    if not FINENESS[0] <= fine <= FINENESS[1]:
        raise OutOfRange(f"{fine} dots per inch are out of range", remedy="Choose from 72 to 2400, such as 300.")
    if font and not _FONT.fullmatch(font):
        raise InvalidSetting(f"'{font[:40]}' is not a font name", remedy="Write its family, such as 'Times New Roman'.")
    return Paper(named or FORMATS, _millimetres(width) if width else plain.width, fine, font or FONT)


def _millimetres(width: str | float) -> float:
    text = width if isinstance(width, str) else f"{width:g}mm"
    asked = text.strip().lower().replace(" ", "")
    if asked in COLUMNS:
        return COLUMNS[asked]
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(mm|cm|in|pt)", asked)
    if match is None:
        raise InvalidSetting(
            f"'{text[:40]}' is not a figure width",
            remedy=f"Write a length such as 85mm, 8.5cm, 3.35in or 241pt, or {', '.join(COLUMNS)}.",
        )
    length = float(match[1]) * UNITS[match[2]]
    if not NARROWEST <= length <= WIDEST:
        raise OutOfRange(
            f"a figure of {text.strip()} is too narrow or too wide",
            remedy=f"Choose from {NARROWEST:g}mm to {WIDEST:g}mm.",
        )
    return length


SVG = "http://www.w3.org/2000/svg"
BACKGROUND = '<rect width="100%" height="100%" fill="#ffffff"/>'  # vl-convert darkens shades on a transparent one
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


def file_name(name: str) -> str:
    """A figure's name as a file's: a column to slice by may hold anything."""
    return re.sub(r"[^\w-]+", "_", name)[:80] or "figure"


def check_figures(**asked: Any) -> None:
    """Raise if figures cannot be exported this way, before anything is computed."""
    if set(paper_of(**asked).formats) - {"svg"}:
        vl_convert()


def vl_convert() -> Any:
    """The package that turns SVG into PNG and PDF."""
    try:
        import vl_convert
    except ImportError:
        remedy = "Install it: pip install 'steelyard[report]'; or choose the format svg."
        raise NotInstalled("PNG and PDF need the package vl-convert-python", remedy=remedy) from None
    return vl_convert


def export_figures(figures: Iterable[Figure], folder: Path, **asked: Any) -> tuple[str, ...]:
    """Write them, all or none; gives the paths. `asked` are the formats, the width, the dots per inch and the font."""
    paper = paper_of(**asked)
    files: dict[str, bytes] = {}
    for figure in figures:
        if figure.chart in CHARTS and len(figure):
            base = os.path.join(folder, file_name(figure.name))
            files |= {f"{base}.{ending}": data for ending, data in _render_formats(figure, paper).items()}
    for path, data in files.items():
        write_bytes(path, data)
    return tuple(files)


def _render_formats(figure: Figure, paper: Paper) -> dict[str, bytes]:
    """The figure in each format."""
    svg = with_colours(chart_svg(figure, paper.pixels)).replace("<svg ", f'<svg xmlns="{SVG}" ', 1)
    svg = svg.replace(">", f' font-family="{paper.font}">{BACKGROUND}', 1)
    drawn = {}
    for ending in paper.formats:
        if ending == "svg":
            drawn[ending] = _with_size(svg, INCH / PIXELS, "mm").encode()
        elif ending == "pdf":
            drawn[ending] = vl_convert().svg_to_pdf(_with_size(svg, 72 / PIXELS))
        else:
            drawn[ending] = vl_convert().svg_to_png(_with_size(svg, 72 / PIXELS), scale=1.0, ppi=float(paper.dpi))
    return drawn


def _with_size(svg: str, scale: float, unit: str = "") -> str:
    """The drawing with its size on paper: that of its pixels times a factor."""

    def size(match: re.Match[str]) -> str:
        wide, high = (f"{float(length) * scale:.6g}{unit}" for length in match.groups())
        return f'width="{wide}" height="{high}"'

    return _SIZE.sub(size, svg, count=1)
