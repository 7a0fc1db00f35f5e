"""Parquet files, through pyarrow (the extra `parquet`), and columns that every library of data frames takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard import _native
from steelyard.core.errors import InvalidFile, MissingExtra, TooLarge
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
        raise InvalidFile(f"not readable as Parquet: {str(error).splitlines()[0]}", where=source) from None


def _check_values(metadata: Any, path: Path, source: str) -> None:
    """Refuse a file that declares far more values than its size: one value may be stored for a billion rows."""
    groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
    values = sum(group.column(i).num_values for group in groups for i in range(group.num_columns))
    check_declared(8 * values, path.stat().st_size, source)


TEXT, NUMBER, COUNT = "u", "g", "l"


def _cells(kind: str, cells: list[Any]) -> list[Any]:
    """A number that is not there is None, not nan: null in every library."""
    return [None if cell is None or cell != cell else cell for cell in cells] if kind == NUMBER else cells


class Frame(dict[str, list[Any]]):
    """Columns by name, each a list; a cell that is not there is None.

    `pandas.DataFrame(frame)`, `polars.DataFrame(frame)` and `pyarrow.table(frame)` take it as the dict that it is. What
    speaks Arrow's stream interface (`pandas.DataFrame.from_arrow`, DuckDB) knows the types of empty columns too.
    """

    def __init__(self, columns: Mapping[str, tuple[str, list[Any]]]) -> None:
        self._kinds = {name: kind for name, (kind, _) in columns.items()}
        super().__init__({name: _cells(kind, cells) for name, (kind, cells) in columns.items()})

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Row by row."""
        return zip(*self.values(), strict=True)

    def __repr__(self) -> str:
        return f"Frame of {len(next(iter(self.values()), []))} rows: {', '.join(self)}"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a capsule of Arrow's C stream interface."""
        kinds: list[object] = list(self._kinds.values())
        return _native.arrow_stream(list(self), kinds, list(self.values()))
