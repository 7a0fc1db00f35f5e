"""A lock between processes: one at a time changes what a path names.

The lock is a file beside it, held by the system for as long as its process lives, so that a run that was killed locks
nobody out. It goes when the last one lets it go.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from steelyard.core.errors import CannotWrite

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

PATIENCE = 60.0  # seconds until it is said that somebody else holds it
PAUSE = 0.02


@contextlib.contextmanager
def hold_lock(path: str | os.PathLike[str], patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock of a path. Raises InputError after `patience` seconds."""
    name = Path(f"{os.fspath(path)}.lock")
    try:
        name.parent.mkdir(parents=True, exist_ok=True)
        handle = _acquire_handle(name, time.monotonic() + patience)
    except OSError as error:
        raise CannotWrite(f"cannot be locked: {error.strerror}", where=os.fspath(path)) from None
    if handle is None:
        raise CannotWrite(
            f"another process has held its lock for {patience:g} s", where=os.fspath(path), remedy="Try again later."
        )
    try:
        yield
    finally:
        if sys.platform != "win32":  # while it is held, so that nobody else's goes
            name.unlink(missing_ok=True)
        os.close(handle)
        if sys.platform == "win32":  # where an open file cannot be removed, so that nobody else's goes either
            with contextlib.suppress(OSError):
                name.unlink()


def _acquire_handle(name: Path, until: float) -> int | None:
    """A handle of the lock's file that this process holds; None where the time is over."""
    while True:
        handle = _open_lock(name)
        if handle is not None:
            if _try_lock(handle) and _is_still(handle, name):
                return handle
            os.close(handle)
        if time.monotonic() > until:
            return None
        time.sleep(PAUSE)


def _open_lock(name: Path) -> int | None:
    try:
        return os.open(name, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    except PermissionError:
        if sys.platform == "win32":  # another process is removing it
            return None
        raise


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _is_still(handle: int, name: Path) -> bool:
    """Whether the file that is held has its name yet: who held it before may have removed it."""
    if sys.platform == "win32":
        return True
    try:
        return os.path.samestat(os.fstat(handle), os.stat(name))
    except FileNotFoundError:
        return False
