"""What the page of rankings draws: scores by depth, and each query's own score."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.align.rankings import RankedPairs
from steelyard.core.block import Block
from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.gallery import Layer, Mark, Shot
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT, UNITS, WeightPlan
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache, Statistic
from steelyard.core.units import Units
from steelyard.core.weights import Role
from steelyard.tasks.rankings.explain import explain as explain
from steelyard.tasks.rankings.graded import DiscountedGain
from steelyard.tasks.rankings.hits import Hit, Precision, Recall
from steelyard.tasks.rankings.single_shot import Gallery

DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
CMC_RANKS = 50
DRAWS = 300  # of the band around a curve
MOST_QUERIES = 400
MOST_BARS = 40
NEAREST = 10  # images of a query that are shown
TILE, STEP, STEP_Y = 56.0, 72.0, 84.0
gallery_words = (("tp", "right"), ("fp", "wrong"), ("nc", "taken out"), ("gt", "the query"))


def figures(pairs: RankedPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures."""
    if not len(state):
        return {}
    makers: dict[str, Callable[[], Figure]] = {"depth": lambda: depth(pairs)}
    if pairs.gallery is not None:
        makers["cmc"] = lambda: cmc(pairs, state)
    return makers | {"queries": lambda: queries(state, metrics[0])}


def cmc(pairs: RankedPairs, state: State) -> Figure:
    """The share of queries with a right image among the first k, with a band of draws."""
    longest = max(1, min(CMC_RANKS, int(pairs.retrieved.max(initial=1))))
    shown = {k: Hit(k=k) for k in range(1, longest + 1)}
    cache = SharedCache()
    needs = dict.fromkeys(need for metric in shown.values() for need in (metric.value(), metric.query_count()))
    blocks: dict[Statistic, Block] = {need: need.measure(pairs, cache) for need in needs}
    measured = State(state.units, pairs.metadata, blocks)
    point, drawn = measured.totals(POINT), measured.totals(WeightPlan(Role.DRAWS, 0, 0, DRAWS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no query has anything to find
        bands = np.nanquantile(np.stack([drawn.of(metric) for metric in shown.values()]), [0.025, 0.975], axis=1)
    columns = {
        "series": ["CMC"] * longest,
        "x": list(shown),
        "y": [float(point.of(metric)[0]) for metric in shown.values()],
        "low": bands[0].tolist(),
        "high": bands[1].tolist(),
    }
    drawn_as = "clusters" if state.units.cluster is not None else "queries"
    return Figure(
        "cmc",
        "curves",
        "Cumulative match characteristic",
        columns,
        {"x": "rank k", "y": "share of queries with a match among the first k"},
        f"hit@k by k. The band holds 95 % of the values of resampled {drawn_as}.",
    )


def shots(pairs: RankedPairs, units: Sequence[int]) -> list[list[Shot]]:
    """The query and its nearest ten images: right, wrong, or out of the list, which have no rank."""
    if pairs.gallery is None or pairs.gallery.shown is None:
        return [[] for _ in units]
    gallery: Gallery = pairs.gallery.shown()
    return [[_nearest(gallery, int(gallery.unit_query[unit]))] for unit in units]


def _nearest(gallery: Gallery, query: int) -> Shot:
    line, out = gallery.distances(query), gallery.out(query)
    queries, images = gallery.names
    nearest = np.lexsort((-gallery.tie, line))[:NEAREST].tolist()
    right = gallery.identity == gallery.query_identity[query]
    shown = {"cosine": 1 + line, "l2": np.sqrt(np.abs(line))}.get(gallery.vectors or "", line)
    name = str(queries[query])
    marks = [Mark("box", "truth", ((0, STEP_Y / 2, TILE, TILE),), name, files=(name,))]
    for place, image in enumerate(nearest):
        row, column = divmod(place, NEAREST // 2)
        part = (STEP * (column + 1.3), STEP_Y * (row + 0.15), TILE, TILE)
        label = f"{shown[image]:.3g} {images[image]}"
        marks.append(
            Mark("box", "prediction", (part,), label, bool(right[image]), not out[image], files=(str(images[image]),))
        )
    return Shot(name, name, (-4, 0, STEP * (NEAREST // 2 + 1.3), 2 * STEP_Y), (Layer(tuple(marks)),), fits=True)


def depth(pairs: RankedPairs) -> Figure:
    """Precision, recall, hit rate and nDCG of the first k, by k."""
    longest = float(pairs.retrieved.max(initial=1))
    depths = [k for k in DEPTHS if k <= longest] or [1]
    kinds = (("nDCG", DiscountedGain), ("recall", Recall), ("precision", Precision), ("hit rate", Hit))
    shown = [(name, k, kind(k=k)) for name, kind in kinds for k in depths]
    work, needs = (
        SharedCache(),
        dict.fromkeys(statistic for *_, metric in shown for statistic in (metric.value(), metric.query_count())),
    )
    totals = State(
        Units(pairs.units, pairs.weight),
        pairs.metadata,
        {statistic: statistic.measure(pairs, work) for statistic in needs},
    ).totals(POINT)
    columns: dict[str, list[Any]] = {
        "series": [name for name, _, _ in shown],
        "x": [k for _, k, _ in shown],
        "y": [float(totals.of(metric)[0]) for *_, metric in shown],
    }
    return Figure(
        "depth",
        "curves",
        "Scores by depth",
        columns,
        {"x": "first k documents", "y": "mean over queries", "ticks": depths, "points": True},
        "What a reader has who looks at the first k. The axis of k is logarithmic.",
    )


def queries(state: State, metric: Metric) -> Figure:
    """Each query's own score, the worst first."""
    values = state.totals(UNITS).of(metric)
    order = np.argsort(np.where(np.isnan(values), np.inf, values), kind="stable")
    order = order[~np.isnan(values[order])]
    names = [str(u) for u in state.units.ids[order].tolist()]
    if len(order) <= MOST_BARS:
        return Figure(
            "queries",
            "bars",
            f"{metric.label}, query by query",
            {"name": names, "value": values[order]},
            {"x": metric.label},
            "The worst first.",
        )
    places = np.unique(np.linspace(0, len(order) - 1, min(MOST_QUERIES, len(order))).round().astype(int))
    return Figure(
        "queries",
        "curves",
        f"{metric.label}, query by query",
        {"x": places + 1, "y": values[order][places], "query": [names[i] for i in places]},
        {"x": "queries, the worst first", "y": metric.label},
        "A long flat start are queries that fail; the explorer names them.",
    )


def listing(pairs: RankedPairs, state: State) -> Listing:
    """Every judged document with its rank."""
    documents = pairs.truth.documents
    retrieved = pairs.rank > 0
    relevant = pairs.relevance >= 1
    outcome = np.where(relevant, np.where(retrieved, 0, 1), np.where(retrieved, 2, 3))
    return Listing(
        "documents",
        "Judged documents",
        {
            "query": Texts(pairs.owner, [str(u) for u in pairs.units.tolist()]),
            "document": Texts.of([documents[row] for row in pairs.row.tolist()]),
            "relevance": pairs.relevance,
            "rank": np.where(retrieved, pairs.rank, np.nan).astype(float),
            "outcome": Texts(outcome, ["found", "not found", "found, not relevant", "not relevant"]),
        },
        "outcome",
        "rank",
    )
