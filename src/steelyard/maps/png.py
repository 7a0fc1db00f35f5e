"""PNG files of labels, read by the native core; what it refuses is named with the file.

Grey and palette files give their values of 1 to 16 bits, RGB files red + 256 green + 65536 blue. Two maps are counted
row by row, without either of them in memory. Interlaced files are read by Pillow where it is installed; colours of 16
bits, of which it keeps half, are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.core.errors import InvalidFile, NotInstalled, OutOfRange, TooLarge
from steelyard.core.frozen import Frozen
from steelyard.core.opening import check_declared

Array = NDArray[Any]
Cells = tuple[Array, Array, Array]
SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_PIXELS = 1 << 28  # 16384 × 16384
_DAMAGED = "The file is damaged: write it again."


class PngFile(Frozen):
    """A PNG whose chunks are whole."""

    source: str
    data: bytes
    native: _native.PngFile
    shape: tuple[int, int]

    @property
    def colours(self) -> bool:
        """Whether pixels are colours, not values."""
        return self.native.channels > 2

    def map(self) -> Array:
        """The pixels: of type uint8, uint16, or uint32 for colours."""
        if not self.native.plain:
            return _by_pillow(self.data, self.source)
        try:
            return self.native.map()
        except ValueError as error:
            what, remedy = str(error), _DAMAGED
        if "transparent" in what:
            remedy = "Write it without transparency."
        if "the data" in what:
            what = f"the data are not those of {self.shape[1]}×{self.shape[0]} pixels"
        raise InvalidFile(what, where=self.source, remedy=remedy)


def png_cells(a: PngFile, b: PngFile) -> Cells:
    """How often two values stand at the same place of two files of one size: values of a, of b, and counts."""
    if not a.native.plain or not b.native.plain:
        return _native.map_cells(a.map(), b.map())
    try:
        return _native.png_cells(a.native, b.native)
    except ValueError:
        a.map()  # one of the two is damaged, and says so itself
        b.map()
        raise


def png_file(data: bytes, source: str) -> PngFile:
    """A file whose chunks have been looked at."""
    if not data.startswith(SIGNATURE):
        raise InvalidFile("is not a PNG file", where=source, remedy="Is it a PNG in name only?")
    native = _native.PngFile(data)
    if native.fault:
        raise InvalidFile(native.fault, where=source, remedy=_DAMAGED)
    width, height = native.width, native.height
    if not 0 < width * height <= MOST_PIXELS:
        raise OutOfRange(
            f"has {width:,}×{height:,} pixels", where=source, remedy=f"From 1 to {MOST_PIXELS:,} pixels are read."
        )
    check_declared(width * height * native.channels * data[24] // 8, len(data), source)
    return PngFile(source, data, native, (height, width))


def _by_pillow(data: bytes, source: str) -> Array:
    bits, colour = data[24], data[25]  # of the header, which stands first
    if bits == 16 and colour != 0:
        raise InvalidFile("has colours of 16 bits", where=source, remedy="Write a PNG of 8 bits per channel.")
    try:
        from io import BytesIO

        from PIL import Image
    except ImportError:
        raise NotInstalled(
            "is interlaced", where=source, remedy="Install Pillow to read it, or write a plain PNG."
        ) from None
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if width * height > (Image.MAX_IMAGE_PIXELS or MOST_PIXELS):
        raise TooLarge(
            f"is interlaced and has {width:,}×{height:,} pixels",
            where=source,
            remedy=f"Write a plain PNG: interlaced ones are read up to {Image.MAX_IMAGE_PIXELS:,} pixels.",
        )
    try:
        with Image.open(BytesIO(data)) as image:
            grid = np.asarray(image)
    except (OSError, SyntaxError, ValueError) as error:
        raise InvalidFile(f"cannot be read: {error}", where=source, remedy=_DAMAGED) from None
    if grid.ndim == 2:
        kind = np.uint8 if grid.dtype.itemsize == 1 else np.uint16
        spread = {2: 85, 4: 17}.get(bits, 1) if colour == 0 else 1  # grey of few bits reaches 255 there
        return np.ascontiguousarray(grid // spread, dtype=kind)
    channels = grid.shape[2]
    if channels % 2 == 0 and (grid[:, :, -1] != 255).any():
        raise InvalidFile("a pixel is transparent", where=source, remedy="Write it without transparency.")
    places = np.array([1, 256, 65536], dtype=np.uint32)
    return np.ascontiguousarray(grid[:, :, :3].astype(np.uint32) @ places if channels > 2 else grid[:, :, 0])
