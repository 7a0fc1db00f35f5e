"""Identity: IDF1, IDP and IDR."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.trackeval import _timing, utils
from steelyard.compat.trackeval._frames import read_frames
from steelyard.compat.trackeval.metrics._base_metric import _BaseMetric


class Identity(_BaseMetric):
    """The ID metrics."""

    @staticmethod
    def get_default_config() -> dict[str, Any]:
        """The similarity that a match needs, and whether the config is printed."""
        return {"THRESHOLD": 0.5, "PRINT_CONFIG": True}

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.integer_fields = ["IDTP", "IDFN", "IDFP"]
        self.float_fields = ["IDF1", "IDR", "IDP"]
        self.fields = self.float_fields + self.integer_fields
        self.summary_fields = self.fields
        self.config = utils.init_config(config, self.get_default_config(), self.get_name())
        self.threshold = float(self.config["THRESHOLD"])

    @_timing.time
    def eval_sequence(self, data: Any) -> Any:
        res: Any = dict.fromkeys(self.fields, 0)
        if data["num_tracker_dets"] == 0:
            return {**res, "IDFN": data["num_gt_dets"]}
        if data["num_gt_dets"] == 0:
            return {**res, "IDFP": data["num_tracker_dets"]}
        counts = _native.frame_identity(*read_frames(data).arguments, self.threshold)
        res["IDTP"], res["IDFN"], res["IDFP"] = counts.astype(np.int64)
        return self._compute_final_fields(res)

    def combine_sequences(self, all_res: Any) -> Any:
        return self._compute_final_fields({field: self._combine_sum(all_res, field) for field in self.integer_fields})

    def combine_classes_det_averaged(self, all_res: Any) -> Any:
        return self.combine_sequences(all_res)

    def combine_classes_class_averaged(self, all_res: Any, ignore_empty_classes: bool = False) -> Any:
        counts = ("IDTP", "IDFN", "IDFP") if ignore_empty_classes else ()
        return self._class_average(all_res, self.integer_fields, self.float_fields, counts)

    @staticmethod
    def _compute_final_fields(res: Any) -> Any:
        tp, fn, fp = (res[field] for field in ("IDTP", "IDFN", "IDFP"))
        res["IDR"] = tp / np.maximum(1.0, tp + fn)
        res["IDP"] = tp / np.maximum(1.0, tp + fp)
        res["IDF1"] = tp / np.maximum(1.0, tp + 0.5 * fp + 0.5 * fn)
        return res
