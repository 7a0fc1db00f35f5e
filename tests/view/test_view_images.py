"""Sizes of JPEG images by their headers."""

from __future__ import annotations

import struct

import pytest

from steelyard.view.units import ImageKind, image_kind


def segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


FRAME = segment(0xC0, b"\x08" + struct.pack(">HH", 30, 40) + bytes(9))


def exif(*entries: tuple[int, int], order: str = ">") -> bytes:
    body = struct.pack(f"{order}H", len(entries))
    for tag, value in entries:
        body += struct.pack(f"{order}HHIHH", tag, 3, 1, value, 0)
    mark = b"MM" if order == ">" else b"II"
    return segment(0xE1, b"Exif\0\0" + mark + struct.pack(f"{order}HI", 42, 8) + body)


@pytest.mark.parametrize(
    ("head", "size"),
    [
        (b"", (40, 30)),
        (b"\xff", (40, 30)),  # a byte that fills up
        (b"\xff\xd0", (40, 30)),  # a marker without a length
        (exif((0x0112, 6)), (30, 40)),
        (exif((0x010F, 1), (0x0112, 8), order="<"), (30, 40)),
        (exif((0x0112, 1)), (40, 30)),
        (exif((0x010F, 1)), (40, 30)),
        (exif().replace(b"MM", b"XX"), (40, 30)),
    ],
)
def test_the_size_of_a_jpeg(head: bytes, size: tuple[int, int]) -> None:
    assert image_kind(b"\xff\xd8" + head + FRAME) == ImageKind("image/jpeg", *size)


@pytest.mark.parametrize("head", [segment(0xE0, b"") + bytes(12), b"\xff\xe0\x00\x01" + bytes(12)])
def test_bytes_that_are_no_jpeg(head: bytes) -> None:
    assert image_kind(b"\xff\xd8" + head + FRAME) is None
