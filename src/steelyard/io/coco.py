"""COCO JSON: the truth (images, annotations, categories) and detection results, straight into columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.errors import DuplicateKey, InputError, InvalidFile
from steelyard.core.opening import open_regular
from steelyard.core.quads import RECTANGLE
from steelyard.core.records import Array, BoxRecords, Records, as_object
from steelyard.io.text import is_plain, read_bytes

Columns = dict[str, Any]
FEDERATED = (
    "The truth says which classes were looked for in each image, as LVIS does, and is scored by COCO's rules, which "
    "count every other detection as wrong. Set the option format=lvis for LVIS's rules."
)
WHAT = {"boxes": 0, "masks": 1, "keypoints": 2, "oriented": 3}
_KEYS = {"boxes": "bbox", "masks": "segmentation", "keypoints": "keypoints", "oriented": "obb"}


def read_coco(
    path: str | PathLike[str], side: str, threads: int = 0, what: str = "boxes", truth: Records | None = None
) -> BoxRecords:
    """Read one side, "truth" or "prediction". Polygons of predictions need the truth, for the images' sizes."""
    records = _records(_columns(path, side, threads, what, truth), str(path), side == "truth", what)
    return replace(records, image_fields=partial(_fields_of_file, path)) if side == "truth" else records


def read_federated(path: str | PathLike[str], what: str = "boxes") -> tuple[BoxRecords, Columns]:
    """An LVIS truth, and the native columns of it: `vain`, `unsure` and `frequency` where images list classes."""
    source = str(path)
    columns = _columns(path, "truth", 0, what, None)
    return replace(_records(columns, source, True, what), image_fields=partial(_fields_of_file, path)), columns


def _columns(path: str | PathLike[str], side: str, threads: int, what: str, truth: Records | None) -> Columns:
    source = str(path)
    if not is_plain(Path(path), source):
        return _parse_columns(read_bytes(Path(path), source), source, side, threads, what, truth)
    try:
        columns = _native.coco_read(source, side == "truth", threads, WHAT[what], *_sizes(truth))
    except ValueError as error:
        raise InvalidFile(str(error), where=source) from None
    if isinstance(columns, tuple):
        raise _fault(columns, source, lambda byte: _head(path, byte), side == "truth", what)
    return columns


def parse_coco(
    text: bytes, side: str, source: str = "text", threads: int = 0, what: str = "boxes", truth: Records | None = None
) -> BoxRecords:
    """Read a COCO file from bytes in memory."""
    return _records(_parse_columns(text, source, side, threads, what, truth), source, side == "truth", what)


def _parse_columns(text: bytes, source: str, side: str, threads: int, what: str, truth: Records | None) -> Columns:
    columns = _native.coco_parse(text, side == "truth", threads, WHAT[what], *_sizes(truth))
    if isinstance(columns, tuple):
        raise _fault(columns, source, lambda byte: text[:byte], side == "truth", what)
    return columns


def image_fields(images: Sequence[Any]) -> dict[str, Array]:
    """The fields of COCO's images that are texts or numbers, a column each; None where an image lacks one."""
    names = dict.fromkeys(key for image in images if isinstance(image, dict) for key in image if key != "id")
    columns = {}
    for name in names:
        values = [image.get(name) if isinstance(image, dict) else None for image in images]
        if all(value is None or isinstance(value, str | int | float) for value in values):
            columns[str(name)] = as_object(values)
    return columns


def _fields_of_file(path: str | PathLike[str]) -> dict[str, Array]:
    import json  # slow to load: only slices by a field of the images need it

    return image_fields(json.loads(read_bytes(Path(path), str(path)))["images"])


def _sizes(truth: Records | None) -> tuple[Any, Any]:
    """Ids and sizes of the images that the truth knows, as the native core takes them."""
    if not isinstance(truth, BoxRecords) or truth.sizes is None or truth.images is None:
        return None, None
    ids = truth.images if truth.images.dtype.kind == "i" else truth.images.tolist()
    return ids, truth.sizes


def _head(path: str | PathLike[str], size: int) -> bytes:
    with open_regular(path) as file:
        return file.read(size)


def _fault(fault: tuple[Any, ...], source: str, head: Any, truth: bool, what_of: str) -> InputError:
    byte, what, syntax, section, record, key = fault
    before = head(byte)
    line, column = before.count(b"\n") + 1, byte - (before.rfind(b"\n") + 1) + 1
    place = f"byte {byte}" if line == 1 else f"line {line}, column {column}"
    names = {"results": "record", "annotations": "annotation", "images": "image", "categories": "category"}
    where = source
    if record >= 0:
        where += f", {names[section]} {record}"
    if key:
        where += f", key '{key}'"
    expected = (
        "A COCO truth file is an object with the arrays images, annotations and categories."
        if truth
        else f'COCO results are an array of {{"image_id", "category_id", "{_KEYS[what_of]}", "score"}}.'
    )
    if syntax:
        return InvalidFile(f"not valid JSON at {place}: {what}", where=where, remedy=_mend(what))
    return InvalidFile(f"{what} (at {place})", where=where, remedy=expected)


def _mend(what: str) -> str:
    if "NaN" in what:
        return "Write a finite number, or leave the record out."
    if "ends" in what or "empty" in what:
        return "Was it written or copied to its end?"
    return ""


def text_ids(ids: Any) -> Array:
    """Ids of a native column: an array of numbers, or texts and where each ends."""
    if not isinstance(ids, tuple):
        return np.asarray(ids)
    text, ends = ids
    starts = [0, *ends.tolist()]
    return as_object([text[a:b].decode() for a, b in pairwise(starts)])


def _records(read: Columns, source: str, truth: bool, what: str) -> BoxRecords:
    shape, key = (RECTANGLE, "rotated") if what == "oriented" else (("x", "y", "w", "h"), "box")
    columns = {
        "image": text_ids(read["image"]),
        "label": text_ids(read["label"]),
        **{name: read[key][:, i] for i, name in enumerate(shape)},
    }
    federated = bool(truth and read["federated"] and what in ("boxes", "masks"))
    names = {"image": "image_id", "label": "category_id", **dict.fromkeys(shape, "bbox" if key == "box" else "obb")}
    if what == "masks":
        columns["mask"] = np.fromiter(read["mask"], dtype=object, count=len(read["mask"]))
    elif what == "keypoints":
        columns["keypoints"] = read["keypoints"]
    if what != "boxes":
        names["mask"], names["keypoints"] = "segmentation", "keypoints"
    if not truth:
        columns["score"] = read["score"]
        if "area" in read:
            columns["area"] = read["area"]
        return BoxRecords(source, columns, {}, lambda row: f"{source}, record {row}", names)
    columns["area"], columns["crowd"] = read["area"], read["crowd"].view(bool)
    if what == "keypoints":
        columns["visible"] = read["visible"]
    _refuse_repeated(read["id"], source)
    images, categories = text_ids(read["images"]), text_ids(read["categories"])
    for ids, what in ((images, "image"), (categories, "category")):
        row = first_repeated(ids)
        if row >= 0:
            raise DuplicateKey(
                f"id {ids[row]} appears twice", where=f"{source}, {what} {row}", remedy="Ids are unique."
            )
    return BoxRecords(
        source,
        columns,
        {},
        lambda row: f"{source}, annotation {row}",
        names,
        images=images,
        labels=categories,
        label_names=tuple(read["names"]),
        zero_id=_row_of_zero(read["id"]),
        notes=(FEDERATED,) if federated else (),
        sizes=read.get("canvas"),
    )


def first_repeated(ids: Array) -> int:
    """The first row whose id stands in an earlier row; -1 where there is none."""
    if ids.dtype.kind == "i":
        return int(_native.first_repeated(ids))
    seen: set[Any] = set()
    for row, value in enumerate(ids.tolist()):
        if value in seen:
            return row
        seen.add(value)
    return -1


def _refuse_repeated(ids: Array, source: str) -> None:
    rows = np.flatnonzero(ids >= 0)
    checked = ids if len(rows) == len(ids) else np.ascontiguousarray(ids[rows])
    row = first_repeated(checked)
    if row >= 0:
        where = f"{source}, annotation {rows[row]}, key 'id'"
        raise DuplicateKey(f"id {checked[row]} appears twice", where=where, remedy="Ids of annotations are unique.")


def _row_of_zero(ids: Array) -> int:
    rows = np.flatnonzero(ids == 0)
    return int(rows[0]) if len(rows) else -1
