"""Matches of a set of boxes under given settings: made once, shared by every need that has the same settings."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.errors import TooLarge
from steelyard.core.frozen import frozen
from steelyard.core.pairs import Array
from steelyard.core.records import BoxRecords, boxes_of
from steelyard.core.spec import Range
from steelyard.core.statistic import SharedCache
from steelyard.tasks.boxes.objects import MatchRules, Objects
from steelyard.tasks.boxes.pairs import CLASS, BoxPairs

CROWD, LOST, DIFFICULT, IGNORED, GROUP = 1, 2, 4, 8, 16  # bits of the column `flags`
UNCOUNTED = CROWD | DIFFICULT | IGNORED
IOUS: tuple[float, ...] = Range(0.5, 0.95).values
AREAS: dict[str, tuple[float, float]] = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
Area = tuple[float, float]
STANDARD_AREAS: tuple[Area, ...] = tuple(AREAS.values())
MOST_RANKED = 65535  # detections of a class in an image


def objects_of(pairs: BoxPairs, cache: SharedCache) -> Objects:
    """The objects of both sides."""
    return cache.once("objects", lambda: _objects(pairs))


def _objects(pairs: BoxPairs) -> Objects:
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
    if "shape" in truth:
        flags[truth["ignored"]] |= IGNORED
        d_area = prediction["area"] if "area" in prediction else np.zeros(len(prediction))
        shapes = {
            "similarity": pairs.similarity, "shape": truth["shape"], "d_shape": prediction["shape"],
            "d_area": np.ascontiguousarray(d_area, dtype=np.float64),
        }  # fmt: skip
    if "lesion_weight" in truth:
        shapes["lesion_weight"] = np.asarray(truth["lesion_weight"], dtype=np.float64)
    every = Objects(
        len(pairs.units), pairs.facts.size(CLASS),
        pairs.truth_image, pairs.truth_label, box, area, flags,
        pairs.prediction_image, pairs.prediction_label, boxes_of(prediction),
        np.ascontiguousarray(prediction["score"], dtype=np.float64), **shapes,
    )  # fmt: skip
    _refuse_too_many(pairs, every)
    if pairs.kept is None:
        return every
    return every.part(np.flatnonzero(pairs.kept[: len(truth)]), np.flatnonzero(pairs.kept[len(truth) :]))


def _refuse_too_many(pairs: BoxPairs, s: Objects) -> None:
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


def overlaps(s: Objects, detections: Array, truths: Array, *, crowd: bool = False) -> Array:
    """How much detections and truths of one image overlap, or how alike they are: detections by truths."""
    return np.asarray(s.similarity.overlaps(s, detections, truths, np.full(len(truths), crowd, dtype=np.uint8)))


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

    def ranked(self, most: int) -> _native.Ranked:
        """As the native core reads curves and figures along it, with so many detections per image and class."""
        return _native.Ranked(
            self.begin, self.end, self.image, self.score, self.rank, self.hit, self.ignored, self.truth_begin,
            self.truth_image, self.counts, self.thresholds, most,
        )  # fmt: skip

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
    return cache.once(key, lambda: match_objects(objects_of(pairs, cache), ious, areas, most, rule))


def match_objects(
    s: Objects,
    ious: tuple[float, ...],
    areas: tuple[Area, ...],
    most: int,
    rule: str = "coco",
    *,
    lost: bool = False,
) -> list[Matches]:
    """Match objects that are already loaded. `lost` repeats the reference's fate of an annotation with id 0."""
    if rule.startswith("openimages"):
        return match_groups(s, ious, areas, most, counted=rule == "openimages")
    if rule in ("dota", "caltech"):  # more than the threshold, not as much
        ious = tuple(np.nextafter(ious, 2.0).clip(max=1.0).tolist())
    rules = MatchRules(np.asarray(ious), np.asarray(areas), most, rule in ("voc", "dota"), len(ious) == 1)
    taken = replace(s, flags=s.flags & np.uint8(0xFF - GROUP - (0 if lost else LOST)))
    columns: dict[str, Any] = s.similarity.match(taken, rules)
    hit, ignored = columns.pop("hit"), columns.pop("ignored")
    order, truths = columns["order"], columns["truth_order"]
    columns["image"], columns["score"] = (c[order] if len(order) else c for c in (s.d_image, s.d_score))
    truth_area, counted = s.area[truths], (s.flags[truths] & UNCOUNTED) == 0
    return [
        Matches(
            hit=hit[a], ignored=ignored[a], thresholds=len(ious), truth_image=s.image[truths],
            counts=(counted & (truth_area >= low) & (truth_area <= high)).astype(np.uint8), **columns,
        )
        for a, (low, high) in enumerate(areas)
    ]  # fmt: skip


def match_groups(
    s: Objects, ious: tuple[float, ...], areas: tuple[Area, ...], most: int, *, counted: bool
) -> list[Matches]:
    """Matches by OpenImages' rules: single objects first, then what is left over with the boxes of groups.

    A detection that lies in a group by the share `iou` of its area belongs to the one that holds most of it. Those of a
    group are one hit, the best of them, where groups are `counted`; the rest count neither way.
    """
    group = (s.flags & GROUP) != 0
    apart = replace(s, box=np.where(group[:, None], 0.0, s.box))  # no detection overlaps a box without an area
    matches = match_objects(apart, ious, areas, most, "voc")
    if not group.any():
        return matches
    classes = max(s.classes, 1)
    truths = np.flatnonzero(group)
    truths = truths[np.argsort(s.image[truths].astype(np.int64) * classes + s.label[truths], kind="stable")]
    cell = s.image[truths].astype(np.int64) * classes + s.label[truths]
    first = matches[0]
    places = np.flatnonzero(first.places())
    d_cell = first.image[places].astype(np.int64) * classes + first.label[places]
    places = places[np.isin(d_cell, cell)]
    d_cell = first.image[places].astype(np.int64) * classes + first.label[places]
    order = np.argsort(d_cell, kind="stable")  # of one image and class, by falling score
    places, d_cell = places[order], d_cell[order]
    share, owner = np.zeros(len(places)), np.zeros(len(places), dtype=np.int64)
    for cell_id in np.unique(d_cell).tolist():
        mine = slice(*np.searchsorted(d_cell, [cell_id, cell_id + 1]).tolist())
        others = truths[slice(*np.searchsorted(cell, [cell_id, cell_id + 1]).tolist())]
        held = overlaps(s, first.order[places[mine]], others, crowd=True)
        share[mine], owner[mine] = held.max(axis=1), others[held.argmax(axis=1)]
    return [
        _with_groups(m, s, ends, ious, places, share, owner, counted) for m, ends in zip(matches, areas, strict=True)
    ]


def _with_groups(
    m: Matches, s: Objects, area: Area, ious: tuple[float, ...], places: Array, share: Array, owner: Array,
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
