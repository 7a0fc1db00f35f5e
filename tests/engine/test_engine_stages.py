"""Stages that a listener hears of an evaluation, and what has one picture only."""

from __future__ import annotations

from typing import Any

from support.refusal import refuses

import steelyard as sy
from steelyard.core.progress import use_progress

DISHES = {"dish": ["a", "b"], "weight": [1.0, 2.0]}
BOXES: dict[str, list[Any]] = {"image": ["i"], "label": ["cat"], "x": [0.0], "y": [0.0], "w": [9.0], "h": [9.0]}


def test_reading_and_matching_are_heard() -> None:
    heard: list[tuple[Any, ...]] = []
    with use_progress(lambda *said: heard.append(said)):
        sy.evaluate("weights", DISHES, DISHES, ["mae"], confidence=None)
    assert [said for said in heard if said[0] in ("reading", "matching")] == [
        ("reading", 0, 1), ("matching", 0, 1), ("matching", 1, 1),
    ]  # fmt: skip


def test_each_model_of_a_lineup_is_heard() -> None:
    heard: list[tuple[Any, ...]] = []
    models = [{**DISHES, "weight": [1.0 + k, 2.0]} for k in range(3)]
    with use_progress(lambda *said: heard.append(said)):
        sy.compare("weights", DISHES, models, metrics=["mae"], draws=100)
    assert [said for said in heard if said[0] == "comparing"] == [
        ("comparing", 0, 2), ("comparing", 1, 2), ("comparing", 2, 2),
    ]  # fmt: skip


def test_an_image_has_one_picture() -> None:
    with refuses("E-unsupported", "'boxes'"):
        sy.draw("boxes", BOXES, {**BOXES, "score": [0.5]}, "i", step=3)


def test_values_of_each_unit_of_a_report() -> None:
    shown = sy.evaluate("weights", DISHES, {**DISHES, "weight": [2.0, 5.0]}, ["mae"], confidence=None).units()
    assert shown is not None
    assert (shown.unit, shown.units.tolist(), shown.values["mae"].tolist()) == ("dish", ["a", "b"], [1, 3])
