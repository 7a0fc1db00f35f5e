"""One unit to look at: its picture over its image, or its rows, each with its image where the data name one.

Kind and size of an image, from its first bytes: what is served is an image, whatever its name says.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core import catalogue
from steelyard.core.errors import InputError
from steelyard.core.figure import Texts
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.pairs import Pairs
from steelyard.core.records import BoxRecords, Records
from steelyard.core.scene import Scene, Steps
from steelyard.core.task import Task
from steelyard.view.folder import Outside
from steelyard.view.runs import RereadRun, Runs, StoredRun

MOST_BYTES = 64 << 20
ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")


class ImageKind(Frozen):
    """The media type, and the size in pixels."""

    media: str
    width: int
    height: int


def image_kind(data: bytes) -> ImageKind | None:
    """What image these bytes are; None for anything else, SVG among it: a script may stand in that."""
    try:
        kind = _kind(data)
    except (struct.error, IndexError):
        return None
    return kind if kind is not None and 0 < kind.width <= 1 << 20 and 0 < kind.height <= 1 << 20 else None


def _kind(data: bytes) -> ImageKind | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
        return ImageKind("image/png", *struct.unpack(">II", data[16:24]))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return ImageKind("image/gif", *struct.unpack("<HH", data[6:10]))
    if data.startswith(b"BM"):
        width, height = struct.unpack("<ii", data[18:26])
        return ImageKind("image/bmp", width, abs(height))
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    return None


def _webp(data: bytes) -> ImageKind | None:
    form = data[12:16]
    if form == b"VP8X":
        width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
    elif form == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        width, height = (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    elif form == b"VP8 ":
        width, height = (value & 0x3FFF for value in struct.unpack("<HH", data[26:30]))
    else:
        return None
    return ImageKind("image/webp", width, height)


def _jpeg(data: bytes) -> ImageKind | None:
    """Walk the segments to the frame's header; one that says that the image lies on its side is believed."""
    at, turned = 2, False
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF or marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 1 if marker == 0xFF else 2
            continue
        size = struct.unpack(">H", data[at + 2 : at + 4])[0]
        if size < 2:
            return None
        if marker == 0xE1 and data[at + 4 : at + 10] == b"Exif\0\0":
            turned = _lies(data[at + 10 : at + 2 + size])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return ImageKind("image/jpeg", *((height, width) if turned else (width, height)))
        at += 2 + size
    return None


def _lies(exif: bytes) -> bool:
    """Whether the orientation exchanges width and height, which browsers apply."""
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None:
        return False
    start = struct.unpack(f"{order}I", exif[4:8])[0]
    count = struct.unpack(f"{order}H", exif[start : start + 2])[0]
    for i in range(min(count, 200)):
        entry = exif[start + 2 + 12 * i : start + 14 + 12 * i]
        tag, _, _, value = struct.unpack(f"{order}HHIH", entry[:10])
        if tag == 0x0112:
            return 5 <= int(value) <= 8
    return False


IMAGE_COLUMNS = ("image", "file_name", "file", "path", "frame")
BESIDE = ("", "images", "frames", "imgs")
MOST_ROWS, MOST_COLUMNS = 200, 12


class UnitRows(Frozen):
    """A table of a unit's rows; `images` names each row's image, or nothing."""

    title: str
    header: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    images: tuple[str, ...]
    left: int = 0


def unit_steps(data: RereadRun, unit: int) -> Steps | None:
    """The pictures of a unit, where it has many."""
    task = catalogue.find_task(data.report.task)
    steps = task.steps(data.measured.pairs, unit) if task.steps is not None else None
    return steps if steps is not None and steps.numbers else None


def has_threshold(data: RereadRun) -> bool:
    """Whether the pictures of a run show detections from a score on."""
    task = catalogue.find_task(data.report.task)
    return task.scene is not None and any(hasattr(metric, "score") for metric in list(_metrics(data, task))[:1])


def unit_scene(data: RereadRun, unit: int, step: int | None = None, threshold: float | None = None) -> Scene | None:
    """What a picture of the unit shows, where the task has pictures; of a unit that has many, the one of a step.

    `threshold` is the score from which detections are shown and matched.
    """
    task = catalogue.find_task(data.report.task)
    if task.scene is None:
        return None
    steps = () if step is None else (step,)
    for metric in _metrics(data, task):
        if threshold is not None and hasattr(metric, "score"):
            metric = replace(metric, **{"score": threshold})
        try:
            return task.scene(data.measured.pairs, unit, metric, *steps)
        except InputError:  # this one makes no pairs
            continue
    return None


def _metrics(data: RereadRun, task: Task) -> Iterable[Metric]:
    first = task.view("pictured")
    for spec in dict.fromkeys([*([first] if first else []), *data.report.scores, *task.defaults]):
        yield catalogue.parse(spec, task.name)


def unit_rows(data: RereadRun, unit: int) -> list[UnitRows]:
    """The rows of a unit on both sides; one table where they are joined one to one."""
    task = catalogue.find_task(data.report.task)
    pairs, units = data.measured.pairs, data.units
    if isinstance(pairs, Pairs):
        at = np.flatnonzero(pairs.owner == unit)
        mine, theirs = pairs.truth_row[at], pairs.prediction_row[at]
        if len(at) == 1 and not any(name in pairs.truth or name in pairs.truth.other for name in IMAGE_COLUMNS):
            return _one_row(pairs, task, mine, theirs)
        columns: dict[str, list[str]] = {}
        for name, texts in _columns(pairs.truth, mine).items():
            if name != task.truth.key[0]:
                columns[name] = texts
            if name not in task.truth.key and name in task.prediction.names and name in pairs.prediction:
                predicted = (
                    _texts(pairs.prediction[name][np.maximum(theirs, 0)]) if len(pairs.prediction) else [""] * len(at)
                )
                columns[f"predicted {name}"] = [
                    text if row >= 0 else "" for text, row in zip(predicted, theirs, strict=True)
                ]
        return [_rows("Rows", columns)] if len(at) else []
    shown = []
    for title, records in (("Truth", data.measured.truth), ("Predictions", data.measured.prediction)):
        key = task.truth.key[0]
        if key not in records.columns:
            continue
        ids = records[key]
        wanted = units[unit]
        hits = ids == wanted if ids.dtype.kind in "iu" else [str(v) == str(wanted) for v in ids.tolist()]
        rows = np.flatnonzero(np.asarray(hits, dtype=bool))
        if len(rows):
            shown.append(_rows(title, {k: v for k, v in _columns(records, rows).items() if k != key}))
    return shown or _listed_rows(data, unit)


def _one_row(pairs: Pairs, task: Task, mine: Any, theirs: Any) -> list[UnitRows]:
    """The only row of a unit, column by column: what is true, and what was predicted."""
    truth = _columns(pairs.truth, mine)
    predicted = _columns(pairs.prediction, theirs) if theirs[0] >= 0 else {}
    names = [name for name in dict.fromkeys([*truth, *predicted]) if name not in task.truth.key]
    cells = tuple((name, *(side.get(name, [""])[0] for side in (truth, predicted))) for name in names)
    return [UnitRows("Values", ("", "truth", "prediction"), cells, ("",) * len(cells))] if cells else []


def _listed_rows(data: RereadRun, unit: int) -> list[UnitRows]:
    """What the task lists of a unit, in the order of its first number: the documents of a query by rank."""
    listing = data.report.listing()
    column = None if listing is None else listing.columns.get(data.report.unit)
    if listing is None or not isinstance(column, Texts):
        return []
    rows = np.flatnonzero(np.asarray(column.names, dtype=object)[column.codes] == str(data.units[unit]))
    first = listing.columns.get(listing.x)
    if first is not None and not isinstance(first, Texts):
        rows = rows[np.argsort(np.asarray(first)[rows], kind="stable")]
    others = {name: values for name, values in listing.columns.items() if name != data.report.unit}
    texts = {
        name: [values.names[code] for code in values.codes[rows].tolist()]
        if isinstance(values, Texts)
        else _texts(np.asarray(values)[rows])
        for name, values in others.items()
    }
    return [_rows(listing.title, texts)] if len(rows) else []


def _columns(records: Records, rows: Any) -> dict[str, list[str]]:
    columns = {**records.columns, **records.other}
    return {
        name: _texts(column[rows])
        for name, column in list(columns.items())[:MOST_COLUMNS]
        if len(column) == len(records)
    }


def _texts(values: Any) -> list[str]:
    return [_text(value) for value in np.asarray(values).tolist()[: MOST_ROWS + 1]]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.6g}"
    if isinstance(value, tuple | list):
        return ", ".join(map(_text, value))[:500]
    return "" if value is None else str(value)[:500]


def _rows(title: str, columns: dict[str, list[str]]) -> UnitRows:
    named = next((name for name in IMAGE_COLUMNS if name in columns), None)
    count = max(map(len, columns.values()), default=0)
    images = tuple((columns.pop(named) if named else [""] * count)[:MOST_ROWS])
    cells = tuple(zip(*(column[:MOST_ROWS] for column in columns.values()), strict=True)) or ((),) * len(images)
    return UnitRows(title, tuple(columns), cells, images, max(0, count - MOST_ROWS))


class ImageFile(Frozen):
    """An image of the folder: its name, what it is, its bytes."""

    name: str
    kind: ImageKind
    data: bytes


class Images:
    """The images of the folder's runs, by unit or by the name that the data give."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs

    def of_unit(self, run: StoredRun, data: RereadRun, unit: int, scene: Scene | None = None) -> ImageFile | None:
        """The image that a scene names, of a unit whose id is an image, or that COCO's file names."""
        named = [where for name in scene.images for where in self._places(run, data, name, data.truth)] if scene else []
        image = next((image for where in named if (image := self._open(where)) is not None), None)
        others = (self.find_image(run, data, name) for name in self.names(run, data, unit))
        return image or next((other for other in others if other is not None), None)

    def names(self, run: StoredRun, data: RereadRun, unit: int) -> list[str]:
        """What a unit's image may be called."""
        names = []
        wanted = str(data.units[unit])
        if isinstance(data.measured.truth, BoxRecords):
            listed = self.runs.once(("files", run.id, run.changed), lambda: self._coco(data.truth))
            names = [listed[wanted]] if wanted in listed else []
        if data.report.unit == "image":
            names.append(wanted)
        return names

    def find_image(self, run: StoredRun, data: RereadRun, name: str) -> ImageFile | None:
        """The image that data name: beside the truth, beside the result, from the folder's top, or in `images`."""
        return next(
            (image for where in self._places(run, data, name) if (image := self._open(where)) is not None), None
        )

    def lies(self, run: StoredRun, data: RereadRun, name: str) -> bool:
        """Whether a file of that name is there; it is not read."""
        return any(self._is_file(where) for where in self._places(run, data, name))

    def _places(self, run: StoredRun, data: RereadRun, name: str, *more: str) -> Iterator[tuple[str, str]]:
        """Where a name may lie; `more` are further folders, such as that of the truth."""
        bases = dict.fromkeys([*more, data.truth.rpartition("/")[0], run.name.rpartition("/")[0], ""])
        endings = ("",) if name.lower().endswith(ENDINGS) else ENDINGS
        for base in bases:
            for beside in BESIDE:
                where = "/".join(part for part in (base, beside) if part)
                for ending in endings:
                    yield name + ending, where

    def _is_file(self, where: tuple[str, str]) -> bool:
        try:
            self.runs.folder.path(self.runs.folder.relative(*where))
        except Outside:
            return False
        return True

    def _open(self, where: tuple[str, str]) -> ImageFile | None:
        folder = self.runs.folder
        try:
            inside = folder.relative(*where)
            data = folder.read(inside, MOST_BYTES)
        except Outside:
            return None
        kind = image_kind(data)
        return None if kind is None else ImageFile(inside, kind, data)

    def _coco(self, truth: str) -> dict[str, str]:
        """The file names of a COCO file, by the image's id."""
        try:
            listed = json.loads(self.runs.folder.read(truth, 256 << 20))["images"]
            return {str(image["id"]): image["file_name"] for image in listed if isinstance(image.get("file_name"), str)}
        except (Outside, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}
