"""The detections of a category as accumulation takes them, from wherever the matches are."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.compat.pycocotools.cells import Array, Cells

Part = tuple[Array, Array, Array, Array, int]


class CellRows:
    """Detections of a category straight from the cells."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.hits: dict[int, Any] = {}
        self.order: dict[tuple[int, int], Any] = {}

    def part(self, k: int, a: int, most: int) -> Part | None:
        """Scores, their order, hits and ignored of the detections, and how many truths count; None where none does."""
        cells = self.cells
        first, last = np.searchsorted(cells.category, [k, k + 1])
        if first == last:
            return None
        positives = int(np.count_nonzero(~cells.t_ignored[a][cells.t_begin[first] : cells.t_begin[last]]))
        if not positives:
            return None
        rows = slice(int(cells.d_begin[first]), int(cells.d_begin[last]))
        if a not in self.hits:
            self.hits[a] = cells.hits(a)
        if (k, most) not in self.order:
            within_cap = np.flatnonzero(cells.rank[rows] < most)
            self.order[k, most] = within_cap[np.argsort(-cells.score[rows][within_cap], kind="stable")]
        hit, ignored = self.hits[a]
        return cells.score[rows], self.order[k, most], hit[:, rows], ignored[:, rows], positives


class Listed:
    """Detections of a category from a list as `evalImgs` is, whoever made it."""

    def __init__(self, listed: Any, done: Any, images: list[int]) -> None:
        self.listed, self.images = listed, images
        self.areas, self.stride = len(done.areaRng), len(done.imgIds)

    def part(self, k: int, a: int, most: int) -> Part | None:
        """Scores, their order, hits and ignored of the detections, and how many truths count; None where none does."""
        begin = (k * self.areas + a) * self.stride
        entries = [e for e in (self.listed[begin + i] for i in self.images) if e is not None]
        if not entries:
            return None
        ignored_truth = np.concatenate([np.asarray(e["gtIgnore"]) for e in entries])
        positives = int(np.count_nonzero(ignored_truth == 0))
        if not positives:
            return None
        score = np.concatenate([np.asarray(e["dtScores"][:most], dtype=np.float64) for e in entries])
        matched = np.concatenate([np.asarray(e["dtMatches"])[:, :most] for e in entries], axis=1)
        ignored = np.concatenate([np.asarray(e["dtIgnore"])[:, :most] for e in entries], axis=1).astype(bool)
        return score, np.argsort(-score, kind="stable"), matched.astype(bool), ignored, positives
