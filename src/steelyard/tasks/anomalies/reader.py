"""Both sides of `anomalies`: folders of MVTec AD, AD 2, 3D-AD and LOCO, folders of masks and maps, tables, or arrays.

Ids are paths below the folder of an object without their endings and without the folders that only say what a file is:
`test/broken/000.png`, `ground_truth/broken/000_mask.png` and `broken/000.tiff` are all `broken/000`. Files are not read
here: records hold paths.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from steelyard.core.errors import DuplicateKey, EmptyInput, MissingData, MissingFile, ShapeMismatch, UnknownFormat
from steelyard.core.options import Options
from steelyard.core.plain import to_numpy
from steelyard.core.records import MapRecords, Records, as_object
from steelyard.core.task import Task
from steelyard.io.dialect import note
from steelyard.io.map_cells import array_of
from steelyard.io.once import of_truth
from steelyard.io.read import check_mapping, read_table, to_records
from steelyard.io.table import Table, is_empty
from steelyard.maps.arrays import array_names, numpy_file
from steelyard.maps.load import INSIDE, as_grid, pack_map
from steelyard.tasks.anomalies.data import CONFIG, MAPS, MASKS, FolderSums, as_scores

TESTS = ("test", "test_public")  # folders of test images, in AD and AD 2
MASKS_3D, OTHERS_3D = "gt", (["gt"], ["xyz"])  # folders beside `rgb` in MVTec 3D-AD: masks, and point clouds
PLAIN = (*TESTS, "ground_truth", "anomaly_maps", "Data", "Images", "Masks", "rgb", MASKS_3D)  # that name no image
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions, with ids that fit."""
    if predictions is None:
        raise MissingData(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    options = options or Options(task.options)
    columns = {("truth.map" if name in ("mask", "truth.mask") else name): own for name, own in columns.items()}
    first = of_truth(_truth, truth, task, columns)
    if not len(first):
        raise EmptyInput("there are no images", where=first.source, remedy="The truth needs at least one.")
    second = _predictions(predictions, task, columns)
    if columns:
        tables = {"truth": _as_table(first), "prediction": _as_table(second)}
        check_mapping(columns, {"truth": task.truth, "prediction": task.prediction}, tables)
    if options.of("scores") is not None:
        second = _with_scores(second, str(options.of("scores")), task, columns)
    return _joinable(first, second)


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side by itself."""
    return _truth(data, task, columns) if side == "truth" else _predictions(data, task, columns)


def _truth(data: Any, task: Task, columns: Mapping[str, str]) -> Records:
    if isinstance(data, str | PathLike):
        path = os.fsdecode(data)
        if os.path.isdir(path):
            return _dataset(path)
        _refuse_missing(path)
        table = read_table(data, "truth")
        table = _beside(table, path, _mask_name(table, columns))
    else:
        table = read_table(_in_rows(data, "mask"), "truth")
    table = _test_rows(table)
    return to_records(_packed(table, _mask_name(table, columns), _mask_bytes), task.truth, columns, "truth")


def _predictions(data: Any, task: Task, columns: Mapping[str, str]) -> Records:
    if isinstance(data, str | PathLike):
        path = os.fsdecode(data)
        if os.path.isdir(path):
            return _map_folder(path)
        _refuse_missing(path)
        if path[-4:].lower() in (".npy", ".npz"):
            return _numpy_maps(path)
        table = _beside(read_table(data, "predictions"), path, _name(columns, "prediction", "map"))
    else:
        table = read_table(_in_rows(data, "map"), "predictions")
    table = _packed(table, _name(columns, "prediction", "map"), _score_bytes)
    return to_records(table, task.prediction, columns, "prediction")


def _as_table(records: Records) -> Table:
    """The names of the columns that a source has."""
    names = {**{records.names.get(name, name): None for name in records.columns}, **dict.fromkeys(records.other)}
    return Table(records.source, {name: np.zeros(0) for name in names})


def _refuse_missing(path: str) -> None:
    if not os.path.exists(path) and not os.path.splitext(path)[1]:
        raise MissingFile("there is no such folder", where=path)


def _name(columns: Mapping[str, str], side: str, column: str) -> str:
    return columns.get(f"{side}.{column}") or columns.get(column, column)


def _mask_name(table: Table, columns: Mapping[str, str]) -> str:
    """The column of the masks: `mask`, or `map`, or what the user calls it."""
    for name in ("map", "mask"):
        own = columns.get(f"truth.{name}") or columns.get(name)
        if own in table.columns:
            return str(own)
    return "map" if "map" in table.columns else "mask"


def _in_rows(data: Any, column: str) -> Any:
    """Arrays in memory as a table with one map per row."""
    data = to_numpy(data)
    rows = isinstance(data, list | tuple) and bool(data) and isinstance(data[0], Mapping)
    if isinstance(data, np.ndarray | list | tuple) and not rows:
        if not getattr(data, "ndim", 1):
            raise ShapeMismatch("one number is not a map", where=column, remedy="Give images × height × width.")
        data = {"image": np.arange(len(data)), column: data}
    if not isinstance(data, Mapping) or column not in data:
        return data
    cells = to_numpy(data[column])
    if isinstance(cells, str) or not np.iterable(cells):
        return data
    return {**data, column: as_object([to_numpy(cell) for cell in cells])}


def _beside(table: Table, path: str, name: str) -> Table:
    """The table with paths from the folder that it lies in, or from the one above, as VisA's `split_csv` has them."""
    if name not in table.columns:
        return table
    values = table.columns[name].tolist()
    is_path = [isinstance(cell, str) and bool(cell.strip()) and cell[0] != "[" for cell in values]
    first = next((cell for cell, there in zip(values, is_path, strict=True) if there), "")
    folders = [os.path.dirname(path), os.path.join(os.path.dirname(path), os.pardir)]
    folder = next((each for each in folders if os.path.exists(os.path.join(each, first))), folders[0])
    cells = [
        os.path.normpath(os.path.join(folder, cell)) if there else cell
        for cell, there in zip(values, is_path, strict=True)
    ]
    return replace(table, columns={**table.columns, name: as_object(cells)})


def _packed(table: Table, name: str, pack: Any) -> Table:
    """The table with arrays in a column as bytes, and nothing where a cell is empty."""
    if name not in table.columns:
        return table
    values = table.columns[name]
    cells: list[str | bytes] = []
    for row, value in enumerate(values.tolist() if values.dtype == object else list(values)):
        if isinstance(value, bytes) or (isinstance(value, str) and value.strip() and not value.startswith("[")):
            cells.append(value)
        elif is_empty(value):
            cells.append(b"")
        else:
            where = f"{table.place(row)}, column '{name}'"
            cells.append(pack(array_of(to_numpy(value), where), where))
    return replace(table, columns={**table.columns, name: as_object(cells)})


def _mask_bytes(array: Any, where: str) -> bytes:
    grid = np.asarray(array)
    if grid.ndim == 3 and 1 in (grid.shape[0], grid.shape[-1]):
        grid = grid[0] if grid.shape[0] == 1 else grid[..., 0]
    if grid.ndim != 2:
        shape = "×".join(map(str, grid.shape)) or "no"
        raise ShapeMismatch(f"a mask has {shape} values", where=where, remedy="A mask is height × width.")
    return pack_map(as_grid(grid, where))


def _score_bytes(array: Any, where: str) -> bytes:
    grid = as_scores(np.asarray(array), where)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(grid))
    return b"".join((header.getvalue(), grid.data))  # copied once


def _test_rows(table: Table) -> Table:
    """The rows of the test split, where a column says which is which."""
    split = table.columns.get("split")
    if split is None:
        return table
    texts = [str(value).strip().lower() for value in split.tolist()]
    if "test" not in texts or len(set(texts)) < 2:
        return table
    rows = np.flatnonzero([text == "test" for text in texts])
    note(f"{table.source}: {len(rows)} of {len(texts)} rows are of the split 'test'; the others are left out.")
    lines = np.arange(len(table)) if table.lines is None else table.lines
    part = {name: values[rows] for name, values in table.columns.items()}
    return replace(table, columns=part, lines=lines[rows])


def _files(path: str, endings: Sequence[str]) -> list[str]:
    """The files below a folder with one of these endings, with slashes, in order."""
    root, files = len(os.path.join(path, "")), []
    for folder, inner, names in os.walk(path):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        below = os.path.join(folder, "")[root:].replace(os.sep, "/")
        files += [below + name for name in names if name.lower().endswith(tuple(endings)) and not name.startswith(".")]
    return sorted(files)


def _id(file: str, mask: bool = False) -> str:
    """The id of an image: its path without the ending and without folders that say nothing of it."""
    steps = os.path.splitext(file)[0].split("/")
    steps = [step for step in steps[:-1] if step not in PLAIN] + steps[-1:]
    return "/".join(steps).removesuffix("_mask") if mask else "/".join(steps)


def _objects(path: str) -> list[str]:
    """The folders of objects: the folder itself, or those in it that hold test images."""
    if any(os.path.isdir(os.path.join(path, test)) for test in TESTS):
        return [path]
    inside = sorted(name for name in os.listdir(path) if not name.startswith("."))
    folders = [os.path.join(path, name) for name in inside]
    return [folder for folder in folders if any(os.path.isdir(os.path.join(folder, test)) for test in TESTS)]


def _dataset(path: str) -> Records:
    objects = _objects(path)
    if not objects:
        return _mask_folder(path)
    rows: dict[str, list[Any]] = {name: [] for name in ("image", "object", "defect", "type", "map", "file")}
    alone = objects == [path]
    for folder in objects:
        name = os.path.basename(os.path.normpath(os.path.abspath(folder)))
        loco = os.path.isfile(os.path.join(folder, CONFIG))
        before = "" if alone else f"{name}/"
        tests = [test for test in TESTS if os.path.isdir(os.path.join(folder, test))]
        masks = _masks(folder, tests)
        images = 0
        for test in tests:
            for file in _files(os.path.join(folder, test), IMAGES):
                if "ground_truth/" in file or file.split("/")[-2:-1] in OTHERS_3D:
                    continue
                image, defect = _id(file), file.split("/")[0] if "/" in file else ""
                rows["image"].append(before + image)
                rows["object"].append(name)
                rows["defect"].append(defect)
                rows["type"].append(defect if loco else "")
                rows["file"].append(os.path.join(folder, test, *file.split("/")))
                rows["map"].append(masks.pop(image, b""))
                images += 1
        if not images:
            raise EmptyInput(f"no file ends in {', '.join(IMAGES)}", where=os.path.join(folder, tests[0]))
        if masks:
            first = next(iter(masks))
            raise MissingFile(
                f"there is no image for the mask of '{first}'", where=folder, remedy="Add it, or remove the mask."
            )
    _refuse_twice(path, rows["image"], rows["file"])
    names = ("image", "object", "defect", "map", *(("type",) if any(rows["type"]) else ()))
    columns = {name: as_object(rows[name]) for name in names}
    files = rows["file"]
    other = {"file": as_object(files)}
    return MapRecords(path, columns, other, lambda row: files[row], {"map": "mask"}, FolderSums())


def _masks(folder: str, tests: Sequence[str]) -> dict[str, str]:
    """Masks by image: files, or folders of the masks of single defects."""
    places = [folder, *(os.path.join(folder, test) for test in tests)]
    roots = [os.path.join(place, "ground_truth") for place in places]
    for test in places[1:]:
        roots += [os.path.join(test, kind, MASKS_3D) for kind in sorted(os.listdir(test))]
    masks: dict[str, str] = {}
    for root in roots:
        if not os.path.isdir(root):
            continue
        channels = os.path.isfile(os.path.join(folder, CONFIG))
        for file in _files(root, MASKS):
            image, target = _id(file, mask=True), os.path.join(root, *file.split("/"))
            if os.path.basename(root) == MASKS_3D:
                image = f"{os.path.basename(os.path.dirname(root))}/{image}"
            if channels:
                image, target = file.rpartition("/")[0], os.path.join(os.path.dirname(target), "")
            elif image in masks:
                raise DuplicateKey(f"'{image}' has several masks", where=root, remedy="Keep one of them.")
            masks[image] = target
    return masks


def _mask_folder(path: str) -> Records:
    files = _files(path, MASKS)
    if not files:
        raise EmptyInput(
            f"no file ends in {', '.join(MASKS)}, and there is no folder 'test'",
            where=path,
            remedy="Give a folder of MVTec AD or LOCO, or of masks.",
        )
    ids, paths = [_id(file, mask=True) for file in files], [os.path.join(path, *file.split("/")) for file in files]
    _refuse_twice(path, ids, paths)
    columns = {"image": as_object(ids), "map": as_object(paths)}
    if all("/" in name for name in ids):
        columns["defect"] = as_object([name.split("/")[-2] for name in ids])
    return MapRecords(path, columns, {"folder": as_object([path] * len(ids))}, lambda row: paths[row])


def _map_folder(path: str) -> Records:
    files = _files(path, MAPS)
    if not files:
        other = next(iter(_files(path, (".jpg", ".jpeg", ".csv", ".json"))), "")
        if other:
            raise UnknownFormat(
                f"'{os.path.splitext(other)[1]}' is not a format of maps",
                where=os.path.join(path, other),
                remedy=f"Give {', '.join(MAPS)}; a table of scores is given by itself.",
            )
        raise EmptyInput(f"no file ends in {', '.join(MAPS)}", where=path, remedy="Is it the right folder?")
    ids, paths = [_id(file) for file in files], [os.path.join(path, *file.split("/")) for file in files]
    _refuse_twice(path, ids, paths)
    return MapRecords(path, {"image": as_object(ids), "map": as_object(paths)}, {}, lambda row: paths[row])


def _refuse_twice(path: str, ids: Sequence[str], files: Sequence[str]) -> None:
    first: dict[str, str] = {}
    for name, file in zip(ids, files, strict=True):
        if name in first:
            raise DuplicateKey(
                f"'{name}' appears twice: {os.path.relpath(first[name], path)} and {os.path.relpath(file, path)}",
                where=path,
                remedy="Keep one of them.",
            )
        first[name] = file


def _numpy_maps(path: str) -> Records:
    """The maps in one file of NumPy: an array that begins with the images, or arrays by name."""
    if path[-4:].lower() == ".npz":
        ids = array_names(path)
    else:
        shape = numpy_file(path, "").shape
        if len(shape) < 3:
            held = "×".join(map(str, shape)) or "no"
            raise ShapeMismatch(f"has {held} values", where=path, remedy="Give maps: images × height × width.")
        ids = [str(i) for i in range(shape[0])]
    maps = [f"{path}{INSIDE}{name}" for name in ids]
    return MapRecords(path, {"image": as_object(ids), "map": as_object(maps)}, {}, lambda row: maps[row])


def _with_scores(records: Records, path: str, task: Task, columns: Mapping[str, str]) -> Records:
    """The predictions with the image scores of a table beside them."""
    table = _predictions(path, task, columns)
    if "score" not in table:
        raise MissingData("the column 'score' is missing", where=path, remedy="It gives the score of each image.")
    score_of: dict[str, float] = {}
    for row, (name, score) in enumerate(zip(table["image"].tolist(), table["score"].tolist(), strict=True)):
        if score_of.setdefault(_plain_id(name), score) != score:
            raise DuplicateKey(
                f"image '{name}' has several scores", where=table.where(row, "image"), remedy="Keep one of them."
            )
    lacking = [name for name in records["image"].tolist() if _plain_id(name) not in score_of]
    if lacking:
        raise MissingData(f"image '{lacking[0]}' has no score", where=path, remedy="Give a score for each map.")
    scores = np.array([score_of[_plain_id(name)] for name in records["image"].tolist()], dtype=np.float64)
    return replace(records, columns={**records.columns, "score": scores})


def _plain_id(name: Any) -> str:
    text = str(name).replace("\\", "/")
    return _id(text) if text.lower().endswith((*IMAGES, *MAPS)) else text


def _joinable(truth: Records, prediction: Records) -> tuple[Records, Records]:
    """Both sides with ids that fit: endings and the folder of an object off, good images that have no mask added."""
    for side in (0, 1):
        records = (truth, prediction)[side]
        if isinstance(records, MapRecords) or records["image"].dtype != object:
            continue
        plain = as_object([_plain_id(name) for name in records["image"].tolist()])
        if len(set(plain.tolist())) == len(plain):
            records = replace(records, columns={**records.columns, "image": plain})
            truth, prediction = (records, prediction) if side == 0 else (truth, records)
    ids, other = truth["image"].tolist(), prediction["image"].tolist()
    mine, theirs = set(map(str, ids)), set(map(str, other))
    if not mine & theirs and all(isinstance(name, str) and "/" in name for name in other):
        short = [name.partition("/")[2] for name in other]
        if len({name.partition("/")[0] for name in other}) == 1 and set(short) & mine:
            prediction = replace(prediction, columns={**prediction.columns, "image": as_object(short)})
            other, theirs = short, set(short)
    if isinstance(truth, MapRecords) and "folder" in truth.other:
        more = sorted(name for name in theirs - mine if "good" in name.split("/")[:-1])
        if more:
            truth = _with_good(truth, more)
    return truth, prediction


def _with_good(truth: Records, ids: list[str]) -> Records:
    """A folder of masks with good images, which have no mask."""
    count, place, many = len(truth), truth.place, len(ids)
    columns = {
        "image": as_object([*truth["image"].tolist(), *ids]),
        "map": as_object([*truth["map"].tolist(), *([b""] * many)]),
        "defect": as_object([*(truth["defect"].tolist() if "defect" in truth else [""] * count), *(["good"] * many)]),
    }
    other = {"folder": as_object([truth.source] * (count + many))}
    return MapRecords(truth.source, columns, other, lambda row: place(row) if row < count else f"{truth.source}, good")
