"""Errors that a user can cause, and how they read.

Every message says what is wrong, where (file, line or row, column, id), and the remedy. A programming mistake of
our own is not an `InputError`: it raises whatever Python raises.
"""

from __future__ import annotations

from collections.abc import Iterable


class SteelyardError(Exception):
    """Base of the errors that Steelyard raises on purpose."""


class InputError(SteelyardError, ValueError):
    """The user's input is wrong: data, a setting or a spec. The CLI prints it and exits with 2."""

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        what, where = _shortened(what, 1500), _shortened(where, 500).replace("\n", "\\n")
        self.what, self.where, self.remedy = what, where, remedy
        text = f"{where}: {what}" if where else what
        if remedy:
            text = f"{text.rstrip('.')}. {remedy}"
        super().__init__(text.encode("utf-8", "backslashreplace").decode())  # half a surrogate cannot be printed


class WriteError(InputError):
    """A file cannot be written, for lack of space or permission: never the fault of the data that were read."""


def _shortened(text: str, most: int) -> str:
    """A text without its middle, where it recites more of the input than a message should."""
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


class MissingExtra(SteelyardError, ImportError):
    """An optional part is needed and not installed."""

    def __init__(self, what: str, extra: str) -> None:
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
    known = sorted(known)
    close = nearest_of(name, known)
    if close:
        return f"Did you mean '{close}'?"
    return f"Known: {', '.join(known)}." if known else ""


def shell_word(text: str) -> str:
    """A text as a shell takes it for one word."""
    import shlex

    return shlex.quote(text)


def first_few(values: Iterable[object], limit: int = 3) -> str:
    """The first few values, quoted, and how many more there are."""
    values = list(values)
    text = ", ".join(f"'{v}'" for v in values[:limit])
    return text if len(values) <= limit else f"{text} and {len(values) - limit} more"
