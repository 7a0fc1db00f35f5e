"""FROC: how many objects are found at given numbers of false positives per image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal

import numpy as np

from steelyard.core.by_group import Arrays, GroupCurve
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.pairs import Array
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Ranking, Requirement, SharedCache, Statistic
from steelyard.core.weights import Floats, Weights
from steelyard.tasks.boxes.along import EQUAL, Walk, class_means, from_zero
from steelyard.tasks.boxes.matches import AREAS, UNCOUNTED, Matches, matches, overlaps
from steelyard.tasks.boxes.pairs import BoxPairs
from steelyard.tasks.boxes.ranking import ranking_columns, ranking_of
from steelyard.tasks.boxes.settings import MOST, Most, check_ious, with_cap

RATES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # false positives per image, as LUNA16 has them

Repeats = Literal["ignore", "wrong"]
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class FirstHits(Ranking):
    """Detections with score, hit and ignored at one IoU; a repeated hit of an object is ignored, or else false."""

    name = "boxes.first_hits"

    iou: float
    repeats: str
    max_dets: int

    @property
    def columns(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return ranking_columns(1)

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> RankingBlock:
        every = matches(pairs, cache, (self.iou,), (AREAS["all"],), MOST)
        block, m = ranking_of(every), every[0]
        if self.repeats == "wrong":
            return block
        rows = np.flatnonzero(m.places())
        ignored = block.events.columns["ignored0"] | repeated_hits(pairs, m, self.iou)[rows]
        events = Grouped(block.events.begin, block.events.unit, {**block.events.columns, "ignored0": ignored})
        return RankingBlock(block.axis, events, block.positives)

    def earlier(self, stored: Iterable[Statistic]) -> tuple[Statistic, str] | None:
        """Versions before 0.3 kept it with a cap."""
        return with_cap(self, stored)


def repeated_hits(s: BoxPairs, m: Matches, iou: float) -> Array:
    """A flag for each place of a detection that hits an object of its class which another one took."""
    flags = np.zeros(len(m.order), dtype=bool)
    hit, ignored = m.bit(0)
    left = np.flatnonzero(m.places() & ~hit & ~ignored)
    truths = np.flatnonzero((s.flags & UNCOUNTED) == 0)
    left, truths = left[np.argsort(m.image[left], kind="stable")], truths[np.argsort(s.image[truths], kind="stable")]
    images = np.intersect1d(m.image[left], s.image[truths])
    ends = [np.searchsorted(where, images, side=side) for where in (m.image[left], s.image[truths]) for side in SIDES]
    for d_from, d_to, t_from, t_to in zip(*ends, strict=True):
        d, t = left[d_from:d_to], truths[t_from:t_to]
        rows = m.order[d]
        near = overlaps(s, rows, t) >= iou
        flags[d] = (near & (s.d_label[rows][:, None] == s.label[t][None, :])).any(axis=1)
    return flags


class FrocCurve(GroupCurve):
    """The share of objects found at each number of false positives per image: means over the classes with truth."""

    ranking: FirstHits
    rates: tuple[float, ...]

    def read(self, block: RankingBlock, weights: Weights, facts: Metadata) -> Floats:
        return self.join(self.read_group(block.one(k), weights) for k in range(block.groups))

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        walk = Walk.of(block, self.ranking.max_dets)
        shares = [self._shares(walk, *step) for step in walk.steps(weights)]
        return (np.concatenate([np.zeros((0, len(self.rates))), *shares]),)

    def _shares(self, walk: Walk, w: Floats, images: Floats, objects: Floats) -> Floats:
        tp, fp = (from_zero(np.cumsum(w * flag, axis=1)[:, walk.ends]) for flag in (walk.hit, ~walk.hit))
        values = np.empty((len(w), len(self.rates)))
        for place, rate in enumerate(self.rates):
            most = (rate * images)[:, None]
            low = np.count_nonzero(fp <= most * (1 + EQUAL), axis=1)[:, None] - 1  # the last place that is not beyond
            high = np.minimum(low + 1, fp.shape[1] - 1)
            tp_low, tp_high, fp_low, fp_high = (np.take_along_axis(v, i, 1) for v in (tp, fp) for i in (low, high))
            between = (fp_high > fp_low) & (fp_low < most * (1 - EQUAL))
            gap = np.where(between, fp_high - fp_low, 1.0)
            values[:, place] = (tp_low + np.where(between, (tp_high - tp_low) * (most - fp_low) / gap, 0.0))[:, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(objects[:, None] > 0, values / objects[:, None], np.nan)

    def join(self, parts: Iterator[Arrays]) -> Floats:
        return class_means(parts, len(self.rates))


class _AlongFroc(Metric):
    """What is read along the curve of found objects against false positives per image."""

    reference = "LUNA16's evaluation script"
    range = (0.0, 1.0)

    iou: float = 0.5
    repeats: Repeats = "ignore"
    max_dets: Most = MOST

    def check(self) -> None:
        check_ious(self, self.iou)

    @property
    def rates(self) -> tuple[float, ...]:
        """The false positives per image that it is read at."""
        return RATES

    @property
    def curve(self) -> FrocCurve:
        """What is read along the ranking."""
        return FrocCurve(FirstHits(float(self.iou), self.repeats, self.max_dets), self.rates)

    def needs(self) -> tuple[Requirement, ...]:
        """The ranking with first hits."""
        return (self.curve,)

    def reduce(self, totals: TotalsView) -> Floats:
        values: Floats = totals[self.curve].mean(axis=1)
        return values


class Sensitivity(_AlongFroc):
    r"""Sensitivity at a number of false positives per image: one point of the FROC curve.

    $\mathrm{sensitivity@}x = \mathrm{TP} \;/\; \mathrm{P} \;\mathrm{ where }\; \mathrm{FP} = x \cdot \mathrm{images}$

    Detections are taken from the highest score down until there are `fppi` false positives per image; between two
    scores the curve is straight. A repeated hit of an object counts neither way, as in LUNA16; `repeats=wrong` takes it
    for a false positive. The mean over classes that have truth.

    Undefined when no class has truth.

    Pros:
    - A working point that a reader can picture: so many false marks per image.
    - Models are compared at the same cost, whatever their scores mean.

    Cons:
    - Depends on the number of images without objects.
    """

    name = "sensitivity"
    title = "Sensitivity"
    at = "fppi"

    fppi: Annotated[float, Between(1e-6, 1e6)] = 1.0

    @property
    def label(self) -> str:
        return f"Sensitivity at {self.fppi:g} false positives per image"

    @property
    def rates(self) -> tuple[float, ...]:
        return (float(self.fppi),)


class CompetitionMetric(_AlongFroc):
    r"""Competition performance metric (CPM): the mean sensitivity at 1/8, 1/4, 1/2, 1, 2, 4 and 8 false positives.

    $\mathrm{CPM} = \frac{1}{7} \sum_{j=-3}^{3} \mathrm{sensitivity@}2^j$

    What LUNA16 ranks the detectors of nodules by. False positives are per image (there, per scan); `sensitivity` has
    the rules. A hit is by IoU here and by distance there.

    Undefined when no class has truth.

    Pros:
    - One number for the whole range in which a reader would use marks.

    Cons:
    - Half of it is about fewer than one false positive per image, where few detections decide.
    """

    name = "cpm"
    title = "FROC: mean sensitivity (CPM)"
