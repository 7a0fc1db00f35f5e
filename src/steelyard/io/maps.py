"""Both sides of a task whose units are maps: folders of files, NumPy's files, tables of paths, or arrays in memory.

A file is not read here: a record holds its path, and a map in memory as packed runs. So memory does not grow with the
number of images.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.options import Options
from steelyard.core.plain import to_numpy
from steelyard.core.records import MapRecords, Records, as_object
from steelyard.core.task import Task
from steelyard.io.dialect import note
from steelyard.maps.load import INSIDE

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.io.table import Table

ENDINGS = {"maps": (".png", ".npy", ".npz"), "volumes": (".nii", ".nii.gz", ".npy", ".npz", ".png")}
_LOSSY = (".jpg", ".jpeg")
# What datasets put behind the name of an image; taken off where no name is equal on both sides.
_SUFFIX = re.compile(
    r"_gt(Fine|Coarse)(_\w+)?$|_leftImg8bit(_\w+)?$|_(labelIds|labelTrainIds|instanceIds|labels?|mask|masks|gt|pred"
    r"|prediction|segmentation|seg)$"
)


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options
) -> tuple[Records, Records]:
    """Truth and predictions; ids that have nothing in common lose what datasets put behind names."""
    if predictions is None:
        raise InputError(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    sides = [
        _side(task, data, columns, side, options) for data, side in ((truth, "truth"), (predictions, "prediction"))
    ]
    if task.score_rules is not None:
        said = task.score_rules(options).note
        if said:
            note(said)
    key = task.truth.key[0]
    if not len(sides[0]):
        raise InputError("there are no maps", where=sides[0].source, remedy="The truth needs at least one.")
    own = [set(map(str, side[key].tolist())) for side in sides]
    if not own[0] & own[1]:
        bare = [_bare(side, key) for side in sides]
        if {*bare[0][key].tolist()} & {*bare[1][key].tolist()}:
            sides = bare
    return sides[0], sides[1]


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side by itself."""
    return _side(task, data, columns, side, Options(task.options))


def _bare(records: Records, key: str) -> Records:
    ids = [_SUFFIX.sub("", str(name)) for name in records[key].tolist()]
    if len(set(ids)) < len(ids):
        return records
    return replace(records, columns={**records.columns, key: as_object(ids)})


def _side(task: Task, data: Any, columns: Mapping[str, str], side: str, options: Options) -> Records:
    key, name = task.truth.key[0], "truth" if side == "truth" else "predictions"
    if isinstance(data, str | PathLike):
        path = os.fsdecode(data)
        suffix = os.path.splitext(path)[1].lower()
        if os.path.isdir(path):
            return _records(key, path, *_folder(path, ENDINGS[task.reader], str(options.of("suffix", side) or "")))
        if suffix in (".npy", ".npz"):
            return _records(key, path, *_numpy(path))
        if not suffix and not os.path.exists(path):
            raise InputError("there is no such folder", where=path)
    # Not before: a folder of files needs no reader of tables, which takes as long to load as many maps take to count.
    from pathlib import Path

    from steelyard.io.read import check_mapping, read_table, to_records

    schema = task.truth if side == "truth" else task.prediction
    if not isinstance(data, str | PathLike):
        table = _labelled(read_table(in_rows(data, key, name), name), task, columns, side, options)
        return to_records(table, schema, columns, side)
    table = read_table(data, name)
    check_mapping(columns, {side: task.truth}, {side: table})
    table = _labelled(_beside(table, Path(path).parent, columns, side), task, columns, side, options)
    return to_records(table, schema, columns, side)


def _labelled(table: Table, task: Task, columns: Mapping[str, str], side: str, options: Options) -> Table:
    """The table with predicted arrays as maps of classes, where the task takes scores."""
    name = columns.get(f"{side}.map") or columns.get("map", "map")
    name = name if name in table.columns else "map"
    if side == "truth" or task.score_rules is None or name not in table.columns:
        return table
    from steelyard.io.map_cells import predicted_cells

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
            raise InputError("JPEG changes labels", where=start + lossy, remedy="Write PNG.")
        what = f"no file ends in {', '.join(suffix + e for e in endings)}"
        raise InputError(what, where=path, remedy="Is it the right folder?")
    if len(set(ids)) < len(ids):
        twice = next(name for i, name in enumerate(ids) if name in ids[:i])
        kinds = sorted({os.path.splitext(file)[1] for file in files})
        raise InputError(
            f"'{twice}' stands there as several files ({', '.join(kinds)})", where=path, remedy="Keep one of them."
        )
    labelled = [i for i, name in enumerate(ids) if name.endswith("_labelIds")]
    if labelled and len(labelled) < len(ids):  # Cityscapes lays instances and colours beside them
        ids, files, folders = ([column[i] for i in labelled] for column in (ids, files, folders))
    return ids, files, folders


def _files(path: str) -> Iterable[str]:
    root = len(os.path.join(path, ""))
    for folder, inner, names in os.walk(path):
        inner.sort()
        below = os.path.join(folder, "")[root:].replace(os.sep, "/")
        for name in names:
            if not name.startswith("."):
                yield below + name


def _numpy(path: str) -> tuple[list[str], list[str], list[str]]:
    """The maps in one file of NumPy: an array that begins with the images, or arrays by name."""
    from steelyard.maps.load import numpy_file

    if path[-4:].lower() == ".npz":
        try:
            with np.load(path, allow_pickle=False) as held:
                ids = sorted(held.files)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"cannot be read: {error}", where=path, remedy="Is the file whole?") from None
    else:
        ids = [str(i) for i in range(len(numpy_file(path, "")))]
    return ids, [f"{path}{INSIDE}{name}" for name in ids], ["."] * len(ids)


def _beside(table: Table, folder: Path, columns: Mapping[str, str], side: str) -> Table:
    """A table of paths, which are meant from the folder that the table lies in."""
    name = columns.get(f"{side}.map") or columns.get("map", "map")
    if name not in table.columns:
        return table
    cells = table.columns[name].tolist()
    paths = [str(folder / cell) if isinstance(cell, str) and cell and cell[0] != "[" else cell for cell in cells]
    return replace(table, columns={**table.columns, name: as_object(paths)})


def in_rows(data: Any, key: str, source: str) -> Any:
    """Arrays in memory as a table: one map per row. An array alone has the numbers of its rows as ids."""
    data = to_numpy(data)
    if isinstance(data, np.ndarray) or (isinstance(data, list | tuple) and not isinstance(data, Mapping)):
        data = {key: np.arange(len(data)), "map": data}
    if not isinstance(data, Mapping) or "map" not in data:
        return data
    maps = to_numpy(data["map"])
    if isinstance(maps, np.ndarray) and maps.dtype != object and maps.ndim < 3:
        from steelyard.maps.scores import shape_text

        raise InputError(
            f"the maps have shape {shape_text(maps)}",
            where=source,
            remedy="Give one map per row: images × height × width.",
        )
    return {**data, "map": as_object([to_numpy(one) for one in maps])}
