"""TREC files: judgements (`query 0 document relevance`) and runs (`query Q0 document rank score tag`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.errors import EmptyCell, InputError, InvalidText, InvalidValue, UnreadableFile
from steelyard.core.rankings import Ids, Rankings
from steelyard.core.records import Array
from steelyard.io.text import is_plain, read_bytes

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
        raise EmptyCell("the file is empty", where=source, remedy=f"It needs lines of: {' '.join(fields)}.")

    def where(row: int) -> str:
        return f"{source}, line {_line(text, int(place[row]) >> 16)}"

    names = [_decoded(text, int(p), source) for p in run_place.tolist()]
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


def _decoded(text: Array, place: int, source: str) -> str:
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
    return InvalidValue(what[kind](), where=where, remedy=remedy)
