"""LRP: one number of misses, false positives and loose boxes at the best score threshold of each class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np

from steelyard.core.by_group import Arrays, GroupCurve
from steelyard.core.facts import Facts
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric, one_of, within_range
from steelyard.core.need import Ranking, Work
from steelyard.core.pairs import Array
from steelyard.core.ranking import Grouped, RankingBlock
from steelyard.core.totals import Declared, Wanted
from steelyard.core.weights import Floats, Weights
from steelyard.metrics.boxes.matches import AREAS, matches
from steelyard.metrics.boxes.pairs import CLASS, BoxPairs
from steelyard.metrics.boxes.ranking import ranking_of
from steelyard.metrics.boxes.settings import STANDARD_MOST, check_most

PARTS = {"all": 0, "loc": 1, "fp": 2, "fn": 3}
MOST_CELLS = 1 << 22  # rows of weights times detections that are walked at once


@frozen
class Located(Ranking):
    """Detections with score, hit, ignored, and the overlap with what they hit; positives are the truths."""

    name = "boxes.located"

    tau: float
    max_dets: int

    @property
    def columns(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Score, rank, bits of one threshold, and overlap."""
        return {"score": "f", "rank": "u", "hit0": "u", "ignored0": "u", "overlap": "f"}, {"counted0": "u"}

    def measure(self, pairs: BoxPairs, work: Work) -> RankingBlock:
        """The matches by class, with their overlaps."""
        every = matches(pairs, work, (self.tau,), (AREAS["all"],), max(self.max_dets, STANDARD_MOST))
        block, m = ranking_of(every), every[0]
        rows = np.flatnonzero(m.places())
        events = Grouped(block.events.begin, block.events.unit, {**block.events.columns, "overlap": m.overlap[rows]})
        return RankingBlock(CLASS, events, block.positives)


@frozen
class LeastLrp(GroupCurve):
    """The least LRP over score thresholds of each class, with its parts there: means over the classes with truth."""

    ranking: Located

    def read(self, block: RankingBlock, weights: Weights, facts: Facts) -> Floats:
        """All classes."""
        return self.join(self.read_group(block.one(k), weights) for k in range(block.groups))

    def read_group(self, block: RankingBlock, weights: Weights) -> Arrays:
        """Of one class: LRP, localisation error, shares of false positives and of misses, for each row of weights."""
        e, p = block.events, block.positives
        kept = np.flatnonzero((e.columns["rank"] < self.ranking.max_dets) & (e.columns["ignored0"] == 0))
        unit, score, hit = e.unit[kept], e.columns["score"][kept], e.columns["hit0"][kept] != 0
        off = np.where(hit, 1.0 - e.columns["overlap"][kept], 0.0)
        ends = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else np.zeros(0, np.int64)
        counted = p.columns["counted0"].astype(np.float64)
        made = []
        for rows in weights.blocks():
            step = max(1, MOST_CELLS // max(1, len(kept)))
            for start in range(0, len(rows), step):
                part = np.asarray(rows[start : start + step], dtype=np.float64)
                made.append(self._least(part[:, unit], hit, off, ends, part[:, p.unit] @ counted))
        return (np.concatenate(made) if made else np.zeros((0, 4)),)

    def _least(self, w: Floats, hit: Array, off: Floats, ends: Array, objects: Floats) -> Floats:
        tp, fp, loose = (np.cumsum(w * column, axis=1)[:, ends] for column in (hit, ~hit, off))
        nothing = np.zeros((len(w), 1))
        tp, fp, loose = (np.concatenate([nothing, column], axis=1) for column in (tp, fp, loose))
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
        total: Floats | None = None
        count = np.zeros((0, 4))
        for (part,) in parts:
            total = np.zeros_like(part) if total is None else total
            count = np.zeros_like(part) if not len(count) else count
            total, count = total + np.nan_to_num(part), count + ~np.isnan(part)
        if total is None:
            return np.full((1, 4), np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(count > 0, total / count, np.nan)


@frozen
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

    tau: float = 0.5
    part: Literal["all", "loc", "fp", "fn"] = "all"
    max_dets: int = 100

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """The whole and its parts."""
        return (cls(), cls(part="loc"), cls(part="fp"), cls(part="fn"))

    def check(self) -> None:
        """Check every setting."""
        within_range(self, "tau", 1e-6, 0.999)
        one_of(self, "part", *PARTS)
        check_most(self, "max_dets")

    @property
    def label(self) -> str:
        """Name the part."""
        parts = {"loc": ", localisation", "fp": ", false positives", "fn": ", misses", "all": ""}
        return f"{self.title}{parts[self.part]}"

    @property
    def curve(self) -> LeastLrp:
        """What is read along the ranking."""
        return LeastLrp(Located(float(self.tau), self.max_dets))

    def needs(self) -> tuple[Wanted, ...]:
        """The ranking with overlaps."""
        return (self.curve,)

    def reduce(self, totals: Declared) -> Floats:
        """The part under each row of weights."""
        values: Floats = totals[self.curve][:, PARTS[self.part]]
        return values
