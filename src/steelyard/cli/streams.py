"""Standard output and error of the command line, and how a command ends whose output cannot be written."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import TextIO

import click

_OUTCOME = "steelyard.outcome"


class OutputLost(Exception):
    """Standard output took no more: its reader has gone, its device is full, or it is closed."""

    def __init__(self, error: OSError) -> None:
        self.gone = isinstance(error, BrokenPipeError)
        super().__init__(f"standard output cannot be written: {error.strerror}")


class Output(io.TextIOBase):
    """Standard output, whose failures are kept apart from those of every other file."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write, or raise OutputLost."""
        try:
            if self.stream is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            return self.stream.write(text)
        except OSError as error:
            raise OutputLost(error) from None

    def flush(self) -> None:
        """Flush, or raise OutputLost."""
        try:
            if self.stream is not None:
                self.stream.flush()
        except OSError as error:
            raise OutputLost(error) from None

    def isatty(self) -> bool:
        """Whether somebody looks at it."""
        return self.stream is not None and self.stream.isatty()

    def fileno(self) -> int:
        """The descriptor."""
        return 1 if self.stream is None else self.stream.fileno()


def open_streams() -> None:
    """Take standard output and error in hand: UTF-8, with an escape for what it lacks, and there even where closed."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, it stays open
    if sys.stdout is None:  # its number must not fall to a file that is opened later
        os.open(os.devnull, os.O_WRONLY)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, it stays open
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.stdout = Output(sys.stdout)


def drop_output() -> None:
    """Let what is still to be written go nowhere: nothing is said at the end of the process."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def end_with(code: int) -> int:
    """Say what the command ends with before it prints: this stands, whatever becomes of the output."""
    click.get_current_context().find_root().meta[_OUTCOME] = code
    return code


def outcome() -> int | None:
    """What the command said that it ends with."""
    context = click.get_current_context(silent=True)
    code = None if context is None else context.find_root().meta.get(_OUTCOME)
    return code if isinstance(code, int) else None
