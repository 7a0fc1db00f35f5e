"""Truth and detections by image: what the metrics of boxes are measured from, and ways to compare two objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from steelyard import _native
from steelyard.align.join import check_policy
from steelyard.core.errors import Conflict, MissingColumn, MissingData, TooLarge, UnknownName, first_few, nearest
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.options import Options
from steelyard.core.pairs import Array, Coverage
from steelyard.core.records import LARGEST, BoxRecords, Column, Records, Schema, boxes_of, constant_in_unit, factorize
from steelyard.core.task import Policy

CLASS = "class"  # the axis of the classes

TRUTH = Schema(
    key=("image",),
    columns=(
        Column("image", "id", meaning="the image, which is the unit"),
        Column("label", "id", meaning="the class"),
        Column("x", "number", minimum=-LARGEST, maximum=LARGEST, meaning="left edge"),
        Column("y", "number", minimum=-LARGEST, maximum=LARGEST, meaning="upper edge"),
        Column("w", "number", minimum=0, maximum=LARGEST, meaning="width"),
        Column("h", "number", minimum=0, maximum=LARGEST, meaning="height"),
        Column("area", "number", required=False, minimum=0, meaning="of the object; else width times height"),
        Column("crowd", "flag", required=False, meaning="true where the box holds many: matched often, never counted"),
        Column(
            "difficult",
            "flag",
            required=False,
            meaning="true where an object need not be found: a hit counts neither way",
        ),
        Column("group_of", "flag", required=False, meaning="true where the box holds a group, for rule=openimages"),
        Column(
            "lesion_weight",
            "number",
            required=False,
            minimum=0,
            maximum=LARGEST,
            meaning="how much a lesion counts among those of its image and class, for wafroc",
        ),
        Column(
            "sample_weight", "number", required=False, flags=True, minimum=0, meaning="the user's weight of the image"
        ),
    ),
)
PREDICTION = Schema(
    key=("image",),
    columns=(*TRUTH.columns[:6], Column("score", "number", meaning="confidence; higher is surer")),
)


class MatchRules(Frozen):
    """The settings of a matching, by name those of struct MatchRules of the native core."""

    ious: Array
    areas: Array
    most: int  # detections of one class in an image
    voc: bool = False
    partners: bool = False
    threads: int = 0


class Similarity(Frozen, ABC):
    """A way to compare objects. Saved states call it by its `name`."""

    name: ClassVar[str]

    @abstractmethod
    def match(self, columns: SimpleNamespace, rules: MatchRules) -> dict[str, Any]:
        """Match detections to truths, see `BoxPairs.columns`: columns of `Matches`, with hits and ignored by area."""

    @abstractmethod
    def overlaps(self, s: BoxPairs, detections: Array, truths: Array, crowd: Array) -> Array:
        """How much some detections and truths of one image overlap: detections by truths."""


class BoxIou(Similarity):
    """IoU of upright boxes."""

    name = "boxes"

    def match(self, columns: SimpleNamespace, rules: MatchRules) -> dict[str, Any]:
        return _native.boxes_match(columns, rules)

    def overlaps(self, s: BoxPairs, detections: Array, truths: Array, crowd: Array) -> Array:
        return _native.boxes_iou(s.d_box[detections], s.box[truths], crowd)


class MaskIou(Similarity):
    """IoU of masks, or of their boundaries where they have a width: a share of the image's diagonal."""

    name = "masks"

    boundary: float

    def match(self, columns: SimpleNamespace, rules: MatchRules) -> dict[str, Any]:
        return _native.masks_match(columns, rules, self.boundary)

    def overlaps(self, s: BoxPairs, detections: Array, truths: Array, crowd: Array) -> Array:
        return _native.mask_iou(s.d_shape[detections].tolist(), s.shape[truths].tolist(), crowd, self.boundary)


class KeypointSimilarity(Similarity):
    """Object keypoint similarity (OKS); a sigma for each point."""

    name = "keypoints"

    sigmas: tuple[float, ...]

    def match(self, columns: SimpleNamespace, rules: MatchRules) -> dict[str, Any]:
        return _native.keypoints_match(columns, rules, np.array(self.sigmas))

    def overlaps(self, s: BoxPairs, detections: Array, truths: Array, crowd: Array) -> Array:
        sigmas = np.array(self.sigmas)
        return _native.oks(s.d_shape[detections], s.shape[truths], s.box[truths], s.area[truths], sigmas)


class QuadIou(Similarity):
    """IoU of quadrilaterals."""

    name = "quads"

    def match(self, columns: SimpleNamespace, rules: MatchRules) -> dict[str, Any]:
        return _native.quads_match(columns, rules)

    def overlaps(self, s: BoxPairs, detections: Array, truths: Array, crowd: Array) -> Array:
        return _native.quads_iou(s.d_shape[detections], s.shape[truths], crowd)


class ProbIou(Similarity):
    """Similarity of rotated rectangles as Gaussians (probIoU)."""

    name = "probiou"

    def match(self, columns: SimpleNamespace, rules: MatchRules) -> dict[str, Any]:
        return _native.probiou_match(columns, rules)

    def overlaps(self, s: BoxPairs, detections: Array, truths: Array, crowd: Array) -> Array:
        return _native.rectangles_probiou(s.d_shape[detections], s.shape[truths])


BOX_IOU = BoxIou()


CROWD, LOST, DIFFICULT, IGNORED, GROUP = 1, 2, 4, 8, 16  # bits of the column `flags`
MOST_RANKED = 65535  # detections of a class in an image
TRUTHS = ("image", "label", "box", "area", "flags", "shape", "lesion_weight")
DETECTIONS = ("d_image", "d_label", "d_box", "d_score", "d_area", "d_shape")


class BoxPairs(Frozen):
    """Both sides with the columns that are matched. `labels` are the sorted ids of the classes.

    Columns are those of the truths, and with `d_` those of the detections: `image` and `label` are places among the
    units and the labels, `box` is (n, 4). `similarity` says how objects are compared. Where it is not by their boxes,
    `shape` holds what it compares: masks, quadrilaterals, rectangles or keypoints. `truth` and `prediction` hold the
    rows of all objects, also in a part.
    """

    truth: Records
    prediction: Records
    units: Array
    labels: Array
    label_names: tuple[str, ...]
    coverage: Coverage
    image: Array
    label: Array
    box: Array
    area: Array
    flags: Array
    d_image: Array
    d_label: Array
    d_box: Array
    d_score: Array
    d_area: Array | None = None
    similarity: Similarity = BOX_IOU
    shape: Any = None
    d_shape: Any = None
    lesion_weight: Array | None = None
    weight: Array | None = None

    @cached_property
    def metadata(self) -> Metadata:
        """The classes, and what objects are compared by."""
        flags: dict[str, Any] = {"similarity": self.similarity.name}
        if isinstance(self.truth, BoxRecords) and self.truth.frequency and self.truth.labels is not None:
            listed = zip(map(str, self.truth.labels.tolist()), self.truth.frequency, strict=True)
            flags["frequency"] = {label: often for label, often in sorted(listed) if often}
        return Metadata({CLASS: Axis(tuple(self.labels.tolist()), self.label_names)}, flags)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.labels)

    def columns(self, flags: Array) -> SimpleNamespace:
        """The columns with these flags, as the struct Objects of the native core names them."""
        columns = {name: getattr(self, name) for name in (*TRUTHS, *DETECTIONS)}
        return SimpleNamespace(units=len(self.units), classes=self.classes, **columns | {"flags": flags})

    @cached_property
    def image_fields(self) -> Mapping[str, Array]:
        """What COCO's images say beside their ids, in the order of the units."""
        truth = self.truth
        if not isinstance(truth, BoxRecords) or truth.image_fields is None or truth.images is None:
            return {}
        whole = truth.images.dtype.kind == "i" and self.units.dtype.kind == "i"
        place = {(one if whole else str(one)): row for row, one in enumerate(truth.images.tolist())}
        rows = [place.get(one if whole else str(one), -1) for one in self.units.tolist()]
        return {} if min(rows, default=0) < 0 else {k: v[rows] for k, v in truth.image_fields().items()}

    def unit_values(self, name: str) -> Array | None:
        """A field of COCO's images, a value for each image; None where the truth's rows have the column."""
        if name == "label" or self.truth.find(name) is not None:
            return None
        return self.image_fields.get(name)

    def slice_values(self, name: str) -> tuple[Array, Array]:
        """The class of every box of both sides, or a column of the truth that is constant in each image."""
        if name == "label":
            shown = np.array(self.label_names or [str(v) for v in self.labels.tolist()], dtype=object)
            codes = np.concatenate([self.label, self.d_label])
            return shown[codes], np.concatenate([self.image, self.d_image])
        values = self.truth.find(name)
        if values is None or name in TRUTH.names:
            columns = ["label", *self.truth.other, *self.image_fields]
            raise MissingColumn(
                f"there is no column '{name}' to slice by",
                where=self.truth.source,
                remedy=f"{nearest(name, columns)} For a column of another file, which has the ids of the images, write "
                f"{name}@FILE.",
            )
        codes = factorize(values)[1][0]
        first = np.full(len(self.units), -1, dtype=np.int64)
        first[self.image[::-1]] = codes[::-1]
        varies = np.flatnonzero(first[self.image] != codes)
        if len(varies):
            raise Conflict(
                f"'{name}' varies inside image '{self.units[self.image[varies[0]]]}'",
                where=self.truth.place(int(varies[0])),
                remedy="A column to slice by must be constant in each image.",
            )
        return values, self.image.astype(np.int64)

    def select(self, keep: Array) -> BoxPairs:
        """The boxes that a mask over truth and then predictions keeps. All images stay."""
        return self.part(np.flatnonzero(keep[: len(self.image)]), np.flatnonzero(keep[len(self.image) :]))

    def alone(self, unit: int) -> BoxPairs:
        """The boxes of one image. All images stay."""
        return self.select(np.concatenate([self.image, self.d_image]) == unit)

    def part(self, truths: Array, detections: Array) -> BoxPairs:
        """Some of the truths and detections. All images stay."""
        rows = dict.fromkeys(TRUTHS, truths) | dict.fromkeys(DETECTIONS, detections)
        columns = {name: getattr(self, name) for name in rows}
        return replace(self, **{name: column[rows[name]] for name, column in columns.items() if column is not None})

    def of_one_class(self) -> BoxPairs:
        """Return the objects with all of them in one class."""
        label, d_label = np.zeros(len(self.label), np.int32), np.zeros(len(self.d_label), np.int32)
        return replace(self, labels=np.zeros(1, np.int64), label_names=(), label=label, d_label=d_label)


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> BoxPairs:
    """Boxes are joined as they were read."""
    return pair(truth, prediction, policy)


def pair(truth: Records, prediction: Records, policy: Policy) -> BoxPairs:
    """Find each box's image and class. An unknown one is an error, or with `extra="skip"` left out and counted."""
    check_policy(policy)
    images, labels = (truth.images, truth.labels) if isinstance(truth, BoxRecords) else (None, None)
    units, (truth_image, prediction_image) = _codes(images, truth["image"], prediction["image"], union=False)
    names, (truth_label, prediction_label) = _codes(labels, truth["label"], prediction["label"], union=labels is None)
    for codes, column in ((truth_image, "image"), (truth_label, "label")):
        _refuse_unknown(truth, column, codes, truth.source)
    unknown = (prediction_image < 0) | (prediction_label < 0)
    extra = int(np.count_nonzero(unknown))
    if extra and policy.extra == "error":
        column = "image" if (prediction_image < 0).any() else "label"
        _refuse_unknown(prediction, column, prediction_image if column == "image" else prediction_label, truth.source)
    if extra:
        rows = np.flatnonzero(~unknown)
        prediction = prediction.take(rows)
        prediction_image, prediction_label = prediction_image[rows], prediction_label[rows]
    shown: tuple[str, ...] = ()
    if labels is not None and isinstance(truth, BoxRecords) and any(truth.label_names):
        names_by_label = dict(zip(map(str, labels.tolist()), truth.label_names, strict=True))
        shown = tuple(names_by_label[str(v)] or str(v) for v in names.tolist())
    count = len(truth)
    box, flags = boxes_of(truth), np.zeros(count, dtype=np.uint8)
    if "crowd" in truth:
        flags[:] = truth["crowd"]
    if "difficult" in truth:
        flags |= np.where(truth["difficult"], DIFFICULT, 0).astype(np.uint8)
    if "group_of" in truth:
        flags |= np.where(truth["group_of"], GROUP, 0).astype(np.uint8)
    if isinstance(truth, BoxRecords) and truth.zero_id >= 0:
        flags[truth.zero_id] |= LOST
    shapes: dict[str, Any] = {}
    if "shape" in truth:
        flags[truth["ignored"]] |= IGNORED
        d_area = prediction["area"] if "area" in prediction else np.zeros(len(prediction))
        shapes = {
            "shape": truth["shape"],
            "d_shape": prediction["shape"],
            "d_area": np.ascontiguousarray(d_area, dtype=np.float64),
        }
    if isinstance(truth, BoxRecords) and truth.similarity is not None:
        shapes["similarity"] = truth.similarity
    if "lesion_weight" in truth:
        shapes["lesion_weight"] = np.asarray(truth["lesion_weight"], dtype=np.float64)
    pairs = BoxPairs(
        truth=truth,
        prediction=prediction,
        units=units,
        labels=names,
        label_names=shown,
        coverage=Coverage(count, len(prediction) + extra, count, 0, extra, policy.missing),
        image=truth_image,
        label=truth_label,
        box=box,
        area=np.ascontiguousarray(truth["area"] if "area" in truth else box[:, 2] * box[:, 3], dtype=np.float64),
        flags=flags,
        d_image=prediction_image,
        d_label=prediction_label,
        d_box=boxes_of(prediction),
        d_score=np.ascontiguousarray(prediction["score"], dtype=np.float64),
        weight=_weights(truth, truth_image, units),
        **shapes,
    )
    _refuse_too_many(pairs)
    return pairs


def _refuse_too_many(s: BoxPairs) -> None:
    """The kernel ranks so many detections of a class in an image: more would be lost in silence."""
    if len(s.d_image) <= MOST_RANKED or np.bincount(s.d_image).max() <= MOST_RANKED:
        return
    cells, counts = np.unique(s.d_image.astype(np.int64) * max(s.classes, 1) + s.d_label, return_counts=True)
    many = np.flatnonzero(counts > MOST_RANKED)
    if len(many):
        image, label = divmod(int(cells[many[0]]), max(s.classes, 1))
        raise TooLarge(
            f"image '{s.units[image]}' has {counts[many[0]]:,} detections of class "
            f"'{s.metadata.axes[CLASS].display_names[label]}'",
            where=s.prediction.source,
            remedy=f"At most {MOST_RANKED:,} of a class in an image can be ranked: leave out the lowest scores.",
        )


def _weights(truth: Records, truth_image: Array, units: Array) -> Array | None:
    """The weight of each image, where the truth has weights: those of its objects, which must agree."""
    if "sample_weight" not in truth:
        return None
    rows = np.arange(len(truth))
    own = constant_in_unit(truth, "sample_weight", truth_image.astype(np.int64), rows, len(units))
    unknown = np.flatnonzero(np.isnan(own))
    if len(unknown):
        raise MissingData(
            f"image '{units[unknown[0]]}' has no object, so its weight is unknown",
            where=truth.source,
            remedy="Leave out the column of weights, or the images without objects.",
        )
    return own


def _codes(listed: Array | None, truth: Array, prediction: Array, *, union: bool) -> tuple[Array, list[Array]]:
    """Sorted distinct ids, and both columns as places among them; -1 where an id is not among the known."""
    columns = [truth, prediction] if listed is None else [listed, truth, prediction]
    columns = [column for column in columns if len(column)] or [truth]
    if not all(column.dtype.kind in "iu" for column in columns):
        places: dict[str, int] = {}
        base = listed if listed is not None else truth
        named = {str(v) for v in base.tolist()} | ({str(v) for v in prediction.tolist()} if union else set())
        distinct: Array = np.array(sorted(named), dtype=object)
        places = {name: i for i, name in enumerate(distinct.tolist())}
        codes = [np.array([places.get(str(v), -1) for v in c.tolist()], dtype=np.int32) for c in (truth, prediction)]
        return distinct, codes
    if listed is not None:
        distinct = np.sort(listed.astype(np.int64, copy=False))
    else:
        distinct = np.unique(np.concatenate([truth, prediction]) if union else truth).astype(np.int64, copy=False)
    return distinct, [
        _native.places(distinct, np.ascontiguousarray(column, dtype=np.int64)) for column in (truth, prediction)
    ]


def _refuse_unknown(records: Records, column: str, codes: Array, truth: str) -> None:
    rows = np.flatnonzero(codes < 0)
    if not len(rows):
        return
    what = {"image": "image", "label": "class"}[column]
    ids = list(dict.fromkeys(records[column][rows].tolist()))
    more = f"; {len(rows)} rows name {len(ids)} unknown: {first_few(ids)}" if len(rows) > 1 else ""
    remedy = {
        "image": "List every image in the truth, also those without objects, or choose `extra='skip'`.",
        "label": "List every class in the truth, or choose `extra='skip'`.",
    }[column]
    raise UnknownName(
        f"{what} '{ids[0]}' is not in {truth}{more}", where=records.where(int(rows[0]), column), remedy=remedy
    )
