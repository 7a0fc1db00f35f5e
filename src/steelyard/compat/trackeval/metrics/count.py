"""How many detections and tracks there are."""

from __future__ import annotations

from typing import Any

from steelyard.compat.trackeval import _timing
from steelyard.compat.trackeval.metrics._base_metric import _BaseMetric


class Count(_BaseMetric):
    """Detections and ids of both sides."""

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.integer_fields = ["Dets", "GT_Dets", "IDs", "GT_IDs"]
        self.fields = self.integer_fields
        self.summary_fields = self.fields

    @_timing.time
    def eval_sequence(self, data: Any) -> Any:
        return {
            "Dets": data["num_tracker_dets"],
            "GT_Dets": data["num_gt_dets"],
            "IDs": data["num_tracker_ids"],
            "GT_IDs": data["num_gt_ids"],
            "Frames": data["num_timesteps"],
        }

    def combine_sequences(self, all_res: Any) -> Any:
        return {field: self._combine_sum(all_res, field) for field in self.integer_fields}

    def combine_classes_class_averaged(self, all_res: Any, ignore_empty_classes: Any = None) -> Any:
        return self.combine_sequences(all_res)

    def combine_classes_det_averaged(self, all_res: Any) -> Any:
        return self.combine_sequences(all_res)
