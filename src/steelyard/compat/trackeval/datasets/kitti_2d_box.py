"""Boxes of KITTI: cars and pedestrians."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.trackeval import _timing, utils
from steelyard.compat.trackeval._frames import (
    EPS,
    join_boxes,
    join_column,
    join_matrices,
    sizes_of,
    split_matrices,
    split_rows,
)
from steelyard.compat.trackeval.datasets._base_dataset import (
    LEAST,
    _BaseDataset,
    bytes_of,
    keep_rows,
    read_numbers,
    rows_by_time,
    with_ids,
)
from steelyard.compat.trackeval.datasets.mot_challenge_2d_box import TRACKER_COLUMNS, TRUTH_COLUMNS
from steelyard.compat.trackeval.utils import TrackEvalException

NUMBERS = 18  # columns of a file with confidences
WORD = re.compile(rb"(?<!\S)[A-Za-z_]\w*")
AS_NUMBER = 10**6  # added to the id that replaces a class name, so that a number in its place is noticed


class Kitti2DBox(_BaseDataset):
    """KITTI tracking with boxes."""

    @staticmethod
    def get_default_dataset_config() -> dict[str, Any]:
        code_path = utils.get_code_path()
        return {
            "GT_FOLDER": os.path.join(code_path, "data/gt/kitti/kitti_2d_box_train"),
            "TRACKERS_FOLDER": os.path.join(code_path, "data/trackers/kitti/kitti_2d_box_train/"),
            "OUTPUT_FOLDER": "",
            "TRACKERS_TO_EVAL": None,
            "CLASSES_TO_EVAL": ["car", "pedestrian"],
            "SPLIT_TO_EVAL": "training",
            "INPUT_AS_ZIP": False,
            "PRINT_CONFIG": True,
            "TRACKER_SUB_FOLDER": "data",
            "OUTPUT_SUB_FOLDER": "",
            "TRACKER_DISPLAY_NAMES": None,
        }

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.config = utils.init_config(config, self.get_default_dataset_config(), self.get_name())
        self.gt_fol = self.config["GT_FOLDER"]
        self.tracker_fol = self.config["TRACKERS_FOLDER"]
        self.should_classes_combine = False
        self.use_super_categories = False
        self.data_is_zipped = self.config["INPUT_AS_ZIP"]
        output = self.config["OUTPUT_FOLDER"]
        self.output_fol = self.tracker_fol if output == "" else output
        self.tracker_sub_fol = self.config["TRACKER_SUB_FOLDER"]
        self.output_sub_fol = self.config["OUTPUT_SUB_FOLDER"]
        self.max_occlusion = 2
        self.max_truncation = 0
        self.min_height = 25
        self._find_classes(
            ["car", "pedestrian"], "Attempted to evaluate an invalid class. Only classes [car, pedestrian] are valid."
        )
        self.class_name_to_class_id = {
            "car": 1,
            "van": 2,
            "truck": 3,
            "pedestrian": 4,
            "person": 5,
            "cyclist": 6,
            "tram": 7,
            "misc": 8,
            "dontcare": 9,
            "car_2": 1,
        }
        self._find_sequences()
        self._find_trackers(say=False)

    def _find_sequences(self) -> None:
        name = "evaluate_tracking.seqmap." + self.config["SPLIT_TO_EVAL"]
        path = os.path.join(self.gt_fol, name)
        if not os.path.isfile(path):
            raise TrackEvalException("no seqmap found: " + name)
        self.seq_list, self.seq_lengths = [], {}
        with open(path, newline="") as file:
            dialect = csv.Sniffer().sniff(file.read(1024))
            file.seek(0)
            for row in csv.reader(file, dialect):
                if len(row) >= 4:
                    self.seq_list.append(row[0])
                    self.seq_lengths[row[0]] = int(row[3])
        paths = [os.path.join(self.gt_fol, "label_02", seq + ".txt") for seq in self.seq_list]
        for truth in [os.path.join(self.gt_fol, "data.zip")] if self.data_is_zipped else paths:
            if not os.path.isfile(truth):
                raise TrackEvalException("GT file not found: " + os.path.basename(truth))

    def get_display_name(self, tracker: str) -> str:
        return str(self.tracker_to_disp[tracker])

    def steelyard_inputs(self, tracker: str) -> tuple[str, Any, Any, dict[str, Any]]:
        """The arguments of `steelyard.evaluate` for a tracker."""
        truth = os.path.join(self.gt_fol, "label_02")
        self._check_report({path.stem for path in Path(truth).glob("*.txt")})
        results = os.path.join(self.tracker_fol, tracker, self.tracker_sub_fol)
        return "tracking", truth, results, {"options": {"benchmark": "kitti"}}

    def _words(self, text: bytes) -> bytes | None:
        """The text with numbers in the place of its classes; None where one is unknown."""
        ids = {name.encode(): b"%d" % (AS_NUMBER + id_) for name, id_ in self.class_name_to_class_id.items()}
        try:
            return WORD.sub(lambda word: ids[word[0].lower()], text)
        except KeyError:
            return None

    def _load_raw_file(self, tracker: str, seq: str, is_gt: bool) -> Any:
        """One side of a sequence by frame: ids, classes, boxes, and levels, regions or confidences."""
        file, zip_file = self._place_of(tracker, seq, is_gt, os.path.join(self.gt_fol, "label_02", seq + ".txt"))
        timesteps = self.seq_lengths[seq]
        columns = read_numbers(file, zip_file, self._words) if self._is_own("_load_simple_text_file") else None
        sides = None if columns is None else self._sort_columns(columns, timesteps, is_gt)
        if sides is None:
            sides = self._read_rows(file, zip_file, timesteps, seq, is_gt)
        (columns, sizes), (regions, region_sizes) = sides
        side = "gt" if is_gt else "tracker"
        raw_data: dict[str, Any] = {
            f"{side}_ids": split_rows(columns[1].astype(int), sizes),
            f"{side}_classes": split_rows(columns[2].astype(int), sizes),
            f"{side}_dets": split_rows(np.ascontiguousarray(columns[6:10].T), sizes),
        }
        if is_gt:
            levels = zip(*(split_rows(columns[c].astype(int), sizes) for c in (3, 4)), strict=True)
            raw_data["gt_extras"] = [{"truncation": cut, "occlusion": hidden} for cut, hidden in levels]
            boxes = np.ascontiguousarray(regions[6:10].T)
            raw_data["gt_crowd_ignore_regions"] = split_rows(boxes, region_sizes)
        else:
            raw_data["tracker_confidences"] = split_rows(columns[17], sizes)
        return {**raw_data, "num_timesteps": timesteps, "seq": seq}

    def _sort_columns(self, columns: Any, timesteps: int, is_gt: bool) -> Any:
        """Objects and regions in the order of time; None where rows are not as they should be."""
        if len(columns) < 10 or not (columns[2] >= AS_NUMBER).all() or not np.isfinite(columns[:2]).all():
            return None
        columns[2] -= AS_NUMBER
        if len(columns) < NUMBERS:
            columns = np.vstack([columns, np.ones((NUMBERS - len(columns), columns.shape[1]))])
        region = (columns[2] == self.class_name_to_class_id["dontcare"]) & is_gt
        objects = columns[:, ~region & (np.trunc(columns[1]) >= 0)]
        near = region & (columns[0] > -1) & (columns[0] < timesteps)
        sides = [rows_by_time(side, 0, timesteps) for side in (objects, columns[:, near])]
        return None if None in [side if side is None else 0 for side in sides] else sides

    def _read_rows(self, file: str, zip_file: str | None, timesteps: int, seq: str, is_gt: bool) -> Any:
        """Objects and regions by TrackEval's rules for rows of texts."""
        rows, ignored = self._load_simple_text_file(
            file,
            time_col=0,
            id_col=1,
            remove_negative_ids=True,
            crowd_ignore_filter={2: ["dontcare"]} if is_gt else None,
            convert_filter={2: self.class_name_to_class_id},
            is_zipped=self.data_is_zipped,
            zip_file=zip_file,
        )
        self._check_timesteps(rows, 0, timesteps, seq, is_gt)
        sides = []
        for by_time in (rows, ignored):
            parts, sizes = [np.zeros((NUMBERS, 0))], np.zeros(timesteps, dtype=np.int64)
            for t in range(timesteps):
                if str(t) in by_time:
                    table = np.asarray(by_time[str(t)], dtype=float)[:, :NUMBERS]
                    if table.shape[1] < 10:
                        raise TrackEvalException(f"Cannot load {file}: there are not enough columns in the data.")
                    parts.append(np.hstack([table, np.ones((len(table), NUMBERS - table.shape[1]))]).T)
                    sizes[t] = len(table)
            sides.append((np.hstack(parts), sizes))
        return sides

    @_timing.time
    def get_preprocessed_seq_data(self, raw_data: Any, cls: str) -> Any:
        """What is scored of a class: without what is hidden, cut or alike, and without small or ignored detections."""
        ids = self.class_name_to_class_id
        if cls not in ("pedestrian", "car"):
            raise TrackEvalException(f"Class {cls} is not evaluatable")
        distractor, own = ids["person" if cls == "pedestrian" else "van"], ids[cls]
        truth_sizes, sizes = sizes_of(raw_data["gt_ids"]), sizes_of(raw_data["tracker_ids"])
        classes = join_column(raw_data["gt_classes"], np.int64)
        hidden, cut = (
            join_column([extras[level] for extras in raw_data["gt_extras"]], np.float64)
            for level in ("occlusion", "truncation")
        )
        chosen = (classes == own) | (classes == distractor)
        mine = join_column(raw_data["tracker_classes"], np.int64) == own
        similarity = join_matrices(raw_data["similarity_scores"])
        partner = _native.frame_pairs(similarity, truth_sizes, sizes, bytes_of(chosen), bytes_of(mine), LEAST)
        matched = partner >= 0
        removed = np.zeros(len(partner), dtype=bool)
        if len(classes):
            off = (classes == distractor) | (hidden > self.max_occlusion + EPS) | (cut > self.max_truncation + EPS)
            removed = matched & off[partner]
        boxes = join_boxes(raw_data["tracker_dets"])
        small = boxes[:, 3] - boxes[:, 1] <= self.min_height + EPS
        removed |= ~matched & (small | self._is_ignored(boxes, sizes, raw_data["gt_crowd_ignore_regions"]))
        keep = mine & ~removed
        truth_keep = (hidden <= self.max_occlusion) & (cut <= self.max_truncation) & (classes == own)
        tracker, kept_sizes = keep_rows(raw_data, TRACKER_COLUMNS, keep, sizes)
        truth, kept_truth = keep_rows(raw_data, TRUTH_COLUMNS, truth_keep, truth_sizes)
        flat = _native.frame_select(similarity, truth_sizes, sizes, bytes_of(truth_keep), bytes_of(keep))
        data = {**truth, **tracker, "similarity_scores": split_matrices(flat, kept_truth, kept_sizes)}
        data = with_ids(data, raw_data)
        self._check_unique_ids(data)
        return data

    @staticmethod
    def _is_ignored(boxes: Any, sizes: Any, regions: Any) -> Any:
        """Which boxes lie by more than half inside a region of their frame."""
        region_sizes = sizes_of(regions)
        shares = _native.frame_ious(boxes, sizes, join_boxes(regions), region_sizes, True)
        row = np.repeat(np.arange(len(boxes)), np.repeat(region_sizes, sizes))
        inside = np.zeros(len(boxes), dtype=bool)
        inside[row[shares > 0.5 + EPS]] = True
        return inside

    def _similarities(self, gt_dets: Any, tracker_dets: Any) -> list[Any]:
        return self._box_similarities(gt_dets, tracker_dets, "x0y0x1y1")

    def _calculate_similarities(self, gt_dets_t: Any, tracker_dets_t: Any) -> Any:
        return self._calculate_box_ious(gt_dets_t, tracker_dets_t, box_format="x0y0x1y1")
