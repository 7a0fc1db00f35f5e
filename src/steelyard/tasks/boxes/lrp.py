"""LRP: one number of misses, false positives and loose boxes at the best score threshold of each class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal

import numpy as np

from steelyard.core.by_group import Arrays, GroupCurve
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Ranking, Requirement, SharedCache, Statistic
from steelyard.core.weights import Floats, Weights
from steelyard.tasks.boxes.along import Walk, class_means, from_zero
from steelyard.tasks.boxes.matches import AREAS, Matches, matches
from steelyard.tasks.boxes.pairs import CLASS, BoxPairs
from steelyard.tasks.boxes.ranking import RankingSummary, ranking_of
from steelyard.tasks.boxes.settings import MOST, STANDARD_MOST, Most, with_cap

PARTS = {"all": 0, "loc": 1, "fp": 2, "fn": 3}


class Located(Ranking):
    """Detections with score, hit, ignored, and the overlap with what they hit; positives are the truths."""

    name = "boxes.located"

    tau: float
    max_dets: int

    @property
    def columns(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return {"score": "f", "rank": "u", "hit0": "u", "ignored0": "u", "overlap": "f"}, {"counted0": "u"}

    def measure(self, pairs: BoxPairs, cache: SharedCache) -> RankingBlock:
        return ranking_with_overlaps(matches(pairs, cache, (self.tau,), (AREAS["all"],), MOST)[0])

    def earlier(self, stored: Iterable[Statistic]) -> tuple[Statistic, str] | None:
        """Versions before 0.3 kept it with a cap."""
        return with_cap(self, stored)


def ranking_with_overlaps(m: Matches) -> RankingBlock:
    """Matches at one IoU as a ranking with overlaps."""
    block, rows = ranking_of([m]), np.flatnonzero(m.places())
    events = Grouped(block.events.begin, block.events.unit, {**block.events.columns, "overlap": m.overlap[rows]})
    return RankingBlock(CLASS, events, block.positives)


class LeastLrp(GroupCurve):
    """The least LRP over score thresholds of each class, with its parts there: means over the classes with truth."""

    ranking: Located

    def read(self, block: RankingBlock, weights: Weights, metadata: Metadata) -> Floats:
        return self.join(self.read_group(block.one(k), weights) for k in range(block.groups))

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        """Of one class: LRP, localisation error, shares of false positives and of misses, for each row of weights."""
        walk = Walk.of(block, self.ranking.max_dets)
        off = np.where(walk.hit, 1.0 - block.events.columns["overlap"][walk.rows], 0.0)
        values = [self._least(walk, off, w, objects) for w, _, objects in walk.steps(weights)]
        return (np.concatenate([np.zeros((0, 4)), *values]),)

    def _least(self, walk: Walk, off: Floats, w: Floats, objects: Floats) -> Floats:
        columns = (walk.hit, ~walk.hit, off)
        tp, fp, loose = (from_zero(np.cumsum(w * column, axis=1)[:, walk.ends]) for column in columns)
        n = objects[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            lrp = (loose / (1 - self.ranking.tau) + fp + n - tp) / (n + fp)
            best = np.argmin(lrp, axis=1)[:, None]
            least, tp, fp, loose = (np.take_along_axis(column, best, axis=1)[:, 0] for column in (lrp, tp, fp, loose))
            values = np.column_stack([least, loose / tp, fp / (tp + fp), 1 - tp / objects])
        values[tp <= 0, 1:3] = np.nan
        values[objects <= 0] = np.nan
        return values

    def join(self, parts: Iterator[Arrays]) -> Floats:
        """Means over the classes where each is defined."""
        return class_means(parts, 4)


class OptimalLrp(Metric):
    r"""Optimal LRP: misses, false positives and loose boxes in one error, at the best score threshold of each class.

    $\mathrm{oLRP} = \frac{1}{K} \sum_k \min_s \frac{\sum (1 - \mathrm{IoU}) / (1 - \tau) + \mathrm{FP} + \mathrm{FN}}
    {\mathrm{TP} + \mathrm{FP} + \mathrm{FN}}$

    A detection is right from an IoU of `tau` on; a threshold cannot part equal scores. `part` asks for one part at
    that threshold: `loc` is the mean of 1 - IoU of what is right, `fp` the share of detections that are wrong, and `fn`
    the share of objects that are missed.

    Undefined when no class has truth; `loc` and `fp` also where nothing is found.

    Pros:
    - Sees how well boxes fit, and what each of the three costs.
    - Names a threshold for each class by itself.

    Cons:
    - Optimistic: thresholds are chosen on the data that they are judged on.
    """

    name = "olrp"
    title = "Optimal LRP error"
    better = "lower"
    reference = "LRP-Error ec408f3"
    range = (0.0, 1.0)

    tau: Annotated[float, Between(1e-6, 0.999)] = 0.5
    part: Literal["all", "loc", "fp", "fn"] = "all"
    max_dets: Most = STANDARD_MOST

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(part="loc"), cls(part="fp"), cls(part="fn"))

    def check(self) -> None:
        """Check every setting."""

    @property
    def label(self) -> str:
        parts = {"loc": ", localisation", "fp": ", false positives", "fn": ", misses", "all": ""}
        return f"{self.title}{parts[self.part]}"

    @property
    def curve(self) -> LeastLrp:
        """What is read along the ranking."""
        return LeastLrp(Located(float(self.tau), self.max_dets))

    @property
    def summary(self) -> RankingSummary:
        """What the notes are about."""
        return RankingSummary(self.curve.ranking, self.max_dets)

    def requirements(self) -> tuple[Requirement, ...]:
        return self.curve, self.summary

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        return self.summary.remarks(totals[self.summary])

    def reduce(self, totals: TotalsView) -> Floats:
        values: Floats = totals[self.curve][:, PARTS[self.part]]
        return values
