"""Fuzz label maps: pairs of classes, bands, packing, pixels and files of PNG, surfaces and connected parts."""

from __future__ import annotations

import random
import struct
import zlib

import numpy as np
from harness import Draw, target

from steelyard import _native
from steelyard.core.errors import InputError
from steelyard.maps.png import SIGNATURE, png_cells, png_file

TYPES = (np.uint8, np.uint16, np.uint32)


def drawn_map(draw: Draw, *shape: int) -> np.ndarray:
    """A map with few values in large patches, or with many."""
    kind, rng = draw.rng.choice(TYPES), draw.rng
    values = draw.whole(rng.choice([2, 4, 250]), *shape, kind=kind)
    return np.ascontiguousarray(np.sort(values, axis=-1) if rng.random() < 0.5 else values)


@target("maps.cells")
def fuzz_cells(rng: random.Random) -> None:
    draw = Draw(rng)
    shape = [1 + draw.size(12) for _ in range(rng.choice([2, 2, 3]))]
    one, other = drawn_map(draw, *shape), drawn_map(draw, *shape)
    draw.call(_native.map_cells, one, other)
    draw.call(_native.map_bands, one, 1 + draw.size(4), rng.choice([0, 1, 255]), rng.choice([-1, 0, 255]))
    values = np.unique(draw.whole(9, draw.size(6), kind=np.uint32))
    draw.call(_native.map_recode, one, values, draw.whole(9, len(values), kind=np.uint16), rng.choice([0, 65535]))
    draw.call(_native.map_boxes, one)
    draw.call(_native.map_pack, one)
    packed = _native.map_pack(one)
    if not np.array_equal(_native.map_unpack(packed), one):
        raise AssertionError("a packed map comes back as another one")
    broken = bytearray(packed)
    broken[rng.randrange(len(broken))] = rng.randrange(256)
    draw.call(_native.map_unpack, bytes(broken[: rng.randrange(len(broken) + 1)]))


def kind(rng: random.Random) -> tuple[int, int]:
    """Bits and channels of a PNG that the native core reads."""
    channels = rng.choice([1, 1, 3, 4])
    return (rng.choice([1, 2, 4, 8, 16]) if channels == 1 else 8), channels


def drawn_lines(
    rng: random.Random, height: int, width: int, depth: int, channels: int, filters: int = 5
) -> list[bytes]:
    """Lines of a PNG, of which most bytes are zero or none is."""
    row, share = (width * depth * channels + 7) // 8, rng.choice([0.05, 1.0])
    return [
        bytes([rng.randrange(filters), *(rng.randrange(256) if rng.random() < share else 0 for _ in range(row))])
        for _ in range(height)
    ]


@target("maps.files")
def fuzz_files(rng: random.Random) -> None:
    """Whole files, some of them damaged behind a right checksum: the map that the lines give, or refused."""
    draw = Draw(rng)
    height, width, (depth, channels) = 1 + rng.randrange(9), 1 + rng.randrange(80), kind(rng)
    packed = bytearray(zlib.compress(b"".join(drawn_lines(rng, height, width, depth, channels, rng.choice([5, 5, 6])))))
    if rng.random() < 0.5:
        packed[rng.randrange(len(packed))] = rng.randrange(256)
    colour = {1: rng.choice([0, 3]), 3: 2, 4: 6}[channels]
    cut = rng.randrange(len(packed) + 1)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, rng.choice([0, 0, 0, 1]))),
        (b"IDAT", bytes(packed[:cut])),
        (b"IDAT", bytes(packed[cut:])),
        (b"IEND", b""),
    ]
    data = SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
    if rng.random() < 0.3:
        data = data[: rng.randrange(len(data) + 1)]
    native = draw.call(_native.PngFile, data)
    if native is not None:
        draw.call(_native.png_cells, native, native)
    try:
        file = png_file(data, "drawn")
        grid = file.map()
        if grid.shape != (height, width):
            raise AssertionError("the map is not of the size that the header says")
        cells = png_cells(file, file)
        if any((one != other).any() for one, other in zip(cells, _native.map_cells(grid, grid), strict=True)):
            raise AssertionError("the cells are not those of the pixels")
    except InputError:
        pass


def unpacked(data: bytes) -> bytes | None:
    """What zlib makes of a gzip file of one part; None where it refuses it."""
    stream = zlib.decompressobj(31)
    try:
        result = stream.decompress(data)
    except zlib.error:
        return None
    return result if stream.eof else None


@target("maps.inflate")
def fuzz_inflate(rng: random.Random) -> None:
    """Packed data, whole or damaged, some of them behind a right checksum: what zlib makes of them, or refused."""
    size, values = rng.choice([0, 3, 200, 3000, 70000]), rng.choice([b"\0", b"\0\0\0\0\1\2", bytes(range(256))])
    raw = bytes(rng.choices(values, k=size))
    if rng.random() < 0.3:
        raw = (raw[: rng.randrange(1, 60)] * (size // 8 + 1))[:size]
    stream = zlib.compressobj(rng.randrange(10), zlib.DEFLATED, 31, 8, rng.choice([0, 1, 2, 3, 4]))
    cut = rng.randrange(size + 1)
    data = bytearray(stream.compress(raw[:cut]) + stream.flush(zlib.Z_SYNC_FLUSH) + stream.compress(raw[cut:]))
    data += stream.flush()
    for _ in range(rng.choice([0, 1, 2])):
        data[rng.randrange(10, len(data))] = rng.randrange(256)
    if rng.random() < 0.2:
        del data[rng.randrange(len(data) + 1) :]
    else:  # right checksums, so that what is damaged is met by the decoder
        stream = zlib.decompressobj(-15)
        try:
            made = stream.decompress(bytes(data[10:-8]))
            end = len(data) - 8 - len(stream.unused_data)
            data[end:] = struct.pack("<II", zlib.crc32(made), len(made))
        except zlib.error:
            pass
    expected = unpacked(bytes(data))
    try:
        ours = _native.gunzip(bytes(data), 1 << 24).tobytes()
    except ValueError:
        ours = None
    if ours != expected:
        raise AssertionError("zlib gives something else")
    Draw(rng).call(_native.gunzip, bytes(data), size)


@target("maps.surfaces")
def fuzz_surfaces(rng: random.Random) -> None:
    draw = Draw(rng)
    axes = rng.choice([2, 3])
    shape = [1 + draw.size(7) for _ in range(axes)]
    one, other = (draw.whole(2, *shape, kind=np.uint8) for _ in range(2))
    spacing = rng.choice([np.ones(axes), draw.real(axes, low=0.1, high=3.0)])
    draw.call(_native.surface_distances, one, other, spacing, rng.choice(["voxels", "surface", "elements", "none"]))
    draw.call(_native.squared_distances, one, spacing)
    draw.call(_native.connected_parts, one)
    draw.call(_native.dilate_mask, one, draw.size(3))
    draw.call(_native.element_sizes, spacing)
