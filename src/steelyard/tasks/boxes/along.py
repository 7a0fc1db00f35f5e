"""What curves along the ranking of a class share: the detections that count, rows of weights in steps, class means."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.core.by_group import Arrays
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.ranking import RankingBlock
from steelyard.core.weights import Floats, Weights

MOST_CELLS = 1 << 22  # rows of weights times detections that are walked at once
EQUAL = 1e-12  # sums of weights are rounded: numbers that differ by less, as a share, are equal


class Walk(Frozen):
    """Detections of one class that count, from the highest score down. `rows` holds their places in the block."""

    block: RankingBlock
    rows: Array
    unit: Array
    hit: Array
    ends: Array  # places of the last detection of each score

    @staticmethod
    def of(block: RankingBlock, max_dets: int, at: int = 0) -> Walk:
        """Detections of all areas that are not ignored at one of the IoUs and rank among the most of their image."""
        e = block.events
        rows = np.flatnonzero((e.columns["rank"] < max_dets) & ((e.columns["ignored0"] >> at) & 1 == 0))
        score = e.columns["score"][rows]
        ends = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else np.zeros(0, np.int64)
        return Walk(block, rows, e.unit[rows], (e.columns["hit0"][rows] >> at) & 1 == 1, ends)

    def steps(self, weights: Weights) -> Iterator[tuple[Floats, Floats, Floats]]:
        """For some rows of weights at a time: those of the detections, the sum over images, and over objects."""
        p = self.block.positives
        counted = p.columns["counted0"].astype(np.float64)
        step = max(1, MOST_CELLS // max(1, len(self.rows)))
        for rows in weights.blocks():
            for start in range(0, len(rows), step):
                part = np.asarray(rows[start : start + step], dtype=np.float64)
                yield part[:, self.unit], part.sum(axis=1), part[:, p.unit] @ counted


def from_zero(sums: Floats) -> Floats:
    """Sums along the ranking, with that of no detection before them."""
    return np.concatenate([np.zeros((len(sums), 1)), sums], axis=1)


def class_means(parts: Iterator[Arrays], width: int) -> Floats:
    """Means over the classes where each column is defined: (rows of weights, width)."""
    total: Floats | None = None
    count: Floats = np.zeros(0)
    for (part,) in parts:
        if total is None:
            total, count = np.zeros_like(part), np.zeros_like(part)
        total, count = total + np.nan_to_num(part), count + ~np.isnan(part)
    if total is None:
        return np.full((1, width), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, total / count, np.nan)
