"""Writing results: whole, or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import sys
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError
from steelyard.io.parts import part_file, sweep


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a file through a temporary one beside it, so that a reader never sees half of it."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | PathLike[str], data: bytes) -> None:
    """The same for data that is no text. What a run that died left beside it goes."""
    _write(Path(path), str(path), [data], durable=False)


def write_durably(path: str | PathLike[str], chunks: Iterable[bytes | memoryview]) -> None:
    """Write bytes through a temporary file that reaches the disk before it takes the name: a crash loses no more."""
    _write(Path(path), str(path), chunks, durable=True)


def _write(target: Path, shown: str, chunks: Iterable[bytes | memoryview], durable: bool) -> None:
    temporary = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target.parent)
        temporary, file = part_file(target.parent)
        with file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            if sys.platform != "win32":  # under its lock, which ends when the file is closed
                os.replace(temporary, target)
        if sys.platform == "win32":  # where an open file cannot be renamed
            os.replace(temporary, target)
        if durable:
            _sync_folder(target.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise InputError(f"cannot be written: {error.strerror}", where=shown) from None
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
