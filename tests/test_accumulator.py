"""Accumulator: the same report whatever the order and the split of batches; a unit seen twice counts once."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from drawn import DRAW

import steelyard as sy
from steelyard.align.gather import SHAPES
from steelyard.metrics import catalogue

Data = dict[str, Any]


def rows_of(data: Data, units: set[str], key: str) -> Data:
    keep = [str(v) in units for v in data[key]]
    return {name: [v for v, kept in zip(column, keep, strict=True) if kept] for name, column in data.items()}


def batches(task: str, seed: int, sizes: list[int]) -> tuple[Data, Data, list[tuple[Data, Data]]]:
    truth, predictions = DRAW[task](np.random.default_rng(seed), sum(sizes))
    key = catalogue.find_task(task).truth.key[0]
    units = list(dict.fromkeys(map(str, truth[key])))
    parts, start = [], 0
    for number, size in enumerate(sizes, 1):  # the last takes what is left
        chosen = set(units[start : start + size] if number < len(sizes) else units[start:])
        parts.append((rows_of(truth, chosen, key), rows_of(predictions, chosen, key)))
        start += size
    return truth, predictions, parts


GATHERED = [name for name, task in catalogue.TASKS.items() if task.shape in SHAPES]


@pytest.mark.parametrize("task", sorted(set(catalogue.TASKS) - set(GATHERED)))
def test_refuses_what_it_cannot_gather(task: str) -> None:
    with pytest.raises(sy.InputError, match="cannot be gathered"):
        sy.Accumulator(task)


@pytest.mark.parametrize("task", GATHERED)
def test_is_what_all_at_once_gives(task: str) -> None:
    truth, predictions, parts = batches(task, 1, [5, 1, 8, 10])
    expected = sy.evaluate(task, truth, predictions, draws=200)
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        gathered = sy.Accumulator(task)
        for i in order:
            gathered.update(*parts[i])
        found = gathered.report(draws=200)
        assert found.scores == expected.scores
        assert found.provenance.truth.digest == gathered.report(draws=200).provenance.truth.digest


@pytest.mark.parametrize("task", GATHERED)
def test_merge_of_pickled_parts_and_repeated_units(task: str) -> None:
    truth, predictions, parts = batches(task, 2, [6, 6, 6, 6])
    expected = sy.evaluate(task, truth, predictions, confidence=None)
    machines = []
    for mine in ([0, 2], [1, 3, 0]):  # the second pads with what the first has seen
        one = sy.Accumulator(task)
        for i in mine:
            one.update(*parts[i])
        machines.append(pickle.loads(pickle.dumps(one)))
    machines[1].merge(machines[0])
    found = machines[1].report(confidence=None)
    assert found.scores == expected.scores
    assert any("came more than once and count once" in note for note in found.notes)


def image(name: int, score: float, shift: float = 0.0) -> tuple[Data, Data]:
    boxes = np.array([[10.0 + shift, 10.0, 20.0, 20.0]])
    return (
        {"image": name, "boxes": boxes - [shift, 0, 0, 0], "labels": [1]},
        {"image": name, "boxes": boxes, "labels": [1], "scores": [score]},
    )


def test_unlike_copies_do_not_depend_on_the_order() -> None:
    first, again = image(7, 0.9), image(7, 0.8, 15.0)
    other = image(8, 0.5)
    values = []
    for order in ([first, again, other], [other, again, first]):
        gathered = sy.Accumulator("boxes")
        for truth, prediction in order:
            gathered.update([truth], [prediction])
        report = gathered.report("map50", confidence=None)
        assert any("1 of them came with other predictions" in note for note in report.notes)
        values.append(report["map50"].value)
    assert values[0] == values[1]


def test_unlike_truth_is_an_error() -> None:
    gathered = sy.Accumulator("boxes")
    truth, prediction = image(7, 0.9)
    gathered.update([truth], [prediction])
    gathered.update([{**truth, "labels": [2]}], [prediction])
    with pytest.raises(sy.InputError, match="image '7' came in 2 batches with different truth"):
        gathered.report()


def test_images_without_objects_or_detections_count() -> None:
    empty = {"image": 9, "boxes": [], "labels": []}
    gathered = sy.Accumulator("boxes")
    truth, prediction = image(7, 0.9)
    gathered.update([truth, empty], [prediction, {**empty, "boxes": [[0, 0, 5, 5]], "labels": [1], "scores": [0.95]}])
    report = gathered.report(["map50", "fppi"], confidence=None)
    assert report["fppi"].value == 0.5
    assert report["map50"].value == pytest.approx(0.5)


def test_nothing_and_another_task() -> None:
    with pytest.raises(sy.InputError, match="nothing was gathered"):
        sy.Accumulator("boxes").report()
    with pytest.raises(sy.InputError, match="cannot be merged"):
        sy.Accumulator("boxes").merge(sy.Accumulator("weights"))
