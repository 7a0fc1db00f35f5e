"""Comparing tables of tracks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.compat.motmetrics.columns import Side
from steelyard.compat.motmetrics.distances import iou_matrix, norm2squared_matrix
from steelyard.compat.motmetrics.mot import MOTAccumulator
from steelyard.compat.motmetrics.preprocess import BOX, preprocessResult

Distance = Callable[[Any, Any], Any]


def compare_to_groundtruth(
    gt: Any, dt: Any, dist: str = "iou", distfields: Any = None, distth: float = 0.5
) -> MOTAccumulator:
    """The events of results `dt` against ground truth `gt`, tables with the index (FrameId, Id).

    `dist` is 'iou', 'euc' or 'euclidean', or 'seuc' (squared) of the columns `distfields`; pairs beyond
    `distth` are not made.
    """
    fields = BOX if distfields is None else distfields
    kind = dist.upper()
    distances: dict[str, Distance] = {
        "IOU": lambda a, b: iou_matrix(a, b, max_iou=distth),
        "EUC": lambda a, b: np.sqrt(norm2squared_matrix(a, b, max_d2=distth**2)),
        "EUCLIDEAN": lambda a, b: np.sqrt(norm2squared_matrix(a, b, max_d2=distth**2)),
        "SEUC": lambda a, b: norm2squared_matrix(a, b, max_d2=distth),
    }
    if kind not in distances:
        raise TypeError(f"dist is {dist!r}: it must be 'iou', 'euc', 'euclidean' or 'seuc'")
    acc = MOTAccumulator()
    frames = gt.index.union(dt.index).levels[0]
    sides = _Frames(gt, fields), _Frames(dt, fields)
    if kind == "IOU" and _add_ious(acc, *sides, frames.to_numpy(), distth):
        return acc
    nothing = np.empty((0, 0))
    for frame in frames:
        (oids, boxes), (hids, others) = (side.of(frame) for side in sides)
        matrix = distances[kind](boxes, others) if len(oids) and len(hids) else nothing
        acc.update(oids, hids, matrix, frameid=frame)
    return acc


class _Frames:
    """The ids and values of a table by frame, in the order of its rows."""

    def __init__(self, table: Any, fields: Any) -> None:
        frame = table.index.get_level_values("FrameId").to_numpy()
        order = np.argsort(frame, kind="stable")
        self.ids = table.index.get_level_values("Id").to_numpy()[order]
        self.values = table[fields].to_numpy()[order]
        frames, starts = np.unique(frame[order], return_index=True)
        ends = [*starts.tolist(), len(frame)][1:]
        self.place = dict(zip(frames.tolist(), zip(starts.tolist(), ends, strict=True), strict=True))

    def of(self, frame: Any) -> tuple[Any, Any]:
        """Ids and values of a frame."""
        start, end = self.place.get(frame, (0, 0))
        return (self.ids[start:end], self.values[start:end]) if end else (np.empty(0), self.values[:0])


def _add_ious(acc: MOTAccumulator, truth: _Frames, results: _Frames, frames: Any, most: float) -> bool:
    """Add all frames at once by the IoU of their boxes; False where boxes or ids are unusual."""
    if frames.dtype.kind not in "iu":
        return False
    sides, corners = [], []
    for side in (truth, results):
        boxes = np.array(side.values, dtype=np.float64)
        if boxes.ndim != 2 or boxes.shape[1] != 4 or not np.isfinite(boxes).all():
            return False
        sizes = boxes[:, 2:] + boxes[:, :2] - boxes[:, :2]
        if (len(boxes) and (sizes[:, 0] * sizes[:, 1]).min() < 1e-9) or (boxes[:, 2:] < 0).any():
            return False
        boxes[:, 2:] += boxes[:, :2]
        places = [side.place.get(frame, (0, 0)) for frame in frames.tolist()]
        sides.append(Side(side.ids, np.array([end - start for start, end in places], dtype=np.int64)))
        corners.append(boxes)
    if not all(side.has_distinct_ids() for side in sides):
        return False
    flat = 1 - _native.frame_ious(corners[0], sides[0].sizes, corners[1], sides[1].sizes)
    flat[flat > most] = np.nan
    acc._add_sequence(frames, sides[0], sides[1], flat)
    return True


def CLEAR_MOT_M(
    gt: Any,
    dt: Any,
    inifile: Any,
    dist: str = "iou",
    distfields: Any = None,
    distth: float = 0.5,
    include_all: bool = False,
    vflag: Any = "",
) -> tuple[MOTAccumulator, dict[str, dict[int, int]]]:
    """As MOTChallenge's development kit: results without those on distractors; also how often each id appears."""
    dt = preprocessResult(dt, gt, inifile)
    scored = gt["Confidence"] >= 0.99
    gt = gt[scored if include_all else scored & (gt["ClassId"] == 1)]
    fields = BOX if distfields is None else distfields
    acc = MOTAccumulator()
    analysis: dict[str, dict[int, int]] = {"hyp": {}, "obj": {}}
    sides = [_Frames(table, fields) for table in (gt, dt)]
    for frame in gt.index.union(dt.index).levels[0]:
        (oids, boxes), (hids, others) = (side.of(frame) for side in sides)
        for side, ids in (("obj", oids), ("hyp", hids)):
            for id_ in map(int, ids):
                analysis[side][id_] = analysis[side].get(id_, 0) + 1
        matrix = np.empty((0, 0))
        if len(oids) and len(hids):
            compute: Any = iou_matrix if dist.upper() == "IOU" else norm2squared_matrix
            matrix = compute(boxes, others, distth)
        acc.update(oids, hids, matrix, frameid=frame, vf=vflag)
    return acc, analysis
