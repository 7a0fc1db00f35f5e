"""Detections of all images by falling score: what average precision walks."""

from __future__ import annotations

import numpy as np

from steelyard import _native
from steelyard.align.sets import SetPairs
from steelyard.core.frozen import frozen
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.spec import Range
from steelyard.core.statistic import Ranking, RankingReader, SharedCache
from steelyard.core.weights import Floats, Role, Weights
from steelyard.tasks.ellipses.matched import hits, match_input
from steelyard.tasks.ellipses.sums import image_columns


@frozen
class Detections(Ranking):
    """Detections with their score, and whether they find a truth at each IoU; positives are the truths of an image."""

    name = "ellipses.detections"

    iou: float | Range

    @property
    def levels(self) -> tuple[float, ...]:
        """The IoUs."""
        return self.iou.values if isinstance(self.iou, Range) else (float(self.iou),)

    def measure(self, pairs: SetPairs, cache: SharedCache) -> RankingBlock:
        """All in one group; ties in the order of images. Without scores nothing is looked for."""
        both, truths = match_input(pairs, cache), image_columns(pairs, cache)["truths"]
        unscored = np.isnan(both.score).any()
        hit = np.zeros((len(both.score), len(self.levels)), np.uint8) if unscored else hits(pairs, cache, self.levels)
        order = np.argsort(-both.score, kind="stable")
        events = {"score": both.score[order], "hit": np.asarray(hit[order], dtype=np.uint8)}
        images = np.flatnonzero(truths)
        return RankingBlock(
            "",
            Grouped(np.array([0, len(order)]), both.detected_owner[order].astype(np.int32), events),
            Grouped(np.array([0, len(images)]), images.astype(np.int32), {"count": truths[images]}),
        )


@frozen
class Areas(RankingReader):
    """The mean over the IoUs of the area under each curve; nan where a detection has no score."""

    ranking: Detections
    rule: int

    def read(self, block: RankingBlock, weights: Weights, facts: Metadata) -> Floats:
        score, hit = block.events.columns["score"], block.events.columns["hit"]
        if np.isnan(score).any():
            return np.full(weights.rows, np.nan)
        owner = block.events.unit.astype(np.int64)
        counts = block.positives.columns["count"]
        truths = np.bincount(block.positives.unit, weights=counts, minlength=weights.units).astype(np.float64)
        if weights.role is Role.UNITS and weights.rows == weights.units:
            return self._alone(owner, score, hit, truths)
        closes, columns = _closes(score), [np.ascontiguousarray(column) for column in hit.T]
        blocks = [
            np.mean(
                [
                    _native.ranked_ap(np.ascontiguousarray(rows), truths, owner, column, closes, self.rule)
                    for column in columns
                ],
                axis=0,
            )
            for rows in weights.blocks()
        ]
        return np.concatenate(blocks)

    def _alone(self, owner: Array, score: Array, hit: Array, truths: Array) -> Floats:
        """Each image by itself."""
        order = np.argsort(owner, kind="stable")
        owner = owner[order]
        closes = _closes(score[order])
        closes[:-1] |= owner[1:] != owner[:-1]
        columns = [np.ascontiguousarray(column[order]) for column in hit.T]
        each = [_native.ranked_ap_by_unit(truths, owner, column, closes, self.rule) for column in columns]
        mean: Floats = np.mean(each, axis=0)
        return mean


def _closes(score: Array) -> Array:
    """1 where equal scores end."""
    closes = np.ones(len(score), dtype=np.uint8)
    closes[:-1] = score[1:] != score[:-1]
    return closes
