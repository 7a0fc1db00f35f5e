"""Give one data set the ids of another: images by file, classes by name, wherever one side has no ids of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from steelyard.core.errors import MissingData
from steelyard.core.numerals import is_whole
from steelyard.core.records import Array, BoxRecords, Records, boxes_of
from steelyard.io.formats.dataset import Category, Dataset, Picture


def fit(dataset: Dataset, like: Dataset) -> Dataset:
    """Return the boxes with the images and classes of `like`; unknown ones are appended."""
    pictures, image = _pictures(dataset, like)
    categories, label = _categories(dataset, like)
    return replace(
        dataset,
        pictures=pictures,
        categories=categories,
        picture=image[dataset.picture] if len(image) else dataset.picture,
        category=label[dataset.category] if len(label) else dataset.category,
        by_file=like.by_file,
        by_name=like.by_name,
        numbered=like.numbered,
    )


def _pictures(dataset: Dataset, like: Dataset) -> tuple[list[Picture], Array]:
    by_file = dataset.by_file or like.by_file
    known = {(p.stem if by_file else str(p.id)): i for i, p in enumerate(like.pictures)}
    ends = _unique((name, i) for i, p in enumerate(like.pictures) for name in _last_names(p)) if by_file else {}
    numbers = _unique((str(int(name)), i) for name, i in ends.items() if is_whole(name))
    pictures = list(like.pictures)
    places = []
    for p in dataset.pictures:
        name = p.stem if by_file else str(p.id)
        place = known.get(name)
        if place is None and by_file:
            places_of = (ends.get(end) for end in _last_names(p))
            place = next((there for there in places_of if there is not None), None)
        if place is None and isinstance(p.id, int):  # 139 for 000000000139
            place = numbers.get(str(p.id))
        if place is None:
            place = len(pictures)
            pictures.append(p)
        places.append(place)
    return pictures, np.array(places, dtype=np.int64)


def _last_names(picture: Picture) -> list[str]:
    """The last part of an image's name, and of the name that its file had before it was uploaded to a tool."""
    original = picture.extra.get("original_name")
    names = [picture.stem] if original is None else [picture.stem, Picture(0, str(original)).stem]
    return list(dict.fromkeys(PurePosixPath(name).name for name in names))


def _unique(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Names that stand for one thing only."""
    by_name: dict[str, int] = {}
    twice: set[str] = set()
    for name, i in pairs:
        if name in by_name:
            twice.add(name)
        by_name[name] = i
    return {name: i for name, i in by_name.items() if name not in twice}


def _categories(dataset: Dataset, like: Dataset) -> tuple[list[Category], Array]:
    if dataset.numbered and not like.numbered and like.format != "yolo":
        raise MissingData(
            "classes are numbers whose names are not known",
            where=dataset.source,
            remedy="Give the list of names in their order (names=FILE), a data.yaml or a text file with one per line.",
        )
    names = _unique((c.name, i) for i, c in enumerate(like.categories) if c.name)
    ids = {str(c.id): i for i, c in enumerate(like.categories)}
    categories = list(like.categories)
    places = []
    for c in dataset.categories:
        if c.name and names:
            place = names.get(c.name)
        elif c.name:
            place = ids.get(c.name)
        else:
            place = ids.get(str(c.id), names.get(str(c.id)))
        if place is None:
            place = len(categories)
            taken = str(c.id) in ids
            categories.append(Category(c.display_name, c.name, c.extra) if taken else c)
        places.append(place)
    return categories, np.array(places, dtype=np.int64)


def _code_ids(listed: Array | None, column: Array) -> tuple[list[Any], Array]:
    """Distinct ids, the listed ones first, and each row's place among them."""
    if column.dtype.kind == "i" and (listed is None or listed.dtype.kind == "i"):
        first = np.zeros(0, np.int64) if listed is None else listed
        values = np.concatenate([first, np.setdiff1d(column, first)])
        order = np.argsort(values, kind="stable")
        return values.tolist(), order[np.searchsorted(values[order], column)]
    ids = list(dict.fromkeys([*([] if listed is None else listed.tolist()), *column.tolist()]))
    place = {v: i for i, v in enumerate(ids)}
    return ids, np.array([place[v] for v in column.tolist()], dtype=np.int64)


def from_records(records: Records, format: str = "csv") -> Dataset:
    """Records that were read another way, as a data set."""
    truth = "score" not in records
    listed = records.images if isinstance(records, BoxRecords) and records.images is not None else None
    kinds = records.labels if isinstance(records, BoxRecords) and records.labels is not None else None
    images, picture = _code_ids(listed, records["image"])
    labels, category = _code_ids(kinds, records["label"])
    names: dict[Any, str] = {}
    if isinstance(records, BoxRecords) and records.labels is not None and records.label_names:
        names = dict(zip(records.labels.tolist(), records.label_names, strict=True))
    return Dataset(
        records.source,
        format,
        [Picture(v) for v in images],
        [Category(v, names.get(v, "")) for v in labels],
        picture,
        category,
        boxes_of(records),
        score=None if truth else records["score"],
        area=records.columns.get("area"),
        crowd=records.columns.get("crowd"),
        difficult=records.columns.get("difficult"),
        place=records.place,
    )
