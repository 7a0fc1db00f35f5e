"""Oriented boxes as one dict per image: every key that is read, and what is refused, with its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.tasks.oriented.reader import columns_of_images

BOX, OTHER = [10.0, 20.0, 8.0, 4.0, 0.5], [30.0, 20.0, 8.0, 4.0, 0.0]
CORNERS = [0.0, 0.0, 4.0, 0.0, 4.0, 2.0, 0.0, 2.0]
IMAGE = {"image": "a", "boxes": [BOX, OTHER], "labels": ["ship", "car"]}


def test_all_keys_of_an_image() -> None:
    given = [
        {**IMAGE, "crowd": [0, 1], "area": [30.0, 31.0], "difficult": [1, 0]},
        {"image": "b", "boxes": [BOX], "labels": ["car"], "crowd": [1], "area": [29.0], "difficult": [0]},
    ]
    made = columns_of_images(given, "truth", "truth")
    assert {name: list(made[name]) for name in ("image", "label", "crowd", "area", "difficult")} == {
        "image": ["a", "a", "b"],
        "label": ["ship", "car", "car"],
        "crowd": [0, 1, 1],
        "area": [30.0, 31.0, 29.0],
        "difficult": [1, 0, 0],
    }


@pytest.mark.parametrize("make", [list, np.array], ids=["lists", "arrays"])
def test_the_same_as_a_table(make: Any) -> None:
    """The score of both is that of the same rows in a table: the ship is found, the car is not."""
    truth = [{**IMAGE, "boxes": make([BOX, OTHER]), "labels": make(["ship", "car"])}]
    predictions = [{"image": "a", "boxes": make([BOX]), "labels": make(["ship"]), "scores": make([0.5])}]
    report = sy.evaluate("oriented", truth, predictions, ["map@0.5"], confidence=None)
    assert report["map@0.5"].value == pytest.approx(0.5)


REFUSED: dict[str, tuple[list[Any], str, tuple[str, ...]]] = {
    "no dict": ([IMAGE, 5], "E-invalid-value", ("truth, item 1", "int")),
    "unknown key": ([{**IMAGE, "label": ["x", "y"]}], "E-unknown-name", ("truth, item 0", "'label'", "'labels'")),
    "no image": ([{"boxes": [BOX], "labels": ["x"]}], "E-missing-key", ("truth, item 0", "'image'")),
    "no shapes": ([{"image": "a", "labels": ["x"]}], "E-missing-key", ("truth, item 0", "'boxes'")),
    "no labels": ([{"image": "a", "boxes": [BOX]}], "E-missing-key", ("truth, item 0", "'labels'")),
    "fewer labels": ([{**IMAGE, "labels": ["x"]}], "E-shape-mismatch", ("truth, item 0", "2 boxes and 1 labels")),
    "fewer areas": ([{**IMAGE, "area": [1.0]}], "E-shape-mismatch", ("truth, item 0", "2 boxes and 1 area")),
    "both forms": (
        [IMAGE, {"image": "b", "corners": [CORNERS], "labels": ["x"]}],
        "E-conflict",
        ("truth", "boxes", "corners"),
    ),
    "some areas": (
        [{**IMAGE, "area": [1.0, 2.0]}, {"image": "b", "boxes": [BOX], "labels": ["x"]}],
        "E-missing-key",
        ("truth", "'area'"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    data, code, names = REFUSED[name]
    predictions = [{"image": "a", "boxes": [BOX], "labels": ["ship"], "scores": [0.5]}]
    with refuses(code, *names):
        sy.evaluate("oriented", data, predictions, confidence=None)


def test_predictions_need_scores() -> None:
    with refuses("E-missing-key", "predictions, item 0", "'scores'"):
        sy.evaluate("oriented", [IMAGE], [IMAGE], confidence=None)
