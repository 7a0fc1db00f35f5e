"""Reading a file that a table or a user names: ordinary files alone, up to a size. No device or pipe is opened."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from steelyard.core.errors import InputError, MissingFile, TooLarge, UnreadableFile

_KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}  # fmt: skip
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)


def reason(error: Exception) -> str:
    """Why a file cannot be opened, in the operating system's words."""
    return getattr(error, "strerror", None) or str(error)


def read_ordinary(path: Path, most: int, what: str) -> bytes:
    """The bytes of a file, at most `most`; `what` names it in errors, \"image\" for instance."""
    try:
        _check(os.stat(path), path, most, what)  # before it is opened: opening a device may do something
        file = os.open(path, _FLAGS)
        try:
            _check(os.fstat(file), path, most, what)
            data = bytearray()
            while chunk := os.read(file, 2**20):
                data += chunk
                if len(data) > most:
                    raise _too_long(len(data), path, most, what)
            return bytes(data)
        finally:
            os.close(file)
    except FileNotFoundError:
        raise MissingFile(f"there is no such {what}", where=str(path), remedy="Check the path.") from None
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"the {what} cannot be read: {reason(error)}", where=str(path)) from None


def _check(status: os.stat_result, path: Path, most: int, what: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no ordinary file")
        raise UnreadableFile(f"the {what} is {kind}", where=str(path), remedy="Name an ordinary file.")
    if status.st_size > most:
        raise _too_long(status.st_size, path, most, what)


def _too_long(size: int, path: Path, most: int, what: str) -> InputError:
    remedy = f"At most {most / 2**20:,.0f} MB are read."
    return TooLarge(f"the {what} has {size / 2**20:,.0f} MB or more", where=str(path), remedy=remedy)
