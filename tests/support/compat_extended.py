"""Drawn data for what the drop-in takes over from faster-coco-eval, and its own programs: goldens and tests share them."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.coco_reference import draw


def boxes(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Drawn boxes of several classes, with equal scores. No crowds: faster-coco-eval takes a hit of one for a right one."""
    data, results = draw(seed)
    for number, annotation in enumerate(data["annotations"], 1):
        annotation |= {"id": number, "iscrowd": 0}
    for result in results:
        result["score"] = round(float(result["score"]), 2)
    if not results:
        image, kind = data["images"][0]["id"], data["categories"][0]["id"]
        results = [{"image_id": image, "category_id": kind, "bbox": [0.0, 0.0, 9.0, 9.0], "score": 0.5}]
    return data, results


def crowd(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """People of 14 points in images with a `crowdIndex`, and detections near them."""
    rng = np.random.default_rng(seed)
    images = [
        {"id": k + 1, "width": 400, "height": 400, "crowdIndex": float(index)}
        for k, index in enumerate(rng.choice([0.0, 0.1, 0.19, 0.2, 0.5, 0.79, 0.8, 1.0], 12))
    ]
    annotations: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for image in images:
        for _ in range(int(rng.integers(0, 5))):
            x, y, w, h = (float(v) for v in (*(rng.random(2) * 200), *(40 + rng.random(2) * 120)))
            points = np.column_stack([x + rng.random(14) * w, y + rng.random(14) * h, rng.integers(0, 3, 14)])
            if rng.random() < 0.1:
                points[:, 2] = 0
            seen = int((points[:, 2] > 0).sum())
            annotations.append({
                "id": len(annotations) + 1, "image_id": image["id"], "category_id": 1, "bbox": [x, y, w, h],
                "keypoints": points.ravel().tolist(), "num_keypoints": seen, "iscrowd": 0, "area": 0.4 * w * h,
            })  # fmt: skip
            if rng.random() < 0.85:
                moved = points.copy()
                moved[:, :2] += rng.normal(0, rng.choice([1.0, 6.0, 20.0]), (14, 2))
                results.append({
                    "image_id": image["id"], "category_id": 1, "keypoints": moved.ravel().tolist(),
                    "score": float(rng.random()),
                })  # fmt: skip
    categories = [{"id": 1, "name": "person"}]
    return {"images": images, "annotations": annotations, "categories": categories}, results
