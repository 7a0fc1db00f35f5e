"""What is shown beside the scores of oriented boxes: what boxes show, outlines as they lie, and errors of the angle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard import _native
from steelyard.core.figure import Figure
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.quads import corners_of, smallest_rectangles
from steelyard.core.scene import PolygonShape, Role, Scene
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.tasks.boxes import views as boxes
from steelyard.tasks.boxes.matches import AREAS, MatchInput, match_input, matches
from steelyard.tasks.boxes.pairs import BoxPairs
from steelyard.tasks.boxes.settings import MOST
from steelyard.tasks.boxes.views import long_tables as long_tables_of_boxes
from steelyard.tasks.boxes.views import scene as scene_of_boxes
from steelyard.tasks.boxes.views import tables as tables_of_boxes
from steelyard.tasks.oriented.explain import explain
from steelyard.tasks.oriented.task import prepare as prepared

__all__ = ["class_metrics", "explain", "figures", "listing", "long_tables", "pictured", "prepared", "scene", "tables"]

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
    made = dict(boxes.figures(pairs, state, metrics, MOST))
    return {**made, "angles": lambda: angles(pairs, SharedCache())} if made else {}


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
    s, m = match_input(pairs, cache), matches(pairs, cache, (0.5,), (AREAS["all"],), MOST)[0]
    places = np.flatnonzero(m.places() & m.bit(0)[0])
    errors = angle_errors(rectangles_of(s.d_shape[m.order[places]]), rectangles_of(s.shape[m.partner[places]]))
    known = errors[~np.isnan(errors)]
    edge = max(5.0, float(np.ceil(np.abs(known).max() / 5) * 5)) if len(known) else 5.0
    edges = np.linspace(-edge, edge, BINS + 1)
    square = len(errors) - len(known)
    said = f" {square} boxes are nearly square and have none." if square else ""
    return Figure(
        "angles", "histogram", "Errors of the angle",
        {"low": edges[:-1].tolist(), "high": edges[1:].tolist(), "count": np.histogram(known, edges)[0].tolist()},
        {"x": "degrees from the true long edge, x towards y", "y": "matched detections"},
        f"Of what is matched at IoU 0.5, by the long edges. A centre beside 0 is a convention that differs.{said}",
    )  # fmt: skip


def scene(pairs: BoxPairs, unit: int, metric: Metric) -> Scene:
    """The image as boxes show it, with outlines as they lie."""
    return scene_of_boxes(pairs, unit, metric, outline)


def outline(both: MatchInput, role: Role, row: int, label: str, matched: bool, partner: int) -> PolygonShape:
    """An object as its four corners; with a partner it says how well they fit."""
    shape = both.shape if role == "truth" else both.d_shape
    points = (corners_of(shape[[row]]) if shape.shape[1] == 5 else shape[[row]])[0]
    facts = label
    if partner >= 0:
        t, d = (row, partner) if role == "truth" else (partner, row)
        mine, theirs = rectangles_of(both.d_shape[[d]]), rectangles_of(both.shape[[t]])
        first, second = (corners_of(s) if s.shape[1] == 5 else s for s in (both.d_shape[[d]], both.shape[[t]]))
        iou = float(_native.quads_iou(first, second, np.zeros(1, np.uint8))[0, 0])
        similarity = float(_native.rectangles_probiou(mine, theirs)[0, 0])
        off = float(angle_errors(mine, theirs)[0])
        turned = "" if np.isnan(off) else f", angle off by {off:.1f}°"
        facts = f"{label}: IoU {iou:.3f}, probIoU {similarity:.3f}{turned}"
    return PolygonShape(role, tuple(points.tolist()), label, matched, facts)
