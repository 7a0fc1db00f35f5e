"""`pycocotools.coco`: a data set as dicts that the user may read, edit and extend in place."""

from __future__ import annotations

import copy
import gc
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from steelyard.compat.pycocotools import mask as masks
from steelyard.core.errors import InputError, InvalidFile, Unsupported, first_few

Ann = dict[str, Any]


class ResultsError(InputError, AssertionError):
    """Results that do not fit the data set. The reference raises AssertionError, so it is one as well."""


def _listed(ids: Any) -> Sequence[Any]:
    """One id or several, as several; a text is one id."""
    if isinstance(ids, str | bytes) or not (hasattr(ids, "__iter__") and hasattr(ids, "__len__")):
        return [ids]
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)


@contextmanager
def many_objects() -> Iterator[None]:
    """Put off the collector of cycles while many objects are made that all stay: it would walk them again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read_json(path: Any) -> Any:
    try:
        with open(path, encoding="utf-8") as file, many_objects():
            return json.load(file)
    except ValueError as error:
        raise InvalidFile(f"not valid JSON: {error}", where=os.fspath(path)) from None


class COCO:
    """A data set with its index: `anns`, `imgs`, `cats` by id, `imgToAnns`, `catToImgs`, and `dataset` itself."""

    def __init__(self, annotation_file: Any = None) -> None:
        self.dataset: dict[str, Any] = {}
        self.anns: dict[Any, Ann] = {}
        self.cats: dict[Any, dict[str, Any]] = {}
        self.imgs: dict[Any, dict[str, Any]] = {}
        self.imgToAnns: dict[Any, list[Ann]] = defaultdict(list)
        self.catToImgs: dict[Any, list[Any]] = defaultdict(list)
        if annotation_file is not None:
            print("loading annotations into memory...")
            start = time.time()
            dataset = _read_json(annotation_file)
            if type(dataset) is not dict:
                raise ResultsError(
                    f"{type(dataset).__name__} where an object is expected",
                    where=os.fspath(annotation_file),
                    remedy="A data set is an object with images, annotations and categories.",
                )
            print(f"Done (t={time.time() - start:0.2f}s)")
            self.dataset = dataset
            self.createIndex()

    def createIndex(self) -> None:
        """Build the index from `dataset`; call it again after adding or removing entries."""
        print("creating index...")
        data = self.dataset
        anns: dict[Any, Ann] = {}
        by_image: dict[Any, list[Ann]] = defaultdict(list)
        by_category: dict[Any, list[Any]] = defaultdict(list)
        for ann in data.get("annotations", ()):
            by_image[ann["image_id"]].append(ann)
            anns[ann["id"]] = ann
        if "annotations" in data and "categories" in data:
            for ann in data["annotations"]:
                by_category[ann["category_id"]].append(ann["image_id"])
        self.imgs = {image["id"]: image for image in data.get("images", ())}
        self.cats = {category["id"]: category for category in data.get("categories", ())}
        self.anns, self.imgToAnns, self.catToImgs = anns, by_image, by_category
        print("index created!")

    def info(self) -> None:
        """Print what the data set says about itself."""
        for key, value in self.dataset["info"].items():
            print(f"{key}: {value}")

    def getAnnIds(self, imgIds: Any = (), catIds: Any = (), areaRng: Any = (), iscrowd: Any = None) -> list[Any]:
        """Ids of annotations by image, category, area (between the ends) and crowd flag; empty: all."""
        images, categories = _listed(imgIds), _listed(catIds)
        anns: Iterable[Ann] = () if len(images) else self.dataset["annotations"]
        if len(images):
            anns = [ann for image in images if image in self.imgToAnns for ann in self.imgToAnns[image]]
        if len(categories):
            wanted = set(categories)
            anns = [ann for ann in anns if ann["category_id"] in wanted]
        if len(areaRng):
            anns = [ann for ann in anns if areaRng[0] < ann["area"] < areaRng[1]]
        return [ann["id"] for ann in anns if iscrowd is None or ann["iscrowd"] == iscrowd]

    def getCatIds(self, catNms: Any = (), supNms: Any = (), catIds: Any = ()) -> list[Any]:
        """Ids of categories by name, supercategory and id; an empty filter lets all pass."""
        cats = self.dataset["categories"]
        for key, wanted in (("name", _listed(catNms)), ("supercategory", _listed(supNms)), ("id", _listed(catIds))):
            cats = [cat for cat in cats if cat[key] in wanted] if len(wanted) else cats
        return [cat["id"] for cat in cats]

    def getImgIds(self, imgIds: Any = (), catIds: Any = ()) -> list[Any]:
        """Ids of the images that hold all of the given categories; an empty filter lets all pass."""
        images, categories = _listed(imgIds), _listed(catIds)
        if not len(images) and not len(categories):
            return list(self.imgs)
        ids = set(images)
        for place, category in enumerate(categories):
            holding = set(self.catToImgs[category])
            ids = holding if place == 0 and not ids else ids & holding
        return list(ids)

    def loadAnns(self, ids: Any = ()) -> list[Ann]:
        """The annotations with these ids: the dicts themselves, not copies."""
        return [self.anns[key] for key in _listed(ids)]

    def loadCats(self, ids: Any = ()) -> list[dict[str, Any]]:
        """The categories with these ids."""
        return [self.cats[key] for key in _listed(ids)]

    def loadImgs(self, ids: Any = ()) -> list[dict[str, Any]]:
        """The images with these ids."""
        return [self.imgs[key] for key in _listed(ids)]

    def loadRes(self, resFile: Any) -> COCO:
        """Results as a data set of their own: a path, a list of dicts, an array n × 7, or nothing found at all.

        As in the reference, the dicts of a list are taken as they are and completed in place.
        """
        result = COCO()
        result.dataset["info"] = copy.deepcopy(self.dataset.get("info", {}))
        result.dataset["images"] = list(self.dataset["images"])
        print("Loading and preparing results...")
        start = time.time()
        if isinstance(resFile, str | os.PathLike):
            anns = _read_json(resFile)
        elif isinstance(resFile, np.ndarray):
            anns = self.loadNumpyAnnotations(resFile)
        else:
            anns = resFile
        if not isinstance(anns, list):
            raise ResultsError(
                f"{type(anns).__name__} where a list of results is expected", remedy="Give a list of dicts, or a path."
            )
        unknown = {ann["image_id"] for ann in anns} - set(self.getImgIds())
        if unknown:
            raise ResultsError(
                f"Results do not correspond to current coco set: {len(unknown)} images are unknown, "
                f"{first_few(unknown)}",
                remedy="Every image_id must be one of the data set's images.",
            )
        if anns and "caption" in anns[0]:
            named = {ann["image_id"] for ann in anns}
            result.dataset["images"] = [img for img in result.dataset["images"] if img["id"] in named]
        else:
            if "categories" in self.dataset:
                result.dataset["categories"] = copy.deepcopy(self.dataset["categories"])
            with many_objects():
                self._complete(anns)
        for number, ann in enumerate(anns, 1):
            ann["id"] = number
        print(f"DONE (t={time.time() - start:0.2f}s)")
        result.dataset["annotations"] = anns
        result.createIndex()
        return result

    def _complete(self, anns: list[Ann]) -> None:
        """Give every result an area, a box and what else its kind needs. The first one says of which kind all are."""
        first = anns[0] if anns else {}
        if "bbox" in first and len(first["bbox"]):
            for ann in anns:
                if "bbox" not in ann and "segmentation" in ann:
                    self._measure(ann)
                    continue
                x, y, w, h = ann["bbox"]
                if "segmentation" not in ann:
                    ann["segmentation"] = [[x, y, x, y + h, x + w, y + h, x + w, y]]
                ann["area"] = w * h
                ann["iscrowd"] = 0
        elif "segmentation" in first:
            self._measure_all(anns)
        elif "keypoints" in first:
            for ann in anns:
                x, y = ann["keypoints"][0::3], ann["keypoints"][1::3]
                left, right, top, low = np.min(x), np.max(x), np.min(y), np.max(y)
                ann["area"] = (right - left) * (low - top)
                ann["bbox"] = [left, top, right - left, low - top]

    def _measure_all(self, anns: list[Ann]) -> None:
        listed = [ann["segmentation"] for ann in anns]
        if not all(isinstance(mask, dict) for mask in listed) or any("bbox" in ann for ann in anns):
            for ann in anns:
                self._measure(ann)
            return
        for ann, area, box in zip(anns, masks.area(listed), masks.toBbox(listed), strict=True):
            ann["area"], ann["bbox"], ann["iscrowd"] = area, box, 0

    def _measure(self, ann: Ann) -> None:
        mask = ann["segmentation"] if isinstance(ann["segmentation"], dict) else self.annToRLE(ann)
        ann["area"] = masks.area(mask)
        if "bbox" not in ann or not len(ann["bbox"]):
            ann["bbox"] = masks.toBbox(mask)
        ann["iscrowd"] = 0

    def loadNumpyAnnotations(self, data: Any) -> list[Ann]:
        """Results from an array n × 7: image id, x, y, width, height, score, category id."""
        print("Converting ndarray to lists...")
        if not isinstance(data, np.ndarray) or data.ndim != 2 or data.shape[1] != 7:
            shape = getattr(data, "shape", type(data).__name__)
            raise ResultsError(
                f"results of shape {shape}", remedy="Give n × 7: image id, x, y, width, height, score, category id."
            )
        print(data.shape)
        return [
            {"image_id": int(row[0]), "bbox": list(row[1:5]), "score": row[5], "category_id": int(row[6])}
            for row in data
        ]

    def annToRLE(self, ann: Ann) -> Any:
        """The mask of an annotation: of its polygons, united; of its counts; or as it stands."""
        segmentation = ann["segmentation"]
        if isinstance(segmentation, dict):
            compressed = isinstance(segmentation["counts"], str | bytes)
            return segmentation if compressed else masks.frPyObjects(segmentation, *segmentation["size"])
        image = self.imgs[ann["image_id"]]
        return masks.united(segmentation, image["height"], image["width"])

    def annToMask(self, ann: Ann) -> Any:
        """The pixels of an annotation, height × width."""
        return masks.decode(self.annToRLE(ann))

    def showAnns(self, anns: Sequence[Ann], draw_bbox: bool = False) -> Any:
        """Draw annotations into the current matplotlib axes; captions are printed."""
        if len(anns) == 0:
            return 0
        if "segmentation" in anns[0] or "keypoints" in anns[0]:
            from steelyard.compat.pycocotools.show import show

            return show(self, anns, draw_bbox)
        if "caption" not in anns[0]:
            raise Unsupported("annotations without segmentation, keypoints or caption cannot be shown")
        for ann in anns:
            print(ann["caption"])
        return None

    def download(self, tarDir: Any = None, imgIds: Any = ()) -> Any:
        """Fetch images from where their `coco_url` points, those that are not there yet."""
        from urllib.request import urlretrieve

        if tarDir is None:
            print("Please specify target directory")
            return -1
        images = self.loadImgs(imgIds) if len(_listed(imgIds)) else list(self.imgs.values())
        os.makedirs(tarDir, exist_ok=True)
        for number, image in enumerate(images):
            start = time.time()
            path = os.path.join(tarDir, image["file_name"])
            if not os.path.exists(path):
                urlretrieve(image["coco_url"], path)
            print(f"downloaded {number}/{len(images)} images (t={time.time() - start:0.1f}s)")
        return None
