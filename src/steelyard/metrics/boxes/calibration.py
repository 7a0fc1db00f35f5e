"""Whether a detection's score is how often such detections are right."""

from __future__ import annotations

from typing import Literal

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric, one_of, within_range
from steelyard.core.need import Sum, Work
from steelyard.core.totals import Declared, Wanted
from steelyard.core.weights import Floats, ratio
from steelyard.metrics.boxes.matches import STANDARD_AREAS, matches
from steelyard.metrics.boxes.pairs import BoxPairs
from steelyard.metrics.boxes.settings import STANDARD_MOST, check_ious, check_most, on_grid, thresholds

Edges = Literal["left", "right"]


@frozen
class ScoreBins(Sum):
    """By image and bin of scores: detections, the sum of their scores, and hits. What a crowd takes is left out."""

    name = "boxes.score_bins"

    iou: float
    bins: int
    edges: str
    max_dets: int

    def measure(self, pairs: BoxPairs, work: Work) -> SumBlock:
        """Three columns per bin."""
        levels, places = on_grid(self.iou)
        m = matches(pairs, work, thresholds(levels), STANDARD_AREAS, max(self.max_dets, STANDARD_MOST))[0]
        hit, ignored = m.bit(places[0])
        kept = np.flatnonzero(m.places() & (m.rank < self.max_dets) & ~ignored)
        score = m.score[kept]
        wrong = np.flatnonzero((score < 0) | (score > 1))
        if len(wrong):
            row = int(m.order[kept[wrong[0]]])
            raise InputError(
                f"the score is {score[wrong[0]]:g}, and calibration compares it with a share",
                where=pairs.prediction.where(row, "score"),
                remedy="Scores must be from 0 to 1.",
            )
        ends = np.linspace(0.0, 1.0, self.bins + 1)
        side: Literal["left", "right"] = "right" if self.edges == "left" else "left"
        code = (np.searchsorted(ends, score, side=side) - 1).clip(0, self.bins - 1)
        cell, cells = m.image[kept] * np.int64(self.bins) + code, len(pairs.units) * self.bins
        columns = [np.bincount(cell, weights=w, minlength=cells) for w in (None, score, hit[kept].astype(np.float64))]
        return SumBlock(np.stack(columns, axis=1).reshape(len(pairs.units), -1).astype(np.float64))


@frozen
class DetectionCalibrationError(Metric):
    r"""Detection expected calibration error (D-ECE): how far scores are from how often they are right, on average.

    $\mathrm{D\text{-}ECE} = \sum_b \frac{n_b}{n}\,|\mathrm{precision}_b - \overline{\mathrm{score}}_b|$

    Detections of all classes in `bins` of equal width; one is right where it finds an object with IoU at least `iou`.
    Bins hold their left edge (`edges=left`, as netcal has it) or their right one (`edges=right`).

    Undefined when there is no detection.

    Pros:
    - Reads directly: of detections with score 0.9, nine in ten should be right.

    Cons:
    - Depends on the bins and on which low scores a model writes at all: compare at the same threshold.
    - Says nothing about missed objects.
    """

    name = "dece"
    title = "Detection calibration error"
    better = "lower"
    reaches_best = False
    reference = "netcal 1.4.0"

    iou: float = 0.5
    bins: int = 10
    edges: Edges = "left"
    max_dets: int = 100

    def check(self) -> None:
        """Check every setting."""
        check_ious(self, self.iou)
        one_of(self, "edges", "left", "right")
        check_most(self, "max_dets")
        within_range(self, "bins", 1, 1000)
        if not isinstance(self.bins, int):
            raise InputError(f"metric '{self.name}': bins cannot be {self.bins}", remedy="Give a whole number.")

    @property
    def counts(self) -> ScoreBins:
        """What is added up."""
        return ScoreBins(float(self.iou), self.bins, self.edges, self.max_dets)

    def needs(self) -> tuple[Wanted, ...]:
        """Detections, scores and hits by bin."""
        return (self.counts,)

    def reduce(self, totals: Declared) -> Floats:
        """Gaps, each counted by its detections."""
        count, score, hit = np.moveaxis(totals[self.counts].reshape(-1, self.bins, 3), 2, 0)
        return ratio(np.abs(hit - score).sum(axis=1), count.sum(axis=1))
