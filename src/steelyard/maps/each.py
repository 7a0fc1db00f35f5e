"""The same work for each of many maps, in threads: the native core and the inflater let go of the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from steelyard import _native

T = TypeVar("T")
MOST_THREADS = 16


def for_each(count: int, work: Callable[[int], T]) -> list[T]:
    """`work(0)` to `work(count - 1)`, in order; what one raises is raised, that of the first."""
    threads = min(MOST_THREADS, count, _threads())
    if threads < 2:
        return [work(i) for i in range(count)]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(work, i) for i in range(count)]
        try:
            return [one.result() for one in running]
        except BaseException:
            for one in running:
                one.cancel()
            raise


def _threads() -> int:
    return int(_native.thread_count())
