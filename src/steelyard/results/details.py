"""What a page shows beside scores, as plain values in a result's JSON and back: tables, figures, units and rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.table import Table
from steelyard.results.model import Report, UnitTable
from steelyard.results.packed import pack, unpack


def details_dict(report: Report) -> dict[str, Any]:
    """The section `details` of a report's JSON."""
    units = None if report.unit_table is None else unit_listing(report.units())
    rows = report.listing()
    return {
        "tables": [report.table(name).to_dict() for name in report.tables],
        "figures": [figure_dict(make()) for make in report.figure_makers().values()],
        "units": None if units is None else pack(units),
        "rows": None if rows is None else pack(rows),
    }


def unit_listing(table: UnitTable) -> Listing:
    """Every unit with its own scores, as rows to look through."""
    columns: dict[str, Array | Texts] = {table.unit: Texts(np.arange(len(table.units)), [str(u) for u in table.units])}
    columns |= {spec: np.asarray(values, dtype=np.float64) for spec, values in table.values.items()}
    first = next(iter(table.values), "")
    return Listing("units", f"Every {table.unit}", columns, x=first)


def units_of(listing: Listing) -> UnitTable:
    """The table of units that a listing was made of."""
    (unit, ids), *values = listing.columns.items()
    names = np.array(ids.names, dtype=object) if isinstance(ids, Texts) else ids
    return UnitTable(unit, names, {name: v for name, v in values if not isinstance(v, Texts)})


def figure_dict(figure: Figure) -> dict[str, Any]:
    """A figure as plain values; numbers keep seven digits."""
    return {
        "name": figure.name,
        "kind": figure.kind,
        "title": figure.title,
        "caption": figure.caption,
        "facts": {name: _plain(value) for name, value in figure.facts.items()},
        "columns": {name: [_plain(v) for v in np.asarray(c).tolist()] for name, c in figure.columns.items()},
        "table": None if figure.table is None else figure.table.to_dict(),
    }


def settled(figure: Figure) -> Figure:
    """The figure as it is after it was written and read: the page is the same from data and from a result."""
    return figure_of(figure_dict(figure))


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return float(f"{value:.7g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value]


def figure_of(data: Mapping[str, Any]) -> Figure:
    """The figure that `figure_dict` made plain."""
    table = data["table"]
    columns = {str(name): [math.nan if v is None else v for v in values] for name, values in data["columns"].items()}
    return Figure(
        str(data["name"]),
        str(data["kind"]),
        str(data["title"]),
        columns,
        dict(data["facts"]),
        str(data["caption"]),
        None if table is None else table_of(table),
    )


def table_of(data: Mapping[str, Any]) -> Table:
    """The table that `Table.to_dict` made plain."""
    rows, columns = tuple(map(str, data["rows"])), tuple(map(str, data["columns"]))
    values = [[math.nan if v is None else float(v) for v in row] for row in data["values"]]
    array = np.array(values, dtype=float).reshape(len(rows), len(columns))
    return Table(str(data["name"]), str(data["title"]), str(data["corner"]), rows, columns, array)


def listing_of(text: str | None) -> Listing | None:
    """The listing of a packed text, or none."""
    return None if text is None else unpack(text)
