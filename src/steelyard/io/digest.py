"""What was scored, in one line: a digest of the records that is the same whatever file they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.records import Array, Records, first_of_runs

LARGE = 1 << 16  # bytes of a column of numbers
MANY = 1 << 16  # rows of a column of texts


def digest(records: Records, fields: Sequence[str] = ()) -> str:
    """SHA-256 of the columns. `fields` names those of measured values, whose files enter by a fingerprint.

    A large one enters by a 256-bit fingerprint that is made at the speed of memory; of many texts, the distinct ones
    and the fingerprint of which stands where.
    """
    own = getattr(records, "digest", None)  # a shape with a digest of its own
    if own is not None:
        return str(own())
    total = sha256()
    for name in sorted(records.columns):
        column = records.columns[name]
        total.update(f"{name}:{len(column)}:".encode())
        if name.partition(":")[0] in fields:
            total.update(_fields_digest(column, getattr(records, "sums", {})))
            continue
        if name in ("pixels", "mask", "region") and "pixels" in records.columns:
            total.update(pictures_digest(column))
            continue
        if name == "map":
            total.update(maps_digest(column, getattr(records, "sums", {})))
            continue
        if column.dtype == object and len(column) and isinstance(column[0], bytes):  # masks
            total.update(_native.mask_fingerprint(column.tolist()))
            continue
        if column.dtype == object and _has_arrays(column):
            for value in column:
                total.update(b"-" if value is None else f"{value.shape}".encode() + value.tobytes())
            continue
        if column.dtype == object or column.dtype.kind == "U":
            texts, codes = _code_texts(column) if len(column) > MANY else (map(str, column.tolist()), None)
            total.update("\x1f".join(texts).encode("utf-8", "surrogatepass"))
            if codes is not None:
                total.update(_native.fingerprint(codes.view(np.uint8)))
            continue
        if column.dtype.kind in "iu" and column.dtype.itemsize < 8:  # how wide whole numbers are held says nothing
            column = column.astype(np.int64)
        total.update(f"{column.dtype.kind}{column.dtype.itemsize}".encode())
        if column.nbytes > LARGE:
            total.update(_fingerprint(column))
        else:
            total.update(np.ascontiguousarray(column).data)
    return f"sha256:{total.hexdigest()}"


def sha256() -> Any:
    """SHA-256 by Python's own code, where it has it: to load OpenSSL takes longer than what is hashed here."""
    for name in ("_sha2", "_sha256", "hashlib"):  # since Python 3.12, before it, and always
        try:
            return import_module(name).sha256()
        except ImportError:
            continue
    raise AssertionError("hashlib is always there")


def maps_digest(column: Array, sums: Mapping[str, bytes]) -> bytes:
    """SHA-256 of maps: of packed runs, or of the contents of files; `sums` are those of files that have been read."""
    import hashlib

    from steelyard.maps.load import map_digest

    known = ((sums.get(value) if isinstance(value, str) else None, value) for value in column.tolist())
    return hashlib.sha256(b"".join(of_file or map_digest(value) for of_file, value in known)).digest()


def _fields_digest(column: Array, sums: Mapping[str, bytes]) -> bytes:
    """The fingerprints of fields in files or in memory; `sums` are those of files that have been read."""
    from steelyard.maps.fields import field_digest
    from steelyard.maps.load import INSIDE

    total, seen = sha256(), dict(sums)
    for value in column.tolist():
        path, _, inside = (value, "", "") if isinstance(value, bytes) else value.partition(INSIDE)
        if isinstance(path, bytes) or path not in seen:
            seen[path if isinstance(path, str) else ""] = field_digest(path)
        total.update(seen[path if isinstance(path, str) else ""] + inside.encode("utf-8", "surrogatepass"))
    return bytes(total.digest())


def pictures_digest(column: Array) -> bytes:
    """SHA-256 of pictures: of fingerprints of packed arrays, or of the contents of files, each read once."""
    import hashlib

    from steelyard.maps.load import INSIDE, map_digest

    files: dict[str, bytes] = {}
    total = hashlib.sha256()
    for value in column.tolist():
        path, _, inside = ("", "", "") if isinstance(value, bytes) else value.partition(INSIDE)
        key = _fingerprint(np.frombuffer(value, np.uint8)) if isinstance(value, bytes) else files.get(path)
        if key is None:
            key = files[path] = map_digest(path)
        total.update(hashlib.sha256(key + inside.encode("utf-8", "surrogatepass")).digest())
    return total.digest()


def _has_arrays(column: Array) -> bool:
    """Whether a cell is an array. A column that begins with a text is one of texts."""
    return bool(len(column)) and not isinstance(column[0], str) and any(isinstance(v, np.ndarray) for v in column)


def _fingerprint(column: Array) -> bytes:
    if column.ndim == 1 and column.dtype.itemsize == 8:
        return bytes(_native.fingerprint_words(column.view(np.uint64)))
    return bytes(_native.fingerprint(np.ascontiguousarray(column).view(np.uint8).reshape(-1)))


def _code_texts(column: Array) -> tuple[list[str], Array]:
    """The distinct texts in the order in which they first appear, and each row's place among them."""
    if column.dtype.kind == "U":
        wide = np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("=") if column.dtype.itemsize else "U1")
        codes, first = _native.factor_rows(wide.view(np.uint32).reshape(len(wide), wide.dtype.itemsize // 4))
        return column[first].tolist(), codes
    heads = first_of_runs(column)
    if len(heads) < len(column) // 8:  # long runs of one text: sorted by unit
        texts, codes = _code_texts(column[heads])
        return texts, np.repeat(codes, np.diff(np.append(heads, len(column))))
    part = _native.factor_texts(column.tolist())
    if part is not None:
        return column[part[1]].tolist(), part[0]
    texts = list(map(str, column.tolist()))
    place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return list(place), np.fromiter(map(place.__getitem__, texts), dtype=np.int64, count=len(texts))
