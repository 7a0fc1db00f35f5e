"""Entries of JSON files as rows of expressions: required keys, lists and boxes, with errors that name the place."""

from __future__ import annotations

from typing import Any

from steelyard.core.errors import InvalidValue
from steelyard.io.json import expect, required

Row = dict[str, Any]


def required_list(value: Any, key: str, source: str) -> list[Row]:
    """The list of objects under a key that an object must have."""
    entries = expect(required(value, key, source), "an array", key, source)
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise InvalidValue(f"'{key}' holds {str(entry)[:60]}, which is not an object", where=f"{source}[{number}]")
    return list(entries)


def required_id(entry: Any, key: str, where: str) -> str | int:
    """The id under a key that an entry must have."""
    value: str | int = expect(required(entry, key, where), "a text or a number", key, where)
    return value


def flag(entry: Row, key: str, missing: bool, where: str) -> bool:
    """A flag of an entry: true, false, 1 or 0."""
    value = entry.get(key, missing)
    if value not in (0, 1):
        raise InvalidValue(f"'{key}' is {str(value)[:60]}", where=where, remedy="Write 1 or 0.")
    return bool(value)


def box_row(value: Any, where: str) -> Row:
    """The columns of a box that is given as x, y, width, height."""
    numbers = isinstance(value, list | tuple) and len(value) == 4
    if not numbers or any(isinstance(v, bool) or not isinstance(v, int | float) for v in value):
        raise InvalidValue(f"{str(value)[:60]} is not a box", where=where, remedy="A box has four numbers.")
    return dict(zip(("x", "y", "w", "h"), map(float, value), strict=True))


def corner_row(value: Any, where: str) -> Row:
    """The columns of a box that is given by its corners x1, y1, x2, y2."""
    box = box_row(value, where)
    return box | {"w": box["w"] - box["x"], "h": box["h"] - box["y"]}
