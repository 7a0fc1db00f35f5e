"""Figures for journals: their formats, how wide they are on paper, how fine, and in which letters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from steelyard.core.errors import InvalidSetting, InvalidValue, OutOfRange, UnknownName
from steelyard.core.frozen import frozen
from steelyard.render.charts.theme import FONT

FORMATS = ("svg", "png", "pdf")
INCH = 25.4  # millimetres
PIXELS = 96.0  # of the drawing, for an inch of paper: labels of 11 are 8.25 points
UNITS = {"mm": 1.0, "cm": 10.0, "in": INCH, "pt": INCH / 72}
COLUMNS = {"1col": 89.0, "1.5col": 120.0, "2col": 183.0}  # millimetres, as Nature has them
NARROWEST, WIDEST = 40.0, 500.0
FINENESS = (72, 2400)
_FONT = re.compile(r"[\w ,-]{1,120}")


@frozen
class Paper:
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
        raise UnknownName(f"there is no figure in the format '{wrong[0]}'", remedy=f"Choose {', '.join(FORMATS)}.")
    fine = plain.dpi if dpi is None else dpi
    if not FINENESS[0] <= fine <= FINENESS[1]:
        raise OutOfRange(f"{fine} dots per inch are too few or too many", remedy="Choose from 72 to 2400, such as 300.")
    if font and not _FONT.fullmatch(font):
        raise InvalidSetting(
            f"'{font[:40]}' is no name of a font", remedy="Write its family, such as 'Times New Roman'."
        )
    return Paper(named or FORMATS, _millimetres(width) if width else plain.width, fine, font or FONT)


def _millimetres(width: str | float) -> float:
    text = width if isinstance(width, str) else f"{width:g}mm"
    asked = text.strip().lower().replace(" ", "")
    if asked in COLUMNS:
        return COLUMNS[asked]
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(mm|cm|in|pt)", asked)
    if match is None:
        raise InvalidValue(
            f"'{text[:40]}' is no width of a figure",
            remedy=f"Write a length such as 85mm, 8.5cm, 3.35in or 241pt, or {', '.join(COLUMNS)}.",
        )
    length = float(match[1]) * UNITS[match[2]]
    if not NARROWEST <= length <= WIDEST:
        raise OutOfRange(
            f"a figure of {text.strip()} is too narrow or too wide",
            remedy=f"Choose from {NARROWEST:g}mm to {WIDEST:g}mm.",
        )
    return length
