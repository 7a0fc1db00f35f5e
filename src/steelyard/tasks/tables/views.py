"""What the page of tables shows: TEDS by size, outcomes of cells, and both tables side by side with their edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.scene import RasterShape, Scene
from steelyard.core.state import State
from steelyard.core.table import Table
from steelyard.maps.raster import indexed_png
from steelyard.tasks.tables.data import TablePairs
from steelyard.tasks.tables.explain import explain as explain
from steelyard.tasks.tables.paths import OUTCOMES, edit_path, in_words
from steelyard.tasks.tables.trees import Table as HtmlTable
from steelyard.tasks.tables.trees import parse_tables, scan, tree_scores

BINS = 20
MOST_PATHS = 2000  # tables whose cells are counted by outcome
COLOURS = {"right": "c9e7cf", "text": "f3d98b", "span": "f0a35e", "lost": "d9646a", "new": "8aa9e0"}
WIDE, HIGH = 24, 14  # pixels of a place
EMPTY, LINE = "ffffff", "5f6670"


def _sizes(pairs: TablePairs) -> Array:
    """Cells of each true table."""
    return scan(pairs.texts()[0])[:, 3]


def tables(pairs: TablePairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Cells by outcome."""
    return {"cells": lambda: cell_outcomes(pairs)} if len(pairs.owner) else {}


def cell_outcomes(pairs: TablePairs) -> Table:
    """How many cells are right, have another text or span, are lost or new, by the edits of TEDS."""
    counts: Counter[str] = Counter()
    for truth, reply in list(zip(*pairs.texts(), strict=True))[:MOST_PATHS]:
        path = edit_path(truth, reply)
        if path is None:
            counts["lost"] += int(scan([truth])[0, 3])
            continue
        counts.update(path.true_cells)
        counts["new"] += path.reply_cells.count("new")
    values = np.array([[counts[name]] for name in OUTCOMES], dtype=float)
    return Table("cells", "Cells by outcome", "outcome", OUTCOMES, ("cells",), values)


def figures(pairs: TablePairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures."""
    if not len(pairs.owner):
        return {}
    return {"scores": lambda: score_histogram(pairs), "sizes": lambda: score_by_size(pairs)}


def score_histogram(pairs: TablePairs) -> Figure:
    """TEDS of the tables."""
    scores, _ = tree_scores(*pairs.texts())
    counts, edges = np.histogram(np.clip(scores, 0, 1), bins=BINS, range=(0.0, 1.0))
    return Figure(
        "scores",
        "histogram",
        "TEDS of the tables",
        {"low": edges[:-1], "high": edges[1:], "count": counts},
        {"x": "TEDS", "y": "tables"},
        "Tables without a reply are at 0, and so are scores below 0.",
    )


def score_by_size(pairs: TablePairs) -> Figure:
    """Median TEDS of tables by their number of cells, and the middle half of them."""
    scores, _ = tree_scores(*pairs.texts())
    sizes = _sizes(pairs)
    bounds = np.unique(np.quantile(sizes, np.linspace(0, 1, 9)).astype(int))
    part = np.clip(np.searchsorted(bounds, sizes, side="right") - 1, 0, max(len(bounds) - 2, 0))
    x, y, low, high = [], [], [], []
    for place in np.unique(part).tolist():
        own = scores[part == place]
        x.append(float(np.median(sizes[part == place])))
        y.append(float(np.median(own)))
        low.append(float(np.quantile(own, 0.25)))
        high.append(float(np.quantile(own, 0.75)))
    columns = {"x": x, "y": y, "low": low, "high": high, "series": ["TEDS"] * len(x)}
    return Figure(
        "sizes",
        "curves",
        "TEDS by the size of the table",
        columns,
        {"x": "cells of the true table", "y": "TEDS"},
        "Tables in groups of like size: the median of each, and its middle half.",
    )


def listing(pairs: TablePairs, state: State) -> Listing:
    """Every table with its scores and its first edits."""
    truths, replies = pairs.texts()
    scores, status = tree_scores(truths, replies)
    structure, _ = tree_scores(truths, replies, structure=True)
    states = np.where(pairs.prediction_row < 0, 2, np.where(status == 0, 0, 1))
    words = [_words(a, b) for a, b in zip(truths[:MOST_PATHS], replies, strict=False)]
    columns: dict[str, Array | Texts] = {
        "table": Texts.of(pairs.truth_column("table")),
        "reply": Texts(states.astype(np.int64), ["a table", "not a table", "none"]),
        "cells": _sizes(pairs),
        "TEDS": scores,
        "TEDS, structure": structure,
        "edits": Texts.of([*words, *[""] * (len(truths) - len(words))]),
    }
    return Listing("tables", "Tables one by one", columns, "reply", "TEDS")


def _words(truth: str, reply: str) -> str:
    path = edit_path(truth, reply)
    return "the reply holds no table" if path is None else in_words(path)


def scene(pairs: TablePairs, unit: int, metric: Metric) -> Scene:
    """Both tables side by side, their cells coloured by the edits, and these in words."""
    place = int(np.flatnonzero(pairs.owner == unit)[0])
    truths, replies = pairs.texts()
    path = edit_path(truths[place], replies[place])
    name = str(pairs.truth_column("table")[place])
    if path is None:
        true = parse_tables(truths[place])[0]
        lost = (_raster("Truth", true, ["lost"] * len(true.cells)),)
        summary = "The reply holds no table that can be compared."
        return Scene(f"Table {name}", summary, (), None, (), lost, (("lost", COLOURS["lost"]),))
    rasters = (
        _raster("Truth", path.truth, path.true_cells),
        _raster("Reply", path.reply, path.reply_cells),
    )
    legend = tuple((outcome, COLOURS[outcome]) for outcome in OUTCOMES)
    return Scene(f"Table {name}", in_words(path), (), None, (name.rsplit(".", 1)[0],), rasters, legend)


def _raster(title: str, table: HtmlTable, outcomes: Sequence[str]) -> RasterShape:
    """Cells as coloured fields with a line around each."""
    high, wide = max(table.rows, 1), max(table.columns, 1)
    grid = np.zeros((high * HIGH + 1, wide * WIDE + 1), dtype=np.uint8)
    colours = [EMPTY, LINE, *(COLOURS[outcome] for outcome in OUTCOMES)]
    for cell, outcome in zip(table.cells, outcomes, strict=True):
        top, left = cell.row * HIGH, cell.column * WIDE
        bottom, right = (cell.row + cell.rowspan) * HIGH + 1, (cell.column + cell.colspan) * WIDE + 1
        grid[top:bottom, left:right] = 1
        grid[top + 1 : bottom - 1, left + 1 : right - 1] = 2 + OUTCOMES.index(outcome)
    return RasterShape(title, indexed_png(grid, colours), grid.shape[1], grid.shape[0])
