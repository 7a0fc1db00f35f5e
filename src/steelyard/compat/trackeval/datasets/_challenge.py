"""The folders of MOTChallenge, which boxes and masks share."""

from __future__ import annotations

import configparser
import csv
import os
from pathlib import Path
from typing import Any

from steelyard.compat.trackeval import utils
from steelyard.compat.trackeval.datasets._base_dataset import _BaseDataset
from steelyard.compat.trackeval.utils import TrackEvalException


def challenge_defaults() -> dict[str, Any]:
    """The defaults of both configs, in the order in which they are printed; a benchmark is added by boxes."""
    code_path = utils.get_code_path()
    return {
        "GT_FOLDER": os.path.join(code_path, "data/gt/mot_challenge/"),
        "TRACKERS_FOLDER": os.path.join(code_path, "data/trackers/mot_challenge/"),
        "OUTPUT_FOLDER": None,
        "TRACKERS_TO_EVAL": None,
        "CLASSES_TO_EVAL": ["pedestrian"],
        "BENCHMARK": "MOT17",
        "SPLIT_TO_EVAL": "train",
        "INPUT_AS_ZIP": False,
        "PRINT_CONFIG": True,
        "DO_PREPROC": True,
        "TRACKER_SUB_FOLDER": "data",
        "OUTPUT_SUB_FOLDER": "",
        "TRACKER_DISPLAY_NAMES": None,
        "SEQMAP_FOLDER": None,
        "SEQMAP_FILE": None,
        "SEQ_INFO": None,
        "GT_LOC_FORMAT": "{gt_folder}/{seq}/gt/gt.txt",
        "SKIP_SPLIT_FOL": False,
    }


class _Challenge(_BaseDataset):
    """A dataset in the folders of MOTChallenge."""

    def _find_files(self, benchmark: str) -> None:
        """Set folders, sequences and trackers from the config, and check that the files are there."""
        config = self.config
        self.benchmark = benchmark
        self.gt_set = benchmark + "-" + config["SPLIT_TO_EVAL"]
        folder = "" if config["SKIP_SPLIT_FOL"] else self.gt_set
        self.gt_fol = os.path.join(config["GT_FOLDER"], folder)
        self.tracker_fol = os.path.join(config["TRACKERS_FOLDER"], folder)
        self.should_classes_combine = False
        self.use_super_categories = False
        self.data_is_zipped = config["INPUT_AS_ZIP"]
        self.output_fol = self.tracker_fol if config["OUTPUT_FOLDER"] is None else config["OUTPUT_FOLDER"]
        self.tracker_sub_fol = config["TRACKER_SUB_FOLDER"]
        self.output_sub_fol = config["OUTPUT_SUB_FOLDER"]
        self._find_classes(["pedestrian"], "Attempted to evaluate an invalid class. Only pedestrian class is valid.")
        self.seq_list, self.seq_lengths = self._get_seq_info()
        if len(self.seq_list) < 1:
            raise TrackEvalException("No sequences are selected to be evaluated.")
        paths = {self._truth_file(seq): "GT file not found for sequence: " + seq for seq in self.seq_list}
        if self.data_is_zipped:
            paths = {os.path.join(self.gt_fol, "data.zip"): "GT file not found: data.zip"}
        for path, message in paths.items():
            if not os.path.isfile(path):
                print("GT file not found " + path)
                raise TrackEvalException(message)
        self._find_trackers(say=True)

    def _truth_file(self, seq: str) -> str:
        name: str = self.config["GT_LOC_FORMAT"].format(gt_folder=self.gt_fol, seq=seq)
        return name

    def _sequences_there(self) -> set[str]:
        """The sequences of the folder of truths, whether they are evaluated or not."""
        return {path.parent.parent.name for path in Path(self.gt_fol).glob("*/gt/gt.txt")}

    def get_display_name(self, tracker: str) -> str:
        return str(self.tracker_to_disp[tracker])

    def _get_seq_info(self) -> tuple[list[str], Any]:
        """The sequences and their lengths: of the config, or of the benchmark's list and the sequences' folders."""
        config = self.config
        if config["SEQ_INFO"]:
            lengths = config["SEQ_INFO"]
            for seq, length in lengths.items():
                if length is None:
                    lengths[seq] = self._read_length(seq)
            return list(lengths), lengths
        folder = config["SEQMAP_FOLDER"]
        if folder is None:
            folder = os.path.join(config["GT_FOLDER"], "seqmaps")
        path = config["SEQMAP_FILE"] or os.path.join(folder, self.gt_set + ".txt")
        if not os.path.isfile(path):
            print("no seqmap found: " + path)
            raise TrackEvalException("no seqmap found: " + os.path.basename(path))
        with open(path) as file:
            sequences = [row[0] for i, row in enumerate(csv.reader(file)) if i > 0 and row[0] != ""]
        return sequences, {seq: self._read_length(seq) for seq in sequences}

    def _read_length(self, seq: str) -> int:
        path = os.path.join(self.gt_fol, seq, "seqinfo.ini")
        if not os.path.isfile(path):
            raise TrackEvalException("ini file does not exist: " + seq + "/" + os.path.basename(path))
        info = configparser.ConfigParser()
        info.read(path)
        return int(info["Sequence"]["seqLength"])
