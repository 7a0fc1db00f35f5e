"""Checks of `oriented` beside those of all objects: units and directions of angles, orders of corners, tiles."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.checks.check import FEW, CheckData, Checks, Problem, evenly, some_rows
from steelyard.checks.findings import Finding
from steelyard.core.frozen import Frozen
from steelyard.core.options import Options
from steelyard.core.quads import CORNERS, areas_of, corners_of, smallest_rectangles
from steelyard.core.records import Array, BoxRecords, Records
from steelyard.core.task import Task
from steelyard.tasks.boxes.pairs import ProbIou

CHECKS = Checks()
ALSO = "What is looked for in boxes (all but other readings of the coordinates), and:"
LONG = 1.3  # the ratio of edges from which on a wrong angle can be seen
_TILE = re.compile(r"^(.+?)__.*\d+___\d+$")


def side_of(data: CheckData, side: str) -> Records | None:
    """A side as it was read."""
    return data.truth if side == "truth" else data.prediction


def _unit(data: CheckData, side: str) -> str:
    name = "truth" if side == "truth" else "prediction"
    return "" if data.options is None else str(data.options.of("angle", name))


def degrees(side: str, data: CheckData) -> Problem | None:
    """Some angles beyond a full turn; where they are many, evaluation refuses them."""
    records = side_of(data, side)
    if records is None or "angle" not in records or _unit(data, side) != "radians":
        return None
    rows = np.flatnonzero(np.abs(records["angle"]) > 2 * math.pi + 1e-6)
    if not len(rows):
        return None
    return Problem(
        "Angles are beyond a full turn, as degrees are.", len(rows), len(records), some_rows(records, rows, "angle")
    )


def radians(side: str, data: CheckData) -> Problem | None:
    """All angles within a full turn of radians, and not whole, where degrees are said."""
    records = side_of(data, side)
    if records is None or "angle" not in records or _unit(data, side) not in ("degrees", "opencv", "detectron2"):
        return None
    angle = records["angle"]
    if (
        len(angle) < FEW
        or np.abs(angle).max() > 2 * math.pi
        or np.ptp(angle) < 1
        or (angle == np.rint(angle)).mean() > 0.5
    ):
        return None
    return Problem(
        f"Angles lie from {angle.min():.2f} to {angle.max():.2f}, as radians do.", len(angle), len(angle),
        some_rows(records, np.arange(3), "angle"),
    )  # fmt: skip


def corners_order(side: str, data: CheckData) -> Problem | None:
    """Polygons that cross themselves; with two corners exchanged they may not."""
    records = side_of(data, side)
    if records is None or not len(records) or not all(name in records for name in CORNERS):
        return None
    quads = np.ascontiguousarray(np.stack([records[name] for name in CORNERS], axis=1), dtype=np.float64)
    rows = np.flatnonzero(_native.quad_shapes(quads) == 2)
    if not len(rows):
        return None
    exchanged = np.ascontiguousarray(quads[rows][:, [0, 1, 2, 3, 6, 7, 4, 5]])
    good = int(np.count_nonzero(_native.quad_shapes(exchanged) < 2))
    hint = (
        " With the third and fourth exchanged they do not: they are listed row by row."
        if good > 0.9 * len(rows)
        else ""
    )
    return Problem(
        f"Corners are listed in an order that crosses.{hint}", len(rows), len(records), some_rows(records, rows)
    )


def flat(side: str, data: CheckData) -> Problem | None:
    """Objects without an area."""
    records = side_of(data, side)
    if records is None or not len(records):
        return None
    if "quad" in records:
        area = areas_of(records["quad"])
    elif all(name in records for name in CORNERS):
        area = areas_of(np.stack([records[name] for name in CORNERS], axis=1))
    elif "w" in records and "h" in records:
        area = records["w"] * records["h"]
    else:
        return None
    rows = np.flatnonzero(area == 0)
    return Problem("Boxes have no area.", len(rows), len(records), some_rows(records, rows)) if len(rows) else None


for _side in ("truth", "predictions"):
    _of = "truth" if _side == "truth" else "prediction"
    CHECKS.add(
        "angle-degrees", "warning", "some angles are degrees where radians are expected, and are taken as radians",
        f"Set the option {_of}.angle=degrees, or correct the rows.", side=_side,
    )(partial(degrees, _side))  # fmt: skip
    CHECKS.add(
        "angle-radians", "error", "angles are radians where degrees are expected: boxes lie nearly level",
        f"Set the option {_of}.angle=radians.", side=_side,
    )(partial(radians, _side))  # fmt: skip
    CHECKS.add(
        "corners-order", "error", "polygons cross themselves: refused", "List the corners in order around the box.",
        side=_side, quick=False,
    )(partial(corners_order, _side))  # fmt: skip
    CHECKS.add(
        "flat-boxes", "warning", "a box without an area overlaps nothing: a sure miss, or never right",
        "Leave them out, or correct them.", side=_side,
    )(partial(flat, _side))  # fmt: skip


class Near(Frozen):
    """True rectangles that are not square, with the detected one of like size that lies nearest."""

    truth: Array
    predicted: Array
    row: Array

    def ious(self, rectangles: Array) -> Array:
        """IoU pair by pair, with other rectangles in the place of the detected."""
        quads, true = corners_of(rectangles), corners_of(self.truth)
        flag = np.zeros(1, np.uint8)
        return np.array([_native.quads_iou(quads[[i]], true[[i]], flag)[0, 0] for i in range(len(quads))])


def near(data: CheckData) -> Near | None:
    """Boxes that belong together by place and size alone."""
    if "near" not in data.read:
        data.read["near"] = _near(data)
    pairs: Near | None = data.read["near"]
    return pairs


def _near(data: CheckData) -> Near | None:
    pairs = data.pairs
    if pairs is None or not len(pairs.truth) or not len(pairs.prediction) or "quad" not in pairs.truth:
        return None
    sampled = np.zeros(len(pairs.units), dtype=bool)
    sampled[evenly(len(pairs.units), 40 if data.quick else 1000)] = True
    truths, predicted = np.flatnonzero(sampled[pairs.image]), np.flatnonzero(sampled[pairs.d_image])
    truths = truths[evenly(len(truths), 300 if data.quick else 3000)]
    true, boxes = (
        smallest_rectangles(side["quad"][rows]) for side, rows in ((pairs.truth, truths), (pairs.prediction, predicted))
    )
    edges, sizes = (np.sort(rectangles[:, 2:4], axis=1) for rectangles in (true, boxes))
    long = np.flatnonzero(edges[:, 1] >= LONG * edges[:, 0])
    image = pairs.d_image[predicted]
    order = np.argsort(image, kind="stable")
    begin = np.searchsorted(image[order], pairs.image[truths[long]])
    end = np.searchsorted(image[order], pairs.image[truths[long]], side="right")
    mine, theirs = [], []
    for row, a, b in zip(long.tolist(), begin.tolist(), end.tolist(), strict=True):
        some = order[a:b]
        with np.errstate(divide="ignore"):
            alike = (np.abs(np.log(sizes[some] / edges[row])) < 0.3).all(axis=1)
        some = some[alike]
        if not len(some):
            continue
        away = np.hypot(*(boxes[some, :2] - true[row, :2]).T)
        best = int(np.argmin(away))
        if away[best] <= 0.3 * edges[row, 0]:
            mine.append(row)
            theirs.append(int(some[best]))
    return Near(true[mine], boxes[theirs], predicted[theirs]) if len(mine) >= FEW else None


def _compare_turned(data: CheckData, turned: Any, what: str) -> Problem | None:
    """Whether boxes that fit clearly better if they are turned outnumber those that fit worse."""
    pairs = near(data)
    if pairs is None:
        return None
    plain, other = pairs.ious(pairs.predicted), pairs.ious(turned(pairs.predicted.copy()))
    better, worse = other > plain + 0.1, plain > other + 0.1
    if better.mean() < 0.3 or better.sum() < 4 * worse.sum():
        return None
    return Problem(
        f"Boxes at the place of an object of their size overlap it by {plain.mean():.2f} in the mean, and by "
        f"{other.mean():.2f} {what}.",
        int(better.sum()), len(better), some_rows(data.pairs.prediction, pairs.row[better]),
    )  # fmt: skip


@CHECKS.add(
    "angle-turn", "error", "angles go the other way round: boxes are mirrored",
    "Set the option prediction.turn=y-to-x (or truth.turn).",
)  # fmt: skip
def turn(data: CheckData) -> Problem | None:
    """Whether boxes fit with the angle the other way."""

    def mirror_angles(rectangles: Array) -> Array:
        rectangles[:, 4] *= -1
        return rectangles

    return _compare_turned(data, mirror_angles, "with their angles the other way round")


@CHECKS.add(
    "edges-exchanged", "error", "width and height are exchanged: boxes lie across their objects",
    "The angle is that of the width: exchange w and h, or set the option angle to their convention (oc, le90, opencv).",
)  # fmt: skip
def exchanged_edges(data: CheckData) -> Problem | None:
    """Whether boxes fit with width and height exchanged."""
    return _compare_turned(data, lambda r: r[:, [0, 1, 3, 2, 4]], "with width and height exchanged")


@CHECKS.add(
    "tile-not-image", "error", "results of tiles beside truth of whole images: refused, or nothing is found",
    "Merge the results of the tiles first: move them by the tile's offset and suppress doubles.", quick=False,
)  # fmt: skip
def tiles(data: CheckData) -> Problem | None:
    """Images of the predictions that are called as tiles of images of the truth are."""
    if data.prediction is None:
        return None
    truth = data.truth
    listed = truth.images if isinstance(truth, BoxRecords) and truth.images is not None else truth["image"]
    known = {str(name) for name in listed.tolist()}
    names = [str(name) for name in data.prediction["image"].tolist()]
    rows = [
        row for row, name in enumerate(names)
        if name not in known and (tile := _TILE.match(name)) is not None and tile[1] in known
    ]  # fmt: skip
    if not rows:
        return None
    return Problem(
        f"'{names[rows[0]]}' is a tile of '{_TILE.match(names[rows[0]])[1]}'.",  # type: ignore[index]
        len(rows), len(names), some_rows(data.prediction, np.array(rows), "image"),
    )  # fmt: skip


@CHECKS.add(
    "probiou", "note", "boxes are compared as Gaussians: numbers are not comparable with any that are by IoU",
    "Leave the option overlap out for IoU.",
)  # fmt: skip
def probable(data: CheckData) -> Problem | None:
    """Whether probIoU was asked for."""
    pairs = data.pairs
    if pairs is None or not isinstance(pairs.similarity, ProbIou):
        return None
    rows = len(pairs.prediction)
    return Problem("Objects are compared by probIoU, not by IoU: the numbers are not comparable.", rows, rows)


def look(task: Task, truth: Records, prediction: Records | None, options: Options) -> list[Finding]:
    """What is found in boxes too."""
    from steelyard.tasks.boxes.check_run import look_at_objects

    return look_at_objects(task, truth, prediction, options, hidden={"zero-area"})


def quick(task: Task, pairs: Any) -> list[Finding]:
    """What evaluation says of oriented boxes that it has read."""
    from steelyard.tasks.boxes.check_quick import look as look_at

    return look_at(pairs)
