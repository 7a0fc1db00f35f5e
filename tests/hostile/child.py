"""Runs rows apart from the tests: a server that has Steelyard loaded forks processes that run them, or one process runs one row.

A request is a JSON line on stdin, the answer a JSON line on stdout. The process of a row has its memory and its CPU
time limited where the platform can; the server ends it when the deadline is over. A process that a row leaves as it
was runs the next row too, since most of a row's time is the fork.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
import warnings
from contextlib import suppress
from typing import Any, NoReturn

MEMORY = 3 << 30
CPU_SECONDS = 30
MOST_ROWS = 40  # that a process runs
MOST_GROWTH = 100 << 10  # kB
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
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + CPU_SECONDS, resource.RLIM_INFINITY))
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
    """Have requests performed, and say how each ended."""
    load()
    gc.freeze()  # else every child's first collection copies the parent's pages
    worker: Worker | None = None
    for line in sys.stdin:
        request = json.loads(line)
        taken = Worker() if request["alone"] or worker is None else worker
        answer = taken.run(line, request["deadline"])
        if not request["alone"]:
            worker = None if taken.ended else taken
        print(json.dumps(answer), flush=True)


class Worker:
    """A forked process that performs requests, as the server sees it. It ends when the server does."""

    def __init__(self) -> None:
        self.ended = False
        received, self._requests = os.pipe()
        self._answers, sent = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(self._requests)
            os.close(self._answers)
            try:
                work(received, sent)
            finally:  # whatever happens, it does not become a second server
                os._exit(70)
        os.close(received)
        os.close(sent)

    def run(self, request: str, deadline: float) -> dict[str, Any]:
        """Until the request is performed, the process ends, or its time is over: then it and what it started are ended."""
        os.write(self._requests, request.encode())
        end = time.monotonic() + deadline
        while True:
            if select.select([self._answers], [], [], 0.01)[0]:
                answer = os.read(self._answers, 16)
                if answer:
                    return {"hang": False, "left": False, "signal": None, "code": int(answer)}
                time.sleep(0.001)  # it is ending
            done, status = os.waitpid(self._process, os.WNOHANG)
            if done:
                break
            if time.monotonic() > end:
                os.killpg(self._process, signal.SIGKILL)
                os.waitpid(self._process, 0)
                self._close()
                return {"hang": True, "left": False, "signal": None, "code": None}
        self._close()
        killed = os.WIFSIGNALED(status)
        return {
            "hang": False,
            "left": _left_behind(self._process),
            "signal": os.WTERMSIG(status) if killed else None,
            "code": None if killed else os.WEXITSTATUS(status),
        }

    def _close(self) -> None:
        self.ended = True
        os.close(self._requests)
        os.close(self._answers)


def work(requests: int, answers: int) -> NoReturn:
    """Perform requests; the process ends with the first that wants it for itself, or that leaves something behind."""
    import resource

    os.setsid()
    environment = dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)}
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + MOST_GROWTH
    rows = 0
    with open(requests, encoding="utf-8") as lines:
        for line in lines:
            request = json.loads(line)
            code = become(request)
            rows += 1
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > most
            if request["alone"] or rows == MOST_ROWS or grown or _busy():
                os._exit(code)
            for name in os.environ.keys() - environment.keys():
                del os.environ[name]
            os.environ.update(environment)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            gc.collect()  # what this row dropped is not reported in the next
            os.write(answers, str(code).encode())
    os._exit(0)


def _busy() -> bool:
    """Whether threads or processes that a row began are still there."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return threading.active_count() > 1
    return True


def become(request: dict[str, Any]) -> int:
    """Be the row's process: gives the exit code. Then nothing is printed until the next row."""
    code = 70
    try:
        os.chdir(request["folder"])
        _redirect(request["stdin"], request["stdout"], request["stderr"])
        os.environ.update(request["env"])
        if request["memory"] is not None:  # a command that is not hostile has no limits
            limit(request["memory"])
        with warnings.catch_warnings():
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
        _redirect(os.devnull, os.devnull, os.devnull)
    return code


def _redirect(stdin: str, stdout: str, stderr: str) -> None:
    """Connect the standard streams with files."""
    for number, (name, path) in enumerate((("stdin", stdin), ("stdout", stdout), ("stderr", stderr))):
        handle = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(handle, number)
        os.close(handle)
        setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))


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
