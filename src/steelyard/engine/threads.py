"""How many threads the native core may use. No result depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from steelyard import _native
from steelyard.core.errors import InputError

MOST = 4096


@contextmanager
def use_threads(count: int | None) -> Iterator[None]:
    """Hold the native core to so many threads while the block runs; None for all that the machine has."""
    if count is not None and not 1 <= count <= MOST:
        shown = count if abs(count) < 10**9 else "so many"
        raise InputError(f"{shown} threads cannot work", remedy=f"Choose a whole number from 1 up to {MOST:,}.")
    before = _native.set_threads(count or 0)
    try:
        yield
    finally:
        _native.set_threads(before)
