"""`pycocotools.cocoeval`: COCO's evaluator with the reference's steps, names, layout and numbers.

Where none of the steps is overridden, all images and categories are matched at once in the native core, and `evalImgs` and
`ious` are made when they are read. Where a subclass has its own `computeIoU`, `computeOks` or `evaluateImg`, every step is
called for every image and category, as the reference does.
"""

from __future__ import annotations

import copy
import datetime
import time
from collections import defaultdict
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.pycocotools.cells import (
    Cells,
    above_zero,
    curves,
    entry,
    id_column,
    match,
    named,
    not_zero,
    number_column,
    table_column,
)
from steelyard.core.errors import InputError

__all__ = ["COCOeval", "Params"]

_STEPS = ("computeIoU", "computeOks", "evaluateImg")
_KINDS = ("segm", "bbox", "keypoints", "boundary")


class Params:
    """Settings of an evaluation; `boundary` (masks by the lesser of IoU and boundary IoU) is an addition."""

    def __init__(self, iouType: str = "segm") -> None:
        if iouType not in _KINDS:
            raise InputError(f"iouType '{iouType}' is not supported", remedy=f"Choose one of {', '.join(_KINDS)}.")
        self.iouType = iouType
        self.useSegm = None
        if iouType == "keypoints":
            self.setKpParams()
        else:
            self.setDetParams()
        if iouType == "boundary":
            self.dilation_ratio = 0.02

    def _common(self) -> None:
        self.imgIds: list[Any] = []
        self.catIds: list[Any] = []
        self.iouThrs = np.linspace(0.5, 0.95, 10)
        self.recThrs = np.linspace(0.0, 1.0, 101)
        self.useCats = 1

    def setDetParams(self) -> None:
        """The settings of boxes and masks."""
        self._common()
        self.maxDets = [1, 10, 100]
        self.areaRng: list[Any] = [[0, 1e10], [0, 1024], [1024, 9216], [9216, 1e10]]
        self.areaRngLbl = ["all", "small", "medium", "large"]

    def setKpParams(self) -> None:
        """The settings of keypoints."""
        self._common()
        self.maxDets = [20]
        self.areaRng = [[0, 1e10], [1024, 9216], [9216, 1e10]]
        self.areaRngLbl = ["all", "medium", "large"]
        body = (26, 25, 25, 35, 35, 79, 79, 72, 72, 62, 62, 107, 107, 87, 87, 89, 89)
        self.kpt_oks_sigmas = np.array([value / 100 for value in body]) / 10.0


class COCOeval:
    """Evaluate detections: `evaluate()`, `accumulate()`, `summarize()`; results in `evalImgs`, `eval`, `stats`."""

    def __init__(self, cocoGt: Any = None, cocoDt: Any = None, iouType: str = "segm") -> None:
        if not iouType:
            print("iouType not specified. use default iouType segm")
        self.cocoGt, self.cocoDt = cocoGt, cocoDt
        self.params = Params(iouType=iouType or "segm")
        self._cells: Cells | None = None
        self._eval_imgs: Any = defaultdict(list)
        self._ious: Any = {}
        self._gts: Any = defaultdict(list)
        self._dts: Any = defaultdict(list)
        self.eval: dict[str, Any] = {}
        self._paramsEval: Any = {}
        self.stats: Any = []
        if cocoGt is not None:
            self.params.imgIds = sorted(cocoGt.getImgIds())
            self.params.catIds = sorted(cocoGt.getCatIds())

    @property
    def evalImgs(self) -> Any:
        """What was found for each category, area range and image, in this order: dicts, or None for an empty cell."""
        if self._eval_imgs is None:
            self._eval_imgs = self._listed()
        return self._eval_imgs

    @evalImgs.setter
    def evalImgs(self, value: Any) -> None:
        self._eval_imgs = value

    @property
    def ious(self) -> Any:
        """IoU, detections by truths, by (image id, category id); an empty list where there is no pair."""
        if self._ious is None:
            self._ious = self._iou_table()
        return self._ious

    @ious.setter
    def ious(self, value: Any) -> None:
        self._ious = value

    def _prepare(self) -> None:
        p = self.params
        chosen = {"imgIds": p.imgIds, **({"catIds": p.catIds} if p.useCats else {})}
        gts, dts = (coco.loadAnns(coco.getAnnIds(**chosen)) for coco in (self.cocoGt, self.cocoDt))
        if p.iouType in ("segm", "boundary"):
            for coco, anns in ((self.cocoGt, gts), (self.cocoDt, dts)):
                for ann in anns:
                    ann["segmentation"] = coco.annToRLE(ann)
        self._gts, self._dts = defaultdict(list), defaultdict(list)
        for gt in gts:
            gt["ignore"] = "iscrowd" in gt and gt["iscrowd"]
            if p.iouType == "keypoints":
                gt["ignore"] = gt["num_keypoints"] == 0 or gt["ignore"]
            self._gts[gt["image_id"], gt["category_id"]].append(gt)
        for dt in dts:
            self._dts[dt["image_id"], dt["category_id"]].append(dt)
        self.evalImgs = defaultdict(list)
        self.eval = {}

    def evaluate(self) -> None:
        """Match every image and category."""
        start = time.time()
        print("Running per image evaluation...")
        p = self.params
        if p.useSegm is not None:
            p.iouType = "segm" if p.useSegm == 1 else "bbox"
            print(f"useSegm (deprecated) is not None. Running {p.iouType} evaluation")
        print(f"Evaluate annotation type *{p.iouType}*")
        p.imgIds = list(np.unique(p.imgIds))
        if p.useCats:
            p.catIds = list(np.unique(p.catIds))
        p.maxDets = sorted(p.maxDets)
        self._prepare()
        self._cells = None
        if self._overridden() or (p.iouType == "keypoints" and not p.useCats):
            self._step_by_step()
        else:
            self._cells = self._match_all()
            self._eval_imgs, self._ious = None, None
        self._paramsEval = copy.deepcopy(p)
        print(f"DONE (t={time.time() - start:0.2f}s).")

    def _overridden(self) -> bool:
        return any(getattr(getattr(self, name), "__func__", None) is not _OWN[name] for name in _STEPS)

    def _step_by_step(self) -> None:
        p = self.params
        categories = p.catIds if p.useCats else [-1]
        compute = self.computeOks if p.iouType == "keypoints" else self.computeIoU
        self.ious = {(image, cat): compute(image, cat) for image in p.imgIds for cat in categories}
        most = p.maxDets[-1]
        self.evalImgs = [
            self.evaluateImg(image, cat, area, most) for cat in categories for area in p.areaRng for image in p.imgIds
        ]

    def _cell(self, imgId: Any, catId: Any) -> tuple[list[Any], list[Any]]:
        p = self.params
        if p.useCats:
            return self._gts[imgId, catId], self._dts[imgId, catId]
        return tuple([ann for cat in p.catIds for ann in side[imgId, cat]] for side in (self._gts, self._dts))  # type: ignore[return-value]

    def _ranked(self, dts: list[Any], most: int) -> list[Any]:
        order = np.argsort([-dt["score"] for dt in dts], kind="stable")
        return [dts[i] for i in order[:most]]

    def computeIoU(self, imgId: Any, catId: Any) -> Any:
        """IoU of one image and category: detections by falling score, cut at the highest limit, by truths."""
        p = self.params
        gts, dts = self._cell(imgId, catId)
        if not gts and not dts:
            return []
        dts = self._ranked(dts, p.maxDets[-1])
        if p.iouType == "keypoints":
            raise InputError("keypoints have no IoU", remedy="computeOks gives their similarity.")
        key = "bbox" if p.iouType == "bbox" else "segmentation"
        found, truth = [dt[key] for dt in dts], [gt[key] for gt in gts]
        crowd = [int(gt.get("iscrowd", 0)) for gt in gts]
        if p.iouType == "boundary" and gts and dts:
            return _native.mask_iou(found, truth, np.asarray(crowd, np.uint8), float(p.dilation_ratio))
        return masks.iou(found, truth, crowd)

    def computeOks(self, imgId: Any, catId: Any) -> Any:
        """Object keypoint similarity of one image and category; as `computeIoU`."""
        p = self.params
        gts, dts = self._gts[imgId, catId], self._ranked(self._dts[imgId, catId], p.maxDets[-1])
        if not gts or not dts:
            return []
        sigmas = np.asarray(p.kpt_oks_sigmas, dtype=np.float64)
        return _native.oks(
            table_column(dts, "keypoints", 3 * len(sigmas)), table_column(gts, "keypoints", 3 * len(sigmas)),
            table_column(gts, "bbox", 4), number_column(gts, "area"), sigmas,
        )  # fmt: skip

    def evaluateImg(self, imgId: Any, catId: Any, aRng: Any, maxDet: int) -> Any:
        """Match one image and category in one area range; None where there is nothing."""
        gts, dts = self._cell(imgId, catId)
        if not gts and not dts:
            return None
        for gt in gts:
            gt["_ignore"] = 1 if gt["ignore"] or gt["area"] < aRng[0] or gt["area"] > aRng[1] else 0
        order = np.argsort([gt["_ignore"] for gt in gts], kind="stable")
        gts, dts = [gts[i] for i in order], self._ranked(dts, maxDet)
        ious = self.ious[imgId, catId]
        d_ids, t_ids = id_column(dts), id_column(gts)
        ignored = np.array([gt["_ignore"] for gt in gts], dtype=np.int64)
        T = len(self.params.iouThrs)
        d_rows, t_rows = (np.full((T, len(side)), -1) for side in (dts, gts))
        if len(ious) and gts and dts:
            table = np.ascontiguousarray(np.asarray(ious, dtype=np.float64)[: len(dts), order])
            crowd = np.array([int(gt.get("iscrowd", 0)) for gt in gts], dtype=np.uint8)
            ends = np.array([0, len(dts)]), np.array([0, len(gts)])
            found = match(table.ravel(), *ends, ignored[None], crowd, above_zero(d_ids), self.params.iouThrs)
            d_rows, t_rows = found[0][0], found[1][0]
        matched = (d_rows >= 0) & not_zero(t_ids)[d_rows] if gts else d_rows >= 0
        inside_ignored = (d_rows >= 0) & (ignored[d_rows] == 1) if gts else d_rows >= 0
        outside = np.array([dt["area"] < aRng[0] or dt["area"] > aRng[1] for dt in dts], dtype=bool)
        return {
            "image_id": imgId,
            "category_id": catId,
            "aRng": aRng,
            "maxDet": maxDet,
            "dtIds": [dt["id"] for dt in dts],
            "gtIds": [gt["id"] for gt in gts],
            "dtMatches": named(d_rows, t_ids),
            "gtMatches": named(t_rows, d_ids),
            "dtScores": [dt["score"] for dt in dts],
            "gtIgnore": ignored,
            "dtIgnore": inside_ignored | (~matched & outside),
        }

    def _match_all(self) -> Cells:
        p = self.params
        most = p.maxDets[-1]
        places = {image: i for i, image in enumerate(p.imgIds)}
        if p.useCats:
            codes = {cat: k for k, cat in enumerate(p.catIds)}
        else:
            codes = dict.fromkeys(p.catIds, 0)
        sides = []
        for table in (self._gts, self._dts):
            found: dict[tuple[int, int], list[Any]] = defaultdict(list)
            keys = list(table)
            if not p.useCats:  # in one cell, annotations go by category as the parameters list them
                turn = {cat: k for k, cat in enumerate(p.catIds)}
                keys.sort(key=lambda key: turn.get(key[1], 0))
            for image, cat in keys:
                if cat in codes and image in places:
                    found[codes[cat], places[image]] += table[image, cat]
            sides.append(found)
        occupied = sorted({key for found in sides for key, anns in found.items() if anns})
        gts = [gt for key in occupied for gt in sides[0].get(key, ())]
        dts = [dt for key in occupied for dt in sides[1].get(key, ())]
        t_begin = np.concatenate([[0], np.cumsum([len(sides[0].get(key, ())) for key in occupied])]).astype(np.int64)
        sizes = np.array([len(sides[1].get(key, ())) for key in occupied], dtype=np.int64)
        cell = np.repeat(np.arange(len(occupied)), sizes)
        score = number_column(dts, "score")
        order = np.lexsort((-score, cell))
        starts = np.cumsum(sizes) - sizes
        rank = np.arange(len(dts)) - np.repeat(starts, sizes)  # of each place once sorted
        kept = rank < most
        order, rank = order[kept], rank[kept]
        dts, score = [dts[i] for i in order.tolist()], score[order]
        d_begin = np.concatenate([[0], np.cumsum(np.minimum(sizes, most))]).astype(np.int64)
        crowd = np.array([int(gt.get("iscrowd", 0)) for gt in gts], dtype=np.uint8)
        ious = self._all_ious(dts, gts, d_begin, t_begin, crowd)
        d_ids, t_ids = id_column(dts), id_column(gts)
        d_area, t_area = number_column(dts, "area"), number_column(gts, "area")
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

    def _all_ious(self, dts: list[Any], gts: list[Any], d_begin: Any, t_begin: Any, crowd: Any) -> Any:
        p = self.params
        if p.iouType == "bbox":
            boxes = table_column(dts, "bbox", 4), table_column(gts, "bbox", 4)
            return _native.cell_box_ious(d_begin, t_begin, *boxes, crowd)
        if p.iouType == "keypoints":
            sigmas = np.asarray(p.kpt_oks_sigmas, dtype=np.float64)
            found, truth = (table_column(side, "keypoints", 3 * len(sigmas)) for side in (dts, gts))
            box, area = table_column(gts, "bbox", 4), number_column(gts, "area")
            parts = []
            pairs = np.flatnonzero((np.diff(d_begin) > 0) & (np.diff(t_begin) > 0))
            for cell in pairs.tolist():
                d, t = slice(d_begin[cell], d_begin[cell + 1]), slice(t_begin[cell], t_begin[cell + 1])
                parts.append(_native.oks(found[d], truth[t], box[t], area[t], sigmas).ravel())
            return np.concatenate(parts) if parts else np.zeros(0)
        ratio = float(p.dilation_ratio) if p.iouType == "boundary" else 0.0
        lists = [dt["segmentation"] for dt in dts], [gt["segmentation"] for gt in gts]
        try:
            return _native.cell_mask_ious(d_begin, t_begin, *lists, crowd, ratio)
        except ValueError:
            for ann in (*dts, *gts):  # say which
                _check_mask(ann)
            raise

    def _listed(self) -> list[Any]:
        cells, p = self._cells, self._paramsEval
        if cells is None:
            return []
        images, areas = len(p.imgIds), len(p.areaRng)
        categories = p.catIds if p.useCats else [-1]
        made: list[Any] = [None] * (len(categories) * areas * images)
        for a, area in enumerate(p.areaRng):
            hits = cells.hits(a)
            for c, (k, i) in enumerate(zip(cells.category.tolist(), cells.image.tolist(), strict=True)):
                head = {
                    "image_id": p.imgIds[i], "category_id": categories[k], "aRng": area, "maxDet": p.maxDets[-1]
                }  # fmt: skip
                made[(k * areas + a) * images + i] = entry(cells, c, a, hits, head)
        return made

    def _iou_table(self) -> dict[Any, Any]:
        cells, p = self._cells, self._paramsEval
        categories = p.catIds if p.useCats else [-1]
        table: dict[Any, Any] = {(image, cat): [] for image in p.imgIds for cat in categories}
        if cells is None:
            return table
        starts = cells.iou_starts()
        shapes = np.stack([np.diff(cells.d_begin), np.diff(cells.t_begin)], axis=1)
        for c in np.flatnonzero(shapes.all(axis=1)).tolist():
            key = p.imgIds[cells.image[c]], categories[cells.category[c]]
            table[key] = cells.ious[starts[c] : starts[c + 1]].reshape(shapes[c])
        return table

    def accumulate(self, p: Any = None) -> None:
        """Precision, recall and scores over all images: `eval`."""
        print("Accumulating evaluation results...")
        start = time.time()
        fast = self._eval_imgs is None and self._cells is not None
        if not fast and not self.evalImgs:
            print("Please run evaluate() first")
        p = self.params if p is None else p
        p.catIds = p.catIds if p.useCats == 1 else [-1]
        shape = len(p.iouThrs), len(p.recThrs), len(p.catIds) if p.useCats else 1, len(p.areaRng), len(p.maxDets)
        T, R, K, A, M = shape
        precision, scores = -np.ones(shape), -np.ones(shape)
        recall = -np.ones((T, K, A, M))
        done = self._paramsEval
        known = set(done.catIds if done.useCats else [-1])
        areas, limits, images = set(map(tuple, done.areaRng)), set(done.maxDets), set(done.imgIds)
        k_list = [n for n, cat in enumerate(p.catIds) if cat in known]
        a_list = [n for n, area in enumerate(p.areaRng) if tuple(area) in areas]
        m_list = [most for most in p.maxDets if most in limits]
        i_list = [n for n, image in enumerate(p.imgIds) if image in images]
        same = (
            len(k_list) == (len(done.catIds) if done.useCats else 1)
            and len(i_list) == len(done.imgIds)
            and list(map(tuple, p.areaRng)) == list(map(tuple, done.areaRng))
        )
        rows = _Rows(self._cells) if fast and same and self._cells is not None else _Listed(self.evalImgs, done, i_list)
        for k, k0 in enumerate(k_list):
            for a, a0 in enumerate(a_list):
                for m, most in enumerate(m_list):
                    part = rows.part(k0, a0, most)
                    if part is None:
                        continue
                    found = curves(*part, p.recThrs)
                    t = min(T, len(found[0]))
                    precision[:t, :, k, a, m], recall[:t, k, a, m], scores[:t, :, k, a, m] = (x[:t] for x in found)
        self.eval = {
            "params": p,
            "counts": [T, R, K, A, M],
            "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S"),
            "precision": precision,
            "recall": recall,
            "scores": scores,
        }
        print(f"DONE (t={time.time() - start:0.2f}s).")

    def summarize(self) -> None:
        """Print the summary and keep it in `stats`: twelve numbers, or ten of keypoints; -1 where there is none."""
        if not self.eval:
            raise InputError("Please run accumulate() first")
        p = self.params
        if p.iouType == "keypoints":
            rows = [(ap, iou, area, 20) for ap in (1, 0) for iou, area in _KEYPOINT_ROWS]
        else:
            limits = [p.maxDets[min(i, len(p.maxDets) - 1)] for i in range(3)]
            sizes = [(None, area, limits[2]) for area in ("small", "medium", "large")]
            rows = [(1, None, "all", 100), (1, 0.5, "all", limits[2]), (1, 0.75, "all", limits[2])]
            rows += [(1, *size) for size in sizes]
            rows += [(0, None, "all", limit) for limit in limits] + [(0, *size) for size in sizes]
        self.stats = np.array([self._summary(*row) for row in rows], dtype=np.float64)

    def _summary(self, ap: int, iou: float | None, area: str, most: int) -> float:
        p = self.params
        title, short = ("Average Precision", "(AP)") if ap else ("Average Recall", "(AR)")
        shown = f"{p.iouThrs[0]:0.2f}:{p.iouThrs[-1]:0.2f}" if iou is None else f"{iou:0.2f}"
        values = self.eval["precision" if ap else "recall"]
        if iou is not None:
            values = values[np.where(iou == np.asarray(p.iouThrs))[0]]
        a = [i for i, label in enumerate(p.areaRngLbl) if label == area]
        m = [i for i, limit in enumerate(p.maxDets) if limit == most]
        values = values[..., a, m]
        values = values[values > -1]
        mean = float(np.mean(values)) if len(values) else -1.0
        print(f" {title:<18} {short} @[ IoU={shown:<9} | area={area:>6s} | maxDets={most:>3d} ] = {mean:0.3f}")
        return mean

    def __str__(self) -> str:
        self.summarize()
        return ""


_OWN = {name: getattr(COCOeval, name) for name in _STEPS}
_KEYPOINT_ROWS: tuple[tuple[float | None, str], ...] = (
    (None, "all"), (0.5, "all"), (0.75, "all"), (None, "medium"), (None, "large"),
)  # fmt: skip


def _check_mask(ann: Any) -> None:
    try:
        _native.mask_copy(ann["segmentation"])
    except ValueError as error:
        where = f"annotation with id {ann.get('id')}, image {ann.get('image_id')}, key 'segmentation'"
        raise InputError(str(error), where=where) from None


class _Rows:
    """Detections of a category straight from the cells."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.hits: dict[int, Any] = {}
        self.order: dict[tuple[int, int], Any] = {}

    def part(self, k: int, a: int, most: int) -> Any:
        cells = self.cells
        first, last = np.searchsorted(cells.category, [k, k + 1])
        if first == last:
            return None
        positives = int(np.count_nonzero(~cells.t_ignored[a][cells.t_begin[first] : cells.t_begin[last]]))
        if not positives:
            return None
        rows = slice(int(cells.d_begin[first]), int(cells.d_begin[last]))
        if a not in self.hits:
            self.hits[a] = cells.hits(a)
        if (k, most) not in self.order:
            kept = np.flatnonzero(cells.rank[rows] < most)
            self.order[k, most] = kept[np.argsort(-cells.score[rows][kept], kind="stable")]
        hit, ignored = self.hits[a]
        return cells.score[rows], self.order[k, most], hit[:, rows], ignored[:, rows], positives


class _Listed:
    """Detections of a category from a list as `evalImgs` is, whoever made it."""

    def __init__(self, listed: Any, done: Any, images: list[int]) -> None:
        self.listed, self.images = listed, images
        self.areas, self.stride = len(done.areaRng), len(done.imgIds)

    def part(self, k: int, a: int, most: int) -> Any:
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
