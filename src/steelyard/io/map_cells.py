"""Label maps in the cells of a table: paths, or arrays."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from steelyard.core.errors import EmptyCell, ShapeMismatch
from steelyard.core.plain import to_numpy
from steelyard.core.records import Array
from steelyard.io.dialect import note
from steelyard.io.table import Table
from steelyard.maps.arrays import pack_array
from steelyard.maps.load import as_grid, pack_map
from steelyard.maps.scores import ScoreRules, shape_text
from steelyard.maps.volume import labels_of_channels


def array_of(value: Any, where: str) -> Array:
    """An array, or rows within rows as a table of lists has them, or their JSON."""
    try:
        value = json.loads(value) if isinstance(value, str) else value
        grid = np.asarray(value)
        if grid.dtype == object:
            grid = np.array([np.asarray(array_of(row, where)) for row in grid.tolist()] if grid.ndim else None)
        if grid.dtype != object:
            return grid
    except (ValueError, TypeError, RecursionError):
        pass
    raise ShapeMismatch("no map: rows are of different lengths, or hold no numbers", where=where)


def map_column(table: Table, name: str, values: Array, volume: bool) -> Array:
    """Each cell as a path or as packed runs; a channel axis of 1 is dropped."""
    if volume:
        return volume_cells(table, name, values, scores=False)
    cells: Array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values.tolist() if values.dtype == object else list(values)):
        where = f"{table.place(row)}, column '{name}'"
        cells[row] = value
        if not is_path(value):
            cells[row] = pack_map(as_grid(ScoreRules().truth(array_of(to_numpy(value), where), where), where))
    return cells


def picture_column(table: Table, name: str, values: Array) -> Array:
    """Each cell as a path or as an array; rows within rows hold 8 or 16 bits, whichever holds all of them."""
    cells: Array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values.tolist() if values.dtype == object else list(values)):
        where = f"{table.place(row)}, column '{name}'"
        if isinstance(value, str) and value.strip() and not value.lstrip().startswith("[["):
            cells[row] = value.strip()
            continue
        if value is None or (isinstance(value, str) and not value.strip()):
            raise EmptyCell("the cell is empty", where=where, remedy="Give the path of a file, or an array.")
        value = to_numpy(value)
        grid = value if isinstance(value, np.ndarray) and value.dtype != object else None
        if grid is None and not isinstance(value, bytes):
            grid = array_of(value, where)
            if grid.dtype.kind in "iu" and grid.size and grid.min() >= 0 and grid.max() <= 65535:
                grid = grid.astype(np.uint8 if grid.max() <= 255 else np.uint16)
        cells[row] = value if grid is None else pack_array(grid, where)
    return cells


def volume_cells(table: Table, name: str, values: Array, scores: bool) -> Array:
    """Each volume as a path or as packed runs; channels become labels, and with `scores` they may be probabilities."""
    cells: Array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values.tolist() if values.dtype == object else list(values)):
        cells[row] = value
        if is_path(value):
            continue
        where = f"{table.place(row)}, column '{name}'"
        grid = array_of(to_numpy(value), where)
        if grid.ndim == 4:
            grid, remark = labels_of_channels(grid, where, scores)
            if remark:
                note(f"{table.source}: {remark}.")
        if grid.ndim not in (2, 3):
            remedy = "Give z × y × x or y × x, with channels in front at most."
            raise ShapeMismatch(f"a volume of shape {shape_text(grid)}", where=where, remedy=remedy)
        cells[row] = pack_map(as_grid(grid, where))
    return cells


def field_column(table: Table, name: str, values: Array) -> Array:
    """Each cell as a path or as a packed array; an empty one is an empty text."""
    from steelyard.maps.fields import pack_field  # few tasks have fields

    cells: Array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values.tolist() if values.dtype == object else list(values)):
        cells[row] = "" if value is None else value
        if not isinstance(cells[row], bytes | str) or cells[row][:2] == "[[":
            cells[row] = pack_field(_numbers_of(array_of(to_numpy(value), f"{table.place(row)}, column '{name}'")))
    return cells


def _numbers_of(array: Array) -> Array:
    """Whole numbers as they are, and fractions as numbers of 4 or 8 bytes."""
    return array.astype(np.float32) if array.dtype == np.float16 else array


def is_path(value: Any) -> bool:
    """Whether a cell names a file or is packed already."""
    return isinstance(value, bytes) or (isinstance(value, str) and bool(value) and not value.startswith("[["))


def predicted_cells(table: Table, name: str, rules: ScoreRules) -> Array:
    """Each predicted map as a path or as packed runs; scores of classes become the class with the highest."""
    values = table.columns[name]
    cells: Array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values.tolist() if values.dtype == object else list(values)):
        cells[row] = value
        if not is_path(value):
            where = f"{table.place(row)}, column '{name}'"
            cells[row] = pack_map(as_grid(rules.prediction(array_of(to_numpy(value), where), where), where))
    return cells
