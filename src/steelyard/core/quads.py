"""Quadrilaterals and rotated rectangles as arrays: corners, areas, the smallest rectangle around, and angles.

Corners are (n, 8): x1 y1 ... x4 y4, in order around. Rectangles are (n, 5): centre x and y, width along the angle,
height across, and the angle in radians from the x axis towards the y axis, which is clockwise on a screen.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.frozen import Frozen

Floats = NDArray[np.float64]
CORNERS = tuple(f"{axis}{i}" for i in range(1, 5) for axis in "xy")
RECTANGLE = ("cx", "cy", "w", "h", "angle")
HALF = math.pi / 2


class Convention(Frozen):
    """How a tool writes angles: unit, direction, the range that it allows, and whether the width is the long edge.

    The range is in its own unit, and holds one of its ends: the lower, or the upper with `upper`. A rectangle does not
    depend on the range, so reading needs only unit and direction; the range tells a wrong convention from a right one.
    """

    name: str
    degrees: bool = False
    y_to_x: bool = False
    low: float = -math.inf
    high: float = math.inf
    upper: bool = False
    long: bool = False


CONVENTIONS = {
    convention.name: convention
    for convention in (
        Convention("radians"),
        Convention("degrees", degrees=True),
        Convention("le90", low=-HALF, high=HALF, long=True),
        Convention("le135", low=-HALF / 2, high=3 * HALF / 2, long=True),
        Convention("oc", low=0.0, high=HALF, upper=True),
        Convention("opencv", degrees=True, low=-90.0, high=0.0),
        Convention("detectron2", degrees=True, y_to_x=True),
    )
}


def corners_of(rectangles: Floats) -> Floats:
    """The corners of rectangles, from the one at the low end of width and height on."""
    cx, cy, w, h, angle = rectangles.T
    c, s = np.cos(angle) / 2, np.sin(angle) / 2
    ax, ay, bx, by = c * w, s * w, -s * h, c * h
    x = (cx - ax - bx, cx + ax - bx, cx + ax + bx, cx - ax + bx)
    y = (cy - ay - by, cy + ay - by, cy + ay + by, cy - ay + by)
    return np.ascontiguousarray(np.stack([*x, *y], axis=1).reshape(-1, 2, 4).transpose(0, 2, 1).reshape(-1, 8))


def areas_of(corners: Floats) -> Floats:
    """The areas inside; seen from the first corner, so that far ones keep their digits."""
    x, y = corners[:, 2::2] - corners[:, :1], corners[:, 3::2] - corners[:, 1:2]
    twice = x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0] + x[:, 1] * y[:, 2] - x[:, 2] * y[:, 1]
    return np.asarray(np.abs(twice) / 2)


def extents_of(corners: Floats) -> Floats:
    """The upright boxes around: x, y, width, height."""
    x, y = corners[:, ::2], corners[:, 1::2]
    low = np.stack([x.min(axis=1), y.min(axis=1)], axis=1)
    high = np.stack([x.max(axis=1), y.max(axis=1)], axis=1)
    return np.ascontiguousarray(np.concatenate([low, high - low], axis=1))


def smallest_rectangles(corners: Floats) -> Floats:
    """The rectangle of least area around each; its width runs along one of the edges."""
    origin = corners[:, :2]
    points = corners.reshape(-1, 4, 2) - origin[:, None]
    best = np.concatenate([origin, np.zeros((len(corners), 3))], axis=1)
    least = np.full(len(corners), np.inf)
    for i, j in combinations(range(4), 2):  # one of these lies along an edge of the hull, which the least one does
        along = points[:, j] - points[:, i]
        length = np.hypot(along[:, 0], along[:, 1])
        with np.errstate(invalid="ignore"):
            unit = along / length[:, None]
        across = np.stack([-unit[:, 1], unit[:, 0]], axis=1)
        u, v = (np.einsum("nkd,nd->nk", points, axis) for axis in (unit, across))
        ends = [(value.min(axis=1), value.max(axis=1)) for value in (u, v)]
        w, h = (high - low for low, high in ends)
        mu, mv = ((high + low) / 2 for low, high in ends)
        better = (length > 0) & (w * h < least * (1 - 1e-12))
        centre = origin + mu[:, None] * unit + mv[:, None] * across
        rectangles = np.column_stack([centre, w, h, np.arctan2(unit[:, 1], unit[:, 0])])
        best[better], least[better] = rectangles[better], (w * h)[better]
    return best


def from_convention(rectangles: Floats, name: str) -> Floats:
    """Rectangles as a convention writes them, in radians and x towards y."""
    convention, out = CONVENTIONS[name], np.array(rectangles, dtype=np.float64)
    if convention.degrees:
        out[:, 4] = np.radians(out[:, 4])
    if convention.y_to_x:
        out[:, 4] = -out[:, 4]
    return out


def to_convention(rectangles: Floats, name: str) -> Floats:
    """Write rectangles in a convention: angles in its unit and range, edges swapped if needed."""
    convention, out = CONVENTIONS[name], np.array(rectangles, dtype=np.float64)
    if convention.y_to_x:
        out[:, 4] = -out[:, 4]
    unit = 180 / math.pi if convention.degrees else 1.0
    quarter, angle = HALF * unit, out[:, 4] * unit
    if convention.long:
        _exchange(out, out[:, 2] < out[:, 3])
        angle = np.where(rectangles[:, 2] < rectangles[:, 3], angle + quarter, angle)
        angle = _wrap_angle(angle, convention.low, 2 * quarter)
    elif math.isfinite(convention.low):
        turns = np.ceil(angle / quarter) - 1 if convention.upper else np.floor(angle / quarter) + 1
        angle = angle - turns * quarter
        _exchange(out, turns % 2 != 0)
    else:
        angle = _wrap_angle(angle, -2 * quarter, 4 * quarter)
    out[:, 4] = angle
    return out


def forbidden(rectangles: Floats, name: str) -> NDArray[Any]:
    """Which rows a convention cannot have written: the angle is out of its range, or the width is the short edge."""
    convention, angle = CONVENTIONS[name], rectangles[:, 4]
    slack = 1e-6 * (180 / math.pi if convention.degrees else 1.0)  # single precision, and rounding of files
    wrong = (angle < convention.low - slack) | (angle > convention.high + slack)
    if convention.long:
        wrong |= rectangles[:, 2] < rectangles[:, 3] * (1 - 1e-4) - 1e-3
    return np.asarray(wrong)


def _wrap_angle(angle: Floats, low: float, period: float) -> Floats:
    moved = angle - np.floor((angle - low) / period) * period
    return np.asarray(np.where(moved >= low + period, low, moved))


def _exchange(rectangles: Floats, rows: NDArray[Any]) -> None:
    rectangles[rows, 2:4] = rectangles[rows, 3:1:-1]
