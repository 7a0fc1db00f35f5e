"""PNG files of labels: chunks, checksums and sizes are checked here; rows are unfiltered by the native core.

Grey and palette files give their values of 1 to 16 bits, RGB files red + 256 green + 65536 blue. Interlaced files and
colours of 16 bits are read by Pillow where it is installed.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.core.errors import InputError
from steelyard.maps.inflate import checksum, inflate

Array = NDArray[Any]
SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_PIXELS = 1 << 28  # 16384 × 16384
_CHANNELS = {0: 1, 2: 3, 3: 1, 6: 4}
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_DAMAGED = "The file is damaged: write it again."


def png_map(data: bytes, source: str) -> Array:
    """The pixels of a PNG file (height, width): of type uint8, uint16, or uint32 for colours."""
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
    return _pixels(header, b"".join(packed), data, source)


def _pixels(header: bytes, packed: bytes, data: bytes, source: str) -> Array:
    width, height, depth, colour, method, filters, interlaced = struct.unpack(">IIBBBBB", header)
    if not 0 < width * height <= MOST_PIXELS:
        raise InputError(
            f"has {width:,}×{height:,} pixels", where=source, remedy=f"From 1 to {MOST_PIXELS:,} pixels are read."
        )
    if depth not in _DEPTHS.get(colour, ()) or method or filters or interlaced > 1:
        raise InputError(f"has {depth} bits and colours of type {colour}", where=source, remedy=_DAMAGED)
    if interlaced or colour == 4 or (depth == 16 and colour != 0):
        return _by_pillow(data, source)
    channels = _CHANNELS[colour]
    raw = inflate(packed, height * (1 + (width * depth * channels + 7) // 8))
    if raw is None:
        raise InputError(f"the data are not those of {width}×{height} pixels", where=source, remedy=_DAMAGED)
    try:
        pixels: Array = _native.png_map(raw, height, width, depth, channels)
    except ValueError as error:
        remedy = "Write it without transparency." if "transparent" in str(error) else _DAMAGED
        raise InputError(str(error), where=source, remedy=remedy) from None
    return pixels


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
