"""Object keypoint similarity as the reference makes it: to the bit on every machine, since exp is NumPy's own.

NumPy's exp is vectorised where the processor allows it and the C library's elsewhere; the two differ in the last bits.
The distances are sums, products and quotients, which are rounded alike everywhere: they are made for all detections at
once. exp and the sum are asked for each pair by itself, of an array of the reference's type, length and layout.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.core.errors import InvalidNumber, OutOfRange

_TINY = np.spacing(1)  # what the reference adds to the area
_LARGEST = 1e12


def check_points(points: Any, sigmas: Any, what: str) -> None:
    """Refuse points and sigmas that would make numbers of nothing."""
    wrong = np.flatnonzero(~(np.abs(points) <= _LARGEST).all(axis=1))
    if len(wrong):
        raise InvalidNumber(
            "a keypoint is not finite, or beyond 1e12", where=f"{what} {int(wrong[0])}, key 'keypoints'"
        )
    if not len(sigmas) or not ((sigmas >= 1e-6) & (sigmas <= 1e6)).all():
        raise OutOfRange("a sigma is out of range", remedy="Each of params.kpt_oks_sigmas must be from 1e-6 to 1e6.")


def oks_table(detected: Any, truth: Any, box: Any, area: Any, sigmas: Any) -> Any:
    """Similarity, detections by truths; points are x, y, v in turn."""
    check_points(detected, sigmas, "detection")
    check_points(truth, sigmas, "truth")
    variance = (sigmas * 2) ** 2
    x, y = detected[:, 0::3], detected[:, 1::3]
    table = np.zeros((len(detected), len(truth)))
    for j, points in enumerate(truth):
        visible = points[2::3] > 0
        if visible.any():
            dx, dy = x - points[0::3], y - points[1::3]
        else:  # the truth is a region: twice its box on every side
            visible = np.ones(len(sigmas), dtype=bool)
            dx = _outside(x, box[j, 0], box[j, 2])
            dy = _outside(y, box[j, 1], box[j, 3])
        distance = (dx**2 + dy**2) / variance / (area[j] + _TINY) / 2
        exponents = np.ascontiguousarray(-distance[:, visible])
        for i, row in enumerate(exponents):
            table[i, j] = np.sum(np.exp(row)) / len(row)
    return table


def _outside(values: Any, start: Any, size: Any) -> Any:
    low, high = start - size, start + size * 2
    return np.maximum(0.0, low - values) + np.maximum(0.0, values - high)
