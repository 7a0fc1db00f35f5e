"""Quadrilaterals and rotated rectangles by hand: corners, areas, the smallest rectangle, and conventions of angles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from steelyard.core.quads import (
    _wrap_angle,
    areas_of,
    corners_of,
    extents_of,
    forbidden,
    from_convention,
    smallest_rectangles,
    to_convention,
)

PI = math.pi


def rows(*values: Any) -> Any:
    return np.array(values, dtype=np.float64)


def test_corners() -> None:
    """From the low end of width and height, along the width; a turn of a quarter puts the width along y."""
    upright, turned = corners_of(rows((10, 20, 4, 2, 0), (10, 20, 4, 2, PI / 2)))
    assert upright.tolist() == [8, 19, 12, 19, 12, 21, 8, 21]
    assert turned == pytest.approx([11, 18, 11, 22, 9, 22, 9, 18])
    root = math.sqrt(3)
    (slanted,) = corners_of(rows((1, 2, 4, 2, PI / 6)))
    expected = [1.5 - root, 1 - root / 2, 1.5 + root, 3 - root / 2, 0.5 + root, 3 + root / 2, 0.5 - root, 1 + root / 2]
    assert slanted == pytest.approx(expected)
    assert corners_of(np.zeros((0, 5))).shape == (0, 8)


def test_areas_and_extents() -> None:
    """The shoelace of (0, 0), (4, 0), (5, 3), (1, 2): (12 + 10 - 3) / 2, either way around and far away."""
    one = np.array([0, 0, 4, 0, 5, 3, 1, 2], dtype=float)
    back = np.array([1, 2, 5, 3, 4, 0, 0, 0], dtype=float)
    assert areas_of(np.stack([one, back, one + 1e8, one[[2, 3, 4, 5, 6, 7, 0, 1]]])).tolist() == [9.5] * 4
    assert extents_of(np.stack([one, back + 7, one * np.tile([1, -1], 4)])).tolist() == [
        [0, 0, 5, 3], [7, 7, 5, 3], [0, -3, 5, 3],
    ]  # fmt: skip


def test_the_smallest_rectangle() -> None:
    root = math.sqrt(2)
    upright, diamond = smallest_rectangles(rows((0, 0, 4, 0, 4, 1, 0, 1), (1, 0, 2, 1, 1, 2, 0, 1)))
    assert upright.tolist() == [2, 0.5, 4, 1, 0]
    assert diamond == pytest.approx([1, 1, root, root, PI / 4])
    # A trapezoid: 15 along its slant, 10 along its base, wherever it begins; along the base backwards the angle is pi.
    first, later = smallest_rectangles(rows((1, 0, 3, 0, 5, 2, 0, 2), (3, 0, 5, 2, 0, 2, 1, 0)))
    assert first.tolist() == [2.5, 1, 5, 2, 0]
    assert later == pytest.approx([2.5, 1, 5, 2, PI])
    # A kite whose least rectangle lies along the slant of its third and fourth corner, at 45 degrees.
    (kite,) = smallest_rectangles(rows((0, 0, 1, -1, 4, 2, 3, 3)))
    assert kite == pytest.approx([2, 1, root, 3 * root, -PI / 4])
    point, line = smallest_rectangles(rows((7, 8, 7, 8, 7, 8, 7, 8), (0, 0, 0, 0, 3, 4, 3, 4)))
    assert point.tolist() == [7, 8, 0, 0, 0]
    assert line == pytest.approx([1.5, 2, 5, 0, math.atan2(4, 3)], abs=1e-12)


def test_angles_are_read() -> None:
    given = rows((1, 2, 3, 4, 90.0))
    for name, angle in (
        ("radians", 90),
        ("degrees", PI / 2),
        ("detectron2", -PI / 2),
        ("le90", 90),
        ("opencv", PI / 2),
    ):
        assert from_convention(given, name)[0] == pytest.approx([1, 2, 3, 4, angle])
    assert given[0, 4] == 90


WRITTEN: list[tuple[str, tuple[float, float, float], tuple[float, float, float]]] = [
    ("radians", (4, 2, 3 * PI / 2), (4, 2, -PI / 2)), ("radians", (2, 4, PI), (2, 4, -PI)), ("radians", (2, 4, -PI), (2, 4, -PI)),
    ("radians", (2, 4, 1), (2, 4, 1)), ("degrees", (2, 4, 3 * PI / 2), (2, 4, -90)), ("degrees", (2, 4, 1), (2, 4, 180 / PI)),
    ("detectron2", (2, 4, PI / 2), (2, 4, -90)), ("detectron2", (2, 4, -1), (2, 4, 180 / PI)),
    ("le90", (4, 2, 0.3), (4, 2, 0.3)), ("le90", (2, 4, 0), (4, 2, -PI / 2)), ("le90", (4, 2, PI / 2), (4, 2, -PI / 2)),
    ("le90", (4, 2, 2), (4, 2, 2 - PI)), ("le90", (2, 4, 0.3), (4, 2, 0.3 - PI / 2)), ("le90", (3, 3, 0.3), (3, 3, 0.3)),
    ("le135", (4, 2, -1), (4, 2, PI - 1)), ("le135", (2, 4, 0), (4, 2, PI / 2)), ("le135", (4, 2, 3 * PI / 4), (4, 2, -PI / 4)),
    ("oc", (4, 2, 0.3), (4, 2, 0.3)), ("oc", (4, 2, 0), (2, 4, PI / 2)), ("oc", (4, 2, 2), (2, 4, 2 - PI / 2)),
    ("oc", (4, 2, PI / 2), (4, 2, PI / 2)), ("oc", (4, 2, -0.3), (2, 4, PI / 2 - 0.3)), ("oc", (4, 2, PI + 0.3), (4, 2, 0.3)),
    ("opencv", (4, 2, PI / 6), (2, 4, -60)), ("opencv", (4, 2, -PI / 6), (4, 2, -30)), ("opencv", (4, 2, -PI / 2), (4, 2, -90)),
    ("opencv", (4, 2, 0), (2, 4, -90)), ("opencv", (4, 2, PI / 1.8), (4, 2, -80)), ("opencv", (4, 2, -PI / 1.8), (2, 4, -10)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "written"), WRITTEN)
def test_angles_are_written(name: str, given: tuple[float, ...], written: tuple[float, ...]) -> None:
    rectangle = rows((7, 8, *given))
    assert to_convention(rectangle, name)[0] == pytest.approx([7, 8, *written])
    assert rectangle[0].tolist() == [7, 8, *given]


def test_several_rectangles_are_written_each_by_itself() -> None:
    written = to_convention(rows((0, 0, 4, 2, 0.3), (1, 1, 2, 4, 0.3), (2, 2, 4, 2, 0.1)), "le90")
    assert written.tolist() == [
        [0, 0, 4, 2, 0.3], [1, 1, 4, 2, pytest.approx(0.3 - PI / 2)], [2, 2, 4, 2, 0.1],
    ]  # fmt: skip


FORBIDDEN: list[tuple[str, tuple[float, float, float], bool]] = [
    ("le90", (4, 2, PI / 2 + 9e-7), False), ("le90", (4, 2, PI / 2 + 2e-6), True), ("le90", (4, 2, -PI / 2 - 9e-7), False),
    ("le90", (4, 2, -PI / 2 - 2e-6), True), ("le90", (2, 4, 0), True), ("le90", (4, 4, 0), False), ("le90", (3.9990, 4, 0), False),
    ("le90", (3.9980, 4, 0), True), ("le90", (399.97, 400, 0), False), ("le90", (399.95, 400, 0), True), ("oc", (2, 4, 0), False),
    ("oc", (2, 4, -1e-5), True), ("oc", (2, 4, PI / 2 + 1e-5), True), ("opencv", (2, 4, -90.00005), False),
    ("opencv", (2, 4, -90.0001), True), ("opencv", (2, 4, 0.00005), False), ("opencv", (2, 4, 0.0001), True),
    ("radians", (2, 4, 99), False), ("degrees", (2, 4, -9999), False), ("le135", (4, 2, 2.3), False), ("le135", (4, 2, 2.4), True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "wrong"), FORBIDDEN)
def test_what_a_convention_cannot_have_written(name: str, given: tuple[float, ...], wrong: bool) -> None:
    assert forbidden(rows((0, 0, *given)), name).tolist() == [wrong]


def test_angles_that_round_to_the_end_of_a_period() -> None:
    assert _wrap_angle(rows(-1e-20, 0.25, 1.0, -0.25), 0.0, 1.0).tolist() == [0, 0.25, 0, 0.75]
    assert _wrap_angle(rows(2.5, -3.5), -1.0, 2.0).tolist() == [0.5, 0.5]
