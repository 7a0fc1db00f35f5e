"""Matches of all cells (image and category) at once, and from them what code written for pycocotools looks at.

`Cells` holds plain arrays, so an evaluator can be pickled and copied; the lists of dicts that the reference keeps
(`evalImgs`, `ious`) are made of it when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.core.errors import InputError, ShapeMismatch

Array = NDArray[Any]
Ann = dict[str, Any]


def id_column(anns: Sequence[Ann]) -> Array:
    """Ids as an array: numbers where all are, else objects."""
    ids = [ann["id"] for ann in anns]
    try:
        return np.array(ids, dtype=np.float64) if ids else np.zeros(0)
    except (TypeError, ValueError):
        column: Array = np.empty(len(ids), dtype=object)
        column[:] = ids
        return column


def above_zero(ids: Array) -> Array:
    """Which ids count as an id: the reference asks whether a number is above 0."""
    return ids > 0 if ids.dtype != object else np.array([bool(v) for v in ids.tolist()], dtype=bool)


def not_zero(ids: Array) -> Array:
    """Which ids count as a match: the reference takes id 0 for none."""
    return ids != 0 if ids.dtype != object else np.array([bool(v) for v in ids.tolist()], dtype=bool)


class NumberError(InputError, TypeError):
    """A value that is not a number. The reference raises TypeError when it compares it, so it is one as well."""


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
        f"{values[row]!r} is not a number", where=f"annotation with id {anns[row].get('id')}, key '{key}'",
        remedy="Write it as a number, without quotes.",
    )  # fmt: skip


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


def _has_numbers(values: Any, width: int) -> bool:
    try:
        return bool(np.asarray(values, dtype=np.float64).shape == (width,))
    except (TypeError, ValueError):
        return False


def match(
    ious: Array, d_begin: Array, t_begin: Array, ignored: Array, crowd: Array, takes: Array, thresholds: Any
) -> tuple[Array, Array]:
    """Rows of the matched truths and detections; see native/kernels/boxes/coco_eval.cpp."""
    matches: tuple[Array, Array] = _native.match_cells(
        d_begin.astype(np.int64), t_begin.astype(np.int64), ious, np.ascontiguousarray(ignored, dtype=np.uint8),
        crowd.astype(np.uint8), takes.astype(np.uint8), np.asarray(thresholds, dtype=np.float64),
    )  # fmt: skip
    return matches


@dataclass
class Cells:
    """All cells that hold anything, by category and then by image.

    `category`, `image` are places in the parameters' lists. Detections are sorted by score inside a cell and cut at the
    highest limit. `d_match` (areas, thresholds, detections) holds rows of truths, `t_match` rows of detections.
    """

    category: Array
    image: Array
    d_begin: Array
    t_begin: Array
    d_ids: Array
    t_ids: Array
    d_id_list: list[Any]
    t_id_list: list[Any]
    scores: list[Any]
    score: Array
    rank: Array
    ious: Array
    d_outside: Array  # (areas, detections): outside of the range
    t_ignored: Array  # (areas, truths)
    d_match: Array
    t_match: Array

    def hits(self, area: int) -> tuple[Array, Array]:
        """Whether each detection is matched, and whether it is ignored: (thresholds, detections)."""
        rows = self.d_match[area]
        some = rows >= 0
        matched = some & not_zero(self.t_ids)[rows] if len(self.t_ids) else some
        ignored = some & self.t_ignored[area][rows] if len(self.t_ids) else some
        return matched, ignored | (~matched & self.d_outside[area])

    def iou_starts(self) -> Array:
        """Where each cell's IoUs begin."""
        sizes = np.diff(self.d_begin) * np.diff(self.t_begin)
        return np.concatenate([[0], np.cumsum(sizes)])


def entry(cells: Cells, cell: int, area: int, hits: tuple[Array, Array], head: dict[str, Any]) -> dict[str, Any]:
    """One element of `evalImgs`, with the truths that count first."""
    d = slice(int(cells.d_begin[cell]), int(cells.d_begin[cell + 1]))
    t = slice(int(cells.t_begin[cell]), int(cells.t_begin[cell + 1]))
    ignored = cells.t_ignored[area][t]
    order = np.argsort(ignored, kind="stable")
    return {
        **head,
        "dtIds": cells.d_id_list[d],
        "gtIds": [cells.t_id_list[t.start + i] for i in order],
        "dtMatches": named(cells.d_match[area][:, d], cells.t_ids),
        "gtMatches": named(cells.t_match[area][:, t][:, order], cells.d_ids),
        "dtScores": cells.scores[d],
        "gtIgnore": ignored[order].astype(np.int64),
        "dtIgnore": hits[1][:, d],
    }


def named(rows: Array, ids: Array) -> Array:
    """Rows as ids, 0 where there is none."""
    if not len(ids):
        return np.zeros(rows.shape)
    return np.where(rows >= 0, ids[rows], 0 if ids.dtype == object else 0.0)


def curves(score: Array, order: Array, hit: Array, ignored: Array, positives: int, recalls: Any) -> tuple[Any, ...]:
    """Precision (thresholds, recalls), the last recall and the scores at the recalls."""
    arrays: tuple[Any, ...] = _native.reference_curves(
        order.astype(np.int64), np.ascontiguousarray(score, dtype=np.float64),
        np.ascontiguousarray(hit).view(np.uint8), np.ascontiguousarray(ignored).view(np.uint8), float(positives),
        np.asarray(recalls, dtype=np.float64),
    )  # fmt: skip
    return arrays
