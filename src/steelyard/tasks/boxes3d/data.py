"""Task `boxes3d`: the data, from what was read to rows with a class, a level and a place on the ground.

Conventions
    The unit is the frame (an image, a sample). Columns: `frame`, `label`, the box `x`, `y`, `z`, `length`, `width`,
    `height`, `yaw`, `score` in predictions; where KITTI's rules are followed the box in the image, `left`, `top`,
    `right`, `bottom`, `alpha`, and in the truth `truncated`, `occluded`; where nuScenes' are, `vx`, `vy`, `attribute`,
    and in the truth `points`. A row with a frame and nothing else says that nothing is there.
    `axes=camera`: x right, y down, z ahead, the place is the middle of the bottom, yaw turns z towards x.
    `axes=up`: z up, the place is the middle of the box, yaw turns x towards y. Yaw is in radians, of any size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core.errors import EmptyCell, MissingColumn, MissingKey, OutOfRange, UnknownName, nearest
from steelyard.core.frozen import Frozen
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array
from steelyard.core.records import Column, Records, Schema, factorize, weight_column

LARGEST = 1e9
IMAGE, PLACE = ("left", "top", "right", "bottom"), ("x", "y", "z", "length", "width", "height", "yaw")
LEVELS = ("easy", "moderate", "hard", "all")
HEIGHT, OCCLUDED, TRUNCATED = (40.0, 25.0, 25.0), (0.0, 1.0, 2.0), (0.15, 0.30, 0.50)  # KITTI's limits by level
KITTI = ("Car", "Pedestrian", "Cyclist")
NEIGHBOURS = {"van": "Car", "person_sitting": "Pedestrian"}  # matched, and never counted
REGION = "dontcare"
RANGES = {
    "car": 50.0, "truck": 50.0, "bus": 50.0, "trailer": 50.0, "construction_vehicle": 50.0, "pedestrian": 40.0,
    "motorcycle": 40.0, "bicycle": 40.0, "traffic_cone": 30.0, "barrier": 30.0,
}  # fmt: skip
NUSCENES = tuple(RANGES)
RACK = "bicycle_rack"
_OF_VEHICLES = ("vehicle.moving", "vehicle.parked", "vehicle.stopped")
_OF_CYCLES = ("cycle.with_rider", "cycle.without_rider")
ATTRIBUTES = {
    **dict.fromkeys(("car", "truck", "bus", "trailer", "construction_vehicle"), _OF_VEHICLES),
    **dict.fromkeys(("bicycle", "motorcycle"), _OF_CYCLES),
    "pedestrian": ("pedestrian.moving", "pedestrian.sitting_lying_down", "pedestrian.standing"),
    "traffic_cone": (), "barrier": (),
}  # fmt: skip


def _number(name: str, meaning: str) -> Column:
    return Column(
        name, "number", required=False, empty=True, minimum=-LARGEST, maximum=LARGEST, meaning=meaning
    )  # fmt: skip


_OBJECT = (
    Column("frame", "id", meaning="the frame, image or sample, which is the unit"),
    Column("label", "label", empty=True, meaning="the class"),
    _number("x", "place, in metres"),
    _number("y", "place, in metres"),
    _number("z", "place, in metres"),
    _number("length", "size along the heading, in metres"),
    _number("width", "size across the heading, in metres"),
    _number("height", "size upward, in metres"),
    _number("yaw", "heading, in radians"),
    _number("vx", "velocity, in metres per second; empty where it is not known"),
    _number("vy", "velocity, in metres per second; empty where it is not known"),
    Column("attribute", "label", required=False, empty=True, meaning="what the object does, as nuScenes names it"),
    _number("left", "the box in the image, in pixels"),
    _number("top", "the box in the image, in pixels"),
    _number("right", "the box in the image, in pixels"),
    _number("bottom", "the box in the image, in pixels"),
    _number("alpha", "KITTI's angle of observation, in radians; -10 where it is not known"),
    _number("ego_dx", "x from the car that looks, in metres"),
    _number("ego_dy", "y from the car that looks, in metres"),
)
TRUTH = Schema(
    key=("frame",),
    columns=(
        *_OBJECT,
        _number("truncated", "how much lies outside the image, from 0 to 1"),
        _number("occluded", "KITTI's level of occlusion, from 0 to 3"),
        Column("difficulty", "number", required=False, empty=True, meaning="KITTI's level: 0, 1, 2; -1 for none"),
        Column("points", "number", required=False, empty=True, meaning="lidar and radar points inside; 0 is not seen"),
        weight_column("frame"),
    ),
)
PREDICTION = Schema(
    key=("frame",),
    columns=(*_OBJECT, Column("score", "number", empty=True, meaning="how sure the model is")),
)
OPTIONS = (
    Option("format", "choice", "Format of the files.", "auto", ("auto", "kitti", "nuscenes", "csv"), reads=True),
    Option(
        "rules", "choice", "Classes, difficulty levels and filters of KITTI, of nuScenes, or none.", "auto",
        ("auto", "kitti", "nuscenes", "none"), sides=False,
    ),
    Option("axes", "choice", "Which way is up: camera (y down) or up (z up).", "auto", ("auto", "camera", "up")),
    Option(
        "anchor", "choice", "Whether positions are the centre of the bottom or of the box.", "auto",
        ("auto", "bottom", "centre"),
    ),
    Option("classes", "ids", "Classes to score instead of those of the rules.", sides=False, column="label"),
    Option("frames", "ids", "Frames to score; others are dropped.", sides=False, column="frame"),
)  # fmt: skip


class Rules(Frozen):
    """Whose rules hold: their name, the classes that are scored, and how many rows each filter took (by side)."""

    name: str
    classes: tuple[str, ...]


class Prepared(Frozen):
    """One side: each row's class (-1: not scored), which rows stay, are regions, are of their class itself."""

    records: Records
    group: Array
    keep: Array
    region: Array
    own: Array
    dropped: dict[str, Array]


def rules_of(truth: Records, options: Options) -> str:
    """Whose rules hold: those asked for, else those of the files, else by the columns that a table has."""
    asked: str = options.of("rules")
    if asked != "auto":
        return asked
    form = getattr(truth, "form", "table")
    if form != "table":
        return str(form)
    if all(name in truth for name in IMAGE):
        return "kitti"
    return "nuscenes" if "vx" in truth or "attribute" in truth else "none"


def there(records: Records) -> Array:
    """Which rows have an object: the others only name their frame."""
    seen = np.zeros(len(records), dtype=bool)
    for name in ("x", "left"):
        if name in records:
            seen |= ~np.isnan(records[name])
    return seen


def holds(records: Records, names: Sequence[str]) -> bool:
    """Whether a side has all of some columns."""
    return all(name in records for name in names)


def prepare(truth: Records, prediction: Records, options: Options) -> tuple[Rules, Prepared, Prepared]:
    """Both sides, each row with its class."""
    name = rules_of(truth, options)
    chosen = options.of("classes")
    asked = () if chosen is None else tuple(dict.fromkeys(map(str, chosen["label"].tolist())))
    coded: list[tuple[list[str], Array]] = []
    for records in (truth, prediction):
        if not holds(records, PLACE) and not holds(records, IMAGE):
            lacking = next(one for one in PLACE if one not in records)
            has = ", ".join(f"'{column}'" for column in [*records.names.values(), *records.other])
            raise MissingColumn(
                f"column '{lacking}' is missing; the columns are {has}",
                where=records.source,
                remedy="A box is x, y, z, length, width, height, yaw (or left, top, right, bottom in the image alone).",
            )
        names, places = coded_column(records, "label")
        coded.append((list(map(str, names.tolist())), places))
    classes = _classes(name, asked, [set(labels) for labels, _ in coded])
    rules = Rules(name, classes)
    sides = []
    for records, (labels, code), side in zip((truth, prediction), coded, ("truth", "prediction"), strict=True):
        sides.append(_side(rules, records, labels, code, side, bool(asked)))
    return rules, sides[0], sides[1]


def coded_column(records: Records, name: str) -> tuple[Array, Array]:
    """A column of texts as its distinct values and each row's place among them, as the reader has it or made here."""
    coded = getattr(records, "codes", {}).get(name)
    if coded is not None:
        return coded  # type: ignore[no-any-return]
    values, (code,) = factorize(records[name])
    return values, code


def _classes(rules: str, asked: tuple[str, ...], seen: list[set[str]]) -> tuple[str, ...]:
    """The classes that are scored, in order."""
    if asked:
        return asked
    if rules == "nuscenes":
        return NUSCENES
    every = (seen[0] | seen[1]) - {""}
    if rules == "kitti":
        small = {one.lower() for one in every}
        return tuple(one for one in KITTI if one.lower() in small)
    return tuple(sorted(every))


def _side(rules: Rules, records: Records, labels: list[str], code: Array, side: str, chosen: bool) -> Prepared:
    place = {name.lower(): k for k, name in enumerate(rules.classes)} if rules.name == "kitti" else {}
    place = place or {name: k for k, name in enumerate(rules.classes)}
    named = [name.lower() if rules.name == "kitti" else name for name in labels]
    group, own = [], []
    for name in named:
        beside = NEIGHBOURS.get(name, "") if rules.name == "kitti" and side == "truth" and name not in place else ""
        group.append(place.get(beside.lower() if beside else name, -1))
        own.append(not beside)
    present = there(records)
    if rules.name == "nuscenes" and not chosen:
        _refuse_labels(records, labels, code, side, present)
    of_row = np.array(group or [-1], dtype=np.int32)[code]
    region = np.array([name == REGION and rules.name == "kitti" for name in named] or [False])[code] & present
    of_row[~present] = -1
    _check(records, present & ~region, side, rules.name)
    counts_row = present & ~region
    if rules.name != "kitti":
        counts_row &= of_row >= 0
    return Prepared(records, of_row, counts_row, region, np.array(own or [True])[code], {})


def _refuse_labels(records: Records, labels: list[str], code: Array, side: str, present: Array) -> None:
    allowed = {*NUSCENES, RACK} if side == "truth" else set(NUSCENES)
    wrong = np.array([one not in allowed for one in labels] or [False])[code] & present
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UnknownName(
            f"'{labels[code[row]]}' is not a nuScenes class",
            where=records.place(row),
            remedy=nearest(labels[code[row]], NUSCENES) + " Other classes: the option `classes=a,b`, or `rules=none`.",
        )


def _check(records: Records, rows: Array, side: str, rules: str) -> None:
    """Every box has finite numbers and sizes above 0, and a prediction a score."""
    for name in (*PLACE, *IMAGE):
        if name in records and (name in IMAGE or holds(records, PLACE)):
            wrong = rows & np.isnan(records[name])
            if wrong.any():
                row = int(np.argmax(wrong))
                raise EmptyCell(
                    f"'{name}' is empty or nan",
                    where=records.where(row, name),
                    remedy="Give a finite number, or no row.",
                )
    if side == "prediction":
        wrong = rows & ~np.isfinite(records["score"])
        if wrong.any():
            row = int(np.argmax(wrong))
            raise EmptyCell("the score is empty or nan", where=records.where(row, "score"), remedy="Give a number.")
    if holds(records, PLACE):
        for name in ("length", "width", "height"):
            wrong = rows & ~(records[name] > 0)
            if wrong.any():
                _refuse_size(records, int(np.argmax(wrong)), name, rules)
    if holds(records, IMAGE):
        for low, high, what in (("left", "right", "width"), ("top", "bottom", "height")):
            wrong = rows & (records[high] < records[low])
            if wrong.any():
                row = int(np.argmax(wrong))
                raise OutOfRange(
                    f"the {what} in the image is {records[high][row] - records[low][row]:g}",
                    where=records.where(row, high),
                    remedy="A box in the image is left, top, right, bottom.",
                )
    if "attribute" in records and rules == "nuscenes":
        _refuse_attributes(records, rows)


def _refuse_size(records: Records, row: int, name: str, rules: str) -> None:
    value = records[name][row]
    if rules == "kitti" and records["x"][row] <= -999:
        raise MissingKey(
            f"a {records['label'][row]} without a place in space",
            where=records.where(row, name),
            remedy="Only DontCare has none. Give its size and place, or leave the columns of the place out.",
        )
    raise OutOfRange(
        f"the {name} is {value:g}", where=records.where(row, name), remedy="Sizes are metres, and more than 0."
    )


def _refuse_attributes(records: Records, rows: Array) -> None:
    """An attribute is empty, or one that nuScenes has for the class."""
    attributes, code = coded_column(records, "attribute")
    names = list(map(str, attributes.tolist()))
    labels, label = coded_column(records, "label")
    for k, text in enumerate(map(str, labels.tolist())):
        allowed = ATTRIBUTES.get(text)
        if allowed is None:
            continue
        bad = np.array([one != "" and one not in allowed for one in names])
        if not bad.any():
            continue
        wrong = rows & (label == k) & bad[code]
        if wrong.any():
            row = int(np.argmax(wrong))
            all_attributes = [one for some in ATTRIBUTES.values() for one in some]
            attribute = names[code[row]]
            what = (
                f"attribute '{attribute}' is not one of {text}"
                if attribute in all_attributes
                else f"'{attribute}' is not an attribute"
            )
            raise UnknownName(
                what,
                where=records.where(row, "attribute"),
                remedy=nearest(attribute, allowed) if allowed else f"A {text} has none: leave it empty.",
            )
