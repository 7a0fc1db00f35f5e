"""Persons in crowds, as CrowdHuman scores them: MR-2 and the Jaccard index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from steelyard import _native
from steelyard.core.block import SumBlock
from steelyard.core.by_group import Arrays, GroupCurve
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.ranking import RankingBlock
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, SharedCache, Sum
from steelyard.core.weights import Floats, Weights, ratio
from steelyard.tasks.boxes.along import EQUAL, Walk, class_means, from_zero
from steelyard.tasks.boxes.calibration import check_shares
from steelyard.tasks.boxes.matches import AREAS, UNCOUNTED, overlaps
from steelyard.tasks.boxes.pairs import BoxPairs
from steelyard.tasks.boxes.ranking import Detections
from steelyard.tasks.boxes.settings import MOST, Most, check_ious

RATES = (0.01, 0.0178, 0.0316, 0.0562, 0.1, 0.1778, 0.3162, 0.5623, 1.0)  # false positives per image, as written there
SCORES = tuple(0.1 * i for i in range(10))
SMALL = 1e-6  # what the reference adds to the union


class FirstMisses(GroupCurve):
    """The miss rate at the first detection with as many false positives per image, as a geometric mean."""

    ranking: Detections
    max_dets: int

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        return self.join(self.read_group(block.one(k), weights) for k in range(block.groups))

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        walk = Walk.of(block, self.max_dets)
        return (np.concatenate([np.zeros((0, 1)), *(self._mean(walk, *step) for step in walk.steps(weights))]),)

    def _mean(self, walk: Walk, w: Floats, images: Floats, objects: Floats) -> Floats:
        tp, fp = (from_zero(np.cumsum(w * flag, axis=1)) for flag in (walk.hit, ~walk.hit))
        n = objects[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            missed = np.where(n - tp <= EQUAL * n, 0.0, 1 - tp / n)
            logs = np.zeros(len(w))
            for rate in RATES:
                most = (rate * images)[:, None]
                first = np.count_nonzero(fp < most * (1 - EQUAL), axis=1).clip(max=fp.shape[1] - 1)
                logs += np.log(np.take_along_axis(missed, first[:, None], axis=1)[:, 0])
            return np.where(objects > 0, np.exp(logs / len(RATES)), np.nan)[:, None]

    def join(self, parts: Iterator[Arrays]) -> Floats:
        return class_means(parts, 1)


class CrowdMissRate(Metric):
    r"""MR-2 of CrowdHuman: the log-average miss rate, read where false positives reach each of nine numbers per image.

    $\mathrm{MR}^{-2} = \exp\!\Big( \frac{1}{9} \sum_{j} \ln \mathrm{MR}(f_j) \Big), \quad f = 0.01, 0.0178, \ldots, 1$

    A detection takes the person, not taken before, that it overlaps most, with IoU above `iou`; else an ignore region
    (`crowd`) that holds more than that share of it, and counts neither way. The miss rate is read at the first
    detection with at least so many false positives per image, or at the last one. `lamr` reads it before: at the last
    one with at most so many, as Caltech does. Boxes are taken as they are: the reference clips them to the image.

    Undefined when no class has truth.

    Pros:
    - The number that papers on CrowdHuman give.

    Cons:
    - It is 0 as soon as everything is found at one of the nine, whatever the other eight say.
    - Depends on the number of images without objects.
    """

    name = "mr2"
    title = "MR-2 (CrowdHuman)"
    better = "lower"
    reference = "mmdetection cfd5d3a98"
    range = (0.0, 1.0)

    iou: float = 0.5
    max_dets: Most = MOST

    def check(self) -> None:
        check_ious(self, self.iou)

    @property
    def curve(self) -> FirstMisses:
        """What is read along the ranking of each class."""
        return FirstMisses(Detections(float(self.iou), AREAS["all"], MOST, "caltech"), self.max_dets)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.curve,)

    def reduce(self, totals: TotalsView) -> Floats:
        rates: Floats = totals[self.curve][:, 0]
        return rates


class JaccardParts(Sum):
    """By image and score threshold: pairs over the union, and 1 where there is an object or a detection."""

    name = "boxes.jaccard"

    iou: float

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> SumBlock:
        check_shares(pairs, "thresholds go from 0 to 0.9")
        t_order, d_order = np.argsort(pairs.image, kind="stable"), np.argsort(pairs.d_image, kind="stable")
        t_starts = np.searchsorted(pairs.image[t_order], np.arange(len(pairs.units) + 1))
        d_starts = np.searchsorted(pairs.d_image[d_order], np.arange(len(pairs.units) + 1))
        columns = np.zeros((len(pairs.units), 2, len(SCORES)))
        for unit in range(len(pairs.units)):
            t, d = t_order[t_starts[unit] : t_starts[unit + 1]], d_order[d_starts[unit] : d_starts[unit + 1]]
            if len(t) or len(d):
                columns[unit] = _image(pairs, t, d, self.iou)
        return SumBlock(columns.reshape(len(pairs.units), -1))


def _image(s: BoxPairs, truths: Array, d: Array, iou: float) -> Array:
    """Both columns of one image, at each score."""
    ignored = (s.flags[truths] & UNCOUNTED) != 0
    t, regions = truths[~ignored], truths[ignored]
    overlap = np.where(s.d_label[d][:, None] == s.label[t][None, :], overlaps(s, d, t), 0.0)
    truths_as_detections = replace(s, d_box=s.box, d_label=s.label, d_shape=s.shape)
    d_inside = _inside(s, d, regions, iou)
    t_inside = _inside(truths_as_detections, t, regions, iou)
    columns = np.zeros((2, len(SCORES)))
    for place, least in enumerate(SCORES):
        confident = s.d_score[d] > least
        rows, taken = largest_matching(overlap[confident], iou)
        d_left, t_left = d_inside[confident].copy(), t_inside.copy()
        d_left[rows], t_left[taken] = False, False
        objects, detections = len(t) - np.count_nonzero(t_left), np.count_nonzero(confident) - np.count_nonzero(d_left)
        if objects or detections:
            columns[:, place] = len(rows) / (objects + detections - len(rows) + SMALL), 1
    return columns


def _inside(s: BoxPairs, d: Array, regions: Array, share: float) -> Array:
    """Whether more than a share of each detection lies in an ignore region of its class."""
    if not len(regions) or not len(d):
        return np.zeros(len(d), dtype=bool)
    same = s.d_label[d][:, None] == s.label[regions][None, :]
    return np.asarray(((overlaps(s, d, regions, crowd=True) > share) & same).any(axis=1))


def largest_matching(overlap: Array, iou: float) -> tuple[Array, Array]:
    """As many pairs as can be with IoU of at least `iou`, and among such matchings the one that overlaps most."""
    near = overlap >= iou
    rows, columns = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
    if not len(rows):
        return rows, columns
    part, allowed = overlap[np.ix_(rows, columns)], near[np.ix_(rows, columns)]
    column = _native.assign_scipy(np.where(allowed, -1.0 - part / (min(part.shape) + 1), 0.0))
    used = np.flatnonzero((column >= 0) & allowed[np.arange(len(rows)), column])
    return rows[used], columns[column[used]]


class JaccardIndex(Metric):
    r"""Jaccard index (JI) of CrowdHuman: pairs over the union of objects and detections, at the best score threshold.

    $\mathrm{JI} = \max_s \frac{1}{|I|} \sum_{i \in I} \frac{k_i(s)}{m_i + n_i(s) - k_i(s)}$

    In every image, detections with a score above $s$ = 0, 0.1 ... 0.9 are paired with objects by the largest matching
    at an IoU of at least `iou`; $k$ is the number of pairs, $m$ and $n$ those of objects and detections, without what
    is not paired and lies for more than that share in an ignore region (`crowd`). The mean is over images that have an
    object or a detection. The union is larger by 1e-6, as in the reference.

    Undefined when no image has an object or a detection.

    Pros:
    - Sees duplicates and misses in crowds alike, at a working point.

    Cons:
    - Optimistic: the threshold is chosen on the data that it is judged on.
    - Scores must be from 0 to 1, and mean the same in every image.
    """

    name = "ji"
    title = "Jaccard index (CrowdHuman)"
    reference = "mmdetection cfd5d3a98"
    reaches_best = False
    range = (0.0, 1.0)

    iou: float = 0.5

    def check(self) -> None:
        check_ious(self, self.iou)

    @property
    def counts(self) -> JaccardParts:
        """What is added up."""
        return JaccardParts(float(self.iou))

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.counts,)

    def values(self, totals: TotalsView) -> Floats:
        """The mean ratio at each score: (rows, scores)."""
        sums = totals[self.counts].reshape(-1, 2, len(SCORES))
        return ratio(sums[:, 0], sums[:, 1])

    def reduce(self, totals: TotalsView) -> Floats:
        values = self.values(totals)
        best = np.where(np.isnan(values), -1.0, values).max(axis=1)
        return np.where(best < 0, np.nan, best)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        values = self.values(totals)[0]
        if np.isnan(values).all():
            return ()
        return (
            f"The best Jaccard index is reached with detections of score above {SCORES[np.nanargmax(values)]:.1g}.",
        )
