"""How many threads the native core may use. No result depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from steelyard import _native
from steelyard.core.errors import InputError


@contextmanager
def use_threads(count: int | None) -> Iterator[None]:
    """Hold the native core to so many threads while the block runs; None for all that the machine has."""
    if count is not None and count < 1:
        raise InputError(f"{count} threads cannot work", remedy="Choose a whole number from 1 up.")
    before = _native.set_threads(count or 0)
    try:
        yield
    finally:
        _native.set_threads(before)
