"""How far long work is: engine and readers say it, and whoever wants to know listens."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import TypeVar

Progress = Callable[[str, int, int], None]
T = TypeVar("T")
_LISTENER: ContextVar[Progress | None] = ContextVar("progress", default=None)


@contextlib.contextmanager
def use_progress(progress: Progress | None) -> Iterator[None]:
    """Call `progress(stage, done, all)` while work inside the block goes on; None is silent.

    Stages are "reading", "matching", "draws", "comparing" and "writing". What the function raises ends the work.
    """
    before = _LISTENER.set(progress)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def advance(stage: str, done: int, total: int) -> None:
    """Say that so many steps of a stage are done."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(stage, done, total)


def steps(stage: str, items: Sequence[T]) -> Iterator[T]:
    """The items, each a step of a stage."""
    for done, item in enumerate(items):
        advance(stage, done, len(items))
        yield item
    advance(stage, len(items), len(items))


@contextlib.contextmanager
def portion(place: int, places: int) -> Iterator[None]:
    """Let the steps inside the block be one of several equal portions of their stage."""
    outer = _LISTENER.get()
    inner: Progress | None = None
    if outer is not None and places > 1:

        def inner(stage: str, done: int, total: int) -> None:
            outer(stage, place * total + done, places * total)

    with use_progress(inner or outer):
        yield
