"""Accumulator: the same report whatever the order and the split of batches; a unit seen twice counts once."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from support.drawn import DRAW
from support.refusal import refuses

import steelyard as sy
from steelyard.core import catalogue
from steelyard.io.container import container_bytes, parse_container

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


every_task = pytest.mark.parametrize("task", list(catalogue.TASKS))


@every_task
def test_is_what_all_at_once_gives(task: str) -> None:
    truth, predictions, parts = batches(task, 1, [5, 1, 8, 10])
    expected = sy.evaluate(task, truth, predictions, draws=200)
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        gathered = sy.Accumulator(task)
        for i in order:
            gathered.update(*parts[i])
        report = gathered.report(draws=200)
        assert report.scores == expected.scores
        assert report.sources.truth.digest == gathered.report(draws=200).sources.truth.digest


@every_task
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
    report = machines[1].report(confidence=None)
    assert report.scores == expected.scores
    assert any(note.endswith((" and counts once.", " and count once.")) for note in report.notes)


def image(name: int, score: float, shift: float = 0.0) -> tuple[Data, Data]:
    boxes = np.array([[10.0 + shift, 10.0, 20.0, 20.0]])
    return (
        {"image": name, "boxes": boxes - [shift, 0, 0, 0], "labels": [1]},
        {"image": name, "boxes": boxes, "labels": [1], "scores": [score]},
    )


def test_unlike_copies_are_an_error_or_kept_by_their_contents() -> None:
    first, again = image(7, 0.9), image(7, 0.8, 15.0)
    other = image(8, 0.5)
    values = []
    for order in ([first, again, other], [other, again, first]):
        gathered, kept = sy.Accumulator("boxes"), sy.Accumulator("boxes", on_conflict="keep")
        for truth, prediction in order:
            gathered.update([truth], [prediction])
            kept.update([truth], [prediction])
        with refuses("E-duplicate-key", "'7'"):
            gathered.report()
        report = kept.report("map50", confidence=None)
        assert any("1 of them came with other predictions" in note for note in report.notes)
        values.append(report["map50"].value)
    assert values[0] == values[1]
    with refuses("E-invalid-setting", "on_conflict='kepe'", "'keep'"):
        sy.Accumulator("boxes", on_conflict="kepe")


def test_a_copy_without_detections_is_unlike() -> None:
    truth, prediction = image(7, 0.9)
    gathered = sy.Accumulator("boxes")
    gathered.update([truth], [prediction])
    gathered.update([truth], [{"image": 7, "boxes": [], "labels": [], "scores": []}])
    with refuses("E-duplicate-key", "'7'"):
        gathered.report()


def test_truth_and_predictions_may_come_apart() -> None:
    truth, predictions = DRAW["weights"](np.random.default_rng(3), 6)
    nothing = {name: [] for name in predictions}
    first = set(truth["dish"][:1])
    gathered = sy.Accumulator("weights")
    gathered.update(truth, nothing)
    gathered.update(rows_of(truth, first, "dish"), predictions)  # the first unit's truth again, now with predictions
    with refuses("E-duplicate-key", "different"):
        gathered.report()
    gathered = sy.Accumulator("weights")
    gathered.update(truth, rows_of(predictions, first, "dish"))
    gathered.update(rows_of(truth, first, "dish"), rows_of(predictions, first, "dish"))
    gathered.merge(apart(predictions, truth, first))
    assert gathered.report(confidence=None).scores == sy.evaluate("weights", truth, predictions, confidence=None).scores


def apart(predictions: Data, truth: Data, first: set[str]) -> sy.Accumulator:
    """The predictions of all units but the first, beside a truth that has come already."""
    rest = sy.Accumulator("weights")
    rest.update(rows_of(truth, first, "dish"), predictions)
    return rest


def test_unlike_truth_is_an_error() -> None:
    gathered = sy.Accumulator("boxes")
    truth, prediction = image(7, 0.9)
    gathered.update([truth], [prediction])
    gathered.update([{**truth, "labels": [2]}], [prediction])
    with refuses("E-duplicate-key", "'7'", "0", "1"):
        gathered.report()


@every_task
def test_buffers_may_be_used_again(task: str) -> None:
    """Every column of both sides is overwritten after the update; the report is that of what was given."""
    sides = [
        {name: np.array(column) for name, column in side.items()} for side in DRAW[task](np.random.default_rng(4), 8)
    ]
    expected = sy.evaluate(task, *sides, confidence=None)
    gathered = sy.Accumulator(task)
    gathered.update(*sides)
    for side in sides:
        for column in side.values():
            column[...] = ~column if column.dtype == bool else column[::-1].copy()
    assert gathered.report(confidence=None).scores == expected.scores


def test_images_without_objects_or_detections_count() -> None:
    empty = {"image": 9, "boxes": [], "labels": []}
    gathered = sy.Accumulator("boxes")
    truth, prediction = image(7, 0.9)
    gathered.update([truth, empty], [prediction, {**empty, "boxes": [[0, 0, 5, 5]], "labels": [1], "scores": [0.95]}])
    report = gathered.report(["map50", "fppi"], confidence=None)
    assert report["fppi"].value == 0.5
    assert report["map50"].value == pytest.approx(0.5)


def test_nothing_and_another_task() -> None:
    with refuses("E-empty-input", "gathered"):
        sy.Accumulator("boxes").report()
    with refuses("E-incompatible", "merged"):
        sy.Accumulator("boxes").merge(sy.Accumulator("weights"))


def test_classes_keep_their_names() -> None:
    def coco(image: int, category: int) -> tuple[Data, list[Data]]:
        box = {"image_id": image, "category_id": category, "bbox": [5, 5, 20, 20]}
        truth = {
            "images": [{"id": image}],
            "annotations": [{**box, "id": image, "area": 400, "iscrowd": 0}],
            "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        }
        return truth, [{**box, "score": 0.9}]

    gathered = sy.Accumulator("boxes")
    gathered.update(*coco(1, 1))
    gathered.update(*coco(2, 2))
    for state in (gathered, sy.Accumulator.from_bytes(gathered.to_bytes())):
        assert state.report(confidence=None).table("classes").rows == ("cat", "dog")


def test_rows_without_ids_cannot_be_gathered() -> None:
    gathered = sy.Accumulator("labels")
    gathered.update({"label": ["a", "b"]}, {"label": ["a", "a"]})
    with refuses("E-missing-column", "'id'"):
        gathered.report()


def test_embeddings_cannot_be_gathered() -> None:
    gathered = sy.Accumulator("rankings")
    gathered.update({"query_label": [0, 0, 1, 1]}, {"query": np.eye(4)})
    with refuses("E-unsupported", "batch 0, truth"):
        gathered.report()


def test_metrics_are_said_to_the_report() -> None:
    with pytest.raises(TypeError) as raised:
        sy.Accumulator("weights", metrics=["mae"])  # type: ignore[call-arg]
    assert str(raised.value) == "metrics are said when the report is made: report(metrics), or compact(metrics) before"


def test_accumulators() -> None:
    state = sy.Accumulator("labels")
    state.update({"id": [1, 2], "label": ["a", "b"]}, {"id": [1, 2], "label": ["a", "a"]})
    with refuses(TypeError, "'missing'"):
        state.report(missing="skip")  # type: ignore[call-arg]
    kind, facts, arrays = parse_container(state.to_bytes(), "x")
    other = container_bytes(kind, {**facts, "task": "tea"}, arrays)
    with refuses("E-invalid-result", "'tea'", "unknown"):
        sy.Accumulator.from_bytes(other, "x.state")
    with refuses("E-invalid-result", "'tea'", "one"):
        sy.Accumulator.from_bytes(container_bytes("tea", facts, arrays), "x")
