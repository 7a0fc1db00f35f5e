"""Parquet files, through pyarrow (the extra `parquet`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.core.errors import MissingExtra, TooLarge, UnreadableFile
from steelyard.core.opening import check_declared, check_readable
from steelyard.io.frames import from_arrow
from steelyard.io.table import Table


def read_parquet(path: Path, source: str) -> Table:
    """Read a whole file into columns."""
    return from_arrow(open_parquet(path, source), source)


def open_parquet(path: Path, source: str) -> Any:
    """Read a whole file as pyarrow holds it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(f"{source}: reading Parquet", "parquet") from None
    check_readable(path, source)
    try:
        _check_values(pyarrow.parquet.read_metadata(path), path, source)
        return pyarrow.parquet.read_table(path)
    except MemoryError:
        raise TooLarge("there is not enough memory to read it", where=source, remedy="Split it into shards.") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise UnreadableFile(f"not readable as Parquet: {str(error).splitlines()[0]}", where=source) from None


def _check_values(metadata: Any, path: Path, source: str) -> None:
    """Refuse a file that declares far more values than its size: one value may be stored for a billion rows."""
    groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
    values = sum(group.column(i).num_values for group in groups for i in range(group.num_columns))
    check_declared(8 * values, path.stat().st_size, source)
