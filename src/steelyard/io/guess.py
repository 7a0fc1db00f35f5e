"""Which task some files are for: by their formats, keys and column names, never by their values.

`guess(paths)` looks at the beginning of each file. The first path is the ground truth, the others are predictions; a
single table may hold both. What a file can be for is a set of tasks; the answer is what all files have in common. Of
two tasks that fit a table, the one that uses more of its columns is meant: a table of boxes has labels, too.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core import catalogue
from steelyard.core.counts import count_text
from steelyard.core.errors import InputError, MissingFile
from steelyard.core.frozen import Frozen
from steelyard.core.opening import is_entry, read_regular
from steelyard.core.task import Task
from steelyard.io.formats import dota
from steelyard.io.formats.xml import root_name
from steelyard.io.read import READERS, read_table
from steelyard.io.text import BOM, ending, labelled_by, open_bytes, open_text, sheet_path

HEAD = 1 << 16  # bytes in which the first record of a file is looked for
MOST_HEAD = 1 << 24
MOST_SCANNED = 1 << 32  # bytes of a JSON file in which its annotations are looked for
LEAST_SHARE = 0.3  # of a task's columns, for it to be suggested
RECORDS = 20  # so many records say which keys a file has
ENTRIES = 5000  # so many files say what a folder holds
VOLUMES = (".nii.gz", ".nii", ".hdr", ".hdr.gz", ".nrrd", ".nhdr", ".mha", ".mhd")
MAPS = (".png", ".tif", ".tiff", ".pfm")
ARRAYS = (".npy", ".npz")
# Endings of maps of values, and the tasks that they are for.
FIELDS = {".dpt": ("depth",), ".flo": ("flow",), ".flo5": ("flow",), ".dsp5": ("disparity",)}
FIELD_NAMES = {"depth": "depth", "normal": "normals", "normals": "normals"}  # of arrays in .npz files
PHOTOS = (".jpg", ".jpeg", ".webp", ".bmp", ".ppm", ".pgm")
VIDEOS = (".y4m", ".yuv")
MOST_COLOURS = 64  # of a label map, in every third row and column
OPEN_IMAGES = ("ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax")
# Keys of a COCO record, the task that each says, and the key as messages name it.
COCO = {
    "bbox": "boxes",
    "segmentation": "masks",
    "keypoints": "keypoints",
    "obb": "oriented",
    "rbox": "oriented",
    "poly": "oriented",
}
# Of tasks whose schema leaves a choice: the columns of which one set must be there, for each side.
_ORIENTED = (("cx", "cy", "w", "h", "angle"), tuple(f"{axis}{i}" for i in range(1, 5) for axis in "xy"))
_ELLIPSES = (("xc", "yc", "a", "b", "theta"), ("points",))
_CAPTIONS = (("caption",), ("tuples",))
_TRACKS = (("x", "y", "w", "h"), ("x", "y", "right", "bottom"), ("mask",))
_SOLIDS = (("x", "y", "z", "length", "width", "height", "yaw"), ("left", "top", "right", "bottom"))
_NUTRIENTS = tuple((name,) for name in ("energy", "carbohydrate", "protein", "fat", "ingredients", "target"))
_VECTORS = (("features",), ("probs",), ("logits",))
CHOICES: dict[str, dict[str, tuple[tuple[str, ...], ...]]] = {
    "labels": {
        "truth": (("label",), ("labels",)),
        "prediction": (("label",), ("labels",), ("probability",), ("score",)),
    },
    "documents": {
        "truth": (("text",), ("html",), ("latex",), ("markdown",)),
        "prediction": (("text",), ("html",), ("latex",), ("markdown",)),
    },
    "anomalies": {
        "truth": (("map", "object"), ("map", "defect"), ("label", "object"), ("label", "defect")),
        "prediction": (("map",), ("score",)),
    },
    "distributions": {"truth": _VECTORS, "prediction": _VECTORS},
    "grounding": {
        "truth": (("x", "y", "w", "h"), ("mask",)),
        "prediction": (("x", "y", "w", "h"), ("mask",), ("px", "py"), ("reply",)),
    },
    "images": {"truth": (("pixels",),), "prediction": (("pixels",),)},
    "nutrients": {"truth": _NUTRIENTS, "prediction": _NUTRIENTS},
    "answers": {"truth": (("answer",), ("answers",)), "prediction": (("answer",), ("outcome",))},
    "losses": {"truth": (("target",), ("value",)), "prediction": (("logit",), ("value",))},
    "oriented": {"truth": _ORIENTED, "prediction": _ORIENTED},
    "ellipses": {"truth": _ELLIPSES, "prediction": _ELLIPSES},
    "captions": {"truth": _CAPTIONS, "prediction": _CAPTIONS},
    "tracking": {"truth": _TRACKS, "prediction": _TRACKS},
    "boxes3d": {"truth": _SOLIDS, "prediction": _SOLIDS},
}


class Seen(Frozen):
    """What a file looks like: a description, and the tasks that it may be for with the columns that each would use.

    `options` are those of the task that it needs to be read. `columns` are the names in a table.
    """

    what: str
    tasks: Mapping[str, frozenset[str]] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    is_result: bool = False


class Guess(Frozen):
    """The tasks that fit all files, best first, what each file looks like, and the order of the files.

    `near` are tasks for which columns are missing, by task: the columns, and which of the file's may be meant.
    `truth` is the place of the ground truth among the files, which is not 0 if they were named in another order.
    """

    tasks: tuple[str, ...]
    seen: tuple[Seen, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    near: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    truth: int = 0


def guess(paths: Sequence[str], columns: Mapping[str, str] | None = None) -> Guess:
    """The tasks that files may be for. `columns` are the user's own names of columns, as in `evaluate`."""
    mapping = dict(columns or {})
    files = [_first_of(path) for path in paths]
    if len(files) == 1:
        seen = look(files[0], "both", mapping)
        return Guess(_most_specific(seen.tasks), (seen,), seen.options, near=_near([seen], mapping))
    for truth in range(len(files)):
        order = [files[truth], *files[:truth], *files[truth + 1 :]]
        sides = [look(file, "prediction" if i else "truth", mapping) for i, file in enumerate(order)]
        tasks = _common([side.tasks for side in sides])
        if tasks:
            options = {name: value for side in sides for name, value in side.options.items()}
            return Guess(_most_specific(tasks), tuple(sides), options, truth=truth)
        if truth == 0:
            first = sides
    return Guess((), tuple(first), near=_near(first, mapping))


def _first_of(path: str) -> Path:
    """The file that a path names, or the first that a pattern matches."""
    if not os.path.lexists(path) and glob.has_magic(path):
        path = min(glob.iglob(path), default=path)
    if not os.path.exists(sheet_path(path)[0]):
        raise MissingFile("there is no such file", where=path, remedy="Check the path.")
    return Path(path)


def _common(sides: Sequence[Mapping[str, frozenset[str]]]) -> dict[str, frozenset[str]]:
    """The tasks of all sides, each with the columns that it uses on any."""
    shared = {}
    for task in sides[0]:
        if all(task in side for side in sides):
            used = [{f"{'prediction' if i else 'truth'}.{name}" for name in side[task]} for i, side in enumerate(sides)]
            shared[task] = frozenset().union(*used)
    return shared


def _most_specific(tasks: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """The tasks of which no other knows all columns that they use, and uses more."""

    def is_part(task: str, other: str) -> bool:
        return len(tasks[task]) < len(tasks[other]) and tasks[task] <= _known_columns(other)

    return tuple(task for task in tasks if not any(is_part(task, other) for other in tasks))


def _known_columns(name: str) -> set[str]:
    """The columns that a task can read, with and without the side before them."""
    task = catalogue.TASKS[name]
    sides = {"truth": task.truth.names, "prediction": task.prediction.names}
    sided = {f"{side}.{column}" for side, columns in sides.items() for column in columns}
    return {*sided, *task.truth.names, *task.prediction.names, *task.joint_columns.values()}


def is_regular(path: Path) -> bool:
    """Whether a path, without the sheet behind it, is a regular file."""
    return Path(sheet_path(str(path))[0]).is_file()


def look(path: Path, side: str, mapping: Mapping[str, str]) -> Seen:
    """What a file or folder looks like on a side: "truth", "prediction" or "both"."""
    if path.is_dir():
        seen = _folder(path)
        if side != "truth" and "segmentation" in seen.tasks:  # maps of scores look like maps of labels
            seen = replace(seen, tasks={**seen.tasks, "anomalies": frozenset()})
        return seen
    if not is_regular(path):
        return Seen("not a regular file, so it can be read only once")
    suffix, name = ending(path), path.name.lower()
    if name.endswith(VOLUMES):
        return Seen("a volume", {"volumes": frozenset()})
    if suffix in FIELDS:
        return _of("a map of values", *FIELDS[suffix])
    if suffix in PHOTOS:
        return _of("a picture", "images")
    if suffix in VIDEOS:
        return _of("a video", "images")
    if suffix in MAPS:
        return _of("a map", *_map_tasks(path))
    if suffix in ARRAYS:
        return _arrays(path)
    if suffix == ".json":
        return _json(path, side, mapping)
    if suffix in READERS:
        return _table(path, side, mapping)
    if suffix in (".yaml", ".yml"):
        return Seen("a YOLO data set", {"boxes": frozenset()})
    if suffix == ".xml":
        return _xml([path])
    if suffix == ".zip":
        return Seen("an archive of tracks", {"tracking": frozenset()})
    if suffix == ".eval":
        return Seen("a log of Inspect", {"answers": frozenset()})
    return _text([path])


def _of(what: str, *tasks: str, options: Mapping[str, str] | None = None) -> Seen:
    return Seen(what, dict.fromkeys(tasks, frozenset()), options or {})


# Folders and text files


def _folder(path: Path) -> Seen:
    """What a folder holds, by the endings of its files and the first lines of text."""
    if _is_anomaly_set(path) or any(_is_anomaly_set(inner) for inner in islice(_folders(path), ENTRIES)):
        return _of("a folder of MVTec AD or LOCO", "anomalies")
    files = list(islice(_walk(path), ENTRIES))
    names = [file.name.lower() for file in files]
    if any(name.endswith(VOLUMES) for name in names):
        return _of("a folder of volumes", "volumes")
    for suffix, recognize in ((".txt", _text), (".xml", _xml)):
        seen = recognize([file for file in files if file.suffix.lower() == suffix])
        if seen.tasks:
            return seen
    if any(name.endswith(".eval") or (name.endswith(".jsonl") and "samples_" in name) for name in names):
        return _of("a folder of logs", "answers")
    for suffix, tasks in FIELDS.items():
        if any(name.endswith(suffix) for name in names):
            return _of(f"a folder of {suffix} files", *tasks)
    if any(name.endswith(PHOTOS) for name in names):
        return _of("a folder of pictures", "images")
    if any(name.endswith(VIDEOS) for name in names):
        return _of("a folder of videos", "images")
    maps = [file for file in files if file.name.lower().endswith(MAPS)]
    if maps:
        return _of("a folder of maps", *_map_tasks(maps[0]))
    arrays = [file for file in files if file.suffix.lower() in ARRAYS]
    if arrays:
        return Seen("a folder of arrays", _arrays(arrays[0], one=True).tasks)
    endings = sorted({file.suffix.lower() or "no extension" for file in files})
    return Seen(f"a folder of {', '.join(endings[:4])} files" if endings else "an empty folder")


def _folders(path: Path) -> Iterator[Path]:
    return (inner for inner in sorted(path.iterdir()) if inner.is_dir())


def _is_anomaly_set(path: Path) -> bool:
    """Whether a folder holds test images and their masks, as MVTec lays them out."""
    tests = [path / name for name in ("test", "test_public") if (path / name).is_dir()]
    return any((place / "ground_truth").is_dir() for place in (path, *tests)) and bool(tests)


def _map_tasks(path: Path) -> tuple[str, ...]:
    """What an image may hold, by its bits and channels: 16 bits of grey may be labels, depth or disparity."""
    if path.suffix.lower() == ".pfm":
        return ("disparity",) if is_entry(path) and _head(path, 2) == b"Pf" else ("flow", "normals")
    if path.suffix.lower() != ".png" or not is_entry(path):
        return ("segmentation",)
    head = _head(path, 32)
    if head[24:26] == b"\x10\x00":
        return ("segmentation", "depth", "disparity")
    if head[24:26] == b"\x10\x02":
        return ("flow",)
    if _is_photo(path):
        return ("images",)
    return ("segmentation", "normals") if head[25:26] == b"\x02" else ("segmentation",)


def _is_photo(path: Path) -> bool:
    """Whether a PNG has more colours than label maps do, and they are not vectors of length 1."""
    from steelyard.maps.png import png_file

    try:
        file = png_file(read_regular(path), str(path))
        if not file.colours:
            return False
        colours = list(set(file.map()[::3, ::3].ravel().tolist()))
    except InputError:
        return False
    sizes = [sum(((c >> shift & 255) / 127.5 - 1) ** 2 for shift in (0, 8, 16)) for c in colours]
    return len(colours) > MOST_COLOURS and sum(abs(size - 1) < 0.05 for size in sizes) < 0.9 * len(sizes)


def _walk(path: Path) -> Iterator[Path]:
    """The files below a folder, those of the upper folders first."""
    for folder, inner, names in os.walk(path):
        inner.sort()
        yield from (Path(folder) / name for name in sorted(names) if not name.startswith("."))


def _xml(files: Sequence[Path]) -> Seen:
    """What XML files are, by the root of the first."""
    root = root_name(files[0]) if files else ""
    if root == "annotation":
        return _of("VOC annotations", "boxes")
    if root == "HRSC_Image":
        return _of("HRSC annotations", "oriented")
    if root == "annotations":
        with open_bytes(files[0], str(files[0])) as file:
            tracks = any(b"<track" in chunk for chunk in iter(lambda: file.read(HEAD), b""))
        return _of("CVAT tracks", "tracking", "boxes") if tracks else _of("CVAT annotations", "boxes")
    return Seen(f"XML whose root is '{root}'" if root else "a file that cannot be read as XML")


def _text(files: Sequence[Path]) -> Seen:
    """What text files are, by the first line of one that says it."""
    seen = Seen("text files without a line")
    if any(file.name.startswith(dota.RESULTS) for file in files):
        return _of("DOTA results", "oriented")
    for file in islice(files, 50):
        line = _first_line(file)
        if line.startswith(dota.HEADS):
            return _of("DOTA labels", "oriented")
        words = line.replace(",", " ").split()
        if words and (seen := _line(words, "," in line)).tasks:
            return seen
    return seen


def _first_line(file: Path) -> str:
    if not is_entry(file):
        return ""
    try:
        with open_text(file, str(file)) as text:
            return next((line for line in islice(iter(lambda: text.readline(HEAD), ""), 100) if line.strip()), "")
    except InputError:
        return ""


def _line(words: Sequence[str], commas: bool) -> Seen:
    """What a line of text says about its file, by how many fields it has and which are numbers."""
    numbers = [_is_number(word) for word in words]
    count = len(words)
    if commas:
        if count >= 7 and all(numbers[:6]):
            return _of("MOTChallenge tracks", "tracking")
    elif count in (17, 18) and numbers[0] and not numbers[2]:
        return _of("KITTI tracks", "tracking")
    elif count in (15, 16) and not numbers[0] and all(numbers[1:]):
        return _of("KITTI labels", "boxes3d")
    elif count in (9, 10) and all(numbers[:8]) and not numbers[8]:
        return _of("DOTA labels", "oriented")
    elif count == 6 and all(numbers[:5]) and not numbers[5]:
        return _of("MOTS tracks", "tracking")
    elif count == 6 and words[1].upper() == "Q0":
        return _of("a TREC run", "rankings")
    elif count == 4 and numbers[3] and words[1] in ("0", "Q0"):
        return _of("TREC judgements", "rankings")
    elif count in (5, 6) and all(numbers):
        return _of("YOLO labels", "boxes")
    elif count in (9, 10) and all(numbers):
        return _of("YOLO labels of four corners", "oriented", "boxes")
    elif count >= 7 and all(numbers):
        return _of("YOLO polygons", "boxes")
    return Seen(f"text lines of {count_text(count, 'field')}")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _arrays(path: Path, one: bool = False) -> Seen:
    """A file of NumPy: vectors, maps or volumes, by names and axes. `one` says that it holds a single map."""
    from steelyard.maps.arrays import array_names, numpy_file

    names = array_names(str(path)) if path.suffix.lower() == ".npz" else [""]
    if {"query", "query_label", "gallery", "gallery_label"} & set(names):
        return _of("vectors of queries and a gallery", "rankings")
    if {"features", "feats", "pool_3", "mu", "sigma", "probs", "logits"} & set(names):
        return _of("feature vectors or their statistics", "distributions")
    named = [task for name, task in FIELD_NAMES.items() if name in names]
    if named:
        return _of(f"an array of {named[0]}", *named)
    array = numpy_file(str(path), names[0]) if names else np.zeros(0)
    axes = array.ndim + one if names else 0
    if axes == 2 and not one:
        return _of("a matrix of feature vectors", "distributions")
    if axes == 3:
        return _of("maps in an array", "segmentation", *(["depth"] if array.dtype.kind == "f" else []))
    if axes == 4 and array.dtype.kind == "f" and 3 in (array.shape[-1], array.shape[-3]):
        return _of(f"an array of {axes} axes", "volumes", "segmentation", "normals")
    if axes >= 4:
        return _of(f"an array of {axes} axes", "volumes", "segmentation")
    return Seen("a file of NumPy")


# JSON


def _json(path: Path, side: str, mapping: Mapping[str, str]) -> Seen:
    if labelled_by(path) == "labelstudio":
        return _of("an export of Label Studio", "boxes")
    head = _head(path, HEAD)
    if head.startswith(b"["):
        records = _records(path, 0)
        keys = {key for record in records for key in record}
        if not records:
            return _coco([], "COCO results", side == "prediction")
        if "image_id" in keys and keys & {*COCO}:
            return _coco(records, "COCO results", side == "prediction")
        return _names(keys, side, mapping)
    if not head.startswith(b"{"):
        return Seen("a file that is not JSON")
    if re.match(rb'\{\s*"format"\s*:\s*"steelyard"', head):
        return Seen("a result of Steelyard", is_result=True)
    place = _place_of(path, rb'"annotations"\s*:\s*\[')
    if place >= 0:
        records = _records(path, place)
        if any("segments_info" in record for record in records):
            return _of("COCO panoptic annotations", "panoptic")
        if any("caption" in record for record in records):
            return _of("COCO captions", "captions")
        if any("question_id" in record for record in records):
            return _of("VQA annotations", "answers")
        return _coco(records, "COCO annotations", side == "truth")
    if _place_of(path, rb'"results"\s*:\s*\{') >= 0:
        return _of("nuScenes boxes", "boxes3d")
    if b'"eval"' in head[:4096]:
        return _of("a log of Inspect", "answers")
    if re.match(rb'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*-?[0-9.]', head):
        return _of("numbers of documents by query", "rankings")
    return Seen("a JSON object")


def _head(path: Path, size: int) -> bytes:
    with open_bytes(path, str(path)) as file:
        return file.read(size).removeprefix(BOM).lstrip()


def _place_of(path: Path, pattern: bytes) -> int:
    """Where a pattern begins in a file, or -1."""
    look_for, before, offset = re.compile(pattern), b"", 0
    with open_bytes(path, str(path)) as file:
        while chunk := file.read(1 << 20):
            text = before + chunk
            if match := look_for.search(text):
                return offset - len(before) + match.start()
            offset += len(chunk)
            if offset > MOST_SCANNED:
                break
            before = text[-256:]
    return -1


def _records(path: Path, place: int) -> list[dict[str, Any]]:
    """The first objects of the array that begins at or behind a place of a file."""
    size = HEAD
    while True:
        with open_bytes(path, str(path)) as file:
            rest = place
            while rest > 0 and (skipped := file.read(min(rest, 1 << 20))):
                rest -= len(skipped)
            text = file.read(size)
        records = list(islice(_objects(text.decode("utf-8", "replace")), RECORDS))
        if records or len(text) < size or size >= MOST_HEAD:
            return records
        size *= 16


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The whole objects at the beginning of an array."""
    decoder = json.JSONDecoder()
    place = text.find("[") + 1
    while place:
        start = re.compile(r"[\s,]*").match(text, place)
        place = start.end() if start else place
        if text[place : place + 1] != "{":
            return
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return
        yield value


def _coco(records: Sequence[Mapping[str, Any]], what: str, fits: bool) -> Seen:
    """The tasks of COCO records, by their keys; none where such a file does not fit on its side."""
    keys = [key for key in COCO if any(_holds(record.get(key)) for record in records)]
    tasks = dict.fromkeys(COCO[key] for key in keys)
    what = f"{what} with {' and '.join(keys) or 'neither boxes nor masks'}"
    if not records:
        tasks, what = dict.fromkeys(COCO.values()), what.replace("with neither boxes nor masks", "without a record")
    elif "oriented" in tasks or any(_length(record.get("bbox")) == 5 for record in records):
        tasks = {"oriented": None}
    return _of(what, *(tasks if fits else ()))


def _holds(value: Any) -> bool:
    return value is not None and value != []


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


# Tables


def _table(path: Path, side: str, mapping: Mapping[str, str]) -> Seen:
    if labelled_by(path) == "roboflow":
        return _of("an export of Roboflow", "boxes")
    names = column_names(path)
    if {*OPEN_IMAGES} <= {*names}:
        return _of("Open Images boxes", "boxes", options={"format": "openimages"})
    return _names(names, side, mapping)


def column_names(path: Path) -> list[str]:
    """The names of a table's columns; of most formats only the beginning of the file is read."""
    source, suffix = str(path), ending(path)
    if suffix in (".csv", ".tsv"):
        from steelyard.io.csv import header_names

        return header_names(path, source, "\t" if suffix == ".tsv" else ",")
    if suffix in (".jsonl", ".ndjson"):
        head = _head(path, MOST_HEAD).partition(b"\n")[0].decode("utf-8", "replace")
        return list(next(_objects(f"[{head}"), {}))
    return list(read_table(source, "truth").columns)


def _names(names: Iterable[str], side: str, mapping: Mapping[str, str]) -> Seen:
    """The tasks whose columns a table has, and those columns."""
    names = list(names)
    tasks, _ = catalogue.loaded_tasks()
    fitting = {
        name: frozenset(used) for name, task in tasks.items() if (used := _used(task, names, side, mapping)) is not None
    }
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return Seen(f"a table with the columns {shown}" if names else "an empty table", fitting, columns=tuple(names))


def _used(task: Task, names: Sequence[str], side: str, mapping: Mapping[str, str]) -> set[str] | None:
    """The columns of a table that a task needs, or None where some are missing, or where the key is all it needs."""
    if task.reader == "fields":  # a table of maps says no more than that they are maps
        return None
    values = [column.name for column in task.truth.columns if column.required and column.name not in task.truth.key]
    if task.name not in CHOICES and not values:
        return None
    if side != "both":
        used, lacking = _needed(task, side, names, mapping)
        return None if lacking else used
    if not task.joint_columns:
        return None
    used, lacking = _needed(task, "truth", names, mapping)
    predicted, without = _needed(task, "prediction", names, mapping, task.joint_columns)
    return None if lacking or without else used | predicted


def _needed(
    task: Task, side: str, names: Sequence[str], mapping: Mapping[str, str], joint: Mapping[str, str] | None = None
) -> tuple[set[str], list[str]]:
    """The columns that a task uses, and those that it lacks: of a choice, those of the set that lacks the fewest.

    `joint` are the names of predicted columns in a table of both sides.
    """
    schema = task.truth if side == "truth" else task.prediction

    def is_there(name: str) -> bool:
        column = schema.column(name)
        assert column is not None
        word, aliases = (joint[name], ()) if joint else (name, column.aliases)
        own = mapping.get(f"{side}.{name}"), mapping.get(name)
        classes = column.many and any(other.startswith(f"{word}:") for other in names)
        return bool(classes) or any(other in names for other in (word, *aliases, *own))

    required = [column.name for column in schema.columns if column.required]
    sets = CHOICES.get(task.name, {}).get(side, ((),))
    if joint:
        required = [name for name in required if name in joint]
        sets = tuple(names for names in sets if all(name in joint for name in names))
    wanted = [dict.fromkeys([*required, *names]) for names in sets]
    lacking = [[name for name in names if not is_there(name)] for names in wanted]
    best = min(range(len(sets)), key=lambda i: len(lacking[i]))
    used = {joint[name] if joint else name for name in wanted[best] if name not in lacking[best]}
    return used, lacking[best]


def _near(sides: Sequence[Seen], mapping: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Tasks of which tables have some columns, the nearest first: what is missing, and the column that may be meant.

    A column counts for more, the fewer tasks need it; one that may be meant counts half. Tasks for which every column
    may be there hide the others.
    """
    if len(sides) < 2 or not all(side.columns for side in sides):
        return {}
    tasks, _ = catalogue.loaded_tasks()
    seen = (("truth", sides[0].columns), ("prediction", sides[1].columns))
    needs = {name: [_needed(task, side, names, mapping) for side, names in seen] for name, task in tasks.items()}
    needing = Counter(name for each in needs.values() for used, lacking in each for name in {*used, *lacking})
    rows = []
    for task in tasks.values():
        (used, missing), (more, also) = needs[task.name]
        meant = {f"truth.{name}": _meant(name, sides[0].columns) for name in missing}
        joint = task.joint_columns or {}
        meant |= {f"prediction.{name}": _meant(name, sides[1].columns, name in joint) for name in also}
        weight = {name: 1 / needing[name] for name in (*used, *more, *missing, *also)}
        whole = sum(weight[name] for name in (*used, *more, *missing, *also))
        share = sum(weight[name] for name in (*used, *more))
        share += sum(weight[name.partition(".")[2]] for name, column in meant.items() if column) / 2
        if whole and share / whole >= LEAST_SHARE:
            for name in set(missing) & set(also):  # one name for both sides
                if meant[f"truth.{name}"] == meant[f"prediction.{name}"]:
                    meant[name] = meant.pop(f"truth.{name}")
                    del meant[f"prediction.{name}"]
            rows.append((share / whole, task.name, meant))
    rows.sort(key=lambda row: -row[0])
    whole_rows = [row for row in rows if all(row[2].values())]
    return {name: meant for _, name, meant in (whole_rows or rows)[:3]}


def _meant(name: str, columns: Sequence[str], predicted: bool = False) -> str:
    """The one column with a missing one's name as a word or, of predicted values, a word such as "predicted"; or ""."""
    words = {column: re.split(r"[^a-z]+", column.lower()) for column in columns}
    likely = [
        column
        for column in columns
        if name in words[column] or (predicted and any(word.startswith("pred") for word in words[column]))
    ]
    return likely[0] if len(likely) == 1 else ""
