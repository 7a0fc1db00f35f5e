"""Matching in single precision, as a validator on tensors does it: IoU, thresholds and boxes are 32-bit numbers.

Image by image, detections from the highest score down; each takes the free truth of its class that it overlaps most,
the first of equals. Only detections that reach the lowest threshold are looked at.
"""

from __future__ import annotations

import numpy as np

from steelyard.core.pairs import Array
from steelyard.tasks.boxes.matches import MatchInput


def linspace_single(start: float, stop: float, points: int) -> Array:
    """The points of torch.linspace: steps from the near end, each a product and a sum that are rounded once."""
    a, b = np.float32(start), np.float32(stop)
    step = float((b - a) / np.float32(points - 1))
    i = np.arange(points)
    return np.where(i < points // 2, float(a) + step * i, float(b) - step * (points - 1 - i)).astype(np.float32)


EPSILON = np.float32(1e-7)  # in the denominator of the IoU
THRESHOLDS = linspace_single(0.5, 0.95, 10)


def hits_in_single(data: MatchInput) -> tuple[Array, Array]:
    """Bits of hits, and the detections they belong to, by image and falling score."""
    order, t_order = np.lexsort((-data.d_score, data.d_image)), np.argsort(data.image, kind="stable")
    d_owner, d_label, d_box = data.d_image[order], data.d_label[order], _corners(data.d_box)[order]
    t_owner, t_label, t_box = data.image[t_order], data.label[t_order], _corners(data.box)[t_order]
    bits = np.zeros(len(order), dtype=np.uint32)
    images = np.intersect1d(d_owner, t_owner)
    d_begin, d_end = np.searchsorted(d_owner, images), np.searchsorted(d_owner, images, side="right")
    t_begin, t_end = np.searchsorted(t_owner, images), np.searchsorted(t_owner, images, side="right")
    for a, b, c, d in zip(d_begin.tolist(), d_end.tolist(), t_begin.tolist(), t_end.tolist(), strict=True):
        # the truths stand in reverse where equals are to be taken from the front: turn them back
        bits[a:b] = _image(d_box[a:b], d_label[a:b], t_box[c:d][::-1], t_label[c:d][::-1])
    return bits, order


def _corners(box: Array) -> Array:
    low = box[:, :2].astype(np.float32)
    return np.concatenate([low, low + box[:, 2:].astype(np.float32)], axis=1)


def _image(boxes: Array, labels: Array, truths: Array, kinds: Array) -> Array:
    overlap = _overlap(truths, boxes) * (kinds[:, None] == labels)
    bits = np.zeros(len(boxes), dtype=np.uint32)
    free = np.ones((len(truths), len(THRESHOLDS)), dtype=bool)
    columns = np.arange(len(THRESHOLDS))
    powers = (1 << columns).astype(np.uint32)
    for j in np.flatnonzero((overlap >= THRESHOLDS[0]).any(axis=0)).tolist():
        left = np.where(free, overlap[:, j, None], np.float32(0))
        best = left.argmax(axis=0)
        right = left[best, columns] >= THRESHOLDS
        free[best[right], columns[right]] = False
        bits[j] = powers[right].sum()
    return bits


def _overlap(a: Array, b: Array) -> Array:
    inner = np.clip(
        np.minimum(a[:, None, 2:], b[None, :, 2:]) - np.maximum(a[:, None, :2], b[None, :, :2]), np.float32(0), None
    )
    shared = inner[..., 0] * inner[..., 1]
    own, other = (np.prod(box[:, 2:] - box[:, :2], axis=1, dtype=np.float32) for box in (a, b))
    ious: Array = shared / (own[:, None] + other[None, :] - shared + EPSILON)
    return ious
