"""How fast a server may be asked: by the user's limits, and by what the server says of its own.

Limits by requests and by tokens per minute hold for all threads together. A server says what is left of them in
headers (those of OpenAI and of Anthropic are known) and by Retry-After; all threads wait then, and no longer than
`LONGEST_PAUSE` by headers alone.
"""

from __future__ import annotations

import email.utils
import re
import threading
import time
from collections import deque
from collections.abc import Mapping
from datetime import datetime

MINUTE = 60.0
LONGEST_PAUSE = 60.0  # seconds, by headers of an answer that is no refusal
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_SECONDS = (86_400.0, 3600.0, 60.0, 1.0, 0.001)


class Pace:
    """Turns for the questions of several threads. `rate` and `tokens` are limits per minute; 0 is none."""

    def __init__(self, rate: float, tokens: float, closed: threading.Event) -> None:
        self._rate, self._tokens, self._closed = rate, tokens, closed
        self._lock = threading.Lock()
        self._next = self._until = 0.0
        self._spent: deque[list[float]] = deque()  # when, and how many tokens
        self._largest = 0.0  # tokens of the largest question so far

    def wait(self, guess: float) -> list[float]:
        """Wait for a turn; `guess` is how many tokens the question may cost. Give what is given back to `settle`."""
        while True:
            with self._lock:
                now = time.monotonic()
                start = max(now, self._next, self._until)
                ticket = [start, max(guess, self._largest)]
                if self._tokens:
                    start = max(start, self._room(now, ticket[1]))
                if start <= now:
                    self._next = now + MINUTE / self._rate if self._rate else 0.0
                    self._spent.append(ticket)
                    return ticket
            if self._closed.wait(start - now):
                return ticket

    def _room(self, now: float, wanted: float) -> float:
        """When so many more tokens fit into a minute; one question alone always does."""
        while self._spent and self._spent[0][0] <= now - MINUTE:
            self._spent.popleft()
        left = sum(count for _, count in self._spent) + wanted - self._tokens
        for moment, count in self._spent:
            if left <= 0:
                return now
            left -= count
            if left <= 0:
                return moment + MINUTE
        return self._spent[-1][0] + MINUTE if self._spent and left > 0 and wanted <= self._tokens else now

    def settle(self, ticket: list[float], tokens: int | None) -> None:
        """Say what a question cost in the end; None where that is not known."""
        if tokens is not None:
            with self._lock:
                ticket[1] = float(tokens)
                self._largest = max(self._largest, float(tokens))

    def pause(self, seconds: float) -> None:
        """Let all threads wait."""
        with self._lock:
            self._until = max(self._until, time.monotonic() + seconds)

    def heard(self, headers: Mapping[str, str]) -> None:
        """Wait where the server says that nothing is left of its limits."""
        for kind in ("requests", "tokens", "input-tokens", "output-tokens"):
            left, limit, reset = _limits(headers, kind)
            wanted = 1.0 if kind == "requests" else max(1.0, self._largest)
            if left is None or reset is None or left >= wanted:
                continue
            if limit is not None and limit > left:  # limits fill up evenly
                reset *= min(1.0, (wanted - left) / (limit - left))
            self.pause(min(reset, LONGEST_PAUSE))


def _limits(headers: Mapping[str, str], kind: str) -> tuple[float | None, float | None, float | None]:
    """What is left of a limit, the limit, and the seconds until it is full again."""
    for name in ("x-ratelimit-{}-" + kind, f"anthropic-ratelimit-{kind}-" + "{}"):
        left, limit, reset = (headers.get(name.format(part)) for part in ("remaining", "limit", "reset"))
        if left is not None:
            return _count(left), _count(limit), duration(reset)
    return None, None, None


def _count(text: str | None) -> float | None:
    return float(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None


def duration(text: str | None) -> float | None:
    """Seconds, from `6m0s`, `20ms`, `1.5`, or a moment as RFC 3339 has it; None for anything else."""
    text = (text or "").strip()
    match = _DURATION.fullmatch(text)
    if text and match and len(text) < 32:
        return sum(float(part) * unit for part, unit in zip(match.groups(), _SECONDS, strict=True) if part)
    try:
        return max(0.0, datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() - time.time())
    except (ValueError, OverflowError, OSError):
        return retry_after(text)


def retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number or a date."""
    if not value:
        return None
    try:
        seconds = float(value)
        return max(0.0, seconds) if seconds == seconds else None
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, OSError):
        return None
