"""A volume: voxels with their spacing and their place in space, whatever file they came from.

Every grid has its axes in one order, the slowest in memory first: z, y, x (slice, row, column), or y, x. Formats that
name x first (NIfTI, NRRD, MetaImage) store x fastest, so that their memory is this order already.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidFile, InvalidNumber, InvalidValue, OutOfRange, ShapeMismatch, UnreadableFile
from steelyard.core.frozen import Frozen
from steelyard.core.opening import check_declared

Array = NDArray[Any]
MOST_VOXELS = 1 << 31
DAMAGED = "The file is damaged: write it again."
TO_MM = {"mm": 1.0, "um": 1e-3, "µm": 1e-3, "μm": 1e-3, "micron": 1e-3, "m": 1e3, "cm": 10.0, "nm": 1e-6}
SUMS_TO_ONE = 1e-2  # by how much probabilities of a voxel may miss 1: those of half precision do
AGREE = 1e-4  # relative difference below which two sizes of a voxel are the same


class Volume(Frozen):
    """Voxels; the size of one along each axis of the grid in mm; the affine of the file's own axes (x, y, z) in mm.

    `remarks` are what a reader of the scores should know of the file, by kind: "spacing", "channels", "units", "shear".
    """

    grid: Array
    spacing: tuple[float, ...] | None = None
    affine: Array | None = None
    remarks: Mapping[str, str] = field(default_factory=dict)


def sizes_text(sizes: Iterable[Any]) -> str:
    """Sizes as a message shows them."""
    return "×".join(f"{size:g}" for size in sizes)


def check_size(shape: Sequence[int], source: str) -> int:
    """The number of voxels of a shape; an error where it is none or beyond what is read."""
    voxels = math.prod(shape)
    if min(shape, default=0) < 1 or voxels > MOST_VOXELS:
        raise OutOfRange(
            f"declares {sizes_text(shape) or 'no'} voxels", where=source, remedy=f"From 1 to {MOST_VOXELS:,} are read."
        )
    return voxels


def grid_of(data: bytes | memoryview, at: int, dtype: np.dtype[Any], shape: Sequence[int], source: str) -> Array:
    """The voxels from a byte on, with the first axis of `shape` fastest in memory: the grid has them reversed."""
    voxels = check_size(shape, source)
    if at < 0 or at + voxels * dtype.itemsize > len(data):
        raise InvalidFile(f"ends before its {voxels:,} voxels do", where=source, remedy=DAMAGED)
    grid: Array = np.frombuffer(data, dtype, voxels, at).reshape(tuple(shape)[::-1])
    return grid


def inflate_exactly(data: bytes | memoryview, count: int, source: str, *, gzip: bool = False) -> bytes:
    """Exactly `count` bytes that zlib or gzip packed; what declares too much is refused before it is unpacked."""
    check_declared(count, len(data), source)
    engine = zlib.decompressobj(31 if gzip else 15)
    try:
        result = engine.decompress(data, count)
        more = b"" if engine.eof else engine.decompress(engine.unconsumed_tail, 1)
    except zlib.error:
        raise UnreadableFile("cannot be unpacked", where=source, remedy=DAMAGED) from None
    if len(result) < count or more or not engine.eof:
        what = "more" if more else "less"
        raise InvalidFile(f"holds {what} than the {count:,} bytes it declares", where=source, remedy=DAMAGED)
    return result


def place_volume(
    grid: Array, sizes: Sequence[float], affine: Array | None, remarks: Mapping[str, str], named: str, source: str
) -> Volume:
    """A volume whose spacing is that of its affine, where it has one; `sizes` are what the header says beside it."""
    remarks = dict(remarks)
    if affine is None:
        return Volume(grid, tuple(map(float, sizes[::-1])), None, remarks)
    if not np.isfinite(affine).all():
        raise InvalidNumber(f"the {named} holds a number that is not finite", where=source, remedy="Write it again.")
    columns = affine[:3, : len(sizes)]
    with np.errstate(over="ignore"):
        lengths = np.sqrt((columns**2).sum(axis=0))
    declared = np.asarray(sizes, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        same = bool(
            (np.isfinite(declared) & (np.abs(lengths - declared) <= AGREE * np.maximum(lengths, declared))).all()
        )
    if not same:
        remarks["spacing"] = (
            f"the header has voxels of {sizes_text(declared[::-1])} mm and its {named} of "
            f"{sizes_text(lengths[::-1])} mm (z×y×x): the {named} counts"
        )
    if ((lengths > 0) & np.isfinite(lengths)).all():
        angles = (columns / lengths).T @ (columns / lengths) - np.eye(len(sizes))
        if np.abs(angles).max() > 1e-2:
            remarks["shear"] = f"the axes of the {named} are not perpendicular: distances are measured as if they were"
    return Volume(grid, tuple(map(float, (declared if same else lengths)[::-1])), affine, remarks)


def labels_of_channels(grid: Array, source: str, scores: bool) -> tuple[Array, str]:
    """Labels of channels × z × y × x, and how they were read.

    One-hot channels are labels: counted from 0, background, where they cover every voxel, else from 1. With `scores`,
    probabilities that add up to 1 are the most probable channel, of which the first is background.
    """
    channels = len(grid)
    if channels == 1:
        return grid[0], ""
    if not grid.size:
        raise InvalidFile("has no pixel", where=source, remedy="Give one label for each voxel.")
    if grid.dtype.kind not in "biuf":
        raise InvalidNumber(f"holds {grid.dtype}, not numbers", where=source, remedy="Give one label for each voxel.")
    if channels > 255:
        raise ShapeMismatch(
            f"has {channels:,} channels", where=source, remedy="Channels come first: channels × z × y × x."
        )
    total = np.zeros(grid.shape[1:], dtype=np.float64 if grid.dtype.kind == "f" else np.int64)
    first = np.zeros(grid.shape[1:], dtype=np.uint8)
    binary = probable = True
    for number, channel in enumerate(grid):
        if channel.dtype.kind == "f" and not np.isfinite(channel).all():
            raise InvalidNumber(
                f"channel {number} holds numbers that are not finite", where=source, remedy="Write finite numbers."
            )
        binary &= bool(((channel == 0) | (channel == 1)).all())
        probable &= bool(((channel >= 0) & (channel <= 1)).all())
        first[(channel == 1) & (first == 0)] = number + 1
        np.add(total, channel, out=total, casting="unsafe")  # whole numbers of 64 bits have no common type
    if binary:
        twice = int((total > 1).sum())
        if twice:
            raise InvalidValue(
                f"{count_text(twice, 'voxel', 'belong')} to several of its {channels} channels",
                where=source,
                remedy="Give one label for each voxel, and join labels with the option `regions`.",
            )
        if (total == 1).all():
            return first - np.uint8(1), f"{channels} one-hot channels are read as labels, the first as background"
        return first, f"{channels} channels are read as labels 1 to {channels}, a voxel in none as background"
    if not (probable and grid.dtype.kind == "f" and np.abs(total - 1).max() <= SUMS_TO_ONE):
        raise InvalidValue(
            f"its {channels} channels are neither one-hot nor probabilities that add up to 1",
            where=source,
            remedy="Give one label for each voxel.",
        )
    if not scores:
        raise ShapeMismatch(
            f"its {channels} channels are probabilities, and a truth holds labels",
            where=source,
            remedy="Give one label for each voxel.",
        )
    best: Array = grid.argmax(axis=0).astype(np.uint8)
    return best, f"the most probable of {channels} channels is taken, the first as background"
