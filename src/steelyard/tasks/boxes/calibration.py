"""Whether a detection's score is how often such detections are right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.by_group import Arrays, GroupCurve
from steelyard.core.errors import OutOfRange
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.pairs import Array
from steelyard.core.ranking import RankingBlock
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, SharedCache, Statistic, Sum
from steelyard.core.weights import Floats, Weights, ratio
from steelyard.tasks.boxes.along import Walk, class_means
from steelyard.tasks.boxes.lrp import Located, ranking_with_overlaps
from steelyard.tasks.boxes.matches import STANDARD_AREAS, UNCOUNTED, Matches, matches, overlaps
from steelyard.tasks.boxes.pairs import CROWD, BoxPairs
from steelyard.tasks.boxes.ranking import RankingSummary
from steelyard.tasks.boxes.settings import MOST, STANDARD_MOST, Most, check_ious, on_grid, thresholds, with_cap

Edges = Literal["left", "right"]
SIDES: tuple[Edges, Edges] = ("left", "right")
LEAST = 1e-6  # an IoU for the order of detections alone


def check_shares(pairs: BoxPairs, why: str) -> None:
    """Raise if a score is not between 0 and 1."""
    score = np.asarray(pairs.prediction["score"])
    wrong = np.flatnonzero((score < 0) | (score > 1))
    if len(wrong):
        raise OutOfRange(
            f"the score is {score[wrong[0]]:g}, and {why}",
            where=pairs.prediction.where(int(wrong[0]), "score"),
            remedy="Scores must be from 0 to 1.",
        )


def bin_codes(score: Array, bins: int, edges: str) -> Array:
    """The bin of each score, of equal width; both ends of the whole belong to it."""
    ends = np.linspace(0.0, 1.0, bins + 1)
    side: Literal["left", "right"] = "right" if edges == "left" else "left"
    return (np.searchsorted(ends, score, side=side) - 1).clip(0, bins - 1)


class CalibrationError(Metric):
    """Base of both errors: `bins` of equal width, which edge they hold, and how many detections of a class count."""

    better = "lower"
    reaches_best = False
    range = (0.0, 1.0)

    bins: Annotated[int, Between(1, 1000, whole=True)] = 10
    edges: Edges = "left"
    max_dets: Most = MOST


class ScoreBins(Sum):
    """By image and bin of scores: detections, the sum of their scores, and hits. What a crowd takes is left out."""

    name = "boxes.score_bins"

    iou: float
    bins: int
    edges: str
    max_dets: int

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> SumBlock:
        check_shares(pairs, "calibration compares it with a share")
        levels, places = on_grid(self.iou)
        m = matches(pairs, cache, thresholds(levels), STANDARD_AREAS, MOST)[0]
        hit, ignored = m.bit(places[0])
        used = np.flatnonzero(m.places() & (m.rank < self.max_dets) & ~ignored)
        score = m.score[used]
        code = bin_codes(score, self.bins, self.edges)
        cell, cells = m.image[used] * np.int64(self.bins) + code, len(pairs.units) * self.bins
        columns = [np.bincount(cell, weights=w, minlength=cells) for w in (None, score, hit[used].astype(np.float64))]
        return SumBlock(np.stack(columns, axis=1).reshape(len(pairs.units), -1).astype(np.float64))

    def earlier(self, stored: Iterable[Statistic]) -> tuple[Statistic, str] | None:
        """Versions before 0.3 kept it with a cap."""
        return with_cap(self, stored)


class DetectionCalibrationError(CalibrationError):
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
    reference = "netcal 1.4.0"

    iou: float = 0.5

    def check(self) -> None:
        super().check()
        check_ious(self, self.iou)

    @property
    def counts(self) -> ScoreBins:
        """What is added up."""
        return ScoreBins(float(self.iou), self.bins, self.edges, self.max_dets)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.counts,)

    def reduce(self, totals: TotalsView) -> Floats:
        count, score, hit = np.moveaxis(totals[self.counts].reshape(-1, self.bins, 3), 2, 0)
        return ratio(np.abs(hit - score).sum(axis=1), count.sum(axis=1))


class LocatedShares(Located):
    """The matches of `Located`, for scores from 0 to 1. With `tau=0`, even an object that is not touched is taken."""

    name = "boxes.located_shares"

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> RankingBlock:
        check_shares(pairs, "calibration compares it with a share")
        if self.tau > 0:
            return super().measure(pairs, cache)
        m = matches(pairs, cache, (LEAST,), STANDARD_AREAS[:1], MOST)[0]
        return ranking_with_overlaps(match_at_zero(pairs, m))


def match_at_zero(s: BoxPairs, m: Matches) -> Matches:
    """Matches where any IoU is enough: from the highest score down, each takes the free object that it overlaps most.

    Of equal overlaps the last one counts, and where no object is free, what is ignored takes it, as in COCO's rules.
    """
    hit, ignored, overlap = np.zeros_like(m.hit), np.zeros_like(m.ignored), np.zeros(len(m.order))
    places, classes = np.flatnonzero(m.places()), max(s.classes, 1)
    cell = m.image[places].astype(np.int64) * classes + m.label[places]
    truth_cell = s.image.astype(np.int64) * classes + s.label
    order, truth_order = np.argsort(cell, kind="stable"), np.argsort(truth_cell, kind="stable")
    both = np.intersect1d(cell, truth_cell)
    d_from, d_to = (np.searchsorted(cell[order], both, side=side) for side in SIDES)
    t_from, t_to = (np.searchsorted(truth_cell[truth_order], both, side=side) for side in SIDES)
    for i in range(len(both)):
        d, every = places[order[d_from[i] : d_to[i]]], truth_order[t_from[i] : t_to[i]]
        flags = s.flags[every]
        truths = every[(flags & UNCOUNTED) == 0]
        crowd, once = bool((flags & CROWD).any()), int(np.count_nonzero((flags & UNCOUNTED) & ~np.uint8(CROWD)))
        near = overlaps(s, m.order[d], truths)
        for row, place in enumerate(d[: len(truths)].tolist()):
            best = len(truths) - 1 - int(near[row, ::-1].argmax())
            hit[place], overlap[place] = 1, near[row, best]
            near[:, best] = -1.0
        rest = d[len(truths) :]
        ignored[rest if crowd else rest[:once]] = 1
    return replace(m, hit=hit, ignored=ignored, overlap=overlap)


class LocalisationGaps(GroupCurve):
    """How far scores are from the overlap of what they hit, by class: means over those with truth and detections."""

    ranking: LocatedShares
    bins: int
    edges: str

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        return self.join(self.read_group(block.one(k), weights) for k in range(block.groups))

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        """Of one class, for each row of weights. Scores fall, so those of a bin stand side by side."""
        walk, columns = Walk.of(block, self.ranking.max_dets), block.events.columns
        score = columns["score"][walk.rows]
        gap = np.where(walk.hit, columns["overlap"][walk.rows], 0.0) - score
        code = bin_codes(score, self.bins, self.edges)
        starts = np.flatnonzero(np.append(True, code[1:] != code[:-1])) if len(code) else np.zeros(0, np.int64)
        values = [np.zeros((0, 1))]
        for w, _, objects in walk.steps(weights):
            gaps = np.abs(np.add.reduceat(w * gap, starts, axis=1)).sum(axis=1)
            values.append(np.where(objects > 0, ratio(gaps, w.sum(axis=1)), np.nan)[:, None])
        return (np.concatenate(values),)

    def join(self, parts: Iterator[Arrays]) -> Floats:
        return class_means(parts, 1)


class LocalisationCalibrationError(CalibrationError):
    r"""Localisation-aware calibration error (LaECE): how far scores are from precision times overlap, by class.

    $\mathrm{LaECE} = \frac{1}{K} \sum_k \sum_b \frac{n_{kb}}{n_k}\,
    \Big| \frac{1}{n_{kb}} \sum_{\mathrm{hits}} \mathrm{IoU} - \overline{\mathrm{score}}_{kb} \Big|$

    A detection is right from an IoU of `tau` on, and then its score should be its IoU; else it should be 0. Bins of
    equal width hold their right edge, as in the reference. The mean is over classes that have truth and detections; the
    reference leaves out a class without any error, which counts here. With `tau=0` a detection takes any free object of
    its class and image, touched or not, as the reference has it.

    Undefined when no class has truth and detections.

    Pros:
    - A score that says how well the box fits can be used to choose among boxes.

    Cons:
    - Depends on the bins and on which low scores a model writes at all: compare at the same threshold.
    - Says nothing about missed objects.
    """

    name = "laece"
    title = "Localisation-aware calibration error"
    reference = "detection_calibration bf59c92"

    bins: int = 25
    edges: Edges = "right"
    max_dets: Most = STANDARD_MOST
    tau: Annotated[float, Between(0, 0.999)] = 0.1

    @property
    def curve(self) -> LocalisationGaps:
        """What is read along the ranking."""
        return LocalisationGaps(LocatedShares(float(self.tau), self.max_dets), self.bins, self.edges)

    @property
    def summary(self) -> RankingSummary:
        """What the notes are about."""
        return RankingSummary(self.curve.ranking, self.max_dets)

    def requirements(self) -> tuple[Requirement, ...]:
        return self.curve, self.summary

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        return self.summary.remarks(totals[self.summary])

    def reduce(self, totals: TotalsView) -> Floats:
        values: Floats = totals[self.curve][:, 0]
        return values
