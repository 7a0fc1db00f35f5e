"""Code as others write it around pycocotools, so that a drop-in can be held to it.

Three flows after the logic of well-known users of the package: its own demo notebook, the evaluator of torchvision's
reference scripts, and detectron2's. Each takes a namespace with `COCO`, `COCOeval` and `mask`, and touches nothing else.
"""

from __future__ import annotations

import copy
import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from support.coco_drawn import Data, Results, quiet


def demo(tools: Any, data: Data, results: dict[str, Results], folder: Path) -> dict[str, Any]:
    """Files in; categories, images and annotations looked up; masks made; results of every kind evaluated."""
    (folder / "truth.json").write_text(json.dumps(data))
    coco = quiet(tools.COCO, str(folder / "truth.json"))
    names = [cat["name"] for cat in coco.loadCats(coco.getCatIds())]
    category = coco.getCatIds(catNms=[names[0]])
    images = coco.getImgIds(catIds=category)
    result: dict[str, Any] = {"names": names, "category": category, "images": sorted(images, key=str)}
    ann_ids = coco.getAnnIds(imgIds=coco.loadImgs(coco.getImgIds())[0]["id"], iscrowd=None)
    result["anns"] = ann_ids
    result["large"] = coco.getAnnIds(areaRng=[500, 1e5], catIds=category)
    result["crowd"] = coco.getAnnIds(iscrowd=True)
    result["masks"] = [coco.annToMask(ann) for ann in coco.loadAnns(ann_ids)]
    for kind, listed in results.items():
        path = folder / f"{kind}.json"
        path.write_text(json.dumps(listed))
        e = tools.COCOeval(coco, quiet(coco.loadRes, str(path)), kind)
        e.params.imgIds = sorted(coco.getImgIds())[:5]
        for step in (e.evaluate, e.accumulate, e.summarize):
            quiet(step)
        result[kind] = e.stats
    return result


class TorchvisionStyle:
    """Batches evaluated one by one, their `evalImgs` as arrays gathered from several processes, then accumulated."""

    def __init__(self, tools: Any, truth: Any, kinds: tuple[str, ...]) -> None:
        self.truth = copy.deepcopy(truth)
        self.tools, self.kinds = tools, kinds
        self.evals = {kind: tools.COCOeval(self.truth, iouType=kind) for kind in kinds}
        self.img_ids: list[Any] = []
        self.eval_imgs: dict[str, list[Any]] = {kind: [] for kind in kinds}

    def update(self, results: dict[str, Results], img_ids: list[Any]) -> None:
        unique = list(np.unique(img_ids))
        self.img_ids.extend(unique)
        for kind in self.kinds:
            batch = copy.deepcopy([r for r in results[kind] if r["image_id"] in unique])
            coco_dt = quiet(self.truth.loadRes, batch) if batch else self.tools.COCO()
            if not batch:
                coco_dt.dataset = {"annotations": [], "images": [], "categories": []}
            e = self.evals[kind]
            e.cocoDt = coco_dt
            e.params.imgIds = list(unique)
            quiet(e.evaluate)
            shape = (-1, len(e.params.areaRng), len(e.params.imgIds))
            self.eval_imgs[kind].append(np.asarray(e.evalImgs).reshape(shape))

    def stats(self, others: list[TorchvisionStyle]) -> dict[str, Any]:
        by_kind = {}
        for kind in self.kinds:
            gathered = [self, *others]
            ids = np.array([i for one in gathered for i in one.img_ids])
            imgs = np.concatenate([part for one in gathered for part in one.eval_imgs[kind]], axis=2)
            ids, place = np.unique(ids, return_index=True)  # a padded sampler repeats some
            imgs = imgs[..., place]
            e = self.evals[kind]
            e.evalImgs = list(imgs.flatten())
            e.params.imgIds = list(ids)
            e._paramsEval = copy.deepcopy(e.params)
            quiet(e.accumulate)
            quiet(e.summarize)
            by_kind[kind] = e.stats
        return by_kind


def torchvision(tools: Any, data: Data, results: dict[str, Results]) -> dict[str, Any]:
    """Two processes with two batches each; one image is seen by both."""
    truth = tools.COCO()
    truth.dataset = copy.deepcopy(data)
    quiet(truth.createIndex)
    ids = sorted(image["id"] for image in data["images"])
    half = max(1, len(ids) // 2)
    kinds = ("bbox", "segm", "keypoints")
    first, second = (TorchvisionStyle(tools, truth, kinds) for _ in range(2))
    first.update(results, ids[:1])
    first.update(results, ids[1:half] or ids[:1])
    second.update(results, ids[half:])
    second.update(results, ids[:1])  # again
    return first.stats([second])


def detectron2(tools: Any, data: Data, results: dict[str, Results]) -> dict[str, Any]:
    """Results of each task loaded (boxes popped for masks), evaluated, and AP by class derived from `eval`."""
    api = tools.COCO()
    api.dataset = copy.deepcopy(data)
    quiet(api.createIndex)
    outcome: dict[str, Any] = OrderedDict()
    for kind in ("bbox", "segm", "keypoints"):
        listed = copy.deepcopy(results[kind])
        if kind == "segm":
            for result in listed:
                result.pop("bbox", None)
        if not listed:
            continue
        e = tools.COCOeval(api, quiet(api.loadRes, listed), kind)
        e.params.imgIds = [image["id"] for image in data["images"]]
        if kind == "keypoints":
            e.params.kpt_oks_sigmas = np.array(e.params.kpt_oks_sigmas) * 1.5
        for step in (e.evaluate, e.accumulate, e.summarize):
            quiet(step)
        outcome[kind] = [float(v * 100 if v >= 0 else "nan") for v in e.stats]
        precisions = e.eval["precision"]
        names = [cat["name"] for cat in api.loadCats(sorted(api.getCatIds()))]
        assert len(names) == precisions.shape[2]
        by_class = {}
        for place, name in enumerate(names):
            part = precisions[:, :, place, 0, -1]
            part = part[part > -1]
            by_class[name] = float(np.mean(part) * 100) if part.size else float("nan")
        outcome[f"{kind} by class"] = by_class
        outcome[f"{kind} classes"] = [int(v) if not isinstance(v, str) else str(v) for v in e.params.catIds]
    proposals = [
        api.loadAnns(api.getAnnIds(imgIds=image["id"])) for image in api.loadImgs(sorted(api.getImgIds(), key=str))
    ]
    outcome["objects"] = [[ann["id"] for ann in anns if ann["iscrowd"] == 0] for anns in proposals]
    return outcome
