"""When two results are equal: nan is equal to nan, and arrays are compared value by value.

Also what an interpreter shows of results and scores: a few lines, made where all texts are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.core.frozen import compared_values
from steelyard.results.registry import load


def equal(self: Any, other: object) -> Any:
    """`__eq__` of a result: the same class, and the same in every field that is compared."""
    if other.__class__ is not self.__class__:
        return NotImplemented
    return same(compared_values(self), compared_values(other))


def same(a: Any, b: Any) -> bool:
    """Whether two values hold the same numbers and texts."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _same_arrays(a, b)
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__fields_plan__") and type(a) is type(b):
        return same(compared_values(a), compared_values(b))
    return bool(a == b or (a != a and b != b))


def _same_arrays(a: Any, b: Any) -> bool:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.shape != b.shape:
        return False
    if a.dtype.kind in "fc" and b.dtype.kind in "fc":
        return bool(np.array_equal(a, b, equal_nan=True))
    return same(a.tolist(), b.tolist())


def result_repr(self: Any) -> str:
    """`__repr__` of a result: its first lines."""
    return str(load("steelyard.render.brief:brief")(self))


def score_repr(self: Any) -> str:
    """`__repr__` of a score."""
    return str(load("steelyard.render.brief:score_brief")(self))


def difference_repr(self: Any) -> str:
    """`__repr__` of a difference."""
    return str(load("steelyard.render.brief:difference_brief")(self))


def units_repr(self: Any) -> str:
    """`__repr__` of a table of units."""
    return str(load("steelyard.render.brief:units_brief")(self))


def gap_repr(self: Any) -> str:
    """`__repr__` of a gap."""
    return str(load("steelyard.render.brief:gap_brief")(self))
