"""A digest of each unit's rows: two units are the same data where their digests are equal.

128 bits, from two 64-bit hashes of every value of every column in the order of the rows; made for columns at a time,
since a state may hold millions of units. The same data has the same digest on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from steelyard import _native
from steelyard.align.join import codes
from steelyard.core.records import Array

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LANES = (np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344))


def unit_digests(columns: Mapping[str, Array], starts: Array) -> Array:
    """Digests (groups, 2) of groups of rows; group i goes from row `starts[i]` to `starts[i + 1]`."""
    groups = len(starts) - 1
    result = np.zeros((groups, 2), dtype=np.uint64)
    rows = int(starts[-1]) if groups else 0
    if not rows:
        return result
    counts = np.diff(starts)
    position = (np.arange(rows) - np.repeat(starts[:-1], counts)).astype(np.uint64)
    keys = [key + _name_key(name) for name in sorted(columns) for key in _keys_of(columns[name])]
    filled = np.flatnonzero(counts)
    for lane, seed in enumerate(_LANES):
        total = _mix_bits(position * _GOLDEN + seed)
        for key in keys:
            total = _mix_bits(total * _GOLDEN + key)
        sums = np.add.reduceat(total, starts[:-1][filled])
        result[filled, lane] = _mix_bits(sums + counts[filled].astype(np.uint64))
    return result


def _keys_of(column: Array) -> list[Array]:
    """The keys of a column; of one with several values per row, of each in turn."""
    if column.ndim == 1:
        return [column_keys(column)]
    return [column_keys(part) for part in column.reshape(len(column), -1).T]


def total_digest(ids: Array, digests: Array) -> Array:
    """Four 64-bit sums over units of id and digest together: of all units, whatever parts they are added up in."""
    key = id_keys(ids)
    lanes = [_mix_bits(_mix_bits(key * _GOLDEN + seed) + digests[:, lane]) for seed in _LANES for lane in (0, 1)]
    return np.array([lane.sum(dtype=np.uint64) for lane in lanes], dtype=np.uint64)


def id_keys(ids: Array) -> Array:
    """64-bit keys of unit ids, as the draws have them: the id 7 and the id "7" have the same."""
    if ids.dtype.kind in "iu":
        keys: Array = _native.unit_keys_of_integers(np.ascontiguousarray(ids, dtype=np.int64))
        return keys
    return _text_keys([str(value).encode("utf-8", "surrogatepass") for value in ids.tolist()])


def digest_text(total: Array) -> str:
    """How a report shows the sums: the same for the same units, however they were cut."""
    return "units:" + "".join(f"{int(lane):016x}" for lane in total.tolist())


def column_keys(column: Array) -> Array:
    """A 64-bit key of every value: whole numbers and texts alike whatever type holds them."""
    kind = column.dtype.kind
    if kind in "iub":
        return np.ascontiguousarray(column, dtype=np.int64).view(np.uint64)
    if kind == "f":
        numbers = np.ascontiguousarray(column, dtype=np.float64)
        return np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)
    values = column.tolist()
    if kind == "U" or all(type(value) is str for value in values):
        names, (code,) = codes(column)
        return _text_keys([name.encode("utf-8", "surrogatepass") for name in names.tolist()])[code]
    return _text_keys([_bytes_of(value) for value in values])


def _name_key(name: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big"))


def _text_keys(texts: list[bytes]) -> Array:
    ends = np.fromiter(accumulate(map(len, texts)), dtype=np.int64, count=len(texts))
    keys: Array = _native.unit_keys(b"".join(texts), ends)
    return keys


def _bytes_of(value: object) -> bytes:
    if isinstance(value, np.ndarray):
        return f"{value.shape}{value.dtype}".encode() + value.tobytes()
    return f"{type(value).__name__}:{value!r}".encode("utf-8", "surrogatepass")


def _mix_bits(x: Array) -> Array:
    """The finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
