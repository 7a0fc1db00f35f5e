"""Files of masks and what is scored of them, which MOTSChallenge and KITTI MOTS share."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.trackeval import _timing
from steelyard.compat.trackeval._frames import EPS, frame_of_rows, join_column, join_matrices, sizes_of, split_matrices
from steelyard.compat.trackeval.datasets._base_dataset import LEAST, _BaseDataset, bytes_of, keep_rows, with_ids
from steelyard.compat.trackeval.utils import TrackEvalException

LIFT = 10000.0  # what a pair below the threshold costs: as many pairs as can be are made


class _Mots(_BaseDataset):
    """A dataset of masks in text files: frame, id, class, height, width, run lengths."""

    first_timestep = 0
    names_class = False  # whether the data of a sequence name their class
    class_name_to_class_id: dict[str, str]

    def _truth_file(self, seq: str) -> str:
        name: str = self.config["GT_LOC_FORMAT"].format(gt_folder=self.gt_fol, seq=seq)
        return name

    def _load_raw_file(self, tracker: str, seq: str, is_gt: bool) -> Any:
        """One side of a sequence by frame: ids, classes, masks; of the truth also the regions to ignore."""
        file, zip_file = self._place_of(tracker, seq, is_gt, self._truth_file(seq))
        timesteps, first = self.seq_lengths[seq], self.first_timestep
        rows, ignored = self._load_simple_text_file(
            file,
            crowd_ignore_filter={2: ["10"]} if is_gt else None,
            is_zipped=self.data_is_zipped,
            zip_file=zip_file,
            force_delimiters=" ",
        )
        self._check_timesteps(rows, first, timesteps, seq, is_gt)
        side = "gt" if is_gt else "tracker"
        raw_data: dict[str, Any] = {f"{side}_{name}": [] for name in ("ids", "classes", "dets")}
        if is_gt:
            raw_data["gt_ignore_region"] = []
        for t in range(timesteps):
            regions = rows.get(str(t + first), [])
            try:
                segments = _masks_of(regions)
                raw_data[f"{side}_ids"].append(np.array([region[1] for region in regions], dtype=str).astype(int))
                raw_data[f"{side}_classes"].append(np.array([region[2] for region in regions], dtype=str).astype(int))
                raw_data[f"{side}_dets"].append(segments)
                every = segments
                if is_gt:
                    ignore = _masks_of(ignored.get(str(t + first), []))
                    region = masks.merge(ignore, intersect=False) if ignore else {"size": [0, 0], "counts": b""}
                    raw_data["gt_ignore_region"].append(region)
                    every = [*segments, region] if ignore else segments
            except IndexError:
                self._raise_index_error(is_gt, tracker, seq)
            except ValueError:
                self._raise_value_error(is_gt, tracker, seq)
            if len(every) > 1 and masks.area(masks.merge(every)) != masks.area(every).sum():
                raise TrackEvalException(f"Tracker has overlapping masks. Tracker: {tracker} Seq: {seq} Timestep: {t}")
        return {**raw_data, "num_timesteps": timesteps, "seq": seq}

    @_timing.time
    def get_preprocessed_seq_data(self, raw_data: Any, cls: str) -> Any:
        """What is scored of a class: without unmatched detections that lie in a region to ignore."""
        self._check_unique_ids(raw_data)
        own = int(self.class_name_to_class_id[cls])
        truth_sizes, sizes = sizes_of(raw_data["gt_ids"]), sizes_of(raw_data["tracker_ids"])
        truth_keep = join_column(raw_data["gt_classes"], np.int64) == own
        mine = join_column(raw_data["tracker_classes"], np.int64) == own
        similarity = join_matrices(raw_data["similarity_scores"])
        chosen = bytes_of(truth_keep), bytes_of(mine)
        partner = _native.frame_pairs(similarity, truth_sizes, sizes, *chosen, LEAST, LIFT)
        keep = mine.copy()
        dets = [det for frame in raw_data["tracker_dets"] for det in frame]
        frame = frame_of_rows(sizes)
        unmatched = mine & (partner < 0)
        for t in np.unique(frame[unmatched]).tolist():
            region = raw_data["gt_ignore_region"][t]
            if not region["size"][0]:
                continue
            rows = np.flatnonzero(unmatched & (frame == t))
            share = self._calculate_mask_ious([dets[row] for row in rows], [region], is_encoded=True, do_ioa=True)
            keep[rows[(share > 0.5 + EPS).any(axis=1)]] = False
        data: dict[str, Any] = {}
        kept_sizes = {}
        for side, of_side, rows_kept in (("gt", truth_sizes, truth_keep), ("tracker", sizes, keep)):
            ids, kept_sizes[side] = keep_rows(raw_data, {f"{side}_ids": (f"{side}_ids", np.int64)}, rows_kept, of_side)
            data |= ids
            data[f"{side}_dets"] = keep_lists(raw_data[f"{side}_dets"], rows_kept)
        flat = _native.frame_select(similarity, truth_sizes, sizes, bytes_of(truth_keep), bytes_of(keep))
        data["similarity_scores"] = split_matrices(flat, kept_sizes["gt"], kept_sizes["tracker"])
        data = with_ids(data, raw_data)
        if self.names_class:
            data["cls"] = cls
        self._check_unique_ids(data, after_preproc=True)
        return data

    def _calculate_similarities(self, gt_dets_t: Any, tracker_dets_t: Any) -> Any:
        return self._calculate_mask_ious(gt_dets_t, tracker_dets_t, is_encoded=True, do_ioa=False)

    def get_display_name(self, tracker: str) -> str:
        return str(self.tracker_to_disp[tracker])

    @staticmethod
    def _raise_index_error(is_gt: bool, tracker: str, seq: str) -> None:
        side = f"gt data from sequence {seq}" if is_gt else f"tracker data from tracker {tracker}, sequence {seq}"
        raise TrackEvalException(f"Cannot load {side}, because there are not enough columns in the data.")

    @staticmethod
    def _raise_value_error(is_gt: bool, tracker: str, seq: str) -> None:
        side = f"GT data for sequence {seq}" if is_gt else f"Tracking data from tracker {tracker}, sequence {seq}"
        raise TrackEvalException(f"{side} cannot be converted to the right format. Is data corrupted?")


def _masks_of(rows: Any) -> list[Any]:
    return [{"size": [int(row[3]), int(row[4])], "counts": row[5].encode()} for row in rows]


def keep_lists(parts: Any, keep: Any) -> list[Any]:
    """What is kept of lists, which together have as many items as `keep`."""
    chosen = iter(keep.tolist())
    return [[item for item, wanted in zip(part, chosen, strict=False) if wanted] for part in parts]
