"""Every argument of the native core alone: calls that are taken, and the same with one argument that does not fit."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from steelyard import _native
from steelyard.language import tables
from steelyard.language.tokens import pack
from steelyard.tasks.boxes.pairs import MatchRules

NAN, INF = float("nan"), float("inf")


def array_of(kind: Any) -> Callable[..., np.ndarray]:
    return lambda *values: np.array(values, dtype=kind)


i32, i64, u8, f64 = map(array_of, (np.int32, np.int64, np.uint8, np.float64))


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, dtype=np.float64)


MAP = np.zeros((2, 3), np.uint8)
MASK = {"size": [2, 2], "counts": [0, 4]}
COLUMN = _native.mask_column([MASK])
PACKED = _native.mask_pack(MASK)
SOLID = f64(1, 1, 1, 2, 2, 2, 0).reshape(1, 7)
ELLIPSE = f64(1, 1, 0, 2, 1).reshape(1, 5)
OBJECTS = {
    "image": i32(0), "label": i32(0), "box": ones(1, 4), "area": f64(1), "flags": u8(0), "d_image": i32(0),
    "d_label": i32(0), "d_box": ones(1, 4), "d_score": f64(0.5), "d_area": None, "units": 1, "classes": 1,
}  # fmt: skip
RULES = {"ious": f64(0.5), "areas": f64(0, 1e10).reshape(1, 2), "most": 5, "threads": 1}
RANKED = {
    "begin": i64(0, 2), "end": i64(2, 3), "image": i32(0, 1, 1), "score": f64(0.9, 0.5, 0.8), "rank": np.zeros(3, np.uint16),
    "hit": np.ones(3, np.uint32), "ignored": np.zeros(3, np.uint32), "truth_begin": i64(0, 1, 2), "truth_image": i32(0, 1),
    "counts": u8(1, 1), "thresholds": 1, "most": 100, "weights": ones(1, 2), "figure": _native.BoxFigure.coco,
    "grid": np.linspace(0, 1, 11),
}  # fmt: skip
TRACKED = {
    "truth_frame": i64(0, 1, 0), "truth_track": i32(0, 0, 0), "truth_ends": i64(2, 3), "truth_scored": u8(1, 1, 1),
    "prediction_frame": i64(0, 1, 0), "prediction_track": i32(0, 0, 0), "prediction_ends": i64(2, 3),
    "prediction_scored": u8(1, 1, 1), "truth_row": i32(0, 1, 2), "prediction_row": i32(0, 1, 2), "similarity": f64(1, 1, 1),
}  # fmt: skip
EVENTS = {
    "weights": ones(1, 2), "truths": f64(1, 1), "score": f64(0.9, 0.5), "unit": i32(0, 1), "hits": i32(1, 1),
    "tp": i32(1, 1), "fp": i32(0, 0), "similarity": f64(1, 1),
}  # fmt: skip
CENTRES = {
    "weights": ones(1, 2), "truths": f64(1, 1), "score": f64(0.9, 0.5), "unit": i32(0, 1), "bits": u8(1, 1),
    "errors": np.zeros((2, 5)), "distances": 1, "error_at": 0,
}  # fmt: skip


def call(name: str, **arguments: Any) -> Any:
    """An entry of the native core; what matches takes objects and rules, and a ranking is made before it is read."""
    if name == "boxes_match":
        rules = {key: arguments.pop(key) for key in RULES}
        return _native.boxes_match(SimpleNamespace(**arguments), MatchRules(**rules))
    if name == "Ranked":
        read = {key: arguments.pop(key) for key in ("weights", "figure", "grid")}
        return _native.Ranked(**arguments).figures(**read)
    return getattr(_native, name)(**arguments)


def without(of: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in of.items() if name not in names}


GOOD: dict[str, dict[str, Any]] = {
    "map_cells": {"a": MAP, "b": MAP},
    "map_bands": {"map": MAP, "distance": 1, "inside": 1},
    "map_recode": {"map": MAP, "values": np.array([0, 7], np.uint32), "codes": np.array([1, 2], np.uint16), "other": 3},
    "map_unpack": {"packed": _native.map_pack(MAP)},
    "surface_distances": {"a": MAP, "b": MAP, "spacing": f64(1, 1), "method": "voxels"},
    "squared_distances": {"mask": MAP, "spacing": f64(1, 1)},
    "dilate_mask": {"mask": MAP, "times": 1},
    "element_sizes": {"spacing": f64(1, 1, 1)},
    "tracking_overlaps": {
        "truth": ones(3, 4), "truth_frame": i64(0, 1, 0), "truth_ends": i64(2, 3), "prediction": ones(3, 4),
        "prediction_frame": i64(0, 1, 0), "prediction_ends": i64(2, 3),
    },
    "tracking_matches": without(
        TRACKED, "truth_track", "truth_scored", "prediction_track", "prediction_scored"
    ),
    "tracking_scores": TRACKED,
    "tracking_codes": {"frame": i64(0, 1), "track": i64(7, 7), "ends": i64(2)},
    "number_rows": {"text": b"1 2\n", "width": 2},
    "kitti_match": {
        "view": 2, "truth_begin": i64(0, 1), "truth_box": SOLID, "truth_group": i32(0), "truth_own": u8(1),
        "truth_levels": u8(0), "truth_alpha": f64(0), "begin": i64(0, 1), "box": SOLID, "group": i32(0), "small": u8(0),
        "alpha": f64(0), "score": f64(0.5), "region_begin": i64(0, 0), "region": np.zeros((0, 4)), "least": f64(0.5),
        "levels": 1,
    },
    "kitti_areas": EVENTS,
    "kitti_areas_by_unit": without(EVENTS, "weights"),
    "kitti_curve": {**EVENTS, "weights": f64(1, 1)},
    "solid_overlaps": {"view": 2, "a": SOLID, "b": SOLID},
    "centre_match": {
        "truth_begin": i64(0, 1), "truth_box": ones(1, 8), "truth_group": i32(0), "truth_attribute": i32(0),
        "begin": i64(0, 1), "box": ones(1, 8), "group": i32(0), "attribute": i32(0), "score": f64(0.5),
        "distances": f64(0.5, 1), "error_at": 0, "half": u8(0),
    },
    "centre_scores": CENTRES,
    "centre_scores_by_unit": without(CENTRES, "weights"),
    "centre_curves": {**CENTRES, "weights": f64(1, 1)},
    "ellipse_matrix": {"truth": ELLIPSE, "detected": ELLIPSE, "distance": 0, "weights": ones(5)},
    "ellipse_match": {
        "truth": ELLIPSE, "detected": ELLIPSE, "truth_ends": i64(1), "detected_ends": i64(1), "distance": 0,
        "weights": ones(5), "optimal": True,
    },
    "ellipse_match_by_score": {
        "truth": ELLIPSE, "detected": ELLIPSE, "truth_ends": i64(1), "detected_ends": i64(1), "scores": f64(0.5),
        "ious": f64(0.5),
    },
    "mask_iou": {"detections": [MASK], "truths": [MASK], "crowd": u8(0)},
    "cell_mask_ious": {
        "d_begin": i64(0, 1), "t_begin": i64(0, 1), "d_rows": i32(0), "t_rows": i32(0), "d_masks": COLUMN,
        "t_masks": COLUMN, "crowd": u8(0),
    },
    "mask_column": {"masks": [MASK]},
    "boxes_iou": {"detections": ones(1, 4), "truths": ones(1, 4), "crowd": u8(0)},
    "mask_boxes": {"boxes": ones(1, 4), "height": 3, "width": 3},
    "mask_decode": {"masks": [MASK, MASK]},
    "boxes_match": OBJECTS | RULES,
    "match_cells": {
        "d_begin": i64(0, 1), "t_begin": i64(0, 1), "ious": f64(0.7), "t_ignored": np.zeros((1, 1), np.uint8),
        "crowd": u8(0), "takes": u8(1), "thresholds": f64(0.5),
    },
    "score_cells": {
        "d_begin": i64(0, 1), "t_begin": i64(0, 1), "ious": f64(0.7), "t_ignored": np.zeros((1, 1), np.uint8),
        "crowd": u8(0), "takes": u8(1), "thresholds": f64(0.5), "category": i64(0), "score": f64(0.9),
        "d_outside": np.zeros((1, 1), np.uint8), "t_counts": u8(1), "limits": i64(100), "recalls": f64(0, 1),
        "categories": 1,
    },
    "complete_results": {"results": [{"bbox": [1, 2, 3, 4]}]},
    "order_cells": {
        "category": i32(0), "image": i32(0), "score": f64(0.9), "categories": 1, "images": 1, "by_category": True,
    },
    "cell_box_ious": {
        "d_begin": i64(0, 1), "t_begin": i64(0, 1), "d_rows": i32(0), "t_rows": i32(0), "d_box": ones(1, 4),
        "t_box": ones(1, 4), "crowd": u8(0),
    },
    "oks_exponents": {
        "d_begin": i64(0, 1), "t_begin": i64(0, 1), "d_rows": i32(0), "t_rows": i32(0), "d_points": ones(1, 2),
        "t_points": ones(1, 3), "t_box": ones(1, 4), "t_area": f64(9), "sigmas": f64(0.1), "least": 0.5, "first": 0,
        "last": 1,
    },
    "oks_means": {"values": f64(0.5), "begin": i64(0, 1)},
    "oks": {
        "d_points": ones(1, 3), "t_points": ones(1, 3), "t_box": ones(1, 4), "t_area": f64(9), "sigmas": f64(0.1),
    },
    "poisson_scatter": {
        "keys": np.zeros(2, np.uint64), "owner": i64(0, 1), "code": i32(0, 1), "value": f64(1, 1), "size": 2, "seed": 0,
        "first": 0, "count": 1,
    },
    "poisson_totals": {"keys": np.zeros(2, np.uint64), "columns": ones(2, 1), "seed": 0, "first": 0, "count": 1},
    "unit_keys": {"text": b"ab", "ends": i64(1, 2)},
    "Ranked": RANKED,
    "ranked": {
        "weights": ones(1, 2), "owner": i64(0, 1), "positive": u8(1, 0), "last": u8(1, 1), "value": f64(), "figure": 0,
    },
    "ranked_each": {"starts": i64(0, 2), "positive": u8(1, 0), "last": u8(1, 1), "value": f64(), "figure": 0},
    "ranked_ap": {
        "weights": ones(1, 2), "truths": f64(1, 1), "owner": i64(0, 1), "hit": u8(1, 0), "closes": u8(1, 1), "rule": 0,
    },
    "ranked_ap_by_unit": {"truths": f64(1, 1), "owner": i64(0, 1), "hit": u8(1, 0), "closes": u8(1, 1), "rule": 0},
    "ranking_hits": {"rank": i64(1), "relevance": f64(1), "starts": i64(0, 1), "k": 1, "level": 1.0},
    "arrow_stream": {"names": ["a"], "kinds": ["g"], "columns": [[1.0]]},
    "pack_offsets": {"text": u8(65, 66), "offsets": i64(0, 1, 2)},
    "ngram_overlap": {
        "candidates": b"a", "candidate_ends": i64(1), "references": b"ab", "reference_ends": i64(1, 2),
        "starts": i64(0, 2),
    },
}  # fmt: skip

NARROW = MAP.astype(np.int16)
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("map_cells", {"a": np.zeros(3, np.uint8)}, "two axes or three"),
    ("map_cells", {"a": np.zeros((2, 2, 2, 2), np.uint8)}, "two axes or three"),
    ("map_cells", {"a": np.zeros((0, 3), np.uint8)}, "no pixel"),
    ("map_cells", {"a": NARROW, "b": NARROW}, "whole numbers of 1, 2 or 4 bytes"),
    ("map_cells", {"b": np.zeros((2, 4), np.uint8)}, "different sizes"),
    ("map_cells", {"b": np.zeros((1, 2, 3), np.uint8)}, "different sizes"),
    ("map_bands", {"map": np.zeros((1, 2, 3), np.uint8)}, "two axes"),
    ("map_bands", {"distance": 0}, "at least 1"),
    ("map_bands", {"distance": 1 << 30}, "at least 1"),
    ("map_bands", {"inside": -1}, "out of the map's range"),
    ("map_bands", {"inside": 256}, "out of the map's range"),
    ("map_bands", {"kept": -2}, "out of the map's range"),
    ("map_bands", {"kept": 256}, "out of the map's range"),
    ("map_recode", {"values": np.array([0], np.uint32)}, "different lengths"),
    ("map_recode", {"values": np.array([7, 7], np.uint32)}, "do not rise"),
    ("map_unpack", {"packed": b"\1"}, "no packed map"),
    ("map_unpack", {"packed": b"\1\4" + bytes(16)}, "no packed map"),
    ("map_unpack", {"packed": b"\1\2" + bytes(7)}, "no packed map"),
    ("map_unpack", {"packed": b"\3\2" + 2 * b"\1\0\0\0"}, "no packed map"),
    ("map_unpack", {"packed": b"\1\2" + bytes(8)}, "out of range"),
    ("map_unpack", {"packed": b"\1\2" + 8 * b"\xff"}, "out of range"),
    ("map_unpack", {"packed": b"\2\3" + 3 * b"\1\0\0\0"}, "do not fill it"),
    ("surface_distances", {"b": np.zeros((3, 2), np.uint8)}, "different sizes"),
    ("surface_distances", {"method": "points"}, "of voxels or of elements"),
    ("squared_distances", {"mask": NARROW}, "a mask holds bytes"),
    ("squared_distances", {"spacing": f64(1)}, "one number for each axis"),
    ("squared_distances", {"spacing": f64(1, 0)}, "above zero"),
    ("squared_distances", {"spacing": f64(NAN, 1)}, "above zero"),
    ("dilate_mask", {"times": 1001}, "a thousand times"),
    ("element_sizes", {"spacing": f64(1)}, "two axes or three"),
    ("tracking_overlaps", {"truth_ends": i64(2, 4)}, "the ends of the runs must rise"),
    ("tracking_overlaps", {"truth_ends": i64(3, 2)}, "the ends of the runs must rise|stand by frame"),
    ("tracking_overlaps", {"truth_ends": i64(1, 2)}, "must end with the rows"),
    ("tracking_overlaps", {"truth_frame": i64(1, 0, 0)}, "rows must stand by frame"),
    ("tracking_overlaps", {"truth_frame": i64(0, 1, 2), "truth_ends": i64(3)}, "as many runs"),
    ("tracking_overlaps", {"truth": ones(3, 5)}, "a box has four numbers"),
    ("tracking_overlaps", {"prediction": ones(3, 3)}, "a box has four numbers"),
    ("tracking_overlaps", {"truth": ones(2, 4)}, "every row needs a box"),
    ("tracking_overlaps", {"prediction": ones(2, 4)}, "every row needs a box"),
    ("tracking_overlaps", {"prediction": np.full((3, 4), INF)}, "boxes must be finite"),
    ("tracking_matches", {"truth_frame": i64(0, 1, 2), "truth_ends": i64(3)}, "as many runs"),
    ("tracking_matches", {"lift": -1.0}, "from 0 to a million"),
    ("tracking_matches", {"lift": 1e7}, "from 0 to a million"),
    ("tracking_matches", {"prediction_row": i32(0, 1)}, "two rows and a similarity"),
    ("tracking_matches", {"similarity": f64(1, 1)}, "two rows and a similarity"),
    ("tracking_matches", {"similarity": f64(1, 1, 2)}, "not from 0 to 1"),
    ("tracking_matches", {"prediction_row": i32(0, 1, 1)}, "inside one run"),
    ("tracking_matches", {"prediction_row": i32(0, 2, 2)}, "inside one run"),
    ("tracking_matches", {"prediction_row": i32(-1, 1, 2)}, "inside one run"),
    ("tracking_matches", {"truth_row": i32(0, 2, 1)}, "inside one run"),
    ("tracking_matches", {"truth_row": i32(-1, 1, 2)}, "overlaps must stand by run"),
    ("tracking_matches", {"truth_row": i32(0, 1, 3)}, "overlaps must stand by run"),
    ("tracking_matches", {"truth_row": i32(1, 0, 2)}, "by frame, truth and prediction"),
    ("tracking_scores", {"truth_frame": i64(0, 1, 2), "truth_ends": i64(3)}, "as many runs"),
    ("tracking_scores", {"truth_scored": u8(1)}, "scored or not"),
    ("tracking_scores", {"prediction_scored": u8(1)}, "scored or not"),
    ("tracking_scores", {"threshold": 0.0}, "above 0 and at most 1"),
    ("tracking_scores", {"threshold": 1.5}, "above 0 and at most 1"),
    ("tracking_scores", {"truth_track": i32(0)}, "every row needs a track"),
    ("tracking_scores", {"truth_track": i32(0, -1, 0)}, "a track is negative"),
    ("tracking_scores", {"truth_track": i32(0, 99, 0)}, "tracks must count from 0"),
    ("tracking_codes", {"track": i64(7)}, "every row needs a track"),
    ("number_rows", {"width": 0}, "from 1 to 64 numbers"),
    ("number_rows", {"width": 65}, "from 1 to 64 numbers"),
    ("kitti_match", {"view": 3}, "the view is 0, 1 or 2"),
    ("kitti_match", {"view": -1}, "the view is 0, 1 or 2"),
    ("kitti_match", {"levels": 0}, "from 1 to 8 levels"),
    ("kitti_match", {"levels": 9}, "from 1 to 8 levels"),
    ("kitti_match", {"least": f64()}, "from 1 to 4096 classes"),
    ("kitti_match", {"least": np.ones(4097)}, "from 1 to 4096 classes"),
    ("kitti_match", {"truth_box": ones(2, 7)}, "a box of the view"),
    ("kitti_match", {"box": ones(2, 7)}, "a box of the view"),
    ("kitti_match", {"truth_box": ones(1, 4)}, "a box of the view"),
    ("kitti_match", {"box": ones(1, 4)}, "a box of the view"),
    ("kitti_match", {"truth_own": u8()}, "every truth needs its columns"),
    ("kitti_match", {"truth_levels": u8()}, "every truth needs its columns"),
    ("kitti_match", {"truth_alpha": f64()}, "every truth needs its columns"),
    ("kitti_match", {"small": u8()}, "every detection needs its columns"),
    ("kitti_match", {"alpha": f64()}, "every detection needs its columns"),
    ("kitti_match", {"score": f64()}, "every detection needs its columns"),
    ("kitti_match", {"region": np.zeros((0, 3))}, "a region has four numbers"),
    ("kitti_match", {"truth_begin": i64(0, 0, 1)}, "all must have as many frames"),
    ("kitti_match", {"region_begin": i64(0, 0, 0)}, "all must have as many frames"),
    ("kitti_match", {"truth_begin": i64(0, 2)}, "truths must stand by frame"),
    ("kitti_match", {"group": i32(1)}, "a class is out of range"),
    ("kitti_match", {"group": i32(-2)}, "a class is out of range"),
    ("kitti_match", {"least": f64(1.5)}, "an overlap is from 0 to 1"),
    ("solid_overlaps", {"view": 3}, "the view is 0, 1 or 2"),
    ("solid_overlaps", {"view": -1}, "the view is 0, 1 or 2"),
    ("solid_overlaps", {"a": ones(1, 4)}, "pairs of boxes"),
    ("solid_overlaps", {"b": ones(1, 4)}, "pairs of boxes"),
    ("solid_overlaps", {"b": ones(2, 7)}, "pairs of boxes"),
    ("kitti_areas", {"truths": f64(1)}, "its number of truths"),
    ("kitti_areas", {"unit": i32(0)}, "all columns"),
    ("kitti_areas", {"hits": i32(0)}, "all columns"),
    ("kitti_areas", {"tp": i32(0)}, "all columns"),
    ("kitti_areas", {"fp": i32(0)}, "all columns"),
    ("kitti_areas", {"similarity": f64(0)}, "all columns"),
    ("kitti_areas", {"score": f64(0.5, 0.9)}, "events must stand in order"),
    ("kitti_areas_by_unit", {"unit": i32(1, 0)}, "events must stand in order"),
    ("kitti_curve", {"truths": f64(1)}, "its number of truths"),
    ("centre_match", {"truth_box": ones(2, 8)}, "a box of eight numbers"),
    ("centre_match", {"box": ones(2, 8)}, "a box of eight numbers"),
    ("centre_match", {"truth_box": ones(1, 7)}, "a box of eight numbers"),
    ("centre_match", {"box": ones(1, 7)}, "a box of eight numbers"),
    ("centre_match", {"truth_attribute": i32()}, "every row needs its columns"),
    ("centre_match", {"attribute": i32()}, "every row needs its columns"),
    ("centre_match", {"score": f64()}, "every row needs its columns"),
    ("centre_match", {"distances": f64()}, "from 1 to 8 distances"),
    ("centre_match", {"distances": np.ones(9)}, "from 1 to 8 distances"),
    ("centre_match", {"error_at": 2}, "from 1 to 8 distances"),
    ("centre_match", {"distances": f64(-1, 1)}, "negative or not finite"),
    ("centre_match", {"truth_begin": i64(0, 0, 1)}, "as many samples"),
    ("centre_scores", {"truths": f64(1)}, "its number of truths"),
    ("centre_scores", {"unit": i32(0)}, "all columns"),
    ("centre_scores", {"bits": u8(0)}, "all columns"),
    ("centre_scores", {"errors": np.zeros((1, 5))}, "all columns"),
    ("centre_scores", {"errors": np.zeros((2, 4))}, "all columns"),
    ("centre_scores", {"distances": 0}, "from 1 to 8 distances"),
    ("centre_scores", {"distances": 9}, "from 1 to 8 distances"),
    ("centre_scores", {"error_at": 1}, "from 1 to 8 distances"),
    ("centre_scores", {"score": f64(0.5, 0.9)}, "events must stand in order"),
    ("centre_scores_by_unit", {"unit": i32(1, 0)}, "events must stand in order"),
    ("centre_curves", {"truths": f64(1)}, "its number of truths"),
    ("ellipse_matrix", {"truth": ones(1, 4)}, "x, y, degrees, a, b"),
    ("ellipse_matrix", {"distance": -1}, "no such distance"),
    ("ellipse_matrix", {"distance": 99}, "no such distance"),
    ("ellipse_matrix", {"truth": f64(INF, 1, 0, 2, 1).reshape(1, 5)}, "up to 1e12"),
    ("ellipse_matrix", {"truth": f64(1, NAN, 0, 2, 1).reshape(1, 5)}, "up to 1e12"),
    ("ellipse_matrix", {"truth": f64(1, 1, -1, 2, 1).reshape(1, 5)}, r"in \[0, 180\) degrees"),
    ("ellipse_matrix", {"truth": f64(1, 1, 180, 2, 1).reshape(1, 5)}, r"in \[0, 180\) degrees"),
    ("ellipse_matrix", {"truth": f64(1, 1, 0, 1, 2).reshape(1, 5)}, "half axes"),
    ("ellipse_matrix", {"truth": f64(1, 1, 0, 1, 0).reshape(1, 5)}, "half axes"),
    ("ellipse_matrix", {"truth": f64(1, 1, 0, 1e13, 1).reshape(1, 5)}, "half axes"),
    ("ellipse_matrix", {"weights": ones(4)}, "five weights"),
    ("ellipse_matrix", {"weights": f64(1, 1, 1, 1, -1)}, "finite and not negative"),
    ("ellipse_matrix", {"weights": f64(1, 1, 1, 1, INF)}, "finite and not negative"),
    ("ellipse_match", {"truth_ends": i64(0, 1)}, "as many images"),
    ("ellipse_match_by_score", {"scores": f64()}, "every detection needs a score"),
    ("mask_iou", {"crowd": u8()}, "one crowd flag"),
    ("mask_iou", {"boundary": -0.1}, "from 0 to 1"),
    ("mask_iou", {"boundary": 1.1}, "from 0 to 1"),
    ("cell_mask_ious", {"d_begin": i64()}, "one range for each cell"),
    ("cell_mask_ious", {"d_begin": i64(0, 1, 1)}, "one range for each cell"),
    ("cell_mask_ious", {"crowd": u8()}, "one crowd flag"),
    ("cell_mask_ious", {"boundary": -0.1}, "from 0 to 1"),
    ("cell_mask_ious", {"boundary": 1.1}, "from 0 to 1"),
    ("cell_mask_ious", {"d_begin": i64(1, 1)}, "out of bounds"),
    ("cell_mask_ious", {"t_begin": i64(0, 2)}, "out of bounds"),
    ("cell_mask_ious", {"d_begin": i64(0, 2, 1), "t_begin": i64(0, 1, 1)}, "out of bounds"),
    ("cell_mask_ious", {"d_rows": i32(1)}, "a row is out of range"),
    ("cell_mask_ious", {"t_masks": COLUMN[:2]}, "heads, places and texts"),
    ("cell_mask_ious", {"t_masks": (COLUMN[0].astype(np.int64), *COLUMN[1:])}, "heads, places and texts"),
    ("cell_mask_ious", {"t_masks": (COLUMN[0][:, :6].copy(), *COLUMN[1:])}, "its size and extent"),
    ("cell_mask_ious", {"d_masks": (COLUMN[0], i64(0), COLUMN[2])}, "one text for each mask"),
    ("cell_mask_ious", {"d_masks": (COLUMN[0], i64(0, 9), COLUMN[2])}, "texts of the masks are out of bounds"),
    ("cell_mask_ious", {"d_masks": (COLUMN[0], i64(0, 0), COLUMN[2][:0])}, "the counts add up to 0 pixels"),
    ("mask_column", {"masks": [{"size": [2, 2]}]}, "a mask lacks 'counts'"),
    ("boxes_iou", {"detections": ones(1, 3)}, "x, y, width, height"),
    ("boxes_iou", {"truths": ones(1, 3)}, "x, y, width, height"),
    ("boxes_iou", {"crowd": u8()}, "one crowd flag"),
    ("mask_boxes", {"boxes": ones(1, 3)}, "x, y, width, height"),
    ("mask_boxes", {"height": -1}, "a mask's size is negative"),
    ("mask_decode", {"masks": [MASK, {"size": [4, 1], "counts": [0, 4]}]}, "of different size"),
    ("mask_decode", {"masks": [{"size": [2, 2]}]}, "a mask lacks 'counts'"),
    ("mask_decode", {"masks": [{"counts": [0, 4]}]}, "a mask lacks 'size'"),
    ("mask_decode", {"masks": [{"size": [2], "counts": [0, 4]}]}, "a mask's size has 1"),
    ("boxes_match", {"label": i32()}, "columns of the truth differ"),
    ("boxes_match", {"box": ones(2, 4)}, "columns of the truth differ"),
    ("boxes_match", {"area": f64()}, "columns of the truth differ"),
    ("boxes_match", {"flags": u8()}, "columns of the truth differ"),
    ("boxes_match", {"box": ones(1, 5)}, "columns of the truth differ"),
    ("boxes_match", {"d_label": i32()}, "columns of the detections differ"),
    ("boxes_match", {"d_box": ones(2, 4)}, "columns of the detections differ"),
    ("boxes_match", {"d_score": f64()}, "columns of the detections differ"),
    ("boxes_match", {"d_box": ones(1, 5)}, "columns of the detections differ"),
    ("boxes_match", {"ious": f64()}, "from 1 to 32 IoU thresholds"),
    ("boxes_match", {"ious": np.full(33, 0.5)}, "from 1 to 32 IoU thresholds"),
    ("boxes_match", {"areas": np.zeros((0, 2))}, "area ranges are pairs"),
    ("boxes_match", {"areas": np.zeros((1, 3))}, "area ranges are pairs"),
    ("boxes_match", {"most": 0}, "from 1 to 65535 detections"),
    ("boxes_match", {"most": 65536}, "from 1 to 65535 detections"),
    ("match_cells", {"d_begin": i64(0, 0, 1)}, "one range for each cell"),
    ("match_cells", {"t_ignored": np.zeros((1, 2), np.uint8)}, "one flag for each truth"),
    ("match_cells", {"ious": f64()}, "one IoU for each pair"),
    ("score_cells", {"ious": f64()}, "one IoU for each pair"),
    ("score_cells", {"category": i64()}, "one category for each cell"),
    ("score_cells", {"category": i64(1)}, "a category is out of range"),
    ("score_cells", {"category": i64(-1)}, "a category is out of range"),
    ("score_cells", {"d_begin": i64(0, 0, 1), "t_begin": i64(0, 0, 1), "category": i64(1, 0), "categories": 2}, "ordered by category"),
    ("score_cells", {"score": f64()}, "one score and flag"),
    ("score_cells", {"d_outside": np.zeros((2, 1), np.uint8)}, "one row of flags"),
    ("score_cells", {"t_counts": u8()}, "one flag for each truth"),
    ("score_cells", {"recalls": f64(NAN)}, "a recall is not a number"),
    ("complete_results", {"results": [{}]}, "a result must have a box"),
    ("complete_results", {"results": [{"bbox": [1, 2, 3]}]}, "a result must have a box"),
    ("complete_results", {"results": [None]}, "a result must have a box"),
    ("complete_results", {"results": [{"bbox": [1, 2, 3, None]}]}, "a box must have four numbers"),
    ("order_cells", {"category": i32()}, "columns differ in length"),
    ("order_cells", {"score": f64(1, 2)}, "columns differ in length"),
    ("order_cells", {"category": i32(1)}, "a place is out of range"),
    ("order_cells", {"image": i32(-1)}, "a place is out of range"),
    ("order_cells", {"images": 1 << 32}, "too many categories or images"),
    ("cell_box_ious", {"d_rows": i32(1)}, "a row is out of range"),
    ("cell_box_ious", {"t_rows": i32(-1)}, "a row is out of range"),
    ("cell_box_ious", {"d_begin": i64(0, 0, 1)}, "one range for each cell"),
    ("cell_box_ious", {"d_box": ones(1, 3)}, "x, y, width, height"),
    ("cell_box_ious", {"t_box": ones(1, 3)}, "x, y, width, height"),
    ("cell_box_ious", {"crowd": u8()}, "one crowd flag"),
    ("oks_exponents", {"sigmas": f64()}, "from 1 to 65536 sigmas"),
    ("oks_exponents", {"d_points": ones(1, 3)}, "x and y for each sigma"),
    ("oks_exponents", {"t_points": ones(1, 2)}, "x, y and v for each sigma"),
    ("oks_exponents", {"t_box": ones(1, 3)}, "x, y, width, height"),
    ("oks_exponents", {"t_area": f64()}, "one area for each truth"),
    ("oks_exponents", {"t_rows": i32(1)}, "a row is out of range"),
    ("oks_exponents", {"last": 2}, "the cells are out of range"),
    ("oks_means", {"begin": i64()}, "out of bounds"),
    ("oks_means", {"begin": i64(0, 2)}, "out of bounds"),
    ("oks_means", {"begin": i64(0, 0, 1)}, "a pair without a value"),
    ("oks", {"sigmas": f64()}, "from 1 to 65536 sigmas"),
    ("oks", {"sigmas": f64(0.0)}, "from 1e-6 to 1e6"),
    ("oks", {"sigmas": f64(1e7)}, "from 1e-6 to 1e6"),
    ("oks", {"d_points": f64(1, INF, 2).reshape(1, 3)}, "beyond 1e12"),
    ("poisson_scatter", {"code": i32(0)}, "an owner and a code"),
    ("poisson_scatter", {"value": f64(1)}, "a value, or none has one"),
    ("poisson_scatter", {"size": (1 << 31) + 1}, "too many columns"),
    ("poisson_scatter", {"owner": i64(0, 2)}, "an owner is out of range"),
    ("poisson_scatter", {"owner": i64(-1, 1)}, "an owner is out of range"),
    ("poisson_scatter", {"owner": i64(1, 0)}, "in the order of their owners"),
    ("poisson_scatter", {"code": i32(0, 2)}, "a code is out of range"),
    ("poisson_scatter", {"code": i32(-1, 0)}, "a code is out of range"),
    ("poisson_scatter", {"first": 1}, "a multiple of 32"),
    ("poisson_totals", {"copies": i64(1)}, "each unit needs its copies"),
    ("poisson_totals", {"copies": i64(1, 0)}, "copies are out of range"),
    ("poisson_totals", {"copies": i64(1, 1 << 62)}, "copies are out of range"),
    ("unit_keys", {"ends": i64(2, 1)}, "must rise and stay inside"),
    ("unit_keys", {"ends": i64(1, 3)}, "must rise and stay inside"),
    ("Ranked", {"end": i64(2)}, "one range for each class"),
    ("Ranked", {"truth_begin": i64(0, 1)}, "one range for each class"),
    ("Ranked", {"score": f64(0.9)}, "columns of the detections differ"),
    ("Ranked", {"rank": np.zeros(1, np.uint16)}, "columns of the detections differ"),
    ("Ranked", {"hit": np.zeros(1, np.uint32)}, "columns of the detections differ"),
    ("Ranked", {"ignored": np.zeros(1, np.uint32)}, "columns of the detections differ"),
    ("Ranked", {"counts": u8(1)}, "columns of the truth differ"),
    ("Ranked", {"thresholds": 0}, "from 1 to 32 IoU thresholds"),
    ("Ranked", {"thresholds": 33}, "from 1 to 32 IoU thresholds"),
    ("Ranked", {"begin": i64(-1, 2)}, "out of bounds"),
    ("Ranked", {"end": i64(2, 1)}, "out of bounds"),
    ("Ranked", {"end": i64(2, 4)}, "out of bounds"),
    ("Ranked", {"image": i32(0, 1, 2)}, "an image is out of range"),
    ("Ranked", {"image": i32(-1, 1, 1)}, "an image is out of range"),
    ("Ranked", {"truth_begin": i64(0, 2, 1)}, "out of bounds"),
    ("Ranked", {"truth_begin": i64(-1, 1, 2)}, "out of bounds"),
    ("Ranked", {"truth_begin": i64(0, 1, 3)}, "out of bounds"),
    ("Ranked", {"truth_image": i32(0, 2)}, "an image is out of range"),
    ("Ranked", {"truth_image": i32(-1, 1)}, "an image is out of range"),
    ("Ranked", {"grid": f64(0)}, "the grid must rise"),
    ("Ranked", {"grid": f64(0, 0.2, 1)}, "even, from 0 to 1"),
    ("Ranked", {"figure": _native.BoxFigure.curves}, "curves are no figure"),
    ("ranked", {"value": f64(1)}, "a value, or none has one"),
    ("ranked_each", {"starts": i64(0, 3)}, "stay inside the events"),
    ("ranked_each", {"starts": i64(1, 0)}, "stay inside the events"),
    ("ranked_ap", {"hit": u8(1)}, "every event needs its columns"),
    ("ranked_ap", {"closes": u8(1)}, "every event needs its columns"),
    ("ranked_ap_by_unit", {"owner": i64(1, 0)}, "events must go by unit"),
    ("ranking_hits", {"relevance": f64(1, 1)}, "one relevance is expected for each rank"),
    ("arrow_stream", {"names": []}, "differ in number"),
    ("arrow_stream", {"kinds": []}, "differ in number"),
    ("arrow_stream", {"kinds": ["x"]}, "a kind is 'u', 'g' or 'l'"),
    ("pack_offsets", {"offsets": i64(0, 2, 1)}, "rise and stay inside"),
    ("pack_offsets", {"offsets": i64(0, 3)}, "rise and stay inside"),
    ("ngram_overlap", {"starts": i64(0, 1)}, "must belong to a candidate"),
]  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_taken(name: str) -> None:
    assert call(name, **GOOD[name]) is not None


@pytest.mark.parametrize(
    ("name", "changed", "message"), REFUSED, ids=[f"{name}, {', '.join(changed)}" for name, changed, _ in REFUSED]
)
def test_refused(name: str, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(name, **{**GOOD[name], **changed})


STARTS = "begin at 0, grow and stay inside"


TOGETHER: list[tuple[str, dict[str, Any], str]] = [
    ("ngram_overlap", {"starts": i64(-1, 2)}, STARTS),
    ("ngram_overlap", {"starts": i64(1, 2)}, STARTS),
    ("ngram_overlap", {"starts": i64(0, 3)}, STARTS),
    ("ngram_overlap", {"candidates": b"ab", "candidate_ends": i64(2, 1), "starts": i64(0, 1, 2)}, "ends must grow"),
    ("tracking_codes", {"ends": i64(-1)}, "the ends of the runs must rise"),
    ("ranked_each", {"starts": i64(-1, 2)}, "stay inside the events"),
    ("ranked", {"owner": i64(0)}, "as many in every column"),
    ("oks", {"t_box": ones(2, 4)}, "columns of the truth differ"),
    ("oks", {"t_box": ones(1, 5)}, "columns of the truth differ"),
    ("oks", {"t_area": f64()}, "columns of the truth differ"),
    ("oks", {"sigmas": f64()}, "from 1 to 65536 sigmas"),
    ("oks", {"sigmas": np.ones(65537)}, "from 1 to 65536 sigmas"),
    ("oks", {"d_points": ones(1, 4)}, "a detection needs x, y and v"),
    ("boxes_match", {"label": i32(-1)}, "out of range|label"),
    ("boxes_match", {"d_image": i32(-1)}, "out of range|image"),
    ("boxes_match", {"box": f64(0, 0, 1, -1).reshape(1, 4)}, "a negative width or height"),
    ("boxes_match", {"box": f64(0, 0, -1, 1).reshape(1, 4)}, "a negative width or height"),
    ("boxes_match", {"ious": f64(1.5)}, "above 0 and at most 1"),
    ("boxes_match", {"ious": f64(0)}, "above 0 and at most 1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "changed", "message"), TOGETHER, ids=[f"{name}, {', '.join(changed)}" for name, changed, _ in TOGETHER]
)
def test_arguments_that_are_checked_together(name: str, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(name, **{**GOOD[name], **changed})


@pytest.mark.parametrize("head", ["x", "-1", "1000000", "9"])
def test_a_head_is_the_number_of_a_word(head: str) -> None:
    with pytest.raises(ValueError, match="a head must be the number of a word, or 0"):
        _native.tree_tuples(tables.lemmas(), *pack([f"dog\tNN\t{head}\troot"]))


def test_many_keypoints_are_added_up() -> None:
    """All 200 points are where they belong: the similarity is 1."""
    points = np.tile(f64(3, 4, 2), 200).reshape(1, 600)
    one = _native.oks(points, points, ones(1, 4), f64(4), np.full(200, 0.1))
    assert one.tolist() == [[1.0]]


def changed(place: int, value: int) -> bytes:
    """The packed mask (height, width, area, left, top, right, low, counts) with another number at a place."""
    words = np.frombuffer(PACKED, np.uint32).copy()
    words[place] = value
    return words.tobytes()
