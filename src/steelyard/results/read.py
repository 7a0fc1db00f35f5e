"""Results read back from their JSON form. A file that is not one says what is wrong with it, and where."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from steelyard.core.errors import InvalidResult, InvalidText, MissingFile
from steelyard.io.json import parse_json
from steelyard.io.text import read_bytes
from steelyard.results.codec import EDITED, decode
from steelyard.results.comparison import Comparison, Lineup
from steelyard.results.forms import HOW
from steelyard.results.gate import Gate
from steelyard.results.plan import StudyPlan
from steelyard.results.report import Report
from steelyard.results.result import Result
from steelyard.results.sets import Drift, Pool
from steelyard.results.vlm import VlmScore

AnyResult = Report | Comparison | Lineup | VlmScore | Gate | StudyPlan | Pool | Drift


def read_result(data: str | PathLike[str] | Mapping[str, Any], source: str = "result") -> AnyResult:
    """A result from its JSON file, or from what `to_dict` gave."""
    if isinstance(data, Mapping):
        return parse_result(data, source)
    if not isinstance(data, str | PathLike):
        raise InvalidResult(f"{data!r} is not a result", where=source, remedy="Give a path, or what `to_dict` gave.")
    source = fspath(data)
    path = Path(data)
    if not os.path.exists(path):
        raise MissingFile("no such file", where=source, remedy=HOW)
    try:
        text = read_bytes(path, source).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidText("is not UTF-8 text", where=source, remedy=HOW) from None
    return parse_result(parse_json(text, source, HOW), source)


def edit_notes(results: Iterable[tuple[str, Any]]) -> tuple[str, ...]:
    """What must be said of results, by name, that were changed after they were written."""
    return tuple(f"{name}: {EDITED}" for name, one in results if isinstance(one, Result) and EDITED in one.notes)


def parse_result(data: Any, source: str) -> AnyResult:
    """Build a result from parsed JSON; raises for anything but an object, including a path."""
    result: AnyResult = decode(data, source)
    return result
