"""Writing results: whole, or not at all."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import os
import stat
import sys
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from steelyard.core.errors import CannotWrite, WriteError
from steelyard.io.parts import part_file, sweep


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a text as UTF-8, as `write_durably` writes."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = ascii(text[error.start])
        raise CannotWrite(
            f"cannot be written: the text holds half a character, {half}", where=str(path),
            remedy="A name of a file that is not UTF-8 brings it in: rename that file.",
        ) from None  # fmt: skip
    write_durably(path, [data])


def write_bytes(path: str | PathLike[str], data: bytes) -> None:
    """Write bytes."""
    write_durably(path, [data])


def write_durably(path: str | PathLike[str], chunks: Iterable[bytes | memoryview]) -> None:
    """Write bytes through a temporary file that reaches the disk before it takes the name: a crash loses no more.

    A file that was there keeps its mode, and its owner where that is allowed. A link stays, and what it points to is
    written. A pipe or a device is written to directly. What a run that died left beside it goes.
    """
    temporary = ""
    try:
        target = _target(path)
        before = _about(target)
        if before is not None and not stat.S_ISREG(before.st_mode):
            with open(target, "wb") as device:
                device.writelines(chunks)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target.parent)
        temporary, file = part_file(target.parent)
        with file:
            if before is not None:
                _keep(file.fileno(), temporary, before)
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
            if sys.platform != "win32":  # under its lock, which ends when the file is closed
                os.replace(temporary, target)
        if sys.platform == "win32":  # where an open file cannot be renamed
            os.replace(temporary, target)
        _sync_folder(target.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise WriteError(f"cannot be written: {error.strerror}", where=str(path)) from None
        raise


def _target(path: str | PathLike[str]) -> Path:
    """Where a path leads in the end: a link is followed, so that it stays what it is."""
    if not os.path.islink(path):
        return Path(path)
    end = os.path.realpath(path)
    if os.path.islink(end):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return Path(end)


def _about(target: Path) -> os.stat_result | None:
    try:
        return os.stat(target)
    except FileNotFoundError:
        return None


def _keep(handle: int, name: str, before: os.stat_result) -> None:
    """Give a new file the owner and the mode of the one whose place it takes, before a byte stands in it."""
    if sys.platform == "win32":  # one bit of the mode is known there: whether a file may be written
        os.chmod(name, stat.S_IMODE(before.st_mode))
        return
    with contextlib.suppress(OSError):  # only root may give a file away
        os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, stat.S_IMODE(before.st_mode))


def _sync_folder(folder: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):  # Windows cannot, and need not
        return
    with contextlib.suppress(OSError):  # the file is there; some file systems cannot sync a folder
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


def sheet_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of results as CSV text for any spreadsheet: no cell is run as a formula."""
    return csv_text([_no_formula(name) for name in header], ([_no_formula(cell) for cell in row] for row in rows))


def _no_formula(cell: Any) -> Any:
    """A text behind an apostrophe where a spreadsheet would take it for a formula; numbers stay numbers."""
    if not isinstance(cell, str):
        return cell
    if "\r" in cell:  # which ends a row in many programs
        return f"'{cell}".replace("\r", " ") if cell.startswith("\r") else _no_formula(cell.replace("\r", " "))
    if not cell.startswith(("=", "+", "-", "@", "\t")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
