"""Checks of `keypoints` beside those of all objects: which points count, and left and right."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.checks.check import FEW, CheckData, Checks, Problem, some_rows
from steelyard.checks.findings import Finding
from steelyard.core.counts import count_text
from steelyard.core.options import Options
from steelyard.core.records import Array, Records, median
from steelyard.core.task import Task

CHECKS = Checks()
ALSO = "What is looked for in boxes (all but other readings of the coordinates), and:"
# Left and right of COCO's 17 points, exchanged.
MIRROR = np.array([0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15])


def points_of(records: Records) -> Array:
    """Points of a side, as it was read or as it was prepared."""
    points: Array = records["keypoints"] if "keypoints" in records else records["shape"]
    return points


@CHECKS.add(
    "visible-not-counted", "warning", "num_keypoints is 0 beside visible points: the object is ignored",
    "Give num_keypoints as the number of points with v above 0, or leave it out.", side="truth",
)  # fmt: skip
def visible_not_counted(data: CheckData) -> Problem | None:
    """Objects with visible points that say they have none."""
    visible = data.truth.columns.get("visible")
    if visible is None or not len(data.truth):
        return None
    rows = np.flatnonzero((points_of(data.truth)[:, 2::3] > 0).any(axis=1) & (np.asarray(visible) == 0))
    if not len(rows):
        return None
    return Problem(
        f"'num_keypoints' is 0 for {count_text(len(rows), 'object')} with visible points, and so ignored.",
        len(rows), len(data.truth), some_rows(data.truth, rows),
    )  # fmt: skip


@CHECKS.add(
    "nothing-visible", "warning", "most objects have no visible point and are ignored",
    "Give v 0 for a point that is not labelled, 1 for a hidden one, 2 for a visible one.", side="truth",
)  # fmt: skip
def nothing_visible(data: CheckData) -> Problem | None:
    """Objects whose points all have v = 0."""
    if not len(data.truth):
        return None
    rows = np.flatnonzero(~(points_of(data.truth)[:, 2::3] > 0).any(axis=1))
    if len(rows) <= max(3, 0.9 * len(data.truth)):
        return None
    return Problem("Objects have no visible point.", len(rows), len(data.truth), some_rows(data.truth, rows))


@CHECKS.add(
    "points-at-the-corner", "warning", "points at 0, 0 that count as visible",
    "Give points that are not labelled v = 0.",
    side="truth",
)  # fmt: skip
def at_the_corner(data: CheckData) -> Problem | None:
    """Visible points at 0, 0."""
    if not len(data.truth):
        return None
    points = points_of(data.truth)
    seen = points[:, 2::3] > 0
    odd = seen & (points[:, 0::3] == 0) & (points[:, 1::3] == 0)
    rows = np.flatnonzero(odd.any(axis=1))
    if odd.sum() <= max(3, 0.02 * seen.sum()):
        return None
    return Problem(
        f"{int(odd.sum())} visible points lie at 0, 0.", len(rows), len(data.truth), some_rows(data.truth, rows)
    )


@CHECKS.add("left-and-right", "error", "left and right are exchanged", "Name the points in the order of the truth.")
def left_and_right(data: CheckData) -> Problem | None:
    """Whether points of objects at the same place fit better mirrored. For COCO's 17 points."""
    pairs = data.pairs
    if pairs is None or not len(pairs.truth) or not len(pairs.prediction):
        return None
    points = pairs.truth["shape"]
    if points.shape[1] != 51:
        return None
    seen = points[:, 2::3] > 0
    rows = np.flatnonzero(seen.sum(axis=1) >= 6)[: 30 if data.quick else 1000]
    image = pairs.d_image
    order = np.argsort(image, kind="stable")
    begin = np.searchsorted(image[order], pairs.image[rows])
    end = np.searchsorted(image[order], pairs.image[rows], side="right")
    plain: list[float] = []
    mirrored: list[float] = []
    where: list[int] = []
    for row, a, b in zip(rows.tolist(), begin.tolist(), end.tolist(), strict=True):
        if a == b:
            continue
        predicted = pairs.prediction["shape"][order[a:b][:30]].reshape(-1, 17, 3)[:, :, :2]
        mine, use = points[row].reshape(17, 3)[:, :2], seen[row]
        size = max(1e-9, float(np.ptp(mine[use], axis=0).max()))
        middle = np.abs(predicted.mean(axis=1) - mine[use].mean(axis=0)).max(axis=1)
        best = int(np.argmin(middle))
        if middle[best] > 0.3 * size:
            continue
        for values, theirs in ((plain, predicted[best]), (mirrored, predicted[best][MIRROR])):
            values.append(median(np.hypot(*(theirs[use] - mine[use]).T)) / size)
        where.append(int(order[a + best]))
    if len(plain) < FEW or median(mirrored) > 0.5 * median(plain) or median(plain) < 0.05:
        return None
    return Problem(
        f"Points lie {median(plain):.0%} of an object's size off, and {median(mirrored):.0%} with left and right "
        "exchanged.",
        len(plain), len(rows), some_rows(pairs.prediction, where),
    )  # fmt: skip


def look(task: Task, truth: Records, prediction: Records | None, options: Options) -> list[Finding]:
    """What is found in boxes too."""
    from steelyard.tasks.boxes.check_run import look_at_objects

    return look_at_objects(task, truth, prediction, options, hidden={"zero-area", "area"})


def quick(task: Task, pairs: Any) -> list[Finding]:
    """What evaluation says of keypoints that it has read."""
    from steelyard.tasks.boxes.check_quick import look as look_at

    return look_at(pairs, fit=False)
