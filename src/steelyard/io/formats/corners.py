"""Oriented boxes of a data set: four corners each, carried as COCO's `segmentation` of one polygon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from steelyard.core.errors import InvalidNumber, InvalidValue
from steelyard.core.quads import Floats, corners_of, extents_of
from steelyard.core.records import Array
from steelyard.io.formats.dataset import Category, Dataset, Picture

_FIVE, _EIGHT = ("obb", "rbox"), ("segmentation", "poly")


def corners_of_dataset(dataset: Dataset) -> Floats:
    """Corners of every object: those that it has, those of its rotated box, or those of its upright box."""
    x, y, w, h = dataset.box.T if len(dataset) else np.zeros((4, 0))
    corners = np.ascontiguousarray(np.stack([x, y, x + w, y, x + w, y + h, x, y + h], axis=1))
    for row in range(len(dataset) if dataset.extra else 0):
        extra = dataset.extra_of(row)
        eight = next((_numbers(extra[name], 8) for name in _EIGHT if name in extra), None)
        if eight is not None:
            corners[row] = eight
            continue
        five = next((_numbers(extra[name], 5) for name in _FIVE if name in extra), None)
        if five is not None:
            corners[row] = corners_of(np.array([five]))[0]
        elif "segmentation" in extra:
            raise InvalidValue(
                "an object that is not one polygon of four corners", where=dataset.place(row),
                remedy="Give four corners, or leave 'segmentation' out to take the box.",
            )  # fmt: skip
    return corners


def _numbers(value: Any, count: int) -> list[float] | None:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    if not isinstance(value, list) or len(value) != count or not all(type(v) in (int, float) for v in value):
        return None
    return [float(v) for v in value]


class Quads:
    """Collects oriented boxes row by row, and refuses what cannot be one."""

    def __init__(self) -> None:
        self.pictures: dict[str, Picture] = {}
        self.labels: dict[str, int] = {}
        self.picture: list[int] = []
        self.category: list[int] = []
        self.corners: list[Sequence[float]] = []
        self.scores: list[float] = []
        self.difficult: list[bool] = []
        self.places: list[str] = []
        self._order: dict[str, int] = {}

    def image(self, name: str, width: int | None = None, height: int | None = None) -> None:
        """An image that may have no objects."""
        if name not in self.pictures:
            self._order[name] = len(self.pictures)
            self.pictures[name] = Picture(name, name, width, height)

    def add(
        self, image: str, label: str, corners: Sequence[float], where: str, *, score: float | None = None,
        difficult: bool = False,
    ) -> None:  # fmt: skip
        """Take one object."""
        if not all(-1e12 <= v <= 1e12 for v in corners):
            raise InvalidNumber(
                f"{list(corners)} are not corners", where=where, remedy="They are finite numbers up to 1e12."
            )
        self.image(image)
        self.picture.append(self._order[image])
        self.category.append(self.labels.setdefault(label, len(self.labels)))
        self.corners.append(corners)
        self.difficult.append(difficult)
        self.places.append(where)
        if score is not None:
            self.scores.append(score)

    def dataset(self, source: str, format: str, side: str, **more: Any) -> Dataset:
        """What was collected; classes in the order of their names unless given."""
        categories = more.pop("categories", None)
        names = list(self.labels)
        if categories is None:
            categories = [Category(name, name) for name in sorted(names)]
        place = {str(category.id): i for i, category in enumerate(categories)}
        code = np.array([place[name] for name in names], dtype=np.int64)
        corners = np.array(self.corners, dtype=np.float64).reshape(-1, 8)
        category: Array = np.array(self.category, dtype=np.int64)
        places = self.places
        return Dataset(
            source, format, list(self.pictures.values()), categories,
            np.array(self.picture, dtype=np.int64), code[category] if len(code) else category, extents_of(corners),
            score=np.array(self.scores, dtype=np.float64) if self.scores or side == "prediction" else None,
            difficult=np.array(self.difficult, dtype=bool) if any(self.difficult) else None,
            extra=[{"segmentation": [row]} for row in corners.tolist()],
            place=lambda row: places[row], by_file=True, **more,
        )  # fmt: skip
