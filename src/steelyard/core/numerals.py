"""Texts that are whole numbers: such as `int` can read, and no longer than it is asked for."""

from __future__ import annotations

DIGITS = 300  # Python refuses 4,300 of them, and a spec more than a float holds


def is_whole(text: str, most: int = DIGITS, signed: bool = False) -> bool:
    """Whether a text is a whole number of at most so many digits; with `signed` a minus may stand before them.

    `str.isdigit` does not guard `int`: it is true for "²", and for numbers that are too long.
    """
    digits = text.removeprefix("-") if signed else text
    return digits.isascii() and digits.isdigit() and len(digits) <= most


def as_spec(name: str) -> str | int:
    """The name of a class as a spec has it: 3, not "3"."""
    return int(name) if is_whole(name) and str(int(name)) == name else name
