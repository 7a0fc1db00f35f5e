"""Task `keypoints`: objects found in images, each a set of named points with a class and a score.

Conventions
    The unit is the image. Points are x, y, v in turn; v > 0 in the truth marks a visible one. Objects are compared by
    object keypoint similarity (OKS), in which a sigma says how exactly people place that point. A truth without a
    visible point is ignored: a detection near it counts neither way. In COCO's own metrics at most 20 detections of a
    class count in an image.

Metrics
    Those of `boxes`, with OKS in the place of IoU. exp is the C library's, so OKS is pycocotools' within 8 ulp; the ten
    numbers of COCO are equal to the last bit unless an OKS lies that near to a threshold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import EmptyCell, OutOfRange, ShapeMismatch
from steelyard.core.metric import Metric
from steelyard.core.options import Option, Options
from steelyard.core.records import LARGEST, Array, BoxRecords, Column, Records, Schema, with_similarity
from steelyard.core.task import Policy
from steelyard.tasks.boxes.counts import MeanIou
from steelyard.tasks.boxes.lrp import OptimalLrp
from steelyard.tasks.boxes.pairs import TRUTH as BOXES
from steelyard.tasks.boxes.pairs import BoxPairs, KeypointSimilarity, pair
from steelyard.tasks.boxes.precision import AverageRecall
from steelyard.tasks.boxes.task import TASK as BOX_TASK

# How exactly people place the 17 points of COCO's body, from nose to right ankle.
BODY = tuple(v / 1000 for v in (26, 25, 25, 35, 35, 79, 79, 72, 72, 62, 62, 107, 107, 87, 87, 89, 89))
MOST_OF_POINTS = 20  # detections of a class in an image that count in COCO's metrics of keypoints
POINTS = Column("keypoints", "numbers", meaning="x, y and v (above 0 where visible) of each point, in turn")
_BOX = tuple(replace(column, required=False) for column in BOXES.columns[2:6])
TRUTH = Schema(
    key=("image",),
    columns=(
        *BOXES.columns[:2],
        POINTS,
        *_BOX,
        *(column for column in BOXES.columns[6:] if column.name != "lesion_weight"),
        Column("visible", "integer", required=False, meaning="how many points count; 0: the object is ignored"),
    ),
)
PREDICTION = Schema(
    key=("image",),
    columns=(*BOXES.columns[:2], POINTS, Column("score", "number", meaning="confidence; higher is surer")),
)
OPTIONS = (
    Option(
        "sigmas", "numbers", "OKS sigmas: one number, or one per keypoint; default: COCO's body keypoints.",
        minimum=0, sides=False, metavar="S[,S...]",
    ),
)  # fmt: skip


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> BoxPairs:
    """As boxes are joined."""
    return pair(*prepare(truth, prediction, options), policy)


def prepare(truth: Records, prediction: Records, options: Options) -> tuple[Records, Records]:
    """Points with the boxes and areas that COCO gives them, and the sigmas."""
    width = max(records["keypoints"].shape[1] if len(records) else 0 for records in (truth, prediction))
    for records in (truth, prediction):
        numbers = records["keypoints"].shape[1]
        if len(records) and not width:
            raise EmptyCell(
                "the list of keypoints is empty",
                where=records.where(0, "keypoints"),
                remedy="Give x, y and v of each point.",
            )
        if len(records) and numbers % 3:
            raise ShapeMismatch(
                f"{numbers} numbers per row are not x, y and v of points",
                where=records.where(0, "keypoints"),
                remedy="Give x, y and v of each point.",
            )
        if len(records) and numbers != width:
            raise ShapeMismatch(
                f"{numbers} numbers per row, where the other side has {width}",
                where=records.where(0, "keypoints"),
                remedy="Give x, y and v of the same points on both sides.",
            )
    sigmas = _sigmas(options.of("sigmas"), width // 3)
    return _with_measures(truth, sigmas, True), _with_measures(prediction, sigmas, False)


def _sigmas(option: Any, points: int) -> tuple[float, ...]:
    if option is None:
        if points not in (0, len(BODY)):
            raise ShapeMismatch(
                f"there are {points} keypoints, and sigmas are known for COCO's {len(BODY)} only",
                remedy="Set the option `sigmas`: one number for all (0.05), or one for each.",
            )
        return BODY
    sigmas = tuple(option) * (max(1, points) if len(option) == 1 else 1)
    wrong = [sigma for sigma in sigmas if not 1e-6 <= sigma <= 1e6]
    if wrong:
        raise OutOfRange(f"a sigma of {wrong[0]:g} is out of range", remedy="It must be from 1e-6 to 1e6.")
    if len(sigmas) != points and points:
        raise ShapeMismatch(
            f"{count_text(len(sigmas), 'sigma')} for {points} keypoints", remedy="Give one number, or one for each."
        )
    return sigmas


def _with_measures(records: Records, sigmas: tuple[float, ...], truth: bool) -> BoxRecords:
    columns = dict(records.columns)
    points = np.ascontiguousarray(columns.pop("keypoints"), dtype=np.float64)
    if not len(points):
        points = np.zeros((0, 3 * len(sigmas)))
    far = np.flatnonzero((np.abs(points) > LARGEST).any(axis=1))
    if len(far):
        raise OutOfRange("a keypoint is beyond 1e12", where=records.where(int(far[0]), "keypoints"))
    columns["shape"] = points
    seen = points[:, 2::3] > 0
    if not truth or "x" not in columns:
        columns.update(_extent(points, seen if truth else np.ones_like(seen)))
    if not truth or "area" not in columns:
        columns["area"] = columns["w"] * columns["h"]
    visible = columns.pop("visible", None)
    count = seen.sum(axis=1)
    columns["ignored"] = count == 0 if visible is None else np.where(visible < 0, count, visible) == 0
    return with_similarity(records, columns, KeypointSimilarity(sigmas))


def _extent(points: Array, labelled: Array) -> dict[str, Array]:
    """The box around the points that are kept; at 0 where there is none."""
    edges = {}
    for axis, (place, size) in enumerate((("x", "w"), ("y", "h"))):
        values = points[:, axis::3]
        low = np.where(labelled, values, np.inf).min(axis=1, initial=np.inf)
        high = np.where(labelled, values, -np.inf).max(axis=1, initial=-np.inf)
        there = labelled.any(axis=1)
        edges[place] = np.where(there, low, 0.0)
        with np.errstate(invalid="ignore"):
            edges[size] = np.where(there, high - low, 0.0)
    return edges


class _OfPoints(Metric):
    """A metric of boxes for keypoints, named by OKS."""

    @property
    def label(self) -> str:
        return str(super().label).replace("IoU", "OKS")


def _of_points(base: type[Metric]) -> type[Metric]:
    """A metric of boxes for keypoints, as an attribute of `_OfPoints`; a cap is that of COCO's keypoints."""
    place = {"__module__": __name__, "__qualname__": f"_OfPoints.{base.__name__}", "__doc__": base.__doc__}
    cap = {"cap": MOST_OF_POINTS} if hasattr(base, "cap") else {}
    setattr(_OfPoints, base.__name__, type(base.__name__, (_OfPoints, base), {**place, **cap}))
    return cast(type[Metric], getattr(_OfPoints, base.__name__))


class _AverageRecall(_OfPoints, AverageRecall):
    __doc__ = AverageRecall.__doc__
    max_dets: int = MOST_OF_POINTS

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(20), cls(20, "medium"), cls(20, "large"))


class _MeanOks(_OfPoints, MeanIou):
    r"""Mean OKS of the matched: how well the points fit the objects that were found.

    $\overline{\mathrm{OKS}} = \frac{1}{|M|} \sum_{(d, g) \in M} \mathrm{OKS}(d, g)$

    Undefined when nothing was matched.

    Pros:
    - The fit alone, apart from what was found and what was not.

    Cons:
    - A model that finds only easy objects looks good: read it beside recall.
    """

    name = "mean_oks"
    title = "Mean OKS of the matched"


class _OptimalLrp(_OfPoints, OptimalLrp):
    __doc__ = OptimalLrp.__doc__
    max_dets: int = MOST_OF_POINTS


_OWN: dict[str, type[Metric]] = {"ar": _AverageRecall, "mean_iou": _MeanOks, "olrp": _OptimalLrp}
_SAME = ("fpr_image", "dap")
_OF_BOXES = ("laece", "sensitivity", "cpm", "wafroc", "wafroc1", "mr2", "ji")  # not of keypoints
TASK = replace(
    BOX_TASK,
    name="keypoints",
    title="Keypoint detection",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=tuple(
        _OWN.get(metric.name) or (metric if metric.name in _SAME else _of_points(metric))
        for metric in BOX_TASK.metrics
        if metric.name not in _OF_BOXES
    ),
    defaults=(
        "map", "map50", "map75", "map(area=medium)", "map(area=large)", "ar@20", "ap(kind=step)", "best_f1",
        "precision", "recall", "f1", "fpr_image", "fppi", "mean_oks",
    ),
    options=OPTIONS,
    reader="keypoints",
    views="steelyard.tasks.keypoints.views",
    checks="steelyard.tasks.keypoints.checks",
)  # fmt: skip
