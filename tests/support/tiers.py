"""Which cases run in `make test` and which in `make test-slow`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_except(values: Iterable[Any], *fast: Any) -> list[Any]:
    """Cases of a parametrised test: all but those of `fast` are marked slow."""
    return [value if value in fast else pytest.param(value, marks=pytest.mark.slow) for value in values]


def slow_rows_except(rows: Iterable[tuple[Any, ...]], *fast: tuple[Any, ...]) -> list[Any]:
    """The same for a test of several parameters."""
    return [row if row in fast else pytest.param(*row, marks=pytest.mark.slow) for row in rows]
