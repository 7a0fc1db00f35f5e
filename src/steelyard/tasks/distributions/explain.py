"""Why pytorch-fid, clean-fid, torch-fidelity and prdc print other numbers for the same vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field
from functools import partial

import numpy as np

from steelyard.core.explanation import Explanation
from steelyard.core.frozen import Frozen
from steelyard.core.rows import RowsBlock
from steelyard.core.statistic import SharedCache
from steelyard.core.weights import Floats
from steelyard.tasks.distributions.data import GENERATED, REAL, DistributionPairs, FeatureRows, FeatureSets
from steelyard.tasks.distributions.moments import Moments, frechet
from steelyard.tasks.distributions.readers import Discrepancy, Frechet, Neighbours
from steelyard.tasks.shared.tools import Tool, explain_tool, find_tools


class SetConventions(Frozen):
    """What tools do in different ways; the defaults are ours."""

    mean: str = field(default="double", metadata={"title": "precision of the distance of the means"})
    root: str = field(default="singular values", metadata={"title": "root of the product"})
    pairs: str = field(default="all", metadata={"title": "pairs of KID"})
    k: str = field(default="3, 3, 5, 5", metadata={"title": "neighbour k of precision, recall, density, coverage"})
    edge: str = field(default="closed, closed, open, open", metadata={"title": "whether the radius itself counts"})


OURS = SetConventions()
SUBSET = 1000  # vectors of a subset of torch-fidelity
_ROOT = "scipy's sqrtm of the product: singular covariances lose digits, and the result may be below 0"
_SINGLE = "means and the squared distance between them are in single precision"
_ONE = "It fails on vectors of one number."
TOOLS: dict[str, Tool[SetConventions]] = {
    "pytorch-fid": Tool(
        "pytorch-fid",
        "0.3.0",
        SetConventions(root="of the product"),
        {"root": _ROOT},
        ("fid",),
        ("It resizes images by bilinear filter without antialiasing, which no file of features says.", _ONE),
    ),
    "clean-fid": Tool(
        "clean-fid",
        "0.1.35",
        SetConventions(mean="single", root="of the product"),
        {"mean": _SINGLE, "root": _ROOT},
        ("fid",),
        (
            "It resizes images by bicubic filter with antialiasing, which no file of features says.",
            "Its KID is the mean over random subsets without a seed: another number each run.",
            _ONE,
        ),
    ),
    "torch-fidelity": Tool(
        "torch-fidelity",
        "0.4.0",
        SetConventions(mean="single", root="of the product", pairs="subsets"),
        {
            "mean": _SINGLE,
            "root": "roots of the eigenvalues of the product: singular covariances lose digits",
            "pairs": "100 random subsets of 1,000, seed 2020: the same value with more noise",
        },
        ("fid", "kid", "precision", "recall"),
        (
            "Its input 1 is the generated set: swapped inputs swap precision and recall.",
            "Its KID needs 1,000 vectors of each set, and its ± is the spread of subsets, not a standard error.",
            _ONE,
        ),
    ),
    "prdc": Tool(
        "prdc",
        "0.2",
        SetConventions(k="5, 5, 5, 5", edge="open, open, open, open"),
        {"k": "k is 5 in its paper", "edge": "a distance equal to the radius is outside"},
        ("precision", "recall", "density", "coverage"),
        ("It holds three n×n matrices: 30 GB for 50,000 vectors.",),
    ),
}


def explain(pairs: DistributionPairs, tools: Iterable[str]) -> tuple[Explanation, ...]:
    """The numbers of other tools on these vectors, and what each of their settings does."""
    chosen = find_tools(tools, TOOLS)
    if not pairs.flags["dimensions"] or any(moments is not None for moments in pairs.statistics):
        return ()
    block = FeatureRows().measure(pairs, SharedCache())
    weights = np.ones(len(pairs.units)) if pairs.weight is None else np.asarray(pairs.weight, dtype=np.float64)
    return tuple(explain_tool(tool, partial(_values, block, weights)) for tool in chosen.values())


def _values(block: RowsBlock, weights: Floats, way: SetConventions) -> dict[str, float]:
    """FID, KID and the four numbers of neighbours, as a tool calculates them."""
    sets = FeatureSets.of(block)
    moments = Frechet().pair(sets, weights)
    values: dict[str, float] = {"fid": math.nan if moments is None else _distance(sets, moments, way)}
    sizes = [int(np.count_nonzero(weights[unit] > 0)) for unit in sets.unit]
    if way.pairs == OURS.pairs:
        values["kid"] = Discrepancy().at(sets, weights)
    else:
        values["kid"] = Discrepancy(subsets=100).at(sets, weights) if min(sizes) >= SUBSET else math.nan
    for part, k, edge in zip(
        ("precision", "recall", "density", "coverage"), way.k.split(", "), way.edge.split(", "), strict=True
    ):
        counted = Neighbours(part=part, k=int(k), edge=edge).each(sets, weights)
        values[part] = math.nan if counted is None else float(counted[1].mean())
    return values


def _distance(sets: FeatureSets, moments: tuple[Moments, Moments], way: SetConventions) -> float:
    x, y = moments
    between = float(((x.mean - y.mean) ** 2).sum())
    if way.mean == "single":
        means = [np.asarray(np.mean(sets.rows[code], axis=0, dtype=np.float32)) for code in (REAL, GENERATED)]
        shift = means[0] - means[1]
        single = float(shift @ shift)
    else:
        single = between
    if way.root == OURS.root:
        return frechet(x, y) + single - between
    if sets.dimensions == 1:
        return math.nan
    product = (x.products / x.divisor) @ (y.products / y.divisor)
    root = float(np.sqrt(np.clip(np.linalg.eigvals(product).real, 0.0, None)).sum())
    return single + x.trace + y.trace - 2 * root
