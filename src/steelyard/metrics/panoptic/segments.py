"""The segments of all images of one side as columns: their ids, classes, and what the JSON says of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array
from steelyard.core.records import Records

BITS = 24  # of a segment's id: a colour
_FAULTS = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)


class Segment(NamedTuple):
    """One segment: its class, and whether it is a crowd and a thing."""

    category: int
    name: str
    crowd: bool
    thing: bool
    area: int


@frozen
class Segments:
    """Segments of many images, by pair and in the order in which they are listed.

    `key` is the pair and the id in one number; `order` sorts the segments by it. `area` is that of the JSON, or -1.
    """

    pair: Array
    number: Array
    category: Array
    crowd: Array
    area: Array
    kinds: Mapping[int, tuple[str, bool]]  # name of a category, and whether it is a thing
    key: Array
    order: Array

    def __len__(self) -> int:
        return len(self.key)

    def find(self, pair: Array, number: Array) -> Array:
        """The place of each segment by pair and id; -1 where there is none."""
        if not len(self):
            return np.full(len(pair), -1, dtype=np.int64)
        wanted, rising = pair << BITS | number, self.key[self.order]
        place = np.minimum(np.searchsorted(rising, wanted), len(self) - 1)
        return np.where((rising[place] == wanted) & (number < 1 << BITS), self.order[place], -1)


def read_segments(records: Records, rows: Array) -> Segments:
    """The segments of every pair; a row of -1 has none. What is no list of segments is an error that names the row."""
    there = np.flatnonzero(rows >= 0)
    try:
        columns, kinds = _columns(records, rows[there].tolist())
    except _FAULTS:
        columns, kinds = _each(records, rows[there].tolist())
    lengths, number, category, crowd, area = columns
    pair = np.repeat(there, lengths)
    key = pair << BITS | number
    order = np.argsort(key, kind="stable")
    if len(key) and (number.min() < 1 or number.max() >= 1 << BITS or (np.diff(key[order]) == 0).any()):
        _each(records, rows[there].tolist())  # it names the one that is wrong
    return Segments(pair, number, category, crowd > 0, area, kinds, key, order)


LARGEST = 1 << 62  # of a category and an area
Columns = tuple[list[int], Array, Array, Array, Array]
Kinds = dict[int, tuple[str, bool]]


def _columns(records: Records, rows: list[int]) -> tuple[Columns, Kinds]:
    """All rows at once, where they are as COCO writes them; an error of any kind where one is not."""
    texts = records["segments"]
    listed = json.loads("[" + ",".join([texts[row] or "[]" for row in rows]) + "]")
    if len(listed) != len(rows):
        raise ValueError
    every = [one for segments in listed for one in segments]
    number, category, crowd, area = (
        _whole([one[name] for one in every] if default is None else [one.get(name, default) for one in every])
        for name, default in (("id", None), ("category_id", None), ("iscrowd", 0), ("area", -1))
    )
    said = {
        (int(label), str(one.get("name", label)), bool(one.get("isthing", 1)))
        for label, one in zip(category.tolist(), every, strict=True)
    }
    kinds = {label: (name, thing) for label, name, thing in said}
    if len(kinds) < len(said):
        raise ValueError
    return ([len(segments) for segments in listed], number, category, crowd, area), kinds


def _whole(values: list[Any]) -> Array:
    """Whole numbers only: what must be converted is looked at one by one."""
    column = np.array(values, dtype=None if values else np.int64)
    if column.dtype.kind not in "bi" or column.ndim != 1:
        raise TypeError
    return column.astype(np.int64)


def _each(records: Records, rows: list[int]) -> tuple[Columns, Kinds]:
    """The same row by row, each with its place for a message."""
    kinds: Kinds = {}
    lengths: list[int] = []
    table: list[tuple[int, int, bool, int]] = []
    for row in rows:
        segments = row_segments(records, row)
        lengths.append(len(segments))
        for number, segment in segments.items():
            known = kinds.setdefault(segment.category, (segment.name, segment.thing))
            if known != (segment.name, segment.thing):
                raise two_kinds(segment.category, segment.name, known[0], records.place(row))
            table.append((number, segment.category, segment.crowd, segment.area))
    columns = np.array(table, dtype=np.int64).reshape(-1, 4)
    return (lengths, columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3]), kinds


def two_kinds(category: int, name: str, other: str, where: str) -> InputError:
    """A category that is called two names, or is a thing and stuff."""
    return InputError(
        f"category {category} is '{name}' and '{other}', or a thing and stuff",
        where=where,
        remedy="Name each category alike on both sides.",
    )


def row_segments(records: Records, row: int) -> dict[int, Segment]:
    """The segments of a row by id; what is none is named."""
    where = records.place(row)
    segments: dict[int, Segment] = {}
    try:
        listed = json.loads(records["segments"][row] or "[]")
        for one in listed:
            number, category = int(one["id"]), int(one["category_id"])
            if number in segments or not 0 < number < 1 << BITS:
                what = "stands twice" if number in segments else "is no id: 1 to 2²⁴ - 1"
                raise InputError(f"segment {number} {what}", where=where, remedy="Each id stands for one segment.")
            name, thing, area = str(one.get("name", category)), bool(one.get("isthing", 1)), int(one.get("area", -1))
            if max(abs(category), abs(area)) >= LARGEST:
                raise InputError(
                    f"segment {number} has a category or an area that is too large", where=where, remedy="Check it."
                )
            segments[number] = Segment(category, name, bool(one.get("iscrowd", 0)), thing, area)
    except _FAULTS as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"no list of segments: {type(error).__name__} {error}",
            where=where,
            remedy='Give [{"id": 7, "category_id": 1}].',
        ) from None
    return segments
