"""How two boxes of an expression are compared, and as which tool does it.

Boxes are corners x1, y1, x2, y2. The rules of other tools differ in precision, in what they cut off, and in whether
they compare by IoU or by generalised IoU.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array

Like = Literal["", "mdetr", "transvg", "ofa", "mattnet", "qwen-vl", "lmms-eval", "vlmevalkit"]
Overlap = Literal["iou", "giou"]
Precision = Literal["double", "single"]


class Rule(Frozen):
    """How boxes are compared.

    `clip` cuts boxes to the image. `divided` divides coordinates by the size of the image first, `least` is the number
    of pixels that an intersection must exceed in both directions, and `added` is added to the union.
    """

    overlap: Overlap = "iou"
    clip: bool = False
    precision: Precision = "double"
    divided: bool = False
    least: float = 0.0
    added: float = 0.0


RULES: dict[str, Rule] = {
    "mdetr": Rule("giou", precision="single"),
    "transvg": Rule(clip=True, precision="single", divided=True),
    "ofa": Rule(precision="single", added=1e-6),
    "mattnet": Rule(least=1.0),
    "qwen-vl": Rule(precision="single"),
    "lmms-eval": Rule(),
    "vlmevalkit": Rule(),
}


def overlaps(first: Array, second: Array, size: Array, rule: Rule) -> Array:
    """How much boxes of equal rows overlap; `size` is the width and height of their images."""
    kind: Any = np.float32 if rule.precision == "single" else np.float64
    a: Array = first.astype(kind)
    b: Array = second.astype(kind)
    if rule.divided:
        extent = np.tile(size, 2).astype(kind)
        a, b = _by_middle(a / extent), _by_middle(b / extent)
    if rule.clip:
        limit = np.ones_like(a) if rule.divided else np.tile(size, 2).astype(kind)
        a, b = np.clip(a, 0, limit), np.clip(b, 0, limit)
    sides = np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])
    inter = np.where((sides > rule.least).all(axis=1), sides[:, 0] * sides[:, 1], kind(0))
    union: Array = _areas(a) + _areas(b) - inter
    with np.errstate(divide="ignore", invalid="ignore"):
        iou: Array = np.where(union > 0, inter / (union + kind(rule.added)), kind(0))
        if rule.overlap == "giou":
            hull = np.maximum(a[:, 2:], b[:, 2:]) - np.minimum(a[:, :2], b[:, :2])
            around = hull[:, 0] * hull[:, 1]
            iou = np.where(around > 0, iou - (around - union) / around, iou)
    return iou.astype(np.float64)


def _areas(box: Array) -> Array:
    areas: Array = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    return areas


def _by_middle(box: Array) -> Array:
    """The same box by way of its centre and size, as models that predict those compare it."""
    centre, extent = (box[:, :2] + box[:, 2:]) / 2, box[:, 2:] - box[:, :2]
    return np.concatenate([centre - extent / 2, centre + extent / 2], axis=1)
