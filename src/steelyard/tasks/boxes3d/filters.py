"""What nuScenes leaves out before it matches: boxes far from the car, truths that nobody sees, bicycles in a rack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.core.errors import InvalidValue
from steelyard.core.pairs import Array
from steelyard.core.records import Records
from steelyard.tasks.boxes3d.data import PLACE, RACK, RANGES, Prepared, Rules, coded_column

MOST_RESULTS = 500  # of a sample
RACKED = ("bicycle", "motorcycle")


def check_limit(side: Prepared) -> None:
    """A sample has at most 500 results."""
    frames, code = coded_column(side.records, "frame")
    many = np.bincount(code[side.keep], minlength=len(frames))
    if (many > MOST_RESULTS).any():
        worst = int(np.argmax(many > MOST_RESULTS))
        row = int(np.argmax((code == worst) & side.keep))
        raise InvalidValue(
            f"sample '{frames[worst]}' has {many[worst]} results, and nuScenes allows {MOST_RESULTS}",
            where=side.records.place(row),
            remedy="Keep those of highest score.",
        )


def filtered(rules: Rules, truth: Prepared, prediction: Prepared) -> tuple[Prepared, Prepared]:
    """Rows that nuScenes leaves out: too far from the car, without a point, bicycles in a rack."""
    check_limit(prediction)
    out = []
    racks = _racks(truth)
    for side in (truth, prediction):
        dropped = {}
        distance = _distance(side, truth)
        if distance is not None:
            limit = np.array([RANGES.get(one, np.inf) for one in rules.classes])
            dropped["too far from the car"] = side.keep & ~(distance < limit[side.group])
        if side is truth and "points" in truth.records:
            dropped["without a point"] = side.keep & (truth.records["points"] == 0)
        if racks is not None:
            mine = np.isin(side.group, [k for k, one in enumerate(rules.classes) if one in RACKED])
            dropped["in a bicycle rack"] = side.keep & mine & _inside(side.records, mine & side.keep, *racks)
        gone = np.zeros(len(side.keep), dtype=bool)
        for what, rows in dropped.items():
            dropped[what] = rows & ~gone
            gone |= rows
        out.append(replace(side, keep=side.keep & ~gone, dropped=dropped))
    return out[0], out[1]


def _distance(side: Prepared, truth: Prepared) -> Array | None:
    """How far each row is from the car on the ground; None where nobody says where the car is."""
    records = side.records
    own = [records[name] for name in ("ego_dx", "ego_dy") if name in records]
    if len(own) == 2 and not np.isnan(own[0][side.keep]).any():
        return np.asarray(np.sqrt(own[0] ** 2 + own[1] ** 2))
    ego = _ego(truth)
    if not ego:
        return None
    frames, code = coded_column(records, "frame")
    places = np.array([ego.get(str(one), (np.nan, np.nan)) for one in frames.tolist()], dtype=np.float64)
    at = places[code]
    lacking = side.keep & np.isnan(at[:, 0])
    if lacking.any():
        row = int(np.argmax(lacking))
        raise InvalidValue(
            f"sample '{records['frame'][row]}' has boxes and no place of the car",
            where=records.place(row),
            remedy='Add "ego" {sample: [x, y, z]} to the truth.',
        )
    return np.asarray(np.sqrt((records["x"] - at[:, 0]) ** 2 + (records["y"] - at[:, 1]) ** 2))


def _ego(truth: Prepared) -> dict[str, tuple[float, float]]:
    """Where the car stands in each sample: as the truth says, or by a box whose offset is known."""
    given = getattr(truth.records, "ego", {})
    ego = {str(name): (at[0], at[1]) for name, at in given.items()}
    if ego or "ego_dx" not in truth.records:
        return ego
    records = truth.records
    known = np.flatnonzero(~np.isnan(records["ego_dx"]) & ~np.isnan(records["ego_dy"]))
    for row in known[::-1].tolist():  # the first of each sample stays
        place = (records["x"][row] - records["ego_dx"][row], records["y"][row] - records["ego_dy"][row])
        ego[str(records["frame"][row])] = place
    return ego


Racks = tuple[Array, Array]


def _racks(truth: Prepared) -> Racks | None:
    """Frames and boxes (centre, size, yaw) of bicycle racks."""
    labels, code = coded_column(truth.records, "label")
    rows = np.flatnonzero(np.array([str(one) == RACK for one in labels.tolist()] or [False])[code])
    if not len(rows):
        return None
    boxes = np.stack([truth.records[name][rows] for name in PLACE], axis=1)
    return np.array(list(map(str, truth.records["frame"][rows].tolist())), dtype=object), boxes


def _inside(records: Records, rows: Array, frames: Array, boxes: Array) -> Array:
    """Which of the rows have their centre in a rack of their frame, its sides included."""
    result = np.zeros(len(records), dtype=bool)
    by_frame: dict[str, list[int]] = {}
    for k, frame in enumerate(frames.tolist()):
        by_frame.setdefault(frame, []).append(k)
    for row in np.flatnonzero(rows).tolist():
        for k in by_frame.get(str(records["frame"][row]), ()):
            dx, dy, dz = (records[name][row] - boxes[k, axis] for axis, name in enumerate("xyz"))
            cos, sin = np.cos(boxes[k, 6]), np.sin(boxes[k, 6])
            along, across = cos * dx + sin * dy, cos * dy - sin * dx
            near = abs(along) <= boxes[k, 3] / 2 and abs(across) <= boxes[k, 4] / 2 and abs(dz) <= boxes[k, 5] / 2
            result[row] |= bool(near)
    return result
