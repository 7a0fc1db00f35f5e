"""A sketch of a set of units: enough of their keys to say how many units two sets share.

The keys of units are hashes of their ids, so the smallest ones are a random sample that every set takes alike: a unit
of both sets that lies below the largest key of either sketch is in both sketches (Broder 1997; Beyer et al. 2007).
"""

from __future__ import annotations

import base64
import binascii

import numpy as np

from steelyard.core.draws import unit_keys
from steelyard.core.frozen import Frozen
from steelyard.core.weights import Array

SIZE = 1024
SAME_SET = 0.01  # of the units of the smaller set: from there on, two sets are one that grew or was corrected


class UnitSketch(Frozen):
    """How many units a set has, and the smallest of their 64-bit keys, as base64 of little-endian integers."""

    units: int
    keys: str

    @staticmethod
    def of_ids(ids: Array) -> UnitSketch:
        """The sketch of units that each appear once."""
        return UnitSketch.of_keys(unit_keys(ids))

    @staticmethod
    def of_keys(keys: Array) -> UnitSketch:
        """The sketch of units by their keys, each of which appears once."""
        least = np.sort(keys if len(keys) <= SIZE else np.partition(keys, SIZE - 1)[:SIZE])
        return UnitSketch(len(keys), base64.b64encode(least.astype("<u8").tobytes()).decode("ascii"))

    @property
    def values(self) -> Array:
        """The keys as integers, in rising order."""
        return np.frombuffer(base64.b64decode(self.keys, validate=True), dtype="<u8")

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        try:
            values = self.values
        except (binascii.Error, ValueError):
            return {"keys": "is not base64 of 64-bit integers"}
        if len(values) != min(self.units, SIZE) or (values[1:] <= values[:-1]).any():
            return {"keys": f"does not hold {min(self.units, SIZE):,} rising keys"}
        return {}

    def shared_fraction(self, other: UnitSketch) -> float | None:
        """The share of the smaller set's units that the other set has too; None where the sketches cannot tell.

        It is exact where both sets have at most 1,024 units. Otherwise the sets are compared below the largest key that
        both sketches reach; of a small set and a very large one no key may lie there.
        """
        mine, theirs = self._up_to(other)
        smaller = mine if self.units <= other.units else theirs
        return len(np.intersect1d(mine, theirs, assume_unique=True)) / len(smaller) if len(smaller) else None

    def _up_to(self, other: UnitSketch) -> tuple[Array, Array]:
        """The keys of both sets up to the largest that both sketches reach."""
        both = self.values, other.values
        cut = [keys[-1] for sketch, keys in zip((self, other), both, strict=True) if sketch.units > len(keys)]
        return (both[0], both[1]) if not cut else (both[0][both[0] <= min(cut)], both[1][both[1] <= min(cut)])
