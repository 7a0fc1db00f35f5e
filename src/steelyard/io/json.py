"""JSON lines, a JSON array of objects, and JSON text to write."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import DuplicateKey, EmptyInput, InvalidFile, InvalidValue, MissingKey, TooLarge
from steelyard.core.records import as_object
from steelyard.io.table import Table
from steelyard.io.text import check_blank, open_text

KINDS: dict[str, Any] = {
    "an object": dict, "an array": list, "a text": str, "a number": (int, float),
    "a text or a number": (str, int, float),
}  # fmt: skip


def json_text(data: Any) -> str:
    """JSON text that any strict reader takes: no NaN, no Infinity."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_json_lines(path: Path, source: str) -> Table:
    """Read one object per line; a key that a line lacks is an empty cell."""
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    blank = 0
    with open_text(path, source) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                blank += 1
                check_blank(blank, source)
                continue
            rows.append(_object(parse_json(line, f"{source}, line {number}"), f"{source}, line {number}"))
            lines.append(number)
    if not rows:
        raise EmptyInput("the file is empty", where=source, remedy="It needs one JSON object per line.")
    return Table(source, columns_of(rows), np.array(lines, dtype=np.int64))


def read_json(path: Path, source: str) -> Table:
    """Read an array of objects, or the annotations of a COCO file of captions."""
    with open_text(path, source) as file:
        text = file.read()
    if not text.strip():
        raise EmptyInput("the file is empty", where=source, remedy="It needs a JSON array of objects.")
    data = parse_json(text, source)
    if isinstance(data, dict) and _has_captions(data.get("annotations")):
        data = data["annotations"]
    if not isinstance(data, list):
        raise InvalidFile(
            f"holds {type_name(data)}",
            where=source,
            remedy="A JSON array of objects is expected, or JSON lines (.jsonl).",
        )
    if not data:
        raise EmptyInput("there are no rows", where=source, remedy="It needs at least one object.")
    return Table(source, columns_of([_object(row, f"{source}, row {i}") for i, row in enumerate(data)]))


def _has_captions(annotations: Any) -> bool:
    """Whether an object's annotations are captions, as in COCO's files."""
    first = annotations[0] if isinstance(annotations, list) and annotations else None
    return isinstance(first, dict) and "caption" in first


class Twice(ValueError):
    """An object has a key more than once."""


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs; of a key that appears twice nobody knows which is meant."""
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        raise Twice(next(key for key in result if keys.count(key) > 1))
    return result


def parse_json(text: str, where: str, remedy: str = "") -> Any:
    """What a JSON text says; an error names the place."""
    try:
        return json.loads(text, object_pairs_hook=unique)
    except Twice as twice:
        raise DuplicateKey(f"key '{twice}' appears twice in an object", where=where, remedy="Keep one.") from None
    except json.JSONDecodeError as error:
        place = f"character {error.pos}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
        raise InvalidFile(
            f"not valid JSON at {place}: {error.msg.removesuffix(' starting at')}", where=where, remedy=remedy
        ) from None
    except RecursionError:
        raise TooLarge("the JSON is nested too deeply", where=where, remedy=remedy) from None
    except ValueError:
        raise TooLarge("a whole number of more than 4,300 digits", where=where, remedy=remedy) from None


def required(entry: Any, key: str, where: str) -> Any:
    """The value of a key that an entry must have."""
    if not isinstance(entry, dict) or key not in entry:
        raise MissingKey(f"key '{key}' is missing", where=where, remedy="Is the file complete?")
    return entry[key]


def expect(value: Any, kind: str, name: str, where: str) -> Any:
    """The value under a name where it is of a kind of `KINDS`; else an error that says what stands there instead."""
    if isinstance(value, KINDS[kind]) and not isinstance(value, bool):
        return value
    raise InvalidValue(
        f"'{name}' is {type_name(value)} where {kind} is expected",
        where=where,
        remedy="Is the file whole, and of that format?",
    )


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidFile(
            f"{type_name(value)} where an object is expected", where=where, remedy='Example: {"dish": "A"}.'
        )
    return value


def type_name(value: Any) -> str:
    """What JSON calls the type of a value, with its article."""
    names = {dict: "an object", list: "an array", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def columns_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The columns of rows by name; a name that a row lacks is an empty cell."""
    names: Iterable[str] = dict.fromkeys(name for row in rows for name in row)
    return {name: as_object([row.get(name) for row in rows]) for name in names}
