"""Pairing rows with columns of a matrix of costs, each used once, until one side is used up."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from steelyard import _native
from steelyard.core.pairs import Array

Matching = Literal["greedy", "optimal"]
MATCHINGS: tuple[Matching, ...] = ("greedy", "optimal")


def assign(cost: ArrayLike, matching: Matching = "greedy") -> Array:
    """The column of each row, -1 for a row that is left over.

    `greedy` takes the smallest cost first; ties go to the smaller row, then to the smaller column. `optimal` makes the
    total smallest (Jonker and Volgenant's shortest augmenting paths).

    >>> assign([[1.0, 2.0], [1.1, 9.0]]).tolist(), assign([[1.0, 2.0], [1.1, 9.0]], "optimal").tolist()
    ([0, 1], [1, 0])
    """
    if matching not in MATCHINGS:
        raise ValueError(f"there is no matching '{matching}'")
    matrix = np.ascontiguousarray(cost, dtype=np.float64)
    column: Array = _native.assign(matrix, matching == "optimal")
    return column
