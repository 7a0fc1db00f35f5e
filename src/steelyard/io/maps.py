"""Both sides of a task whose units are maps: folders or files of maps, NumPy's files, tables of paths, or arrays.

A file is not read here: a record holds its path, and a map in memory as packed runs. So memory does not grow with the
number of images.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    DuplicateKey,
    EmptyInput,
    InvalidText,
    MissingData,
    MissingFile,
    ShapeMismatch,
    UnknownFormat,
)
from steelyard.core.opening import check_readable
from steelyard.core.options import Options
from steelyard.core.plain import to_numpy
from steelyard.core.records import MapRecords, Records, as_object
from steelyard.core.task import Task
from steelyard.io.dialect import note
from steelyard.io.once import of_truth
from steelyard.maps.each import for_each
from steelyard.maps.load import FIELDS, INSIDE, MAPS, VOLUMES, map_digest

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.io.table import Table

ENDINGS = {"maps": MAPS, "volumes": VOLUMES, "fields": FIELDS}
_LOSSY = (".jpg", ".jpeg")
_SOFTMAX = {"probabilities", "softmax"}  # what nnU-Net calls the array of scores, in versions 2 and 1
# What datasets put behind the name of an image; taken off where no name is equal on both sides.
_SUFFIX = re.compile(
    r"_gt(Fine|Coarse)(_\w+)?$|_leftImg8bit(_\w+)?$|_(labelIds|labelTrainIds|instanceIds|labels?|mask|masks|gt|pred"
    r"|prediction|segmentation|seg|disp|disparity|depth|flow|normals?)$|\.seg$|(?<=disp\d)GT$"
)
PART = 64  # cases of a table of maps that is read as one shard
_CHANNEL = "_0000"  # behind the name of a case's first channel, as nnU-Net names images


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options
) -> tuple[Records, Records]:
    """Truth and predictions; ids that have nothing in common lose what datasets put behind names."""
    if predictions is None:
        raise MissingData(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    sides = [
        of_truth(_side, truth, task, columns, "truth", options),
        _side(predictions, task, columns, "prediction", options),
    ]
    if task.score_rules is not None:
        remark = task.score_rules(options).note
        if remark:
            note(remark)
    key = task.truth.key[0]
    if not len(sides[0]):
        raise EmptyInput("there are no maps", where=sides[0].source, remedy="The truth needs at least one.")
    if all(_is_map_file(data, task) for data in (truth, predictions)):
        return sides[0], replace(sides[1], columns={**sides[1].columns, key: sides[0][key]})
    return _joinable(sides[0], sides[1], key)


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side by itself."""
    return _side(data, task, columns, side, Options(task.options))


def _joinable(truth: Records, prediction: Records, key: str) -> tuple[Records, Records]:
    """Both sides with ids that fit, where the names of files differ in a known way; a note says what was done."""
    own = [set(map(str, side[key].tolist())) for side in (truth, prediction)]
    if not own[0] & own[1]:
        bare = [_bare(side, key) for side in (truth, prediction)]
        if {*bare[0][key].tolist()} & {*bare[1][key].tolist()}:
            return bare[0], bare[1]
    if not all(isinstance(side, MapRecords) for side in (truth, prediction)):
        return truth, prediction
    truth, prediction = _without_channel(truth, prediction, key)
    return _by_base_name(truth, prediction, key)


def _without_channel(truth: Records, prediction: Records, key: str) -> tuple[Records, Records]:
    """Ids without `_0000` where the other side has the rest of them."""
    sides = [truth, prediction]
    for side, other in ((0, 1), (1, 0)):
        ids, other_ids = sides[side][key].tolist(), set(sides[other][key].tolist())
        free = other_ids - set(ids)
        bare = [name.removesuffix(_CHANNEL) for name in ids]
        new = [
            short if name not in other_ids and short in free else name for name, short in zip(ids, bare, strict=True)
        ]
        changed = sum(a != b for a, b in zip(ids, new, strict=True))
        if changed:
            sides[side] = replace(sides[side], columns={**sides[side].columns, key: as_object(new)})
            note(f"{sides[side].source}: '{_CHANNEL}' at the end of {changed} names is nnU-Net's channel and left out.")
    return sides[0], sides[1]


def _by_base_name(truth: Records, prediction: Records, key: str) -> tuple[Records, Records]:
    """Files of a flat folder by the names of files in subfolders of the other side, where each name is there once."""
    truth_ids, ids = truth[key].tolist(), prediction[key].tolist()
    matched = set(truth_ids) & set(ids)
    nested: dict[str, list[str]] = {}
    flat, deep = (ids, truth_ids) if not any("/" in name for name in ids) else (truth_ids, ids)
    if any("/" in name for name in flat):
        return truth, prediction
    for name in deep:
        nested.setdefault(name.rpartition("/")[2], []).append(name)
    twice = next((name for name in flat if name not in matched and len(nested.get(name, ())) > 1), None)
    if twice is not None and not matched:
        a, b = nested[twice][:2]
        raise DuplicateKey(
            f"'{twice}' may be '{a}' or '{b}'",
            where=(prediction if flat is ids else truth).source,
            remedy="Lay both sides out in the same subfolders.",
        )
    place = {name: paths[0] for name, paths in nested.items() if len(paths) == 1 and paths[0] not in matched}
    # Predictions get the ids of the truth; a flat truth keeps its ids.
    pairs = place if flat is ids else {path: name for name, path in place.items() if name in set(truth_ids)}
    new = [pairs.get(name, name) if name not in matched else name for name in ids]
    changed = sum(a != b for a, b in zip(ids, new, strict=True))
    if not changed:
        return truth, prediction
    note(f"{prediction.source}: {changed} files are joined by their names alone, without the subfolder.")
    return truth, replace(prediction, columns={**prediction.columns, key: as_object(new)})


def _is_map_file(data: Any, task: Task) -> bool:
    """Whether a side is one file that holds one map."""
    if not isinstance(data, str | PathLike):
        return False
    path = os.fsdecode(data).lower()
    return path.endswith(ENDINGS[task.reader]) and not path.endswith((".npy", ".npz")) and not os.path.isdir(data)


def bare_name(name: str) -> str:
    """The name of an image without what datasets put behind it."""
    return _SUFFIX.sub("", name)


def _bare(records: Records, key: str) -> Records:
    ids = [bare_name(str(name)) for name in records[key].tolist()]
    if len(set(ids)) < len(ids):
        return records
    return replace(records, columns={**records.columns, key: as_object(ids)})


def _side(data: Any, task: Task, columns: Mapping[str, str], side: str, options: Options) -> Records:
    key, name = task.truth.key[0], "truth" if side == "truth" else "predictions"
    if isinstance(data, str | PathLike):
        path = os.fsdecode(data)
        suffix = os.path.splitext(path)[1].lower()
        if os.path.isdir(path):
            return _records(key, path, *_folder(path, ENDINGS[task.reader], str(options.of("suffix", side) or "")))
        if suffix in (".npy", ".npz"):
            return _records(key, path, *_numpy(path, task))
        if _is_map_file(data, task):
            check_readable(path)
            name = os.path.basename(path)
            ending = next(e for e in ENDINGS[task.reader] if name.lower().endswith(e))
            return _records(key, path, [name[: -len(ending)]], [path], ["."])
        if not suffix and not os.path.exists(path):
            raise MissingFile("there is no such folder", where=path)
    # Not before: a folder of files needs no reader of tables, which takes as long to load as many maps take to count.
    from pathlib import Path

    from steelyard.io.read import check_mapping, read_table, to_records

    schema = task.truth if side == "truth" else task.prediction
    if not isinstance(data, str | PathLike):
        shape: tuple[int, ...] = getattr(data, "shape", ())
        if task.reader == "volumes" and len(shape) == 3 and shape[0] > 1:
            _note_flat_cases(shape, name)
        table = _with_label_maps(read_table(in_rows(data, key, name), name), task, columns, side, options)
        return to_records(table, schema, columns, side)
    table = read_table(data, name)
    check_mapping(columns, {side: task.truth}, {side: table})
    table = _with_label_maps(_beside(table, Path(path).parent, columns, side), task, columns, side, options)
    return to_records(table, schema, columns, side)


def _with_label_maps(table: Table, task: Task, columns: Mapping[str, str], side: str, options: Options) -> Table:
    """The table with predicted arrays as maps of classes, where the task takes scores."""
    name = columns.get(f"{side}.map") or columns.get("map", "map")
    name = name if name in table.columns else "map"
    volumes = task.reader == "volumes"
    if side == "truth" or (task.score_rules is None and not volumes) or name not in table.columns:
        return table
    from steelyard.io.map_cells import predicted_cells, volume_cells

    if task.score_rules is None:
        cells = volume_cells(table, name, table.columns[name], scores=True)
    else:
        cells = predicted_cells(table, name, task.score_rules(options))
    return replace(table, columns={**table.columns, name: cells})


def _records(key: str, source: str, ids: list[str], maps: list[str], folders: list[str]) -> Records:
    columns, other = {key: as_object(ids), "map": as_object(maps)}, {"folder": as_object(folders)}
    return MapRecords(source, columns, other, lambda row: maps[row])


def _folder(path: str, endings: Sequence[str], suffix: str) -> tuple[list[str], list[str], list[str]]:
    """The maps in a folder and its subfolders: ids, files, and the first subfolder of each."""
    ids, files, folders = [], [], []
    wanted = tuple(suffix.lower() + ending for ending in endings)
    start, every = os.path.join(path, ""), sorted(_files(path))
    for file in every:
        low = file.lower()
        if not low.endswith(wanted):
            continue
        ending = next(e for e in endings if low.endswith(e))
        name = file[: -len(ending)]
        if not name.endswith(suffix):
            continue
        name = name[: len(name) - len(suffix)]
        ids.append(name)
        files.append(start + (file if os.sep == "/" else file.replace("/", os.sep)))
        folders.append(name.rpartition("/")[0] or ".")
    if not ids:
        lossy = next((file for file in every if file.lower().endswith(_LOSSY)), "")
        if lossy:
            fields = ".pfm" in endings
            what, remedy = ("values", "Write PNG of 16 bits or .npy.") if fields else ("labels", "Write PNG.")
            raise UnknownFormat(f"JPEG changes {what}", where=start + lossy, remedy=remedy)
        what = f"no file ends in {', '.join(suffix + e for e in endings)}"
        raise EmptyInput(what, where=path, remedy="Is it the right folder?")
    if len(set(ids)) < len(ids):
        ids, files, folders = _without_softmax(path, ids, files, folders)
    if len(set(ids)) < len(ids):
        twice = next(name for i, name in enumerate(ids) if name in ids[:i])
        kinds = sorted({os.path.splitext(file)[1] for file in files})
        raise DuplicateKey(
            f"'{twice}' stands there as several files ({', '.join(kinds)})", where=path, remedy="Keep one of them."
        )
    labelled = [i for i, name in enumerate(ids) if name.endswith("_labelIds")]
    if labelled and len(labelled) < len(ids):  # Cityscapes lays instances and colours beside them
        ids, files, folders = ([column[i] for i in labelled] for column in (ids, files, folders))
    return ids, files, folders


def find_files(path: str, reader: str) -> tuple[list[str], list[str]]:
    """The ids and files of the maps in a folder and its subfolders."""
    ids, files, _ = _folder(path, ENDINGS[reader], "")
    return ids, files


def _without_softmax(
    path: str, ids: list[str], files: list[str], folders: list[str]
) -> tuple[list[str], list[str], list[str]]:
    """The maps without the scores that nnU-Net writes beside them as .npz."""
    from steelyard.maps.arrays import array_names

    times = Counter(ids)
    scores = {
        row for row, (name, file) in enumerate(zip(ids, files, strict=True))
        if times[name] > 1 and file.lower().endswith(".npz") and set(array_names(file)) & _SOFTMAX
    }  # fmt: skip
    if not scores:
        return ids, files, folders
    first = os.path.basename(files[min(scores)])
    others = "" if len(scores) == 1 else f" and {count_text(len(scores) - 1, 'other')}"
    note(f"{path}: {first}{others}: class probabilities beside a label map of the same name are ignored.")
    rows = [row for row in range(len(ids)) if row not in scores]
    return [ids[row] for row in rows], [files[row] for row in rows], [folders[row] for row in rows]


def _files(path: str) -> Iterable[str]:
    root = len(os.path.join(path, ""))
    for folder, inner, names in os.walk(path):
        inner.sort()
        below = os.path.join(folder, "")[root:].replace(os.sep, "/")
        for name in names:
            if not name.startswith("."):
                yield below + name


def _numpy(path: str, task: Task) -> tuple[list[str], list[str], list[str]]:
    """The maps in one file of NumPy: an array that begins with the images, or arrays by name."""
    from steelyard.maps.arrays import array_names, numpy_file

    if path[-4:].lower() == ".npz":
        ids = array_names(path)
    else:
        array = numpy_file(path, "")
        if array.ndim < 3:
            remedy = "The first axis counts the maps: give 1 × height × width for one."
            raise ShapeMismatch(f"holds {'×'.join(map(str, array.shape))} values", where=path, remedy=remedy)
        if array.ndim == 3 and len(array) > 1 and task.reader == "volumes":
            _note_flat_cases(array.shape, path)
        ids = [str(i) for i in range(len(array))]
    return ids, [f"{path}{INSIDE}{name}" for name in ids], ["."] * len(ids)


def _note_flat_cases(shape: Sequence[int], source: str) -> None:
    """Say that an array of three axes is cases of two, which one volume could be taken for."""
    count, height, width = shape
    note(
        f"{source}: the array of shape {count}×{height}×{width} is taken as {count} cases of {height}×{width}; "
        f"one volume is 1×{count}×{height}×{width}."
    )


def _beside(table: Table, folder: Path, columns: Mapping[str, str], side: str) -> Table:
    """A table of paths, which are meant from the folder that the table lies in."""
    name = columns.get(f"{side}.map") or columns.get("map", "map")
    beside = {}
    for column in [name, *filter(_is_beside, table.columns)]:
        if column in table.columns and table.columns[column].dtype.kind in "OU":
            cells = table.columns[column].tolist()
            beside[column] = as_object(
                [str(folder / cell) if isinstance(cell, str) and cell and cell[0] != "[" else cell for cell in cells]
            )
    return replace(table, columns={**table.columns, **beside})


def _is_beside(name: str) -> bool:
    """Whether a column holds masks or regions, which lie beside the maps of a field."""
    return name == "mask" or name.startswith("region:")


def in_rows(data: Any, key: str, source: str) -> Any:
    """Arrays in memory as a table: one map per row. An array alone has the numbers of its rows as ids."""
    data = to_numpy(data)
    if isinstance(data, np.ndarray) or (isinstance(data, list | tuple) and not isinstance(data, Mapping)):
        data = {key: np.arange(len(data) if getattr(data, "ndim", 1) else 1), "map": data}
    if not isinstance(data, Mapping) or "map" not in data:
        return data
    maps = to_numpy(data["map"])
    if isinstance(maps, np.ndarray) and maps.dtype != object and maps.ndim < 3:
        from steelyard.maps.scores import shape_text

        raise ShapeMismatch(
            f"the maps have shape {shape_text(maps)}",
            where=source,
            remedy="Give one map per row: images × height × width.",
        )
    beside = {name: as_object([to_numpy(one) for one in data[name]]) for name in data if _is_beside(str(name))}
    return {**data, "map": as_object([to_numpy(one) for one in maps]), **beside}


def are_maps(task: Task, paths: Sequence[str]) -> bool:
    """Whether paths of a task of maps are folders of them, or files that hold one map each."""
    if task.reader not in ENDINGS:
        return False
    arrays = len(paths) > 1  # one file of NumPy is an array that begins with the maps
    return all(
        os.path.isdir(path) or _is_map_file(path, task) or (arrays and path.lower().endswith((".npy", ".npz")))
        for path in paths
    )


def write_map_tables(
    task: Task, truths: Sequence[str], predictions: Sequence[str], options: Options, folder: str
) -> tuple[list[str], list[str]]:
    """Tables of the paths of maps, so many cases in each, as shards are read: files of truth and of predictions.

    A row holds the digest of its map, so that a table changes where a map does.
    """
    key = task.truth.key[0]
    sides = [
        _list_maps(task, paths, str(options.of("suffix", side) or ""))
        for paths, side in ((truths, "truth"), (predictions, "prediction"))
    ]
    truth, prediction = _joinable(sides[0], sides[1], key)
    ids = sorted(truth[key].tolist())
    place = {name: number // PART for number, name in enumerate(ids)}
    last = max(place.values())
    files: tuple[list[str], list[str]] = ([], [])
    for records, side, paths in ((truth, "truth", files[0]), (prediction, "prediction", files[1])):
        sums = for_each(len(records), lambda row, maps=records["map"]: map_digest(maps[row]).hex())  # type: ignore[misc]
        rows: list[list[tuple[str, ...]]] = [[] for _ in range(last + 1)]
        columns = (
            records[key].tolist(),
            map(os.path.abspath, records["map"].tolist()),
            records.other["folder"].tolist(),
        )
        for row in zip(*columns, sums, strict=True):
            rows[place.get(row[0], last)].append(row)
        paths += [_write_table(folder, side, [(key, "map", "folder", "sha256"), *sorted(part)]) for part in rows]
    return files


def _list_maps(task: Task, paths: Sequence[str], suffix: str) -> Records:
    """The maps of folders and of single files: ids are paths below the folder, or below what all files share."""
    ids: list[str] = []
    maps: list[str] = []
    folders: list[str] = []
    files = [path for path in paths if not os.path.isdir(path)]
    for path in (path for path in paths if os.path.isdir(path)):
        for column, more in zip((ids, maps, folders), _folder(path, ENDINGS[task.reader], suffix), strict=True):
            column += more
    if files:
        root = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in files])
        for path in files:
            name = os.path.relpath(os.path.abspath(path), root).replace(os.sep, "/")
            ending = next(ending for ending in ENDINGS[task.reader] if name.lower().endswith(ending))
            name = name[: -len(ending)]
            if name.endswith(suffix):
                ids.append(name[: len(name) - len(suffix)])
                maps.append(path)
                folders.append(ids[-1].rpartition("/")[0] or ".")
    twice = sorted(ids)
    again = next((a for a, b in pairwise(twice) if a == b), None)
    if again is not None:
        raise DuplicateKey(f"'{again}' is in several files", where=paths[0], remedy="Keep one of them.")
    if not ids:
        raise EmptyInput(f"no file ends in '{suffix}'", where=paths[0], remedy="Check the option `suffix`.")
    return _records(task.truth.key[0], paths[0], ids, maps, folders)


def _write_table(folder: str, side: str, rows: Sequence[Sequence[str]]) -> str:
    import csv
    import hashlib
    from io import StringIO

    from steelyard.io.write import write_durably

    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    try:
        data = text.getvalue().encode()
    except UnicodeEncodeError as error:
        name = error.object[max(0, error.start - 40) : error.end]
        raise InvalidText(f"the name {name!a} of a file is not UTF-8", remedy="Rename the file.") from None
    path = os.path.join(folder, f"{side}-{hashlib.sha256(data).hexdigest()[:40]}.csv")
    if not os.path.exists(path):
        write_durably(path, [data])
    return path
