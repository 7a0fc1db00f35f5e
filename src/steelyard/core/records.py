"""Records: one side (truth or predictions), columnar, with the place of each row in its source.

A `Schema` says which columns a side has, of which type, and what is wrong with a value. It is the task's; reading
files into records by it is `io`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import Incompatible
from steelyard.core.frozen import Frozen

Array = NDArray[Any]
ColumnType = Literal[
    "id",
    "number",
    "integer",
    "flag",
    "text",
    "points",
    "label",
    "labels",
    "mask",
    "numbers",
    "map",
    "volume",
    "field",
    "picture",
]


BOX = ("x", "y", "w", "h")  # the columns of a box
LARGEST = 1e12  # of an amount: squares and products of such numbers, and sums of them, stay far from overflow

GROUP_NAMES = ("video", "sequence", "person", "patient", "subject", "site", "source", "date")


class Column(Frozen):
    """One column of a side.

    Types: `id` (text or integers, never empty), `number` (finite), `integer`, `flag` (true or false), `text`, `points`
    (an array of x and y, or None), `label` (text or integers, as the source gives them), `labels` (a tuple of texts),
    `mask` (packed run lengths, as bytes), `numbers` (as many in every row: an array with two dimensions), `map` and
    `volume` (pixels or voxels of whole numbers: packed runs as bytes, or the path of a file), `field` (measured values:
    an array as bytes, or the path of a file), `picture` (pixels of any numbers, in the same way).
    `many` is the type of the columns `name:class`, one per class, where there may be such.
    `aliases` are other names that a file may have for it, taken where the name itself is missing, and `ahead` those
    that are taken even where it is there.
    `flags` says that true and false may stand for 1 and 0 in a column of numbers.
    `beside` is the name of a predicted column in a source that holds both sides, where there may be one.
    `lists` says that a cell of texts may be a list or an object, which is read as JSON.
    """

    name: str
    type: ColumnType
    required: bool = True
    minimum: float | None = None
    maximum: float | None = None
    empty: bool = False
    meaning: str = ""
    many: ColumnType | None = None
    aliases: tuple[str, ...] = ()
    flags: bool = False
    beside: str = ""
    lists: bool = True
    ahead: tuple[str, ...] = ()


def sounds_like_a_group(name: str) -> bool:
    """Whether a column is named like groups of units that belong together, such as video or patient_id."""
    words = name.lower().replace("-", "_").split("_")
    return [word for word in words if word not in ("id", "name")] in [[group] for group in GROUP_NAMES]


def weight_column(unit: str, *aliases: str, meaning: str = "") -> Column:
    """The optional column of the truth with the user's weight of each unit."""
    meaning = meaning or f"the user's weight of the {unit}"
    return Column("sample_weight", "number", False, 0, flags=True, aliases=aliases, meaning=meaning)


class Schema(Frozen):
    """The columns of one side; `key` names the columns that identify a row, the first being the unit."""

    key: tuple[str, ...]
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column | None:
        """The column of that name, if the schema has one."""
        return next((c for c in self.columns if c.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(c.name for c in self.columns)


class Records(Frozen):
    """Columns of equal length; `place(i)` says where row i stands: `truth.csv, line 7`."""

    source: str
    columns: Mapping[str, Array]
    other: Mapping[str, Array] = field(default_factory=dict)
    place: Callable[[int], str] = field(default=lambda row: f"row {row}")
    names: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter((self.columns or self.other).values()), ()))

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def where(self, row: int, column: str) -> str:
        """Where a value stands, for a message."""
        return f"{self.place(int(row))}, column '{self.names.get(column, column)}'"

    @property
    def source_names(self) -> tuple[str, ...]:
        """All columns by the names that the source gives them."""
        return (*(self.names.get(name, name) for name in self.columns), *self.other)

    def find(self, name: str) -> Array | None:
        """A column of the schema or another one of the source."""
        if name in self.columns:
            return self.columns[name]
        return self.other.get(name)

    def own_name(self, name: str) -> str:
        """The schema's name of a column that the source calls so; any other name as it is."""
        if name in self.columns or name in self.other:
            return name
        return next((own for own, said in self.names.items() if said == name and own in self.columns), name)

    def take(self, rows: Array) -> Records:
        """Some of the rows, each still knowing where it stands."""
        place = self.place
        return Records(
            self.source,
            {name: column[rows] for name, column in self.columns.items()},
            {name: column[rows] for name, column in self.other.items()},
            lambda row: place(int(rows[row])),
            self.names,
        )


class RowLocation(Frozen):
    """Where a row of a source stands; unlike a function it can be pickled."""

    source: str

    def __call__(self, row: int) -> str:
        """Name the row."""
        return f"{self.source}, row {row}"


class BoxRecords(Records):
    """Boxes, masks or keypoints of one side, with what a row cannot say: images without any, the classes there are.

    `images` and `labels` are None where the source does not list them; then those that stand in rows are all there
    are. `zero_id` is the row of an annotation with id 0, which pycocotools loses, or -1. `notes` are what a reader of
    the scores must know of the source. `sizes` are height and width of the images, -1 where they are not known.
    `similarity` says how objects are compared, where not by their boxes: a `Similarity` of `tasks.boxes.pairs`.
    `frequency` is r, c or f of each of the labels, where the source says how often a class was seen in training (LVIS).
    `image_fields` reads what else the source says of each image, in the order of `images`.
    """

    images: Array | None = None
    labels: Array | None = None
    label_names: tuple[str, ...] = ()
    zero_id: int = -1
    notes: tuple[str, ...] = ()
    sizes: Array | None = None
    similarity: Any = None
    frequency: tuple[str, ...] = ()
    image_fields: Callable[[], Mapping[str, Array]] | None = None


class UnfilledRecords(Records):
    """Predictions without the rows whose value is empty; `unfilled` is the place of the first such cell."""

    unfilled: str = ""


class MapRecords(Records):
    """Maps in files. `sums` is the SHA-256 of each file that has been read, by its path."""

    sums: dict[str, bytes] = field(default_factory=dict)


def with_similarity(records: Records, columns: Mapping[str, Array], similarity: Any) -> BoxRecords:
    """Return the records with other columns, and how their objects are compared."""
    if isinstance(records, BoxRecords):
        return replace(records, columns=columns, similarity=similarity)
    return BoxRecords(records.source, columns, records.other, records.place, records.names, similarity=similarity)


def boxes_of(records: Records) -> Array:
    """The boxes of all rows as one array (n, 4): x, y, width and height."""
    return np.stack([records[name] for name in BOX], axis=1).astype(np.float64, copy=False)


def box_columns(boxes: Array) -> dict[str, Array]:
    """The columns of boxes in one array (n, 4)."""
    return {name: boxes[:, i] for i, name in enumerate(BOX)}


def factorize(*columns: Array) -> tuple[Array, list[Array]]:
    """Codes of ids that columns share: the sorted distinct ids, and each column as positions in them.

    Integers stay integers where all columns hold signed ones of 64 bits; else ids are compared as text, so that 7 of a
    data frame is "7" of a file.
    """
    if all(c.dtype.kind in "iu" and (c.dtype != np.uint64 or c.max(initial=0) < 1 << 63) for c in columns):
        return _factorize_integers([np.ascontiguousarray(c, dtype=np.int64) for c in columns])
    place: dict[str, int] = {}
    codes = []
    for column in columns:
        heads = first_of_runs(column) if column.dtype == object else np.arange(len(column))
        if len(heads) < len(column) // 8:  # long runs of one id: sorted by unit
            texts = list(map(str, column[heads].tolist()))
            for text in texts:
                place.setdefault(text, len(place))
            code = np.array([place[text] for text in texts], dtype=np.int64)
            codes.append(np.repeat(code, np.diff(np.append(heads, len(column)))))
            continue
        texts = column.tolist() if column.dtype.kind == "U" else list(map(str, column.tolist()))
        for text in dict.fromkeys(texts):
            place.setdefault(text, len(place))
        codes.append(np.fromiter(map(place.__getitem__, texts), dtype=np.int64, count=len(texts)))
    return in_text_order(as_object(list(place)), codes)


def first_of_runs(column: Array) -> Array:
    """Where a row differs from the one before it; the first row does."""
    if not len(column):
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.append(True, np.asarray(column[1:] != column[:-1], dtype=bool)))


def distinct_values(values: Array) -> Array:
    """The distinct values, rising. `np.unique` loads `numpy.ma` first, which takes longer than most calls."""
    ordered = np.sort(values, axis=None)
    return ordered[first_of_runs(ordered)]


def median(values: Array | list[float]) -> float:
    """The median of one number or more, nan where one is nan. `np.median`, too, loads `numpy.ma` first."""
    ordered = np.sort(values, axis=None)
    half = len(ordered) // 2
    return float((ordered[half] + ordered[-half - 1]) / 2) if ordered[-1] == ordered[-1] else float("nan")


def missing_key_hint(records: Records, key: tuple[str, ...], whole: tuple[str, ...]) -> list[str]:
    """How to tell rows of the same key apart, where the task's whole key has a column that they lack.

    A column of texts that makes every row different is named, if there is one only.
    """
    lacking = [name for name in whole if name not in key]
    if len(lacking) != 1:
        return []
    present = [records[name].tolist() for name in key]
    texts = [
        name
        for name, column in records.other.items()
        if all(isinstance(value, str) for value in column.tolist())
        and len(set(zip(*present, column.tolist(), strict=True))) == len(records)
    ]
    column = texts[0] if len(texts) == 1 else "YOUR_COLUMN"
    several = f"If a {records.names.get(key[0], key[0])} has several rows"
    return [f"{several}, name the column that tells them apart: `columns={{'{lacking[0]}': '{column}'}}`."]


def in_text_order(names: Array, codes: list[Array]) -> tuple[Array, list[Array]]:
    """Distinct texts sorted, and the codes of columns for them."""
    texts = names.tolist()
    order = np.array(sorted(range(len(texts)), key=texts.__getitem__), dtype=np.int64)
    if (order[1:] > order[:-1]).all():
        return names, codes
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return names[order], [rank[code] for code in codes]


def _factorize_integers(columns: Sequence[Array]) -> tuple[Array, list[Array]]:
    """By a table of the values between the lowest and the highest where that is no longer than the data."""
    filled = [c for c in columns if len(c)]
    if filled:
        low, high = min(int(c.min()) for c in filled), max(int(c.max()) for c in filled)
        if high - low < max(1 << 16, 4 * sum(map(len, filled))):
            seen = np.zeros(high - low + 1, dtype=bool)
            places = [column - low for column in columns]
            for place in places:
                seen[place] = True
            if not seen.all():
                rank = np.cumsum(seen) - 1
                places = [rank[place] for place in places]
            return np.flatnonzero(seen) + low, places
    distinct, inverse = np.unique(np.concatenate(columns), return_inverse=True)
    return distinct, np.split(inverse.astype(np.int64), np.cumsum([len(c) for c in columns])[:-1])


def as_object(values: Sequence[Any]) -> Array:
    """Texts as an array of Python strings (numpy's own text type pads every row to the longest)."""
    array: Array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def constant_in_unit(records: Records, name: str, owner: Array, rows: Array, units: int) -> Array:
    """The value that a column has in each unit; an error where it has two."""
    values = records[name][rows]
    result: Array = np.full(units, np.nan)
    first = np.full(units, -1, dtype=np.int64)
    first[owner[::-1]] = np.arange(len(owner))[::-1]
    seen = first >= 0
    result[seen] = values[first[seen]]
    expected = result[owner]
    differs = np.flatnonzero((values != expected) & ~(np.isnan(values) & np.isnan(expected)))
    if len(differs):
        row = int(differs[0])
        a, b = expected[row], values[row]
        raise Incompatible(
            f"{b:g} differs from {a:g}, which the same unit has at {records.place(int(rows[first[owner[row]]]))}",
            where=records.where(int(rows[row]), name),
            remedy=f"'{records.names.get(name, name)}' must be the same in all rows of a unit.",
        )
    return result
