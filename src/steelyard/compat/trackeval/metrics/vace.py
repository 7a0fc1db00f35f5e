"""VACE: accuracy of tracks and of frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.trackeval import _timing
from steelyard.compat.trackeval._frames import Frames, frame_of_rows, read_frames
from steelyard.compat.trackeval.metrics._base_metric import _BaseMetric


class VACE(_BaseMetric):
    """The VACE metrics (Manohar et al. 2006), in their relaxed form: frames count where tracks overlap by half."""

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.integer_fields = ["VACE_IDs", "VACE_GT_IDs", "num_non_empty_timesteps"]
        self.float_fields = ["STDA", "ATA", "FDA", "SFDA"]
        self.fields = self.integer_fields + self.float_fields
        self.summary_fields = ["SFDA", "ATA"]
        self._additive_fields = [*self.integer_fields, "STDA", "FDA"]
        self.threshold = 0.5

    @_timing.time
    def eval_sequence(self, data: Any) -> Any:
        frames = read_frames(data)
        overlap = self._temporal_iou(frames)
        column = _native.assign_scipy(-overlap)
        rows = np.flatnonzero(column >= 0)
        boxes = frames.truth_sizes + frames.prediction_sizes
        both = (frames.truth_sizes > 0) & (frames.prediction_sizes > 0)
        sums = _native.frame_sums(frames.similarity, frames.truth_sizes, frames.prediction_sizes)
        accuracy = sums[both] / (0.5 * boxes[both])
        res: Any = {
            "STDA": overlap[rows, column[rows]].sum(),
            "VACE_IDs": data["num_tracker_ids"],
            "VACE_GT_IDs": data["num_gt_ids"],
            "FDA": np.cumsum(accuracy)[-1] if len(accuracy) else 0,
            "num_non_empty_timesteps": int(np.count_nonzero(boxes)),
        }
        return {**res, **self._compute_final_fields(res)}

    def _temporal_iou(self, frames: Frames) -> Any:
        """Of each pair of tracks: the frames in which they overlap, over those in which either is there."""
        shape = frames.truth_tracks, frames.prediction_tracks
        present = []
        for ids, sizes, tracks in (
            (frames.truth, frames.truth_sizes, shape[0]),
            (frames.prediction, frames.prediction_sizes, shape[1]),
        ):
            table = np.zeros((len(sizes), tracks))
            table[frame_of_rows(sizes), ids] = 1
            present.append(table)
        cells = np.flatnonzero(frames.similarity >= self.threshold)
        frame = np.searchsorted(np.cumsum(frames.truth_sizes * frames.prediction_sizes), cells, side="right")
        width = frames.prediction_sizes[frame]
        behind = cells - (
            np.cumsum(frames.truth_sizes * frames.prediction_sizes)[frame] - frames.truth_sizes[frame] * width
        )
        truth = frames.truth[(np.cumsum(frames.truth_sizes) - frames.truth_sizes)[frame] + behind // width]
        other = frames.prediction[
            (np.cumsum(frames.prediction_sizes) - frames.prediction_sizes)[frame] + behind % width
        ]
        matches = np.bincount(truth * shape[1] + other, minlength=shape[0] * shape[1]).reshape(shape)
        union = present[0].sum(0)[:, None] + present[1].sum(0)[None, :] - present[0].T @ present[1]
        with np.errstate(divide="raise", invalid="raise"):
            return matches / union

    def combine_classes_class_averaged(self, all_res: Any, ignore_empty_classes: bool = True) -> Any:
        counts = ("VACE_GT_IDs", "VACE_IDs") if ignore_empty_classes else ()
        return self._class_average(all_res, [], self.fields, counts)

    def combine_classes_det_averaged(self, all_res: Any) -> Any:
        return self._compute_final_fields({field: self._combine_sum(all_res, field) for field in self._additive_fields})

    def combine_sequences(self, all_res: Any) -> Any:
        res = {field: self._combine_sum(all_res, field) for field in self._additive_fields}
        return {**res, **self._compute_final_fields(res)}

    @staticmethod
    def _compute_final_fields(additive: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return {
                "ATA": additive["STDA"] / (0.5 * (additive["VACE_IDs"] + additive["VACE_GT_IDs"])),
                "SFDA": additive["FDA"] / additive["num_non_empty_timesteps"],
            }
