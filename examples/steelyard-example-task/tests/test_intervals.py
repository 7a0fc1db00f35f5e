"""The laws of every metric, on drawn data; and numbers by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from steelyard_intervals.task import TASK

import steelyard as sy
from steelyard.testing import Drawn, as_test, laws


def draw(rng: np.random.Generator, units: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """One to four events per recording; some are missed, some made up, some starts are off; one recording is empty."""
    sides: list[list[tuple[str, float, float]]] = [[], []]
    for unit in range(units):
        name = f"r{unit:03d}"
        many = 0 if unit == 3 else int(rng.integers(1, 5))
        start = np.cumsum(rng.uniform(5, 20, many))
        own = [(name, float(s), float(s + length)) for s, length in zip(start, rng.uniform(1, 5, many), strict=True)]
        kept = [row for i, row in enumerate(own) if i == 0 or rng.random() < 0.8]
        predicted = [(name, s + float(rng.normal(0, 0.3)), e + float(rng.normal(0, 0.3))) for _, s, e in kept]
        predicted += [(name, 200.0, 202.0)] if rng.random() < 0.3 else []
        for side, rows in zip(sides, (own, predicted), strict=True):
            side += rows or [(name, np.nan, np.nan)]
    truth, predictions = (
        dict(zip(("recording", "start", "end"), zip(*rows, strict=True), strict=True)) for rows in sides
    )
    return truth, predictions


def worst(truth: dict[str, Any]) -> dict[str, Any]:
    """Every event at another time."""
    return {**truth, "start": np.add(truth["start"], 1000.0), "end": np.add(truth["end"], 1000.0)}


test_laws = as_test(laws(TASK, Drawn(draw, perfect=dict, worst=worst)))


def test_by_hand() -> None:
    truth = {"recording": ["a", "a", "b"], "start": [0.0, 10.0, 0.0], "end": [4.0, 12.0, 2.0]}
    predicted = {"recording": ["a", "a", "b"], "start": [1.0, 20.0, np.nan], "end": [4.0, 22.0, np.nan]}
    report = sy.evaluate("intervals", truth, predicted, confidence=None)
    assert report["time_iou"].value == 3 / 10  # 3 s of 4 + 2 + 2 + 2
    assert report["precision@0.5"].value == 1 / 2  # an overlap of 3/4
    assert report["recall@0.5"].value == 1 / 3
    assert report["onset_error@0.5"].value == 1.0
    assert report.table("events")["0.5", "true"] == 3


def test_an_event_must_end_after_it_starts() -> None:
    rows = {"recording": ["a"], "start": [2.0], "end": [1.0]}
    with pytest.raises(sy.InputError, match=r"an event from 2 to 1 s\. It must end after it starts"):
        sy.evaluate("intervals", rows, rows)


def test_milliseconds_are_found() -> None:
    truth = {"recording": ["a", "b"], "start": [0.0, 1.0], "end": [2.0, 3.0]}
    milliseconds = {"recording": ["a", "b"], "start": [0.0, 1000.0], "end": [2000.0, 3000.0]}
    (finding,) = sy.check("intervals", truth, milliseconds).findings
    assert (finding.code, finding.severity) == ("other-unit-of-time", "error")
    assert finding.what == "Predicted events are 1000 times as long as true ones."
    assert sy.check("intervals", truth, truth).ok
