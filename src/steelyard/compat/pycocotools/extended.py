"""What faster-coco-eval adds to pycocotools' evaluator: `extended_metrics` and `stats_as_dict`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InvalidSetting, MissingData

Array = NDArray[Any]
CHUNK = 4096  # score thresholds that are looked at together
KEYPOINTS = ("AP_all", "AP_50", "AP_75", "AP_medium", "AP_large", "AR_all", "AR_50", "AR_75", "AR_medium", "AR_large")
CROWD = ("AP_all", "AP_50", "AP_75", "AR_all", "AR_50", "AR_75", "AP_easy", "AP_medium", "AP_hard")


def extended_metrics(evaluator: Any) -> dict[str, Any]:
    """AP of each class and of all, with precision and recall at the score where the mean F1 over classes is highest.

    IoU is 0.5, every detection of the results counts, and the lowest of equal scores is taken.
    """
    p = evaluator.params
    near = np.flatnonzero(np.isclose(p.iouThrs, 0.5))
    if not len(near):
        raise InvalidSetting("extended_metrics needs the IoU threshold 0.5", remedy="Keep 0.5 in params.iouThrs.")
    if not evaluator.eval:
        raise MissingData("Please run accumulate() first")
    at, precision = int(near[0]), evaluator.eval["precision"]
    names = {cat["id"]: cat["name"] for cat in evaluator.cocoGt.loadCats(p.catIds)} if p.useCats else {}
    best = _best_point(evaluator, at)
    rows = []
    for k, category in enumerate(p.catIds if p.useCats else ()):
        curve = precision[:, :, k, 0, -1]
        whole, half = mean_of(curve), mean_of(curve[at])
        if category in best.by_class and not np.isnan([whole, half]).any():
            precise, recalled = best.by_class[category]
            rows.append({
                "class": names[category], "map@50:95": whole, "map@50": half, "precision": precise, "recall": recalled,
            })  # fmt: skip
    every, half = (mean_of(part, -1.0) for part in (precision[:, :, :, 0, -1], precision[at, :, :, 0, -1]))
    shared = {"precision": best.precision, "recall": best.recall}
    rows.append({"class": "all", "map@50:95": every, "map@50": half, **shared})
    return {"class_map": rows, "map": half, **shared}


def mean_of(values: Array, otherwise: float = float("nan")) -> float:
    """The mean of what is defined."""
    defined = values[values > -1]
    return float(defined.mean()) if len(defined) else otherwise


class _Best:
    """The point that was chosen: means over classes, and what each class has there."""

    def __init__(self) -> None:
        self.f1, self.precision, self.recall = -np.inf, 0.0, 0.0
        self.by_class: dict[Any, tuple[float, float]] = {}


def _best_point(evaluator: Any, at: int) -> _Best:
    p, best = evaluator.params, _Best()
    right = _right_ids(evaluator, at)
    detections = list(evaluator.cocoDt.anns.values())
    truths: dict[Any, int] = {}
    for ann in evaluator.cocoGt.anns.values():
        if not ann.get("iscrowd", 0):
            truths[ann["category_id"]] = truths.get(ann["category_id"], 0) + 1
    categories = p.catIds if p.useCats else list({ann["category_id"] for ann in detections})
    classes = [category for category in categories if truths.get(category, 0)]
    if not classes or not detections:
        return best
    curves = {}
    for category in classes:
        mine = [ann for ann in detections if ann["category_id"] == category]
        score = np.array([float(ann["score"]) for ann in mine])
        order = np.argsort(-score, kind="stable")
        hits = np.concatenate([[0], np.cumsum(np.array([ann["id"] in right for ann in mine], dtype=np.int64)[order])])
        curves[category] = -score[order], hits
    thresholds = np.unique([float(ann["score"]) for ann in detections])
    for start in range(0, len(thresholds), CHUNK):
        part = thresholds[start : start + CHUNK]
        shares = np.zeros((2, len(part), len(classes)))
        for k, category in enumerate(classes):
            falling, hits = curves[category]
            above = np.searchsorted(falling, -part, side="right")
            shares[0, :, k] = hits[above] / np.maximum(above, 1)
            shares[1, :, k] = hits[above] / truths[category]
        total = shares[0] + shares[1]
        f1 = np.where(total > 0, 2.0 * shares[0] * shares[1] / np.where(total > 0, total, 1.0), 0.0)
        means = np.mean(f1, axis=1)
        place = int(means.argmax())
        if means[place] > best.f1:
            best.f1 = float(means[place])
            best.precision, best.recall = (float(np.mean(side[place])) for side in shares)
            best.by_class = {c: (float(shares[0, place, k]), float(shares[1, place, k])) for k, c in enumerate(classes)}
    return best


def _right_ids(evaluator: Any, at: int) -> set[Any]:
    """Ids of the detections that found an object that counts, in the first range of areas."""
    p = evaluator._paramsEval
    images, areas = len(p.imgIds), len(p.areaRng)
    right: set[Any] = set()
    for place, entry in enumerate(evaluator.evalImgs):
        if entry is None or (place // images) % areas:
            continue
        hit = (np.asarray(entry["dtMatches"])[at] != 0) & ~np.asarray(entry["dtIgnore"], dtype=bool)[at]
        right.update(entry["dtIds"][i] for i in np.flatnonzero(hit).tolist())
    return right


def stats_as_dict(evaluator: Any) -> dict[str, float]:
    """`stats` by name, as faster-coco-eval calls them."""
    p, stats = evaluator.params, evaluator.stats
    if not len(stats):
        raise MissingData("Please run summarize() first")
    if p.iouType == "keypoints_crowd":
        return dict(zip(CROWD, map(float, stats), strict=True))
    if p.iouType == "keypoints":
        return dict(zip(KEYPOINTS, map(float, stats), strict=True))
    sizes = ("small", "medium", "large")
    names = ["AP_all", "AP_50", "AP_75", *(f"AP_{size}" for size in sizes), "AR_all", "AR_second", "AR_third"]
    named = dict(zip([*names, *(f"AR_{size}" for size in sizes)], map(float, stats), strict=True))
    recall = evaluator.eval["recall"][:, :, 0, -1]
    for iou, name in ((0.5, "AR_50"), (0.75, "AR_75")):
        named[name] = mean_of(recall[np.isclose(p.iouThrs, iou)], -1.0)
    return named
