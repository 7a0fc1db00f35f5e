"""What was scored, in one line: a digest of the records that is the same whatever file they came from."""

from __future__ import annotations

import hashlib

import numpy as np

from steelyard import _native
from steelyard.core.records import Records

LARGE = 64 << 20


def digest(records: Records) -> str:
    """SHA-256 of the columns. One above 64 MiB enters by a 256-bit fingerprint, made at the speed of memory."""
    total = hashlib.sha256()
    for name in sorted(records.columns):
        column = records.columns[name]
        total.update(f"{name}:{len(column)}:".encode())
        if column.dtype == object or column.dtype.kind == "U":
            total.update("\x1f".join(map(str, column.tolist())).encode("utf-8", "surrogatepass"))
            continue
        total.update(f"{column.dtype.kind}{column.dtype.itemsize}".encode())
        flat = np.ascontiguousarray(column)
        if column.nbytes > LARGE:
            total.update(_native.fingerprint(flat.view(np.uint8)))
        else:
            total.update(flat.data)
    return f"sha256:{total.hexdigest()}"
