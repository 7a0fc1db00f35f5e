"""Unpacking of deflated data by the fastest package that is installed; the standard library's where none is."""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any


@cache
def library() -> Any:
    """A module with zlib's functions: that of `zlib-ng` (extra `maps`) or of `isal`, or zlib itself."""
    try:
        from zlib_ng import zlib_ng  # type: ignore[import-not-found, unused-ignore]

        return zlib_ng
    except ImportError:
        pass
    try:
        from isal import isal_zlib  # type: ignore[import-not-found, unused-ignore]

        return isal_zlib
    except ImportError:
        return zlib


def inflate(data: bytes, size: int, *, gzip: bool = False) -> bytes | None:
    """The unpacked data where they are `size` bytes; None where there are fewer, more, or damaged ones."""
    module = library()
    try:
        result: bytes = module.decompressobj(31 if gzip else 15).decompress(data, size + 1)
    except (module.error, zlib.error):
        return None
    return result if len(result) == size else None


def checksum(data: Any) -> int:
    """The CRC-32 of bytes."""
    return int(library().crc32(data))
