"""What the metrics of boxes add up image by image: hits and false positives, overlaps, classes that are absent."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.pairs import Array
from steelyard.core.spec import Range
from steelyard.core.statistic import SharedCache, Statistic, Sum
from steelyard.tasks.boxes.matches import AREAS, STANDARD_AREAS, Matches, matches
from steelyard.tasks.boxes.pairs import CLASS, BoxPairs
from steelyard.tasks.boxes.settings import MOST, on_grid, thresholds, with_cap


class ImageCount(Sum):
    """1 for each image."""

    name = "boxes.images"

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(np.ones(len(pairs.units)))


class WorkingCounts(Sum):
    """True positives, false positives and objects at each IoU, of detections with at least a score.

    Columns: the true positives of all IoUs, then the false positives, then the objects. Without a score all count.
    """

    name = "boxes.counts"

    iou: float | Range
    score: float | None
    max_dets: int
    label: str | int | None = None

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> SumBlock:
        """Counts by image. A class that is not here has none."""
        levels, places = on_grid(self.iou)
        m = matches(pairs, cache, thresholds(levels), STANDARD_AREAS, MOST)[0]
        units = len(pairs.units)
        detections = m.places() & (m.rank < self.max_dets)
        if self.score is not None:
            detections &= m.score >= self.score
        objects = m.counts.astype(bool)
        if self.label is not None:
            detections, objects = _of_class(m, detections, objects, pairs.facts.axes[CLASS].find(self.label))
        columns = np.zeros((units, 3, len(places)))
        for column, t in enumerate(places):
            hit, ignored = m.bit(t)
            columns[:, 0, column] = np.bincount(m.image[detections & hit], minlength=units)
            columns[:, 1, column] = np.bincount(m.image[detections & ~hit & ~ignored], minlength=units)
            columns[:, 2, column] = np.bincount(m.truth_image[objects], minlength=units)
        return SumBlock(columns.reshape(units, -1))

    def earlier(self, stored: Iterable[Statistic]) -> tuple[Statistic, str] | None:
        """Versions before 0.3 kept it with a cap."""
        return with_cap(self, stored)


def _of_class(m: Matches, detections: Array, objects: Array, code: int) -> tuple[Array, Array]:
    mine, true = np.zeros(len(detections), dtype=bool), np.zeros(len(objects), dtype=bool)
    if code >= 0:
        mine[m.begin[code] : m.end[code]] = True
        true[m.truth_begin[code] : m.truth_begin[code + 1]] = True
    return detections & mine, objects & true


class MatchedOverlap(Sum):
    """The sum of the overlaps of what is matched, and how many those are."""

    name = "boxes.matched_overlap"

    iou: float
    score: float
    max_dets: int

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> SumBlock:
        m = matches(pairs, cache, (float(self.iou),), (AREAS["all"],), MOST)[0]
        used = m.places() & (m.score >= self.score) & (m.rank < self.max_dets) & m.bit(0)[0]
        units = len(pairs.units)
        overlap = np.bincount(m.image[used], weights=m.overlap[used], minlength=units)
        return SumBlock(np.stack([overlap, np.bincount(m.image[used], minlength=units)], axis=1))

    def earlier(self, stored: Iterable[Statistic]) -> tuple[Statistic, str] | None:
        """Versions before 0.3 kept it with a cap."""
        return with_cap(self, stored)


class ClassesSeen(Sum):
    """By image: how many classes it holds, and how many of the others were detected from a score on."""

    name = "boxes.classes_seen"

    score: float

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> SumBlock:
        classes = max(pairs.classes, 1)
        present = np.unique(pairs.image.astype(np.int64) * classes + pairs.label)
        confident = pairs.d_score >= self.score
        detected = np.unique(pairs.d_image[confident].astype(np.int64) * classes + pairs.d_label[confident])
        wrong = np.setdiff1d(detected, present)
        columns = [np.bincount(codes // classes, minlength=len(pairs.units)) for codes in (present, wrong)]
        return SumBlock(np.stack(columns, axis=1))
