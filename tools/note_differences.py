"""A plugin of pytest: how many numbers the tests of a file compare, and the largest difference that they let pass.

    python -m pytest -p note_differences --differences FILE ...

Comparisons by `pytest.approx` and `numpy.testing.assert_allclose` are counted; a difference is relative to the expected
value, or absolute where that is below one. What is compared to the bit, by ==, is not seen here: it has none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCALAR: Any = type(pytest.approx(1.0))
COUNTS: dict[str, dict[str, float]] = {}
CURRENT = {"file": ""}


def note(actual: Any, expected: Any) -> None:
    """Count finite numbers, and keep the largest difference."""
    try:
        a, e = np.broadcast_arrays(np.asarray(actual, float), np.asarray(expected, float))
    except (TypeError, ValueError):
        return
    finite = np.isfinite(a) & np.isfinite(e)
    counts = COUNTS.setdefault(CURRENT["file"], {"numbers": 0, "largest": 0.0, "tests": 0})
    counts["numbers"] += int(a.size)
    if finite.any():
        off = np.abs(a[finite] - e[finite]) / np.maximum(1.0, np.abs(e[finite]))
        counts["largest"] = max(counts["largest"], float(off.max()))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the counts are written."""
    parser.addoption("--differences", required=True)


def pytest_configure(config: pytest.Config) -> None:
    """Listen to both ways of comparing."""
    plain, close = SCALAR.__eq__, np.testing.assert_allclose

    def equal(self: Any, actual: Any) -> bool:
        same = plain(self, actual)
        if same:
            note(actual, self.expected)
        return same

    def assert_close(actual: Any, desired: Any, *values: Any, **named: Any) -> None:
        close(actual, desired, *values, **named)
        note(actual, desired)

    SCALAR.__eq__ = equal
    np.testing.assert_allclose = assert_close


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Say whose numbers come now."""
    CURRENT["file"] = Path(item.path).name
    COUNTS.setdefault(CURRENT["file"], {"numbers": 0, "largest": 0.0, "tests": 0})["tests"] += 1


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write what was counted, if all passed."""
    if exitstatus == 0:
        Path(session.config.getoption("--differences")).write_text(
            json.dumps(COUNTS, indent=1) + "\n", encoding="utf-8"
        )
