"""The truth is read once where several models are scored against it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

from steelyard.io.dialect import note, reading_notes

T = TypeVar("T")
Key = tuple[Callable[..., Any], object, tuple[str, ...]]
_READ: ContextVar[dict[Key, tuple[Any, Any, list[str]]] | None] = ContextVar("truth that was read", default=None)


@contextlib.contextmanager
def truth_read_once() -> Iterator[None]:
    """Share what `of_truth` reads between all models that are read inside the block, and inside blocks within it."""
    if _READ.get() is not None:
        yield
        return
    before = _READ.set({})
    try:
        yield
    finally:
        _READ.reset(before)


def of_truth(read: Callable[..., T], data: Any, *settings: Any) -> T:
    """`read(data, *settings)`; inside `truth_read_once`, what the first call made of these data.

    A block is one request, so the other settings are the same for all models. Notes on the reading are repeated.
    """
    shared = _READ.get()
    if shared is None:
        return read(data, *settings)
    words = tuple(setting for setting in settings if isinstance(setting, str))  # such as "boxes" or "masks"
    key = read, data if isinstance(data, str) else id(data), words
    if key not in shared:
        with reading_notes() as notes:
            result = read(data, *settings)
        shared[key] = data, result, notes  # with the data, so that no other object gets their id
    _, result, notes = shared[key]
    for text in notes:
        note(text)
    return result
