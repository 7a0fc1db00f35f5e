"""Fields of JSON objects, each with a message that names the key, the value and the remedy."""

from __future__ import annotations

from typing import Any

from steelyard.core.errors import InvalidNumber, InvalidValue, MissingKey
from steelyard.core.numerals import is_whole


def json_field(entry: Any, key: str, where: str) -> Any:
    """What an object has under a key, which must be there."""
    if not isinstance(entry, dict):
        raise InvalidValue(
            f"{_value_text(entry)} where an object is expected", where=where, remedy=f"It needs the key '{key}'."
        )
    if key not in entry:
        raise MissingKey(f"the key '{key}' is missing", where=where, remedy="Add it.")
    return entry[key]


def json_whole(value: Any, key: str, where: str) -> int:
    """A whole number, or its digits as a text; true and false are 1 and 0."""
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and is_whole(value, 18, signed=True):
        return int(value)
    raise InvalidNumber(f"'{key}' is {_value_text(value)}", where=where, remedy="It must be a whole number.")


def _value_text(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
