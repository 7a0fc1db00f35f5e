"""Ellipses fitted to points: exact where the points are, and as OpenCV's direct fit where they are not."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from support.refusal import refuses

from steelyard.io.read import parse_points
from steelyard.match.conic import fit_ellipse
from steelyard.match.ellipses import distances


def contour(ellipse, t: np.ndarray) -> np.ndarray:
    x, y, degrees, a, b = ellipse
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    u, v = a * np.cos(t), b * np.sin(t)
    return np.column_stack([x + c * u - s * v, y + s * u + c * v])


def drawn(rng: np.random.Generator) -> list[float]:
    a = rng.uniform(5, 60)
    return [*rng.uniform(0, 500, 2), rng.uniform(0, 180), a, a * rng.uniform(0.1, 1)]


def test_exact_points_give_the_ellipse() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        ellipse = drawn(rng)
        t = rng.uniform(0, 2 * np.pi) + np.linspace(0, rng.uniform(3, 6), int(rng.integers(5, 40)))
        result = fit_ellipse(contour(ellipse, t))
        assert distances([ellipse], [result], "hausdorff")[0] < 1e-5 * ellipse[3]


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.5])
def test_as_opencv_fits(noise: float) -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        ellipse = drawn(rng)
        points = contour(ellipse, rng.uniform(0, 2 * np.pi, int(rng.integers(8, 80))))
        points = (points + rng.normal(0, noise, points.shape)).astype(np.float32)  # OpenCV works on these
        (x, y), (w, h), degrees = cv2.fitEllipseDirect(points)
        result = fit_ellipse(points.astype(np.float64))
        assert distances([result], [[x, y, degrees, w / 2, h / 2]], "hausdorff")[0] < 1e-4 * result[3]


def test_integer_contours_of_opencv() -> None:
    """The contour that OpenCV finds in a drawn mask: pixels, not exact points."""
    mask = np.zeros((200, 300), np.uint8)
    cv2.ellipse(mask, (150, 90), (80, 40), 30, 0, 360, 255, -1)
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    points = contours[0].reshape(-1, 2)
    (x, y), (w, h), degrees = cv2.fitEllipseDirect(points)
    ellipse = fit_ellipse(points)
    assert distances([ellipse], [[x, y, degrees, w / 2, h / 2]], "hausdorff")[0] < 1e-3
    assert ellipse == pytest.approx((150, 90, 30, 80, 40), abs=1)


@pytest.mark.parametrize("points", [
    [[0, 0], [1, 0], [0, 1], [1, 1]],
    [[0, 0]] * 9,
    [[i, 2 * i + 1] for i in range(9)],
    [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [2, 1e-12]],
])  # fmt: skip
def test_no_ellipse(points: list[list[float]]) -> None:
    with refuses(ValueError):
        fit_ellipse(np.array(points, dtype=float))


def test_forms_of_a_cell() -> None:
    expected = [[1.5, 2.0], [3.0, -4.0]]
    for cell in ("1.5 2 3 -4", "1.5,2; 3,-4", "[[1.5, 2], [3, -4]]", "[1.5, 2, 3, -4]", [1.5, 2, 3, -4], [[1.5, 2], [3, -4]],
                 np.array(expected)):  # fmt: skip
        assert parse_points(cell).tolist() == expected
    for cell in (None, "", "  ", float("nan")):
        assert parse_points(cell) is None
    for cell in ("1 2 3", "[[1, 2], [3]]", "[1, 2", "a b", [[1, 2, 3]], "nan 1", {"x": 1}, 7):
        with pytest.raises((ValueError, TypeError)):
            parse_points(cell)


def test_ellipses_that_no_points_have() -> None:
    line = np.column_stack([np.arange(9.0), 2 * np.arange(9.0)])
    with refuses(ValueError):
        fit_ellipse(line[:3])
    with refuses(ValueError):
        fit_ellipse(line)
