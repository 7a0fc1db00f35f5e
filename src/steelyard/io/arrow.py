"""Frame: columns that every library of data frames takes, without any of them being imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard import _native

TEXT, NUMBER, COUNT = "u", "g", "l"


class Frame(Mapping[str, list[Any]]):
    """Columns by name, each a list; a cell that is not there is None.

    `polars.DataFrame(frame)`, `pyarrow.table(frame)`, `pandas.DataFrame.from_arrow(frame)` and DuckDB take it through
    Arrow's stream interface; `pandas.DataFrame(dict(frame))` works everywhere.
    """

    def __init__(self, columns: Mapping[str, tuple[str, list[Any]]]) -> None:
        self._kinds = {name: kind for name, (kind, _) in columns.items()}
        self._columns = {name: cells for name, (_, cells) in columns.items()}

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Row by row."""
        return zip(*self._columns.values(), strict=True)

    def __repr__(self) -> str:
        return f"Frame of {len(next(iter(self._columns.values()), []))} rows: {', '.join(self._columns)}"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a capsule of Arrow's C stream interface."""
        kinds: list[object] = list(self._kinds.values())
        return _native.arrow_stream(list(self._columns), kinds, list(self._columns.values()))
