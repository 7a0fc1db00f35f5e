"""Room in a chart: how wide texts are, names that fit, ticks and columns of a legend that do not collide."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from unicodedata import east_asian_width

LETTER = 0.62  # of the size of the letters: the mean width of one in a wide sans-serif
LABEL = 11.0  # the size of a label
WIDTHS = (350.0, 540.0)  # a chart for a phone, and one for a column of a page
BROAD_WIDTHS = (350.0, 720.0, 1200.0)  # the same of a picture that takes the whole width
NARROW = 450.0  # below, a chart is one for a phone


def text_width(text: str, size: float = LABEL) -> float:
    """How wide a text is at most, in pixels, whatever the sans-serif that a reader has."""
    return size * sum(1.0 if east_asian_width(letter) in "WF" else LETTER for letter in text)


def fitting(names: Sequence[str], room: float, size: float = LABEL) -> list[str]:
    """Names that fit the room, cut in the middle; different ones stay different."""
    taken: dict[str, str] = {}
    shortened = []
    for name in names:
        short, place = _both(name, room, size), 2
        while taken.setdefault(short, name) != name:
            mark = f" ({place})"
            short, place = _cut(name, room - text_width(mark, size), size) + mark, place + 1
        shortened.append(short)
    return shortened


def _both(text: str, room: float, size: float) -> str:
    """A name that fits; of one that goes from one to another, both."""
    first, arrow, second = text.partition(" → ")
    if not arrow or text_width(text, size) <= room:
        return _cut(text, room, size)
    half = (room - text_width(arrow, size)) / 2
    return f"{_cut(first, half, size)}{arrow}{_cut(second, half, size)}"


def _cut(text: str, room: float, size: float) -> str:
    if text_width(text, size) <= room:
        return text
    keep = max(4, int(room / (size * LETTER)) - 1)
    while keep > 4 and text_width(text[: keep - keep // 3] + text[-(keep // 3) :], size) + size > room:
        keep -= 1
    tail = keep // 3
    return f"{text[: keep - tail]}…{text[len(text) - tail :]}"


def apart(names: Sequence[str], size: float) -> list[str]:
    """The names of rows or columns of a size that have room: every so many, and always the last."""
    step = max(1, math.ceil((LABEL + 1) / size))
    return [*names[: max(0, len(names) - step) : step], *names[-1:]]


def ticks(low: float, high: float, width: float) -> list[float]:
    """Round numbers from low to high, so far apart that their labels have room."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low] if math.isfinite(low) else []
    for most in range(max(2, int(width // 55)), 0, -1):
        rough = (high - low) / most
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(step for step in (size, 2 * size, 2.5 * size, 5 * size, 10 * size) if step >= rough * (1 - 1e-9))
        first = math.ceil(low / step - 1e-9)
        values = [round(step * i, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]
        longest = max((text_width(f"{value:g}") for value in values), default=0.0)
        if len(values) < 2 or step / (high - low) * width > longest + 10:
            return values
    return []


def legend_columns(names: Iterable[str], width: float) -> int:
    """How many entries of a legend stand side by side."""
    widest = max((text_width(name) for name in names), default=0.0)
    return max(1, int((width - 40) // (widest + 34)))
