"""Pixels of a picture: from a file or an array to height × width × channels, with what is known of their range.

PNG is decoded by the native core. Other formats go through Pillow. A frame of a video is read by its place in the file.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    InvalidFile,
    InvalidNumber,
    InvalidSetting,
    OutOfRange,
    ShapeMismatch,
    TooLarge,
    UnknownFormat,
    UnknownName,
    Unsupported,
)
from steelyard.core.frozen import Frozen
from steelyard.core.opening import open_regular, read_regular
from steelyard.core.records import Array
from steelyard.maps.arrays import numpy_file, unpack_array
from steelyard.maps.load import INSIDE
from steelyard.maps.pillow import pillow_size
from steelyard.maps.png import MOST_PIXELS, png_file

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".ppm", ".pgm", ".pnm")
ARRAYS = (".npy", ".npz")
VIDEOS = (".y4m", ".yuv")
LOSSY = (".jpg", ".jpeg")
CHANNELS = (1, 3, 4)
_DAMAGED = "The file is damaged: write it again."
# Horizontal and vertical steps of the colour planes, by the name of a sampling.
SAMPLINGS = {"420": (2, 2), "422": (2, 1), "444": (1, 1), "mono": (0, 0), "gray": (0, 0)}


class Picture(Frozen):
    """Pixels (height, width, channels) of type uint8, uint16 or float64.

    `peak` is the largest value that the type stands for, nan for floating point. `alpha` says whether the last channel
    is one.
    """

    pixels: Array
    peak: float
    alpha: bool = False
    video: bool = False

    @property
    def kind(self) -> str:
        """What a message calls the type."""
        return "floating point" if self.pixels.dtype == np.float64 else f"{int(self.peak).bit_length()} bits"


def open_picture(value: Any, where: str, layout: str = "", plane: str = "", raw: str = "") -> Picture:
    """The picture of a cell: an array, or the path of a file, with a name or frame inside behind `::`."""
    if isinstance(value, bytes):
        return from_array(unpack_array(value, where), where, layout)
    path, _, inside = value.partition(INSIDE)
    ending = os.path.splitext(path)[1].lower()
    if ending in VIDEOS:
        if not re.fullmatch(r"[0-9]{0,12}", inside):
            raise UnknownName(
                f"there is no frame '{inside}'", where=path, remedy="Frames are counted from 0: a.y4m::0."
            )
        return Frames.open(path, raw).read_frame(int(inside or 0), plane)
    if ending in ARRAYS:
        return from_array(numpy_file(path, inside), value, layout)
    if ending == ".png":
        return _from_png(read_regular(path), path)
    if ending in PICTURES:
        return _by_pillow(path)
    raise UnknownFormat(
        f"'{ending}' is not a format of pictures", where=path, remedy=f"Give {', '.join((*PICTURES, *ARRAYS))}."
    )


def picture_size(value: Any, layout: str = "", raw: str = "") -> tuple[int, int]:
    """Height and width, from the head of a file where it has one."""
    if isinstance(value, str):
        path = value.partition(INSIDE)[0]
        ending = os.path.splitext(path)[1].lower()
        if ending == ".png":
            with open_regular(path) as file:
                head = file.read(24)
            if len(head) == 24:
                return int.from_bytes(head[20:24], "big"), int.from_bytes(head[16:20], "big")
        if ending in VIDEOS:
            frames = Frames.open(path, raw)
            return frames.height, frames.width
        if ending in PICTURES and (size := pillow_size(path)) is not None:
            return size
    shape = open_picture(value, str(value)[:80] if isinstance(value, str) else "", layout, "", raw).pixels.shape
    return int(shape[0]), int(shape[1])


def from_array(value: Any, where: str, layout: str = "") -> Picture:
    """An array as a picture. The axis of 1, 3 or 4 is the channels; `layout` decides where both ends may be."""
    array = np.asarray(value)
    if array.dtype == bool:
        array = array.astype(np.uint8) * np.uint8(255)
    if array.dtype.kind not in "uif" or not array.size:
        what = "has no pixel" if not array.size else f"holds {array.dtype}, not numbers"
        raise InvalidFile(what, where=where, remedy="Give an array of numbers: height × width × channels.")
    if array.ndim == 4 and array.shape[0] == 1:
        array = array[0]
    shape = "×".join(map(str, array.shape))
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    elif array.ndim == 3:
        first, last = (array.shape[i] in CHANNELS for i in (0, 2))
        if not layout and first == last:
            reason = "both ends may be channels" if first else "neither end is 1, 3 or 4 channels"
            raise ShapeMismatch(f"shape {shape}: {reason}", where=where, remedy="Set layout=hwc or layout=chw.")
        if layout == "chw" or (not layout and first):
            array = array.transpose(1, 2, 0)
    else:
        raise ShapeMismatch(f"shape {shape} is not a picture", where=where, remedy="Give height × width × channels.")
    if array.shape[0] * array.shape[1] > MOST_PIXELS:
        raise TooLarge(f"has {array.shape[1]:,}×{array.shape[0]:,} pixels", where=where, remedy="Cut it into tiles.")
    if array.dtype == np.uint8 or array.dtype == np.uint16:
        return Picture(np.ascontiguousarray(array), float(np.iinfo(array.dtype).max))
    pixels = np.ascontiguousarray(array, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(pixels))
    if len(bad):
        row, column, channel = (int(i) for i in np.unravel_index(bad[0], pixels.shape))
        raise InvalidNumber(
            f"{count_text(len(bad), 'value', 'are')} not finite; the first is {pixels[row, column, channel]} at row "
            f"{row}, column {column}, channel {channel}",
            where=where,
            remedy="Replace them before scoring.",
        )
    return Picture(pixels, float("nan"))


def _from_png(data: bytes, source: str) -> Picture:
    file = png_file(data, source)
    native, (height, width) = file.native, file.shape
    if native.interlaced:
        if native.depth == 16 and native.channels > 1:  # Pillow would keep 8 bits of each
            raise Unsupported("is interlaced with 16 bits per channel", where=source, remedy="Write it plainly.")
        return _by_pillow(source)
    try:
        rows = native.rows()
    except ValueError as error:
        what = "the data are not those of the picture" if "the data" in str(error) else str(error)
        raise InvalidFile(what, where=source, remedy=_DAMAGED) from None
    depth, channels, colour = native.depth, native.channels, data[25]
    if depth < 8:
        bits = np.unpackbits(rows, axis=1)[:, : width * depth].reshape(height, width, depth)
        samples: Array = (bits @ (1 << np.arange(depth)[::-1])).astype(np.uint8)[:, :, np.newaxis]
        if colour != 3:
            samples = samples * np.uint8(255 // ((1 << depth) - 1))
    elif depth == 16:
        samples = rows.view(">u2").astype(np.uint16).reshape(height, width, channels)
    else:
        samples = rows.reshape(height, width, channels)
    transparent = _png_chunk(data, b"tRNS")
    if colour == 3:
        palette = np.frombuffer(_png_chunk(data, b"PLTE"), np.uint8)
        palette = palette[: len(palette) // 3 * 3].reshape(-1, 3)
        if int(samples.max()) >= len(palette):
            raise InvalidFile(f"colour {samples.max()} is not in the palette", where=source, remedy=_DAMAGED)
        opacity = np.full(len(palette), 255, np.uint8)
        opacity[: len(transparent)] = np.frombuffer(transparent, np.uint8)[: len(palette)]
        table = np.column_stack([palette, opacity]) if transparent else palette
        return Picture(np.ascontiguousarray(table[samples[:, :, 0]]), 255.0, bool(transparent))
    if transparent and colour in (0, 2) and len(transparent) == 2 * channels:
        key = np.frombuffer(transparent, ">u2")
        if colour == 0 and depth < 8:
            key = key * (255 // ((1 << depth) - 1))
        opaque = (samples != key.astype(samples.dtype)).any(axis=2)
        full = samples.dtype.type(255 if depth <= 8 else 65535)
        samples = np.concatenate([samples, np.where(opaque, full, 0).astype(samples.dtype)[:, :, np.newaxis]], axis=2)
        return Picture(np.ascontiguousarray(samples), float(full), True)
    return Picture(np.ascontiguousarray(samples), 65535.0 if depth == 16 else 255.0, channels in (2, 4))


def _png_chunk(data: bytes, name: bytes) -> bytes:
    """The body of the first chunk of a name before the pixels; nothing where there is none."""
    at = 8
    while at + 12 <= len(data):
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        if kind == name:
            return data[at + 8 : at + 8 + length]
        if kind == b"IDAT":
            break
        at += 12 + length
    return b""


def _by_pillow(path: str) -> Picture:
    from steelyard.maps.pillow import pillow_pixels  # PNG and arrays need none

    pixels, alpha = pillow_pixels(read_regular(path), path)
    return Picture(pixels, float(np.iinfo(pixels.dtype).max), alpha)


class Frames(Frozen):
    """A video of raw frames: where each begins, and how its planes lie."""

    path: str
    width: int
    height: int
    sampling: str
    bits: int
    start: int
    head: int  # bytes before the planes of each frame
    count: int

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """Height and width of the planes Y, U and V."""
        across, down = SAMPLINGS[self.sampling]
        if not across:
            return ((self.height, self.width),)
        small = (-(-self.height // down), -(-self.width // across))
        return (self.height, self.width), small, small

    @property
    def frame_bytes(self) -> int:
        """Bytes of one frame, with what stands before it."""
        return self.head + sum(h * w for h, w in self.sizes) * (2 if self.bits > 8 else 1)

    @staticmethod
    def open(path: str, raw: str = "") -> Frames:
        """Look at a .y4m file's header, or at what `size` and `format` say of a .yuv file: `352x288 420p10`."""
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(4096)
        if path.lower().endswith(".yuv"):
            return _raw_frames(path, raw, size)
        line, mark, _ = head.partition(b"\n")
        if not line.startswith(b"YUV4MPEG2") or not mark:
            raise InvalidFile("is not a Y4M file", where=path, remedy="Is it Y4M in name only?")
        fields = {word[:1].decode("latin-1"): word[1:].decode("latin-1") for word in line.split()[1:]}
        kind = fields.get("C", "420jpeg")
        match = re.fullmatch(r"(420|422|444|mono)(jpeg|mpeg2|paldv)?(?:p?(\d{1,3}))?", kind)
        sides = [int(fields[k]) if re.fullmatch(r"\d{1,6}", fields.get(k, "")) else 0 for k in "WH"]
        if match is None or not 0 < sides[0] * sides[1] <= MOST_PIXELS:
            what = f"sampling {kind}" if match is None else f"a size of {fields.get('W')}×{fields.get('H')}"
            raise Unsupported(f"has {what}", where=path, remedy="Write 420, 422, 444 or mono with 8 to 16 bits.")
        bits = int(match[3] or 8)
        if not 8 <= bits <= 16:
            raise Unsupported(f"has {bits} bits", where=path, remedy="Write 8 to 16 bits.")
        start = len(line) + 1
        video = Frames(path, sides[0], sides[1], match[1], bits, start, len(b"FRAME\n"), 0)
        return _counted(video, size)

    def read_frame(self, number: int, plane: str = "") -> Picture:
        """A plane of a frame: y, u or v."""
        place = {"": 0, "y": 0, "u": 1, "v": 2}[plane]
        if not 0 <= number < self.count:
            raise OutOfRange(f"there is no frame {number}", where=self.path, remedy=f"It has {self.count}.")
        if place >= len(self.sizes):
            raise Conflict(f"has no plane {plane}", where=self.path, remedy="Set channels=y.")
        wide = 2 if self.bits > 8 else 1
        at = self.start + number * self.frame_bytes + self.head + sum(h * w for h, w in self.sizes[:place]) * wide
        height, width = self.sizes[place]
        with open_regular(self.path) as file:
            if self.head:
                file.seek(self.start + number * self.frame_bytes)
                if file.read(self.head) != b"FRAME\n":
                    raise InvalidFile(
                        f"frame {number} does not begin with FRAME", where=self.path, remedy="Write frames plainly."
                    )
            file.seek(at)
            data = file.read(height * width * wide)
        if len(data) < height * width * wide:
            raise InvalidFile(f"ends within frame {number}", where=self.path, remedy=_DAMAGED)
        pixels = np.frombuffer(data, "<u2" if wide == 2 else np.uint8).astype(np.uint16 if wide == 2 else np.uint8)
        return Picture(pixels.reshape(height, width, 1), float((1 << self.bits) - 1), video=True)


def _raw_frames(path: str, raw: str, size: int) -> Frames:
    match = re.fullmatch(r"(\d{1,6})x(\d{1,6}) (?:yuv)?(420|422|444|gray)p?(\d{0,3})(?:le)?", raw.strip())
    if match is None:
        missing = (
            "its size and format are not known" if not raw.strip() else f"'{raw.strip()}' is not a size and format"
        )
        raise InvalidSetting(missing, where=path, remedy="Set size=352x288 and format=yuv420p (or yuv420p10le, gray).")
    width, height, bits = int(match[1]), int(match[2]), int(match[4] or 8)
    if not 0 < width * height <= MOST_PIXELS or not 8 <= bits <= 16:
        raise OutOfRange(f"a size of {width}×{height} with {bits} bits", where=path, remedy="Check size and format.")
    return _counted(Frames(path, width, height, match[3], bits, 0, 0, 0), size)


def _counted(video: Frames, size: int) -> Frames:
    count, rest = divmod(size - video.start, video.frame_bytes)
    if count < 1 or rest:
        raise InvalidFile(
            f"holds {size - video.start:,} bytes; frames of {video.width}×{video.height} have {video.frame_bytes:,}",
            where=video.path,
            remedy="Check size and format; is the file whole?",
        )
    return Frames(
        video.path, video.width, video.height, video.sampling, video.bits, video.start, video.head, int(count)
    )
