"""Boxes from whatever the user has: COCO files, tables, frames, or one dict per image as a training loop has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    EmptyInput,
    InputError,
    InvalidValue,
    MissingData,
    MissingKey,
    ShapeMismatch,
    UnknownName,
    Unmatched,
    nearest,
)
from steelyard.core.options import Options
from steelyard.core.plain import to_numpy
from steelyard.core.records import Array, BoxRecords, Records, Schema, as_object, box_columns
from steelyard.core.task import Task
from steelyard.io.coco import image_fields, parse_coco, read_coco
from steelyard.io.dialect import note
from steelyard.io.formats.format import ReadOptions
from steelyard.io.once import of_truth
from steelyard.io.read import read_table, to_records
from steelyard.io.shapes import flatten_images, holds_detections, of_detections, rows_of
from steelyard.io.table import Table
from steelyard.io.text import ending, is_plain, labelled_by, read_bytes

if TYPE_CHECKING:
    from steelyard.io.formats.dataset import Dataset

READERS = (".json", ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".xlsx")

_PER_IMAGE = {"image", "boxes", "labels", "scores", "crowd", "area"}
_NEEDED = {
    "truth": frozenset({"image", "boxes", "labels"}),
    "prediction": frozenset({"image", "boxes", "labels", "scores"}),
}


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions; neither can hold the other."""
    if predictions is None:
        raise MissingData(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    listed = [isinstance(side, list | tuple) and holds_detections(side) for side in (truth, predictions)]
    if all(listed) and len(truth) != len(predictions):
        raise ShapeMismatch(
            f"truth has {count_text(len(truth), 'image')} and predictions have {len(predictions):,}",
            remedy="Lists are joined by position: give one item per image, or dicts by image.",
        )
    readings = [reading_of(options, side) for side in ("truth", "prediction")]
    own = readings[0].format
    if own in ("lvis", "openimages") and not isinstance(truth, str | PathLike):
        raise Conflict(f"format={own} is about a file, and the truth is in memory", remedy="Give the file's path.")
    if task.reader == "masks" and own == "lvis":
        if not isinstance(predictions, str | PathLike) or columns:
            raise Conflict("format=lvis is about two JSON files of LVIS", remedy="Give both paths, and no columns.")
        from steelyard.io.formats.federated import read_lvis_masks

        sides: tuple[Records, Records] = read_lvis_masks(str(truth), str(predictions))
    elif task.reader != "boxes" or all(map(_has_own_ids, (truth, predictions), readings)):
        first = of_truth(read_boxes, truth, task.truth, columns, "truth", task.reader)
        sides = first, read_boxes(predictions, task.prediction, columns, "prediction", task.reader, first)
    else:
        sides = _fit_sides(task, truth, predictions, columns, readings)
    if not len(sides[0]) and not _images(sides[0]):
        raise EmptyInput("there is no image", where=sides[0].source, remedy="The truth needs at least one.")
    return sides


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side alone."""
    return read_boxes(data, task.truth if side == "truth" else task.prediction, columns, side, task.reader)


def reading_of(options: Options | None, side: str) -> ReadOptions:
    """The options of a side's reader."""
    if options is None or not options.declared:
        return ReadOptions()
    names = ("format", "images", "names", "pixels", "verified", "hierarchy")
    declared = [option.name for option in options.declared]
    return ReadOptions(**{name: options.of(name, side) for name in names if name in declared})


def _has_own_ids(data: Any, reading: ReadOptions) -> bool:
    """Whether a source names images and classes by ids, and is read without looking at anything else."""
    if not isinstance(data, str | PathLike):
        return True
    named = reading.format if reading.format != "auto" else ""
    plain = ending(data) in READERS if not named else named in ("coco", "csv")
    return plain and not (reading.images or reading.names) and not (not named and labelled_by(Path(data)))


def _fit_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], readings: Sequence[ReadOptions]
) -> tuple[Records, Records]:
    """Sides of which one names images by files or classes by names: the predictions get the ids of the truth."""
    if readings[0].format == "lvis" and not columns and _plain_json(truth, readings[0]):
        from steelyard.io.formats.federated import read_lvis

        fitted = read_lvis(str(truth), str(predictions)) if _plain_json(predictions, readings[1]) else None
        if fitted is not None:
            return fitted
    from steelyard.io.formats.fit import fit  # few evaluations need the other formats

    first = of_truth(_dataset, truth, readings[0], "truth", task.truth, columns, None)
    if isinstance(truth, str | PathLike) and ending(truth) in (".yaml", ".yml"):
        predictions = _with_equal_ids(predictions)
        second = _dataset(predictions, readings[1], "prediction", task.prediction, columns, first)
        second = _counted_from_zero(second, first)
    else:
        second = _dataset(predictions, readings[1], "prediction", task.prediction, columns, first)
    for text in (*first.notes, *second.notes):
        note(text)
    second = fit(second, first)
    if readings[0].format == "lvis":
        from steelyard.io.formats.federated import by_rules_of_lvis

        return by_rules_of_lvis(first, second)
    if readings[0].format == "openimages":
        from steelyard.io.formats.openimages import by_rules_of_openimages

        return by_rules_of_openimages(first, second)
    return of_truth(type(first).records, first), second.records()


def _dataset(
    data: Any, reading: ReadOptions, name: str, schema: Schema, columns: Mapping[str, str], like: Dataset | None
) -> Dataset:
    """One side as a data set: read as one, or made of records where tables have their columns renamed."""
    from steelyard.io.formats.convert import read_dataset
    from steelyard.io.formats.fit import from_records

    if isinstance(data, str | PathLike):
        results = name == "prediction" and ending(data) == ".json" and not (reading.names or reading.images)
        results = results and reading.format in ("auto", "coco", "lvis") and not labelled_by(Path(data))
        if not results and not (ending(data) in READERS[1:] and columns):
            return read_dataset(data, reading, name, like)
    return from_records(read_boxes(data, schema, columns, name))


def _with_equal_ids(predictions: Any) -> Any:
    """Results of Ultralytics whose ids of images are numbers and texts: rows with texts, and all else as it is.

    It writes the name of an image's file without ending, as a number where it is one.
    """
    if not isinstance(predictions, str | PathLike) or ending(predictions) != ".json":
        return predictions
    try:
        read_coco(predictions, "prediction")
    except InputError:
        from steelyard.io.json import parse_json

        source = str(predictions)
        rows = parse_json(read_bytes(Path(predictions), source).decode("utf-8", "replace"), source)
        kinds = (
            {type(row.get("image_id")) for row in rows if isinstance(row, dict)} if isinstance(rows, list) else set()
        )
        if kinds == {int, str}:
            return [row | {"image_id": Path(str(row.get("file_name", row["image_id"]))).stem} for row in rows]
    return predictions


def _counted_from_zero(results: Dataset, truth: Dataset) -> Dataset:
    """Results of a validation of Ultralytics with its classes counted from 0, as in the data.yaml."""
    ids = [category.id for category in results.categories]
    if results.by_file or not ids or not all(isinstance(number, int) for number in ids) or 0 in ids:
        return results
    if max(map(int, ids)) > len(truth.categories):
        raise Unmatched(
            f"class {max(map(int, ids))} is not one of the {len(truth.categories)} of the truth",
            where=results.source,
            remedy="Predictions with the ids of COCO need COCO's annotations as the truth.",
        )
    note(f"{results.source}: classes are counted from 1, as Ultralytics writes them.")
    return replace(results, categories=[replace(c, id=int(c.id) - 1) for c in results.categories])


def _plain_json(data: Any, reading: ReadOptions) -> bool:
    """Whether a source is a JSON file as it is: not packed, and with nothing said about its pictures or names."""
    if not isinstance(data, str | PathLike) or ending(data) != ".json" or reading.images or reading.names:
        return False
    return is_plain(Path(data), str(data))


def _images(records: Records) -> int:
    return 0 if not isinstance(records, BoxRecords) or records.images is None else len(records.images)


def read_boxes(
    data: Any,
    schema: Schema,
    columns: Mapping[str, str],
    side: str,
    what: str = "boxes",
    truth: Records | None = None,
) -> Records:
    """Records of one side, "truth" or "prediction", of boxes, masks or keypoints; `truth` knows the images' sizes."""
    source = "truth" if side == "truth" else "predictions"
    data = of_detections(data, side, what, source) or data
    if isinstance(data, str | PathLike):
        if ending(data) == ".json":
            return read_coco(data, side, what=what, truth=truth)
    elif isinstance(data, Mapping) and "annotations" in data:
        records = parse_coco(_dumps(data, source), side, source, what=what, truth=truth)
        images = data["images"] if side == "truth" else ()
        return replace(records, image_fields=partial(image_fields, images)) if side == "truth" else records
    elif isinstance(data, list | tuple):
        if all(isinstance(item, Mapping) and "image_id" in item for item in data) and (data or side != "truth"):
            return parse_coco(_dumps(data, source), side, source, what=what, truth=truth)
        if what != "boxes":
            data = flatten_images(data, side, what, source)
        else:
            return _from_images(data, schema, columns, side, source)
    return records_of_table(data, schema, columns, side, source)


def records_of_table(data: Any, schema: Schema, columns: Mapping[str, str], side: str, source: str) -> Records:
    """Records of a table or a frame; those of the truth know the images that have no object."""
    images = None
    if isinstance(data, Mapping):
        data = {name: rows_of(to_numpy(column)) for name, column in data.items()}
        if side == "truth" and "images" in data:
            try:
                images = np.asarray(data.pop("images"))
            except ValueError:  # lists of different lengths
                images = np.zeros(())
            if images.ndim != 1:
                raise ShapeMismatch("'images' is not a list of ids", where=source, remedy="Give one id per image.")
            images = images.astype(np.int64) if images.dtype.kind in "iu" else as_object(list(map(str, images)))
    table, empty = _without_empty(read_table(data, source), columns, side)
    records = to_records(table, schema, columns, side)
    if images is None and not len(empty):
        return records
    named = [ids for ids in (records["image"], images, empty) if ids is not None and len(ids)]
    return _with_images(records, named or [records["image"]])


def _without_mask(values: Any, where: str) -> Array:
    """An array of an image; masked entries have no value."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.argwhere(np.ma.getmaskarray(values))[0][0])
        raise InvalidValue(f"row {row} of an array is masked", where=where, remedy="Leave masked rows out.")
    return np.asarray(to_numpy(values))


def _with_images(records: Records, named: Sequence[Array]) -> BoxRecords:
    """Return the records with every image that is named."""
    if all(ids.dtype.kind in "iu" for ids in named):
        images = np.unique(np.concatenate(named))
    else:
        images = as_object(sorted({str(value) for ids in named for value in ids.tolist()}))
    return BoxRecords(records.source, records.columns, records.other, records.place, records.names, images=images)


def _dumps(data: Any, source: str) -> bytes:
    try:
        return json.dumps(data, default=_plain).encode()
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InvalidValue(f"cannot be taken as COCO data: {error}", where=source) from None


def _plain(value: Any) -> Any:
    """What json cannot write by itself: arrays and their numbers, and counts of masks as bytes."""
    return value.decode("ascii") if isinstance(value, bytes) else value.tolist()


def _without_empty(table: Table, columns: Mapping[str, str], side: str) -> tuple[Table, Array]:
    """Rows of the truth that name an image and nothing else: an image without objects."""
    label = columns.get("truth.label") or columns.get("label", "label")
    image = columns.get("truth.image") or columns.get("image", "image")
    if side != "truth" or label not in table.columns or image not in table.columns:
        return table, np.zeros(0, np.int64)
    labels = table.columns[label]
    if labels.dtype.kind == "f":
        empty = np.isnan(labels)
    elif labels.dtype.kind == "O":
        several = (list, np.ndarray)  # which a label cannot be
        empty = np.array(
            [v is None or (not isinstance(v, several) and (v == "" or v != v)) for v in labels.tolist()], dtype=bool
        )
    else:
        return table, np.zeros(0, np.int64)
    if not empty.any():
        return table, np.zeros(0, np.int64)
    rows = np.flatnonzero(~empty)
    lines = np.arange(len(table)) if table.lines is None else table.lines
    objects = replace(table, columns={name: column[rows] for name, column in table.columns.items()}, lines=lines[rows])
    ids = table.columns[image][empty]
    ids = ids.astype(np.int64) if ids.dtype.kind in "iu" else as_object([str(v).strip() for v in ids.tolist()])
    return objects, ids


def _from_images(data: Sequence[Any], schema: Schema, columns: Mapping[str, str], side: str, source: str) -> Records:
    """One dict per image: `image`, `boxes` (n × 4: x, y, width, height), `labels`, and `scores` of predictions."""
    needed = _NEEDED[side]
    images: list[Any] = []
    counts: list[int] = []
    parts: dict[str, list[Array]] = {"boxes": [], "labels": [], "scores": [], "crowd": [], "area": []}
    for i, item in enumerate(data):
        if not (type(item) is dict or isinstance(item, Mapping)) or not needed <= item.keys() <= _PER_IMAGE:
            raise _wrong_item(item, needed, f"{source}, item {i}")
        boxes = _without_mask(item["boxes"], f"{source}, item {i}")
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            if boxes.size:
                shape = " × ".join(map(str, boxes.shape))
                where = f"{source}, item {i}"
                raise ShapeMismatch(f"boxes are {shape}", where=where, remedy="Give n × 4: x, y, width, height.")
            boxes = np.zeros((0, 4))
        image, count = item["image"], len(boxes)
        images.append(image.item() if hasattr(image, "item") else image)
        counts.append(count)
        if count:
            parts["boxes"].append(boxes)
        for name, values in item.items():
            if name == "image" or name == "boxes":
                continue
            array = _without_mask(values, f"{source}, item {i}")
            if array.shape != (count,) and not array.size == count == 0:
                where = f"{source}, item {i}"
                raise ShapeMismatch(
                    f"{count_text(count, 'box')} and {array.size} {name}", where=where, remedy="Give one for each box."
                )
            if count:
                parts[name].append(array)
    for name in ("crowd", "area"):
        if parts[name] and len(parts[name]) != len(parts["boxes"]):
            raise MissingKey(f"'{name}' is given for some images only", where=source, remedy="Give it for all or none.")
    whole = bool(images) and all(type(v) is int for v in images)
    ids = np.array(images, dtype=np.int64) if whole else as_object(list(map(str, images)))
    box = np.concatenate(parts["boxes"], dtype=np.float64) if parts["boxes"] else np.zeros((0, 4))
    labels = np.concatenate(parts["labels"]) if parts["labels"] else np.zeros(0, np.int64)
    flat: dict[str, Array] = {
        "image": np.repeat(ids, counts),
        "label": labels if labels.dtype.kind in "iu" else as_object(labels.tolist()),
        **box_columns(box),
    }  # fmt: skip
    for name, column in (("scores", "score"), ("crowd", "crowd"), ("area", "area")):
        if parts[name]:
            flat[column] = np.concatenate(parts[name])
        elif name == "scores" and side == "prediction":
            flat[column] = np.zeros(0)
    if _plainly_right(flat, box):
        place = Table(source, flat).place
        records = Records(source, flat, {}, place, {name: name for name in flat})
    else:
        records = to_records(Table(source, flat), schema, {}, side)
    if side != "truth":
        return records
    images_of = ids if whole else _with_images(records, [ids]).images
    return BoxRecords(records.source, records.columns, records.other, records.place, records.names, images=images_of)


def _plainly_right(flat: Mapping[str, Array], box: Array) -> bool:
    """Whether the columns need no conversion and hold nothing that a schema refuses: most batches of most loops."""
    if flat["label"].dtype != np.int64 or "crowd" in flat or "area" in flat:
        return False
    if len(box) and not (np.abs(box).max() <= 1e12 and box[:, 2:].min() >= 0):
        return False
    score = flat.get("score")
    return score is None or (score.dtype == np.float64 and bool(np.isfinite(score).all()))


def _wrong_item(item: Any, needed: frozenset[str], where: str) -> InputError:
    if not isinstance(item, Mapping):
        kind = type(item).__name__
        return InvalidValue(f"{kind} where a dict is expected", where=where, remedy="Give one dict per image.")
    for name in item:
        if name not in _PER_IMAGE:
            return UnknownName(f"an unknown key '{name}'", where=where, remedy=nearest(str(name), _PER_IMAGE))
    lacking = min(needed - item.keys())
    return MissingKey(f"the key '{lacking}' is missing", where=where, remedy=f"It needs {', '.join(sorted(needed))}.")
