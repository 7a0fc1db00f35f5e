"""The task's schemas, steps and metrics in one value."""

from __future__ import annotations

from steelyard.core.task import Task
from steelyard.metrics.boxes.counts import (
    F1,
    BestF1,
    FalsePositiveRateCandidate,
    FalsePositiveRateImage,
    FalsePositivesPerImage,
    LogAverageMissRate,
    MeanIou,
    Precision,
    Recall,
)
from steelyard.metrics.boxes.errors import ErrorCost
from steelyard.metrics.boxes.pairs import PREDICTION, TRUTH, measure, pair
from steelyard.metrics.boxes.picture import scene
from steelyard.metrics.boxes.precision import (
    AveragePrecision,
    AverageRecall,
    MeanAveragePrecision,
    MeanAveragePrecision50,
    MeanAveragePrecision75,
)
from steelyard.metrics.boxes.tables import tables

TASK = Task(
    name="boxes",
    title="Object detection",
    unit="image",
    item="object",
    truth=TRUTH,
    prediction=PREDICTION,
    pair=pair,
    measure=measure,
    metrics=(
        MeanAveragePrecision,
        MeanAveragePrecision50,
        MeanAveragePrecision75,
        AverageRecall,
        AveragePrecision,
        Precision,
        Recall,
        F1,
        BestF1,
        FalsePositiveRateImage,
        FalsePositiveRateCandidate,
        FalsePositivesPerImage,
        MeanIou,
        LogAverageMissRate,
        ErrorCost,
    ),
    defaults=(
        "map",
        "map50",
        "map75",
        "map(area=small)",
        "map(area=medium)",
        "map(area=large)",
        "ar@1",
        "ar@10",
        "ar@100",
        "ap(kind=step)",
        "best_f1",
        "precision",
        "recall",
        "f1",
        "fpr_image",
        "fppi",
        "mean_iou",
    ),
    tables=tables,
    shape="boxes",
    scene=scene,
)
