"""Drawn COCO data sets with boxes, masks and keypoints: what the drop-in and the tasks `masks` and `keypoints` are held to.

Every kind of thing that makes evaluators differ is drawn: ties, crowds, empty images, degenerate shapes, polygons of
several parts, masks in all three forms, truths without a visible keypoint.
"""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
from pycocotools import mask as reference_mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

Data = dict[str, Any]
Results = list[dict[str, Any]]
HEIGHT, WIDTH, POINTS = 90, 120, 17


def quiet(function: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    """Call without what the evaluators print."""
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*arguments, **settings)


def ring(rng: np.random.Generator, box: Any) -> list[float]:
    """A polygon around a box's middle, star-shaped or any."""
    x, y, w, h = box
    points = int(rng.integers(3, 12))
    if rng.random() < 0.3:
        corners = rng.random((points, 2))
    else:
        angle = np.sort(rng.random(points)) * 2 * np.pi
        reach = rng.uniform(0.5, 1.0, points)[:, None]
        corners = 0.5 + 0.5 * reach * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    flat = (corners * [w, h] + [x, y]).ravel()
    return [float(v) for v in (np.round(flat, 1) if rng.random() < 0.5 else flat)]


def mask_of(polygons: list[list[float]]) -> dict[str, Any]:
    mask = reference_mask.merge(reference_mask.frPyObjects(polygons, HEIGHT, WIDTH))
    return {"size": list(mask["size"]), "counts": mask["counts"].decode()}


def uncompressed(mask: dict[str, Any]) -> dict[str, Any]:
    flat = reference_mask.decode(mask).ravel(order="F")
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flat]))) if len(flat) else np.zeros(0, int)
    counts = np.diff(np.concatenate([[0], edges, [len(flat)]]))
    return {"size": mask["size"], "counts": [int(v) for v in counts]}


def draw_coco(seed: int, *, texts: bool = False) -> tuple[Data, dict[str, Results]]:
    """A truth with everything in it, and results by `iouType`; with `texts`, ids of images and classes are texts."""
    rng = np.random.default_rng(seed)
    numbers = rng.choice(1000, int(rng.integers(2, 8)), replace=False) + 1
    classes = rng.choice(90, int(rng.integers(1, 4)), replace=False) + 1

    def image_id(i: int) -> Any:
        return f"img_{i}" if texts else int(i)

    def class_id(c: int) -> Any:
        return f"class_{c}" if texts else int(c)

    def box() -> list[float]:
        w, h = rng.uniform(1, 70, 2)
        return [float(v) for v in (rng.uniform(-5, WIDTH - 10), rng.uniform(-5, HEIGHT - 10), w, h)]

    def moved(b: list[float], by: float) -> list[float]:
        shift = rng.normal(0, by, 4) * np.array([b[2], b[3], b[2], b[3]])
        new = np.array(b) + shift
        return [float(new[0]), float(new[1]), float(abs(new[2]) + 0.5), float(abs(new[3]) + 0.5)]

    def points(b: list[float]) -> list[float]:
        xy = rng.random((POINTS, 2)) * b[2:] + b[:2]
        seen = rng.integers(0, 3, POINTS) if rng.random() > 0.15 else np.zeros(POINTS)
        return [float(v) for v in np.column_stack([np.round(xy, 1), seen]).ravel()]

    truths: list[dict[str, Any]] = []
    for i in numbers:
        for _ in range(int(rng.poisson(3))):
            b = box()
            polygons = [ring(rng, b) for _ in range(int(rng.integers(1, 3)))]
            crowd = int(rng.random() < 0.15)
            mask: Any = polygons
            if crowd or rng.random() < 0.2:
                mask = mask_of(polygons) if rng.random() < 0.5 else uncompressed(mask_of(polygons))
            drawn = points(b)
            truths.append({
                "id": len(truths) + 1, "image_id": image_id(i), "category_id": class_id(rng.choice(classes)), "bbox": b,
                "area": float(b[2] * b[3] * rng.choice([1.0, 0.5])), "iscrowd": crowd, "segmentation": mask,
                "keypoints": drawn, "num_keypoints": int(np.count_nonzero(np.array(drawn[2::3]) > 0)),
                "_polygons": polygons,
            })  # fmt: skip
    scores = np.round(rng.random(60), int(rng.choice([1, 3, 12])))
    results: dict[str, Results] = {"bbox": [], "segm": [], "keypoints": []}
    count = 0

    def add(image: Any, label: Any, b: list[float], polygons: list[list[float]], drawn: list[float]) -> None:
        nonlocal count
        head = {"image_id": image, "category_id": label, "score": float(scores[count % len(scores)])}
        count += 1
        results["bbox"].append({**head, "bbox": b})
        results["segm"].append({**head, "segmentation": mask_of(polygons)})
        results["keypoints"].append({**head, "keypoints": drawn})

    for truth in truths:
        for _ in range(int(rng.poisson(1.4))):
            by = float(rng.choice([0.0, 0.03, 0.1]))
            b = moved(truth["bbox"], by) if by else list(truth["bbox"])
            polygons = [[v + float(rng.normal(0, by)) * 10 for v in p] for p in truth["_polygons"]]
            drawn = np.array(truth["keypoints"])
            drawn[0::3] += rng.normal(0, by * 8, POINTS)
            drawn[1::3] += rng.normal(0, by * 8, POINTS)
            label = truth["category_id"] if rng.random() < 0.9 else class_id(rng.choice(classes))
            add(truth["image_id"], label, b, polygons, [float(v) for v in drawn])
    for _ in range(1 + int(rng.poisson(5))):
        b = box()
        add(image_id(rng.choice(numbers)), class_id(rng.choice(classes)), b, [ring(rng, b)], points(b))
    if rng.random() < 0.1:  # more than a hundred in one cell
        for _ in range(130):
            b = box()
            add(image_id(numbers[0]), class_id(classes[0]), b, [ring(rng, b)], points(b))
    order = rng.permutation(len(results["bbox"]))
    data = {
        "info": {"description": "drawn"},
        "images": [{"id": image_id(i), "height": HEIGHT, "width": WIDTH, "file_name": f"{i}.jpg"} for i in rng.permutation(numbers)],
        "annotations": [{k: v for k, v in truths[i].items() if k != "_polygons"} for i in rng.permutation(len(truths))],
        "categories": [{"id": class_id(c), "name": f"class {c}", "supercategory": "thing"} for c in rng.permutation(classes)],
    }  # fmt: skip
    return data, {kind: [listed[i] for i in order] for kind, listed in results.items()}


def evaluated(
    coco_class: Any, eval_class: Any, data: Data, results: Any, kind: str, change: Callable[[Any], None] | None = None
) -> Any:
    """One evaluation from start to end, with any implementation."""
    truth = coco_class()
    truth.dataset = copy.deepcopy(data)
    quiet(truth.createIndex)
    e = eval_class(truth, quiet(truth.loadRes, copy.deepcopy(results)), kind)
    if change is not None:
        change(e)
    for step in (e.evaluate, e.accumulate, e.summarize):
        quiet(step)
    return e


def reference_eval(data: Data, results: Any, kind: str, change: Callable[[Any], None] | None = None) -> Any:
    """The same with pycocotools itself."""
    return evaluated(COCO, COCOeval, data, results, kind, change)
