"""Annotations drawn into matplotlib's current axes: what `COCO.showAnns` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def show(coco: Any, anns: Sequence[dict[str, Any]], draw_bbox: bool) -> None:
    """Polygons filled, masks as a tinted layer, keypoints with their skeleton, boxes where asked for."""
    import matplotlib.pyplot as plt
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Polygon

    axes = plt.gca()
    axes.set_autoscale_on(False)
    shapes: list[Any] = []
    colors: list[Any] = []
    for ann in anns:
        color = np.random.random(3) * 0.6 + 0.4
        segmentation = ann.get("segmentation")
        if isinstance(segmentation, list):
            for ring in segmentation:
                shapes.append(Polygon(np.asarray(ring, dtype=float).reshape(-1, 2)))
                colors.append(color)
        elif segmentation is not None:
            pixels = coco.annToMask(ann)
            tint = np.array([2.0, 166.0, 101.0]) / 255 if ann.get("iscrowd") else color
            layer = np.empty((*pixels.shape, 4))
            layer[:, :, :3], layer[:, :, 3] = tint, pixels * 0.5
            axes.imshow(layer)
        if isinstance(ann.get("keypoints"), list):
            _skeleton(plt, coco, ann, color)
        if draw_bbox:
            x, y, w, h = ann["bbox"]
            shapes.append(Polygon(np.array([[x, y], [x, y + h], [x + w, y + h], [x + w, y]])))
            colors.append(color)
    axes.add_collection(PatchCollection(shapes, facecolor=colors, linewidths=0, alpha=0.4))
    axes.add_collection(PatchCollection(shapes, facecolor="none", edgecolors=colors, linewidths=2))


def _skeleton(plt: Any, coco: Any, ann: dict[str, Any], color: Any) -> None:
    x, y, v = (np.asarray(ann["keypoints"][i::3]) for i in range(3))
    for bone in np.array(coco.loadCats(ann["category_id"])[0].get("skeleton", [])) - 1:
        if np.all(v[bone] > 0):
            plt.plot(x[bone], y[bone], linewidth=3, color=color)
    for seen, edge in ((v > 0, "k"), (v > 1, color)):
        plt.plot(x[seen], y[seen], "o", markersize=8, markerfacecolor=color, markeredgecolor=edge, markeredgewidth=2)
