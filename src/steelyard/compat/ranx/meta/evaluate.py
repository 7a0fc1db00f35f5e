"""Metrics of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.compat.ranx.data_structures.qrels import Qrels
from steelyard.compat.ranx.data_structures.run import Run

Floats = NDArray[np.float64]
_ALL = 2**62  # a cut behind every rank
# The same metrics of Steelyard's rankings, for reports.
_SPECS = {
    "hit_rate": "hit{at}(level={level}, empty=zero, ties=input)",
    "precision": "precision{at}(level={level}, empty=zero, ties=input)",
    "recall": "recall{at}(level={level}, empty=zero, ties=input)",
    "f1": "f1{at}(level={level}, empty=zero, ties=input)",
    "r-precision": "rprec(level={level}, empty=zero, ties=input)",
    "mrr": "mrr{at}(level={level}, empty=zero, ties=input)",
    "map": "map{at}(level={level}, empty=zero, ties=input)",
    "ndcg": "ndcg{at}(level={level}, empty=zero, ties=input)",
    "ndcg_burges": "ndcg{at}(gain=exponential, level={level}, empty=zero, ties=input)",
}


class _Judged:
    """The ranks of judged documents, query by query, as the native core takes them."""

    def __init__(self, judged: Sequence[Sequence[Any]], relevance: Any, ranked: Sequence[Sequence[Any]]) -> None:
        ranks: list[int] = []
        starts = [0]
        for documents, listed in zip(judged, ranked, strict=True):
            place = {document: i for i, document in enumerate(listed, 1)}
            ranks += [place.get(document, 0) for document in documents]
            starts.append(len(ranks))
        self.rank = np.array(ranks, dtype=np.int64)
        self.relevance = np.array(relevance, dtype=np.float64)
        self.starts = np.array(starts, dtype=np.int64)
        self.retrieved = np.array([len(listed) for listed in ranked], dtype=np.float64)

    @cached_property
    def events(self) -> tuple[Any, Any, Any]:
        return self.rank, self.relevance, self.starts

    def hits(self, k: int, level: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Relevant documents, hits, the sum of precisions at hits, and the rank of the first."""
        relevant, hits, precisions, first = _native.ranking_hits(*self.events, k or _ALL, float(level)).T
        return relevant, hits, precisions, first


def _over(numerator: Floats, denominator: Any) -> Floats:
    """The quotient, 0 where there is nothing to divide by."""
    denominator = np.broadcast_to(np.asarray(denominator, dtype=np.float64), numerator.shape)
    quotient: Floats = np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator > 0)
    return quotient


def _hits(judged: _Judged, k: int, level: int) -> Floats:
    return np.ascontiguousarray(judged.hits(k, level)[1])


def _precision(judged: _Judged, k: int, level: int) -> Floats:
    return _over(_hits(judged, k, level), k or judged.retrieved)


def _recall(judged: _Judged, k: int, level: int) -> Floats:
    relevant, hits, _, _ = judged.hits(k, level)
    return _over(hits, relevant)


def _f1(judged: _Judged, k: int, level: int) -> Floats:
    precision, recall = _precision(judged, k, level), _recall(judged, k, level)
    return 2 * _over(precision * recall, precision + recall)


def _r_precision(judged: _Judged, k: int, level: int) -> Floats:
    relevant, hits = _native.ranking_r_hits(*judged.events, float(level)).T
    return _over(hits, relevant)


def _reciprocal_rank(judged: _Judged, k: int, level: int) -> Floats:
    first = judged.hits(k, level)[3]
    return _over(np.ones(len(first)), first)


def _average_precision(judged: _Judged, k: int, level: int) -> Floats:
    relevant, _, precisions, _ = judged.hits(k, level)
    return _over(precisions, relevant)


def _gain(exponential: bool, normalised: bool) -> Callable[[_Judged, int, int], Floats]:
    def compute(judged: _Judged, k: int, level: int) -> Floats:
        gain, ideal = _native.ranking_gain(*judged.events, k or _ALL, float(level), exponential).T
        return _over(gain, ideal) if normalised else np.ascontiguousarray(gain)

    return compute


def _bpref(judged: _Judged, k: int, level: int) -> Floats:
    relevant = (judged.relevance >= level).astype(np.float64)
    values: Floats = _native.ranking_bpref(judged.rank, relevant, judged.starts, 1.0)[:, 0]
    number, hits, _, _ = judged.hits(0, level)
    alone = np.diff(judged.starts) == number  # nothing is judged not relevant: ranx divides 0 by 0
    return np.where(alone & (hits > 0), np.nan, np.nan_to_num(values))


def _rank_biased(judged: _Judged, p: float, level: int) -> Floats:
    values: Floats = _native.ranking_rbp(*judged.events, float(p), float(level), True)[:, 0]
    return np.nan_to_num(values)


METRICS: dict[str, Callable[[_Judged, Any, int], Floats]] = {
    "hits": _hits,
    "hit_rate": lambda judged, k, level: (_hits(judged, k, level) > 0).astype(np.float64),
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "r-precision": _r_precision,
    "mrr": _reciprocal_rank,
    "map": _average_precision,
    "dcg": _gain(exponential=False, normalised=False),
    "dcg_burges": _gain(exponential=True, normalised=False),
    "ndcg": _gain(exponential=False, normalised=True),
    "ndcg_burges": _gain(exponential=True, normalised=True),
    "bpref": _bpref,
    "rbp": _rank_biased,
}


def read_metric(metric: str) -> tuple[str, Any, int]:
    """The name, cut or persistence, and level of a metric."""
    name, of_level, level = metric.partition("-l")
    if "rbp" in name:
        name, mark, digits = name.partition("." if "." in name else "@")
        if not mark:
            raise ValueError("RBP requires persistence value. Example: `rpb.95`")
        cut: Any = float(f"0.{digits}")
    else:
        name, at, digits = name.partition("@")
        cut = int(digits) if at else 0
        if cut < 0:
            raise AssertionError("k must be grater or equal to 0")
    if name not in METRICS:
        raise ValueError(f"Metric {name} not supported. Supported metrics are {', '.join(METRICS)}.")
    return name, cut, int(level) if of_level else 1


def read_names(metrics: list[str] | str) -> list[str]:
    """The metrics as a list."""
    names = [metrics] if isinstance(metrics, str) else metrics
    if not all(isinstance(name, str) for name in names):
        raise AssertionError("Metrics error")
    return names


def evaluate(
    qrels: Qrels | dict[str, dict[str, float]],
    run: Run | dict[str, dict[str, float]],
    metrics: list[str] | str,
    return_mean: bool = True,
    return_std: bool = False,
    threads: int = 0,
    save_results_in_run: bool = True,
    make_comparable: bool = False,
) -> Any:
    """The mean of each metric, or its value for each query."""
    names = read_names(metrics)
    if not isinstance(qrels, Qrels | dict) and not isinstance(run, Run | dict):
        return _results(_values(_read_arrays(qrels, run), names), names, return_mean, return_std)
    if not isinstance(qrels, Qrels | dict) or not isinstance(run, Run | dict):
        raise TypeError(f"expected Qrels and Run or dicts, not {type(qrels).__name__} and {type(run).__name__}")
    if make_comparable and isinstance(qrels, Qrels) and isinstance(run, Run):
        run.make_comparable(qrels)
    if qrels.keys() != run.keys():
        raise AssertionError(
            "Qrels and Run query ids do not match. Pass `make_comparable=True` to add empty results for queries "
            "missing from the run and remove those not appearing in qrels."
        )
    for side in (qrels, run):
        if isinstance(side, Qrels | Run) and not side.sorted:
            side.sort()
    truth = qrels.qrels if isinstance(qrels, Qrels) else qrels
    if isinstance(run, Run):
        ranked = {query: list(row) for query, row in run.run.items()}
    else:  # of equal scores the last comes first, as in ranx
        ranked = {q: [doc for doc, _ in sorted(row.items(), key=itemgetter(1))][::-1] for q, row in run.items()}
    judged = _Judged(
        [list(row) for row in truth.values()],
        [value for row in truth.values() for value in row.values()],
        [ranked[query] for query in truth],
    )
    values = _values(judged, names)
    if isinstance(run, Run) and save_results_in_run:
        for metric, scores in values.items():
            run.mean_scores[metric] = np.mean(scores)
            if return_mean and return_std:
                run.std_scores[metric] = np.std(scores)
            run.scores[metric].update(zip(truth, scores, strict=True))
        run.evaluated = truth, _specs(names)
    return _results(values, names, return_mean, return_std)


def _read_arrays(qrels: Any, run: Any) -> _Judged:
    """Judged of two lists of arrays, one per query: a column of ids and one of numbers; a run is in its order."""
    try:
        sides = [[np.asarray(rows, dtype=np.float64) for rows in side] for side in (qrels, run)]
        if len(sides[0]) != len(sides[1]) or any(rows.ndim != 2 or rows.shape[1] < 2 for rows in sides[0] + sides[1]):
            raise ValueError
    except (TypeError, ValueError):
        raise TypeError(
            "expected Qrels and Run, dicts, or two lists of arrays with two columns, "
            f"not {type(qrels).__name__} and {type(run).__name__}"
        ) from None
    judged, ranked = ([rows[:, 0].tolist() for rows in side] for side in sides)
    return _Judged(judged, [value for rows in sides[0] for value in rows[:, 1]], ranked)


def _values(judged: _Judged, names: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for metric in names:
        name, cut, level = read_metric(metric)
        values[metric] = METRICS[name](judged, cut, level)
    return values


def _results(values: dict[str, Any], names: list[str], return_mean: bool, return_std: bool) -> Any:
    """The values of one metric, or of several by name; their means where those are wanted."""
    if return_mean:
        for metric, scores in values.items():
            mean = np.mean(scores)
            values[metric] = {"mean": mean, "std": np.std(scores)} if return_std else mean
    return values[names[-1]] if len(names) == 1 else values


def _specs(metrics: list[str]) -> list[str]:
    read = [read_metric(metric) for metric in metrics]
    return [
        _SPECS[name].format(at=f"@{cut}" if cut else "", level=level) for name, cut, level in read if name in _SPECS
    ]
