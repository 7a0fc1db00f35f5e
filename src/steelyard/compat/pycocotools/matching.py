"""All images and categories of an evaluation matched at once, and the reference's lists made of that."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.pycocotools.cells import Cells, above_zero, entry, id_column, match, number_column, table_column
from steelyard.compat.pycocotools.oks import oks_table
from steelyard.core.errors import InvalidValue, OutOfRange


def match_all(p: Any, truths: Any, detections: Any) -> Cells:
    """Match what `_prepare` laid out by image and category."""
    most = p.maxDets[-1]
    places = {image: i for i, image in enumerate(p.imgIds)}
    if p.useCats:
        codes = {cat: k for k, cat in enumerate(p.catIds)}
    else:
        codes = dict.fromkeys(p.catIds, 0)
    sides = []
    for table in (truths, detections):
        by_cell: dict[tuple[int, int], list[Any]] = defaultdict(list)
        keys = list(table)
        if not p.useCats:  # in one cell, annotations go by category as the parameters list them
            turn = {cat: k for k, cat in enumerate(p.catIds)}
            keys.sort(key=lambda key: turn.get(key[1], 0))
        for image, cat in keys:
            if cat in codes and image in places:
                by_cell[codes[cat], places[image]] += table[image, cat]
        sides.append(by_cell)
    occupied = sorted({key for by_cell in sides for key, anns in by_cell.items() if anns})
    gts = [gt for key in occupied for gt in sides[0].get(key, ())]
    dts = [dt for key in occupied for dt in sides[1].get(key, ())]
    t_begin = np.concatenate([[0], np.cumsum([len(sides[0].get(key, ())) for key in occupied])]).astype(np.int64)
    sizes = np.array([len(sides[1].get(key, ())) for key in occupied], dtype=np.int64)
    cell = np.repeat(np.arange(len(occupied)), sizes)
    score = number_column(dts, "score")
    order = np.lexsort((-score, cell))
    starts = np.cumsum(sizes) - sizes
    rank = np.arange(len(dts)) - np.repeat(starts, sizes)  # of each place once sorted
    within_cap = rank < most
    order, rank = order[within_cap], rank[within_cap]
    dts, score = [dts[i] for i in order.tolist()], score[order]
    d_begin = np.concatenate([[0], np.cumsum(np.minimum(sizes, most))]).astype(np.int64)
    crowd = np.array([int(gt.get("iscrowd", 0)) for gt in gts], dtype=np.uint8)
    ious = _all_ious(p, dts, gts, d_begin, t_begin, crowd)
    d_ids, t_ids = id_column(dts), id_column(gts)
    d_area, t_area = number_column(dts, "area"), truth_areas(p, gts)
    ranges = np.array([[float(v) for v in area[:2]] for area in p.areaRng]).reshape(-1, 2)
    low, high = ranges[:, :1], ranges[:, 1:]
    always = np.array([bool(gt["ignore"]) for gt in gts], dtype=bool)
    ignored = always | (t_area < low) | (t_area > high)
    for gt, flag in zip(gts, ignored[-1].tolist() if len(ranges) else (), strict=False):
        gt["_ignore"] = int(flag)
    d_match, t_match = match(ious, d_begin, t_begin, ignored, crowd, above_zero(d_ids), p.iouThrs)
    keys_of = np.array(occupied, dtype=np.int64).reshape(-1, 2)
    return Cells(
        keys_of[:, 0], keys_of[:, 1], d_begin, t_begin, d_ids, t_ids, [dt["id"] for dt in dts],
        [gt["id"] for gt in gts], [dt["score"] for dt in dts], score, rank, ious,
        (d_area < low) | (d_area > high), ignored, d_match, t_match,
    )  # fmt: skip


def truth_areas(p: Any, gts: list[Any]) -> Any:
    """The areas of truths; of keypoints without an area of their own, 0.53 times that of the box."""
    if p.iouType not in ("keypoints", "keypoints_crowd") or getattr(p, "use_area", True):
        return number_column(gts, "area")
    box = table_column(gts, "bbox", 4)
    return box[:, 3] * box[:, 2] * 0.53


def _all_ious(p: Any, dts: list[Any], gts: list[Any], d_begin: Any, t_begin: Any, crowd: Any) -> Any:
    if p.iouType == "bbox":
        boxes = table_column(dts, "bbox", 4), table_column(gts, "bbox", 4)
        return _native.cell_box_ious(d_begin, t_begin, *boxes, crowd)
    if p.iouType in ("keypoints", "keypoints_crowd"):
        sigmas = np.asarray(p.kpt_oks_sigmas, dtype=np.float64)
        parts = []
        pairs = np.flatnonzero((np.diff(d_begin) > 0) & (np.diff(t_begin) > 0))  # elsewhere nobody looks at the points
        for cell in pairs.tolist():
            mine, theirs = dts[d_begin[cell] : d_begin[cell + 1]], gts[t_begin[cell] : t_begin[cell + 1]]
            detected, truth = (table_column(side, "keypoints", 3 * len(sigmas)) for side in (mine, theirs))
            box, area = table_column(theirs, "bbox", 4), truth_areas(p, theirs)
            parts.append(oks_table(detected, truth, box, area, sigmas).ravel())
        return np.concatenate(parts) if parts else np.zeros(0)
    ratio = float(p.dilation_ratio) if p.iouType == "boundary" else 0.0
    if not 0 <= ratio <= 1:
        raise OutOfRange(
            "the boundary's share of the diagonal is from 0 to 1", where=f"params.dilation_ratio, {ratio:g}",
            remedy="The usual one is 0.02.",
        )  # fmt: skip
    lists = [dt["segmentation"] for dt in dts], [gt["segmentation"] for gt in gts]
    try:
        return _native.cell_mask_ious(d_begin, t_begin, *lists, crowd, ratio)
    except ValueError:
        for ann in (*dts, *gts):  # say which
            _check_mask(ann)
        raise


def _check_mask(ann: Any) -> None:
    try:
        _native.mask_copy(ann["segmentation"])
    except ValueError as error:
        where = f"annotation with id {ann.get('id')}, image {ann.get('image_id')}, key 'segmentation'"
        raise InvalidValue(str(error), where=where) from None


def listed(cells: Cells, p: Any) -> list[Any]:
    """What the reference keeps in `evalImgs`."""
    images, areas = len(p.imgIds), len(p.areaRng)
    categories = p.catIds if p.useCats else [-1]
    entries: list[Any] = [None] * (len(categories) * areas * images)
    for a, area in enumerate(p.areaRng):
        hits = cells.hits(a)
        for c, (k, i) in enumerate(zip(cells.category.tolist(), cells.image.tolist(), strict=True)):
            head = {
                "image_id": p.imgIds[i], "category_id": categories[k], "aRng": area, "maxDet": p.maxDets[-1]
            }  # fmt: skip
            entries[(k * areas + a) * images + i] = entry(cells, c, a, hits, head)
    return entries


def iou_table(cells: Cells, p: Any) -> dict[Any, Any]:
    """What the reference keeps in `ious`."""
    categories = p.catIds if p.useCats else [-1]
    table: dict[Any, Any] = {(image, cat): [] for image in p.imgIds for cat in categories}
    starts = cells.iou_starts()
    shapes = np.stack([np.diff(cells.d_begin), np.diff(cells.t_begin)], axis=1)
    for c in np.flatnonzero(shapes.all(axis=1)).tolist():
        key = p.imgIds[cells.image[c]], categories[cells.category[c]]
        table[key] = cells.ious[starts[c] : starts[c + 1]].reshape(shapes[c])
    return table
