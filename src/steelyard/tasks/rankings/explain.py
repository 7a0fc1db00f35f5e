"""Why other tools print other numbers for the same distances: junk, precision, equal distances, empty queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from steelyard.align.rankings import RankedPairs, unfold_rows
from steelyard.core.catalogue import parse
from steelyard.core.errors import Unsupported
from steelyard.core.explanation import Explanation
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.core.statistic import RankingReader
from steelyard.tasks.rankings.single_shot import Gallery
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools

OUT, WRONG = "out of the list", "a wrong answer"
HITS, LINES = "the mean of precisions at hits", "trapezoids"
MATCHED, ALL = "queries with a match", "all queries"
ONE_BY_ONE, POOLED = "by id", "one step"
SAME, DIFFERENT = "TAR: pairs of one person, FAR of at most f", "pairs of different people, nearest to f"
STRANGERS, WRONG_PAIRS = "FPIR of at most f", "the n·f-th highest score of all wrong pairs"


class ListConventions(Frozen):
    """How lists are made and averaged. The defaults are ours, which are those of Market-1501."""

    junk: str = field(default=OUT, metadata={"title": "images of id -1"})
    precision: str = field(default=HITS, metadata={"title": "average precision"})
    divisor: str = field(default=MATCHED, metadata={"title": "mean over"})
    ties: str = field(default=ONE_BY_ONE, metadata={"title": "equal distances in map"})
    pairs: str = field(default=SAME, metadata={"title": "tpr at an FPR"})


class SearchConventions(Frozen):
    """How a search in an open set is read. The defaults are ours."""

    threshold: str = field(default=STRANGERS, metadata={"title": "threshold"})


RANKS = ("hit@1", "hit@5", "hit@10")
JUNK = "The function knows the camera rule alone: images of id -1 stand in the list as wrong answers."
UNSTABLE = "Its unstable sort orders equal distances; here they are ordered by id."
FEW = "With fewer gallery images left than the rank asked for, {}."
RE_IDENTIFICATION = {
    tool.name: tool
    for tool in (
        Tool(
            "torchreid",
            "f8cd150, evaluate_rank",
            ListConventions(junk=WRONG),
            {"junk": JUNK},
            ("map", *RANKS),
            (UNSTABLE, FEW.format("its Python fails and its Cython shows what the query before left")),
        ),
        Tool(
            "fast-reid",
            "c9bc3ce, evaluate_rank",
            ListConventions(junk=WRONG, pairs=DIFFERENT),
            {
                "junk": JUNK,
                "pairs": "Its TPR is the share of pairs of different people that are so far apart, and its FPR that of "
                "pairs of one person.",
            },
            ("map", "minp", *RANKS, "tpr@0.01", "tpr@0.1"),
            (UNSTABLE,),
        ),
        Tool(
            "layumi",
            "82ff40f, evaluate_gpu.py",
            ListConventions(precision=LINES, divisor=ALL),
            {
                "precision": "At each hit it takes the mean of the precision before it and at it.",
                "divisor": "A query without a match counts as 0.",
            },
            ("map", *RANKS),
            (UNSTABLE,),
        ),
        Tool(
            "open-reid",
            "3293ca7, mean_ap and cmc",
            ListConventions(junk=WRONG, ties=POOLED),
            {"junk": JUNK, "ties": "scikit-learn's average precision takes equal distances as one step."},
            ("map", *RANKS),
            ("cmc without first_match_break is hit@k(spread=yes).",),
        ),
    )
}
SEARCH = {
    "insightface": Tool(
        "insightface",
        "7fadd420, ijb_1n.py",
        SearchConventions(threshold=WRONG_PAIRS),
        {
            "threshold": "It has n mated probes and no others. A mate counts if its score is above the threshold, "
            "whatever its rank."
        },
        (*RANKS, "tpir@0.01", "tpir@0.1"),
        ("It calls f the FAR, although it is not a rate of pairs or of probes.",),
    )
}
TOOLS: dict[str, Tool[Any]] = {**RE_IDENTIFICATION, **SEARCH}


def explain(pairs: RankedPairs, tools: Iterable[str]) -> tuple[Explanation, ...]:
    """The numbers of other tools on these distances, and what each of their settings does."""
    named = find_tools(tools, TOOLS)
    values_of: dict[str, Callable[..., Mapping[str, float]]] = {}
    if any(name in RE_IDENTIFICATION for name in named):
        gallery = pairs.gallery
        if not isinstance(gallery, Gallery) or gallery.under is None or not gallery.cameras:
            raise Unsupported(
                "these tools score re-identification",
                where=pairs.truth.source,
                remedy="Give labels and cameras as truth, and vectors or an array 'distance' as predictions.",
            )
        lists = {OUT: gallery.under("market1501"), WRONG: gallery.under("torchreid")}
        values_of = dict.fromkeys(RE_IDENTIFICATION, partial(values, lists))
    if any(name in SEARCH for name in named):
        if pairs.run is None or (np.bincount(pairs.owner[pairs.relevance >= 1], minlength=1) > 1).any():
            raise Unsupported(
                "insightface scores a search for people",
                where=pairs.truth.source,
                remedy="Give probes with their person as truth, and scores of probes and people as predictions.",
            )
        values_of |= dict.fromkeys(SEARCH, partial(search_values, pairs))
    return tuple(explain_tool(TOOLS[name], partial(values_of[name], TOOLS[name].prints)) for name in named)


def values(lists: Mapping[str, RankedPairs], prints: tuple[str, ...], way: ListConventions) -> Mapping[str, float]:
    """Every number that a tool prints, as it makes it."""
    return {
        spec: _rate_of_pairs(lists[way.junk], float(spec[4:]), way)
        if spec.startswith("tpr@")
        else _value(lists[way.junk], spec, way)
        for spec in prints
    }


def search_values(pairs: RankedPairs, prints: tuple[str, ...], way: SearchConventions) -> Mapping[str, float]:
    """Every number that a tool prints of probes and people."""
    wrong_pairs = way.threshold == WRONG_PAIRS
    return {
        spec: _rate_above_wrong_pairs(pairs, float(spec[5:]))
        if wrong_pairs and spec.startswith("tpir@")
        else _plain_value(pairs, spec)
        for spec in prints
    }


def _value(pairs: RankedPairs, spec: str, way: ListConventions) -> float:
    settings = ["empty=zero"] if way.divisor == ALL else []
    if spec == "map" and way.precision == LINES:
        spec = "map_trapezoid"
    elif spec == "map" and way.ties == POOLED:
        settings.append("ties=pooled")
    return _plain_value(pairs, f"{spec}({', '.join(settings)})" if settings else spec)


def _plain_value(pairs: RankedPairs, spec: str) -> float:
    metric = parse(spec, "rankings")
    needs = dict.fromkeys(n.ranking if isinstance(n, RankingReader) else n for n in metric.requirements())
    return float(State.of(pairs, list(needs)).totals(POINT).of(metric)[0])


def _rate_of_pairs(pairs: RankedPairs, limit: float, way: ListConventions) -> float:
    """TAR at a FAR over all pairs of queries and images; or fast-reid's TPR, for which far pairs are positive."""
    gallery: Gallery = pairs.gallery
    rows = pairs.row.tolist()
    same = np.sort([gallery.distances(int(gallery.query[row]))[gallery.place[row]] for row in rows])
    nearer, upto, count = np.zeros(len(same), np.int64), np.zeros(len(same), np.int64), 0
    for query, own in enumerate(gallery.query_identity.tolist()):
        others = gallery.distances(query)[gallery.identity != own]
        count += len(others)
        for total, places in (
            (nearer, np.searchsorted(same, others, side="right")),
            (upto, np.searchsorted(same, others, side="left")),
        ):
            total += np.cumsum(np.bincount(places, minlength=len(same) + 1)[:-1])
    if not len(same) or not count:
        return math.nan
    if way.pairs == SAME:
        return float(np.mean(upto <= limit * count))
    # The points of scikit-learn's curve at each distance of one person: it drops a point in the middle of two equal
    # steps, unless it is the first, and of several points of one FPR the one of the largest distance is read.
    _, first, size = np.unique(same, return_index=True, return_counts=True)
    nearer, upto = nearer[first], upto[first]
    middle = (nearer[1:] == upto[:-1]) & (size[1:] == size[:-1]) & (np.diff(upto - nearer) == 0)
    kept = np.append(True, ~middle)
    kept[-1] |= upto[-1] == count
    fpr = np.append(0, (len(same) - first[kept])[::-1] / len(same))
    tpr = np.append(0, (count - nearer[kept])[::-1] / count)
    return float(tpr[np.argmin(np.abs(fpr - limit))])


def _rate_above_wrong_pairs(pairs: RankedPairs, share: float) -> float:
    """The share of mated probes whose mate's score is above that of so many wrong pairs, as a share of mated probes."""
    scores_of_units = pairs.scores()
    assert scores_of_units is not None
    assert pairs.run is not None
    run, mate = unfold_rows(pairs.run), scores_of_units[1]
    place = {query: index for index, query in enumerate(run.queries.tolist())}
    mated = np.unique(pairs.owner[pairs.relevance >= 1])
    wrong: list[Array] = []
    for unit in mated.tolist():
        at = place.get(pairs.units[unit])
        scores = np.zeros(0) if at is None else run.values[run.starts[at] : run.starts[at + 1]]
        own = np.flatnonzero(scores == mate[unit])[:1]
        wrong.append(np.delete(scores, own))
    every = np.sort(np.concatenate([np.zeros(0), *wrong]))[::-1]
    rank = math.ceil(len(mated) * share)
    return float(np.mean(mate[mated] > every[rank - 1])) if 0 < rank <= len(every) else math.nan
