"""The scene of one unit: for the metric that is asked for, by the unit's id."""

from __future__ import annotations

from typing import Any

import pytest
from support.refusal import refuses

from steelyard.core import catalogue
from steelyard.core.request import Request
from steelyard.engine.picture import scene_of
from steelyard.engine.run import measure_sides

BOXES = catalogue.find_task("boxes")
TRUTH: dict[str, Any] = {
    "image": [7, 7, 12], "label": ["cat", "dog", "cat"],
    "x": [0.0, 20.0, 5.0], "y": [0.0, 0.0, 5.0], "w": [10.0, 10.0, 8.0], "h": [10.0, 10.0, 8.0],
}  # fmt: skip
FOUND: dict[str, Any] = {**TRUTH, "x": [3.0, 20.0, 5.0], "score": [0.9, 0.8, 0.7]}


@pytest.mark.parametrize("unit", [12, "12"])
def test_the_scene_is_that_of_the_unit(unit: object) -> None:
    """Of two images the second, by its id: one pair of boxes, 8 by 8 from (5, 5)."""
    scene = scene_of(BOXES, Request("boxes"), TRUTH, FOUND, unit, None)
    shapes = [(shape.role, shape.x, shape.y, shape.w, shape.h) for shape in scene.shapes if hasattr(shape, "w")]
    assert set(shapes) == {("truth", 5.0, 5.0, 8.0, 8.0), ("prediction", 5.0, 5.0, 8.0, 8.0)}
    assert len(scene_of(BOXES, Request("boxes"), TRUTH, FOUND, 7, None).shapes) > len(scene.shapes)


def test_the_first_metric_that_is_asked_for_is_shown() -> None:
    """An overlap of 7 of 13 columns is a pair at 50 %, and none at 75 %."""
    pairs = measure_sides(BOXES, Request("boxes", ("map50",)), TRUTH, FOUND).pairs
    place = [str(one) for one in pairs.units.tolist()].index("7")
    assert BOXES.scene is not None
    scenes = [
        BOXES.scene(pairs, place, catalogue.parse(spec, "boxes")) for spec in ("map50", "map75", BOXES.defaults[0])
    ]
    assert scenes[0] != scenes[1]
    for asked, expected in ((("map75", "map50"), 1), (("map50", "map75"), 0), (None, 2), ((), 2)):
        assert scene_of(BOXES, Request("boxes", asked), TRUTH, FOUND, 7, None) == scenes[expected]


def test_a_step_of_a_unit_with_many_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step is handed on where one is given, and only then."""
    tracking = catalogue.find_task("tracking")
    assert tracking.steps is not None
    given: list[Any] = []
    views = __import__(tracking.views, fromlist=["scene"])
    monkeypatch.setattr(views, "scene", lambda *words: given.append(words))
    rows: dict[str, Any] = {
        "sequence": ["s", "s", "t"], "frame": [1, 2, 1], "track": [1, 1, 4], "x": [0.0, 1.0, 0.0], "y": [0.0] * 3,
        "w": [5.0] * 3, "h": [5.0] * 3,
    }  # fmt: skip
    request = Request("tracking", ("mota", "idf1"), columns={})
    for step in (None, 2, 0):
        scene_of(tracking, request, rows, rows, "t", step)
    assert [str(pairs.units[unit]) for pairs, unit, *_ in given] == ["t"] * 3
    assert [str(metric) for _, _, metric, *_ in given] == ["mota"] * 3
    assert [rest for _, _, _, *rest in given] == [[], [2], [0]]


def test_pictures_that_cannot_be_had() -> None:
    weights = catalogue.find_task("weights")
    have = [name for name, task in catalogue.loaded_tasks()[0].items() if task.view("scene") is not None]
    assert {"boxes", "ellipses", "tracking"} <= set(have)
    assert "weights" not in have
    with refuses("E-unsupported", "'weights'"):
        scene_of(weights, Request("weights"), {}, {}, 1, None)


def test_a_unit_that_there_is_not() -> None:
    with refuses("E-unsupported", "'boxes'"):
        scene_of(BOXES, Request("boxes"), TRUTH, FOUND, 12, 0)
    with refuses("E-unknown-name", "'8'"):
        scene_of(BOXES, Request("boxes"), TRUTH, FOUND, 8, None)
    with refuses("E-unknown-name", "'13'", "'12'"):
        scene_of(BOXES, Request("boxes"), TRUTH, FOUND, "13", None)
