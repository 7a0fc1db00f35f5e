"""Masks of KITTI MOTS: cars and pedestrians."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from steelyard.compat.trackeval import utils
from steelyard.compat.trackeval.datasets._mots import _Mots
from steelyard.compat.trackeval.utils import TrackEvalException


class KittiMOTS(_Mots):
    """KITTI MOTS."""

    names_class = True

    @staticmethod
    def get_default_dataset_config() -> dict[str, Any]:
        code_path = utils.get_code_path()
        return {
            "GT_FOLDER": os.path.join(code_path, "data/gt/kitti/kitti_mots_val"),
            "TRACKERS_FOLDER": os.path.join(code_path, "data/trackers/kitti/kitti_mots_val"),
            "OUTPUT_FOLDER": None,
            "TRACKERS_TO_EVAL": None,
            "CLASSES_TO_EVAL": ["car", "pedestrian"],
            "SPLIT_TO_EVAL": "val",
            "INPUT_AS_ZIP": False,
            "PRINT_CONFIG": True,
            "TRACKER_SUB_FOLDER": "data",
            "OUTPUT_SUB_FOLDER": "",
            "TRACKER_DISPLAY_NAMES": None,
            "SEQMAP_FOLDER": None,
            "SEQMAP_FILE": None,
            "SEQ_INFO": None,
            "GT_LOC_FORMAT": "{gt_folder}/label_02/{seq}.txt",
        }

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.config = utils.init_config(config, self.get_default_dataset_config(), self.get_name())
        self.gt_fol = self.config["GT_FOLDER"]
        self.tracker_fol = self.config["TRACKERS_FOLDER"]
        self.split_to_eval = self.config["SPLIT_TO_EVAL"]
        self.should_classes_combine = False
        self.use_super_categories = False
        self.data_is_zipped = self.config["INPUT_AS_ZIP"]
        output = self.config["OUTPUT_FOLDER"]
        self.output_fol = self.tracker_fol if output is None else output
        self.tracker_sub_fol = self.config["TRACKER_SUB_FOLDER"]
        self.output_sub_fol = self.config["OUTPUT_SUB_FOLDER"]
        self._find_classes(
            ["car", "pedestrian"], "Attempted to evaluate an invalid class. Only classes [car, pedestrian] are valid."
        )
        self.class_name_to_class_id = {"car": "1", "pedestrian": "2", "ignore": "10"}
        self.seq_list, self.seq_lengths = self._get_seq_info()
        if len(self.seq_list) < 1:
            raise TrackEvalException("No sequences are selected to be evaluated.")
        if self.data_is_zipped:
            if not os.path.isfile(os.path.join(self.gt_fol, "data.zip")):
                raise TrackEvalException("GT file not found: data.zip")
        else:
            for seq in self.seq_list:
                path = self._truth_file(seq)
                if not os.path.isfile(path):
                    print("GT file not found " + path)
                    raise TrackEvalException("GT file not found for sequence: " + seq)
        self._find_trackers(say=True)

    def _get_seq_info(self) -> tuple[list[str], Any]:
        """The sequences and their lengths: of the config, or of KITTI's list."""
        if self.config["SEQ_INFO"]:
            return list(self.config["SEQ_INFO"]), self.config["SEQ_INFO"]
        folder = self.config["SEQMAP_FOLDER"]
        name = "evaluate_mots.seqmap." + self.config["SPLIT_TO_EVAL"]
        path = self.config["SEQMAP_FILE"] or os.path.join(self.gt_fol if folder is None else folder, name)
        if not os.path.isfile(path):
            print("no seqmap found: " + path)
            raise TrackEvalException("no seqmap found: " + os.path.basename(path))
        with open(path) as file:
            lines = file.read().splitlines(keepends=True)
        sequences, lengths = [], {}
        if lines:
            dialect = csv.Sniffer().sniff("".join(lines[1:])[:1024])  # TrackEval looks at what is behind the first line
            for row in csv.reader(lines, dialect):
                if len(row) >= 4:
                    sequences.append(f"{int(row[0]):04d}")
                    lengths[sequences[-1]] = int(row[3]) + 1
        return sequences, lengths

    def steelyard_inputs(self, tracker: str) -> tuple[str, Any, Any, dict[str, Any]]:
        """The arguments of `steelyard.evaluate` for a tracker."""
        truth = os.path.join(self.gt_fol, "label_02")
        self._check_report({path.stem for path in Path(truth).glob("*.txt")})
        results = os.path.join(self.tracker_fol, tracker, self.tracker_sub_fol)
        options = {"benchmark": "mots", "first_frame": 0}
        return "tracking", truth, results, {"options": options}
