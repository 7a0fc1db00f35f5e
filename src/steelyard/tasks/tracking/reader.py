"""Tracks from whatever the user has: files of a benchmark, tables, frames, or one dict per frame as a loop has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    EmptyInput,
    InvalidValue,
    MissingColumn,
    MissingData,
    MissingKey,
    ShapeMismatch,
    UnknownName,
    nearest,
)
from steelyard.core.options import Options
from steelyard.core.plain import to_numpy
from steelyard.core.records import Array, Records, as_object
from steelyard.core.task import Task
from steelyard.io.once import of_truth
from steelyard.io.read import READERS, check_mapping, read_table, to_records
from steelyard.io.shapes import rows_of
from steelyard.io.table import Table
from steelyard.io.text import ending
from steelyard.tasks.tracking.files import read_files

_KEYS = {"sequence", "frame", "tracks", "boxes", "masks", "labels", "scores", "ignore", "flags", "sample_weight"}
_COLUMN = {
    "tracks": "track",
    "masks": "mask",
    "labels": "label",
    "scores": "score",
    "ignore": "ignore",
    "flags": "flag",
}


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions; neither can hold the other."""
    if predictions is None:
        raise MissingData(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    options = options or Options(task.options)
    tables = {
        "truth": of_truth(_table, truth, "truth", options.of("format", "truth")),
        "prediction": _table(predictions, "prediction", options.of("format", "prediction")),
    }
    check_mapping(
        columns,
        {"truth": task.truth, "prediction": task.prediction},
        {side: table for side, table in tables.items() if table is not None} or {"truth": Table("truth", {})},
    )
    first = of_truth(_records, truth, tables["truth"], task, columns, "truth", options)
    second = _records(predictions, tables["prediction"], task, columns, "prediction", options)
    if not len(first):
        raise EmptyInput("there is no sequence", where=first.source, remedy="The truth needs at least one.")
    if options.of("sequences") is not None:
        first = of_truth(_with_attributes, first, options.of("sequences"))
    return first, second


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side alone."""
    return _records(data, _table(data, side, "auto"), task, columns, side, Options(task.options))


def _table(data: Any, side: str, format_: str) -> Table | None:
    """The data as a table, or None where they are files of a benchmark."""
    source = "truth" if side == "truth" else "predictions"
    if isinstance(data, str | PathLike):
        plain = format_ == "csv" or (format_ == "auto" and ending(data) in READERS and not Path(data).is_dir())
        return read_table(data, source) if plain else None
    if isinstance(data, list | tuple):
        return Table(source, _from_frames(data, source))
    if isinstance(data, Mapping):
        data = {name: rows_of(to_numpy(column)) for name, column in data.items()}
    return read_table(data, source)


def _records(
    data: Any, table: Table | None, task: Task, columns: Mapping[str, str], side: str, options: Options
) -> Records:
    if table is None:
        return read_files(
            Path(data), str(data), side, options.of("format", side), options.of("first_frame", side),
            options.of("untracked", side) == "skip",
        )  # fmt: skip
    schema = task.truth if side == "truth" else task.prediction
    return to_records(_without_masks(table), schema, columns, side)


def _without_masks(table: Table) -> Table:
    """Rows that only name a sequence have no mask: an empty one stands there."""
    if "mask" not in table.columns or "frame" not in table.columns:
        return table
    masks, frames = table.columns["mask"], table.columns["frame"]
    empty = [
        (mask is None or mask == "" if not isinstance(mask, np.ndarray | list | dict | bytes) else False)
        and (frame is None or frame == "" or frame != frame)
        for mask, frame in zip(masks.tolist() if masks.dtype != object else list(masks), frames.tolist(), strict=True)
    ]
    if not any(empty):
        return table
    filled = as_object(
        [{"size": [1, 1], "counts": [1]} if gone else mask for mask, gone in zip(masks, empty, strict=True)]
    )
    return replace(table, columns={**table.columns, "mask": filled})


def _from_frames(data: Sequence[Any], source: str) -> dict[str, Array]:
    """One dict per frame: `sequence`, `frame`, `tracks`, and `boxes` (n × 4: x, y, width, height) or `masks`."""
    columns: dict[str, list[Any]] = {"sequence": [], "frame": [], "track": []}
    shape_columns: set[str] = set()
    empty: dict[Any, Any] = {}
    filled: set[Any] = set()
    for i, item in enumerate(data):
        where = f"{source}, item {i}"
        if not isinstance(item, Mapping):
            raise InvalidValue(
                f"{type(item).__name__} where a dict is expected", where=where, remedy="One dict per frame."
            )
        for name in item:
            if name not in _KEYS:
                raise UnknownName(f"an unknown key '{name}'", where=where, remedy=nearest(str(name), _KEYS))
        for name in ("sequence", "frame", "tracks"):
            if name not in item:
                raise MissingKey(
                    f"the key '{name}' is missing", where=where, remedy="It needs sequence, frame, tracks."
                )
        if ("boxes" in item) == ("masks" in item):
            raise Conflict("neither boxes nor masks, or both", where=where, remedy="Give one of them.")
        tracks = _as_list(item["tracks"], where)
        parts: dict[str, list[Any]] = {"track": tracks}
        if "boxes" in item:
            try:
                boxes = np.asarray(to_numpy(item["boxes"]), dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InvalidValue(
                    f"boxes cannot be read: {error}", where=where, remedy="Give n × 4: x, y, width, height."
                ) from None
            boxes = boxes if boxes.size else np.zeros((0, 4))
            if boxes.ndim != 2 or boxes.shape[1] != 4:
                shape = " × ".join(map(str, boxes.shape))
                raise ShapeMismatch(f"boxes are {shape}", where=where, remedy="Give n × 4: x, y, width, height.")
            parts |= {name: boxes[:, axis].tolist() for axis, name in enumerate("xywh")}
        for name, column in _COLUMN.items():
            if name in item and name != "tracks":
                parts[column] = _as_list(item[name], where)
        for name, values in parts.items():
            if len(values) != len(tracks):
                raise ShapeMismatch(
                    f"{count_text(len(tracks), 'track')} and {len(values)} of '{name}'",
                    where=where,
                    remedy="Give one for each.",
                )
        count = len(tracks)
        names = parts if count else {}
        if count:
            if shape_columns and shape_columns != set(names):
                odd = min(shape_columns ^ set(names))
                raise MissingKey(f"'{odd}' is given in some frames only", where=where, remedy="Give it in all or none.")
            shape_columns = set(names)
        empty.setdefault(_plain(item["sequence"]), item.get("sample_weight"))
        if count:
            filled.add(_plain(item["sequence"]))
        _extend(columns, item, names, count)
    for sequence, weight in empty.items():
        if sequence not in filled:  # a row that only names it
            _extend(columns, {"sequence": sequence, "frame": None, "sample_weight": weight}, {}, 1)
    if all(weight is None for weight in columns.setdefault("sample_weight", [])):
        del columns["sample_weight"]
    wanted = {"sequence", "frame", "track", "sample_weight", *(shape_columns or {"x", "y", "w", "h"})}
    rows = len(columns["sequence"])
    return {name: _array(values) for name, values in columns.items() if name in wanted and len(values) == rows}


def _extend(columns: dict[str, list[Any]], item: Mapping[str, Any], parts: Mapping[str, list[Any]], count: int) -> None:
    """So many rows more."""
    columns["sequence"] += [_plain(item["sequence"])] * count
    columns["frame"] += [_plain(item["frame"])] * count
    columns.setdefault("sample_weight", []).extend([item.get("sample_weight")] * count)
    for name in ("track", "x", "y", "w", "h", *[column for column in _COLUMN.values() if column != "track"]):
        columns.setdefault(name, []).extend(parts.get(name, [None] * count))


def _array(values: list[Any]) -> Array:
    kinds = set(map(type, values))
    return np.array(values) if kinds <= {int, float} and values else as_object(values)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _as_list(values: Any, where: str) -> list[Any]:
    array = to_numpy(values)
    if isinstance(array, str | bytes) or not hasattr(array, "__iter__") or getattr(array, "ndim", 1) == 0:
        raise InvalidValue(
            f"{type(values).__name__} where a list is expected", where=where, remedy="Give one for each."
        )
    return array.tolist() if isinstance(array, np.ndarray) and array.ndim == 1 else list(array)


def _with_attributes(truth: Records, path: str) -> Records:
    """The truth with the columns of a table of sequences, to slice by."""
    table = read_table(path, "sequences")
    if "sequence" not in table.columns:
        raise MissingColumn(
            "column 'sequence' is missing", where=table.source, remedy="It names what the others are about."
        )
    place = {str(name): row for row, name in enumerate(table.columns["sequence"].tolist())}
    names = list(map(str, truth["sequence"].tolist()))
    lacking = next((row for row, name in enumerate(names) if name not in place), None)
    if lacking is not None:
        raise UnknownName(
            f"sequence '{names[lacking]}' is not in {table.source}",
            where=truth.place(lacking),
            remedy="List every sequence.",
        )
    rows = np.array([place[name] for name in names], dtype=np.int64)
    other = {name: as_object(column.tolist())[rows] for name, column in table.columns.items() if name != "sequence"}
    return replace(truth, other={**truth.other, **other})
