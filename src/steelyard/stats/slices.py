"""Slices: the same scores for parts of the data.

A column that is constant inside every unit splits the units: the slice is a weight of 0 or 1. A column that varies
inside units (the food of an item) splits the rows: they are measured again, and units that lose rows are partial.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.pairs import Paired
from steelyard.core.stats import Stats

MOST_SLICES = 1000


def slices(pairs: Paired, stats: Stats, by: Sequence[str], measure: Callable[[Any], Stats]) -> dict[str, Stats]:
    """Stats by the values of one column, or of several crossed; a slice holds only the units that are in it."""
    found_by = [pairs.by(name) for name in by]
    owner = found_by[0][1]
    texts = [[_text(value) for value in values.tolist()] for values, _ in found_by]
    labels = [", ".join(parts) for parts in zip(*texts, strict=True)]
    names, codes = np.unique(np.array(labels, dtype=str), return_inverse=True)
    if len(names) > MOST_SLICES:
        raise InputError(
            f"'{', '.join(by)}' has {len(names)} different values", remedy=f"Slice by at most {MOST_SLICES}."
        )
    first = np.full(len(pairs.units), -1, dtype=np.int64)
    first[owner] = codes
    varies = bool((first[owner] != codes).any())
    found = {}
    for code, name in enumerate(names):
        if stats.copies is not None:
            found[str(name)] = measure(pairs.where(codes == code))
        elif varies:
            rows = codes == code
            found[str(name)] = measure(pairs.where(rows)).take(np.unique(owner[rows]))
        else:
            found[str(name)] = stats.take(np.flatnonzero(first == code))
    return found


def _text(value: object) -> str:
    if value is None or value != value:
        return "(none)"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip() or "(none)"
