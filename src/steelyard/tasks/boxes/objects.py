"""The objects of both sides as they are matched, and the ways to compare two of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from steelyard import _native
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array


@frozen
class MatchRules:
    """The settings of a matching, by name those of struct MatchRules of the native core."""

    ious: Array
    areas: Array
    most: int  # detections of one class in an image
    voc: bool = False
    partners: bool = False
    threads: int = 0


@frozen
class Similarity(ABC):
    """A way to compare objects, which stand in `Objects`; saved states call it by its `name`."""

    name: ClassVar[str]

    @abstractmethod
    def match(self, s: Objects, rules: MatchRules) -> dict[str, Any]:
        """Match detections to truths: columns of `Matches`, with hits and ignored by area."""

    @abstractmethod
    def overlaps(self, s: Objects, detections: Array, truths: Array, crowd: Array) -> Array:
        """How much some detections and truths of one image overlap: detections by truths."""


@frozen
class BoxIou(Similarity):
    """IoU of upright boxes."""

    name = "boxes"

    def match(self, s: Objects, rules: MatchRules) -> dict[str, Any]:
        return _native.boxes_match(s, rules)

    def overlaps(self, s: Objects, detections: Array, truths: Array, crowd: Array) -> Array:
        return _native.boxes_iou(s.d_box[detections], s.box[truths], crowd)


@frozen
class MaskIou(Similarity):
    """IoU of masks, or of their boundaries where they have a width: a share of the image's diagonal."""

    name = "masks"

    boundary: float

    def match(self, s: Objects, rules: MatchRules) -> dict[str, Any]:
        return _native.masks_match(s, rules, self.boundary)

    def overlaps(self, s: Objects, detections: Array, truths: Array, crowd: Array) -> Array:
        return _native.mask_iou(s.d_shape[detections].tolist(), s.shape[truths].tolist(), crowd, self.boundary)


@frozen
class KeypointSimilarity(Similarity):
    """Object keypoint similarity (OKS); a sigma for each point."""

    name = "keypoints"

    sigmas: tuple[float, ...]

    def match(self, s: Objects, rules: MatchRules) -> dict[str, Any]:
        return _native.keypoints_match(s, rules, np.array(self.sigmas))

    def overlaps(self, s: Objects, detections: Array, truths: Array, crowd: Array) -> Array:
        sigmas = np.array(self.sigmas)
        return _native.oks(s.d_shape[detections], s.shape[truths], s.box[truths], s.area[truths], sigmas)


@frozen
class QuadIou(Similarity):
    """IoU of quadrilaterals."""

    name = "quads"

    def match(self, s: Objects, rules: MatchRules) -> dict[str, Any]:
        return _native.quads_match(s, rules)

    def overlaps(self, s: Objects, detections: Array, truths: Array, crowd: Array) -> Array:
        return _native.quads_iou(s.d_shape[detections], s.shape[truths], crowd)


@frozen
class ProbIou(Similarity):
    """Similarity of rotated rectangles as Gaussians (probIoU)."""

    name = "probiou"

    def match(self, s: Objects, rules: MatchRules) -> dict[str, Any]:
        return _native.probiou_match(s, rules)

    def overlaps(self, s: Objects, detections: Array, truths: Array, crowd: Array) -> Array:
        return _native.rectangles_probiou(s.d_shape[detections], s.shape[truths])


BOX_IOU = BoxIou()


@frozen
class Objects:
    """Columns of both sides, by name those of struct Objects of the native core: truths, and detections with `d_`.

    `similarity` says how objects are compared. Where it is not by their boxes, `shape` holds what it compares: masks,
    quadrilaterals, rectangles or keypoints.
    """

    units: int
    classes: int
    image: Array
    label: Array
    box: Array
    area: Array
    flags: Array
    d_image: Array
    d_label: Array
    d_box: Array
    d_score: Array
    d_area: Any = None
    similarity: Similarity = BOX_IOU
    shape: Any = None
    d_shape: Any = None
    lesion_weight: Any = None

    def part(self, truths: Array, detections: Array) -> Objects:
        """Some of the truths and detections."""
        rows = dict.fromkeys(("image", "label", "box", "area", "flags", "shape", "lesion_weight"), truths)
        rows |= dict.fromkeys(("d_image", "d_label", "d_box", "d_score", "d_area", "d_shape"), detections)
        columns = {name: getattr(self, name) for name in rows}
        return replace(self, **{name: column[rows[name]] for name, column in columns.items() if column is not None})

    def of_one_class(self) -> Objects:
        """Return the objects with all of them in one class."""
        label, d_label = np.zeros(len(self.label), np.int32), np.zeros(len(self.d_label), np.int32)
        return replace(self, classes=1, label=label, d_label=d_label)
