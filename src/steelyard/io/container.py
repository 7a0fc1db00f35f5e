"""A file of named arrays with a header: how states are kept. Versioned, without pickle, whole or not there at all.

| bytes | what |
|---|---|
| 0-7 | `STEELYRD` |
| 8-11 | version of the format, 1; all numbers little-endian |
| 12-15 | 0 |
| 16-23 | length of the header |
| 24- | the header: UTF-8 JSON, `{"kind": ..., "facts": {...}, "arrays": [...]}` |
| | each array from the next multiple of 64 on |
| last 32 | SHA-256 of all that stands before |

An array is `{"name", "code", "type", "shape", "at", "bytes"}`, `at` counted from the first. The code says what the
bytes are: `plain` (numbers as numpy holds them in C order), `text` (int64 ends of the texts, then their UTF-8), `bytes`
(the same of byte strings), `json` (UTF-8 JSON: a list of values). In `json` and in `facts` a tuple is `{"t": [...]}`,
an array of numbers `{"a": [shape, values]}`, a mapping `{"m": [[key, value], ...]}`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from steelyard.core.errors import InputError, InvalidResult, UnreadableFile, Unsupported
from steelyard.core.opening import open_regular, read_regular
from steelyard.core.records import Array, as_object
from steelyard.io.write import write_durably

MAGIC, VERSION, ALIGN = b"STEELYRD", 1, 64
_HEAD = struct.Struct("<8sIIQ")
_LEAST = {"text": 8, "bytes": 8, "json": 1}  # bytes of a value, by the code of its array
_UNFIT = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
_REMEDY = "Either Steelyard did not write it, or it is damaged: create it again."


class Container(NamedTuple):
    """What a file holds."""

    kind: str
    facts: Mapping[str, Any]
    arrays: Mapping[str, Array]


def write_container(
    path: str | PathLike[str], kind: str, facts: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """Write through a temporary file that is synced and renamed: a crash leaves the old file, or none."""
    write_durably(path, _chunks(kind, facts, arrays, str(path)))


def container_bytes(kind: str, facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Pack into bytes, to send to another process."""
    return b"".join(_chunks(kind, facts, arrays, kind))


def read_container(path: str | PathLike[str]) -> Container:
    """Read and check a whole file."""
    return parse_container(read_regular(path), str(path))


def parse_container(data: bytes, source: str) -> Container:
    """Take bytes apart; what does not fit is an error that names the source."""
    if not isinstance(data, bytes | bytearray):
        raise InvalidResult(f"{type(data).__name__} where bytes are expected", where=source)
    header, begin = read_header(data, source)
    if hashlib.sha256(memoryview(data)[:-32]).digest() != data[-32:]:
        raise InvalidResult("the checksum does not fit the contents", where=source, remedy=_REMEDY)
    view = memoryview(data)
    arrays: dict[str, Array] = {}
    try:
        for name, entry in _entries(header, len(data) - 32 - begin).items():
            arrays[name] = _decode_array(entry, view[begin + entry["at"] :][: entry["bytes"]])
        facts = _plain(header["facts"])
        if not isinstance(facts, dict):
            raise ValueError("the facts are not a mapping")
        return Container(str(header["kind"]), facts, arrays)
    except _UNFIT as error:
        raise unfit(source, f"the header does not fit the contents: {error}") from None


def unfit(source: str, what: str) -> InputError:
    """The error of a state whose contents are not what Steelyard writes."""
    return InvalidResult(what, where=source, remedy=_REMEDY)


def is_whole(path: str | PathLike[str]) -> bool:
    """Whether a file ends with the SHA-256 of all that stands before, as states do; it is read a part at a time."""
    total = hashlib.sha256()
    try:
        with open_regular(path) as file:
            left = os.fstat(file.fileno()).st_size - 32
            while left > 0 and (chunk := file.read(min(left, 1 << 20))):
                total.update(chunk)
                left -= len(chunk)
            return left == 0 and file.read() == total.digest()
    except (OSError, InputError):
        return False


def read_facts(path: str | PathLike[str]) -> Mapping[str, Any]:
    """The facts of a file, or of the index that a file of several containers begins with."""
    try:
        with open_regular(path) as file:
            start = file.read(8)
        reader = Reader(path, 0 if start == MAGIC else 8)
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}", where=str(path)) from None
    return reader.facts if isinstance(reader.facts, dict) else {}


def seal_chunks(chunks: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """The chunks, and behind them the SHA-256 of them all."""
    total = hashlib.sha256()
    for chunk in chunks:
        total.update(chunk)
        yield chunk
    yield total.digest()


def _entries(header: Mapping[str, Any], room: int) -> dict[str, Mapping[str, Any]]:
    """The arrays that a header declares, by name, each inside the `room` that the file has for them."""
    entries: dict[str, Mapping[str, Any]] = {}
    for entry in header["arrays"]:
        name, shape = entry["name"], entry["shape"]
        if type(name) is not str or name in entries:
            raise ValueError(f"the name {name!r} of an array")
        sizes = (entry["at"], entry["bytes"], *shape)
        if not all(type(size) is int and 0 <= size < 1 << 62 for size in sizes) or not 1 <= len(shape) <= 8:
            raise ValueError(f"the sizes of '{name}'")
        if entry["at"] + entry["bytes"] > room:
            raise ValueError("an array goes beyond the end")
        if entry["code"] == "plain":
            kind = np.dtype(entry["type"])
            if kind.kind not in "iufb" or kind.itemsize > 8 or math.prod(shape) * kind.itemsize != entry["bytes"]:
                raise ValueError(f"the type or the size of '{name}'")
        elif entry["code"] not in _LEAST or shape[0] * _LEAST[entry["code"]] > entry["bytes"]:
            raise ValueError(f"the code or the size of '{name}'")
        entries[name] = entry
    return entries


def read_header(data: bytes, source: str) -> tuple[dict[str, Any], int]:
    """The header, and where the arrays begin."""
    if len(data) < _HEAD.size + 32 or not data.startswith(MAGIC):
        raise InvalidResult("this is not a state file", where=source, remedy=_REMEDY)
    _, version, _, length = _HEAD.unpack_from(data)
    if version != VERSION:
        raise InvalidResult(
            f"the state has version {version}, and this Steelyard reads version {VERSION}",
            where=source,
            remedy="Read it with the version that wrote it, or make it again.",
        )
    try:
        header = json.loads(bytes(data[_HEAD.size : _HEAD.size + length]))
        if not isinstance(header, dict):
            raise ValueError("not an object")
    except (ValueError, RecursionError):
        raise InvalidResult("the header cannot be read", where=source, remedy=_REMEDY) from None
    return header, _padded_size(_HEAD.size + length)


class Reader:
    """A file of which parts of arrays are read. Its checksum is not looked at: that would mean to read all of it."""

    def __init__(self, path: str | PathLike[str], start: int = 0) -> None:
        self.path = str(path)
        try:
            with open_regular(path) as file:
                whole = os.fstat(file.fileno()).st_size - start
                file.seek(start)
                head = file.read(_HEAD.size)
                length = _HEAD.unpack(head)[3] if len(head) == _HEAD.size and head.startswith(MAGIC) else 0
                header, self.begin = read_header(head + file.read(min(length, whole)) + bytes(32), self.path)
        except OSError as error:
            raise UnreadableFile(f"cannot be read: {error.strerror}", where=self.path) from None
        try:
            self.facts = _plain(header["facts"])
            self.entries = _entries(header, whole - 32 - self.begin)
        except _UNFIT as error:
            raise unfit(self.path, f"the header does not fit the contents: {error}") from None

    def rows(self, name: str, start: int, stop: int) -> Array:
        """Some rows of a plain array of one dimension."""
        entry = self._entry(name)
        kind = np.dtype(entry["type"])
        if not 0 <= start <= stop <= entry["shape"][0]:
            raise unfit(self.path, f"'{name}' has no rows from {start} to {stop}")
        try:
            array: Array = np.fromfile(
                self.path, dtype=kind, count=stop - start, offset=self.begin + int(entry["at"]) + start * kind.itemsize
            )
        except OSError as error:
            raise UnreadableFile(f"cannot be read: {error.strerror}", where=self.path) from None
        if len(array) != stop - start:
            raise InvalidResult("the file ends before its contents", where=self.path, remedy=_REMEDY)
        return array

    def whole(self, name: str) -> Array:
        """A plain array of one dimension."""
        return self.rows(name, 0, int(self._entry(name)["shape"][0]))

    def _entry(self, name: str) -> Mapping[str, Any]:
        entry = self.entries.get(name, {})
        if entry.get("code") != "plain" or len(entry["shape"]) != 1:
            raise unfit(self.path, f"the state lacks a row of numbers '{name}'")
        return entry


def _chunks(kind: str, facts: Mapping[str, Any], arrays: Mapping[str, Array], source: str) -> Iterator[bytes]:
    entries, parts, at = [], [], 0
    for name, array in arrays.items():
        code, part = _encode_array(array, f"{source}, '{name}'")
        entries.append(
            {
                "name": name,
                "code": code,
                "type": array.dtype.newbyteorder("<").str if code == "plain" else "",
                "shape": list(array.shape),
                "at": at,
                "bytes": len(part),
            }
        )
        parts.append(part)
        at = _padded_size(at + len(part))
    header = json.dumps({"kind": kind, "facts": _tag_value(facts), "arrays": entries}, sort_keys=True).encode()
    total = hashlib.sha256()
    head = _HEAD.pack(MAGIC, VERSION, 0, len(header)) + header
    for part in (head, *parts):
        total.update(part)
        yield part
        gap = bytes(_padded_size(len(part)) - len(part))
        total.update(gap)
        yield gap
    yield total.digest()


def _padded_size(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


def _encode_array(array: Array, where: str) -> tuple[str, Any]:
    if array.dtype.kind in "iufb":
        flat = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        return "plain", flat.reshape(-1).view(np.uint8).data
    values = array.tolist()
    if array.ndim == 1 and all(type(value) is str for value in values):
        return "text", _in_a_row([value.encode("utf-8", "surrogatepass") for value in values])
    if array.ndim == 1 and all(type(value) is bytes for value in values):
        return "bytes", _in_a_row(values)
    try:
        return "json", json.dumps([_tag_value(value) for value in values], ensure_ascii=False).encode(
            "utf-8", "surrogatepass"
        )
    except (TypeError, ValueError) as error:
        raise Unsupported(f"cannot be saved: {error}", where=where) from None


def _in_a_row(texts: list[bytes]) -> bytes:
    ends = np.cumsum([len(text) for text in texts], dtype="<i8") if texts else np.zeros(0, "<i8")
    return ends.tobytes() + b"".join(texts)


def _decode_array(entry: Mapping[str, Any], part: memoryview) -> Array:
    shape = tuple(int(size) for size in entry["shape"])
    if entry["code"] == "plain":
        return np.frombuffer(part, dtype=np.dtype(entry["type"])).reshape(shape)
    if entry["code"] in ("text", "bytes"):
        ends = np.frombuffer(part[: 8 * shape[0]], dtype="<i8").tolist()
        raw = bytes(part[8 * shape[0] :])
        if (ends[-1] if ends else 0) != len(raw) or any(a > b for a, b in pairwise([0, *ends])):
            raise ValueError("texts are cut off")
        parts = [raw[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        if entry["code"] == "bytes":
            return np.fromiter(parts, dtype=object, count=len(parts))
        return as_object([part.decode("utf-8", "surrogatepass") for part in parts])
    values = [_plain(value) for value in json.loads(bytes(part).decode("utf-8", "surrogatepass"))]
    if len(values) != shape[0]:
        raise ValueError("values are missing")
    result: Array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        result[i] = value
    return result


def _tag_value(value: Any) -> Any:
    """A value as JSON can say it; tuples and arrays are marked, unlike lists."""
    if isinstance(value, tuple):
        return {"t": [_tag_value(part) for part in value]}
    if isinstance(value, np.ndarray):
        return {"a": [list(value.shape), value.ravel().tolist()]}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {"m": [[_tag_value(key), _tag_value(part)] for key, part in value.items()]}
    if isinstance(value, list):
        return [_tag_value(part) for part in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"a value of type {type(value).__name__}")


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    (tag, inner), *rest = value.items()
    if rest or tag not in ("t", "a", "m"):
        raise ValueError(f"an unknown value '{tag}'")
    if tag == "t":
        return tuple(_plain(part) for part in inner)
    if tag == "a":
        return np.array(inner[1], dtype=np.float64).reshape(inner[0])
    return {_plain(key): _plain(part) for key, part in inner}
