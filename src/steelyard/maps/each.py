"""Apply a function to many maps in threads: the native core and the inflater release the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from steelyard import _native

T = TypeVar("T")
MOST_THREADS = 16


def for_each(count: int, work: Callable[[int], T]) -> list[T]:
    """`work(0)` to `work(count - 1)`, in order; what one raises is raised, that of the first."""
    threads = min(MOST_THREADS, count, _threads())
    if threads < 2:
        return [work(i) for i in range(count)]
    import contextvars
    import threading  # not concurrent.futures, which takes as long to load as it takes to read some maps

    results: list[Any] = [None] * count
    failures: dict[int, BaseException] = {}
    numbers = iter(range(count))  # taken under the interpreter's lock, so that each is taken once

    def run() -> None:
        for i in numbers:
            if failures:
                return
            try:
                results[i] = work(i)
            except BaseException as error:
                failures[i] = error

    # A thread begins without the context of its maker, which says for instance what may be opened.
    others = [
        threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True) for _ in range(threads - 1)
    ]
    for other in others:
        other.start()
    run()
    for other in others:
        other.join()
    if failures:
        raise failures[min(failures)]
    return results


def _threads() -> int:
    return int(_native.thread_count())
