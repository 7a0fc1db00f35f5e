"""Checks of `boxes3d`: headings, sizes and places of another convention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.checks.check import FEW, CheckData, Checks, Problem, evenly, some_rows
from steelyard.checks.ids import with_ids
from steelyard.core.records import Array, median

CHECKS = with_ids(Checks(), repeats=False)
MOST, QUICKLY = 50_000, 2_000  # boxes of a side that are looked at
NEAR = 2.0  # metres: what a prediction is of
X, Y, Z, LENGTH, WIDTH, HEIGHT, YAW = range(7)
PLACE = ("x", "y", "z", "length", "width", "height", "yaw")
TURN = 0.35  # radians around a quarter or half turn


def raw(data: CheckData) -> tuple[Array, Array] | None:
    """Boxes of both sides as the source has them; None where there are few, or they have no place."""
    pairs = data.pairs
    if pairs is None or "place" not in pairs.metadata.holds or min(map(len, pairs.sides)) < FEW:
        return None
    if "boxes3d" not in data.read:
        data.read["boxes3d"] = tuple(
            np.stack([side.column(name)[:end] for name in PLACE], axis=1)
            for side, end in zip(pairs.sides, _ends(data), strict=True)
        )
    boxes: tuple[Array, Array] = data.read["boxes3d"]
    return boxes


def _ends(data: CheckData) -> tuple[int, int]:
    """How many rows of each side are looked at: those of the first frames."""
    units = len(data.pairs.units)
    begins = [side.begin(units) for side in data.pairs.sides]
    most = QUICKLY if data.quick else MOST
    last = min(units, max(1, *(int(np.searchsorted(begin, most)) for begin in begins)))
    data.read["boxes3d.begins"] = [begin[: last + 1] for begin in begins]
    return int(begins[0][last]), int(begins[1][last])


def match_centres(data: CheckData, truth: Array, predicted: Array) -> tuple[Array, Array]:
    """Rows of the truth and of the predictions whose centres are near each other on the ground."""
    arguments: list[Any] = []
    for side, boxes, begin in zip(data.pairs.sides, (truth, predicted), data.read["boxes3d.begins"], strict=True):
        ground = np.zeros((len(boxes), 8))
        ground[:, 0], ground[:, 1] = boxes[:, X], boxes[:, Z if side.camera else Y]
        ground[:, 2:5] = 1.0
        arguments += [begin, ground, np.zeros(len(boxes), np.int32), np.full(len(boxes), -1, np.int32)]
    score = data.pairs.sides[1].column("score")[: len(predicted)]
    match: Any = _native.centre_match
    _, _, partner = match(*arguments, score, np.array([NEAR]), 0, np.zeros(1, np.uint8))
    hit = np.flatnonzero(partner >= 0)
    return partner[hit], hit


def pairs_of(data: CheckData, truth: Array, predicted: Array) -> tuple[Array, Array]:
    """The same of places as they stand, made once."""
    if "boxes3d.pairs" not in data.read:
        data.read["boxes3d.pairs"] = match_centres(data, truth, predicted)
    rows: tuple[Array, Array] = data.read["boxes3d.pairs"]
    return rows


def share(data: CheckData, truth: Array, predicted: Array) -> float:
    """How many truths a prediction is near to."""
    rows, _ = match_centres(data, truth, predicted)
    return len(rows) / max(1, len(truth))


def wrap_angle(angle: Array, period: float = 2 * np.pi) -> Array:
    """Angles from minus half a period to half a period."""
    return np.asarray((angle + period / 2) % period - period / 2)


def _examples(data: CheckData, rows: Array, name: str) -> tuple[str, ...]:
    side = data.pairs.sides[1]
    return some_rows(data.pairs.prediction, side.row[rows], name)


READINGS: tuple[tuple[str, Callable[[Array], Array]], ...] = (
    ("with y and z exchanged", lambda box: box[:, [X, Z, Y, LENGTH, WIDTH, HEIGHT, YAW]]),
    ("with x and y exchanged", lambda box: box[:, [Y, X, Z, LENGTH, WIDTH, HEIGHT, YAW]]),
    (
        "as lidar places: x ahead, y left, z up",
        lambda box: np.column_stack([-box[:, Y], -box[:, Z], box[:, X], box[:, 3:]]),
    ),
    (
        "as camera places: x right, y down, z ahead",
        lambda box: np.column_stack([box[:, Z], -box[:, X], -box[:, Y], box[:, 3:]]),
    ),
)


@CHECKS.add(
    "axes-read-wrong", "error", "places in another order of axes: hardly anything is found",
    "Give both sides places in the same axes: the option axes=camera has y down and z ahead, axes=up has z up.",
)  # fmt: skip
def axes_read_wrong(data: CheckData) -> Problem | None:
    """Whether places fit far better with other axes."""
    boxes = raw(data)
    if boxes is None:
        return None
    plain = len(pairs_of(data, *boxes)[0]) / len(boxes[0])
    if plain > 0.3:
        return None
    best = max(((share(data, boxes[0], change(boxes[1])), name) for name, change in READINGS), key=lambda one: one[0])
    if best[0] < 0.3 or best[0] < 2 * plain:
        return None
    count = len(boxes[1])
    return Problem(
        f"{plain:.0%} of the truths have a prediction within {NEAR:g} m, and {best[0]:.0%} where predictions are read "
        f"{best[1]}.",
        count, count, _examples(data, evenly(count, 3), "x"),
    )  # fmt: skip


@CHECKS.add(
    "ego-or-global", "error", "places seen from the car where places on the map are expected, or the other way",
    "Turn and move predictions to the frame of the truth: nuScenes asks for places on the map.",
)  # fmt: skip
def ego_or_global(data: CheckData) -> Problem | None:
    """Whether one side lies around the origin and the other far away from it."""
    boxes = raw(data)
    if boxes is None or len(pairs_of(data, *boxes)[0]) > 0.02 * len(boxes[0]):
        return None
    far = [median(np.hypot(box[:, X], box[:, Z if side.camera else Y]))
           for box, side in zip(boxes, data.pairs.sides, strict=True)]  # fmt: skip
    if min(far) > 100 or max(far) < 5 * max(min(far), 20.0):
        return None
    near, name = ("truth", "predictions") if far[0] < far[1] else ("predictions", "truth")
    count = len(boxes[1])
    return Problem(
        f"The median box of the {near} is {min(far):.0f} m from the origin, that of the {name} {max(far):.0f} m.",
        count, count, _examples(data, evenly(count, 3), "x"),
    )  # fmt: skip


@CHECKS.add(
    "angle-degrees", "error", "headings in degrees where radians are expected: boxes lie across their objects",
    "Write yaw in radians.",
)  # fmt: skip
def angle_degrees(data: CheckData) -> Problem | None:
    """Whether headings go far beyond a full turn."""
    boxes = raw(data)
    if boxes is None:
        return None
    yaw = boxes[1][:, YAW]
    large = np.flatnonzero(np.abs(yaw) > 2 * np.pi + 1e-6)
    if len(large) <= 0.01 * len(yaw) or np.abs(yaw).max() < 20:
        return None
    return Problem(
        f"A yaw of {yaw[large[0]]:g} looks like degrees.", len(large), len(yaw), _examples(data, large, "yaw")
    )  # fmt: skip


def headings(data: CheckData) -> tuple[Array, Array, Array] | None:
    """Of what is found: headings of truths and of predictions, and rows of these; None where they are too few."""
    boxes = raw(data)
    if boxes is None or angle_degrees(data) is not None:
        return None
    mine, theirs = pairs_of(data, *boxes)
    return (boxes[0][mine, YAW], boxes[1][theirs, YAW], theirs) if len(mine) >= FEW else None


@CHECKS.add(
    "yaw-offset", "error", "headings that are a quarter or half a turn off: orientation is scored as wrong",
    "Add the offset to yaw: conventions differ in which axis a heading of 0 looks along.",
)  # fmt: skip
def yaw_offset(data: CheckData) -> Problem | None:
    """Whether most headings of what is found are off by the same quarter or half turn."""
    seen = headings(data)
    if seen is None:
        return None
    true, predicted, theirs = seen
    off = wrap_angle(predicted - true)
    for turn, name in ((np.pi / 2, "a quarter turn"), (-np.pi / 2, "minus a quarter turn"), (np.pi, "half a turn")):
        hit = np.abs(wrap_angle(off - turn)) < TURN
        if hit.mean() > 0.6:
            return Problem(
                f"The headings of {hit.mean():.0%} of what is found are off by {name}.", int(hit.sum()), len(hit),
                _examples(data, theirs[hit], "yaw"),
            )  # fmt: skip
    return None


@CHECKS.add(
    "yaw-turn", "error", "headings that turn the other way: orientation and overlap are scored as wrong",
    "Change the sign of yaw: KITTI's rotation_y turns from z towards x, others from x towards y.",
)  # fmt: skip
def yaw_turn(data: CheckData) -> Problem | None:
    """Whether headings fit far better with the other sign."""
    seen = headings(data)
    if seen is None:
        return None
    true, predicted, theirs = seen
    plain, other = (np.abs(wrap_angle(one)) < TURN for one in (predicted - true, predicted + true))
    if plain.mean() > 0.4 or other.mean() < 0.6:
        return None
    return Problem(
        f"{plain.mean():.0%} of the headings of what is found fit, and {other.mean():.0%} with the other sign.",
        int((~plain).sum()), len(plain), _examples(data, theirs[~plain], "yaw"),
    )  # fmt: skip


ORDERS = (
    ("width, length, height", (WIDTH, LENGTH, HEIGHT)), ("height, width, length", (HEIGHT, WIDTH, LENGTH)),
    ("length, height, width", (LENGTH, HEIGHT, WIDTH)), ("width, height, length", (WIDTH, HEIGHT, LENGTH)),
    ("height, length, width", (HEIGHT, LENGTH, WIDTH)),
)  # fmt: skip


@CHECKS.add(
    "lwh-order", "error", "sizes in another order: boxes lie across or stand on end",
    "Map the columns: length is along the heading, width across, height upward. nuScenes writes width, length, height.",
)  # fmt: skip
def lwh_order(data: CheckData) -> Problem | None:
    """Whether sizes of what is found fit far better in another order."""
    boxes = raw(data)
    if boxes is None:
        return None
    mine, theirs = pairs_of(data, *boxes)
    if len(mine) < FEW:
        return None
    true, predicted = np.log(boxes[0][mine][:, 3:6]), np.log(boxes[1][theirs])

    def error(order: tuple[int, ...]) -> float:
        return median(np.abs(predicted[:, order] - true).max(axis=1))

    plain = error((LENGTH, WIDTH, HEIGHT))
    best = min((error(order), name) for name, order in ORDERS)
    if plain < 0.3 or best[0] > 0.5 * plain:
        return None
    return Problem(
        f"Sizes of what is found are off by {np.expm1(plain):.0%}, and by {np.expm1(best[0]):.0%} if length, width, "
        f"height are read as {best[1]}.",
        len(mine), len(mine), _examples(data, theirs, "length"),
    )  # fmt: skip


@CHECKS.add(
    "bottom-or-centre", "error", "places of the bottom taken for those of the middle: overlap in space is a third",
    "Set the option prediction.anchor=bottom or prediction.anchor=centre.",
)  # fmt: skip
def bottom_or_centre(data: CheckData) -> Problem | None:
    """Whether what is found lies half a height too low or too high."""
    boxes = raw(data)
    if boxes is None or data.pairs.sides[0].camera != data.pairs.sides[1].camera:
        return None
    mine, theirs = pairs_of(data, *boxes)
    if len(mine) < FEW:
        return None
    low = [side.solid[:, 2] for side in data.pairs.sides]
    off = (low[1][theirs] - low[0][mine]) / boxes[0][mine, HEIGHT]
    half = np.abs(np.abs(off) - 0.5) < 0.15
    same = np.sign(off) == np.sign(median(off))
    if (half & same).mean() < 0.6:
        return None
    return Problem(
        f"{(half & same).mean():.0%} of what is found lies half a height too "
        f"{'high' if (median(off) < 0) == data.pairs.sides[0].camera else 'low'}.",
        int((half & same).sum()), len(off), _examples(data, theirs[half & same], "z"),
    )  # fmt: skip


@CHECKS.add(
    "copies-of-truth", "note", "predictions that are the truth itself",
    "Are these predictions of a model?",
)  # fmt: skip
def copies_of_truth(data: CheckData) -> Problem | None:
    """Boxes that stand in the truth to the last digit."""
    boxes = raw(data)
    if boxes is None:
        return None
    true_boxes = set(map(tuple, boxes[0][: MOST if not data.quick else QUICKLY].tolist()))
    sample = boxes[1][:QUICKLY].tolist()
    same = np.array([tuple(row) in true_boxes for row in sample])
    if same.mean() < 0.5:
        return None
    return Problem(
        f"{same.mean():.0%} of the predicted boxes are boxes of the truth.", int(same.sum()), len(same),
        _examples(data, np.flatnonzero(same), "x"),
    )  # fmt: skip
