"""What is shown beside panoptic scores: a row for each class, PQ by class, and the images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.figure import Array, Figure, Listing, Texts, worst_and_best
from steelyard.core.metric import Metric
from steelyard.core.numerals import as_spec
from steelyard.core.plan import POINT, UNITS
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.maps.raster import MOST_SIDE, colour
from steelyard.tasks.panoptic.data import PanopticPairs
from steelyard.tasks.panoptic.explain import explain
from steelyard.tasks.panoptic.picture import MEANINGS, pictures, scene
from steelyard.tasks.panoptic.quality import FN, FP, OVERLAP, THING, TP, PanopticQuality, SegmentCounts

MOST_CLASSES = 40
SHOWN = 6


def tables(pairs: PanopticPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """A row for each class."""
    return {"classes": lambda: class_table(state)} if SegmentCounts() in state.blocks else {}


def class_table(state: State) -> Table:
    """Segments and the three qualities of every class."""
    cells = state.totals(POINT)[SegmentCounts()][0]
    half = cells[:, TP] + 0.5 * (cells[:, FP] + cells[:, FN])
    columns = {
        "PQ": ratio(cells[:, OVERLAP], half),
        "SQ": ratio(cells[:, OVERLAP], cells[:, TP]),
        "RQ": ratio(cells[:, TP], half),
        "TP": cells[:, TP],
        "FP": cells[:, FP],
        "FN": cells[:, FN],
        "thing": (cells[:, THING] > 0).astype(float),
    }
    names = state.facts.axes["class"].shown
    return Table("classes", "Classes", "class", names, tuple(columns), np.stack(list(columns.values()), axis=1))


def figures(pairs: PanopticPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The images with the most wrong segments, and PQ by class."""
    if SegmentCounts() not in state.blocks or not len(state):
        return {}
    return {"maps": lambda: maps(pairs, state), "pq_class": lambda: pq_by_class(state)}


def maps(pairs: PanopticPairs, state: State) -> Figure:
    """Truth, prediction and what became of segments, of the images with the most that are missed or false."""
    cells = state.totals(UNITS)[SegmentCounts()].sum(axis=1)
    wrong = cells[:, FP] + cells[:, FN]
    columns: dict[str, list[Any]] = {"image": [], "cost": [], "truth": [], "prediction": [], "segments": []}
    seen: set[int] = set()
    for unit in np.argsort(-wrong, kind="stable")[:SHOWN].tolist():
        images, classes, _ = pictures(pairs, int(np.flatnonzero(pairs.owner == unit)[0]), MOST_SIDE)
        seen |= set(classes)
        columns["image"].append(str(pairs.units[unit]))
        columns["cost"].append(float(wrong[unit]))
        for name, png in zip(("truth", "prediction", "segments"), images, strict=True):
            columns[name].append(png)
    names = state.facts.axes["class"].shown
    legend = [[names[code], colour(code)] for code in sorted(seen)][:MOST_CLASSES]
    rows = np.array(columns["cost"])[:, np.newaxis]
    table = Table("maps", "Images", "image", tuple(columns["image"]), ("missed and false segments",), rows)
    return Figure(
        "maps",
        "rasters",
        "Images with the most missed and false segments",
        columns,
        {"panels": ["truth", "prediction", "segments"], "legend": [*legend, *map(list, MEANINGS)]},
        "Segments of the truth, of the prediction, and what became of them. The number is of missed and false ones.",
        table,
    )


def pq_by_class(state: State) -> Figure:
    """PQ of each class, the worst first."""
    table = class_table(state)
    pq = table.values[:, 0]
    order = [int(k) for k in np.argsort(np.where(np.isnan(pq), np.inf, pq), kind="stable") if not np.isnan(pq[k])]
    kept, more = worst_and_best(order)
    columns: dict[str, Any] = {"name": [table.rows[k] for k in kept], "value": pq[kept]}
    columns |= {"SQ": table.values[kept, 1], "RQ": table.values[kept, 2]}
    said = f"The worst first. PQ is SQ times RQ.{more}"
    return Figure("pq_class", "bars", "PQ by class", columns, {"x": "PQ"}, said, table)


def class_metrics(state: State) -> Mapping[str, Metric]:
    """PQ of each class."""
    names = state.facts.axes["class"].shown
    return {name: PanopticQuality(only=as_spec(name)) for name in names[:MOST_CLASSES]}


def listing(pairs: PanopticPairs, state: State) -> Listing | None:
    """Every image with its own counts."""
    if SegmentCounts() not in state.blocks:
        return None
    cells = state.totals(UNITS)[SegmentCounts()].sum(axis=1)
    columns: dict[str, Array | Texts] = {
        "image": Texts.of([str(unit) for unit in state.units.ids.tolist()]),
        "pairs": cells[:, TP],
        "false": cells[:, FP],
        "missed": cells[:, FN],
        "mean IoU of pairs": ratio(cells[:, OVERLAP], cells[:, TP]),
        "PQ of all its segments": ratio(cells[:, OVERLAP], cells[:, TP] + 0.5 * (cells[:, FP] + cells[:, FN])),
    }
    return Listing("images", "Images", columns, x="PQ of all its segments")


__all__ = ["class_metrics", "explain", "figures", "listing", "scene", "tables"]
