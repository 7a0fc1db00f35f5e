"""Distances between objects and hypotheses; NaN where they must not be paired."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.compat.motmetrics import math_util


def norm2squared_matrix(objs: Any, hyps: Any, max_d2: float = float("inf")) -> Any:
    """Squared Euclidean distances of points; NaN above `max_d2`."""
    objs, hyps = (np.atleast_2d(points).astype(float) for points in (objs, hyps))
    if objs.size == 0 or hyps.size == 0:
        return np.empty((0, 0))
    assert hyps.shape[1] == objs.shape[1], "Dimension mismatch"
    squared = np.sum((objs[:, np.newaxis] - hyps[np.newaxis, :]) ** 2, axis=-1)
    squared[squared > max_d2] = np.nan
    return squared


def rect_min_max(r: Any) -> tuple[Any, Any]:
    """The corners of boxes x, y, width, height."""
    return r[..., :2], r[..., :2] + r[..., 2:]


def boxiou(a: Any, b: Any) -> Any:
    """IoU of boxes x, y, width, height."""
    (a_min, a_max), (b_min, b_max) = rect_min_max(a), rect_min_max(b)
    common, own, other = (
        np.prod(np.maximum(high - low, 0), axis=-1)
        for low, high in ((np.maximum(a_min, b_min), np.minimum(a_max, b_max)), (a_min, a_max), (b_min, b_max))
    )
    return np.where(
        common == 0, np.zeros_like(common, dtype=np.float64), math_util.quiet_divide(common, own + other - common)
    )


def iou_matrix(objs: Any, hyps: Any, max_iou: float = 1.0) -> Any:
    """1 minus the IoU of boxes x, y, width, height; NaN above `max_iou`."""
    if np.size(objs) == 0 or np.size(hyps) == 0:
        return np.empty((0, 0))
    objs, hyps = (np.asarray(boxes, dtype=np.float64) for boxes in (objs, hyps))
    assert objs.shape[1] == 4
    assert hyps.shape[1] == 4
    distance = 1 - boxiou(objs[:, None], hyps[None, :])
    return np.where(distance > max_iou, np.nan, distance)
