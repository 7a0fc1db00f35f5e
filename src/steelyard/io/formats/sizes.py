"""The size of a picture from the first bytes of its file: JPEG, PNG, WebP, BMP, GIF. Nothing is decoded.

The size is the one that a picture is shown with: a JPEG whose EXIF orientation lays it on its side has width and height
exchanged, as every training loop that honours the orientation has them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from steelyard.core.errors import InvalidFile, UnreadableFile
from steelyard.core.opening import open_regular

ENDINGS = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".dib", ".gif")
LARGEST = 1 << 31
MOST_SEGMENTS = 10_000

Size = tuple[int, int]


class _Wrong(Exception):
    """The file is not what it says."""


def picture_size(path: str | Path) -> Size:
    """Width and height in pixels."""
    try:
        with open_regular(path) as file:
            width, height = _size(file)
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}", where=str(path)) from None
    except (_Wrong, struct.error) as error:
        what = str(error) if isinstance(error, _Wrong) else "ends in the middle of its header"
        raise InvalidFile(what, where=str(path), remedy="Is it a whole JPEG, PNG, WebP, BMP or GIF file?") from None
    if not (0 < width < LARGEST and 0 < height < LARGEST):
        raise InvalidFile(f"a picture of {width} × {height} pixels", where=str(path), remedy="Is the file whole?")
    return width, height


def whole_pixels(text: str) -> int | None:
    """A side as digits, from 0 up; None where it is something else, or longer than any picture."""
    if not (text.isascii() and text.isdigit()) or len(text) > 10 or int(text) >= LARGEST:
        return None
    return int(text)


def _size(file: BinaryIO) -> Size:
    head = file.read(32)
    for start, read in _KINDS:
        if head.startswith(start):
            return read(file, head)
    if not head:
        raise _Wrong("the file is empty")
    raise _Wrong("not a picture that can be measured")


def _png(file: BinaryIO, head: bytes) -> Size:
    if head[12:16] != b"IHDR":
        raise _Wrong("a PNG file without a header")
    width, height = struct.unpack(">II", head[16:24])
    return width, height


def _gif(file: BinaryIO, head: bytes) -> Size:
    if head[3:6] not in (b"87a", b"89a"):
        raise _Wrong("a GIF file of an unknown version")
    width, height = struct.unpack("<HH", head[6:10])
    return width, height


def _bmp(file: BinaryIO, head: bytes) -> Size:
    (length,) = struct.unpack("<I", head[14:18])
    if length == 12:
        width, height = struct.unpack("<HH", head[18:22])
        return width, height
    width, height = struct.unpack("<ii", head[18:26])
    return width, abs(height)  # a negative height counts the rows from above


def _webp(file: BinaryIO, head: bytes) -> Size:
    if head[8:12] != b"WEBP":
        raise _Wrong("not a picture that can be measured")
    kind = head[12:16]
    if kind == b"VP8X":
        if len(head) < 30:
            raise _Wrong("ends in the middle of its header")
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"VP8L":
        if head[20:21] != b"\x2f":
            raise _Wrong("a WebP file with a broken header")
        (bits,) = struct.unpack("<I", head[21:25])
        return 1 + (bits & 0x3FFF), 1 + ((bits >> 14) & 0x3FFF)
    if kind == b"VP8 ":
        if head[23:26] != b"\x9d\x01\x2a":
            raise _Wrong("a WebP file that does not begin with a key frame")
        width, height = struct.unpack("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    raise _Wrong("a WebP file of an unknown kind")


def _jpeg(file: BinaryIO, head: bytes) -> Size:
    file.seek(2)
    turned = False
    for _ in range(MOST_SEGMENTS):
        marker = _marker(file)
        if marker in (0x01, *range(0xD0, 0xD9)):  # without a length
            continue
        if marker in (0xD9, 0xDA):
            raise _Wrong("a JPEG file that names no size before its picture")
        (length,) = struct.unpack(">H", file.read(2))
        if length < 2:
            raise _Wrong("a JPEG file with a broken segment")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            _, height, width = struct.unpack(">BHH", file.read(5))
            if height == 0:
                raise _Wrong("a JPEG file that names its height only behind its picture")
            return (height, width) if turned else (width, height)
        if marker == 0xE1:
            body = file.read(length - 2)
            if len(body) < length - 2:
                raise _Wrong("ends in the middle of its header")
            if body.startswith(b"Exif\0\0"):
                turned = _orientation(body[6:]) >= 5
        else:
            file.seek(length - 2, 1)
    raise _Wrong("a JPEG file with too many segments")


def _marker(file: BinaryIO) -> int:
    byte = file.read(1)
    if byte != b"\xff":
        raise _Wrong("a JPEG file with a broken segment" if byte else "ends in the middle of its header")
    for _ in range(MOST_SEGMENTS):  # any number of fill bytes may stand before the marker
        byte = file.read(1)
        if byte != b"\xff":
            break
    if not byte:
        raise _Wrong("ends in the middle of its header")
    return byte[0]


def _orientation(tiff: bytes) -> int:
    """The EXIF orientation, 1 where there is none or the block is broken: that is not a reason to reject an image."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None:
        return 1
    try:
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        for i in range(min(count, 1000)):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", tiff, start + 2 + 12 * i)
            if tag == 0x0112 and kind == 3:
                return int(value)
    except struct.error:
        pass
    return 1


_KINDS: tuple[tuple[bytes, Callable[[BinaryIO, bytes], Size]], ...] = (
    (b"\xff\xd8", _jpeg),
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"GIF8", _gif),
    (b"BM", _bmp),
    (b"RIFF", _webp),
)
