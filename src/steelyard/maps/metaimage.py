"""MetaImage files of labels, as ITK writes them: `.mha`, or `.mhd` with its voxels in a file beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.counts import count_text
from steelyard.core.errors import DuplicateKey, InvalidFile, ShapeMismatch
from steelyard.maps.volume import DAMAGED, Volume, check_size, grid_of, inflate_exactly, place_volume

Array = NDArray[Any]
MOST_HEADER = 1 << 20
_TYPES = {
    "MET_CHAR": "i1", "MET_UCHAR": "u1", "MET_SHORT": "i2", "MET_USHORT": "u2", "MET_INT": "i4", "MET_UINT": "u4",
    "MET_LONG": "i4", "MET_ULONG": "u4", "MET_LONG_LONG": "i8", "MET_ULONG_LONG": "u8", "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}  # fmt: skip


def meta_volume(data: bytes, source: str, beside: Callable[[str], tuple[bytes, str]]) -> Volume:
    """The voxels of a file; `beside(name)` gives the bytes and the path of the data file that the header names."""
    fields, start = _fields(data, source)
    axes = _numbers(fields, "NDims", source, whole=True)
    sizes = [int(size) for size in _numbers(fields, "DimSize", source, whole=True)]
    if len(axes) != 1 or len(sizes) != int(axes[0]) or len(sizes) not in (2, 3):
        raise ShapeMismatch(
            f"has {count_text(len(sizes), 'size')} for {fields['NDims']} axes",
            where=source,
            remedy="Labels have 2 or 3 axes.",
        )
    channels = int(_numbers(fields, "ElementNumberOfChannels", source, "1", whole=True)[0])
    kind = _TYPES.get(fields.get("ElementType", ""))
    if kind is None:
        types = ", ".join(_TYPES)
        raise InvalidFile(
            f"ElementType is '{fields.get('ElementType', '')}'", where=source, remedy=f"It is one of {types}."
        )
    big = _flag(fields, "BinaryDataByteOrderMSB", source) or _flag(fields, "ElementByteOrderMSB", source)
    dtype = np.dtype((">" if big else "<") + kind)
    if "BinaryData" in fields and not _flag(fields, "BinaryData", source):
        raise InvalidFile("holds its voxels as text", where=source, remedy="Write BinaryData = True.")
    shape = [channels, *sizes] if channels != 1 else sizes  # channels are fastest
    count = check_size(shape, source) * dtype.itemsize
    named = fields["ElementDataFile"]
    content, name = (data[start:], source) if named.upper() == "LOCAL" else beside(named)
    skipped = fields.get("HeaderSize", "0")
    if not re.fullmatch(r"-1|[0-9]{1,12}", skipped):
        raise InvalidFile(f"HeaderSize is '{skipped}'", where=source, remedy="It is -1, or from 0 up.")
    at = int(skipped)
    if _flag(fields, "CompressedData", source):
        content, at = inflate_exactly(content[max(at, 0) :], count, name), 0
    elif at == -1:
        at = len(content) - count
    grid = grid_of(content, at, dtype, shape, name)
    if channels != 1:
        grid = np.moveaxis(grid, -1, 0)
    return _place_grid(grid, fields, len(sizes), source)


def _fields(data: bytes, source: str) -> tuple[dict[str, str], int]:
    """The header's fields, and the byte behind `ElementDataFile`, which ends it."""
    fields: dict[str, str] = {}
    for match in re.finditer(rb"([^\n]*)\n", data[:MOST_HEADER] + (b"\n" if len(data) < MOST_HEADER else b"")):
        name, equals, value = match[1].decode("utf-8", "replace").partition("=")
        name = name.strip()
        if not equals or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", name):
            break
        if name in fields:
            raise DuplicateKey(f"duplicate field '{name}'", where=source, remedy=DAMAGED)
        fields[name] = value.strip()
        if name == "ElementDataFile":
            return fields, match.end()
    if not {"ObjectType", "NDims", "DimSize"} & fields.keys():
        raise InvalidFile("is not a MetaImage file", where=source, remedy="It begins with ObjectType = Image.")
    raise InvalidFile("the header has no ElementDataFile", where=source, remedy=DAMAGED)


def _numbers(fields: dict[str, str], name: str, source: str, default: str = "", *, whole: bool = False) -> list[float]:
    texts = fields.get(name, default).split()
    try:
        numbers = [float(text) for text in texts]
        if not numbers or (whole and not all(re.fullmatch(r"[1-9][0-9]{0,11}", text) for text in texts)):
            raise ValueError
    except ValueError:
        what = "whole numbers from 1 up" if whole else "numbers"
        raise InvalidFile(f"{name} is '{fields.get(name, '')}'", where=source, remedy=f"Give {what}.") from None
    return numbers


def _flag(fields: dict[str, str], name: str, source: str) -> bool:
    text = fields.get(name, "False").lower()
    if text not in ("true", "false", "1", "0"):
        raise InvalidFile(f"{name} is '{fields[name]}'", where=source, remedy="It is True or False.")
    return text in ("true", "1")


def _place_grid(grid: Array, fields: dict[str, str], axes: int, source: str) -> Volume:
    """The grid with the spacing and the place of the header, whose space is left, posterior, superior."""
    name = "ElementSpacing" if "ElementSpacing" in fields else "ElementSize"
    if name not in fields:
        return Volume(grid)
    sizes = [abs(size) for size in _numbers(fields, name, source)]
    if len(sizes) != axes:
        raise ShapeMismatch(
            f"{name} has {len(sizes)} numbers", where=source, remedy=f"Give one for each of {axes} axes."
        )
    turn = next((key for key in ("TransformMatrix", "Rotation", "Orientation") if key in fields), "")
    origin = next((key for key in ("Offset", "Position", "Origin") if key in fields), "")
    if axes != 3 or not turn or not origin:
        return place_volume(grid, sizes, None, {}, "", source)
    rows, offset = np.array(_numbers(fields, turn, source)), np.array(_numbers(fields, origin, source))
    if rows.shape != (9,) or offset.shape != (3,):
        raise InvalidFile(f"{turn} has {len(rows)} numbers and {origin} {len(offset)}", where=source, remedy=DAMAGED)
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = rows.reshape(3, 3).T * np.array(sizes), offset
    affine[:2] *= -1
    return place_volume(grid, sizes, affine, {}, turn, source)
