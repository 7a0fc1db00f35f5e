"""Codes of ids and labels that columns share, without making a Python string of every row."""

from __future__ import annotations

import numpy as np

from steelyard import _native
from steelyard.core.pairs import Array
from steelyard.core.records import as_object, factorize


def codes(*columns: Array) -> tuple[Array, list[Array]]:
    """The sorted distinct values, and each column as positions in them, as `factorize` gives them.

    Of texts only the distinct ones are compared and sorted as Python strings.
    """
    distinct, local = [], []
    for column in columns:
        part = _native.factor_texts(column.tolist()) if column.dtype == object else None
        if column.dtype.kind == "U":
            wide = np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("=") if column.dtype.itemsize else "U1")
            part = _native.factor_rows(wide.view(np.uint32).reshape(len(wide), wide.dtype.itemsize // 4))
        if part is None:
            return factorize(*columns)
        code, first = part
        distinct.append(as_object(column[first].tolist()))
        local.append(code)
    names, places = factorize(*distinct)
    return names, [place[code] for place, code in zip(places, local, strict=True)]
