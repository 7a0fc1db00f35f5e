"""Data that is in memory already: pandas, polars, pyarrow, or a mapping of arrays. None of them is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.records import as_object
from steelyard.io.table import Array, Table


def from_memory(data: Any, source: str) -> Table:
    """Take a data frame or a mapping of arrays for what it is."""
    library = type(data).__module__.partition(".")[0]
    if library == "pandas" and hasattr(data, "columns"):
        return _table({str(name): data[name].to_numpy() for name in data.columns}, source)
    if library == "polars" and hasattr(data, "get_column"):
        return _table({name: data.get_column(name).to_numpy() for name in data.columns}, source)
    if library == "pyarrow" and hasattr(data, "column_names"):
        return from_arrow(data, source)
    if isinstance(data, Mapping):
        columns = {name: part for key, values in data.items() for name, part in _wide(str(key), values)}
        return _table({name: _array(values, name, source) for name, values in columns.items()}, source)
    raise InputError(
        f"{type(data).__name__} is not data that can be read",
        where=source,
        remedy="Give a path, a data frame (pandas, polars, pyarrow) or a dict of arrays.",
    )


def from_arrow(data: Any, source: str) -> Table:
    """Take a pyarrow table."""
    return _table({name: data.column(name).to_numpy(zero_copy_only=False) for name in data.column_names}, source)


def _wide(name: str, values: Any) -> list[tuple[str, Any]]:
    """A matrix is one column a class, `name:0` on; a mapping inside the mapping is one a class by its key."""
    if isinstance(values, Mapping):
        return [(f"{name}:{key}", part) for key, part in values.items()]
    if getattr(values, "ndim", 1) == 2 and hasattr(values, "__array__"):
        return [(f"{name}:{i}", part) for i, part in enumerate(np.asarray(values).T)]
    return [(name, values)]


def _array(values: Any, name: str, source: str) -> Array:
    if hasattr(values, "__array__"):
        array = np.asarray(values)
    elif isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise InputError(f"column '{name}' is not an array", where=source, remedy="Give one value a row.")
    elif len(values) and set(map(type, values)) <= {int, float}:
        array = np.asarray(values)
    else:
        array = as_object(list(values))
    if array.ndim != 1:
        raise InputError(f"column '{name}' has {array.ndim} dimensions", where=source, remedy="Give one value a row.")
    return array


def _table(columns: dict[str, Array], source: str) -> Table:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        (a, n), (b, m) = sorted(lengths.items(), key=lambda pair: pair[1])[:: len(lengths) - 1]
        raise InputError(f"column '{a}' has {n} rows and '{b}' has {m}", where=source)
    return Table(source, columns)
