"""Rankings from whatever the user has: TREC files, tables, nested dicts.

TREC files: judgements (`query 0 document relevance`) and runs (`query Q0 document rank score tag`).

Embeddings and their labels, from a dict of arrays or an .npz file. Tables of probes and people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.counts import count_text
from steelyard.core.embeddings import DISTANCE, DeviceEmbeddings, Embeddings
from steelyard.core.errors import (
    Conflict,
    EmptyInput,
    Incompatible,
    InputError,
    InvalidFile,
    InvalidNumber,
    InvalidText,
    InvalidValue,
    MissingColumn,
    MissingData,
    OutOfRange,
    ShapeMismatch,
    TooLarge,
    UnknownFormat,
    UnknownName,
    UnreadableFile,
    nearest,
)
from steelyard.core.plain import to_numpy
from steelyard.core.rankings import Ids, Rankings
from steelyard.core.records import Array, Records, Schema, as_object
from steelyard.core.task import Task
from steelyard.io.frames import arrow_text, is_frame, lazy_frame
from steelyard.io.json import unique
from steelyard.io.once import of_truth
from steelyard.io.parquet import open_parquet
from steelyard.io.read import READERS, as_ids, column_name, read_table, to_records
from steelyard.io.table import Table
from steelyard.io.text import ending, is_plain, open_text, read_bytes
from steelyard.maps.arrays import array_names, numpy_file
from steelyard.tasks.rankings import identities

ENDINGS = ("", ".qrels", ".qrel", ".run", ".trec", ".res", ".txt", ".input", ".test")
_FIELDS = {
    "truth": ("query", "0", "document", "relevance"),
    "prediction": ("query", "Q0", "document", "rank", "score", "tag"),
}
_VALUE = {"truth": 3, "prediction": 4}


def is_trec(path: Path) -> bool:
    """Whether a file's ending is one that TREC files have; `.gz` may follow it."""
    name = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return name.suffix.lower() in ENDINGS or name.suffix[1:].isdigit()


def read_trec(path: Path, source: str, side: str) -> Rankings:
    """Read judgements (side "truth") or a run (side "prediction"). Fields are separated by blanks."""
    text = _bytes(path, source)
    fields = _FIELDS[side]
    place, key, values, run_row, run_place, wrong = _native.read_trec(text, len(fields), _VALUE[side])
    if wrong[0]:
        raise _problem(text, source, side, *wrong)
    if not len(values):
        raise EmptyInput("the file is empty", where=source, remedy=f"It needs lines of: {' '.join(fields)}.")

    def where(row: int) -> str:
        return f"{source}, line {_line(text, int(place[row]) >> 16)}"

    names = [_decode_query(text, int(p), source) for p in run_place.tolist()]
    return Rankings.from_runs(source, where, names, run_row, Ids(text, place, key), values)


def _bytes(path: Path, source: str) -> Array:
    if not is_plain(path, source):
        return np.frombuffer(read_bytes(path, source), dtype=np.uint8)
    try:
        return np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror or error}", where=source) from None


def _line(text: Array, place: int) -> int:
    return int(np.count_nonzero(text[:place] == ord("\n"))) + 1


def _decode_query(text: Array, place: int, source: str) -> str:
    begin, size = divmod(place, 1 << 16)
    try:
        return bytes(text[begin : begin + size]).decode()
    except UnicodeDecodeError:
        raise InvalidText(
            "a query is not UTF-8 text", where=f"{source}, line {_line(text, begin)}", remedy="Save the file as UTF-8."
        ) from None


def _problem(text: Array, source: str, side: str, kind: int, place: int, number: int) -> InputError:
    where = f"{source}, line {_line(text, place)}"
    stop = np.flatnonzero(text[place : place + 4096] == ord("\n"))
    line = bytes(text[place : place + (int(stop[0]) if len(stop) else 4096)]).decode("utf-8", "replace")
    fields = _FIELDS[side]
    remedy = f"Each line needs: {' '.join(fields)}."
    what: dict[int, Any] = {
        1: lambda: f"the line has {number} field{'' if number == 1 else 's'}, and {len(fields)} are expected",
        2: lambda: f"the {fields[_VALUE[side]]} '{line.split()[number][:40]}' is not a number",
        3: lambda: f"the {fields[_VALUE[side]]} '{line.split()[number][:40]}' is not allowed here: it must be finite",
        4: lambda: "an id is longer than 65,535 bytes",
    }
    error = {1: InvalidFile, 2: InvalidNumber, 3: InvalidNumber, 4: TooLarge}[kind]
    return error(what[kind](), where=where, remedy=remedy)


LARGEST = 1e100
VECTORS = ("query", "gallery")
TEXTS = ("query_label", "gallery_label", "query_id", "gallery_id", "query_camera", "gallery_camera")
ARRAYS = (*VECTORS, *TEXTS, DISTANCE)


def is_embeddings(data: Any) -> bool:
    """Whether a mapping holds vectors, or labels of them, rather than rows of a list."""
    if not isinstance(data, Mapping):
        return False
    return "query_label" in data or _is_matrix(data.get(DISTANCE)) or _is_matrix(data.get("query"))


def _is_matrix(values: Any) -> bool:
    if hasattr(values, "ndim"):
        return bool(values.ndim == 2)
    try:
        return np.ndim(values) == 2
    except ValueError:  # rows of several lengths
        return False


def read_npz(path: Path, source: str) -> Embeddings:
    """Read arrays by name from a file that numpy wrote."""
    names = array_names(str(path))
    readable = [name for name in names if name in ARRAYS]  # another name is refused before it is read
    return to_embeddings(dict.fromkeys(names) | {name: numpy_file(str(path), name) for name in readable}, source)


def to_embeddings(data: Mapping[str, Any], source: str) -> Embeddings:
    """Check names, shapes and values. Vectors become double precision; labels and ids stay whole numbers or text.

    Matrices of a GPU stay there as they are, where Triton can search them.
    """
    columns: dict[str, Array] = {}
    for name in map(str, data):
        if name not in ARRAYS:
            raise UnknownName(f"there is no array '{name}' in embeddings", where=source, remedy=nearest(name, ARRAYS))
    stay = _stay([data[name] for name in VECTORS if name in data])
    for name in VECTORS:
        if name in data:
            columns[name] = _tensor(data[name], name, source) if stay else _matrix(data[name], name, source)
    if DISTANCE in data:
        columns[DISTANCE] = _distances(data, source)
    for name in TEXTS:
        if name in data:
            values = to_numpy(data[name])
            array = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
            if array.ndim != 1:
                raise ShapeMismatch(
                    f"array '{name}' has {array.ndim} dimensions", where=source, remedy="Give one value a vector."
                )
            if array.dtype.kind in "US":
                array = array.astype(str).astype(object)
            columns[name] = as_ids(Table(source, {name: array}), name, array)
    if len({columns[name].shape[1] for name in VECTORS if name in columns}) > 1:
        sizes = " and ".join(f"{columns[name].shape[1]} in '{name}'" for name in VECTORS)
        raise Incompatible(f"the vectors differ in length: {sizes}", where=source, remedy="Both come from one model.")
    for part in VECTORS:
        lengths = {name: len(column) for name, column in columns.items() if name.startswith(part)}
        if len(set(lengths.values())) > 1:
            sizes_text = ", ".join(f"'{name}' {length}" for name, length in lengths.items())
            raise Incompatible(f"arrays of one part differ in length: {sizes_text}", where=source)
    return (DeviceEmbeddings if stay else Embeddings)(source, columns)


def _stay(matrices: list[Any]) -> bool:
    """Whether all matrices are tensors of one GPU that can be searched there."""
    devices = {str(matrix.device) if getattr(matrix, "is_cuda", False) else "" for matrix in matrices}
    return len(devices) == 1 and "" not in devices and find_spec("triton") is not None


def _tensor(values: Any, name: str, source: str) -> Any:
    """A tensor of a GPU, checked there."""
    values = values.detach()
    if values.ndim != 2 or values.shape[1] == 0 or values.is_complex() or "bool" in str(values.dtype):
        _refuse_shape(name, tuple(values.shape), values.dtype, source)
    if not values.is_floating_point():
        values = values.double()
    _refuse_wrong(values.isfinite().all(1).cpu().numpy(), (values.abs().amax(1) <= LARGEST).cpu().numpy(), name, source)
    return values


def _refuse_shape(name: str, shape: tuple[int, ...], dtype: Any, source: str) -> None:
    raise ShapeMismatch(
        f"array '{name}' has shape {shape} and type {dtype}",
        where=source,
        remedy="Vectors are a matrix of numbers, one per row.",
    )


def _whole_array(values: Any, name: str, source: str) -> Array:
    """Values as one array; lists of different lengths are none."""
    try:
        return np.asarray(to_numpy(values))
    except ValueError:
        raise ShapeMismatch(
            f"array '{name}' holds lists of different lengths", where=source, remedy="All rows have the same length."
        ) from None


def _matrix(values: Any, name: str, source: str) -> Array:
    array = _whole_array(values, name, source)
    if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "fiu":
        _refuse_shape(name, array.shape, array.dtype, source)
    matrix = np.ascontiguousarray(array, dtype=np.float64)
    finite, near = np.isfinite(matrix), abs(matrix) <= LARGEST
    _refuse_wrong(np.asarray(finite.all(axis=1)), np.asarray(near.all(axis=1)), name, source)
    return matrix


def _distances(data: Mapping[str, Any], source: str) -> Array:
    """A matrix of distances, query by gallery, in the precision that it has."""
    for name in VECTORS:
        if name in data:
            raise Conflict(f"there are both '{DISTANCE}' and '{name}'", where=source, remedy="Keep one of them.")
    array = _whole_array(data[DISTANCE], DISTANCE, source)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        _refuse_shape(DISTANCE, array.shape, array.dtype, source)
    wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(wrong):
        raise InvalidNumber(
            f"a distance is not finite ({count_text(len(wrong), 'query', 'do')})",
            where=f"{source}, array '{DISTANCE}', row {wrong[0]}",
            remedy="Every number must be finite.",
        )
    return array


def _refuse_wrong(finite: Array, near: Array, name: str, source: str) -> None:
    """Raise where a vector is not finite, or too large."""
    wrong = np.flatnonzero(~finite)
    if len(wrong):
        raise InvalidNumber(
            f"a vector holds a number that is not finite ({count_text(len(wrong), 'vector', 'do')})",
            where=f"{source}, array '{name}', row {wrong[0]}",
            remedy="Every number must be finite.",
        )
    far = np.flatnonzero(~near)
    if len(far):
        raise OutOfRange(
            f"a vector holds a number beyond {LARGEST:g} ({count_text(len(far), 'vector', 'do')})",
            where=f"{source}, array '{name}', row {far[0]}",
            remedy="Its square must be a number too.",
        )


def read_sides(task: Task, truth: Any, predictions: Any, mapping: Mapping[str, str]) -> tuple[Records, Records]:
    """Read both sides. A schema's key is the query and the document; `mapping` renames columns of tables."""
    if predictions is None:
        raise MissingData(f"task '{task.name}' needs truth and predictions", remedy="Give both.")
    schemas = {"truth": task.truth, "prediction": task.prediction}
    names = [name for schema in schemas.values() for name in schema.names]
    for target in mapping:
        side, dot, name = target.rpartition(".")
        if (dot and side not in schemas) or name not in names:
            raise UnknownName(f"column '{target}' cannot be mapped", remedy=nearest(name, dict.fromkeys(names)))
    read: dict[str, Records] = {
        "truth": of_truth(_read_side, truth, task.truth, mapping, "truth"),
        "prediction": _read_side(predictions, task.prediction, mapping, "prediction"),
    }
    for target, source_name in mapping.items():
        side = target.rpartition(".")[0]
        looked = [read[side]] if side else list(read.values())
        if not any(source_name in (*records.names.values(), *records.other) for records in looked):
            has = [name for records in looked for name in (*records.names.values(), *records.other)]
            raise MissingColumn(
                f"column '{source_name}' is missing, which '{target}' is mapped to",
                where=looked[0].source,
                remedy=nearest(source_name, dict.fromkeys(has)),
            )
    if not len(read["truth"]):
        raise EmptyInput("there are no rows", where=read["truth"].source, remedy="The truth needs at least one.")
    return read["truth"], read["prediction"]


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side alone."""
    return _read_side(data, task.truth if side == "truth" else task.prediction, columns, side)


def _read_side(data: Any, schema: Schema, mapping: Mapping[str, str], side: str) -> Records:
    shown = "truth" if side == "truth" else "predictions"
    if isinstance(data, Rankings):
        return data
    if isinstance(data, str | PathLike):
        path, shown = Path(data), str(data)
        suffix = ending(path)
        if suffix == ".npz":
            names = array_names(str(path))
            if not identities.is_of_probes(names, mapping):
                return read_npz(path, shown)
            columns = {name: numpy_file(str(path), name) for name in names}
            return _from_table(read_table(columns, shown), schema, mapping, side, None)
        if suffix in (".parquet", ".pq"):
            data = open_parquet(path, shown)
        elif suffix in READERS:
            nested = _json_object(path, shown) if suffix == ".json" else None
            if nested is not None:
                return _from_nested(nested, shown)
            return _from_table(read_table(data, shown), schema, mapping, side, None)
        elif is_trec(path):
            return read_trec(path, shown, side)
        else:
            endings = ", ".join([*READERS, ".npz", *(ending for ending in ENDINGS if ending)])
            raise UnknownFormat(f"'{suffix}' is not a supported format", where=shown, remedy=f"Known: {endings}.")
    if is_embeddings(data):
        return to_embeddings(data, shown)
    if isinstance(data, Mapping) and isinstance(next(iter(data.values()), {}), Mapping):
        return _from_nested(data, shown)
    if is_frame(data):
        return _from_table(lazy_frame(data, shown), schema, mapping, side, data)
    return _from_table(read_table(data, shown), schema, mapping, side, None)


def _from_table(table: Table, schema: Schema, mapping: Mapping[str, str], side: str, frame: Any) -> Records:
    """Take a table's columns; those of ids go to the native core as they lie."""
    if identities.is_of_probes(table.columns, mapping):
        return to_records(table, identities.TRUTH if side == "truth" else identities.PREDICTION, {}, side)
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
    for query, documents in data.items():
        if not isinstance(documents, Mapping):
            raise InvalidValue(
                f"query '{query}' holds {type(documents).__name__}, where others hold documents",
                where=source,
                remedy="Give {query: {document: number}}.",
            )
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
