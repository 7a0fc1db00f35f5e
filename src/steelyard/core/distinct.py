"""Distinct units: duplicates are counted in a matrix instead of being stored one by one.

Distinct units are numbered by the cells of the matrix. What has a row per distinct unit is made on request: the plain
score often needs the matrix alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from steelyard.core.block import CellsBlock, shape_of
from steelyard.core.metadata import Metadata
from steelyard.core.units import Array, Units
from steelyard.core.weights import Entries, Floats, Weights

DISTINCT_FROM = 10_000  # units; below, each has a row


class DistinctUnits(Units):
    """The cells of a matrix that hold units, with their numbers as copies."""

    def __init__(self, matrix: Array) -> None:
        self.__dict__["matrix"], self.__dict__["groups"] = matrix, {}

    @cached_property
    def ids(self) -> Array:
        """The numbers of the cells."""
        return np.flatnonzero(self.__dict__["matrix"].ravel())

    @cached_property
    def copies(self) -> Array:
        """The number of copies of each distinct unit."""
        copies: Array = self.__dict__["matrix"].ravel()[self.ids]
        return copies

    @property
    def deduplicated(self) -> bool:
        """Whether rows stand for several units; always true here."""
        return True

    @cached_property
    def count(self) -> int:
        return int(self.__dict__["matrix"].sum())

    def __reduce__(self) -> tuple[Any, ...]:
        return (Units, (self.ids, None, self.copies))


class DistinctCells(CellsBlock):
    """Cells of distinct units. `make` gives the entries, and `all_units` the plain totals, from the matrix."""

    kind: ClassVar[str] = "cells"

    def __init__(
        self, axes: tuple[str | int, ...], make: Callable[[], Entries], all_units: Callable[[], Floats]
    ) -> None:
        self.__dict__.update(axes=axes, make=make, all_units=all_units)

    @cached_property
    def _plain_totals(self) -> Floats:
        """Made once: the value of a metric and what is said of its classes both ask for them."""
        totals: Floats = self.__dict__["all_units"]()
        return totals

    @cached_property
    def entries(self) -> Entries:
        """One or more per distinct unit."""
        entries: Entries = self.__dict__["make"]()
        return entries

    def total(self, weights: Weights, metadata: Metadata) -> Floats:
        if not weights.whole:
            return super().total(weights, metadata)
        return self._plain_totals.reshape(-1, *shape_of(self.axes, metadata))

    def __reduce__(self) -> tuple[Any, ...]:
        return (CellsBlock, (self.axes, self.entries))
