"""Task `losses`: effdet's own numbers as scores of a report, and what a user can get wrong."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

GOLDENS = json.loads((TESTS / "goldens" / "losses.json").read_text(encoding="utf-8"))["detection"]
ANCHORS, CLASSES = 3, 5


def rows() -> tuple[dict[str, Any], dict[str, Any]]:
    """effdet's batch as rows: one for each anchor and class, one for each coordinate whose target is not 0."""
    truth: dict[str, list[Any]] = {name: [] for name in ("image", "item", "target", "value", "ignore", "level")}
    predictions: dict[str, list[Any]] = {name: [] for name in ("image", "item", "logit", "value")}

    def add(
        image: int, item: str, target: Any, logit: Any, value: Any, predicted: Any, ignore: bool, level: int
    ) -> None:
        for side, cells in (
            (truth, (image, item, target, value, ignore, level)),
            (predictions, (image, item, logit, predicted)),
        ):
            for column, cell in zip(side.values(), cells, strict=True):
                column.append(cell)

    for level, (logits, boxes, labels, targets) in enumerate(
        zip(*(map(np.array, GOLDENS[name]) for name in ("logits", "boxes", "labels", "box_targets")), strict=True)
    ):
        for image, y, x, anchor in np.ndindex(labels.shape):
            place, label = f"{level}-{y}-{x}-{anchor}", labels[image, y, x, anchor]
            for c in range(CLASSES):
                logit = logits[image, anchor * CLASSES + c, y, x]
                add(image, f"{place}-c{c}", float(label == c), logit, None, None, bool(label == -2), level)
            for k in range(4):
                target = targets[image, y, x, anchor * 4 + k]
                if target != 0:
                    box = boxes[image, anchor * 4 + k, y, x]
                    add(image, f"{place}-b{k}", None, None, target, box, False, level)
    return truth, predictions


def test_effdet_as_scores() -> None:
    """The sums are effdet's; the report divides by the positives, training by one more (and boxes by 4 times that)."""
    truth, predictions = rows()
    golden, positives = GOLDENS["cases"][0], sum(GOLDENS["positives"])
    coordinates = sum(value is not None for value in truth["value"])
    effdet = "detection(box_weight=50.0, box_loss=huber, delta=0.1)"
    report = sy.evaluate("losses", truth, predictions, ["focal(per=positive)", "huber(delta=0.1)", effdet, "focal"])
    classes = golden["classes"] * (positives + 1) / positives
    boxes = golden["boxes"] * 4 * (positives + 1) / coordinates
    assert report["focal(per=positive)"].value == pytest.approx(classes, rel=1e-6)
    assert report["huber(delta=0.1)"].value == pytest.approx(boxes, rel=1e-6)
    assert report[effdet].value == pytest.approx(classes + 50 * boxes, rel=1e-6)
    ignored = sum(truth["ignore"])
    counted = sum(t is not None for t in truth["target"]) - ignored
    assert report["focal"].value == pytest.approx(classes * positives / counted, rel=1e-6)
    assert (report["focal"].n_excluded, report["focal"].excluded) == (ignored, "rows marked to be ignored")
    assert report["focal"].se > 0
    assert report["focal"].why_no_interval == "2 units say too little; 3 are needed"


def test_one_kind_of_rows_is_enough() -> None:
    truth, predictions = {"image": [1, 2], "target": [1, 0]}, {"image": [1, 2], "logit": [2.0, -1.0]}
    report = sy.evaluate("losses", truth, predictions, confidence=None)
    assert report["focal"].value == pytest.approx(0.03407434746623039 / 2, rel=1e-6)
    assert report["smooth_l1"].undefined_reason == "no row has a value"
    assert report["detection"].undefined_reason == "no row has a value"
    negative = sy.evaluate("losses", {"image": [1], "target": [0]}, {"image": [1], "logit": [2.0]}, confidence=None)
    assert negative["focal(per=positive)"].undefined_reason == "there is no positive"


BOTH = {"image": [1, 1], "item": ["a", "b"]}
BAD: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], list[str]]] = {
    "no column": ({"image": [1]}, {"image": [1]}, {}, ["E-missing-column", "'target'", "'value'"]),
    "no logit": ({"image": [1], "target": [1]}, {"image": [1], "value": [1]}, {}, ["E-missing-column", "'logit'"]),
    "target range": ({"image": [1], "target": [2]}, {"image": [1], "logit": [1]}, {}, ["E-out-of-range", "'2'", "0", "1", "target"]),
    "logit empty": (
        {**BOTH, "target": [1, 0]}, {**BOTH, "logit": [1, None]}, {},
        ["E-invalid-value", "row 1", "'target'", "'logit'"],
    ),
    "target empty": (
        {**BOTH, "target": [1, None]}, {**BOTH, "logit": [1, 3]}, {},
        ["E-invalid-value", "row 1"],
    ),
    "empty, whatever is asked": (
        {**BOTH, "target": [1, 0], "value": [1, 2]}, {**BOTH, "logit": [1, None], "value": [1, 2]}, {"metrics": "huber"},
        ["E-invalid-value", "row 1", "'target'", "'logit'"],
    ),
    "infinite": ({"image": [1], "target": [1]}, {"image": [1], "logit": [np.inf]}, {}, ["E-out-of-range", "'inf'", "logit"]),
    "missing": ({**BOTH, "target": [1, 0]}, {"image": [1], "item": ["a"], "logit": [1]}, {}, ["E-unmatched", "1", "2", "'b'"]),
    "worst": (
        {"image": [1], "target": [1]}, {"image": [1], "logit": [1]}, {"missing": "worst"},
        ["E-unsupported", "missing='worst'"],
    ),
    "alpha": (
        {"image": [1], "target": [1]}, {"image": [1], "logit": [1]}, {"metrics": "focal(alpha=2)"}, ["E-invalid-spec", "alpha", "2"],
    ),
    "delta": ({"image": [1], "value": [1]}, {"image": [1], "value": [1]}, {"metrics": "huber(delta=0)"}, ["E-invalid-spec", "delta", "0"]),
    "box_loss": (
        {"image": [1], "value": [1]}, {"image": [1], "value": [1]}, {"metrics": "detection(box_loss=l2)"},
        ["E-invalid-spec", "box_loss", "l2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    truth, predictions, options, expected = BAD[name]
    with refuses(*expected):
        sy.evaluate("losses", truth, predictions, **options)
