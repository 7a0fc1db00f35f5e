"""Anomalies against scikit-learn and SciPy on drawn maps: areas of images and pixels, and AUPRO from its whole curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy

sk = lazy("sklearn.metrics")
image = lazy("scipy.ndimage")

LIMITS = (0.01, 0.05, 0.3, 1.0)


def drawn(seed: int) -> tuple[list[Any], list[Any]]:
    """Maps with ties, as float16, float32 or float64, and masks of several regions; a third of the images are good."""
    rng = np.random.default_rng(seed)
    maps, masks = [], []
    for number in range(9):
        mask = np.zeros((rng.integers(8, 30), rng.integers(8, 30)), dtype=np.uint8)
        for _ in range(0 if number < 3 else rng.integers(1, 5)):
            y, x = rng.integers(0, mask.shape[0] - 2), rng.integers(0, mask.shape[1] - 2)
            mask[y : y + rng.integers(1, 6), x : x + rng.integers(1, 6)] = 1
        scores = rng.normal(0, 1, mask.shape) + rng.uniform(0, 3) * mask
        maps.append(
            np.round(scores * 20 if seed % 3 else scores).astype((np.float16, np.float32, np.float64)[seed % 3])
        )
        masks.append(mask)
    return maps, masks


def whole_curve_area(maps: list[Any], masks: list[Any], limit: float) -> float:
    """AUPRO by the rule of the AD script: all scores in one falling order, a point after each distinct score."""
    scores, normal, share, regions = [], [], [], 0
    for grid, mask in zip(maps, masks, strict=True):
        labels, count = image.label(mask, np.ones((3, 3), dtype=int))
        size = np.bincount(labels.ravel(), minlength=count + 1)
        scores.append(grid.astype(np.float64).ravel())
        normal.append((mask == 0).ravel())
        share.append(np.where(labels > 0, 1 / size[labels], 0).ravel())
        regions += count
    score, is_normal, overlap = map(np.concatenate, (scores, normal, share))
    order = np.argsort(-score, kind="stable")
    last = np.append(np.diff(score[order]) != 0, True)
    x = np.append(0.0, (np.cumsum(is_normal[order]) / is_normal.sum())[last])
    y = np.append(0.0, (np.cumsum(overlap[order]) / regions)[last])
    inside = x <= limit
    end = int(inside.sum())
    if end < len(x):
        cut = y[end - 1] + (y[end] - y[end - 1]) * (limit - x[end - 1]) / (x[end] - x[end - 1])
        x, y = np.append(x[:end], limit), np.append(y[:end], cut)
    return float((0.5 * (y[1:] + y[:-1]) * np.diff(x)).sum() / limit)


@pytest.mark.parametrize("seed", range(12))
def test_areas_of_drawn_maps(seed: int) -> None:
    maps, masks = drawn(seed)
    names = [f"i{number}" for number in range(len(maps))]
    truth, predictions = {"image": names, "mask": masks}, {"image": names, "map": maps}
    pixels = ["pixel_auroc", "pixel_ap", "pixel_f1_max"]
    images = ["image_auroc", "image_ap", "image_f1_max"]
    areas = [f"aupro@{limit}" for limit in LIMITS]
    report = sy.evaluate("anomalies", truth, predictions, [*pixels, *images, *areas], confidence=None)
    every = (
        (pixels, np.concatenate([mask.ravel() for mask in masks]), np.concatenate([grid.ravel() for grid in maps])),
        (images, np.array([mask.any() for mask in masks]), np.array([grid.max() for grid in maps])),
    )
    for specs, labels, scores in every:
        scores = scores.astype(np.float64)
        precision, recall, _ = sk.precision_recall_curve(labels, scores)
        f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
        expected = (sk.roc_auc_score(labels, scores), sk.average_precision_score(labels, scores), f1.max())
        assert [report[spec].value for spec in specs] == pytest.approx(expected, abs=1e-12, rel=0)
    expected_areas = [whole_curve_area(maps, masks, limit) for limit in LIMITS]
    assert [report[spec].value for spec in areas] == pytest.approx(expected_areas, abs=1e-12, rel=0)
