"""Matches of a set of boxes under given settings: made once, shared by every metric that has the same settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field, replace
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.frozen import frozen
from steelyard.core.spec import Range
from steelyard.core.stats import Array, Stats
from steelyard.core.weights import EachUnit, Floats, Plain, Weights
from steelyard.metrics.boxes.pairs import LOST, UNCOUNTED

IOUS: tuple[float, ...] = Range(0.5, 0.95).values
AREAS: dict[str, tuple[float, float]] = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
RECALLS = {"coco": 101, "voc11": 11}
KINDS = {"coco": 0, "voc11": 1, "voc": 2, "step": 3, "lamr": 4, "best_f1": 5, "recall": 6}
COUNTED = ("coco", "voc11", "step", "recall")  # kinds that have a faster way with drawn counts
MOST_POINTS = 127  # of the recall grid, there

KEY = "matches"  # first in the keys under which stats hold them
FEW_IMAGES = 64  # that are scored alone at a time

Area = tuple[float, float]


@frozen
class Sides:
    """Columns of both sides as the native core takes them."""

    image: Array
    label: Array
    box: Array
    area: Array
    flags: Array
    d_image: Array
    d_label: Array
    d_box: Array
    d_score: Array
    rows: Array  # events of the truths
    d_rows: Array  # events of the detections
    likeness: tuple[Any, ...] | None = None  # how objects are compared, where not by their boxes
    shape: Any = None  # masks, or keypoints
    d_shape: Any = None
    d_area: Any = None

    def part(self, truths: Array, detections: Array) -> Sides:
        """Some of the truths and detections, all as of one class."""
        t, d = truths, detections
        changed = (
            {}
            if self.likeness is None
            else {"shape": self.shape[t], "d_shape": self.d_shape[d], "d_area": self.d_area[d]}
        )
        return replace(
            self, image=self.image[t], label=np.zeros(len(t), np.int32), box=self.box[t], area=self.area[t],
            flags=self.flags[t], d_image=self.d_image[d], d_label=np.zeros(len(d), np.int32), d_box=self.d_box[d],
            d_score=self.d_score[d], rows=self.rows[t], d_rows=self.d_rows[d], **changed,
        )  # fmt: skip


def sides(stats: Stats) -> Sides:
    """Split the events into truths and detections."""
    found: Sides = stats.derived("sides", lambda: _split(stats))
    return found


def _split(stats: Stats) -> Sides:
    e = stats.events
    is_truth = e["truth"]
    count = int(np.count_nonzero(is_truth))
    t: Any
    d: Any
    if is_truth[:count].all():  # as they are after reading: views, no copies
        t, d = slice(0, count), slice(count, len(is_truth))
        rows, d_rows = np.arange(count), np.arange(count, len(is_truth))
    else:
        rows, d_rows = np.flatnonzero(is_truth), np.flatnonzero(~is_truth)
        t, d = rows, d_rows
    image = stats.owner.astype(np.int32, copy=False)
    likeness = stats.facts.get("likeness")
    shapes = () if likeness is None else (likeness, e["shape"][t], e["shape"][d], e["area"][d])
    return Sides(
        image[t], e["label"][t], e["box"][t], e["area"][t], e["flags"][t],
        image[d], e["label"][d], e["box"][d], e["score"][d], rows, d_rows, *shapes,
    )  # fmt: skip


def native_match(
    s: Sides, units: int, labels: int, ious: Any, areas: Any, most: int, *, voc: bool, pairs: bool, lost: bool = False
) -> Any:
    """Match by boxes, masks or keypoints; see kernels/boxes/boxes.cpp. `lost` repeats the reference's fate of id 0."""
    flags = s.flags if lost else s.flags & np.uint8(~LOST & 0xFF)
    columns = (
        s.image, s.label, s.box, s.area, flags, s.d_image, s.d_label, s.d_box, s.d_score, units, labels,
        np.asarray(ious), np.asarray(areas), most, voc, pairs,
    )  # fmt: skip
    if s.likeness is None:
        return _native.boxes_match(*columns)
    objects = _native.Objects(*columns)
    kind, setting = s.likeness
    if kind == "masks":
        return _native.masks_match(objects, s.shape.tolist(), s.d_shape.tolist(), s.d_area, setting)
    return _native.keypoints_match(objects, s.shape, s.d_shape, s.d_area, np.array(setting))


def overlaps(s: Sides, detections: Array, truths: Array, *, crowd: bool = False) -> Array:
    """How much detections and truths of one image overlap, or how alike they are: detections by truths."""
    flags = np.full(len(truths), crowd, dtype=np.uint8)
    if s.likeness is None:
        return np.asarray(_native.boxes_iou(s.d_box[detections], s.box[truths], flags))
    kind, setting = s.likeness
    if kind == "masks":
        lists = s.d_shape[detections].tolist(), s.shape[truths].tolist()
        return np.asarray(_native.mask_iou(*lists, flags, setting))
    return np.asarray(
        _native.oks(s.d_shape[detections], s.shape[truths], s.box[truths], s.area[truths], np.array(setting))
    )


@frozen
class Matches:
    """Detections by class and falling score, with a bit for each IoU threshold; see native/kernels/boxes/boxes.cpp."""

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
        """Hits and ignored at one threshold, one flag a place."""
        mask = np.uint32(1 << t)
        return (self.hit & mask) != 0, (self.ignored & mask) != 0

    def places(self) -> Array:
        """A flag for each place that holds a detection."""
        return self.order >= 0


class MatchesElsewhere(ABC):
    """Stands for matches whose detections are on other machines."""

    thresholds: int

    @abstractmethod
    def curves(self, most: int, points: int) -> tuple[Array, Array, Array]:
        """As `curves` gives them for plain weights."""

    @abstractmethod
    def figures(self, weights: Weights, most: int, kind: str, grid: Array, label: int | None) -> tuple[Floats, Floats]:
        """As `figures` gives them."""

    @abstractmethod
    def told(self) -> tuple[Array, Array, Array]:
        """As `told` gives them."""


def told(m: Matches | MatchesElsewhere) -> tuple[Array, Array, Array]:
    """By class: the number of detections, whether it has truth, and how many detections have the score of another."""
    if isinstance(m, MatchesElsewhere):
        return m.told()
    has_truth = np.diff(np.concatenate([[0], np.cumsum(m.counts)])[m.truth_begin]) > 0
    equal = np.zeros(len(m.score) + 1, dtype=np.int64)
    if len(m.score) > 1:
        equal[1:-1] = (m.score[1:] == m.score[:-1]) & (m.order[1:] >= 0) & (m.order[:-1] >= 0)
        equal[m.begin[m.begin < len(m.score)]] = 0
    total = np.concatenate([[0], np.cumsum(equal)])
    return m.end - m.begin, has_truth, total[m.end] - total[m.begin]


def matches(
    stats: Stats,
    ious: tuple[float, ...],
    area: Area,
    most: int,
    rule: str = "coco",
    *,
    quirks: bool = False,
) -> Matches:
    """Match under these settings. The four standard areas are made together."""
    areas = tuple(AREAS.values()) if area in AREAS.values() else (area,)
    key = (KEY, ious, areas, most, rule, quirks)
    made: list[Matches] = stats.derived(key, lambda: _match(stats, ious, areas, most, rule, quirks))
    return made[areas.index(area)]


def _match(
    stats: Stats, ious: tuple[float, ...], areas: tuple[Area, ...], most: int, rule: str, quirks: bool
) -> list[Matches]:
    s = sides(stats)
    found = native_match(
        s, len(stats.units), len(stats.facts["labels"]), ious, areas, most,
        voc=rule == "voc", pairs=len(ious) == 1, lost=quirks,
    )  # fmt: skip
    begin, end, order, rank, hit, ignored, truth_begin, truth_order, partner, overlap = found
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


def ranked(m: Matches, label: int | None = None) -> tuple[Array, ...]:
    """The arguments that the kernels of curves and figures take; of one class only, where one is named."""
    begin, end, truth_begin = m.begin, m.end, m.truth_begin
    if label is not None:
        begin, end = begin[label : label + 1], end[label : label + 1]
        truth_begin = truth_begin[label : label + 2]
    return begin, end, m.image, m.score, m.rank, m.hit, m.ignored, truth_begin, m.truth_image, m.counts


def curves(m: Matches | MatchesElsewhere, weights: Floats, most: int, points: int = 101) -> tuple[Array, Array, Array]:
    """Precision (thresholds, recalls, classes), recall and scores under one row of weights."""
    if isinstance(m, MatchesElsewhere):
        return m.curves(most, points)
    grid = np.linspace(0.0, 1.0, points)
    found: tuple[Array, Array, Array] = _native.box_curves(*ranked(m), m.thresholds, most, weights, grid)
    return found


def takes_counts(kind: str, grid: Array, weights: Weights) -> bool:
    """Whether a figure is made of drawn counts."""
    return kind in COUNTED and len(grid) <= MOST_POINTS and weights.counts() is not None


def figures(
    m: Matches | MatchesElsewhere,
    weights: Weights,
    most: int,
    kind: str,
    grid: Array | None = None,
    label: int | None = None,
) -> tuple[Floats, Floats]:
    """A figure and the recall, each (rows, thresholds): the mean over the classes that have truth."""
    if grid is None:
        grid = np.linspace(0.0, 1.0, RECALLS.get(kind, 2))
    if isinstance(m, MatchesElsewhere):
        return m.figures(weights, most, kind, grid, label)
    if isinstance(weights, EachUnit) and weights.units > FEW_IMAGES:
        return _each_image(m, weights, most, kind, grid, label)
    given = (*ranked(m, label), m.thresholds, most)
    code, left = KINDS[kind], weights.rows
    counted = weights.counts() if takes_counts(kind, grid, weights) else None
    found: list[tuple[Floats, Floats]] = []
    if counted is not None:
        for counts in counted:
            rows = min(left, 32 * len(counts))
            found.append(_native.box_draws(*given, counts, rows, code, grid))
            left -= rows
    else:
        for block in _plain_block(weights) if isinstance(weights, Plain) else weights.blocks():
            found.append(_native.box_figures(*given, np.ascontiguousarray(block), code, grid))
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def _each_image(
    m: Matches, weights: EachUnit, most: int, kind: str, grid: Array, label: int | None
) -> tuple[Floats, Floats]:
    """Every image alone, a few at a time: a walk then meets only what those images hold."""
    found = []
    for start in range(weights.start, weights.stop, FEW_IMAGES):
        stop = min(start + FEW_IMAGES, weights.stop)
        found.append(figures(_within(m, start, stop), EachUnit(stop - start), most, kind, grid, label))
    nothing = np.zeros((0, m.thresholds))
    return tuple(np.concatenate([nothing, *(f[i] for f in found)]) for i in (0, 1))  # type: ignore[return-value]


def _within(m: Matches, start: int, stop: int) -> Matches:
    """The matches of a run of images."""
    kept = (m.image >= start) & (m.image < stop) & m.places()
    truths = (m.truth_image >= start) & (m.truth_image < stop)
    place, truth_place = (np.append(0, np.cumsum(flags)).astype(np.int64) for flags in (kept, truths))
    return replace(
        m,
        begin=place[m.begin],
        end=place[m.end],
        order=m.order[kept],
        image=m.image[kept] - np.int32(start),
        score=m.score[kept],
        rank=m.rank[kept],
        hit=m.hit[kept],
        ignored=m.ignored[kept],
        truth_begin=truth_place[m.truth_begin],
        truth_order=m.truth_order[truths],
        truth_image=m.truth_image[truths] - np.int32(start),
        counts=m.counts[truths],
    )


def _plain_block(weights: Plain) -> list[Floats]:
    return [weights.array[np.newaxis]]
