"""TIFF and BigTIFF files of labels, read here without another package.

Strips and tiles, not packed or packed with deflate, LZW or PackBits; whole numbers of 1 and of 8 to 64 bits and
floating-point numbers keep their values. Colours of 8 bits become red + 256 green + 65536 blue, as those of a PNG.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.core.counts import count_text
from steelyard.core.errors import EmptyInput, InputError, InvalidFile, ShapeMismatch, UnreadableFile
from steelyard.core.frozen import Frozen
from steelyard.core.opening import check_declared
from steelyard.maps.volume import DAMAGED, check_size

Array = NDArray[Any]
MOST_PAGES = 1 << 16
_WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC, _SAMPLES, _ROWS, _PLANAR = 256, 257, 258, 259, 262, 277, 278, 284
_KIND, _FILL, _ABOUT, _PREDICTOR, _TILE_WIDTH, _TILE_HEIGHT, _FORMAT = 254, 266, 270, 317, 322, 323, 339
_STRIPS, _STRIP_BYTES, _TILES, _TILE_BYTES = 273, 279, 324, 325
_CODES = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 16: "Q", 17: "q"}  # types of whole numbers
_SIZES = {2: 1, 5: 8, 7: 1, 10: 8, 11: 4, 12: 8, 13: 4, 18: 8} | {k: struct.calcsize(v) for k, v in _CODES.items()}
_NAMES = {2: "Group 3", 3: "Group 3", 4: "Group 4", 34925: "LZMA", 50000: "zstd", 50001: "WebP"}
_LOSSY = (6, 7, 33003, 33005, 34712, 34892, 50001)
_WANTED = frozenset((
    _WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC, _SAMPLES, _ROWS, _PLANAR, _KIND, _FILL, _PREDICTOR, _TILE_WIDTH,
    _TILE_HEIGHT, _FORMAT, _STRIPS, _STRIP_BYTES, _TILES, _TILE_BYTES,
))  # fmt: skip
MOST_PARTS = 1 << 22  # strips or tiles of a page
_DEFLATE, _LZW, _PACK_BITS = (8, 32946), 5, 32773


class _Page(Frozen):
    """The tags of one page."""

    source: str
    order: str
    tags: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def one(self, tag: int, default: int) -> int:
        """The first value of a tag."""
        return self.tags.get(tag, (default,))[0]


def tiff_pages(data: bytes, source: str) -> tuple[list[Array], bool]:
    """The pages, all of one shape and type, and whether their pixels are colours; thumbnails are left out."""
    pages = [page for page in _pages(data, source) if not page.one(_KIND, 0) & 1]
    if not pages:
        raise EmptyInput("has no page", where=source, remedy=DAMAGED)
    facts = [(p.one(_WIDTH, 0), p.one(_HEIGHT, 0), _dtype(p), p.one(_SAMPLES, 1)) for p in pages]
    for number, fact in enumerate(facts):
        if fact != facts[0]:
            raise InvalidFile(
                f"page {number + 1} has {fact[0]}×{fact[1]} pixels of {fact[2]}, and page 1 {facts[0][0]}×{facts[0][1]}"
                f" of {facts[0][2]}",
                where=source,
                remedy="Pages of a volume are alike.",
            )
    width, height, dtype, samples = facts[0]
    check_size((len(pages), height, width), source)
    if any(page.one(_COMPRESSION, 1) != 1 for page in pages):
        check_declared(len(pages) * width * height * samples * dtype.itemsize, len(data), source)
    grids = [_grid(page, data) for page in pages]
    return (grids, False) if samples == 1 else ([_colours(grid, source) for grid in grids], True)


def _pages(data: bytes, source: str) -> list[_Page]:
    order = {b"II": "<", b"MM": ">"}.get(data[:2], "")
    version = struct.unpack_from(f"{order}H", data, 2)[0] if order and len(data) >= 16 else 0
    if version not in (42, 43):
        raise InvalidFile("is not a TIFF file", where=source, remedy="Is it a TIFF in name only?")
    big = version == 43
    at = struct.unpack_from(f"{order}Q", data, 8)[0] if big else struct.unpack_from(f"{order}I", data, 4)[0]
    pages: list[_Page] = []
    seen: set[int] = set()
    while at:
        if at in seen or len(pages) >= MOST_PAGES:
            what = "its pages form a loop" if at in seen else f"has more than {MOST_PAGES:,} pages"
            raise InvalidFile(what, where=source, remedy=DAMAGED)
        seen.add(at)
        try:
            tags, at = _tags(data, at, order, big)
        except (struct.error, OverflowError):
            raise InvalidFile(f"page {len(pages) + 1} is cut off", where=source, remedy=DAMAGED) from None
        pages.append(_Page(source, order, tags))
    if not pages:
        raise EmptyInput("has no page", where=source, remedy=DAMAGED)
    about = re.search(r"ImageJ=.*?images=(\d{1,9})\b", bytes(pages[0].tags.get(_ABOUT, ())).decode("latin-1"), re.S)
    if about and int(about[1]) != len(pages):
        raise InvalidFile(
            f"has {count_text(len(pages), 'page')}, and ImageJ wrote {about[1]} images into it",
            where=source,
            remedy="Save it as a TIFF with one page per image.",
        )
    return pages


def _tags(data: bytes, at: int, order: str, big: bool) -> tuple[dict[int, tuple[int, ...]], int]:
    """Tags of whole numbers of a page, and where the next page is."""
    count = struct.unpack_from(f"{order}{'Q' if big else 'H'}", data, at)[0]
    at, step, room, form = (at + 8, 20, 8, "HHQ") if big else (at + 2, 12, 4, "HHI")
    if count > 4096:
        raise struct.error
    tags: dict[int, tuple[int, ...]] = {}
    for entry in range(at, at + step * count, step):
        tag, kind, many = struct.unpack_from(order + form, data, entry)
        size = _SIZES.get(kind, 0) * many
        place = entry + step - room
        if size > room:
            place = struct.unpack_from(f"{order}{'Q' if big else 'I'}", data, place)[0]
        if kind == 2 and tag == _ABOUT:
            tags[tag] = tuple(data[place : place + min(size, 1 << 16)])
        elif tag in _WANTED and kind in _CODES and many <= MOST_PARTS:
            tags[tag] = struct.unpack_from(f"{order}{many}{_CODES[kind]}", data, place)
    return {tag: value for tag, value in tags.items() if value}, struct.unpack_from(
        f"{order}{'Q' if big else 'I'}", data, at + step * count
    )[0]


def _dtype(page: _Page) -> np.dtype[Any]:
    """The type of a value; an error where it cannot be read."""
    bits, form, samples = page.one(_BITS, 1), page.one(_FORMAT, 1), page.one(_SAMPLES, 1)
    if len(set(page.tags.get(_BITS, (1,)))) > 1 or len(set(page.tags.get(_FORMAT, (1,)))) > 1:
        bits = 0
    letter = {1: "u", 2: "i", 3: "f"}.get(form, "")
    fits = bits in ((8, 16, 32, 64) if letter in "ui" else (16, 32, 64)) or (bits == 1 and letter == "u")
    if not letter or not fits:
        raise InvalidFile(
            f"has values of {page.tags.get(_BITS, (1,))} bits, format {form}",
            where=page.source,
            remedy="Write whole numbers of 8, 16 or 32 bits.",
        )
    if samples != 1 and (samples not in (3, 4) or bits != 8 or page.one(_PLANAR, 1) != 1):
        raise ShapeMismatch(
            f"has {samples} channels of {bits} bits",
            where=page.source,
            remedy="Write one channel of labels, or colours of 8 bits.",
        )
    if page.one(_PHOTOMETRIC, 1) == 0:
        raise InvalidFile(
            "says that white is zero, so that values may be meant inverted",
            where=page.source,
            remedy="Write it with black as zero.",
        )
    if page.one(_PHOTOMETRIC, 1) not in (1, 2, 3):
        raise InvalidFile(
            f"has colours of kind {page.one(_PHOTOMETRIC, 1)}", where=page.source, remedy="Write grey or RGB."
        )
    return np.dtype(page.order + letter + str(max(bits, 8) // 8))


def _grid(page: _Page, data: bytes) -> Array:
    """The pixels of a page: height × width, with samples behind where there are several."""
    width, height, samples = page.one(_WIDTH, 0), page.one(_HEIGHT, 0), page.one(_SAMPLES, 1)
    dtype, bits = _dtype(page), page.one(_BITS, 1)
    tiled = _TILES in page.tags
    across, down = (page.one(_TILE_WIDTH, 0), page.one(_TILE_HEIGHT, 0)) if tiled else (width, page.one(_ROWS, height))
    down = down if tiled else min(max(down, 1), height)
    if not 0 < across <= max(width + 65536, 1) or not 0 < down <= height + 65536:
        raise ShapeMismatch(f"has parts of {across}×{down} pixels", where=page.source, remedy=DAMAGED)
    line = -(-across * samples * bits // 8)
    columns, rows = -(-width // across), -(-height // down)
    grid = np.empty((height, width, samples), dtype=dtype.newbyteorder("="))
    parts = _parts(page, data, tiled, columns * rows)
    for number, part in enumerate(parts):
        top, left = number // columns * down, number % columns * across
        lines = down if tiled else min(down, height - top)
        raw = _unpack_part(page, part, lines * line)
        if bits == 1:
            flat = np.frombuffer(raw, np.uint8).reshape(lines, line)
            values = np.unpackbits(flat, axis=1)[:, :across, np.newaxis]
        elif page.one(_PREDICTOR, 1) == 3:
            values = _sum_byte_planes(raw, (lines, across, samples), dtype)
        else:
            values = np.frombuffer(raw, dtype).reshape(lines, across, samples)
        if page.one(_PREDICTOR, 1) == 2:
            whole = np.dtype(f"{page.order}u{dtype.itemsize}")  # differences are of bits, also those of floats
            values = np.add.accumulate(values.view(whole), axis=1, dtype=whole.newbyteorder("=")).view(grid.dtype)
        tile_area = grid[top : top + lines, left : left + across]
        tile_area[...] = values[: tile_area.shape[0], : tile_area.shape[1]]
    return grid[:, :, 0] if samples == 1 else grid


def _sum_byte_planes(raw: bytes, shape: tuple[int, int, int], dtype: np.dtype[Any]) -> Array:
    """Floating-point numbers whose bytes stand in planes, the highest first, each byte as its step along the line."""
    lines, across, samples = shape
    steps = np.frombuffer(raw, np.uint8).reshape(lines, dtype.itemsize * across, samples)
    planes = np.add.accumulate(steps, axis=1, dtype=np.uint8).reshape(lines, dtype.itemsize, across * samples)
    values: Array = np.ascontiguousarray(planes.transpose(0, 2, 1)).view(dtype.newbyteorder(">"))
    return values.reshape(shape)


def _parts(page: _Page, data: bytes, tiled: bool, count: int) -> Iterator[bytes]:
    """The strips or tiles, as they are packed."""
    predictor = page.one(_PREDICTOR, 1)
    fits = {1: True, 2: page.one(_BITS, 1) > 1, 3: _dtype(page).kind == "f"}
    if not fits.get(predictor, False):
        raise InvalidFile(f"has predictor {page.one(_PREDICTOR, 1)}", where=page.source, remedy="Write it without one.")
    if page.one(_FILL, 1) != 1:
        raise InvalidFile("has the bits of a byte reversed", where=page.source, remedy="Write FillOrder 1.")
    starts = page.tags.get(_TILES if tiled else _STRIPS, ())
    sizes = page.tags.get(_TILE_BYTES if tiled else _STRIP_BYTES, ())
    if len(starts) != count or len(sizes) != count:
        raise InvalidFile(f"has {count_text(len(starts), 'part')}, not {count}", where=page.source, remedy=DAMAGED)
    for start, size in zip(starts, sizes, strict=True):
        if start < 0 or size < 0 or start + size > len(data):
            raise InvalidFile("ends before its pixels do", where=page.source, remedy=DAMAGED)
        yield data[start : start + size]


def _unpack_part(page: _Page, part: bytes, count: int) -> bytes:
    """Exactly `count` bytes of a strip or tile."""
    compression = page.one(_COMPRESSION, 1)
    try:
        if compression == 1:
            result = part[:count]
        elif compression in _DEFLATE:
            result = zlib.decompressobj().decompress(part, count)
        elif compression == _LZW:
            result = _native.unpack_lzw(part, count)
        elif compression == _PACK_BITS:
            result = _pack_bits(part, count)
        elif compression in _LOSSY:
            lossy = _NAMES.get(compression, "JPEG")
            raise InvalidFile(
                f"{lossy} changes labels", where=page.source, remedy="Write it with deflate, LZW or none."
            )
        else:
            name = _NAMES.get(compression, str(compression))
            raise InvalidFile(f"is packed with {name}", where=page.source, remedy="Write it with deflate, LZW or none.")
    except (zlib.error, IndexError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise UnreadableFile("cannot be unpacked", where=page.source, remedy=DAMAGED) from None
    if len(result) < count:
        raise InvalidFile("ends before its pixels do", where=page.source, remedy=DAMAGED)
    return result


def _pack_bits(part: bytes, count: int) -> bytes:
    result, at = bytearray(), 0
    while len(result) < count and at < len(part):
        run = part[at]
        if run < 128:
            result += part[at + 1 : at + 2 + run]
            at += 2 + run
        elif run > 128:
            result += part[at + 1 : at + 2] * (257 - run)
            at += 2
        else:
            at += 1
    return bytes(result[:count])


def _colours(grid: Array, source: str) -> Array:
    """Colours as one number each; transparent ones are refused."""
    if grid.shape[2] == 4 and (grid[:, :, 3] != 255).any():
        raise InvalidFile("a pixel is transparent", where=source, remedy="Write it without transparency.")
    codes: Array = grid[:, :, :3].astype(np.uint32) @ np.array([1, 256, 65536], dtype=np.uint32)
    return codes
