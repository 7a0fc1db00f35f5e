"""Room in a chart: how wide texts are, names that fit, and round numbers for an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from unicodedata import east_asian_width

LETTER = 0.62  # of the size of the letters: the mean width of one in a wide sans-serif
LABEL = 11.0  # the size of a label


def text_width(text: str, size: float = LABEL) -> float:
    """How wide a text is at most, in pixels, whatever the sans-serif that a reader has."""
    return size * sum(1.0 if east_asian_width(letter) in "WF" else LETTER for letter in text)


def fit_names(names: Sequence[str], room: float, size: float = LABEL) -> list[str]:
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


def places_with_room(count: int, size: float) -> list[int]:
    """The rows or columns of a size that have room for a name: every so many, and always the last."""
    step = max(1, math.ceil((LABEL + 1) / size))
    return [*range(0, max(0, count - step), step), *([count - 1] if count else [])]


def wrap_text(text: str, room: float, size: float = LABEL) -> list[str]:
    """A text in as many lines as it needs; a word that is too long is cut."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(_cut(word, room, size))
    return lines


def ticks(
    low: float, high: float, room: float, *, outside: bool = False, whole: bool = False, upright: bool = False
) -> list[float]:
    """Round numbers from low to high, so far apart that their labels have room.

    With `outside` the first and the last lie around low and high; `whole` ones have no decimals. `upright` is for a
    vertical axis, whose labels need less room.
    """
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low] if math.isfinite(low) else []
    size, tight = math.floor(math.log10(high - low)), list[float]()
    for step in (digit * 10.0**power for power in range(size - 2, size + 2) for digit in (1, 2, 5)):
        if (whole and step < 1) or (high - low) / step > room / LABEL:
            continue
        if outside:
            first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        else:
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        values = [float(f"{step * i:.12g}") for i in range(first, last + 1)]
        if len(values) < 2:
            break
        gap = room * step / (step * (last - first) if outside else high - low)
        longest = LABEL if upright else max(map(text_width, tick_texts(values)))
        if gap >= max(longest + 10, 32 if upright else 55):
            return values
        tight = values if gap > longest + 4 else tight
    return tight


def tick_texts(values: Sequence[float]) -> list[str]:
    """Numbers as labels, all with as many decimals as they need to differ."""
    step = min((b - a for a, b in pairwise(values)), default=0.0) or max(map(abs, values), default=0.0) or 1.0
    largest = max(map(abs, values), default=0.0)
    if largest >= 1e9 or step < 1e-6:
        digits = min(15, max(1, math.ceil(math.log10(max(largest, step) / step)) + 1))
        texts = [f"{value + 0.0:.{digits}g}" for value in values]
    else:
        decimals = next(d for d in range(9) if d == 8 or abs(round(step, d) - step) < 1e-6 * step)
        texts = [f"{value + 0.0:,.{decimals}f}" for value in values]
    return [text.replace("-", "−") for text in texts]
