"""Drawn boxes, and what pycocotools makes of them."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from steelyard.core.task import Policy
from steelyard.io.coco import parse_coco
from steelyard.tasks.boxes.pairs import BoxPairs, pair

TWELVE = [
    "map", "map50", "map75", "map(area=small)", "map(area=medium)", "map(area=large)",
    "ar@1", "ar@10", "ar@100", "ar@100(area=small)", "ar@100(area=medium)", "ar@100(area=large)",
]  # fmt: skip


def draw(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A data set with what makes evaluators differ: ties, crowds, empty images, degenerate and equal boxes."""
    rng = np.random.default_rng(seed)
    images = rng.choice(1000, int(rng.integers(1, 9)), replace=False) + 1
    classes = rng.choice(90, int(rng.integers(1, 5)), replace=False) + 1
    whole = rng.random() < 0.5  # whole coordinates make exact IoUs and ties
    span = float(rng.choice([30, 120, 400]))

    def box() -> list[float]:
        corner, size = rng.random(2) * span, rng.random(2) * span
        values = [*corner, *size]
        if rng.random() < 0.05:
            values[2 + int(rng.integers(2))] = 0.0
        return [float(np.round(v)) if whole else float(v) for v in values]

    truths: list[dict[str, Any]] = []
    for i in images:
        for _ in range(int(rng.poisson(3))):
            b = box()
            truth = {
                "id": len(truths) + 1, "image_id": int(i), "category_id": int(rng.choice(classes)), "bbox": b,
                "area": float(b[2] * b[3] * rng.choice([1.0, 0.6])), "iscrowd": int(rng.random() < 0.12),
            }  # fmt: skip
            truths.append(truth)
            if rng.random() < 0.1:
                truths.append({**truth, "id": len(truths) + 1})
    results: list[dict[str, Any]] = []
    scores = np.round(rng.random(400), int(rng.choice([1, 2, 12])))
    for truth in truths:
        for _ in range(int(rng.poisson(1.4))):
            shift = rng.normal(0, 0.08, 4) * np.array([*truth["bbox"][2:]] * 2)
            b = [float(v) for v in np.array(truth["bbox"]) + (shift if rng.random() < 0.8 else 0)]
            b = [float(np.round(v)) for v in b] if whole else b
            label = truth["category_id"] if rng.random() < 0.9 else int(rng.choice(classes))
            b[2:] = [abs(v) for v in b[2:]]
            results.append({"image_id": truth["image_id"], "category_id": label, "bbox": b})
    for _ in range(int(rng.poisson(8))):
        results.append({"image_id": int(rng.choice(images)), "category_id": int(rng.choice(classes)), "bbox": box()})
    if rng.random() < 0.1:  # more than a hundred in one image
        results += [{**results[0], "bbox": box()} for _ in range(150)] if results else []
    for i, result in enumerate(results):
        result["score"] = float(scores[i % len(scores)])
    order = rng.permutation(len(results))
    truth_order = rng.permutation(len(truths))
    data = {
        "images": [{"id": int(i)} for i in rng.permutation(images)],
        "annotations": [truths[i] for i in truth_order],
        "categories": [{"id": int(c), "name": f"class {c}"} for c in rng.permutation(classes)],
    }
    return data, [results[i] for i in order]


def reference(data: dict[str, Any], results: list[dict[str, Any]]) -> COCOeval:
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = json.loads(json.dumps(data))
        truth.createIndex()
        e = COCOeval(truth, truth.loadRes(json.loads(json.dumps(results))), "bbox")
        e.evaluate()
        e.accumulate()
        e.summarize()
    return e


def pairs_of(data: dict[str, Any], results: list[dict[str, Any]]) -> BoxPairs:
    sides = [parse_coco(json.dumps(x).encode(), side) for x, side in ((data, "truth"), (results, "prediction"))]
    return pair(*sides, Policy())
