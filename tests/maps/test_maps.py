"""Readers and kernels of maps: PNG files as Pillow reads them, damage that is named, and arguments that are checked."""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image
from support.refusal import refuses

from steelyard import _native
from steelyard.core.errors import InputError
from steelyard.maps.png import png_cells, png_file


def png_map(data: bytes, source: str) -> Any:
    return png_file(data, source).map()


RGB = np.array([1, 256, 65536], dtype=np.uint32)


def written(grid: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(grid).save(buffer, "png", **options)
    return buffer.getvalue()


def filtered(grid: Any, kinds: list[int]) -> bytes:
    """A grey PNG of 8 bits whose rows have the given filters, by the formulas of the standard."""
    rows, above = [], np.zeros(grid.shape[1], dtype=int)
    for y, row in enumerate(grid.astype(int)):
        left, corner = np.concatenate([[0], row[:-1]]), np.concatenate([[0], above[:-1]])
        p = left + above - corner
        distance = [abs(p - left), abs(p - above), abs(p - corner)]
        paeth = np.where((distance[0] <= distance[1]) & (distance[0] <= distance[2]), left,
                         np.where(distance[1] <= distance[2], above, corner))  # fmt: skip
        guess = [np.zeros_like(row), left, above, (left + above) // 2, paeth][kinds[y % len(kinds)]]
        rows.append(bytes([kinds[y % len(kinds)]]) + ((row - guess) % 256).astype(np.uint8).tobytes())
        above = row
    return chunks(grid.shape, b"".join(rows))


def chunks(shape: tuple[int, ...], raw: bytes, depth: int = 8, colour: int = 0, packed: bytes | None = None) -> bytes:
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", shape[1], shape[0], depth, colour, 0, 0, 0)),
        (b"IDAT", zlib.compress(raw) if packed is None else packed),
        (b"IEND", b""),
    ]
    data = b"\x89PNG\r\n\x1a\n"
    for name, body in parts:
        data += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return data


def test_pixels_are_those_that_pillow_wrote() -> None:
    rng = np.random.default_rng(0)
    for height, width in ((1, 1), (3, 7), (37, 53), (64, 8)):
        for smooth in (False, True):
            shape = (height, width) if not smooth else (1, 1)
            grid = np.broadcast_to(rng.integers(0, 256, shape), (height, width)).astype(np.uint8).copy()
            grid[height // 2 :, : width // 2 + 1] = 7
            assert (png_map(written(grid), "x") == grid).all()
            assert (png_map(written(np.dstack([grid] * 3)), "x") == np.dstack([grid] * 3).astype(np.uint32) @ RGB).all()
            assert (png_map(written(grid.astype(np.uint16) * 200), "x") == grid.astype(np.uint16) * 200).all()
            for bits in (1, 2, 4):
                few = Image.fromarray(grid % 2**bits)
                few = few.convert("L")
                palette = Image.fromarray(np.asarray(few)).convert("P")
                palette.putdata((grid % 2**bits).ravel().tolist())
                buffer = io.BytesIO()
                palette.save(buffer, "png", bits=bits)
                assert (png_map(buffer.getvalue(), "x") == grid % 2**bits).all()


@pytest.mark.parametrize("kinds", [[0], [1], [2], [3], [4], [4, 2, 1, 3, 0]])
def test_every_filter(kinds: list[int]) -> None:
    rng = np.random.default_rng(1)
    for grid in (rng.integers(0, 256, (9, 41)), np.kron(rng.integers(0, 3, (3, 4)), np.ones((5, 13), int))):
        assert (png_map(filtered(grid, kinds), "x") == grid).all()


def test_opaque_colours_are_read_and_transparent_ones_refused() -> None:
    rgba = np.zeros((4, 5, 4), dtype=np.uint8)
    rgba[..., 3] = 255
    rgba[1, 2, 0] = 9
    assert png_map(written(rgba), "x")[1, 2] == 9
    rgba[0, 0, 3] = 254
    with refuses("E-invalid-file", "x", "transparent"):
        png_map(written(rgba), "x")


def test_damage_is_named() -> None:
    good = written(np.zeros((6, 5), dtype=np.uint8))
    at = good.index(b"IDAT") + 6
    with refuses("E-invalid-file", "x", "IDAT"):
        png_map(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :], "x")
    with refuses("E-invalid-file", "byte 40"):
        png_map(good[:40], "x")
    with refuses("E-invalid-file", "x", "PNG"):
        png_map(b"GIF89a", "x")
    with refuses("E-invalid-file", "5×6", "pixels"):
        png_map(chunks((6, 5), bytes(6 * 6 - 1)), "x")
    with refuses("E-invalid-file", "5×6", "pixels"):
        png_map(chunks((6, 5), bytes(6 * 6 + 1)), "x")
    with refuses("E-invalid-file", "x", "filter"):
        png_map(chunks((6, 5), b"\x07" + bytes(35)), "x")
    with refuses("E-out-of-range", "2,147,483,647×2,147,483,647"):
        png_map(chunks((2**31 - 1, 2**31 - 1), b""), "x")
    with refuses("E-invalid-file", "3", "0"):
        png_map(chunks((6, 5), bytes(36), depth=3), "x")
    for end in range(0, len(good), 3):
        with pytest.raises(InputError):
            png_map(good[:end], "x")


def test_bands_are_what_erosions_of_opencv_take() -> None:
    rng = np.random.default_rng(2)
    for distance in (1, 2, 5):
        grid = np.kron(rng.integers(0, 3, (4, 5)), np.ones((9, 11), int)).astype(np.uint8)
        result = _native.map_bands(grid, distance, 255)
        for label in range(3):
            mask = (grid == label).astype(np.uint8)
            framed = cv2.copyMakeBorder(mask, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
            left = cv2.erode(framed, np.ones((3, 3), np.uint8), iterations=distance)[1:-1, 1:-1]
            assert ((mask - left) == (result == label)).all()


@pytest.mark.parametrize("share", [0.0, 0.03, 1.0])
def test_files_are_counted_as_their_pixels_are(share: float) -> None:
    """Two files of any kind, by pieces of a few lines: as their maps in memory, which Pillow gives."""
    rng = np.random.default_rng(11)
    for height, width in ((1, 1), (3, 7), (41, 130), (700, 111)):
        coarse = rng.integers(0, 4, (height // 9 + 1, width // 13 + 1))
        base = np.kron(coarse, np.ones((9, 13), int))[:height, :width]
        sides = []
        for scale in (1, 257):
            noise = rng.integers(0, 200, (height, width))
            sides.append((np.where(rng.random((height, width)) < share, noise, base) * scale).astype(np.uint16))
        grey, wide = sides[0].astype(np.uint8), sides[1]
        colours = np.stack([wide & 255, wide >> 8, wide * 0], axis=2).astype(np.uint8)
        for a, b in ((grey, wide), (wide, grey), (grey, colours), (colours, colours)):
            result = png_cells(png_file(written(a), "a"), png_file(written(b), "b"))
            flat = [(one.astype(np.uint32) @ RGB if one.ndim == 3 else one.astype(np.uint32)) for one in (a, b)]
            np.testing.assert_array_equal(np.stack(result), np.stack(_native.map_cells(*flat)))


def test_the_damaged_file_of_two_is_named() -> None:
    good, bad = chunks((6, 5), bytes(36)), chunks((6, 5), b"\x07" + bytes(35))
    with refuses("E-invalid-file", "b.png"):
        png_cells(png_file(good, "a.png"), png_file(bad, "b.png"))
    with refuses("E-invalid-file", "b.png", "5×6"):
        png_cells(png_file(good, "a.png"), png_file(chunks((6, 5), bytes(40)), "b.png"))


def test_packed_data_are_unpacked_as_zlib_does() -> None:
    """Whatever was packed, however, and whatever became of it on the way."""
    rng = np.random.default_rng(21)
    accepted = 0
    for size in (0, 1, 300, 70_000, 200_000):
        kinds = [np.zeros(size), rng.integers(0, 256, size), rng.geometric(0.3, size) - 1]
        for raw in (np.asarray(values).astype(np.uint8).tobytes() for values in kinds):
            for level, strategy in (
                (0, 0),
                (1, 0),
                (9, 0),
                (6, zlib.Z_FIXED),
                (6, zlib.Z_HUFFMAN_ONLY),
                (6, zlib.Z_RLE),
            ):
                stream = zlib.compressobj(level, zlib.DEFLATED, 31, 8, strategy)
                packed = stream.compress(raw) + stream.flush()
                assert _native.gunzip(packed, size).tobytes() == raw
                for at in rng.integers(10, len(packed), 8).tolist():
                    bad = packed[:at] + bytes([packed[at] ^ int(rng.integers(1, 256))]) + packed[at + 1 :]
                    expected = as_zlib(bad)
                    if expected is None:
                        with refuses(ValueError, "damaged"):
                            _native.gunzip(bad, 1 << 22)
                    else:
                        accepted += 1
                        assert _native.gunzip(bad, 1 << 22).tobytes() == expected
    assert accepted < 20  # bits behind the last code mean nothing
    with refuses(ValueError, "wanted"):
        _native.gunzip(gzip.compress(bytes(100)), 99)
    assert len(_native.gunzip(gzip.compress(bytes(100)) * 3, 300)) == 300


def as_zlib(data: bytes) -> bytes | None:
    stream = zlib.decompressobj(31)
    try:
        result = stream.decompress(data)
    except zlib.error:
        return None
    return result if stream.eof else None


def test_a_wrong_checksum_of_the_pixels_is_damage() -> None:
    """The chunk's checksum is right, that of the unpacked data is not; or it is cut off."""
    packed = zlib.compress(bytes(36))
    for body in (packed[:-1] + bytes([packed[-1] ^ 1]), packed[:-4]):
        with refuses("E-invalid-file", "5×6"):
            png_map(chunks((6, 5), b"", packed=body), "x")


def test_cells_are_those_of_numpy() -> None:
    rng = np.random.default_rng(3)
    for kinds in ((np.uint8, np.uint8), (np.uint16, np.uint8), (np.uint32, np.uint32), (np.uint8, np.uint32)):
        a, b = (np.kron(rng.integers(0, 200, (5, 6)), np.ones((3, 19), int)).astype(kind) for kind in kinds)
        values, count = np.unique(np.stack([a.ravel(), b.ravel()]).astype(np.int64), axis=1, return_counts=True)
        result = _native.map_cells(a, b)
        np.testing.assert_array_equal(np.stack(result), np.vstack([values, count]))


def test_kernels_check_what_they_are_given() -> None:
    grid = np.zeros((3, 4), dtype=np.uint8)
    refused = [
        lambda: _native.map_cells(grid, grid[:2].copy()),
        lambda: _native.map_cells(grid, grid.astype(np.int64)),
        lambda: _native.map_cells(np.zeros((0, 4), np.uint8), np.zeros((0, 4), np.uint8)),
        lambda: _native.map_bands(grid, 0, 255),
        lambda: _native.map_bands(grid, 1, 256),
        lambda: _native.map_recode(grid, np.array([2, 1], np.uint32), np.array([0, 1], np.uint16), 9),
        lambda: _native.surface_distances(grid, grid, np.array([1.0, 0.0]), "voxels"),
        lambda: _native.surface_distances(grid, grid, np.array([1.0]), "voxels"),
        lambda: _native.surface_distances(grid, grid, np.array([1.0, 1.0]), "edges"),
        lambda: _native.PngFile(chunks((0, 0), b"")).map(),
        lambda: _native.PngFile(b"").map(),
        lambda: _native.PngFile(chunks((4, 4), bytes(20), colour=4)).map(),
        lambda: _native.png_cells(_native.PngFile(chunks((1, 4), bytes(5))), _native.PngFile(chunks((1, 5), bytes(6)))),
        lambda: _native.dilate_mask(grid, 5000),
    ]
    for call in refused:
        with pytest.raises((ValueError, TypeError)):
            call()
