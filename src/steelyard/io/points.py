"""A cell that holds points: a polygon, a contour."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from steelyard.core.errors import InvalidFile
from steelyard.core.records import Array
from steelyard.io.table import Table

_REMEDY = "Write x and y in turn, as 1.5 2 3 4 or as [[1.5, 2], [3, 4]]."


def points_column(table: Table, name: str, values: Array) -> Array:
    """Each cell as an array (points, 2), or None where it is empty."""
    points: Array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values.tolist()):
        problem = ""
        try:
            points[row] = parse_points(value)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            problem = str(error) or "it cannot be read"
        if problem:
            text = value if isinstance(value, str) else "the cell"
            shown = f"'{text if len(text) <= 40 else text[:37] + '...'}'" if isinstance(value, str) else text
            raise InvalidFile(
                f"{shown} holds no points: {problem}", where=f"{table.place(row)}, column '{name}'", remedy=_REMEDY
            )
    return points


def parse_points(value: Any) -> Array | None:
    """Points from a list of pairs, a flat list of numbers, or a text of either. Raises ValueError."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, str):
        if not value.strip():
            return None
        value = _from_text(value)
    points = np.asarray(value, dtype=np.float64)
    if points.ndim == 1:
        if len(points) % 2:
            raise ValueError(f"{len(points)} numbers make no pairs")
        points = points.reshape(-1, 2)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"its shape is {' x '.join(map(str, points.shape))}, not points x 2")
    if not np.isfinite(points).all():
        raise ValueError("a coordinate is not finite")
    return points


def _from_text(text: str) -> Any:
    if text.lstrip().startswith("["):
        import json

        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"not valid JSON at character {error.pos}") from None
    return [float(part) for part in re.split(r"[\s,;]+", text.strip(" \t\r\n,;"))]
