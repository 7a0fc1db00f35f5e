"""From whatever the user has to a table, and from a table to records by a schema."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    EmptyCell,
    InputError,
    InvalidNumber,
    InvalidText,
    InvalidValue,
    MissingColumn,
    MissingFile,
    OutOfRange,
    ShapeMismatch,
    UnknownFormat,
    UnknownName,
    nearest,
    nearest_of,
)
from steelyard.core.opening import is_entry
from steelyard.core.records import LARGEST, Array, Column, ColumnType, Records, Schema, as_object
from steelyard.io.dialect import note, with_points
from steelyard.io.frames import from_memory
from steelyard.io.streams import is_stream, read_stream
from steelyard.io.table import Table, is_empty
from steelyard.io.text import ending, first_bytes, refuse_foreign, sheet_path

_REMEDY = "Write x and y in turn, as 1.5 2 3 4 or as [[1.5, 2], [3, 4]]."


def points_column(table: Table, name: str, values: Array) -> Array:
    """Each cell as an array (points, 2), or None where it is empty."""
    points: Array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values.tolist()):
        problem = ""
        try:
            points[row] = parse_points(value)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            problem = str(error) or "it cannot be read"
        if problem:
            text = value if isinstance(value, str) else "the cell"
            shown = f"'{text if len(text) <= 40 else text[:37] + '...'}'" if isinstance(value, str) else text
            raise InvalidValue(
                f"{shown} holds no points: {problem}", where=f"{table.place(row)}, column '{name}'", remedy=_REMEDY
            )
    return points


def parse_points(value: Any) -> Array | None:
    """Points from a list of pairs, a flat list of numbers, or a text of either. Raises ValueError."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, str):
        if not value.strip():
            return None
        value = _from_text(value)
    points = np.asarray(value, dtype=np.float64)
    if points.ndim == 1:
        if len(points) % 2:
            raise ValueError(f"{count_text(len(points), 'number', 'make')} no pairs")
        points = points.reshape(-1, 2)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"its shape is {' x '.join(map(str, points.shape))}, not points x 2")
    if not np.isfinite(points).all():
        raise ValueError("a coordinate is not finite")
    return points


def _from_text(text: str) -> Any:
    if text.lstrip().startswith("["):
        import json

        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"not valid JSON at character {error.pos}") from None
    return [float(part) for part in re.split(r"[\s,;]+", text.strip(" \t\r\n,;"))]


SAMPLE_WEIGHT = "sample_weight"  # the weights of units, in every task
LIKE_WEIGHTS = ("sample_weight", "sample_weights", "weight", "weights", "unit_weight", "case_weight", "instance_weight")
MOST_WHOLE = 2.0**53  # beyond it a double does not tell a whole number from the next


# By the ending of a file: the module and the function that read it, and what else the function takes.
READERS: dict[str, tuple[str, ...]] = {
    ".csv": ("csv", "read_csv"),
    ".tsv": ("csv", "read_csv", "\t"),
    ".jsonl": ("json", "read_json_lines"),
    ".ndjson": ("json", "read_json_lines"),
    ".json": ("json", "read_json"),
    ".parquet": ("parquet", "read_parquet"),
    ".pq": ("parquet", "read_parquet"),
    ".xlsx": ("excel", "read_sheet"),
}


def read_table(data: Any, side: str) -> Table:
    """Read a path, a data frame, a stream or a mapping; `side` names data without a path in messages.

    A table is returned as it is.
    """
    if isinstance(data, Table):
        return data
    if not isinstance(data, str | PathLike):
        return read_stream(data, side) if is_stream(data) else from_memory(data, side)
    from pathlib import Path  # slow to load, as each reader is

    path = Path(sheet_path(str(data))[0])
    reader = READERS.get(ending(path))
    if reader is None:
        endings = ", ".join(READERS)
        if str(data) and path.is_dir():
            raise UnknownFormat("is a folder", where=str(data), remedy=f"Give a table: {endings}.")
        if is_entry(path):
            refuse_foreign(first_bytes(path, str(data)), str(data))
        elif str(data) and not path.suffix:
            raise MissingFile("there is no such file", where=str(data), remedy="Check the path.")
        raise UnknownFormat(f"'{path.suffix}' is not a supported format", where=str(data), remedy=f"Known: {endings}.")
    module, function, *more = reader
    table: Table = getattr(import_module(f"steelyard.io.{module}"), function)(path, str(data), *more)
    return table


def check_mapping(mapping: Mapping[str, str], sides: Mapping[str, Schema], tables: Mapping[str, Table]) -> None:
    """Every renamed column must be one that a schema has, and stand in at least one of the files."""
    names = [name for schema in sides.values() for name in schema.names]
    weights = [name for schema in sides.values() for column in schema.columns for name in _weight_names(column)]
    for target, source_name in mapping.items():
        side, dot, name = target.rpartition(".")
        if (dot and side not in sides) or name.partition(":")[0] not in (*names, *weights):
            raise UnknownName(f"column '{target}' cannot be mapped", remedy=nearest(name, dict.fromkeys(names)))
        looked = [tables[side]] if dot else list(tables.values())
        if not any(source_name in table.columns for table in looked):
            has = dict.fromkeys(name for table in looked for name in table.columns)
            raise MissingColumn(
                f"column '{source_name}' is missing, which '{target}' is mapped to",
                where=looked[0].source,
                remedy=nearest(source_name, has),
            )


def to_records(table: Table, schema: Schema, mapping: Mapping[str, str], side: str) -> Records:
    """Convert a table's columns as the schema says; the rest is kept as it is, for slices."""
    columns: dict[str, Array] = {}
    names: dict[str, str] = {}
    lacking: list[str] = []
    for column in schema.columns:
        if column.many:
            _class_columns(table, column, mapping, side, columns, names)
        name = _name_of(table, column.name, mapping, side)
        if name == column.name and SAMPLE_WEIGHT in _weight_names(column):
            name = _weight_column(table, column, mapping, side)
        elif name not in table.columns:
            name = next((alias for alias in column.aliases if alias in table.columns), name)
        elif column.ahead and not {column.name, f"{side}.{column.name}"} & mapping.keys():
            name = next((other for other in column.ahead if other in table.columns), name)
        if not column.many and name not in table.columns and f"{name}:0" in table.columns:
            raise _missing(table, name)
        if not column.required and name not in table.columns:
            continue
        if name not in table.columns:
            lacking.append(name)
        names[column.name] = name
    if lacking:
        raise _missing(table, *lacking)
    for column in schema.columns:
        if column.name in names:
            columns[column.name] = _convert(table, names[column.name], column, column.type)
    used = set(names.values())
    other = {name: values for name, values in table.columns.items() if name not in used}
    for name in other:
        if name.strip().lower() in LIKE_WEIGHTS and _are_numbers(table.columns[name]):
            note(_unused_weight(table, name, schema))
    return Records(table.source, columns, other, table.place, names)


def key_names(table: Table, schema: Schema, mapping: Mapping[str, str]) -> list[str]:
    """The names under which a table of predictions may have the column that identifies a row."""
    key = schema.column(schema.key[0])
    names = (key.name, *key.aliases) if key is not None else schema.key[:1]
    return [_name_of(table, name, mapping, "prediction") for name in names]


def filled_rows(table: Table, columns: Sequence[Column], mapping: Mapping[str, str]) -> tuple[Table, str]:
    """The rows of a table of predictions that have a value in each of some columns; the place of the first empty cell.

    Of columns `name:class`, all must be empty in a row that is left out.
    """
    filled = np.ones(len(table), dtype=bool)
    first = len(table), ""
    for column in columns:
        own = _classes(table, column, mapping, "prediction").values()
        names = dict.fromkeys((_name_of(table, column.name, mapping, "prediction"), *own))
        empty = {name: _empty_cells(table.columns[name], column) for name in names if name in table.columns}
        if not any(cells.any() for cells in empty.values()):
            continue
        none = np.logical_and.reduce(list(empty.values()))
        for name, cells in empty.items():
            partly = np.flatnonzero(cells & ~none)
            if len(partly):
                what = "the cell is empty or nan, and others of the row are not"
                raise _problem(table, name, int(partly[0]), what, "Give a number for every class, or for none.")
        filled &= ~none
        first = min(first, (int(np.argmax(none)), next(iter(empty)))) if none.any() else first
    if filled.all():
        return table, ""
    rows = np.flatnonzero(filled)
    lines = np.arange(len(table)) if table.lines is None else table.lines
    counted = table.counted if table.lines is not None else "row"
    place = f"{table.place(first[0])}, column '{first[1]}'"
    part = {name: values[rows] for name, values in table.columns.items()}
    return replace(table, columns=part, lines=lines[rows], counted=counted), place


def _empty_cells(values: Array, column: Column) -> Array:
    """Which cells are empty; in a column of numbers nan is, too."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind not in "OU":
        return np.zeros(len(values), dtype=bool)
    blank = ("", "nan") if column.type == "number" else ("",)

    def is_blank(value: Any) -> bool:
        return value.strip().lower() in blank if isinstance(value, str) else is_empty(value)

    raw = values.tolist()
    if set(map(type, raw)) <= {str, int, float} and not any(map(is_blank, set(raw))):
        return np.zeros(len(raw), dtype=bool)
    return np.array([is_blank(value) for value in raw], dtype=bool)


def _weight_names(column: Column) -> tuple[str, ...]:
    """The names of a column of units' weights, and none of another column."""
    names = (column.name, *column.aliases)
    return names if SAMPLE_WEIGHT in names else ()


def _weight_column(table: Table, column: Column, mapping: Mapping[str, str], side: str) -> str:
    """The column of units' weights: the one that is mapped, or `sample_weight`, or another name that the task takes."""
    names = sorted(_weight_names(column), key=lambda name: name != SAMPLE_WEIGHT)
    mapped = [_name_of(table, name, mapping, side) for name in names]
    candidates = [name for name in (*(name for name in mapped if name not in names), *names) if name in table.columns]
    return candidates[0] if candidates else column.name


def _are_numbers(values: Array) -> bool:
    """Whether every cell that is filled is a number, and some are."""
    if values.dtype.kind in "iuf":
        return True
    filled = [value for value in values.tolist() if not is_empty(value)]
    try:
        return bool(filled) and all(math.isfinite(float(value)) for value in filled)
    except (TypeError, ValueError, OverflowError):
        return False


def _unused_weight(table: Table, name: str, schema: Schema) -> str:
    own = next((column for column in schema.columns if _weight_names(column)), None)
    remedy = f" If it holds weights of units, map it: {SAMPLE_WEIGHT}={name}." if own is not None else ""
    return f"{table.source}: column '{name}' is not used.{remedy}"


def _class_columns(
    table: Table,
    column: Column,
    mapping: Mapping[str, str],
    side: str,
    columns: dict[str, Array],
    names: dict[str, str],
) -> None:
    """The columns `name:class`; a class may be mapped to a column of any name."""
    for target, name in _classes(table, column, mapping, side).items():
        names[target] = name
        columns[target] = _convert(table, name, column, column.many or column.type)


def _classes(table: Table, column: Column, mapping: Mapping[str, str], side: str) -> dict[str, str]:
    """What a table calls the columns `name:class`."""
    if not column.many:
        return {}
    prefix = f"{mapping.get(f'{side}.{column.name}') or mapping.get(column.name, column.name)}:"
    renamed = {
        f"{column.name}:{name.removeprefix(prefix).strip()}": name for name in table.columns if name.startswith(prefix)
    }
    for target, name in mapping.items():
        target = target.removeprefix(f"{side}.")
        if target.startswith(f"{column.name}:") and name in table.columns:
            renamed[target] = name
    return renamed


def column_name(table: Table, name: str, mapping: Mapping[str, str], side: str) -> str:
    """What a source calls a column; an error where it has none."""
    column = _name_of(table, name, mapping, side)
    if column not in table.columns:
        raise _missing(table, column)
    return column


def _name_of(table: Table, name: str, mapping: Mapping[str, str], side: str) -> str:
    mapped = mapping.get(f"{side}.{name}") or mapping.get(name, name)
    return mapped if mapped in table.columns else name


def _missing(table: Table, *names: str) -> InputError:
    """All columns that are not there, each with the nearest of those that are."""
    wide = next((name for name in names if f"{name}:0" in table.columns), None)
    if wide is not None:
        return ShapeMismatch(f"column '{wide}' has 2 dimensions", where=table.source, remedy="Give one value per row.")
    columns = [*table.columns, *table.left_out]
    has = ", ".join(f"'{c}'" for c in columns) or "none"
    free = [name for name in columns if name not in names]
    near = {name: nearest_of(name, free) for name in names}
    likely = [f"'{other}'" for other in near.values() if other]
    guess = f"Did you mean {' and '.join(likely)}? " if likely else ""
    mapped = f"`columns={ {name: other or 'YOUR_COLUMN' for name, other in near.items()} }`"
    if len(names) == 1:
        what, verb = f"column '{names[0]}' is missing", "Rename the column, or map it"
    else:
        listed = ", ".join(f"'{name}'" for name in names[:-1])
        what, verb = f"columns {listed} and '{names[-1]}' are missing", "Rename the columns, or map them"
    return MissingColumn(f"{what}; the columns are {has}", where=table.source, remedy=f"{guess}{verb}: {mapped}.")


def _convert(table: Table, name: str, column: Column, type_: ColumnType) -> Array:
    values = table.columns[name]
    if type_ == "id":
        return as_ids(table, name, values)
    if type_ == "text":
        if column is not None and not column.lists:
            _refuse_lists(table, name, values)
        return _texts(table, name, values)
    if type_ == "flag":
        return _flags(table, name, values)
    if type_ == "points":
        from steelyard.io.read import points_column  # few columns hold points, masks or rows of numbers

        return points_column(table, name, values)
    if type_ == "label":
        return _labels(table, name, values, column)
    if type_ == "labels":
        return _label_sets(table, name, values)
    if type_ == "mask":
        from steelyard.io.shapes import mask_column

        return mask_column(table, name, values)
    if type_ == "numbers":
        from steelyard.io.shapes import numbers_column

        return numbers_column(table, name, values)
    if type_ == "picture":
        from steelyard.io.map_cells import picture_column

        return picture_column(table, name, values)
    if type_ in ("map", "volume"):
        from steelyard.io.map_cells import map_column  # few tasks have maps: the others need no reader of them

        return map_column(table, name, values, type_ == "volume")
    if type_ == "field":
        from steelyard.io.map_cells import field_column

        return field_column(table, name, values)
    return _numbers(table, name, values, column)


def _texts(table: Table, name: str, values: Array) -> Array:
    raw = values.tolist()
    if set(map(type, raw)) <= {str}:
        texts = ["" if text.isspace() else text for text in raw]
    else:
        _refuse_bytes(table, name, raw)
        texts = [_text(value) for value in raw]
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        row = next(i for i, text in enumerate(texts) if text.encode("utf-8", "replace").decode() != text)
        what = "half a character, which no file can hold"
        raise _problem(table, name, row, what, "Write whole ones.", InvalidText) from None
    return as_object(texts)


def _refuse_lists(table: Table, name: str, values: Array) -> None:
    for row, value in enumerate(values.tolist()):
        if isinstance(value, list | tuple | dict | np.ndarray):
            raise InvalidValue(
                f"{str(value)[:40]} is a list where one text is expected",
                where=f"{table.place(row)}, column '{name}'",
                remedy="Give one text for each row.",
            )


def _text(value: Any) -> str:
    """A cell as text; a list or an object of a JSON file as JSON."""
    if isinstance(value, tuple | np.ndarray):
        value = list(value)
    if isinstance(value, list | dict):
        import json

        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if is_empty(value) else str(value)


def _problem(
    table: Table, name: str, row: int, what: str, remedy: str, kind: type[InputError] = InvalidValue
) -> InputError:
    return kind(what, where=f"{table.place(row)}, column '{name}'", remedy=remedy)


def _refuse_bytes(table: Table, name: str, cells: list[Any]) -> None:
    row = next((i for i, value in enumerate(cells) if isinstance(value, bytes)), None)
    if row is not None:
        raise _problem(table, name, row, f"{_quote_value(cells[row])} is bytes, not text", "Decode the column to text.")


def as_ids(table: Table, name: str, values: Array) -> Array:
    """Ids as whole numbers where all of them are, else as text without blanks around it."""
    whole = _whole(table, name, values)
    if whole is not None:
        return whole
    raw = values.tolist()
    if raw and all(type(v) is int and abs(v) < 1 << 62 for v in raw):
        return np.array(raw, dtype=np.int64)
    if set(map(type, raw)) == {str}:
        stripped = list(map(str.strip, raw))
        if all(stripped):
            return as_object(stripped)
    texts = [v.strip() if isinstance(v, str) else v for v in raw]
    for row, value in enumerate(texts):
        if is_empty(value):
            raise _problem(table, name, row, "the id is empty", "Give every row an id.", EmptyCell)
        if isinstance(value, list | tuple | dict | set | np.ndarray):
            raise _problem(
                table, name, row, f"{_quote_value(value)} is not a valid id", "Give a text or a whole number."
            )
    _refuse_bytes(table, name, texts)
    return as_object([str(v) for v in texts])


def _whole(table: Table, name: str, values: Array) -> Array | None:
    """A column of whole numbers as such; None where it is none, or some do not fit."""
    if values.dtype.kind in "iu":
        fits = values.dtype != np.uint64 or not len(values) or values.max() < 1 << 63
        return values.astype(np.int64, copy=False) if fits else None
    if values.dtype.kind != "f" or not np.isfinite(values).all() or (values != np.floor(values)).any():
        return None
    large = np.flatnonzero(np.abs(values) > MOST_WHOLE)
    if len(large):
        row = int(large[0])
        what = f"{values[row]:.17g} is a floating-point number, which does not hold every whole number of that size"
        raise _problem(table, name, row, what, "Give whole numbers or texts.")
    return values.astype(np.int64)


def _labels(table: Table, name: str, values: Array, column: Column) -> Array:
    """Integers stay integers and text stays as it is: ten million labels are looked at once, by who counts them."""
    whole = values.astype(np.int64) if values.dtype.kind == "b" else _whole(table, name, values)
    if whole is not None:
        return whole
    if values.dtype.kind == "U":
        return values
    raw = values.tolist()
    kinds = set(map(type, raw))
    if kinds == {str} and values.dtype == object:
        return values
    if kinds and kinds <= {int, bool} and all(abs(v) < 1 << 62 for v in raw):
        return np.array(raw, dtype=np.int64)
    for row, value in enumerate(raw):
        if is_empty(value) and not column.empty:
            raise _problem(table, name, row, "the label is empty", "Give every row a label.", EmptyCell)
        if isinstance(value, list | tuple | set | dict | np.ndarray):
            raise _problem(
                table,
                name,
                row,
                f"{_quote_value(value)} is not one label",
                "Several labels per row go in a column 'labels'.",
            )
        if isinstance(value, float) and value.is_integer() and abs(value) > MOST_WHOLE:
            what = f"{value:.17g} is a floating-point number, which does not hold every whole number of that size"
            raise _problem(table, name, row, what, "Give whole numbers or texts.")
    _refuse_bytes(table, name, raw)
    return as_object(["" if is_empty(v) else _label_text(v) for v in raw])


def _label_text(value: Any) -> str:
    whole = isinstance(value, bool | np.bool_) or (isinstance(value, float) and value.is_integer())
    return str(int(value)) if whole else str(value)


def _label_sets(table: Table, name: str, values: Array) -> Array:
    """Sets of labels: a list in the cell, or texts between `|`; an empty cell is the empty set."""
    sets: Array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values.tolist()):
        if isinstance(value, list | tuple | set | frozenset | np.ndarray):
            if any(map(is_empty, value)):
                raise _problem(table, name, row, "a label of the list is empty", "Leave it out of the list.")
            sets[row] = tuple(dict.fromkeys(_label_text(v).strip() for v in value))
        elif is_empty(value):
            sets[row] = ()
        else:
            sets[row] = tuple(dict.fromkeys(part.strip() for part in str(value).split("|") if part.strip()))
    return sets


_FLAGS = {
    "true": True,
    "1": True,
    "yes": True,
    "false": False,
    "0": False,
    "no": False,
    "1.0": True,
    "0.0": False,
}


def _flags(table: Table, name: str, values: Array) -> Array:
    if values.dtype.kind == "b":
        return values
    flags = [_FLAGS.get(str(v).strip().lower()) for v in values.tolist()]
    for row, flag in enumerate(flags):
        if flag is None:
            raise _problem(table, name, row, f"'{values[row]}' is neither true nor false", "Write true or false.")
    return np.array(flags, dtype=bool)


def _numbers(table: Table, name: str, values: Array, column: Column) -> Array:
    if values.dtype.kind in "iuf" or (values.dtype.kind == "b" and column.flags):
        numbers = values.astype(np.float64)
    else:
        numbers = _parse_numbers(table, name, values, column)
    empty = np.isnan(numbers) if column.empty else np.zeros(len(numbers), dtype=bool)
    wrong = ~np.isfinite(numbers) & ~empty
    remedy = "It must be a finite number."
    low, high = column.minimum, column.maximum
    if SAMPLE_WEIGHT in _weight_names(column):
        high = LARGEST
    if low is not None:
        wrong |= numbers < low
        remedy = f"It must be at least {low:g}." if low > -LARGEST else "It must be a finite number."
    if high is not None:
        wrong |= numbers > high
        if high < LARGEST or (np.abs(numbers[wrong][:1]) > LARGEST).any():
            remedy = f"It must be from {low or 0:g} to {high:g}."
    if column.type == "integer":
        with np.errstate(invalid="ignore"):
            wrong |= ((numbers != np.floor(numbers)) | (abs(numbers) > MOST_WHOLE)) & ~empty
        remedy = f"It must be a whole number{'' if column.minimum is None else f' from {column.minimum:g} up'}."
    if wrong.any():
        row = int(np.argmax(wrong))
        kind = InvalidNumber if np.isnan(numbers[row]) else OutOfRange
        raise _problem(table, name, row, f"{_quote_value(values[row])} is not allowed here", remedy, kind)
    return numbers.astype(np.int64) if column.type == "integer" and not empty.any() else numbers


_COMMA = r"[+-]?[0-9][0-9.]*,[0-9]+([eE][+-]?[0-9]+)?"


def _parse_numbers(table: Table, name: str, values: Array, column: Column) -> Array:
    raw = values.tolist() if values.dtype.kind not in "Mm" else values.astype(str).tolist()
    kinds = set(map(type, raw))
    if table.decimal != "." and kinds == {str}:
        raw, (row, why) = with_points(raw, table.decimal, table.source, name)
        if why:
            remedy = "Set `decimal='comma'` or `decimal='point'`, and write nothing between thousands."
            raise _problem(table, name, row, why, remedy, InvalidNumber)
    plain = kinds <= {int, float} or (kinds == {str} and _are_ascii(raw))
    try:
        if plain:
            return np.array([float(v) for v in raw], dtype=np.float64)
        if column.empty and kinds <= {int, float, type(None)}:
            return np.array([math.nan if v is None else float(v) for v in raw], dtype=np.float64)
    except (ValueError, OverflowError):
        pass
    numbers = np.empty(len(raw))
    for row, value in enumerate(raw):
        if is_empty(value):
            if not column.empty:
                raise _problem(table, name, row, "empty cell: a number is required", "", EmptyCell)
            numbers[row] = math.nan
            continue
        try:
            if isinstance(value, bool | np.bool_) and not column.flags:
                raise TypeError("a truth value")
            if isinstance(value, str) and not _are_ascii([value]):
                raise ValueError("digits of other scripts, or with underscores")
            numbers[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            remedy = "Write digits with a decimal point."
            if isinstance(value, str) and re.fullmatch(_COMMA, value.strip()):
                remedy = "It has a comma: write a decimal point, and nothing between thousands."
            raise _problem(table, name, row, f"{_quote_value(value)} is not a number", remedy, InvalidNumber) from None
    return numbers


def _are_ascii(texts: list[str]) -> bool:
    """Whether Python reads numbers there as others do: not `4_0`, and no digits of other scripts."""
    whole = "".join(texts)
    return whole.isascii() and "_" not in whole


def _quote_value(value: Any) -> str:
    text = str(value)
    return f"'{text if len(text) <= 40 else text[:37] + '...'}'"
