"""Rankings from whatever the user has: TREC files, tables, nested dicts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.embeddings import Embeddings
from steelyard.core.errors import EmptyInput, InvalidText, InvalidValue, MissingColumn, UnknownFormat, nearest
from steelyard.core.rankings import Ids, Rankings
from steelyard.core.records import Array, Schema, as_object
from steelyard.core.task import Task
from steelyard.io.frames import arrow_text, is_frame, lazy_frame
from steelyard.io.json import unique
from steelyard.io.once import of_truth
from steelyard.io.parquet import open_parquet
from steelyard.io.read import READERS, as_ids, column_name, read_table, to_records
from steelyard.io.table import Table
from steelyard.io.text import ending, open_text
from steelyard.tasks.rankings import trec
from steelyard.tasks.rankings.vectors import is_embeddings, read_npz, to_embeddings

RankedSide = Rankings | Embeddings


def read_sides(task: Task, truth: Any, predictions: Any, mapping: Mapping[str, str]) -> tuple[RankedSide, RankedSide]:
    """Read both sides. A schema's key is the query and the document; `mapping` renames columns of tables."""
    if predictions is None:
        raise InvalidValue(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    schemas = {"truth": task.truth, "prediction": task.prediction}
    known = [name for schema in schemas.values() for name in schema.names]
    for target in mapping:
        side, dot, name = target.rpartition(".")
        if (dot and side not in schemas) or name not in known:
            raise InvalidValue(f"column '{target}' cannot be mapped", remedy=nearest(name, dict.fromkeys(known)))
    read: dict[str, RankedSide] = {
        "truth": of_truth(_read_side, truth, task.truth, mapping, "truth"),
        "prediction": _read_side(predictions, task.prediction, mapping, "prediction"),
    }
    for target, given in mapping.items():
        side = target.rpartition(".")[0]
        looked = [read[side]] if side else list(read.values())
        if not any(given in (*records.names.values(), *records.other) for records in looked):
            has = [name for records in looked for name in (*records.names.values(), *records.other)]
            raise MissingColumn(
                f"column '{given}' is missing, which '{target}' is mapped to",
                where=looked[0].source,
                remedy=nearest(given, dict.fromkeys(has)),
            )
    if not len(read["truth"]):
        raise EmptyInput("there are no rows", where=read["truth"].source, remedy="The truth needs at least one.")
    return read["truth"], read["prediction"]


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> RankedSide:
    """One side alone."""
    return _read_side(data, task.truth if side == "truth" else task.prediction, columns, side)


def _read_side(data: Any, schema: Schema, mapping: Mapping[str, str], side: str) -> RankedSide:
    shown = "truth" if side == "truth" else "predictions"
    if isinstance(data, Rankings):
        return data
    if isinstance(data, str | PathLike):
        path, shown = Path(data), str(data)
        suffix = ending(path)
        if suffix == ".npz":
            return read_npz(path, shown)
        if suffix in (".parquet", ".pq"):
            data = open_parquet(path, shown)
        elif suffix in READERS:
            nested = _json_object(path, shown) if suffix == ".json" else None
            if nested is not None:
                return _from_nested(nested, shown)
            return _from_table(read_table(data, shown), schema, mapping, side, None)
        elif trec.is_trec(path):
            return trec.read_trec(path, shown, side)
        else:
            known = ", ".join([*READERS, ".npz", *(ending for ending in trec.ENDINGS if ending)])
            raise UnknownFormat(f"'{suffix}' is no format that can be read", where=shown, remedy=f"Known: {known}.")
    if is_embeddings(data):
        return to_embeddings(data, shown)
    if isinstance(data, Mapping) and isinstance(next(iter(data.values()), {}), Mapping):
        return _from_nested(data, shown)
    if is_frame(data):
        return _from_table(lazy_frame(data, shown), schema, mapping, side, data)
    return _from_table(read_table(data, shown), schema, mapping, side, None)


def _from_table(table: Table, schema: Schema, mapping: Mapping[str, str], side: str, frame: Any) -> Rankings:
    """Take a table's columns; those of ids go to the native core as they lie."""
    names = {name: column_name(table, name, mapping, side) for name in schema.key}
    rest = Schema((), tuple(column for column in schema.columns if column.name not in schema.key))
    columns = {name: table.columns[name] for name in table.columns if name not in names.values()}
    records = to_records(replace(table, columns=columns), rest, mapping, side)
    query, document = (names[name] for name in schema.key)
    texts, run_row = _runs(table, query, frame)
    number = next(column.name for column in rest.columns if column.required)
    return Rankings.from_runs(
        table.source,
        table.place,
        texts,
        run_row,
        _ids(table, document, frame),
        np.ascontiguousarray(records[number], dtype=np.float64),
        columns={name: column for name, column in records.columns.items() if name != number},
        other=records.other,
        names={**records.names, **names},
    )


def _from_nested(data: Mapping[Any, Any], source: str) -> Rankings:
    """Take {query: {document: number}} as it lies; it is read when it is joined."""
    return Rankings(source, {}, queries=as_object([str(query).strip() for query in data]), nested=data)


def _json_object(path: Path, source: str) -> Any:
    """A JSON file's nested object, or None where it holds something else."""
    with open_text(path, source) as file:
        text = file.read()
    if not text.lstrip().startswith("{"):
        return None
    try:
        data = json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError):
        return None  # the reader of tables says what is wrong
    return data if all(isinstance(value, dict) for value in data.values()) else None


def _ids(table: Table, name: str, frame: Any) -> Ids:
    lying = arrow_text(frame, name)
    if lying is not None:
        places = _native.pack_offsets(*lying)
        if not isinstance(places, int):
            return Ids(lying[0], *places)
    values = table.columns[name]
    if values.dtype == object:
        packed = _native.pack_objects(np.ascontiguousarray(values))
        if not isinstance(packed, int):
            return Ids(*packed)
    values = as_ids(table, name, values)
    if values.dtype != object:
        return Ids(*_native.pack_integers(np.ascontiguousarray(values)))
    packed = _native.pack_objects(values)
    if isinstance(packed, int):
        raise InvalidText(
            "the id is longer than 65,535 bytes, or no text that can be written as UTF-8",
            where=f"{table.place(packed)}, column '{name}'",
            remedy="Give a shorter one.",
        )
    return Ids(*packed)


def _runs(table: Table, name: str, frame: Any) -> tuple[list[str], Array]:
    """The queries of runs of rows, and where each run begins."""
    values = table.columns[name] if frame is None else None
    if values is not None and values.dtype == object:
        packed = _native.pack_runs(np.ascontiguousarray(values))
        if not isinstance(packed, int):
            ids = Ids(*packed[0])
            return [ids[row] for row in range(len(ids))], packed[1]
    ids = _ids(table, name, frame)
    rows = _native.text_runs(ids.text, ids.place, ids.key)
    return [ids[row] for row in rows.tolist()], rows
