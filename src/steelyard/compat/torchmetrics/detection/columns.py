"""The states of `MeanAveragePrecision` as columns that are matched, and as dicts of COCO's format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.pycocotools.oks import Array
from steelyard.compat.pycocotools.sides import DictSide

Mask = tuple[tuple[int, int], bytes]


class TensorSide(DictSide):
    """One side of an evaluation: the objects of all images, a row each."""

    size: Array  # areas of the rows that were chosen

    def __init__(
        self,
        labels: Sequence[Tensor],
        boxes: Sequence[Tensor] | None,
        masks_of_images: Sequence[Sequence[Mask]] | None,
        *,
        scores: Sequence[Tensor] | None = None,
        crowds: Sequence[Tensor] | None = None,
        areas: Sequence[Tensor] | None = None,
    ) -> None:
        sizes = [len(part) for part in labels]
        self.places = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)  # images, by their number
        self.labels = _column(labels, np.int64)
        _check(labels, boxes, scores)
        for name, parts in (("iscrowd", crowds), ("area", areas)):
            _check_lengths(name, parts or (), sizes)
        self.box = (
            None if boxes is None else _column([part for part in boxes if part.numel()], np.float64).reshape(-1, 4)
        )
        self.anns = (
            []
            if masks_of_images is None
            else [
                {"segmentation": {"size": size, "counts": counts}}
                for image in masks_of_images
                for size, counts in image
            ]
        )
        self.masked = masks_of_images is not None
        # Without boxes, an image without a mask does not take part.
        self.images = [place for place, size in enumerate(sizes) if size or boxes is not None]
        self.score = np.zeros(0) if scores is None else _column(scores, np.float64)
        self.given_score = None if scores is None else scores
        self.iscrowd = np.zeros(len(self.labels), np.int64) if crowds is None else _column(crowds, np.float64)
        self.given_area = np.zeros(len(self.labels)) if areas is None else _column(areas, np.float64)
        self.number = np.arange(1, len(self.labels) + 1)

    def box_area(self) -> Array:
        """Width times height of each box."""
        assert self.box is not None
        return self.box[:, 2] * self.box[:, 3]

    def mask_area(self) -> Array:
        """Pixels of each mask."""
        return np.asarray(masks.area([ann["segmentation"] for ann in self.anns]), dtype=np.int64)

    def areas(self, by_mask: bool) -> Array:
        """The area that was given where it is positive, else that of the mask or of the box."""
        own = self.mask_area() if by_mask else self.box_area()
        return np.where(self.given_area > 0, self.given_area, own)

    def chosen(self, images: Sequence[Any], categories: Sequence[Any] | None, by_mask: bool) -> TensorSide:
        """A copy with the rows of these images, as codes of images and of categories; without these, all are one."""
        twin: TensorSide = self.__class__.__new__(self.__class__)
        twin.__dict__.update(self.__dict__, size=self.areas(by_mask))
        order = np.full(int(self.places.max(initial=-1)) + 1, -1, dtype=np.int32)
        known = np.asarray([image for image in images if image < len(order)], dtype=np.int64)
        order[known] = np.arange(len(known))
        twin.image = order[self.places]
        codes = np.searchsorted(np.asarray(categories), self.labels) if categories is not None else 0 * self.labels
        twin.category = codes.astype(np.int32)
        rows = np.flatnonzero(twin.image >= 0)
        if len(rows) != len(self.places):
            twin.image, twin.category = twin.image[rows], twin.category[rows]
            twin.take(rows)
        return twin

    def take(self, rows: Array) -> None:
        """Keep some rows, in this order."""
        for name in ("size", "iscrowd", "number"):
            setattr(self, name, getattr(self, name)[rows])
        self.box = None if self.box is None else self.box[rows]
        self.score = self.score[rows] if len(self.score) else self.score
        self.anns = [self.anns[row] for row in rows.tolist()] if self.masked else []

    def ids(self) -> Any:
        """Their numbers, from 1."""
        return self.number

    def scores(self) -> Any:
        """Their scores."""
        return self.score

    def area(self) -> Array:
        """Their areas."""
        return np.asarray(self.size, dtype=np.float64)

    def crowd(self) -> Array:
        """Which are crowds."""
        return self.iscrowd.astype(np.uint8)

    def ignored_truths(self) -> Array:
        """Which truths never count."""
        return np.asarray(self.iscrowd != 0)

    def mark(self, ignored: Array) -> None:
        """There are no dicts to mark."""

    def boxes(self) -> tuple[Array, Array]:
        """Boxes, n × 4, and their rows."""
        assert self.box is not None
        return self.box, np.arange(len(self.box), dtype=np.int32)

    def as_coco(self, kinds: Sequence[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Images and annotations of COCO's format, as torchmetrics writes them."""
        images: list[dict[str, Any]] = [{"id": place} for place in self.images]
        if "segm" in kinds:
            sizes = dict(zip(self.places.tolist(), (ann["segmentation"]["size"] for ann in self.anns), strict=True))
            for image in images:
                if image["id"] in sizes:
                    image["height"], image["width"] = sizes[image["id"]]
        own = self.given_area <= 0
        area = self.areas("segm" in kinds).tolist()
        both = [self.box_area().tolist(), self.mask_area().tolist()] if len(kinds) > 1 else []
        annotations = []
        for row, (place, label) in enumerate(zip(self.places.tolist(), self.labels.tolist(), strict=True)):
            annotation = {
                "id": row + 1,
                "image_id": place,
                "area": int(area[row]) if own[row] and "segm" in kinds else area[row],
                "category_id": label,
                "iscrowd": int(self.iscrowd[row]),
            }
            if both and own[row]:
                annotation["area_bbox"], annotation["area_segm"] = both[0][row], both[1][row]
            if self.box is not None:
                annotation["bbox"] = self.box[row].tolist()
            if self.masked:
                mask = self.anns[row]["segmentation"]
                annotation["segmentation"] = {"size": list(mask["size"]), "counts": mask["counts"].decode("ascii")}
            if self.given_score is not None:
                annotation["score"] = float(self.score[row])
            annotations.append(annotation)
        return images, annotations


def _column(parts: Sequence[Tensor], dtype: Any) -> Array:
    """Tensors one after the other, as an array."""
    arrays = [part.detach().cpu().to(torch.float64 if dtype is np.float64 else torch.int64).numpy() for part in parts]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


def _check_lengths(name: str, parts: Sequence[Tensor], sizes: Sequence[int]) -> None:
    for place, (part, size) in enumerate(zip(parts, sizes, strict=False)):
        if part.numel() != size:
            raise ValueError(f"Input '{name}' of sample {place} in targets has {part.numel()} values for {size} labels")


def _check(labels: Sequence[Tensor], boxes: Sequence[Tensor] | None, scores: Sequence[Tensor] | None) -> None:
    for place, part in enumerate(labels):
        if not len(part):
            continue
        if boxes is not None and boxes[place].shape[1:] != (4,):
            count = boxes[place].shape[-1] if boxes[place].ndim > 1 else 1
            raise ValueError(f"Invalid input box of sample {place}, element 0 (expected 4 values, got {count})")
        if part.is_floating_point():
            raise ValueError(
                f"Invalid input class of sample {place}, element 0 (expected value of type integer, got type {float})"
            )
        if scores is not None and not scores[place].is_floating_point():
            raise ValueError(
                f"Invalid input score of sample {place}, element 0 (expected value of type float, got type {int})"
            )
