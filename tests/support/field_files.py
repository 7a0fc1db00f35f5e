"""Writers of the files that hold dense fields, for tests."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def png(samples: Array, filter_of_row: int = 0, colour: int | None = None, interlaced: int = 0) -> bytes:
    """A PNG of samples of 8 or 16 bits, (height, width) or (height, width, channels), each row with one filter."""
    values = samples[:, :, np.newaxis] if samples.ndim == 2 else samples
    height, width, channels = values.shape
    bits = 8 * values.dtype.itemsize
    raw = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder(">")).view(np.uint8).reshape(height, -1)
    step = channels * bits // 8
    above, lines = np.zeros(raw.shape[1], dtype=np.uint8), []
    for row in raw:
        left, corner = (np.concatenate([np.zeros(step, np.uint8), line[:-step]]) for line in (row, above))
        guess = {
            0: np.zeros_like(row),
            1: left,
            2: above,
            3: ((left.astype(int) + above) // 2).astype(np.uint8),
            4: _paeth(left, above, corner),
        }[filter_of_row]
        lines.append(bytes([filter_of_row]) + (row - guess).tobytes())
        above = row
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels] if colour is None else colour
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, interlaced)),
        (b"IDAT", zlib.compress(b"".join(lines))),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def _paeth(left: Array, above: Array, corner: Array) -> Array:
    a, b, c = (part.astype(int) for part in (left, above, corner))
    guess = a + b - c
    da, db, dc = abs(guess - a), abs(guess - b), abs(guess - c)
    return np.where((da <= db) & (da <= dc), a, np.where(db <= dc, b, c)).astype(np.uint8)


def kitti_flow(flow: Array, valid: Array | None = None) -> bytes:
    """Flow (height, width, 2) as KITTI writes it; nan is invalid."""
    valid = np.isfinite(flow).all(axis=2) if valid is None else valid.astype(bool)
    codes = np.where(valid[:, :, np.newaxis], np.round(np.nan_to_num(flow) * 64 + 32768), 0)
    return png(np.dstack([codes, valid]).astype(np.uint16), 4)


def kitti_disparity(disparity: Array) -> bytes:
    """Disparity or depth in steps of 1/256; nan and 0 are invalid."""
    return png(np.round(np.nan_to_num(disparity) * 256).astype(np.uint16), 1)


def flo(flow: Array) -> bytes:
    """Flow as `.flo` (two channels), or depth as `.dpt`."""
    height, width = flow.shape[:2]
    return b"PIEH" + struct.pack("<ii", width, height) + np.ascontiguousarray(flow, "<f4").tobytes()


def pfm(field: Array, little: bool = True) -> bytes:
    """A field of one channel, or of three, as PFM."""
    head = f"{'Pf' if field.ndim == 2 else 'PF'}\n{field.shape[1]} {field.shape[0]}\n{-1.0 if little else 1.0}\n"
    return head.encode() + np.ascontiguousarray(field[::-1], "<f4" if little else ">f4").tobytes()
