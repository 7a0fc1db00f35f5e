"""Boxes in space from whatever the user has: KITTI's label folders, nuScenes' JSON, tables, frames."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.counts import count_text
from steelyard.core.errors import (
    EmptyInput,
    InputError,
    InvalidFile,
    InvalidNumber,
    InvalidValue,
    MissingData,
    OutOfRange,
    UnreadableFile,
    nearest,
)
from steelyard.core.opening import check_listed, check_readable, open_regular
from steelyard.core.options import Options
from steelyard.core.records import Array, Records, as_object
from steelyard.core.task import Task
from steelyard.io.once import of_truth
from steelyard.io.read import check_mapping, read_table, to_records
from steelyard.io.table import Table
from steelyard.io.text import ending, is_plain, read_bytes

NUMBERS = (
    "truncated", "occluded", "alpha", "left", "top", "right", "bottom", "height", "width", "length", "x", "y", "z",
    "yaw", "score",
)  # fmt: skip
_LIST = {"translation": "x, y, z", "size": "width, length, height", "rotation": "w, x, y, z", "velocity": "vx, vy"}


class SolidRecords(Records):
    """One side with what its files are: "kitti", "nuscenes" or "table"; `ego` is where the car stands, by frame.

    `codes` has columns of texts as their distinct values and each row's place among them, where the reader knows them.
    `tilted` counts boxes that are turned about another axis than the vertical one too.
    """

    form: str = "table"
    ego: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    codes: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    tilted: int = 0


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions; neither can hold the other."""
    if predictions is None:
        raise MissingData(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    options = options or Options(task.options)
    sides = (("truth", truth), ("prediction", predictions))
    forms = {side: _form(data, options.of("format", side)) for side, data in sides}
    tables: dict[str, Table] = {}
    if forms["truth"] == "table":
        tables["truth"] = of_truth(read_table, truth, "truth")
    if forms["prediction"] == "table":
        tables["prediction"] = read_table(predictions, "predictions")
    schemas = {"truth": task.truth, "prediction": task.prediction}
    check_mapping(columns, schemas, tables or {"truth": Table("truth", {})})
    first = of_truth(_records, truth, tables.get("truth"), task, columns, "truth", forms["truth"])
    if not len(first):
        raise EmptyInput("there is no frame", where=first.source, remedy="The truth needs at least one.")
    return first, _records(predictions, tables.get("prediction"), task, columns, "prediction", forms["prediction"])


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side alone."""
    form = _form(data, "auto")
    table = read_table(data, "truth" if side == "truth" else "predictions") if form == "table" else None
    return _records(data, table, task, columns, side, form)


def read_as(task: Task, path: Path, side: str, form: str) -> SolidRecords:
    """One side of a path in a named format: "kitti", "nuscenes" or "csv"."""
    table = read_table(path, side) if form == "csv" else None
    return _records(path, table, task, {}, side, "table" if form == "csv" else form)


def _form(data: Any, asked: str) -> str:
    """What the data are: a folder is KITTI's, a JSON object nuScenes', all else a table."""
    if asked != "auto":
        return "table" if asked == "csv" else asked
    if not isinstance(data, str | PathLike):
        return "table"
    if Path(data).is_dir():
        return "kitti"
    return "nuscenes" if ending(data) == ".json" and _starts_object(Path(data), str(data)) else "table"


def _starts_object(path: Path, source: str) -> bool:
    check_readable(path, source)
    if not is_plain(path, source):
        return read_bytes(path, source)[:4096].lstrip().startswith(b"{")
    with open_regular(path, source, pipes=True) as file:
        return file.read(4096).lstrip().startswith(b"{")


def _records(
    data: Any, table: Table | None, task: Task, columns: Mapping[str, str], side: str, form: str
) -> SolidRecords:
    if form == "kitti":
        return _kitti(Path(data), str(data), side)
    if form == "nuscenes":
        return _nuscenes(Path(data), str(data), side)
    assert table is not None
    read = to_records(table, task.truth if side == "truth" else task.prediction, columns, side)
    return SolidRecords(read.source, read.columns, read.other, read.place, read.names)


def _kitti(path: Path, source: str, side: str) -> SolidRecords:
    """A file per frame; one without lines has a row that only names its frame."""
    inner, entries = _label_files(path, source)
    shown = os.path.join(source, inner) if inner else source
    names = [entry.name for entry in entries]
    check_listed(entries, shown)
    content = _native.read_kitti([entry.path for entry in entries], side != "truth")
    if isinstance(content, tuple):
        raise _kitti_error(content, entries[content[0]].path, os.path.join(shown, names[content[0]]), side)
    begin: Array = content["begin"]  # type: ignore[assignment]
    lengths = np.diff(begin)
    types = as_object([name.decode("utf-8", "replace") for name in content["types"]])  # type: ignore[attr-defined]
    code: Array = content["type"]  # type: ignore[assignment]
    used = NUMBERS if side != "truth" else NUMBERS[:-1]
    columns: dict[str, Array] = dict(zip(used, content["numbers"], strict=False))  # type: ignore[call-overload]
    line: Array = content["line"]  # type: ignore[assignment]
    empty = begin[:-1][lengths == 0]
    if len(empty):
        columns = {name: np.insert(column, empty, np.nan) for name, column in columns.items()}
        types = np.append(types, "")
        code, line = np.insert(code, empty, len(types) - 1), np.insert(line, empty, 0)
        lengths = np.maximum(lengths, 1)
    frames = as_object([name[:-4] for name in names])
    starts = np.append(0, np.cumsum(lengths))

    def place(row: int) -> str:
        name = os.path.join(shown, names[int(np.searchsorted(starts, row, side="right")) - 1])
        return f"{name}, line {line[row]}" if line[row] else name

    label = types[code] if len(types) else as_object([])
    every = {"frame": np.repeat(frames, lengths), "label": label, **columns}
    codes = {"label": (types, code), "frame": (frames, np.repeat(np.arange(len(frames)), lengths))}
    return SolidRecords(source, every, {}, place, {name: name for name in every}, form="kitti", codes=codes)


def _label_files(path: Path, source: str) -> tuple[str, list[os.DirEntry[str]]]:
    """The folder inside that holds the label files, and the files in the order of their names."""
    if not path.is_dir():
        check_readable(path, source)
        raise UnreadableFile("is a file", where=source, remedy="Give the folder: label_2 with one .txt per frame.")
    for inner in ("", "label_2", "data"):
        folder = path / inner if inner else path
        if folder.is_dir():
            try:
                with os.scandir(folder) as listed:
                    entries = sorted((entry for entry in listed if entry.name.endswith(".txt")), key=attrgetter("name"))
            except OSError as error:
                raise UnreadableFile(f"cannot be read: {error.strerror}", where=source) from None
            if entries:
                return inner, entries
    raise EmptyInput(
        "holds no label files", where=source, remedy="Give label_2, or the results' data: one 000000.txt per frame."
    )


def _kitti_error(fault: tuple[Any, ...], path: str, shown: str, side: str) -> InputError:
    _, line, number, count, raw = fault
    text, where = raw.decode("utf-8", "replace"), f"{shown}, line {line}" if line else shown
    if not line:
        check_readable(path, shown)
        return InvalidFile(text, where=where, remedy="Check the file.")
    if number >= 0:
        name = NUMBERS[number] if number < 13 else ("rotation_y", "score")[number - 13]
        return InvalidNumber(f"'{text}' is not a number", where=f"{where}, field '{name}'", remedy="Write a number.")
    expected = 15 if side == "truth" else 16
    if side != "truth" and count == 15:
        return InvalidFile("15 columns are truth; a result needs a 16th, the score", where=where, remedy="Add it.")
    if side == "truth" and count == 16:
        return InvalidFile(
            "16 columns are a result, with a score at the end", where=where, remedy="Give label_2 as the truth."
        )
    return InvalidFile(
        f"{count_text(count, 'column')} where {expected} are expected",
        where=where,
        remedy="A line is: type truncated occluded alpha left top right bottom height width length x y z rotation_y"
        + (" score." if side != "truth" else "."),
    )


def _nuscenes(path: Path, source: str, side: str) -> SolidRecords:
    """Boxes by sample; a sample without boxes has a row that only names it."""
    check_readable(path, source)
    results = side != "truth"
    if is_plain(path, source):
        content = _native.read_nuscenes(str(path), results)
    else:
        content = _native.parse_nuscenes(read_bytes(path, source), results)
    if isinstance(content, tuple):
        raise _nuscenes_error(content, source)
    got: dict[str, Any] = content
    samples = [one.decode() for one in got["samples"]]
    begin, lengths = got["begin"], np.diff(got["begin"])
    names, attributes = (as_object([one.decode() for one in got[key]]) for key in ("names", "attributes"))
    columns: dict[str, Array] = {}
    for name, values, axes in (
        ("translation", got["translation"], ("x", "y", "z")), ("size", got["size"], ("width", "length", "height")),
        ("velocity", got["velocity"], ("vx", "vy")), ("ego_offset", got["ego_offset"], ("ego_dx", "ego_dy")),
    ):  # fmt: skip
        columns |= {axis: np.ascontiguousarray(values[:, k]) for k, axis in enumerate(axes)}
        if name == "size":
            columns["yaw"] = _yaw(got["rotation"], source, samples, begin)
    coded = {"label": (names, got["name"]), "attribute": (attributes, got["attribute"])}
    if results:
        columns["score"] = got["score"]
        if not np.isnan(got["points"]).all():
            row = int(np.argmax(~np.isnan(got["points"])))
            if got["points"][row] >= 0:  # -1 is what the development kit writes for results
                raise InvalidValue(
                    "a result with 'num_pts', which nuScenes would drop it by where it is 0",
                    where=_box_place(source, samples, begin, row),
                    remedy="Leave the key out: points are counted in the truth.",
                )
    else:
        columns["points"] = got["points"]
    empty = begin[:-1][lengths == 0]
    if len(empty):
        columns = {name: np.insert(column, empty, np.nan) for name, column in columns.items()}
        coded = {
            name: (np.append(texts, ""), np.insert(code, empty, len(texts))) for name, (texts, code) in coded.items()
        }
    lengths = np.maximum(lengths, 1)
    starts = np.append(0, np.cumsum(lengths))
    coded["frame"] = as_object(samples), np.repeat(np.arange(len(samples)), lengths)
    columns |= {name: texts[code] if len(texts) else as_object([]) for name, (texts, code) in coded.items()}
    ego = {
        one.decode(): (float(at[0]), float(at[1]), float(at[2]))
        for one, at in zip(got["ego_samples"], got["ego"], strict=True)
    }
    other = _scenes(got, samples, lengths, source)
    return SolidRecords(
        source, columns, other, lambda row: _box_place(source, samples, starts, row), {name: name for name in columns},
        form="nuscenes", ego=ego, codes=coded, tilted=int((np.abs(got["rotation"][:, 1:3]).max(axis=1) > 1e-6).sum()),
    )  # fmt: skip


def _scenes(got: Mapping[str, Any], samples: list[str], lengths: Array, source: str) -> dict[str, Array]:
    """The scene of each row, to draw and to slice by."""
    if not got["scenes"]:
        return {}
    scene = {a.decode(): b.decode() for a, b in zip(got["scene_samples"], got["scenes"], strict=True)}
    lacking = next((one for one in samples if one not in scene), None)
    if lacking is not None:
        raise MissingData(f"sample '{lacking}' has no scene", where=source, remedy="Name all samples in 'scene'.")
    return {"scene": np.repeat(as_object([scene[one] for one in samples]), lengths)}


def _box_place(source: str, samples: list[str], starts: Array, row: int) -> str:
    sample = int(np.searchsorted(starts, row, side="right")) - 1
    return f"{source}, sample '{samples[sample]}', box {row - int(starts[sample])}"


def _yaw(rotation: Array, source: str, samples: list[str], begin: Array) -> Array:
    """The heading of each quaternion, once it is of length 1."""
    length = np.sqrt((rotation**2).sum(axis=1))
    if not (length > 0).all():
        row = int(np.argmin(length > 0))
        raise OutOfRange(
            "the quaternion 'rotation' has length 0",
            where=_box_place(source, samples, begin, row),
            remedy="It is w, x, y, z; no turn is [1, 0, 0, 0].",
        )
    w, x, y, z = (rotation / length[:, np.newaxis]).T
    return np.asarray(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)))


def _nuscenes_error(fault: tuple[Any, ...], source: str) -> InputError:
    at, syntax, what, sample, key, box = fault
    name = sample.decode("utf-8", "replace")
    where = source + (f", sample '{name}'" if name else "") + (f", box {box}" if box >= 0 else "")
    if syntax:
        return InvalidFile(f"{what} (byte {at})", where=where, remedy="It is not JSON.")
    remedy = 'The file is {"meta": ..., "results": {sample: [box, ...]}}.'
    if key in _LIST:
        remedy = f"'{key}' is a list: {_LIST[key]}."
    elif box >= 0:
        remedy = nearest(key, ("detection_score", "detection_name", "attribute_name", "sample_token", "num_pts"))
    return InvalidValue(what, where=where + (f", key '{key}'" if key else ""), remedy=remedy)
