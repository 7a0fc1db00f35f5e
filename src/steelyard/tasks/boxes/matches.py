"""Matches of a set of boxes under given settings: made once, shared by every need that has the same settings."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.spec import Range
from steelyard.core.statistic import SharedCache
from steelyard.tasks.boxes.pairs import CROWD, DIFFICULT, GROUP, IGNORED, LOST, BoxPairs, MatchRules

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


def overlaps(s: BoxPairs, detections: Array, truths: Array, *, crowd: bool = False) -> Array:
    """How much detections and truths of one image overlap, or how alike they are: detections by truths."""
    return np.asarray(s.similarity.overlaps(s, detections, truths, np.full(len(truths), crowd, dtype=np.uint8)))


class Matches(Frozen):
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

    def native_ranking(self, most: int) -> _native.Ranked:
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
    return cache.once(key, lambda: match_objects(pairs, ious, areas, most, rule))


def match_objects(
    s: BoxPairs,
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
    flags = s.flags & np.uint8(0xFF - GROUP - (0 if lost else LOST))
    columns: dict[str, Any] = s.similarity.match(s.columns(flags), rules)
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
    s: BoxPairs, ious: tuple[float, ...], areas: tuple[Area, ...], most: int, *, counted: bool
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
    m: Matches, s: BoxPairs, area: Area, ious: tuple[float, ...], places: Array, share: Array, owner: Array,
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
