"""Arrays in NumPy's files: `.npy`, mapped into memory, and members of `.npz`, checked before they are unpacked."""

from __future__ import annotations

import io
import math
import os
import re
import threading
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidFile, UnknownName, first_few, nearest
from steelyard.core.opening import open_archive, open_regular

Array = NDArray[Any]
_WHOLE = "Is the file whole?"
_ENDING = ".npy"
_MOST_HEADER = 10_000  # bytes, as in NumPy
_MOST_AXES = 32  # of an array, in any version of NumPy
# The header that NumPy writes for an array of numbers.
_PLAIN = re.compile(
    rb"\{'descr': '([<>=|]?[a-zA-Z][0-9]*)', 'fortran_order': (True|False), 'shape': \(((?:[0-9]+, ?)*[0-9]*)\), *\}\s*"
)
# NumPy parses headers with `ast`, whose count of nested calls is shared by threads in Python 3.11: parallel calls fail.
_PARSING = threading.Lock()


def array_names(path: str) -> list[str]:
    """The names of the arrays in a `.npz` file, in order."""
    with open_archive(path) as archive:
        return sorted(name.removesuffix(_ENDING) for name in archive.members)


_KINDS = ("|u1", "<u2", "<f4", "<f8")  # of packed arrays


def pack_array(array: Array, where: str) -> bytes:
    """An array of numbers as bytes: its type, its axes and its values; other whole numbers become floating point."""
    if array.dtype.kind not in "iuf" or not array.size or not array.ndim:
        what = "holds no value" if not array.size else f"holds {array.dtype}, not numbers"
        what = what if array.ndim else "is one value, not an array"
        raise InvalidFile(what, where=where, remedy="Give an array of numbers.")
    kind = array.dtype.newbyteorder("<").str
    if kind not in _KINDS:
        kind = "<f4" if array.dtype == np.float16 else "<f8"
    axes = np.array(array.shape, dtype="<u4").tobytes()
    values = np.ascontiguousarray(array, dtype=kind)
    return b"".join((bytes((_KINDS.index(kind), array.ndim)), axes, values.data))  # copied once


def unpack_array(data: bytes, where: str) -> Array:
    """The array that `pack_array` packed."""
    if len(data) >= 2 and data[0] < len(_KINDS) and len(data) >= 2 + 4 * data[1]:
        kind, start = np.dtype(_KINDS[data[0]]), 2 + 4 * data[1]
        shape = tuple(np.frombuffer(data, "<u4", data[1], 2).tolist())
        if shape and math.prod(shape) * kind.itemsize == len(data) - start:
            array: Array = np.frombuffer(data, kind, offset=start).reshape(shape)
            return array.astype(kind.newbyteorder("="), copy=False)
    raise InvalidFile("holds no packed array", where=where, remedy=_WHOLE)


def numpy_file(path: str, inside: str) -> Array:
    """An array of NumPy's own files; `inside` is its name, or its place along the first axis.

    A `.npz` that holds one array needs no name.
    """
    if path[-4:].lower() == ".npz":
        return _member(path, inside)
    with open_regular(path) as file:
        shape, fortran, dtype = _header(file, path)
        start, end = file.tell(), os.fstat(file.fileno()).st_size
        _check(shape, dtype, end - start, path)
        order: Any = "F" if fortran else "C"
        array: Array = np.memmap(file, dtype, "r", start, shape, order) if math.prod(shape) else np.empty(shape, dtype)
    if not inside:
        return array
    try:
        return np.asarray(array[int(inside)])
    except (ValueError, IndexError):
        held = f"{len(array):,}" if array.ndim else "one number"
        raise UnknownName(f"holds no array '{inside}'", where=path, remedy=f"It holds {held}.") from None


def _member(path: str, inside: str) -> Array:
    with open_archive(path) as archive:
        names = {name.removesuffix(_ENDING): name for name in archive.members}
        if not inside:
            if len(names) != 1:
                what = (
                    f"holds {count_text(len(names), 'array')}: {first_few(sorted(names))}"
                    if names
                    else "holds no array"
                )
                remedy = "Keep one per file, or name it in a table of paths: a.npz::NAME."
                raise InvalidFile(what, where=path, remedy=remedy)
            inside = next(iter(names))
        if inside not in names:
            raise UnknownName(f"holds no array '{inside}'", where=path, remedy=nearest(inside, names))
        data = archive.read(names[inside])
    return array_of_bytes(data, f"{path}::{inside}")


def array_of_bytes(data: bytes, where: str) -> Array:
    """The array of a `.npy` file in memory."""
    file = io.BytesIO(data)
    shape, fortran, dtype = _header(file, where)
    _check(shape, dtype, len(data) - file.tell(), where)
    if not math.prod(shape):
        return np.empty(shape, dtype)
    array: Array = np.frombuffer(data, dtype, math.prod(shape), file.tell())
    return array.reshape(shape, order="F" if fortran else "C")


def _header(file: BinaryIO, where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        shape, fortran, dtype = _parse_header(file)
    except Exception as error:  # NumPy's parser raises what Python's does
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise InvalidFile(f"cannot be read: {reason}", where=where, remedy=_WHOLE) from None
    if dtype.hasobject:
        raise InvalidFile("cannot be read: it holds pickled objects", where=where, remedy="Save an array of numbers.")
    return tuple(map(int, shape)), fortran, dtype


def _parse_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type; the file stands behind the header."""
    start = file.read(8)
    if len(start) < 8 or start[:6] != b"\x93NUMPY":
        raise ValueError("it does not start as a .npy file does")
    version = start[6], start[7]
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")
    size = file.read(2 if version == (1, 0) else 4)
    header = file.read(min(int.from_bytes(size, "little"), _MOST_HEADER + 1))
    if len(header) < int.from_bytes(size, "little"):
        raise ValueError("its header is not whole" if len(header) <= _MOST_HEADER else "its header is too long")
    plain = _PLAIN.fullmatch(header)
    if plain:
        shape = tuple(int(axis) for axis in plain[3].replace(b" ", b"").split(b",") if axis)
        return shape, plain[2] == b"True", np.dtype(plain[1].decode())
    from numpy.lib import format as npy  # headers that other programs wrote

    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    with _PARSING:
        return read(io.BytesIO(size + header))


def _check(shape: tuple[int, ...], dtype: np.dtype[Any], size: int, where: str) -> None:
    if not dtype.itemsize:
        raise InvalidFile(f"holds {dtype}, which has no size", where=where, remedy="Save an array of numbers.")
    if dtype.subdtype is not None:
        raise InvalidFile(f"holds {dtype}, arrays in place of numbers", where=where, remedy="Save an array of numbers.")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > size:
        declared = "×".join(map(str, shape))
        raise InvalidFile(f"ends before its {declared} values of {dtype} do", where=where, remedy=_WHOLE)
    if len(shape) > _MOST_AXES or math.prod(max(axis, 1) for axis in shape) * dtype.itemsize >= 1 << 63:
        what = f"declares {len(shape)} axes of up to {max(shape):,} values, more than an array has"
        raise InvalidFile(what, where=where, remedy=_WHOLE)
