"""`lvis.results`: results as a data set of their own."""

from __future__ import annotations

import copy
import logging
from collections import defaultdict
from typing import Any

from steelyard.compat.lvis.lvis import LVIS, Ann
from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.pycocotools.coco import ResultsError
from steelyard.compat.pycocotools.files import many_objects
from steelyard.core.errors import first_few


class LVISResults(LVIS):
    """Results, of a path or a list of dicts, cut at `max_dets` per image; negative: all.

    As in the package, the dicts of a list are taken as they are and completed in place.
    """

    def __init__(self, lvis_gt: Any, results: Any, max_dets: int = 300) -> None:
        if not isinstance(lvis_gt, LVIS | str):
            raise TypeError(f"lvis_gt is a {type(lvis_gt).__name__}: give an LVIS, or the path of its file as a str")
        self.logger = logging.getLogger("lvis.results")
        self.logger.info("Loading and preparing results.")
        truth = lvis_gt.dataset if isinstance(lvis_gt, LVIS) else self._load_json(lvis_gt)
        self.dataset = {key: _copied(part) for key, part in truth.items() if key != "annotations"}
        if isinstance(results, str):
            results = self._load_json(results)
        else:
            self.logger.warning("Assuming user provided the results in correct format.")
        if not isinstance(results, list):
            raise ResultsError(f"results are a {type(results).__name__}", remedy="Give a list of dicts, or a path.")
        if max_dets >= 0:
            results = self.limit_dets_per_image(results, max_dets)
        with many_objects():
            _complete(results)
        self.dataset["annotations"] = results
        self._create_index()
        unknown = {ann["image_id"] for ann in results} - set(self.imgs)
        if unknown:
            raise ResultsError(
                f"Results do not correspond to current LVIS set: {len(unknown)} images are unknown, "
                f"{first_few(unknown)}",
                remedy="Every image_id must be one of the data set's images.",
            )

    def limit_dets_per_image(self, anns: list[Ann], max_dets: int) -> list[Ann]:
        """The results by image, with the best of each image where it has more than `max_dets`."""
        by_image: dict[Any, list[Ann]] = defaultdict(list)
        for ann in anns:
            by_image[ann["image_id"]].append(ann)
        for image, rows in by_image.items():
            if len(rows) > max_dets:
                by_image[image] = sorted(rows, key=lambda ann: ann["score"], reverse=True)[:max_dets]
        return [ann for rows in by_image.values() for ann in rows]

    def get_top_results(self, img_id: Any, score_thrs: float) -> list[Ann]:
        """The results of an image with more than this score."""
        return [ann for ann in self.load_anns(self.get_ann_ids(img_ids=[img_id])) if ann["score"] > score_thrs]


def _complete(anns: list[Ann]) -> None:
    """Number the results and give each an area, a box and a mask. The first one says of which kind they are."""
    first = anns[0] if anns else {}
    if "bbox" in first:
        for number, ann in enumerate(anns, 1):
            x, y, w, h = ann["bbox"]
            if "segmentation" not in ann:
                ann["segmentation"] = [[x, y, x, y + h, x + w, y + h, x + w, y]]
            ann["area"], ann["id"] = w * h, number
    elif "segmentation" in first:
        for number, ann in enumerate(anns, 1):
            ann["area"] = masks.area(ann["segmentation"])
            if "bbox" not in ann:
                ann["bbox"] = masks.toBbox(ann["segmentation"])
            ann["id"] = number


def _copied(value: Any) -> Any:
    """A deep copy; of what a JSON file holds, without the bookkeeping of `copy.deepcopy`."""
    if type(value) is dict:
        return {key: _copied(part) for key, part in value.items()}
    if type(value) is list:
        return [_copied(part) for part in value]
    return value if type(value) in (str, int, float, bool, type(None)) else copy.deepcopy(value)
