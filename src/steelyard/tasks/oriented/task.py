"""Task `oriented`: objects found in images, each a rotated box or a quadrilateral with a class and a score.

Conventions
    The unit is the image. An object is four corners in order around, or a rectangle: centre, width, height, and the
    angle from the x axis towards the y axis, which is clockwise on a screen. The option `angle` names how angles are
    written. IoU is exact, by clipping; quadrilaterals are compared as they are, dented ones too.
    Matching, metrics and settings are those of `boxes`, without a limit of detections per image: tiles of aerial
    images hold thousands.

Metrics
    Those of `boxes`. `ap(kind=voc11, rule=dota)` is DOTA's own, and `map` is COCO's with the IoU of rotated boxes.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from steelyard import _native
from steelyard.core.counts import share_text
from steelyard.core.errors import InvalidValue, MissingColumn, OutOfRange
from steelyard.core.metric import Metric
from steelyard.core.options import Option, Options
from steelyard.core.quads import (
    CONVENTIONS,
    CORNERS,
    RECTANGLE,
    Floats,
    areas_of,
    corners_of,
    extents_of,
    forbidden,
    from_convention,
    smallest_rectangles,
)
from steelyard.core.records import LARGEST, BoxRecords, Column, Records, Schema, box_columns, with_similarity
from steelyard.core.task import Policy
from steelyard.tasks.boxes.calibration import LocalisationCalibrationError
from steelyard.tasks.boxes.lrp import OptimalLrp
from steelyard.tasks.boxes.pairs import TRUTH as BOXES
from steelyard.tasks.boxes.pairs import BoxPairs, ProbIou, QuadIou, pair
from steelyard.tasks.boxes.precision import (
    AveragePrecision,
    MeanAveragePrecision,
    MeanAveragePrecision50,
    MeanAveragePrecision75,
)
from steelyard.tasks.boxes.settings import MOST
from steelyard.tasks.boxes.task import TASK as BOX_TASK

_SHAPE = (
    Column("cx", "number", required=False, meaning="centre, pixels from the left", minimum=-LARGEST, maximum=LARGEST),
    Column("cy", "number", required=False, meaning="centre, pixels from the top", minimum=-LARGEST, maximum=LARGEST),
    Column("w", "number", required=False, minimum=0, maximum=LARGEST, meaning="size along the angle"),
    Column("h", "number", required=False, minimum=0, maximum=LARGEST, meaning="size across"),
    Column(
        "angle",
        "number",
        required=False,
        meaning="from the x axis towards the y axis, radians",
        minimum=-LARGEST,
        maximum=LARGEST,
    ),
    *(
        Column(
            name,
            "number",
            required=False,
            meaning="a corner, in place of the five above",
            minimum=-LARGEST,
            maximum=LARGEST,
        )
        for name in CORNERS
    ),
)
TRUTH = Schema(key=("image",), columns=(*BOXES.columns[:2], *_SHAPE, *BOXES.columns[6:]))
PREDICTION = Schema(
    key=("image",),
    columns=(*BOXES.columns[:2], *_SHAPE, Column("score", "number", meaning="confidence; higher is surer")),
)
OPTIONS = (
    Option(
        "format", "choice", "Format of the files.", "auto", ("auto", "coco", "dota", "hrsc", "yolo-obb", "csv"),
        reads=True,
    ),
    next(option for option in BOX_TASK.options if option.name == "images"),
    Option("names", "path", "Class names in order: data.yaml, or one per line.", metavar="FILE", reads=True),
    Option("angle", "choice", "Convention of the angles.", "radians", tuple(CONVENTIONS)),
    Option("turn", "choice", "Direction of angles; x-to-y is clockwise on a screen.", "x-to-y", ("x-to-y", "y-to-x")),
    Option(
        "polygons", "choice", "Compare the four corners as they are, or their smallest enclosing rectangle.", "corners",
        ("corners", "rectangle"), sides=False,
    ),
    Option(
        "overlap", "choice", "Similarity of objects: IoU, or probIoU as in Ultralytics.", "iou",
        ("iou", "probiou"), sides=False,
    ),
    Option(
        "difficult", "choice", "Ignore difficult objects, as in DOTA v1.0, or count them, as from v1.5 on.", "ignore",
        ("ignore", "count"), sides=False,
    ),
)  # fmt: skip


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> BoxPairs:
    """As boxes are joined."""
    return pair(*prepare(truth, prediction, options), policy)


def prepare(truth: Records, prediction: Records, options: Options) -> tuple[Records, Records]:
    """Both sides as corners with the boxes around them and their areas, and how they are compared."""
    return _with_measures(truth, "truth", options), _with_measures(prediction, "prediction", options)


def _with_measures(records: Records, side: str, options: Options) -> BoxRecords:
    corners = corners_of_records(records, side, options)
    crossed = np.flatnonzero(_native.quad_shapes(corners) == 2)
    if len(crossed):
        raise InvalidValue(
            "the polygon crosses itself",
            where=records.where(int(crossed[0]), "x1"),
            remedy="List the corners in order around the box.",
        )
    probable = options.of("overlap") == "probiou"
    rectangles = smallest_rectangles(corners) if probable or options.of("polygons") == "rectangle" else None
    if rectangles is not None and options.of("polygons") == "rectangle":
        corners = corners_of(rectangles)
    columns = {name: values for name, values in records.columns.items() if name not in (*CORNERS, *RECTANGLE)}
    columns |= box_columns(extents_of(corners))
    columns["quad"], columns["shape"] = corners, rectangles if probable and rectangles is not None else corners
    columns["ignored"] = np.zeros(len(corners), dtype=bool)
    if side != "truth" or "area" not in columns:
        columns["area"] = areas_of(corners)
    if options.of("difficult") == "count":
        columns.pop("difficult", None)
    return with_similarity(records, columns, ProbIou() if probable else QuadIou())


def corners_of_records(records: Records, side: str, options: Options) -> Floats:
    """The corners of one side, from corners, or from centres, sizes and angles in their convention."""
    if all(name in records for name in CORNERS):
        return np.ascontiguousarray(np.stack([records[name] for name in CORNERS], axis=1), dtype=np.float64)
    lacking = [name for name in RECTANGLE if name not in records]
    if lacking:
        raise MissingColumn(
            f"column '{lacking[0]}' is missing", where=records.source,
            remedy="Give centre, size and angle (cx, cy, w, h, angle), or four corners (x1, y1 to x4, y4).",
        )  # fmt: skip
    rows = np.stack([records[name] for name in RECTANGLE], axis=1).astype(np.float64)
    name = str(options.of("angle", side))
    _check_angles(rows, name, records)
    rows = from_convention(rows, name)
    if options.of("turn", side) == "y-to-x":
        rows[:, 4] = -rows[:, 4]
    return corners_of(rows)


def _check_angles(rows: Floats, name: str, records: Records) -> None:
    """Refuse angles that the convention does not allow; a few beyond a full turn are reduced."""
    angle, full = rows[:, 4], 360.0 if CONVENTIONS[name].degrees else 2 * math.pi
    if math.isfinite(CONVENTIONS[name].low):
        wrong = np.flatnonzero(forbidden(rows, name))
        if len(wrong):
            row = int(wrong[0])
            what = f"angle {angle[row]:g}, width {rows[row, 2]:g} and height {rows[row, 3]:g} are not of '{name}'"
            raise OutOfRange(
                f"{what}; {share_text(len(wrong), len(rows), 'row', 'are')} not", where=records.where(row, "angle"),
                remedy="Set their convention: the options `angle=radians` and `angle=degrees` accept any value.",
            )  # fmt: skip
        return
    beyond = np.flatnonzero(np.abs(angle) > full + 1e-6)
    if len(beyond) and len(beyond) >= 0.01 * len(rows):
        row = int(beyond[0])
        remedy = "Angles of more than 360 degrees are none; is it another column?"
        what = f"angle {angle[row]:g} is more than a full turn"
        if not CONVENTIONS[name].degrees:
            what, remedy = f"angle {angle[row]:g} looks like degrees", "Set the option `angle=degrees`."
        raise OutOfRange(
            f"{what}; {share_text(len(beyond), len(rows), 'row', 'are')} beyond",
            where=records.where(row, "angle"),
            remedy=remedy,
        )


class _Map(MeanAveragePrecision):
    __doc__ = MeanAveragePrecision.__doc__
    cap = MOST


class _Map50(MeanAveragePrecision50):
    __doc__ = MeanAveragePrecision50.__doc__
    cap = MOST


class _Map75(MeanAveragePrecision75):
    __doc__ = MeanAveragePrecision75.__doc__
    cap = MOST


class _AveragePrecision(AveragePrecision):
    __doc__ = AveragePrecision.__doc__
    cap = MOST

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (*super().examples()[:4], cls(kind="voc11", rule="dota"), cls(kind="voc", rule="dota"))


class _LocalisationCalibration(LocalisationCalibrationError):
    __doc__ = LocalisationCalibrationError.__doc__
    max_dets: int = MOST


class _OptimalLrp(OptimalLrp):
    __doc__ = OptimalLrp.__doc__
    max_dets: int = MOST


_OWN = {cls.name: cls for cls in (_Map, _Map50, _Map75, _AveragePrecision, _LocalisationCalibration, _OptimalLrp)}
TASK = replace(
    BOX_TASK,
    name="oriented",
    title="Oriented object detection",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=tuple(_OWN.get(cls.name, cls) for cls in BOX_TASK.metrics if cls.name not in ("mr2", "ji")),
    defaults=(
        "map", "map50", "map75", "map(area=small)", "map(area=medium)", "map(area=large)", "ar@100",
        "ap(kind=voc11, rule=dota)", "ap(kind=voc, rule=dota)", "ap(kind=step)", "best_f1", "precision", "recall", "f1",
        "fpr_image", "fppi", "mean_iou",
    ),
    options=OPTIONS,
    reader="oriented",
    views="steelyard.tasks.oriented.views",
    checks="steelyard.tasks.oriented.checks",
)  # fmt: skip
