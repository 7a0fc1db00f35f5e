"""`pycocotools.mask`: run-length masks. Takes what that module takes, gives what it gives, refuses what would crash it.

A mask is {"size": [height, width], "counts": bytes}; where one is given, `counts` may also be a text or a list of whole
numbers. Broken counts raise `InputError` (a `ValueError`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from steelyard import _native
from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidValue, ShapeMismatch

T = TypeVar("T")
_MASK = 'A mask is {"size": [height, width], "counts": ...}; the counts add up to height times width.'


def _native_call(function: Callable[..., T], *arguments: Any) -> T:
    try:
        return function(*arguments)
    except ValueError as error:
        raise InvalidValue(str(error), where="mask", remedy=_MASK) from None


def _regions(objects: Any, what: str) -> tuple[str, Any]:
    """Boxes as an array, or masks as a list."""
    if isinstance(objects, np.ndarray):
        boxes = objects.reshape(1, -1) if objects.ndim == 1 else objects
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            raise ShapeMismatch(f"{what} of shape {objects.shape}", remedy="Boxes are n × 4: x, y, width, height.")
        return "boxes", np.ascontiguousarray(boxes, dtype=np.float64)
    if not isinstance(objects, list | tuple):
        raise InvalidValue(f"{what} of type {type(objects).__name__}", remedy="Give a list of boxes, or of masks.")
    if all(isinstance(o, dict) for o in objects):
        return "masks", list(objects)
    if all(isinstance(o, list | tuple | np.ndarray) and len(o) == 4 for o in objects):
        return "boxes", np.array([[float(v) for v in o] for o in objects], dtype=np.float64)
    raise InvalidValue(
        f"{what} are neither boxes nor masks", remedy="Give a list of boxes (four numbers), or of masks."
    )


def iou(dt: Any, gt: Any, pyiscrowd: Sequence[int]) -> Any:
    """IoU of boxes or of masks, detections by truths; with a crowd, the share of the detection inside it."""
    if len(dt) == 0 or len(gt) == 0:
        return []
    (kind, detected), (other, truth) = _regions(dt, "detections"), _regions(gt, "truths")
    if kind != other:
        raise ShapeMismatch(f"detections are {kind} and truths are {other}", remedy="Give both in one form.")
    crowd = np.asarray(pyiscrowd, dtype=np.uint8)
    if crowd.shape != (len(truth),):
        raise ShapeMismatch(f"{crowd.size} crowd flags for {len(truth)} truths", remedy="Give one for each.")
    if kind == "boxes":
        return _native.boxes_iou(detected, truth, crowd)
    return _native_call(_native.mask_iou, detected, truth, crowd)


def merge(rleObjs: Sequence[Any], intersect: int = 0) -> dict[str, Any]:
    """The union of masks, or what all of them have in common."""
    merged: dict[str, Any] = _native_call(_native.mask_merge, list(rleObjs), bool(intersect))
    return merged


def frPyObjects(pyobj: Any, h: int, w: int) -> Any:
    """Masks of boxes, polygons or uncompressed masks; of one of them, one mask."""
    if isinstance(pyobj, np.ndarray):
        return _boxes(pyobj, h, w)
    if isinstance(pyobj, dict):
        return _native_call(_native.mask_copy, _fill_counts(pyobj))
    if not isinstance(pyobj, list | tuple) or not len(pyobj):
        raise InvalidValue("neither boxes, polygons nor masks", where="mask", remedy="Give a list that is not empty.")
    first = pyobj[0]
    if isinstance(first, dict):
        return [_native_call(_native.mask_copy, _fill_counts(mask)) for mask in pyobj]
    if not isinstance(first, list | tuple | np.ndarray):  # numbers: one box or one polygon
        return frPyObjects([pyobj], h, w)[0]
    if len(first) == 4:
        return _boxes(pyobj, h, w)
    polygons = [p.tolist() if isinstance(p, np.ndarray) else p for p in pyobj]
    return _native_call(_native.mask_polygons, polygons, int(h), int(w))


def _fill_counts(mask: Any) -> Any:
    """Counts that end before the image does, with background behind them; all else as it is."""
    counts, size = mask.get("counts"), mask.get("size")
    plain = isinstance(counts, list | tuple) and isinstance(size, list | tuple) and len(size) == 2
    if not plain or not all(isinstance(v, int | np.integer) and v >= 0 for v in (*counts, *size)):
        return mask
    pixels = int(size[0]) * int(size[1])
    missing = pixels - sum(map(int, counts))
    if missing <= 0 or pixels >= 1 << 32:
        return mask
    warnings.warn(
        f"the counts of a mask end {count_text(missing, 'pixel')} before its size {size[0]} x {size[1]}; "
        "the rest is background",
        stacklevel=3,
    )
    whole = [*counts[:-1], int(counts[-1]) + missing] if len(counts) % 2 else [*counts, missing]
    return {**mask, "counts": whole}


def polygon_union(polygons: Any, h: int, w: int) -> dict[str, Any]:
    """What `merge(frPyObjects(polygons, h, w))` gives, in one step."""
    plain = type(polygons) is list and len(polygons) and all(type(p) is list and len(p) != 4 for p in polygons)
    if not plain:
        return merge(frPyObjects(polygons, h, w))
    mask: dict[str, Any] = _native_call(_native.mask_united, polygons, int(h), int(w))
    return mask


def _boxes(boxes: Any, h: int, w: int) -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = _native_call(_native.mask_boxes, _regions(boxes, "boxes")[1], int(h), int(w))
    return encoded


def encode(bimask: Any) -> Any:
    """Masks of pixels: height × width × masks gives a list, height × width gives one."""
    pixels = np.asarray(bimask)
    if pixels.dtype == bool:
        pixels = pixels.view(np.uint8)
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3):
        raise ShapeMismatch(
            f"pixels of type {pixels.dtype} with {pixels.ndim} dimensions",
            where="mask",
            remedy="Give height × width, or height × width × masks, of uint8.",
        )
    stacked = np.asfortranarray(pixels if pixels.ndim == 3 else pixels[:, :, np.newaxis])
    masks = _native_call(_native.mask_encode, stacked)
    return masks if pixels.ndim == 3 else masks[0]


def decode(rleObjs: Any) -> Any:
    """Pixels, height × width × masks, of a list of masks; height × width of one."""
    several = isinstance(rleObjs, list | tuple)
    pixels = _native_call(_native.mask_decode, list(rleObjs) if several else [rleObjs]).T
    return pixels if several else pixels[:, :, 0]


def area(rleObjs: Any) -> Any:
    """Pixels that are set, of each mask or of one."""
    several = isinstance(rleObjs, list | tuple)
    areas = _native_call(_native.mask_area, list(rleObjs) if several else [rleObjs])
    return areas if several else areas[0]


def areas_and_boxes(rleObjs: list[Any]) -> tuple[Any, Any]:
    """What `area` and `toBbox` give, in one step."""
    heads = _native_call(_native.mask_column, rleObjs)[0]
    area, left, top, right, low = heads[:, 2:].T
    return area, np.stack([left, top, right - left, low - top], axis=1).astype(np.float64)


def toBbox(rleObjs: Any) -> Any:
    """The box around what is set: x, y, width, height; of each mask or of one."""
    several = isinstance(rleObjs, list | tuple)
    boxes = _native_call(_native.mask_box, list(rleObjs) if several else [rleObjs])
    return boxes if several else boxes[0]
