"""Task `tracking`: the data, from what was read to rows by sequence and class.

Conventions
    The unit is the sequence. Columns: `sequence`, `frame`, `track`, and a box `x`, `y`, `w`, `h` in pixels (or `x`,
    `y`, `right`, `bottom`), or a `mask`; `label` where there are several classes, `score` in predictions.
    A row with a sequence and nothing else says that nothing is there. Rows may stand in any order; inside a frame their
    order decides between equally good pairings, as in the reference.
    In the truth `ignore` marks a region: detections there that match no truth do not count. `flag` 0 means that the
    benchmark does not score the row. `frames` is the length of the sequence; else it ends with its last row.
    `benchmark` takes out what a benchmark takes out before it scores: see `ROLES`.
"""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np

from steelyard.core.errors import EmptyCell, InvalidSetting, MissingColumn, MissingData, OutOfRange, UnknownName
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array
from steelyard.core.records import Column, Records, Schema, factorize, weight_column

LARGEST = 1e12

_OBJECT = (
    Column("sequence", "id", meaning="the sequence, which is the unit"),
    Column("frame", "integer", empty=True, minimum=0, meaning="the frame's number, counted alike on both sides"),
    Column("track", "label", empty=True, meaning="the object's name, the same in all frames"),
    Column("x", "number", required=False, empty=True, minimum=-LARGEST, maximum=LARGEST, meaning="left edge"),
    Column("y", "number", required=False, empty=True, minimum=-LARGEST, maximum=LARGEST, meaning="upper edge"),
    Column("w", "number", required=False, empty=True, minimum=-LARGEST, maximum=LARGEST, meaning="width"),
    Column("h", "number", required=False, empty=True, minimum=-LARGEST, maximum=LARGEST, meaning="height"),
    Column("right", "number", required=False, empty=True, minimum=-LARGEST, maximum=LARGEST, meaning="instead of w"),
    Column("bottom", "number", required=False, empty=True, minimum=-LARGEST, maximum=LARGEST, meaning="instead of h"),
    Column("mask", "mask", required=False, meaning="run lengths, instead of a box"),
    Column("label", "label", required=False, empty=True, meaning="the class"),
)
TRUTH = Schema(
    key=("sequence",),
    columns=(
        *_OBJECT,
        Column("flag", "number", required=False, empty=True, meaning="0 where a benchmark does not score the row"),
        Column("ignore", "flag", required=False, meaning="true for a region in which nothing counts against a tracker"),
        Column("truncated", "number", required=False, empty=True, meaning="KITTI's level of truncation"),
        Column("occluded", "number", required=False, empty=True, meaning="KITTI's level of occlusion"),
        Column("frames", "number", required=False, empty=True, minimum=0, meaning="how many frames the sequence has"),
        weight_column("sequence"),
    ),
)
PREDICTION = Schema(
    key=("sequence",),
    columns=(*_OBJECT, Column("score", "number", required=False, empty=True, meaning="how sure the tracker is")),
)

SCORED, DISTRACTOR, PRESENT, REGION, OUT = range(5)
ROLES = ("scored", "distractor", "present", "region", "out")  # what each row of the truth is for
MOT = {
    1: "pedestrian", 2: "person on vehicle", 3: "car", 4: "bicycle", 5: "motorbike", 6: "non-motorised vehicle",
    7: "static person", 8: "distractor", 9: "occluder", 10: "occluder on ground", 11: "full occluder", 12: "reflection",
    13: "crowd",
}  # fmt: skip
DISTRACTORS = {"mot16": (2, 7, 8, 12), "mot17": (2, 7, 8, 12), "mot20": (2, 6, 7, 8, 12)}
MOTS = {"1": "car", "2": "pedestrian"}
KITTI = {"car": "car", "van": "car", "pedestrian": "pedestrian", "person": "pedestrian", "person_sitting": "pedestrian"}
KITTI_HEIGHT = 25.0  # pixels; what fits no truth and is not higher does not count
BENCHMARKS = ("none", "mot15", "mot16", "mot17", "mot20", "kitti", "mots")

OPTIONS = (
    Option(
        "format", "choice", "Format of the files.", "auto",
        ("auto", "motchallenge", "kitti", "mots", "cvat", "csv"), reads=True,
    ),
    Option(
        "benchmark", "choice", "Apply the filters of this benchmark before scoring.", "none", BENCHMARKS,
        sides=False,
    ),
    Option("classes", "ids", "Classes to score; rows of other classes are dropped.", sides=False, column="label"),
    Option(
        "distractors", "ids", "Classes of the ground truth on which predictions are not counted.", sides=False,
        column="label",
    ),
    Option(
        "degenerate", "choice", "What to do with boxes without an area.", "error", ("error", "keep"),
    ),
    Option("first_frame", "number", "Number of the first frame in a file.", minimum=-1, reads=True),
    Option(
        "untracked", "choice", "What to do with rows of track -1.", "error", ("error", "skip"), reads=True,
    ),
    Option(
        "sequences", "path", "Table with a column 'sequence' and columns to slice by.", metavar="FILE", sides=False,
        reads=True,
    ),
)  # fmt: skip


class TrackRecords(Records):
    """One side with what each row is for: its place among `groups` (the classes), its role, and the height that a
    prediction without a truth needs to count.
    """

    groups: tuple[str, ...] = ()
    group: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    role: Array = field(default_factory=lambda: np.zeros(0, np.int8))
    least: float = -1.0


def prepare(truth: Records, prediction: Records, options: Options) -> tuple[TrackRecords, TrackRecords]:
    """Both sides with what each row is for, by the benchmark or the classes that were named."""
    benchmark = options.of("benchmark")
    chosen = _labels_of(options.of("classes")), _labels_of(options.of("distractors"))
    sides = []
    if benchmark == "none" and "flag" in truth and "label" not in prediction:  # a benchmark's file: classes of one side
        truth = replace(truth, columns={name: values for name, values in truth.columns.items() if name != "label"})
    for records, side in ((truth, "truth"), (prediction, "prediction")):
        there = rows_there(records)
        _check_boxes(records, there, options.of("degenerate", side) == "keep")
        groups, group, role = _groups(records, side, benchmark, chosen, there)
        sides.append(
            TrackRecords(
                records.source, records.columns, records.other, records.place, records.names,
                groups=groups, group=group, role=role, least=KITTI_HEIGHT if benchmark == "kitti" else -1.0,
            )
        )  # fmt: skip
    return sides[0], sides[1]


def rows_there(records: Records) -> Array:
    """Which rows have an object: the others only name their sequence."""
    frame = records["frame"]
    there: Array = np.ones(len(frame), dtype=bool) if frame.dtype.kind in "iu" else ~np.isnan(frame)
    return there


def _labels_of(records: Records | None) -> frozenset[str]:
    return frozenset() if records is None else frozenset(map(str, records["label"].tolist()))


Groups = tuple[tuple[str, ...], Array, Array]


def _groups(
    records: Records, side: str, benchmark: str, chosen: tuple[frozenset[str], frozenset[str]], there: Array
) -> Groups:
    """The classes, each row's place among them, and its role."""
    count = len(records)
    role = np.where(there, SCORED, OUT).astype(np.int8)
    if side == "truth" and "ignore" in records:
        role[records["ignore"] & there] = REGION
    if benchmark.startswith("mot") and benchmark != "mots":
        if side == "truth":
            _mot_roles(records, benchmark, role)
        else:
            _refuse_classes(records, there)
        return ("pedestrian",), np.broadcast_to(np.int64(0), count), role
    if side == "truth" and "flag" in records and benchmark != "kitti":
        role[(records["flag"] == 0) & (role == SCORED)] = OUT
    if "label" not in records:
        return ("",), np.broadcast_to(np.int64(0), count), role
    labels, (codes,) = factorize(records["label"])
    texts = tuple(str(label) for label in labels.tolist())
    if benchmark == "kitti":
        return _kitti_roles(records, side, texts, codes, role)
    scored, distractors = chosen
    if distractors and len(scored) != 1:
        raise InvalidSetting(
            "distractors are of one class, and it is not named", remedy="Name it with the option `classes`."
        )
    for code, text in enumerate(texts):
        mine = (codes == code) & (role == SCORED)
        if side == "truth" and text in distractors:
            role[mine] = DISTRACTOR
        elif scored and text not in scored:
            role[mine] = OUT
    if distractors:
        return tuple(next(iter(scored)) if text in distractors else text for text in texts), codes, role
    return texts, codes, role


def _mot_roles(records: Records, benchmark: str, role: Array) -> None:
    zero = records["flag"] == 0 if "flag" in records else np.zeros(len(records), dtype=bool)
    if benchmark == "mot15":
        role[(role == SCORED) & zero] = PRESENT
        return
    if "label" not in records:
        raise MissingData(
            f"the truth has no classes, which {benchmark} takes rows out by",
            where=records.source,
            remedy="Column 8 of a truth file is the class; the option `benchmark=none` looks at none.",
        )
    kind = _mot_classes(records, role)
    role[(role == SCORED) & np.isin(kind, DISTRACTORS[benchmark])] = DISTRACTOR
    role[(role == SCORED) & ((kind != 1) | zero)] = PRESENT


def _mot_classes(records: Records, role: Array) -> Array:
    labels = records["label"]
    number = {name: code for code, name in MOT.items()} | {str(code): code for code in MOT}
    if labels.dtype.kind in "iu":
        kind = labels
    else:
        kind = np.array([number.get(str(label), -1) for label in labels.tolist()], dtype=np.int64)
    wrong = (role == SCORED) & ((kind < 1) | (kind > max(MOT)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UnknownName(
            f"class {labels[row]} is none of the benchmark's",
            where=records.where(row, "label"),
            remedy="Column 8 of the truth is the class, from 1 to 13; the option `benchmark=none` looks at none.",
        )
    return kind


def _refuse_classes(records: Records, there: Array) -> None:
    """Predictions of these benchmarks are pedestrians: another class is a mistake."""
    if "label" not in records:
        return
    labels = records["label"]
    if labels.dtype.kind in "iu":
        wrong = (labels > 1) & there
    else:
        fine = {"", "1", "-1", "0", "pedestrian"}
        wrong = np.array([str(label) not in fine for label in labels.tolist()], dtype=bool) & there
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UnknownName(
            f"class {labels[row]}, where the benchmark knows pedestrians only",
            where=records.where(row, "label"),
            remedy="Write -1 or 1 in column 8, or score your own classes with the option `benchmark=none`.",
        )


def _kitti_roles(records: Records, side: str, texts: tuple[str, ...], codes: Array, role: Array) -> Groups:
    small = [text.lower() for text in texts]
    groups = tuple(KITTI.get(text, "") for text in small)
    scored = np.array([text in ("car", "pedestrian") for text in small], dtype=bool)[codes]
    is_known = np.array([text in KITTI for text in small], dtype=bool)[codes]
    if side == "prediction":
        role[(role == SCORED) & ~scored] = OUT
        return groups, codes, role
    role[(role == SCORED) & ~is_known] = OUT
    hidden = ~scored
    for name, most in (("occluded", 2), ("truncated", 0)):
        if name in records:
            hidden |= np.trunc(records[name]) > most
    role[(role == SCORED) & hidden] = DISTRACTOR
    return groups, codes, role


def _check_boxes(records: Records, there: Array, keep: bool) -> None:
    """Every object has a track and a shape, and a box has an area."""
    tracks = records["track"]
    if tracks.dtype.kind not in "iu":
        empty = np.array([value == "" for value in tracks.tolist()], dtype=bool) & there
        if empty.any():
            row = int(np.argmax(empty))
            raise EmptyCell("the track is empty", where=records.where(row, "track"), remedy="Name every object.")
    if "mask" in records:
        return
    corners = "right" in records and "bottom" in records
    names = ("x", "y", "right", "bottom") if corners else ("x", "y", "w", "h")
    for name in names:
        if name not in records:
            has = ", ".join(f"'{column}'" for column in [*records.names.values(), *records.other])
            raise MissingColumn(
                f"column '{name}' is missing; the columns are {has}",
                where=records.source,
                remedy=f"Map it: `columns={{'{name}': 'YOUR_COLUMN'}}`. Or give x, y, right, bottom, or a mask.",
            )
        wrong = there & np.isnan(records[name])
        if wrong.any():
            row = int(np.argmax(wrong))
            raise EmptyCell(
                f"'{name}' is empty or nan", where=records.where(row, name), remedy="Give a finite number, or no row."
            )
    if keep:
        return
    sizes = (
        (records["right"] - records["x"], records["bottom"] - records["y"]) if corners else (records["w"], records["h"])
    )
    for name, size, what in zip(names[2:], sizes, ("width", "height"), strict=True):
        wrong = there & ~(size > 0)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise OutOfRange(
                f"the {what} is {size[row]:g}",
                where=records.where(row, name),
                remedy="It must be more than 0; the option `degenerate=keep` keeps such boxes, which fit nothing.",
            )
