"""`pycocotools.coco`: a data set as dicts that the user may read, edit and extend in place."""

from __future__ import annotations

import copy
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from steelyard import _native
from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.pycocotools.files import HeldFile, HeldList, many_objects, read_json
from steelyard.compat.pycocotools.sides import POINTS, Columns
from steelyard.core.errors import InputError, Unsupported, first_few

Ann = dict[str, Any]


class ResultsError(InputError, AssertionError):
    """Results that do not fit the data set. The reference raises AssertionError, so it is one as well."""


def _id_list(ids: Any) -> Sequence[Any]:
    """One id or several, as several; a text is one id."""
    if isinstance(ids, str | bytes) or not (hasattr(ids, "__iter__") and hasattr(ids, "__len__")):
        return [ids]
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)


_READERS = ("annToRLE", "createIndex", "getAnnIds", "getCatIds", "getImgIds", "loadAnns")


def _part(name: str) -> Any:
    """A part of the data set. At the first look at any of them, the dicts of a file are made."""

    def fget(self: COCO) -> Any:
        self._see()
        return self._parts[name]

    def fset(self: COCO, value: Any) -> None:
        self._see()
        self._parts[name] = value

    return property(fget, fset)


def _data_set(data: Any, path: Any) -> dict[str, Any]:
    if type(data) is not dict:
        raise ResultsError(
            f"{type(data).__name__} where an object is expected",
            where=os.fspath(path),
            remedy="A data set is an object with images, annotations and categories.",
        )
    return data


def _index_of(data: dict[str, Any]) -> dict[str, Any]:
    anns: dict[Any, Ann] = {}
    by_image: dict[Any, list[Ann]] = defaultdict(list)
    by_category: dict[Any, list[Any]] = defaultdict(list)
    for ann in data.get("annotations", ()):
        by_image[ann["image_id"]].append(ann)
        anns[ann["id"]] = ann
    if "annotations" in data and "categories" in data:
        for ann in data["annotations"]:
            by_category[ann["category_id"]].append(ann["image_id"])
    images = {image["id"]: image for image in data.get("images", ())}
    categories = {category["id"]: category for category in data.get("categories", ())}
    return {"anns": anns, "imgs": images, "cats": categories, "imgToAnns": by_image, "catToImgs": by_category}


class COCO:
    """A data set with its index: `anns`, `imgs`, `cats` by id, `imgToAnns`, `catToImgs`, and `dataset` itself.

    A file is read into columns. Its dicts are made when somebody looks at one of these attributes, and count
    from then on.
    """

    dataset = _part("dataset")
    anns = _part("anns")
    cats = _part("cats")
    imgs = _part("imgs")
    imgToAnns = _part("imgToAnns")
    catToImgs = _part("catToImgs")

    def __init__(self, annotation_file: Any = None) -> None:
        self._held: HeldFile | HeldList | None = None  # what the dicts or their index will be made of
        self._of: COCO | None = None  # the data set that results belong to
        self._head: dict[str, Any] | None = None  # what results take over from it
        self._unseen: WeakSet[COCO] = WeakSet()  # results that have not taken it over yet
        self._when_seen: list[Callable[[], None]] = []
        self._parts: dict[str, Any] = {"dataset": {}, **_index_of({})}
        if annotation_file is not None:
            print("loading annotations into memory...")
            start = time.time()
            self._held = HeldFile.of(annotation_file, truth=True) if self._is_plain() else None
            if self._held is None:
                self.dataset = _data_set(read_json(annotation_file), annotation_file)
            print(f"Done (t={time.time() - start:0.2f}s)")
            self._index()

    def _is_plain(self) -> bool:
        """Whether no method that reads annotations is overridden."""
        return all(getattr(getattr(self, name), "__func__", None) is getattr(COCO, name) for name in _READERS)

    def _index(self) -> None:
        if self._held is None:
            self.createIndex()
        else:
            print("creating index...\nindex created!")

    def createIndex(self) -> None:
        """Build the index from `dataset`; call it again after adding or removing entries."""
        print("creating index...")
        self._parts |= _index_of(self.dataset)
        print("index created!")

    def unseen_columns(self, p: Any) -> Columns | None:
        """The columns of a file whose dicts nobody has looked at, where they suffice for an evaluation."""
        whole = all(len(ids) and np.asarray(ids).dtype.kind in "iu" for ids in (p.imgIds, p.catIds))
        if self._held is None or not whole or not self._is_plain():
            return None
        columns = self._held.columns_of(p.iouType)
        points = columns.points if columns is not None and p.iouType in POINTS else None
        if points is not None and points.shape[1] != len(p.kpt_oks_sigmas) * (3 if self._of is None else 2):
            return None
        return columns

    def _truth_columns(self) -> Columns | None:
        return self._held.columns if isinstance(self._held, HeldFile) and self._of is None else None

    def when_seen(self, action: Callable[[], None]) -> None:
        """Do something once the dicts are made."""
        self._when_seen.append(action)

    def _see(self) -> None:
        """Make the dicts of a file, once."""
        if self._held is None:
            return
        if self._of is None:
            dataset = _data_set(self._held.parse(), "data set")
        else:
            self._of._see()
            anns = self._held.parse()
            if isinstance(self._held, HeldFile):
                self._of._complete(anns)
            dataset = {**(self._head or {}), "annotations": anns}
        listed = self._held.listed if isinstance(self._held, HeldList) else dataset.get("annotations")
        self._parts = {"dataset": dataset, **_index_of(dataset | ({} if listed is None else {"annotations": listed}))}
        self._held = None
        for result in self._unseen:
            result._head = self._head_of_results()
        self._unseen.clear()
        for action in self._when_seen:
            action()
        self._when_seen.clear()

    def __getstate__(self) -> dict[str, Any]:
        self._see()
        return {name: value for name, value in self.__dict__.items() if name not in ("_unseen", "_of", "_head")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _unseen=WeakSet(), _of=None, _head=None)

    def info(self) -> None:
        """Print what the data set says about itself."""
        for key, value in self.dataset["info"].items():
            print(f"{key}: {value}")

    def getAnnIds(self, imgIds: Any = (), catIds: Any = (), areaRng: Any = (), iscrowd: Any = None) -> list[Any]:
        """Ids of annotations by image, category, area (between the ends) and crowd flag; empty: all."""
        images, categories = _id_list(imgIds), _id_list(catIds)
        anns: Iterable[Ann] = () if len(images) else self.dataset["annotations"]
        if len(images):
            by_image = self.imgToAnns
            anns = [ann for image in images if image in by_image for ann in by_image[image]]
        if len(categories):
            wanted = set(categories)
            anns = [ann for ann in anns if ann["category_id"] in wanted]
        if len(areaRng):
            anns = [ann for ann in anns if areaRng[0] < ann["area"] < areaRng[1]]
        return [ann["id"] for ann in anns if iscrowd is None or ann["iscrowd"] == iscrowd]

    def getCatIds(self, catNms: Any = (), supNms: Any = (), catIds: Any = ()) -> list[Any]:
        """Ids of categories by name, supercategory and id; an empty filter lets all pass."""
        columns = self._truth_columns()
        if columns is not None and not any(len(_id_list(ids)) for ids in (catNms, supNms, catIds)):
            return list(columns.categories.tolist())
        cats = self.dataset["categories"]
        for key, wanted in (("name", _id_list(catNms)), ("supercategory", _id_list(supNms)), ("id", _id_list(catIds))):
            cats = [cat for cat in cats if cat[key] in wanted] if len(wanted) else cats
        return [cat["id"] for cat in cats]

    def getImgIds(self, imgIds: Any = (), catIds: Any = ()) -> list[Any]:
        """Ids of the images that hold all of the given categories; an empty filter lets all pass."""
        images, categories = _id_list(imgIds), _id_list(catIds)
        if not len(images) and not len(categories):
            columns = self._truth_columns()
            return list(self.imgs if columns is None else columns.images.tolist())
        ids = set(images)
        for place, category in enumerate(categories):
            holding = set(self.catToImgs[category])
            ids = holding if place == 0 and not ids else ids & holding
        return list(ids)

    def loadAnns(self, ids: Any = ()) -> list[Ann]:
        """The annotations with these ids: the dicts themselves, not copies."""
        anns = self.anns
        return [anns[key] for key in _id_list(ids)]

    def loadCats(self, ids: Any = ()) -> list[dict[str, Any]]:
        """The categories with these ids."""
        return [self.cats[key] for key in _id_list(ids)]

    def loadImgs(self, ids: Any = ()) -> list[dict[str, Any]]:
        """The images with these ids."""
        return [self.imgs[key] for key in _id_list(ids)]

    def loadRes(self, resFile: Any) -> COCO:
        """Results as a data set of their own: a path, a list of dicts, an array n × 7, or nothing found at all.

        As in the reference, the dicts of a list are taken as they are and completed in place.
        """
        result = COCO()
        print("Loading and preparing results...")
        start = time.time()
        held, columns, anns = self._held_results(resFile)
        if held is None and isinstance(resFile, str | os.PathLike):
            anns = read_json(resFile)
        elif isinstance(resFile, np.ndarray):
            anns = self.loadNumpyAnnotations(resFile)
        if not isinstance(anns, list):
            raise ResultsError(
                f"{type(anns).__name__} where a list of results is expected", remedy="Give a list of dicts, or a path."
            )
        if columns is not None:
            unknown = columns.unknown_images(self.getImgIds())
        else:
            named = {ann["image_id"] for ann in anns}
            unknown = named - set(self.getImgIds())
        if unknown:
            raise ResultsError(
                f"Results do not correspond to current coco set: {len(unknown)} images are unknown, "
                f"{first_few(unknown)}",
                remedy="Every image_id must be one of the data set's images.",
            )
        if held is not None:
            if isinstance(held, HeldList):
                with many_objects():
                    if held.key == "bbox":
                        _native.complete_results(held.listed)
                    else:
                        self._complete(held.listed)
            result._held, result._of = held, self
            if self._held is None:
                result._head = self._head_of_results()
            else:
                self._unseen.add(result)
            print(f"DONE (t={time.time() - start:0.2f}s)")
            result._index()
            return result
        head = self._head_of_results()
        if anns and "caption" in anns[0]:
            head = {"info": head["info"], "images": [img for img in head["images"] if img["id"] in named]}
        else:
            with many_objects():
                self._complete(anns)
        if anns and "caption" in anns[0]:
            for number, ann in enumerate(anns, 1):
                ann["id"] = number
        print(f"DONE (t={time.time() - start:0.2f}s)")
        result.dataset = {**head, "annotations": anns}
        result.createIndex()
        return result

    def _held_results(self, results: Any) -> tuple[HeldFile | HeldList | None, Columns | None, Any]:
        """Results that can be read as columns, the columns, and an empty list; else the results."""
        if self._is_plain() and isinstance(results, str | os.PathLike):
            file = HeldFile.of(results, truth=False)
            return (None, None, results) if file is None else (file, file.columns, [])
        listed = HeldList.of(results) if self._is_plain() else None
        return (None, None, results) if listed is None else (*listed, [])

    def _head_of_results(self) -> dict[str, Any]:
        """What results take over from the data set that they belong to."""
        data = self.dataset
        head = {"info": copy.deepcopy(data.get("info", {})), "images": list(data["images"])}
        return head | ({"categories": copy.deepcopy(data["categories"])} if "categories" in data else {})

    def _complete(self, anns: list[Ann]) -> None:
        """Number the results, and give each an area, a box and what else its kind needs. The first one says which."""
        for number, ann in enumerate(anns, 1):
            ann["id"] = number
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
                x, y = np.array(ann["keypoints"][0::3]), np.array(ann["keypoints"][1::3])
                left, right, top, low = x.min(), x.max(), y.min(), y.max()
                ann["area"] = (right - left) * (low - top)
                ann["bbox"] = [left, top, right - left, low - top]

    def _measure_all(self, anns: list[Ann]) -> None:
        listed = [ann["segmentation"] for ann in anns]
        if not all(isinstance(mask, dict) for mask in listed) or any("bbox" in ann for ann in anns):
            for ann in anns:
                self._measure(ann)
            return
        for ann, area, box in zip(anns, *masks.areas_and_boxes(listed), strict=True):
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
        return masks.polygon_union(segmentation, image["height"], image["width"])

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
        images = self.loadImgs(imgIds) if len(_id_list(imgIds)) else list(self.imgs.values())
        os.makedirs(tarDir, exist_ok=True)
        for number, image in enumerate(images):
            start = time.time()
            path = os.path.join(tarDir, image["file_name"])
            if not os.path.exists(path):
                urlretrieve(image["coco_url"], path)
            print(f"downloaded {number}/{len(images)} images (t={time.time() - start:0.1f}s)")
        return None
