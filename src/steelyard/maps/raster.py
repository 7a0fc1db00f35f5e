"""Small pictures of label maps: an indexed PNG of our own writer, for the pages of a report."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
MOST_SIDE = 480  # pixels of a picture's longer side
# Colours by class, which differ in hue and lightness; more classes than colours begin again.
PALETTE = (
    "4e79a7", "f28e2b", "59a14f", "e15759", "76b7b2", "edc948", "b07aa1", "ff9da7", "9c755f", "86bcb6",
    "d37295", "a0cbe8", "8cd17d", "b6992d", "499894", "d7b5a6", "79706e", "fabfd2", "ffbe7d", "d4a6c8",
)  # fmt: skip


def colour(code: int) -> str:
    """The colour of a class by its place, as rrggbb."""
    return PALETTE[code % len(PALETTE)]


def thin_grid(grid: Array, most: int = MOST_SIDE) -> Array:
    """Every n-th pixel, so that no side is longer than `most`."""
    step = -(-max(grid.shape) // most)
    return np.ascontiguousarray(grid[::step, ::step])


def colour_codes(codes: Array, colour_of: Callable[[int], str]) -> str:
    """A picture of codes, each in its colour, as base64 text; beyond 256 of them the last share one."""
    shown = [int(code) for code in np.unique(codes, return_counts=True)[0].tolist()][:256]
    place = np.minimum(np.searchsorted(np.array(shown), codes), len(shown) - 1)
    return indexed_png(place, [colour_of(code) for code in shown])


def indexed_png(grid: Array, colours: list[str]) -> str:
    """A picture of places in a list of at most 256 colours (rrggbb), as base64 text."""
    height, width = grid.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)
    rows[:, 1:] = grid
    palette = b"".join(bytes.fromhex(one) for one in colours)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    data = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, body) for name, body in chunks)
    return base64.b64encode(data).decode()


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def colour_png(pixels: Array) -> str:
    """A picture of 8 bits, gray (height, width) or RGB (height, width, 3), as base64 text."""
    height, width = pixels.shape[:2]
    flat = pixels.reshape(height, -1)
    rows = np.zeros((height, flat.shape[1] + 1), dtype=np.uint8)
    rows[:, 1:] = flat
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    data = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, body) for name, body in chunks)
    return base64.b64encode(data).decode()
