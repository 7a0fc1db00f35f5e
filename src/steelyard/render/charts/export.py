"""Figures for papers: every chart of a result as SVG, PNG and PDF, so wide as a journal wants it.

Figures for journals: their formats, how wide they are on paper, how fine, and in which letters.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

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
MARGIN = 3.0  # pixels around the drawing: letters of another font may be a little wider
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
    transparent: bool = False

    @property
    def pixels(self) -> float:
        """The width of the drawing, without the margin around it."""
        return self.width / INCH * PIXELS - 2 * MARGIN


def paper_of(
    formats: str | Sequence[str] = (),
    width: str | float = "",
    dpi: int | None = None,
    font: str = "",
    transparent: bool = False,
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
    return Paper(named or FORMATS, _millimetres(width) if width else plain.width, fine, font or FONT, transparent)


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
_SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)" width="[\d.]+" height="[\d.]+"')


def file_name(name: str) -> str:
    """A figure's name as a file's: a column to slice by may hold anything."""
    return re.sub(r"[^\w-]+", "_", name)[:80] or "figure"


def check_figures(**asked: Any) -> None:
    """Raise if figures cannot be exported this way, before anything is computed."""
    paper = paper_of(**asked)
    if set(paper.formats) - {"svg"}:
        vl_convert()
    if paper.transparent and "png" in paper.formats:
        _pillow()


def vl_convert() -> Any:
    """The package that turns SVG into PNG and PDF."""
    try:
        import vl_convert
    except ImportError:
        remedy = "Install it: pip install 'steelyard[report]'; or choose the format svg."
        raise NotInstalled("PNG and PDF need the package vl-convert-python", remedy=remedy) from None
    return vl_convert


def _pillow() -> Any:
    """The module of Pillow that puts two renderings together into one with a transparent background."""
    try:
        from PIL import Image
    except ImportError:
        remedy = "Install it: pip install pillow; or choose the formats svg and pdf."
        raise NotInstalled("PNG with a transparent background needs Pillow", remedy=remedy) from None
    return Image


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
    size = _SIZE.search(svg)
    assert size is not None
    wide, high = (float(length) + 2 * MARGIN for length in size.groups())
    svg = svg.replace(">", f' font-family="{paper.font}">', 1)
    box = f'viewBox="-{MARGIN:g} -{MARGIN:g} {wide:g} {high:g}"'

    def sized(scale: float, unit: str = "", ground: str = "" if paper.transparent else "#ffffff") -> str:
        """The drawing with its size on paper, that of its pixels times a factor, and with its background."""
        size = f'{box} width="{wide * scale:.6g}{unit}" height="{high * scale:.6g}{unit}"'
        fill = f'<rect x="-{MARGIN:g}" y="-{MARGIN:g}" width="{wide:g}" height="{high:g}" fill="{ground}"/>'
        return _SIZE.sub(size, svg, count=1).replace(">", f">{fill if ground else ''}", 1)

    def png(**ground: str) -> bytes:
        data: bytes = vl_convert().svg_to_png(sized(72 / PIXELS, **ground), scale=1.0, ppi=float(paper.dpi))
        return data

    drawn = {}
    for ending in paper.formats:
        if ending == "svg":
            drawn[ending] = sized(INCH / PIXELS, "mm").encode()
        elif ending == "pdf":
            drawn[ending] = vl_convert().svg_to_pdf(sized(72 / PIXELS))
        elif paper.transparent:
            drawn[ending] = _without_background(png(ground="#ffffff"), png(ground="#000000"), paper.dpi)
        else:
            drawn[ending] = png()
    return drawn


def _without_background(on_white: bytes, on_black: bytes, dpi: int) -> bytes:
    """A PNG with a transparent background from those on white and on black.

    vl-convert gives wrong colours to what is partly transparent itself.
    """
    image = _pillow()
    white, black = (
        np.asarray(image.open(io.BytesIO(data)).convert("RGB"), dtype=float) for data in (on_white, on_black)
    )
    alpha = 255 - (white - black).min(axis=2, keepdims=True).clip(0, 255)
    colour = (255 * black / np.maximum(alpha, 1)).clip(0, 255)
    out = io.BytesIO()
    pixels = np.concatenate([colour, alpha], axis=2).round().astype(np.uint8)
    image.fromarray(pixels).save(out, "PNG", dpi=(dpi, dpi))
    return out.getvalue()
