"""What the datasets share: files of rows, similarities, and checks."""

from __future__ import annotations

import csv
import io
import os
import traceback
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.trackeval import _timing
from steelyard.compat.trackeval._frames import (
    EPS,
    Array,
    frame_of_rows,
    join_boxes,
    join_column,
    relabel,
    sizes_of,
    split_matrices,
    split_rows,
)
from steelyard.compat.trackeval.utils import TrackEvalException
from steelyard.core.errors import Unsupported

PLAIN = b"0123456789.,-+eE\r\n "


class _BaseDataset(ABC):
    """Where trackers and ground truth are, and how a sequence is made ready for metrics."""

    @abstractmethod
    def __init__(self) -> None:
        self.config: Any = None
        self.data_is_zipped = False
        self.gt_fol: Any = None
        self.tracker_fol: Any = None
        self.tracker_sub_fol: Any = None
        self.seq_lengths: Any = {}
        self.tracker_list: Any = None
        self.seq_list: Any = None
        self.class_list: Any = None
        self.output_fol: Any = None
        self.output_sub_fol: Any = None
        self.should_classes_combine = True
        self.use_super_categories = False

    @staticmethod
    @abstractmethod
    def get_default_dataset_config() -> dict[str, Any]:
        """The defaults of the config."""

    @abstractmethod
    def _load_raw_file(self, tracker: str, seq: str, is_gt: bool) -> Any:
        """One side of a sequence, by frame."""

    @_timing.time
    @abstractmethod
    def get_preprocessed_seq_data(self, raw_data: Any, cls: str) -> Any:
        """What is scored of a sequence for a class."""

    @abstractmethod
    def _calculate_similarities(self, gt_dets_t: Any, tracker_dets_t: Any) -> Any:
        """The similarities of a frame, truths by tracker detections."""

    @classmethod
    def get_class_name(cls) -> str:
        """The name of the class."""
        return cls.__name__

    def get_name(self) -> str:
        """The name under which results are returned."""
        return self.get_class_name()

    def get_output_fol(self, tracker: str) -> str:
        """The folder for the files of a tracker."""
        return str(os.path.join(self.output_fol, tracker, self.output_sub_fol))

    def get_display_name(self, tracker: str) -> str:
        """The name of a tracker in tables."""
        return tracker

    def get_eval_info(self) -> Any:
        """Trackers, sequences and classes."""
        return self.tracker_list, self.seq_list, self.class_list

    @_timing.time
    def get_raw_seq_data(self, tracker: str, seq: str) -> Any:
        """Both sides of a sequence by frame, with the similarities of all detections."""
        truth = self._load_raw_file(tracker, seq, is_gt=True)
        raw_data = {**self._load_raw_file(tracker, seq, is_gt=False), **truth}
        raw_data["similarity_scores"] = self._similarities(raw_data["gt_dets"], raw_data["tracker_dets"])
        return raw_data

    def _similarities(self, gt_dets: Any, tracker_dets: Any) -> list[Any]:
        return [self._calculate_similarities(*pair) for pair in zip(gt_dets, tracker_dets, strict=False)]

    def _is_own(self, *names: str) -> bool:
        """Whether these methods are those of the drop-in, not a subclass's."""
        return all(getattr(type(self), name).__module__.startswith(__name__.rpartition(".")[0]) for name in names)

    def _box_similarities(self, gt_dets: Any, tracker_dets: Any, box_format: str) -> list[Any]:
        """The IoU of all frames at once, unless a subclass computes a frame in its own way."""
        if not self._is_own("_calculate_similarities", "_calculate_box_ious"):
            return _BaseDataset._similarities(self, gt_dets, tracker_dets)
        sizes = sizes_of(gt_dets), sizes_of(tracker_dets)
        boxes = [join_boxes(side) for side in (gt_dets, tracker_dets)]
        if box_format == "xywh":
            for side in boxes:
                side[:, 2:] += side[:, :2]
        return split_matrices(_native.frame_ious(boxes[0], sizes[0], boxes[1], sizes[1]), *sizes)

    def _find_trackers(self, say: bool) -> None:
        """Set the trackers and their names in tables, and check that their files are there."""
        config = self.config
        listed = config["TRACKERS_TO_EVAL"]
        self.tracker_list = os.listdir(self.tracker_fol) if listed is None else listed
        self._name_trackers()
        for tracker in self.tracker_list:
            folder = os.path.join(self.tracker_fol, tracker)
            names = [seq + ".txt" for seq in self.seq_list]
            paths = [os.path.join(folder, self.tracker_sub_fol, name) for name in names]
            shown = [tracker + "/" + self.tracker_sub_fol + "/" + name for name in names]
            if self.data_is_zipped:
                paths = [os.path.join(folder, self.tracker_sub_fol + ".zip")]
                shown = [tracker + "/" + os.path.basename(paths[0])]
            for path, name in zip(paths, shown, strict=True):
                if not os.path.isfile(path):
                    if say:
                        print("Tracker file not found: " + path)
                    raise TrackEvalException("Tracker file not found: " + name)

    def _name_trackers(self) -> None:
        names = self.config["TRACKER_DISPLAY_NAMES"]
        if names is None:
            names = self.tracker_list
        elif self.config["TRACKERS_TO_EVAL"] is None or len(names) != len(self.tracker_list):
            raise TrackEvalException("List of tracker files and tracker display names do not match.")
        self.tracker_to_disp = dict(zip(self.tracker_list, names, strict=True))

    def _check_report(self, there: set[str]) -> None:
        """A report reads all sequences of a folder in the usual places: it must be them that were evaluated."""
        usual = self.get_default_dataset_config().get("GT_LOC_FORMAT")
        if self.data_is_zipped or self.config.get("GT_LOC_FORMAT") != usual:
            raise Unsupported("files in archives or folders of their own have no report", remedy="Unpack them.")
        left_out = sorted(there - set(self.seq_list))
        if left_out:
            raise Unsupported(
                f"a report is of all sequences of a folder, and '{left_out[0]}' was not evaluated",
                remedy="Evaluate all sequences of the folder, or copy those that you want to one of their own.",
            )

    def _find_classes(self, valid: list[str], message: str) -> None:
        """Set the classes that are scored."""
        self.valid_classes = valid
        self.class_list = [cls.lower() for cls in self.config["CLASSES_TO_EVAL"]]
        if not set(self.class_list) <= set(valid):
            raise TrackEvalException(message)

    def _place_of(self, tracker: str, seq: str, is_gt: bool, truth: str) -> tuple[str, str | None]:
        """The file of a sequence, and the archive that it is in."""
        if not self.data_is_zipped:
            name = os.path.join(self.tracker_fol, tracker, self.tracker_sub_fol, seq + ".txt")
            return truth if is_gt else name, None
        folder = os.path.join(self.tracker_fol, tracker, self.tracker_sub_fol + ".zip")
        return seq + ".txt", os.path.join(self.gt_fol, "data.zip") if is_gt else folder

    @staticmethod
    def _check_timesteps(read_data: Any, first: int, timesteps: int, seq: str, is_gt: bool) -> None:
        """Rows must lie inside the sequence."""
        inside = {str(first + t) for t in range(timesteps)}
        outside = [step for step in read_data if step not in inside]
        if outside:
            text = "Ground-truth" if is_gt else "Tracking"
            steps = ", ".join(step + ", " for step in outside)
            raise TrackEvalException(f"{text} data contains the following invalid timesteps in seq {seq}: {steps}")

    @staticmethod
    def _load_simple_text_file(
        file: str,
        time_col: int = 0,
        id_col: int | None = None,
        remove_negative_ids: bool = False,
        valid_filter: Any = None,
        crowd_ignore_filter: Any = None,
        convert_filter: Any = None,
        is_zipped: bool = False,
        zip_file: str | None = None,
        force_delimiters: str | None = None,
    ) -> tuple[dict[str, list[list[Any]]], dict[str, list[list[Any]]]]:
        """Rows of texts by timestep, and those of regions to ignore. `valid_filter` excludes nothing."""
        if remove_negative_ids and id_col is None:
            raise TrackEvalException("remove_negative_ids is True, but id_col is not given.")
        read_data: dict[str, list[list[Any]]] = {}
        ignored: dict[str, list[list[Any]]] = {}
        try:
            if is_zipped and zip_file is None:
                raise TrackEvalException("is_zipped set to True, but no zip_file is given.")
            lines = io.StringIO(read_text(file, zip_file if is_zipped else None))
            first = lines.readline()
            if first:
                dialect: Any = csv.Sniffer().sniff(first, delimiters=force_delimiters)
                dialect.skipinitialspace = True
                lines.seek(0)
                for row in csv.reader(lines, dialect):
                    try:
                        fields = row[:-1] if row[-1] == "" else row
                        timestep = str(int(float(fields[time_col])))
                        target = read_data
                        for key, values in (crowd_ignore_filter or {}).items():
                            if fields[key].lower() in values:
                                target = ignored
                        if target is read_data:
                            for key in valid_filter or {}:
                                fields[key].lower()
                            if remove_negative_ids and int(float(fields[id_col])) < 0:  # type: ignore[index]
                                continue
                        for key, ids in (convert_filter or {}).items():
                            fields[key] = ids[fields[key].lower()]
                        target.setdefault(timestep, []).append(fields)
                    except Exception:
                        start = f"In file {os.path.basename(file)} the following line cannot be read correctly: \n"
                        raise TrackEvalException(" ".join([start, *row])) from None
        except Exception:
            print(f"Error loading file: {file}, printing traceback.")
            traceback.print_exc()
            raise TrackEvalException(
                f"File {os.path.basename(file)} cannot be read because it is either not present or invalidly formatted"
            ) from None
        return read_data, ignored

    @staticmethod
    def _calculate_mask_ious(masks1: Any, masks2: Any, is_encoded: bool = False, do_ioa: bool = False) -> Any:
        """IoU of masks, encoded or as arrays (masks, height, width); or the share of the first that is inside."""
        if not is_encoded:
            masks1, masks2 = (
                masks.encode(np.array(np.transpose(side, (1, 2, 0)), order="F")) for side in (masks1, masks2)
            )
        ious = masks.iou(masks1, masks2, [do_ioa] * len(masks2))
        return np.asarray(ious).reshape(len(masks1), len(masks2))

    @staticmethod
    def _calculate_box_ious(bboxes1: Any, bboxes2: Any, box_format: str = "xywh", do_ioa: bool = False) -> Any:
        """IoU of boxes, or the share of the first that is inside."""
        boxes = [np.array(side, dtype=np.float64).reshape(-1, 4) for side in (bboxes1, bboxes2)]
        if box_format in "xywh":
            for side in boxes:
                side[:, 2:] += side[:, :2]
        elif box_format not in "x0y0x1y1":
            raise TrackEvalException(f"box_format {box_format} is not implemented")
        sizes = [np.array([len(side)], dtype=np.int64) for side in boxes]
        return _native.frame_ious(boxes[0], sizes[0], boxes[1], sizes[1], do_ioa).reshape(len(boxes[0]), len(boxes[1]))

    @staticmethod
    def _calculate_euclidean_similarity(dets1: Any, dets2: Any, zero_distance: float = 2.0) -> Any:
        """1 at the same place, 0 from `zero_distance` on."""
        distance = np.linalg.norm(dets1[:, np.newaxis] - dets2[np.newaxis, :], axis=2)
        return np.maximum(0, 1 - distance / zero_distance)

    @staticmethod
    def _check_unique_ids(data: Any, after_preproc: bool = False) -> None:
        """An id must not appear twice in a frame."""
        duplicates = []
        for place, (side, what) in enumerate(_SIDES):
            sizes = sizes_of(data[side])
            frame, ids = frame_of_rows(sizes), join_column(data[side], np.int64)
            row = _native.tracking_codes(frame, ids, np.array([len(ids)], dtype=np.int64))[1]
            if row >= 0:
                duplicates.append((int(frame[row]), place, side, what))
        if duplicates:
            t, _, side, what = min(duplicates)
            unique, counts = np.unique(data[side][t], return_counts=True)
            ids_text = " ".join(str(one) for one in unique[counts > 1])
            raise TrackEvalException(
                f"{what} in a single timestep (seq: {data['seq']}, frame: {t + 1}, ids: {ids_text})"
            )


_SIDES = (
    ("tracker_ids", "Tracker predicts the same ID more than once"),
    ("gt_ids", "Ground-truth has the same ID more than once"),
)


def read_text(file: str, zip_file: str | None) -> str:
    """The text of a file, or of a member of an archive."""
    if zip_file is None:
        with open(file) as opened:
            return opened.read()
    with zipfile.ZipFile(zip_file) as archive, io.TextIOWrapper(archive.open(file)) as opened:
        return opened.read()


def read_numbers(file: str, zip_file: str | None, words: Callable[[bytes], bytes | None] | None = None) -> Array | None:
    """The columns of a file of numbers; None where it is anything else, which only the reader by rows can judge.

    `words` replaces words by numbers before that.
    """
    try:
        if zip_file is None:
            with open(file, "rb") as opened:
                text: bytes | None = opened.read()
        else:
            with zipfile.ZipFile(zip_file) as archive:
                text = archive.read(file)
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    if text and words is not None:
        text = words(text)
    if not text or text.translate(None, PLAIN) or text.count(b"\r") != text.count(b"\r\n"):
        return None
    first = text[: text.find(b"\n")] if b"\n" in text else text
    if b"," in first:
        text = text.replace(b", ", b",")
        if b" " in text:
            return None
        width = first.rstrip(b", \r").count(b",") + 1
    elif b"," in text or b" " not in first:
        return None
    else:
        width = len(first.split())
    if not 1 <= width <= 64:
        return None
    rows, values, fields, _, wrong, _, _ = _native.number_rows(text, width)
    lines = text.count(b"\n") + (not text.endswith(b"\n"))
    if wrong > 0 or rows != lines or (fields[:rows] != width).any():
        return None
    return values[:, :rows]


def rows_by_time(columns: Array, first_timestep: int, timesteps: int) -> tuple[Array, Array] | None:
    """Columns in the order of time, and how many rows each timestep has; None where one is outside the sequence."""
    if not np.isfinite(columns[:2]).all() or np.abs(columns[:2]).max(initial=0) > 2**52:
        return None
    step = np.trunc(columns[0]).astype(np.int64) - first_timestep
    if len(step) and (step.min() < 0 or step.max() >= timesteps):
        return None
    if (np.diff(step) < 0).any():
        order = np.argsort(step, kind="stable")
        columns, step = columns[:, order], step[order]
    return columns, np.bincount(step, minlength=timesteps)


def keep_rows(raw: Any, columns: dict[str, tuple[str, Any]], keep: Array, sizes: Array) -> tuple[dict[str, Any], Array]:
    """The kept rows of columns by frame, and their number in each frame."""
    kept_sizes = np.bincount(frame_of_rows(sizes)[keep], minlength=len(sizes))
    parts = {}
    for name, (source, dtype) in columns.items():
        column = join_boxes(raw[source]) if dtype is None else join_column(raw[source], dtype)
        parts[name] = split_rows(column[keep], kept_sizes)
    return parts, kept_sizes


def with_ids(data: Any, raw_data: Any) -> Any:
    """Complete the data of a sequence: ids without gaps, and the numbers of detections and ids."""
    counts: dict[str, Any] = {}
    for side in ("tracker", "gt"):
        sizes = sizes_of(data[f"{side}_ids"])
        ids, number = relabel(join_column(data[f"{side}_ids"], np.int64))
        data[f"{side}_ids"] = split_rows(ids, sizes)
        counts[side] = len(ids), number
    for what, place in (("dets", 0), ("ids", 1)):
        for side in ("tracker", "gt"):
            data[f"num_{side}_{what}"] = counts[side][place]
    data["num_timesteps"] = raw_data["num_timesteps"]
    data["seq"] = raw_data["seq"]
    return data


def bytes_of(mask: Array) -> Array:
    """A mask as the kernels take it."""
    return np.ascontiguousarray(mask, dtype=np.uint8)


LEAST = 0.5 - EPS  # the similarity of a pair before anything is removed
