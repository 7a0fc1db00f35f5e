"""Parquet files, through pyarrow (the extra `parquet`)."""

from __future__ import annotations

from pathlib import Path

from steelyard.core.errors import InputError, MissingExtra
from steelyard.io.frames import from_arrow
from steelyard.io.table import Table
from steelyard.io.text import check_readable


def read_parquet(path: Path, source: str) -> Table:
    """Read a whole file into columns."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(f"{source}: reading Parquet", "parquet") from None
    check_readable(path, source)
    try:
        table = pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"not readable as Parquet: {str(error).splitlines()[0]}", where=source) from None
    return from_arrow(table, source)
