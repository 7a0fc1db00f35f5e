"""Both sides of `images`: folders of pictures, one folder with both, a list of paths, NumPy's files, tensors, video.

A picture is not opened here: a record holds its path, and for a frame of a video its number behind `::`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    DuplicateKey,
    EmptyInput,
    MissingColumn,
    MissingData,
    MissingFile,
    ShapeMismatch,
    Unmatched,
)
from steelyard.core.options import Options
from steelyard.core.plain import to_numpy
from steelyard.core.records import Records, as_object
from steelyard.core.task import Task
from steelyard.io.dialect import note
from steelyard.io.once import of_truth
from steelyard.io.read import as_ids, check_mapping, read_table, to_records
from steelyard.io.table import Table
from steelyard.maps.load import INSIDE
from steelyard.tasks.images.data import IMAGE
from steelyard.tasks.images.pixels import ARRAYS, LOSSY, PICTURES, VIDEOS, Frames

TRUE_NAMES = ("gt", "truth", "target", "reference", "hr", "original", "clean")
PREDICTED_NAMES = ("pred", "prediction", "renders", "render", "output", "out", "sr", "restored", "result")
_PICTURE_COLUMNS = {"pixels", "path", "file", "filename", *TRUE_NAMES, *PREDICTED_NAMES, "mask", "region"}
# What tools put behind the name of an image; taken off where no id is equal on both sides.
_SUFFIX = re.compile(r"([_-]?x\d+|_(SR|HR|LR|gt|GT|out|output|pred|rlt|result|restored|fake|real)|-1)+$")
_BY_PILLOW = tuple(ending for ending in PICTURES if ending != ".png")


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options
) -> tuple[Records, Records]:
    """Truth and predictions; one source may hold both."""
    if predictions is None:
        sides = _one_source(task, truth, columns, options)
    else:
        sources = {
            "truth": of_truth(_source, truth, "truth", options),
            "prediction": _source(predictions, "prediction", options),
        }
        tables = {side: source for side, source in sources.items() if not isinstance(source, Records)}
        if tables and columns:
            check_mapping(columns, {"truth": task.truth, "prediction": task.prediction}, tables)
        sides = _joinable(*(_side_records(task, source, columns, side) for side, source in sources.items()))
    if not len(sides[0]):
        raise EmptyInput("there are no images", where=sides[0].source, remedy="The truth needs at least one.")
    _note_formats(*sides)
    extra = options.of("scores")
    return sides[0], sides[1] if not extra else _with_columns(sides[1], str(extra))


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side by itself."""
    return _side_records(task, _source(data, side, Options(task.options)), columns, side)


def _note_formats(truth: Records, prediction: Records) -> None:
    """Say which program decodes files whose pixels depend on it, and that a lossy truth has losses of its own."""
    paths = [
        [value.partition(INSIDE)[0].lower() for value in side["pixels"].tolist() if isinstance(value, str)]
        for side in (truth, prediction)
    ]
    lossy = sum(path.endswith(LOSSY) for path in paths[0])
    if lossy:
        files = count_text(lossy, "true image", "are")
        note(f"{truth.source}: {files} JPEG, whose own losses are part of the truth.")
    decoded = sum(path.endswith(_BY_PILLOW) for side in paths for path in side)
    if decoded:
        from steelyard.maps.pillow import pillow_version

        files = count_text(decoded, "file", "are")
        note(f"{files} decoded by Pillow {pillow_version()}; other decoders may differ by a level.")


def _side_records(task: Task, source: Records | Table, columns: Mapping[str, str], side: str) -> Records:
    if isinstance(source, Records):
        return source
    return to_records(source, task.truth if side == "truth" else task.prediction, columns, side)


def _source(data: Any, side: str, options: Options) -> Records | Table:
    """The pictures of files as records, or else a table."""
    name = "truth" if side == "truth" else "predictions"
    raw = f"{options.of('size', side)} {options.of('format', side)}".strip()
    if isinstance(data, str | PathLike):
        path = os.fsdecode(data)
        ending = os.path.splitext(path)[1].lower()
        if os.path.isdir(path):
            return _records(path, *_folder(path, raw))
        if ending in ARRAYS:
            return _records(path, *_numpy(path))
        if ending in VIDEOS:
            return _records(path, *_videos([path], os.path.dirname(path), raw))
        if ending in PICTURES:
            if not os.path.exists(path):
                raise MissingFile("there is no such file", where=path)
            return _records(path, [os.path.splitext(os.path.basename(path))[0]], [path], {})
        if not ending and not os.path.exists(path):
            raise MissingFile("there is no such folder", where=path)
    if isinstance(data, str | PathLike):
        return _beside(read_table(data, name), os.path.dirname(os.fsdecode(data)))
    return read_table(_in_rows(data, name), name)


def _records(source: str, ids: list[str], values: list[Any], more: Mapping[str, list[Any]]) -> Records:
    """Records of files; `folder` is the folder of each below the source."""
    columns = {"image": as_object(ids), "pixels": as_object(values)}
    columns |= {name: as_object(cells) for name, cells in more.items()}
    other = {"folder": as_object([name.rpartition("/")[0] or "." for name in ids])}
    named = zip(ids, values, strict=True)
    place = [value if isinstance(value, str) else f"{source}, image '{name}'" for name, value in named]
    return Records(source, columns, other, lambda row: place[row])


def _files(path: str) -> list[str]:
    """Paths of files below a folder, with forward slashes, in order."""
    paths = []
    root = len(os.path.join(path, ""))
    for folder, inner, names in os.walk(path):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        below = os.path.join(folder, "")[root:].replace(os.sep, "/")
        paths += [below + name for name in names if not name.startswith(".")]
    return sorted(paths)


def _folder(path: str, raw: str) -> tuple[list[str], list[Any], dict[str, list[Any]]]:
    """The pictures in a folder and its subfolders, or its videos as frames."""
    files = _files(path)
    videos = [os.path.join(path, file) for file in files if file.lower().endswith(VIDEOS)]
    chosen = [file for file in files if file.lower().endswith((*PICTURES, *ARRAYS))]
    if videos and not chosen:
        return _videos(videos, path, raw)
    if not chosen:
        endings = ", ".join((*PICTURES, *ARRAYS, *VIDEOS))
        raise EmptyInput(f"no file ends in {endings}", where=path, remedy="Is it the right folder?")
    ids = [file.rpartition(".")[0] for file in chosen]
    _refuse_twice(path, ids, chosen)
    return ids, [os.path.join(path, file) for file in chosen], {}


def _refuse_twice(path: str, ids: list[str], files: list[str]) -> None:
    seen: dict[str, str] = {}
    for name, file in zip(ids, files, strict=True):
        if name in seen:
            raise DuplicateKey(f"'{name}' is in {seen[name]} and {file}", where=path, remedy="Keep one of them.")
        seen[name] = file


def _videos(paths: list[str], root: str, raw: str) -> tuple[list[str], list[Any], dict[str, list[Any]]]:
    ids: list[str] = []
    values: list[Any] = []
    clips: list[str] = []
    for path in paths:
        video = Frames.open(path, raw)
        name = os.path.relpath(path, root or ".").replace(os.sep, "/").rpartition(".")[0] if len(paths) > 1 else "clip"
        for number in range(video.count):
            ids.append(f"{name}/{number:06d}")
            values.append(f"{path}{INSIDE}{number}")
            clips.append(name)
    return ids, values, {"clip": clips}


def _numpy(path: str) -> tuple[list[str], list[Any], dict[str, list[Any]]]:
    """The pictures in one file of NumPy: one, an array that begins with the images, or arrays by name."""
    from steelyard.maps.arrays import array_names, numpy_file

    if path[-4:].lower() == ".npz":
        names = array_names(path)
        if not names:
            raise EmptyInput("holds no array", where=path, remedy="Save one array per image.")
        return names, [f"{path}{INSIDE}{name}" for name in names], {}
    array = numpy_file(path, "")
    if not _is_batch(array.shape):
        return ["0"], [path], {}
    return [str(i) for i in range(len(array))], [f"{path}{INSIDE}{i}" for i in range(len(array))], {}


def _is_batch(shape: tuple[int, ...]) -> bool:
    """Whether the first axis counts images: four axes, or three of which neither end is channels."""
    return len(shape) > 3 or (len(shape) == 3 and shape[0] not in (1, 3, 4) and shape[2] not in (1, 3, 4))


def _in_rows(data: Any, source: str) -> Any:
    """Arrays in memory as a table, one image per row; their numbers are the ids."""
    data = to_numpy(data)
    if isinstance(data, Mapping) and data and all(_is_picture(cell) for cell in data.values()):
        data = {"image": list(data), "pixels": list(data.values())}
    if isinstance(data, np.ndarray) and data.dtype != object:
        if data.ndim < 2:
            shape = "×".join(map(str, data.shape))
            raise ShapeMismatch(f"shape {shape} is not pictures", where=source, remedy="Give images × height × width.")
        data = list(data) if _is_batch(data.shape) else [data]
    if isinstance(data, list | tuple) and not (data and isinstance(data[0], Mapping)):
        data = {"image": np.arange(len(data)), "pixels": list(data)}
    if not isinstance(data, Mapping):
        return data
    made = dict(data)
    for name in _PICTURE_COLUMNS & set(made):
        cells = to_numpy(made[name])
        if not isinstance(cells, str) and np.iterable(cells):
            made[name] = as_object([_pixels(cell) for cell in cells])
    return made


def _is_picture(cell: Any) -> bool:
    """Whether a value by itself is an array of pixels, and not a column of them."""
    return getattr(cell, "ndim", 0) in (2, 3) and to_numpy(cell).dtype != object


def _pixels(cell: Any) -> Any:
    """A cell as an array; true and false as white and black."""
    cell = to_numpy(cell)
    return cell.astype(np.uint8) * np.uint8(255) if isinstance(cell, np.ndarray) and cell.dtype == bool else cell


def _beside(table: Table, folder: str) -> Table:
    """A table of paths, which are meant from the folder that the table lies in."""
    columns = dict(table.columns)
    for name in _PICTURE_COLUMNS & set(columns):
        cells = columns[name].tolist()
        columns[name] = as_object(
            [os.path.join(folder, c) if isinstance(c, str) and c.strip() and c.lstrip()[0] != "[" else c for c in cells]
        )
    return replace(table, columns=columns)


# One source with both sides


def _one_source(task: Task, data: Any, columns: Mapping[str, str], options: Options) -> tuple[Records, Records]:
    if isinstance(data, str | PathLike) and os.path.isdir(data):
        return _one_folder(os.fsdecode(data), str(options.of("truth_name")), str(options.of("prediction_name")))
    table = read_table(_in_rows(data, "truth"), "truth")
    table = _with_ids(table, columns)
    if isinstance(data, str | PathLike):
        table = _beside(table, os.path.dirname(os.fsdecode(data)))
    check_mapping(columns, {"truth": task.truth, "prediction": task.prediction}, {"truth": table, "prediction": table})
    sides = []
    for side, schema, names in (("truth", task.truth, TRUE_NAMES), ("prediction", task.prediction, PREDICTED_NAMES)):
        own = columns.get(f"{side}.pixels") or next((name for name in names if name in table.columns), "")
        if not own:
            raise MissingData(
                f"there is no column of {'true' if side == 'truth' else 'predicted'} images",
                where=table.source,
                remedy="Give truth and predictions, or a table with the columns image, truth and prediction.",
            )
        others = {name: cells for name, cells in table.columns.items() if name != "pixels"}
        part = replace(table, columns={**others, "pixels": table.columns[own]})
        sides.append(to_records(part, schema, {}, side))
    return sides[0], sides[1]


def _with_ids(table: Table, columns: Mapping[str, str]) -> Table:
    """A table of both sides; where no column names the images, they have the names of the true files, or numbers."""
    known = {"image", *IMAGE.aliases}
    if known & set(table.columns) or any(name.rpartition(".")[2] == "image" for name in columns):
        return table
    own = columns.get("truth.pixels") or next((name for name in TRUE_NAMES if name in table.columns), "")
    cells = table.columns[own].tolist() if own in table.columns else []
    if cells and all(isinstance(cell, str) for cell in cells) and len(set(cells)) == len(cells):
        ids = as_object([os.path.splitext(cell)[0] for cell in cells])
    else:
        ids = np.arange(len(table))
    return replace(table, columns={"image": ids, **table.columns})


def _one_folder(path: str, truth_name: str, prediction_name: str) -> tuple[Records, Records]:
    """`<id>/gt.png` beside `<id>/pred.png`, or folders `gt` and `renders` beside each other."""
    files = [file for file in _files(path) if file.lower().endswith((*PICTURES, *ARRAYS))]
    wanted = (truth_name,) if truth_name else TRUE_NAMES, (prediction_name,) if prediction_name else PREDICTED_NAMES
    sides: list[dict[str, str]] = [{}, {}]
    grouped = False
    for file in files:
        steps = file.rpartition(".")[0].split("/")
        for side, names in enumerate(wanted):
            for place in range(len(steps) - 1, -1, -1):
                if steps[place].lower() in [name.lower() for name in names]:
                    rest = steps[:place] + steps[place + 1 :]
                    grouped = grouped or (place < len(steps) - 1 and place > 0)
                    name = "/".join(rest)
                    if name in sides[side]:
                        raise DuplicateKey(
                            f"'{name or steps[place]}' is in {sides[side][name]} and {file}",
                            where=path,
                            remedy="Set truth_name and prediction_name.",
                        )
                    sides[side][name] = file
                    break
    for side, names in enumerate(wanted):
        if not sides[side]:
            what = ("true", "predicted")[side]
            raise EmptyInput(
                f"no {what} image is named {', '.join(names)}",
                where=path,
                remedy="Set truth_name and prediction_name, or give two folders.",
            )
    records = []
    for file_of in sides:
        ids = sorted(file_of)
        more: dict[str, list[Any]] = {"scene": [name.rpartition("/")[0] or "." for name in ids]} if grouped else {}
        records.append(_records(path, ids, [os.path.join(path, file_of[name]) for name in ids], more))
    return records[0], records[1]


def _joinable(truth: Records, prediction: Records) -> tuple[Records, Records]:
    """Both sides with ids that fit, where names of files differ in a known way; a note says what was done."""
    own = [set(map(str, side["image"].tolist())) for side in (truth, prediction)]
    if own[0] & own[1]:
        return truth, prediction
    if len(truth) == len(prediction) == 1 and all(isinstance(s["pixels"][0], str) for s in (truth, prediction)):
        return truth, replace(prediction, columns={**prediction.columns, "image": truth["image"]})
    bare = [[_SUFFIX.sub("", str(name)) for name in side["image"].tolist()] for side in (truth, prediction)]
    if any(len(set(names)) < len(names) for names in bare) or not set(bare[0]) & set(bare[1]):
        return truth, prediction
    note(f"{prediction.source}: images are joined without what stands behind their names (x4, _SR, _gt, _out, -1).")
    return tuple(  # type: ignore[return-value]
        replace(side, columns={**side.columns, "image": as_object(names)})
        for side, names in zip((truth, prediction), bare, strict=True)
    )


def _with_columns(prediction: Records, path: str) -> Records:
    """The predictions with the numbers of a table beside them, joined by image."""
    table = read_table(path, path)
    key = next((name for name in ("image", "image_id", "name") if name in table.columns), "")
    if not key:
        raise MissingColumn("column 'image' is missing", where=path, remedy="It says which image a row is of.")
    names = list(map(str, as_ids(table, key, table.columns[key]).tolist()))
    if len(set(names)) < len(names):
        again = next(name for i, name in enumerate(names) if name in names[:i])
        raise DuplicateKey(f"image '{again}' appears twice", where=path, remedy="Keep one row per image.")
    row_of = {name: row for row, name in enumerate(names)}
    ids = list(map(str, prediction["image"].tolist()))
    lost = [name for name in ids if name not in row_of]
    if lost:
        raise Unmatched(
            f"{count_text(len(lost), 'image', 'have')} no row; the first is '{lost[0]}'",
            where=path,
            remedy="Give a row for each image.",
        )
    rows = [row_of[name] for name in ids]
    more = {name: _taken_cells(cells, rows) for name, cells in table.columns.items() if name != key}
    return replace(prediction, other={**prediction.other, **more})


def _taken_cells(cells: Any, rows: Iterable[int]) -> Any:
    return cells[list(rows)]
