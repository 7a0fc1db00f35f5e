"""`lvis.lvis`: a data set of LVIS as dicts that the user may read, edit and extend in place."""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.pycocotools.coco import ResultsError
from steelyard.compat.pycocotools.files import many_objects, read_json

Ann = dict[str, Any]


class LVIS:
    """A data set with its index: `anns`, `imgs`, `cats` by id, `img_ann_map`, `cat_img_map`, and `dataset` itself."""

    def __init__(self, annotation_path: Any) -> None:
        self.logger = logging.getLogger("lvis.lvis")
        self.logger.info("Loading annotations.")
        self.dataset = self._load_json(annotation_path)
        if type(self.dataset) is not dict:
            raise ResultsError(
                f"{type(self.dataset).__name__} where an object is expected",
                where=os.fspath(annotation_path),
                remedy="A data set is an object with images, annotations and categories.",
            )
        self._create_index()

    def _load_json(self, path: Any) -> Any:
        return read_json(path)

    def _create_index(self) -> None:
        self.logger.info("Creating index.")
        self.img_ann_map: dict[Any, list[Ann]] = defaultdict(list)
        self.cat_img_map: dict[Any, list[Any]] = defaultdict(list)
        self.anns: dict[Any, Ann] = {}
        with many_objects():
            for ann in self.dataset["annotations"]:
                self.img_ann_map[ann["image_id"]].append(ann)
                self.cat_img_map[ann["category_id"]].append(ann["image_id"])
                self.anns[ann["id"]] = ann
        self.imgs: dict[Any, dict[str, Any]] = {image["id"]: image for image in self.dataset["images"]}
        self.cats: dict[Any, dict[str, Any]] = {category["id"]: category for category in self.dataset["categories"]}
        self.logger.info("Index created.")

    def get_ann_ids(self, img_ids: Any = None, cat_ids: Any = None, area_rng: Any = None) -> list[Any]:
        """Ids of annotations by image, category and area (between the ends); None: all.

        As in the package, `area_rng` needs `cat_ids`, and with `cat_ids` alone annotations without an area are left
        out.
        """
        anns: Iterable[Ann] = self.dataset["annotations"]
        if img_ids is not None:
            anns = [ann for image in img_ids for ann in self.img_ann_map[image]]
        if cat_ids is None and area_rng is None:
            return [ann["id"] for ann in anns]
        wanted = set(cat_ids)
        low, high = (0, float("inf")) if area_rng is None else (area_rng[0], area_rng[1])
        return [ann["id"] for ann in anns if ann["category_id"] in wanted and low < ann["area"] < high]

    def get_cat_ids(self) -> list[Any]:
        """Ids of all categories."""
        return list(self.cats)

    def get_img_ids(self) -> list[Any]:
        """Ids of all images."""
        return list(self.imgs)

    def _load_helper(self, _dict: Mapping[Any, Any], ids: Any) -> list[Any]:
        return list(_dict.values()) if ids is None else [_dict[key] for key in ids]

    def load_anns(self, ids: Any = None) -> list[Ann]:
        """The annotations with these ids: the dicts themselves, not copies. None: all."""
        return self._load_helper(self.anns, ids)

    def load_cats(self, ids: Any) -> list[dict[str, Any]]:
        """The categories with these ids. None: all."""
        return self._load_helper(self.cats, ids)

    def load_imgs(self, ids: Any) -> list[dict[str, Any]]:
        """The images with these ids. None: all."""
        return self._load_helper(self.imgs, ids)

    def download(self, save_dir: Any, img_ids: Any = None) -> None:
        """Fetch images from where their `coco_url` points, those that are not there yet."""
        from urllib.request import urlretrieve

        os.makedirs(save_dir, exist_ok=True)
        for image in self.load_imgs(img_ids):
            path = os.path.join(save_dir, image["coco_url"].split("/")[-1])
            if not os.path.exists(path):
                urlretrieve(image["coco_url"], path)

    def ann_to_rle(self, ann: Ann) -> Any:
        """The mask of an annotation: of its polygons, united; of its counts; or as it is."""
        image, segmentation = self.imgs[ann["image_id"]], ann["segmentation"]
        if isinstance(segmentation, list):
            return masks.polygon_union(segmentation, image["height"], image["width"])
        if isinstance(segmentation["counts"], list):
            return masks.frPyObjects(segmentation, image["height"], image["width"])
        return segmentation

    def ann_to_mask(self, ann: Ann) -> Any:
        """The pixels of an annotation, height × width."""
        return masks.decode(self.ann_to_rle(ann))
