"""NIfTI-1 and NIfTI-2 files of labels, and Analyze 7.5 pairs, read here without another package.

Voxels lie with the first axis (x) fastest, so that a grid in memory has the axes z, y, x; a fourth axis holds channels
and comes first. Spacing is that of the affine in use: the sform where it has a code, else the qform, else pixdim alone.
"""

from __future__ import annotations

import math
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidFile, ShapeMismatch, UnreadableFile
from steelyard.core.opening import check_declared, most_unpacked
from steelyard.maps.volume import DAMAGED, Volume, check_size, grid_of, place_volume

Array = NDArray[Any]
GZIP = b"\x1f\x8b"
_HEAD = 544  # bytes that any header has at most, with the four behind it
_TYPES = {
    2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4", 1024: "i8", 1280: "u8",
}  # fmt: skip
_MAGIC = {b"n+1\0": (348, 352), b"ni1\0": (348, 0), b"n+2\0": (540, 544), b"ni2\0": (540, 0)}
_TO_MM = {0: 1.0, 1: 1e3, 2: 1.0, 3: 1e-3}  # unknown, meter, mm, micron


class _Header(NamedTuple):
    order: str
    second: bool
    magic: bytes
    kind: int
    dims: tuple[int, ...]
    pixdim: tuple[float, ...]
    offset: float
    scale: tuple[float, float]
    units: int
    codes: tuple[int, int]
    quatern: tuple[float, ...]
    rows: tuple[float, ...]


def nifti_volume(data: bytes, source: str, image: tuple[bytes, str] | None = None) -> Volume:
    """The voxels of a `.nii` or `.nii.gz` file as they are stored; `image` is the `.img` of a pair and its name."""
    header = _header(_start(data, source), source)
    single = image is None
    _check_magic(header, single, source)
    shape = _shape(header, source)
    dtype = np.dtype(header.order + _TYPES[header.kind])
    least = (544 if header.second else 352) if single else 0
    if not (math.isfinite(header.offset) and header.offset == int(header.offset) and least <= header.offset < 1 << 40):
        raise InvalidFile(
            f"vox_offset is {header.offset:g}, and voxels begin at byte {least:,} or later",
            where=source,
            remedy=DAMAGED,
        )
    voxels, name = (data, source) if image is None else image
    end = int(header.offset) + check_size(shape, source) * dtype.itemsize
    content = _unpack_gzip(voxels, end, name) if voxels[:2] == GZIP else voxels
    grid = grid_of(content, int(header.offset), dtype, shape, name)
    slope, inter = header.scale
    if header.magic[:1] != b"n" or math.isnan(slope) or slope == 0.0:  # Analyze has no scale, and nan or 0 say none
        slope, inter = 1.0, 0.0
    if not (math.isfinite(slope) and math.isfinite(inter)):
        raise InvalidFile(f"scl_slope is {slope:g} and scl_inter {inter:g}", where=source, remedy=DAMAGED)
    if (slope, inter) != (1.0, 0.0):
        with np.errstate(over="ignore", invalid="ignore"):
            grid = grid * float(slope) + float(inter)
    remarks = {}
    if header.units not in _TO_MM:
        remarks["units"] = f"the unit of space has the code {header.units}, which NIfTI does not define: mm is assumed"
    factor = _TO_MM.get(header.units, 1.0)
    axes = min(3, len(shape))
    affine, named = _affine(header)
    sizes = [abs(float(size)) * factor for size in header.pixdim[1 : axes + 1]]
    if affine is not None:
        affine[:3] *= factor
    return place_volume(grid, sizes, affine, remarks, named, source)


def _start(data: bytes, source: str) -> bytes:
    """The first bytes of the header, of a packed file too."""
    if data[:2] != GZIP:
        return data[:_HEAD]
    try:
        return zlib.decompressobj(31).decompress(data, _HEAD)
    except zlib.error:
        raise UnreadableFile("cannot be unpacked", where=source, remedy=DAMAGED) from None


def _unpack_gzip(data: bytes, declared: int, source: str) -> memoryview:
    check_declared(declared, len(data), source)
    try:
        return _native.gunzip(data, min(most_unpacked(len(data)), max(declared, 1) + (256 << 20))).data
    except ValueError:
        raise UnreadableFile("cannot be unpacked", where=source, remedy=DAMAGED) from None


def _header(data: bytes, source: str) -> _Header:
    size = 0
    for order in "<>":
        size = struct.unpack_from(f"{order}i", data, 0)[0] if len(data) >= 4 else 0
        if size in (348, 540):
            break
    else:
        raise InvalidFile("is not a NIfTI file", where=source, remedy="Give .nii, .nii.gz, or .hdr with .img.")
    if len(data) < size:
        raise InvalidFile("the header is cut off", where=source, remedy=DAMAGED)

    def unpack(form: str, at: int) -> tuple[Any, ...]:
        return struct.unpack_from(order + form, data, at)

    second = size == 540
    if second:
        wide, kind, dims, pixdim, offset, scale, codes, quatern, rows = "d", 12, 16, 104, 168, 176, 344, 352, 400
    else:
        wide, kind, dims, pixdim, offset, scale, codes, quatern, rows = "f", 70, 40, 76, 108, 112, 252, 256, 280
    slope, inter = unpack(f"2{wide}", scale)
    qform, sform = unpack("2i" if second else "2h", codes)
    return _Header(
        order=order,
        second=second,
        magic=data[4:8] if second else data[344:348],
        kind=unpack("h", kind)[0],
        dims=unpack("8q" if second else "8h", dims),
        pixdim=unpack(f"8{wide}", pixdim),
        offset=unpack("q" if second else "f", offset)[0],
        scale=(slope, inter),
        units=(unpack("i", 500)[0] if second else data[123]) & 7,
        codes=(qform, sform),
        quatern=unpack(f"6{wide}", quatern),
        rows=unpack(f"12{wide}", rows),
    )


def _check_magic(header: _Header, single: bool, source: str) -> None:
    """The magic bytes say whether voxels follow in the same file; an Analyze header has none and always a pair."""
    if not single and not header.second and not header.magic.strip(b"\0 "):
        return
    size, least = _MAGIC.get(header.magic, (0, 0))
    if size != (540 if header.second else 348):
        shown = ascii(header.magic.rstrip(b"\0").decode("latin-1"))
        raise InvalidFile(
            f"the magic bytes of the header are {shown}, not those of NIfTI", where=source, remedy=DAMAGED
        )
    if single and not least:
        raise InvalidFile(
            "is the header of a pair, without voxels", where=source, remedy="Name it .hdr, with the .img beside it."
        )
    if not single and least:
        raise InvalidFile("is a whole NIfTI file, not the header of a pair", where=source, remedy="Name it .nii.")


def _shape(header: _Header, source: str) -> list[int]:
    """The axes, x first; of those behind the third only one may be longer than 1: channels."""
    count = header.dims[0]
    if header.kind not in _TYPES or not 1 <= count <= 7 or any(d < 1 for d in header.dims[1 : count + 1]):
        raise InvalidFile(
            f"has {count_text(count, 'axis')} of type {header.kind}",
            where=source,
            remedy="Labels are whole numbers in 2D or 3D.",
        )
    shape = list(header.dims[1 : count + 1])
    channels = [size for size in shape[3:] if size > 1]
    if len(channels) > 1:
        raise ShapeMismatch(
            f"has {3 + len(channels)} axes longer than 1", where=source, remedy="Give x, y, z and at most channels."
        )
    if len(shape) < 2:
        raise InvalidFile("has one axis", where=source, remedy="Labels are whole numbers in 2D or 3D.")
    return shape[:3] + channels


def _affine(header: _Header) -> tuple[Array | None, str]:
    """Where voxels lie, and by which part of the header: sform, else qform, else nothing is known."""
    if header.magic[:1] != b"n":
        return None, ""
    if header.codes[1] > 0:
        return np.vstack([np.array(header.rows, dtype=np.float64).reshape(3, 4), [0, 0, 0, 1]]), "sform"
    if header.codes[0] <= 0:
        return None, ""
    b, c, d, *origin = header.quatern
    a = math.sqrt(max(0.0, 1 - b * b - c * c - d * d))
    turn = np.array(
        [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c],
        ]
    )
    sign = -1.0 if header.pixdim[0] < 0 else 1.0
    affine = np.eye(4)
    affine[:3, :3] = turn * np.array([header.pixdim[1], header.pixdim[2], sign * header.pixdim[3]])
    affine[:3, 3] = origin
    return affine, "qform"
