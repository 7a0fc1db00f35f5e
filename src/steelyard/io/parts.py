"""Temporary files and folders: locked while who made them lives, swept by who comes later.

A process that is killed cannot tidy up. Its lock ends with it, on this machine or on another that sees the same folder,
so that what nobody holds belongs to a run that died. Windows refuses to remove what is open; there a minute passes too.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

PREFIX, SUFFIX = ".steelyard-", ".part"
PATIENCE = 60.0  # seconds that Windows waits, which has no locks that end with their process
_swept: set[str] = set()


def part_file(folder: Path) -> tuple[str, BinaryIO]:
    """A new file in a folder, open and held; who made it gives it another name, or removes it."""
    while True:
        path = str(folder / _name())
        file = open(path, "xb")  # noqa: SIM115 - the caller closes it
        if _try_lock(file.fileno()) is not False and os.path.lexists(path):
            return path, file
        file.close()  # a sweeper was faster


@contextlib.contextmanager
def part_folder(folder: Path) -> Iterator[Path]:
    """A new folder inside another, held, and removed in the end where it is still there."""
    while True:
        path = folder / _name()
        path.mkdir(mode=0o700)
        handle = _open_handle(path)
        if handle is not None and _try_lock(handle) is not False and path.exists():
            break
        if sys.platform == "win32":
            break
        if handle is not None:
            os.close(handle)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if handle is not None:
            os.close(handle)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder where the system keeps temporary ones; those of runs that died go first."""
    root = Path(tempfile.gettempdir())
    sweep(root)
    with part_folder(root) as folder:
        yield folder


def sweep(folder: str | os.PathLike[str]) -> None:
    """Remove what runs that died left in a folder; a process looks once."""
    key = os.path.abspath(folder)
    if key in _swept:
        return
    _swept.add(key)
    with contextlib.suppress(OSError), os.scandir(key) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX):
                with contextlib.suppress(OSError):
                    _remove_dead(Path(entry.path))


def _remove_dead(path: Path) -> None:
    about = path.lstat()
    if sys.platform == "win32":
        if time.time() - about.st_mtime > PATIENCE:
            shutil.rmtree(path, ignore_errors=True) if stat.S_ISDIR(about.st_mode) else path.unlink()
        return
    if about.st_uid != os.geteuid() or not (stat.S_ISDIR(about.st_mode) or stat.S_ISREG(about.st_mode)):
        return
    handle = _open_handle(path)
    if handle is None:
        return
    try:
        if _try_lock(handle):
            shutil.rmtree(path, ignore_errors=True) if stat.S_ISDIR(about.st_mode) else path.unlink()
    finally:
        os.close(handle)


def _name() -> str:
    return f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}"


def _open_handle(path: Path) -> int | None:
    """A handle of a file or folder, to be locked; None where there is none."""
    if sys.platform == "win32":
        return None
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None


def _try_lock(handle: int) -> bool | None:
    """Whether this process holds it now; None where the file system knows no locks."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
