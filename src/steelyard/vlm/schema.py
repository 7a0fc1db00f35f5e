"""Answers that are JSON: read strictly, checked by a part of JSON Schema, and kept in one spelling.

The keywords are `type` (one or several), `properties`, `required`, `additionalProperties` (true or false), `items` (one
schema), `minItems`, `maxItems`, `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `minLength`, `maxLength`,
`enum` and `const`; `title`, `description` and `$schema` say nothing. Any other is refused, not passed over.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
    ),
}
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_SILENT = ("title", "description", "$schema")
KEYWORDS = (
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", *_COUNTS, *_BOUNDS, *_SILENT,
)  # fmt: skip
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(?P<inside>.*?)\n?\s*```", re.S | re.I)
DEEPEST = 20


def read_json(text: str) -> Any:
    """The one value that a text holds, in a fence or without; ValueError where it is anything else."""
    match = _FENCED.fullmatch(text.strip())

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is not JSON")

    try:
        value = json.loads(
            match["inside"] if match else text,
            object_pairs_hook=_once,
            parse_constant=refuse,
            parse_int=lambda digits: int(digits) if len(digits) < 300 else refuse("a number that long"),
            parse_float=lambda digits: number if math.isfinite(number := float(digits)) else refuse(digits[:40]),
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return value


def canonical_json(value: Any) -> str:
    """A value in one spelling: keys in order, no blanks, 1.0 as 1."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise ValueError("a key appears twice")
    return dict(pairs)


def schema_of(source: Any, path: str = "schema") -> dict[str, Any]:
    """A schema as a file of questions holds it, where YAML knows texts alone; ValueError says what is wrong with it."""
    if not isinstance(source, dict):
        raise ValueError(f"{path} is not an object")
    if path.count("/") > DEEPEST:
        raise ValueError("the schema is nested too deep")
    types = source.get("type", [])
    types = [types] if isinstance(types, str) else types
    if not isinstance(types, list) or not all(isinstance(one, str) and one in TYPES for one in types):
        raise ValueError(f"{path} has the type '{str(source.get('type'))[:40]}'; known: {', '.join(TYPES)}")
    schema: dict[str, Any] = {}
    for word, value in source.items():
        if word not in KEYWORDS:
            raise ValueError(f"{path} says '{str(word)[:40]}', which is not read; known: {', '.join(KEYWORDS)}")
        if word not in _SILENT:
            schema[word] = _keyword(word, value, types, path)
    return schema


def _keyword(word: str, value: Any, types: list[str], path: str) -> Any:
    if word == "properties":
        if not isinstance(value, dict):
            raise ValueError(f"{path}/properties is not an object")
        return {name: schema_of(inner, f"{path}/{name}") for name, inner in value.items()}
    if word == "items":
        return schema_of(value, f"{path}/items")
    if word == "required":
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise ValueError(f"{path}/required is not a list of names")
        return value
    if word == "additionalProperties":
        flag = {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else value
        if not isinstance(flag, bool):
            raise ValueError(f"{path}/additionalProperties is neither true nor false")
        return flag
    if word in _COUNTS or word in _BOUNDS:
        number = _typed_value(value, ["number"])
        if not TYPES["number"](number) or (word in _COUNTS and not (TYPES["integer"](number) and number >= 0)):
            raise ValueError(f"{path}/{word} is not a {'count' if word in _COUNTS else 'number'}")
        return number
    if word == "enum":
        if not isinstance(value, list) or not value:
            raise ValueError(f"{path}/enum is not a list of values")
        return [_typed_value(one, types) for one in value]
    return _typed_value(value, types) if word == "const" else value


def _typed_value(value: Any, types: list[str]) -> Any:
    """A value of a file; a text is taken for a number, a flag or null where the schema asks for one."""
    if not isinstance(value, str) or "string" in types or not types:
        return value
    try:
        read = read_json(value)
    except ValueError:
        return value
    return read if any(TYPES[one](read) for one in types) else value


def violation(value: Any, schema: Mapping[str, Any], path: str = "$") -> str:
    """Where a value does not keep to a schema, as `$.items[2].price`; empty where it does."""
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(TYPES[one](value) for one in types):
        return path
    text = canonical_json(value)
    if "enum" in schema and text not in [canonical_json(one) for one in schema["enum"]]:
        return path
    if "const" in schema and text != canonical_json(schema["const"]):
        return path
    if TYPES["number"](value) and not _within(value, schema):
        return path
    size = {"Length": value} if isinstance(value, str) else {"Items": value} if isinstance(value, list) else {}
    for word, held in size.items():
        if not schema.get(f"min{word}", 0) <= len(held) <= schema.get(f"max{word}", math.inf):
            return path
    if isinstance(value, list) and "items" in schema:
        inner = (violation(one, schema["items"], f"{path}[{i}]") for i, one in enumerate(value))
        return next((where for where in inner if where), "")
    return _of_object(value, schema, path) if isinstance(value, dict) else ""


def _within(value: float, schema: Mapping[str, Any]) -> bool:
    closed: bool = schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
    opened: bool = schema.get("exclusiveMinimum", -math.inf) < value < schema.get("exclusiveMaximum", math.inf)
    return closed and opened


def _of_object(value: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> str:
    missing = next((name for name in schema.get("required", ()) if name not in value), None)
    if missing is not None:
        return f"{path}.{missing}"
    properties = schema.get("properties", {})
    for name, inner in value.items():
        if name in properties:
            where = violation(inner, properties[name], f"{path}.{name}")
            if where:
                return where
        elif schema.get("additionalProperties", True) is False:
            return f"{path}.{name}"
    return ""
