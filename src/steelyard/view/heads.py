"""The head of a result: what a list shows of it, without the rest of a file that may hold megabytes.

A result says first what it is, what was asked for and what came out; slices and details stand last. Here the members
are read one by one until nothing more is wanted.
"""

from __future__ import annotations

import json
import re
from typing import Any

HEAD_BYTES = 64 << 10
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_WANTED = {
    "report": {"request", "task_facts", "scores", "sources"},
    "comparison": {"task_facts", "a", "b", "differences"},
}


class NoHead(Exception):
    """The text is no head of a result: it is cut off too early, or it is something else."""


def head_of(text: str) -> tuple[str, dict[str, Any]]:
    """The kind of a result and the members of its body that a list shows; all of them for kinds that are short."""
    try:
        top = _members(text, _skip(text, 0), {"format", "version", "kind"})
        at = top.pop("", None)
        if (top.get("format"), top.get("version")) != ("steelyard", 2) or at is None:
            raise NoHead
        kind = top["kind"]
        body = _members(text, at, _WANTED[kind]) if kind in _WANTED else _DECODER.raw_decode(text, at)[0]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        raise NoHead from None
    if not isinstance(kind, str) or not isinstance(body, dict):
        raise NoHead
    return kind, body


def _members(text: str, at: int, wanted: set[str]) -> dict[str, Any]:
    """Members of the object that begins there, until all that are wanted are read; "" is where a body begins."""
    if text[at] != "{":
        raise NoHead
    members: dict[str, Any] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] != ":" or not isinstance(key, str):
            raise NoHead
        at = _skip(text, at + 1)
        if key == "body" and "kind" in wanted:
            return {**members, "": at}
        value, at = _DECODER.raw_decode(text, at)
        if key in wanted:
            members[key] = value
            if len(members) == len(wanted) and "kind" not in wanted:
                return members
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
        elif text[at] != "}":
            raise NoHead
    return members


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
