"""What a page shows beside scores, as plain values in a result's JSON and back: tables, figures, units, arrays.

Listings as one compressed text: the same in a result's JSON and in the page, whose script unpacks it.

The text is base64 of gzip of: the length of a header (4 bytes, little-endian), the header (JSON: what the columns are),
then the columns one after the other. A column of texts is a place in a list of names; whole numbers take as few bytes
as they need. Bytes of the same weight stand together (all the lowest, then the next ...), which gzip shortens better.
Beyond EXACT_ROWS rows a fraction keeps 16 bits, so that it is off by 0.0016 % at most; up to there it is exact.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.table import Table
from steelyard.results.details import UnitTable

EXACT_ROWS = 20_000
MOST_ROWS = 1_000_000  # of a listing in a page; what is beyond is said there
MOST_BYTES = 1 << 30  # of a listing that is read
_GZIP_HEADER = bytes.fromhex("1f8b0800000000000003")  # deflate, no flags, no time, written on Unix
_KEPT_BITS = 16  # of the 24 bits of a single's fraction


def pack(listing: Listing, most: int = MOST_ROWS, *, exact: bool = False) -> str:
    """The listing as text; `exact` keeps every digit, however many rows there are."""
    rows = min(len(listing), most)
    heads, parts = [], []
    for name, column in listing.columns.items():
        head, data = _pack_column(column, rows, exact or rows <= EXACT_ROWS)
        heads.append({"name": name, **head})
        parts.append(data)
    header = {
        "name": listing.name, "title": listing.title, "rows": rows, "of": len(listing), "colour": listing.colour,
        "x": listing.x, "columns": heads,
    }  # fmt: skip
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    raw = text.encode("utf-8", "replace")
    packed = _compress_gzip(len(raw).to_bytes(4, "little") + raw + b"".join(parts))
    return base64.b64encode(packed).decode("ascii")


def unpack(text: str) -> Listing:
    """The listing of a text that `pack` made. Raises ValueError where it is not one."""
    try:
        raw = _decompress_gzip(base64.b64decode(text, validate=True))
        size = int.from_bytes(raw[:4], "little")
        header = json.loads(raw[4 : 4 + size])
        at, rows = 4 + size, int(header["rows"])
        columns: dict[str, Array | Texts] = {}
        for head in header["columns"]:
            width = np.dtype(_TYPES[head["type"]]).itemsize
            planes = np.frombuffer(raw, np.uint8, rows * width, at).reshape(width, rows)
            at += rows * width
            values = np.ascontiguousarray(planes.T).view(_TYPES[head["type"]]).reshape(rows)
            if "names" in head:
                columns[head["name"]] = Texts(values.astype(np.int64), [str(name) for name in head["names"]])
            elif head["type"].startswith("f"):
                columns[head["name"]] = values.astype(np.float64)
            else:
                columns[head["name"]] = values.astype(np.int64) + int(head["offset"])
        return Listing(str(header["name"]), str(header["title"]), columns, str(header["colour"]), str(header["x"]))
    except (KeyError, TypeError, ValueError, OSError, EOFError, zlib.error) as error:
        raise ValueError(f"a packed listing cannot be read: {error}") from None


def _compress_gzip(data: bytes) -> bytes:
    """The data as a gzip file with a fixed header: `gzip.compress` writes a different one in each Python version."""
    deflate = zlib.compressobj(7, wbits=-zlib.MAX_WBITS)
    body = deflate.compress(data) + deflate.flush()
    return _GZIP_HEADER + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def _decompress_gzip(data: bytes) -> bytes:
    """What was compressed, up to a bound: a small file may claim to hold more than there is memory."""
    reader = zlib.decompressobj(wbits=31)
    raw = reader.decompress(data, MOST_BYTES)
    if reader.unconsumed_tail:
        raise ValueError(f"it holds more than {MOST_BYTES >> 20} MB")
    if not reader.eof:
        raise ValueError("it is cut off")
    return raw


_TYPES = {"u1": "<u1", "u2": "<u2", "u4": "<u4", "f4": "<f4", "f8": "<f8"}


def _pack_column(column: Array | Texts, rows: int, exact: bool) -> tuple[dict[str, Any], bytes]:
    if isinstance(column, Texts):
        codes, names = np.asarray(column.codes[:rows]), list(column.names)
        if len(names) > rows:  # name only what is shown
            used, codes = np.unique(codes, return_inverse=True)
            names = [names[i] for i in used.tolist()]
        kind = _smallest(len(names))
        return {"type": kind, "names": names}, _planes(codes.astype(_TYPES[kind]))
    values = np.asarray(column[:rows])
    if values.dtype.kind == "b":
        return {"type": "u1", "names": ["no", "yes"]}, values.astype(np.uint8).tobytes()
    if values.dtype.kind in "iu" or (values.dtype.kind == "f" and _whole(values)):
        low = int(values.min()) if rows else 0
        span = (int(values.max()) if rows else 0) - low
        if span < 2**32:
            kind = _smallest(span + 1)
            return {"type": kind, "offset": low}, _planes((values.astype(np.int64) - low).astype(_TYPES[kind]))
    if exact:
        return {"type": "f8"}, _planes(values.astype("<f8"))
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(values.astype("<f4"))
    bits = single.view("<u4")
    rounded = (bits + (1 << (23 - _KEPT_BITS))) & np.uint32(0xFFFFFFFF << (24 - _KEPT_BITS) & 0xFFFFFFFF)
    return {"type": "f4"}, _planes(np.where(np.isfinite(single), rounded, bits).astype("<u4"))


def _whole(values: Array) -> bool:
    return bool(len(values) == 0 or (np.isfinite(values).all() and (values == np.rint(values)).all()))


def _smallest(count: int) -> str:
    return "u1" if count <= 2**8 else "u2" if count <= 2**16 else "u4"


def _planes(values: Array) -> bytes:
    width = values.dtype.itemsize
    return np.ascontiguousarray(values.view(np.uint8).reshape(-1, width).T).tobytes()


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


def rounded_figure(figure: Figure) -> Figure:
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
