"""Masks of DAVIS: a picture of object numbers per frame."""

from __future__ import annotations

import csv
import os
from typing import Any

import numpy as np

from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.trackeval import _timing, utils
from steelyard.compat.trackeval._frames import join_column, relabel, sizes_of, split_rows
from steelyard.compat.trackeval.datasets._base_dataset import _BaseDataset
from steelyard.compat.trackeval.utils import TrackEvalException
from steelyard.core.errors import InputError
from steelyard.maps.png import SIGNATURE, png_file

VOID = 255
_PLAIN_PNG = {bytes((bits, 3)) for bits in (1, 2, 4, 8)} | {bytes((8, 0))}  # bits and colour type of the header


class DAVIS(_BaseDataset):
    """DAVIS, unsupervised. Reading pictures needs Pillow."""

    @staticmethod
    def get_default_dataset_config() -> dict[str, Any]:
        code_path = utils.get_code_path()
        return {
            "GT_FOLDER": os.path.join(code_path, "data/gt/davis/davis_unsupervised_val/"),
            "TRACKERS_FOLDER": os.path.join(code_path, "data/trackers/davis/davis_unsupervised_val/"),
            "OUTPUT_FOLDER": None,
            "TRACKERS_TO_EVAL": None,
            "SPLIT_TO_EVAL": "val",
            "CLASSES_TO_EVAL": ["general"],
            "PRINT_CONFIG": True,
            "TRACKER_SUB_FOLDER": "data",
            "OUTPUT_SUB_FOLDER": "",
            "TRACKER_DISPLAY_NAMES": None,
            "SEQMAP_FILE": None,
            "SEQ_INFO": None,
            "MAX_DETECTIONS": 0,
        }

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.config = utils.init_config(config, self.get_default_dataset_config(), self.get_name())
        self.should_classes_combine = False
        self.use_super_categories = False
        self.gt_fol = self.config["GT_FOLDER"]
        self.tracker_fol = self.config["TRACKERS_FOLDER"]
        self.output_sub_fol = self.config["OUTPUT_SUB_FOLDER"]
        self.tracker_sub_fol = self.config["TRACKER_SUB_FOLDER"]
        output = self.config["OUTPUT_FOLDER"]
        self.output_fol = self.tracker_fol if output is None else output
        self.max_det = self.config["MAX_DETECTIONS"]
        self._find_classes(["general"], "Attempted to evaluate an invalid class. Only general class is valid.")
        self.seq_list = self._find_sequences()
        self.seq_lengths = {seq: len(os.listdir(os.path.join(self.gt_fol, seq))) for seq in self.seq_list}
        listed = self.config["TRACKERS_TO_EVAL"]
        self.tracker_list = os.listdir(self.tracker_fol) if listed is None else listed
        for tracker in self.tracker_list:
            for seq in self.seq_list:
                self._check_folder(tracker, seq)
        self._name_trackers()

    def _find_sequences(self) -> list[str]:
        if self.config["SEQ_INFO"]:
            return list(self.config["SEQ_INFO"])
        path = self.config["SEQMAP_FILE"]
        if not path:
            return os.listdir(self.gt_fol)
        if not os.path.isfile(path):
            raise TrackEvalException("no seqmap found: " + os.path.basename(path))
        with open(path) as file:
            return [row[0] for row in csv.reader(file) if row[0] != ""]

    def _check_folder(self, tracker: str, seq: str) -> None:
        """A tracker must have as many pictures as the truth."""
        folder = os.path.join(self.tracker_fol, tracker, self.tracker_sub_fol, seq)
        if not os.path.isdir(folder):
            print("Tracker directory not found: " + folder)
            name = os.path.join(tracker, self.tracker_sub_fol, seq)
            raise TrackEvalException("Tracker directory not found: " + name)
        if self.seq_lengths[seq] != len(os.listdir(folder)):
            raise TrackEvalException(
                "GT folder and tracker folder have a different number"
                f"timesteps for tracker {tracker} and sequence {seq}"
            )

    def _load_raw_file(self, tracker: str, seq: str, is_gt: bool) -> Any:
        """One side of a sequence by frame: ids and masks; of the truth also what is void."""
        folder = os.path.join(*([self.gt_fol] if is_gt else [self.tracker_fol, tracker, self.tracker_sub_fol]), seq)
        names = sorted(os.listdir(folder))
        timesteps = self.seq_lengths[seq]
        side = "gt" if is_gt else "tracker"
        ids, dets, void, every, shape = [], [], [], set(), None
        for t in range(timesteps):
            frame = _read_pixels(os.path.join(folder, names[t]))
            shape = frame.shape if t == 0 else shape
            columns = np.ascontiguousarray(frame.T)  # masks are encoded column by column
            values = _distinct(columns)
            if is_gt:
                void.append(masks.encode((columns == VOID).view(np.uint8).T))
                values = values[values != VOID]
            values = values[values != 0]
            every.update(values.tolist())
            pixels = (columns[None] == values[:, None, None]).view(np.uint8)
            dets.append(masks.encode(pixels.transpose(2, 1, 0)) if len(values) else [])
            ids.append(values.astype(int))
        if not is_gt and len(every) > self.max_det > 0:
            raise Exception(
                f"Number of proposals ({len(every)}) for sequence {seq} exceeds number of maximum allowed proposals "
                f"({self.max_det})."
            )
        return {
            "masks_void": void if is_gt else [None] * timesteps,
            f"{side}_ids": ids,
            f"{side}_dets": dets,
            "num_timesteps": timesteps,
            "mask_shape": shape,
            f"num_{side}_ids": len(every),
        }

    @_timing.time
    def get_preprocessed_seq_data(self, raw_data: Any, cls: str) -> Any:
        """What is scored: all, with void pixels taken out of the tracker's masks."""
        for t, void in enumerate(raw_data["masks_void"]):
            dets = raw_data["tracker_dets"][t]
            if not len(dets) or not masks.area(void) > 0:
                continue
            shares = np.asarray(masks.iou(dets, [void], [False]))
            for row in np.flatnonzero(shares[:, 0] > 0).tolist():
                pixels = masks.decode(dets[row])
                pixels[masks.decode(void).astype(bool)] = 0
                dets[row] = masks.encode(np.asfortranarray(pixels))
        data = {name: raw_data[name] for name in ("gt_dets", "tracker_dets", "similarity_scores")}
        for side in ("gt", "tracker"):
            sizes = sizes_of(raw_data[f"{side}_ids"])
            ids = relabel(join_column(raw_data[f"{side}_ids"], np.int64))[0]
            data[f"{side}_ids"] = split_rows(ids, sizes)
            data[f"num_{side}_dets"] = int(sizes.sum())
            data[f"num_{side}_ids"] = raw_data[f"num_{side}_ids"]
        data["mask_shape"] = raw_data["mask_shape"]
        data["num_timesteps"] = raw_data["num_timesteps"]
        return data

    def _calculate_similarities(self, gt_dets_t: Any, tracker_dets_t: Any) -> Any:
        return self._calculate_mask_ious(gt_dets_t, tracker_dets_t, is_encoded=True, do_ioa=False)


def _read_pixels(path: str) -> Any:
    """The values of a picture as Pillow gives them; palette and grey PNG files are decoded in the native core."""
    with open(path, "rb") as file:
        data = file.read()
    if data.startswith(SIGNATURE) and data[24:26] in _PLAIN_PNG:
        try:
            return png_file(data, path).map()
        except InputError:
            pass  # Pillow reads more, such as palettes with transparent colours
    from PIL import Image

    with Image.open(path) as picture:
        return np.array(picture)


def _distinct(numbers: Any) -> Any:
    """The values of a picture, in rising order."""
    flat = numbers.ravel()
    return np.unique(np.concatenate([flat[:1], flat[1:][flat[1:] != flat[:-1]]]))
