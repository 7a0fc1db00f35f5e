"""Tables of boxes (CSV, TSV, JSON lines, Parquet): one row per box, with as many columns as there are things to say.

`image`, `label`, `x`, `y`, `w`, `h`, and `score`, `area`, `crowd`, `difficult`, `group_of` are what `evaluate` knows;
rotated ones have `cx`, `cy`, `w`, `h`, `angle` or `x1`, `y1` to `x4`, `y4`. `id`, `name` (of the class), `file`,
`width`, `height` (of the image) and `segmentation` (as JSON) are read and written too. A row with an image and no label
is an image without objects. Other columns are carried along.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import Conflict, InvalidFile, InvalidNumber, InvalidValue, MissingColumn, OutOfRange
from steelyard.core.quads import CORNERS, RECTANGLE, corners_of, extents_of
from steelyard.core.records import Array
from steelyard.io.formats.corners import corners_of_dataset
from steelyard.io.formats.dataset import Category, Dataset, Id, Picture, check_box, ids_of
from steelyard.io.formats.format import Format
from steelyard.io.formats.sizes import whole_pixels
from steelyard.io.read import as_ids, read_table
from steelyard.io.table import Table
from steelyard.io.write import csv_text

BOX = ("x", "y", "w", "h")
ORIENTED = ("dota", "yolo-obb", "hrsc")


def shape_columns(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns of the boxes of a table: those of oriented ones where it has them all."""
    has = set(columns)
    return next((names for names in (CORNERS, RECTANGLE) if has.issuperset(names)), BOX)


def upright(numbers: Array, names: tuple[str, ...], place: Callable[[int], str]) -> tuple[Array, list[dict[str, Any]]]:
    """The upright boxes, and for oriented ones what a data set keeps of each."""
    if names == BOX:
        return numbers, []
    if names == CORNERS:
        return extents_of(numbers), [{"segmentation": [row]} for row in numbers.tolist()]
    far = np.flatnonzero(np.abs(numbers[:, 4]) > 2 * math.pi + 1e-6)
    if len(far) > 0.01 * len(numbers):
        raise OutOfRange(
            f"angle {numbers[far[0], 4]:g} looks like degrees", where=place(int(far[0])),
            remedy="Write radians, from x towards y.",
        )  # fmt: skip
    wrong = np.flatnonzero((numbers[:, 2:4] < 0).any(axis=1))
    if len(wrong):
        raise OutOfRange("a box of negative size", where=place(int(wrong[0])), remedy="Sizes are 0 or more.")
    return extents_of(corners_of(numbers)), [{"obb": row} for row in numbers.tolist()]


def shapes_of(dataset: Dataset) -> tuple[tuple[str, ...], Array]:
    """The columns that a data set is written with, and their values."""
    rows = [extra.get("obb") for extra in dataset.extra]
    if rows and all(isinstance(row, list) and len(row) == 5 for row in rows):
        return RECTANGLE, np.array(rows, dtype=np.float64)
    if dataset.format in ORIENTED:
        return CORNERS, corners_of_dataset(dataset)
    return BOX, dataset.box


_KNOWN = {"image", "label", *BOX, "score", "area", "crowd", "difficult", "group_of", "name", "file", "width", "height"}
_FLAGS = {"": False, "0": False, "1": True, "true": True, "false": False, "yes": True, "no": False}


def read(path: Path, source: str, side: str = "") -> Dataset:
    """All rows of a table."""
    table = read_table(path, source)
    shape = shape_columns(table.columns)
    for name in ("image", "label", *shape):
        if name not in table.columns:
            has = ", ".join(f"'{c}'" for c in table.columns)
            raise MissingColumn(
                f"column '{name}' is missing; the columns are {has}",
                where=source,
                remedy="A table of boxes needs image, label, x, y, w, h (and score for predictions).",
            )
    filled = np.array([_text(v) != "" for v in table.columns["label"].tolist()], dtype=bool)
    rows = np.flatnonzero(filled)
    images = as_ids(table, "image", table.columns["image"]).tolist()
    labels = as_ids(_only(table, rows), "label", table.columns["label"][rows]).tolist()
    images, labels = _numbers_if_all(images), _numbers_if_all(labels)
    pictures = _pictures(table, images)
    categories = _categories(table, rows, labels)
    place = {p.id: i for i, p in enumerate(pictures)}
    kind = {c.id: i for i, c in enumerate(categories)}
    numbers = (
        np.stack([_column(table, rows, name) for name in shape], axis=1) if len(rows) else np.zeros((0, len(shape)))
    )
    box, shapes = upright(numbers, shape, lambda row: table.place(int(rows[row])))
    for i, values in enumerate(box.tolist()):
        check_box(tuple(values), table.place(int(rows[i])))
    scored = "score" in table.columns if not side else side == "prediction"
    if scored and "score" not in table.columns:
        raise MissingColumn("column 'score' is missing", where=source, remedy="Predictions need one.")
    if side == "truth" and "score" in table.columns:
        raise InvalidFile("a column 'score' where truth is expected", where=source, remedy="Truth comes first.")
    others = [name for name in table.columns if name not in _KNOWN and name not in shape]
    extra = _extra(table, rows, others) if others else []
    if shapes:
        extra = [{**own, **more} for own, more in zip(shapes, extra or [{}] * len(shapes), strict=True)]
    return Dataset(
        source,
        "csv",
        pictures,
        categories,
        np.array([place[images[row]] for row in rows.tolist()], dtype=np.int64),
        np.array([kind[label] for label in labels], dtype=np.int64),
        box,
        score=_column(table, rows, "score") if scored else None,
        area=_column(table, rows, "area", empty=True) if "area" in table.columns else None,
        crowd=_flags(table, rows, "crowd"),
        difficult=_flags(table, rows, "difficult"),
        group=_flags(table, rows, "group_of"),
        extra=extra,
        place=lambda row: table.place(int(rows[row])),
    )


def _only(table: Table, rows: Array) -> Table:
    lines = np.arange(len(table)) if table.lines is None else table.lines
    return Table(table.source, {}, lines[rows])


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    return str(value).strip()


def _numbers_if_all(ids: list[Any]) -> list[Id]:
    """Whole numbers where every id is written as one: a CSV file has only texts."""
    if all(type(v) is int for v in ids):
        return ids
    texts = [str(v) for v in ids]
    if all(t.isascii() and (t.isdigit() or (t[:1] == "-" and t[1:].isdigit())) and len(t) < 19 for t in texts):
        numbers = [int(t) for t in texts]
        if [str(n) for n in numbers] == texts:  # 007 is a name
            return list(numbers)
    return list(texts)


def _pictures(table: Table, images: list[Id]) -> list[Picture]:
    pictures: dict[Id, Picture] = {}
    columns = {name: table.columns[name].tolist() for name in ("file", "width", "height") if name in table.columns}
    for row, id_ in enumerate(images):
        file = _text(columns["file"][row]) if "file" in columns else ""
        size = [_size(columns, name, row, table) for name in ("width", "height")]
        picture = pictures.get(id_)
        if picture is None:
            pictures[id_] = Picture(id_, file, size[0], size[1])
        elif (picture.file, picture.width, picture.height) != (file, *size):
            raise Conflict(
                f"image '{id_}' has another file or size than in a row before", where=table.place(row),
                remedy="Give all rows of an image the same file, width and height.",
            )  # fmt: skip
    return list(pictures.values())


def _size(columns: dict[str, list[Any]], name: str, row: int, table: Table) -> int | None:
    text = _text(columns[name][row]) if name in columns else ""
    if not text:
        return None
    whole = text.removesuffix(".0")
    if not whole_pixels(whole):
        raise InvalidNumber(
            f"'{text}' is not a size", where=f"{table.place(row)}, column '{name}'", remedy="Give whole pixels."
        )  # fmt: skip
    return int(whole)


def _categories(table: Table, rows: Array, labels: list[Id]) -> list[Category]:
    names = table.columns["name"].tolist() if "name" in table.columns else None
    categories: dict[Id, Category] = {}
    for row, label in zip(rows.tolist(), labels, strict=True):
        name = _text(names[row]) if names is not None else ""
        if categories.setdefault(label, Category(label, name)).name != name:
            raise Conflict(
                f"class '{label}' is called '{categories[label].name}' and '{name}'", where=table.place(row),
                remedy="Name each class alike.",
            )  # fmt: skip
    return sorted(categories.values(), key=lambda c: (0, c.id, "") if isinstance(c.id, int) else (1, 0, c.id))


def _column(table: Table, rows: Array, name: str, *, empty: bool = False) -> Array:
    numbers = np.empty(len(rows))
    values = table.columns[name].tolist()
    for i, row in enumerate(rows.tolist()):
        text = _text(values[row])
        try:
            numbers[i] = table.number(text) if text or not empty else np.nan
            good = np.isfinite(numbers[i]) or (empty and not text)
        except ValueError:
            good = False
        if not good:
            where = f"{table.place(row)}, column '{name}'"
            raise InvalidNumber(
                f"'{text}' is not a finite number", where=where, remedy="Write digits with a decimal point."
            )
    return numbers


def _flags(table: Table, rows: Array, name: str) -> Array | None:
    if name not in table.columns:
        return None
    values = table.columns[name].tolist()
    flags = []
    for row in rows.tolist():
        text = _text(values[row]).lower()
        if text not in _FLAGS:
            where = f"{table.place(row)}, column '{name}'"
            raise InvalidValue(f"'{text}' is neither true nor false", where=where, remedy="Write true or false.")
        flags.append(_FLAGS[text])
    return np.array(flags, dtype=bool)


def _extra(table: Table, rows: Array, others: list[str]) -> list[dict[str, Any]]:
    columns = {name: table.columns[name].tolist() for name in others}
    extras = []
    for row in rows.tolist():
        extra: dict[str, Any] = {}
        for name, values in columns.items():
            value = values[row]
            if isinstance(value, str):
                value = _parse_cell(value.strip(), name)
            if _text(value):
                extra[name] = value
        extras.append(extra)
    return extras


def _parse_cell(text: str, name: str) -> Any:
    """A cell that was written as JSON: ids and numbers in their own kind, lists and objects whole."""
    if text[:1] in "[{" or name == "id":
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def render(dataset: Dataset) -> str:
    """The table as CSV."""
    shape, numbers = shapes_of(dataset)
    own = {"id", "segmentation"} if shape == BOX else {"id", "segmentation", "obb", "rbox", "poly"}
    names = sorted({name for extra in dataset.extra for name in extra} - own - _KNOWN)
    optional: dict[str, bool] = {
        "score": dataset.score is not None,
        "area": dataset.area is not None,
        "crowd": dataset.crowd is not None,
        "difficult": dataset.difficult is not None,
        "group_of": dataset.group is not None,
        "id": any("id" in extra for extra in dataset.extra),
        "name": any(c.name and c.name != str(c.id) for c in dataset.categories),
        "file": any(p.file and p.file != str(p.id) for p in dataset.pictures),
        "width": any(p.width is not None for p in dataset.pictures),
        "height": any(p.height is not None for p in dataset.pictures),
        "segmentation": shape == BOX and any("segmentation" in extra for extra in dataset.extra),
    }
    header = ["image", "label", *shape, *(name for name, there in optional.items() if there), *names]
    images, labels = ids_of(p.id for p in dataset.pictures).tolist(), ids_of(c.id for c in dataset.categories).tolist()
    rows: list[dict[str, Any]] = []
    seen = set(dataset.picture.tolist())
    for row, box in enumerate(numbers.tolist()):
        picture, category = int(dataset.picture[row]), int(dataset.category[row])
        extra = dataset.extra_of(row)
        cells: dict[str, Any] = {name: _cell(value) for name, value in extra.items()}
        cells.update(_picture_cells(dataset.pictures[picture]))
        cells.update(zip(shape, map(_number, box), strict=True))
        cells.update(image=images[picture], label=labels[category], name=dataset.categories[category].name)
        if dataset.score is not None:
            cells["score"] = _number(float(dataset.score[row]))
        if dataset.area is not None and not np.isnan(dataset.area[row]):
            cells["area"] = _number(float(dataset.area[row]))
        for name, flags in (("crowd", dataset.crowd), ("difficult", dataset.difficult), ("group_of", dataset.group)):
            if flags is not None:
                cells[name] = "true" if flags[row] else "false"
        rows.append(cells)
    if dataset.score is None:
        for i, picture_ in enumerate(dataset.pictures):
            if i not in seen:
                rows.append({**_picture_cells(picture_), "image": images[i]})
    return csv_text(header, ([cells.get(name, "") for name in header] for cells in rows))


def _picture_cells(picture: Picture) -> dict[str, Any]:
    return {
        "file": picture.file,
        "width": "" if picture.width is None else picture.width,
        "height": "" if picture.height is None else picture.height,
    }


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict | bool) or value is None else value


FORMAT = Format(
    "csv",
    "a table: CSV, TSV, JSON lines or Parquet",
    lambda path, source, side, reading, like: read(path, source, side),
    render=lambda dataset, options: render(dataset),
    ending=".csv",
)
