"""What laws say where they do not hold: one sentence with the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


def require(holds: object, message: str) -> None:
    """Raise AssertionError where something does not hold, also under `python -O`."""
    if not holds:
        raise AssertionError(message)


def require_equal(value: Any, expected: Any, what: str, tolerance: float = 0.0) -> None:
    """Values must be equal, to the bit or within a relative and absolute tolerance; nan equals nan."""
    a, b = np.asarray(value, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    require(a.shape == b.shape, f"{what}: {a.shape} values, expected {b.shape}")
    close = np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not close.all():
        first = np.unravel_index(int(np.argmin(close)), close.shape)
        raise AssertionError(
            f"{what}: {float(a[first])!r}, expected {float(b[first])!r}, and {int((~close).sum())} of {close.size} "
            f"values differ by more than {tolerance:g}"
        )
