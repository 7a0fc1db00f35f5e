"""Checks of `masks` beside those of all objects: masks that are empty, or rectangles."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.checks.check import FEW, CheckData, Checks, Problem, evenly, some_rows
from steelyard.checks.findings import Finding
from steelyard.core.options import Options
from steelyard.core.records import Array, Records
from steelyard.core.task import Task

CHECKS = Checks()
ALSO = "What is looked for in boxes (all but other readings of the coordinates), and:"
MOST = 20_000  # masks of a side that are looked at


def _masks(records: Records | None) -> tuple[Array, Array, Array]:
    """Rows, boxes and areas of some masks."""
    if records is None or "mask" not in records or not len(records):
        return np.zeros(0, np.int64), np.zeros((0, 4)), np.zeros(0)
    rows = evenly(len(records), MOST)
    masks = records["mask"][rows].tolist()
    return rows, np.asarray(_native.mask_box(masks)), np.asarray(_native.mask_area(masks), dtype=np.float64)


def empty(side: str, data: CheckData) -> Problem | None:
    """Masks without a pixel."""
    records = data.truth if side == "truth" else data.prediction
    rows, _, area = _masks(records)
    bare = rows[area == 0]
    if records is None or not len(bare):
        return None
    return Problem("Masks have no pixel.", len(bare), len(rows), some_rows(records, bare))


for _side, _effect in (
    ("truth", "objects that nothing can match: sure misses"),
    ("predictions", "they can never be right"),
):
    CHECKS.add("empty-masks", "warning", _effect, "Leave them out, or correct them.", side=_side, quick=False)(
        partial(empty, _side)
    )


@CHECKS.add(
    "rectangles", "warning", "masks that are their boxes, filled", "Give the model's masks, not its boxes.", quick=False
)
def rectangles(data: CheckData) -> Problem | None:
    """Predicted masks that fill their box, where true ones do not."""
    sides = [_masks(records) for records in (data.truth, data.prediction)]
    full = [area >= 0.999 * box[:, 2] * box[:, 3] for _, box, area in sides]
    large = [(box[:, 2:] >= 4).all(axis=1) for _, box, _ in sides]
    if min(int(v.sum()) for v in large) < FEW:
        return None
    shares = [float(f[v].mean()) for f, v in zip(full, large, strict=True)]
    if shares[1] < 0.9 or shares[0] > 0.5 or data.prediction is None:
        return None
    rows = sides[1][0][full[1]]
    return Problem(
        f"{shares[1]:.0%} of the predicted masks are rectangles, and {shares[0]:.0%} of the true ones.",
        len(rows), len(sides[1][0]), some_rows(data.prediction, rows),
    )  # fmt: skip


def look(task: Task, truth: Records, prediction: Records | None, options: Options) -> list[Finding]:
    """What is found in boxes too."""
    from steelyard.tasks.boxes.check_run import look_at_objects

    return look_at_objects(task, truth, prediction, options, hidden={"zero-area"})


def quick(task: Task, pairs: Any) -> list[Finding]:
    """What evaluation says of masks that it has read."""
    from steelyard.tasks.boxes.check_quick import look as look_at

    return look_at(pairs)
