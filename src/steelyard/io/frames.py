"""Data that is in memory already: pandas, polars, pyarrow, or a mapping of arrays. None of them is imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import DuplicateKey, InvalidValue, ShapeMismatch
from steelyard.core.plain import to_numpy
from steelyard.core.records import as_object
from steelyard.io.table import Array, Table


def from_memory(data: Any, source: str) -> Table:
    """Take a data frame or a mapping of arrays for what it is."""
    library = type(data).__module__.partition(".")[0]
    if library == "pandas" and hasattr(data, "columns"):
        refuse_equal(data.columns, source)
        return _table({str(name): cells(data[name]) for name in data.columns}, source)
    if library == "polars" and hasattr(data, "get_column"):
        return _table({name: cells(data.get_column(name)) for name in data.columns}, source)
    if library == "pyarrow" and hasattr(data, "column_names"):
        return from_arrow(data, source)
    if isinstance(data, Mapping):
        columns = {name: part for key, values in data.items() for name, part in _wide(str(key), to_numpy(values))}
        return _table({name: _array(values, name, source) for name, values in columns.items()}, source)
    raise InvalidValue(
        f"{type(data).__name__} is not data that can be read",
        where=source,
        remedy="Give a path, a data frame (pandas, polars, pyarrow), an Arrow stream or a dict of arrays.",
    )


def from_arrow(data: Any, source: str) -> Table:
    """Take a pyarrow table."""
    refuse_equal(data.column_names, source)
    return _table({name: cells(data.column(name)) for name in data.column_names}, source)


def cells(column: Any) -> Array:
    """The values of a frame's column, of pandas, polars or pyarrow.

    A missing value is None, or nan in a column of floating-point numbers. Whole numbers stay whole beside missing ones,
    and dates and times are texts in ISO 8601, in UTC where they have a time zone.
    """
    library = type(column).__module__.partition(".")[0]
    if library == "pyarrow":
        return _arrow_cells(column)
    return _polars_cells(column) if library == "polars" else _pandas_cells(column)


def _arrow_cells(column: Any) -> Array:
    import pyarrow
    from pyarrow import types

    parts = column.chunks if isinstance(column, pyarrow.ChunkedArray) else [column]
    kind = column.type
    while types.is_dictionary(kind) or isinstance(kind, pyarrow.BaseExtensionType):
        # pyarrow's to_numpy takes the last category of a dictionary for a missing value
        parts = [part.dictionary_decode() if types.is_dictionary(kind) else part.storage for part in parts]
        kind = kind.value_type if types.is_dictionary(kind) else kind.storage_type
    if types.is_run_end_encoded(kind):
        import pyarrow.compute

        kind = kind.value_type
        parts = [pyarrow.compute.run_end_decode(part) for part in parts]
    whole = pyarrow.chunked_array(parts, type=kind)
    if types.is_integer(kind) and whole.null_count:
        return as_object(whole.to_pylist())  # a float does not hold every whole number
    return _times_as_text(whole.to_numpy(), zoned=getattr(kind, "tz", None) is not None)


def _polars_cells(column: Any) -> Array:
    kind = column.dtype
    listed = type(kind).__name__ in ("Struct", "Array", "Null")  # as arrays they have two dimensions, or are floats
    if listed or (kind.is_integer() and column.null_count()):
        return as_object(column.to_list())
    return _times_as_text(column.to_numpy(), zoned=getattr(kind, "time_zone", None) is not None)


def _pandas_cells(column: Any) -> Array:
    kind = column.dtype
    values = np.asarray(column.to_numpy())
    if isinstance(kind, np.dtype) and values.dtype != object:
        return _times_as_text(values, zoned=False)
    missing = column.isna().to_numpy(dtype=bool)
    if values.dtype.kind == "f" and getattr(getattr(kind, "categories", column), "dtype", kind).kind in "iu":
        values = column.astype(object).to_numpy()  # a float does not hold every whole number
    if values.dtype == object and missing.any():
        values = values.copy()
        values[missing] = None
    return _times_as_text(values, zoned=False)


def _times_as_text(values: Array, *, zoned: bool) -> Array:
    """The values with times as texts. Those of a zone are in UTC, in arrays of NumPy without saying so."""
    if values.dtype.kind not in "MmO":
        return values
    first = next((value for value in values.flat if value is not None), None) if values.dtype == object else None
    if values.dtype == object and not isinstance(first, date | time | timedelta):
        return values
    empty = np.isnat(values) if values.dtype != object else np.array([value is None for value in values.tolist()])
    texts = as_object([None] * len(values))
    for row in np.flatnonzero(~empty).tolist():
        texts[row] = _time_text(values[row]) + ("+00:00" if zoned else "")
    return texts


def _time_text(value: Any) -> str:
    """A date or a time as ISO 8601 writes it, without zeros after the seconds; a duration as Python writes it."""
    if isinstance(value, np.timedelta64):
        value = value.astype("timedelta64[us]").item()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        text, zone = value.astimezone(UTC).replace(tzinfo=None).isoformat(), "+00:00"
    else:
        text, zone = str(value) if isinstance(value, np.datetime64) else value.isoformat(), ""
    return (text.rstrip("0").rstrip(".") if "." in text else text) + zone


def _wide(name: str, values: Any) -> list[tuple[str, Any]]:
    """A matrix is one column per class, `name:0` on; a mapping inside the mapping is one per class by its key.

    A matrix of one column is that column: it is not the first of several classes.
    """
    if isinstance(values, Mapping):
        return [(f"{name}:{key}", to_numpy(part)) for key, part in values.items()]
    if getattr(values, "ndim", 1) == 2 and hasattr(values, "__array__"):
        table = values if _may_be_masked(values) else np.asarray(values)
        if table.shape[1] == 1:
            return [(name, table[:, 0])]
        return [(f"{name}:{i}", part) for i, part in enumerate(table.T)]
    return [(name, values)]


def refuse_equal(names: Iterable[Any], source: str) -> None:
    """Raise where two columns have the same name."""
    seen: set[str] = set()
    for name in map(str, names):
        if name in seen:
            raise DuplicateKey(f"column '{name}' appears twice", where=source, remedy="Rename one of them.")
        seen.add(name)


def _may_be_masked(values: Any) -> bool:
    """Whether it is a masked array. There is none before its module is loaded, which is slow."""
    return "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray)


def _array(values: Any, name: str, source: str) -> Array:
    if _may_be_masked(values) and np.ma.is_masked(values):
        array = as_object(values.tolist())  # None where a value is masked: an empty cell
    elif hasattr(values, "__array__"):
        array = np.asarray(values)
    elif isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise InvalidValue(f"column '{name}' is not an array", where=source, remedy="Give one value per row.")
    elif len(values) and set(map(type, values)) <= {int, float}:
        array = np.asarray(values)
    else:
        array = as_object(list(values))
    if array.ndim != 1:
        raise ShapeMismatch(
            f"column '{name}' has {array.ndim} dimensions", where=source, remedy="Give one value per row."
        )
    return _times_as_text(array, zoned=False)


def _table(columns: dict[str, Array], source: str) -> Table:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        (a, n), (b, m) = sorted(lengths.items(), key=lambda pair: pair[1])[:: len(lengths) - 1]
        raise ShapeMismatch(f"column '{a}' has {count_text(n, 'row')} and '{b}' has {m}", where=source)
    return Table(source, columns)


FRAMES = ("pandas", "polars", "pyarrow")


def is_frame(data: Any) -> bool:
    """Whether the data is a frame of a library that we know."""
    library = type(data).__module__.partition(".")[0]
    return library in FRAMES and not hasattr(data, "collect") and hasattr(data, "columns")


class _Lazy(Mapping[str, Array]):
    """A frame's columns, each turned into an array when it is asked for."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        names = frame.column_names if hasattr(frame, "column_names") else frame.columns
        self.names = {str(name): name for name in names}

    def __getitem__(self, name: str) -> Array:
        return cells(self.frame[self.names[name]])

    def __contains__(self, name: object) -> bool:
        return name in self.names  # the default would convert the column to find out

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def lazy_frame(frame: Any, source: str) -> Table:
    """A frame as a table that converts only the columns that are used."""
    refuse_equal(frame.column_names if hasattr(frame, "column_names") else frame.columns, source)
    return Table(source, _Lazy(frame))


def arrow_text(frame: Any, name: str) -> tuple[Array, Array] | None:
    """A column of texts as Arrow holds it, without a copy: the bytes and where each text begins, and the end.

    None where the frame has no such column, or cells are empty.
    """
    library = type(frame).__module__.partition(".")[0]
    if library not in FRAMES:
        return None
    try:
        import pyarrow
    except ImportError:
        return None
    if library == "pandas":
        column = getattr(frame[name].array, "__arrow_array__", lambda: None)()
    elif library == "polars":
        column = frame.get_column(name).to_arrow()
    else:
        column = frame.column(name)
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
    if column is None or column.null_count:
        return None
    kind = column.type
    texts = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind) or str(kind) == "string_view"
    if not texts or isinstance(column, pyarrow.ChunkedArray):  # a column too long for one chunk
        return None
    if str(kind) == "string_view":
        column = column.cast(pyarrow.large_string())
    width = np.int32 if pyarrow.types.is_string(column.type) else np.int64
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, dtype=width)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    return np.frombuffer(data if data is not None else b"", dtype=np.uint8), places
