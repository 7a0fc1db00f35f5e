"""Metrics of a reader who goes down the list: what is further down counts less. Most know degrees of relevance.

Conventions: `g_i` is the relevance of the document at rank i, 0 where it has none or a negative one.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Between, Metric
from steelyard.tasks.rankings.hits import Level, QueryMetric, RelevantMetric
from steelyard.tasks.rankings.sums import Answerable, BiasedValue, ExpectedValue, GainValue, HitValue, QueryValue


class DiscountedGain(QueryMetric):
    r"""Normalised discounted cumulative gain: the gain of the list over that of the best possible list.

    $\mathrm{nDCG@}k = \sum_{i=1}^{k} \frac{\mathrm{gain}(g_i)}{\log_2(i+1)} \;/\; \mathrm{ideal}$

    The gain is the relevance itself (`linear`, as trec_eval) or 2 to its power less 1 (`exponential`, as Burges and
    many learning-to-rank papers); for relevances 0 and 1 they are the same. The ideal is the sum for all judged
    documents in the order of their relevance. Below `level` nothing is gained (ranx does so).

    Undefined when no query has a document of positive relevance.

    Pros:
    - Uses degrees of relevance, and sees every swap.

    Cons:
    - Two gains are in use: the number means nothing without saying which.
    """

    name = "ndcg"
    title = "Normalised discounted gain"
    at = "k"
    reference = "pytrec_eval: ndcg, ndcg_cut; ranx: ndcg, ndcg_burges"

    k: int | None = None
    gain: Literal["linear", "exponential"] = "linear"
    level: Level = 0

    @property
    def label(self) -> str:
        return self.title if self.k is None else f"{self.title} at {self.k}"

    def value(self) -> QueryValue:
        return GainValue(self.k, self.gain, self.level, self.ties)

    def answerable(self) -> Answerable:
        return Answerable(self.level, self.gain)

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(k=10), cls(k=10, gain="exponential"))


class RankBiasedPrecision(RelevantMetric):
    r"""Rank-biased precision: what a reader finds who goes on to the next document with probability p.

    $\mathrm{RBP} = (1 - p) \sum_i \mathrm{rel}_i\,p^{\,i-1}$

    `gain=graded` takes the relevance itself for rel (ranx does), so the number may pass 1.

    Undefined when no query has a relevant document.

    Pros:
    - Needs no number of all relevant documents, and what is unknown further down is bounded: at most p to the depth.

    Cons:
    - A query with few relevant documents cannot come near 1: compare on the same queries only.
    """

    name = "rbp"
    title = "Rank-biased precision"
    reaches_best = False
    reference = "ranx: rbp"

    p: Annotated[float, Between(0, 1, open_low=True)] = 0.8
    level: Level = 1
    gain: Literal["binary", "graded"] = "binary"

    @property
    def range(self) -> tuple[float, float]:  # type: ignore[override]
        """Graded relevances have no upper end."""
        return (0.0, 1.0 if self.gain == "binary" else math.inf)

    def check(self) -> None:
        super().check()
        if self.p == 1:
            raise InvalidSpec("metric 'rbp': p cannot be 1", remedy="It must be below 1: such a reader never stops.")

    def value(self) -> QueryValue:
        return BiasedValue(self.p, self.level, self.gain, self.ties)


class ExpectedReciprocalRank(QueryMetric):
    r"""Expected reciprocal rank: one over the rank at which a reader stops, who stops sooner at better documents.

    $\mathrm{ERR@}k = \sum_{i=1}^{k} \frac{s_i}{i} \prod_{j<i} (1 - s_j), \quad s_i = \frac{2^{g_i} - 1}{2^{\max}}$

    `max` is the highest degree of relevance that the judgements know: 4 is that of the TREC web track, whose script is
    the reference; for relevances 0 and 1 set `max=1`.

    Undefined when no query has a document of positive relevance.

    Pros:
    - A second good document counts less when the first was good already.

    Cons:
    - Even the best list stays below 1, and how far depends on `max`.
    """

    name = "err"
    title = "Expected reciprocal rank"
    at = "k"
    reaches_best = False
    reference = "ir_measures: ERR (gdeval)"

    k: int | None = None
    max: Annotated[int, Between(1, 60)] = 4

    @property
    def label(self) -> str:
        return self.title if self.k is None else f"{self.title} at {self.k}"

    def value(self) -> QueryValue:
        return ExpectedValue(self.k, self.max, self.ties)

    def answerable(self) -> Answerable:
        return Answerable(0, "linear")


class Judged(QueryMetric):
    r"""Judged: the share of the first k documents that somebody judged.

    $\mathrm{judged@}k = \frac{1}{\min(k, n)} \sum_{i=1}^{k} [\,i \text{ is judged}\,]$

    n is the number of documents retrieved; a negative relevance counts as unjudged. Where the share is low, the other
    metrics say little about this run.

    Undefined when no query has a judged document.

    Pros:
    - Tells whether a new run is scored fairly on old judgements.

    Cons:
    - Says nothing about quality.
    """

    name = "judged"
    title = "Judged share"
    at = "k"

    k: int | None = 10

    @property
    def label(self) -> str:
        return self.title if self.k is None else f"{self.title} at {self.k}"

    def value(self) -> QueryValue:
        return HitValue("judged", self.k, 0, self.ties)

    def answerable(self) -> Answerable:
        return Answerable(0)


METRICS: tuple[type[Metric], ...] = (DiscountedGain, RankBiasedPrecision, ExpectedReciprocalRank, Judged)
