"""Tables that come batch by batch: whatever has Arrow's stream interface (`__arrow_c_stream__`), a polars LazyFrame.

DuckDB relations, polars LazyFrames and pyarrow data sets are asked for the wanted columns only. Other streams hand over
whole batches; of each, the wanted columns are copied and the rest is released before the next is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any

import numpy as np

from steelyard.core.errors import InvalidValue, MissingExtra, SteelyardError
from steelyard.core.records import Array, as_object
from steelyard.io.frames import FRAMES, cells, refuse_equal
from steelyard.io.table import Table

BATCH = 1 << 16  # rows, where a library lets us choose

Wanted = Callable[[str], bool]


def is_stream(data: Any) -> bool:
    """Whether data are a table that comes in batches, and not a data frame in memory."""
    if isinstance(data, str | PathLike | dict | list | tuple | np.ndarray):
        return False
    library = _library(data)
    if library == "polars":
        return hasattr(data, "collect_batches") or hasattr(data, "collect")
    if library == "pyarrow":
        return hasattr(data, "read_next_batch") or hasattr(data, "scanner")
    return library not in FRAMES and hasattr(type(data), "__arrow_c_stream__")


def read_stream(data: Any, source: str, wanted: Wanted = lambda name: True) -> Table:
    """Read the columns of a stream that are wanted, batch by batch."""
    try:
        every, names, batches = _opened(data, source, wanted)
        parts: dict[str, list[Array]] = {name: [] for name in names}
        texts: dict[str, dict[str, str]] = {name: {} for name in names}
        for batch in batches:
            for name in names:
                parts[name].append(_own(cells(batch[name]), texts[name]))
            del batch
    except SteelyardError:
        raise
    except Exception as error:  # of a query that runs while it is read: each library has its own
        why = str(error).strip().partition("\n")[0] or type(error).__name__
        raise InvalidValue(f"the stream cannot be read: {why}", where=source, remedy="Check its query.") from error
    left_out = tuple(name for name in every if name not in parts)
    return Table(source, {name: np.concatenate(parts.pop(name)) for name in names}, left_out=left_out)


def read_once(data: Any, source: str) -> Any:
    """A stream as a table, which can be read again; other data as they are."""
    return read_stream(data, source) if is_stream(data) else data


def _library(data: Any) -> str:
    return type(data).__module__.partition(".")[0].lstrip("_")


def _opened(data: Any, source: str, wanted: Wanted) -> tuple[list[str], list[str], Iterator[Any]]:
    """All columns of a stream, the wanted ones, and its batches; there is at least one, which may be empty."""
    library = _library(data)
    if library == "polars":
        every = data.collect_schema().names()
        names = _chosen(every, source, wanted)
        return every, names, _of_polars(data.select(names))
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra(f"{source}: reading an Arrow stream", "parquet") from None
    if library == "duckdb":
        every = data.columns
        names = _chosen(every, source, wanted)
        reader = _of_duckdb(data, names)
    elif hasattr(data, "scanner"):
        every = data.schema.names
        names = _chosen(every, source, wanted)
        reader = data.scanner(columns=names, batch_size=BATCH).to_reader()
    else:
        reader = data if isinstance(data, pyarrow.RecordBatchReader) else pyarrow.RecordBatchReader.from_stream(data)
        every = reader.schema.names
        names = _chosen(every, source, wanted)
    return every, names, _of_reader(reader)


def _chosen(names: list[str], source: str, wanted: Wanted) -> list[str]:
    refuse_equal(names, source)
    return [name for name in names if wanted(name)]


def _of_polars(frame: Any) -> Iterator[Any]:
    if not hasattr(frame, "collect_batches"):  # polars below 1.34
        yield frame.collect()
        return
    yield frame.clear().collect()
    yield from frame.collect_batches(chunk_size=BATCH, maintain_order=True)


def _of_duckdb(relation: Any, names: list[str]) -> Any:
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    chosen = relation.project(columns) if names else relation
    read = chosen.to_arrow_reader if hasattr(chosen, "to_arrow_reader") else chosen.fetch_record_batch
    return read(BATCH)


def _of_reader(reader: Any) -> Iterator[Any]:
    yield reader.schema.empty_table()
    yield from reader


def _own(values: Array, texts: dict[str, str]) -> Array:
    """A copy, so that the batch can be released. Texts that repeat are held once."""
    if values.dtype != object:
        return values.copy()
    if len(texts) > len(values) // 2:
        return values
    return as_object([texts.setdefault(value, value) if type(value) is str else value for value in values.tolist()])
