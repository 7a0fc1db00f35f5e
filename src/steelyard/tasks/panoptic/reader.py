"""COCO's panoptic format: a JSON file of segments and a folder of PNG files whose colours are the segments' ids.

The folder has the name of the JSON file without its ending, or the option `folder` names it. In memory a row is an
image: `image`, `map` (ids) and `segments` (a list of {"id", "category_id", "iscrowd", "area", "name", "isthing"}).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from steelyard.core.errors import (
    Conflict,
    DuplicateKey,
    EmptyInput,
    InputError,
    InvalidFile,
    InvalidValue,
    MissingData,
    MissingFile,
    MissingKey,
    UnknownName,
    nearest,
)
from steelyard.core.options import Options
from steelyard.core.records import MapRecords, Records, as_object
from steelyard.core.task import Task
from steelyard.io.json import expect
from steelyard.io.maps import in_rows
from steelyard.io.once import of_truth
from steelyard.io.read import read_table, to_records
from steelyard.io.text import read_bytes
from steelyard.tasks.panoptic.segments import json_field, json_whole

Categories = Mapping[int, tuple[str, int]]


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions. Predictions that list no categories have those of the truth."""
    if predictions is None:
        raise MissingData(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    options = options or Options(task.options)
    path = options.of("categories")
    categories: Categories = {} if path is None else _categories_file(Path(path), str(path))
    first, categories = of_truth(_side, truth, task, columns, "truth", categories, options)
    if not len(first):
        raise EmptyInput("there are no images", where=first.source, remedy="The truth needs at least one.")
    return first, _side(predictions, task, columns, "prediction", categories, options)[0]


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side by itself."""
    return _side(data, task, columns, side, {}, Options(task.options))[0]


def _side(
    data: Any, task: Task, columns: Mapping[str, str], side: str, categories: Categories, options: Options
) -> tuple[Records, Categories]:
    """A side, and the categories that are known with it."""
    schema = task.truth if side == "truth" else task.prediction
    name = "truth" if side == "truth" else "predictions"
    if isinstance(data, str | PathLike) and Path(data).suffix.lower() == ".json":
        return _coco(Path(data), str(data), categories, side, options)
    for option in ("categories", "folder"):
        if options.of(option, side) is not None:
            raise Conflict(
                f"the option `{option}` is for COCO's panoptic JSON files",
                where=str(data) if isinstance(data, str | PathLike) else name,
                remedy="In tables and arrays, segments have name and isthing, and maps have their paths.",
            )
    return to_records(read_table(in_rows(data, task.truth.key[0], name), name), schema, columns, side), categories


def _coco(path: Path, source: str, known: Categories, side: str, options: Options) -> tuple[Records, Categories]:
    content = _json(path, source)
    if not isinstance(content, dict) or "annotations" not in content:
        raise MissingKey(
            "is not a panoptic JSON: the key 'annotations' is missing",
            where=source,
            remedy="Give a COCO panoptic file: annotations with segments_info, and categories.",
        )
    annotations = expect(content["annotations"], "an array", "annotations", source)
    if options.of("categories") is None:
        listed = _categories(content["categories"], source) if content.get("categories") else {}
        if not listed and side == "truth":
            raise MissingKey(
                "the key 'categories' is missing, which says what is a thing and what is stuff",
                where=source,
                remedy='Add [{"id": 1, "name": "car", "isthing": 1}], or give a file with `categories=FILE`.',
            )
        known = listed or known
    seen: set[Any] = set()
    named: dict[int, str] = {}
    ids, files, segments = [], [], []
    for number, annotation in enumerate(annotations):
        where = f"{source}, annotations[{number}]"
        image = expect(json_field(annotation, "image_id", where), "a text or a number", "image_id", where)
        files.append(expect(json_field(annotation, "file_name", where), "a text", "file_name", where))
        listed_segments = expect(json_field(annotation, "segments_info", where), "an array", "segments_info", where)
        entries = [_segment(entry, known, named, where) for entry in listed_segments]
        if image in seen:
            raise DuplicateKey(f"duplicate image {image}", where=where, remedy="List each image once.")
        seen.add(image)
        ids.append(image)
        segments.append(f"[{', '.join(entries)}]")
    folder = _folder(path, source, options.of("folder", side), files, side)
    columns = {
        "image": as_object([str(i) for i in ids]) if not all(type(i) is int for i in ids) else _integers(ids),
        "map": as_object([os.path.join(folder, file) for file in files]),
        "segments": as_object(segments),
    }
    return MapRecords(source, columns, {}, lambda row: f"{source}, image {ids[row]}"), known


def _json(path: Path, source: str) -> Any:
    try:
        return json.loads(read_bytes(path, source))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        what = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidFile(f"is not valid JSON: {what}", where=source, remedy="Is the file whole?") from None


def _categories_file(path: Path, source: str) -> dict[int, tuple[str, int]]:
    """The categories of a file: a list, or what stands under 'categories'."""
    content = _json(path, source)
    listed = _categories(content.get("categories") if isinstance(content, dict) else content, source)
    if not listed:
        raise EmptyInput("lists no categories", where=source, remedy="Each has id, name and isthing.")
    return listed


def _categories(content: Any, source: str) -> dict[int, tuple[str, int]]:
    categories: dict[int, tuple[str, int]] = {}
    for number, category_entry in enumerate(expect(content, "an array", "categories", source)):
        where = f"{source}, categories[{number}]"
        category, thing = (json_whole(json_field(category_entry, key, where), key, where) for key in ("id", "isthing"))
        name = expect(json_field(category_entry, "name", where), "a text", "name", where)
        if thing not in (0, 1):
            raise InvalidValue(f"'isthing' is {thing}", where=where, remedy="It must be 1 for a thing, 0 for stuff.")
        if categories.setdefault(category, (name, thing)) != (name, thing):
            raise DuplicateKey(f"category {category} is listed twice", where=where, remedy="List each category once.")
    return categories


def _folder(path: Path, source: str, named_folder: str | None, files: list[str], side: str) -> Path:
    """The folder of the PNG files: the one that is named, one of the JSON's name, or the JSON's own."""
    folder = path.with_suffix("") if named_folder is None else Path(named_folder)
    if folder.is_dir() or not files:
        return folder
    if named_folder is None and (path.parent / files[0]).is_file():
        return path.parent
    raise MissingFile(
        f"there is no folder '{folder}' with the PNG files",
        where=source,
        remedy=f"Name it with the option `{side}.folder=DIR`.",
    )


def _integers(ids: list[int]) -> Any:
    import numpy as np

    return np.array(ids, dtype=np.int64)


def _segment(entry: Any, categories: Categories, named: dict[int, str], where: str) -> str:
    """A segment as JSON, with the name of its category; `named` keeps names as JSON."""
    number = json_whole(json_field(entry, "id", where), "id", where)
    category = json_whole(json_field(entry, "category_id", where), "category_id", where)
    if categories and category not in categories:
        raise UnknownName(
            f"segment {number} is of category {category}, which is not listed",
            where=where,
            remedy=nearest(str(category), map(str, categories)),
        )
    crowd = json_whole(entry.get("iscrowd", 0), "iscrowd", where)
    kind = ""
    if category in categories:
        name, thing = categories[category]
        if category not in named:
            named[category] = json.dumps(name)
        kind = f', "name": {named[category]}, "isthing": {thing}'
    area = f', "area": {json_whole(entry["area"], "area", where)}' if "area" in entry else ""
    return f'{{"id": {number}, "category_id": {category}, "iscrowd": {crowd}{area}{kind}}}'
