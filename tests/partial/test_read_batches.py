"""Batches that do not go together, slices by columns that are not there, and what a device does not count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.align.gather import as_rows
from steelyard.align.rankings import as_rankings
from steelyard.align.unit_digest import column_keys
from steelyard.core.records import Records, as_object

torch = lazy("torch")

BOX = {"image": [1], "label": [1], "x": [0.0], "y": [0.0], "w": [2.0], "h": [2.0]}


def scored(data: dict[str, Any], score: float = 0.5) -> dict[str, Any]:
    return {**data, "score": [score] * len(data["image"])}


def gathered(*batches: Any, task: str = "boxes", **settings: Any) -> sy.Accumulator:
    state = sy.Accumulator(task, **settings)
    for truth, predictions in batches:
        state.update(truth, predictions)
    return state


def test_a_column_of_some_batches() -> None:
    second = {**BOX, "image": [2]}
    batches = [({**BOX, "area": [4.0]}, scored(BOX)), (second, scored(second))]
    with refuses("E-missing-column", "'area'"):
        gathered(*batches).report()


def coco(image: int, name: str) -> dict[str, Any]:
    box = {"id": image, "image_id": image, "category_id": 1, "bbox": [0, 0, 2, 2], "area": 4, "iscrowd": 0}
    return {"images": [{"id": image}], "categories": [{"id": 1, "name": name}], "annotations": [box]}


def test_a_class_of_two_names() -> None:
    batches = [(coco(k, name), scored({**BOX, "image": [k]})) for k, name in ((1, "cat"), (2, "dog"))]
    with refuses("E-conflict", "'1'", "'cat'", "'dog'"):
        gathered(*batches).report()


def test_numbers_and_texts_are_one_kind_of_id() -> None:
    """7 of one batch is "7" of another: images 7 and "a" are two units, both found."""
    other = {**BOX, "image": ["a"], "label": ["1"]}
    first = {**BOX, "image": [7]}
    report = gathered((first, scored(first)), (other, scored(other))).report("recall", confidence=None)
    assert [score.value for score in report.scores.values()] == [1.0]
    assert report.coverage.truth == 2


def test_a_unit_that_comes_twice() -> None:
    """Twice the same is taken once; with other answers the user chooses."""
    same = (BOX, scored(BOX))
    for on_conflict in ("error", "keep"):
        state = gathered(same, same, on_conflict=on_conflict)
        assert state.report("recall", confidence=None).coverage.truth == 1
    state = gathered(same, (BOX, scored(BOX, 0.25)), on_conflict="keep")
    assert state.report("recall", confidence=None).coverage.truth == 1


RUN = {"query": ["q"], "doc": ["d"], "score": [1.0]}
JUDGED = {"query": ["q"], "doc": ["d"], "relevance": [1.0]}
ELLIPSE = {"image": ["a"], "xc": [5.0], "yc": [5.0], "a": [4.0], "b": [2.0], "theta": [0.0]}


def test_groups_by_a_column_that_is_not_there() -> None:
    """The column is named, and where the source has others, the nearest of them."""
    with refuses("E-missing-column", "'lights'"):
        sy.evaluate("rankings", {"q": {"d": 1.0}}, RUN, by=["lights"])
    truth = {**JUDGED, "light": ["day"]}
    with refuses("E-missing-column", "'lights'", "'light'"):
        sy.evaluate("rankings", truth, RUN, by=["lights"])
    data = {**ELLIPSE, "light": ["day"]}
    with refuses("E-missing-column", "'lights'", "'light'"):
        sy.evaluate("ellipses", data, data, by=["lights"])


def test_rankings_from_plain_records() -> None:
    """Whole numbers are texts as ids; an invalid id is named by its row. The same records serve twice."""
    numbers = Records("x", {"query": np.array([1, 1]), "doc": np.array([7, 8]), "relevance": np.array([1.0, 0.0])}, {})
    made = as_rankings(numbers, ("query", "doc"))
    assert ([made.documents[row] for row in (0, 1)], made.queries.tolist()) == (["7", "8"], ["1"])
    empty = Records("x", {"query": np.array([1]), "doc": as_object([""]), "relevance": np.ones(1)}, {})
    with refuses("E-too-large", "row 0"):
        as_rankings(empty, ("query", "doc"))
    for _ in range(2):
        report = sy.evaluate("rankings", made, {"1": {"7": 0.5, "8": 0.9}}, "ap", confidence=None)
        assert [score.value for score in report.scores.values()] == [0.5]


def test_rankings_of_batches_with_numbers_as_ids() -> None:
    """Documents are texts, whatever type holds them; the mean of 1 and 1/2 by hand."""
    truth = [{"query": [k], "doc": [10 + k], "relevance": [1.0]} for k in (1, 2)]
    runs = [
        {"query": [1], "doc": [11], "score": [0.5]},
        {"query": ["2", "2"], "doc": ["x", "12"], "score": [0.9, 0.8]},
    ]
    report = gathered(*zip(truth, runs, strict=True), task="rankings").report("ap", confidence=None)
    assert [score.value for score in report.scores.values()] == [0.75]


def test_plain_records_beside_rankings_are_gathered_as_they_are() -> None:
    plain = Records("x", {"query": as_object(["q"])}, {})
    assert as_rows(plain, ("query", "doc")) is plain


def test_keys_of_arrays() -> None:
    """Cells with the same numbers have one key; another shape, type or number has another."""
    cells = [
        np.array([[1.0, 2.0]]),
        np.array([[1.0, 2.0]]),
        np.array([1.0, 2.0]),
        np.array([[1, 2]]),
        np.array([[1.0, 3.0]]),
    ]
    keys = column_keys(as_object([*cells, None])).tolist()
    assert keys[0] == keys[1]
    assert len(set(keys)) == 5


def test_maps_that_a_device_does_not_count() -> None:
    grid = torch.zeros((1, 2, 2), dtype=torch.int64)
    named = {"image": ["a"], "map": grid}
    for truth, predictions, options, message in (
        (named, {"map": grid}, {"classes": 2}, ("E-missing-column", "0", "'image'")),
        (named, {"image": ["a", "b"], "map": grid}, {"classes": 2}, ("E-shape-mismatch", "0", "2", "1")),
        (
            named, {"image": ["a"], "map": ["x"]}, {"classes": 2},
            ("E-invalid-number", "0"),
        ),
    ):  # fmt: skip
        state = sy.Accumulator("segmentation", options=options, device="cpu")
        with refuses(*message):
            state.update(truth, predictions)
    with refuses("E-unsupported", "1,099,511,627,776", "device"):
        sy.Accumulator("segmentation", options={"classes": 2, "ignore": 1 << 40}, device="cpu").update(named, named)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int64])
def test_arrays_that_a_device_counts(kind: Any) -> None:
    """Arrays of any whole kind; a batch without rows changes nothing. Three of four labels are right."""
    state = sy.Accumulator("labels", options={"classes": [0, 1]}, device="cpu")
    state.update(np.array([0, 1, 1, 0], dtype=kind), np.array([0, 1, 1, 1], dtype=kind))
    state.update(np.zeros(0, dtype=kind), np.zeros(0, dtype=kind))
    assert [score.value for score in state.report("accuracy", confidence=None).scores.values()] == [0.75]
