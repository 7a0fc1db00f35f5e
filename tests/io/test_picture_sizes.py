"""Sizes from headers, against Pillow; a cut or broken file is an error that names it, never a crash or a guess."""

from __future__ import annotations

import io
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from support.refusal import refuses

import steelyard as sy
from steelyard.io.formats.sizes import picture_size

WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "jpeg": ("JPEG", {}),
    "progressive jpeg": ("JPEG", {"progressive": True}),
    "jpeg with a profile and a comment": ("JPEG", {"icc_profile": b"x" * 70_000, "comment": b"hello \xff\xc0 there"}),
    "png": ("PNG", {}),
    "gif": ("GIF", {}),
    "bmp": ("BMP", {}),
    "webp": ("WEBP", {}),
    "lossless webp": ("WEBP", {"lossless": True}),
    "extended webp": ("WEBP", {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0"}),
}


def made(name: str, size: tuple[int, int], mode: str = "RGB") -> bytes:
    kind, more = WAYS[name]
    buffer = io.BytesIO()
    Image.new(mode, size, 77 if mode == "L" else (9, 8, 7)).save(buffer, kind, **more)
    return buffer.getvalue()


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("size", [(1, 1), (640, 480), (3, 1001), (16383, 2)])
def test_equal_to_pillow(name: str, size: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "picture"
    for mode in ("RGB", "L"):
        path.write_bytes(made(name, size, mode))
        with Image.open(path) as picture:
            assert picture_size(path) == picture.size == size


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("order", ["<", ">"])
def test_orientation(orientation: int, order: str, tmp_path: Path) -> None:
    from PIL import ImageOps

    head = b"II*\0" if order == "<" else b"MM\0*"
    entry = struct.pack(f"{order}HHIHH", 0x0112, 3, 1, orientation, 0)
    exif = b"Exif\0\0" + head + struct.pack(f"{order}IH", 8, 1) + entry + b"\0\0\0\0"
    path = tmp_path / "a.jpg"
    Image.new("RGB", (40, 30)).save(path, "JPEG", exif=exif)
    with Image.open(path) as picture:
        assert picture_size(path) == ImageOps.exif_transpose(picture).size


def test_bmp_from_above_and_os2(tmp_path: Path) -> None:
    path = tmp_path / "a.bmp"
    path.write_bytes(b"BM" + bytes(12) + struct.pack("<Iii", 40, 7, -9) + bytes(20))
    assert picture_size(path) == (7, 9)
    path.write_bytes(b"BM" + bytes(12) + struct.pack("<IHH", 12, 7, 9) + bytes(20))
    assert picture_size(path) == (7, 9)


@pytest.mark.parametrize("name", WAYS)
def test_cut_and_broken_files(name: str, tmp_path: Path) -> None:
    """Every beginning of a file, and files with random bytes changed, give a size or one clear error."""
    whole = made(name, (31, 17))
    path = tmp_path / "cut"
    rng = random.Random(4)
    cases = [whole[:n] for n in range(0, min(len(whole), 700), 3)]
    for _ in range(150):
        broken = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            broken[rng.randrange(min(len(broken), 200))] = rng.randrange(256)
        cases.append(bytes(broken))
    refused = 0
    for case in cases:
        path.write_bytes(case)
        try:
            width, height = picture_size(path)
            assert width > 0
            assert height > 0
        except sy.InputError as error:
            refused += 1
            assert str(path) in str(error)  # noqa: PT017
    assert refused > 5


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ("E-invalid-file", "p.jpg", "empty")),
        (b"hello", ("E-invalid-file", "p.jpg")),
        (b"\xff\xd8\xff\xd9", ("E-invalid-file", "p.jpg", "size")),
        (b"\xff\xd8\xff\xe0\x00\x01", ("E-invalid-file", "p.jpg", "segment")),
        (b"\xff\xd8" + b"\xff" * 5, ("E-invalid-file", "p.jpg")),
        (b"\xff\xd8\xff\xc0\x00\x11\x08\x00\x00\x00\x05", ("E-invalid-file", "p.jpg", "height")),
        (b"RIFF\0\0\0\0WAVEfmt ", ("E-invalid-file", "p.jpg")),
        (b"\x89PNG\r\n\x1a\n" + bytes(24), ("E-invalid-file", "p.jpg")),
        (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" + bytes(16), ("E-invalid-file", "0")),
        (b"GIF80a" + bytes(9), ("E-invalid-file", "p.jpg", "unknown")),
    ],
)
def test_messages(content: bytes, says: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "p.jpg"
    path.write_bytes(content)
    with refuses(*says):
        picture_size(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with refuses("E-missing-file", "none.png"):
        picture_size(tmp_path / "none.png")
