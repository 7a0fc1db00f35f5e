"""How other tools score boxes: each setting in which they differ, and what it does to the numbers of these data.

`BoxConventions` are one set of settings. Changing one of them at a time says what it moves; changing all of a tool's
says what that tool prints, which tests hold against the packages themselves.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import partial
from typing import Any

import numpy as np

from steelyard.core.explanation import Explanation
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.statistic import SharedCache
from steelyard.tasks.boxes.matches import AREAS, IOUS, STANDARD_AREAS, Matches, match_objects
from steelyard.tasks.boxes.pairs import CROWD, LOST, BoxPairs
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools


def linspace_single(start: float, stop: float, points: int) -> Array:
    """The points of torch.linspace: steps from the near end, each a product and a sum that are rounded once."""
    a, b = np.float32(start), np.float32(stop)
    step = float((b - a) / np.float32(points - 1))
    i = np.arange(points)
    return np.where(i < points // 2, float(a) + step * i, float(b) - step * (points - 1 - i)).astype(np.float32)


EPSILON = np.float32(1e-7)  # in the denominator of the IoU
THRESHOLDS = linspace_single(0.5, 0.95, 10)


def hits_in_single(data: BoxPairs) -> tuple[Array, Array]:
    """Bits of hits, and the detections they belong to, by image and falling score."""
    order, t_order = np.lexsort((-data.d_score, data.d_image)), np.argsort(data.image, kind="stable")
    d_owner, d_label, d_box = data.d_image[order], data.d_label[order], _corners(data.d_box)[order]
    t_owner, t_label, t_box = data.image[t_order], data.label[t_order], _corners(data.box)[t_order]
    bits = np.zeros(len(order), dtype=np.uint32)
    images = np.intersect1d(d_owner, t_owner)
    d_begin, d_end = np.searchsorted(d_owner, images), np.searchsorted(d_owner, images, side="right")
    t_begin, t_end = np.searchsorted(t_owner, images), np.searchsorted(t_owner, images, side="right")
    for a, b, c, d in zip(d_begin.tolist(), d_end.tolist(), t_begin.tolist(), t_end.tolist(), strict=True):
        # the truths stand in reverse where equals are to be taken from the front: turn them back
        bits[a:b] = _image(d_box[a:b], d_label[a:b], t_box[c:d][::-1], t_label[c:d][::-1])
    return bits, order


def _corners(box: Array) -> Array:
    low = box[:, :2].astype(np.float32)
    return np.concatenate([low, low + box[:, 2:].astype(np.float32)], axis=1)


def _image(boxes: Array, labels: Array, truths: Array, kinds: Array) -> Array:
    overlap = _overlap(truths, boxes) * (kinds[:, None] == labels)
    bits = np.zeros(len(boxes), dtype=np.uint32)
    free = np.ones((len(truths), len(THRESHOLDS)), dtype=bool)
    columns = np.arange(len(THRESHOLDS))
    powers = (1 << columns).astype(np.uint32)
    for j in np.flatnonzero((overlap >= THRESHOLDS[0]).any(axis=0)).tolist():
        left = np.where(free, overlap[:, j, None], np.float32(0))
        best = left.argmax(axis=0)
        right = left[best, columns] >= THRESHOLDS
        free[best[right], columns[right]] = False
        bits[j] = powers[right].sum()
    return bits


def _overlap(a: Array, b: Array) -> Array:
    inner = np.clip(
        np.minimum(a[:, None, 2:], b[None, :, 2:]) - np.maximum(a[:, None, :2], b[None, :, :2]), np.float32(0), None
    )
    shared = inner[..., 0] * inner[..., 1]
    own, other = (np.prod(box[:, 2:] - box[:, :2], axis=1, dtype=np.float32) for box in (a, b))
    ious: Array = shared / (own[:, None] + other[None, :] - shared + EPSILON)
    return ious


NAMES = ("map", "map50", "map75", "map_small", "map_medium", "map_large")
MOST = 65535
KEPT = 300  # detections of an image, in Ultralytics
LEAST = 0.001  # score, in Ultralytics


class BoxConventions(Frozen):
    """Settings in which tools differ; the defaults are Steelyard's. A field's metadata says what it is called."""

    zero_id: str = field(default="counts", metadata={"title": "annotation with id 0"})
    recalls: str = field(default="double precision", metadata={"title": "recall grid"})
    ious: str = field(default="double precision", metadata={"title": "IoU thresholds"})
    numbers: str = field(default="double precision", metadata={"title": "boxes and scores"})
    area: str = field(default="as annotated", metadata={"title": "area of an object"})
    crowd: str = field(default="ignored", metadata={"title": "crowds"})
    limit: str = field(default="100 of a class and image", metadata={"title": "most detections"})
    least: str = field(default="none", metadata={"title": "lowest score"})
    curve: str = field(default="101 points, steps", metadata={"title": "area under the curve"})
    ties: str = field(default="in the input's order", metadata={"title": "equal scores"})
    first: str = field(default="the last", metadata={"title": "equal overlaps"})


OURS = BoxConventions()
TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "pycocotools",
            "2.0.11",
            BoxConventions(zero_id="never matched"),
            {"zero_id": "It takes the id 0 of a matched truth for 'no match'."},
            NAMES,
            (
                "Undefined numbers are printed as -1.",
                "Detections of a class that the truth does not list are left out in silence.",
            ),
        ),
        Tool(
            "torchmetrics",
            "1.9.0",
            BoxConventions(
                recalls="single precision",
                ious="single precision",
                numbers="single precision",
                area="of the box",
                crowd="ordinary objects",
            ),
            {
                "recalls": "torch.linspace: a recall that falls on a point of the grid may miss it.",
                "ious": "torch.linspace: 0.55 is 0.550000012.",
                "numbers": "Tensors of corners: width is the difference of two rounded numbers.",
                "area": "Taken from the box unless 'area' is given in the target.",
                "crowd": "Counted like any object unless 'iscrowd' is given in the target.",
            },
            NAMES,
            ("Results are rounded to single precision; undefined ones are -1.",),
        ),
        Tool(
            "ultralytics",
            "8.4.190",
            BoxConventions(
                ious="single precision",
                numbers="single precision",
                crowd="left out",
                limit="300 of an image",
                least="0.001",
                curve="101 points, straight lines",
                ties="in no fixed order",
                first="the first",
            ),
            {
                "ious": "torch.linspace: 0.55 is 0.550000012.",
                "numbers": "Tensors of corners; the IoU itself is computed in single precision.",
                "crowd": "YOLO's labels have none; what lies on one is a false positive.",
                "limit": "max_det=300 over all classes of an image, none for a class.",
                "least": "conf=0.001 in validation.",
                "curve": "Precision is joined by straight lines, from 1 at recall 0, and integrated by trapezoids.",
                "ties": "An unstable sort: it may differ between machines.",
                "first": "Where two objects overlap a detection alike, the first is taken.",
            },
            ("map", "map50", "map75"),
            ("Scores are of the boxes that you give: its own letterboxing and suppression are not repeated.",),
        ),
    )
}


def explain_tools(pairs: BoxPairs, names: Any) -> tuple[Explanation, ...]:
    """An explanation for each tool that is named."""
    work = SharedCache()
    return tuple(explain_tool(tool, partial(values, pairs, work)) for tool in find_tools(names, TOOLS).values())


def values(pairs: BoxPairs, cache: SharedCache, conventions: BoxConventions) -> dict[str, float]:
    """The numbers that come of a way."""
    return cache.once(("other way", conventions), lambda: _values(pairs, conventions))


def _values(objects: BoxPairs, conventions: BoxConventions) -> dict[str, float]:
    data = _apply_conventions(objects, conventions)
    ious = IOUS if conventions.ious == OURS.ious else tuple(map(float, THRESHOLDS))
    most = 100 if conventions.limit == OURS.limit else MOST
    if conventions.curve != OURS.curve and conventions.numbers != OURS.numbers and conventions.crowd == "left out":
        hit, rows = hits_in_single(data)
        lines = straight_lines(data, rows, hit, np.zeros(len(hit), dtype=np.uint32), conventions)
        return {**dict.fromkeys(NAMES, float("nan")), **lines}
    values = {}
    every = match_objects(data, ious, STANDARD_AREAS, most, lost=conventions.zero_id != OURS.zero_id)
    for name, m in zip(AREAS, every, strict=True):
        if conventions.curve != OURS.curve:
            return {**dict.fromkeys(NAMES, float("nan")), **straight_lines(data, *hits_by_image(data, m), conventions)}
        if conventions.ties != OURS.ties:
            m = _unstable_order(data, m)
        single = conventions.recalls != OURS.recalls
        grid = linspace_single(0.0, 1.0, 101).astype(np.float64) if single else np.linspace(0.0, 1.0, 101)
        precision = m.native_ranking(most).curves(np.ones(len(data.units)), grid)[0]
        if name == "all":
            values = {"map": mean_of(precision), "map50": mean_of(precision[0]), "map75": mean_of(precision[5])}
        else:
            values[f"map_{name}"] = mean_of(precision)
    return values


def mean_of(values: Array) -> float:
    """The mean of what is defined."""
    flat = values[~np.isnan(values)]
    return float(np.mean(flat)) if len(flat) else float("nan")


def _apply_conventions(s: BoxPairs, conventions: BoxConventions) -> BoxPairs:
    """Return the boxes as the tool's conventions read them."""
    if conventions.numbers != OURS.numbers:
        score = s.d_score.astype(np.float32).astype(np.float64)
        s = replace(s, box=_round_corners(s.box), d_box=_round_corners(s.d_box), d_score=score)
    if conventions.area != OURS.area:
        s = replace(s, area=s.box[:, 2] * s.box[:, 3])
    truths, detections = np.ones(len(s.image), dtype=bool), np.ones(len(s.d_image), dtype=bool)
    if conventions.crowd != OURS.crowd:
        crowd = (s.flags & ~np.uint8(LOST)) != 0
        truths = ~crowd if conventions.crowd == "left out" else truths
        s = replace(s, flags=s.flags & np.uint8(LOST))
    if conventions.least != OURS.least:
        detections = s.d_score > LEAST
    if conventions.limit != OURS.limit:
        detections = detections & (rank_in_image(s, detections) < KEPT)
    rows = np.flatnonzero(truths)
    return s.part(rows[::-1].copy() if conventions.first != OURS.first else rows, np.flatnonzero(detections))


def _round_corners(box: Array) -> Array:
    low, high = box[:, :2].astype(np.float32), (box[:, :2] + box[:, 2:]).astype(np.float32)
    return np.column_stack([low, high - low]).astype(np.float64)


def rank_in_image(s: BoxPairs, used: Array) -> Array:
    """The rank by falling score among the kept detections of an image, over all classes."""
    rank = np.zeros_like(s.d_image)
    rows = np.flatnonzero(used)
    order = rows[np.lexsort((-s.d_score[rows], s.d_image[rows]))]
    starts = np.flatnonzero(np.diff(s.d_image[order], prepend=-1))
    rank[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return rank


def hits_by_image(data: BoxPairs, m: Matches) -> tuple[Array, Array, Array]:
    """Detections by image and score, and bits of their hits and of where they are ignored."""
    rows = m.order[m.order >= 0]
    hit = np.zeros(len(m.order), dtype=np.uint32)
    ignored = np.zeros(len(m.order), dtype=np.uint32)
    matched = np.zeros(len(m.order), dtype=bool)
    hit[rows], ignored[rows], matched[rows] = m.hit[m.order >= 0], m.ignored[m.order >= 0], True
    order = by_image(data)
    order = order[matched[order]]
    return order, hit[order], ignored[order]


def by_image(data: BoxPairs) -> Array:
    """Detections by image and falling score: the order in which a validator sees them."""
    return np.lexsort((-data.d_score, data.d_image))


def straight_lines(
    data: BoxPairs, rows: Array, hit: Array, ignored: Array, conventions: BoxConventions
) -> dict[str, float]:
    """Average precision with straight lines between the points, over the classes that have truth."""
    score, label = data.d_score[rows], data.d_label[rows]
    turn = _sorted(score, conventions)
    hit, ignored, label = hit[turn], ignored[turn], label[turn]
    counted = (data.flags & CROWD) == 0
    kinds, counts = np.unique(data.label[counted], return_counts=True)
    ap = np.zeros((len(kinds), 10))
    for k, (kind, count) in enumerate(zip(kinds.tolist(), counts.tolist(), strict=True)):
        mine = label == kind
        if not mine.any():
            continue
        for t in range(10):
            bit = np.uint32(1 << t)
            seen = (ignored[mine] & bit) == 0
            right = ((hit[mine] & bit) != 0)[seen]
            ap[k, t] = _trapezoids(np.cumsum(right), np.arange(1, len(right) + 1), count) if len(right) else 0.0
    if not len(kinds):
        return {}
    return {"map": float(ap.mean()), "map50": float(ap[:, 0].mean()), "map75": float(ap[:, 5].mean())}


def _sorted(score: Array, conventions: BoxConventions) -> Array:
    if conventions.ties == OURS.ties:
        return np.argsort(-score, kind="stable")
    return np.argsort(
        -score.astype(np.float32) if conventions.numbers != OURS.numbers else -score
    )  # as it comes: not stable


def _trapezoids(right: Array, seen: Array, count: int) -> float:
    recall, precision = right / (count + 1e-16), right / seen
    recalls = np.concatenate([[0.0], recall, [recall[-1], 1.0]])
    falling = np.maximum.accumulate(np.concatenate([[1.0], precision, [0.0, 0.0]])[::-1])[::-1]
    grid = np.linspace(0, 1, 101)
    heights = np.interp(grid, recalls, falling)
    return float(np.sum(np.diff(grid) * (heights[1:] + heights[:-1]) / 2.0))


def _unstable_order(data: BoxPairs, m: Matches) -> Matches:
    """Return the matches with the detections of each class in the order of an unstable sort."""
    place = np.empty_like(m.order)
    turn = np.argsort(-data.d_score[by_image(data)])
    place[by_image(data)[turn]] = np.arange(len(m.order))
    order = np.arange(len(m.order))
    for begin, end in zip(m.begin.tolist(), m.end.tolist(), strict=True):
        part = np.argsort(place[m.order[begin:end]], kind="stable")
        order[begin:end] = begin + part
    columns = ("order", "image", "score", "rank", "hit", "ignored")
    moved: dict[str, Any] = {name: np.ascontiguousarray(getattr(m, name)[order]) for name in columns}
    return replace(m, **moved)
