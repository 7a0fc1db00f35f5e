"""Both sides of boxes in space by frame, as the kernels take them.

What nuScenes leaves out before it matches: boxes far from the car, truths that nobody sees, bicycles in a rack.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from steelyard.align.sets import SetPairs, join_sets
from steelyard.core.errors import Incompatible, MissingData, TooLarge
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.options import Options
from steelyard.core.pairs import Array, Coverage
from steelyard.core.records import Records, as_object, factorize
from steelyard.core.task import Policy
from steelyard.tasks.boxes3d.data import (
    HEIGHT,
    IMAGE,
    LEVELS,
    OCCLUDED,
    PLACE,
    RACK,
    RANGES,
    TRUNCATED,
    Prepared,
    Rules,
    coded_column,
    holds,
    prepare,
)

MOST_RESULTS = 500  # of a sample
RACKED = ("bicycle", "motorcycle")


def check_limit(side: Prepared) -> None:
    """A sample has at most 500 results."""
    frames, code = coded_column(side.records, "frame")
    many = np.bincount(code[side.keep], minlength=len(frames))
    if (many > MOST_RESULTS).any():
        worst = int(np.argmax(many > MOST_RESULTS))
        row = int(np.argmax((code == worst) & side.keep))
        raise TooLarge(
            f"sample '{frames[worst]}' has {many[worst]} results, and nuScenes allows {MOST_RESULTS}",
            where=side.records.place(row),
            remedy="Keep those of highest score.",
        )


def filter_rows(rules: Rules, truth: Prepared, prediction: Prepared) -> tuple[Prepared, Prepared]:
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
        raise MissingData(
            f"sample '{records['frame'][row]}' has boxes and no place of the car",
            where=records.place(row),
            remedy='Add "ego" {sample: [x, y, z]} to the truth.',
        )
    return np.asarray(np.sqrt((records["x"] - at[:, 0]) ** 2 + (records["y"] - at[:, 1]) ** 2))


def _ego(truth: Prepared) -> dict[str, tuple[float, float]]:
    """Where the car stands in each sample: as the truth says, or by a box whose offset is known."""
    positions = getattr(truth.records, "ego", {})
    ego = {str(name): (at[0], at[1]) for name, at in positions.items()}
    if ego or "ego_dx" not in truth.records:
        return ego
    records = truth.records
    with_ego = np.flatnonzero(~np.isnan(records["ego_dx"]) & ~np.isnan(records["ego_dy"]))
    for row in with_ego[::-1].tolist():  # the first of each sample stays
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


NOT_KNOWN = -10.0  # KITTI's word for an angle that was not estimated


class Box3dSide(Frozen):
    """Rows of one side by frame. `row` are places in the source, `owner` their units, `group` their classes.

    `own` is 0 for a truth of a class beside its own, which is matched and never counted. `camera` and `bottom` say how
    its places are meant.
    """

    source: Records
    row: Array
    owner: Array
    group: Array
    own: Array
    camera: bool
    bottom: bool

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: Array) -> Box3dSide:
        """Some of the rows."""
        return replace(
            self, row=self.row[rows], owner=self.owner[rows], group=self.group[rows], own=self.own[rows]
        )  # fmt: skip

    def begin(self, units: int) -> Array:
        """Where the rows of each unit begin, and the end."""
        return np.searchsorted(self.owner, np.arange(units + 1)).astype(np.int64)

    def column(self, name: str, missing: float = 0.0) -> Array:
        """A column of numbers, one value per row; `missing` where the source has none."""
        if name not in self.source:
            return np.full(len(self.row), missing)
        return np.asarray(self.source[name][self.row], dtype=np.float64)

    @cached_property
    def image(self) -> Array:
        """Left, top, right, bottom."""
        return np.stack([self.column(name) for name in IMAGE], axis=1)

    @cached_property
    def solid(self) -> Array:
        """On the ground: x, y, low, high, length, width, angle (x towards y)."""
        x, y, z, length, width, height, yaw = (self.column(name) for name in PLACE)
        turn = np.remainder(yaw, 2 * np.pi)
        up, ahead = (y, z) if self.camera else (z, y)
        if self.bottom:
            low, high = (up - height, up) if self.camera else (up, up + height)
        else:
            low, high = up - height / 2, up + height / 2
        return np.stack([x, ahead, low, high, length, width, -turn if self.camera else turn], axis=1)

    @cached_property
    def centre(self) -> Array:
        """On the ground: x, y, length, width, height, yaw, vx, vy."""
        x, y, z, length, width, height, yaw = (self.column(name) for name in PLACE)
        vx, vy = self.column("vx", np.nan), self.column("vy", np.nan)
        return np.stack([x, z if self.camera else y, length, width, height, yaw, vx, vy], axis=1)

    @cached_property
    def levels(self) -> Array:
        """A bit for each level that a truth is within."""
        bits = np.full(len(self.row), 1 << LEVELS.index("all"), dtype=np.uint8)
        difficulty = self.column("difficulty", np.nan)
        tall = self.column("bottom") - self.column("top")
        for level in range(3):
            inside = np.ones(len(self.row), dtype=bool)
            if holds(self.source, IMAGE):
                inside = tall > HEIGHT[level]
                inside &= ~(self.column("occluded") > OCCLUDED[level]) & ~(self.column("truncated") > TRUNCATED[level])
            inside = np.where(np.isnan(difficulty), inside, (difficulty >= 0) & (difficulty <= level))
            bits |= (inside << level).astype(np.uint8)
        return bits

    @cached_property
    def small(self) -> Array:
        """A bit for each level that a detection is too small for."""
        bits = np.zeros(len(self.row), dtype=np.uint8)
        if holds(self.source, IMAGE):
            tall = np.abs(self.column("top") - self.column("bottom"))
            for level in range(3):
                bits |= ((tall < HEIGHT[level]) << level).astype(np.uint8)
        return bits


class SolidPairs(Frozen):
    """Both sides by frame. `regions` are rows of the truth in which nothing counts against a detection.

    `dropped` counts the rows that a filter took: by unit, with the filter's words.
    """

    truth: Records
    prediction: Records
    units: Array
    metadata: Metadata
    coverage: Coverage
    weight: Array | None
    sides: tuple[Box3dSide, Box3dSide]
    regions: Box3dSide
    joined: SetPairs
    dropped: tuple[tuple[str, Array], ...]

    def slice_values(self, name: str) -> tuple[Array, Array]:
        """The class of every row of both sides, a truth of a neighbouring class under its own; or a column."""
        sides = self.sides
        owner = np.concatenate([side.owner for side in sides])
        if name == "label":
            shown = np.array([*self.metadata.axes["class"].display_names, "other"], dtype=object)
            return shown[np.concatenate([side.group for side in sides])], owner
        rows = replace(
            self.joined, truth_row=sides[0].row, truth_owner=sides[0].owner, prediction_row=sides[1].row,
            prediction_owner=sides[1].owner,
        )  # fmt: skip
        values = self.truth.find(name)
        if values is not None:  # a frame without objects still has the value that its row names
            first = np.full(len(self.units), None, dtype=object)
            first[self.joined.truth_owner[::-1]] = as_object(values[self.joined.truth_row].tolist())[::-1]
            codes = factorize(as_object([str(one) for one in values[self.joined.truth_row].tolist()]))[1][0]
            own = np.full(len(self.units), -1, dtype=np.int64)
            own[self.joined.truth_owner[::-1]] = codes[::-1]
            if (own[self.joined.truth_owner] == codes).all():
                return first, np.arange(len(self.units))
        return rows.slice_values(name)

    def select(self, keep: Array) -> SolidPairs:
        """The rows that a mask over both sides keeps, as `slice_values` gives them. All units stay."""
        a, b = self.sides
        if len(keep) == len(self.units) and len(keep) != len(a) + len(b):
            rows = [np.flatnonzero(keep[side.owner]) for side in self.sides]
        else:
            rows = [np.flatnonzero(keep[: len(a)]), np.flatnonzero(keep[len(a) :])]
        return replace(self, sides=(a.take(rows[0]), b.take(rows[1])))


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> SolidPairs:
    """Join by frame, and give every row its class and place."""
    rules, true, predicted = prepare(truth, prediction, options)
    if rules.name == "nuscenes":
        true, predicted = filter_rows(rules, true, predicted)
    joined = join_sets(truth, prediction, "frame", _value(truth, prediction), policy, weight="sample_weight")
    chosen = options.of("frames")
    if chosen is not None:
        joined = _only(joined, {str(one) for one in chosen["frame"].tolist()})
    sides, dropped = [], {}
    for side, prepared, row, owner in (
        ("truth", true, joined.truth_row, joined.truth_owner),
        ("prediction", predicted, joined.prediction_row, joined.prediction_owner),
    ):
        sides.append(_side(prepared, row, owner, prepared.keep, _axis_conventions(rules, prepared, options, side)))
        for what, rows in prepared.dropped.items():
            name = f"{'truths' if side == 'truth' else 'predictions'} {what}"
            dropped[name] = np.bincount(owner[rows[row]], minlength=len(joined.units)).astype(np.float64)
    regions = _side(true, joined.truth_row, joined.truth_owner, true.region, (True, True))
    return SolidPairs(
        truth, prediction, joined.units, _facts(rules, true, predicted), joined.coverage, joined.weight,
        (sides[0], sides[1]), regions, joined, tuple(dropped.items()),
    )  # fmt: skip


def _value(truth: Records, prediction: Records) -> str:
    for name in ("x", "left"):
        if name in truth and name in prediction:
            return name
    has, lacks = (truth, prediction) if "x" in truth else (prediction, truth)
    raise Incompatible(
        f"{has.source} has places in space and {lacks.source} has boxes in the image",
        where=lacks.source,
        remedy="Give both sides the same columns.",
    )


def _only(joined: SetPairs, names: set[str]) -> SetPairs:
    """Return the pairs with only the named frames."""
    wanted = np.array([str(one) in names for one in joined.units.tolist()], dtype=bool)
    place = np.cumsum(wanted) - 1
    mine, theirs = wanted[joined.truth_owner], wanted[joined.prediction_owner]
    return replace(
        joined, units=joined.units[wanted], truth_row=joined.truth_row[mine],
        truth_owner=place[joined.truth_owner[mine]], prediction_row=joined.prediction_row[theirs],
        prediction_owner=place[joined.prediction_owner[theirs]],
        weight=None if joined.weight is None else joined.weight[wanted],
    )  # fmt: skip


def _axis_conventions(rules: Rules, prepared: Prepared, options: Options, side: str) -> tuple[bool, bool]:
    """Whether y points down, and whether a place is the middle of the bottom."""
    axes, anchor = options.of("axes", side), options.of("anchor", side)
    camera = rules.name == "kitti" if axes == "auto" else axes == "camera"
    return camera, camera if anchor == "auto" else anchor == "bottom"


def _side(prepared: Prepared, row: Array, owner: Array, keep: Array, meant: tuple[bool, bool]) -> Box3dSide:
    places = np.flatnonzero(keep[row])
    rows = row[places]
    group = np.ascontiguousarray(prepared.group[rows], dtype=np.int32)
    return Box3dSide(prepared.records, rows, owner[places], group, prepared.own[rows].astype(np.uint8), *meant)


def _facts(rules: Rules, truth: Prepared, prediction: Prepared) -> Metadata:
    sides = (truth, prediction)
    has = set()
    if all(holds(side.records, PLACE) for side in sides):
        has.add("place")
    if all(holds(side.records, IMAGE) for side in sides):
        has |= {"image", "levels"}
    if "difficulty" in truth.records:
        has.add("levels")
    if all("alpha" in side.records for side in sides):
        alpha = prediction.records["alpha"][prediction.keep]
        if not (np.isnan(alpha) | (alpha == NOT_KNOWN)).any():
            has.add("alpha")
    for name in ("vx", "attribute", "points"):
        if name in truth.records:
            has.add(name)
    return Metadata({"class": Axis(rules.classes)}, {"rules": rules.name}, frozenset(has))
