"""Label maps in the cells of a table: paths, arrays, and scores of classes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.plain import to_numpy
from steelyard.core.records import Array
from steelyard.io.table import Table
from steelyard.maps.load import as_grid, pack_map


def shape_text(array: Array) -> str:
    """The shape of an array in words."""
    return "×".join(map(str, array.shape))


def _grid(value: Any, where: str) -> Array:
    """An array, or rows within rows as a table of lists has them, or their JSON."""
    try:
        value = json.loads(value) if isinstance(value, str) else value
        grid = np.asarray(value)
        if grid.dtype == object:
            grid = np.array([np.asarray(_grid(row, where)) for row in grid.tolist()] if grid.ndim else None)
        if grid.dtype != object:
            return grid
    except (ValueError, TypeError, RecursionError):
        pass
    raise InputError("no map: rows are of different lengths, or hold no numbers", where=where)


def map_column(table: Table, name: str, values: Array, volume: bool) -> Array:
    """Each cell as a path or as packed runs. Scores (classes × height × width) become the class with the highest."""
    cells: Array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values.tolist() if values.dtype == object else list(values)):
        where = f"{table.place(row)}, column '{name}'"
        if isinstance(value, bytes) or (isinstance(value, str) and value and not value.startswith("[[")):
            cells[row] = value
            continue
        grid = _grid(to_numpy(value), where)
        if grid.ndim == 3 and not volume:
            if grid.shape[2] < min(grid.shape[:2]) and grid.dtype.kind == "f" and grid.shape[0] > 4 * grid.shape[2]:
                turned = f"{grid.shape[2]}×{grid.shape[0]}×{grid.shape[1]}"
                raise InputError(
                    f"scores of shape {shape_text(grid)}", where=where, remedy=f"Classes come first: {turned}."
                )
            grid = grid.argmax(axis=0)
        if grid.ndim != 2 and not (volume and grid.ndim == 3):
            raise InputError(
                f"a map of shape {shape_text(grid)}",
                where=where,
                remedy="Give height × width" + (" (× depth)." * volume),
            )
        cells[row] = pack_map(as_grid(grid, where))
    return cells
