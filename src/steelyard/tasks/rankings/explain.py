"""Why other tools print other numbers for the same distances: junk, precision, equal distances, empty queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import partial

from steelyard.align.rankings import RankedPairs
from steelyard.core.catalogue import parse
from steelyard.core.errors import Unsupported
from steelyard.core.explanation import Explanation
from steelyard.core.frozen import Frozen
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.core.statistic import Statistic
from steelyard.tasks.rankings.single_shot import Gallery
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools

OUT, WRONG = "out of the list", "a wrong answer"
HITS, LINES = "the mean of precisions at hits", "trapezoids"
MATCHED, ALL = "queries with a match", "all queries"
ONE_BY_ONE, POOLED = "by id", "one step"


class ListConventions(Frozen):
    """How lists are made and averaged. The defaults are ours, which are those of Market-1501."""

    junk: str = field(default=OUT, metadata={"title": "images of id -1"})
    precision: str = field(default=HITS, metadata={"title": "average precision"})
    divisor: str = field(default=MATCHED, metadata={"title": "mean over"})
    ties: str = field(default=ONE_BY_ONE, metadata={"title": "equal distances in map"})


RANKS = ("hit@1", "hit@5", "hit@10")
JUNK = "The function knows the camera rule alone: images of id -1 stand in the list as wrong answers."
UNSTABLE = "Its unstable sort orders equal distances; here they are ordered by id."
FEW = "With fewer gallery images left than the rank asked for, {}."
TOOLS = {
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
            ListConventions(junk=WRONG),
            {"junk": JUNK},
            ("map", "minp", *RANKS),
            (
                UNSTABLE,
                "Its TPR@FPR takes pairs of different people as positive, and the nearest FPR: not TAR at FAR.",
            ),
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


def explain(pairs: RankedPairs, tools: Iterable[str]) -> tuple[Explanation, ...]:
    """The numbers of other tools on these distances, and what each of their settings does."""
    named = find_tools(tools, TOOLS)
    gallery = pairs.gallery
    if not isinstance(gallery, Gallery) or gallery.under is None or not gallery.cameras:
        raise Unsupported(
            "these tools score re-identification",
            where=pairs.truth.source,
            remedy="Give labels and cameras as truth, and vectors or an array 'distance' as predictions.",
        )
    lists = {OUT: gallery.under("market1501"), WRONG: gallery.under("torchreid")}
    return tuple(explain_tool(tool, partial(values, lists, tool.prints)) for tool in named.values())


def values(lists: Mapping[str, RankedPairs], prints: tuple[str, ...], way: ListConventions) -> Mapping[str, float]:
    """Every number that a tool prints, as it makes it."""
    return {spec: _value(lists[way.junk], spec, way) for spec in prints}


def _value(pairs: RankedPairs, spec: str, way: ListConventions) -> float:
    settings = ["empty=zero"] if way.divisor == ALL else []
    if spec == "map" and way.precision == LINES:
        spec = "map_trapezoid"
    elif spec == "map" and way.ties == POOLED:
        settings.append("ties=pooled")
    metric = parse(f"{spec}({', '.join(settings)})" if settings else spec, "rankings")
    return float(
        State.of(pairs, [need for need in metric.requirements() if isinstance(need, Statistic)])
        .totals(POINT)
        .of(metric)[0]
    )
