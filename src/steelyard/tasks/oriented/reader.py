"""Oriented boxes from whatever the user has: DOTA, HRSC, YOLO-OBB, COCO-style JSON, tables, or one dict per image.

Oriented boxes of COCO-style JSON, and of one dict per image: whatever the shape is called, columns come out.

A shape is `obb` or `rbox` (centre, width, height, angle), `poly` or a `segmentation` of one polygon (four corners), or
a `bbox` of five numbers, which is Detectron2's: degrees, from the y axis towards the x axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    DuplicateKey,
    EmptyInput,
    InvalidNumber,
    InvalidValue,
    MissingData,
    MissingFile,
    MissingKey,
    OutOfRange,
    ShapeMismatch,
    UnknownFormat,
    UnknownName,
    nearest,
)
from steelyard.core.options import Options
from steelyard.core.plain import to_numpy
from steelyard.core.quads import CORNERS, RECTANGLE, corners_of, from_convention
from steelyard.core.records import Array, BoxRecords, Records, Schema, as_object
from steelyard.core.task import Task
from steelyard.io.coco import first_repeated, parse_coco
from steelyard.io.formats import dota
from steelyard.io.formats.convert import read_dataset
from steelyard.io.formats.corners import corners_of_dataset
from steelyard.io.formats.dataset import Dataset, ids_of
from steelyard.io.formats.fit import fit, from_records
from steelyard.io.formats.format import ReadOptions
from steelyard.io.json import parse_json
from steelyard.io.once import of_truth
from steelyard.io.read import READERS, to_records
from steelyard.io.table import Table
from steelyard.io.text import ending, open_text, read_bytes
from steelyard.tasks.boxes.reader import records_of_table

SHAPES = {"obb": 5, "rbox": 5, "poly": 8, "segmentation": 8, "bbox": 5}
SPOKEN = {5: "centre x, centre y, width, height and angle", 8: "x and y of four corners"}
PER_IMAGE = {"image", "boxes", "corners", "labels", "scores", "crowd", "area", "difficult"}


class Items(Table):
    """Columns whose rows are the items of a list in a file."""

    word: str = "record"

    def place(self, row: int) -> str:
        """Where an item stands."""
        return f"{self.source}, {self.word} {row}"


def records_of_json(data: Any, schema: Schema, side: str, source: str) -> BoxRecords:
    """Truth (images, annotations, categories) or an array of results."""
    truth = side == "truth"
    rows = _section(data, "annotations", source) if truth else data
    if not isinstance(rows, list):
        raise InvalidValue(
            "results are not an array",
            where=source,
            remedy="They are an array of objects with image_id, category_id, score.",
        )
    word = "annotation" if truth else "record"
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InvalidValue("an object is expected", where=f"{source}, {word} {i}", remedy="See the format.")
    columns: dict[str, Array] = {
        "image": as_object(_values(rows, "image_id", source, word)),
        "label": as_object(_values(rows, "category_id", source, word)),
        **shape_columns(rows, source, word),
    }
    if not truth:
        columns["score"] = as_object(_values(rows, "score", source, word))
    for key, name in (("area", "area"), ("iscrowd", "crowd"), ("difficult", "difficult")):
        if truth and rows and all(key in row for row in rows):
            columns[name] = as_object([row[key] for row in rows])
    records = to_records(Items(source, columns, None, word), schema, {}, side)
    names = {"image": "image_id", "label": "category_id"}
    if not truth:
        return BoxRecords(source, records.columns, {}, records.place, names)
    images = _section(data, "images", source)
    kinds = _section(data, "categories", source)
    ids, labels = (_ids(part, source, what) for part, what in ((images, "image"), (kinds, "category")))
    shown = tuple(str(kind.get("name", "")) for kind in kinds)
    return BoxRecords(source, records.columns, {}, records.place, names, images=ids, labels=labels, label_names=shown)


def _section(data: Any, name: str, source: str) -> list[Any]:
    section = data.get(name) if isinstance(data, Mapping) else None
    if not isinstance(section, list):
        raise UnknownName(
            f"there is no array '{name}'", where=source,
            remedy="A COCO truth file is an object with the arrays images, annotations and categories.",
        )  # fmt: skip
    return section


def _values(rows: Sequence[Mapping[str, Any]], key: str, source: str, word: str) -> list[Any]:
    try:
        return [row[key] for row in rows]
    except KeyError:
        row = next(i for i, row in enumerate(rows) if key not in row)
        raise MissingKey(f"the key '{key}' is missing", where=f"{source}, {word} {row}", remedy="Give it.") from None


def _ids(items: list[Any], source: str, what: str) -> Array:
    for i, item in enumerate(items):
        id_ = item.get("id") if isinstance(item, Mapping) else None
        if (
            not isinstance(id_, int | str)
            or isinstance(id_, bool)
            or abs(id_ if isinstance(id_, int) else 0) >= 1 << 62
        ):
            raise InvalidValue(
                "the id is missing, or neither a whole number nor a text", where=f"{source}, {what} {i}",
                remedy=f"Give every {what} an id.",
            )  # fmt: skip
    ids = ids_of(item["id"] for item in items)
    row = first_repeated(ids)
    if row >= 0:
        raise DuplicateKey(f"id {ids[row]} appears twice", where=f"{source}, {what} {row}", remedy="Ids are unique.")
    return ids


def shape_columns(rows: Sequence[Mapping[str, Any]], source: str, word: str) -> dict[str, Array]:
    """The columns of the shapes: five or eight numbers each, as the first row has them."""
    if not rows:
        return {name: np.zeros(0) for name in CORNERS}
    key = next((key for key in SHAPES if _holds(rows[0], key)), "")
    if not key:
        raise MissingKey(
            "there is no oriented box", where=f"{source}, {word} 0",
            remedy="Give obb (5 numbers), rbox (5), poly (8), a bbox of 5 numbers, or a segmentation of four points.",
        )  # fmt: skip
    count = SHAPES[key]
    values = [_flat(row.get(key)) for row in rows]
    if any(len(value) != count for value in values) or not set(map(type, chain.from_iterable(values))) <= {int, float}:
        _refuse(values, key, count, source, word)
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:
        row = next(i for i, value in enumerate(values) if any(abs(v) > 1e308 for v in value))
        raise OutOfRange("a number is too large", where=f"{source}, {word} {row}, key '{key}'") from None
    if key == "bbox":
        if not np.isfinite(numbers).all() or (numbers[:, 2:4] < 0).any():
            row = int(np.argmax(~np.isfinite(numbers).all(axis=1) | (numbers[:, 2:4] < 0).any(axis=1)))
            raise OutOfRange(
                f"{numbers[row].tolist()} is not a box", where=f"{source}, {word} {row}, key 'bbox'",
                remedy="Sizes are 0 or more, all numbers finite.",
            )  # fmt: skip
        numbers = corners_of(from_convention(numbers, "detectron2"))
    names = RECTANGLE if numbers.shape[1] == 5 else CORNERS
    return {name: np.ascontiguousarray(numbers[:, i]) for i, name in enumerate(names)}


def _holds(row: Mapping[str, Any], key: str) -> bool:
    return len(_flat(row.get(key))) == SHAPES[key] if key in ("bbox", "segmentation") else key in row


def _flat(value: Any) -> list[Any]:
    """The numbers of a shape; those of a segmentation that is one polygon."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    return value if isinstance(value, list) else []


def _refuse(values: list[list[Any]], key: str, count: int, source: str, word: str) -> None:
    """Name the first shape that has too few or too many numbers, or something else among them."""
    others = [[number for number in value if type(number) not in (int, float)] for value in values]
    row = next(i for i, value in enumerate(values) if len(value) != count or others[i])
    few = len(values[row]) != count
    what = (
        f"{count_text(len(values[row]), 'number')} where {count} are expected"
        if few
        else f"'{others[row][0]}' is not a number"
    )
    raise (ShapeMismatch if few else InvalidNumber)(
        what, where=f"{source}, {word} {row}, key '{key}'", remedy=f"Give {SPOKEN[count]}."
    )


def columns_of_images(data: Sequence[Any], side: str, source: str) -> dict[str, Any]:
    """One dict per image: `image`, `boxes` (n × 5) or `corners` (n × 8), `labels`, and `scores` of predictions."""
    columns: dict[str, list[Any]] = {}
    images: list[Any] = []
    shapes: list[Array] = []
    for i, item in enumerate(data):
        where = f"{source}, item {i}"
        if not isinstance(item, Mapping):
            raise InvalidValue(f"{type(item).__name__} where a dict is expected", where=where, remedy="One per image.")
        for name in item:
            if name not in PER_IMAGE:
                raise UnknownName(f"an unknown key '{name}'", where=where, remedy=nearest(str(name), PER_IMAGE))
        key, count = ("corners", 8) if "corners" in item else ("boxes", 5)
        for name in ("image", key, "labels", *(("scores",) if side == "prediction" else ())):
            if name not in item:
                raise MissingKey(f"the key '{name}' is missing", where=where, remedy="See the keys of one image.")
        shape = _array(item[key], count, key, where)
        image = item["image"].item() if hasattr(item["image"], "item") else item["image"]
        images.append(image)
        columns.setdefault("image", []).extend([image] * len(shape))
        shapes += [shape] if len(shape) else []
        for name, column in (("labels", "label"), ("scores", "score"), ("crowd", "crowd"), ("area", "area"),
                             ("difficult", "difficult")):  # fmt: skip
            if name in item:
                values = list(to_numpy(item[name]))
                if len(values) != len(shape):
                    raise ShapeMismatch(
                        f"{len(shape)} {key} and {len(values)} {name}", where=where, remedy="One for each."
                    )
                columns.setdefault(column, []).extend(v.item() if hasattr(v, "item") else v for v in values)
    if len({shape.shape[1] for shape in shapes}) > 1:
        raise Conflict("some images have boxes and others corners", where=source, remedy="Give one of them in all.")
    rows = len(columns.get("image", ()))
    for name, values in columns.items():
        if len(values) != rows:
            raise MissingKey(f"'{name}' is given for some images only", where=source, remedy="Give it for all or none.")
    for name in ("image", "label", *(("score",) if side == "prediction" else ())):
        columns.setdefault(name, [])
    flat: dict[str, Any] = {name: as_object(values) for name, values in columns.items()}
    joined = np.concatenate(shapes) if shapes else np.zeros((0, 8))
    flat |= {name: joined[:, j] for j, name in enumerate(CORNERS if joined.shape[1] == 8 else RECTANGLE)}
    if side == "truth":
        flat["images"] = np.array(images) if all(type(v) is int for v in images) else as_object(list(map(str, images)))
    return flat


def _array(values: Any, count: int, key: str, where: str) -> Array:
    try:
        array = np.asarray(to_numpy(values), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidValue(f"{key} cannot be read: {error}", where=where, remedy=f"Give n × {count}.") from None
    array = array.reshape(-1, 8) if key == "corners" and array.ndim == 3 and array.shape[1:] == (4, 2) else array
    if array.size and (array.ndim != 2 or array.shape[1] != count):
        shape = " × ".join(map(str, array.shape))
        raise ShapeMismatch(f"{key} are {shape}", where=where, remedy=f"Give n × {count}: {SPOKEN[count]}.")
    return array if array.size else np.zeros((0, count))


Read = Dataset | Records


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions; neither can hold the other."""
    if predictions is None:
        raise MissingData(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    options = options or Options(task.options)
    first = of_truth(_read, truth, task.truth, columns, "truth", options, None)
    second = _read(predictions, task.prediction, columns, "prediction", options, first)
    sides = _fit_sides(first, second)
    images = sides[0].images if isinstance(sides[0], BoxRecords) else None
    if not len(sides[0]) and (images is None or not len(images)):
        raise EmptyInput("there is no image", where=sides[0].source, remedy="The truth needs at least one.")
    return sides


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side alone."""
    schema = task.truth if side == "truth" else task.prediction
    read = _read(data, schema, columns, side, Options(task.options), None)
    return read if isinstance(read, Records) else _records(read)


def _read(
    data: Any, schema: Schema, columns: Mapping[str, str], side: str, options: Options, truth: Read | None
) -> Read:
    source = "truth" if side == "truth" else "predictions"
    if isinstance(data, str | PathLike):
        reading = ReadOptions(**{name: options.of(name, side) for name in ("format", "images", "names")})
        form = reading.format if reading.format != "auto" else detect(Path(data), str(data))
        if form == "coco":
            return _from_json(Path(data), str(data), schema, side)
        if form != "csv":
            like = truth if isinstance(truth, Dataset) else None
            return read_dataset(data, replace(reading, format=form), side, like)
    elif isinstance(data, Mapping) and "annotations" in data:
        return records_of_json(data, schema, side, source)
    elif isinstance(data, list | tuple):
        if all(isinstance(item, Mapping) and "image_id" in item for item in data) and (data or side != "truth"):
            return records_of_json(list(data), schema, side, source)
        data = columns_of_images(data, side, source)
    return records_of_table(data, schema, columns, side, source)


def _from_json(path: Path, source: str, schema: Schema, side: str) -> Records:
    """A COCO-style file; the native reader takes the plain case, `obb` without flags that it does not know."""
    text = read_bytes(path, source)
    if b'"obb"' in text and b'"difficult"' not in text:
        return parse_coco(text, side, source, what="oriented")
    with open_text(path, source) as file:
        return records_of_json(parse_json(file.read(), source), schema, side, source)


def detect(path: Path, source: str) -> str:
    """The format of a path: by its ending, or by what the files of a folder look like."""
    if path.is_dir():
        if next(path.rglob("*.xml"), None) is not None:
            return "hrsc"
        return "dota" if dota.looks_like(path) else "yolo-obb"
    suffix = ending(path)
    if suffix == ".json":
        return "coco"
    if suffix in READERS:
        return "csv"
    if not path.exists():
        raise MissingFile("there is no such file or folder", where=source, remedy="Check the path.")
    if suffix in (".xml", ".txt"):
        return "hrsc" if suffix == ".xml" else "dota"
    raise UnknownFormat(
        f"'{path.suffix}' is not the extension of a supported format", where=source,
        remedy="Set the option `format` to coco, dota, hrsc, yolo-obb or csv.",
    )  # fmt: skip


def _fit_sides(truth: Read, prediction: Read) -> tuple[Records, Records]:
    """Where one side names images by files or classes by names, the predictions get the ids of the truth."""
    if isinstance(truth, Records) and isinstance(prediction, Records):
        return truth, prediction
    first, second = (side if isinstance(side, Dataset) else _as_dataset(side) for side in (truth, prediction))
    return of_truth(_records, first, truth), _records(fit(second, first), prediction)


def _as_dataset(records: Records) -> Dataset:
    nothing = np.zeros(len(records))
    plain = {name: records[name] for name in ("image", "label", "score") if name in records}
    return from_records(replace(records, columns={**plain, **dict.fromkeys("xywh", nothing)}))


def _records(dataset: Dataset, read: Read | None = None) -> Records:
    """Images and classes of a data set, and the shapes of what was read."""
    converted = dataset.records()
    own: dict[str, Array] = {
        name: converted[name] for name in ("image", "label", "score", "difficult") if name in converted
    }
    if isinstance(read, Records):
        own |= {name: column for name, column in read.columns.items() if name not in own}
        return replace(converted, columns=own, other=read.other, place=read.place, names=read.names)
    corners = corners_of_dataset(dataset)
    own |= {name: np.ascontiguousarray(corners[:, i]) for i, name in enumerate(CORNERS)}
    return replace(converted, columns=own)
