"""Oriented boxes from whatever the user has: DOTA, HRSC, YOLO-OBB, COCO-style JSON, tables, or one dict per image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import EmptyInput, InvalidValue, MissingFile, UnknownFormat
from steelyard.core.options import Options
from steelyard.core.quads import CORNERS
from steelyard.core.records import Array, BoxRecords, Records, Schema
from steelyard.core.task import Task
from steelyard.io.coco import parse_coco
from steelyard.io.formats import dota
from steelyard.io.formats.convert import read_dataset
from steelyard.io.formats.corners import corners_of_dataset
from steelyard.io.formats.dataset import Dataset
from steelyard.io.formats.fit import fit, from_records
from steelyard.io.formats.read_options import ReadOptions
from steelyard.io.json import parse_json
from steelyard.io.once import of_truth
from steelyard.io.read import READERS
from steelyard.io.text import ending, open_text, read_bytes
from steelyard.tasks.boxes.reader import records_of_table
from steelyard.tasks.oriented.shapes import columns_of_images, records_of_json

Read = Dataset | Records


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions; neither can hold the other."""
    if predictions is None:
        raise InvalidValue(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    options = options or Options(task.options)
    first = of_truth(_read, truth, task.truth, columns, "truth", options, None)
    second = _read(predictions, task.prediction, columns, "prediction", options, first)
    sides = _fitted(first, second)
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
        f"'{path.suffix}' is no ending of a known format", where=source,
        remedy="Set the option `format` to coco, dota, hrsc, yolo-obb or csv.",
    )  # fmt: skip


def _fitted(truth: Read, prediction: Read) -> tuple[Records, Records]:
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
    made = dataset.records()
    own: dict[str, Array] = {name: made[name] for name in ("image", "label", "score", "difficult") if name in made}
    if isinstance(read, Records):
        own |= {name: column for name, column in read.columns.items() if name not in own}
        return replace(made, columns=own, other=read.other, place=read.place, names=read.names)
    corners = corners_of_dataset(dataset)
    own |= {name: np.ascontiguousarray(corners[:, i]) for i, name in enumerate(CORNERS)}
    return replace(made, columns=own)
