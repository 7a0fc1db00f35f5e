"""What a gallery holds: what cannot be drawn, marks of a scene, and the frame around marks."""

from __future__ import annotations

import math
from typing import Any

import pytest

from steelyard.core.gallery import Layer, Mark, Parts, Shot, Sweep, mark_bounds, round_parts, scene_marks
from steelyard.core.scene import BoxShape, EllipseShape, LineShape, PolygonShape, Scene


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [("box", {4}), ("ellipse", {5}), ("points", {2}), ("line", {4}), ("rings", {0, 2, 4, 6})],
)
def test_a_mark_has_as_many_numbers_as_its_kind(kind: Any, sizes: set[int]) -> None:
    wrong = {"parts": f"does not describe a mark of kind '{kind}'"}
    for size in range(7):
        one = (tuple(range(size)),)
        expected = {} if size in sizes else wrong
        assert Mark(kind, "truth", one).faults() == expected
        assert Mark(kind, "truth", (tuple(range(max(sizes))), *one)).faults() == expected
    assert Mark(kind, "truth", ()).faults() == {}
    for value in (math.nan, math.inf):
        assert Mark(kind, "truth", ((value, *range(max(sizes) - 1)),)).faults() == wrong


@pytest.mark.parametrize(
    ("bounds", "fits"),
    [
        ((0, 0, 1, 1), True),
        ((-5, 2, -4, 9), True),
        ((0, 0, 0, 1), False),
        ((0, 0, 1, 0), False),
        ((2, 0, 1, 1), False),
        ((0, 2, 1, 1), False),
        ((0, 0, math.inf, 1), False),
        ((0, 0, 1, math.inf), False),
        ((0, 0, math.nan, 1), False),
    ],
)
def test_a_shot_shows_an_area_and_a_layer(bounds: Any, fits: bool) -> None:
    area = {} if fits else {"bounds": "encloses no area"}
    assert Shot("a", "a", bounds, (Layer(()),)).faults() == area
    assert Shot("a", "a", bounds, ()).faults() == {**area, "layers": "is empty"}


COUNTS, CELLS = {"counts": "does not belong to the scores"}, {"cells": "does not belong to the scores and classes"}


@pytest.mark.parametrize(
    ("values", "faults"),
    [
        ({}, {}),
        ({"start": 1}, {}),
        ({"start": 2}, COUNTS),
        ({"counts": ((1, 2, 3),)}, COUNTS),
        ({"scores": (0.1, math.inf)}, COUNTS),
        ({"scores": (), "counts": ()}, COUNTS),
        ({"cells": ((), ())}, {}),
        ({"cells": ((0, 2, 5), (2, 0, 1, 1, 1, 9))}, {}),  # 2 is the background
        ({"cells": ((0, 0, 5),)}, CELLS),
        ({"cells": ((), (0, 0))}, CELLS),
        ({"cells": ((), (0, 3, 1))}, CELLS),
        ({"cells": ((3, 0, 1), ())}, CELLS),
        ({"cells": ((0, 0, 1, 3, 0, 1), ())}, CELLS),
    ],
)
def test_a_sweep_has_counts_for_each_score(values: dict[str, Any], faults: dict[str, str]) -> None:
    sound = {"iou": 0.5, "scores": (0.1, 0.2), "start": 0, "counts": ((1, 2, 3), (1, 1, 3)), "classes": ("a", "b")}
    assert Sweep(**{**sound, **values}).faults() == faults


def test_numbers_are_rounded_to_a_tenth() -> None:
    parts = round_parts([[1, 2.04], (0.06, -3.16)])
    assert parts == ((1.0, 2.0), (0.1, -3.2))
    assert all(type(value) is float for part in parts for value in part)


def test_marks_of_a_scene() -> None:
    scene = Scene(
        "a",
        "",
        (
            BoxShape("truth", 1.23, 2, 3, 4.56, "cup", False),
            PolygonShape("prediction", (0.04, 1, 2, 3, 4, 5), "bowl", False),
            EllipseShape("prediction", 1, 2, 30.06, 4, 5, "plate", False),
            LineShape("pair", 1, 2, 3.14, 4, "0.9"),
        ),
    )
    assert scene_marks(scene) == (
        Mark("box", "truth", ((1.2, 2.0, 3.0, 4.6),), "cup", False),
        Mark("rings", "prediction", ((0.0, 1.0, 2.0, 3.0, 4.0, 5.0),), "bowl", False),
        Mark("ellipse", "prediction", ((1.0, 2.0, 30.1, 4.0, 5.0),), "plate", False),
        Mark("line", "pair", ((1.0, 2.0, 3.1, 4.0),), "0.9", True),
    )


def mark(kind: Any, *parts: tuple[float, ...]) -> Mark:
    listed: Parts = parts
    return Mark(kind, "truth", listed)


@pytest.mark.parametrize(
    ("marks", "bounds"),
    [
        ([], (0, 0, 100, 60)),
        ([mark("rings")], (0, 0, 100, 60)),
        # 30 by 40: a margin of 40, so 60 above and below the centre (25, 40), and 4/3 of it to each side
        ([mark("box", (10, 20, 30, 40))], (-55, -20, 105, 100)),
        # 99 by 10: a margin of 99
        ([mark("line", (0, 0, 99, 10))], (-99, -106.4, 198, 116.4)),
        # 100 by 10: a margin of 6, and half of 56 by 42
        ([mark("line", (0, 0, 100, 10))], (-6, -37, 106, 47)),
        # 10 by 200, a margin of 12: half of 149.3 by 112
        ([mark("points", (0, 0), (10, 200))], (-144.3, -12, 154.3, 212)),
        # 200 by 50: half of 112 by 84
        ([mark("rings", (0, 0, 200, 0, 200, 50))], (-12, -59, 212, 109)),
        # one point: a margin of 1
        ([mark("points", (5, 7))], (3.7, 6, 6.3, 8)),
        # half axes 20 and 10, turned by a quarter: 20 wide, 40 high
        ([mark("ellipse", (50, 50, 90, 20, 10))], (-30, -10, 130, 110)),
        ([mark("ellipse", (50, 50, 0, 20, 10))], (-16.7, 0, 116.7, 100)),
        # by 30 degrees: half sizes sqrt(325) = 18.03 and sqrt(175) = 13.23, a margin of 36.1
        ([mark("ellipse", (0, 0, 30, 20, 10))], (-65.8, -49.3, 65.8, 49.3)),
        # two marks: from (0, 10) to (120, 70), a margin of 7.2
        ([mark("box", (0, 10, 5, 5)), mark("points", (120, 70))], (-7.2, -10.4, 127.2, 90.4)),
        ([mark("box", (0, 10, 5, 5), (100, 50, 20, 20))], (-7.2, -10.4, 127.2, 90.4)),
        ([mark("ellipse", (2, 12, 0, 2, 2)), mark("ellipse", (110, 60, 0, 10, 10))], (-7.2, -10.4, 127.2, 90.4)),
    ],
)
def test_the_frame_around_marks(marks: list[Mark], bounds: tuple[float, ...]) -> None:
    assert mark_bounds(marks) == bounds
