"""TrackMAP: average precision of whole tracks, as YouTube-VIS and TAO score it."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.compat.pycocotools import mask as masks
from steelyard.compat.trackeval import _timing, utils
from steelyard.compat.trackeval._frames import EPS
from steelyard.compat.trackeval.metrics._base_metric import _BaseMetric
from steelyard.compat.trackeval.utils import TrackEvalException


class TrackMAP(_BaseMetric):
    """Average precision and recall of tracks at thresholds of their IoU, also by area and length."""

    @staticmethod
    def get_default_metric_config() -> dict[str, Any]:
        """The ranges of areas and lengths, and the thresholds; no limit of tracks."""
        return {
            "USE_AREA_RANGES": True,
            "AREA_RANGES": [[0**2, 32**2], [32**2, 96**2], [96**2, 1e5**2]],
            "AREA_RANGE_LABELS": ["area_s", "area_m", "area_l"],
            "USE_TIME_RANGES": True,
            "TIME_RANGES": [[0, 3], [3, 10], [10, 1e5]],
            "TIME_RANGE_LABELS": ["time_s", "time_m", "time_l"],
            "IOU_THRESHOLDS": np.arange(0.5, 0.96, 0.05),
            "RECALL_THRESHOLDS": np.linspace(0.0, 1.00, 101, endpoint=True),
            "MAX_DETECTIONS": 0,
            "PRINT_CONFIG": True,
        }

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.config = utils.init_config(config, self.get_default_metric_config(), self.get_name())
        self.lbls = ["all"]
        self.use_area_rngs = self.config["USE_AREA_RANGES"]
        if self.use_area_rngs:
            self.area_rngs = self.config["AREA_RANGES"]
            self.area_rng_lbls = self.config["AREA_RANGE_LABELS"]
            self.lbls = self.lbls + self.area_rng_lbls
        self.use_time_rngs = self.config["USE_TIME_RANGES"]
        if self.use_time_rngs:
            self.time_rngs = self.config["TIME_RANGES"]
            self.time_rng_lbls = self.config["TIME_RANGE_LABELS"]
            self.lbls = self.lbls + self.time_rng_lbls
        self.num_ig_masks = len(self.lbls)
        self.array_labels = self.config["IOU_THRESHOLDS"]
        self.rec_thrs = self.config["RECALL_THRESHOLDS"]
        self.maxDet = self.config["MAX_DETECTIONS"]
        self.float_array_fields = ["AP_" + label for label in self.lbls] + ["AR_" + label for label in self.lbls]
        self.fields = self.float_array_fields
        self.summary_fields = self.float_array_fields

    @_timing.time
    def eval_sequence(self, data: Any) -> Any:
        """The matches of one sequence; `combine_sequences` makes numbers of them."""
        res: Any = {field: [0 for _ in self.array_labels] for field in self.fields}
        gt_ids, dt_ids = data["gt_track_ids"], data["dt_track_ids"]
        if len(gt_ids) == 0 and len(dt_ids) == 0:
            return {**res, **dict.fromkeys(range(self.num_ig_masks))}
        ignored = [
            self._compute_track_ig_masks(
                len(ids),
                track_lengths=data.get(f"{side}_track_lengths") if self.use_time_rngs else None,
                track_areas=data.get(f"{side}_track_areas") if self.use_area_rngs else None,
                iscrowd=data.get("gt_track_iscrowd") if side == "gt" else None,
                is_not_exhaustively_labeled=side == "dt" and data.get("not_exhaustively_labeled", False),
                is_gt=side == "gt",
            )
            for side, ids in (("gt", gt_ids), ("dt", dt_ids))
        ]
        ious = self._compute_track_ious(
            data["dt_tracks"], data["gt_tracks"], data["iou_type"], data.get("boxformat", "xywh")
        )
        for part in range(self.num_ig_masks):
            order = np.argsort(list(ignored[0][part]), kind="mergesort")
            gt_ids = [gt_ids[i] for i in order]
            gt_ignore = np.array([ignored[0][part][i] for i in order])
            table = ious[:, order] if len(ious) else ious
            dt_matches, gt_matches, dt_ignore = self._match(table, gt_ids, dt_ids, gt_ignore)
            outside = np.repeat(np.array(ignored[1][part]).reshape((1, len(dt_ids))), len(self.array_labels), 0)
            res[part] = {
                "dt_ids": dt_ids,
                "gt_ids": gt_ids,
                "dt_matches": dt_matches,
                "gt_matches": gt_matches,
                "dt_scores": data["dt_track_scores"],
                "gt_ignore": gt_ignore,
                "dt_ignore": np.logical_or(dt_ignore, np.logical_and(dt_matches == -1, outside)),
            }
        return res

    def _match(self, ious: Any, gt_ids: Any, dt_ids: Any, gt_ignore: Any) -> tuple[Any, Any, Any]:
        """The id that each track is matched with at each threshold, or -1, and which results fall on ignored truth.

        As in TrackEval, a truth that was matched with the id 0 stays free.
        """
        shape = len(self.array_labels), len(dt_ids), len(gt_ids)
        dt_matches, gt_matches = np.full((shape[0], shape[1]), -1.0), np.full((shape[0], shape[2]), -1.0)
        dt_ignore = np.zeros((shape[0], shape[1]))
        if not len(ious) or not shape[0]:
            return dt_matches, gt_matches, dt_ignore
        least = min(min(self.array_labels), 1 - 1e-10) - EPS
        possible = [[(int(g), float(row[g])) for g in np.flatnonzero(row >= least)] for row in ious]
        off = [bool(flag) for flag in gt_ignore.tolist()]
        for a, threshold in enumerate(self.array_labels):
            for d, candidates in enumerate(possible):
                best, match = min(threshold, 1 - 1e-10), -1
                for g, iou in candidates:
                    if gt_matches[a, g] > 0:
                        continue
                    if match > -1 and not off[match] and off[g]:
                        break
                    if iou < best - EPS:
                        continue
                    best, match = iou, g
                if match > -1:
                    dt_ignore[a, d] = off[match]
                    dt_matches[a, d] = gt_ids[match]
                    gt_matches[a, match] = dt_ids[d]
        return dt_matches, gt_matches, dt_ignore

    def combine_sequences(self, all_res: Any) -> Any:
        """Precision and recall of all sequences, and their means; -1 for classes without truth."""
        thresholds = len(self.array_labels)
        precision = -np.ones((thresholds, len(self.rec_thrs), self.num_ig_masks))
        recall = -np.ones((thresholds, self.num_ig_masks))
        if self.maxDet < 0:
            raise Exception(f"Number of maximum detections must be >= 0, but is set to {self.maxDet}")
        most = self.maxDet or None
        for part in range(self.num_ig_masks):
            results = [res[part] for res in all_res.values() if res[part] is not None]
            if not results:
                continue
            order = np.argsort(-np.concatenate([res["dt_scores"][:most] for res in results]), kind="mergesort")
            matches, ignore = (
                np.concatenate([res[name][:, :most] for res in results], axis=1)[:, order]
                for name in ("dt_matches", "dt_ignore")
            )
            truths = np.count_nonzero(np.concatenate([res["gt_ignore"] for res in results]) == 0)
            if truths == 0:
                continue
            counted = np.logical_not(ignore)
            for a in range(thresholds):
                tp = np.cumsum((matches[a] != -1) & counted[a]).astype(float)
                fp = np.cumsum((matches[a] == -1) & counted[a]).astype(float)
                reached = tp / truths
                recall[a, part] = reached[-1] if len(tp) else 0
                falling = np.maximum.accumulate((tp / (fp + tp + np.spacing(1)))[::-1])[::-1]
                places = np.searchsorted(reached, self.rec_thrs, side="left")
                inside = places < len(tp)
                precision[a, :, part] = 0.0
                precision[a, inside, part] = falling[places[inside]]
        res: Any = {"precision": precision, "recall": recall}
        for label in self.lbls:
            res["AP_" + label], res["AR_" + label] = np.zeros(thresholds), np.zeros(thresholds)
        for place, label in enumerate(self.lbls):
            for a in range(thresholds):
                res["AP_" + label][a] = _mean(precision[a, :, place])
                res["AR_" + label][a] = recall[a, place]
        return res

    def combine_classes_class_averaged(self, all_res: Any, ignore_empty_classes: bool = True) -> Any:
        """The mean over the classes that have a value."""
        every = {field: np.array([res[field] for res in all_res.values()]) for field in self.fields}
        columns = range(len(self.array_labels))
        return {field: np.array([_mean(values[:, a]) for a in columns], float) for field, values in every.items()}

    def combine_classes_det_averaged(self, all_res: Any) -> Any:
        return self.combine_classes_class_averaged(all_res)

    def _compute_track_ig_masks(
        self,
        num_ids: int,
        track_lengths: Any = None,
        track_areas: Any = None,
        iscrowd: Any = None,
        is_not_exhaustively_labeled: bool = False,
        is_gt: bool = True,
    ) -> list[Any]:
        """Which tracks are ignored: in all, in each range of areas, in each range of lengths."""
        if not is_gt and is_not_exhaustively_labeled:
            return [[1] * num_ids for _ in range(self.num_ig_masks)]
        ignored: list[Any] = [[0] * num_ids]
        ranges = [(area, track_areas) for area in self.area_rngs] if self.use_area_rngs else []
        ranges += [(length, track_lengths) for length in self.time_rngs] if self.use_time_rngs else []
        for (low, high), values in ranges:
            ignored.append([0 if low - EPS <= value <= high + EPS else 1 for value in values])
        if is_gt and iscrowd:
            ignored = [np.logical_or(part, iscrowd) for part in ignored]
        return ignored

    @staticmethod
    def _compute_bb_track_iou(dt_track: Any, gt_track: Any, boxformat: str = "xywh") -> Any:
        """The IoU of two tracks of boxes, dicts by frame."""
        intersect = union = 0
        corners: list[Any]
        for image in set(gt_track) | set(dt_track):
            boxes = [track.get(image) for track in (dt_track, gt_track)]
            if boxformat == "xywh":
                areas = [0 if box is None else box[2] * box[3] for box in boxes]
                corners = [box if box is None else (box[0], box[1], box[0] + box[2], box[1] + box[3]) for box in boxes]
            elif boxformat == "x0y0x1y1":
                areas = [0 if box is None else (box[2] - box[0]) * (box[3] - box[1]) for box in boxes]
                corners = boxes
            else:
                raise TrackEvalException("BoxFormat not implemented")
            if corners[0] is None or corners[1] is None:
                union += areas[0] if corners[1] is None else areas[1]
                continue
            d, g = corners
            common = max(min(d[2], g[2]) - max(d[0], g[0]), 0) * max(min(d[3], g[3]) - max(d[1], g[1]), 0)
            intersect += common
            union += areas[0] + areas[1] - common
        if intersect > union:
            raise TrackEvalException("Intersection value > union value. Are the box values corrupted?")
        return intersect / union if union > 0 else 0

    @staticmethod
    def _compute_track_ious(dt: Any, gt: Any, iou_function: str = "bbox", boxformat: str = "xywh") -> Any:
        """The IoU of all tracks, results by truth."""
        if len(gt) == 0 and len(dt) == 0:
            return []
        if iou_function == "mask":
            return _mask_track_ious(dt, gt)
        if iou_function != "bbox":
            raise Exception("IoU function not implemented")
        ious = np.zeros([len(dt), len(gt)])
        for i, j in np.ndindex(ious.shape):
            ious[i, j] = TrackMAP._compute_bb_track_iou(dt[i], gt[j], boxformat=boxformat)
        return ious

    @staticmethod
    def _row_print(*argv: Any) -> None:
        first, *others = argv[0] if len(argv) == 1 else argv
        print(f"{first:<40}" + "".join(f"{other!s:<12}" for other in others))


def _mean(values: Any) -> Any:
    """The mean of what has a value; -1 where nothing has."""
    values = values[values > -1]
    return np.mean(values) if len(values) else -1


def _mask_track_ious(dt: Any, gt: Any) -> Any:
    """The IoU of tracks of masks: common pixels of all frames over those of either."""
    common = np.zeros((len(dt), len(gt)))
    areas = np.zeros(len(dt)), np.zeros(len(gt))
    for image in sorted({image for track in [*dt, *gt] for image in track}):
        sides = [[(i, track[image]) for i, track in enumerate(side) if track.get(image)] for side in (dt, gt)]
        of_frame = []
        for side, total in zip(sides, areas, strict=True):
            area = np.asarray(masks.area([mask for _, mask in side]), dtype=np.float64) if side else np.zeros(0)
            np.add.at(total, [i for i, _ in side], area)
            of_frame.append(area)
        if sides[0] and sides[1]:
            (rows, mine), (columns, other) = (zip(*side, strict=True) for side in sides)
            share = np.asarray(masks.iou(list(mine), list(other), [1] * len(other)))  # of the result's pixels
            common[np.ix_(rows, columns)] += np.rint(share * of_frame[0][:, None])
    union = areas[0][:, None] + areas[1][None, :] - common
    return np.divide(common, union, out=np.zeros_like(common), where=union > EPS)
