"""Rankings from whatever the user has: TREC files, tables, nested dicts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.errors import InputError
from steelyard.core.rankings import Content, Ids, Rankings
from steelyard.core.records import Array, Schema
from steelyard.io import trec
from steelyard.io.frames import arrow_text, from_memory
from steelyard.io.group import grouped
from steelyard.io.read import READERS, as_ids, column_name, read_table, to_records
from steelyard.io.table import Table
from steelyard.io.text import open_text


def read_rankings(data: Any, schema: Schema, mapping: Mapping[str, str], side: str) -> Rankings:
    """Read one side; `side` is "truth" or "prediction". The schema's columns are query, document and number."""
    shown = "truth" if side == "truth" else "predictions"
    if isinstance(data, Rankings):
        return data
    if isinstance(data, str | PathLike):
        path = Path(data)
        suffix = path.suffix.lower()
        if suffix not in READERS and trec.is_trec(path):
            return trec.read_trec(path, str(data), side)
        if suffix == ".json":
            nested = _json_object(path, str(data))
            if nested is not None:
                return from_nested(nested, str(data), side)
        if suffix not in READERS:
            known = ", ".join([*READERS, *(ending for ending in trec.ENDINGS if ending)])
            raise InputError(f"'{suffix}' is no format that can be read", where=str(data), remedy=f"Known: {known}.")
        return from_table(read_table(data, shown), schema, mapping, side)
    if isinstance(data, Mapping) and all(isinstance(value, Mapping) for value in data.values()):
        return from_nested(data, shown, side)
    return from_table(from_memory(data, shown), schema, mapping, side, data)


def from_table(
    table: Table, schema: Schema, mapping: Mapping[str, str], side: str, frame: Any = None
) -> Rankings:
    """Take a table's columns; those of ids go to the native core as they lie."""
    query, document = schema.key
    rest = Schema((), tuple(column for column in schema.columns if column.name not in schema.key))
    records = to_records(table, rest, mapping, side)
    names = {name: column_name(table, name, mapping, side) for name in schema.key}
    documents = _ids(table, names[document], frame)
    texts, run_row = _runs(table, names[query], frame)
    number = next(column.name for column in rest.columns if column.required)
    other = {name: column for name, column in records.other.items() if name not in names.values()}
    return grouped(
        table.source,
        table.place,
        texts,
        run_row,
        documents,
        np.ascontiguousarray(records[number], dtype=np.float64),
        columns={name: column for name, column in records.columns.items() if name != number},
        other=other,
        names={**records.names, **names},
    )


def from_nested(data: Mapping[Any, Any], source: str, side: str) -> Rankings:
    """Take {query: {document: number}}. A run is not read before it is joined."""
    nested: Any = data
    if not (type(data) is dict and all(type(key) is str and key and key == key.strip() for key in data)):
        nested = checked_nested(data, source)
    queries: Array = np.empty(len(nested), dtype=object)
    queries[:] = list(nested)
    if side == "prediction" and all(type(value) is dict for value in nested.values()):
        return Rankings(source, {}, queries=queries, nested=nested)
    return flat_nested(nested, source, queries)


def flat_nested(nested: Mapping[str, Mapping[str, Any]], source: str, queries: Array) -> Rankings:
    """Rows of a nested dict. What the native core turns away is looked at here, one by one."""
    plain: dict[str, dict[str, Any]] = {query: dict(documents) for query, documents in nested.items()}
    packed = _native.pack_nested(plain)
    if len(packed) == 2:
        packed = _native.pack_nested(checked_nested(nested, source))
    ids, values, starts = packed
    documents = Ids(*ids)

    def place(row: int) -> str:
        query = queries[int(np.searchsorted(starts, row, side="right")) - 1]
        return f"{source}, query '{query}', document '{documents[row]}'"

    sums = _native.ranking_sums(documents.key, values, starts)
    return Rankings(
        source,
        {},
        place=place,
        queries=queries,
        starts=starts,
        documents=documents,
        values=values,
        content=[Content(np.diff(starts), sums)],
    )


def checked_nested(data: Mapping[Any, Any], source: str) -> dict[str, dict[str, float]]:
    """Ids as text and numbers as floats, each looked at; an error names the first that is wrong."""
    result: dict[str, dict[str, float]] = {}
    for query, documents in data.items():
        name = _id_text(query, f"{source}, query {query!r}")
        if name in result:
            raise InputError(f"query '{name}' stands twice", where=source, remedy="Each may stand once.")
        row: dict[str, float] = {}
        for document, value in documents.items():
            where = f"{source}, query '{name}', document '{document}'"
            text = _id_text(document, where)
            if text in row:
                raise InputError(f"document '{text}' stands twice", where=where, remedy="Each may stand once in a query.")
            row[text] = _number(value, where)
        result[name] = row
    return result


def _id_text(value: Any, where: str) -> str:
    text = "" if value is None or value != value else str(value).strip()
    if not text:
        raise InputError("the id is empty", where=where, remedy="Give every row an id.")
    if len(text.encode("utf-8", "replace")) > 0xFFFF or text != text.encode("utf-8", "replace").decode():
        raise InputError(
            "the id is no text that can be written as UTF-8, or longer than 65,535 bytes", where=where
        )
    return text


def _number(value: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"'{value}' is not allowed here", where=where, remedy="It must be a finite number.")
    return number


def _json_object(path: Path, source: str) -> Any:
    """A JSON file's nested object, or None where it holds something else."""
    with open_text(path, source) as file:
        text = file.read()
    if not text.lstrip().startswith("{"):
        return None
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return None
    return data if all(isinstance(value, dict) for value in data.values()) else None


def _ids(table: Table, name: str, frame: Any) -> Ids:
    lying = arrow_text(frame, name)
    if lying is not None:
        packed = _native.pack_offsets(*lying)
        if not isinstance(packed, int):
            return Ids(lying[0], *packed)
    values = table.columns[name]
    if values.dtype == object:
        packed = _native.pack_objects(np.ascontiguousarray(values))
        if not isinstance(packed, int):
            return Ids(*packed)
    values = as_ids(table, name, values)
    if values.dtype != object:
        return Ids(*_native.pack_integers(values))
    packed = _native.pack_objects(values)
    if isinstance(packed, int):
        where = f"{table.place(packed)}, column '{name}'"
        _id_text(values[packed], where)
    return Ids(*packed)


def _runs(table: Table, name: str, frame: Any) -> tuple[list[str], Array]:
    """The queries of runs of rows, and where each run begins."""
    values = table.columns[name]
    if values.dtype == object and arrow_text(frame, name) is None:
        packed = _native.pack_runs(np.ascontiguousarray(values))
        if not isinstance(packed, int):
            ids = Ids(*packed[0])
            return [ids[row] for row in range(len(ids))], packed[1]
    ids = _ids(table, name, frame)
    rows = _native.text_runs(ids.text, ids.place, ids.key)
    return [ids[row] for row in rows.tolist()], rows
