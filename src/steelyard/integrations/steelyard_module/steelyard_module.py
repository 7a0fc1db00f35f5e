"""The module that `evaluate.load` takes: a task's metrics with intervals, of predictions and references."""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from steelyard import api
from steelyard.loggers.flat import flat


class Steelyard(evaluate.Metric):
    """`compute(predictions=, references=, metrics=None, **settings)`; the configuration's name is the task."""

    def _info(self) -> Any:
        kinds = [datasets.Value("float64"), datasets.Value("string"), datasets.Sequence(datasets.Value("float64"))]
        return evaluate.MetricInfo(
            description="Scores of Steelyard, each with an interval.",
            citation="",
            features=[
                datasets.Features({"predictions": predictions, "references": references})
                for predictions, references in ((kinds[0], kinds[0]), (kinds[1], kinds[1]), (kinds[2], kinds[0]))
            ],
        )

    def _compute(self, predictions: Any, references: Any, metrics: Any = None, **settings: Any) -> dict[str, float]:
        task = self.config_name if self.config_name != "default" else "labels"
        return flat(api.evaluate(task, references, predictions, metrics, **settings))
