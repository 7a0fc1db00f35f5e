"""Ellipses fitted to points by least squares.

The direct fit of Fitzgibbon, Pilu and Fisher (1999): among the conics that are ellipses (4ac − b² = 1) the one with
the smallest algebraic distance to the points. Solved as Halíř and Flusser (1998) do: the quadratic and the linear
part of the design are kept apart, so that a 3 × 3 eigenproblem remains which is stable when the points lie on an
ellipse exactly. Points are centred and scaled first; the fit does not depend on where they lie.
"""

from __future__ import annotations

import math

import numpy as np

from steelyard.core.pairs import Array

FEWEST = 5  # points that fix a conic


def fit_ellipse(points: Array) -> tuple[float, float, float, float, float]:
    """The ellipse x, y, angle in degrees, a, b (a ≥ b) nearest to points (n, 2). Raises ValueError where there is none.

    >>> t = np.linspace(0, 6, 9)
    >>> ellipse = fit_ellipse(np.column_stack([3 + 5 * np.cos(t), 4 + 2 * np.sin(t)]))
    >>> [round(number, 9) for number in ellipse[:2] + ellipse[3:]]
    [3.0, 4.0, 5.0, 2.0]
    """
    points = np.asarray(points, dtype=np.float64)
    if len(np.unique(points, axis=0)) < FEWEST:
        raise ValueError(f"an ellipse needs {FEWEST} different points")
    centre = points.mean(axis=0)
    scale = float(np.abs(points - centre).max())
    x, y = ((points - centre) / scale).T
    quadratic = np.column_stack([x * x, x * y, y * y])
    linear = np.column_stack([x, y, np.ones(len(x))])
    s1, s2, s3 = quadratic.T @ quadratic, quadratic.T @ linear, linear.T @ linear
    try:
        back = -np.linalg.solve(s3, s2.T)
    except np.linalg.LinAlgError:
        raise ValueError("the points lie on a line") from None
    reduced = s1 + s2 @ back
    _, vectors = np.linalg.eig(np.array([reduced[2] / 2, -reduced[1], reduced[0] / 2]))
    vectors = np.real(vectors)
    discriminant = 4 * vectors[0] * vectors[2] - vectors[1] ** 2
    best = int(np.argmax(discriminant))
    if not discriminant[best] > 0:
        raise ValueError("no ellipse fits the points")
    conic = vectors[:, best]
    return _parameters(np.concatenate([conic, back @ conic]), centre, scale)


def _parameters(conic: Array, centre: Array, scale: float) -> tuple[float, float, float, float, float]:
    """Centre, angle and half axes of a x² + b xy + c y² + d x + e y + f = 0."""
    a, b, c, d, e, f = (float(v) for v in conic)
    if a + c < 0:
        a, b, c, d, e, f = -a, -b, -c, -d, -e, -f
    det = 4 * a * c - b * b
    x, y = (b * e - 2 * c * d) / det, (b * d - 2 * a * e) / det
    level = -(f + (d * x + e * y) / 2)
    spread = math.hypot(a - c, b)
    small, large = (a + c - spread) / 2, (a + c + spread) / 2  # eigenvalues; det = 4 small large
    small = det / 4 / large
    if not (level > 0 and small > 0):
        raise ValueError("no ellipse fits the points")
    major, minor = math.sqrt(level / small), math.sqrt(level / large)
    if not (math.isfinite(major) and minor > 1e-9 * major):
        raise ValueError("the points lie on a line")
    # The major axis belongs to the smaller eigenvalue.
    angle = math.degrees(0.5 * math.atan2(-b, c - a)) if spread > 0 else 0.0
    return (
        float(centre[0]) + scale * x, float(centre[1]) + scale * y, angle % 180.0, scale * major, scale * minor,
    )  # fmt: skip
