"""Boxes against pycocotools 2.0.11: whole precision, recall and score arrays, bit for bit, over drawn data sets."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import numpy as np
import pytest
from pycocotools.cocoeval import COCOeval
from support.coco_reference import TWELVE, draw, pairs_of, reference
from support.tiers import slow_except

import steelyard as sy
from steelyard.tasks.boxes.precision import reference_arrays


def check_arrays(data: dict[str, Any], results: list[dict[str, Any]]) -> COCOeval:
    expected = reference(data, results)
    result = reference_arrays(pairs_of(data, results))
    for name in ("precision", "recall", "scores"):
        assert expected.eval[name].shape == result[name].shape
        assert np.array_equal(expected.eval[name], result[name]), name
    return expected


@pytest.mark.parametrize("block", slow_except(range(10), 0, 1, 2))
def test_arrays_are_equal_to_the_bit(block: int) -> None:
    used = 0
    for seed in range(block * 40, block * 40 + 40):
        data, results = draw(seed)
        if not results:
            continue  # the reference cannot load them
        expected = check_arrays(data, results)
        used += 1
        report = sy.evaluate("boxes", data, results, TWELVE, confidence=None)
        values = [report[name].value for name in TWELVE]
        assert [-1.0 if np.isnan(v) else v for v in values] == list(expected.stats)
    assert used > 30


def test_an_annotation_with_id_zero_is_a_truth_like_any_other() -> None:
    """pycocotools takes a match with id 0 for no match; `quirks` repeats that, the metrics do not."""
    data, results = draw(3)
    right = sy.evaluate("boxes", data, results, "map50", confidence=None)["map50"].value
    changed = 0
    for i in range(len(data["annotations"])):
        moved = json.loads(json.dumps(data))
        moved["annotations"][i]["id"] = 0
        expected = check_arrays(moved, results)
        assert sy.evaluate("boxes", moved, results, "map50", confidence=None)["map50"].value == right
        changed += expected.stats[1] != right
    assert changed > 0


def test_many_detections_are_allowed() -> None:
    """Other limits than 100 give a number, where the reference's summary prints -1."""
    data, results = draw(5)
    with contextlib.redirect_stdout(io.StringIO()):
        e = reference(data, results)
        e.params.maxDets = [1, 10, 300]
        e.evaluate()
        e.accumulate()
    precision = e.eval["precision"][:, :, :, 0, 2]
    expected = precision[precision > -1].mean()
    report = sy.evaluate("boxes", data, results, ["map(max_dets=300)", "ar@300"], confidence=None)
    assert report["map(max_dets=300)"].value == expected
    recall = e.eval["recall"][:, :, 0, 2]
    assert report["ar@300"].value == recall[recall > -1].mean()


def test_threads_and_shuffled_images_change_nothing() -> None:
    data, results = draw(8)
    whole = reference_arrays(pairs_of(data, results))
    turned = {**data, "images": data["images"][::-1]}
    again = reference_arrays(pairs_of(turned, results))
    for name in whole:
        assert np.array_equal(whole[name], again[name])
