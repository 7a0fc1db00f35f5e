"""Table: named columns as a source gave them, before any meaning. Every reader ends here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.frozen import Frozen

Array = NDArray[Any]


class Table(Frozen):
    """Columns of equal length and where their rows stand: `lines` for a text file, else rows counted from 0.

    `counted` is what a file calls its lines. `decimal` is the mark of decimals in texts; None is found out by column.
    `left_out` are columns of the source that were not read.
    """

    source: str
    columns: Mapping[str, Array]
    lines: Array | None = None
    counted: str = "line"
    decimal: str | None = "."
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def number(self, value: Any) -> float:
        """A cell as a number; ValueError or TypeError where it is none."""
        return float(value.replace(",", ".") if self.decimal == "," and isinstance(value, str) else value)

    def place(self, row: int) -> str:
        """Where a row stands, for a message."""
        if self.lines is None:
            return f"{self.source}, row {row}"
        return f"{self.source}, {self.counted} {self.lines[row]}"


def is_empty(value: Any) -> bool:
    """Whether a cell holds nothing."""
    if value is None:
        return True
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, np.ndarray):
        return value.size == 0
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return True
