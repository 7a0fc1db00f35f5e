"""Figure and Listing: what a page shows beside numbers, as typed columns. How it is drawn is the report's business."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.frozen import Frozen
from steelyard.core.table import Table

Array = NDArray[Any]
MOST_POINTS = 1000  # of a cloud; more are counted in cells
CELLS = 40
MOST_BARS = 24  # of classes: more are shown as the worst and the best of them
NEAR = 1e-9  # of their size: numbers no farther apart are drawn as equal ones


class Figure(Frozen):
    """The data of one picture.

    `chart` says how it is drawn, `columns` are as long as each other (numbers, or lists of texts), `facts` hold for the
    whole picture (the unit of measure, a limit). `caption` tells how to read it. `table` says the same in numbers for
    whoever cannot see it; without one the columns themselves do.
    """

    name: str
    chart: str
    title: str
    columns: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    caption: str = ""
    table: Table | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __repr__(self) -> str:
        return f"Figure({self.name}: {self.title}; {len(self):,} rows of {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        html: str = import_module("steelyard.render.notebook").figure_html(self)
        return html


class Texts(Frozen):
    """A column of texts of which many are alike: a place in `names` for each row."""

    codes: Array
    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.codes)

    @staticmethod
    def of(values: Sequence[Any] | Array) -> Texts:
        """Texts from values one by one, named in the order in which they come."""
        place: dict[str, int] = {}
        codes = np.fromiter((place.setdefault(str(v), len(place)) for v in values), np.int64, len(values))
        return Texts(codes, list(place))


class Listing(Frozen):
    """Rows that a reader may look through: typed columns, all as long as each other."""

    name: str
    title: str
    columns: Mapping[str, Array | Texts]
    colour: str = ""  # the column of few texts by which a picture is coloured
    x: str = ""  # the column of numbers that a picture shows first

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


def worst_and_best(order: Sequence[int], most: int = MOST_BARS) -> tuple[list[int], str]:
    """Of many in an order, the worst first, both ends of it, and the sentence that says so."""
    if len(order) <= most:
        return list(order), ""
    half = most // 2
    remark = f" The worst {half} and the best {half} of {len(order):,}; the table has all."
    return [*order[:half], *order[-half:]], remark


def are_near(values: Array) -> bool:
    """Whether numbers are equal, or so near to each other that bins between them would have no width."""
    low, high = float(values.min()), float(values.max())
    return high - low <= NEAR * max(abs(low), abs(high))


def wide_range(values: Array) -> tuple[float, float]:
    """The lowest and the highest number, set apart where they are equal or near to it: bins fit between."""
    low, high = float(values.min()), float(values.max())
    apart = max(0.5, 1e-6 * max(abs(low), abs(high))) if are_near(values) else 0.0
    return low - apart, high + apart


def points_or_cells(x: Array, y: Array) -> dict[str, Array]:
    """The points, or where there are too many to draw, how many lie in each cell of a grid."""
    if len(x) <= MOST_POINTS:
        return {"x": x, "y": y}
    counts, xs, ys = np.histogram2d(x, y, bins=CELLS, range=[wide_range(x), wide_range(y)])
    i, j = np.nonzero(counts)
    return {"x": xs[i], "x2": xs[i + 1], "y": ys[j], "y2": ys[j + 1], "count": counts[i, j]}
