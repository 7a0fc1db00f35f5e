"""Task `ellipses`: ellipses of each image, found and true. Data: `data`; pairs: `matched`; sums: `sums`.

Metrics
    `score` is that of the specification; `score_truths` divides by the truths only. `precision`, `recall`, `f1`,
    `ap` and `detection_rate@5` say what was found; `mean_distance`, `mean_iou`, `center_error`, `axis_error` and
    `angle_error` how far off the matched ones are.
"""

from __future__ import annotations

from steelyard.core.task import Task
from steelyard.tasks.ellipses.data import OPTIONS, PREDICTION, TRUTH, join, plain_sides
from steelyard.tasks.ellipses.detection import (
    F1,
    AngleError,
    AveragePrecision,
    AxisError,
    CenterError,
    DetectionRate,
    MeanDistance,
    MeanIou,
    Precision,
    Recall,
)
from steelyard.tasks.ellipses.score import Score, TruthScore

TASK = Task(
    name="ellipses",
    title="Ellipses, image by image",
    unit="image",
    item="ellipse",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(
        Score, TruthScore, Precision, Recall, F1, AveragePrecision, DetectionRate,
        MeanDistance, MeanIou, CenterError, AxisError, AngleError,
    ),
    defaults=(
        "score", "score_truths", "precision", "recall", "f1", "detection_rate@5",
        "mean_distance", "mean_iou", "center_error", "axis_error", "angle_error",
    ),
    options=OPTIONS,
    views="steelyard.tasks.ellipses.views",
    checks="steelyard.tasks.ellipses.checks",
    plain=plain_sides,
)  # fmt: skip
