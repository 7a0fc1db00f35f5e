"""Masks of YouTube-VIS: one JSON file of tracks."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.trackeval import _timing, utils
from steelyard.compat.trackeval._frames import join_column, join_matrices, sizes_of, split_matrices
from steelyard.compat.trackeval.datasets._base_dataset import _BaseDataset, bytes_of, keep_rows, with_ids
from steelyard.compat.trackeval.datasets._mots import keep_lists
from steelyard.compat.trackeval.utils import TrackEvalException


class YouTubeVIS(_BaseDataset):
    """YouTube-VIS."""

    @staticmethod
    def get_default_dataset_config() -> dict[str, Any]:
        code_path = utils.get_code_path()
        return {
            "GT_FOLDER": os.path.join(code_path, "data/gt/youtube_vis/"),
            "TRACKERS_FOLDER": os.path.join(code_path, "data/trackers/youtube_vis/"),
            "OUTPUT_FOLDER": None,
            "TRACKERS_TO_EVAL": None,
            "CLASSES_TO_EVAL": None,
            "SPLIT_TO_EVAL": "train_sub_split",
            "PRINT_CONFIG": True,
            "OUTPUT_SUB_FOLDER": "",
            "TRACKER_SUB_FOLDER": "data",
            "TRACKER_DISPLAY_NAMES": None,
        }

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.config = utils.init_config(config, self.get_default_dataset_config(), self.get_name())
        split = "youtube_vis_" + self.config["SPLIT_TO_EVAL"]
        self.gt_fol = self.config["GT_FOLDER"] + split
        self.tracker_fol = self.config["TRACKERS_FOLDER"] + split
        self.use_super_categories = False
        self.should_classes_combine = True
        output = self.config["OUTPUT_FOLDER"]
        self.output_fol = self.tracker_fol if output is None else output
        self.output_sub_fol = self.config["OUTPUT_SUB_FOLDER"]
        self.tracker_sub_fol = self.config["TRACKER_SUB_FOLDER"]
        if not os.path.exists(self.gt_fol):
            print("GT folder not found: " + self.gt_fol)
            raise TrackEvalException("GT folder not found: " + os.path.basename(self.gt_fol))
        self.gt_data = _read_only_json(self.gt_fol)
        ids = {category["name"]: category["id"] for category in self.gt_data["categories"]}
        self.valid_classes = list(ids)
        self.class_list = self.valid_classes
        if self.config["CLASSES_TO_EVAL"]:
            message = "Attempted to evaluate an invalid class. Only classes " + ", ".join(ids) + " are valid."
            self._find_classes(self.valid_classes, message)
        self.class_name_to_class_id = {name: id_ for name, id_ in ids.items() if name in self.class_list}
        videos = self.gt_data["videos"]
        self.seq_list = [video["file_names"][0].split("/")[0] for video in videos]
        self.seq_name_to_seq_id = {seq: video["id"] for seq, video in zip(self.seq_list, videos, strict=True)}
        self.seq_lengths = {video["id"]: len(video["file_names"]) for video in videos}
        self._prepare_gt_annotations()
        listed = self.config["TRACKERS_TO_EVAL"]
        self.tracker_list = os.listdir(self.tracker_fol) if listed is None else listed
        self._name_trackers()
        self.global_tid_counter = 0
        self.tracker_data = {
            tracker: _read_only_json(os.path.join(self.tracker_fol, tracker, self.tracker_sub_fol))
            for tracker in self.tracker_list
        }

    def get_display_name(self, tracker: str) -> str:
        return str(self.tracker_to_disp[tracker])

    def _load_raw_file(self, tracker: str, seq: str, is_gt: bool) -> Any:
        """One side of a sequence: by frame ids, classes and masks, and by class the tracks."""
        seq_id = self.seq_name_to_seq_id[seq]
        if is_gt:
            tracks = [track for track in self.gt_data["annotations"] if track["video_id"] == seq_id]
        else:
            tracks = self._get_tracker_seq_tracks(tracker, seq_id)
        side, short = ("gt", "gt") if is_gt else ("tracker", "dt")
        fields: dict[str, tuple[str, Any]] = {f"{side}_ids": ("id", int), f"{side}_classes": ("category_id", int)}
        if not is_gt:
            fields["tracker_confidences"] = ("score", float)
        raw_data: dict[str, Any] = {name: [] for name in [*fields, f"{side}_dets"]}
        timesteps = self.seq_lengths[seq_id]
        for t in range(timesteps):
            there = [track for track in tracks if track["segmentations"][t]]
            raw_data[f"{side}_dets"].append([track["segmentations"][t] for track in there])
            for name, (field, dtype) in fields.items():
                raw_data[name].append(np.array([track[field] for track in there], dtype=dtype))
        classes = {self.class_name_to_class_id[cls] for cls in self.class_list}
        by_class = {cls: [track for track in tracks if track["category_id"] == cls] for cls in classes}

        def of_classes(values: Any) -> dict[Any, Any]:
            return {cls: values(of_class) for cls, of_class in by_class.items()}

        raw_data[f"classes_to_{short}_tracks"] = of_classes(
            lambda tracks: [dict(enumerate(track["segmentations"])) for track in tracks]
        )
        raw_data[f"classes_to_{short}_track_ids"] = of_classes(lambda tracks: [track["id"] for track in tracks])
        raw_data[f"classes_to_{short}_track_areas"] = of_classes(lambda tracks: [track["area"] for track in tracks])
        if is_gt:
            crowd = of_classes(lambda tracks: [track["iscrowd"] for track in tracks])
            raw_data["classes_to_gt_track_iscrowd"] = crowd
        else:
            scores = of_classes(lambda tracks: np.array([track["score"] for track in tracks]))
            raw_data["classes_to_dt_track_scores"] = scores
        return {**raw_data, "num_timesteps": timesteps, "seq": seq}

    @_timing.time
    def get_preprocessed_seq_data(self, raw_data: Any, cls: str) -> Any:
        """What is scored of a class: all of its masks and tracks, the tracker's by falling score."""
        cls_id = self.class_name_to_class_id[cls]
        similarity = join_matrices(raw_data["similarity_scores"])
        data: dict[str, Any] = {}
        sizes, keep, kept_sizes = {}, {}, {}
        for side in ("gt", "tracker"):
            sizes[side] = sizes_of(raw_data[f"{side}_ids"])
            keep[side] = join_column(raw_data[f"{side}_classes"], np.int64) == cls_id
            columns = {f"{side}_ids": (f"{side}_ids", np.int64)}
            ids, kept_sizes[side] = keep_rows(raw_data, columns, keep[side], sizes[side])
            data |= {**ids, f"{side}_dets": keep_lists(raw_data[f"{side}_dets"], keep[side])}
        flat = _native.frame_select(
            similarity, sizes["gt"], sizes["tracker"], bytes_of(keep["gt"]), bytes_of(keep["tracker"])
        )
        data["similarity_scores"] = split_matrices(flat, kept_sizes["gt"], kept_sizes["tracker"])
        data = with_ids(data, raw_data)
        self._check_unique_ids(data)
        names = ("gt_tracks", "gt_track_ids", "gt_track_areas", "gt_track_iscrowd")
        scored = ("dt_tracks", "dt_track_ids", "dt_track_areas", "dt_track_scores")
        data |= {name: raw_data[f"classes_to_{name}"][cls_id] for name in (*names, *scored)}
        data["iou_type"] = "mask"
        if data["dt_tracks"]:
            order = np.argsort([-score for score in data["dt_track_scores"]], kind="mergesort")
            data |= {name: [data[name][i] for i in order] for name in scored}
        return data

    def _calculate_similarities(self, gt_dets_t: Any, tracker_dets_t: Any) -> Any:
        return self._calculate_mask_ious(gt_dets_t, tracker_dets_t, is_encoded=True, do_ioa=False)

    def _prepare_gt_annotations(self) -> None:
        """Encode the masks of the truth, and note the mean area of each track."""
        for track in self.gt_data["annotations"]:
            track["segmentations"] = [
                masks.frPyObjects(segment, track["height"], track["width"]) if segment else segment
                for segment in track["segmentations"]
            ]
            track["area"] = _mean_area(track["areas"])

    def _get_tracker_seq_tracks(self, tracker: str, seq_id: Any) -> list[Any]:
        """The tracks of a sequence, with areas and ids."""
        tracks = [track for track in self.tracker_data[tracker] if track["video_id"] == seq_id]
        for track in tracks:
            track["areas"] = [masks.area(segment) if segment else None for segment in track["segmentations"]]
            track["area"] = _mean_area(track["areas"])
            track["id"] = self.global_tid_counter
            self.global_tid_counter += 1
        return tracks


def _mean_area(areas: Any) -> Any:
    filled = [area for area in areas if area]
    return np.array(filled).mean() if filled else 0


def _read_only_json(folder: str) -> Any:
    """The one JSON file of a folder."""
    names = [name for name in os.listdir(folder) if name.endswith(".json")]
    if len(names) != 1:
        raise TrackEvalException(folder + " does not contain exactly one json file.")
    with open(os.path.join(folder, names[0])) as file:
        return json.load(file)
