"""How many threads the native core may use. No result depends on it."""

from __future__ import annotations

from types import TracebackType

from steelyard import _native
from steelyard.core.errors import OutOfRange

MOST = 4096


def use_threads(count: int | None) -> Threads:
    """Hold the native core to so many threads: from here on, or while the block of a `with` runs. None: all of them."""
    if count is not None and not 1 <= count <= MOST:
        shown = count if abs(count) < 10**9 else "so many"
        raise OutOfRange(f"{shown} threads cannot work", remedy=f"Choose a whole number from 1 up to {MOST:,}.")
    return Threads(_native.set_threads(count or 0))


class Threads:
    """A number of threads that holds until the end of a `with`, if it stands in one: then the one before holds."""

    def __init__(self, before: int) -> None:
        self._before = before

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _native.set_threads(self._before)
