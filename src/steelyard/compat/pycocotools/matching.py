"""All images and categories of an evaluation matched at once, and the reference's lists made of that.

Cells (an image and a category) are ordered by category and then by image. Their detections are sorted by score and cut
at the highest limit. `lay_out` brings both sides into this order and computes the IoUs; the native core matches and
accumulates them in one go. The lists that code written for pycocotools may look at (`evalImgs`, `ious`) are made of the
same IoUs when somebody asks for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.pycocotools.oks import Array, PointPairs
from steelyard.compat.pycocotools.sides import POINTS, Side, id_column
from steelyard.core.errors import OutOfRange


def above_zero(ids: Array) -> Array:
    """Which ids count as an id: the reference asks whether a number is above 0."""
    return ids > 0 if ids.dtype != object else np.array([bool(v) for v in ids.tolist()], dtype=bool)


def not_zero(ids: Array) -> Array:
    """Which ids count as a match: the reference takes id 0 for none."""
    return ids != 0 if ids.dtype != object else np.array([bool(v) for v in ids.tolist()], dtype=bool)


def ids_of_rows(rows: Array, ids: Array) -> Array:
    """Rows as ids, 0 where there is none."""
    if not len(ids):
        return np.zeros(rows.shape)
    return np.where(rows >= 0, ids[rows], 0 if ids.dtype == object else 0.0)


def match(
    ious: Array, d_begin: Array, t_begin: Array, ignored: Array, crowd: Array, takes: Array, thresholds: Any
) -> tuple[Array, Array]:
    """Rows of the matched truths and detections; see native/kernels/boxes/coco_eval.cpp."""
    matches: tuple[Array, Array] = _native.match_cells(
        d_begin,
        t_begin,
        ious,
        np.ascontiguousarray(ignored, dtype=np.uint8),
        crowd.astype(np.uint8),
        takes.astype(np.uint8),
        np.asarray(thresholds, dtype=np.float64),
    )
    return matches


class Layout:
    """All cells that hold anything. `category` and `image` are places in the parameters' lists.

    `d_outside` (areas, detections) are outside of the range; `t_ignored` is (areas, truths). `ious` are of all pairs of
    each cell; what is too low to match may be 0.
    """

    def __init__(
        self,
        category: Array,
        image: Array,
        begins: tuple[Array, Array],
        sides: tuple[Side, Side],
        pairs: ShapePairs | PointPairs,
        crowd: Array,
        d_outside: Array,
        t_ignored: Array,
        thresholds: Array,
    ) -> None:
        detected, truth = sides
        self.category, self.image = category, image
        self.d_begin, self.t_begin = begins
        self.d_ids: list[Any] | Array = detected.ids()
        self.t_ids: list[Any] | Array = truth.ids()
        self.scores: list[Any] | Array = detected.scores()
        self.score = detected.score
        self.pairs, self.crowd, self.thresholds = pairs, crowd, thresholds
        self.d_outside, self.t_ignored = d_outside, t_ignored
        self.ious = pairs.ious(float(np.min(thresholds, initial=1 - 1e-10)))

    def _cells(self) -> dict[str, Any]:
        """What the native core matches."""
        return {
            "d_begin": self.d_begin,
            "t_begin": self.t_begin,
            "ious": self.ious,
            "t_ignored": self.t_ignored.view(np.uint8),
            "crowd": self.crowd,
            "takes": above_zero(id_column(self.d_ids)).view(np.uint8),
            "thresholds": self.thresholds,
        }

    def match(self) -> tuple[Array, Array]:
        """Rows of truths (areas, thresholds, detections) and rows of detections (areas, thresholds, truths)."""
        matches: tuple[Array, Array] = _native.match_cells(**self._cells())
        return matches

    def accumulate(self, limits: list[int], recalls: Any, categories: int) -> tuple[Array, Array, Array]:
        """Precision and scores (thresholds, recalls, categories, areas, limits), and between them the last recall."""
        arrays: tuple[Array, Array, Array] = _native.score_cells(
            **self._cells(),
            category=self.category,
            score=self.score,
            d_outside=self.d_outside.view(np.uint8),
            t_counts=not_zero(id_column(self.t_ids)).view(np.uint8),
            limits=np.array(limits, dtype=np.int64),
            recalls=np.asarray(recalls, dtype=np.float64),
            categories=categories,
        )
        return arrays

    def ignored_detections(self, d_match: Array) -> Array:
        """Which detections are ignored: (areas, thresholds, detections)."""
        some = d_match >= 0
        matched, ignored = some, some
        if len(self.crowd):
            matched = some & not_zero(id_column(self.t_ids))[d_match]
            ignored = some & np.stack([flags[rows] for flags, rows in zip(self.t_ignored, d_match, strict=True)])
        outside: Array = ~matched & self.d_outside[:, None]
        return ignored | outside


def lay_out(p: Any, truth: Side, detected: Side) -> Layout:
    """Both sides by cells, with their IoUs."""
    images, most = len(p.imgIds), p.maxDets[-1]
    t_order, d_order = (
        _native.order_cells(side.category, side.image, side.score, len(p.catIds), images, bool(p.useCats))
        for side in (truth, detected)
    )
    t_cell, d_cell = (
        ((side.category if p.useCats else 0) * np.int64(images) + side.image.astype(np.int64))[order]
        for side, order in ((truth, t_order), (detected, d_order))
    )
    occupied = distinct(np.sort(np.concatenate([distinct(t_cell), distinct(d_cell)]), kind="stable"))
    t_begin = np.append(np.searchsorted(t_cell, occupied), len(t_cell))
    begin = np.append(np.searchsorted(d_cell, occupied), len(d_cell))
    sizes = np.diff(begin)
    if (sizes > most).any():
        d_order = d_order[np.arange(len(d_order)) - np.repeat(begin[:-1], sizes) < most]
    d_begin = np.concatenate([[0], np.cumsum(np.minimum(sizes, most))])
    truth.take(t_order)
    detected.take(d_order)
    crowd, t_area, d_area = truth.crowd(), truth.area(), detected.area()
    ranges = [[float(v) for v in area[:2]] for area in p.areaRng]
    never = truth.ignored_truths()
    ignored = _stack_rows([never | (t_area < low) | (t_area > high) for low, high in ranges], len(t_order))
    outside = _stack_rows([(d_area < low) | (d_area > high) for low, high in ranges], len(d_order))
    if ranges:
        truth.mark(ignored[-1])
    thresholds = np.array(p.iouThrs, dtype=np.float64)
    pairs = _pairs(p, detected, truth, d_begin, t_begin, crowd, t_area)
    cells, begins, sides = (occupied // images, occupied % images), (d_begin, t_begin), (detected, truth)
    return Layout(*cells, begins, sides, pairs, crowd, outside, ignored, thresholds)


def _stack_rows(rows: list[Array], columns: int) -> Array:
    return np.stack(rows) if rows else np.zeros((0, columns), dtype=bool)


def distinct(ordered: Array) -> Array:
    """The values of a sorted column, once each."""
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


class Listed:
    """Detections of a category from a list as `evalImgs` is, whoever made it."""

    def __init__(self, listed: Any, done: Any, images: list[int]) -> None:
        self.listed, self.images = listed, images
        self.areas, self.stride = len(done.areaRng), len(done.imgIds)

    def part(self, k: int, a: int, most: int) -> tuple[Array, Array, Array, Array, int] | None:
        """Scores, their order, hits and ignored of the detections, and how many truths count; None where none does."""
        begin = (k * self.areas + a) * self.stride
        entries = [e for e in (self.listed[begin + i] for i in self.images) if e is not None]
        if not entries:
            return None
        ignored_truth = np.concatenate([np.asarray(e["gtIgnore"]) for e in entries])
        positives = int(np.count_nonzero(ignored_truth == 0))
        if not positives:
            return None
        score = np.concatenate([np.asarray(e["dtScores"][:most], dtype=np.float64) for e in entries])
        matched = np.concatenate([np.asarray(e["dtMatches"])[:, :most] for e in entries], axis=1)
        ignored = np.concatenate([np.asarray(e["dtIgnore"])[:, :most] for e in entries], axis=1).astype(bool)
        return score, np.argsort(-score, kind="stable"), matched.astype(bool), ignored, positives


def curves(score: Array, order: Array, hit: Array, ignored: Array, positives: int, recalls: Any) -> tuple[Any, ...]:
    """Precision (thresholds, recalls), the last recall and the scores at the recalls."""
    arrays: tuple[Any, ...] = _native.reference_curves(
        order.astype(np.int64, copy=False),
        np.ascontiguousarray(score, dtype=np.float64),
        np.ascontiguousarray(hit).view(np.uint8),
        np.ascontiguousarray(ignored).view(np.uint8),
        float(positives),
        np.asarray(recalls, dtype=np.float64),
    )
    return arrays


class ShapePairs:
    """Boxes or masks of detections and truths in cells."""

    def __init__(self, *cells: Any, boundary: float | None = None) -> None:
        self.cells = cells
        self.boundary = boundary  # of masks: a share of the diagonal

    def ious(self, least: float) -> Array:
        """The IoU of all pairs, flat; of masks 0 where it is surely less than that."""
        cells: Any = self.cells if self.boundary is None else (*self.cells, self.boundary, least)
        return (_native.cell_box_ious if self.boundary is None else _native.cell_mask_ious)(*cells)


def _pairs(
    p: Any, detected: Side, truth: Side, d_begin: Array, t_begin: Array, crowd: Array, t_area: Array
) -> ShapePairs | PointPairs:
    if p.iouType == "bbox":
        (d_box, d_rows), (t_box, t_rows) = detected.boxes(), truth.boxes()
        return ShapePairs(d_begin, t_begin, d_rows, t_rows, d_box, t_box, crowd)
    if p.iouType in POINTS:
        sigmas = np.asarray(p.kpt_oks_sigmas, dtype=np.float64)
        sizes = np.diff(d_begin), np.diff(t_begin)
        compared = (sizes[0] > 0) & (sizes[1] > 0)  # elsewhere nobody looks at the points
        if not compared.any():
            begin = np.zeros(len(compared) + 1, dtype=np.int64)
            return ShapePairs(begin, begin, *np.zeros((2, 0), np.int32), *np.zeros((2, 0, 4)), np.zeros(0, np.uint8))
        d_points, _, d_rows = detected.points(np.repeat(compared, sizes[0]), sigmas)
        t_points, t_box, t_rows = truth.points(np.repeat(compared, sizes[1]), sigmas)
        cells = {"d_begin": d_begin, "t_begin": t_begin, "d_rows": d_rows, "t_rows": t_rows}
        return PointPairs(**cells, d_points=d_points, t_points=t_points, t_box=t_box, t_area=t_area, sigmas=sigmas)
    ratio = float(p.dilation_ratio) if p.iouType == "boundary" else 0.0
    if not 0 <= ratio <= 1:
        raise OutOfRange(
            "the boundary's share of the diagonal is from 0 to 1",
            where=f"params.dilation_ratio, {ratio:g}",
            remedy="The usual one is 0.02.",
        )
    (d_masks, d_rows), (t_masks, t_rows) = detected.masks(), truth.masks()
    return ShapePairs(d_begin, t_begin, d_rows, t_rows, d_masks, t_masks, crowd, boundary=ratio)


def image_entries(layout: Layout, p: Any) -> list[Any]:
    """What the reference keeps in `evalImgs`."""
    images, areas = len(p.imgIds), len(p.areaRng)
    categories = p.catIds if p.useCats else [-1]
    entries: list[Any] = [None] * (len(categories) * areas * images)
    d_match, t_match = layout.match()
    ignored = layout.ignored_detections(d_match)
    d_list, t_list, scores = (list(_plain(column)) for column in (layout.d_ids, layout.t_ids, layout.scores))
    d_ids, t_ids = id_column(layout.d_ids), id_column(layout.t_ids)
    for c, (k, i) in enumerate(zip(layout.category.tolist(), layout.image.tolist(), strict=True)):
        d, t = (slice(int(begin[c]), int(begin[c + 1])) for begin in (layout.d_begin, layout.t_begin))
        for a, area in enumerate(p.areaRng):
            flags = layout.t_ignored[a, t]
            order = np.argsort(flags, kind="stable")  # the truths that count first
            entries[(k * areas + a) * images + i] = {
                "image_id": p.imgIds[i],
                "category_id": categories[k],
                "aRng": area,
                "maxDet": p.maxDets[-1],
                "dtIds": d_list[d],
                "gtIds": [t_list[t.start + place] for place in order],
                "dtMatches": ids_of_rows(d_match[a][:, d], t_ids),
                "gtMatches": ids_of_rows(t_match[a][:, t][:, order], d_ids),
                "dtScores": scores[d],
                "gtIgnore": flags[order].astype(np.int64),
                "dtIgnore": ignored[a][:, d],
            }
    return entries


def _plain(column: list[Any] | Array) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else column


def iou_table(layout: Layout, p: Any) -> dict[Any, Any]:
    """What the reference keeps in `ious`."""
    categories = p.catIds if p.useCats else [-1]
    table: dict[Any, Any] = {(image, cat): [] for image in p.imgIds for cat in categories}
    shapes = np.stack([np.diff(layout.d_begin), np.diff(layout.t_begin)], axis=1)
    ious = layout.pairs.ious(-np.inf)
    begin = np.concatenate([[0], np.cumsum(shapes[:, 0] * shapes[:, 1])])
    for c in np.flatnonzero(shapes.all(axis=1)).tolist():
        key = p.imgIds[layout.image[c]], categories[layout.category[c]]
        table[key] = ious[begin[c] : begin[c + 1]].reshape(shapes[c])
    return table
