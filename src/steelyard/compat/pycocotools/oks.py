"""Object keypoint similarity as the reference makes it: to the bit on every machine, since exp is NumPy's own.

NumPy's exp is vectorised where the processor allows it and the C library's elsewhere; the two differ in the last bits.
What exp is asked of, and the means, are sums, products and quotients, which are rounded alike everywhere: the native
core makes them. exp of an element does not depend on its place in a contiguous array, in any NumPy that we know, so
that it is asked for many pairs at once, which is checked on some of them. It must not be asked in place: NumPy then
takes another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard import _native
from steelyard.core.errors import InvalidNumber, OutOfRange

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:
    Array = Any  # at run time nobody looks at it

_LARGEST = 1e12
_TOGETHER = 1 << 15  # pairs that exp is asked of at once
_CHECKED = 256  # pairs among which one of each length is asked for alone, too


def check_points(points: Any, sigmas: Any, ids: Sequence[Any]) -> None:
    """Refuse points and sigmas that would make numbers of nothing."""
    wrong = np.flatnonzero(~(np.abs(points) <= _LARGEST).all(axis=1))
    if len(wrong):
        raise InvalidNumber(
            "a keypoint is not finite, or beyond 1e12",
            where=f"annotation with id {ids[int(wrong[0])]}, key 'keypoints'",
        )
    if not len(sigmas) or not ((sigmas >= 1e-6) & (sigmas <= 1e6)).all():
        raise OutOfRange("a sigma is out of range", remedy="Each of params.kpt_oks_sigmas must be from 1e-6 to 1e6.")


class PointPairs:
    """Detections and truths with keypoints in cells, as `_native.oks_exponents` takes them."""

    def __init__(self, **columns: Array) -> None:
        self.columns = columns

    def ious(self, least: float) -> Array:
        """The similarity of all pairs, flat; 0 where it is surely less than that."""
        sizes = np.diff(self.columns["d_begin"]) * np.diff(self.columns["t_begin"])
        before = np.concatenate([[0], np.cumsum(sizes)])
        table, first, cells = np.zeros(before[-1]), 0, len(before) - 1
        while first < cells:
            last = max(first + 1, int(np.searchsorted(before, before[first] + _TOGETHER, side="right")) - 1)
            exponents, begin, pair = _native.oks_exponents(**self.columns, least=least, first=first, last=last)
            table[pair] = _native.oks_means(_exp_of_pairs(exponents, begin), begin)
            first = last
        return table


def _exp_of_pairs(exponents: Array, begin: Array) -> Array:
    whole: Array = np.exp(exponents)
    sizes = np.diff(begin[: _CHECKED + 1]).tolist()
    places = {size: slice(begin[i], begin[i + 1]) for i, size in enumerate(sizes)}
    if all(np.array_equal(np.exp(exponents[place].copy()), whole[place]) for place in places.values()):
        return whole
    return np.concatenate([np.exp(row.copy()) for row in np.split(exponents, begin[1:-1])])


def oks_table(detected: Any, truth: Any, box: Any, area: Any, sigmas: Any) -> Any:
    """Similarity, detections by truths; points are x, y, v in turn."""
    d_rows, t_rows = (np.arange(len(side), dtype=np.int32) for side in (detected, truth))
    cell = {"d_begin": np.array([0, len(detected)]), "t_begin": np.array([0, len(truth)])}
    points = {"d_points": without_flags(detected), "t_points": np.ascontiguousarray(truth)}
    pairs = PointPairs(**cell, **points, d_rows=d_rows, t_rows=t_rows, t_box=box, t_area=area, sigmas=sigmas)
    return pairs.ious(-np.inf).reshape(len(detected), len(truth))


def without_flags(points: Array) -> Array:
    """Of points x, y, v in turn, x and y."""
    return np.ascontiguousarray(points.reshape(len(points), -1, 3)[:, :, :2]).reshape(len(points), -1)
