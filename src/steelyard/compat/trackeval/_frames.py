"""Arrays of each frame, as TrackEval's dicts hold them, and the same as columns, as the kernels take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
EPS = float(np.finfo("float").eps)


def sizes_of(parts: Sequence[Any]) -> Array:
    """How many rows each frame has."""
    return np.fromiter(map(len, parts), np.int64, len(parts))


def join_column(parts: Sequence[Any], dtype: Any) -> Array:
    """The rows of all frames in one array."""
    if not len(parts):
        return np.zeros(0, dtype)
    column = np.concatenate(parts)
    return np.ascontiguousarray(column, dtype=dtype)


def join_boxes(parts: Sequence[Any]) -> Array:
    """The boxes of all frames, n × 4."""
    return np.ascontiguousarray(np.concatenate(parts), dtype=np.float64) if len(parts) else np.zeros((0, 4))


def join_matrices(parts: Sequence[Any]) -> Array:
    """Matrices of similarities one behind the other."""
    return join_column([part.ravel() for part in parts], np.float64)


def split_rows(column: Array, sizes: Array) -> list[Any]:
    """The rows of each frame."""
    ends = np.cumsum(sizes).tolist()
    return [column[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def split_matrices(flat: Array, truth: Array, prediction: Array) -> list[Any]:
    """The matrix of each frame."""
    parts = split_rows(flat, truth * prediction)
    shapes = zip(truth.tolist(), prediction.tolist(), strict=True)
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def frame_of_rows(sizes: Array) -> Array:
    """The frame of each row."""
    return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)


@dataclass(frozen=True)
class Frames:
    """What metrics read of one sequence: similarities, and the tracks of each side, in columns."""

    similarity: Array
    truth_sizes: Array
    prediction_sizes: Array
    truth: Array
    prediction: Array
    truth_tracks: int
    prediction_tracks: int

    @property
    def arguments(self) -> tuple[Array, Array, Array, Array, Array, int, int]:
        """What the kernels take."""
        return (
            self.similarity,
            self.truth_sizes,
            self.prediction_sizes,
            self.truth,
            self.prediction,
            self.truth_tracks,
            self.prediction_tracks,
        )

    def similarity_of(self, rows: Array, partners: Array) -> tuple[Array, Array]:
        """The frame of some truth rows, and their similarity to these prediction rows of the same frame."""
        frame = np.searchsorted(np.cumsum(self.truth_sizes), rows, side="right")
        starts = [np.concatenate([[0], np.cumsum(sizes)[:-1]]) for sizes in (self.truth_sizes, self.prediction_sizes)]
        cells = np.cumsum(self.truth_sizes * self.prediction_sizes) - self.truth_sizes * self.prediction_sizes
        place = cells[frame] + (rows - starts[0][frame]) * self.prediction_sizes[frame] + partners - starts[1][frame]
        return frame, self.similarity[place]


def read_frames(data: Any) -> Frames:
    """The columns of a dict that `get_preprocessed_seq_data` returned."""
    truth, prediction = data["gt_ids"], data["tracker_ids"]
    return Frames(
        join_matrices(data["similarity_scores"]),
        sizes_of(truth),
        sizes_of(prediction),
        join_column(truth, np.int64),
        join_column(prediction, np.int64),
        int(data["num_gt_ids"]),
        int(data["num_tracker_ids"]),
    )


def sum_by_frame(frame: Array, values: Array) -> Any:
    """The sum of values frame by frame, each frame summed first: the order in which TrackEval adds."""
    return np.cumsum(np.bincount(frame, weights=values))[-1] if len(values) else 0


def relabel(ids: Array) -> tuple[Array, int]:
    """Ids without gaps, and how many there are. A negative id gets the place that TrackEval's table gives it."""
    if not len(ids):
        return ids, 0
    unique = np.unique(ids)
    if unique[0] >= 0:
        return np.searchsorted(unique, ids), len(unique)
    table = np.full(unique[-1] + 1, np.nan)
    table[unique] = np.arange(len(unique))
    return table[ids].astype(int), len(unique)
