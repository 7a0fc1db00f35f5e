"""What is shown beside panoptic scores: a row for each class, PQ by class, and the images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT, UNITS
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.metrics.panoptic.data import PanopticPairs
from steelyard.metrics.panoptic.quality import FN, FP, OVERLAP, THING, TP, PanopticQuality, SegmentCounts
from steelyard.metrics.segmentation.overlap import as_spec

MOST_CLASSES = 40


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
    """PQ by class, with its factors."""
    return {"pq_class": lambda: pq_by_class(state)} if SegmentCounts() in state.blocks and len(state) else {}


def pq_by_class(state: State) -> Figure:
    """PQ of each class, the worst first."""
    table = class_table(state)
    pq = table.values[:, 0]
    order = [int(k) for k in np.argsort(np.where(np.isnan(pq), np.inf, pq), kind="stable") if not np.isnan(pq[k])]
    kept = order[:MOST_CLASSES]
    columns: dict[str, Any] = {"name": [table.rows[k] for k in kept], "value": pq[kept]}
    columns |= {"SQ": table.values[kept, 1], "RQ": table.values[kept, 2]}
    return Figure("pq_class", "bars", "PQ by class", columns, {"x": "PQ"}, "The worst first. PQ is SQ times RQ.", table)


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
