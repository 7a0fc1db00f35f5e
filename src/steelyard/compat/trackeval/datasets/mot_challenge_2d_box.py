"""Boxes of MOTChallenge: MOT15, MOT16, MOT17, MOT20."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.trackeval import _timing, utils
from steelyard.compat.trackeval._frames import (
    frame_of_rows,
    join_column,
    join_matrices,
    sizes_of,
    split_matrices,
    split_rows,
)
from steelyard.compat.trackeval.datasets._base_dataset import (
    LEAST,
    bytes_of,
    keep_rows,
    read_numbers,
    rows_by_time,
    with_ids,
)
from steelyard.compat.trackeval.datasets._challenge import _Challenge, challenge_defaults
from steelyard.compat.trackeval.utils import TrackEvalException

CLASSES = (
    "pedestrian",
    "person_on_vehicle",
    "car",
    "bicycle",
    "motorbike",
    "non_mot_vehicle",
    "static_person",
    "distractor",
    "occluder",
    "occluder_on_ground",
    "occluder_full",
    "reflection",
    "crowd",
)
DISTRACTORS = ("person_on_vehicle", "static_person", "distractor", "reflection")


class MotChallenge2DBox(_Challenge):
    """MOTChallenge with boxes."""

    @staticmethod
    def get_default_dataset_config() -> dict[str, Any]:
        return challenge_defaults()

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.config = utils.init_config(config, self.get_default_dataset_config(), self.get_name())
        self.do_preproc = self.config["DO_PREPROC"]
        self.class_name_to_class_id = {name: place + 1 for place, name in enumerate(CLASSES)}
        self.valid_class_numbers = list(self.class_name_to_class_id.values())
        self._find_files(self.config["BENCHMARK"])

    def steelyard_inputs(self, tracker: str) -> tuple[str, Any, Any, dict[str, Any]]:
        """The arguments of `steelyard.evaluate` for a tracker."""
        self._check_report(self._sequences_there())
        own = self.benchmark in ("MOT15", "MOT16", "MOT20")  # any other name has the rules of MOT17
        benchmark = (self.benchmark.lower() if own else "mot17") if self.do_preproc else "mot15"
        results = os.path.join(self.tracker_fol, tracker, self.tracker_sub_fol)
        return "tracking", self.gt_fol, results, {"options": {"benchmark": benchmark}}

    def _load_raw_file(self, tracker: str, seq: str, is_gt: bool) -> Any:
        """One side of a sequence by frame: ids, classes, boxes, and flags or confidences."""
        file, zip_file = self._place_of(tracker, seq, is_gt, self._truth_file(seq))
        timesteps = self.seq_lengths[seq]
        fast = read_numbers(file, zip_file) if self._is_own("_load_simple_text_file") else None
        ordered = None if fast is None or len(fast) < 7 + is_gt else rows_by_time(fast, 1, timesteps)
        if ordered is None:
            rows = self._load_simple_text_file(file, is_zipped=self.data_is_zipped, zip_file=zip_file)[0]
            self._check_timesteps(rows, 1, timesteps, seq, is_gt)
            ordered = self._convert(rows, timesteps, tracker, seq, is_gt)
        columns, sizes = ordered
        side = "gt" if is_gt else "tracker"
        ids = columns[1].astype(int)
        classes = columns[7].astype(int) if len(columns) > 7 else np.ones_like(ids)
        raw_data: dict[str, Any] = {
            f"{side}_ids": split_rows(ids, sizes),
            f"{side}_classes": split_rows(classes, sizes),
            f"{side}_dets": split_rows(np.ascontiguousarray(columns[2:6].T), sizes),
        }
        if is_gt:
            raw_data["gt_extras"] = [{"zero_marked": part} for part in split_rows(columns[6].astype(int), sizes)]
            raw_data["gt_crowd_ignore_regions"] = [np.empty((0, 4)) for _ in range(timesteps)]
        else:
            raw_data["tracker_confidences"] = split_rows(columns[6], sizes)
        return {**raw_data, "num_timesteps": timesteps, "seq": seq}

    @staticmethod
    def _convert(rows: Any, timesteps: int, tracker: str, seq: str, is_gt: bool) -> tuple[Any, Any]:
        """Rows of texts as the first eight columns, with 1 for a class that is not given."""
        sizes = np.zeros(timesteps, dtype=np.int64)
        parts = [np.zeros((8, 0))]
        of_whom = f"gt data from sequence {seq}" if is_gt else f"tracker data from tracker {tracker}, sequence {seq}"
        for t in range(timesteps):
            if str(t + 1) not in rows:
                continue
            try:
                table = np.asarray(rows[str(t + 1)], dtype=float)
            except ValueError:
                who = (
                    f"gt data for sequence {seq}" if is_gt else f"tracking data from tracker {tracker}, sequence {seq}"
                )
                raise TrackEvalException(f"Cannot convert {who} to float. Is data corrupted?") from None
            if table.shape[1] < 2:
                raise TrackEvalException(f"Cannot load {of_whom}, because there is not enough columns in the data.")
            if is_gt and table.shape[1] < 8:
                raise TrackEvalException(
                    f"GT data is not in a valid format, there is not enough rows in seq {seq}, timestep {t}."
                )
            table[:, 6]  # TrackEval stops at rows without a confidence in NumPy
            classes = np.ones((len(table), max(0, 8 - table.shape[1])))
            parts.append(np.hstack([table[:, :8], classes]).T)
            sizes[t] = len(table)
        return np.hstack(parts), sizes

    @_timing.time
    def get_preprocessed_seq_data(self, raw_data: Any, cls: str) -> Any:
        """What is scored: without detections on distractors, and without truths that are not pedestrians to score."""
        self._check_unique_ids(raw_data)
        ids = self.class_name_to_class_id
        names = [*DISTRACTORS, *(["non_mot_vehicle"] if self.benchmark == "MOT20" else [])]
        distractors = [ids[name] for name in names]
        preprocess = self.do_preproc and self.benchmark != "MOT15"
        truth_sizes, sizes = sizes_of(raw_data["gt_ids"]), sizes_of(raw_data["tracker_ids"])
        classes = join_column(raw_data["gt_classes"], np.int64)
        self._check_classes(raw_data, classes, truth_sizes, sizes, preprocess)
        similarity = join_matrices(raw_data["similarity_scores"])
        truth_rows, rows = np.ones(truth_sizes.sum(), np.uint8), np.ones(sizes.sum(), np.uint8)
        keep = np.ones(len(rows), dtype=bool)
        marked = join_column([extras["zero_marked"] for extras in raw_data["gt_extras"]], np.float64)
        truth_keep = marked != 0
        if preprocess:
            partner = _native.frame_pairs(similarity, truth_sizes, sizes, truth_rows, rows, LEAST)
            keep = (partner < 0) | ~np.isin(classes[partner], distractors) if len(classes) else keep
            truth_keep &= classes == ids[cls]
        data, kept_sizes = keep_rows(raw_data, TRACKER_COLUMNS, keep, sizes)
        truth, kept_truth = keep_rows(raw_data, TRUTH_COLUMNS, truth_keep, truth_sizes)
        flat = _native.frame_select(similarity, truth_sizes, sizes, bytes_of(truth_keep), bytes_of(keep))
        data = {**truth, **data, "similarity_scores": split_matrices(flat, kept_truth, kept_sizes)}
        data = with_ids(data, raw_data)
        self._check_unique_ids(data, after_preproc=True)
        return data

    def _check_classes(self, raw_data: Any, classes: Any, truth_sizes: Any, sizes: Any, preprocess: bool) -> None:
        """A tracker may only have pedestrians, and the truth only classes of the benchmark."""
        none = raw_data["num_timesteps"]
        predicted = join_column(raw_data["tracker_classes"], np.int64)
        other = np.flatnonzero(predicted > 1)
        first_other = frame_of_rows(sizes)[other[0]] if len(other) else none
        first_invalid = none
        if preprocess:
            frame = frame_of_rows(truth_sizes)
            invalid = np.flatnonzero(~np.isin(classes, self.valid_class_numbers) & (sizes[frame] > 0))
            first_invalid = frame[invalid[0]] if len(invalid) else none
        if first_other <= first_invalid and first_other < none:
            class_id = np.max(raw_data["tracker_classes"][first_other])
            raise TrackEvalException(
                f"Evaluation is only valid for pedestrian class. Non pedestrian class ({class_id}) found in sequence "
                f"{raw_data['seq']} at timestep {first_other}."
            )
        if first_invalid < none:
            wrong = np.setdiff1d(np.unique(raw_data["gt_classes"][first_invalid]), self.valid_class_numbers)
            listed = " ".join(str(one) for one in wrong)
            print(listed)
            raise TrackEvalException(
                "Attempting to evaluate using invalid gt classes. This warning only triggers if preprocessing is "
                "performed, e.g. not for MOT15 or where prepropressing is explicitly disabled. Please either check "
                "your gt data, or disable preprocessing. The following invalid classes were found in timestep "
                f"{first_invalid}: {listed}"
            )

    def _similarities(self, gt_dets: Any, tracker_dets: Any) -> list[Any]:
        return self._box_similarities(gt_dets, tracker_dets, "xywh")

    def _calculate_similarities(self, gt_dets_t: Any, tracker_dets_t: Any) -> Any:
        return self._calculate_box_ious(gt_dets_t, tracker_dets_t, box_format="xywh")


TRACKER_COLUMNS = {
    "tracker_ids": ("tracker_ids", np.int64),
    "tracker_dets": ("tracker_dets", None),
    "tracker_confidences": ("tracker_confidences", np.float64),
}
TRUTH_COLUMNS = {"gt_ids": ("gt_ids", np.int64), "gt_dets": ("gt_dets", None)}
