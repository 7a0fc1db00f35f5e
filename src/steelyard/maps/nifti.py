"""NIfTI-1 and NIfTI-2 files of labels: header, spacing and orientation are read here, without another package.

Voxels lie with the first axis fastest. The grid has the axes the other way round (z, y, x), so that memory stays as it
is; spacing likewise.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen

Array = NDArray[Any]
MOST_BYTES = 1 << 32
_TYPES = {
    2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4", 1024: "i8", 1280: "u8",
}  # fmt: skip
_DAMAGED = "The file is damaged: write it again."


@frozen
class Volume:
    """Voxels, the size of one along each axis in mm, and where they lie (4 × 4, of the file's own axes) if known."""

    grid: Array
    spacing: tuple[float, ...] | None = None
    affine: Array | None = None


def nifti_volume(data: bytes, source: str) -> Volume:
    """The voxels of a `.nii` or `.nii.gz` file, as they are stored: of whole numbers or not."""
    content = _unpacked(data, source) if data[:2] == b"\x1f\x8b" else data
    for order in "<>":
        size = struct.unpack_from(f"{order}i", content, 0)[0] if len(content) >= 4 else 0
        if size in (348, 540):
            return _volume(content, order, size == 540, source)
    raise InputError("is no NIfTI file", where=source, remedy="Give .nii or .nii.gz.")


def _unpacked(data: bytes, source: str) -> memoryview:
    try:
        return _native.gunzip(data, MOST_BYTES).data
    except ValueError:
        raise InputError("cannot be unpacked", where=source, remedy=_DAMAGED) from None


def _volume(data: bytes | memoryview, order: str, second: bool, source: str) -> Volume:
    try:
        if second:
            kind = struct.unpack_from(f"{order}h", data, 12)[0]
            dims = struct.unpack_from(f"{order}8q", data, 16)
            pixdim = struct.unpack_from(f"{order}8d", data, 104)
            offset = struct.unpack_from(f"{order}q", data, 168)[0]
            slope, inter = struct.unpack_from(f"{order}2d", data, 176)
            codes = struct.unpack_from(f"{order}2i", data, 344)
            quatern = struct.unpack_from(f"{order}6d", data, 352)
            rows = struct.unpack_from(f"{order}12d", data, 400)
        else:
            kind = struct.unpack_from(f"{order}h", data, 70)[0]
            dims = struct.unpack_from(f"{order}8h", data, 40)
            pixdim = struct.unpack_from(f"{order}8f", data, 76)
            offset = int(struct.unpack_from(f"{order}f", data, 108)[0])
            slope, inter = struct.unpack_from(f"{order}2f", data, 112)
            codes = struct.unpack_from(f"{order}2h", data, 252)
            quatern = struct.unpack_from(f"{order}6f", data, 256)
            rows = struct.unpack_from(f"{order}12f", data, 280)
    except struct.error:
        raise InputError("the header is cut off", where=source, remedy=_DAMAGED) from None
    count = dims[0]
    if kind not in _TYPES or not 1 <= count <= 7 or any(d < 1 for d in dims[1 : count + 1]):
        raise InputError(
            f"has {count} axes of type {kind}", where=source, remedy="Labels are whole numbers in 2D or 3D."
        )
    shape = list(dims[1 : count + 1])
    while len(shape) > 3 and shape[-1] == 1:
        shape.pop()
    if len(shape) > 3:
        raise InputError(
            f"has {len(shape)} axes ({shape[3]} channels)", where=source, remedy="Give one volume per file."
        )
    dtype = np.dtype(order + _TYPES[kind])
    voxels = math.prod(shape)
    if voxels * dtype.itemsize > MOST_BYTES or offset < 0 or offset + voxels * dtype.itemsize > len(data):
        raise InputError(f"ends before its {voxels:,} voxels do", where=source, remedy=_DAMAGED)
    grid = np.frombuffer(data, dtype, voxels, offset).reshape(shape[::-1])
    if slope not in (0.0, 1.0) or (inter != 0.0 and slope != 0.0):
        grid = grid * float(slope) + float(inter)
    spacing = tuple(float(abs(v)) for v in pixdim[1 : len(shape) + 1][::-1])
    return Volume(grid, spacing, _affine(codes, quatern, rows, pixdim))


def _affine(codes: Any, quatern: Any, rows: Any, pixdim: Any) -> Array | None:
    """Where voxels lie: by the rows of the header, else by its quaternion, else nothing is known."""
    if codes[1] > 0:
        return np.vstack([np.array(rows).reshape(3, 4), [0, 0, 0, 1]])
    if codes[0] <= 0:
        return None
    b, c, d, *origin = quatern
    a = math.sqrt(max(0.0, 1 - b * b - c * c - d * d))
    turn = np.array(
        [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c],
        ]
    )
    sign = -1.0 if pixdim[0] < 0 else 1.0
    affine = np.eye(4)
    affine[:3, :3] = turn * np.array([pixdim[1], pixdim[2], sign * pixdim[3]])
    affine[:3, 3] = origin
    return affine
