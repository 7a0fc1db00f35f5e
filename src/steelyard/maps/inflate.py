"""Unpacking of deflated data by the fastest package that is installed; the standard library's where none is."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

_INPUT = 1 << 16  # bytes that are handed over at once: what is left of them is copied for each piece


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


class Inflater:
    """Unpacks data a piece at a time, so that they are never whole in memory."""

    def __init__(self, parts: Sequence[memoryview]) -> None:
        self._module = library()
        self._stream = self._module.decompressobj(15)
        self._parts: Iterator[memoryview] = (
            part[at : at + _INPUT] for part in parts for at in range(0, len(part), _INPUT)
        )

    def take(self, size: int) -> bytes:
        """The next bytes: `size` of them, or fewer where the data end or are damaged."""
        stream = self._stream
        pieces: list[bytes] = []
        left = size
        try:
            while left and not stream.eof:
                given = stream.unconsumed_tail or next(self._parts, b"")
                piece: bytes = stream.decompress(given, left)
                if len(piece) == size:
                    return piece
                pieces.append(piece)
                left -= len(piece)
                if not piece and not given:
                    break
        except (self._module.error, zlib.error):
            pass
        return b"".join(pieces)


def checksum(data: Any) -> int:
    """The CRC-32 of bytes."""
    return int(library().crc32(data))
