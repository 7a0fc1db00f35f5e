"""Matches of a set of boxes under given settings: made once, shared by every need that has the same settings."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.errors import TooLarge
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array
from steelyard.core.records import BoxRecords
from steelyard.core.spec import Range
from steelyard.core.statistic import SharedCache
from steelyard.tasks.boxes.pairs import CLASS, BoxPairs, boxes_of

CROWD, LOST, DIFFICULT, IGNORED, GROUP = 1, 2, 4, 8, 16  # bits of the column `flags`
UNCOUNTED = CROWD | DIFFICULT | IGNORED
IOUS: tuple[float, ...] = Range(0.5, 0.95).values
AREAS: dict[str, tuple[float, float]] = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
# Quadrilaterals by their corners, or as rectangles by probIoU: how they are matched, and how pairs are compared.
QUADS: dict[str, tuple[Any, Any]] = {
    "quads": (_native.quads_match, _native.quads_iou),
    "probiou": (_native.probiou_match, lambda d, t, _: _native.rectangles_probiou(d, t)),
}
Area = tuple[float, float]
STANDARD_AREAS: tuple[Area, ...] = tuple(AREAS.values())
MOST_RANKED = 65535  # detections of a class in an image


@frozen
class MatchInput:
    """Columns of both sides as the native core takes them: truths, and detections with `d_`.

    `similarity` says how objects are compared, where not by their boxes; then `shape` holds masks, quadrilaterals or
    keypoints.
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
    similarity: tuple[Any, ...] | None = None
    shape: Any = None
    d_shape: Any = None
    d_area: Any = None
    lesion_weight: Any = None

    def part(self, truths: Array, detections: Array) -> MatchInput:
        """Some of the truths and detections."""
        t, d = truths, detections
        shapes: dict[str, Any] = {}
        if self.lesion_weight is not None:
            shapes["lesion_weight"] = self.lesion_weight[t]
        if self.similarity is not None:
            shapes |= {"shape": self.shape[t], "d_shape": self.d_shape[d], "d_area": self.d_area[d]}
        return replace(
            self, image=self.image[t], label=self.label[t], box=self.box[t], area=self.area[t], flags=self.flags[t],
            d_image=self.d_image[d], d_label=self.d_label[d], d_box=self.d_box[d], d_score=self.d_score[d], **shapes,
        )  # fmt: skip

    def of_one_class(self) -> MatchInput:
        """The same with all objects of one class."""
        label, d_label = np.zeros(len(self.label), np.int32), np.zeros(len(self.d_label), np.int32)
        return replace(self, classes=1, label=label, d_label=d_label)


def match_input(pairs: BoxPairs, cache: SharedCache) -> MatchInput:
    """The objects of both sides."""
    return cache.once("match input", lambda: _match_input(pairs))


def _match_input(pairs: BoxPairs) -> MatchInput:
    truth, prediction = pairs.truth, pairs.prediction
    box, flags = boxes_of(truth), np.zeros(len(truth), dtype=np.uint8)
    if "crowd" in truth:
        flags[:] = truth["crowd"]
    if "difficult" in truth:
        flags |= np.where(truth["difficult"], DIFFICULT, 0).astype(np.uint8)
    if "group_of" in truth:
        flags |= np.where(truth["group_of"], GROUP, 0).astype(np.uint8)
    if isinstance(truth, BoxRecords) and truth.zero_id >= 0:
        flags[truth.zero_id] |= LOST
    area = np.ascontiguousarray(truth["area"] if "area" in truth else box[:, 2] * box[:, 3], dtype=np.float64)
    shapes: dict[str, Any] = {}
    if pairs.similarity is not None:
        flags[truth["ignored"]] |= IGNORED
        d_area = prediction["area"] if "area" in prediction else np.zeros(len(prediction))
        shapes = {
            "similarity": pairs.similarity, "shape": truth["shape"], "d_shape": prediction["shape"],
            "d_area": np.ascontiguousarray(d_area, dtype=np.float64),
        }  # fmt: skip
    if "lesion_weight" in truth:
        shapes["lesion_weight"] = np.asarray(truth["lesion_weight"], dtype=np.float64)
    every = MatchInput(
        len(pairs.units), pairs.facts.size(CLASS),
        pairs.truth_image, pairs.truth_label, box, area, flags,
        pairs.prediction_image, pairs.prediction_label, boxes_of(prediction),
        np.ascontiguousarray(prediction["score"], dtype=np.float64), **shapes,
    )  # fmt: skip
    _refuse_too_many(pairs, every)
    if pairs.kept is None:
        return every
    return every.part(np.flatnonzero(pairs.kept[: len(truth)]), np.flatnonzero(pairs.kept[len(truth) :]))


def _refuse_too_many(pairs: BoxPairs, s: MatchInput) -> None:
    """The kernel ranks so many detections of a class in an image: more would be lost in silence."""
    if len(s.d_image) <= MOST_RANKED or np.bincount(s.d_image).max() <= MOST_RANKED:
        return
    cells, counts = np.unique(s.d_image.astype(np.int64) * max(s.classes, 1) + s.d_label, return_counts=True)
    many = np.flatnonzero(counts > MOST_RANKED)
    if len(many):
        image, label = divmod(int(cells[many[0]]), max(s.classes, 1))
        raise TooLarge(
            f"image '{pairs.units[image]}' has {counts[many[0]]:,} detections of class "
            f"'{pairs.facts.axes[CLASS].shown[label]}'",
            where=pairs.prediction.source,
            remedy=f"At most {MOST_RANKED:,} of a class in an image can be ranked: leave out the lowest scores.",
        )


def native_match(s: MatchInput, ious: Any, areas: Any, most: int, *, voc: bool, pairs: bool, lost: bool = False) -> Any:
    """Match by the similarity of objects; see kernels/boxes/boxes.cpp. `lost` repeats the reference's fate of id 0."""
    flags = s.flags & np.uint8(0xFF - GROUP - (0 if lost else LOST))
    columns = (
        s.image, s.label, s.box, s.area, flags, s.d_image, s.d_label, s.d_box, s.d_score, s.units, s.classes,
        np.asarray(ious), np.asarray(areas), most, voc, pairs,
    )  # fmt: skip
    if s.similarity is None:
        return _native.boxes_match(*columns)
    objects = _native.Objects(*columns)
    name, setting = s.similarity
    if name == "masks":
        return _native.masks_match(objects, s.shape.tolist(), s.d_shape.tolist(), s.d_area, setting)
    if name in QUADS:
        return QUADS[name][0](objects, s.shape, s.d_shape, s.d_area)
    return _native.keypoints_match(objects, s.shape, s.d_shape, s.d_area, np.array(setting))


def overlaps(s: MatchInput, detections: Array, truths: Array, *, crowd: bool = False) -> Array:
    """How much detections and truths of one image overlap, or how alike they are: detections by truths."""
    flags = np.full(len(truths), crowd, dtype=np.uint8)
    if s.similarity is None:
        return np.asarray(_native.boxes_iou(s.d_box[detections], s.box[truths], flags))
    name, setting = s.similarity
    if name == "masks":
        lists = s.d_shape[detections].tolist(), s.shape[truths].tolist()
        return np.asarray(_native.mask_iou(*lists, flags, setting))
    if name in QUADS:
        return np.asarray(QUADS[name][1](s.d_shape[detections], s.shape[truths], flags))
    return np.asarray(
        _native.oks(s.d_shape[detections], s.shape[truths], s.box[truths], s.area[truths], np.array(setting))
    )


@frozen
class Matches:
    """Detections by class and falling score, with a bit for each IoU threshold; see kernels/boxes/boxes.cpp."""

    begin: Array
    end: Array
    order: Array  # a detection's row among the detections; -1 in unused places
    image: Array
    score: Array
    rank: Array
    hit: Array
    ignored: Array
    truth_begin: Array
    truth_order: Array
    truth_image: Array
    counts: Array  # 1 where a truth is not ignored
    thresholds: int
    partner: Array = field(repr=False)
    overlap: Array = field(repr=False)

    def bit(self, t: int) -> tuple[Array, Array]:
        """Hits and ignored at one threshold, one flag per place."""
        mask = np.uint32(1 << t)
        return (self.hit & mask) != 0, (self.ignored & mask) != 0

    def places(self) -> Array:
        """A flag for each place that holds a detection."""
        return self.order >= 0

    @property
    def label(self) -> Array:
        """The class of every place."""
        starts = np.zeros(len(self.order) + 1, dtype=np.int64)
        np.add.at(starts, self.begin, 1)
        return np.cumsum(starts[:-1]) - 1


def matches(
    pairs: BoxPairs, cache: SharedCache, ious: tuple[float, ...], areas: tuple[Area, ...], most: int, rule: str = "coco"
) -> list[Matches]:
    """Match under these settings: one set of matches for each area."""
    key = ("matches", ious, areas, most, rule)
    return cache.once(key, lambda: match_objects(match_input(pairs, cache), ious, areas, most, rule))


def match_objects(
    s: MatchInput,
    ious: tuple[float, ...],
    areas: tuple[Area, ...],
    most: int,
    rule: str = "coco",
    *,
    lost: bool = False,
) -> list[Matches]:
    """The same for columns at hand."""
    if rule.startswith("openimages"):
        return match_groups(s, ious, areas, most, counted=rule == "openimages")
    if rule in ("dota", "caltech"):  # more than the threshold, not as much
        ious = tuple(np.nextafter(ious, 2.0).clip(max=1.0).tolist())
    made = native_match(s, ious, areas, most, voc=rule in ("voc", "dota"), pairs=len(ious) == 1, lost=lost)
    begin, end, order, rank, hit, ignored, truth_begin, truth_order, partner, overlap = made
    image = s.d_image[order] if len(order) else s.d_image
    score = s.d_score[order] if len(order) else s.d_score
    truth_area, crowd = s.area[truth_order], s.flags[truth_order] & UNCOUNTED
    truth_image = s.image[truth_order]
    return [
        Matches(
            begin, end, order, image, score, rank, hit[a], ignored[a], truth_begin, truth_order, truth_image,
            ((crowd == 0) & (truth_area >= low) & (truth_area <= high)).astype(np.uint8), len(ious), partner, overlap,
        )
        for a, (low, high) in enumerate(areas)
    ]  # fmt: skip


def match_groups(
    s: MatchInput, ious: tuple[float, ...], areas: tuple[Area, ...], most: int, *, counted: bool
) -> list[Matches]:
    """Matches by OpenImages' rules: single objects first, then what is left over with the boxes of groups.

    A detection that lies in a group by the share `iou` of its area belongs to the one that holds most of it. Those of a
    group are one hit, the best of them, where groups are `counted`; the rest count neither way.
    """
    group = (s.flags & GROUP) != 0
    apart = replace(s, box=np.where(group[:, None], 0.0, s.box))  # no detection overlaps a box without an area
    made = match_objects(apart, ious, areas, most, "voc")
    if not group.any():
        return made
    classes = max(s.classes, 1)
    truths = np.flatnonzero(group)
    truths = truths[np.argsort(s.image[truths].astype(np.int64) * classes + s.label[truths], kind="stable")]
    cell = s.image[truths].astype(np.int64) * classes + s.label[truths]
    first = made[0]
    places = np.flatnonzero(first.places())
    d_cell = first.image[places].astype(np.int64) * classes + first.label[places]
    places = places[np.isin(d_cell, cell)]
    d_cell = first.image[places].astype(np.int64) * classes + first.label[places]
    order = np.argsort(d_cell, kind="stable")  # of one image and class, by falling score
    places, d_cell = places[order], d_cell[order]
    share, owner = np.zeros(len(places)), np.zeros(len(places), dtype=np.int64)
    for one in np.unique(d_cell).tolist():
        mine = slice(*np.searchsorted(d_cell, [one, one + 1]).tolist())
        others = truths[slice(*np.searchsorted(cell, [one, one + 1]).tolist())]
        held = overlaps(s, first.order[places[mine]], others, crowd=True)
        share[mine], owner[mine] = held.max(axis=1), others[held.argmax(axis=1)]
    return [_with_groups(m, s, ends, ious, places, share, owner, counted) for m, ends in zip(made, areas, strict=True)]


def _with_groups(
    m: Matches, s: MatchInput, area: Area, ious: tuple[float, ...], places: Array, share: Array, owner: Array,
    counted: bool,
) -> Matches:  # fmt: skip
    """Matches of one area with what lies in groups: `owner` is the group of each place, `share` how much lies there."""
    within = (s.area >= area[0]) & (s.area <= area[1]) & counted
    hit, ignored = m.hit.copy(), m.ignored.copy()
    for t, iou in enumerate(ious):
        bit = hit.dtype.type(1 << t)
        mine = np.flatnonzero(((hit[places] | ignored[places]) & bit == 0) & (share >= iou))
        best = mine[np.unique(owner[mine], return_index=True)[1]]
        best = best[within[owner[best]]]
        ignored[places[mine]] |= bit
        ignored[places[best]] &= ~bit
        hit[places[best]] |= bit
    lost = ((s.flags[m.truth_order] & GROUP) != 0) & ~within[m.truth_order]
    return replace(m, hit=hit, ignored=ignored, counts=np.where(lost, 0, m.counts).astype(np.uint8))
