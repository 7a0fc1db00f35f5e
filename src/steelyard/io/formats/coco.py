"""COCO and LVIS: one JSON file of images, annotations and categories, or an array of results.

The strict native reader sees the file first, so every fault is named as `evaluate` names it; then the rest of each
record is taken along.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidNumber, UnknownName
from steelyard.core.records import Array, boxes_of
from steelyard.io.coco import read_coco
from steelyard.io.formats.dataset import Category, Dataset, Id, Picture, ids_of
from steelyard.io.formats.format import Format
from steelyard.io.text import open_bytes, read_bytes

_IMAGE = {"id", "file_name", "width", "height"}
_ANNOTATION = {"image_id", "category_id", "bbox", "area", "iscrowd", "score", "difficult"}
FEDERATED = ("neg_category_ids", "not_exhaustive_category_ids")
EPOCHS = ((10, "r"), (100, "c"))  # LVIS: rare up to 10 images, common up to 100, else frequent


def holds_results(path: Path) -> bool:
    """Whether a JSON file is an array (results) and not an object (truth)."""
    with open_bytes(path, str(path)) as file:
        head = file.read(1 << 16).lstrip(b"\xef\xbb\xbf \t\r\n")
    return head.startswith(b"[")


def read(path: Path, source: str, side: str = "") -> Dataset:
    """Truth or results, as the file's outermost bracket says unless `side` demands one."""
    results = holds_results(path) if not side else side == "prediction"
    records = read_coco(path, "prediction" if results else "truth")
    data = json.loads(read_bytes(path, source))
    return _results(data, records, source) if results else _truth(data, records, source)


def _results(data: list[dict[str, Any]], records: Any, source: str) -> Dataset:
    images, picture = np.unique(records["image"], return_inverse=True)
    labels, category = np.unique(records["label"], return_inverse=True)
    return Dataset(
        source,
        "coco",
        [Picture(v) for v in images.tolist()],
        [Category(v) for v in labels.tolist()],
        picture.astype(np.int64),
        category.astype(np.int64),
        boxes_of(records),
        score=records["score"],
        extra=_rest(data),
        place=records.place,
    )


def _truth(data: dict[str, Any], records: Any, source: str) -> Dataset:
    pictures = [_picture(image, f"{source}, image {i}") for i, image in enumerate(data["images"])]
    categories = [
        Category(_whole(c["id"]), c.get("name", ""), {k: v for k, v in c.items() if k not in ("id", "name")})
        for c in data["categories"]
    ]
    annotations = data["annotations"]
    area = np.array([a.get("area", np.nan) for a in annotations], dtype=np.float64)
    crowd = records["crowd"] if any("iscrowd" in a for a in annotations) else None
    federated = any(name in picture.extra for picture in pictures for name in FEDERATED)
    return Dataset(
        source,
        "lvis" if federated else "coco",
        pictures,
        categories,
        _places(records["image"], [p.id for p in pictures], records, "image"),
        _places(records["label"], [c.id for c in categories], records, "label"),
        boxes_of(records),
        area=area if not np.isnan(area).all() else None,
        crowd=crowd,
        difficult=_difficult(annotations),
        extra=_rest(annotations),
        header={k: v for k, v in data.items() if k not in ("images", "annotations", "categories")},
        place=records.place,
    )


def _rest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rest = [{k: v for k, v in row.items() if k not in _ANNOTATION} for row in rows]
    return rest if any(rest) else []


def _difficult(annotations: list[dict[str, Any]]) -> Array | None:
    """VOC's flag, where a conversion kept it."""
    if not any("difficult" in a for a in annotations):
        return None
    return np.array([bool(a.get("difficult", False)) for a in annotations], dtype=bool)


def _whole(value: Any) -> Id:
    """An id in its plain spelling: 7.0 is 7, as the native reader has it."""
    return value if isinstance(value, str) else int(value)


def _picture(image: dict[str, Any], where: str) -> Picture:
    size: list[int | None] = []
    for name in ("width", "height"):
        value = image.get(name)
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9 or value != int(value)
        ):
            raise InvalidNumber(f"'{name}' is {value!r}", where=where, remedy="It must be a whole number above 0.")
        size.append(None if value is None else int(value))
    file = image.get("file_name") or ""
    if not file and isinstance(image.get("coco_url"), str):  # LVIS names no file, only where it came from
        file = "/".join(PurePosixPath(image["coco_url"]).parts[-2:])
    extra = {k: v for k, v in image.items() if k not in _IMAGE}
    return Picture(_whole(image["id"]), str(file), size[0], size[1], extra)


def _places(column: Any, ids: list[Id], records: Any, what: str) -> Any:
    place = {value: i for i, value in enumerate(ids)}
    places = np.array([place.get(value, -1) for value in column.tolist()], dtype=np.int64)
    unknown = np.flatnonzero(places < 0)
    if len(unknown):
        row = int(unknown[0])
        name = {"image": "image", "label": "category"}[what]
        raise UnknownName(
            f"{name} '{column[row]}' is not listed; {count_text(len(unknown), 'row', 'name')} such",
            where=records.where(row, what),
            remedy=f"List it under '{'images' if what == 'image' else 'categories'}', or leave the rows out.",
        )
    return places


def render(dataset: Dataset) -> str:
    """The file's text: results where there are scores, else truth."""
    if dataset.score is not None:
        return _dumps(_result_rows(dataset, dataset.score))
    pictures = fresh_ids([p.id for p in dataset.pictures], dataset.by_file)
    categories = fresh_ids([c.id for c in dataset.categories], dataset.by_name)
    images = [
        {
            "id": i,
            **_without_none(file_name=p.file or (p.stem if dataset.by_file else None), width=p.width, height=p.height),
            **p.extra,
        }
        for i, p in zip(pictures, dataset.pictures, strict=True)
    ]
    return _truth_text(dataset, images, [
        {"id": i, "name": c.display_name, **c.extra} for i, c in zip(categories, dataset.categories, strict=True)
    ], _annotations(dataset, pictures, categories))  # fmt: skip


def render_lvis(dataset: Dataset) -> str:
    """LVIS: as COCO, and for each image which classes were looked for in vain, and which not to the end.

    A data set that does not say so has been looked through for every class.
    """
    if dataset.score is not None:
        return _dumps(_result_rows(dataset, dataset.score))
    pictures = fresh_ids([p.id for p in dataset.pictures], dataset.by_file)
    categories = fresh_ids([c.id for c in dataset.categories], dataset.by_name)
    present: list[set[int]] = [set() for _ in pictures]
    for i, k in zip(dataset.picture.tolist(), dataset.category.tolist(), strict=True):
        present[i].add(k)
    in_images = Counter(k for kinds in present for k in kinds)
    in_boxes = Counter(dataset.category.tolist())
    images = []
    for i, (p, kinds) in enumerate(zip(dataset.pictures, present, strict=True)):
        absent = [categories[k] for k in range(len(categories)) if k not in kinds]
        lvis_keys = {"neg_category_ids": absent, "not_exhaustive_category_ids": [], "coco_url": p.file or p.stem}
        image = {"id": pictures[i], **_without_none(width=p.width, height=p.height), **lvis_keys, **p.extra}
        if p.file and image["coco_url"] != p.file and not str(image["coco_url"]).endswith(p.file):
            image["file_name"] = p.file
        images.append(image)
    kinds_of = []
    for k, c in enumerate(dataset.categories):
        count = in_images[k]
        letter = next((letter for most, letter in EPOCHS if count <= most), "f")
        category = {"synset": c.display_name, "synonyms": [c.display_name], "def": "", "frequency": letter}
        numbers = {"image_count": count, "instance_count": in_boxes[k]}
        kinds_of.append({"id": categories[k], "name": c.display_name, **category, **numbers, **c.extra})
    annotations = _annotations(dataset, pictures, categories)
    for annotation, box in zip(annotations, dataset.box.tolist(), strict=True):
        annotation.pop("iscrowd", None)
        annotation.setdefault("area", box[2] * box[3])
        annotation.setdefault("segmentation", [])
    return _truth_text(dataset, images, kinds_of, annotations)


def fresh_ids(ids: list[Id], renumber: bool) -> list[Id]:
    """The ids that there are; counted from 1 where a file or a name took their place."""
    return list(range(1, len(ids) + 1)) if renumber else ids


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _annotations(dataset: Dataset, pictures: list[Id], categories: list[Id]) -> list[dict[str, Any]]:
    rows = []
    taken = {extra.get("id") for extra in dataset.extra}
    number = 0
    for row, box in enumerate(dataset.box.tolist()):
        extra = dict(dataset.extra_of(row))
        id_ = extra.pop("id", None)
        if id_ is None:
            number += 1
            while number in taken:
                number += 1
            id_ = number
        annotation: dict[str, Any] = {
            "id": id_,
            "image_id": pictures[dataset.picture[row]],
            "category_id": categories[dataset.category[row]],
            "bbox": [short(v) for v in box],
        }
        if dataset.area is not None and not np.isnan(dataset.area[row]):
            annotation["area"] = short(float(dataset.area[row]))
        else:
            annotation["area"] = short(box[2] * box[3])
        annotation["iscrowd"] = int(dataset.crowd is not None and dataset.crowd[row])
        if dataset.difficult is not None:
            annotation["difficult"] = int(dataset.difficult[row])
        rows.append({**annotation, **extra})
    return rows


def _result_rows(dataset: Dataset, scores: Array) -> list[dict[str, Any]]:
    images, labels = ids_of(p.id for p in dataset.pictures).tolist(), ids_of(c.id for c in dataset.categories).tolist()
    return [
        {
            "image_id": images[dataset.picture[row]],
            "category_id": labels[dataset.category[row]],
            "bbox": [short(v) for v in box],
            "score": score,
            **dataset.extra_of(row),
        }
        for row, (box, score) in enumerate(zip(dataset.box.tolist(), scores.tolist(), strict=True))
    ]


def short(value: float) -> float | int:
    """A whole number without its point."""
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _truth_text(dataset: Dataset, images: Any, categories: Any, annotations: Any) -> str:
    parts = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in dataset.header.items()]
    for name, rows in (("images", images), ("annotations", annotations), ("categories", categories)):
        parts.append(f'"{name}": {_dumps(rows).rstrip()}')
    return "{" + ",\n".join(parts) + "}\n"


def _dumps(rows: list[dict[str, Any]]) -> str:
    """One record a line."""
    return "[" + ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows) + "]\n"


FORMAT = Format(
    "coco",
    "COCO JSON: truth, or an array of results",
    lambda path, source, side, reading, like: read(path, source, side),
    render=lambda dataset, options: render(dataset),
    ending=".json",
)
LVIS = replace(
    FORMAT,
    name="lvis",
    title="LVIS JSON: COCO with the classes that were looked for in each image",
    render=lambda dataset, options: render_lvis(dataset),
)
