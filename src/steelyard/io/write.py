"""Writing results: whole, or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a file through a temporary one beside it, so that a reader never sees half of it."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | PathLike[str], data: bytes) -> None:
    """The same for data that is no text."""
    target = Path(path)
    temporary = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = str(target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}"))
        with open(temporary, "xb") as file:
            file.write(data)
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise InputError(f"cannot be written: {error.strerror}", where=str(path)) from None


def write_durably(path: str | PathLike[str], chunks: Iterable[bytes | memoryview]) -> None:
    """Write bytes through a temporary file that reaches the disk before it takes the name: a crash loses no more."""
    target = Path(path)
    temporary = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = str(target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}"))
        with open(temporary, "xb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise InputError(f"cannot be written: {error.strerror}", where=str(path)) from None
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _sync_folder(folder: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):  # Windows cannot, and need not
        return
    handle = os.open(folder, os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV text; nan is an empty cell."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow(["" if isinstance(v, float) and v != v else v for v in row])
    return buffer.getvalue()
