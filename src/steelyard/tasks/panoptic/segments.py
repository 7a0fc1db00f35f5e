"""The segments of all images of one side as columns: their ids, classes, and what the JSON says of them.

Fields of the JSON are read with a message that names the key, the value and the remedy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from steelyard.core.errors import (
    Conflict,
    DuplicateKey,
    InputError,
    InvalidNumber,
    InvalidValue,
    MissingKey,
    OutOfRange,
)
from steelyard.core.frozen import Frozen
from steelyard.core.numerals import is_whole
from steelyard.core.pairs import Array
from steelyard.core.records import Records


def json_field(entry: Any, key: str, where: str) -> Any:
    """What an object has under a key, which must be there."""
    if not isinstance(entry, dict):
        raise InvalidValue(
            f"{_value_text(entry)} where an object is expected", where=where, remedy=f"It needs the key '{key}'."
        )
    if key not in entry:
        raise MissingKey(f"the key '{key}' is missing", where=where, remedy="Add it.")
    return entry[key]


def json_whole(value: Any, key: str, where: str) -> int:
    """A whole number, or its digits as a text; true and false are 1 and 0."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and is_whole(value, 18, signed=True):
        return int(value)
    raise InvalidNumber(f"'{key}' is {_value_text(value)}", where=where, remedy="It must be a whole number.")


def _value_text(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


BITS = 24  # of a segment's id: a colour
_FAULTS = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)


class Segment(NamedTuple):
    """One segment: its class, and whether it is a crowd and a thing; None where it does not say so."""

    category: int
    name: str | None
    crowd: bool
    thing: bool | None
    area: int


Kind = tuple[str | None, bool | None]  # name of a category, and whether it is a thing; None where no segment says it
UNSAID: Kind = (None, None)


class Segments(Frozen):
    """Segments of many images, by pair and in the order in which they are listed.

    `key` is the pair and the id in one number; `order` sorts the segments by it. `area` is that of the JSON, or -1.
    """

    pair: Array
    number: Array
    category: Array
    crowd: Array
    area: Array
    kinds: Mapping[int, Kind]
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
    """The segments of every pair; a row of -1 has none. Raises with the row if a cell is not a list of segments."""
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
Kinds = dict[int, Kind]


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
    said = {(label, one.get("name"), one.get("isthing")) for label, one in zip(category.tolist(), every, strict=True)}
    kinds: Kinds = {}
    for label, name, thing in said:
        kind = joined_kind(kinds.get(label, UNSAID), (name, None if thing is None else bool(thing)))
        if kind is None or not isinstance(name, str | None) or thing not in (0, 1, None):
            raise ValueError
        kinds[label] = kind
    return ([len(segments) for segments in listed], number, category, crowd, area), kinds


def _whole(values: list[Any]) -> Array:
    """Whole numbers only: what must be converted is looked at one by one."""
    column = np.array(values, dtype=None if values else np.int64)
    if column.dtype.kind not in "bi" or column.ndim != 1:
        raise TypeError
    return column.astype(np.int64)


def _each(records: Records, rows: list[int]) -> tuple[Columns, Kinds]:
    """Build the columns row by row, so that messages can name the row."""
    kinds: Kinds = {}
    lengths: list[int] = []
    table: list[tuple[int, int, bool, int]] = []
    for row in rows:
        segments = row_segments(records, row)
        lengths.append(len(segments))
        for number, segment in segments.items():
            earlier = kinds.get(segment.category, UNSAID)
            kind = joined_kind(earlier, (segment.name, segment.thing))
            if kind is None:
                raise two_kinds(segment.category, (segment.name, segment.thing), earlier, records.place(row))
            kinds[segment.category] = kind
            table.append((number, segment.category, segment.crowd, segment.area))
    columns = np.array(table, dtype=np.int64).reshape(-1, 4)
    return (lengths, columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3]), kinds


def joined_kind(first: Kind, other: Kind) -> Kind | None:
    """What two segments of a category say together; None where they contradict each other."""
    if any(a is not None and b is not None and a != b for a, b in zip(first, other, strict=True)):
        return None
    return other[0] if first[0] is None else first[0], other[1] if first[1] is None else first[1]


def two_kinds(category: int, kind: Kind, other: Kind, where: str) -> InputError:
    """A category that is called two names, or is a thing and stuff."""
    return Conflict(
        f"category {category} is '{kind[0] or category}' and '{other[0] or category}', or a thing and stuff",
        where=where,
        remedy="Name each category alike on both sides.",
    )


def row_segments(records: Records, row: int) -> dict[int, Segment]:
    """The segments of a row by id; what is none is named."""
    where = records.place(row)
    segments: dict[int, Segment] = {}
    try:
        listed = json.loads(records["segments"][row] or "[]")
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        raise InvalidValue(
            "the segments are not a list in JSON",
            where=where,
            remedy='Example: [{"id": 7, "category_id": 1, "name": "car", "isthing": 1}].',
        )
    for entry in listed:
        number, category = (json_whole(json_field(entry, key, where), key, where) for key in ("id", "category_id"))
        remedy = "Give each segment an id of its own."
        if number in segments:
            raise DuplicateKey(f"segment {number} is listed twice", where=where, remedy=remedy)
        if not 0 < number < 1 << BITS:
            raise OutOfRange(f"segment {number} is not an id from 1 to 2²⁴ - 1", where=where, remedy=remedy)
        name, thing = entry.get("name"), entry.get("isthing")
        if thing not in (0, 1, None):
            raise InvalidValue(f"'isthing' is {thing!r}", where=where, remedy="It must be 1 for a thing, 0 for stuff.")
        area, crowd = (json_whole(entry.get(key, none), key, where) for key, none in (("area", -1), ("iscrowd", 0)))
        if max(abs(category), abs(area)) >= LARGEST:
            raise OutOfRange(
                f"segment {number} has a category or an area that is too large",
                where=where,
                remedy="Both must be below 2⁶².",
            )
        segments[number] = Segment(
            category,
            None if name is None else str(name),
            bool(crowd),
            None if thing is None else bool(thing),
            area,
        )
    return segments


VOID = 0
INSIDE = 0xFFFFFFFF  # an id that no segment has: below 2^24 in a PNG


class Shared(Frozen):
    """Pixels that a true and a predicted segment of an image share, by pair: places on both lists, -1 for void.

    `true` and `predicted` are the pixels of every segment of the lists, `void` those of predicted ones on void.
    """

    pair: Array
    g: Array
    p: Array
    count: Array
    true: Array
    predicted: Array
    void: Array

    @staticmethod
    def of(pair: Array, a: Array, b: Array, count: Array, true: Segments, predicted: Segments) -> Shared:
        """From ids of both sides; ids that are not listed count as void."""
        g, p = true.find(pair, a), predicted.find(pair, b)
        on_void = (p >= 0) & (a == VOID)
        return Shared(
            pair, g, p, count, _sums(g[g >= 0], count[g >= 0], len(true)),
            _sums(p[p >= 0], count[p >= 0], len(predicted)), _sums(p[on_void], count[on_void], len(predicted)),
        )  # fmt: skip

    def overlaps(self, cells: Array, areas: Array) -> Array:
        """The IoU of the segments of some cells, without what of the prediction lies on void."""
        g, p, both = self.g[cells], self.p[cells], self.count[cells]
        union = areas[g] + self.predicted[p] - both - self.void[p]
        return np.asarray(np.where(union > 0, both / np.maximum(union, 1), 0.0))


class Fits(Frozen):
    """What the segments of images come to: pairs that overlap by more than half, and what has no pair.

    A pair has its owner, the place of its class, its overlap, and whether its prediction would be left out if it had no
    partner. `lone` has a row for each class of an image: predictions that count as wrong, and true segments that are
    missed. `best` is, for every true segment, its largest overlap with one of its class; `partner` the
    place of the prediction that it is paired with, or -1; `taken` and `excused` say what became of predictions.
    """

    owner: Array
    category: Array
    overlap: Array
    pardoned: Array
    lone_owner: Array
    lone_category: Array
    lone: Array
    best: Array
    partner: Array
    taken: Array
    excused: Array


def fit_segments(
    true: Segments,
    predicted: Segments,
    shared: Shared,
    bands: Shared | None,
    areas: Array,
    owner: Array,
    classes: tuple[int, ...],
    crowds: str,
) -> Fits:
    """Pair segments of one class.

    An overlap of more than half makes pairs unique. A prediction more than half of which lies on void, or on a crowd of
    its class, is excused: it counts neither way.
    """
    excused = _excused_predictions(true, predicted, shared, crowds)
    cells = np.flatnonzero((shared.g >= 0) & (shared.p >= 0))
    g, p = shared.g[cells], shared.p[cells]
    cells = cells[~true.crowd[g] & (true.category[g] == predicted.category[p])]
    overlap = shared.overlaps(cells, areas)
    if bands is not None:
        overlap = np.minimum(overlap, _in_bands(bands, shared.g[cells], shared.p[cells], len(predicted)))
    best = np.zeros(len(true))
    np.maximum.at(best, shared.g[cells], overlap)
    match = overlap > 0.5
    g, p = shared.g[cells][match], shared.p[cells][match]
    partner, taken = np.full(len(true), -1, dtype=np.int64), np.zeros(len(predicted), dtype=bool)
    partner[g], taken[p] = p, True
    axis = np.array(classes, dtype=np.int64)
    false, missed = np.flatnonzero(~taken & ~excused), np.flatnonzero((partner < 0) & ~true.crowd)
    code = np.concatenate([
        predicted.pair[false] * len(axis) + np.searchsorted(axis, predicted.category[false]),
        true.pair[missed] * len(axis) + np.searchsorted(axis, true.category[missed]),
    ])  # fmt: skip
    codes, place = np.unique(code, return_inverse=True)
    lone = np.stack([
        np.bincount(place[: len(false)], minlength=len(codes)), np.bincount(place[len(false) :], minlength=len(codes)),
    ], axis=1).astype(np.float64)  # fmt: skip
    many = max(1, len(axis))
    return Fits(
        owner[true.pair[g]], np.searchsorted(axis, true.category[g]), overlap[match], excused[p],
        owner[codes // many], codes % many, lone, best, partner, taken, excused,
    )  # fmt: skip


def _sums(place: Array, count: Array, size: int) -> Array:
    return np.bincount(place, weights=count, minlength=size).astype(np.int64)


def _excused_predictions(true: Segments, predicted: Segments, shared: Shared, crowds: str) -> Array:
    """Which predictions lie mostly on void or on a crowd of their class."""
    crowd = true.crowd.copy()
    if crowds == "last":
        last: dict[tuple[int, int], int] = {}
        for place in np.flatnonzero(true.crowd).tolist():
            last[int(true.pair[place]), int(true.category[place])] = place
        crowd = np.zeros(len(true), dtype=bool)
        crowd[list(last.values())] = True
    both = np.flatnonzero((shared.g >= 0) & (shared.p >= 0))
    g, p = shared.g[both], shared.p[both]
    on = crowd[g] & (true.category[g] == predicted.category[p])
    crowded = _sums(p[on], shared.count[both][on], len(predicted))
    return np.asarray((shared.void + crowded) / np.maximum(shared.predicted, 1) > 0.5)


def _in_bands(bands: Shared, g: Array, p: Array, many: int) -> Array:
    """The overlap of bands of the given segments; 0 where they share no pixel."""
    both = np.flatnonzero((bands.g >= 0) & (bands.p >= 0))
    code = bands.g[both] * many + bands.p[both]
    order = np.argsort(code, kind="stable")
    wanted = g * many + p
    if not len(both):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(code[order], wanted), len(both) - 1)
    there = code[order][place] == wanted
    return np.where(there, bands.overlaps(both[order][place], bands.true), 0.0)
