"""One frame from above: boxes with their headings, the car at its place, what is predicted, false and missed."""

from __future__ import annotations

import numpy as np

from steelyard.core.errors import UnknownName
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.scene import LineShape, PolygonShape, Scene
from steelyard.core.statistic import SharedCache
from steelyard.tasks.boxes3d.pairs import Box3dSide, SolidPairs
from steelyard.tasks.boxes3d.statistics import centres

SCALE = 10.0  # pixels per metre
ROOM = 4.0  # metres around what is shown


def scene(pairs: SolidPairs, unit: int, metric: Metric) -> Scene:
    """The frame at place `unit`: pairs are those below 2 m, ahead is up."""
    if "place" not in pairs.facts.holds:
        raise UnknownName(
            "boxes have no place in space, so that there is no view from above", remedy="Give x, y, z, ..."
        )
    truth, predicted, _, errors, partner = centres(pairs, SharedCache())
    mine, theirs = np.flatnonzero(truth.owner == unit), np.flatnonzero(predicted.owner == unit)
    taken = set(partner[theirs].tolist())
    shown = pairs.facts.axes["class"].shown
    shapes: list[PolygonShape | LineShape] = []
    for row in mine.tolist():
        label = shown[truth.group[row]]
        shapes.append(PolygonShape("truth", _outline(truth, row), label, row in taken, label))
    for row in theirs.tolist():
        score, label = float(predicted.column("score")[row]), shown[predicted.group[row]]
        facts = f"{label}, score {score:.2f}"
        other = int(partner[row])
        if other >= 0:
            facts += f", {errors[row, 0]:.2f} m and {np.degrees(errors[row, 2]):.0f}° off"
            shapes.append(LineShape("pair", *_centre(truth, other), *_centre(predicted, row)))
        shapes.append(PolygonShape("prediction", _outline(predicted, row), f"{label} {score:.2f}", other >= 0, facts))
    matched = int((partner[theirs] >= 0).sum())
    return Scene(
        title=f"Frame {pairs.units[unit]}, from above",
        summary=f"{len(mine)} true, {len(theirs)} predicted, {matched} found below 2 m; 10 pixels are a metre",
        shapes=tuple(shapes),
        bounds=_bounds(truth, mine, predicted, theirs),
    )


def _centre(side: Box3dSide, row: int) -> tuple[float, float]:
    x, y = side.solid[row, :2].tolist()
    return SCALE * x, -SCALE * y


def _outline(side: Box3dSide, row: int) -> tuple[float, ...]:
    """The corners on the ground, the edge that looks ahead first; y goes down in a picture."""
    x, y, _, _, length, width, angle = side.solid[row].tolist()
    along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    corners: list[float] = []
    for a, b in ((1, 1), (1, -1), (-1, -1), (-1, 1)):
        corner = np.array([x, y]) + a * length / 2 * along + b * width / 2 * across
        corners += [float(SCALE * corner[0]), float(-SCALE * corner[1])]
    return tuple(corners)


def _bounds(
    truth: Box3dSide, mine: Array, predicted: Box3dSide, theirs: Array
) -> tuple[float, float, float, float] | None:
    places = np.concatenate([truth.solid[mine, :2], predicted.solid[theirs, :2]]) * [SCALE, -SCALE]
    if not len(places):
        return None
    room = SCALE * ROOM
    (left, top), (right, low) = places.min(axis=0).tolist(), places.max(axis=0).tolist()
    return left - room, top - room, right + room, low + room
