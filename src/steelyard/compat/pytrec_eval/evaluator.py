"""Measures of runs, files of TREC, and what is supported."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.compat.pytrec_eval.measures import CUTS, MEASURES, SPECS, Judged

Nested = Mapping[str, Mapping[str, Any]]

supported_measures = set(MEASURES)
supported_nicknames = {
    "all_trec": set(MEASURES),
    "official": {
        "map",
        "gm_map",
        "Rprec",
        "bpref",
        "recip_rank",
        "iprec_at_recall",
        "P",
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "runid",
    },
    "set": {
        "runid",
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "utility",
        "set_P",
        "set_relative_P",
        "set_recall",
        "set_map",
        "set_F",
    },
}


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """A run from the lines of a TREC file."""
    run: dict[str, dict[str, float]] = defaultdict(dict)
    for line in f_run:
        query, _, document, _, score, _ = line.split()
        _add(run[query], document, float(score))
    return run


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """Judgements from the lines of a TREC file."""
    judgements: dict[str, dict[str, int]] = defaultdict(dict)
    for line in f_qrel:
        query, _, document, relevance = line.split()
        _add(judgements[query], document, int(relevance))
    return judgements


def _add(query: dict[str, Any], document: str, value: Any) -> None:
    if document in query:
        raise AssertionError(f"document {document!r} occurs twice in a query")
    query[document] = value


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> Any:
    """The sum of counts, the geometric mean of logarithms, or the mean."""
    if measure.startswith("num_"):
        return np.sum(values)
    if measure.startswith("gm_"):
        return np.exp(np.sum(values) / len(values))
    return np.mean(values)


class RelevanceEvaluator:
    """Measures of runs by the same judgements."""

    def __init__(self, query_relevance: Nested, measures: Iterable[str], relevance_level: int = 1) -> None:
        self._measures = _read_measures(measures)
        if not isinstance(query_relevance, dict):
            raise TypeError("Argument query_relevance should be of type dictionary.")
        if relevance_level < 1:
            raise TypeError("Argument relevance_level should be positive.")
        _check(query_relevance, "relevance", int)
        self._qrels, self._level = query_relevance, relevance_level
        self._run: Nested = {}

    def evaluate(self, scores: Nested) -> dict[str, dict[str, float]]:
        """The measures of each query that has judgements, in the order of the run."""
        if not scores:
            return {}
        if not isinstance(scores, dict):
            raise TypeError("Argument object scores should be of type dictionary.")
        _check(scores, "scores", int, float)
        self._run = {query: scores[query] for query in scores if query in self._qrels}
        if not self._run:
            return {}
        judged = Judged({query: self._qrels[query] for query in self._run}, self._run, self._level)
        columns: dict[str, list[float]] = {}
        for name, measure in MEASURES.items():
            if name in self._measures:
                cuts = self._measures[name] or CUTS.get(name, ())
                columns.update(measure(judged, name, cuts))
        rows = zip(*columns.values(), strict=True) if columns else ((),) * len(self._run)
        return {query: dict(zip(columns, row, strict=True)) for query, row in zip(self._run, rows, strict=True)}

    def steelyard_inputs(self) -> tuple[str, Any, Any, dict[str, Any]]:
        """The arguments of `steelyard.evaluate` for the run that was evaluated last."""
        metrics = []
        for name, cuts in self._measures.items():
            if name in SPECS:
                spec = SPECS[name]
                level = "" if name.startswith("ndcg") else f", level={self._level}"
                at = [f"@{cut}" for cut in cuts or CUTS.get(name, ())] if "@" in spec else [""]
                metrics += [f"{spec.removesuffix('@')}{cut}(empty=zero, ties=single{level})" for cut in at]
        truth = {query: dict(self._qrels[query]) for query in self._run}
        return "rankings", truth, {query: dict(run) for query, run in self._run.items()}, {"metrics": metrics}


def _read_measures(measures: Iterable[str]) -> dict[str, list[str]]:
    """The measures by name, each with its cuts; without cuts, those of trec_eval."""
    read: dict[str, set[str]] = {}
    expanded = (name for measure in measures for name in supported_nicknames.get(measure, {measure}))
    for measure in expanded:
        if measure in supported_measures:
            read.setdefault(measure, set())
            continue
        for name in supported_measures:
            match = re.match(rf"{re.escape(name)}[._](\d+(\.\d+)?(,\d+(\.\d+)?)*)", measure)
            if match and name in CUTS:
                read.setdefault(name, set()).update(match[1].split(","))
                break
        else:
            raise ValueError(f"unsupported measure {measure}")
    return {name: sorted(cuts, key=float) for name, cuts in read.items()}


def _check(nested: Nested, what: str, *kinds: type) -> None:
    for query, documents in nested.items():
        if not isinstance(query, str) or not isinstance(documents, dict):
            raise TypeError(f"{what} of query {query!r}: expected a dict under a string")
        for document, value in documents.items():
            if not isinstance(document, str) or not isinstance(value, kinds):
                raise TypeError(f"{what} of query {query!r}, document {document!r}: {value!r} has the wrong type")
