"""The method "steelyard" of FiftyOne's `evaluate_detections`, which `steelyard.integrations.fiftyone.register` adds.

Matches of single objects are FiftyOne's own, by COCO's rule at the given IoU. Scores with intervals are those of the
report, and the scores of each image are written to its sample.
"""

from __future__ import annotations

from typing import Any

from steelyard.core.errors import MissingPackage
from steelyard.integrations import fiftyone as ours

try:
    from fiftyone.utils.eval.coco import COCOEvaluation, COCOEvaluationConfig
except ImportError:
    raise MissingPackage("steelyard.integrations.fiftyone_method", "fiftyone") from None


class SteelyardEvaluationConfig(COCOEvaluationConfig):
    """What `evaluate_detections(..., method="steelyard", metrics=..., settings=...)` is given.

    `metrics` are specs of the task boxes and `settings` a dict of those of `evaluate`.
    """

    def __init__(
        self, pred_field: str, gt_field: str, metrics: Any = None, settings: dict[str, Any] | None = None, **more: Any
    ) -> None:
        super().__init__(pred_field, gt_field, **more)
        self.metrics, self.settings = metrics, settings

    @property
    def method(self) -> str:
        """The name under which FiftyOne stores the run."""
        return "steelyard"


class SteelyardEvaluation(COCOEvaluation):
    """FiftyOne's COCO evaluation, whose results have a report too: `steelyard.integrations.fiftyone.report_of`."""

    def generate_results(self, samples: Any, matches: Any, eval_key: str | None = None, **more: Any) -> Any:
        """Evaluate all samples, and write the scores of each back to it where the run has a key."""
        results = super().generate_results(samples, matches, eval_key=eval_key, **more)
        config = self.config
        settings = config.settings or {}
        report = ours.evaluate(samples, config.gt_field, config.pred_field, config.metrics, **settings)
        if eval_key is not None:
            ours.write_back(samples, report, prefix=f"{eval_key}_")
        results._steelyard_report = report  # FiftyOne stores the attributes without an underscore
        return results
