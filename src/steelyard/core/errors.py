"""Errors that a user can cause, and how they read.

Every message says what is wrong, where (file, line or row, column, id), and the remedy. A setting is written as in
Python, in backticks: `confidence=None`, or the option `angle=radians` of a task; the command line shows its flag
instead. Every kind of error is a class with a stable code: `DuplicateKey.code` is "E-duplicate-key". A programming
mistake of our own is not an `InputError`: it raises whatever Python raises.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import ClassVar


class SteelyardError(Exception):
    """Base of the errors that Steelyard raises on purpose. `code` names the kind of error and does not change."""

    code: ClassVar[str] = "E-steelyard"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.code = "E" + re.sub("[A-Z]", lambda letter: f"-{letter[0].lower()}", cls.__name__)


class InputError(SteelyardError, ValueError):
    """The user's input is wrong: data, a setting or a spec. The CLI prints it and exits with 2.

    `what`, `where` and `remedy` are the parts of the message; the classes below say which kind of error it is.
    """

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        what, where = _shorten_text(what, 1500), _shorten_text(where, 500).replace("\n", "\\n")
        remedy = _shorten_text(remedy, 1500)
        self.what, self.where, self.remedy = what, where, remedy
        text = self.without_remedy
        super().__init__(_printable(f"{text.rstrip('.')}. {remedy}" if remedy else text))

    @property
    def without_remedy(self) -> str:
        """The message without the remedy."""
        return _printable(f"{self.where}: {self.what}" if self.where else self.what)


def _printable(text: str) -> str:
    """Half a surrogate cannot be printed."""
    return text.encode("utf-8", "backslashreplace").decode()


class MissingFile(InputError):
    """A file or directory does not exist."""


class UnreadableFile(InputError):
    """A file exists but cannot be opened or unpacked: permissions, a truncated archive, a directory or a pipe."""


class InvalidFile(InputError):
    """The contents of a file are not valid in its format."""


class UnknownFormat(InputError):
    """The format of a file is not supported, or its name does not say it."""


class InvalidText(InputError):
    """Text that is not valid UTF-8."""


class EmptyInput(InputError):
    """There is nothing to score: no rows, images, classes or questions."""


class MissingColumn(InputError):
    """A table lacks a required column."""


class MissingKey(InputError):
    """A record lacks a required key or field."""


class EmptyCell(InputError):
    """A value is required where the cell is empty."""


class DuplicateKey(InputError):
    """An id, key, column, name or file is given more than once."""


class InvalidNumber(InputError):
    """A value is not a number, not finite or not whole where it must be."""


class InvalidValue(InputError):
    """A value is of the wrong kind."""


class OutOfRange(InputError):
    """A number lies outside of what is allowed."""


class ShapeMismatch(InputError):
    """Shapes, sizes, lengths or types of arrays, images or columns do not fit."""


class UnknownName(InputError):
    """A class, image, column, model or other name does not exist."""


class Unmatched(InputError):
    """Truth and predictions do not have the same units."""


class UnknownTask(InputError):
    """There is no such task."""


class UnknownMetric(InputError):
    """There is no such metric in the task."""


class InvalidSpec(InputError):
    """A metric's spec, its settings, or a rule of a gate is not valid."""


class InvalidSetting(InputError):
    """The value of a setting or option is not valid."""


class Conflict(InputError):
    """Settings, options or inputs that exclude each other."""


class Unsupported(InputError):
    """What is asked for is not supported for this task, metric or input."""


class TooLarge(InputError):
    """A limit of size, length, depth or memory is exceeded."""


class Incompatible(InputError):
    """Results, states or arrays that cannot be merged, pooled or compared."""


class MissingData(InputError):
    """A result or file lacks what is needed here, such as draws, influences, intervals or image sizes."""


class InvalidResult(InputError):
    """A stored result, state, journal or ledger is damaged, or of another kind."""


class NotInstalled(InputError):
    """An optional package is needed for this input or output."""


class ServerFailure(InputError):
    """A model server or a cluster does not answer as it should."""


class CannotWrite(InputError):
    """An output cannot be written under this name or in this place."""


class WriteError(CannotWrite):
    """A file cannot be written, for lack of space or permission: never the fault of the data that were read."""


def _shorten_text(text: str, most: int) -> str:
    """A text without its middle, where it recites more of the input than a message should."""
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


class MissingExtra(SteelyardError, ImportError):
    """An optional part is needed and not installed, or does not load."""

    def __init__(self, what: str, extra: str) -> None:
        failed = sys.exc_info()[1]  # of the import
        if isinstance(failed, ImportError) and not isinstance(failed, ModuleNotFoundError):
            said = _shorten_text(" ".join(str(failed).split()), 300)
            super().__init__(f"{what} needs an optional part that is installed but does not load: {said}")
        else:
            super().__init__(f"{what} needs an optional part: pip install 'steelyard[{extra}]'")


class MissingPackage(SteelyardError, ImportError):
    """A package of somebody else's that a logger hands on to is not installed."""

    def __init__(self, what: str, package: str) -> None:
        super().__init__(f"{what} needs the package {package}: pip install {package}")


def nearest_of(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """The known word that a name is likely meant for, or nothing; `cutoff` is the share of letters in common."""
    import difflib  # costs 10 ms, and errors are rare

    words = sorted(known)
    by_small = {word.casefold(): word for word in reversed(words)}
    close = difflib.get_close_matches(name.casefold(), by_small, n=1, cutoff=cutoff)
    return by_small[close[0]] if close else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that names the nearest known word, or lists the known ones."""
    known = sorted(map(str, known))
    close = nearest_of(name, known)
    if close:
        return f"Did you mean '{close}'?"
    return f"Known: {', '.join(known)}." if known else ""


def first_few(values: Iterable[object], limit: int = 3) -> str:
    """The first few values, quoted, and how many more there are."""
    values = list(values)
    text = ", ".join(f"'{v}'" for v in values[:limit])
    return text if len(values) <= limit else f"{text} and {len(values) - limit} more"
