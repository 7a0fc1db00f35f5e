"""The timings that TrackEval prints while it evaluates."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from time import perf_counter
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

DO_TIMING = False
DISPLAY_LESS_PROGRESS = False
timer_dict: dict[str, float] = {}
counter = 0
SHOWN = ("tracker", "seq", "cls")


def time(f: Function) -> Function:
    """Let a function print how long it takes where `DO_TIMING` is set."""
    names = inspect.getfullargspec(f)[0]
    is_method = names[0] == "self"

    @wraps(f)
    def timed(*args: Any, **kw: Any) -> Any:
        if not DO_TIMING:
            return f(*args, **kw)
        start = perf_counter()
        result = f(*args, **kw)
        seconds = perf_counter() - start
        if is_method and DISPLAY_LESS_PROGRESS:
            return result
        name = f"{type(args[0]).__name__}.{f.__name__}" if is_method else f.__name__
        timer_dict[name] = timer_dict.get(name, 0) + seconds
        if name == "Evaluator.evaluate":
            print("\nTiming analysis:")
            for key, value in timer_dict.items():
                print(f"{key:<70} {value:2.4f} sec")
            return result
        given = {**dict(zip(names, args, strict=False)), **kw}
        shown = f"{name}({', '.join(given[argument] for argument in names if argument in SHOWN)})"
        if is_method:
            print(f"{'    ' + shown:<74} {seconds:2.4f} sec")
        elif names[0] != "test":
            global counter
            counter += 1
            print(f"{counter} {shown:<70} {seconds:2.4f} sec")
        return result

    return timed  # type: ignore[return-value]
