"""What the page of grounding shows: how boxes overlap, where their centres lie, outcomes of replies, and images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.scene import BoxShape, Scene
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.tasks.grounding.data import GroundingPairs
from steelyard.tasks.grounding.explain import explain as explain
from steelyard.tasks.grounding.overlap import Rule
from steelyard.tasks.grounding.sums import cells, chosen, similarities

BINS = 20
MOST = 4000  # points of a cloud


def _best(pairs: GroundingPairs) -> Array:
    """The largest IoU of each expression that names something; nan for others."""
    cache = SharedCache()
    of = cells(pairs, cache)
    best = np.where(pairs.targets > 0, 0.0, np.nan)
    np.maximum.at(best, of.expression, similarities(pairs, cache, Rule()))
    return best


def tables(pairs: GroundingPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Outcomes of the replies, and presence."""
    return {"outcomes": lambda: _outcomes(pairs), "presence": lambda: _presence(pairs)}


def _outcomes(pairs: GroundingPairs) -> Table:
    said = pairs.prediction_row >= 0
    names = np.full(len(said), "no reply", dtype=object)
    if said.any():
        names[said] = pairs.outcomes[pairs.prediction_row[said]]
    kinds, counts = np.unique(names.astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return Table(
        "outcomes",
        "Outcomes of the replies",
        "outcome",
        tuple(kinds[order].tolist()),
        ("expressions",),
        counts[order].astype(float)[:, np.newaxis],
    )


def _presence(pairs: GroundingPairs) -> Table:
    there, said, answered = pairs.targets > 0, pairs.replies > 0, pairs.answered
    counts = [[int((kind & reply).sum()) for reply in (said, ~said & answered, ~answered)] for kind in (there, ~there)]
    return Table(
        "presence",
        "Presence: what the expression names and what the reply does",
        "truth",
        ("something", "nothing"),
        ("something found", "nothing found", "no answer"),
        np.array(counts, dtype=float),
    )


def figures(pairs: GroundingPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures."""
    if not len(pairs.owner) or not len(pairs.predicted.box) or np.isnan(pairs.predicted.box[:, 0]).all():
        return {}
    made: dict[str, Callable[[], Figure]] = {"overlaps": lambda: overlap_histogram(pairs)}
    if "one" in pairs.held:
        made["corners"] = lambda: corner_agreement(pairs)
    return made


def overlap_histogram(pairs: GroundingPairs) -> Figure:
    """How much boxes overlap the true ones."""
    best = _best(pairs)
    counts, edges = np.histogram(best[~np.isnan(best)], bins=BINS, range=(0.0, 1.0))
    return Figure(
        "overlaps",
        "histogram",
        "Overlap with the true box",
        {"low": edges[:-1], "high": edges[1:], "count": counts},
        {"x": "IoU", "y": "expressions"},
        "The largest IoU of each expression that names something; 0 where nothing was found.",
    )


def corner_agreement(pairs: GroundingPairs) -> Figure:
    """Predicted against true coordinates: another slope than 1 shows another coordinate space."""
    predicted, _ = chosen(pairs, SharedCache(), Rule(), "first")
    place = np.flatnonzero(predicted >= 0)[:MOST]
    true = pairs.true.box[pairs.true.begin[pairs.truth_row[place]]]
    return Figure(
        "corners",
        "agreement",
        "Coordinates of the boxes",
        {"x": true.ravel(), "y": pairs.predicted.box[predicted[place]].ravel()},
        {"x": "true coordinate (pixels)", "y": "predicted coordinate (pixels)"},
        "All four coordinates of each box. Points along another line than the diagonal show another coordinate space.",
    )


def listing(pairs: GroundingPairs, state: State) -> Listing:
    """Every expression with its outcome."""
    best = _best(pairs)
    words = pairs.truth["text" if "text" in pairs.truth else "expression"][pairs.truth_row]
    images = pairs.truth["image"][pairs.truth_row]
    texts, codes = np.unique(words.astype(str), return_inverse=True)
    names, image = np.unique(images.astype(str), return_inverse=True)
    columns: dict[str, Array | Texts] = {
        "image": Texts(image.astype(np.int64), names.tolist()),
        "expression": Texts(codes.astype(np.int64), texts.tolist()),
        "answer": Texts(pairs.answered.astype(np.int64), ["none that can be read", "read"]),
        "objects": pairs.targets,
        "found": pairs.replies,
        "IoU": best,
    }
    return Listing("expressions", "Expressions", columns, "answer", "IoU")


def scene(pairs: GroundingPairs, unit: int, metric: Metric) -> Scene:
    """The true and found boxes of all expressions of an image."""
    places = np.flatnonzero(pairs.owner == unit)
    of, cache = cells(pairs, SharedCache()), SharedCache()
    value = similarities(pairs, cache, Rule())
    hits = of.expression[value >= 0.5]
    shapes: list[BoxShape] = []
    for number, place in enumerate(places.tolist(), 1):
        group, reply = int(pairs.truth_row[place]), int(pairs.prediction_row[place])
        hit = bool((hits == place).any())
        for x1, y1, x2, y2 in pairs.true.box[pairs.true.begin[group] : pairs.true.begin[group + 1]].tolist():
            shapes.append(BoxShape("truth", x1, y1, x2 - x1, y2 - y1, str(number), hit))
        if reply >= 0:
            for x1, y1, x2, y2 in pairs.predicted.box[
                pairs.predicted.begin[reply] : pairs.predicted.begin[reply + 1]
            ].tolist():
                if x1 == x1:
                    shapes.append(BoxShape("prediction", x1, y1, x2 - x1, y2 - y1, str(number), hit))
    name = "text" if "text" in pairs.truth else "expression"
    words = "; ".join(
        f"{number} {pairs.truth[name][pairs.truth_row[place]]}" for number, place in enumerate(places.tolist(), 1)
    )
    image = str(pairs.truth["image"][pairs.truth_row[places[0]]]) if len(places) else str(pairs.units[unit])
    size = pairs.size[pairs.truth_row[places[0]]] if len(places) else np.full(2, np.nan)
    bounds = None if np.isnan(size).any() else (0.0, 0.0, float(size[0]), float(size[1]))
    return Scene(f"Image {image}", words[:400], tuple(shapes), bounds, (image.rsplit(".", 1)[0],))
