"""What the page of distributions shows: FID by size, its parts by axis, nearest distances, and the worst vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.figure import Figure, Listing, Texts, wide_range
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.core.weights import Array, Floats
from steelyard.tasks.distributions.data import GENERATED, REAL, DistributionPairs, FeatureRows, FeatureSets
from steelyard.tasks.distributions.explain import explain as explain
from steelyard.tasks.distributions.moments import Moments, frechet
from steelyard.tasks.distributions.neighbours import exact_squares
from steelyard.tasks.distributions.readers import Frechet, Neighbours, fid_by_size

BLOCK = 512
AXES = 12  # principal axes that are shown
BINS = 30
WORST = 10
MOST = 4000  # vectors of a side that pictures of distances look at
LARGE = 512  # dimensions up to which distances of 15 sizes are drawn


def _sets(state: State) -> tuple[FeatureSets, Floats] | None:
    """The two sets, where both have vectors and the metrics look at them."""
    block: Any = state.blocks.get(FeatureRows())
    if block is None:
        return None
    sets = FeatureSets.of(block)
    weights = _weights(state)
    if min(np.count_nonzero(weights[unit] > 0) for unit in sets.unit) < 5:
        return None
    return sets, weights


def _enough(sets: FeatureSets) -> bool:
    return bool(min(map(len, sets.unit)) >= 3 * sets.dimensions)


def figures(pairs: DistributionPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures."""
    held = _sets(state)
    if held is None:
        return {}
    sets, weights = held
    made: dict[str, Callable[[], Figure]] = {"nearest": lambda: nearest_distances(sets)}
    if _enough(sets):
        made["axes"] = lambda: parts_by_axis(sets, weights)
        if sets.dimensions <= LARGE:
            made["sizes"] = lambda: distance_by_size(sets, weights)
    return made


def tables(pairs: DistributionPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """The generated vectors that cost the most, and the real ones that nothing covers.

    Which tables there are does not depend on the vectors, since parts of data are asked too.
    """
    block: Any = state.blocks.get(FeatureRows())
    if block is None or "statistics" in state.metadata.holds:
        return {}
    sets, weights = FeatureSets.of(block), _weights(state)
    return {
        "costly": lambda: costly_vectors(sets, weights),
        "uncovered": lambda: uncovered_vectors(sets, _uncovered(sets, weights)),
    }


def _weights(state: State) -> Floats:
    return np.asarray(next(iter(POINT.bind(state.units).blocks()))[0], dtype=np.float64)


def distance_by_size(sets: FeatureSets, weights: Floats) -> Figure:
    """The distance of random parts of the generated set against 1/n, with the line through them."""
    moments = Frechet().pair(sets, weights)
    assert moments is not None
    sizes, values = sets.once(("sizes", weights.tobytes()), lambda: fid_by_size(sets, weights, moments[REAL]))
    slope, start = np.polyfit(1 / sizes, values, 1)
    corrected = Frechet(bias="groups").at(sets, weights)
    ends = np.array([0.0, float((1 / sizes).max())])
    x = np.concatenate([1 / sizes[::-1], ends, [0.0, 0.1 * ends[1]]])
    y = np.concatenate([values[::-1], start + slope * ends, [corrected, corrected]])
    series = ["parts"] * len(sizes) + ["fitted line"] * 2 + ["corrected"] * 2
    return Figure(
        "sizes",
        "curves",
        "Fréchet distance against 1/n",
        {"x": x, "y": y, "series": series},
        {"x": "1/n", "y": "distance"},
        f"The distance of smaller random parts of the generated set is higher: that is bias. The line meets an endless "
        f"set at {start:.4g}; both sides corrected give {corrected:.4g}.",
    )


def parts_by_axis(sets: FeatureSets, weights: Floats) -> Figure:
    """The part of the means, and that of the spread along each principal axis of the real set."""
    moments = Frechet().pair(sets, weights)
    assert moments is not None
    mean, parts, rest = axis_parts(*moments)
    names = ["means", *(f"axis {place + 1}" for place in range(len(parts))), "the rest"]
    return Figure(
        "axes",
        "bars",
        "What the distance is made of",
        {"name": names, "value": np.array([mean, *parts, rest])},
        {"x": "part of the distance"},
        "Axes are those of the real set, by falling spread: a long bar is a direction whose variety the generated set "
        "lacks or overdoes. The rest are further axes and the turn between both sets.",
    )


def axis_parts(x: Moments, y: Moments) -> tuple[float, Floats, float]:
    """The squared distance of the means, (√a - √b)² along the first axes of x, and what is left of the distance."""
    first, second = x.products / x.divisor, y.products / y.divisor
    values, vectors = np.linalg.eigh(first)
    order = np.argsort(-values)[:AXES]
    mine = np.clip(values[order], 0.0, None)
    theirs = np.clip(np.einsum("ij,ik,kj->j", vectors[:, order], second, vectors[:, order]), 0.0, None)
    parts = np.asarray((np.sqrt(mine) - np.sqrt(theirs)) ** 2)
    mean = float(((x.mean - y.mean) ** 2).sum())
    return mean, parts, max(frechet(x, y) - mean - float(parts.sum()), 0.0)


def _nearest(a: Array, b: Array, *, same: bool) -> tuple[Floats, Array]:
    """The distance of each row to the nearest of another set, or of the others of its own, and its place."""
    distance, place = np.zeros(len(a)), np.zeros(len(a), dtype=np.int64)
    if not len(a) or not len(b):
        return distance, place
    least = np.full(len(a), np.inf)
    for begin in range(0, len(b), 4 * BLOCK):
        others = b[begin : begin + 4 * BLOCK].astype(np.float64)
        square = np.einsum("ij,ij->i", others, others)
        for start in range(0, len(a), BLOCK):
            rows = np.arange(start, min(start + BLOCK, len(a)))
            block = square - 2 * (a[rows].astype(np.float64) @ others.T)
            if same:
                own = rows[(rows >= begin) & (rows < begin + len(others))]
                block[own - start, own - begin] = np.inf
            nearest = np.argmin(block, axis=1)
            square_of = block[rows - start, nearest]
            nearer = square_of < least[rows]
            place[rows[nearer]] = begin + nearest[nearer]
            least[rows[nearer]] = square_of[nearer]
    distance[:] = np.sqrt(exact_squares(a, b, np.arange(len(a)), place))
    return distance, place


def nearest_distances(sets: FeatureSets) -> Figure:
    """Histograms of the distance to the nearest other vector."""
    real, generated = (rows[:MOST] for rows in sets.rows)
    distances = [
        _nearest(generated, real, same=False)[0],
        _nearest(generated, generated, same=True)[0],
        _nearest(real, real, same=True)[0],
    ]
    edges = np.linspace(*wide_range(np.concatenate([*distances, [0.0]])), BINS + 1)
    columns: dict[str, Any] = {"x": [], "y": [], "series": []}
    names = ("generated to real", "generated to generated", "real to real")
    for name, values in zip(names, distances, strict=True):
        columns["x"] += ((edges[:-1] + edges[1:]) / 2).tolist()
        columns["y"] += np.histogram(values, edges)[0].tolist()
        columns["series"] += [name] * BINS
    return Figure(
        "nearest",
        "curves",
        "Distance to the nearest vector",
        columns,
        {"x": "distance", "y": "vectors"},
        "Copies of real images, and images that the generator repeats, are at 0. Generated vectors further from the "
        "real ones than these are from each other look unlike any real image.",
    )


def _name(sets: FeatureSets, code: int, row: int) -> str:
    return str(sets.ids[sets.unit[code][row]]).partition(":")[2]


def costly_vectors(sets: FeatureSets, weights: Floats) -> Table:
    """The generated vectors that raise the distance the most, each with its nearest real one."""
    influences = Frechet().moved(sets, weights)[GENERATED] if _enough(sets) else None
    count = len(sets.unit[GENERATED]) if len(sets.unit[REAL]) else 0
    moved = np.full(count, np.nan) if influences is None else influences
    worst = np.argsort(-moved, kind="stable")[:WORST]
    if influences is None and count <= MOST:
        worst = np.argsort(-_nearest(sets.rows[GENERATED], sets.rows[REAL], same=False)[0], kind="stable")[:WORST]
    distance, place = _nearest(sets.rows[GENERATED][worst], sets.rows[REAL], same=False)
    names = [
        f"{_name(sets, GENERATED, row)}, nearest real {_name(sets, REAL, at)}"
        for row, at in zip(worst.tolist(), place.tolist(), strict=True)
    ]
    return Table(
        "costly",
        "Generated vectors that raise the Fréchet distance the most",
        "generated",
        tuple(names),
        ("moves it by", "distance to that"),
        np.stack([moved[worst] / max(len(moved), 1), distance], axis=1),
    )


def _uncovered(sets: FeatureSets, weights: Floats) -> Array:
    covered = Neighbours(part="coverage", k=5, edge="open").each(sets, weights)
    return np.zeros(0, np.int64) if covered is None else covered[0][covered[1] == 0]


def uncovered_vectors(sets: FeatureSets, units: Array) -> Table:
    """Real vectors without a generated one in their ball, the loneliest first."""
    rows = np.flatnonzero(np.isin(sets.unit[REAL], units))
    distance, place = _nearest(sets.rows[REAL][rows], sets.rows[GENERATED], same=False)
    order = np.argsort(-distance, kind="stable")[:WORST]
    names = [
        f"{_name(sets, REAL, int(rows[at]))}, nearest generated {_name(sets, GENERATED, int(place[at]))}"
        for at in order.tolist()
    ]
    return Table(
        "uncovered",
        f"Real vectors that nothing covers ({len(rows):,} of {len(sets.unit[REAL]):,})",
        "real",
        tuple(names),
        ("distance to that",),
        distance[order][:, np.newaxis],
    )


def listing(pairs: DistributionPairs, state: State) -> Listing:
    """Every vector with its side, its distance to the nearest real one, and what it moves the distance by."""
    held = _sets(state)
    names = [str(unit).partition(":")[2] for unit in pairs.units.tolist()]
    sides = np.asarray(pairs.side, dtype=np.int64)
    columns: dict[str, Array | Texts] = {"vector": Texts.of(names), "set": Texts(sides, ["real", "generated"])}
    if held is not None and max(map(len, held[0].unit)) <= MOST:
        sets, weights = held
        near, moves = (np.full(len(names), math.nan) for _ in range(2))
        near[sets.unit[REAL]] = _nearest(sets.rows[REAL], sets.rows[REAL], same=True)[0]
        near[sets.unit[GENERATED]] = _nearest(sets.rows[GENERATED], sets.rows[REAL], same=False)[0]
        columns["nearest real"] = near
        if _enough(sets):
            for unit, f in zip(sets.unit, Frechet().moved(sets, weights), strict=True):
                if f is not None:
                    moves[unit] = f / max(len(f), 1)
            columns["moves FID by"] = moves
    x = "nearest real" if "nearest real" in columns else ""
    return Listing("vectors", "Vectors", columns, "set", x)
