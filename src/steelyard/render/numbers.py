"""How a number is written. Every table, page and message that shows a score goes through here.

What the models of a comparison are called: by their names, or A, B, C where they have none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.results.comparison import Comparison


Interval = tuple[float, float]


def decimals_for(value: float, interval: Interval | None, digits: int = 3) -> int:
    """Digits behind the point: so many significant ones of the interval's half width, or five of the value."""
    if interval is not None:
        half = (interval[1] - interval[0]) / 2
        if half > 1e-9 * abs(value) and math.isfinite(half):
            return max(0, min(8, digits - 1 - math.floor(math.log10(half))))
    if value == 0 or not math.isfinite(value):
        return 1
    return max(0, min(8, 4 - math.floor(math.log10(abs(value)))))


def even_decimals(numbers: Iterable[tuple[float, Interval | None]], digits: int = 3) -> int:
    """Digits behind the point that the numbers of a column share: what is right for the middle one of them."""
    wanted = sorted(decimals_for(value, interval, digits) for value, interval in numbers if math.isfinite(value))
    return wanted[len(wanted) // 2] if wanted else 0


def ends_text(interval: Interval | None, decimals: int) -> str:
    """An interval with so many digits behind the point."""
    return "" if interval is None else f"[{number(interval[0], decimals)}, {number(interval[1], decimals)}]"


def in_unit(text: str, unit: str) -> str:
    """A number with its unit of measure: "23 g", "12.9°"; a number alone where it has none."""
    return f"{text}{unit}" if unit == "°" else f"{text} {unit}".rstrip()


def signed_number(value: float, decimals: int) -> str:
    """A difference with so many digits behind the point, always with its sign."""
    text = number(value, decimals)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def number(value: float, decimals: int) -> str:
    """A fixed number of decimals; no minus sign on zero."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 1e15:
        return f"{value:.4g}".replace("-", "−")
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def value_text(value: float, interval: Interval | None = None, digits: int = 3) -> str:
    """A value with the digits that its interval justifies."""
    text = number(value, decimals_for(value, interval, digits))
    if interval is None and "." in text:
        text = text.rstrip("0").rstrip(".")
    return text


def interval_text(value: float, interval: Interval | None, digits: int = 3) -> str:
    """An interval with the same digits as its value."""
    if interval is None:
        return ""
    decimals = decimals_for(value, interval, digits)
    return f"[{number(interval[0], decimals)}, {number(interval[1], decimals)}]"


def signed_text(value: float, interval: Interval | None = None, digits: int = 3) -> str:
    """A difference, always with its sign."""
    text = value_text(value, interval, digits)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def p_text(p: float) -> str:
    """A p-value: three decimals, and never 0."""
    if math.isnan(p):
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def percent_text(share: float) -> str:
    """A share as a percentage without needless digits: 95 %, 99.5 %."""
    return f"{100 * share:.4g} %"


def money_text(amount: float, currency: str) -> str:
    """An amount with its currency: two decimals, or two digits of what is less than 1."""
    decimals = 2 if amount >= 0.1 or amount <= 0 else min(12, 1 - math.floor(math.log10(amount)))
    return f"{amount:,.{decimals}f} {currency}".strip()


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST = 14  # characters of a name that heads a column of a terminal's table


def names_of(comparisons: Sequence[Comparison]) -> list[str]:
    """The names of all models, the baseline first."""
    models = [comparisons[0].a, *(one.b for one in comparisons)]
    return [model.name or letter_of(place) for place, model in enumerate(models)]


def named_pairs(comparisons: Sequence[Comparison]) -> list[tuple[str, str, Comparison]]:
    """Each comparison with the names of the model to beat and of the other."""
    first, *others = names_of(comparisons)
    return [(first, name, one) for name, one in zip(others, comparisons, strict=True)]


def letter_of(place: int) -> str:
    """What a model without a name is called."""
    return LETTERS[place] if place < len(LETTERS) else f"model {place + 1}"


def heads_of(comparison: Comparison) -> tuple[str, str]:
    """What two models are called in a head of a narrow table: letters where a name is too long for it."""
    a, b = names_of([comparison])
    return (a, b) if max(len(a), len(b)) <= LONGEST else (letter_of(0), letter_of(1))
