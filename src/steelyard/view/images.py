"""Kind and size of an image, from its first bytes: what is served is an image, whatever its name says."""

from __future__ import annotations

import struct

from steelyard.core.frozen import frozen

MOST_BYTES = 64 << 20
ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")


@frozen
class ImageKind:
    """The media type, and the size in pixels."""

    media: str
    width: int
    height: int


def image_kind(data: bytes) -> ImageKind | None:
    """What image these bytes are; None for anything else, SVG among it: a script may stand in that."""
    try:
        kind = _kind(data)
    except (struct.error, IndexError):
        return None
    return kind if kind is not None and 0 < kind.width <= 1 << 20 and 0 < kind.height <= 1 << 20 else None


def _kind(data: bytes) -> ImageKind | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
        return ImageKind("image/png", *struct.unpack(">II", data[16:24]))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return ImageKind("image/gif", *struct.unpack("<HH", data[6:10]))
    if data.startswith(b"BM"):
        width, height = struct.unpack("<ii", data[18:26])
        return ImageKind("image/bmp", width, abs(height))
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    return None


def _webp(data: bytes) -> ImageKind | None:
    form = data[12:16]
    if form == b"VP8X":
        width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
    elif form == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        width, height = (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    elif form == b"VP8 ":
        width, height = (value & 0x3FFF for value in struct.unpack("<HH", data[26:30]))
    else:
        return None
    return ImageKind("image/webp", width, height)


def _jpeg(data: bytes) -> ImageKind | None:
    """Walk the segments to the frame's header; one that says that the image lies on its side is believed."""
    at, turned = 2, False
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF or marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 1 if marker == 0xFF else 2
            continue
        size = struct.unpack(">H", data[at + 2 : at + 4])[0]
        if size < 2:
            return None
        if marker == 0xE1 and data[at + 4 : at + 10] == b"Exif\0\0":
            turned = _lies(data[at + 10 : at + 2 + size])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return ImageKind("image/jpeg", *((height, width) if turned else (width, height)))
        at += 2 + size
    return None


def _lies(exif: bytes) -> bool:
    """Whether the orientation exchanges width and height, which browsers apply."""
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None:
        return False
    start = struct.unpack(f"{order}I", exif[4:8])[0]
    count = struct.unpack(f"{order}H", exif[start : start + 2])[0]
    for i in range(min(count, 200)):
        entry = exif[start + 2 + 12 * i : start + 14 + 12 * i]
        tag, _, _, value = struct.unpack(f"{order}HHIH", entry[:10])
        if tag == 0x0112:
            return 5 <= int(value) <= 8
    return False
