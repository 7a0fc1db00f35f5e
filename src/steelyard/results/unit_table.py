"""UnitTable: every metric for each unit alone."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from numpy.typing import NDArray

from steelyard.core.frozen import frozen
from steelyard.results.same import equal, units_repr


@frozen
class UnitTable:
    """Every metric for each unit alone; nan where a unit has none."""

    unit: str
    units: NDArray[Any]
    values: Mapping[str, NDArray[Any]]

    __eq__ = equal
    __repr__ = units_repr

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write it, one row per unit."""
        from steelyard.io.write import sheet_text, write_text  # most programs write nothing

        rows = zip(self.units.tolist(), *(column.tolist() for column in self.values.values()), strict=True)
        write_text(path, sheet_text([self.unit, *self.values], rows))
