"""Coordinates as decimal text: corners and sizes are added in decimals, so 451.1 + 127.3 is 578.4 and back again."""

from __future__ import annotations

from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from typing import Any

from steelyard.core.errors import InvalidNumber

EXACT = Context(prec=700, traps=[InvalidOperation, DivisionByZero, Overflow])  # enough for any two doubles up to 1e12
SHORT = Context(prec=60, traps=[InvalidOperation, DivisionByZero, Overflow])  # for quotients, which have no end
LARGEST = Decimal(10) ** 12


def exact(value: float) -> Decimal:
    """The shortest decimal that is this number."""
    return Decimal(repr(value))


def coordinate(text: str, name: str, where: str) -> Decimal:
    """A coordinate of a file."""
    try:
        value = Decimal(text)
        if value.is_finite() and abs(value) <= LARGEST and value.as_tuple().exponent > -400:  # type: ignore[operator]
            return value
    except InvalidOperation:
        pass
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    raise InvalidNumber(f"{name} is '{shown}'", where=where, remedy="It must be a finite number up to 1e12.")


def score(text: str, where: str) -> float:
    """A score of a file."""
    try:
        value = float(text)
        if value - value == 0:
            return value
    except ValueError:
        pass
    raise InvalidNumber(f"the score is '{text}'", where=where, remedy="It must be a finite number.")


def from_corners(left: Decimal, top: Decimal, right: Decimal, low: Decimal) -> tuple[float, float, float, float]:
    """x, y, width, height."""
    return float(left), float(top), float(EXACT.subtract(right, left)), float(EXACT.subtract(low, top))


def corners(box: list[float]) -> tuple[Decimal, Decimal, Decimal, Decimal]:
    """Left, top, right, low."""
    x, y, w, h = map(exact, box)
    return x, y, EXACT.add(x, w), EXACT.add(y, h)


def polygon_of(shape: Any) -> list[float] | None:
    """The numbers of COCO's `segmentation` that is one polygon; None where it is something else."""
    if not (isinstance(shape, list) and len(shape) == 1 and isinstance(shape[0], list)):
        return None
    flat = shape[0]
    if len(flat) < 6 or len(flat) % 2 or not all(type(v) in (int, float) and abs(v) <= LARGEST for v in flat):
        return None
    return [float(v) for v in flat]


def plain(value: Decimal) -> str:
    """Digits without an exponent and without idle zeros."""
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
