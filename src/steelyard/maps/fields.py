"""Fields of measured values: depth, disparity, optical flow and normals, from one file or from packed bytes.

A value that a file marks as missing is nan. Infinite values stay: what they mean depends on the side and on the task.
"""

from __future__ import annotations

import io
import os
import re
from dataclasses import replace
from functools import reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard import _native
from steelyard.core.errors import (
    Conflict,
    InputError,
    InvalidFile,
    InvalidNumber,
    MissingData,
    NotInstalled,
    OutOfRange,
    ShapeMismatch,
    TooLarge,
    UnknownFormat,
)
from steelyard.core.frozen import Frozen
from steelyard.core.opening import check_declared, check_readable, read_regular
from steelyard.maps.arrays import array_names, array_of_bytes, numpy_file
from steelyard.maps.load import FIELDS, INSIDE
from steelyard.maps.png import MOST_PIXELS, SIGNATURE
from steelyard.maps.volume import sizes_text

Array = NDArray[Any]
NO_VALUE = 1e9  # beyond it, a .flo or .dpt file means that there is no value
_TAG = b"PIEH"  # 202021.25 as a little-endian float
_LOSSY = (".jpg", ".jpeg", ".webp")
_CONVERTED = {".exr": "OpenCV or imageio", ".mat": "scipy.io.loadmat", ".tif": "tifffile", ".tiff": "tifffile"}
_DAMAGED = "The file is damaged: write it again."
_CHANNELS = {1: "height × width", 2: "height × width × 2 or 2 × height × width", 3: "height × width × 3 or 3 × ..."}
_NEAR_GREY = 0.02  # the length of a normal below which a PNG means that there is none
Kind = Literal["depth", "disparity", "flow", "normals", "mask"]
Order = Literal["auto", "first", "last"]


class Reading(Frozen):
    """How the files of one side are read.

    `channels` is 1, 2 or 3. `scale` divides all values; without it, grey PNG files of 16 bits are divided by
    `png_scale`. `zero` says that 0 in a PNG means "no value". `order` is the place of the channels.
    `sintel` reads RGB files of 8 bits as 4 R + G / 64 + B / 16384. `limit` is the largest absolute value; others are
    missing.
    """

    kind: Kind
    channels: int = 1
    scale: float | None = None
    png_scale: float = 256.0
    zero: bool = True
    order: Order = "auto"
    sintel: bool = False
    limit: float | None = None


def open_field(value: str | bytes, reading: Reading, sums: dict[str, bytes] | None = None) -> Array:
    """The values of a file or of packed bytes: (height, width), or (height, width, channels).

    The fingerprint of a file is put into `sums`.
    """
    if isinstance(value, bytes):
        field = as_field(array_of_bytes(value, "a packed field"), reading, "a packed field")
    else:
        field = _open_file(value, reading, sums)
    if reading.scale is not None and reading.kind != "mask":
        field = (field / field.dtype.type(reading.scale)).astype(field.dtype, copy=False)
    if reading.limit is not None:
        field = _without(field, np.abs(field) > reading.limit)
    return field


def pack_field(array: Array) -> bytes:
    """An array as bytes, which `open_field` takes."""
    from numpy.lib import format as npy

    file = io.BytesIO()
    npy.write_array(file, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return file.getvalue()


def field_digest(value: str | bytes) -> bytes:
    """A fingerprint of the bytes of a file, or of packed bytes."""
    if not value:  # a mask that a table does not give
        return b""
    return _fingerprint(value if isinstance(value, bytes) else read_regular(value))


def _fingerprint(data: bytes) -> bytes:
    return bytes(_native.fingerprint(np.frombuffer(data, np.uint8)))


def _bytes_of(path: str, sums: dict[str, bytes] | None) -> bytes:
    """The bytes of a file, whose fingerprint is put into `sums`."""
    data = read_regular(path)
    if sums is not None and path not in sums:
        sums[path] = _fingerprint(data)
    return data


def as_field(array: Array, reading: Reading, where: str) -> Array:
    """An array as a field: floating-point numbers, channels last."""
    array = np.asarray(array)
    if array.dtype.kind == "b" and reading.kind == "mask":
        array = array.astype(np.uint8)
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        raise InvalidNumber(f"holds {array.dtype}, not numbers", where=where, remedy="Save an array of float32.")
    if not array.size:
        raise InvalidFile("has no pixel", where=where, remedy="A field needs at least one.")
    if array.size > 4 * MOST_PIXELS:
        raise TooLarge(f"has {array.size:,} values", where=where, remedy=f"At most {4 * MOST_PIXELS:,} are read.")
    array = _channels_last(array, reading, where)
    if array.dtype.kind == "f" and array.dtype.itemsize in (4, 8):
        kind: Any = array.dtype.newbyteorder("=")
    else:
        kind = np.float64 if array.dtype.kind != "f" and array.dtype.itemsize > 2 else np.float32
    return np.ascontiguousarray(array, dtype=kind)


def _channels_last(array: Array, reading: Reading, where: str) -> Array:
    """The array with its channels at the end, or without them where there is one."""
    wanted = reading.channels
    if reading.kind == "mask":
        if array.ndim == 3 and 1 in (array.shape[0], array.shape[2]):
            array = array[0] if array.shape[0] == 1 else array[:, :, 0]
        if array.ndim == 2:
            return array
    elif array.ndim == 2 and wanted == 1:
        return array
    elif array.ndim == 3:
        first, last = array.shape[0] == wanted, array.shape[2] == wanted
        if first and last and reading.order == "auto" and wanted > 1:
            raise Conflict(
                f"shape {sizes_text(array.shape)}: the channels may be first or last",
                where=where,
                remedy="Set the option `channels=last`, or `channels=first`.",
            )
        if (last and reading.order != "first") or (last and not first):
            return array[:, :, 0] if wanted == 1 else array
        if first and reading.order != "last":
            return array[0] if wanted == 1 else np.moveaxis(array, 0, -1)
    named = {"mask": "A mask is", "flow": "Flow is"}.get(reading.kind, f"A map of {reading.kind} is")
    form = "height × width" if reading.kind == "mask" else _CHANNELS[wanted]
    raise ShapeMismatch(f"has shape {sizes_text(array.shape)}", where=where, remedy=f"{named} {form}.")


def _open_file(value: str, reading: Reading, sums: dict[str, bytes] | None) -> Array:
    path, _, inside = value.partition(INSIDE)
    ending = os.path.splitext(path)[1].lower()
    if ending == ".png":
        return _png(_bytes_of(path, sums), reading, path)
    if ending == ".npy" and not inside:
        data = _bytes_of(path, sums)
        return as_field(array_of_bytes(data, path), reading, path)
    if ending == ".npy" or (ending == ".npz" and inside):
        return as_field(numpy_file(path, inside), reading, value)
    if ending == ".npz":
        return _members(path, reading)
    if ending in (".flo", ".dpt"):
        return _flo(_bytes_of(path, sums), reading, path)
    if ending == ".pfm":
        return _pfm(_bytes_of(path, sums), reading, path)
    if ending in (".flo5", ".dsp5"):
        return _hdf5(path, reading)
    if ending in _LOSSY:
        remedy = "Write PNG of 16 bits, .npy, .pfm or .flo."
        raise UnknownFormat(f"{ending[1:].upper()} changes the values", where=path, remedy=remedy)
    if ending in _CONVERTED:
        remedy = f"Convert it to .npy, with {_CONVERTED[ending]} for instance."
        raise UnknownFormat(f"'{ending}' is not read here", where=path, remedy=remedy)
    raise UnknownFormat(f"'{ending}' is not a format of fields", where=path, remedy=f"Give {', '.join(FIELDS)}.")


def _members(path: str, reading: Reading) -> Array:
    """The field of a `.npz` file: the only array, or u and v."""
    names = array_names(path)
    if reading.kind == "flow" and set(names) >= {"u", "v"}:
        u, v = (numpy_file(path, name) for name in ("u", "v"))
        if u.shape != v.shape or u.ndim != 2:
            raise ShapeMismatch(
                f"u has shape {sizes_text(u.shape)} and v {sizes_text(v.shape)}",
                where=path,
                remedy="Both are height × width.",
            )
        return as_field(np.stack([u, v], axis=2), _last(reading), path)
    own = [name for name in (reading.kind, "flow", "disparity", "depth", "normal", "arr_0") if name in names]
    return as_field(numpy_file(path, own[0] if own and len(names) > 1 else ""), reading, path)


def _png(data: bytes, reading: Reading, path: str) -> Array:
    if not data.startswith(SIGNATURE):
        raise InvalidFile("is not a PNG file", where=path, remedy="Is it a PNG in name only?")
    height, width, bits, channels, palette, interlaced, fault = _native.png_kind(data)
    if fault:
        raise InvalidFile(fault, where=path, remedy=_DAMAGED)
    if not 0 < width * height <= MOST_PIXELS:
        raise OutOfRange(
            f"has {width:,}×{height:,} pixels", where=path, remedy=f"From 1 to {MOST_PIXELS:,} pixels are read."
        )
    if interlaced:
        raise InvalidFile("is interlaced", where=path, remedy="Write a plain PNG.")
    check_declared(width * height * channels * bits // 8, len(data), path)
    if reading.kind == "mask" and bits < 8:
        from steelyard.maps.png import png_file

        return as_field(png_file(data, path).map(), reading, path)
    if palette and reading.kind != "mask":
        raise InvalidFile("has a palette", where=path, remedy="Write a PNG without a palette, of 16 bits.")
    _check_png_kind(reading, bits, channels, path)
    try:
        if reading.kind == "mask":
            return _mask_of_samples(_native.png_samples(data))
        if channels == 1:
            return _native.png_grey(data, 1.0 if reading.scale is not None else reading.png_scale, reading.zero)
        if reading.kind == "flow":
            return _native.png_flow(data)
        samples = _native.png_samples(data)
    except ValueError as error:
        what = str(error)
        if "the data" in what:
            what = f"the data are not those of {width}×{height} pixels"
        raise InvalidFile(what, where=path, remedy=_DAMAGED) from None
    if reading.kind == "normals":
        return _normals_of_samples(samples, bits, reading.zero)
    red, green, blue = (samples[:, :, i].astype(np.float32) for i in range(3))
    field: Array = 4 * red + green / 64 + blue / 16384
    return np.where(field == 0, np.float32(np.nan), field) if reading.zero else field


def _check_png_kind(reading: Reading, bits: int, channels: int, path: str) -> None:
    """Raise where a PNG of so many bits and channels cannot hold such a field."""
    kind = reading.kind
    if kind == "mask" or (kind == "normals" and channels == 3):
        return
    has = f"has {channels} channel{'s' if channels > 1 else ''} of {bits} bits"
    if kind == "normals":
        raise ShapeMismatch(has, where=path, remedy="Normals are three channels of 8 or 16 bits.")
    if kind == "flow":
        if (bits, channels) != (16, 3):
            remedy = "Flow is three channels of 16 bits as KITTI writes it, or .flo, .npy, .pfm or .flo5."
            raise ShapeMismatch(has, where=path, remedy=remedy)
        return
    if reading.sintel and kind == "disparity":
        if (bits, channels) != (8, 3):
            remedy = "Sintel's disparities are three channels of 8 bits: leave the preset out for other files."
            raise ShapeMismatch(has, where=path, remedy=remedy)
        return
    if channels != 1:
        remedy = f"A map of {kind} is one grey channel of 16 bits."
        if kind == "disparity" and bits == 8:
            remedy += " Sintel's files are read with the option `preset=sintel`."
        raise ShapeMismatch(has, where=path, remedy=remedy)
    if bits != 16:
        remedy = "Write a PNG of 16 bits, or .npy."
        raise InvalidFile(f"has {bits} bits: {1 << bits} levels are too few for {kind}", where=path, remedy=remedy)


def _mask_of_samples(samples: Array) -> Array:
    """A mask: the samples of grey; of colours, the last channel of three (KITTI's valid flow), else any. No alpha."""
    if samples.shape[2] <= 2:
        return samples[:, :, 0].astype(np.float32)
    if samples.dtype == np.uint16 and samples.shape[2] == 3:
        return samples[:, :, 2].astype(np.float32)
    return np.asarray(samples[:, :, :3].max(axis=2), dtype=np.float32)


def _normals_of_samples(samples: Array, bits: int, zero: bool) -> Array:
    field: Array = samples.astype(np.float32) * np.float32(2 / ((1 << bits) - 1)) - np.float32(1)
    if zero:
        none = (samples == 0).all(axis=2) | (np.sqrt((field.astype(np.float64) ** 2).sum(axis=2)) < _NEAR_GREY)
        field[none] = np.nan
    return field


def _flo(data: bytes, reading: Reading, path: str) -> Array:
    """Middlebury's `.flo` with two channels, Sintel's `.dpt` with one."""
    if data[:4] != _TAG:
        start = data[:4].hex(" ") or "nothing"
        raise InvalidFile(f"begins with {start}, not with 'PIEH'", where=path, remedy="Is it a .flo file?")
    if len(data) < 12:
        raise InvalidFile(f"ends at byte {len(data)}, inside its header of 12 bytes", where=path, remedy=_DAMAGED)
    width, height = (int(n) for n in np.frombuffer(data, "<i4", 2, 4))
    if width <= 0 or height <= 0 or width * height > MOST_PIXELS:
        raise OutOfRange(
            f"says {width:,}×{height:,} pixels", where=path, remedy=f"From 1 to {MOST_PIXELS:,} pixels are read."
        )
    channels = 2 if path.lower().endswith(".flo") else 1
    expected = 12 + 4 * channels * width * height
    if len(data) != expected:
        raise InvalidFile(
            f"has {len(data):,} bytes, and {width}×{height} pixels take {expected:,}", where=path, remedy=_DAMAGED
        )
    values = np.frombuffer(data, "<f4", channels * width * height, 12)
    shape = (height, width, 2) if channels == 2 else (height, width)
    field = as_field(values.reshape(shape), _last(reading), path)
    with np.errstate(invalid="ignore"):
        if max(field.max(), -field.min()) <= NO_VALUE:  # false for nan
            return field
        return _without(field, ~(np.abs(field) <= NO_VALUE))


def _without(field: Array, marked: Array) -> Array:
    """The field with nan in all channels of pixels that are marked in any."""
    if field.ndim == 3:  # several times faster than marked.any(axis=2)
        marked = reduce(np.logical_or, np.moveaxis(marked, 2, 0))[:, :, np.newaxis]
    return np.where(marked, field.dtype.type(np.nan), field)


_PFM = re.compile(rb"(P[Ff])\s+(\d{1,9})\s+(\d{1,9})\s+([-+]?[0-9.eE+-]{1,40})[ \t\r]*\n")


def _pfm(data: bytes, reading: Reading, path: str) -> Array:
    """Rows from the bottom; the sign of the scale is the order of bytes, and its size is ignored, as elsewhere."""
    match = _PFM.match(data[:256])
    if match is None:
        shown = data[:2].decode("ascii", "replace")
        what = f"begins with '{shown}', not with 'Pf' or 'PF'" if shown not in ("Pf", "PF") else "has a broken header"
        raise InvalidFile(what, where=path, remedy="A PFM begins with Pf, the width and height, and a scale.")
    width, height = int(match[2]), int(match[3])
    try:
        scale = float(match[4])
    except ValueError:
        scale = 0.0
    if scale == 0 or not np.isfinite(scale):
        shown = match[4].decode("ascii", "replace")
        raise InvalidFile(f"has the scale '{shown}'", where=path, remedy="It is a number, below 0 for little-endian.")
    if not 0 < width * height <= MOST_PIXELS:
        raise OutOfRange(
            f"says {width:,}×{height:,} pixels", where=path, remedy=f"From 1 to {MOST_PIXELS:,} pixels are read."
        )
    channels = 3 if match[1] == b"PF" else 1
    expected = match.end() + 4 * channels * width * height
    if len(data) != expected:
        raise InvalidFile(
            f"has {len(data):,} bytes, and {width}×{height} pixels take {expected:,}", where=path, remedy=_DAMAGED
        )
    values = np.frombuffer(data, "<f4" if scale < 0 else ">f4", channels * width * height, match.end())
    rows = values.reshape((height, width, 3) if channels == 3 else (height, width))[::-1]
    if reading.kind == "flow" and channels == 3:
        rows = rows[:, :, :2]
    if channels == 3 and reading.channels == 1:
        raise ShapeMismatch("has three channels", where=path, remedy=f"A map of {reading.kind} has one ('Pf').")
    if channels == 1 and reading.channels > 1:
        raise ShapeMismatch("has one channel", where=path, remedy=f"A PFM of {reading.kind} has three ('PF').")
    return as_field(rows, _last(reading), path)


def _last(reading: Reading) -> Reading:
    """The same with channels at the end, as a format has them."""
    return replace(reading, order="last")


def _hdf5(path: str, reading: Reading) -> Array:
    """Spring's files."""
    check_readable(path)
    try:
        import h5py
    except ImportError:
        raise NotInstalled(
            "is an HDF5 file", where=path, remedy="Install h5py to read it, or convert it to .npy."
        ) from None
    name = "flow" if path.lower().endswith(".flo5") else "disparity"
    try:
        with h5py.File(path, "r") as file:
            if name not in file:
                raise MissingData(f"holds no data set '{name}'", where=path, remedy="Is it one of Spring's files?")
            data = file[name]
            if data.size > 4 * MOST_PIXELS:
                raise TooLarge(f"has {data.size:,} values", where=path, remedy=f"At most {4 * MOST_PIXELS:,} are read.")
            array = np.asarray(data[()])
    except InputError:
        raise
    except (OSError, RuntimeError, TypeError, AttributeError, ValueError, KeyError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InvalidFile(f"cannot be read: {reason}", where=path, remedy=_DAMAGED) from None
    return as_field(array, _last(reading), path)
