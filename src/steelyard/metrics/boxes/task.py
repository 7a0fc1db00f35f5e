"""The task's schemas, steps and metrics in one value."""

from __future__ import annotations

from steelyard.core.task import Task
from steelyard.metrics.boxes.pairs import PREDICTION, TRUTH, measure, pair
from steelyard.metrics.boxes.precision import (
    AveragePrecision,
    AverageRecall,
    MeanAveragePrecision,
    MeanAveragePrecision50,
    MeanAveragePrecision75,
)

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
    ),
    defaults=("map", "map50", "map75"),
    shape="boxes",
)
