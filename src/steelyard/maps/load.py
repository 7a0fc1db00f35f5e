"""Any map as a grid: packed bytes, or a file of any format that is read; what cannot be one is named."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.core.counts import count_text
from steelyard.core.errors import (
    InputError,
    InvalidFile,
    InvalidNumber,
    MissingFile,
    OutOfRange,
    ShapeMismatch,
    TooLarge,
    UnknownFormat,
    UnknownName,
)
from steelyard.core.frozen import Frozen
from steelyard.core.opening import read_regular
from steelyard.core.records import MapRecords, Records
from steelyard.maps.arrays import numpy_file
from steelyard.maps.png import PngFile, png_cells, png_file
from steelyard.maps.volume import MOST_VOXELS, Volume, labels_of_channels, sizes_text

Array = NDArray[Any]
INSIDE = "::"  # between a file and the name of what is meant inside it
MAPS = (".png", ".npy", ".npz", ".tif", ".tiff")
# A format's longest ending comes first.
VOLUMES = (".nii.gz", ".nii", ".hdr.gz", ".hdr", ".nrrd", ".nhdr", ".mha", ".mhd", *MAPS)
FIELDS = (".png", ".flo5", ".dsp5", ".flo", ".dpt", ".pfm", ".npy", ".npz")  # of measured values: see maps.fields
ARRAYS = (".npy", ".npz")  # files whose axes have no names of their own
_LOSSY = (".jpg", ".jpeg", ".webp")
_HEADERS = (".hdr.gz", ".hdr", ".nrrd", ".nhdr", ".mha", ".mhd")  # whose voxels may lie in a second file
_TYPES = (np.uint8, np.uint16, np.uint32)


class Held(Frozen):
    """A map that is in memory, with the same interface as one in a PNG."""

    grid: Array
    rgb: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Height and width."""
        return self.grid.shape

    @property
    def colours(self) -> bool:
        """Whether pixels may be colours: those of a file are of four bytes."""
        return self.rgb or self.grid.dtype == np.uint32

    def map(self) -> Array:
        """The pixels."""
        return self.grid


Opened = Held | PngFile


def open_map(
    value: str | bytes, sums: dict[str, bytes] | None = None, reduce: Callable[[Array, str], Array] | None = None
) -> Opened:
    """A packed map or a file. The pixels of a PNG are read when they are wanted; its SHA-256 is put into `sums`.

    `reduce` makes a label map of an array of NumPy's files or of a TIFF page, which may hold scores.
    """
    if isinstance(value, bytes):
        try:
            return Held(_native.map_unpack(value))
        except ValueError as error:
            raise InvalidFile(str(error), where="a packed map", remedy="Make it again.") from None
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
    if ending in (".tif", ".tiff"):
        from steelyard.maps.tiff import tiff_pages  # few maps are TIFF files

        pages, colours = tiff_pages(_bytes_of(path), path)
        if len(pages) > 1:
            raise InvalidFile(f"has {count_text(len(pages), 'page')}", where=path, remedy="A label map is one page.")
        page = pages[0] if reduce is None or colours else reduce(pages[0], value)
        return Held(as_grid(page, path), colours)
    if ending in _LOSSY:
        raise UnknownFormat(f"{ending[1:].upper()} changes labels", where=path, remedy="Write PNG.")
    raise UnknownFormat(f"'{ending}' is not a format of maps", where=path, remedy=f"Give {', '.join(MAPS)}.")


def open_row(records: Records, row: int, reduce: Callable[[Array, str], Array] | None = None) -> Opened:
    """The map of a row of records; a file that is not there is named with the row that names it."""
    value = records["map"][row]
    try:
        return open_map(value, records.sums if isinstance(records, MapRecords) else None, reduce)
    except InputError:
        refuse_lost(records, row)
        raise


def refuse_lost(records: Records, row: int) -> None:
    """An error where a row of a table names a file that is not there; those of a folder are named by no row."""
    value = records["map"][row]
    if records.place(row) == value:
        return
    path = value.partition(INSIDE)[0] if isinstance(value, str) else ""
    if path and not os.path.exists(path):
        remedy = "Paths are meant from the folder of the file that names them."
        raise MissingFile(f"there is no file '{path}'", where=records.place(row), remedy=remedy) from None


def load_map(value: str | bytes) -> Array:
    """The pixels of a packed map or of a file, of an unsigned type of 1, 2 or 4 bytes."""
    return open_map(value).map()


def count_pairs(a: Opened, b: Opened) -> tuple[Array, Array, Array]:
    """How often two values stand at the same place of two maps of one size: values of a, of b, and counts."""
    if isinstance(a, PngFile) and isinstance(b, PngFile):
        return png_cells(a, b)
    return _native.map_cells(a.map(), b.map())


def load_volume(value: str | bytes, scores: bool = False) -> Volume:
    """The voxels of a packed map or of a file, with spacing and place where the file says them.

    Channels become labels; with `scores` they may be probabilities.
    """
    if isinstance(value, bytes):
        return Volume(load_map(value))
    path = value.partition(INSIDE)[0]
    volume = _load_volume(value, path, ending_of(path))
    grid, remarks = volume.grid, dict(volume.remarks)
    if grid.ndim == 4:
        grid, remark = labels_of_channels(grid, path, scores)
        remarks |= {"channels": remark} if remark else {}
    if grid.ndim not in (2, 3):
        what = f"has {sizes_text(grid.shape)} values"
        raise InvalidFile(what, where=value, remedy="A volume is z × y × x, or y × x, with channels in front at most.")
    if grid.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # which a signalling nan sets
            wrong = np.flatnonzero(~(grid == np.floor(grid)).ravel())
        if len(wrong):
            place = ", ".join(str(int(i)) for i in np.unravel_index(wrong[0], grid.shape))
            raise InvalidNumber(
                f"{count_text(len(wrong), 'voxel', 'are')} not whole ({grid.ravel()[wrong[0]]:g} at {place})",
                where=path,
                remedy="Resample labels by nearest neighbour.",
            )
    return Volume(as_grid(grid, path), volume.spacing, volume.affine, remarks)


def ending_of(path: str) -> str:
    """The ending that says the format of a map or volume; nothing where it is none of those."""
    low = path.lower()
    return next((ending for ending in VOLUMES if low.endswith(ending)), "")


def is_array(value: str | bytes) -> bool:
    """Whether a map has axes without names: an array in memory or in NumPy's files."""
    return isinstance(value, bytes) or ending_of(value.partition(INSIDE)[0]) in ARRAYS


def _load_volume(value: str, path: str, ending: str) -> Volume:
    """A volume as its file has it. Each reader is imported where it is needed: few data have more than one format."""
    if ending in ARRAYS:
        return Volume(numpy_file(path, value.partition(INSIDE)[2]))
    if ending in (".tif", ".tiff"):
        from steelyard.maps.tiff import tiff_pages

        pages, colours = tiff_pages(_bytes_of(path), path)
        if colours:
            raise ShapeMismatch("has three channels", where=path, remedy="Write one channel of labels.")
        return Volume(pages[0] if len(pages) == 1 else np.stack(pages))
    if ending.startswith((".nii", ".hdr")):
        from steelyard.maps.nifti import nifti_volume

        image = _bytes_beside(path, _image_of(path)) if ending.startswith(".hdr") else None
        return nifti_volume(_bytes_of(path), path, image)
    if ending in (".nrrd", ".nhdr"):
        from steelyard.maps.nrrd import nrrd_volume

        return nrrd_volume(_bytes_of(path), path, lambda name: _bytes_beside(path, name))
    if ending in (".mha", ".mhd"):
        from steelyard.maps.metaimage import meta_volume

        return meta_volume(_bytes_of(path), path, lambda name: _bytes_beside(path, name))
    opened = open_map(value)
    if isinstance(opened, PngFile) and opened.colours:
        raise ShapeMismatch("has three channels", where=path, remedy="Write one channel of labels.")
    return Volume(opened.map())


def _image_of(path: str) -> str:
    """The name of the `.img` that belongs to a `.hdr`; one that is packed where only that is there."""
    stem = os.path.basename(path)[: -len(ending_of(path))]
    folder = os.path.dirname(path)
    names = [stem + ending for ending in (".img", ".img.gz", ".IMG")]
    return next((name for name in names if os.path.exists(os.path.join(folder, name))), names[0])


def _bytes_beside(path: str, name: str) -> tuple[bytes, str]:
    """The bytes of a data file that a header names, which lies in its folder or below, and its path."""
    steps = name.replace("\\", "/").split("/")
    if os.path.isabs(name) or ".." in steps or ":" in steps[0]:
        raise InvalidFile(f"names the data file '{name}' outside its folder", where=path, remedy="Put it beside it.")
    if name.upper() == "LIST" or name.startswith("LIST ") or "%" in name:
        raise InvalidFile(f"names several data files ('{name}')", where=path, remedy="Write one file per volume.")
    beside = os.path.join(os.path.dirname(path), *steps)
    if not os.path.exists(beside):
        raise MissingFile(f"there is no data file '{name}'", where=path, remedy="Put it beside the header.")
    return _bytes_of(beside), beside


def map_digest(value: str | bytes) -> bytes:
    """SHA-256 of what says which map it is: packed runs, or what is meant inside a file and the bytes of its files.

    Of an array in memory it is a fingerprint, which is faster.
    """
    if isinstance(value, bytes):
        array = value.startswith(b"\x93NUMPY")
        return bytes(_native.fingerprint(np.frombuffer(value, np.uint8))) if array else _sha256(value)
    path, _, inside = value.partition(INSIDE)
    data = _bytes_of(path)
    if ending_of(path) in _HEADERS:
        name = _image_of(path) if ending_of(path).startswith(".hdr") else _data_file(data)
        data += _bytes_beside(path, name)[0] if name else b""
    return _sha256(inside.encode("utf-8", "surrogatepass") + data)


def _data_file(header: bytes) -> str:
    """The data file that a header of NRRD or MetaImage names; nothing where the voxels follow it."""
    match = re.search(rb"^(?:data ?file *: *|ElementDataFile *= *)([^\r\n]+)", header[: 1 << 20], re.M | re.I)
    name = match[1].decode("utf-8", "replace").strip() if match else ""
    return "" if name.upper() == "LOCAL" else name


def _sha256(data: bytes) -> bytes:
    import hashlib  # slow to load: nothing needs it before data are read

    return hashlib.sha256(data).digest()


def _bytes_of(path: str) -> bytes:
    return read_regular(path)


def as_grid(array: Any, source: str) -> Array:
    """Convert whole numbers to the smallest unsigned type that holds them; raise at the first that is not a label."""
    grid = np.asarray(array)
    if grid.dtype.kind == "b":
        # True may be any byte but 0: it is 255 in arrays from Pillow's images of one bit.
        return np.not_equal(np.ascontiguousarray(grid).view(np.uint8), 0).astype(np.uint8)
    if grid.dtype.kind not in "iuf" or not grid.size:
        what = "has no pixel" if not grid.size else f"holds {grid.dtype}, not numbers"
        raise InvalidFile(what, where=source, remedy="Give whole numbers, one for each pixel.")
    if grid.size > MOST_VOXELS:
        raise TooLarge(f"has {grid.size:,} pixels", where=source, remedy=f"At most {MOST_VOXELS:,} are read.")
    if grid.dtype in _TYPES:
        return np.ascontiguousarray(grid)
    if grid.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            wrong = np.flatnonzero(~(grid == np.floor(grid)).ravel())
        if len(wrong):
            raise UnknownName(
                f"value {grid.ravel()[wrong[0]]:g} is not a class ({len(wrong):,} pixels)",
                where=source,
                remedy="Labels are whole numbers; scores need a class axis in front.",
            )
    low, high = grid.min(), grid.max()
    if low < 0 or high >= 1 << 32:
        raise OutOfRange(
            f"value {low if low < 0 else high} is out of range", where=source, remedy="Labels go from 0 to 2³² - 1."
        )
    smallest = next(kind for kind in _TYPES if high <= np.iinfo(kind).max)
    return np.ascontiguousarray(grid, dtype=smallest)


def pack_map(grid: Array) -> bytes:
    """A grid as bytes: its runs."""
    packed: bytes = _native.map_pack(grid)
    return packed
