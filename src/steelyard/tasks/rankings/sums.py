"""Sums over queries: what a query's list is worth by each metric, and which queries have an answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.align.rankings import RankedPairs
from steelyard.core.block import SumBlock
from steelyard.core.errors import OutOfRange, Unsupported
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.records import LARGEST
from steelyard.core.statistic import SharedCache, Sum
from steelyard.core.weights import Floats

ALL = 2**62  # a cut behind every rank
_RANK = {"id": "rank", "input": "rank_input", "single": "rank_single"}


def _events(pairs: RankedPairs, cache: SharedCache, ties: str) -> tuple[Array, Array, Array]:
    """Ranks and relevances as the native core takes them, and where each query begins."""

    def make() -> Array:
        return np.searchsorted(pairs.owner, np.arange(len(pairs.units) + 1)).astype(np.int64)

    return getattr(pairs, _RANK[ties]), pairs.relevance, cache.once("starts", make)


def _best(pairs: RankedPairs, cache: SharedCache) -> Floats:
    """The highest relevance of each query; minus infinity where nothing is judged."""

    def make() -> Floats:
        best = np.full(len(pairs.units), -np.inf)
        np.maximum.at(best, pairs.owner, pairs.relevance)
        return best

    return cache.once("best", make)


def _over(numerator: Floats, denominator: Any, defined: Array) -> Floats:
    """Divide where defined; nan elsewhere."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(defined, numerator / denominator, np.nan)


class QueryCount(Sum):
    """A number of queries: all `queries`, those that the run is `missing`, those where judged documents are `tied`."""

    name = "rankings.queries"

    of: str

    def measure(self, pairs: RankedPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(np.ones(len(pairs.units)) if self.of == "queries" else getattr(pairs, self.of).astype(float))


class Answerable(Sum):
    """Queries with a document of at least a relevance.

    With `gain` "linear" or "exponential", something must be gained by it too: a relevance of 0 is not enough.
    """

    name = "rankings.answerable"

    level: float
    gain: str = "any"

    def measure(self, pairs: RankedPairs, cache: SharedCache) -> SumBlock:
        best = _best(pairs, cache)
        has_relevant = best >= float(self.level)
        if self.gain != "any":
            has_relevant &= best > 0  # 2 to its power less 1 is above 0 where it is itself
        return SumBlock(has_relevant.astype(np.float64))


class QueryValue(Sum):
    """A value of each query, 0 where it has none."""

    @abstractmethod
    def values(self, pairs: RankedPairs, cache: SharedCache) -> Floats:
        """The value of each query; nan where it has none."""

    def measure(self, pairs: RankedPairs, cache: SharedCache) -> SumBlock:
        return SumBlock(np.nan_to_num(self.values(pairs, cache), nan=0.0))


class Hits(Frozen):
    """What the first k documents of each query hold.

    `precisions` is the sum of the precisions at the hits, `first` the rank of the first one, 0 where there is none;
    `retrieved` is the length of the list.
    """

    relevant: Floats
    hits: Floats
    precisions: Floats
    first: Floats
    retrieved: Floats
    k: int | None

    @property
    def length(self) -> Any:
        """How many documents were asked for: k, or the whole list."""
        return self.retrieved if self.k is None else self.k

    @property
    def reciprocal(self) -> Floats:
        """One over the rank of the first hit."""
        return 1.0 / np.where(self.first > 0, self.first, np.inf)

    def over(self, numerator: Floats, denominator: Any) -> Floats:
        """Divide where a document is relevant; nan elsewhere."""
        return _over(numerator, denominator, self.relevant > 0)


FORMULAS: dict[str, Callable[[Hits], Floats]] = {
    "ap": lambda h: h.over(h.precisions, h.relevant),
    "ap_min": lambda h: h.over(h.precisions, h.relevant if h.k is None else np.minimum(h.relevant, h.k)),
    "ap_hits": lambda h: h.over(h.precisions, np.maximum(h.hits, 1)),
    "precision": lambda h: h.over(h.hits, np.maximum(h.length, 1)),
    "recall": lambda h: h.over(h.hits, h.relevant),
    "f1": lambda h: h.over(2 * h.hits, h.length + h.relevant),
    "hit": lambda h: h.over((h.hits > 0).astype(np.float64), 1.0),
    "mrr": lambda h: h.over(h.reciprocal, 1.0),
    "judged": lambda h: h.over(h.hits, np.maximum(h.retrieved if h.k is None else np.minimum(h.retrieved, h.k), 1)),
}


class HitValue(QueryValue):
    """A value by the relevant documents among the first k: one of FORMULAS."""

    name = "rankings.hits"

    of: str
    k: int | None
    level: float
    ties: str

    def values(self, pairs: RankedPairs, cache: SharedCache) -> Floats:
        """Count hits once for all formulas."""

        def make() -> Hits:
            k = ALL if self.k is None else self.k
            columns = _native.ranking_hits(*_events(pairs, cache, self.ties), k, float(self.level))
            relevant, hits, precisions, first = columns.T
            return Hits(relevant, hits, precisions, first, pairs.retrieved, self.k)

        return FORMULAS[self.of](cache.once(("hits", self.ties, self.k, self.level), make))


def _hit_places(pairs: RankedPairs, cache: SharedCache, level: float, ties: str) -> tuple[Array, Array, Array, Array]:
    """Owners and ranks of relevant documents that were found, how many came before each, and relevant ones by query."""

    def make() -> tuple[Array, Array, Array, Array]:
        rank, relevant = getattr(pairs, _RANK[ties]), pairs.relevance >= float(level)
        total = np.bincount(pairs.owner[relevant], minlength=len(pairs.units)).astype(np.float64)
        rows = np.flatnonzero(relevant & (rank > 0))
        rows = rows[np.lexsort((rank[rows], pairs.owner[rows]))]
        owner = pairs.owner[rows]
        before = np.arange(len(rows)) - np.searchsorted(owner, owner)
        return owner, rank[rows].astype(np.float64), before.astype(np.float64), total

    return cache.once(("hit places", level, ties), make)


class PlacedValue(QueryValue):
    """A value by the places of all relevant documents.

    `inverse`: relevant documents over the rank of the last; `trapezoid`: average precision as the area under straight
    lines; `last`: right documents among the first k, or up to the last one, over as many; `spread`: the share of
    relevant documents with fewer than k wrong ones before them.
    """

    name = "rankings.places"

    of: str
    k: int | None
    level: float
    ties: str

    def values(self, pairs: RankedPairs, cache: SharedCache) -> Floats:
        owner, rank, before, total = _hit_places(pairs, cache, self.level, self.ties)
        units, k = len(pairs.units), float(ALL if self.k is None else self.k)

        def sums(values: Array) -> Floats:
            return np.bincount(owner, weights=values, minlength=units).astype(np.float64)

        hits = sums(np.ones(len(owner)))
        last = np.zeros(units)
        np.maximum.at(last, owner, rank)
        if self.of == "inverse":
            return _over(np.where(hits == total, total, 0.0), np.maximum(last, 1), total > 0)
        if self.of == "trapezoid":
            first = np.where(rank > 1, before / np.maximum(rank - 1, 1), 1.0)
            return _over(sums((first + (before + 1) / rank) / 2), total, total > 0)
        if self.of == "spread":
            return _over(sums((rank - 1 - before < k).astype(np.float64)), total, total > 0)
        cut = np.minimum(k, np.where(hits == total, np.maximum(last, 1), k))
        return _over(sums((rank <= cut[owner]).astype(np.float64)), cut, total > 0)


class PooledValue(QueryValue):
    """Average precision with equal scores as one step."""

    name = "rankings.pooled"

    level: float

    def values(self, pairs: RankedPairs, cache: SharedCache) -> Floats:
        if pairs.rank_last is None:
            raise Unsupported(
                "ties=pooled needs to know which scores are equal, which lists do not keep",
                remedy="Give the predictions as an array 'distance', or leave ties out.",
            )
        relevant = pairs.relevance >= float(self.level)
        total = np.bincount(pairs.owner[relevant], minlength=len(pairs.units)).astype(np.float64)
        rows = np.flatnonzero(relevant & (pairs.rank_last > 0))
        owner, last = pairs.owner[rows].astype(np.int64), pairs.rank_last[rows].astype(np.int64)
        size = int(last.max(initial=0)) + 2
        places = np.sort(owner * size + last)
        hits = np.searchsorted(places, owner * size + last, side="right") - np.searchsorted(places, owner * size)
        sums = np.bincount(owner, weights=hits / last, minlength=len(pairs.units)).astype(np.float64)
        return _over(sums, total, total > 0)


class RPrecisionValue(QueryValue):
    """Hits among the first R, over the number R of relevant documents."""

    name = "rankings.rprec"

    level: float
    ties: str

    def values(self, pairs: RankedPairs, cache: SharedCache) -> Floats:
        relevant, hits = _native.ranking_r_hits(*_events(pairs, cache, self.ties), float(self.level)).T
        return _over(hits, relevant, relevant > 0)


class PreferenceValue(QueryValue):
    """Binary preference."""

    name = "rankings.bpref"

    level: float
    ties: str

    def values(self, pairs: RankedPairs, cache: SharedCache) -> Floats:
        values: Floats = _native.ranking_bpref(*_events(pairs, cache, self.ties), float(self.level))[:, 0]
        return values


MOST_EXPONENTIAL = 500.0  # 2 to its power, and sums of it, stay far from overflow


class GainValue(QueryValue):
    """Discounted gain over that of the best possible list."""

    name = "rankings.ndcg"

    k: int | None
    gain: str
    level: float
    ties: str

    def values(self, pairs: RankedPairs, cache: SharedCache) -> Floats:
        k, exponential = ALL if self.k is None else self.k, self.gain == "exponential"
        highest, most = pairs.relevance.max(initial=0.0), MOST_EXPONENTIAL if exponential else LARGEST
        if highest > most:
            raise OutOfRange(
                f"metric 'ndcg': a relevance of {highest:g} is above {most:g}, the largest for gain={self.gain}",
                remedy="Give degrees of relevance, such as 0 to 4.",
            )
        events = _events(pairs, cache, self.ties)
        gain, ideal = _native.ranking_gain(*events, k, float(self.level), exponential).T
        return _over(gain, ideal, ideal > 0)


class BiasedValue(QueryValue):
    """Rank-biased precision."""

    name = "rankings.rbp"

    p: float
    level: float
    gain: str
    ties: str

    def values(self, pairs: RankedPairs, cache: SharedCache) -> Floats:
        events, graded = _events(pairs, cache, self.ties), self.gain == "graded"
        values: Floats = _native.ranking_rbp(*events, float(self.p), float(self.level), graded)[:, 0]
        return values


class ExpectedValue(QueryValue):
    """Expected reciprocal rank."""

    name = "rankings.err"

    k: int | None
    max: int
    ties: str

    def values(self, pairs: RankedPairs, cache: SharedCache) -> Floats:
        highest = pairs.relevance.max(initial=0.0)
        if highest > self.max:
            raise OutOfRange(
                f"metric 'err': a relevance of {highest:g} is above max={self.max}",
                remedy=f"Set max to the highest degree: err(max={int(np.ceil(highest))}).",
            )
        k = ALL if self.k is None else self.k
        values: Floats = _native.ranking_err(*_events(pairs, cache, self.ties), k, float(self.max))[:, 0]
        return values
