"""trec_eval's measures, each of all queries at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core import catalogue
from steelyard.core.options import Options
from steelyard.core.statistic import SharedCache
from steelyard.io.sources import read_sides
from steelyard.tasks.rankings.sums import GainValue, HitValue, PreferenceValue, QueryValue, RPrecisionValue

Floats = NDArray[np.float64]
Columns = dict[str, list[float]]
_LEAST = 0.00001  # what a geometric mean takes for 0
_SMALL = 0.00001  # what infAP adds to counts of judged documents
_NOT_POOLED, _NOT_JUDGED = -1, -2  # relevance of a document without a judgement, and of one that awaits it
_DEPTHS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
_RECALLS = tuple(f"{i / 10:.2f}" for i in range(11))
CUTS = dict.fromkeys(("P", "recall", "map_cut", "ndcg_cut", "relative_P"), _DEPTHS) | {
    "success": ("1", "5", "10"),
    "iprec_at_recall": _RECALLS,
    "Rprec_mult": tuple(f"{i / 5:.1f}" for i in range(1, 11)),
    "relstring": ("10",),
}
SPECS = {
    "map": "map",
    "map_cut": "map@",
    "P": "precision@",
    "recall": "recall@",
    "success": "hit@",
    "recip_rank": "mrr",
    "ndcg": "ndcg",
    "ndcg_cut": "ndcg@",
    "Rprec": "rprec",
    "bpref": "bpref",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f1",
}


class Judged:
    """Judgements and a run of the same queries, joined where both have documents."""

    def __init__(
        self, qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]], level: int
    ) -> None:
        self.level = level
        self.qrels = qrels
        self.queries = list(run)
        self._cache = SharedCache()
        whole = [query for query in self.queries if qrels[query] and run[query]]
        place = {query: i for i, query in enumerate(self.queries)}
        if whole:
            task = catalogue.find_task("rankings")
            options = Options(task.options, {})
            truth = {query: dict(qrels[query]) for query in whole}
            ranked = {query: dict(run[query]) for query in whole}
            self._pairs: Any = task.join(*read_sides(task, truth, ranked, {}, options), task.policy, options)
            self._place = np.array([place[query] for query in self._pairs.units.tolist()])
        else:
            self._pairs, self._place = None, np.zeros(0, dtype=np.int64)
        self.retrieved = np.array([len(run[query]) for query in self.queries], dtype=np.float64)
        relevant = [sum(value >= level for value in qrels[query].values()) for query in self.queries]
        self.relevant = np.where(self.retrieved > 0, relevant, 0.0)  # none where nothing was retrieved, as in trec_eval

    def values(self, value: QueryValue) -> Floats:
        """The value of each query, 0 where it has none."""
        out = np.zeros(len(self.queries))
        if self._pairs is not None:
            out[self._place] = np.nan_to_num(value.values(self._pairs, self._cache))
        return out

    def hits_at(self, name: str, k: int | None) -> Floats:
        """One of the formulas of hits."""
        return self.values(HitValue(name, k, self.level, "single"))

    @cached_property
    def hits(self) -> Floats:
        """Relevant documents that were retrieved."""
        return np.array([len(ranks) for ranks in self.hit_ranks], dtype=np.float64)

    @cached_property
    def hit_ranks(self) -> list[NDArray[np.int64]]:
        """The ranks of the relevant documents of each query."""
        return self._ranks(lambda relevance: relevance >= self.level)

    @cached_property
    def nonrelevant_hits(self) -> Floats:
        """Documents that were retrieved and judged not relevant."""
        ranks = self._ranks(lambda relevance: (relevance >= 0) & (relevance < self.level))
        return np.array([len(some) for some in ranks], dtype=np.float64)

    @cached_property
    def by_rank(self) -> list[NDArray[np.int64]]:
        """The relevance of what each query retrieved, by rank; -1 outside the pool, -2 for a negative judgement."""
        ranked = [np.full(int(count), _NOT_POOLED) for count in self.retrieved]
        if self._pairs is not None:
            pairs = self._pairs
            rows = pairs.rank_single > 0
            owner, rank = pairs.owner[rows], pairs.rank_single[rows]
            ends = np.searchsorted(owner, np.arange(len(self._place) + 1))
            relevance = np.where(pairs.relevance[rows] < 0, _NOT_JUDGED, pairs.relevance[rows])
            for i, query in enumerate(self._place.tolist()):
                part = slice(ends[i], ends[i + 1])
                ranked[query][rank[part] - 1] = relevance[part]
        return ranked

    @cached_property
    def gains(self) -> list[tuple[Floats, Floats]]:
        """The gains of what each query retrieved, by rank, and those that it could have, from the highest down."""
        positive = ([value for value in self.qrels[query].values() if value > 0] for query in self.queries)
        ideal = [sorted(values, reverse=True) for values in positive]
        return [
            (np.maximum(ranked, 0).astype(np.float64), np.array(best, dtype=np.float64))
            for ranked, best in zip(self.by_rank, ideal, strict=True)
        ]

    def of_gains(self, compute: Callable[[Floats, Floats], float]) -> Floats:
        """A measure of gains of each query; 0 where nothing was retrieved or nothing has a gain."""
        return np.array([compute(*gains) if len(gains[0]) and len(gains[1]) else 0.0 for gains in self.gains])

    def _ranks(self, select: Callable[[Any], Any]) -> list[NDArray[np.int64]]:
        ranks: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)] * len(self.queries)
        if self._pairs is not None:
            pairs = self._pairs
            keep = (pairs.rank_single > 0) & select(pairs.relevance)
            owner = pairs.owner[keep]
            ends = np.searchsorted(owner, np.arange(len(self._place) + 1))
            rank = pairs.rank_single[keep]
            for i, query in enumerate(self._place.tolist()):
                ranks[query] = np.sort(rank[ends[i] : ends[i + 1]])
        return ranks

    @cached_property
    def interpolated(self) -> list[Floats]:
        """The highest precision at each hit or a later one, for every query."""
        return [
            np.maximum.accumulate((np.arange(1, len(ranks) + 1) / ranks)[::-1])[::-1] if len(ranks) else np.zeros(0)
            for ranks in self.hit_ranks
        ]

    def precision_at_recall(self, recall: float) -> list[float]:
        """Interpolated precision at a share of the relevant documents; nan where nothing was retrieved."""
        values = []
        for precisions, relevant, retrieved in zip(self.interpolated, self.relevant, self.retrieved, strict=True):
            needed = max(int(recall * relevant + 0.9), 1)
            least = 0.0 if retrieved else np.nan
            values.append(float(precisions[needed - 1]) if needed <= len(precisions) else least)
        return values


Measure = Callable[[Judged, str, Iterable[str]], Columns]


def _whole(compute: Callable[[Judged], Floats]) -> Measure:
    return lambda judged, name, _: {name: compute(judged).tolist()}


def _cut(compute: Callable[[Judged, int], Floats]) -> Measure:
    return lambda judged, name, cuts: {f"{name}_{cut}": compute(judged, int(cut)).tolist() for cut in cuts}


def _at_recalls(judged: Judged, name: str, cuts: Iterable[str]) -> Columns:
    return {f"{name}_{float(cut):3.2f}": judged.precision_at_recall(float(cut)) for cut in cuts}


def _log(values: Floats) -> Floats:
    return np.log(np.maximum(values, _LEAST))


def _over(numerator: Floats, denominator: Floats) -> Floats:
    return np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator > 0)


def _eleven(judged: Judged) -> Floats:
    columns = [judged.precision_at_recall(float(cut)) for cut in _RECALLS]
    return np.array([sum(row) / len(_RECALLS) for row in zip(*columns, strict=True)])


def _gain(judged: Judged, k: int | None) -> Floats:
    return judged.values(GainValue(k, "linear", 0, "single"))


def _preference(judged: Judged) -> Floats:
    return judged.values(PreferenceValue(judged.level, "single"))


def _dcg(gains: Floats) -> Floats:
    """The discounted gain of the first 0, 1, 2, ... documents."""
    return np.concatenate([[0.0], np.cumsum(gains / np.log2(np.arange(2, len(gains) + 2)))])


def _normalized_gain(gains: Floats, ideal: Floats) -> float:
    """Gains over the logarithm of what is lost before them; an ideal document costs its gain, any other 1."""
    cost = np.ones(len(gains))
    cost[: len(ideal)] = ideal[: len(gains)]
    lost = np.cumsum(cost) - np.cumsum(gains)
    return float((gains / np.log2(2 + lost)).sum() / ideal.sum())


def _ndcg_at_levels(gains: Floats, ideal: Floats) -> float:
    """The mean nDCG where the ideal gain changes, and at the end of a longer list."""
    results, best = _dcg(gains), _dcg(ideal)
    places = np.flatnonzero(np.diff(ideal, append=0.0)) + 1
    values = (results[np.minimum(places, len(gains))] / best[places]).tolist()
    if len(gains) > len(ideal) + 1:
        values.append(results[-1] / best[-1])
    return float(sum(values) / len(values))


def _ndcg_at_gains(gains: Floats, ideal: Floats) -> float:
    """The mean nDCG at the documents that have a gain; one that was not found counts with that of the whole list."""
    results, best = _dcg(gains), _dcg(ideal)
    places = np.flatnonzero(gains > 0) + 1
    total = (results[places] / best[np.minimum(places, len(ideal))]).sum()
    return float((total + (len(ideal) - len(places)) * results[-1] / best[-1]) / len(ideal))


def _binary_gain(judged: Judged) -> Floats:
    sums = [(1 / np.log2(2 + ranks - np.arange(1, len(ranks) + 1))).sum() for ranks in judged.hit_ranks]
    return _over(np.array(sums, dtype=np.float64), judged.relevant)


def _at_multiples(judged: Judged, name: str, cuts: Iterable[str]) -> Columns:
    columns = {}
    for cut in cuts:
        depths = np.floor(float(cut) * judged.relevant + 0.9)
        hits = [np.count_nonzero(ranks <= depth) for ranks, depth in zip(judged.hit_ranks, depths, strict=True)]
        columns[f"{name}_{float(cut):3.2f}"] = _over(np.array(hits, dtype=np.float64), depths).tolist()
    return columns


def _inferred(judged: Judged) -> Floats:
    """Precision at each relevant document by the judged ones above it; those outside the pool count as not relevant."""
    sums = []
    for ranked in judged.by_rank:
        awaits, refused = ranked == _NOT_JUDGED, (ranked >= 0) & (ranked < judged.level)
        above = np.flatnonzero(ranked >= judged.level)
        before = np.arange(len(above))
        others, unjudged = (np.cumsum(flags)[above] for flags in (refused, awaits))
        with np.errstate(invalid="ignore"):
            share = (before + others + unjudged) / above
        share = np.where(above == 0, 0.0, share)
        precision = (before + _SMALL) / (before + others + 2 * _SMALL)
        sums.append((1 / (above + 1) + above / (above + 1) * share * precision).sum())
    return np.array(sums, dtype=np.float64) / np.where(judged.relevant > 0, judged.relevant, 1.0)


MEASURES: dict[str, Measure] = {
    "runid": _whole(lambda j: np.zeros(len(j.queries))),
    "num_q": _whole(lambda j: np.ones(len(j.queries))),
    "num_ret": _whole(lambda j: j.retrieved),
    "num_rel": _whole(lambda j: j.relevant),
    "num_rel_ret": _whole(lambda j: j.hits),
    "map": _whole(lambda j: j.hits_at("ap", None)),
    "gm_map": _whole(lambda j: _log(j.hits_at("ap", None))),
    "Rprec": _whole(lambda j: j.values(RPrecisionValue(j.level, "single"))),
    "bpref": _whole(_preference),
    "recip_rank": _whole(lambda j: j.hits_at("mrr", None)),
    "iprec_at_recall": _at_recalls,
    "P": _cut(lambda j, k: j.hits_at("precision", k)),
    "relative_P": _cut(lambda j, k: _over(k * j.hits_at("precision", k), np.minimum(k, j.relevant))),
    "recall": _cut(lambda j, k: j.hits_at("recall", k)),
    "utility": _whole(lambda j: j.hits - (j.retrieved - j.hits)),
    "11pt_avg": _whole(_eleven),
    "ndcg": _whole(lambda j: _gain(j, None)),
    "ndcg_cut": _cut(_gain),
    "map_cut": _cut(lambda j, k: j.hits_at("ap", k)),
    "success": _cut(lambda j, k: j.hits_at("hit", k)),
    "set_P": _whole(lambda j: _over(j.hits, j.retrieved)),
    "set_relative_P": _whole(lambda j: _over(j.hits, np.minimum(j.retrieved, j.relevant))),
    "set_recall": _whole(lambda j: _over(j.hits, j.relevant)),
    "set_map": _whole(lambda j: _over(j.hits, j.retrieved) * _over(j.hits, j.relevant)),
    "set_F": _whole(lambda j: j.hits_at("f1", None)),
    "num_nonrel_judged_ret": _whole(lambda j: j.nonrelevant_hits),
    "gm_bpref": _whole(lambda j: _log(_preference(j))),
    "infAP": _whole(_inferred),
    "Rprec_mult": _at_multiples,
    "G": _whole(lambda j: j.of_gains(_normalized_gain)),
    "binG": _whole(_binary_gain),
    "Rndcg": _whole(lambda j: np.where(j.relevant > 0, j.of_gains(_ndcg_at_levels), 0.0)),
    "ndcg_rel": _whole(lambda j: j.of_gains(_ndcg_at_gains)),
    "relstring": _whole(lambda j: np.zeros(len(j.queries))),  # a text, which pytrec_eval does not return
}
