"""The kernel of rotated boxes: IoU of rectangles and quadrilaterals, held to shapely and to worked examples."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import shapely
from support.paths import TESTS
from support.refusal import refuses

from steelyard import _native

CASES = json.loads((TESTS / "goldens" / "oriented.json").read_text(encoding="utf-8"))["cases"]
RECTANGLES = [case for case in CASES if case["group"] == "rotated_iou"]
POLYGONS = [case for case in CASES if case["group"] == "polygon_iou"]
NAN = float("nan")


def iou(d: Any, g: Any, crowd: bool = False) -> float:
    d, g = (np.array([side], dtype=float) for side in (d, g))
    function = _native.rectangles_iou if d.shape[1] == 5 else _native.quads_iou
    return float(function(d, g, np.array([crowd], np.uint8))[0, 0])


def corners(rectangles: np.ndarray) -> np.ndarray:
    """Corners of rectangles cx, cy, w, h, angle, around."""
    cx, cy, w, h, angle = rectangles.T[:, :, None]
    u, v = np.array([-1, 1, 1, -1]) * w / 2, np.array([-1, -1, 1, 1]) * h / 2
    x, y = cx + np.cos(angle) * u - np.sin(angle) * v, cy + np.sin(angle) * u + np.cos(angle) * v
    return np.ascontiguousarray(np.stack([x, y], axis=2).reshape(-1, 8))


def by_shapely(d: np.ndarray, g: np.ndarray) -> np.ndarray:
    """IoU of pairs of quadrilaterals; each is moved next to the origin first."""
    at = np.tile(g[:, :2], 4)
    left, right = (shapely.polygons((q - at).reshape(-1, 4, 2)) for q in (d, g))
    common = shapely.area(shapely.intersection(left, right))
    return np.asarray(common / (shapely.area(left) + shapely.area(right) - common))


def paired(function: Any, d: np.ndarray, g: np.ndarray) -> np.ndarray:
    flag = np.zeros(1, np.uint8)
    return np.array([function(d[i : i + 1], g[i : i + 1], flag)[0, 0] for i in range(len(d))])


@pytest.mark.parametrize("case", RECTANGLES, ids=[case["id"] for case in RECTANGLES])
def test_worked_rectangles(case: dict[str, Any]) -> None:
    """Undefined is two boxes without an area; matching needs a number for them, which is 0."""
    a, b, expected = case["input"]["a"], case["input"]["b"], case["expected"] or 0.0
    assert iou(a, b) == pytest.approx(expected, abs=case["tolerance"])
    assert iou(b, a) == pytest.approx(expected, abs=case["tolerance"])
    quads = corners(np.array([a, b], dtype=float))
    assert iou(quads[0], quads[1]) == pytest.approx(expected, abs=case["tolerance"])


@pytest.mark.parametrize("case", POLYGONS, ids=[case["id"] for case in POLYGONS])
def test_worked_polygons(case: dict[str, Any]) -> None:
    a, b = case["input"]["a"], case["input"]["b"]
    if case["expected"] is None:
        with refuses(ValueError, "quadrilateral"):
            iou(a, b)
        return
    assert iou(a, b) == pytest.approx(case["expected"], abs=max(case["tolerance"], 1e-9))


def drawn_rectangles(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of all kinds: apart, near, nearly the same, slivers, tiny angles, one in the other, far from the origin."""
    size = np.exp(rng.uniform(np.log(0.5), np.log(500), (count, 2)))
    first = np.column_stack([rng.uniform(-1000, 1000, (count, 2)), size, rng.uniform(-7, 7, count)])
    kind, near = rng.integers(0, 6, count), rng.normal(size=(count, 5))
    second = first.copy()
    second[:, :2] += near[:, :2] * (size.mean(axis=1) * np.choose(kind, [1, 0.3, 1e-9, 0, 0.1, 0.5]))[:, None]
    second[:, 2:4] *= np.exp(near[:, 2:4] * np.choose(kind, [0.5, 0.2, 1e-9, 0, 1.5, 0.2])[:, None])
    second[:, 4] += near[:, 4] * np.choose(kind, [3, 0.3, 1e-9, 1e-6, 0.5, 0.01])
    sliver = rng.random(count) < 0.15
    first[sliver, 3] = second[sliver, 3] = 1e-4
    far = rng.random(count) < 0.1
    first[far, :2] += 90_000
    second[far, :2] += 90_000
    return first, second


def test_drawn_rectangles_agree_with_shapely() -> None:
    """2,000 pairs; to 1e-9 of the area from the same corners; nearer where boxes are neither thin nor far away."""
    first, second = drawn_rectangles(np.random.default_rng(7), 2000)
    d, g = corners(first), corners(second)
    expected = by_shapely(d, g)
    of_corners, of_numbers = paired(_native.quads_iou, d, g), paired(_native.rectangles_iou, first, second)
    assert 300 < np.count_nonzero(expected > 0.9) < 1500
    np.testing.assert_allclose(of_corners, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(of_numbers, expected, rtol=0, atol=1e-6)  # slivers far away lose digits as corners
    plain = (first[:, 3] > 0.01) & (np.abs(first[:, 0]) < 2000)
    np.testing.assert_allclose(of_corners[plain], expected[plain], rtol=0, atol=1e-11)
    np.testing.assert_allclose(of_numbers[plain], expected[plain], rtol=0, atol=1e-10)
    assert ((of_numbers >= 0) & (of_numbers <= 1)).all()


def test_drawn_quadrilaterals_agree_with_shapely() -> None:
    """1,500 pairs of any simple shape, half with whole corners, so that edges lie on one another and corners touch."""
    rng = np.random.default_rng(8)
    quads = np.concatenate([rng.uniform(0, 20, (4000, 8)), rng.integers(0, 7, (6000, 8)).astype(float)])
    shape = _native.quad_shapes(quads)
    simple = shapely.is_valid(shapely.polygons(quads.reshape(-1, 4, 2)))
    assert (shape[simple] < 2).all()
    assert {int(v) for v in shape} == {0, 1, 2, 3}
    d, g = quads[simple][0:3000:2], quads[simple][1:3001:2]
    expected = by_shapely(d, g)
    np.testing.assert_allclose(paired(_native.quads_iou, d, g), expected, rtol=0, atol=1e-9)


def test_shapes_are_those_of_shapely() -> None:
    """What crosses itself is not a valid polygon there; a valid one that differs from its hull is dented."""
    quads = np.random.default_rng(9).uniform(0, 20, (3000, 8))
    shape, polygons = _native.quad_shapes(quads), shapely.polygons(quads.reshape(-1, 4, 2))
    valid = shapely.is_valid(polygons)
    assert ((shape == 2) == ~valid).all()
    dented = shapely.area(polygons[valid]) < shapely.area(shapely.convex_hull(polygons[valid])) * (1 - 1e-9)
    assert ((shape[valid] == 1) == dented).all()


def test_order_of_corners_does_not_matter() -> None:
    first, second = drawn_rectangles(np.random.default_rng(10), 50)
    d, g = corners(first), corners(second)
    plain = paired(_native.quads_iou, d, g)
    for turn in range(4):
        turned = np.roll(d.reshape(-1, 4, 2), turn, axis=1)
        for listed in (turned, turned[:, ::-1]):
            other = paired(_native.quads_iou, np.ascontiguousarray(listed.reshape(-1, 8)), g)
            np.testing.assert_allclose(other, plain, rtol=0, atol=1e-9)


def test_of_a_crowd_the_share_of_the_detection_counts() -> None:
    assert iou([5, 5, 4, 4, 0.3], [5, 5, 40, 40, 0], crowd=True) == pytest.approx(1.0, abs=1e-15)
    assert iou([0, 5, 4, 4, 0], [20, 5, 40, 40, 0], crowd=True) == pytest.approx(0.5, abs=1e-15)


def probiou(d: Any, g: Any) -> float:
    return float(_native.rectangles_probiou(np.array([d], dtype=float), np.array([g], dtype=float))[0, 0])


def test_probiou_by_hand() -> None:
    """Equal boxes, a square that is turned, and equal boxes half a width apart."""
    assert probiou([5, 5, 20, 10, 0.3], [5, 5, 20, 10, 0.3]) == pytest.approx(0.99955, abs=5e-6)
    assert probiou([0, 0, 2, 2, 0], [0, 0, 2, 2, np.pi / 4]) == pytest.approx(0.99955, abs=5e-6)
    # w = 20: a = 400 / 12; dx = 10; Bhattacharyya distance dx² / (8 a) = 0.375; 1 - sqrt(1 - e^-0.375) = 0.44079
    assert probiou([0, 0, 20, 10, 0], [10, 0, 20, 10, 0]) == pytest.approx(1 - np.sqrt(1 - np.exp(-0.375)), abs=1e-6)
    # The same with all turned by 30 degrees.
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    turned = probiou([0, 0, 20, 10, np.pi / 6], [10 * c, 10 * s, 20, 10, np.pi / 6])
    assert turned == pytest.approx(1 - np.sqrt(1 - np.exp(-0.375)), abs=1e-6)
    assert probiou([0, 0, 2, 2, 0], [1e6, 0, 2, 2, 0]) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: iou([0, 0, 4, 4, 4, 0, 0, 4], [0, 0, 4, 0, 4, 4, 0, 4]), (ValueError, "crosses")),
        (lambda: iou([NAN, 0, 4, 0, 4, 4, 0, 4], [0, 0, 4, 0, 4, 4, 0, 4]), (ValueError, "corner")),
        (lambda: iou([0, 0, -1, 4, 0], [0, 0, 4, 4, 0]), (ValueError, "negative")),
        (lambda: iou([0, 0, 1, 4, NAN], [0, 0, 4, 4, 0]), (ValueError,)),
        (lambda: _native.quads_iou(np.ones((1, 7)), np.ones((1, 8)), np.zeros(1, np.uint8)), (ValueError, "four")),
        (lambda: _native.quads_iou(np.ones((1, 8)), np.ones((1, 8)), np.zeros(2, np.uint8)), (ValueError, "crowd")),
        (lambda: _native.quad_shapes(np.full((1, 8), NAN)), (ValueError, "corner")),
        (lambda: _native.quad_shapes(np.ones((1, 6))), (ValueError, "four")),
    ],
)
def test_refused(act: Any, message: tuple[str, ...]) -> None:
    with refuses(*message):
        act()
