"""The frames of a sequence to look at: what happens in each, and the picture of one."""

from __future__ import annotations

import numpy as np

from steelyard import _native
from steelyard.core.errors import UnknownName
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.scene import BoxShape, LineShape, Scene, Steps
from steelyard.core.statistic import SharedCache
from steelyard.tasks.tracking.pairs import TrackPairs, TrackSide
from steelyard.tasks.tracking.statistics import kept, tracked

SMALL = 64.0  # pixels that a picture shows at least


def steps(pairs: TrackPairs, unit: int) -> Steps:
    """The frames that have a box, with what CLEAR says of each. The first to see is one with a switch, or else the one
    with the most mistakes.
    """
    work = SharedCache()
    rows, clear = kept(pairs, work), tracked(pairs, work)
    mine, theirs = rows.rows(unit, max(1, pairs.facts.size("class")))
    true, predicted = rows.truth.frame[mine], rows.prediction.frame[theirs]
    numbers = np.union1d(true, predicted)
    missed = true[clear.partner[mine] < 0]
    extra = predicted[~np.isin(theirs, clear.partner[mine])]
    switched = true[(clear.event[mine] & 1) > 0]
    counts = {
        name: tuple(np.bincount(np.searchsorted(numbers, frames), minlength=len(numbers)).tolist())
        for name, frames in (("switches", switched), ("missed", missed), ("extra", extra))
    }
    wrong = np.add(counts["missed"], counts["extra"])
    start = int(switched.min()) if len(switched) else int(numbers[np.argmax(wrong)]) if len(numbers) else 0
    return Steps("frame", tuple(numbers.tolist()), counts, start)


def scene(pairs: TrackPairs, unit: int, metric: Metric, step: int | None = None) -> Scene:
    """One frame of a sequence, by its number; without one, the frame to look at first."""
    known = steps(pairs, unit)
    name = str(pairs.units[unit])
    if not known.numbers:
        return Scene(f"Sequence {name}", "nothing is there", ())
    frame = known.start if step is None else step
    if frame not in known.numbers:
        raise UnknownName(
            f"sequence '{name}' has no box in frame {frame}",
            remedy=f"Its frames with boxes are {known.numbers[0]} to {known.numbers[-1]}.",
        )
    work = SharedCache()
    rows, clear = kept(pairs, work), tracked(pairs, work)
    mine, theirs = rows.rows(unit, max(1, pairs.facts.size("class")))
    bounds = _bounds(_boxes(rows.truth, mine), _boxes(rows.prediction, theirs))
    mine, theirs = mine[rows.truth.frame[mine] == frame], theirs[rows.prediction.frame[theirs] == frame]
    partner = clear.partner[mine]
    boxes, others = _boxes(rows.truth, mine), dict(zip(theirs.tolist(), _boxes(rows.prediction, theirs), strict=True))
    shapes: list[BoxShape | LineShape] = []
    for place, box, other in zip(mine.tolist(), boxes, partner.tolist(), strict=True):
        label = f"T{pairs.truth['track'][rows.truth.row[place]]}"
        shapes.append(_shape("truth", box, label, other >= 0))
        if other >= 0:
            ends = (*_centre(box), *_centre(others[other]))
            shapes.append(LineShape("pair", *ends, "switch" if clear.event[place] & 1 else ""))
    matched = set(partner.tolist())
    for place, box in others.items():
        label = f"P{pairs.prediction['track'][rows.prediction.row[place]]}"
        shapes.append(_shape("prediction", box, label, place in matched))
    at = known.numbers.index(frame)
    happens = ", ".join(f"{what} {counts[at]}" for what, counts in known.counts.items())
    return Scene(
        title=f"Sequence {name}, frame {frame}",
        summary=f"matched {int((partner >= 0).sum())}, {happens}",
        shapes=tuple(shapes),
        bounds=bounds,
        images=tuple(f"{folder}/{frame:06d}" for folder in (f"{name}/img1", f"image_02/{name}", name)),
    )


def _shape(role: str, box: Array, label: str, matched: bool) -> BoxShape:
    x0, y0, x1, y1 = box.tolist()
    return BoxShape("truth" if role == "truth" else "prediction", x0, y0, x1 - x0, y1 - y0, label, matched)


def _centre(box: Array) -> tuple[float, float]:
    return float(box[0] + box[2]) / 2, float(box[1] + box[3]) / 2


def _boxes(side: TrackSide, rows: Array) -> Array:
    """The boxes of rows, or those around their masks, as left, top, right, low."""
    if side.mask is None:
        return side.box(rows)
    box = _native.mask_box(side.mask[rows].tolist()).reshape(-1, 4)
    return np.concatenate([box[:, :2], box[:, :2] + box[:, 2:]], axis=1)


def _bounds(truth: Array, prediction: Array) -> tuple[float, float, float, float]:
    """What all boxes of the sequence fill, so that frame after frame lies at one place."""
    box = np.concatenate([truth, prediction])
    (left, top), (right, low) = box[:, :2].min(axis=0).tolist(), box[:, 2:].max(axis=0).tolist()
    room = 0.03 * max(right - left, low - top, SMALL)
    return left - room, top - room, right + room, low + room
