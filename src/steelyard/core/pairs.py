"""Pairs: truth joined with predictions by id, with counts of what did not join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from steelyard.core.deprecated import Renamed, adopt_renamed, warn_renamed
from steelyard.core.errors import MissingColumn, nearest
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.records import Records
from steelyard.core.units import Units

Array = NDArray[Any]


def no_slice_column(truth: Records, name: str, remedy: str = "") -> MissingColumn:
    """The error for a column to slice by that does not exist."""
    close = nearest(name, truth.source_names)
    return MissingColumn(f"column '{name}' is missing, which `by` names", where=truth.source, remedy=close or remedy)


class Coverage(Frozen):
    """How much of the truth has a prediction, and what the policy did with the rest."""

    truth: int
    predictions: int
    matched: int
    missing: int
    extra: int
    policy: str = "error"

    @property
    def share(self) -> float:
        """Matched rows of the truth, 0..1."""
        return self.matched / self.truth if self.truth else float("nan")


class Paired(Protocol):
    """What every task's pairs must answer, whatever their shape."""

    @property
    def units(self) -> Array:
        """Ids of the units, in the order that their ids give."""

    @property
    def coverage(self) -> Coverage:
        """What joined and what did not."""

    def slice_values(self, name: str) -> tuple[Array, Array]:
        """A column to slice by: its values, and the unit that each belongs to. Raises where there is none."""

    def select(self, keep: Array) -> Self:
        """The part whose values (as `slice_values` gives them) a mask keeps. All units stay."""


class Countable:
    """Base of pairs with so many units that duplicates are stored once, with their number of copies."""

    @property
    def distinct_units(self) -> Units | None:
        """The distinct units with their copies; None where each unit has a row."""
        return None

    @property
    def kept_statistics(self) -> tuple[Any, ...]:
        """Statistics that a state keeps whatever the metrics: those that tell which units are duplicates."""
        return ()

    @property
    def own_units(self) -> bool:
        """Whether each unit is one id: then no unit can lie in two files that have no id in common."""
        return True

    @property
    def named_units(self) -> Array | None:
        """The ids of the units in any order; None where units have no ids."""
        units: Array = self.units  # type: ignore[attr-defined]
        return units

    def answered(self, requirements: Sequence[Any]) -> Mapping[Any, Any] | None:
        """Blocks by statistic where rows are too many to be kept: what is read from them; else None."""
        return None

    def per_unit(self) -> Self:
        """The pairs with a row for each unit."""
        return self

    def part_of(self, metadata: Metadata, rows: int) -> Self:
        """Return the pairs as a part of data with these facts and this many rows in all."""
        return self


def metadata_of(pairs: Any) -> Metadata:
    """The metadata of pairs. A class of another package may still call them `facts`, which gives a warning."""
    own = getattr(pairs, "__dict__", {})
    if "metadata" not in own and not hasattr(type(pairs), "metadata") and hasattr(pairs, "facts"):
        warn_renamed(f"{type(pairs).__qualname__}.facts", f"{type(pairs).__qualname__}.metadata")
        facts: Metadata = pairs.facts
        return facts
    metadata: Metadata = pairs.metadata
    return metadata


def field_columns(pairs: Any) -> tuple[str, ...]:
    """The columns of pairs that hold fields of measured values."""
    columns: tuple[str, ...] = getattr(pairs, "field_columns", ())
    return columns


class Pairs(Frozen):
    """Rows of truth, each with its prediction, in an order that depends on the ids alone.

    `owner` is a row's unit, `truth_row` and `prediction_row` its places in the records; `prediction_row` is -1 where
    the prediction is missing and the policy keeps the row. `partial` marks units that lost rows to the policy or to
    a slice.
    """

    truth: Records
    prediction: Records
    units: Array
    owner: Array
    truth_row: Array
    prediction_row: Array
    partial: Array
    coverage: Coverage
    weight: Array | None = None

    facts = Renamed("metadata")

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        adopt_renamed(cls, Pairs, {"facts": "metadata"})

    @property
    def metadata(self) -> Metadata:
        """Rows have no classes."""
        return Metadata()

    def truth_column(self, name: str) -> Array:
        """A truth column, one value per pair."""
        return self.truth[name][self.truth_row]

    def prediction_column(self, name: str, missing: float) -> Array:
        """A prediction column, one value per pair; `missing` stands where there is no prediction."""
        if len(self.prediction) == 0:
            return np.full(len(self.prediction_row), missing)
        values = self.prediction[name][self.prediction_row]
        return np.where(self.prediction_row >= 0, values, missing)

    def slice_values(self, name: str) -> tuple[Array, Array]:
        """A column of the truth, or else of the predictions, one value per pair."""
        for records, rows in ((self.truth, self.truth_row), (self.prediction, self.prediction_row)):
            values = records.find(name)
            if values is not None and (len(rows) == 0 or rows.min() >= 0):
                return values[rows], self.owner
        raise no_slice_column(self.truth, name)

    def select(self, keep: Array) -> Self:
        """The pairs that a mask keeps. All units stay; those that lose rows are partial."""
        lost = np.zeros(len(self.units), dtype=bool)
        lost[self.owner[~keep]] = True
        return replace(
            self,
            owner=self.owner[keep],
            truth_row=self.truth_row[keep],
            prediction_row=self.prediction_row[keep],
            partial=self.partial | lost,
        )
