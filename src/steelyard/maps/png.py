"""PNG files of labels: chunks, checksums and sizes are checked here; lines are unfiltered by the native core.

Grey and palette files give their values of 1 to 16 bits, RGB files red + 256 green + 65536 blue. Lines are unpacked and
taken in pieces, so that two maps are counted without either of them in memory. Interlaced files and colours of 16 bits
are read by Pillow where it is installed.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.maps.inflate import Inflater, checksum

Array = NDArray[Any]
Cells = tuple[Array, Array, Array]
SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_PIXELS = 1 << 28  # 16384 × 16384
_PIECE = 1 << 16  # bytes of lines that are taken at once: they stay in the cache
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_DAMAGED = "The file is damaged: write it again."


@frozen
class PngFile:
    """A PNG whose chunks are whole: `packed` are its deflated data."""

    source: str
    data: bytes
    packed: tuple[memoryview, ...]
    shape: tuple[int, int]
    depth: int
    channels: int
    plain: bool  # whether the native core reads it

    @property
    def colours(self) -> bool:
        """Whether pixels are colours, not values."""
        return self.channels > 2

    @property
    def line(self) -> int:
        """The bytes of a line: a filter's number and a row."""
        return 1 + (self.shape[1] * self.depth * self.channels + 7) // 8

    def map(self) -> Array:
        """The pixels: of type uint8, uint16, or uint32 for colours."""
        if not self.plain:
            return _by_pillow(self.data, self.source)
        lines, pixels = _Lines(self), _native.PngPixels(*self.shape, self.depth, self.channels)
        try:
            for rows in _pieces(self.shape[0], self.line):
                pixels.feed(lines.take(rows))
        except InputError:
            raise
        except ValueError as error:
            remedy = "Write it without transparency." if "transparent" in str(error) else _DAMAGED
            raise InputError(str(error), where=self.source, remedy=remedy) from None
        lines.end()
        grid: Array = pixels.map()
        return grid


class _Lines:
    """The lines of a file, a piece at a time."""

    def __init__(self, file: PngFile) -> None:
        self.file, self._line = file, file.line
        self._inflater = Inflater(file.packed)

    def take(self, rows: int) -> bytes:
        """So many lines; an error where there are fewer."""
        size = rows * self._line
        piece = self._inflater.take(size)
        if len(piece) < size:
            self._refuse()
        return piece

    def end(self) -> None:
        """An error where more data come."""
        if self._inflater.take(1):
            self._refuse()

    def _refuse(self) -> None:
        height, width = self.file.shape
        what = f"the data are not those of {width}×{height} pixels"
        raise InputError(what, where=self.file.source, remedy=_DAMAGED)


def _pieces(height: int, line: int) -> list[int]:
    """How many lines are taken at a time."""
    each = max(1, _PIECE // line)
    return [each] * (height // each) + [height % each] * (height % each > 0)


def png_cells(a: PngFile, b: PngFile) -> Cells:
    """How often two values stand at the same place of two files of one size: values of a, of b, and counts."""
    if not a.plain or not b.plain:
        return _native.map_cells(a.map(), b.map())
    first, second = _Lines(a), _Lines(b)
    cells = _native.PngCells(*a.shape, a.depth, a.channels, b.depth, b.channels)
    try:
        for rows in _pieces(a.shape[0], max(a.line, b.line)):
            cells.feed(first.take(rows), second.take(rows))
    except InputError:
        raise
    except ValueError:
        a.map()  # one of the two is damaged, and says so itself
        b.map()
        raise
    first.end()
    second.end()
    return cells.cells()


def png_file(data: bytes, source: str) -> PngFile:
    """A file whose chunks have been looked at."""
    if not data.startswith(SIGNATURE):
        raise InputError("is no PNG file", where=source, remedy="Is it a PNG in name only?")
    view = memoryview(data)
    header, packed, at, ended = b"", [], len(SIGNATURE), False
    while at + 12 <= len(data) and not ended:
        length, name = struct.unpack_from(">I4s", data, at)
        if at + 12 + length > len(data):
            break
        body = view[at + 8 : at + 8 + length]
        if checksum(view[at + 4 : at + 8 + length]) != struct.unpack_from(">I", data, at + 8 + length)[0]:
            shown = name.decode("latin-1") if name.isalpha() else "a chunk"
            raise InputError(f"the checksum of {shown} at byte {at:,} is wrong", where=source, remedy=_DAMAGED)
        if name == b"IHDR":
            header = bytes(body)
        elif name == b"IDAT":
            packed.append(body)
        ended = name == b"IEND"
        at += 12 + length
    if not ended or not packed or len(header) != 13:
        raise InputError(f"the file ends at byte {len(data):,} before the picture does", where=source, remedy=_DAMAGED)
    width, height, depth, colour, method, filters, interlaced = struct.unpack(">IIBBBBB", header)
    if not 0 < width * height <= MOST_PIXELS:
        raise InputError(
            f"has {width:,}×{height:,} pixels", where=source, remedy=f"From 1 to {MOST_PIXELS:,} pixels are read."
        )
    if depth not in _DEPTHS.get(colour, ()) or method or filters or interlaced > 1:
        raise InputError(f"has {depth} bits and colours of type {colour}", where=source, remedy=_DAMAGED)
    plain = not (interlaced or colour == 4 or (depth == 16 and colour != 0))
    return PngFile(source, data, tuple(packed), (height, width), depth, _CHANNELS[colour], plain)


def _by_pillow(data: bytes, source: str) -> Array:
    try:
        from io import BytesIO

        from PIL import Image
    except ImportError:
        raise InputError(
            "is interlaced, or has colours of 16 bits or transparency",
            where=source,
            remedy="Install Pillow to read it, or write a plain PNG.",
        ) from None
    try:
        with Image.open(BytesIO(data)) as image:
            grid = np.asarray(image)
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", where=source, remedy=_DAMAGED) from None
    if grid.ndim == 2:
        kind = np.uint8 if grid.dtype.itemsize == 1 else np.uint16
        return np.ascontiguousarray(grid, dtype=kind)
    if grid.dtype != np.uint8 or grid.shape[2] < 3 or (grid.shape[2] == 4 and (grid[:, :, 3] != 255).any()):
        raise InputError("a pixel is transparent, or has 16 bits a channel", where=source, remedy="Write a plain PNG.")
    return np.ascontiguousarray(grid[:, :, :3].astype(np.uint32) @ np.array([1, 256, 65536], dtype=np.uint32))
