"""COCO's panoptic format: a JSON file of segments and a folder of PNG files whose colours are the segments' ids.

The folder has the name of the JSON file without its ending. In memory a row is an image: `image`, `map` (ids) and
`segments` (a list of {"id", "category_id", "iscrowd", "area", "name", "isthing"}).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, nearest
from steelyard.core.options import Options
from steelyard.core.records import MapRecords, Records, as_object
from steelyard.core.task import Task
from steelyard.io.json import expect
from steelyard.io.maps import in_rows
from steelyard.io.read import read_table, to_records
from steelyard.io.text import read_bytes

Categories = Mapping[int, tuple[str, int]]


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions. Predictions that list no categories have those of the truth."""
    if predictions is None:
        raise InputError(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    known: dict[int, tuple[str, int]] = {}
    sides = (_side(task, truth, columns, "truth", known), _side(task, predictions, columns, "prediction", known))
    if not len(sides[0]):
        raise InputError("there are no images", where=sides[0].source, remedy="The truth needs at least one.")
    return sides


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side by itself."""
    return _side(task, data, columns, side, {})


def _side(task: Task, data: Any, columns: Mapping[str, str], side: str, known: dict[int, tuple[str, int]]) -> Records:
    schema = task.truth if side == "truth" else task.prediction
    name = "truth" if side == "truth" else "predictions"
    if isinstance(data, str | PathLike) and Path(data).suffix.lower() == ".json":
        return _coco(Path(data), str(data), known)
    return to_records(read_table(in_rows(data, task.truth.key[0], name), name), schema, columns, side)


def _coco(path: Path, source: str, known: dict[int, tuple[str, int]]) -> Records:
    try:
        content = json.loads(read_bytes(path, source))
        annotations = expect(content["annotations"], "an array", "annotations", source)
        listed = {int(one["id"]): (str(one["name"]), int(one["isthing"])) for one in content.get("categories", ())}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"is no panoptic JSON: {type(error).__name__} {error}", where=source, remedy="It needs annotations."
        ) from None
    known |= listed
    categories = listed or known
    folder = path.with_suffix("")
    seen: set[Any] = set()
    named: dict[int, str] = {}
    ids, maps, segments = [], [], []
    for number, one in enumerate(annotations):
        where = f"{source}, annotations[{number}]"
        try:
            image = expect(one["image_id"], "a text or a number", "image_id", where)
            file, listed_segments = expect(one["file_name"], "a text", "file_name", where), one["segments_info"]
            entries = [_segment(entry, categories, named, where) for entry in listed_segments]
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{type(error).__name__} {error}", where=where, remedy="Is it panoptic?") from None
        if image in seen:
            raise InputError(f"image {image} stands twice", where=where, remedy="Each may stand once.")
        seen.add(image)
        ids.append(image)
        maps.append(os.path.join(folder, file))
        segments.append(f"[{', '.join(entries)}]")
    columns = {
        "image": as_object([str(i) for i in ids]) if not all(type(i) is int for i in ids) else _integers(ids),
        "map": as_object(maps),
        "segments": as_object(segments),
    }
    return MapRecords(source, columns, {}, lambda row: f"{source}, image {ids[row]}")


def _integers(ids: list[int]) -> Any:
    import numpy as np

    return np.array(ids, dtype=np.int64)


def _segment(entry: Any, categories: Categories, named: dict[int, str], where: str) -> str:
    """A segment as JSON, with the name of its category; `named` keeps names as JSON."""
    number, category = int(entry["id"]), int(entry["category_id"])
    if categories and category not in categories:
        raise InputError(
            f"segment {number} is of category {category}, which is not listed",
            where=where,
            remedy=nearest(str(category), map(str, categories)),
        )
    name, thing = categories.get(category, (str(category), 1))
    if category not in named:
        named[category] = json.dumps(name)
    area = f'"area": {int(entry["area"])}, ' if "area" in entry else ""
    return (
        f'{{"id": {number}, "category_id": {category}, "iscrowd": {int(entry.get("iscrowd", 0))}, '
        f'"name": {named[category]}, {area}"isthing": {thing}}}'
    )
