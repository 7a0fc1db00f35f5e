"""Opening text files, with errors that a user understands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from steelyard.core.errors import InputError


@contextmanager
def open_text(path: Path, source: str) -> Iterator[TextIO]:
    """Open a UTF-8 file for reading; a byte-order mark is skipped."""
    check_readable(path, source)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte {error.object[error.start]:#04x} is not UTF-8 text",
            where=source,
            remedy="Save the file as UTF-8.",
        ) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=source) from None


def check_readable(path: Path, source: str) -> None:
    """Say what is wrong with a path before anything reads it."""
    if path.is_dir():
        raise InputError("is a folder, not a file", where=source)
    if not path.exists():
        raise InputError("there is no such file", where=source, remedy="Check the path.")
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=source) from None
