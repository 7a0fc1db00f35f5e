"""Label Studio: the JSON export of a project, an array of tasks with annotations of people and predictions of models.

Coordinates are per cent of the image, whose size each region says. Truth is read from `annotations`, predictions from
`predictions`: one export may hold both sides.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    DuplicateKey,
    EmptyInput,
    InvalidFile,
    InvalidNumber,
    InvalidValue,
    MissingData,
    MissingKey,
    OutOfRange,
    first_few,
)
from steelyard.core.opening import is_entry
from steelyard.io.formats.dataset import Dataset, Gatherer, Picture
from steelyard.io.formats.format import Format, ReadOptions
from steelyard.io.formats.numbers import EXACT, LARGEST, exact, from_corners
from steelyard.io.formats.sizes import picture_size
from steelyard.io.json import expect, parse_json
from steelyard.io.text import read_bytes

BOXES, POLYGONS = ("rectanglelabels", "labels"), ("polygonlabels", "labels")
UNLABELLED = ("rectangle", "polygon")  # a second region with the same id has the label
UPLOAD = re.compile(r"^[0-9a-f]{8}-(?=.)")  # what Label Studio puts before the name of an uploaded file
_REMEDY = "Export the project as JSON (not JSON-MIN)."
Size = tuple[int, int]
Notes = Counter[tuple[str, str, str, str]]  # a word, what comes behind it, its verb, and the rest: how often


def read(path: Path, source: str, side: str, images: str | None = None) -> Dataset:
    """The annotations of all tasks, or the predictions where these are asked for."""
    text = read_bytes(path, source).decode("utf-8", "replace").removeprefix("\ufeff")
    tasks = parse_json(text, source, _REMEDY)
    if not isinstance(tasks, list):
        raise InvalidFile("the file is not an array of tasks", where=source, remedy=_REMEDY)
    gathered = Gatherer()
    notes: Notes = Counter()
    for number, task in enumerate(tasks):
        where = f"{source}, task {task.get('id', number) if isinstance(task, dict) else number}"
        expect(task, "an object", "task", where)
        chosen = _prediction(task, where) if side == "prediction" else _annotation(task, where)
        if chosen is None:
            notes["task", "without an annotation", "are", "left out"] += 1
            continue
        _read_task(gathered, task, chosen, where, side, images, notes)
    if not gathered.pictures and tasks and side != "prediction":
        raise EmptyInput("no task has an annotation", where=source, remedy="Export annotated tasks.")
    _refuse_twice(gathered.pictures, source)
    return gathered.dataset(
        source,
        "labelstudio",
        side,
        notes=[
            f"{source}: {count_text(count, word, verb, of)} {what}." for (word, of, verb, what), count in notes.items()
        ],
        by_file=True,
        by_name=True,
    )


def _annotation(task: dict[str, Any], where: str) -> dict[str, Any] | None:
    """The annotation of a task: the only one, or the one that is marked as ground truth."""
    if "annotations" not in task and "completions" not in task:
        raise MissingKey("the key 'annotations' is missing", where=where, remedy=_REMEDY)
    listed = expect(task.get("annotations", task.get("completions")), "an array", "annotations", where)
    every = [expect(annotation, "an object", "annotation", where) for annotation in listed]
    every = [annotation for annotation in every if not annotation.get("was_cancelled")]
    marked = [annotation for annotation in every if annotation.get("ground_truth")]
    chosen = marked if len(marked) == 1 else every
    if len(chosen) > 1:
        raise Conflict(
            f"the task has {len(chosen)} annotations", where=where, remedy="Keep one, or mark one as ground truth."
        )
    return chosen[0] if chosen else None


def _prediction(task: dict[str, Any], where: str) -> dict[str, Any]:
    """The prediction of a task; none is a prediction without regions."""
    listed = expect(task.get("predictions", []), "an array", "predictions", where)
    every = [expect(prediction, "an object", "prediction", where) for prediction in listed]
    if len(every) > 1:
        models = first_few([str(prediction.get("model_version", "?")) for prediction in every])
        raise Conflict(
            f"the task has predictions of {len(every)} models: {models}", where=where, remedy="Export those of one."
        )
    return every[0] if every else {"result": []}


def _read_task(
    gathered: Gatherer,
    task: dict[str, Any],
    chosen: dict[str, Any],
    where: str,
    side: str,
    images: str | None,
    notes: Notes,
) -> None:
    file, original = _file_of(task, where)
    picture = Picture(Picture(0, file).stem, file, extra={"original_name": original} if original else {})
    if "id" in task:
        picture.extra["task"] = task["id"]
    gathered.pictures.append(picture)
    regions = expect(chosen.get("result"), "an array", "result", where)
    for number, region in enumerate(regions):
        place = f"{where}, region {number}"
        expect(region, "an object", "region", place)
        kind = str(region.get("type", ""))
        value = region.get("value")
        shape = isinstance(value, dict) and _labels(value, kind)
        if not shape:
            if kind not in UNLABELLED:
                notes["result", f"of type '{kind}'", "are", "left out: only labelled boxes and polygons are read"] += 1
            continue
        size = _size(region, task, file, images, place)
        if picture.width is not None and (picture.width, picture.height) != size:
            raise Conflict(
                f"the image has {size[0]} × {size[1]} pixels here and {picture.width} × {picture.height} before",
                where=place,
                remedy="Correct original_width and original_height.",
            )
        picture.width, picture.height = size
        box, extra = _shape(value, size, place, notes)
        if region.get("id") is not None:
            extra["id"] = region["id"]
        score = _score(region, chosen, place) if side == "prediction" else None
        for label in shape:
            gathered.add(label, box, place, score=score, extra=extra)


def _labels(value: dict[str, Any], kind: str) -> list[str]:
    """The labels of a region that is a box or a polygon; none where it is something else."""
    for name in BOXES if "x" in value and "width" in value else POLYGONS if "points" in value else ():
        labels = value.get(name)
        if isinstance(labels, list) and labels and kind in (name, *UNLABELLED):
            return [str(label) for label in labels]
    return []


def _file_of(task: dict[str, Any], where: str) -> tuple[str, str]:
    """The name of the image's file, and the name that it had before it was uploaded where that is another."""
    data = expect(task.get("data"), "an object", "data", where)
    texts = [value for value in data.values() if isinstance(value, str)]
    address = data.get("image", texts[0] if len(texts) == 1 else None)
    if not isinstance(address, str) or not address.strip():
        raise MissingKey(
            f"'data' names no image; it has {first_few(list(data)) or 'no keys'}",
            where=where,
            remedy="Name the image under the key 'image'.",
        )
    parts = urlsplit(address)
    local = parse_qs(parts.query).get("d", [""])[0]
    name = local or unquote(parts.path)
    uploaded = "/data/upload/" in parts.path
    file = PurePosixPath(name).name if uploaded or parts.scheme else name.lstrip("/")
    return file, UPLOAD.sub("", file) if uploaded and UPLOAD.match(file) else ""


def _size(region: dict[str, Any], task: dict[str, Any], file: str, images: str | None, where: str) -> Size:
    """The pixels of the image: as the region or the task says, or else of the picture itself."""
    turned = region.get("image_rotation") or 0
    if turned:
        raise InvalidValue(
            f"the image is turned by {turned} degrees", where=where, remedy="Turn the file, and annotate that."
        )
    pairs = ((region, "original_width", "original_height"), (task["data"], "width", "height"))
    for holder, *names in pairs:
        sides: list[Any] = [holder.get(name) for name in names]
        if sides != [None, None]:
            if not all(isinstance(side, int | float) and side == side // 1 and 0 < side < 1e9 for side in sides):
                raise InvalidNumber(
                    f"the image has {sides[0]} × {sides[1]} pixels", where=where, remedy="Give whole numbers above 0."
                )
            return int(sides[0]), int(sides[1])
    if images and is_entry(Path(images) / file):
        return picture_size(Path(images) / file)
    raise MissingData(
        f"the size of image '{file}' is not known",
        where=where,
        remedy="Regions need original_width and original_height, or give the folder of the images (images=FOLDER).",
    )


def _shape(
    value: dict[str, Any], size: Size, where: str, notes: Notes
) -> tuple[tuple[float, float, float, float], dict[str, Any]]:
    """The box of a region in pixels, and its polygon where it has one."""
    if "points" in value:
        points = [_pixels(point, size, where) for point in expect(value["points"], "an array", "points", where)]
        if len(points) < 3:
            raise InvalidValue(f"a polygon of {len(points)} points", where=where, remedy="It needs at least three.")
        flat = [float(v) for point in points for v in point]
        return _around(points), {"segmentation": [flat]}
    corner = _pixels([value.get("x"), value.get("y")], size, where)
    wide, high = _pixels([value.get("width"), value.get("height")], size, where)
    if wide < 0 or high < 0:
        raise OutOfRange("a box of negative size", where=where, remedy="Width and height are 0 or more.")
    angle = value.get("rotation") or 0
    if not isinstance(angle, int | float) or isinstance(angle, bool) or not math.isfinite(angle):
        raise InvalidNumber(f"'rotation' is {angle!r}", where=where, remedy="It must be a number of degrees.")
    if angle % 360 == 0:
        return (float(corner[0]), float(corner[1]), float(wide), float(high)), {}
    notes["box", "", "are", "turned; the upright box around each is taken"] += 1
    return _around(list(_turned(corner, wide, high, angle))), {"rotation": angle}


def _turned(
    corner: tuple[Decimal, Decimal], wide: Decimal, high: Decimal, angle: float
) -> Iterator[tuple[Decimal, Decimal]]:
    """The corners of a box that is turned around its first corner, clockwise on a screen."""
    cos, sin = exact(math.cos(math.radians(angle))), exact(math.sin(math.radians(angle)))
    for x, y in ((Decimal(0), Decimal(0)), (wide, Decimal(0)), (Decimal(0), high), (wide, high)):
        yield (
            EXACT.add(corner[0], EXACT.subtract(EXACT.multiply(x, cos), EXACT.multiply(y, sin))),
            EXACT.add(corner[1], EXACT.add(EXACT.multiply(x, sin), EXACT.multiply(y, cos))),
        )


def _around(points: list[tuple[Decimal, Decimal]]) -> tuple[float, float, float, float]:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return from_corners(min(xs), min(ys), max(xs), max(ys))


def _pixels(pair: Any, size: Size, where: str) -> tuple[Decimal, Decimal]:
    """Two numbers that are per cent of the image, in pixels."""
    if not isinstance(pair, list) or len(pair) != 2:
        raise InvalidValue(f"{str(pair)[:40]!r} is not a point", where=where, remedy="Points are [x, y] in per cent.")
    numbers = []
    for value, pixels in zip(pair, size, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= float(LARGEST):
            raise InvalidNumber(
                f"a coordinate is {str(value)[:40]!r}", where=where, remedy="It must be a number, in per cent."
            )
        numbers.append(EXACT.divide(EXACT.multiply(exact(value), Decimal(pixels)), Decimal(100)))
    return numbers[0], numbers[1]


def _score(region: dict[str, Any], chosen: dict[str, Any], where: str) -> float:
    value = region.get("score", chosen.get("score"))
    if value is None:
        raise MissingKey("a prediction without a score", where=where, remedy="Give every region a score.")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidNumber(f"the score is {str(value)[:40]!r}", where=where, remedy="It must be a finite number.")
    return float(value)


def _refuse_twice(pictures: list[Picture], source: str) -> None:
    seen: set[Any] = set()
    for picture in pictures:
        if picture.id in seen:
            raise DuplicateKey(f"two tasks are about image '{picture.file}'", where=source, remedy="Keep one of them.")
        seen.add(picture.id)


def _read(path: Path, source: str, side: str, reading: ReadOptions, like: Dataset | None) -> Dataset:
    return read(path, source, side, reading.images)


FORMAT = Format("labelstudio", "Label Studio JSON: an array of tasks", _read)
