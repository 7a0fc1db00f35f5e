"""HOTA: detection and association at 19 thresholds of similarity."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.trackeval import _timing
from steelyard.compat.trackeval._frames import EPS, Frames, read_frames, sum_by_frame
from steelyard.compat.trackeval.metrics._base_metric import _BaseMetric

COUNTS = ("HOTA_TP", "HOTA_FN", "HOTA_FP")


class HOTA(_BaseMetric):
    """HOTA (Luiten et al. 2020)."""

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.plottable = True
        self.array_labels = np.arange(0.05, 0.99, 0.05)
        self.integer_array_fields = list(COUNTS)
        self.float_array_fields = ["HOTA", "DetA", "AssA", "DetRe", "DetPr", "AssRe", "AssPr", "LocA", "OWTA"]
        self.float_fields = ["HOTA(0)", "LocA(0)", "HOTALocA(0)"]
        self.fields = self.float_array_fields + self.integer_array_fields + self.float_fields
        self.summary_fields = self.float_array_fields + self.float_fields

    @_timing.time
    def eval_sequence(self, data: Any) -> Any:
        count = len(self.array_labels)
        res: Any = {field: np.zeros(count) for field in self.float_array_fields + self.integer_array_fields}
        res.update(dict.fromkeys(self.float_fields, 0))
        for side, lacking in (("num_tracker_dets", "HOTA_FN"), ("num_gt_dets", "HOTA_FP")):
            if data[side] == 0:
                other = "num_gt_dets" if lacking == "HOTA_FN" else "num_tracker_dets"
                res[lacking] = data[other] * np.ones(count)
                res["LocA"] = np.ones(count)
                res["LocA(0)"] = 1.0
                return res
        frames = read_frames(data)
        partner = _native.frame_hota(*frames.arguments)
        rows = np.flatnonzero(partner >= 0)
        frame, similarity = frames.similarity_of(rows, partner[rows])
        association = _Association(frames, rows, partner[rows])
        for a, alpha in enumerate(self.array_labels):
            matched = similarity >= alpha - EPS
            tp = int(np.count_nonzero(matched))
            res["HOTA_TP"][a] = tp
            res["HOTA_FN"][a] = len(frames.truth) - tp
            res["HOTA_FP"][a] = len(frames.prediction) - tp
            res["LocA"][a] = sum_by_frame(frame[matched], similarity[matched])
            sums = association.sums(matched)
            for field, value in zip(("AssA", "AssRe", "AssPr"), sums, strict=True):
                res[field][a] = value / np.maximum(1, tp)
        res["LocA"] = np.maximum(1e-10, res["LocA"]) / np.maximum(1e-10, res["HOTA_TP"])
        return self._compute_final_fields(res)

    def combine_sequences(self, all_res: Any) -> Any:
        res = {field: self._combine_sum(all_res, field) for field in self.integer_array_fields}
        for field in ("AssRe", "AssPr", "AssA"):
            res[field] = self._combine_weighted_av(all_res, field, res, weight_field="HOTA_TP")
        weighted = sum([one["LocA"] * one["HOTA_TP"] for one in all_res.values()])
        res["LocA"] = np.maximum(1e-10, weighted) / np.maximum(1e-10, res["HOTA_TP"])
        return self._compute_final_fields(res)

    def combine_classes_class_averaged(self, all_res: Any, ignore_empty_classes: bool = False) -> Any:
        return self._class_average(
            all_res,
            self.integer_array_fields,
            self.float_fields + self.float_array_fields,
            COUNTS if ignore_empty_classes else (),
        )

    def combine_classes_det_averaged(self, all_res: Any) -> Any:
        return self.combine_sequences(all_res)

    @staticmethod
    def _compute_final_fields(res: Any) -> Any:
        tp, fn, fp = (res[field] for field in COUNTS)
        res["DetRe"] = tp / np.maximum(1, tp + fn)
        res["DetPr"] = tp / np.maximum(1, tp + fp)
        res["DetA"] = tp / np.maximum(1, tp + fn + fp)
        res["HOTA"] = np.sqrt(res["DetA"] * res["AssA"])
        res["OWTA"] = np.sqrt(res["DetRe"] * res["AssA"])
        res["HOTA(0)"] = res["HOTA"][0]
        res["LocA(0)"] = res["LocA"][0]
        res["HOTALocA(0)"] = res["HOTA(0)"] * res["LocA(0)"]
        return res


class _Association:
    """Sums over pairs of tracks, in the order in which NumPy adds the full table of them."""

    def __init__(self, frames: Frames, rows: Any, partners: Any) -> None:
        truth, prediction = frames.truth[rows], frames.prediction[partners]
        self.codes, self.place = np.unique(truth * frames.prediction_tracks + prediction, return_inverse=True)
        lengths = [
            np.bincount(ids, minlength=tracks).astype(np.float64)
            for ids, tracks in (
                (frames.truth, frames.truth_tracks),
                (frames.prediction, frames.prediction_tracks),
            )
        ]
        self.truth_length = lengths[0][self.codes // frames.prediction_tracks]
        self.prediction_length = lengths[1][self.codes % frames.prediction_tracks]
        self.table = np.zeros(frames.truth_tracks * frames.prediction_tracks)

    def sums(self, matched: Any) -> list[Any]:
        """Of the matches: their number in each pair squared, over the pair's frames, the truth's and the tracker's."""
        count = np.bincount(self.place[matched], minlength=len(self.codes)).astype(np.float64)
        both = self.truth_length + self.prediction_length - count
        totals = []
        for divisor in (both, self.truth_length, self.prediction_length):
            self.table[self.codes] = count * (count / np.maximum(1, divisor))
            totals.append(np.sum(self.table))
        return totals
