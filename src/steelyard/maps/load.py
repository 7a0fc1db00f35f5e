"""Any map as a grid: packed bytes, a PNG, NumPy's files or a NIfTI file; what cannot be one is named."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.core.errors import InputError, nearest
from steelyard.core.frozen import frozen
from steelyard.core.opening import read_regular
from steelyard.core.records import MapRecords, Records
from steelyard.maps.nifti import Volume, nifti_volume
from steelyard.maps.png import PngFile, png_cells, png_file

Array = NDArray[Any]
INSIDE = "::"  # between a file and the name of what is meant inside it
_LOSSY = (".jpg", ".jpeg", ".webp")
_TYPES = (np.uint8, np.uint16, np.uint32)


@frozen
class Held:
    """A map that is in memory, with the same face as one in a PNG."""

    grid: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Height and width."""
        return self.grid.shape

    @property
    def colours(self) -> bool:
        """Whether pixels may be colours: those of a file are of four bytes."""
        return self.grid.dtype == np.uint32

    def map(self) -> Array:
        """The pixels."""
        return self.grid


Opened = Held | PngFile


def open_map(
    value: str | bytes, sums: dict[str, bytes] | None = None, reduce: Callable[[Array, str], Array] | None = None
) -> Opened:
    """A packed map or a file. The pixels of a PNG are read when they are wanted; its SHA-256 is put into `sums`.

    `reduce` makes a label map of an array of NumPy's files, which may hold scores.
    """
    if isinstance(value, bytes):
        try:
            return Held(_native.map_unpack(value))
        except ValueError as error:
            raise InputError(str(error), where="a packed map", remedy="Make it again.") from None
    if value[-4:].lower() == ".png" and INSIDE not in value:
        data = _bytes_of(value)
        if sums is not None and value not in sums:
            sums[value] = _sha256(data)
        return png_file(data, value)
    path, _, inside = value.partition(INSIDE)
    ending = os.path.splitext(path)[1].lower()
    if ending in (".npy", ".npz"):
        array = numpy_file(path, inside)
        return Held(as_grid(array if reduce is None else reduce(array, value), value))
    if ending in _LOSSY:
        raise InputError(f"{ending[1:].upper()} changes labels", where=path, remedy="Write PNG.")
    raise InputError(f"'{ending}' is no format of maps", where=path, remedy="Give .png, .npy or .npz.")


def open_row(records: Records, row: int, reduce: Callable[[Array, str], Array] | None = None) -> Opened:
    """The map of a row of records; a file that is not there is named with the row that names it."""
    value = records["map"][row]
    try:
        return open_map(value, records.sums if isinstance(records, MapRecords) else None, reduce)
    except InputError:
        refuse_lost(records, row)
        raise


def refuse_lost(records: Records, row: int) -> None:
    """An error where a row names a file that is not there."""
    value = records["map"][row]
    path = value.partition(INSIDE)[0] if isinstance(value, str) else ""
    if path and not os.path.exists(path):
        remedy = "Paths are meant from the folder of the file that names them."
        raise InputError(f"there is no file '{path}'", where=records.place(row), remedy=remedy) from None


def load_map(value: str | bytes) -> Array:
    """The pixels of a packed map or of a file, of an unsigned type of 1, 2 or 4 bytes."""
    return open_map(value).map()


def count_pairs(a: Opened, b: Opened) -> tuple[Array, Array, Array]:
    """How often two values stand at the same place of two maps of one size: values of a, of b, and counts."""
    if isinstance(a, PngFile) and isinstance(b, PngFile):
        return png_cells(a, b)
    return _native.map_cells(a.map(), b.map())


def load_volume(value: str | bytes) -> Volume:
    """The voxels of a packed map or of a file; spacing and place where the file says them."""
    if isinstance(value, bytes):
        return Volume(load_map(value))
    path = value.partition(INSIDE)[0]
    if not path.lower().endswith((".nii", ".nii.gz")):
        return Volume(load_map(value))
    volume = nifti_volume(_bytes_of(path), path)
    if volume.grid.dtype.kind == "f":
        wrong = np.flatnonzero(~(volume.grid == np.floor(volume.grid)).ravel())
        if len(wrong):
            place = ", ".join(str(int(i)) for i in np.unravel_index(wrong[0], volume.grid.shape))
            raise InputError(
                f"{len(wrong):,} voxels are not whole ({volume.grid.ravel()[wrong[0]]:g} at {place})",
                where=path,
                remedy="Resample labels by nearest neighbour.",
            )
    return Volume(as_grid(volume.grid, path), volume.spacing, volume.affine)


def map_digest(value: str | bytes) -> bytes:
    """SHA-256 of what says which map it is: packed runs, or what is meant inside a file and the bytes of the file."""
    if isinstance(value, bytes):
        return _sha256(value)
    path, _, inside = value.partition(INSIDE)
    return _sha256(inside.encode("utf-8", "surrogatepass") + _bytes_of(path))


def _sha256(data: bytes) -> bytes:
    import hashlib  # slow to load: nothing needs it before data are read

    return hashlib.sha256(data).digest()


def _bytes_of(path: str) -> bytes:
    return read_regular(path)


def numpy_file(path: str, inside: str) -> Array:
    """An array of NumPy's own files; `inside` is its name, or its place along the first axis."""
    from zipfile import BadZipFile  # few maps come in archives

    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded[int(inside)] if inside else loaded
        with loaded:
            if inside not in loaded.files:
                raise InputError(f"holds no array '{inside}'", where=path, remedy=nearest(inside, loaded.files))
            return np.asarray(loaded[inside])
    except InputError:
        raise
    except (OSError, ValueError, EOFError, KeyError, IndexError, BadZipFile) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be read: {reason}", where=path, remedy="Is the file whole?") from None


def as_grid(array: Any, source: str) -> Array:
    """An array of whole numbers as the smallest unsigned type that holds them; what is no label is named."""
    grid = np.asarray(array)
    if grid.dtype.kind == "b":
        return np.ascontiguousarray(grid).view(np.uint8)
    if grid.dtype.kind not in "iuf" or not grid.size:
        what = "has no pixel" if not grid.size else f"holds {grid.dtype}, not numbers"
        raise InputError(what, where=source, remedy="Give whole numbers, one for each pixel.")
    if grid.dtype in _TYPES:
        return np.ascontiguousarray(grid)
    if grid.dtype.kind == "f":
        wrong = np.flatnonzero(~(grid == np.floor(grid)).ravel())
        if len(wrong):
            raise InputError(
                f"value {grid.ravel()[wrong[0]]:g} is no class ({len(wrong):,} pixels)",
                where=source,
                remedy="Labels are whole numbers; scores need a class axis in front.",
            )
    low, high = grid.min(), grid.max()
    if low < 0 or high >= 1 << 32:
        raise InputError(
            f"value {low if low < 0 else high} is out of range", where=source, remedy="Labels go from 0 to 2³² - 1."
        )
    smallest = next(kind for kind in _TYPES if high <= np.iinfo(kind).max)
    return np.ascontiguousarray(grid, dtype=smallest)


def pack_map(grid: Array) -> bytes:
    """A grid as bytes: its runs."""
    packed: bytes = _native.map_pack(grid)
    return packed
