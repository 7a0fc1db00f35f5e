"""Boxes as tensors: their formats, and how far two of them overlap, in the order of operations of torchvision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

FORMATS = ("xyxy", "xywh", "cxcywh")
_EPSILON = 1e-7


def check_format(box_format: str) -> str:
    """The format, if it is one."""
    if box_format not in FORMATS:
        raise ValueError(f"Expected argument `box_format` to be one of {FORMATS} but got {box_format}")
    return box_format


def converted(boxes: Tensor, box_format: str, wanted: str) -> Tensor:
    """Boxes in another format: corners, or a corner and the size. No boxes are a row of none."""
    if boxes.numel() == 0:
        return boxes.unsqueeze(0) if boxes.ndim == 1 else boxes
    if box_format == wanted:
        return boxes.clone()
    if boxes.shape[-1] != 4:
        raise ValueError(f"Expected boxes to be of shape (N, 4) but got {tuple(boxes.shape)}")
    a, b, c, d = boxes.unbind(-1)
    if box_format == "cxcywh":
        a, b, c, d = a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d
    elif box_format == "xywh":
        c, d = a + c, b + d
    return torch.stack((a, b, c, d) if wanted == "xyxy" else (a, b, c - a, d - b), dim=-1)


def overlap(kind: str, a: Tensor, b: Tensor) -> Tensor:
    """`iou`, `giou`, `diou` or `ciou` of all pairs of boxes."""
    if kind in ("diou", "ciou"):
        a, b = _wide(a), _wide(b)
    inner = _wide(torch.min(a[:, None, 2:], b[None, :, 2:]) - torch.max(a[:, None, :2], b[None, :, :2])).clamp(min=0)
    shared = inner[..., 0] * inner[..., 1]
    union = _area(a)[:, None] + _area(b)[None, :] - shared
    iou = shared / union
    if kind == "iou":
        return iou
    hull = _wide(torch.max(a[:, None, 2:], b[None, :, 2:]) - torch.min(a[:, None, :2], b[None, :, :2])).clamp(min=0)
    if kind == "giou":
        around = hull[..., 0] * hull[..., 1]
        return iou - (around - union) / around
    diagonal = hull[..., 0] ** 2 + hull[..., 1] ** 2 + _EPSILON
    middle_a, middle_b = ((boxes[:, :2] + boxes[:, 2:]) / 2 for boxes in (a, b))
    apart = (middle_a[:, None] - middle_b[None, :]) ** 2
    distance = iou - (apart[..., 0] + apart[..., 1]) / diagonal
    if kind == "diou":
        return distance
    angle_a, angle_b = (torch.atan((boxes[:, 2] - boxes[:, 0]) / (boxes[:, 3] - boxes[:, 1])) for boxes in (a, b))
    shape = (4 / math.pi**2) * torch.pow(angle_a[:, None] - angle_b[None, :], 2)
    return distance - shape / (1 - iou + shape + _EPSILON) * shape


def _area(boxes: Tensor) -> Tensor:
    boxes = _wide(boxes)
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def _wide(values: Tensor) -> Tensor:
    """In a type whose products do not overflow."""
    if values.is_floating_point():
        return values if values.dtype in (torch.float32, torch.float64) else values.float()
    return values if values.dtype in (torch.int32, torch.int64) else values.int()


_KEYS = {"bbox": "boxes", "segm": "masks"}


def check_inputs(preds: Any, target: Any, iou_type: Sequence[str] = ("bbox",), scored: bool = True) -> None:
    """Raise ValueError where lists of predictions and targets are not what a metric can take."""
    for name, side in (("preds", preds), ("target", target)):
        if not isinstance(side, Sequence):
            raise ValueError(f"Expected argument `{name}` to be of type Sequence, but got {side}")
    if len(preds) != len(target):
        raise ValueError(
            f"Expected argument `preds` and `target` to have the same length, but got {len(preds)} and {len(target)}"
        )
    regions = [_KEYS[kind] for kind in iou_type]
    sides = (
        ("preds", preds, [*regions, "labels", *(["scores"] if scored else [])]),
        ("target", target, [*regions, "labels"]),
    )
    for name, side, keys in sides:
        for key in keys:
            if any(key not in item for item in side):
                raise ValueError(f"Expected all dicts in `{name}` to contain the `{key}` key")
    for name, side, keys in sides:
        for key in keys:
            if not all(isinstance(item[key], Tensor) for item in side):
                raise ValueError(f"Expected all {key} in `{name}` to be of type Tensor")
    for number, item in enumerate(target):
        for key in regions:
            if len(item[key]) != len(item["labels"]):
                raise ValueError(
                    f"Input '{key}' and labels of sample {number} in targets have a different length "
                    f"(expected {len(item[key])} labels, got {len(item['labels'])})"
                )
    for number, item in enumerate(preds if scored else ()):
        for key in regions:
            if not len(item[key]) == len(item["labels"]) == len(item["scores"]):
                raise ValueError(
                    f"Input '{key}', labels and scores of sample {number} in predictions have a different length "
                    f"(expected {len(item[key])} labels and scores, got {len(item['labels'])} labels and "
                    f"{len(item['scores'])})"
                )
