"""Dataset: boxes with all that their file said of them, so that another format can say it too.

Images and classes are few and stand as objects; boxes are columns. What only some formats know (segmentations,
attributes, licences) is carried as it was given, under the names that COCO has for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from steelyard.core.deprecated import Renamed
from steelyard.core.errors import InvalidFile, InvalidNumber, MissingKey, OutOfRange
from steelyard.core.records import Array, BoxRecords, as_object, box_columns
from steelyard.io.coco import image_fields

LARGEST = 1e12

Id = int | str


@dataclass
class Picture:
    """One image: its id, its file, and its size where it is known."""

    id: Id
    file: str = ""
    width: int | None = None
    height: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def stem(self) -> str:
        """The file without its ending, or else the id: what formats without ids name an image by."""
        if not self.file:
            return str(self.id)
        path = PurePosixPath(self.file.replace("\\", "/"))
        return str(path.with_suffix("")) if path.name else str(self.id)


@dataclass
class Category:
    """One class: its id, and its name where it has one."""

    id: Id
    name: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    shown = Renamed("display_name")

    @property
    def display_name(self) -> str:
        """The name, or else the id."""
        return self.name or str(self.id)


@dataclass
class Dataset:
    """One side. `picture` and `category` say for every box which it belongs to; `score` is None for truth.

    `area` is nan where the file gives none. `group` says which boxes hold several objects, as OpenImages has it.
    `extra` holds the rest of each box. `by_file` is set where the format names
    images by their files, `by_name` where it names classes by their names, and `numbered` where its class ids are only
    places in a list that stands elsewhere.
    """

    source: str
    format: str
    pictures: list[Picture]
    categories: list[Category]
    picture: Array
    category: Array
    box: Array
    score: Array | None = None
    area: Array | None = None
    crowd: Array | None = None
    difficult: Array | None = None
    group: Array | None = None
    extra: list[dict[str, Any]] = field(default_factory=list)
    header: dict[str, Any] = field(default_factory=dict)
    place: Callable[[int], str] = field(default=lambda row: f"box {row}")
    notes: list[str] = field(default_factory=list)
    by_file: bool = False
    by_name: bool = False
    numbered: bool = False

    def __len__(self) -> int:
        return len(self.box)

    def extra_of(self, row: int) -> dict[str, Any]:
        """The rest of one box."""
        return self.extra[row] if self.extra else {}

    def records(self) -> BoxRecords:
        """As the task `boxes` takes it."""
        pictures, categories = ids_of(p.id for p in self.pictures), ids_of(c.id for c in self.categories)
        columns: dict[str, Array] = {
            "image": pictures[self.picture] if len(pictures) else ids_of([]),
            "label": categories[self.category] if len(categories) else ids_of([]),
            **box_columns(self.box),
        }
        if self.score is not None:
            columns["score"] = self.score
            return BoxRecords(self.source, columns, {}, self.place)
        area = np.full(len(self), np.nan) if self.area is None else self.area
        columns["area"] = np.where(np.isnan(area), self.box[:, 2] * self.box[:, 3], area)
        if self.crowd is not None:
            columns["crowd"] = self.crowd
        if self.difficult is not None and self.difficult.any():
            columns["difficult"] = self.difficult
        if self.group is not None:
            columns["group_of"] = self.group
        names = tuple(c.name for c in self.categories)
        often = tuple(str(c.extra.get("frequency", "")) for c in self.categories)
        return BoxRecords(
            self.source, columns, {}, self.place, images=pictures, labels=categories, label_names=names,
            frequency=often if any(often) else (), image_fields=lambda: image_fields([p.extra for p in self.pictures]),
        )  # fmt: skip


def ids_of(values: Any) -> Array:
    """Ids as a column: whole numbers where all are, else texts."""
    values = list(values)
    if all(type(v) is int for v in values):
        return np.array(values, dtype=np.int64)
    return as_object([str(v) for v in values])


class Gatherer:
    """Collects boxes one by one, finds their classes by name, and refuses what cannot be a box."""

    def __init__(self) -> None:
        self.pictures: list[Picture] = []
        self.categories: dict[str, Category] = {}
        self.rows: list[tuple[int, str, float, float, float, float]] = []
        self.scores: list[float | None] = []
        self.difficult: list[bool] = []
        self.extra: list[dict[str, Any]] = []
        self.places: list[str] = []

    def add(
        self, label: str, box: tuple[float, float, float, float], where: str, *, score: float | None = None,
        difficult: bool = False, extra: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Take one box of the last picture."""
        check_box(box, where)
        self.categories.setdefault(label, Category(label, label))
        self.rows.append((len(self.pictures) - 1, label, *box))
        self.scores.append(score)
        self.difficult.append(difficult)
        self.extra.append(extra or {})
        self.places.append(where)

    def dataset(self, source: str, format: str, side: str = "", **more: Any) -> Dataset:
        """What was gathered; classes in the order of their names unless given."""
        order = list(more.pop("categories", None) or sorted(self.categories.values(), key=lambda c: str(c.id)))
        place = {str(c.id): i for i, c in enumerate(order)}
        places = self.places
        return Dataset(
            source,
            format,
            self.pictures,
            order,
            np.array([row[0] for row in self.rows], dtype=np.int64),
            np.array([place[row[1]] for row in self.rows], dtype=np.int64),
            np.array([row[2:] for row in self.rows], dtype=np.float64).reshape(-1, 4),
            score=one_side(self.scores, places, source, side),
            difficult=np.array(self.difficult, dtype=bool) if any(self.difficult) else None,
            extra=self.extra if any(self.extra) else [],
            place=lambda row: places[row],
            **more,
        )


def one_side(scores: list[float | None], places: list[str], source: str, side: str) -> Array | None:
    """The scores of predictions, None for truth; `side` is "truth", "prediction", or empty where the file decides."""
    has_score = [score is not None for score in scores]
    if side == "prediction" or (not side and any(has_score)):
        if not all(has_score):
            raise MissingKey(
                "a prediction without a score", where=places[has_score.index(False)], remedy="Give every box a score."
            )
        return np.array(scores, dtype=np.float64)
    if side == "truth" and any(has_score):
        raise InvalidFile(
            "a score where truth is expected",
            where=places[has_score.index(True)],
            remedy="Truth comes first, then predictions.",
        )
    return None


def check_box(box: tuple[float, float, float, float], where: str) -> None:
    """Refuse what is not finite, too large, or of negative size."""
    if not all(-LARGEST <= v <= LARGEST for v in box):  # nan is in no range
        raise InvalidNumber(
            f"{list(box)} is not a box", where=where, remedy="Coordinates are finite numbers up to 1e12."
        )
    if box[2] < 0 or box[3] < 0:
        raise OutOfRange(
            f"a box of negative size: {box[2]:g} × {box[3]:g}", where=where, remedy="Are two corners exchanged?"
        )
