"""Frame: columns that every library of data frames takes, without any of them being imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard import _native

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
