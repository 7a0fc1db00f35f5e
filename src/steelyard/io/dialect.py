"""What separates fields and decimals in text files: what was asked for, and what was found out and must be said."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from contextvars import ContextVar

from steelyard.core.deprecated import warn_renamed
from steelyard.core.errors import InvalidSetting, InvalidValue
from steelyard.core.frozen import Frozen

NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}
DECIMALS = {"comma": ",", "point": ".", ",": ",", ".": "."}
_GROUPED = r"[+-]?[1-9][0-9]{0,2}([.,][0-9]{3})+"
_PLAIN = r"[+-]?[0-9]*,[0-9]*([eE][+-]?[0-9]+)?"


class Dialect(Frozen):
    """What was asked for; None is found out from the file."""

    delimiter: str | None = None
    decimal: str | None = None


_ASKED: ContextVar[Dialect] = ContextVar("dialect", default=Dialect())  # noqa: B039  # frozen
_NOTES: ContextVar[list[str] | None] = ContextVar("reading notes", default=None)


def current_dialect() -> Dialect:
    """What was asked for."""
    return _ASKED.get()


def use_csv(*, delimiter: str | None = None, decimal: str | None = None) -> contextlib.AbstractContextManager[None]:
    """Deprecated: `evaluate` and the other functions that read files take `delimiter` and `decimal`."""
    warn_renamed("steelyard.use_csv", "the arguments delimiter and decimal of the functions that read files")
    return csv_dialect(delimiter, decimal)


@contextlib.contextmanager
def csv_dialect(delimiter: str | None, decimal: str | None) -> Iterator[None]:
    """Parse text tables so inside the block: `delimiter` is a character or its name, `decimal` "comma" or "point"."""
    if delimiter is None and decimal is None:
        yield
        return
    for name, value in (("delimiter", delimiter), ("decimal", decimal)):
        if value is not None and not isinstance(value, str):
            raise InvalidValue(f"{name} is {value!r}", remedy="Give a string.")
    if delimiter is not None:
        delimiter = NAMES.get(delimiter, delimiter)
        if len(delimiter) != 1 or delimiter in '"\r\n' or delimiter.isalnum():
            known = ", ".join(name for name in NAMES if name != "\\t")
            raise InvalidSetting(
                f"'{delimiter}' cannot separate fields", remedy=f"Give one character, or its name: {known}."
            )
    if decimal is not None and decimal not in DECIMALS:
        raise InvalidSetting(f"'{decimal}' is not a decimal mark", remedy="Say comma or point.")
    before = _ASKED.set(Dialect(delimiter, None if decimal is None else DECIMALS[decimal]))
    try:
        yield
    finally:
        _ASKED.reset(before)


@contextlib.contextmanager
def reading_notes() -> Iterator[list[str]]:
    """What readers say inside the block of how they took a file."""
    notes: list[str] = []
    before = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(before)


def note(text: str) -> None:
    """Say something of how a file is taken; it stands in the report, once."""
    notes = _NOTES.get()
    if notes is not None and text not in notes:
        notes.append(text)


def with_points(texts: Sequence[str], decimal: str | None, source: str, name: str) -> tuple[list[str], tuple[int, str]]:
    """Numbers with decimal points, and the first row that cannot be taken, with the reason; (-1, "") where none.

    Where nothing was asked for, marks that may be of decimals or of thousands are not guessed.
    """
    commas = [i for i, text in enumerate(texts) if "," in text]
    points = [i for i, text in enumerate(texts) if "." in text]
    if decimal is None and commas and points:
        row = max(commas[0], points[0])
        return [], (row, f"'{texts[row].strip()}': the column has both commas and points in its numbers")
    marked = commas if decimal is None and commas else points if decimal is None else []
    if marked and all(map(re.compile(_GROUPED).fullmatch, (texts[i].strip() for i in marked))):
        text = texts[marked[0]].strip()
        return [], (marked[0], f"'{text}' may have decimals or thousands")
    if not commas or decimal == ".":
        return list(texts), (-1, "")
    if decimal == "," and points:
        return [], (points[0], f"'{texts[points[0]].strip()}' has a point where decimals have commas")
    plain = re.compile(_PLAIN)
    odd = next((i for i in commas if not plain.fullmatch(texts[i].strip())), None)
    if odd is not None:
        return list(texts), (-1, "")  # no number at all, which is said as of any other
    note(f"{source}: column '{name}' is read with decimal commas.")
    return [text.replace(",", ".") for text in texts], (-1, "")
