"""The focal loss of labels on a CPU, in native code: value and derivative in one pass over logits as they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from steelyard import _native
from steelyard.losses.strides import Strides, is_dense, is_packed, join_axes

GAMMAS = (0.0, 1.0, 1.5, 2.0)
Array = NDArray[Any]


def focal_sum(
    x: Array, labels: Array, alphas: tuple[float, float], gamma: float, slope: Array | None, threads: int
) -> float | None:
    """The sum of the loss of logits, and the derivative, into `slope`; None where the arrays are not served.

    `labels` are -2 where an anchor does not count. `alphas` are the factors where the class is the anchor's, and where
    it is not.
    """
    if x.dtype != np.float32 or not x.size or gamma not in GAMMAS:
        return None
    if slope is not None and slope.strides != x.strides:
        return None
    steps = _steps(x)
    if not is_dense(x.shape, steps):
        return None
    labels = np.ascontiguousarray(labels, dtype=np.int64)
    classes, flat = x.shape[-1], _flat(x)
    settings = (*alphas, gamma, None if slope is None else _flat(slope), threads)
    if is_packed(x.shape, steps):
        return _native.focal_of_rows(flat, labels.ravel(), classes, *settings)
    sizes, (along, targets) = join_axes(x.shape[:-1], (steps[:-1], _steps(labels)))
    if len(sizes) > 3 or along[-1] != 1:
        return None
    lead = 3 - len(sizes)
    sizes, along, targets = ([fill] * lead + of for fill, of in ((1, sizes), (0, along), (0, targets)))
    return _native.focal_of_planes(
        flat, labels.ravel(), tuple(sizes), tuple(along[:2]), tuple(targets), classes, steps[-1], *settings
    )


def _steps(array: Array) -> Strides:
    return tuple(step // array.itemsize for step in array.strides)


def _flat(array: Array) -> Array:
    """The elements in the order in which they lie; they fill a stretch of memory."""
    return as_strided(array, (array.size,), (array.itemsize,))
