"""Data that have much of one thing, for benchmarks/growth.py: what makes careless programs quadratic."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import steelyard as sy

DRAWS = 100


def timed(units: int, task: str, *sides: Any, **settings: Any) -> dict[str, float]:
    """CPU seconds of one evaluation; `refused` where it was."""
    row: dict[str, float] = {"units": units}
    cpu = time.process_time()
    try:
        sy.evaluate(task, *sides, draws=DRAWS, **settings)
    except sy.InputError:
        row["refused"] = 1
    row["cpu_1"] = time.process_time() - cpu
    return row


def classes_of_labels(classes: int) -> dict[str, float]:
    """Five rows each."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, classes, 5 * classes)
    predicted = np.where(rng.random(truth.size) < 0.7, truth, rng.integers(0, classes, truth.size))
    return timed(classes, "labels", truth, predicted)


def drawn_boxes(rng: np.random.Generator, image: Any, label: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Truth, and detections that lie near it."""
    corner, side = rng.uniform(0, 500, (len(image), 2)), rng.uniform(20, 120, (len(image), 2))
    truth = {"image": image, "label": label, "x": corner[:, 0], "y": corner[:, 1], "w": side[:, 0], "h": side[:, 1]}
    moved = {name: truth[name] + rng.normal(0, 4, len(image)) for name in "xy"}
    return truth, {**truth, **moved, "score": rng.random(len(image))}


def classes_of_boxes(classes: int) -> dict[str, float]:
    """Five boxes each, ten to an image."""
    rng = np.random.default_rng(0)
    image = np.arange(5 * classes) // 10
    return timed(classes, "boxes", *drawn_boxes(rng, image, rng.integers(0, classes, 5 * classes)))


def boxes_of_one_image(boxes: int) -> dict[str, float]:
    """One class, and one other image with one box."""
    rng = np.random.default_rng(0)
    image = np.append(np.zeros(boxes, int), 1)
    return timed(boxes, "boxes", *drawn_boxes(rng, image, np.zeros(boxes + 1, int)))


def dishes(count: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Weights of dishes, one item each."""
    rng = np.random.default_rng(0)
    ids, weight = [f"d{i}" for i in range(count)], rng.gamma(2, 60, count)
    return {"dish": ids, "item": ids, "weight": weight}, {"dish": ids, "item": ids, "weight": weight * 1.1}


def slices(count: int) -> dict[str, float]:
    """Three dishes each."""
    truth, predicted = dishes(3 * count)
    truth["place"] = [f"p{i // 3}" for i in range(3 * count)]
    return timed(count, "weights", truth, predicted, "mae", by=["place"])


def units_of_one_cluster(units: int) -> dict[str, float]:
    """All but fifty, which have a cluster each."""
    truth, predicted = dishes(units + 50)
    truth["place"] = [f"p{max(0, i - units + 1)}" for i in range(units + 50)]
    return timed(units, "weights", truth, predicted, "mae", cluster="place")


def duplicate_ids(ids: int) -> dict[str, float]:
    """Every dish of the truth."""
    truth, predicted = dishes(ids)
    twice = {name: [*column, *column] for name, column in truth.items()}
    return timed(ids, "weights", twice, predicted, "mae")


def ids_without_partner(ids: int) -> dict[str, float]:
    """No dish of one side is in the other."""
    truth, predicted = dishes(ids)
    for name in ("dish", "item"):
        predicted[name] = [f"{one}x" for one in predicted[name]]
    return timed(ids, "weights", truth, predicted, "mae", missing="error", extra="error")


SHAPES: dict[str, tuple[Callable[[int], dict[str, float]], tuple[int, ...]]] = {
    "classes of labels": (classes_of_labels, (1_000, 10_000, 100_000)),
    "classes of boxes": (classes_of_boxes, (100, 1_000, 10_000)),
    "boxes of one image": (boxes_of_one_image, (1_000, 3_000, 10_000)),
    "slices": (slices, (100, 1_000, 10_000, 1_000_000)),
    "units of one cluster": (units_of_one_cluster, (1_000, 10_000, 100_000)),
    "duplicate ids": (duplicate_ids, (1_000, 10_000, 100_000)),
    "ids without a partner": (ids_without_partner, (1_000, 10_000, 100_000)),
}
