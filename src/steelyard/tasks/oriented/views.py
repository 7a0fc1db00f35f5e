"""What is shown beside the scores of oriented boxes: what boxes show, outlines as they lie, and errors of the angle.

Why other tools say another AP of oriented boxes: one setting at a time, on these data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.counts import count_text
from steelyard.core.explanation import Explanation
from steelyard.core.figure import Figure
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.quads import corners_of, smallest_rectangles
from steelyard.core.scene import PolygonShape, Role, Scene
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.tasks.boxes import views as boxes
from steelyard.tasks.boxes.explain import OURS as LINES
from steelyard.tasks.boxes.explain import hits_by_image, mean_of, rank_in_image, straight_lines
from steelyard.tasks.boxes.gallery import shots, shown_units, sweep
from steelyard.tasks.boxes.matches import AREAS, IOUS, match_objects, matches
from steelyard.tasks.boxes.pairs import DIFFICULT, BoxPairs, ProbIou, QuadIou
from steelyard.tasks.boxes.ranking import FIGURES, GRIDS
from steelyard.tasks.boxes.settings import MOST
from steelyard.tasks.boxes.views import long_tables as long_tables_of_boxes
from steelyard.tasks.boxes.views import scene as scene_of_boxes
from steelyard.tasks.boxes.views import tables as tables_of_boxes
from steelyard.tasks.oriented.task import prepare as prepared
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools

COCO, DOTA = ("map", "map50", "map75"), ("ap(kind=voc11, rule=dota)",)
MOST_LISTED = 65535


class OrientedConventions(Frozen):
    """How oriented boxes are scored. The defaults are ours."""

    overlap: str = field(default="IoU of the corners", metadata={"title": "how boxes are compared"})
    limit: str = field(default="none", metadata={"title": "most detections"})
    difficult: str = field(default="ignored", metadata={"title": "difficult objects"})
    small: str = field(default="kept", metadata={"title": "truth with an edge below 2 pixels"})
    rule: str = field(default="IoU above the threshold", metadata={"title": "what is a hit"})
    curve: str = field(default="101 points, steps", metadata={"title": "area under the curve"})


OURS = OrientedConventions()
TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "dota",
            "DOTA_devkit 9938855",
            OURS,
            {},
            DOTA,
            (
                "Its overlap is computed from the origin of the image: an IoU at the threshold may fall either way.",
                "From DOTA v1.5 on difficult objects count: say difficult=count.",
            ),
        ),
        Tool(
            "hotcoco",
            "1.3.0",
            OrientedConventions(limit="100 of a class and image"),
            {"limit": "COCO's limit stays, and tiles of aerial images hold more objects."},
            COCO,
        ),
        Tool(
            "mmrotate",
            "0.3.4",
            OrientedConventions(
                overlap="IoU of the smallest rectangles",
                difficult="left out",
                small="left out",
                rule="IoU at the threshold or above",
            ),
            {
                "overlap": "Polygons become rectangles when the data are loaded.",
                "difficult": "They are dropped: a detection on one is a false positive.",
                "small": "They are dropped: a detection on one is a false positive.",
                "rule": "It asks for IoU >= 0.5.",
            },
            DOTA,
            ("Boxes are held, and overlaps computed, in single precision there.",),
        ),
        Tool(
            "ultralytics",
            "8.4",
            OrientedConventions(overlap="probIoU", limit="300 of an image", curve="101 points, straight lines"),
            {
                "overlap": "Boxes are Gaussians there: a square turned by 45° fits as well as one that lies right.",
                "limit": "max_det=300 over all classes of an image.",
                "curve": "Precision is joined by straight lines, from 1 at recall 0, and integrated by trapezoids.",
            },
            COCO,
            ("Numbers by probIoU are not comparable with any that are by IoU.",),
        ),
    )
}


def explain(pairs: BoxPairs, names: Any) -> tuple[Explanation, ...]:
    """An explanation for each tool that is named."""
    return tuple(explain_tool(tool, partial(values, pairs, tool.prints)) for tool in find_tools(names, TOOLS).values())


def values(s: BoxPairs, names: tuple[str, ...], conventions: OrientedConventions) -> dict[str, float]:
    """The numbers that come of a way."""
    s = _apply_conventions(s, conventions)
    most = 100 if conventions.limit.startswith("100") else MOST_LISTED
    if names == DOTA:
        rule = "dota" if conventions.rule == OURS.rule else "voc"
        m = match_objects(s, (0.5,), (AREAS["all"],), most, rule)[0]
        ones = np.ones((1, len(s.units)))
        values, _ = m.native_ranking(most).figures(ones, FIGURES["voc11"], GRIDS["voc11"])
        return {DOTA[0]: float(values[0, 0])}
    m = match_objects(s, IOUS, (AREAS["all"],), most)[0]
    if conventions.curve != OURS.curve:
        lines = straight_lines(s, *hits_by_image(s, m), LINES)
        return {name: lines.get(name, float("nan")) for name in names}
    precision = m.native_ranking(most).curves(np.ones(len(s.units)), GRIDS["coco"])[0]
    return {"map": mean_of(precision), "map50": mean_of(precision[0]), "map75": mean_of(precision[5])}


def _apply_conventions(s: BoxPairs, conventions: OrientedConventions) -> BoxPairs:
    """Return the objects as the tool's conventions read them."""
    truths, detections = np.ones(len(s.image), dtype=bool), np.ones(len(s.d_image), dtype=bool)
    if conventions.small != OURS.small:
        truths &= _rectangles(s.shape)[:, 2:4].min(axis=1, initial=np.inf) >= 2
    if conventions.difficult != OURS.difficult:
        truths &= (s.flags & DIFFICULT) == 0
    if conventions.limit.startswith("300"):
        detections = rank_in_image(s, detections) < 300
    if conventions.overlap == "probIoU":
        s = replace(s, similarity=ProbIou(), shape=_rectangles(s.shape), d_shape=_rectangles(s.d_shape))
    elif conventions.overlap != OURS.overlap:
        shape, d_shape = (corners_of(_rectangles(shape)) for shape in (s.shape, s.d_shape))
        s = replace(s, similarity=QuadIou(), shape=shape, d_shape=d_shape)
    return s.part(np.flatnonzero(truths), np.flatnonzero(detections))


def _rectangles(shape: Array) -> Array:
    return shape if shape.shape[1] == 5 else smallest_rectangles(shape)


__all__ = [
    "class_metrics",
    "explain",
    "figures",
    "listing",
    "long_tables",
    "pictured",
    "prepared",
    "scene",
    "shots",
    "shown_units",
    "sweep",
    "tables",
]

pictured = "f1"
listing = boxes.listing
BINS = 18
LONG = 1.15  # the ratio of edges from which on an angle can be seen


def tables(pairs: BoxPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Classes and confusion."""
    return tables_of_boxes(pairs, state, MOST)


def long_tables(pairs: BoxPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Detections and points."""
    return long_tables_of_boxes(pairs, state, MOST)


def class_metrics(state: State) -> Mapping[str, Metric]:
    """AP of each class."""
    return boxes.class_metrics(state, MOST)


def figures(pairs: BoxPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """Those of boxes, and how far the angles of what was found are off."""
    makers = dict(boxes.figures(pairs, state, metrics, MOST))
    return {**makers, "angles": lambda: angles(pairs, SharedCache())} if makers else {}


def rectangles_of(shape: Array) -> Array:
    """Rectangles of shapes, which are corners or rectangles already."""
    return shape if shape.shape[1] == 5 else smallest_rectangles(shape)


def angle_errors(d: Array, t: Array) -> Array:
    """Degrees from the long edge of the truth to that of the detection, -90 to 90; nan where one is nearly square."""
    direction = [r[:, 4] + np.where(r[:, 2] < r[:, 3], np.pi / 2, 0.0) for r in (d, t)]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = [np.maximum(r[:, 2], r[:, 3]) / np.minimum(r[:, 2], r[:, 3]) for r in (d, t)]
        seen = np.minimum(*ratio) >= LONG
    off = np.degrees(direction[0] - direction[1])
    return np.asarray(np.where(seen, (off + 90) % 180 - 90, np.nan))


def angles(pairs: BoxPairs, cache: SharedCache) -> Figure:
    """How far the angle of each detection that was matched at IoU 0.5 is off."""
    m = matches(pairs, cache, (0.5,), (AREAS["all"],), MOST)[0]
    places = np.flatnonzero(m.places() & m.bit(0)[0])
    errors = angle_errors(rectangles_of(pairs.d_shape[m.order[places]]), rectangles_of(pairs.shape[m.partner[places]]))
    defined = errors[~np.isnan(errors)]
    edge = max(5.0, float(np.ceil(np.abs(defined).max() / 5) * 5)) if len(defined) else 5.0
    edges = np.linspace(-edge, edge, BINS + 1)
    square = len(errors) - len(defined)
    remark = (
        f" {count_text(square, 'box', 'are')} nearly square and {'has' if square == 1 else 'have'} none."
        if square
        else ""
    )
    return Figure(
        "angles", "histogram", "Errors of the angle",
        {"low": edges[:-1].tolist(), "high": edges[1:].tolist(), "count": np.histogram(defined, edges)[0].tolist()},
        {"x": "degrees from the true long edge, x towards y", "y": "matched detections"},
        f"Of what is matched at IoU 0.5, by the long edges. A centre beside 0 is a convention that differs.{remark}",
    )  # fmt: skip


def scene(pairs: BoxPairs, unit: int, metric: Metric) -> Scene:
    """The image as boxes show it, with outlines as they lie."""
    return scene_of_boxes(pairs, unit, metric, outline)


def outline(both: BoxPairs, role: Role, row: int, label: str, matched: bool, partner: int) -> PolygonShape:
    """An object as its four corners; with a partner it says how well they fit."""
    shape = both.shape if role == "truth" else both.d_shape
    points = (corners_of(shape[[row]]) if shape.shape[1] == 5 else shape[[row]])[0]
    caption = label
    if partner >= 0:
        t, d = (row, partner) if role == "truth" else (partner, row)
        mine, theirs = rectangles_of(both.d_shape[[d]]), rectangles_of(both.shape[[t]])
        first, second = (corners_of(s) if s.shape[1] == 5 else s for s in (both.d_shape[[d]], both.shape[[t]]))
        iou = float(_native.quads_iou(first, second, np.zeros(1, np.uint8))[0, 0])
        similarity = float(_native.rectangles_probiou(mine, theirs)[0, 0])
        off = float(angle_errors(mine, theirs)[0])
        turned = "" if np.isnan(off) else f", angle off by {off:.1f}°"
        caption = f"{label}: IoU {iou:.3f}, probIoU {similarity:.3f}{turned}"
    return PolygonShape(role, tuple(points.tolist()), label, matched, caption)
