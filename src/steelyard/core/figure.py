"""Figure and Listing: what a page shows beside numbers, as typed columns. How it is drawn is the report's business."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.frozen import frozen
from steelyard.core.table import Table

Array = NDArray[Any]
MOST_POINTS = 1000  # of a cloud; more are counted in cells
CELLS = 40


@frozen
class Figure:
    """The data of one picture.

    `kind` says how it is drawn, `columns` are as long as each other (numbers, or lists of texts), `facts` hold for the
    whole picture (the unit of measure, a limit). `caption` tells how to read it. `table` says the same in numbers for
    whoever cannot see it; without one the columns themselves do.
    """

    name: str
    kind: str
    title: str
    columns: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    caption: str = ""
    table: Table | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


@frozen
class Texts:
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


@frozen
class Listing:
    """Rows that a reader may look through: typed columns, all as long as each other."""

    name: str
    title: str
    columns: Mapping[str, Array | Texts]
    colour: str = ""  # the column of few texts by which a picture is coloured
    x: str = ""  # the column of numbers that a picture shows first

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


def points_or_cells(x: Array, y: Array) -> dict[str, Array]:
    """The points, or where there are too many to draw, how many lie in each cell of a grid."""
    if len(x) <= MOST_POINTS:
        return {"x": x, "y": y}
    counts, xs, ys = np.histogram2d(x, y, bins=CELLS)
    i, j = np.nonzero(counts)
    return {"x": xs[i], "x2": xs[i + 1], "y": ys[j], "y2": ys[j + 1], "count": counts[i, j]}
