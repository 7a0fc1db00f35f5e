"""Table: a result that is more than a number: a confusion matrix, a curve, a row for each class."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from numpy.typing import NDArray

from steelyard.core.framed import Framed
from steelyard.core.frozen import Frozen


class Table(Frozen, Framed):
    """Named rows and columns of numbers; nan where a value is undefined. `corner` says what the rows are.

    Columns of long tables may hold texts.
    """

    name: str
    title: str
    corner: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: NDArray[Any]

    def __getitem__(self, place: tuple[str, str]) -> Any:
        row, column = place
        value = self.values[self.rows.index(row), self.columns.index(column)]
        return value if isinstance(value, str) else float(value)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values; undefined is None."""
        cells = [[_plain(value) for value in row] for row in self.values.tolist()]
        return {
            "name": self.name,
            "title": self.title,
            "corner": self.corner,
            "rows": list(self.rows),
            "columns": list(self.columns),
            "values": cells,
        }

    def cells(self) -> list[list[str]]:
        """The rows as texts, each behind its name."""
        rows = zip(self.rows, self.values.tolist(), strict=True)
        return [[name, *(_text(value) for value in row)] for name, row in rows]

    def to_frame(self) -> Any:
        """A column of the rows' names, and the columns of the table."""
        return import_module("steelyard.render.frames").table_frame(self)

    def _repr_html_(self) -> str:
        html: str = import_module("steelyard.render.notebook").table_html(self)
        return html

    def __repr__(self) -> str:
        return f"{self.title}\n{self}"

    def __str__(self) -> str:
        lines = [[self.corner, *self.columns], *self.cells()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        return "\n".join(
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )


def _plain(value: float | str) -> float | str | None:
    return value if isinstance(value, str) or math.isfinite(value) else None


def _text(value: float | str) -> str:
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return "–"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.4f}"
