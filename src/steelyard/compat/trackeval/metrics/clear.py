"""CLEAR: MOTA, MOTP and their counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.trackeval import _timing, utils
from steelyard.compat.trackeval._frames import read_frames, sum_by_frame
from steelyard.compat.trackeval.metrics._base_metric import _BaseMetric


class CLEAR(_BaseMetric):
    """The CLEAR MOT metrics."""

    @staticmethod
    def get_default_config() -> dict[str, Any]:
        """The similarity that a match needs, and whether the config is printed."""
        return {"THRESHOLD": 0.5, "PRINT_CONFIG": True}

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        counts = ["CLR_TP", "CLR_FN", "CLR_FP", "IDSW", "MT", "PT", "ML", "Frag"]
        self.integer_fields = [*counts, "CLR_Frames"]
        ratios = ["MOTA", "MOTP", "MODA", "CLR_Re", "CLR_Pr", "MTR", "PTR", "MLR", "sMOTA"]
        self.float_fields = [*ratios, "CLR_F1", "FP_per_frame", "MOTAL", "MOTP_sum"]
        self.fields = self.float_fields + self.integer_fields
        self.summed_fields = [*self.integer_fields, "MOTP_sum"]
        self.summary_fields = ratios + counts
        self.config = utils.init_config(config, self.get_default_config(), self.get_name())
        self.threshold = float(self.config["THRESHOLD"])

    @_timing.time
    def eval_sequence(self, data: Any) -> Any:
        res: Any = dict.fromkeys(self.fields, 0)
        if data["num_tracker_dets"] == 0:
            return {**res, "CLR_FN": data["num_gt_dets"], "ML": data["num_gt_ids"], "MLR": 1.0}
        if data["num_gt_dets"] == 0:
            return {**res, "CLR_FP": data["num_tracker_dets"], "MLR": 1.0}
        frames = read_frames(data)
        counts, partner = _native.frame_clear(*frames.arguments, self.threshold)
        tp, fn, fp, _, switches, fragments, mostly, partly, _ = counts.tolist()
        rows = np.flatnonzero(partner >= 0)
        res["CLR_TP"], res["CLR_FN"], res["CLR_FP"] = int(tp), int(fn), int(fp)
        res["IDSW"], res["MT"], res["PT"] = np.int64(switches), np.int64(mostly), np.int64(partly)
        res["ML"] = data["num_gt_ids"] - res["MT"] - res["PT"]
        res["Frag"] = np.float64(fragments)
        res["MOTP_sum"] = sum_by_frame(*frames.similarity_of(rows, partner[rows]))
        res["CLR_Frames"] = data["num_timesteps"]
        return self._compute_final_fields(res)

    def combine_sequences(self, all_res: Any) -> Any:
        return self._compute_final_fields({field: self._combine_sum(all_res, field) for field in self.summed_fields})

    def combine_classes_det_averaged(self, all_res: Any) -> Any:
        return self.combine_sequences(all_res)

    def combine_classes_class_averaged(self, all_res: Any, ignore_empty_classes: bool = False) -> Any:
        counts = ("CLR_TP", "CLR_FN", "CLR_FP") if ignore_empty_classes else ()
        return self._class_average(all_res, self.integer_fields, self.float_fields, counts)

    @staticmethod
    def _compute_final_fields(res: Any) -> Any:
        tp, fn, fp, switches = (res[field] for field in ("CLR_TP", "CLR_FN", "CLR_FP", "IDSW"))
        tracks = np.maximum(1.0, res["MT"] + res["ML"] + res["PT"])
        truths = np.maximum(1.0, tp + fn)
        for field in ("MT", "ML", "PT"):
            res[field + "R"] = res[field] / tracks
        res["CLR_Re"] = tp / truths
        res["CLR_Pr"] = tp / np.maximum(1.0, tp + fp)
        res["MODA"] = (tp - fp) / truths
        res["MOTA"] = (tp - fp - switches) / truths
        res["MOTP"] = res["MOTP_sum"] / np.maximum(1.0, tp)
        res["sMOTA"] = (res["MOTP_sum"] - fp - switches) / truths
        res["CLR_F1"] = tp / np.maximum(1.0, tp + 0.5 * fn + 0.5 * fp)
        res["FP_per_frame"] = fp / np.maximum(1.0, res["CLR_Frames"])
        logged = np.log10(switches) if switches > 0 else switches
        res["MOTAL"] = (tp - fp - logged) / truths
        return res
