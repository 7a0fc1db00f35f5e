"""NRRD files of labels: encodings raw and gzip, the header attached (`.nrrd`) or in a file of its own (`.nhdr`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.counts import count_text
from steelyard.core.errors import DuplicateKey, InvalidFile, ShapeMismatch
from steelyard.maps.volume import DAMAGED, TO_MM, Volume, check_size, grid_of, inflate_exactly, place_volume

Array = NDArray[Any]
MOST_HEADER = 1 << 20
_TYPES = {
    name: code
    for code, names in {
        "i1": "signed char|int8|int8_t",
        "u1": "uchar|unsigned char|uint8|uint8_t",
        "i2": "short|short int|signed short|signed short int|int16|int16_t",
        "u2": "ushort|unsigned short|unsigned short int|uint16|uint16_t",
        "i4": "int|signed int|int32|int32_t",
        "u4": "uint|unsigned int|uint32|uint32_t",
        "i8": "longlong|long long|long long int|signed long long|signed long long int|int64|int64_t",
        "u8": "ulonglong|unsigned long long|unsigned long long int|uint64|uint64_t",
        "f4": "float",
        "f8": "double",
    }.items()
    for name in names.split("|")
}
# Signs that turn x and y of a space into right and anterior, as NIfTI has them; other spaces are not compared.
_SPACES = {
    "right-anterior-superior": (1, 1), "ras": (1, 1),
    "left-anterior-superior": (-1, 1), "las": (-1, 1),
    "left-posterior-superior": (-1, -1), "lps": (-1, -1),
}  # fmt: skip
Directions = list[list[float] | None] | None
_OF_SPACE = ("domain", "space", "none", "???", "")


def nrrd_volume(data: bytes, source: str, beside: Callable[[str], tuple[bytes, str]]) -> Volume:
    """The voxels of a file; `beside(name)` gives the bytes and the path of a data file that the header names."""
    fields, start = _fields(data, source)
    sizes = _whole(fields, "sizes", source)
    if len(sizes) != (dimension := _whole(fields, "dimension", source)[0]):
        raise ShapeMismatch(f"has {count_text(len(sizes), 'size')} for {dimension} axes", where=source, remedy=DAMAGED)
    kind = _TYPES.get(fields.get("type", "").lower())
    if kind is None:
        raise InvalidFile(
            f"the type is '{fields.get('type', '')}'", where=source, remedy="Labels are whole numbers of 1 to 8 bytes."
        )
    endian = fields.get("endian", "").lower()
    if endian not in ("little", "big") and np.dtype(kind).itemsize > 1:
        raise InvalidFile(f"the endian is '{endian}'", where=source, remedy="It is little or big.")
    dtype = np.dtype((">" if endian == "big" else "<") + kind)
    directions = _directions(fields, len(sizes), source)
    spatial = _spatial(fields, directions, sizes, source)
    named = fields.get("data file", fields.get("datafile", ""))
    content, name = beside(named) if named else (data[start:], source)
    content, at = _decode_voxels(content, fields, check_size(sizes, source) * dtype.itemsize, name)
    grid = grid_of(content, at, dtype, sizes, name)
    channel = next((axis for axis in range(len(sizes)) if axis not in spatial), None)
    if channel is not None:  # axis k of the file is the k-th from the end in the grid
        grid = np.moveaxis(grid, len(sizes) - 1 - channel, 0)
    return _place_grid(grid, fields, directions, spatial, source)


def _fields(data: bytes, source: str) -> tuple[dict[str, str], int]:
    """The header's fields by name in small letters, and the byte behind its empty line."""
    if not re.match(rb"NRRD000[1-5]\r?\n", data):
        raise InvalidFile("is not an NRRD file", where=source, remedy="It begins with NRRD0004, or so.")
    end = re.search(rb"\r?\n\r?\n", data[:MOST_HEADER])
    header = data[: end.start()] if end else data[:MOST_HEADER]
    if end is None and b"data" not in header:
        raise InvalidFile("the header does not end", where=source, remedy=DAMAGED)
    fields: dict[str, str] = {}
    for line in header.decode("utf-8", "replace").splitlines()[1:]:
        name, colon, value = line.partition(":")
        if line.startswith("#") or not colon or value.startswith("="):  # a comment, or a key of the writer's own
            continue
        if name.strip().lower() in fields:
            raise DuplicateKey(f"duplicate field '{name.strip()}'", where=source, remedy=DAMAGED)
        fields[name.strip().lower()] = value.strip()
    return fields, end.end() if end else len(data)


def _whole(fields: dict[str, str], name: str, source: str) -> list[int]:
    texts = fields.get(name, "").split()
    if not texts or not all(re.fullmatch(r"[0-9]{1,12}", text) for text in texts):
        raise InvalidFile(f"'{name}' is '{fields.get(name, '')}'", where=source, remedy="Give whole numbers.")
    return [int(text) for text in texts]


def _spatial(fields: dict[str, str], directions: Directions, sizes: list[int], source: str) -> list[int]:
    """The axes that are of space; at most one other, of channels, may be there."""
    every = list(range(len(sizes)))
    kinds = [kind.lower() for kind in fields.get("kinds", "").split()]
    if directions is not None:
        every = [axis for axis, direction in enumerate(directions) if direction is not None]
    elif len(kinds) == len(sizes):
        every = [axis for axis, kind in enumerate(kinds) if kind in _OF_SPACE]
    elif len(sizes) == 4:
        raise ShapeMismatch(
            "has 4 axes, and does not say which of them are channels",
            where=source,
            remedy="Give 'kinds' or 'space directions', or one label for each voxel.",
        )
    if len(every) not in (2, 3) or len(sizes) - len(every) > 1:
        raise ShapeMismatch(
            f"has {count_text(len(sizes), 'axis')}, {len(every)} of them in space",
            where=source,
            remedy="Give 2 or 3 axes and at most one of channels.",
        )
    return every


def _directions(fields: dict[str, str], axes: int, source: str) -> Directions:
    """The direction of each axis; None for one that is not of space, and where there are none."""
    text = fields.get("space directions", "")
    if not text:
        return None
    parts = re.findall(r"none|\([^()]*\)", text)
    directions = [None if part == "none" else _vector(part, source) for part in parts]
    lengths = {len(direction) for direction in directions if direction is not None}
    if len(directions) != axes or len(lengths) != 1:
        raise InvalidFile(f"'space directions' is '{text}'", where=source, remedy=f"Give one vector for {axes} axes.")
    return directions


def _vector(text: str, source: str) -> list[float]:
    try:
        return [float(part) for part in text.strip("() ").split(",")]
    except ValueError:
        raise InvalidFile(f"'{text}' is not a vector", where=source, remedy="Example: (0.7,0,0).") from None


def _decode_voxels(content: bytes, fields: dict[str, str], count: int, source: str) -> tuple[bytes, int]:
    """Bytes that hold the voxels, and where they begin; lines are skipped before unpacking, bytes after it."""
    lines, skip = fields.get("line skip", fields.get("lineskip", "0")), fields.get("byte skip", "")
    skip = skip or fields.get("byteskip", "0")
    if not re.fullmatch(r"[0-9]{1,9}", lines) or not re.fullmatch(r"-1|[0-9]{1,12}", skip):
        raise InvalidFile(f"skips {lines} lines and {skip} bytes", where=source, remedy="Give whole numbers from 0.")
    start = 0
    for _ in range(int(lines)):
        start = content.find(b"\n", start) + 1
        if not start:
            raise InvalidFile(f"has fewer than the {lines} lines to skip", where=source, remedy=DAMAGED)
    content = content[start:]
    encoding = fields.get("encoding", "").lower()
    if encoding == "raw":
        return content, len(content) - count if skip == "-1" else int(skip)
    if encoding not in ("gzip", "gz"):
        raise InvalidFile(f"the encoding is '{encoding}'", where=source, remedy="Write it as raw or gzip.")
    if skip == "-1":
        raise InvalidFile("skips -1 bytes of packed data", where=source, remedy="Give whole numbers from 0.")
    return inflate_exactly(content, int(skip) + count, source, gzip=True), int(skip)


def _place_grid(grid: Array, fields: dict[str, str], directions: Directions, spatial: list[int], source: str) -> Volume:
    """The grid with the spacing and the place that the header gives."""
    remarks: dict[str, str] = {}
    if directions is None:
        spacings = fields.get("spacings", "").split()
        if not spacings:
            return Volume(grid)
        try:
            sizes = [abs(float(spacings[axis])) for axis in spatial]
        except (ValueError, IndexError):
            raise InvalidFile(
                f"'spacings' is '{fields['spacings']}'", where=source, remedy="Give one number per axis."
            ) from None
        units = re.findall(r'"([^"]*)"', fields.get("units", ""))
        factors = [_factor(units[axis] if axis < len(units) else "", remarks) for axis in spatial]
        sizes = [size * factor for size, factor in zip(sizes, factors, strict=True)]
        return place_volume(grid, sizes, None, remarks, "", source)
    columns = np.array([direction for direction in directions if direction is not None], dtype=np.float64).T
    units = re.findall(r'"([^"]*)"', fields.get("space units", ""))
    factor = np.array([_factor(units[row] if row < len(units) else "", remarks) for row in range(len(columns))])
    columns = columns * factor[:, np.newaxis]
    if not np.isfinite(columns).all():
        raise InvalidFile("'space directions' holds a number that is not finite", where=source, remedy=DAMAGED)
    with np.errstate(over="ignore"):
        lengths = np.sqrt((columns**2).sum(axis=0)).tolist()
    signs = _SPACES.get(fields.get("space", "").lower())
    if signs is None or columns.shape != (3, 3):
        return place_volume(grid, lengths, None, remarks, "", source)
    origin = _vector(fields.get("space origin", "(0,0,0)"), source)
    if len(origin) != 3:
        raise InvalidFile(f"'space origin' is '{fields['space origin']}'", where=source, remedy="Give three numbers.")
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = columns, np.array(origin) * factor
    affine[:2] *= np.array(signs)[:, np.newaxis]
    return place_volume(grid, lengths, affine, remarks, "space directions", source)


def _factor(unit: str, remarks: dict[str, str]) -> float:
    """How many mm a unit of length has; an unknown one is taken as mm, with a remark."""
    unit = unit.strip().lower()
    factor = TO_MM.get(unit, TO_MM.get(unit.removesuffix("s"), 0.0))
    if unit and not factor:
        remarks["units"] = f"the unit '{unit}' is not known: mm is assumed"
    return factor or 1.0
