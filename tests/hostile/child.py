"""Runs rows, a process each: a server that has Steelyard loaded forks for every row, or one process runs one row.

A request is a JSON line on stdin, the answer a JSON line on stdout. The process of a row has its memory and its CPU
time limited where the platform can; its parent ends it when the deadline is over.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

MEMORY = 3 << 30
CPU_SECONDS = 30
# What most rows load: once, before the forks. Neither polars nor torch, whose threads do not live through one.
LOADED = (
    "pandas", "pyarrow.parquet", "httpx", "tenacity", "PIL.Image", "steelyard.cli.main", "steelyard.files",
    "steelyard.scale", "steelyard.partial.accumulator", "steelyard.checks.quick", "steelyard.gating.gate", "steelyard.vlm.server",
    "steelyard.io.formats.convert", "steelyard.render.page.report", "steelyard.results.read",
)  # fmt: skip


def limit(memory: bool) -> None:
    """Hold this process to its CPU time, and to its memory where that is asked for."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    if memory and sys.platform == "linux":  # macOS knows the limit and does not keep it
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def perform(args: list[str], python: str) -> None:
    """Run a command line, or a program as if it were one."""
    from steelyard.cli import main

    sys.argv = ["steelyard", *args]
    if not python:
        main.main()
        return
    import steelyard as sy

    try:
        exec(compile(python, "row", "exec"), {"sy": sy, "__name__": "row"})
    except sy.SteelyardError as error:
        print(f"steelyard: {error}", file=sys.stderr)
        sys.exit(2)


def load() -> None:
    """Load what most rows need."""
    for name in LOADED:
        with suppress(ImportError):  # where tests run without what is optional, commands must do so too
            importlib.import_module(name)
    from steelyard.core import catalogue

    for name in catalogue.TASKS:
        catalogue.metrics(name)


def serve() -> None:
    """Fork a process for every request, and say how it ended."""
    load()
    gc.freeze()  # else every child's first collection copies the parent's pages
    for line in sys.stdin:
        request = json.loads(line)
        process = os.fork()
        if process == 0:
            become(request)
        print(json.dumps(wait(process, request["deadline"])), flush=True)


def become(request: dict[str, Any], at_the_end: Callable[[], object] = int) -> NoReturn:
    """Be the row's process: never return."""
    code = 70
    try:
        os.setsid()
        os.chdir(request["folder"])
        for stream, path, flags in (
            (0, request["stdin"], os.O_RDONLY),
            (1, request["stdout"], os.O_WRONLY | os.O_CREAT),
            (2, request["stderr"], os.O_WRONLY | os.O_CREAT),
        ):
            handle = os.open(path, flags, 0o600)
            os.dup2(handle, stream)
            os.close(handle)
        for name in ("stdin", "stdout", "stderr"):
            number = ("stdin", "stdout", "stderr").index(name)
            encoding = "utf-8"
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding=encoding, closefd=False))
        os.environ.update(request["env"])
        if request["memory"] is not None:  # a command that is not hostile has no limits
            limit(request["memory"])
        perform(request["args"], request["python"])
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 120
        at_the_end()
        os._exit(code)


def wait(process: int, deadline: float) -> dict[str, Any]:
    """Until the process ends, or its time is over: then it and what it started are ended."""
    end = time.monotonic() + deadline
    pause = 0.001
    while True:
        done, status, used = os.wait4(process, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return {"hang": True, "code": None, "signal": None, "seconds": deadline, "memory": 0}
        time.sleep(pause)
        pause = min(0.02, pause * 1.5)
    left = _left_behind(process)
    ended = os.WIFSIGNALED(status)
    return {
        "hang": False,
        "left": left,
        "signal": os.WTERMSIG(status) if ended else None,
        "code": None if ended else os.WEXITSTATUS(status),
        "seconds": used.ru_utime + used.ru_stime,
        "memory": used.ru_maxrss,
    }


def _left_behind(group: int, patience: float = 5.0) -> bool:
    """Whether processes of the group outlive the one that began it by more than a moment; they are ended."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.02)
    os.killpg(group, signal.SIGKILL)
    return True


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        asked = json.loads(sys.argv[1])
        limit(asked["memory"])
        perform(asked["args"], asked["python"])
