"""`pycocotools.cocoeval`: COCO's evaluator with the reference's steps, names, layout and numbers.

Where none of the steps is overridden, all images and categories are matched at once in the native core, from the
columns of the files where nobody has looked at their dicts, and `evalImgs` and `ious` are made when they are read.
Where a subclass has its own `computeIoU`, `computeOks` or `evaluateImg`, every step is called for every image and
category, as the reference does.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import io
import time
from collections import defaultdict
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.pycocotools.coco import COCO
from steelyard.compat.pycocotools.files import many_objects
from steelyard.compat.pycocotools.matching import (
    Layout,
    Listed,
    above_zero,
    curves,
    distinct,
    ids_of_rows,
    image_entries,
    iou_table,
    lay_out,
    match,
    not_zero,
)
from steelyard.compat.pycocotools.oks import oks_table
from steelyard.compat.pycocotools.params import Params
from steelyard.compat.pycocotools.sides import (
    KEYS,
    POINTS,
    ColumnSide,
    DictSide,
    Side,
    id_column,
    keypoint_table,
    table_column,
    truth_areas,
)
from steelyard.core.errors import InvalidValue, MissingData, Unsupported

__all__ = ["COCOeval", "Params"]

_STEPS = ("computeIoU", "computeOks", "evaluateImg")


class COCOeval:
    """Evaluate detections: `evaluate()`, `accumulate()`, `summarize()`; results in `evalImgs`, `eval`, `stats`."""

    def __init__(
        self, cocoGt: Any = None, cocoDt: Any = None, iouType: str = "segm", kpt_oks_sigmas: Any = None,
        use_area: bool | None = None,
    ) -> None:  # fmt: skip
        if not iouType:
            print("iouType not specified. use default iouType segm")
        self.cocoGt, self.cocoDt = cocoGt, cocoDt
        self.params = Params(iouType or "segm", kpt_oks_sigmas, use_area)
        self._layout: Layout | None = None
        self._eval_imgs: Any = defaultdict(list)
        self._ious: Any = {}
        self._truths: Any = defaultdict(list)
        self._detections: Any = defaultdict(list)
        self.eval: dict[str, Any] = {}
        self._paramsEval: Any = {}
        self.stats: Any = []
        if cocoGt is not None:
            self.params.imgIds = sorted(cocoGt.getImgIds())
            self.params.catIds = sorted(cocoGt.getCatIds())

    def steelyard_inputs(self) -> tuple[str, Any, Any, dict[str, Any]]:
        """The task, ground truth, results and settings with which `steelyard.compat.report` scores the same data."""
        tasks = {"bbox": "boxes", "segm": "masks", "keypoints": "keypoints"}
        if self.params.iouType not in tasks:
            raise Unsupported(f"iouType '{self.params.iouType}' has no report", remedy=f"Use {', '.join(tasks)}.")
        images, categories = set(self.params.imgIds), set(self.params.catIds)
        truth = dict(self.cocoGt.dataset)
        truth["images"] = [image for image in truth["images"] if image["id"] in images]
        truth["categories"] = [category for category in truth["categories"] if category["id"] in categories]

        def selected(annotations: Any) -> list[Any]:
            return [a for a in annotations if a["image_id"] in images and a["category_id"] in categories]

        truth["annotations"] = selected(truth["annotations"])
        return tasks[self.params.iouType], truth, selected(self.cocoDt.dataset["annotations"]), {}

    @property
    def evalImgs(self) -> Any:
        """What was found for each category, area range and image, in this order: dicts, or None for an empty cell."""
        if self._eval_imgs is None:
            self._eval_imgs = [] if self._layout is None else image_entries(self._layout, self._paramsEval)
        return self._eval_imgs

    @evalImgs.setter
    def evalImgs(self, value: Any) -> None:
        self._eval_imgs = value

    @property
    def ious(self) -> Any:
        """IoU, detections by truths, by (image id, category id); an empty list where there is no pair."""
        if self._ious is None:
            self._ious = {} if self._layout is None else iou_table(self._layout, self._paramsEval)
        return self._ious

    @ious.setter
    def ious(self, value: Any) -> None:
        self._ious = value

    def _prepare(self) -> None:
        self._gts = _by_cell(self.params, self.cocoGt, truth=True)
        self._dts = _by_cell(self.params, self.cocoDt, truth=False)
        self.evalImgs = defaultdict(list)
        self.eval = {}

    @property
    def _gts(self) -> Any:
        """The truths by image and category."""
        if self._truths is None:
            self._truths = _by_cell(self._paramsEval, self.cocoGt, truth=True)
        return self._truths

    @_gts.setter
    def _gts(self, value: Any) -> None:
        self._truths = value

    @property
    def _dts(self) -> Any:
        """The detections by image and category."""
        if self._detections is None:
            self._detections = _by_cell(self._paramsEval, self.cocoDt, truth=False)
        return self._detections

    @_dts.setter
    def _dts(self, value: Any) -> None:
        self._detections = value

    def _side(self, coco: Any, truth: bool) -> Side:
        """One side as columns: of the file where it was read and nobody has looked at it, else of its dicts."""
        columns = coco.unseen_columns(self.params) if isinstance(coco, COCO) else None
        if columns is None:
            table = _by_cell(self.params, coco, truth)
            if truth:
                self._gts = table
            else:
                self._dts = table
            return DictSide(self.params, table, truth)
        if truth or KEYS[self.params.iouType] == "segmentation":
            coco.when_seen(partial(_mark, copy.deepcopy(self.params), coco, truth))
        return ColumnSide(self.params, columns)

    def evaluate(self) -> None:
        """Match every image and category."""
        start = time.time()
        print("Running per image evaluation...")
        p = self.params
        if p.useSegm is not None:
            p.iouType = "segm" if p.useSegm == 1 else "bbox"
            print(f"useSegm (deprecated) is not None. Running {p.iouType} evaluation")
        print(f"Evaluate annotation type *{p.iouType}*")
        p.imgIds = _unique(p.imgIds)
        if p.useCats:
            p.catIds = _unique(p.catIds)
        p.maxDets = sorted(p.maxDets)
        self._layout = None
        with many_objects():
            if self._overridden() or (p.iouType in POINTS and not p.useCats):
                self._prepare()
                self._step_by_step()
            else:
                self._match_all()
        self._paramsEval = copy.deepcopy(p)
        print(f"DONE (t={time.time() - start:0.2f}s).")

    def _match_all(self) -> None:
        p = self.params
        if self._is_own("_prepare"):
            self._gts, self._dts, self.eval = None, None, {}
            truth, detected = self._side(self.cocoGt, True), self._side(self.cocoDt, False)
        else:
            self._prepare()
            truth, detected = DictSide(p, self._gts, True), DictSide(p, self._dts, False)
        self._layout = lay_out(p, truth, detected)
        self._eval_imgs, self._ious = None, None

    def match_sides(self, truth: Side, detected: Side) -> None:
        """Match data that are columns already, in the place of `evaluate`."""
        self._layout, self.eval = lay_out(self.params, truth, detected), {}
        self._eval_imgs, self._ious = None, None
        self._paramsEval = copy.deepcopy(self.params)

    def _is_own(self, name: str) -> bool:
        return getattr(getattr(self, name), "__func__", None) is _OWN[name]

    def _overridden(self) -> bool:
        return not all(map(self._is_own, _STEPS))

    def _step_by_step(self) -> None:
        p = self.params
        categories = p.catIds if p.useCats else [-1]
        compute = self.computeOks if p.iouType in POINTS else self.computeIoU
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

    def _top_scored(self, dts: list[Any], most: int) -> list[Any]:
        order = np.argsort([-dt["score"] for dt in dts], kind="stable")
        return [dts[i] for i in order[:most]]

    def computeIoU(self, imgId: Any, catId: Any) -> Any:
        """IoU of one image and category: detections by falling score, cut at the highest limit, by truths."""
        p = self.params
        gts, dts = self._cell(imgId, catId)
        if not gts and not dts:
            return []
        dts = self._top_scored(dts, p.maxDets[-1])
        if p.iouType in POINTS:
            raise Unsupported("keypoints have no IoU", remedy="Use computeOks for their similarity.")
        key = "bbox" if p.iouType == "bbox" else "segmentation"
        detected, truth = [dt[key] for dt in dts], [gt[key] for gt in gts]
        crowd = [int(gt.get("iscrowd", 0)) for gt in gts]
        if p.iouType == "boundary" and gts and dts:
            return _native.mask_iou(detected, truth, np.asarray(crowd, np.uint8), float(p.dilation_ratio))
        return masks.iou(detected, truth, crowd)

    def computeOks(self, imgId: Any, catId: Any) -> Any:
        """Object keypoint similarity of one image and category; as `computeIoU`."""
        p = self.params
        gts, dts = self._gts[imgId, catId], self._top_scored(self._dts[imgId, catId], p.maxDets[-1])
        if not gts or not dts:
            return []
        sigmas = np.asarray(p.kpt_oks_sigmas, dtype=np.float64)
        points = keypoint_table(dts, sigmas), keypoint_table(gts, sigmas)
        return oks_table(*points, table_column(gts, "bbox", 4), truth_areas(p, gts), sigmas)

    def evaluateImg(self, imgId: Any, catId: Any, aRng: Any, maxDet: int) -> Any:
        """Match one image and category in one area range; None where there is nothing."""
        gts, dts = self._cell(imgId, catId)
        if not gts and not dts:
            return None
        areas = (
            [gt["area"] for gt in gts]
            if getattr(self.params, "use_area", True)
            else truth_areas(self.params, gts).tolist()
        )
        for gt, area in zip(gts, areas, strict=True):
            gt["_ignore"] = 1 if gt["ignore"] or area < aRng[0] or area > aRng[1] else 0
        order = np.argsort([gt["_ignore"] for gt in gts], kind="stable")
        gts, dts = [gts[i] for i in order], self._top_scored(dts, maxDet)
        ious = self.ious[imgId, catId]
        d_ids, t_ids = (id_column([ann["id"] for ann in side]) for side in (dts, gts))
        ignored = np.array([gt["_ignore"] for gt in gts], dtype=np.int64)
        T = len(self.params.iouThrs)
        d_rows, t_rows = (np.full((T, len(side)), -1) for side in (dts, gts))
        if len(ious) and gts and dts:
            table = np.ascontiguousarray(np.asarray(ious, dtype=np.float64)[: len(dts), order])
            crowd = np.array([int(gt.get("iscrowd", 0)) for gt in gts], dtype=np.uint8)
            ends = np.array([0, len(dts)]), np.array([0, len(gts)])
            matches = match(table.ravel(), *ends, ignored[None], crowd, above_zero(d_ids), self.params.iouThrs)
            d_rows, t_rows = matches[0][0], matches[1][0]
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
            "dtMatches": ids_of_rows(d_rows, t_ids),
            "gtMatches": ids_of_rows(t_rows, d_ids),
            "dtScores": [dt["score"] for dt in dts],
            "gtIgnore": ignored,
            "dtIgnore": inside_ignored | (~matched & outside),
        }

    def accumulate(self, p: Any = None) -> None:
        """Precision, recall and scores over all images: `eval`."""
        print("Accumulating evaluation results...")
        start = time.time()
        fast = self._eval_imgs is None and self._layout is not None
        if not fast and not self.evalImgs:
            print("Please run evaluate() first")
        p = self.params if p is None else p
        p.catIds = p.catIds if p.useCats == 1 else [-1]
        shape = len(p.iouThrs), len(p.recThrs), len(p.catIds) if p.useCats else 1, len(p.areaRng), len(p.maxDets)
        T, R, K, A, M = shape
        done = self._paramsEval
        evaluated = set(done.catIds if done.useCats else [-1])
        areas, limits, images = set(map(tuple, done.areaRng)), set(done.maxDets), set(done.imgIds)
        k_list = [n for n, cat in enumerate(p.catIds) if cat in evaluated]
        a_list = [n for n, area in enumerate(p.areaRng) if tuple(area) in areas]
        m_list = [most for most in p.maxDets if most in limits]
        i_list = [n for n, image in enumerate(p.imgIds) if image in images]
        same = (
            len(k_list) == (len(done.catIds) if done.useCats else 1)
            and len(i_list) == len(done.imgIds)
            and list(map(tuple, p.areaRng)) == list(map(tuple, done.areaRng))
        )
        if fast and same and self._layout is not None:
            arrays = self._layout.accumulate(m_list, p.recThrs, len(k_list))
            sizes = shape, (T, K, A, M), shape
            precision, recall, scores = (_fit_shape(part, size) for part, size in zip(arrays, sizes, strict=True))
        else:
            precision, recall, scores = -np.ones(shape), -np.ones((T, K, A, M)), -np.ones(shape)
            listed_rows = Listed(self.evalImgs, done, i_list)
            for (k, k0), (a, a0), (m, most) in product(*map(enumerate, (k_list, a_list, m_list))):
                rows = listed_rows.part(k0, a0, most)
                if rows is not None:
                    parts = curves(*rows, p.recThrs)
                    t = min(T, len(parts[0]))
                    precision[:t, :, k, a, m], recall[:t, k, a, m], scores[:t, :, k, a, m] = (x[:t] for x in parts)
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
            raise MissingData("Please run accumulate() first")
        p = self.params
        if p.iouType == "keypoints_crowd":
            rows = [(ap, iou, "all", p.maxDets[-1]) for ap in (1, 0) for iou in (None, 0.5, 0.75)]
            plain = [self._summary(*row) for row in rows]
            self.stats = np.array([*plain, *self._by_crowding()], dtype=np.float64)
            return
        if p.iouType == "keypoints":
            rows = [(ap, iou, area, 20) for ap in (1, 0) for iou, area in _KEYPOINT_ROWS]
        else:
            limits = [p.maxDets[min(i, len(p.maxDets) - 1)] for i in range(3)]
            sizes = [(None, area, limits[2]) for area in ("small", "medium", "large")]
            rows = [(1, None, "all", 100), (1, 0.5, "all", limits[2]), (1, 0.75, "all", limits[2])]
            rows += [(1, *size) for size in sizes]
            rows += [(0, None, "all", limit) for limit in limits] + [(0, *size) for size in sizes]
        self.stats = np.array([self._summary(*row) for row in rows], dtype=np.float64)

    def _by_crowding(self) -> list[float]:
        """AP of the images by `crowdIndex`: easy below 0.2, medium below 0.8, hard; rounded to four digits.

        As in CrowdPose, a category without truth among them counts as -1, and so does a part without an image.
        """
        images = {"easy": [], "medium": [], "hard": []}  # type: dict[str, list[Any]]
        for image in self.cocoGt.loadImgs(self.cocoGt.getImgIds()):
            index = image.get("crowdIndex")
            if isinstance(index, bool) or not isinstance(index, int | float):
                raise InvalidValue(
                    f"'crowdIndex' is {index!r}",
                    where=f"image {image.get('id')}",
                    remedy="Give every image a number from 0 to 1 for keypoints_crowd.",
                )
            images["easy" if index < 0.2 else "medium" if index < 0.8 else "hard"].append(image["id"])
        p, values = self.params, []
        for name, ids in images.items():
            part = copy.copy(self)
            part.params = copy.deepcopy(p)
            part.params.imgIds = ids
            value = -1.0
            if ids:
                with contextlib.redirect_stdout(io.StringIO()):
                    part.evaluate()
                    part.accumulate()
                value = round(float(np.mean(part.eval["precision"][:, :, :, 0, :])), 4)
            values.append(value)
            shown = f"{p.iouThrs[0]:0.2f}:{p.iouThrs[-1]:0.2f}"
            print(
                f" {'Average Precision':<18} (AP) @[ IoU={shown:<9} | type={name:>6s} | maxDets={p.maxDets[-1]:>3d} ] "
                f"= {value:0.3f}"
            )
        return values

    @property
    def extended_metrics(self) -> dict[str, Any]:
        """AP of each class and of all, and precision and recall at the best mean F1, as faster-coco-eval has them."""
        from steelyard.compat.pycocotools.extended import extended_metrics

        return extended_metrics(self)

    @property
    def stats_as_dict(self) -> dict[str, float]:
        """`stats` by name, as faster-coco-eval calls them."""
        from steelyard.compat.pycocotools.extended import stats_as_dict

        return stats_as_dict(self)

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


def _unique(ids: Any) -> list[Any]:
    """`list(np.unique(ids))`; of whole numbers without NumPy's, which imports its masked arrays."""
    column = np.asarray(ids)
    return list(distinct(np.sort(column)) if column.ndim == 1 and column.dtype.kind == "i" else np.unique(column))


def _fit_shape(part: Any, shape: tuple[int, ...]) -> Any:
    """An array of this shape with as much of `part` as it has room for, -1 elsewhere."""
    if part.shape == shape:
        return part
    whole = -np.ones(shape)
    corner = tuple(slice(0, min(sizes)) for sizes in zip(shape, part.shape, strict=True))
    whole[corner] = part[corner]
    return whole


def _by_cell(p: Any, coco: Any, truth: bool) -> Any:
    """The annotations that take part, by image and category, with what the reference notes in their dicts."""
    chosen = {"imgIds": p.imgIds, **({"catIds": p.catIds} if p.useCats else {})}
    anns = coco.loadAnns(coco.getAnnIds(**chosen))
    if p.iouType in ("segm", "boundary"):
        own = getattr(coco.annToRLE, "__func__", None) is COCO.annToRLE
        for ann in anns:
            if not own or not _is_compressed(ann["segmentation"]):
                ann["segmentation"] = coco.annToRLE(ann)
    if truth and "annotations" not in coco.dataset:
        print("The data set has no 'annotations': every number is -1.")
    table: Any = defaultdict(list)
    for ann in anns:
        if truth:
            ann["ignore"] = "iscrowd" in ann and ann["iscrowd"]
            if p.iouType in POINTS:
                ann["ignore"] = ann["num_keypoints"] == 0 or ann["ignore"]
        table[ann["image_id"], ann["category_id"]].append(ann)
    return table


def _mark(p: Any, coco: Any, truth: bool) -> None:
    """Note in the dicts what an evaluation of their columns would have noted there."""
    side = DictSide(p, _by_cell(p, coco, truth), truth)
    if truth and len(p.areaRng):
        area, (low, high) = side.area(), p.areaRng[-1][:2]
        side.mark(side.ignored_truths() | (area < low) | (area > high))


def _is_compressed(segmentation: Any) -> bool:
    return type(segmentation) is dict and isinstance(segmentation.get("counts"), str | bytes)


_OWN = {name: getattr(COCOeval, name) for name in (*_STEPS, "_prepare")}
_KEYPOINT_ROWS: tuple[tuple[float | None, str], ...] = (
    (None, "all"), (0.5, "all"), (0.75, "all"), (None, "medium"), (None, "large"),
)  # fmt: skip
