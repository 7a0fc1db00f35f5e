"""J and F of DAVIS: the overlap of masks and of their outlines."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.trackeval import _timing
from steelyard.compat.trackeval._frames import EPS
from steelyard.compat.trackeval.metrics._base_metric import _BaseMetric
from steelyard.compat.trackeval.utils import TrackEvalException

NEAR = 0.008  # how far outlines may be apart, as a share of the diagonal
BINS = 4  # parts of a sequence; decay is the first's mean less the last's


class JAndF(_BaseMetric):
    """J&F."""

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.integer_fields = ["num_gt_tracks"]
        self.float_fields = ["J-Mean", "J-Recall", "J-Decay", "F-Mean", "F-Recall", "F-Decay", "J&F"]
        self.fields = self.float_fields + self.integer_fields
        self.summary_fields = self.float_fields
        self.optim_type = "J"

    @_timing.time
    def eval_sequence(self, data: Any) -> Any:
        frames = data["num_timesteps"]
        truth = _by_track(data["gt_ids"], data["gt_dets"], frames, data["num_gt_ids"], data["num_gt_ids"])
        most = max(data["num_tracker_ids"], data["num_gt_ids"])
        results = _by_track(data["tracker_ids"], data["tracker_dets"], frames, data["num_tracker_ids"], most)
        j = _overlaps(results, truth, frames)
        if self.optim_type == "J&F":
            f = np.zeros_like(j)
            for k, i in np.ndindex(*f.shape[:2]):
                f[k, i] = _outlines(results[k], truth[i])
            worth = (np.mean(j, axis=2) + np.mean(f, axis=2)) / 2
        elif self.optim_type == "J":
            worth = np.mean(j, axis=2)
        else:
            raise TrackEvalException(f"Unsupported optimization type {self.optim_type} for J&F metric.")
        column = _native.assign_scipy(-worth) if worth.size else np.full(len(worth), -1)
        rows = np.flatnonzero(column >= 0)
        j_m = j[rows, column[rows], :]
        if self.optim_type == "J&F":
            f_m = f[rows, column[rows], :]
        else:
            f_m = np.zeros_like(j_m)
            for place, row in enumerate(rows.tolist()):
                f_m[place] = _outlines(results[row], truth[column[row]])
        ends = (np.round(np.linspace(1, frames, BINS + 1) + 1e-10) - 1).astype(np.uint8)
        res: Any = {}
        for name, values in (("J", j_m), ("F", f_m)):
            res[f"{name}-Mean"] = [np.nanmean(row) for row in values]
            res[f"{name}-Recall"] = [np.nanmean(row > 0.5 + EPS) for row in values]
            res[f"{name}-Decay"] = [
                np.nanmean(row[ends[0] : ends[1] + 1]) - np.nanmean(row[ends[BINS - 1] : ends[BINS] + 1])
                for row in values
            ]
        count = len(j_m)
        res = {field: np.mean(values) for field, values in res.items()}
        return {**res, "num_gt_tracks": count, "J&F": (res["J-Mean"] + res["F-Mean"]) / 2}

    def combine_sequences(self, all_res: Any) -> Any:
        res = {"num_gt_tracks": self._combine_sum(all_res, "num_gt_tracks")}
        for field in self.summary_fields:
            res[field] = self._combine_weighted_av(all_res, field, res, weight_field="num_gt_tracks")
        return res

    def combine_classes_class_averaged(self, all_res: Any, ignore_empty_classes: bool = False) -> Any:
        res = {"num_gt_tracks": self._combine_sum(all_res, "num_gt_tracks")}
        return {**res, **{field: np.mean([one[field] for one in all_res.values()]) for field in self.float_fields}}

    def combine_classes_det_averaged(self, all_res: Any) -> Any:
        return self.combine_classes_class_averaged(all_res)


def _by_track(ids: Any, dets: Any, frames: int, count: int, rows: int) -> list[list[Any]]:
    """The mask of each track in each frame, or None; with `rows` more tracks than `count`, empty ones follow."""
    tracks: list[list[Any]] = [[None] * frames for _ in range(rows)]
    for t in range(frames):
        for id_, det in zip(np.asarray(ids[t]).tolist(), dets[t], strict=True):
            if id_ < count:
                tracks[int(id_)][t] = det
    return tracks


def _overlaps(results: list[list[Any]], truth: list[list[Any]], frames: int) -> Any:
    """IoU of each result track with each true one in each frame; 1 where both have nothing."""
    j = np.zeros((len(results), len(truth), frames))
    for t in range(frames):
        sides = [[(i, track[t]) for i, track in enumerate(side) if track[t] is not None] for side in (results, truth)]
        filled = []
        for side, tracks in zip(sides, (results, truth), strict=True):
            empty = np.ones(len(tracks), dtype=bool)
            if side:
                empty[[i for i, _ in side]] = masks.area([mask for _, mask in side]) == 0
            filled.append(empty)
        if sides[0] and sides[1]:
            (rows, mine), (columns, other) = (zip(*side, strict=True) for side in sides)
            j[np.ix_(rows, columns, [t])] = np.asarray(masks.iou(list(mine), list(other), [0] * len(other)))[..., None]
        j[:, :, t][filled[0][:, None] & filled[1][None, :]] = 1
    return j


def _outlines(results: list[Any], truth: list[Any]) -> Any:
    """F of two tracks in each frame: precision and recall of outlines within a few pixels."""
    f = np.ones(len(results))
    there = [t for t, pair in enumerate(zip(results, truth, strict=True)) if pair[0] is not None or pair[1] is not None]
    if not there:
        return f
    shape = next(mask["size"] for t in there for mask in (results[t], truth[t]) if mask is not None)
    nothing = {"size": list(shape), "counts": [int(shape[0] * shape[1])]}
    mine, other = ([nothing if track[t] is None else track[t] for t in there] for track in (results, truth))
    counts = _native.mask_contours(mine, other, int(np.ceil(NEAR * np.linalg.norm(shape))))
    n_results, n_truth, near_results, near_truth = counts.T.astype(np.float64)
    precision, recall = (
        np.where(own == 0, 1.0, np.where(other == 0, 0.0, near / np.maximum(own, 1)))
        for own, other, near in ((n_results, n_truth, near_results), (n_truth, n_results, near_truth))
    )
    with np.errstate(invalid="ignore"):
        f[there] = np.where(precision + recall == 0, 0, 2 * precision * recall / (precision + recall))
    return f
