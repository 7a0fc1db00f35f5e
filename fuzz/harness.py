"""What all fuzz targets share: how odd arguments are drawn, how a native entry is called with them, and the loop.

A target is a function of a `random.Random`: the same number gives the same run. It is registered under a name by
`@target`, and fuzz/run.py runs it. A native entry must take what it is given or refuse it with a ValueError (a
TypeError where the type is another one, an AttributeError where an object lacks an attribute that is read). Any other
exception, a crash or a sanitizer's report is a find.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Target = Callable[[random.Random], None]
TARGETS: dict[str, Target] = {}
REFUSED = (ValueError, TypeError, AttributeError)
REALS = [float("nan"), float("inf"), -float("inf"), -1.0, 0.0, -0.0, 0.5, 1e14, 1e300, -1e300, 1e-320, 1e39]
WHOLES = [-1, 0, 1, 255, -(2**31), 2**31, 2**32 - 1, 2**62, 2**63 - 1, -(2**63), 2**64 - 1]


def target(name: str) -> Callable[[Target], Target]:
    """Register a function as the target of that name."""

    def register(function: Target) -> Target:
        TARGETS[name] = function
        return function

    return register


class Draw:
    """Arguments for native entries, drawn from one random source."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.numbers = rng, np.random.default_rng(rng.randrange(1 << 30))

    def size(self, most: int = 6) -> int:
        return self.rng.randrange(most + 1)

    def real(self, *shape: int, low: float = 0.0, high: float = 50.0) -> np.ndarray:
        return self.numbers.uniform(low, high, shape)

    def few(self, *shape: int) -> np.ndarray:
        """Real numbers of which many are equal."""
        return self.numbers.integers(0, 5, shape) / 4.0

    def whole(self, limit: int, *shape: int, kind: Any = np.int64) -> np.ndarray:
        return self.numbers.integers(0, max(1, limit), shape).astype(kind)

    def flags(self, *shape: int) -> np.ndarray:
        return self.whole(2, *shape, kind=np.uint8)

    def bits(self, *shape: int) -> np.ndarray:
        return self.numbers.integers(0, 1 << 32, shape, dtype=np.uint32)

    def keys(self, count: int) -> np.ndarray:
        return self.numbers.integers(0, 1 << 63, count, dtype=np.uint64) * np.uint64(2)

    def offsets(self, parts: int, rows: int) -> np.ndarray:
        """Where `parts` ranges begin that cover the rows, and their end."""
        inner = np.sort(self.numbers.integers(0, rows + 1, max(0, parts - 1)))
        return np.concatenate([[0], inner, [rows]]).astype(np.int64) if parts else np.zeros(1, np.int64)

    def owners(self, units: int, rows: int) -> np.ndarray:
        """A unit for each row; none where there is no unit."""
        return self.whole(units, rows if units else 0)

    def bytes(self, most: int = 40) -> bytes:
        return bytes(self.rng.randrange(256) for _ in range(self.rng.randrange(most)))

    def call(self, entry: Callable[..., Any], *arguments: Any) -> Any:
        """Call a native entry, a third of the time with something wrong; gives None where it is refused."""
        given = list(arguments)
        if given and self.rng.random() < 1 / 3:
            for _ in range(self.rng.choice([1, 1, 2])):
                at = self.rng.randrange(len(given))
                given[at] = self.changed(given[at])
        try:
            return entry(*given)
        except REFUSED:
            return None

    def changed(self, value: Any) -> Any:
        """The value with something wrong about it, or of another kind."""
        rng = self.rng
        if rng.random() < 0.05:
            return rng.choice([None, "x", b"", [], {}, 1.5, -1, np.zeros(0), np.zeros((2, 2))])
        if isinstance(value, np.ndarray):
            return self._changed_array(value)
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return rng.choice([value - 1, value + 1, *WHOLES[:2], 2**62, 2**63 - 1, 2**64 - 1])
        if isinstance(value, float):
            return rng.choice(REALS)
        if isinstance(value, bytes):
            at = rng.randrange(len(value) + 1)
            return rng.choice([value[:at], value + b"x", value[:at] + bytes([rng.randrange(256)]) + value[at + 1 :]])
        if isinstance(value, list):
            at = rng.randrange(len(value) + 1)
            return rng.choice([value[:at], [*value, None], value[::-1], [*value[:at], *value], [value]])
        return value

    def _changed_array(self, value: np.ndarray) -> np.ndarray:
        rng = self.rng
        change = rng.randrange(8) if value.dtype.kind in "iufO" else 0
        if change == 0:
            return value[:-1].copy()
        if change == 1:
            return np.concatenate([value, value[-1:]]) if len(value) else np.zeros((1, *value.shape[1:]), value.dtype)
        if change == 2:
            return value[::-1]  # refused: not contiguous
        if change == 3:
            return value[:0].copy()
        if change == 4:
            return value.astype(
                "U1" if value.dtype.kind == "O" else rng.choice([np.float32, np.int16, np.float64, np.int64, np.uint8])
            )
        if change == 5:
            return np.ascontiguousarray(value.T) if value.ndim > 1 else value[::-1].copy()
        if not value.size:
            return value
        copy = value.copy()
        odd: list[Any] = {"f": REALS, "O": [None, 5, "", "\ud800"]}.get(value.dtype.kind, WHOLES)
        for _ in range(rng.choice([1, 1, 3])):
            place = rng.randrange(copy.size)
            copy.reshape(-1)[place : place + 1] = np.array([rng.choice(odd)]).astype(copy.dtype)
        return copy


def run(names: Sequence[str], seconds: float, seed: int) -> None:
    """Run each target for so many seconds. A find ends it, with the number that gives the run again."""
    np.seterr(all="ignore")
    for name in names:
        start, runs = time.monotonic(), 0
        while runs == 0 or time.monotonic() - start < seconds:
            number = seed * 1_000_003 + runs
            try:
                TARGETS[name](random.Random(number))
            except BaseException:
                print(f"{name}: run {runs} of seed {seed} (random.Random({number})) failed", file=sys.stderr)
                raise
            runs += 1
        print(f"{name}: {runs} runs without a find (seed {seed})", flush=True)
