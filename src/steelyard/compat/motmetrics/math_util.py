"""Division without warnings."""

from __future__ import annotations

from typing import Any

import numpy as np


def quiet_divide(a: Any, b: Any) -> Any:
    """NumPy's quotient; 0 / 0 is NaN without a warning."""
    with np.errstate(all="ignore"):
        return np.true_divide(a, b)
