"""`lvis.eval`: LVIS's federated evaluation with the package's steps, names, layout and numbers.

Where none of the steps is overridden, all images and categories are matched at once in the native core, as in the
drop-in for pycocotools, and `eval_imgs` and `ious` are made when they are read.
"""

from __future__ import annotations

import datetime
import logging
from collections import OrderedDict, defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np

from steelyard.compat.lvis.files import JsonFile
from steelyard.compat.lvis.lvis import LVIS, Ann
from steelyard.compat.lvis.results import LVISResults
from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.pycocotools.files import many_objects
from steelyard.compat.pycocotools.matching import (
    Layout,
    above_zero,
    curves,
    ids_of_rows,
    iou_table,
    lay_out,
    match,
    not_zero,
)
from steelyard.compat.pycocotools.oks import Array
from steelyard.compat.pycocotools.sides import DictSide, id_column

__all__ = ["LVISEval", "Params"]

_STEPS = ("compute_iou", "evaluate_img", "_get_gt_dt")
_ALL = 1 << 40  # detections per image and category: LVIS limits them per image, before


class _Truths(DictSide):
    """Truths of LVIS: none is a crowd."""

    def crowd(self) -> Array:
        return np.zeros(len(self.anns), dtype=np.uint8)


class LVISEval:
    """Evaluate results: `run()`, or `evaluate()`, `accumulate()`, `summarize()`; then `print_results()`."""

    def __init__(self, lvis_gt: Any, lvis_dt: Any, iou_type: str = "segm") -> None:
        self.logger = logging.getLogger("lvis.eval")
        if iou_type not in ("bbox", "segm"):
            raise ValueError(f"iou_type '{iou_type}' is not supported: give 'bbox' or 'segm'")
        if not isinstance(lvis_gt, LVIS | str):
            raise TypeError(f"lvis_gt is a {type(lvis_gt).__name__}: give an LVIS, or the path of its file as a str")
        self.lvis_gt = LVIS(lvis_gt) if isinstance(lvis_gt, str) else lvis_gt
        if not isinstance(lvis_dt, LVISResults | str | list):
            raise TypeError(f"lvis_dt is a {type(lvis_dt).__name__}: give LVISResults, a list of dicts or a path")
        self.lvis_dt = lvis_dt if isinstance(lvis_dt, LVISResults) else LVISResults(self.lvis_gt, lvis_dt)
        self._layout: Layout | None = None
        self._eval_imgs: Any = defaultdict(list)
        self._ious: Any = {}
        self.eval: dict[str, Any] = {}
        self._gts: Any = defaultdict(list)
        self._dts: Any = defaultdict(list)
        self.params = Params(iou_type=iou_type)
        self.results: OrderedDict[str, Any] = OrderedDict()
        self.params.img_ids = sorted(self.lvis_gt.get_img_ids())
        self.params.cat_ids = sorted(self.lvis_gt.get_cat_ids())

    def steelyard_inputs(self) -> tuple[str, Any, Any, dict[str, Any]]:
        """The task, ground truth, results and settings with which `steelyard.compat.report` scores the same data."""
        p = self.params
        images, categories = set(p.img_ids), set(p.cat_ids)
        truth = dict(self.lvis_gt.dataset)
        truth["images"] = [image for image in truth["images"] if image["id"] in images]
        truth["categories"] = [category for category in truth["categories"] if category["id"] in categories]

        def selected(annotations: list[Ann]) -> list[Ann]:
            return [ann for ann in annotations if ann["image_id"] in images and ann["category_id"] in categories]

        truth["annotations"] = selected(truth["annotations"])
        results = selected(self.lvis_dt.dataset["annotations"])
        task = "boxes" if p.iou_type == "bbox" else "masks"
        return task, JsonFile(truth, "truth"), JsonFile(results, "results"), {"options": {"format": "lvis"}}

    @property
    def eval_imgs(self) -> Any:
        """What was found for each category, area range and image, in this order: dicts, or None for an empty cell."""
        if self._eval_imgs is None:
            self._eval_imgs = [] if self._layout is None else _listed(self._layout, self._evaluated)
        return self._eval_imgs

    @eval_imgs.setter
    def eval_imgs(self, value: Any) -> None:
        self._eval_imgs = value

    @property
    def ious(self) -> Any:
        """IoU, detections by truths, by (image id, category id); an empty list where there is no pair."""
        if self._ious is None:
            self._ious = {} if self._layout is None else iou_table(self._layout, self._evaluated)
        return self._ious

    @ious.setter
    def ious(self, value: Any) -> None:
        self._ious = value

    def _to_mask(self, anns: list[Ann], lvis: LVIS) -> None:
        for ann in anns:
            ann["segmentation"] = lvis.ann_to_rle(ann)

    def _prepare(self) -> None:
        """Fill `_gts` and `_dts`, without results of classes that nobody looked for in their image.

        As in the package they are not emptied: what was evaluated twice counts twice.
        """
        p = self.params
        chosen = {"img_ids": p.img_ids, "cat_ids": p.cat_ids or None}
        gts = self.lvis_gt.load_anns(self.lvis_gt.get_ann_ids(**chosen))
        dts = self.lvis_dt.load_anns(self.lvis_dt.get_ann_ids(**chosen))
        if p.iou_type == "segm":
            self._to_mask(gts, self.lvis_gt)
            self._to_mask(dts, self.lvis_dt)
        images = self.lvis_gt.load_imgs(p.img_ids)
        looked_for = {image["id"]: set(image["neg_category_ids"]) for image in images}
        self.img_nel = {image["id"]: image["not_exhaustive_category_ids"] for image in images}
        for gt in gts:
            gt.setdefault("ignore", 0)
            looked_for[gt["image_id"]].add(gt["category_id"])
            self._gts[gt["image_id"], gt["category_id"]].append(gt)
        for dt in dts:
            if dt["category_id"] in looked_for[dt["image_id"]]:
                self._dts[dt["image_id"], dt["category_id"]].append(dt)
        self.freq_groups = self._prepare_freq_group()

    def _prepare_freq_group(self) -> list[list[int]]:
        groups: list[list[int]] = [[] for _ in self.params.img_count_lbl]
        for place, category in enumerate(self.lvis_gt.load_cats(self.params.cat_ids)):
            groups[self.params.img_count_lbl.index(category["frequency"])].append(place)
        return groups

    def evaluate(self) -> None:
        """Match every image and category."""
        self.logger.info("Running per image evaluation.")
        self.logger.info("Evaluate annotation type *%s*", self.params.iou_type)
        p = self.params
        p.img_ids = list(np.unique(p.img_ids))
        self._layout = None
        with many_objects():
            self._prepare()
            own = all(getattr(getattr(self, name), "__func__", None) is _OWN[name] for name in _STEPS)
            if own and p.use_cats and len(set(p.cat_ids)) == len(p.cat_ids) and len(p.img_ids):
                self._match_all()
            else:
                self._step_by_step()

    def _match_all(self) -> None:
        p = self.params
        self._evaluated = SimpleNamespace(
            imgIds=list(p.img_ids),
            catIds=list(p.cat_ids),
            useCats=1,
            maxDets=[_ALL],
            areaRng=list(p.area_rng),
            iouThrs=p.iou_thrs,
            iouType=p.iou_type,
        )
        truths, detected = _Truths(self._evaluated, self._gts, True), DictSide(self._evaluated, self._dts, False)
        self._layout = lay_out(self._evaluated, truths, detected)
        incomplete = {(image, category) for image, listed in self.img_nel.items() for category in listed}
        if incomplete:  # what is not found there may be there nevertheless
            self._layout.d_outside |= np.array(
                [(ann["image_id"], ann["category_id"]) in incomplete for ann in detected.anns], dtype=bool
            )
        self._eval_imgs, self._ious = None, None

    def _step_by_step(self) -> None:
        p = self.params
        categories = p.cat_ids if p.use_cats else [-1]
        self.ious = {(image, cat): self.compute_iou(image, cat) for image in p.img_ids for cat in categories}
        self.eval_imgs = [
            self.evaluate_img(image, cat, area) for cat in categories for area in p.area_rng for image in p.img_ids
        ]

    def _get_gt_dt(self, img_id: Any, cat_id: Any) -> tuple[list[Ann], list[Ann]]:
        """Truths and detections of a cell. As in the package, there are none if categories are not used."""
        times = 1 if self.params.use_cats else len(self.params.cat_ids)
        return list(self._gts[img_id, cat_id]) * times, list(self._dts[img_id, cat_id]) * times

    def compute_iou(self, img_id: Any, cat_id: Any) -> Any:
        """IoU of one image and category: detections by falling score, by truths."""
        gts, dts = self._get_gt_dt(img_id, cat_id)
        if not gts and not dts:
            return []
        key = "segmentation" if self.params.iou_type == "segm" else "bbox"
        return masks.iou([dt[key] for dt in _ranked(dts)], [gt[key] for gt in gts], [0] * len(gts))

    def evaluate_img(self, img_id: Any, cat_id: Any, area_rng: Any) -> Any:
        """Match one image and category in one area range; None where there is nothing."""
        gts, dts = self._get_gt_dt(img_id, cat_id)
        if not gts and not dts:
            return None
        for gt in gts:
            gt["_ignore"] = 1 if gt["ignore"] or gt["area"] < area_rng[0] or gt["area"] > area_rng[1] else 0
        order = np.argsort([gt["_ignore"] for gt in gts], kind="stable")
        gts, dts = [gts[i] for i in order], _ranked(dts)
        ious = self.ious[img_id, cat_id]
        d_ids, t_ids = (id_column([ann["id"] for ann in side]) for side in (dts, gts))
        ignored = np.array([gt["_ignore"] for gt in gts])
        thresholds = np.asarray(self.params.iou_thrs, dtype=np.float64)
        d_rows, t_rows = (np.full((len(thresholds), len(side)), -1) for side in (dts, gts))
        if len(ious) and gts and dts:
            table = np.ascontiguousarray(np.asarray(ious, dtype=np.float64)[:, order])
            ends = np.array([0, len(dts)]), np.array([0, len(gts)])
            no_crowd = np.zeros(len(gts), dtype=np.uint8)
            matches = match(table.ravel(), *ends, ignored[None], no_crowd, above_zero(d_ids), thresholds)
            d_rows, t_rows = matches[0][0], matches[1][0]
        some = d_rows >= 0
        matched = some & not_zero(t_ids)[d_rows] if gts else some
        inside_ignored = some & (ignored[d_rows] == 1) if gts else some
        outside = np.array(
            [
                dt["area"] < area_rng[0]
                or dt["area"] > area_rng[1]
                or dt["category_id"] in self.img_nel[dt["image_id"]]
                for dt in dts
            ],
            dtype=bool,
        )
        return {
            "image_id": img_id,
            "category_id": cat_id,
            "area_rng": area_rng,
            "dt_ids": [dt["id"] for dt in dts],
            "gt_ids": [gt["id"] for gt in gts],
            "dt_matches": ids_of_rows(d_rows, t_ids),
            "gt_matches": ids_of_rows(t_rows, d_ids),
            "dt_scores": [dt["score"] for dt in dts],
            "gt_ignore": ignored,
            "dt_ignore": inside_ignored | (~matched & outside),
        }

    def accumulate(self) -> None:
        """Precision and recall over all images: `eval`."""
        self.logger.info("Accumulating evaluation results.")
        fast = self._eval_imgs is None and self._layout is not None
        if not fast and not self.eval_imgs:
            self.logger.warning("Please run evaluate first.")
        p = self.params
        categories = len(p.cat_ids) if p.use_cats else 1
        shape = len(p.iou_thrs), len(p.rec_thrs), categories, len(p.area_rng)
        T, R, K, A = shape
        pointers: dict[int, dict[int, dict[str, Array]]] = {k: {a: {} for a in range(A)} for k in range(K)}
        same = fast and (list(p.img_ids), list(p.cat_ids), list(p.area_rng)) == (
            self._evaluated.imgIds,
            self._evaluated.catIds,
            self._evaluated.areaRng,
        )
        if same and self._layout is not None:
            arrays = self._layout.accumulate([_ALL], p.rec_thrs, K)
            precision, recall = arrays[0][..., 0], arrays[1][..., 0]
            _point(pointers, self._layout)
        else:
            precision, recall = -np.ones(shape), -np.ones((T, K, A))
            for k, a in ((k, a) for k in range(K) for a in range(A)):
                begin = (k * A + a) * len(p.img_ids)
                cells = [cell for cell in (self.eval_imgs[begin + i] for i in range(len(p.img_ids))) if cell]
                ignored = [np.asarray(cell["gt_ignore"]) for cell in cells]
                positives = sum(int(np.count_nonzero(flags == 0)) for flags in ignored)
                if not positives:
                    continue
                score = np.concatenate([cell["dt_scores"] for cell in cells]).astype(np.float64)
                order = np.argsort(-score, kind="stable")
                hit = np.concatenate([cell["dt_matches"] for cell in cells], axis=1).astype(bool)
                left_out = np.concatenate([cell["dt_ignore"] for cell in cells], axis=1).astype(bool)
                precision[:, :, k, a], recall[:, k, a], _ = curves(score, order, hit, left_out, positives, p.rec_thrs)
                counts = ~left_out[:, order]
                pointers[k][a] = {
                    "dt_ids": np.concatenate([cell["dt_ids"] for cell in cells])[order],
                    "tps": hit[:, order] & counts,
                    "fps": ~hit[:, order] & counts,
                }
        self.eval = {
            "params": p,
            "counts": [T, R, K, A],
            "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S"),
            "precision": precision,
            "recall": recall,
            "dt_pointers": pointers,
        }

    def _summarize(
        self, summary_type: str, iou_thr: float | None = None, area_rng: str = "all", freq_group_idx: int | None = None
    ) -> Any:
        p = self.params
        area = [place for place, label in enumerate(p.area_rng_lbl) if label == area_rng]
        values = self.eval["precision" if summary_type == "ap" else "recall"]
        if iou_thr is not None:
            values = values[np.where(iou_thr == np.asarray(p.iou_thrs))[0]]
        if summary_type == "ap" and freq_group_idx is not None:
            values = values[:, :, self.freq_groups[freq_group_idx], area]
        else:
            values = values[..., area]
        values = values[values > -1]
        return np.mean(values) if len(values) else -1

    def summarize(self) -> None:
        """Keep the summary in `results`: -1 where there is none."""
        if not self.eval:
            raise RuntimeError("call accumulate() before summarize()")
        most, sizes = self.params.max_dets, ("small", "medium", "large")
        rows: list[tuple[str, str, float | None, str, int | None]] = [
            ("AP", "ap", None, "all", None),
            ("AP50", "ap", 0.5, "all", None),
            ("AP75", "ap", 0.75, "all", None),
            *((f"AP{size[0]}", "ap", None, size, None) for size in sizes),
            *((f"AP{group}", "ap", None, "all", place) for place, group in enumerate("rcf")),
            (f"AR@{most}", "ar", None, "all", None),
            *((f"AR{size[0]}@{most}", "ar", None, size, None) for size in sizes),
        ]
        for name, kind, iou, area, group in rows:
            self.results[name] = self._summarize(kind, iou, area, group)

    def run(self) -> None:
        """Evaluate, accumulate and summarize."""
        self.evaluate()
        self.accumulate()
        self.summarize()

    def print_results(self) -> None:
        """Print the summary."""
        p = self.params
        for key, value in self.results.items():
            title, short = ("Average Precision", "(AP)") if "AP" in key else ("Average Recall", "(AR)")
            mark = key[2:3]
            iou = f"{float(key[2:]) / 100:0.2f}" if mark.isdigit() else f"{p.iou_thrs[0]:0.2f}:{p.iou_thrs[-1]:0.2f}"
            group = mark if mark and mark in "rcf" else "all"
            area = mark if mark and mark in "sml" else "all"
            print(
                f" {title:<18} {short} @[ IoU={iou:<9} | area={area:>6s} | maxDets={p.max_dets:>3d} catIds={group:>3s}]"
                f" = {value:0.3f}"
            )

    def get_results(self) -> OrderedDict[str, Any]:
        """The summary by name."""
        if not self.results:
            self.logger.warning("results is empty. Call run().")
        return self.results


class Params:
    """Settings of an evaluation."""

    def __init__(self, iou_type: str) -> None:
        self.img_ids: list[Any] = []
        self.cat_ids: list[Any] = []
        self.iou_thrs = np.linspace(0.5, 0.95, 10)
        self.rec_thrs = np.linspace(0.0, 1.0, 101)
        self.max_dets = 300
        self.area_rng: list[Any] = [[0, 1e10], [0, 1024], [1024, 9216], [9216, 1e10]]
        self.area_rng_lbl = ["all", "small", "medium", "large"]
        self.use_cats = 1
        self.img_count_lbl = ["r", "c", "f"]
        self.iou_type = iou_type


def _ranked(dts: list[Ann]) -> list[Ann]:
    return [dts[i] for i in np.argsort([-dt["score"] for dt in dts], kind="stable")]


def _listed(layout: Layout, p: Any) -> list[Any]:
    """What the package keeps in `eval_imgs`."""
    images, areas = len(p.imgIds), len(p.areaRng)
    entries: list[Any] = [None] * (len(p.catIds) * areas * images)
    d_match, t_match = layout.match()
    ignored = layout.ignored_detections(d_match)
    d_ids, t_ids = id_column(layout.d_ids), id_column(layout.t_ids)
    for cell, (k, i) in enumerate(zip(layout.category.tolist(), layout.image.tolist(), strict=True)):
        d, t = (slice(int(begin[cell]), int(begin[cell + 1])) for begin in (layout.d_begin, layout.t_begin))
        for a, area in enumerate(p.areaRng):
            flags = layout.t_ignored[a, t]
            order = np.argsort(flags, kind="stable")  # the truths that count first
            entries[(k * areas + a) * images + i] = {
                "image_id": p.imgIds[i],
                "category_id": p.catIds[k],
                "area_rng": area,
                "dt_ids": list(layout.d_ids[d]),
                "gt_ids": [layout.t_ids[t.start + place] for place in order],
                "dt_matches": ids_of_rows(d_match[a][:, d], t_ids),
                "gt_matches": ids_of_rows(t_match[a][:, t][:, order], d_ids),
                "dt_scores": list(layout.scores[d]),
                "gt_ignore": flags[order].astype(np.int64 if len(flags) else np.float64),
                "dt_ignore": ignored[a][:, d],
            }
    return entries


def _point(pointers: dict[int, dict[int, dict[str, Array]]], layout: Layout) -> None:
    """Fill `dt_pointers`: ids, hits and misses of each category's detections by falling score, in each area range."""
    d_match, _ = layout.match()
    counts = ~layout.ignored_detections(d_match)
    hit = d_match >= 0
    if len(layout.crowd):
        hit &= not_zero(id_column(layout.t_ids))[d_match]
    ids = np.asarray(layout.d_ids)
    first_cells = np.append(np.searchsorted(layout.category, range(len(pointers))), len(layout.category))
    for k, by_area in pointers.items():
        begin, end = first_cells[k], first_cells[k + 1]
        if begin == end:
            continue
        d, t = (slice(int(side[begin]), int(side[end])) for side in (layout.d_begin, layout.t_begin))
        order = np.argsort(-layout.score[d], kind="stable")
        found_everywhere = np.diff(layout.d_begin[begin : end + 1]).all()
        chosen = ids[d][order] if found_everywhere else ids[d][order].astype(np.float64)  # as the package's lists give
        for a in by_area:
            if not layout.t_ignored[a, t].all():
                hits, counting = hit[a][:, d][:, order], counts[a][:, d][:, order]
                by_area[a] = {"dt_ids": chosen, "tps": hits & counting, "fps": ~hits & counting}


_OWN = {name: getattr(LVISEval, name) for name in _STEPS}
