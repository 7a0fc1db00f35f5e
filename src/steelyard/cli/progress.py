"""A line on stderr that says how far long work is, where somebody looks at it: never in a pipe."""

from __future__ import annotations

import sys
import time

WIDTH = 30
QUIET = 0.5  # seconds of work before the line shows at all
OFTEN = 0.1  # seconds between two lines
SURE = 1.0  # seconds of a stage before a time to go is worth saying


class Line:
    """The line of one command: a stage, how far it is, and how long it may still take."""

    def __init__(self) -> None:
        self.began = self.stage_began = time.monotonic()
        self.stage, self.last, self.shown = "", 0.0, False

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show so many of all steps."""
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.stage_began, self.last = stage, now, 0.0
        if now - self.began < QUIET or (now - self.last < OFTEN and done < total):
            return
        self.last = now
        self.shown = True
        sys.stderr.write("\r\x1b[K" + line(stage, done, total, now - self.stage_began))
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self.shown:
            self.shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def line(stage: str, done: int, total: int, seconds: float) -> str:
    """What the line says."""
    filled = WIDTH * done // max(1, total)
    text = f"{stage:<9} {'━' * filled}{'┈' * (WIDTH - filled)} {done:,} of {total:,}"
    if 0 < done < total and seconds >= SURE:
        text += f", about {_time(seconds * (total - done) / done)} to go"
    return text


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def listener() -> Line | None:
    """A line where stderr is a terminal."""
    global _current
    _current = Line() if sys.stderr is not None and sys.stderr.isatty() else None
    return _current


def clear() -> None:
    """Take the line of this command away, before anything else is printed."""
    if _current is not None:
        _current.clear()


_current: Line | None = None
