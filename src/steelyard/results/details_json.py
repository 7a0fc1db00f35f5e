"""What a page shows beside scores, as plain values in a result's JSON and back: tables, figures, units, arrays."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.table import Table
from steelyard.results.packed import pack, unpack
from steelyard.results.unit_table import UnitTable


def unit_listing(table: UnitTable) -> Listing:
    """Every unit with its own scores, as rows to look through."""
    columns: dict[str, Array | Texts] = {table.unit: Texts(np.arange(len(table.units)), [str(u) for u in table.units])}
    columns |= {spec: np.asarray(values, dtype=np.float64) for spec, values in table.values.items()}
    first = next(iter(table.values), "")
    return Listing("units", f"Every {table.unit}", columns, x=first)


def pack_units(table: UnitTable) -> str:
    """A table of units as text; whole numbers stay such, other ids are texts."""
    columns: dict[str, Array | Texts] = dict(unit_listing(table).columns)
    if table.units.dtype.kind in "iu":
        columns[table.unit] = table.units
    return pack_exactly(Listing("units", table.unit, columns))


def unpack_units(text: str) -> UnitTable:
    """The table of units of a text that `pack_units` made."""
    (unit, ids), *values = unpack(text).columns.items()
    names = np.array([ids.names[code] for code in ids.codes], dtype=object) if isinstance(ids, Texts) else ids
    return UnitTable(unit, names, {name: v.astype(np.float64) for name, v in values if not isinstance(v, Texts)})


def pack_exactly(listing: Listing) -> str:
    """A listing as text, with every row and every digit."""
    return pack(listing, most=len(listing), exact=True)


def pack_floats(values: Array) -> str:
    """Numbers as base64 of 64-bit floats."""
    return base64.b64encode(values.astype("<f8").tobytes()).decode("ascii")


def unpack_floats(text: str) -> Array:
    """The numbers of a text that `pack_floats` made."""
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)
    except (binascii.Error, TypeError, ValueError):
        raise ValueError("it is not base64 of 64-bit floats") from None


def figure_dict(figure: Figure) -> dict[str, Any]:
    """A figure as plain values."""
    return {
        "name": figure.name,
        "kind": figure.chart,
        "title": figure.title,
        "caption": figure.caption,
        "facts": {name: _plain(value) for name, value in figure.facts.items()},
        "columns": {name: [_plain(v) for v in np.asarray(c).tolist()] for name, c in figure.columns.items()},
        "table": None if figure.table is None else figure.table.to_dict(),
    }


def settled(figure: Figure) -> Figure:
    """The figure as a page draws it, with seven digits: the same from data and from a result."""
    plain = figure_dict(figure)
    return figure_of({**plain, "facts": _short(plain["facts"]), "columns": _short(plain["columns"])})


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    return [_short(one) for one in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
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
