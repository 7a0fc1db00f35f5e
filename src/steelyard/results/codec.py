"""One codec for all results: it follows the types of the dataclasses, both ways, and prints the JSON schema.

    {"format": "steelyard", "version": 2, "kind": "report", "digest": "sha256:...", "body": {...}, "details": {...}}

`digest` is of everything else in the object (`digest_of`). A file that does not match it is read with a note that says
so; files of versions before 0.3 have none. nan is null (in a place that may be empty, "nan"), infinities are "inf" and
"-inf", arrays are packed, scores by slice are a list of {"by": [...], "value": [...], "scores": {...}}.
`decode(encode(result)) == result` for every kind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steelyard.io.digest import sha256
from steelyard.io.json import json_text, type_name
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.details import DetailsData
from steelyard.results.forms import At, form_of
from steelyard.results.gate import Gate
from steelyard.results.plan import StudyPlan
from steelyard.results.report import Report
from steelyard.results.result import Result, details_of, with_stored
from steelyard.results.sets import Drift, Pool
from steelyard.results.vlm import VlmScore

FORMAT, VERSION = "steelyard", 2
EDITED = "The result was changed after Steelyard wrote it: its contents do not match its digest."
_EXACT = 2**53  # whole numbers below it are the same as float and as int
KINDS: dict[str, Any] = {one.kind: one for one in (Report, Comparison, Lineup, VlmScore, Gate, StudyPlan, Pool, Drift)}


def encode(result: Result, *, details: bool = False) -> dict[str, Any]:
    """A result as plain values. With `details`, with all that its page shows; what is stored is kept anyway."""
    details_data = details_of(result.with_details() if details else result)
    data = {
        "format": FORMAT,
        "version": VERSION,
        "kind": result.kind,
        "body": form_of(KINDS[result.kind]).encode(result),
    }
    if details_data is not None:
        data["details"] = form_of(DetailsData).encode(details_data)
    head = {name: data.pop(name) for name in ("format", "version", "kind")}
    return {**head, "digest": digest_of({**head, **data}), **data}


def digest_of(data: Mapping[str, Any]) -> str:
    """SHA-256 of a result's JSON without its "digest": keys sorted, no spaces, ASCII, 1.0 written as 1.

    Another layout of the file, or another program that writes the same numbers, gives the same digest.
    """
    rest = {key: value for key, value in data.items() if key != "digest"}
    total = sha256()
    total.update(json.dumps(_whole(rest), sort_keys=True, separators=(",", ":")).encode("ascii"))
    return f"sha256:{total.hexdigest()}"


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value


def encode_text(result: Result, *, details: bool = False) -> str:
    """A result as JSON text."""
    return json_text(encode(result, details=details))


def decode(data: Any, source: str = "result") -> Any:
    """The result that `encode` made plain. What is none is refused with one message that says where it is wrong.

    One whose contents do not match its digest is read, and its first note says so.
    """
    at = At(source)
    _check_head(data, at)
    result = _decode_result(data, at)
    if "digest" not in data or _digest_matches(data) or EDITED in result.notes:
        return result
    return replace(result, notes=(EDITED, *result.notes))


def _digest_matches(data: Mapping[str, Any]) -> bool:
    try:
        return bool(data["digest"] == digest_of(data))
    except (TypeError, ValueError, RecursionError):  # a key that no version knows holds what JSON has not
        return False


def _decode_result(data: Mapping[str, Any], at: At) -> Any:
    try:
        result = form_of(KINDS[data["kind"]]).decode(data["body"], at.key("body"))
        if data.get("details") is None:
            return result
        details_data = form_of(DetailsData).decode(data["details"], at.key("details"))
    except RecursionError:
        raise at.error("the JSON is nested too deeply") from None
    try:
        return with_stored(result, details_data)
    except ValueError as error:
        raise at.error(f"'details' is broken: {error}") from None


def _check_head(data: Any, at: At) -> None:
    if not isinstance(data, Mapping):
        raise at.error(f"not a result of Steelyard: {type_name(data)} where an object is expected")
    old = data.get("schema")
    if "format" not in data and isinstance(old, str) and old.startswith(f"{FORMAT}/") and old.endswith("/1"):
        raise at.error(f"it is a result of version 1 ('{old}'), and this Steelyard reads version {VERSION}")
    for key, wanted in (("format", FORMAT), ("version", VERSION), ("kind", None), ("body", None)):
        if key not in data:
            raise at.error(("not a result of Steelyard: " if key == "format" else "") + f"'{key}' is missing")
        if wanted is not None and (data[key] != wanted or type(data[key]) is not type(wanted)):
            raise at.key(key).wrong(data[key], repr(wanted).replace("'", '"'))
    if not isinstance(data["kind"], str):
        raise at.key("kind").wrong(data["kind"], "a text")
    if data["kind"] not in KINDS:
        raise at.key("kind").wrong(data["kind"], f"one of {', '.join(KINDS)}")


def schema() -> dict[str, Any]:
    """The JSON schema of all kinds."""
    names: dict[str, Any] = {}
    kinds = [
        {
            "properties": {"kind": {"const": kind}, "body": form_of(one).schema(names)},
        }
        for kind, one in KINDS.items()
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A result of Steelyard",
        "type": "object",
        "required": ["format", "version", "kind", "body"],
        "properties": {
            "format": {"const": FORMAT},
            "version": {"const": VERSION},
            "kind": {"enum": list(KINDS)},
            "digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
            "body": {"type": "object"},
            "details": form_of(DetailsData).schema(names),
        },
        "oneOf": kinds,
        "$defs": dict(sorted(names.items())),
    }
