"""Cells that hold a mask or a row of numbers, and one dict per image with either, as a training loop has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.counts import count_text
from steelyard.core.errors import EmptyCell, InvalidValue, MissingKey, ShapeMismatch, UnknownName, nearest
from steelyard.core.plain import to_numpy
from steelyard.core.records import Array, as_object
from steelyard.io.table import Table

_MASK = "Give COCO's size and counts, polygons (with columns height and width), or an array height × width."
_NUMBERS = "Give as many numbers in every row, as [1, 2, 3]."
_SHAPE = {"masks": "masks", "keypoints": "keypoints"}
_COLUMN = {"masks": "mask", "keypoints": "keypoints"}


def rows_of(values: Any) -> Any:
    """An array of several dimensions as one object per row; all else as it is."""
    if not isinstance(values, np.ndarray) or values.ndim < 2:
        return values
    return as_object(list(values))


def mask_column(table: Table, name: str, values: Array) -> Array:
    """Each cell as a packed mask."""
    sizes = [table.columns.get(side) for side in ("height", "width")]
    masks: Array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values.tolist()):
        size = tuple(-1 if side is None else _whole(side[row]) for side in sizes)
        if (
            value is None
            or (isinstance(value, str) and not value.strip())
            or (isinstance(value, float) and value != value)
        ):
            raise EmptyCell(
                "there is no mask",
                where=f"{table.place(row)}, column '{name}'",
                remedy=f"{_MASK} Where nothing is there, give one without a pixel.",
            )
        try:
            masks[row] = pack_mask(value, size)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            problem = str(error) or "it cannot be read"
            where = f"{table.place(row)}, column '{name}'"
            raise InvalidValue(f"no mask: {problem}", where=where, remedy=_MASK) from None
    return masks


def _whole(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return -1


def pack_mask(value: Any, size: Sequence[int] = (-1, -1)) -> bytes:
    """A mask from COCO's forms (or their JSON), or from pixels. Raises ValueError."""
    if isinstance(value, str):
        value = _from_json(value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        if value.ndim != 2 or value.dtype.kind not in "bui":
            raise ValueError(f"pixels of type {value.dtype} with {value.ndim} dimensions")
        pixels = np.asfortranarray((value != 0)[:, :, np.newaxis]).view(np.uint8)
        value = _native.mask_encode(pixels)[0]
    if isinstance(value, list | tuple):
        if size[0] < 0 or size[1] < 0:
            raise ValueError("a polygon needs the height and width of its image")
        value = [ring.tolist() if isinstance(ring, np.ndarray) else ring for ring in value]
    packed: bytes = _native.mask_pack(value, *size)
    return packed


def _from_json(text: str) -> Any:
    import json  # slow to load: few cells are texts

    return json.loads(text)


def numbers_column(table: Table, name: str, values: Array) -> Array:
    """Cells of as many numbers each, as one array with two dimensions."""
    rows: list[Array] = []
    for row, value in enumerate(values.tolist()):
        problem = ""
        try:
            numbers = np.asarray(_from_json(value) if isinstance(value, str) else value, dtype=np.float64).ravel()
            if not np.isfinite(numbers).all():
                problem = "a number is not finite"
            elif rows and len(numbers) != len(rows[0]):
                problem = f"{count_text(len(numbers), 'number')} where others have {len(rows[0])}"
            rows.append(numbers)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            problem = str(error) or "it cannot be read"
        if problem:
            raise InvalidValue(problem, where=f"{table.place(row)}, column '{name}'", remedy=_NUMBERS)
    return np.stack(rows) if rows else np.zeros((0, 0))


def flatten_images(data: Sequence[Any], side: str, what: str, source: str) -> dict[str, Any]:
    """One dict per image as columns: `image`, `masks` or `keypoints`, `labels`, and `scores` of predictions."""
    key = _SHAPE[what]
    allowed = {"image", key, "labels", "scores", "crowd", "area", "boxes"}
    needed = {"image", key, "labels"} | ({"scores"} if side == "prediction" else set())
    columns: dict[str, list[Any]] = {}
    images: list[Any] = []
    for i, item in enumerate(data):
        where = f"{source}, item {i}"
        if not isinstance(item, Mapping):
            raise InvalidValue(
                f"{type(item).__name__} where a dict is expected", where=where, remedy="One dict per image."
            )
        for name in item:
            if name not in allowed:
                raise UnknownName(f"an unknown key '{name}'", where=where, remedy=nearest(str(name), allowed))
        if not needed <= item.keys():
            lacking = min(needed - item.keys())
            raise MissingKey(
                f"the key '{lacking}' is missing", where=where, remedy=f"It needs {', '.join(sorted(needed))}."
            )
        image = item["image"].item() if hasattr(item["image"], "item") else item["image"]
        images.append(image)
        shapes = _as_list(item[key])
        columns.setdefault("image", []).extend([image] * len(shapes))
        columns.setdefault(_COLUMN[what], []).extend(shapes)
        for name, column in (("labels", "label"), ("scores", "score"), ("crowd", "crowd"), ("area", "area")):
            if name not in item:
                continue
            values = _as_list(item[name])
            if len(values) != len(shapes):
                raise ShapeMismatch(
                    f"{len(shapes)} {key} and {len(values)} {name}", where=where, remedy="Give one for each."
                )
            columns.setdefault(column, []).extend(v.item() if hasattr(v, "item") else v for v in values)
        if "boxes" in item:
            for axis, column in enumerate("xywh"):
                columns.setdefault(column, []).extend(float(box[axis]) for box in _as_list(item["boxes"]))
    rows = len(columns.get("image", ()))
    for name, values in columns.items():
        if len(values) != rows:
            raise MissingKey(f"'{name}' is given for some images only", where=source, remedy="Give it for all or none.")
    for name in ("image", _COLUMN[what], "label", *(("score",) if side == "prediction" else ())):
        columns.setdefault(name, [])
    flat: dict[str, Any] = {name: as_object(values) for name, values in columns.items()}
    if side == "truth":
        flat["images"] = np.array(images) if all(type(v) is int for v in images) else as_object(list(map(str, images)))
    return flat


def _as_list(values: Any) -> list[Any]:
    return list(to_numpy(values))


def of_detections(data: Any, side: str, what: str, source: str) -> list[dict[str, Any]] | None:
    """Detections as the package supervision has them, as one dict per image; None where the data are something else.

    A list is one item per image, in the order of the other side; a mapping is by image. They are known by their
    attributes `xyxy`, `class_id`, `confidence`, `mask` and `data`.
    """
    if what == "keypoints" or not holds_detections(data):
        return None
    items = []
    for image, detections in data.items() if isinstance(data, Mapping) else enumerate(data):
        where = f"{source}, image {image!r}"
        if not is_detections(detections):
            kind = type(detections).__name__
            raise InvalidValue(f"{kind} beside detections", where=where, remedy="Give detections for every image.")
        count = len(detections.xyxy)
        corners = np.asarray(to_numpy(detections.xyxy), dtype=np.float64).reshape(-1, 4)
        item: dict[str, Any] = {"image": image, "boxes": np.hstack([corners[:, :2], corners[:, 2:] - corners[:, :2]])}
        columns = {"labels": detections.class_id} | ({"scores": detections.confidence} if side == "prediction" else {})
        if what == "masks":
            columns["masks"] = detections.mask
        for name, values in columns.items():
            if values is None and count:
                attribute = {"labels": "class_id", "scores": "confidence", "masks": "mask"}[name]
                raise MissingKey(
                    f"the detections have no {attribute}", where=where, remedy="Set it for every detection."
                )
            item[name] = np.zeros(0) if values is None else np.asarray(to_numpy(values))
        more = getattr(detections, "data", {}) or {}
        if side == "truth" and count:
            for name, key in (("crowd", "iscrowd"), ("area", "area")):
                if key in more:
                    values = np.asarray(more[key])
                    item[name] = values.astype(bool) if name == "crowd" else values
        items.append(item)
    return items


def holds_detections(data: Any) -> bool:
    """Whether a list, or a mapping by image, begins with detections."""
    if not isinstance(data, list | tuple | Mapping):
        return False
    return is_detections(next(iter(data.values() if isinstance(data, Mapping) else data), None))


def is_detections(item: Any) -> bool:
    """Whether an object has what supervision's `Detections` have."""
    return not isinstance(item, Mapping) and all(hasattr(item, name) for name in ("xyxy", "class_id", "confidence"))
