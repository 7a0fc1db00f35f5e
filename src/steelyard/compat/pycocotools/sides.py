"""One side of an evaluation, truth or detections, as columns: from dicts, or straight from a file."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.pycocotools.oks import Array, check_points, without_flags
from steelyard.core.errors import InputError, InvalidValue, ShapeMismatch

Ann = dict[str, Any]
POINTS = ("keypoints", "keypoints_crowd")
KEYS = {  # where an annotation has what is compared
    "bbox": "bbox",
    "segm": "segmentation",
    "boundary": "segmentation",
    "keypoints": "keypoints",
    "keypoints_crowd": "keypoints",
}


class Columns:
    """Annotations of a file, a row each, with whole numbers as ids.

    Masks are as `_native.mask_column` gives them. Points are x, y and v of truths, and x and y of results; `labelled`
    says how many points of a truth are.
    """

    def __init__(self, columns: dict[str, Any]) -> None:
        self.image: Array = columns["image"]
        self.category: Array = columns["label"]
        self.box: Array | None = columns.get("box")
        self.area: Array | None = columns.get("area")
        self.ids: Array | None = columns.get("id")
        self.crowd: Array | None = columns.get("crowd")
        self.score: Array | None = columns.get("score")
        self.masks: tuple[Array, Array, Array] | None = columns.get("mask")
        self.points: Array | None = columns.get("keypoints")
        self.labelled: Array | None = columns.get("visible")
        self.images: Array = columns.get("images", np.zeros(0, dtype=np.int64))
        self.categories: Array = columns.get("categories", np.zeros(0, dtype=np.int64))
        if self.box is None and self.masks is not None:
            self.area = self.masks[0][:, 2].astype(np.float64)
        if self.labelled is not None and (self.labelled < 0).any():  # one lacks `num_keypoints`
            self.points = None

    @classmethod
    def of_truth(cls, read: dict[str, Any]) -> Columns | None:
        """Columns of the native reader, or None where the reference would see more in the file."""
        names = ("image", "label", "images", "categories")
        if any(isinstance(read[name], tuple) for name in names) or not all(
            read[name].dtype.kind == "i" for name in names
        ):
            return None
        if read["lacks_area"] or (read["id"] < 0).any():
            return None
        if any(_native.first_repeated(read[name]) >= 0 for name in ("id", "images", "categories")):
            return None
        return cls(read)

    @classmethod
    def of_results(cls, read: dict[str, Any]) -> Columns | None:
        """Columns of the native reader; results are numbered from 1."""
        if isinstance(read["image"], tuple) or isinstance(read["label"], tuple):
            return None
        return cls(read)

    def with_shapes(self, read: dict[str, Any]) -> Columns:
        """The same with the masks or keypoints of another reading."""
        twin = copy.copy(self)
        twin.masks, twin.points = read.get("mask"), read.get("keypoints")
        return twin

    def unknown_images(self, known: Sequence[Any]) -> set[Any]:
        """Images that are not among the known ones."""
        if not len(known) or np.asarray(known).dtype.kind not in "iu":
            return set(self.image.tolist()) - set(known)
        return set(self.image[_places(self.image, known) < 0].tolist())


class NumberError(InputError, TypeError):
    """A value that is not a number. The reference raises TypeError when it compares it, so it is one as well."""


def id_column(ids: Sequence[Any] | Array) -> Array:
    """Ids as an array: numbers where all are, else objects."""
    try:
        return np.array(ids, dtype=np.float64) if len(ids) else np.zeros(0)
    except (TypeError, ValueError):
        column: Array = np.empty(len(ids), dtype=object)
        column[:] = ids
        return column


def number_column(anns: Sequence[Ann], key: str) -> Array:
    """A number of each annotation. A text or None is refused, as the reference does."""
    values = [ann[key] for ann in anns]
    try:
        column = np.array(values)
        if (column.ndim == 1 and column.dtype.kind in "iuf") or not values:
            return column.astype(np.float64)
    except ValueError:  # lists of several lengths
        pass
    row = next((i for i, v in enumerate(values) if not _is_number(v) or (v is True and key == "score")), None)
    if row is None:
        return np.array([float(value) for value in values])
    raise NumberError(
        f"{values[row]!r} is not a number",
        where=f"annotation with id {anns[row].get('id')}, key '{key}'",
        remedy="Write it as a number, without quotes.",
    )


def _is_number(value: Any) -> bool:
    if value is None or isinstance(value, str | bytes):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def table_column(anns: Sequence[Ann], key: str, width: int) -> Array:
    """As many numbers of each annotation."""
    if not anns:
        return np.zeros((0, width))
    try:
        table = np.array([ann[key] for ann in anns], dtype=np.float64)
        good = table.shape == (len(anns), width)
    except (TypeError, ValueError):
        good = False
    if not good:
        row = next((i for i, ann in enumerate(anns) if not _has_numbers(ann[key], width)), 0)
        raise ShapeMismatch(
            f"{width} numbers are expected", where=f"annotation with id {anns[row].get('id')}, key '{key}'"
        )
    return table


def keypoint_table(anns: Sequence[Ann], sigmas: Array) -> Array:
    """The keypoints of annotations: x, y, v in turn."""
    points = table_column(anns, "keypoints", 3 * len(sigmas))
    check_points(points, sigmas, [ann.get("id") for ann in anns])
    return points


def _has_numbers(values: Any, width: int) -> bool:
    try:
        return bool(np.asarray(values, dtype=np.float64).shape == (width,))
    except (TypeError, ValueError):
        return False


def truth_areas(p: Any, gts: list[Any]) -> Any:
    """The areas of truths; of keypoints without an area of their own, 0.53 times that of the box."""
    if p.iouType not in POINTS or getattr(p, "use_area", True):
        return number_column(gts, "area")
    box = table_column(gts, "bbox", 4)
    return box[:, 3] * box[:, 2] * 0.53


class DictSide:
    """Annotations that are dicts, listed by image and category: those that take part."""

    def __init__(self, p: Any, by_cell: Mapping[Any, Sequence[Ann]], truth: bool) -> None:
        places = {image: place for place, image in enumerate(p.imgIds)}
        codes = {category: place for place, category in enumerate(p.catIds)}
        known = [
            (places[image], codes[category], anns)
            for (image, category), anns in by_cell.items()
            if image in places and category in codes
        ]
        sizes = [len(anns) for _, _, anns in known]
        self.p, self.truth = p, truth
        self.anns = [ann for _, _, anns in known for ann in anns]
        self.image = np.repeat(np.array([image for image, _, _ in known], dtype=np.int32), sizes)
        self.category = np.repeat(np.array([category for _, category, _ in known], dtype=np.int32), sizes)
        self.score = np.zeros(0) if truth else number_column(self.anns, "score")

    def take(self, rows: Array) -> None:
        """Keep the annotations of some rows, in this order."""
        self.anns = [self.anns[row] for row in rows.tolist()]
        self.score = self.score[rows] if len(self.score) else self.score

    def ids(self) -> list[Any]:
        """Their ids."""
        return [ann["id"] for ann in self.anns]

    def scores(self) -> list[Any]:
        """Their scores as they are in the dicts."""
        return [ann["score"] for ann in self.anns]

    def area(self) -> Array:
        """Their areas."""
        column: Array = truth_areas(self.p, self.anns) if self.truth else number_column(self.anns, "area")
        return column

    def crowd(self) -> Array:
        """Which are crowds."""
        return np.array([int(ann.get("iscrowd", 0)) for ann in self.anns], dtype=np.uint8)

    def ignored_truths(self) -> Array:
        """Which truths never count."""
        return np.array([bool(ann["ignore"]) for ann in self.anns], dtype=bool)

    def mark(self, ignored: Array) -> None:
        """Leave in the dicts what the reference leaves there: whether a truth is ignored in the last range of areas."""
        for ann, flag in zip(self.anns, ignored.tolist(), strict=True):
            ann["_ignore"] = int(flag)

    def boxes(self) -> tuple[Array, Array]:
        """Boxes, n × 4, and the rows of those that take part."""
        return table_column(self.anns, "bbox", 4), np.arange(len(self.anns), dtype=np.int32)

    def masks(self) -> tuple[tuple[Array, Array, Array], Array]:
        """Masks as a column, and the rows of those that take part."""
        try:
            column = _native.mask_column([ann["segmentation"] for ann in self.anns])
        except ValueError:
            for ann in self.anns:  # say which
                _check_mask(ann)
            raise
        return column, np.arange(len(self.anns), dtype=np.int32)

    def points(self, compared: Array, sigmas: Array) -> tuple[Array, Array, Array]:
        """Keypoints and boxes of those that are compared with any, and the row of each; boxes only of truths."""
        anns = [ann for ann, flag in zip(self.anns, compared.tolist(), strict=True) if flag]
        points = keypoint_table(anns, sigmas)
        rows = np.maximum(np.cumsum(compared, dtype=np.int32) - np.int32(1), np.int32(0))
        if self.truth:
            return points, table_column(anns, "bbox", 4), rows
        return without_flags(points), np.zeros((0, 4)), rows


def _check_mask(ann: Any) -> None:
    try:
        _native.mask_copy(ann["segmentation"])
    except ValueError as error:
        where = f"annotation with id {ann.get('id')}, image {ann.get('image_id')}, key 'segmentation'"
        raise InvalidValue(str(error), where=where) from None


class ColumnSide:
    """Annotations of a file: those that take part."""

    def __init__(self, p: Any, columns: Columns) -> None:
        self.p = p
        self.columns, self.rows = columns, np.arange(len(columns.image), dtype=np.int32)
        self.image, self.category = _places(columns.image, p.imgIds), _places(columns.category, p.catIds)
        self.score = np.zeros(0) if columns.score is None else columns.score
        kept = (self.image >= 0) & (self.category >= 0)
        if not kept.all():
            self.rows, self.image, self.category = self.rows[kept], self.image[kept], self.category[kept]
            self.score = self.score[kept] if len(self.score) else self.score

    def take(self, rows: Array) -> None:
        """Keep the annotations of some rows, in this order."""
        self.rows = self.rows[rows]
        self.score = self.score[rows] if len(self.score) else self.score

    def ids(self) -> Array:
        """Their ids; results are numbered from 1."""
        return self.rows + 1 if self.columns.ids is None else self.columns.ids[self.rows]

    def scores(self) -> Array:
        """Their scores."""
        return self.score

    def area(self) -> Array:
        """Their areas."""
        columns, rows = self.columns, self.rows
        in_region = columns.score is None and self.p.iouType in POINTS and not getattr(self.p, "use_area", True)
        if columns.area is not None and not in_region:
            return np.asarray(columns.area[rows])
        assert columns.box is not None
        width, height = columns.box[rows, 2], columns.box[rows, 3]
        return np.asarray(height * width * 0.53 if in_region else width * height)

    def crowd(self) -> Array:
        """Which are crowds."""
        assert self.columns.crowd is not None
        return self.columns.crowd[self.rows]

    def ignored_truths(self) -> Array:
        """Which truths never count."""
        crowd: Array = self.crowd() != 0
        if self.p.iouType not in POINTS:
            return crowd
        assert self.columns.labelled is not None
        return np.asarray(crowd | (self.columns.labelled[self.rows] == 0))

    def mark(self, ignored: Array) -> None:
        """There are no dicts to mark."""

    def boxes(self) -> tuple[Array, Array]:
        """Boxes, n × 4, and the rows of those that take part."""
        assert self.columns.box is not None
        return self.columns.box, self.rows

    def masks(self) -> tuple[tuple[Array, Array, Array], Array]:
        """Masks as a column, and the rows of those that take part."""
        assert self.columns.masks is not None
        return self.columns.masks, self.rows

    def points(self, compared: Array, sigmas: Array) -> tuple[Array, Array, Array]:
        """Keypoints and boxes, and the rows of those that take part."""
        assert self.columns.points is not None
        assert self.columns.box is not None
        return self.columns.points, self.columns.box, self.rows


Side = DictSide | ColumnSide


def _places(values: Array, wanted: Sequence[Any]) -> Array:
    """Where each value is in a list, -1 where it is not."""
    known = np.asarray(wanted)
    low, high = int(known.min()), int(known.max())
    if high - low <= 4 * (len(values) + len(known)) and abs(low) < 1 << 62:  # a table is the fastest way
        table: Array = np.full(high - low + 3, -1, dtype=np.int32)
        table[known - (low - 1)] = np.arange(len(known))
        return np.asarray(table[np.clip(values, low - 1, high + 1) - (low - 1)])
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known[order], values, side="right") - 1  # -1 is the last, which is not equal
    return np.where(known[order][at] == values, order[at], -1).astype(np.int32)
