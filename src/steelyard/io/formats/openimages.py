"""OpenImages: CSV files of boxes, of labels that were verified for whole images, and a hierarchy of classes.

Boxes are fractions of the image, which no IoU depends on; with the pictures at hand they become pixels. By the
hierarchy, boxes and labels that hold are copied to all classes above, and labels that do not hold to all below. The
outermost node is not a class. The files are read, not written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import (
    EmptyCell,
    InvalidFile,
    InvalidNumber,
    InvalidValue,
    MissingColumn,
    MissingData,
    MissingFile,
    OutOfRange,
    UnknownName,
)
from steelyard.core.records import Array, BoxRecords
from steelyard.io.formats.dataset import Category, Dataset, Picture, check_box
from steelyard.io.formats.format import Format, ReadOptions
from steelyard.io.formats.sizes import picture_size
from steelyard.io.formats.yolo import pictures_of
from steelyard.io.json import parse_json
from steelyard.io.read import read_table
from steelyard.io.table import Table
from steelyard.io.text import open_text

ENDS = ("XMin", "YMin", "XMax", "YMax")
VERIFIED = "verified"  # the key of a picture: classes that were looked at in the whole image
# Without counts: files that are read apart say it once.
RULES = (
    "Read by OpenImages' rules: detections of a class that has neither a box nor a verified label in their image are "
    "left out; a box that holds a group is taken for one by ap(rule=openimages) alone."
)


def read(path: Path, source: str, side: str, reading: ReadOptions, like: Dataset | None) -> Dataset:
    """Boxes of a file; those of the truth with verified labels and by the hierarchy, where these are given."""
    table = read_table(path, source)
    scored = "Score" in table.columns if not side else side == "prediction"
    needed = ("ImageID", "LabelName", *ENDS, *(("Score",) if scored else ()))
    _check_columns(table, needed, "boxes")
    if side == "truth" and "Score" in table.columns:
        raise InvalidFile("a column 'Score' where truth is expected", where=source, remedy="Truth comes first.")
    if not side and not reading.images:
        raise MissingData(
            "boxes are fractions, and sizes of the pictures are not known",
            where=source,
            remedy="Give the folder of the images: `images=FOLDER`.",
        )
    ends = np.stack([_numbers(table, name) for name in ENDS], axis=1) if len(table) else np.zeros((0, 4))
    box = np.concatenate([ends[:, :2], ends[:, 2:] - ends[:, :2]], axis=1)
    for row in np.flatnonzero((box[:, 2:] < 0).any(axis=1) | (np.abs(ends) > 2).any(axis=1))[:1].tolist():
        check_box(tuple(box[row].tolist()), table.place(row))
        raise OutOfRange(
            f"{ends[row].tolist()} is not a box of fractions", where=table.place(row),
            remedy="OpenImages writes fractions of width and height, from 0 to 1.",
        )  # fmt: skip
    images, labels = (list(map(str.strip, map(str, table.columns[name].tolist()))) for name in ("ImageID", "LabelName"))
    for name, ids in (("ImageID", images), ("LabelName", labels)):
        if "" in ids:
            raise EmptyCell(f"{name} is empty", where=table.place(ids.index("")), remedy="Fill it in.")
    group = _flags(table, "IsGroupOf") if "IsGroupOf" in table.columns and not scored else None
    rows = np.arange(len(table))
    above: Mapping[str, tuple[str, ...]] = {}
    below: Mapping[str, tuple[str, ...]] = {}
    if reading.hierarchy and not scored:
        above, below = _hierarchy(Path(reading.hierarchy))
        _refuse_unlisted(labels, above, reading.hierarchy, table)
        copies = [(row, name) for row, label in enumerate(labels) for name in (label, *above[label])]
        rows = np.array([row for row, _ in copies], dtype=np.int64)
        labels = [name for _, name in copies]
    looked = _read_verified(Path(reading.verified), above, below) if reading.verified and not scored else {}
    places = {name: i for i, name in enumerate(dict.fromkeys([*images, *looked]))}
    kinds = sorted({*labels, *above, *(name for names in looked.values() for name in names)})
    code = {name: i for i, name in enumerate(kinds)}
    pictures = [Picture(name, extra={VERIFIED: sorted(looked[name])} if name in looked else {}) for name in places]
    picture = np.array([places[images[row]] for row in rows.tolist()], dtype=np.int64)
    return Dataset(
        source, "openimages", pictures, [Category(name) for name in kinds], picture,
        np.array([code[name] for name in labels], dtype=np.int64), _in_pixels(box[rows], picture, pictures, reading),
        score=_numbers(table, "Score") if scored else None, group=None if group is None else group[rows],
        place=lambda row: table.place(int(rows[row])),
    )  # fmt: skip


def _check_columns(table: Table, needed: tuple[str, ...], what: str) -> None:
    for name in needed:
        if name not in table.columns:
            raise MissingColumn(
                f"column '{name}' is missing; the columns are {', '.join(table.columns)}", where=table.source,
                remedy=f"A file of {what} has {', '.join(needed)}.",
            )  # fmt: skip


def _numbers(table: Table, name: str) -> Array:
    values = np.zeros(len(table))
    for row, text in enumerate(table.columns[name].tolist()):
        try:
            values[row] = float(text)
        except (TypeError, ValueError):
            values[row] = math.nan
        if not math.isfinite(values[row]):
            raise InvalidNumber(f"{name} is '{text}'", where=table.place(row), remedy="Give a finite number.")
    return values


def _flags(table: Table, name: str) -> Array:
    """A flag is 1 where it holds; 0, and -1 for unknown, mean no group."""
    values = _numbers(table, name)
    wrong = np.flatnonzero(~np.isin(values, (-1, 0, 1)))
    if len(wrong):
        where = table.place(int(wrong[0]))
        raise InvalidValue(f"{name} is {values[wrong[0]]:g}", where=where, remedy="It is 0, 1, or -1 for not known.")
    return np.asarray(values == 1)


def _hierarchy(path: Path) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Of every class those above it and those below it, each once."""
    with open_text(path, str(path)) as file:
        root = parse_json(file.read(), str(path))
    above: dict[str, dict[str, None]] = {}
    below: dict[str, dict[str, None]] = {}
    waiting: list[tuple[Any, tuple[str, ...], bool]] = [(root, (), True)]
    while waiting:
        node, path_to, outermost = waiting.pop()
        name: Any = node.get("LabelName") if isinstance(node, dict) else None
        under = node.get("Subcategory", []) if isinstance(node, dict) else None
        if not isinstance(under, list) or not (isinstance(name, str) or outermost):
            raise InvalidValue(
                "a node is not an object with 'LabelName' and a list 'Subcategory'", where=str(path),
                remedy="Give the hierarchy as OpenImages has it.",
            )  # fmt: skip
        if not outermost:
            if name in path_to:
                raise InvalidFile(
                    f"class '{name}' stands below itself", where=str(path), remedy="Repair the hierarchy."
                )
            above.setdefault(name, {}).update(dict.fromkeys(path_to))
            below.setdefault(name, {})
            for other in path_to:
                below[other][name] = None
            path_to = (name, *path_to)
        waiting += [(child, path_to, False) for child in under]
    return {name: tuple(names) for name, names in above.items()}, {name: tuple(names) for name, names in below.items()}


def _refuse_unlisted(labels: list[str], listed: Mapping[str, Any], hierarchy: str, table: Table) -> None:
    for row, label in enumerate(labels):
        if label not in listed:
            raise UnknownName(
                f"class '{label}' is not in {hierarchy}", where=table.place(row), remedy="Give the data's hierarchy."
            )


def _read_verified(
    path: Path, above: Mapping[str, tuple[str, ...]], below: Mapping[str, tuple[str, ...]]
) -> dict[str, set[str]]:
    """Of every image the classes that somebody looked for there, found or not."""
    table = read_table(path, str(path))
    _check_columns(table, ("ImageID", "LabelName", "Confidence"), "verified labels")
    sure = _numbers(table, "Confidence")
    wrong = np.flatnonzero((sure != 0) & (sure != 1))
    if len(wrong):
        raise InvalidValue(
            f"Confidence is {sure[wrong[0]]:g}", where=table.place(int(wrong[0])),
            remedy="Verified labels have 0 or 1; labels of a machine are not verified.",
        )  # fmt: skip
    labels = list(map(str.strip, map(str, table.columns["LabelName"].tolist())))
    if above:
        _refuse_unlisted(labels, above, "the hierarchy", table)
    looked: dict[str, set[str]] = {}
    for image, label, held in zip(table.columns["ImageID"].tolist(), labels, sure.tolist(), strict=True):
        looked.setdefault(str(image).strip(), set()).update((label, *(above if held else below).get(label, ())))
    return looked


def _in_pixels(box: Array, picture: Array, pictures: list[Picture], reading: ReadOptions) -> Array:
    """Boxes in pixels where the pictures are given, else as they are."""
    if not reading.images:
        return box
    files = pictures_of(Path(reading.images), reading.images)
    for image in pictures:
        if str(image.id) not in files:
            raise MissingFile(f"there is no picture '{image.id}'", where=reading.images, remedy="Check the folder.")
        image.width, image.height = picture_size(files[str(image.id)])
    size = np.array([[p.width, p.height] * 2 for p in pictures], dtype=np.float64).reshape(-1, 4)
    return np.asarray(box * size[picture])


def by_rules_of_openimages(truth: Dataset, prediction: Dataset) -> tuple[BoxRecords, BoxRecords]:
    """Both sides without detections of classes that nobody looked for in their image."""
    rows = np.flatnonzero(looked_for(truth, prediction))
    second = prediction.records().take(rows)
    return replace(truth.records(), notes=(RULES,)), BoxRecords(
        second.source, second.columns, second.other, second.place, second.names
    )


def looked_for(truth: Dataset, prediction: Dataset) -> Array:
    """A flag for each detection: whether its class has a box or a verified label in its image.

    `prediction` has the images and classes of `truth`. What the truth does not know is kept, and refused later.
    """
    width = len(prediction.categories)
    place = {c.id: i for i, c in enumerate(truth.categories)}
    looked = np.array(list(_cells(truth, place, width)), dtype=np.int64)
    cell = prediction.picture * width + prediction.category
    listed = (prediction.category < len(truth.categories)) & (prediction.picture < len(truth.pictures))
    return np.isin(cell, np.concatenate([looked, truth.picture * width + truth.category])) | ~listed


def _cells(truth: Dataset, place: Mapping[Any, int], width: int) -> Iterator[int]:
    for i, picture in enumerate(truth.pictures):
        for label in picture.extra.get(VERIFIED, ()):
            yield i * width + place[label]


FORMAT = Format("openimages", "OpenImages: CSV files of boxes, of verified labels, and a hierarchy", read)
